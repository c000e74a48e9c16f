/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "pattern.h"
#include "request.h"

#define NOTHING	      0xa5 /* what a slot has that no message has come to */
#define RECEIVE_BURST 32u

static const uint8_t opcodes[] = {
	[PERF_WRITE] = RDMAPMD_WR_RDMA_WRITE,
	[PERF_WRITE_IMM] = RDMAPMD_WR_RDMA_WRITE_WITH_IMM,
	[PERF_SEND] = RDMAPMD_WR_SEND,
	[PERF_READ] = RDMAPMD_WR_RDMA_READ,
	[PERF_FETCH_ADD] = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
	[PERF_CMP_SWAP] = RDMAPMD_WR_ATOMIC_CMP_AND_SWP,
};

/* ---- Memory ---- */

static uint8_t *
slot_of(const struct perf_phase *phase, uint8_t *part, uint64_t n)
{
	return part + phase->layout.stride * (n % phase->layout.slots);
}

uint8_t *
perf_request_in(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	return slot_of(phase, queue->in, n) + phase->layout.head;
}

uint8_t *
perf_request_out(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	return slot_of(phase, queue->out, n);
}

/* What a message is made of: the queue pair, the phase, and which end it comes from. Messages to an SRQ land anywhere. */
static uint64_t
key_of(const struct perf_phase *phase, const struct perf_queue *queue, bool from_client)
{
	const uint64_t index = phase->end->options->use_srq ? 0 : queue->index;

	return index << 32 | phase->number << 1 | from_client;
}

/*
 * In bw all messages of a slot are the same but that of the last lap, and with an SRQ those of all slots: each is filled once. Those of
 * the last lap have other marks.
 */
static uint64_t
number_of(const struct perf_phase *phase, uint64_t n, bool last)
{
	uint64_t number;

	if (phase->end->options->mode == PERF_LAT)
		return n;
	number = phase->end->options->use_srq ? 0 : n % phase->layout.slots;
	return last ? ~number : number;
}

/* Nobody can tell which messages an SRQ's slots end with: all of the last lap are. */
static bool
is_damaged(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n, bool last)
{
	const struct perf_options *o = phase->end->options;

	if (phase->damaged == PERF_NO_MESSAGE || perf_op_atomic(o->op))
		return false;
	if (o->mode == PERF_LAT)
		return n == phase->damaged;
	return last &&
	       (o->use_srq || (queue->index == 0 && n == phase->damaged % phase->layout.slots));
}

static void
fill(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n, bool last)
{
	uint8_t *message = slot_of(phase, last ? queue->last : queue->out, n);

	perf_pattern_fill(message, phase->layout.size, key_of(phase, queue, phase->end->client),
			  number_of(phase, n, last));
	if (is_damaged(phase, queue, n, last))
		message[phase->end->options->damage] ^= 1;
}

void
perf_request_write(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	fill(phase, queue, n, false);
}

void
perf_request_prepare(const struct perf_phase *phase)
{
	const struct perf_options *o = phase->end->options;
	const size_t used = phase->layout.stride * phase->layout.slots;
	uint32_t q, slot;

	for (q = 0; q < o->qps; q++) {
		struct perf_queue *queue = &phase->end->queues[q];

		memset(queue->in, perf_op_atomic(o->op) ? 0 : NOTHING, used);
		for (slot = 0; slot < phase->layout.slots; slot++) {
			fill(phase, queue, slot, false);
			if (phase->layout.has_last)
				fill(phase, queue, slot, true);
		}
	}
}

int64_t
perf_request_compare(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	return perf_pattern_check(perf_request_in(phase, queue, n), phase->layout.size,
				  key_of(phase, queue, !phase->end->client),
				  number_of(phase, n, phase->layout.has_last));
}

/* ---- What is there instead of a message ---- */

static bool
is_nothing(const uint8_t *at, size_t bytes)
{
	while (bytes > 0 && at[bytes - 1] == NOTHING)
		bytes--;
	return bytes == 0;
}

/* A packet after the other: each is of the one message, of the other one, or has not come. */
static bool
packets_were_sent(const struct perf_phase *phase, const uint8_t *in, const uint8_t *one,
		  const uint8_t *other)
{
	size_t at, bytes;

	for (at = 0; at < phase->layout.size; at += bytes) {
		bytes = RTE_MIN(phase->layout.size - at, (size_t)phase->end->mtu);
		if (memcmp(in + at, one + at, bytes) != 0 &&
		    memcmp(in + at, other + at, bytes) != 0 && !is_nothing(in + at, bytes))
			return false;
	}
	return true;
}

