/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The way of most frames: together with those around them. First it is found out where each goes, and that nothing stands in its
 * way; then come all payloads, and behind them all completions, whose lines had time to come from the core that read them.
 * Nothing here refuses or fails: in front of the first frame that is not plain the burst ends, and receive.c takes that one.
 */
#include <rte_branch_prediction.h>

#include "softrnic/base/copy.h"
#include "softrnic/base/work.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/judge.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/burst.h"
#include "softrnic/receive/roce.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/steer.h"
#include "softrnic/receive/tir.h"

#define BURST_QUEUES 16 /* more end it, too */

/* A receive queue that some of them go to. */
struct burst_queue {
	struct softrnic_rq *rq;
	uint32_t room, count; /* frames: it has WQEs and completions for; they are for it */
	const uint8_t *wqes;
	uint32_t wqe, wqe_mask; /* where the next one is, in bytes */
	struct softrnic_tpt_last last;
	struct softrnic_cq_burst cq;
	uint8_t index;
};

/* A frame on its way. */
struct burst_arrival {
	uint8_t *to;
	struct rnic_cqe *cqe; /* NULL: it is told of in a list, perhaps */
	struct rnic_be32 user_index, hash, tag;
	uint16_t wqe;
	uint16_t checksum;
	uint8_t hash_type, hds_ip_ext, l4_l3_hdr_type, op_own;
	bool has_headers; /* that its completion tells of */
	uint8_t queue;	  /* its index, where there is no entry */
};

/* What a port takes. */
struct burst_port {
	const uint8_t *mac;
	uint32_t longest;
	bool unicast, others; /* all of them, whatever their address */
	bool roce;
};

/* A burst, as far as it is known where its frames go. */
struct burst {
	struct burst_port port;
	struct burst_queue queues[BURST_QUEUES];
	uint32_t queue_count;
	bool compressed, plain; /* completions of some queue */
	struct burst_arrival arrivals[SOFTRNIC_BURST];
};

/* ---- Where they go. ---- */

static __rte_always_inline bool
burst_is_for_port(const struct softrnic *dev, const struct burst_port *port,
		  const struct softrnic_burst_frame *frame, const uint8_t *head)
{
	if (frame->length > port->longest)
		return false;
	if (frame->class != SOFTRNIC_ETH_UNICAST)
		return port->others;
	return port->unicast || memcmp(head, port->mac, sizeof(dev->port.mac)) == 0;
}

static __rte_always_inline bool
burst_route(struct softrnic *dev, const uint8_t *head, uint32_t length,
	    struct softrnic_route *route)
{
	const struct softrnic_steering *steering = dev->steering;
	const struct steer_result *verdict = steering->cache;

	/* A way through flow tables may be long. */
	if (unlikely(!softrnic_steer_is_cached(steering, head)))
		return !softrnic_share_is_over(dev) &&
		       softrnic_steer_route(dev, head, length, route);
	if (unlikely(verdict->count != 1))
		return false;
	*route = (struct softrnic_route){ .rq = verdict->to[0].tir->rq, .tag = verdict->to[0].tag };
	return true;
}

/* Another queue, for up to `want` frames; NULL: there is no room. Two queues of one CQ would both take its room. */
static __attribute__((noinline)) struct burst_queue *
burst_queue_add(struct softrnic *dev, struct burst *burst, struct softrnic_rq *rq, uint32_t want)
{
	struct burst_queue *queue = &burst->queues[burst->queue_count];

	for (uint32_t i = 0; i < burst->queue_count; i++) {
		if (burst->queues[i].rq == rq)
			return &burst->queues[i];
		if (burst->queues[i].rq->cq == rq->cq)
			return NULL;
	}
	if (burst->queue_count == BURST_QUEUES || rq->ring.flat == NULL)
		return NULL;
	*queue = (struct burst_queue){
		.rq = rq,
		.index = (uint8_t)burst->queue_count,
		.room = softrnic_rq_posted(dev, rq, want),
		.wqes = rq->ring.flat,
		.wqe = (uint32_t)rq->consumer << rq->log_stride,
		.wqe_mask = (1u << (rq->log_size + rq->log_stride)) - 1,
	};
	if (queue->room > 0)
		queue->room = softrnic_cq_burst_open(dev, rq->cq, queue->room, &queue->cq);
	if (queue->room == 0)
		return NULL;
	burst->queue_count++;
	burst->compressed |= queue->cq.compressed;
	burst->plain |= !queue->cq.compressed;
	return queue;
}

