/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include <rdmapmd.h>

#include "lane.h"
#include "mail.h"
#include "pull.h"
#include "remote.h"

#define BURST 32

/* Receives beyond those that are promised: so many may be free before they are posted again, in one request. */
#define SPARE 8

/* ---- Open and close ---- */

static int
memory_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd)
{
	const struct rdmo_lane_attr *attr = &lane->attr;
	const size_t buffers = lane->receives + (size_t)lane->peer_count * RDMO_ANSWERS;

	lane->inbox = calloc(lane->receives, sizeof(*lane->inbox));
	lane->back = calloc(lane->receives, sizeof(*lane->back));
	lane->peers = calloc(lane->peer_count, sizeof(*lane->peers));
	lane->memory = rte_zmalloc("rdmo", buffers * attr->receive_bytes, 4096);
	if (lane->inbox == NULL || lane->back == NULL || lane->peers == NULL ||
	    lane->memory == NULL || rdmo_map_open(&lane->by_qpn, lane->peer_count) != 0 ||
	    rdmo_map_open(&lane->regions, attr->max_regions) != 0)
		return -ENOMEM;
	return rdmapmd_mr_reg(pd, lane->memory, buffers * attr->receive_bytes,
			      RDMAPMD_ACCESS_LOCAL_WRITE, &lane->mr);
}

static int
queues_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd)
{
	const struct rdmapmd_cq_init_attr cq = {
		.cqe = lane->receives + lane->peer_count * (RDMO_ANSWERS + RDMO_READS),
	};
	struct rdmapmd_srq_init_attr srq = {
		.attr = { .max_wr = lane->receives, .max_sge = 1 },
	};
	int rc;

	rc = rdmapmd_td_alloc(pd->context, &lane->td);
	if (rc == -ENOTSUP)
		rc = 0; /* a lock for each burst, then */
	if (rc == 0)
		rc = rdmapmd_cq_create(pd->context, &cq, &lane->cq);
	if (rc == 0)
		rc = rdmapmd_srq_create(pd, &srq, &lane->srq);
	return rc;
}

/* Post what is to be received into, when it is all that is to spare. */
static void
receives_post(struct rdmo_lane *lane)
{
	struct rdmapmd_recv_wr wr[BURST];
	struct rdmapmd_sge sge[BURST];
	uint32_t n, i;

	if (lane->back_count < SPARE)
		return;
	while (lane->back_count > 0) {
		n = RTE_MIN(lane->back_count, (uint32_t)BURST);
		for (i = 0; i < n; i++) {
			const uint32_t receive = lane->back[lane->back_count - n + i];

			sge[i] = (struct rdmapmd_sge){
				.addr = (uintptr_t)lane->memory +
					(size_t)receive * lane->attr.receive_bytes,
				.length = lane->attr.receive_bytes,
				.lkey = lane->mr->lkey,
			};
			wr[i] = (struct rdmapmd_recv_wr){
				.wr_id = receive,
				.sg_list = &sge[i],
				.num_sge = 1,
			};
		}
		/* There are no more of them than it has room for. */
		if (rdmapmd_post_srq_recv(lane->srq, wr, (uint16_t)n) != n)
			return;
		lane->back_count -= n;
	}
}

int
rdmo_lane_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd, const struct rdmo_lane_attr *attr,
	       const struct rdmo_lane_place *place)
{
	int rc = 0;

	*lane = (struct rdmo_lane){
		.attr = *attr,
		.receives = attr->receives + SPARE,
		.peer_count = attr->receives / attr->credits,
		.lanes = place->lanes,
		.round.lane = place->index,
		.ended_fd = place->ended_fd,
		.is_told = place->is_told,
	};
	TAILQ_INIT(&lane->active);
	TAILQ_INIT(&lane->ran);
	TAILQ_INIT(&lane->pulling);
	TAILQ_INIT(&lane->travelling);
	TAILQ_INIT(&lane->fetching);
	TAILQ_INIT(&lane->remotes);
	if (place->count > 1)
		rc = rdmo_mail_open(&lane->mail, place->count * lane->peer_count);
	if (rc == 0)
		rc = rdmo_pulls_open(lane);
	if (rc == 0)
		rc = memory_open(lane, pd);
	if (rc == 0)
		rc = queues_open(lane, pd);
	if (rc != 0) {
		rdmo_lane_close(lane);
		return rc;
	}
	for (uint32_t i = 0; i < lane->peer_count; i++) {
		lane->peers[i].home = lane;
		lane->peers[i].slot = i;
	}
	for (uint32_t i = 0; i < lane->receives; i++)
		rdmo_lane_give_back(lane, i);
	receives_post(lane);
	return 0;
}

