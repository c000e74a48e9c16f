/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include <rdmapmd.h>

#include "remote_round.h"

#define DEPTH RDMO_REMOTE_DEPTH
#define SGES  RDMO_REMOTE_SGES

/* ---- Open and close ---- */

static int
memory_open(struct rdmo_remote_round *remote, struct rdmapmd_pd *pd)
{
	const size_t heads = RDMO_APPEND_HEADS * RDMO_ROUND * sizeof(*remote->heads);
	const size_t bytes = heads + (RDMO_ROUND + 1) * sizeof(*remote->found) + RDMO_REMOTE_BUFFER;
	int rc;
	const uint32_t pieces =
		remote->lane->attr.receive_bytes / (uint32_t)sizeof(struct rdmo_scatter_iov);

	remote->writes.room = RDMO_APPEND_WRITES * RDMO_ROUND + pieces;
	remote->writes.all = calloc(remote->writes.room, sizeof(*remote->writes.all));
	remote->heads = rte_zmalloc("rdmo", bytes, RTE_CACHE_LINE_SIZE);
	if (remote->writes.all == NULL || remote->heads == NULL)
		return -ENOMEM;
	remote->found = (void *)((uint8_t *)remote->heads + heads);
	remote->buffer = (uint8_t *)(remote->found + RDMO_ROUND + 1);
	rc = rdmapmd_mr_reg(pd, remote->heads, bytes, RDMAPMD_ACCESS_LOCAL_WRITE, &remote->mr);
	if (rc != 0)
		return rc;
	remote->writes.heads = remote->heads;
	remote->writes.head_key = remote->mr->lkey;
	remote->writes.key = remote->lane->mr->lkey;
	return 0;
}

int
rdmo_remote_round_open(struct rdmo_remote_round *remote, struct rdmo_lane *lane,
		       struct rdmapmd_qp *qp, struct rdmapmd_pd *pd, uint64_t wr_id, bool fetches)
{
	remote->lane = lane;
	remote->qp = qp;
	remote->wr_id = wr_id;
	remote->round.lane = lane->round.lane;
	remote->round.writes = &remote->writes;
	if (fetches)
		remote->round.fetches = &remote->fetches;
	TAILQ_INIT(&remote->ran);
	return memory_open(remote, pd);
}

void
rdmo_remote_round_close(struct rdmo_remote_round *remote)
{
	if (remote->mr != NULL)
		rdmapmd_mr_dereg(remote->mr);
	rte_free(remote->heads);
	free(remote->writes.all);
}

/* ---- Requests ---- */

/* Requests in the making. */
struct batch {
	struct rdmapmd_send_wr wrs[DEPTH];
	struct rdmapmd_sge sges[DEPTH][SGES];
	uint32_t count;
};

static struct rdmapmd_send_wr *
batch_add(struct batch *batch, uint8_t opcode)
{
	struct rdmapmd_send_wr *wr = &batch->wrs[batch->count];

	*wr = (struct rdmapmd_send_wr){
		.sg_list = batch->sges[batch->count++],
		.opcode = opcode,
	};
	return wr;
}

static void
segment_add(struct batch *batch, struct rdmapmd_send_wr *wr, const void *at, uint32_t bytes,
	    uint32_t lkey)
{
	batch->sges[batch->count - 1][wr->num_sge++] = (struct rdmapmd_sge){
		.addr = (uintptr_t)at,
		.length = bytes,
		.lkey = lkey,
	};
}

/* One WRITE for what lies behind each other at the target. */
static void
write_add(struct rdmo_remote_round *remote, struct batch *batch)
{
	const struct rdmo_writes *writes = &remote->writes;
	const struct rdmo_write *write = &writes->all[remote->written];
	struct rdmapmd_send_wr *wr = batch_add(batch, RDMAPMD_WR_RDMA_WRITE);
	const uint32_t rkey = write->rkey;
	uint64_t end = write->addr;

	wr->wr.rdma.remote_addr = write->addr;
	wr->wr.rdma.rkey = rkey;
	do {
		segment_add(batch, wr, write->from, write->bytes, write->lkey);
		end += write->bytes;
		write = &writes->all[++remote->written];
	} while (remote->written < writes->count && wr->num_sge < SGES && write->rkey == rkey &&
		 write->addr == end);
}

/* Move the next due tail. */
static void
move_add(struct rdmo_remote_round *remote, struct batch *batch)
{
	struct rdmapmd_send_wr *wr = batch_add(batch, RDMAPMD_WR_ATOMIC_CMP_AND_SWP);
	struct rdmo_region *queue = remote->round.queues[remote->moved];
	const struct rdmo_tail_move move = rdmo_tail_move(rdmo_region_tail(queue));

	wr->wr.atomic.remote_addr = queue->word;
	wr->wr.atomic.rkey = queue->word_rkey;
	/* As they lie in memory. */
	wr->wr.atomic.compare_add = rte_cpu_to_le_64(move.compare);
	wr->wr.atomic.swap = rte_cpu_to_le_64(move.swap);
	segment_add(batch, wr, &remote->found[remote->moved], sizeof(*remote->found),
		    remote->mr->lkey);
	remote->moves[remote->moved++] = move;
}