/* Where the frame is copied to, if the first segment of the queue's WQE has room for all of it; else NULL. */
static __rte_always_inline uint8_t *
burst_buffer(struct softrnic *dev, struct burst_queue *queue, uint32_t length)
{
	const uint8_t *wqe = queue->wqes + (queue->wqe & queue->wqe_mask);
	struct rnic_wqe_data seg;
	uint8_t *to;

	softrnic_audit(dev, wqe, sizeof(seg), SOFTRNIC_DMA_READ);
	memcpy(&seg, wqe, sizeof(seg));
	SOFTRNIC_PRIVATE(seg);
	/* The core that posted it has its line. At the ring's end the hint is of no use, nor harm. */
	__builtin_prefetch(wqe + SOFTRNIC_RQ_AHEAD);
	if (softrnic_rq_segment_length(&seg) < length)
		return NULL;
	to = softrnic_tpt_flat_next(dev, &queue->last, seg.lkey, queue->rq->pd,
				    rnic_be64_to_cpu(seg.address), length, SOFTRNIC_LOCAL_WRITE);
	if (to != NULL)
		softrnic_audit(dev, to, length, SOFTRNIC_DMA_WRITE);
	return to;
}

/* Where it is told of is known in the end. The lines that it takes if all are alike are asked for. */
static __rte_always_inline void
burst_claim_compressed(struct softrnic *dev, const struct burst_queue *queue,
		       struct burst_arrival *arrival)
{
	arrival->cqe = NULL;
	arrival->queue = queue->index;
	if (queue->count == 1 || queue->count % RNIC_MINI_CQES == 0)
		softrnic_prefetch_to_write(softrnic_cq_burst_list(dev, &queue->cq, queue->count));
}

/* The next frame, behind which up to `left` more may come; false: it is not plain. */
static __rte_always_inline bool
burst_find(struct softrnic *dev, struct burst *burst, const struct softrnic_burst_frame *frame,
	   const uint8_t *head, uint32_t left, struct burst_arrival *arrival)
{
	struct burst_queue *queue = burst->queues;
	const struct softrnic_rq *rq;
	struct softrnic_route route;

	if (!burst_is_for_port(dev, &burst->port, frame, head))
		return false;
	arrival->has_headers = softrnic_frame_has_headers(head);
	if (arrival->has_headers && burst->port.roce &&
	    softrnic_roce_possible(dev, head, frame->length))
		return false;
	if (!burst_route(dev, head, frame->length, &route))
		return false;
	if (unlikely(queue->rq != route.rq)) {
		queue = burst_queue_add(dev, burst, route.rq, left + 1);
		if (queue == NULL)
			return false;
	}
	rq = queue->rq;
	/* A tag to be taken off. */
	if (!rq->vsd && arrival->has_headers && softrnic_is_vlan(softrnic_load16(head + 12)))
		return false;
	if (unlikely(queue->count == queue->room))
		return false;
	arrival->to = burst_buffer(dev, queue, frame->length);
	if (unlikely(arrival->to == NULL))
		return false;
	if (unlikely(queue->cq.compressed))
		burst_claim_compressed(dev, queue, arrival);
	else
		arrival->cqe = softrnic_cq_burst_claim(dev, &queue->cq, queue->count,
						       RNIC_CQE_RESPONDER_SEND, &arrival->op_own);
	arrival->user_index = rnic_cpu_to_be32(rq->user_index);
	arrival->hash = rnic_cpu_to_be32(route.hash);
	arrival->tag = rnic_cpu_to_be32(route.tag);
	arrival->hash_type = route.hash_type;
	arrival->wqe = (uint16_t)(rq->consumer + queue->count);
	queue->wqe += 1u << rq->log_stride;
	queue->count++;
	return true;
}

/* ---- Payloads. ---- */

static __rte_always_inline void
burst_judged(struct softrnic *dev, const struct softrnic_rx_info *info,
	     struct burst_arrival *arrival)
{
	arrival->checksum = info->checksum;
	arrival->hds_ip_ext = info->hds_ip_ext | info->l4_ok;
	arrival->l4_l3_hdr_type = info->l4_l3_hdr_type;
	dev->stats.rx_checksums_good += info->good;
	dev->stats.rx_checksums_bad += info->bad;
}