void
rdmo_lane_close(struct rdmo_lane *lane)
{
	if (lane->srq != NULL)
		rdmapmd_srq_destroy(lane->srq);
	if (lane->cq != NULL)
		rdmapmd_cq_destroy(lane->cq);
	if (lane->td != NULL)
		rdmapmd_td_dealloc(lane->td);
	if (lane->mr != NULL)
		rdmapmd_mr_dereg(lane->mr);
	if (lane->by_qpn.slots != NULL)
		rdmo_map_close(&lane->by_qpn);
	if (lane->regions.slots != NULL)
		rdmo_map_close(&lane->regions);
	rdmo_mail_close(lane->mail);
	rdmo_pulls_close(lane);
	rte_free(lane->memory);
	free(lane->peers);
	free(lane->back);
	free(lane->inbox);
	*lane = (struct rdmo_lane){ 0 };
}

/* ---- Completions ---- */

static void
completion_take(struct rdmo_lane *lane, const struct rdmapmd_wc *wc)
{
	struct rdmo_peer *peer = rdmo_map_find(&lane->by_qpn, wc->qp_num);

	if (peer != NULL && wc->status != RDMAPMD_WC_SUCCESS)
		rdmo_peer_lost(lane, peer);
	if ((wc->wr_id & RDMO_SEND) != 0) {
		if (peer != NULL && wc->status == RDMAPMD_WC_SUCCESS)
			rdmo_peer_sent(lane, peer, (uint32_t)(wc->wr_id & 0xff));
	} else if ((wc->wr_id & RDMO_FETCH) != 0) {
		/* It is not forgotten before: it is away. */
		rdmo_pull_completed(lane, &lane->peers[(uint32_t)wc->wr_id],
				    wc->status == RDMAPMD_WC_SUCCESS);
	} else if (peer != NULL && peer->state == RDMO_PEER_OPEN) {
		rdmo_peer_received(lane, peer, (uint32_t)wc->wr_id, wc->byte_len);
	} else {
		rdmo_lane_give_back(lane, (uint32_t)wc->wr_id);
	}
}

static bool
completions_poll(struct rdmo_lane *lane)
{
	struct rdmapmd_wc wc[BURST];
	const uint16_t n = rdmapmd_poll_cq(lane->cq, wc, BURST);

	for (uint16_t i = 0; i < n; i++)
		completion_take(lane, &wc[i]);
	return n > 0;
}

/* ---- Tasks ---- */

static int
peer_add(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	peer->state = RDMO_PEER_OPEN;
	rdmo_count(&lane->stats.connections, 1);
	return rdmo_map_put(&lane->by_qpn, peer->qp->qp_num, peer);
}

static int
peer_take(struct rdmo_lane *lane, struct rdmo_peer *peer)
{
	rdmo_peer_drop(lane, peer);
	rdmo_map_take(&lane->by_qpn, peer->qp->qp_num);
	peer->state = RDMO_PEER_FREE;
	rdmo_count(&lane->stats.connections, -1);
	return 0;
}

/* Its operations from now on; also of one that is away: who takes the client's regions there sees this first. */
static int
client_lose(struct rdmo_lane *lane, uint64_t client)
{
	for (uint32_t i = 0; i < lane->peer_count; i++)
		if (lane->peers[i].state != RDMO_PEER_FREE && lane->peers[i].flow.client == client)
			atomic_store_explicit(&lane->peers[i].flow.is_lost, true,
					      memory_order_relaxed);
	return 0;
}

