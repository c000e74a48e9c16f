/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive queues, cyclic or on a shared pool (RMP): a frame uses one WQE, which is 2^log_stride bytes of data segments.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/copy.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/base/work.h"
#include "softrnic/base/wq.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/receive/rq.h"

#define RQ_STRIDE_LOG_MIN 4    /* one data segment */
#define RQ_ADDRESSES	  12   /* of a frame: a VLAN tag follows */
#define RQ_FLUSH	  1024 /* WQEs at a time */

/* The vendor syndromes of our error CQEs tell the places apart. */
enum rq_vendor_syndrome {
	RQ_VENDOR_TOO_LONG = 0x71,
	RQ_VENDOR_ACCESS = 0x72,
};

static void
rq_set_state(struct softrnic *dev, struct softrnic_rq *rq, uint8_t state)
{
	dev->open_rqs += state != RNIC_WQ_STATE_RST;
	dev->open_rqs -= rq->state != RNIC_WQ_STATE_RST;
	dev->ready_rqs += state == RNIC_WQ_STATE_RDY;
	dev->ready_rqs -= rq->state == RNIC_WQ_STATE_RDY;
	rq->state = state;
	rq->plain = state == RNIC_WQ_STATE_RDY && !rq->utc;
}

static void
rq_to_error(struct softrnic *dev, struct softrnic_rq *rq, const char *why)
{
	SOFTRNIC_LOG(INFO, dev, "RQ 0x%x at WQE counter 0x%x: %s", rq->object.number, rq->consumer,
		     why);
	rq_set_state(dev, rq, RNIC_WQ_STATE_ERR);
	dev->stats.rx_errors++;
}

static void
rq_catastrophe(struct softrnic *dev, struct softrnic_rq *rq, enum rnic_event what, const char *why)
{
	rq_to_error(dev, rq, why);
	softrnic_wq_event(dev, what, SOFTRNIC_EVENT_QUEUE_RQ, rq->object.number);
}

static void
rq_complete_error(struct softrnic *dev, struct softrnic_rq *rq, enum rnic_cqe_syndrome syndrome,
		  enum rq_vendor_syndrome vendor)
{
	if (softrnic_cq_post_error(dev, rq->cq, RNIC_CQE_RESPONDER_ERROR, syndrome, (uint8_t)vendor,
				   rq->object.number, rq->user_index, rq->consumer) != 0)
		softrnic_wq_event(dev, RNIC_EVENT_WQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_RQ,
				  rq->object.number);
	rq->consumer++;
}

/*
 * Complete what is posted as flushed, so many of them; the sweep comes again. What lies in a pool is not the queue's.
 */
static void
rq_flush(struct softrnic *dev, struct softrnic_rq *rq)
{
	uint32_t counter, done;

	if (rq->rmp != NULL || !rq->flush_in_error || softrnic_share_is_over(dev) ||
	    !softrnic_dbrec_read(dev, &rq->dbrec, 0, &counter) ||
	    (uint16_t)(counter - rq->consumer) > 1u << rq->log_size)
		return;
	rq->producer = (uint16_t)counter;
	for (done = 0; done < RQ_FLUSH && rq->consumer != rq->producer && !rq->cq->error; done++)
		rq_complete_error(dev, rq, RNIC_SYND_WR_FLUSHED, 0);
	softrnic_spend(dev, done);
}

/* What is posted in ERR is flushed as well, and no doorbell tells of it. */
static void
rq_start_flushing(struct softrnic *dev, struct softrnic_rq *rq)
{
	rq_flush(dev, rq);
	rq->flushing = true;
	TAILQ_INSERT_TAIL(&dev->flushing_rqs, rq, flush_link);
}

static void
rq_stop_flushing(struct softrnic *dev, struct softrnic_rq *rq)
{
	if (rq->flushing)
		TAILQ_REMOVE(&dev->flushing_rqs, rq, flush_link);
	rq->flushing = false;
}