/* Its bytes to where they are received. own_head: what was copied of them before; NULL: nothing. */
static __rte_always_inline void
burst_copy(const struct softrnic_burst_frame *frame, const uint8_t *own_head, uint8_t *to)
{
	const uint32_t head = SOFTRNIC_ETH_PRIVATE;

	if (own_head == NULL || frame->length <= head) {
		softrnic_copy(to, own_head == NULL ? frame->bytes : own_head, frame->length);
		return;
	}
	softrnic_copy(to, own_head, head);
	softrnic_copy(to + head, frame->bytes + head, frame->length - head);
}

/* The same, and what is left to be added up. */
static void
burst_copy_summed(const struct softrnic_burst_frame *frame, const uint8_t *own_head, uint8_t *to,
		  struct softrnic_rx_info *info)
{
	const uint32_t head = SOFTRNIC_ETH_PRIVATE, end = frame->length - info->sum.tail;
	struct softrnic_sum_part part = { .skip = end - info->sum.bytes, .left = info->sum.bytes };

	if (own_head == NULL || frame->length <= head) {
		softrnic_rx_copy(to, own_head == NULL ? frame->bytes : own_head, frame->length,
				 info);
		return;
	}
	softrnic_sum_piece(&part, to, own_head, head);
	softrnic_sum_piece(&part, to + head, frame->bytes + head, frame->length - head);
	softrnic_rx_sum(info, part.sum);
}

/* The rest of the sum is known when it was copied. By value: what is known of other frames stays in registers. */
static __attribute__((noinline)) void
burst_place_summed(struct softrnic *dev, const struct softrnic_burst_frame *frame,
		   const uint8_t *own_head, struct softrnic_rx_info info,
		   struct burst_arrival *arrival)
{
	burst_copy_summed(frame, own_head, arrival->to, &info);
	burst_judged(dev, &info, arrival);
}

static __attribute__((noinline)) void
burst_place_any(struct softrnic *dev, const struct softrnic_burst_frame *frame,
		const uint8_t *own_head, struct burst_arrival *arrival)
{
	struct softrnic_rx_info info = { .hds_ip_ext = RNIC_CQE_L2_OK };

	softrnic_headers_receive(own_head == NULL ? frame->bytes : own_head, frame->length, NULL,
				 &info);
	if (info.sum.bytes == 0)
		burst_copy(frame, own_head, arrival->to);
	else
		burst_copy_summed(frame, own_head, arrival->to, &info);
	burst_judged(dev, &info, arrival);
}

static __rte_always_inline void
burst_place_headers(struct softrnic *dev, const struct softrnic_burst_frame *frame,
		    const uint8_t *own_head, struct burst_arrival *arrival)
{
	struct softrnic_rx_info info = { .hds_ip_ext = RNIC_CQE_L2_OK };
	const uint8_t *head = own_head == NULL ? frame->bytes : own_head;

	if (unlikely(!softrnic_judge_plain(head, frame->length, NULL, &info))) {
		burst_place_any(dev, frame, own_head, arrival);
		return;
	}
	if (info.sum.bytes != 0) {
		burst_place_summed(dev, frame, own_head, info, arrival);
		return;
	}
	burst_judged(dev, &info, arrival);
	burst_copy(frame, own_head, arrival->to);
}

static __rte_always_inline void
burst_place(struct softrnic *dev, const struct softrnic_burst_frame *frame, const uint8_t *own_head,
	    struct burst_arrival *arrival)
{
	if (arrival->has_headers) {
		burst_place_headers(dev, frame, own_head, arrival);
		return;
	}
	arrival->checksum = 0;
	arrival->hds_ip_ext = RNIC_CQE_L2_OK;
	arrival->l4_l3_hdr_type = 0;
	burst_copy(frame, own_head, arrival->to);
}

/* ---- Completions. ---- */

static __rte_always_inline void
burst_complete(const struct burst_arrival *arrival, uint32_t length, struct rnic_be64 time)
{
	struct rnic_cqe *cqe = arrival->cqe;

	memset(cqe, 0, offsetof(struct rnic_cqe, op_own));
	cqe->rx_hash_result = arrival->hash;
	cqe->rx_hash_type = arrival->hash_type;
	cqe->hds_ip_ext = arrival->hds_ip_ext;
	cqe->l4_l3_hdr_type = arrival->l4_l3_hdr_type;
	cqe->checksum.raw = arrival->checksum;
	cqe->srqn_user_index = arrival->user_index;
	cqe->byte_count = rnic_cpu_to_be32(length);
	cqe->timestamp = time;
	cqe->sop_drop_qpn = arrival->tag;
	cqe->wqe_counter = rnic_cpu_to_be16(arrival->wqe);
	softrnic_cq_burst_put(cqe, arrival->op_own);
}