static void
look_add(struct rdmo_remote_round *remote, struct batch *batch)
{
	struct rdmapmd_send_wr *wr = batch_add(batch, RDMAPMD_WR_RDMA_READ);

	wr->wr.rdma.remote_addr = remote->round.look.word;
	wr->wr.rdma.rkey = remote->round.look.rkey;
	segment_add(batch, wr, &remote->found[RDMO_ROUND], sizeof(*remote->found),
		    remote->mr->lkey);
	remote->has_looked = true;
}

static void
atomic_add(struct rdmo_remote_round *remote, struct batch *batch)
{
	const struct rdmo_round_atomic *atomic = &remote->round.atomic;
	struct rdmapmd_send_wr *wr =
		batch_add(batch, atomic->is_swap ? RDMAPMD_WR_ATOMIC_CMP_AND_SWP
						 : RDMAPMD_WR_ATOMIC_FETCH_AND_ADD);

	wr->wr.atomic.remote_addr = atomic->addr;
	wr->wr.atomic.rkey = atomic->rkey;
	wr->wr.atomic.compare_add =
		atomic->is_swap ? rte_cpu_to_le_64(atomic->operand) : atomic->operand;
	wr->wr.atomic.swap = rte_cpu_to_le_64(atomic->swap);
	segment_add(batch, wr, &remote->found[RDMO_ROUND], sizeof(*remote->found),
		    remote->mr->lkey);
	remote->has_looked = true;
}

/* The next piece of a GATHER, behind the others: an answer is no longer than the buffer. */
static void
gather_add(struct rdmo_remote_round *remote, struct batch *batch)
{
	const struct rdmo_gather_iov *piece = &remote->round.gather.pieces[remote->gathered++];
	const uint32_t bytes = rte_le_to_cpu_32(piece->len);
	const struct rdmo_region *region;
	struct rdmapmd_send_wr *wr;

	if (bytes == 0)
		return;
	region = rdmo_map_find(&remote->lane->regions, rte_le_to_cpu_64(piece->rkey));
	wr = batch_add(batch, RDMAPMD_WR_RDMA_READ);
	wr->wr.rdma.remote_addr = rte_le_to_cpu_64(piece->addr);
	wr->wr.rdma.rkey = region->rkey;
	segment_add(batch, wr, remote->buffer + remote->gathered_bytes, bytes, remote->mr->lkey);
	remote->gathered_bytes += bytes;
}

/* The last one completes, and all before it with it. If one fails, its completion comes first, whichever it is. */
static void
batch_post(struct rdmo_remote_round *remote, struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		batch->wrs[i].wr_id = remote->wr_id;
	batch->wrs[batch->count - 1].send_flags = RDMAPMD_SEND_SIGNALED;
	if (rdmapmd_post_send(remote->qp, batch->wrs, (uint16_t)batch->count) == batch->count)
		remote->is_under_way = true;
	else
		remote->is_lost = true;
}

/* ---- A payload that is still the initiator's, a part at a time ---- */

/* The initiator whose it is: a round has one. */
static struct rdmo_peer *
part_peer(const struct rdmo_remote_round *remote)
{
	return container_of(remote->fetches.flow, struct rdmo_peer, flow);
}

/* Fetch the next part into the buffer. False: there is none. */
static bool
part_fetch(struct rdmo_remote_round *remote)
{
	const struct rdmo_fetch *piece = &remote->fetches.all[remote->piece];
	struct rdmo_peer *peer;

	if (remote->piece == remote->fetches.count)
		return false;
	peer = part_peer(remote);
	if (remote->piece == 0 && remote->piece_done == 0)
		rdmo_fetch_allow(peer, remote->fetches.all, remote->fetches.count);
	remote->part = (struct rdmo_fetch){
		.from = piece->from + remote->piece_done,
		.to = (uintptr_t)remote->buffer,
		.from_key = piece->from_key,
		.to_key = remote->mr->lkey,
		.bytes = RTE_MIN(piece->bytes - remote->piece_done, RDMO_REMOTE_BUFFER),
	};
	remote->fetching = (struct rdmo_fetching){ .all = &remote->part, .count = 1 };
	peer->fetching = &remote->fetching;
	remote->is_fetching = true;
	rdmo_fetch_begin(remote->lane, peer);
	return true;
}

/* What is in the buffer goes to the target. */
static void
part_write(struct rdmo_remote_round *remote)
{
	const struct rdmo_fetch *piece = &remote->fetches.all[remote->piece];
	struct batch batch = { .count = 0 };
	struct rdmapmd_send_wr *wr = batch_add(&batch, RDMAPMD_WR_RDMA_WRITE);

	wr->wr.rdma.remote_addr = piece->to + remote->piece_done;
	wr->wr.rdma.rkey = piece->to_key;
	segment_add(&batch, wr, remote->buffer, remote->part.bytes, remote->mr->lkey);
	rdmo_round_passed(&remote->round, remote->buffer, remote->part.bytes);
	remote->piece_done += remote->part.bytes;
	if (remote->piece_done == piece->bytes) {
		remote->piece++;
		remote->piece_done = 0;
	}
	batch_post(remote, &batch);
}