void
softrnic_rq_sweep(struct softrnic *dev, unsigned int count)
{
	struct softrnic_rq *rq;

	for (; count > 0 && (rq = TAILQ_FIRST(&dev->flushing_rqs)) != NULL; count--) {
		TAILQ_REMOVE(&dev->flushing_rqs, rq, flush_link);
		TAILQ_INSERT_TAIL(&dev->flushing_rqs, rq, flush_link);
		rq_flush(dev, rq);
	}
}

static void
rq_fail(struct softrnic *dev, struct softrnic_rq *rq, enum rnic_cqe_syndrome syndrome,
	enum rq_vendor_syndrome vendor, const char *why)
{
	rq_complete_error(dev, rq, syndrome, vendor);
	rq_to_error(dev, rq, why);
	rq_start_flushing(dev, rq);
}

/* The slow half of "is there a WQE?": reads the record again. */
static bool
rq_refill(struct softrnic *dev, struct softrnic_rq *rq)
{
	uint32_t counter;

	if ((rq->ring.generation != dev->dma_generation &&
	     !softrnic_ring_refresh(dev, &rq->ring)) ||
	    !softrnic_dbrec_read(dev, &rq->dbrec, 0, &counter)) {
		rq_catastrophe(dev, rq, RNIC_EVENT_WQ_ACCESS_ERROR,
			       "ring or doorbell record is no longer reachable");
		return false;
	}
	if ((uint16_t)(counter - rq->consumer) > 1u << rq->log_size) {
		rq_catastrophe(dev, rq, RNIC_EVENT_WQ_CATASTROPHIC,
			       "the doorbell record is ahead by more than the ring");
		return false;
	}
	rq->producer = (uint16_t)counter;
	return rq->consumer != rq->producer;
}

bool
softrnic_rq_has_wqe(struct softrnic *dev, struct softrnic_rq *rq)
{
	if (rq->state != RNIC_WQ_STATE_RDY)
		return false;
	if (rq->rmp != NULL)
		return !softrnic_rmp_empty(dev, rq->rmp);
	return (rq->consumer != rq->producer && rq->ring.generation == dev->dma_generation) ||
	       rq_refill(dev, rq);
}

uint32_t
softrnic_rq_posted(struct softrnic *dev, struct softrnic_rq *rq, uint32_t want)
{
	uint32_t posted = (uint16_t)(rq->producer - rq->consumer), counter;

	if (!rq->plain || rq->rmp != NULL || rq->ring.generation != dev->dma_generation)
		return 0;
	if (posted < want && softrnic_dbrec_read(dev, &rq->dbrec, 0, &counter) &&
	    (uint16_t)(counter - rq->consumer) <= 1u << rq->log_size) {
		rq->producer = (uint16_t)counter;
		posted = (uint16_t)(counter - rq->consumer);
	}
	return posted < want ? posted : want;
}

/* Room that one data segment gives, in host pieces. */
struct rq_room {
	struct iovec pieces[SOFTRNIC_FRAME_PIECES];
	int count, next;
};

/* The data segment at byte `at` of the ring. */
static inline const void *
rq_ring_at(struct softrnic *dev, const struct softrnic_rq *rq, uint32_t at)
{
	const void *segment = softrnic_ring_at(&rq->ring, at);

	softrnic_audit(dev, segment, sizeof(struct rnic_wqe_data), SOFTRNIC_DMA_READ);
	(void)dev;
	return segment;
}

/*
 * Resolve up to `want` bytes of segment `index` of the WQE, in the ring or a copy of it. 0: the list ends here; < 0:
 * refused.
 */