/* Are the two told of together, the first one by the title? Their headers are in four bytes, one of which is another matter. */
static __rte_always_inline bool
burst_alike(const struct burst_arrival *title, const struct burst_arrival *arrival, bool sums)
{
	const uint8_t told[] = { sums ? 0 : 0xff, 0xff, 0xff, 0 };
	uint32_t mask, a, b;

	memcpy(&mask, told, sizeof(mask));
	memcpy(&a, &title->hash_type, sizeof(a));
	memcpy(&b, &arrival->hash_type, sizeof(b));
	return ((a ^ b) & mask) == 0 && title->tag.raw == arrival->tag.raw;
}
_Static_assert(offsetof(struct burst_arrival, op_own) ==
		       offsetof(struct burst_arrival, hash_type) + 3,
	       "hash_type, hds_ip_ext, l4_l3_hdr_type, op_own");

static __rte_always_inline uint64_t
burst_mini(const struct burst_arrival *arrival, uint32_t length, bool sums)
{
	struct rnic_mini_cqe mini = { .rx_hash_result = arrival->hash,
				      .byte_count = rnic_cpu_to_be32(length) };
	uint64_t word;

	if (sums) {
		mini.rx_hash_result = rnic_cpu_to_be32(0);
		mini.checksum.raw = arrival->checksum;
	}
	memcpy(&word, &mini, sizeof(word));
	return word;
}

/* Frames of a queue that are told of together, as far as is known. */
struct burst_run {
	struct burst_arrival *title;
	uint32_t length;    /* of its frame */
	uint32_t at, count; /* its place among the queue's; how many */
	uint64_t *list;
};

/* Behind its lists: the title, or the entry of its only frame. */
static __rte_always_inline void
burst_run_end(struct softrnic *dev, const struct burst_queue *queue, const struct burst_run *run,
	      struct rnic_be64 time)
{
	struct burst_arrival *title = run->title;

	title->cqe = softrnic_cq_burst_claim(dev, &queue->cq, run->at, RNIC_CQE_RESPONDER_SEND,
					     &title->op_own);
	if (run->count == 1) {
		burst_complete(title, run->length, time);
		return;
	}
	title->op_own |= RNIC_CQE_COMPRESSED;
	dev->stats.cqes_compressed += run->count;
	dev->stats.cqe_titles++;
	burst_complete(title, run->count, time);
}

/* All frames of a queue. */
static __rte_always_inline void
burst_tell(struct softrnic *dev, struct burst *burst, const struct burst_queue *queue,
	   const struct softrnic_burst_frame *frames, uint32_t count, bool sums,
	   struct rnic_be64 time)
{
	struct burst_arrival *arrival = burst->arrivals, *end = arrival + count;
	const struct softrnic_burst_frame *frame = frames;
	struct burst_run run = { .count = 0 };

	for (; arrival < end; arrival++, frame++) {
		if (arrival->cqe != NULL || arrival->queue != queue->index)
			continue;
		if (run.count == 0 || !burst_alike(run.title, arrival, sums)) {
			if (run.count != 0)
				burst_run_end(dev, queue, &run, time);
			run.title = arrival;
			run.length = frame->length;
			run.at += run.count;
			run.count = 1;
			continue;
		}
		if (run.count == 1) {
			run.list = softrnic_cq_burst_list(dev, &queue->cq, run.at + 1);
			__atomic_store_n(run.list, burst_mini(run.title, run.length, sums),
					 __ATOMIC_RELAXED);
		} else if (run.count % RNIC_MINI_CQES == 0) {
			run.list = softrnic_cq_burst_list(dev, &queue->cq, run.at + run.count);
		}
		/* A driver that has polled this slot too early reads what it then does not believe. */
		__atomic_store_n(&run.list[run.count % RNIC_MINI_CQES],
				 burst_mini(arrival, frame->length, sums), __ATOMIC_RELAXED);
		run.count++;
	}
	burst_run_end(dev, queue, &run, time);
}