bool
perf_request_was_lost(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	const uint64_t key = key_of(phase, queue, !phase->end->client);
	const size_t size = phase->layout.size;
	uint8_t *sent = malloc(2 * size);
	bool was_lost;

	if (sent == NULL)
		return false;
	perf_pattern_fill(sent, size, key, number_of(phase, n, false));
	perf_pattern_fill(sent + size, size, key, number_of(phase, n, true));
	was_lost = packets_were_sent(phase, perf_request_in(phase, queue, n), sent, sent + size);
	free(sent);
	return was_lost;
}

/* ---- Requests ---- */

/* The counter is n: both make n + 1 of it. */
static void
fill_atomic(const struct perf_phase *phase, const struct perf_queue *queue,
	    struct rdmapmd_send_wr *wr, uint64_t n)
{
	const bool add = phase->end->options->op == PERF_FETCH_ADD;

	wr->wr.atomic.remote_addr = queue->peer_in;
	wr->wr.atomic.rkey = phase->end->peer.rkey;
	wr->wr.atomic.compare_add = add ? 1 : n;
	wr->wr.atomic.swap = n + 1;
	if (n == phase->damaged && queue->index == 0)
		*(add ? &wr->wr.atomic.compare_add : &wr->wr.atomic.swap) ^=
			UINT64_C(1) << 8 * phase->end->options->damage;
}

static void
fill_remote(const struct perf_phase *phase, const struct perf_queue *queue,
	    struct rdmapmd_send_wr *wr, uint64_t n, uint32_t slot, bool last)
{
	const struct perf_end *end = phase->end;
	const uint64_t offset = phase->layout.stride * slot;

	if (perf_op_atomic(end->options->op)) {
		fill_atomic(phase, queue, wr, n);
	} else if (end->options->transport == RDMAPMD_QPT_UD) {
		wr->wr.ud.ah = end->ah;
		wr->wr.ud.remote_qpn = queue->peer_qp_num;
		wr->wr.ud.remote_qkey = PERF_QKEY;
	} else {
		wr->wr.rdma.remote_addr = offset + (end->options->op != PERF_READ ? queue->peer_in
						    : last			  ? queue->peer_last
							   : queue->peer_out);
		wr->wr.rdma.rkey = end->peer.rkey;
	}
}

void
perf_request_fill(const struct perf_phase *phase, const struct perf_queue *queue,
		  struct rdmapmd_send_wr *wr, struct rdmapmd_sge *sge, uint64_t n, uint32_t slot,
		  bool last)
{
	const struct perf_end *end = phase->end;
	uint8_t *part = end->options->op == PERF_READ ? queue->in : last ? queue->last : queue->out;

	*sge = (struct rdmapmd_sge){ (uintptr_t)part + phase->layout.stride * slot,
				     phase->layout.size, end->mr->lkey };
	*wr = (struct rdmapmd_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcodes[end->options->op],
		.imm_data = rte_cpu_to_be_32((uint32_t)n),
	};
	if (phase->layout.size <= end->inline_size && !perf_op_fetches(end->options->op))
		wr->send_flags = RDMAPMD_SEND_INLINE;
	fill_remote(phase, queue, wr, n, slot, last);
}

/* ---- Receives ---- */

static uint16_t
post_receives(struct perf_worker *worker, struct perf_queue *queue,
	      const struct rdmapmd_recv_wr *wrs, uint16_t n)
{
	return worker->srq != NULL ? rdmapmd_post_srq_recv(worker->srq, wrs, n)
				   : rdmapmd_post_recv(queue->qp, wrs, n);
}

uint32_t
perf_request_receive(struct perf_phase *phase, struct perf_worker *worker, struct perf_queue *queue,
		     uint64_t first, uint32_t n)
{
	const bool payload = phase->end->options->op == PERF_SEND;
	struct rdmapmd_recv_wr wrs[RECEIVE_BURST];
	struct rdmapmd_sge sges[RECEIVE_BURST];
	uint32_t posted = 0;

	while (posted < n) {
		const uint16_t burst = (uint16_t)RTE_MIN(n - posted, RECEIVE_BURST);
		uint16_t i, took;

		for (i = 0; i < burst; i++) {
			sges[i] = (struct rdmapmd_sge){
				(uintptr_t)perf_request_in(phase, queue, first + posted + i) -
					phase->layout.head,
				phase->layout.size + phase->layout.head, phase->end->mr->lkey
			};
			wrs[i] = (struct rdmapmd_recv_wr){
				.wr_id = queue->index - worker->queues->index,
				.sg_list = &sges[i],
				.num_sge = payload,
			};
		}
		took = post_receives(worker, queue, wrs, burst);
		posted += took;
		if (took < burst) {
			perf_phase_bad_post(phase, "receive",
					    worker->srq != NULL ? worker->srq->post_error
								: queue->qp->post_recv_error);
			break;
		}
	}
	return posted;
}