static int
rq_segment(struct softrnic *dev, struct softrnic_rq *rq, const uint8_t *copy, uint32_t index,
	   uint32_t want, struct rq_room *room)
{
	uint32_t wqe = rq->consumer & ((1u << rq->log_size) - 1);
	struct rnic_wqe_data seg;
	uint32_t length, key;

	room->next = room->count = 0;
	if (copy != NULL)
		memcpy(&seg, copy + index * sizeof(seg), sizeof(seg));
	else
		memcpy(&seg, rq_ring_at(dev, rq, (wqe << rq->log_stride) + index * sizeof(seg)),
		       sizeof(seg));
	SOFTRNIC_PRIVATE(seg);
	length = softrnic_rq_segment_length(&seg);
	key = rnic_be32_to_cpu(seg.lkey);
	if (length == 0 && key == RNIC_WQE_INVALID_LKEY)
		return 0;
	if (key == SOFTRNIC_RESERVED_LKEY && !rq->rlky)
		return -EACCES;
	/* Byte count 0 is 2 GiB: more than any frame wants. */
	if (length == 0 || length > want)
		length = want;
	room->pieces[0].iov_base = softrnic_tpt_flat(
		dev, key, rq->pd, rnic_be64_to_cpu(seg.address), length, SOFTRNIC_LOCAL_WRITE);
	room->pieces[0].iov_len = length;
	room->count = 1;
	if (likely(room->pieces[0].iov_base != NULL))
		return 1;
	room->count =
		softrnic_tpt_translate(dev, key, rq->pd, rnic_be64_to_cpu(seg.address), length,
				       SOFTRNIC_LOCAL_WRITE, room->pieces, SOFTRNIC_FRAME_PIECES);
	return room->count;
}

/* Copies of the frame are made by rq_copy(), so that what is left to be added up is added up. */
static inline struct softrnic_sum_part
rq_sum_part(const struct softrnic_frame *frame, const struct softrnic_rx_info *info)
{
	const uint32_t end = frame->length - info->sum.tail;

	return (struct softrnic_sum_part){ .skip = end - info->sum.bytes, .left = info->sum.bytes };
}

static inline void
rq_copy(struct softrnic_sum_part *part, uint8_t *to, const uint8_t *from, size_t length)
{
	if (part->left == 0)
		softrnic_copy(to, from, length);
	else
		softrnic_sum_piece(part, to, from, length);
}

static inline void
rq_copied(const struct softrnic_sum_part *part, struct softrnic_rx_info *info)
{
	if (info->sum.bytes != 0)
		softrnic_rx_sum(info, part->sum);
}

/* Scatter the frame over the WQE; 0, -EMSGSIZE, or what the translation refused with. */
static int
rq_scatter(struct softrnic *dev, struct softrnic_rq *rq, const uint8_t *copy, uint32_t segments,
	   const struct softrnic_frame *frame, struct softrnic_rx_info *info)
{
	struct softrnic_sum_part part = rq_sum_part(frame, info);
	uint32_t index = 0, left = frame->length, piece = 0, entries = dev->budget->entries;
	uint32_t pieces = 0;
	size_t from_at = 0, n;
	struct rq_room room;
	struct iovec *to;
	int rc;

	room.next = room.count = 0;
	while (left > 0) {
		if (room.next == room.count) {
			if (index == segments)
				return -EMSGSIZE;
			rc = rq_segment(dev, rq, copy, index++, left, &room);
			if (rc <= 0)
				return rc < 0 ? rc : -EMSGSIZE;
			if (dev->budget->entries - entries > SOFTRNIC_ENTRIES_WQE)
				return -E2BIG;
			pieces += (uint32_t)room.count;
		}
		to = &room.pieces[room.next];
		n = frame->pieces[piece].iov_len - from_at;
		if (n > to->iov_len)
			n = to->iov_len;
		softrnic_audit(dev, to->iov_base, n, SOFTRNIC_DMA_WRITE);
		rq_copy(&part, to->iov_base, (uint8_t *)frame->pieces[piece].iov_base + from_at, n);
		to->iov_base = (uint8_t *)to->iov_base + n;
		to->iov_len -= n;
		room.next += to->iov_len == 0;
		from_at += n;
		left -= (uint32_t)n;
		if (from_at == frame->pieces[piece].iov_len) {
			piece++;
			from_at = 0;
		}
	}
	softrnic_spend_pieces(dev, pieces);
	rq_copied(&part, info);
	return 0;
}