/* ---- All of a round ---- */

void
rdmo_remote_round_post(struct rdmo_remote_round *remote)
{
	struct batch batch;

	batch.count = 0;
	if (remote->round.atomic.queue != NULL && remote->has_looked && !remote->has_reserved)
		remote->has_reserved = remote->has_looked = rdmo_round_reserved(
			&remote->round, rte_le_to_cpu_64(remote->found[RDMO_ROUND]));
	if (part_fetch(remote))
		return;
	if (remote->fetches.count > 0 && !remote->has_fetched) {
		remote->has_fetched = true;
		rdmo_round_fetched(&remote->round);
	}
	while (batch.count < DEPTH && remote->written < remote->writes.count)
		write_add(remote, &batch);
	while (batch.count < DEPTH && remote->moved < remote->round.due)
		move_add(remote, &batch);
	if (batch.count < DEPTH && remote->round.look.queue != NULL && !remote->has_looked)
		look_add(remote, &batch);
	if (batch.count < DEPTH && remote->round.atomic.result != NULL && !remote->has_looked)
		atomic_add(remote, &batch);
	while (batch.count < DEPTH && remote->round.gather.result != NULL &&
	       remote->gathered < remote->round.gather.count)
		gather_add(remote, &batch);
	if (batch.count > 0)
		batch_post(remote, &batch);
}

void
rdmo_remote_round_completed(struct rdmo_remote_round *remote)
{
	remote->is_under_way = false;
	rdmo_remote_round_post(remote);
}

void
rdmo_remote_round_look(struct rdmo_remote_round *remote)
{
	if (!remote->is_fetching || !rdmo_fetching_is_over(&remote->fetching))
		return;
	rdmo_fetch_end(remote->lane, part_peer(remote));
	remote->is_fetching = false;
	if (!remote->fetching.has_failed && !remote->is_lost)
		part_write(remote);
}

void
rdmo_remote_round_lose(struct rdmo_remote_round *remote)
{
	remote->is_lost = true;
	remote->is_under_way = false;
}

/* ---- Begin and end ---- */

void
rdmo_remote_round_begin(struct rdmo_remote_round *remote)
{
	rdmo_round_begin(&remote->round);
	remote->is_running = true;
	remote->written = remote->moved = remote->piece = remote->piece_done = 0;
	remote->gathered = remote->gathered_bytes = 0;
	remote->has_looked = remote->has_reserved = false;
	remote->has_fetched = remote->fetching.has_failed = false;
}

void
rdmo_remote_round_execute(struct rdmo_remote_round *remote, struct rdmo_peer *peer)
{
	if (remote->is_lost)
		atomic_store_explicit(&peer->flow.is_lost, true, memory_order_relaxed);
	peer->is_away = true;
	TAILQ_INSERT_TAIL(&remote->ran, peer, next);
	rdmo_peer_execute(peer, &remote->round, &remote->lane->regions);
}

static void
results_take(struct rdmo_remote_round *remote)
{
	struct rdmo_round *round = &remote->round;

	round->gather.from = remote->buffer;
	for (uint32_t i = 0; i < remote->moved; i++)
		rdmo_round_moved(round, i, &remote->moves[i], rte_le_to_cpu_64(remote->found[i]));
	if (round->atomic.result != NULL && round->atomic.queue == NULL &&
	    rdmo_op_has_value(round->atomic.result->op_id))
		round->atomic.result->value = rte_le_to_cpu_64(remote->found[RDMO_ROUND]);
	if (round->look.queue != NULL)
		rdmo_region_seen(round->look.queue, round->look.word,
				 rte_le_to_cpu_64(remote->found[RDMO_ROUND]));
}

void
rdmo_remote_round_end(struct rdmo_remote_round *remote)
{
	struct rdmo_lane *lane = remote->lane;
	struct rdmo_peer *peer;

	remote->is_running = false;
	if (remote->fetches.count > 0)
		part_peer(remote)->fetching = NULL;
	if (remote->is_lost)
		rdmo_round_lose(&remote->round);
	else if (remote->fetches.count > 0 && remote->fetching.has_failed)
		rdmo_round_abandon(&remote->round);
	else
		results_take(remote);
	rdmo_round_conclude(&remote->round);
	rdmo_lane_tell_notified(lane, &remote->round);
	rdmo_results_answer(lane, &remote->round);
	while ((peer = TAILQ_FIRST(&remote->ran)) != NULL) {
		TAILQ_REMOVE(&remote->ran, peer, next);
		rdmo_peer_ran(lane, peer);
	}
}
