/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The way of most frames: together with others like them, all into the one queue that the last verdict of the flow tables
 * names. What they have in common is looked at once, and their completions are written in a row, behind all payloads, when their
 * lines had time to come from the core that read them. Nothing here refuses or fails: whatever is not plain is left to
 * receive.c, frame by frame.
 */
#include <rte_branch_prediction.h>

#include "softrnic/base/copy.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/judge.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/burst.h"
#include "softrnic/receive/roce.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/steer.h"
#include "softrnic/receive/tir.h"

/* What the completion of a frame says, beside what it says of all. */
struct burst_arrival {
	uint32_t length;
	uint16_t checksum;
	uint8_t hds_ip_ext, l4_l3_hdr_type;
};

/* Which frames are alike, for a port and its verdict. */
struct burst_alike {
	const struct softrnic_steering *steering;
	uint32_t longest;
	bool unicast, others; /* the vport takes all of them */
	bool roce;
};

/* The receiver's own address, where the destination is in a word that begins with it. */
static inline bool
burst_is_own(const struct softrnic *dev, const uint8_t *head)
{
	return memcmp(head, dev->port.mac, sizeof(dev->port.mac)) == 0;
}

/* Is it for the vport and the queue of the verdict, as the one before it? */
static __rte_always_inline bool
burst_is_alike(const struct softrnic *dev, const struct burst_alike *alike,
	       const struct softrnic_burst_frame *frame)
{
	const uint8_t *head = frame->bytes;

	if (frame->length > alike->longest || !softrnic_steer_is_cached(alike->steering, head))
		return false;
	if (frame->class != SOFTRNIC_ETH_UNICAST) {
		if (!alike->others)
			return false;
	} else if (!alike->unicast && !burst_is_own(dev, head)) {
		return false;
	}
	return !alike->roce || !softrnic_roce_possible(dev, head, frame->length);
}

/* So many from the first on are. */
static inline uint32_t
burst_count_alike(const struct softrnic *dev, const struct softrnic_burst_frame *frames,
		  uint32_t count)
{
	const struct softrnic_port *port = &dev->port;
	const struct burst_alike alike = {
		.steering = dev->steering,
		.longest = softrnic_eth_frame_max(dev),
		.unicast = port->promisc_all || port->promisc_uc,
		.others = port->promisc_all || port->promisc_mc,
		.roce = port->roce_enabled,
	};
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (!burst_is_alike(dev, &alike, &frames[i]))
			break;
	}
	return i;
}

/* Where the frame goes: the first segment of a WQE has room for all of it, or it is not plain (NULL). */
static __rte_always_inline uint8_t *
burst_buffer(struct softrnic *dev, const struct softrnic_rq *rq, uint32_t index, uint32_t length,
	     const struct softrnic_mkey **mkey, struct rnic_be32 *lkey)
{
	const uint32_t at = (index & ((1u << rq->log_size) - 1)) << rq->log_stride;
	const void *wqe = softrnic_rq_ring_at(dev, rq, at);
	struct rnic_wqe_data seg;
	uint8_t *to;

	memcpy(&seg, wqe, sizeof(seg));
	SOFTRNIC_PRIVATE(seg);
	/* The core that posted it has its line. At the ring's end the hint is of no use, nor harm. */
	__builtin_prefetch((const uint8_t *)wqe + SOFTRNIC_RQ_AHEAD);
	if (softrnic_rq_segment_length(&seg) < length)
		return NULL;
	if (*mkey == NULL || lkey->raw != seg.lkey.raw) {
		*lkey = seg.lkey;
		*mkey = softrnic_tpt_key(dev, rnic_be32_to_cpu(seg.lkey), rq->pd,
					 SOFTRNIC_LOCAL_WRITE);
		if (*mkey == NULL)
			return NULL;
	}
	to = softrnic_tpt_piece(*mkey, rnic_be64_to_cpu(seg.address), length);
	if (to != NULL)
		softrnic_audit(dev, to, length, SOFTRNIC_DMA_WRITE);
	return to;
}

/* All that is known of it. */
static __rte_always_inline void
burst_arrived(struct softrnic *dev, const struct softrnic_rx_info *info,
	      struct burst_arrival *arrival)
{
	arrival->checksum = info->checksum;
	arrival->hds_ip_ext = info->hds_ip_ext | info->l4_ok;
	arrival->l4_l3_hdr_type = info->l4_l3_hdr_type;
	dev->stats.rx_checksums_good += info->good;
	dev->stats.rx_checksums_bad += info->bad;
}

/* The rest of the sum is known when it was copied. By value: what is known of other frames stays in registers. */
static __attribute__((noinline)) void
burst_place_summed(struct softrnic *dev, const struct softrnic_burst_frame *from, uint8_t *to,
		   struct softrnic_rx_info info, struct burst_arrival *arrival)
{
	softrnic_rx_copy(to, from->bytes, from->length, &info);
	burst_arrived(dev, &info, arrival);
}

static __attribute__((noinline)) void
burst_place_any(struct softrnic *dev, const struct softrnic_burst_frame *from, uint8_t *to,
		struct burst_arrival *arrival)
{
	struct softrnic_rx_info info = { .hds_ip_ext = RNIC_CQE_L2_OK };