/* One piece into one segment, the common frame; false: not that simple. */
static inline bool
rq_copy_simple(struct softrnic *dev, struct softrnic_rq *rq, const struct softrnic_frame *frame,
	       struct softrnic_rx_info *info)
{
	const uint32_t at = (rq->consumer & ((1u << rq->log_size) - 1)) << rq->log_stride;
	const void *wqe = rq_ring_at(dev, rq, at);
	struct rnic_wqe_data seg;
	uint8_t *to;

	memcpy(&seg, wqe, sizeof(seg));
	SOFTRNIC_PRIVATE(seg);
	/* The core that posted it has its line. At the ring's end the hint is of no use, nor harm. */
	__builtin_prefetch((const uint8_t *)wqe + SOFTRNIC_RQ_AHEAD);
	if (frame->count != 1 || softrnic_rq_segment_length(&seg) < frame->length)
		return false;
	to = softrnic_tpt_flat(dev, rnic_be32_to_cpu(seg.lkey), rq->pd,
			       rnic_be64_to_cpu(seg.address), frame->length, SOFTRNIC_LOCAL_WRITE);
	if (to == NULL)
		return false;
	softrnic_audit(dev, to, frame->length, SOFTRNIC_DMA_WRITE);
	if (info->sum.bytes == 0)
		softrnic_copy(to, frame->pieces[0].iov_base, frame->length);
	else
		softrnic_rx_copy(to, frame->pieces[0].iov_base, frame->length, info);
	return true;
}

static void
rq_no_buffer(struct softrnic *dev, struct softrnic_rq *rq)
{
	dev->stats.rx_no_buffer++;
	if (rq->counter != NULL)
		rq->counter->roce.out_of_buffer++;
}

/* Without its first VLAN tag, which the completion has instead. */
static __attribute__((noinline)) void
rq_receive_stripped(struct softrnic *dev, struct softrnic_rq *rq,
		    const struct softrnic_frame *frame, const struct softrnic_rx_info *info)
{
	uint8_t head[RQ_ADDRESSES + SOFTRNIC_VLAN_TAG];
	struct softrnic_rx_info stripped = *info;
	struct softrnic_frame rest;

	softrnic_frame_gather(frame, head, sizeof(head));
	stripped.tagged = false;
	stripped.vlan_info = softrnic_load16(head + RQ_ADDRESSES + 2);
	stripped.l4_l3_hdr_type |= RNIC_CQE_VLAN_STRIPPED;
	rest.length = RQ_ADDRESSES;
	rest.count = 1;
	rest.pieces[0].iov_base = head;
	rest.pieces[0].iov_len = RQ_ADDRESSES;
	softrnic_frame_append(&rest, frame, sizeof(head));
	softrnic_rq_receive(dev, rq, &rest, &stripped);
}

/* It lies in the buffers of the WQE that `consumer` names. */
static __rte_always_inline void
rq_complete(struct softrnic *dev, struct softrnic_rq *rq, const struct softrnic_frame *frame,
	    const struct softrnic_rx_info *info)
{
	struct rnic_cqe *cqe;

	cqe = softrnic_cq_claim(dev, rq->cq);
	if (unlikely(cqe == NULL)) {
		rq_catastrophe(dev, rq, RNIC_EVENT_WQ_CATASTROPHIC, "its CQ takes no completion");
		return;
	}
	cqe->rx_hash_result = rnic_cpu_to_be32(info->hash);
	cqe->rx_hash_type = info->hash_type;
	cqe->hds_ip_ext = info->hds_ip_ext | info->l4_ok;
	cqe->l4_l3_hdr_type = info->l4_l3_hdr_type;
	cqe->vlan_info = rnic_cpu_to_be16(info->vlan_info);
	cqe->checksum.raw = info->checksum;
	cqe->srqn_user_index = rnic_cpu_to_be32(rq->user_index);
	cqe->byte_count = rnic_cpu_to_be32(frame->length);
	cqe->timestamp = rnic_cpu_to_be64(dev->now + dev->rx_ahead);
	cqe->sop_drop_qpn = rnic_cpu_to_be32(info->flow_tag);
	cqe->wqe_counter = rnic_cpu_to_be16(rq->consumer);
	rq->consumer++;
	dev->stats.rx_checksums_good += info->good;
	dev->stats.rx_checksums_bad += info->bad;
	dev->stats.rx_vlans += (info->l4_l3_hdr_type & RNIC_CQE_VLAN_STRIPPED) != 0;
	softrnic_cq_publish_soon(dev, rq->cq, cqe, RNIC_CQE_RESPONDER_SEND, false);
}

