/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
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
slot_of(const struct perf_phase *phase, uint8_t *half, uint64_t n)
{
	return half + phase->layout.stride * (n % phase->layout.slots);
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

/* In bw all messages of a slot are the same, and with an SRQ those of all slots: each is filled once. */
static uint64_t
number_of(const struct perf_phase *phase, uint64_t n)
{
	if (phase->end->options->mode == PERF_LAT)
		return n;
	return phase->end->options->use_srq ? 0 : n % phase->layout.slots;
}

void
perf_request_write(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	perf_pattern_fill(perf_request_out(phase, queue, n), phase->layout.size,
			  key_of(phase, queue, phase->end->client), number_of(phase, n));
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
		for (slot = 0; slot < phase->layout.slots; slot++)
			perf_request_write(phase, queue, slot);
	}
}

int64_t
perf_request_compare(const struct perf_phase *phase, const struct perf_queue *queue, uint64_t n)
{
	return perf_pattern_check(perf_request_in(phase, queue, n), phase->layout.size,
				  key_of(phase, queue, !phase->end->client), number_of(phase, n));
}

/* ---- Requests ---- */

static void
fill_remote(const struct perf_phase *phase, const struct perf_queue *queue,
	    struct rdmapmd_send_wr *wr, uint64_t n, uint32_t slot)
{
	const struct perf_end *end = phase->end;
	const uint64_t offset = phase->layout.stride * slot;

	if (perf_op_atomic(end->options->op)) {
		wr->wr.atomic.remote_addr = queue->peer_in;
		wr->wr.atomic.rkey = end->peer.rkey;
		/* The counter is n: both make n + 1 of it. */
		wr->wr.atomic.compare_add = end->options->op == PERF_FETCH_ADD ? 1 : n;
		wr->wr.atomic.swap = n + 1;
	} else if (end->options->transport == RDMAPMD_QPT_UD) {
		wr->wr.ud.ah = end->ah;
		wr->wr.ud.remote_qpn = queue->peer_qp_num;
		wr->wr.ud.remote_qkey = PERF_QKEY;
	} else {
		wr->wr.rdma.remote_addr =
			(end->options->op == PERF_READ ? queue->peer_out : queue->peer_in) + offset;
		wr->wr.rdma.rkey = end->peer.rkey;
	}
}

void
perf_request_fill(const struct perf_phase *phase, const struct perf_queue *queue,
		  struct rdmapmd_send_wr *wr, struct rdmapmd_sge *sge, uint64_t n, uint32_t slot)
{
	const struct perf_end *end = phase->end;
	uint8_t *half = end->options->op == PERF_READ ? queue->in : queue->out;

	*sge = (struct rdmapmd_sge){ (uintptr_t)half + phase->layout.stride * slot,
				     phase->layout.size, end->mr->lkey };
	*wr = (struct rdmapmd_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcodes[end->options->op],
		.imm_data = rte_cpu_to_be_32((uint32_t)n),
	};
	if (phase->layout.size <= end->inline_size && !perf_op_fetches(end->options->op))
		wr->send_flags = RDMAPMD_SEND_INLINE;
	fill_remote(phase, queue, wr, n, slot);
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