static int
task_run(struct rdmo_lane *lane, const struct rdmo_task *task)
{
	struct rdmo_region *region = task->object;

	switch (task->kind) {
	case RDMO_TASK_PUT_REGION: return rdmo_map_put(&lane->regions, region->key, region);
	case RDMO_TASK_TAKE_REGION:
		/* Of those that do not have it, another one's may have its key. */
		if (rdmo_map_find(&lane->regions, region->key) != region)
			return -ENOENT;
		rdmo_map_take(&lane->regions, region->key);
		return 0;
	case RDMO_TASK_HOLD_TAIL: rdmo_region_hold(region, true); return 0;
	case RDMO_TASK_FREE_TAIL: rdmo_region_hold(region, false); return 0;
	case RDMO_TASK_ADD_PEER: return peer_add(lane, task->object);
	case RDMO_TASK_DROP_PEER: return peer_take(lane, task->object);
	case RDMO_TASK_LOSE_CLIENT: return client_lose(lane, task->number);
	case RDMO_TASK_ADD_REMOTE: rdmo_remote_add(lane, task->object); return 0;
	case RDMO_TASK_DROP_REMOTE: rdmo_remote_drop(lane, task->object); return 0;
	case RDMO_TASK_BEGIN_IO: rdmo_remote_io_begin(task->object); return 0;
	case RDMO_TASK_END_IO: return ((const struct rdmo_remote_io *)task->object)->rc;
	case RDMO_TASK_SWEEP:
		while (completions_poll(lane))
			;
		return 0;
	}
	return -EINVAL;
}

/*
 * What is not at home, or in a round of a remote target or one that fetches, comes back by itself, and does not leave again before it has
 * been looked for here.
 */
static bool
task_must_wait(struct rdmo_lane *lane, const struct rdmo_task *task)
{
	const struct rdmo_peer *peer = task->object;
	const struct rdmo_region *region = task->object;

	switch (task->kind) {
	case RDMO_TASK_DROP_PEER: return peer->is_away;
	case RDMO_TASK_TAKE_REGION:
	case RDMO_TASK_HOLD_TAIL:
	case RDMO_TASK_FREE_TAIL:
		return region->remote != NULL ? rdmo_remote_is_busy(region->remote, lane, region)
					      : rdmo_pulls_use(lane, region);
	case RDMO_TASK_DROP_REMOTE: return rdmo_remote_is_busy(task->object, lane, NULL);
	case RDMO_TASK_END_IO: return !rdmo_remote_io_is_over(task->object);
	default: return false;
	}
}

/* Partners: rdmo_lane_ask(), rdmo_task_is_done(). */
static void
asked_run(struct rdmo_lane *lane)
{
	struct rdmo_task *task = atomic_load_explicit(&lane->asked, memory_order_acquire);

	if (task == NULL || task_must_wait(lane, task))
		return;
	atomic_store_explicit(&lane->asked, NULL, memory_order_relaxed);
	task->rc = task_run(lane, task);
	/* It is the asker's again, who may ask for the next one. */
	atomic_store_explicit(&task->is_done, true, memory_order_release);
}

void
rdmo_lane_ask(struct rdmo_lane *lane, struct rdmo_task *task)
{
	atomic_store_explicit(&lane->asked, task, memory_order_release);
}

void
rdmo_lane_idle(struct rdmo_lane *lane)
{
	if (lane->mail != NULL)
		rdmo_peers_dismiss(lane);
	rdmo_pulls_dismiss(lane);
	rdmo_remotes_dismiss(lane);
	completions_poll(lane); /* of READs that are under way */
	rdmo_fetches_look(lane);
	rdmo_remotes_collect(lane);
	asked_run(lane);
	receives_post(lane);
	rdmo_peers_answer(lane);
}

uint32_t
rdmo_lane_poll(struct rdmo_lane *lane)
{
	uint32_t done = 0;

	if (lane->mail != NULL)
		rdmo_peers_arrive(lane);
	rdmo_remotes_collect(lane);
	asked_run(lane);
	completions_poll(lane);
	rdmo_fetches_look(lane);
	if (!TAILQ_EMPTY(&lane->active))
		done = rdmo_peers_run(lane);
	done += rdmo_pulls_run(lane);
	done += rdmo_remotes_run(lane);
	receives_post(lane);
	rdmo_peers_answer(lane);
	return done;
}