static void
rq_fail_scatter(struct softrnic *dev, struct softrnic_rq *rq, int rc)
{
	if (rc == -EMSGSIZE || rc == -E2BIG)
		rq_fail(dev, rq, RNIC_SYND_LOCAL_LENGTH, RQ_VENDOR_TOO_LONG,
			rc == -E2BIG ? "a WQE leads to too many pieces, or through too many keys"
				     : "a frame is longer than its WQE");
	else
		rq_fail(dev, rq, RNIC_SYND_LOCAL_PROTECTION, RQ_VENDOR_ACCESS,
			"a WQE points where it may not");
}

/* Into the pool's next WQE. The queue's own counters say that it is empty, always. */
static __attribute__((noinline)) void
rq_receive_pooled(struct softrnic *dev, struct softrnic_rq *rq, const struct softrnic_frame *frame,
		  struct softrnic_rx_info *info)
{
	const uint32_t first = softrnic_rmp_first(rq->rmp);
	uint8_t wqe[1 << SOFTRNIC_LOG_MAX_RQ_WQE];
	int rc = softrnic_rmp_take(dev, rq->rmp, wqe, &rq->consumer);

	if (rc < 0)
		rq_catastrophe(dev, rq, RNIC_EVENT_WQ_CATASTROPHIC,
			       "its receive memory pool is in error");
	if (rc <= 0) {
		rq_no_buffer(dev, rq);
		return;
	}
	rc = rq_scatter(dev, rq, wqe + first, ((1u << rq->log_stride) - first) / RNIC_WQE_DS_BYTES,
			frame, info);
	if (rc == 0)
		rq_complete(dev, rq, frame, info);
	else
		rq_fail_scatter(dev, rq, rc);
	rq->producer = rq->consumer;
}

/* The queue is not plain: it is not there for frames, or has them told in UTC. */
static __attribute__((noinline)) void
rq_receive_aside(struct softrnic *dev, struct softrnic_rq *rq, const struct softrnic_frame *frame,
		 struct softrnic_rx_info *info)
{
	const uint64_t ahead = dev->rx_ahead;

	if (rq->state != RNIC_WQ_STATE_RDY) {
		rq_no_buffer(dev, rq);
		return;
	}
	dev->rx_ahead = softrnic_clock_utc(dev, dev->now + ahead) - dev->now;
	rq->plain = true;
	softrnic_rq_receive(dev, rq, frame, info);
	rq->plain = false;
	dev->rx_ahead = ahead;
}

void
softrnic_rq_receive(struct softrnic *dev, struct softrnic_rq *rq,
		    const struct softrnic_frame *frame, struct softrnic_rx_info *info)
{
	int rc;

	if (unlikely(info->tagged && !rq->vsd)) {
		rq_receive_stripped(dev, rq, frame, info);
		return;
	}
	if (unlikely(!rq->plain)) {
		rq_receive_aside(dev, rq, frame, info);
		return;
	}
	if (unlikely(rq->consumer == rq->producer || rq->ring.generation != dev->dma_generation)) {
		if (rq->rmp != NULL) {
			rq_receive_pooled(dev, rq, frame, info);
			return;
		}
		if (!rq_refill(dev, rq)) {
			rq_no_buffer(dev, rq);
			return;
		}
	}
	if (!rq_copy_simple(dev, rq, frame, info)) {
		rc = rq_scatter(dev, rq, NULL, 1u << (rq->log_stride - RQ_STRIDE_LOG_MIN), frame,
				info);
		if (rc != 0) {
			rq_fail_scatter(dev, rq, rc);
			return;
		}
	}
	rq_complete(dev, rq, frame, info);
}