/* Where some are compressed. */
static __attribute__((noinline)) void
burst_complete_all(struct softrnic *dev, struct burst *burst,
		   const struct softrnic_burst_frame *frames, uint32_t count, struct rnic_be64 time)
{
	const struct burst_queue *queue = burst->queues, *end = queue + burst->queue_count;

	for (uint32_t i = 0; burst->plain && i < count; i++)
		if (burst->arrivals[i].cqe != NULL)
			burst_complete(&burst->arrivals[i], frames[i].length, time);
	for (; queue < end; queue++) {
		if (!queue->cq.compressed || queue->count == 0)
			continue;
		if (queue->rq->cq->compress->format == RNIC_MINI_CQE_CHECKSUM)
			burst_tell(dev, burst, queue, frames, count, true, time);
		else
			burst_tell(dev, burst, queue, frames, count, false, time);
	}
}

static __rte_always_inline void
burst_end(struct softrnic *dev, struct burst *burst)
{
	struct burst_queue *queue;

	for (queue = burst->queues; queue < burst->queues + burst->queue_count; queue++) {
		softrnic_cq_burst_close(dev, &queue->cq, queue->count);
		queue->rq->consumer = (uint16_t)(queue->rq->consumer + queue->count);
	}
}

/* ---- All of it. ---- */

static __rte_always_inline void
burst_count(struct softrnic *dev, const struct softrnic_burst_frame *frames, uint32_t count)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	const struct softrnic_burst_frame *first = frames, *end = frames + count, *next;
	uint64_t bytes = 0, alike;

	for (; first < end; first = next) {
		next = softrnic_burst_alike(first, end);
		alike = (uint64_t)(next - first);
		counters->rx_packets[first->class] += alike;
		counters->rx_bytes[first->class] += alike * first->length;
		softrnic_port_count_lengths(&dev->port, first->length, alike);
		bytes += alike * first->length;
	}
	dev->stats.rx_packets += count;
	dev->stats.rx_bytes += bytes;
}

static __rte_always_inline uint32_t
burst_receive(struct softrnic *dev, const struct softrnic_burst_frame *frames, uint32_t count,
	      const uint8_t (*heads)[SOFTRNIC_ETH_PRIVATE])
{
	const struct rnic_be64 time = rnic_cpu_to_be64(dev->now + dev->rx_ahead);
	const struct softrnic_port *port = &dev->port;
	struct burst burst;
	uint32_t i;

	burst.queue_count = 0;
	burst.compressed = burst.plain = false;
	burst.queues[0].rq = NULL;
	burst.port = (struct burst_port){
		.mac = port->mac,
		.longest = softrnic_eth_frame_max(dev),
		.unicast = port->promisc_all || port->promisc_uc,
		.others = port->promisc_all || port->promisc_mc,
		.roce = port->roce_enabled,
	};
	for (i = 0; i < count; i++) {
		if (!burst_find(dev, &burst, &frames[i], heads == NULL ? frames[i].bytes : heads[i],
				count - i - 1, &burst.arrivals[i]))
			break;
	}
	count = i;
	for (i = 0; i < count; i++)
		burst_place(dev, &frames[i], heads == NULL ? NULL : heads[i], &burst.arrivals[i]);
	if (unlikely(burst.compressed))
		burst_complete_all(dev, &burst, frames, count, time);
	else
		for (i = 0; i < count; i++)
			burst_complete(&burst.arrivals[i], frames[i].length, time);
	burst_end(dev, &burst);
	burst_count(dev, frames, count);
	return count;
}

/* Frames that their sender may change meanwhile: all that is judged by is copied first, and that copy is what arrives. */
static __attribute__((noinline)) uint32_t
burst_receive_foreign(struct softrnic *dev, const struct softrnic_burst_frame *frames,
		      uint32_t count)
{
	uint8_t heads[SOFTRNIC_BURST][SOFTRNIC_ETH_PRIVATE];
	struct softrnic_burst_frame own[SOFTRNIC_BURST];

	for (uint32_t i = 0; i < count; i++) {
		own[i] = frames[i];
		softrnic_copy(heads[i], frames[i].bytes,
			      frames[i].length < SOFTRNIC_ETH_PRIVATE ? frames[i].length
								      : SOFTRNIC_ETH_PRIVATE);
		SOFTRNIC_PRIVATE(heads[i]);
		own[i].class = softrnic_eth_class(heads[i]);
	}
	return burst_receive(dev, own, count, (const uint8_t(*)[SOFTRNIC_ETH_PRIVATE])heads);
}

uint32_t
softrnic_eth_receive_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
			   uint32_t count)
{
	if (unlikely(dev->state != SOFTRNIC_HCA_READY || dev->dead))
		return 0;
	return unlikely(dev->conf.foreign_memory) ? burst_receive_foreign(dev, frames, count)
						  : burst_receive(dev, frames, count, NULL);
}