	softrnic_headers_receive(from->bytes, from->length, NULL, &info);
	if (info.sum.bytes == 0)
		softrnic_copy(to, from->bytes, from->length);
	else
		softrnic_rx_copy(to, from->bytes, from->length, &info);
	burst_arrived(dev, &info, arrival);
}

/* A frame with headers that its completion tells of. */
static __rte_always_inline void
burst_place_packet(struct softrnic *dev, const struct softrnic_burst_frame *from, uint8_t *to,
		   struct burst_arrival *arrival)
{
	struct softrnic_rx_info info = { .hds_ip_ext = RNIC_CQE_L2_OK };

	if (unlikely(!softrnic_judge_plain(from->bytes, from->length, NULL, &info))) {
		burst_place_any(dev, from, to, arrival);
	} else if (info.sum.bytes != 0) {
		burst_place_summed(dev, from, to, info, arrival);
	} else {
		softrnic_copy(to, from->bytes, from->length);
		burst_arrived(dev, &info, arrival);
	}
}

/* Payloads, into the WQEs that come next: of so many frames. */
static inline uint32_t
burst_place(struct softrnic *dev, const struct softrnic_rq *rq,
	    const struct softrnic_burst_frame *frames, uint32_t count,
	    struct burst_arrival *arrivals)
{
	/* Those that the verdict is good for have one type. */
	const bool headers = softrnic_frame_has_headers(frames[0].bytes);
	const struct softrnic_mkey *mkey = NULL;
	const struct softrnic_burst_frame *frame;
	struct rnic_be32 lkey = { 0 };
	uint32_t i;
	uint8_t *to;

	for (i = 0; i < count; i++) {
		frame = &frames[i];
		to = burst_buffer(dev, rq, rq->consumer + i, frame->length, &mkey, &lkey);
		if (unlikely(to == NULL))
			break;
		arrivals[i] = (struct burst_arrival){ .length = frame->length,
						      .hds_ip_ext = RNIC_CQE_L2_OK };
		if (headers)
			burst_place_packet(dev, frame, to, &arrivals[i]);
		else
			softrnic_copy(to, frame->bytes, frame->length);
	}
	return i;
}

static inline void
burst_complete(struct softrnic *dev, struct softrnic_rq *rq, uint32_t flow_tag, uint32_t count,
	       const struct burst_arrival *arrivals)
{
	const struct rnic_be64 time = rnic_cpu_to_be64(dev->now + dev->rx_ahead);
	const struct rnic_be32 user_index = rnic_cpu_to_be32(rq->user_index);
	const struct rnic_be32 tag = rnic_cpu_to_be32(flow_tag);
	struct softrnic_cq *cq = rq->cq;
	struct rnic_cqe *cqe;

	for (uint32_t i = 0; i < count; i++) {
		cqe = softrnic_cq_burst_entry(dev, cq, i);
		cqe->hds_ip_ext = arrivals[i].hds_ip_ext;
		cqe->l4_l3_hdr_type = arrivals[i].l4_l3_hdr_type;
		cqe->checksum.raw = arrivals[i].checksum;
		cqe->srqn_user_index = user_index;
		cqe->byte_count = rnic_cpu_to_be32(arrivals[i].length);
		cqe->timestamp = time;
		cqe->sop_drop_qpn = tag;
		cqe->wqe_counter = rnic_cpu_to_be16((uint16_t)(rq->consumer + i));
		softrnic_cq_burst_put(cq, i, cqe, RNIC_CQE_RESPONDER_SEND);
	}
	softrnic_cq_burst_end(dev, cq, count);
	rq->consumer = (uint16_t)(rq->consumer + count);
}

static inline void
burst_count(struct softrnic *dev, const struct softrnic_burst_frame *frames, uint32_t count)
{
	struct softrnic_port_counters *counters = &dev->port.counters;
	const struct softrnic_burst_frame *frame;
	uint64_t bytes = 0;

	for (frame = frames; frame < frames + count; frame++) {
		counters->rx_packets[frame->class]++;
		counters->rx_bytes[frame->class] += frame->length;
		softrnic_port_count_length(&dev->port, frame->length);
		bytes += frame->length;
	}
	dev->stats.rx_packets += count;
	dev->stats.rx_bytes += bytes;
}

uint32_t
softrnic_eth_receive_burst(struct softrnic *dev, const struct softrnic_burst_frame *frames,
			   uint32_t count)
{
	struct burst_arrival arrivals[SOFTRNIC_BURST];
	const struct steer_result *verdict;
	struct softrnic_rq *rq;

	if (unlikely(dev->state != SOFTRNIC_HCA_READY || dev->dead || !dev->steering->cached))
		return 0;
	verdict = dev->steering->cache;
	if (verdict->count != 1 || verdict->to[0].tir->rq == NULL)
		return 0;
	rq = verdict->to[0].tir->rq;
	count = burst_count_alike(dev, frames, count);
	if (count > 0)
		count = softrnic_rq_posted(dev, rq, count);
	if (count > 0)
		count = softrnic_cq_burst_begin(dev, rq->cq, count);
	if (count == 0)
		return 0;
	count = burst_place(dev, rq, frames, count, arrivals);
	burst_complete(dev, rq, verdict->to[0].tag, count, arrivals);
	burst_count(dev, frames, count);
	return count;
}