static void
rq_refer(struct softrnic_rq *rq, int change)
{
	rq->cq->object.refs += (uint32_t)change;
	if (rq->pd_object != NULL)
		rq->pd_object->refs += (uint32_t)change;
	if (rq->rmp != NULL)
		rq->rmp->object.refs += (uint32_t)change;
	if (rq->counter != NULL)
		rq->counter->object.refs += (uint32_t)change;
}

static void
rq_free(struct softrnic *dev, struct softrnic_rq *rq)
{
	rq_stop_flushing(dev, rq);
	rq_set_state(dev, rq, RNIC_WQ_STATE_RST);
	softrnic_object_remove(dev, &rq->object);
	softrnic_ring_fini(&rq->ring);
	softrnic_dbrec_fini(dev, &rq->dbrec);
	rq_refer(rq, -1);
	softrnic_free(dev, rq);
}

void
softrnic_rq_drop(struct softrnic *dev, struct softrnic_object *object)
{
	rq_free(dev, (struct softrnic_rq *)object);
}

/* A ring of its own. */
static int
rq_from_wq(struct softrnic_rq *rq, const struct rnic_wq *wq)
{
	uint64_t stride = rnic_wq_get(wq, RNIC_WQ_LOG_WQ_STRIDE);

	if (rnic_wq_get(wq, RNIC_WQ_WQ_TYPE) != RNIC_WQ_CYCLIC || stride < RQ_STRIDE_LOG_MIN ||
	    stride > SOFTRNIC_LOG_MAX_RQ_WQE || rnic_wq_get(wq, RNIC_WQ_LOG_WQ_SZ) > 15 ||
	    rnic_wq_get(wq, RNIC_WQ_WQ_SIGNATURE) != 0)
		return RNIC_STATUS_BAD_PARAM;
	rq->log_size = (uint8_t)rnic_wq_get(wq, RNIC_WQ_LOG_WQ_SZ);
	rq->log_stride = (uint8_t)stride;
	rq->pd = (uint32_t)rnic_wq_get(wq, RNIC_WQ_PD);
	return RNIC_STATUS_OK;
}

/* rq->rmp is known. */
static int
rq_from_context(const struct softrnic *dev, struct softrnic_rq *rq)
{
	struct rnic_rqc *rqc = &rq->context;
	int status = RNIC_STATUS_OK;

	if (rnic_rqc_get(rqc, RNIC_RQC_STATE) != RNIC_WQ_STATE_RST ||
	    rnic_rqc_get(rqc, RNIC_RQC_HAIRPIN) != 0 ||
	    rnic_rqc_get(rqc, RNIC_RQC_SCATTER_FCS) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (rq->rmp == NULL)
		status = rq_from_wq(rq, rnic_rqc_wq(rqc));
	else
		rq->log_stride = rq->rmp->log_stride;
	if (status != RNIC_STATUS_OK)
		return status;
	rq->rlky = rq->rmp == NULL && rnic_rqc_get(rqc, RNIC_RQC_RLKY) != 0;
	if (rq->rlky && softrnic_is_users(dev))
		return RNIC_STATUS_BAD_PARAM;
	rq->vsd = rnic_rqc_get(rqc, RNIC_RQC_VSD) != 0;
	rq->flush_in_error = rnic_rqc_get(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN) != 0;
	rq->user_index = (uint32_t)rnic_rqc_get(rqc, RNIC_RQC_USER_INDEX);
	return RNIC_STATUS_OK;
}

/*
 * Protection domain 0 is none: no key is in it. Linux makes such a queue to drop what is sent to it, and posts nothing.
 */
static int
rq_find_objects(struct softrnic *dev, struct softrnic_rq *rq)
{
	rq->cq = softrnic_object_find(dev, SOFTRNIC_CQ,
				      (uint32_t)rnic_rqc_get(&rq->context, RNIC_RQC_CQN));
	if (rq->cq == NULL)
		return RNIC_STATUS_BAD_RES;
	if (rq->rmp != NULL) {
		rq->pd = rq->rmp->pd;
	} else if (rq->pd != 0) {
		rq->pd_object = softrnic_object_find(dev, SOFTRNIC_PD, rq->pd);
		if (rq->pd_object == NULL)
			return RNIC_STATUS_BAD_RES;
	}
	return softrnic_q_counter_find(
		dev, (uint32_t)rnic_rqc_get(&rq->context, RNIC_RQC_COUNTER_SET_ID), &rq->counter);
}

/* Of rq->context: a pool that it names takes the place of a ring. */
static int
rq_find_pool(struct softrnic *dev, struct softrnic_rq *rq)
{
	switch (rnic_rqc_get(&rq->context, RNIC_RQC_MEM_RQ_TYPE)) {
	case RNIC_RQ_MEM_INLINE: return RNIC_STATUS_OK;
	case RNIC_RQ_MEM_RMP:
		rq->rmp = softrnic_rmp_find(
			dev, (uint32_t)rnic_rqc_get(&rq->context, RNIC_RQC_RMPN), false);
		return rq->rmp != NULL ? RNIC_STATUS_OK : RNIC_STATUS_BAD_RES;
	default: return RNIC_STATUS_BAD_PARAM;
	}
}

/* The ring of its own. */
static int
rq_ring_init(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_rq *rq)
{
	struct rnic_create_rq_in *in = (struct rnic_create_rq_in *)(uintptr_t)cmd->in;
	const struct rnic_wq *wq = rnic_rqc_wq(&rq->context);
	const struct softrnic_ring_place place =
		softrnic_wq_place(wq, in + 1, cmd->in_bytes - sizeof(*in));
	const struct softrnic_address record = softrnic_wq_record(wq);
	int status;

	cmd->syndrome = 0x908003;
	status = softrnic_dbrec_init(dev, &rq->dbrec, &record);
	if (status != RNIC_STATUS_OK)
		return status;
	cmd->syndrome = 0x908004;
	return softrnic_ring_init(dev, &rq->ring, &place, 1u << (rq->log_size + rq->log_stride),
				  SOFTRNIC_DMA_READ);
}

SOFTRNIC_CMD(create_rq)
{
	struct rnic_create_rq_in *in = (struct rnic_create_rq_in *)(uintptr_t)cmd->in;
	struct softrnic_rq *rq = softrnic_alloc(dev, 1, sizeof(*rq));
	int status;

	if (rq == NULL)
		return RNIC_STATUS_NO_RES;
	rq->context = *rnic_create_rq_in_rqc(in);
	cmd->syndrome = 0x908006;
	status = rq_find_pool(dev, rq);
	if (status != RNIC_STATUS_OK)
		goto free_rq;
	cmd->syndrome = 0x908001;
	status = rq_from_context(dev, rq);
	if (status != RNIC_STATUS_OK)
		goto free_rq;
	status = softrnic_clock_choose(
		rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_RQ_TS_FORMAT),
		rnic_rqc_get(&rq->context, RNIC_RQC_TS_FORMAT), &rq->utc);
	if (status != RNIC_STATUS_OK)
		goto free_rq;
	cmd->syndrome = 0x908002;
	status = rq_find_objects(dev, rq);
	if (status != RNIC_STATUS_OK)
		goto free_rq;
	if (rq->rmp == NULL) {
		status = rq_ring_init(dev, cmd, rq);
		if (status != RNIC_STATUS_OK)
			goto free_rq;
	}
	cmd->syndrome = 0x908005;
	status = softrnic_object_add(dev, SOFTRNIC_RQ, &rq->object);
	if (status != RNIC_STATUS_OK)
		goto free_ring;
	rq_refer(rq, 1);
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, rq->object.number);
	return RNIC_STATUS_OK;
free_ring:
	softrnic_ring_fini(&rq->ring);
free_rq:
	softrnic_dbrec_fini(dev, &rq->dbrec);
	softrnic_free(dev, rq);
	return status;
}

/* VLAN stripping and the counter set may change at any time. */
static int
rq_modify_fields(struct softrnic *dev, struct softrnic_rq *rq, struct rnic_rqc *rqc, uint64_t mask)
{
	struct softrnic_q_counter *counter;
	int status;

	if ((mask & ~(uint64_t)(RNIC_MODIFY_RQ_VSD | RNIC_MODIFY_RQ_COUNTER_SET_ID)) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if ((mask & RNIC_MODIFY_RQ_COUNTER_SET_ID) != 0) {
		status = softrnic_q_counter_find(
			dev, (uint32_t)rnic_rqc_get(rqc, RNIC_RQC_COUNTER_SET_ID), &counter);
		if (status != RNIC_STATUS_OK)
			return status;
		if (rq->counter != NULL)
			rq->counter->object.refs--;
		if (counter != NULL)
			counter->object.refs++;
		rq->counter = counter;
		rnic_rqc_set(&rq->context, RNIC_RQC_COUNTER_SET_ID,
			     rnic_rqc_get(rqc, RNIC_RQC_COUNTER_SET_ID));
	}
	if ((mask & RNIC_MODIFY_RQ_VSD) != 0) {
		rq->vsd = rnic_rqc_get(rqc, RNIC_RQC_VSD) != 0;
		rnic_rqc_set(&rq->context, RNIC_RQC_VSD, rq->vsd);
	}
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_rq)
{
	struct rnic_modify_rq_in *in = (struct rnic_modify_rq_in *)(uintptr_t)cmd->in;
	struct rnic_rqc *rqc = rnic_modify_rq_in_rqc(in);
	struct softrnic_rq *rq = softrnic_object_find(
		dev, SOFTRNIC_RQ, (uint32_t)rnic_modify_rq_in_get(in, RNIC_MODIFY_RQ_IN_RQN));
	uint64_t from = rnic_modify_rq_in_get(in, RNIC_MODIFY_RQ_IN_RQ_STATE);
	uint64_t to = rnic_rqc_get(rqc, RNIC_RQC_STATE);
	int status;

	cmd->syndrome = 0x909001;
	if (rq == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x909002;
	if (from != rq->state)
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x909003;
	if (!softrnic_wq_state_allowed(from, to))
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x909004;
	status = rq_modify_fields(dev, rq, rqc,
				  rnic_modify_rq_in_get(in, RNIC_MODIFY_RQ_IN_BITMASK));
	if (status != RNIC_STATUS_OK)
		return status;
	if (to == from)
		return RNIC_STATUS_OK;
	rq_set_state(dev, rq, (uint8_t)to);
	rq_stop_flushing(dev, rq);
	if (to == RNIC_WQ_STATE_RST)
		rq->consumer = rq->producer = 0;
	else if (to == RNIC_WQ_STATE_ERR)
		rq_start_flushing(dev, rq);
	return RNIC_STATUS_OK;
}

static struct softrnic_rq *
rq_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_RQ,
				    (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));
}

SOFTRNIC_CMD(destroy_rq)
{
	struct softrnic_rq *rq = rq_of_command(dev, cmd);

	cmd->syndrome = 0x90a001;
	if (rq == NULL)
		return RNIC_STATUS_BAD_RES;
	if (rq->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	rq_free(dev, rq);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_rq)
{
	struct softrnic_rq *rq = rq_of_command(dev, cmd);
	struct rnic_rqc *rqc = rnic_query_rq_out_rqc(cmd->out);

	cmd->syndrome = 0x90b001;
	if (rq == NULL)
		return RNIC_STATUS_BAD_RES;
	*rqc = rq->context;
	rnic_rqc_set(rqc, RNIC_RQC_STATE, rq->state);
	rnic_wq_set(rnic_rqc_wq(rqc), RNIC_WQ_HW_COUNTER, rq->consumer);
	rnic_wq_set(rnic_rqc_wq(rqc), RNIC_WQ_SW_COUNTER, rq->producer);
	return RNIC_STATUS_OK;
}
