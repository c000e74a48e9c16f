/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Send queues: the engine that executes WQEs.
 *
 * A WQE is copied out of the ring once and checked in the copy: the driver's process may change the ring at any time.
 * Frames point at the driver's payload, or at inline bytes in the copy. The first failing WQE gets an error CQE and
 * puts the queue into ERR, where those behind it are flushed.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/copy.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/uar.h"
#include "softrnic/base/work.h"
#include "softrnic/base/wq.h"
#include "softrnic/engine/burst.h"
#include "softrnic/engine/send.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/port/headers.h"
#include "softrnic/port/port.h"

#define SQ_AHEAD	 8    /* WQEBBs */
#define SQ_BUDGET	 128u /* packets in a turn */
#define SQ_WQE_BYTES_MAX ((RNIC_WQE_DS_MAX + 3) / 4 * RNIC_WQEBB_BYTES)

_Static_assert(SQ_BUDGET >= SOFTRNIC_LOOK_WORK, "a budget is more than what goes without a look");

/* The private copy of one WQE. */
struct sq_wqe {
	union {
		struct rnic_wqe_ctrl ctrl;
		uint8_t bytes[SQ_WQE_BYTES_MAX];
	};
	uint32_t length;  /* ds * 16 */
	uint32_t entries; /* of lists of keys that its segments led through */
} __attribute__((aligned(64)));

/* What an Ethernet segment asks for. */
struct sq_ask {
	uint32_t inline_bytes;
	uint32_t tag; /* VLAN to insert, type and TCI; 0: none */
	uint8_t cs_flags;
	bool offloads; /* more than sending: tag and cs_flags count */
};

/* Why a WQE failed (enum rnic_cqe_syndrome), or that it did not. */
#define SQ_OK	       0
#define SQ_MORE	       -1 /* its turn is over, the rest of it is sent in the next one */
#define SQ_SEGMENT_MAX (1u << SOFTRNIC_LOG_MAX_LSO) /* bytes of a data segment */

static void
sq_copy_block(struct softrnic *dev, const struct softrnic_sq *sq, uint16_t index, uint8_t *to)
{
	uint32_t at = index & ((1u << sq->log_size) - 1);
	const void *from = softrnic_ring_at(&sq->ring, at * RNIC_WQEBB_BYTES);

	softrnic_audit(dev, from, RNIC_WQEBB_BYTES, SOFTRNIC_DMA_READ);
	(void)dev;
	memcpy(to, from, RNIC_WQEBB_BYTES);
}

static void
sq_to_error(struct softrnic *dev, struct softrnic_sq *sq, const char *why)
{
	SOFTRNIC_LOG(INFO, dev, "SQ 0x%x at WQE counter 0x%x: %s", sq->object.number, sq->consumer,
		     why);
	sq->state = RNIC_WQ_STATE_ERR;
	dev->stats.tx_errors++;
}

/* The queue itself is broken, no WQE of it: there is nothing to complete, an event tells. */
static void
sq_catastrophe(struct softrnic *dev, struct softrnic_sq *sq, enum rnic_event what, const char *why)
{
	sq_to_error(dev, sq, why);
	softrnic_wq_event(dev, what, SOFTRNIC_EVENT_QUEUE_SQ, sq->object.number);
}

static void
sq_complete_error(struct softrnic *dev, struct softrnic_sq *sq, uint8_t opcode,
		  enum rnic_cqe_syndrome syndrome)
{
	if (softrnic_cq_post_error(dev, sq->cq, RNIC_CQE_REQUESTER_ERROR, syndrome, 0,
				   (uint32_t)opcode << 24 | sq->object.number, sq->user_index,
				   sq->consumer) != 0)
		softrnic_wq_event(dev, RNIC_EVENT_WQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_SQ,
				  sq->object.number);
	sq->failed = true;
}

static inline void
sq_complete(struct softrnic *dev, struct softrnic_sq *sq, const struct rnic_wqe_ctrl *ctrl)
{
	struct rnic_cqe *cqe;

	if ((ctrl->fm_ce_se & RNIC_WQE_CE_ALWAYS) == 0)
		return;
	cqe = softrnic_cq_claim(dev, sq->cq);
	if (unlikely(cqe == NULL)) {
		sq_catastrophe(dev, sq, RNIC_EVENT_WQ_CATASTROPHIC, "its CQ takes no completion");
		return;
	}
	cqe->srqn_user_index = rnic_cpu_to_be32(sq->user_index);
	cqe->timestamp = softrnic_clock_stamp(dev, sq->utc);
	cqe->sop_drop_qpn = rnic_cpu_to_be32(rnic_be32_to_cpu(ctrl->opmod_idx_opcode) << 24 |
					     sq->object.number);
	cqe->wqe_counter = rnic_cpu_to_be16(sq->consumer);
	softrnic_cq_publish_soon(dev, sq->cq, cqe, RNIC_CQE_REQUESTER,
				 (ctrl->fm_ce_se & RNIC_WQE_CE_MASK) == RNIC_WQE_CE_ALWAYS_EVENT);
}

/* Add one data segment, pointer or inline, to a frame. *at moves behind it. */
static inline int
sq_gather(struct softrnic *dev, const struct softrnic_sq *sq, struct sq_wqe *wqe, uint32_t *at,
	  struct softrnic_frame *frame)
{
	const struct rnic_wqe_data *seg = (const struct rnic_wqe_data *)(wqe->bytes + *at);
	uint32_t length = rnic_be32_to_cpu(seg->byte_count);
	struct iovec *piece = &frame->pieces[frame->count];
	uint32_t key, entries;
	uint64_t va;
	int n;

	if (frame->count == SOFTRNIC_FRAME_PIECES)
		return RNIC_SYND_LOCAL_LENGTH;
	if ((length & RNIC_WQE_INLINE) != 0) {
		length &= ~RNIC_WQE_INLINE;
		if (length > wqe->length - *at - 4)
			return RNIC_SYND_LOCAL_QP_OPERATION;
		piece->iov_base = (void *)(uintptr_t)(wqe->bytes + *at + 4);
		piece->iov_len = length;
		frame->count += length > 0;
		frame->length += length;
		*at += (4 + length + RNIC_WQE_DS_BYTES - 1) & ~(RNIC_WQE_DS_BYTES - 1u);
		return SQ_OK;
	}
	*at += RNIC_WQE_DS_BYTES;
	if (length == 0)
		length = 1u << 31;
	/* Also keeps the sum far from its wrap. */
	if (length > SQ_SEGMENT_MAX)
		return RNIC_SYND_LOCAL_LENGTH;
	frame->length += length;
	key = rnic_be32_to_cpu(seg->lkey);
	va = rnic_be64_to_cpu(seg->address);
	piece->iov_base = softrnic_tpt_flat(dev, key, sq->pd, va, length, SOFTRNIC_LOCAL_READ);
	if (likely(piece->iov_base != NULL)) {
		piece->iov_len = length;
		frame->count++;
		softrnic_audit(dev, piece->iov_base, length, SOFTRNIC_DMA_READ);
		return SQ_OK;
	}
	if (key == SOFTRNIC_RESERVED_LKEY && !sq->rlky)
		return RNIC_SYND_LOCAL_PROTECTION;
	entries = dev->budget->entries;
	n = softrnic_tpt_translate(dev, key, sq->pd, va, length, SOFTRNIC_LOCAL_READ, piece,
				   (int)(SOFTRNIC_FRAME_PIECES - frame->count));
	wqe->entries += dev->budget->entries - entries;
	if (wqe->entries > SOFTRNIC_ENTRIES_WQE)
		return RNIC_SYND_LOCAL_LENGTH;
	if (n < 0)
		return n == -E2BIG ? RNIC_SYND_LOCAL_LENGTH : RNIC_SYND_LOCAL_PROTECTION;
	for (int i = 0; i < n; i++)
		softrnic_audit(dev, piece[i].iov_base, piece[i].iov_len, SOFTRNIC_DMA_READ);
	frame->count += (uint32_t)n;
	return SQ_OK;
}

/* What exceeds the MTU of the day is the port's to drop; the queue fails over what no MTU would allow. */
static inline int
sq_transmit(struct softrnic *dev, const struct softrnic_frame *frame)
{
	if (unlikely(frame->length == 0 || frame->length > softrnic_eth_frame_limit(dev)))
		return RNIC_SYND_LOCAL_LENGTH;
	softrnic_eth_transmit(dev, frame);
	return SQ_OK;
}

/* The same for a frame whose WQE asks for more than sending. */
static __attribute__((noinline)) int
sq_transmit_offloaded(struct softrnic *dev, const struct softrnic_frame *frame,
		      const struct sq_ask *ask)
{
	uint32_t length = frame->length + (ask->tag != 0 ? SOFTRNIC_VLAN_TAG : 0);

	if (frame->length == 0 || length > softrnic_eth_frame_limit(dev))
		return RNIC_SYND_LOCAL_LENGTH;
	softrnic_offload_send(dev, frame, ask->tag, ask->cs_flags);
	return SQ_OK;
}

static inline const struct rnic_wqe_eth *
sq_eth(const struct sq_wqe *wqe)
{
	return (const struct rnic_wqe_eth *)(wqe->bytes + sizeof(struct rnic_wqe_ctrl));
}

/* Only what our capabilities offer may be asked for: there are no tunnels. */
static __attribute__((noinline)) int
sq_read_offloads(const struct softrnic *dev, const struct sq_wqe *wqe, struct sq_ask *ask)
{
	const struct rnic_wqe_eth *eth = sq_eth(wqe);
	uint32_t size = rnic_be16_to_cpu(eth->inline_header_size);

	if ((eth->cs_flags & ~(RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM)) != 0)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	ask->offloads = true;
	ask->cs_flags = eth->cs_flags;
	if ((size & ~(uint32_t)RNIC_WQE_ETH_INLINE_SIZE_MASK) == 0)
		return SQ_OK;
	/* The tag stands where an inline header would. */
	if ((size & ~(uint32_t)RNIC_WQE_ETH_SVLAN) != RNIC_WQE_ETH_INSERT_VLAN ||
	    dev->conf.inline_l2)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	ask->tag = (uint32_t)((size & RNIC_WQE_ETH_SVLAN) != 0 ? SOFTRNIC_ETHERTYPE_SVLAN
							       : SOFTRNIC_ETHERTYPE_CVLAN)
			   << 16 |
		   softrnic_load16(eth->inline_header_start);
	ask->inline_bytes = 0;
	return SQ_OK;
}

/* The Ethernet segment. */
static inline int
sq_read_eth(const struct softrnic *dev, const struct sq_wqe *wqe, struct sq_ask *ask)
{
	const struct rnic_wqe_eth *eth = sq_eth(wqe);

	if (wqe->length < sizeof(struct rnic_wqe_ctrl) + sizeof(*eth))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	ask->inline_bytes = rnic_be16_to_cpu(eth->inline_header_size);
	ask->offloads = false;
	ask->tag = 0;
	if (likely((eth->cs_flags |
		    (ask->inline_bytes & ~(uint32_t)RNIC_WQE_ETH_INLINE_SIZE_MASK)) == 0))
		return SQ_OK;
	return sq_read_offloads(dev, wqe, ask);
}

/* The inline header as a frame's begin, if it is all there; *at: where data segments follow. */
static inline int
sq_inline_header(const struct sq_wqe *wqe, uint32_t bytes, struct softrnic_frame *frame,
		 uint32_t *at)
{
	const uint32_t inline_at =
		sizeof(struct rnic_wqe_ctrl) + offsetof(struct rnic_wqe_eth, inline_header_start);

	*at = sizeof(struct rnic_wqe_ctrl) + sizeof(struct rnic_wqe_eth);
	frame->length = bytes;
	frame->count = 0;
	frame->l4_summed = false;
	if (bytes == 0)
		return SQ_OK;
	if (bytes > wqe->length - inline_at)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	frame->pieces[0].iov_base = (void *)(uintptr_t)(wqe->bytes + inline_at);
	frame->pieces[0].iov_len = bytes;
	frame->count = 1;
	if (inline_at + bytes > *at)
		*at = (inline_at + bytes + RNIC_WQE_DS_BYTES - 1) & ~(RNIC_WQE_DS_BYTES - 1u);
	return SQ_OK;
}

static int
sq_send(struct softrnic *dev, struct softrnic_sq *sq, struct sq_wqe *wqe)
{
	struct softrnic_frame frame;
	struct sq_ask ask;
	uint32_t at;
	int rc;

	rc = sq_read_eth(dev, wqe, &ask);
	if (rc != SQ_OK)
		return rc;
	if (unlikely(ask.inline_bytes < SOFTRNIC_ETH_HEADER && dev->conf.inline_l2))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	rc = sq_inline_header(wqe, ask.inline_bytes, &frame, &at);
	while (rc == SQ_OK && at < wqe->length)
		rc = sq_gather(dev, sq, wqe, &at, &frame);
	if (rc != SQ_OK)
		return rc;
	rc = unlikely(ask.offloads) ? sq_transmit_offloaded(dev, &frame, &ask)
				    : sq_transmit(dev, &frame);
	softrnic_spend_pieces(dev, frame.count);
	return rc;
}

/*
 * Large send: the headers are inline, data segments are the payload. No more than `frames` of them now; what comes later
 * is made of the WQE as it stands in the ring then, copied and checked again.
 */
static __attribute__((noinline)) int
sq_send_large(struct softrnic *dev, struct softrnic_sq *sq, struct sq_wqe *wqe, unsigned int frames,
	      unsigned int *packets)
{
	struct softrnic_frame header, payload;
	struct sq_ask ask;
	uint32_t at;
	int rc;

	rc = sq_read_eth(dev, wqe, &ask);
	if (rc == SQ_OK)
		rc = sq_inline_header(wqe, ask.inline_bytes, &header, &at);
	if (rc != SQ_OK)
		return rc;
	if (header.count == 0)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	payload.length = 0;
	payload.count = 0;
	while (at < wqe->length) {
		rc = sq_gather(dev, sq, wqe, &at, &payload);
		if (rc != SQ_OK)
			return rc;
	}
	rc = softrnic_offload_lso(dev, header.pieces[0].iov_base, header.length,
				  rnic_be16_to_cpu(sq_eth(wqe)->mss), &payload, &sq->lso, &frames);
	if (rc != SQ_OK)
		return rc;
	*packets += frames;
	if (sq->lso.at < payload.length)
		return SQ_MORE;
	sq->lso = (struct softrnic_lso){ 0 };
	return SQ_OK;
}

/* A multi-packet WQE has more, and waits: the share is over. */
static inline bool
sq_multi_waits(const struct softrnic *dev, struct softrnic_sq *sq, const struct sq_wqe *wqe,
	       uint32_t at)
{
	if (likely(!softrnic_share_is_over(dev)) || at >= wqe->length)
		return false;
	sq->multi = (struct softrnic_multi){ at, wqe->entries };
	return true;
}

/*
 * Enhanced multi-packet SEND: each segment behind the Ethernet one is a packet of its own. The context's
 * allow_multi_pkt_send_wqe is of another WQE, which we do not offer: Linux leaves it clear and sends these. Who receives
 * may make any of them long: what is left then waits for the next turn, as of a large send.
 */
static int
sq_send_multi(struct softrnic *dev, struct softrnic_sq *sq, struct sq_wqe *wqe,
	      unsigned int *packets)
{
	uint32_t at = sizeof(struct rnic_wqe_ctrl) + sizeof(struct rnic_wqe_eth);
	struct softrnic_frame frame;
	struct sq_ask ask;
	int rc;

	rc = sq_read_eth(dev, wqe, &ask);
	if (rc != SQ_OK)
		return rc;
	if (ask.inline_bytes != 0 || ask.tag != 0 || dev->conf.inline_l2)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	frame.l4_summed = false;
	if (unlikely(sq->multi.at != 0)) {
		at = sq->multi.at;
		wqe->entries = sq->multi.entries;
		sq->multi = (struct softrnic_multi){ 0 };
	}
	if (likely(!ask.offloads) && at + RNIC_WQE_DS_BYTES < wqe->length) {
		*packets += softrnic_burst_send(dev, sq->pd, wqe->bytes, &at, wqe->length);
		if (sq_multi_waits(dev, sq, wqe, at))
			return SQ_MORE;
	}
	while (at < wqe->length) {
		frame.length = 0;
		frame.count = 0;
		rc = sq_gather(dev, sq, wqe, &at, &frame);
		if (rc == SQ_OK)
			rc = unlikely(ask.offloads) ? sq_transmit_offloaded(dev, &frame, &ask)
						    : sq_transmit(dev, &frame);
		if (rc != SQ_OK)
			return rc;
		++*packets;
		if (sq_multi_waits(dev, sq, wqe, at))
			return SQ_MORE;
	}
	return SQ_OK;
}

/* Returns the WQEBBs that the WQE takes, 0 if its head makes no sense. */
static inline uint32_t
sq_fetch(struct softrnic *dev, const struct softrnic_sq *sq, uint32_t available, struct sq_wqe *wqe)
{
	uint32_t blocks, i;

	sq_copy_block(dev, sq, sq->consumer, wqe->bytes);
	SOFTRNIC_PRIVATE(wqe->ctrl);
	wqe->length = (rnic_be32_to_cpu(wqe->ctrl.qpn_ds) & 0x3f) * RNIC_WQE_DS_BYTES;
	wqe->entries = 0;
	blocks = (wqe->length + RNIC_WQEBB_BYTES - 1) / RNIC_WQEBB_BYTES;
	if (blocks == 0 || blocks > available)
		return 0;
	for (i = 1; i < blocks; i++)
		sq_copy_block(dev, sq, (uint16_t)(sq->consumer + i),
			      wqe->bytes + (size_t)i * RNIC_WQEBB_BYTES);
	SOFTRNIC_PRIVATE(wqe->bytes);
	return blocks;
}

/* As many WQEBBs as this WQE took, further on: the core that wrote them has their lines. */
static inline void
sq_prefetch(const struct softrnic_sq *sq, uint32_t blocks, uint32_t available)
{
	const uint32_t mask = (1u << sq->log_size) - 1;

	for (uint32_t i = SQ_AHEAD; i < SQ_AHEAD + blocks && i < available; i++)
		__builtin_prefetch(softrnic_ring_at(&sq->ring, ((sq->consumer + i) & mask) *
								       RNIC_WQEBB_BYTES));
}

/* Execute the WQE at the consumer; returns how many WQEBBs it took, 0 while it is not done. */
static inline uint32_t
sq_execute(struct softrnic *dev, struct softrnic_sq *sq, uint32_t available, unsigned int budget,
	   unsigned int *packets)
{
	struct sq_wqe wqe;
	uint32_t blocks = sq_fetch(dev, sq, available, &wqe);
	uint8_t opcode = (uint8_t)rnic_be32_to_cpu(wqe.ctrl.opmod_idx_opcode);
	int rc = RNIC_SYND_LOCAL_QP_OPERATION;

	++*packets;
	sq_prefetch(sq, blocks, available);
	if (unlikely(dev->dump_queues) && sq->lso.at == 0 && sq->multi.at == 0)
		softrnic_dump_wqe(dev, "SQ", sq->object.number, sq->consumer, wqe.bytes,
				  blocks * RNIC_WQEBB_BYTES, RNIC_WQE_OF_FRAMES);
	if (likely(blocks != 0 && rnic_be32_to_cpu(wqe.ctrl.qpn_ds) >> 8 == sq->object.number)) {
		if (opcode == RNIC_WQE_ENHANCED_MPSW)
			rc = sq_send_multi(dev, sq, &wqe, packets);
		else if (opcode == RNIC_WQE_SEND)
			rc = sq_send(dev, sq, &wqe);
		else if (opcode == RNIC_WQE_NOP)
			rc = SQ_OK;
		else if (opcode == RNIC_WQE_LSO)
			rc = sq_send_large(dev, sq, &wqe, budget - *packets, packets);
	}
	if (likely(rc == SQ_OK)) {
		softrnic_bf_audit_executed(&sq->bf_audit, wqe.bytes, blocks * RNIC_WQEBB_BYTES,
					   sq->consumer, sq->log_size);
		sq_complete(dev, sq, &wqe.ctrl);
		return blocks;
	}
	if (rc == SQ_MORE)
		return 0;
	sq_complete_error(dev, sq, opcode, (enum rnic_cqe_syndrome)rc);
	sq_to_error(dev, sq, "a WQE failed");
	return blocks == 0 ? 1 : blocks;
}

/* In ERR: complete the WQE at the consumer as flushed. */
static uint32_t
sq_flush(struct softrnic *dev, struct softrnic_sq *sq, uint32_t available)
{
	struct sq_wqe wqe;
	uint32_t blocks = sq_fetch(dev, sq, available, &wqe);

	if (!sq->failed || (wqe.ctrl.fm_ce_se & RNIC_WQE_CE_MASK) != RNIC_WQE_CE_ON_FIRST_ERROR)
		sq_complete_error(dev, sq, (uint8_t)rnic_be32_to_cpu(wqe.ctrl.opmod_idx_opcode),
				  RNIC_SYND_WR_FLUSHED);
	return blocks == 0 ? 1 : blocks;
}

/* WQEBBs that wait, as far as the record says; 0 too when the queue cannot be read. */
static uint32_t
sq_available(struct softrnic *dev, struct softrnic_sq *sq)
{
	uint32_t counter;

	if (!softrnic_dbrec_read(dev, &sq->dbrec, 1, &counter) ||
	    (sq->ring.generation != dev->dma_generation &&
	     !softrnic_ring_refresh(dev, &sq->ring))) {
		if (sq->state == RNIC_WQ_STATE_RDY)
			sq_catastrophe(dev, sq, RNIC_EVENT_WQ_ACCESS_ERROR,
				       "ring or doorbell record is no longer reachable");
		return 0;
	}
	softrnic_bf_audit_counted(dev, &sq->bf_audit, sq->uar, sq->producer, (uint16_t)counter);
	sq->producer = (uint16_t)counter;
	counter = (uint16_t)(sq->producer - sq->consumer);
	if (counter > 1u << sq->log_size) {
		if (sq->state == RNIC_WQ_STATE_RDY)
			sq_catastrophe(dev, sq, RNIC_EVENT_WQ_CATASTROPHIC,
				       "the doorbell record is ahead by more than the ring");
		return 0;
	}
	return counter;
}

/* So much is spent: is the budget used up? *limit: where to ask again. */
static __attribute__((noinline)) bool
sq_budget_is_over(struct softrnic *dev, uint32_t packets, uint32_t end, uint32_t *limit)
{
	const struct softrnic_budget *budget = dev->budget;

	softrnic_spend(dev, packets);
	*limit = budget->spent + SOFTRNIC_LOOK_WORK;
	if (*limit > end)
		*limit = end;
	return budget->spent >= end || softrnic_share_is_over(dev);
}

unsigned int
softrnic_sq_poll(struct softrnic *dev, struct softrnic_sq *sq)
{
	/* Flow tables, of this device or of another one, spend what a frame costs there. */
	const struct softrnic_budget *budget = dev->budget;
	const uint32_t end = budget->spent + SQ_BUDGET;
	uint32_t limit = budget->spent + SOFTRNIC_LOOK_WORK, available, blocks;
	unsigned int wqes = 0, done = 0, packets = 0;

	if (sq->state == RNIC_WQ_STATE_RST)
		return 0;
	for (available = sq_available(dev, sq); available > 0; available -= blocks) {
		if (unlikely(packets + budget->spent >= limit)) {
			done += packets;
			if (sq_budget_is_over(dev, packets, end, &limit)) {
				packets = 0;
				break;
			}
			packets = 0;
		}
		if (likely(sq->state == RNIC_WQ_STATE_RDY)) {
			blocks = sq_execute(dev, sq, available, end - budget->spent, &packets);
		} else if (sq->flush_in_error) {
			blocks = sq_flush(dev, sq, available);
			packets++;
		} else {
			break;
		}
		sq->consumer = (uint16_t)(sq->consumer + blocks);
		wqes += blocks != 0;
	}
	dev->stats.wqes += wqes;
	softrnic_spend(dev, packets);
	/* Looking for a ring in vain is spent but not counted as work: else the device would never rest. */
	return done + packets;
}

static void
sq_activate(struct softrnic *dev, struct softrnic_sq *sq)
{
	/* Among many that are idle it would wait for its turn. */
	if (sq->active && sq->idle > 0) {
		TAILQ_REMOVE(&dev->active_sqs, sq, active_link);
		TAILQ_INSERT_HEAD(&dev->active_sqs, sq, active_link);
	}
	sq->idle = 0;
	if (sq->active || sq->state == RNIC_WQ_STATE_RST)
		return;
	sq->active = true;
	TAILQ_INSERT_TAIL(&dev->active_sqs, sq, active_link);
}

void
softrnic_sq_doorbell(struct softrnic *dev, uint32_t sqn)
{
	struct softrnic_sq *sq = softrnic_object_get(dev, SOFTRNIC_SQ, sqn);

	if (sq == NULL)
		return;
	sq->stale = false;
	sq_activate(dev, sq);
}

/*
 * A driver that takes a queue through RST may leave in the record what it counted before, as Linux does: that is not
 * work. The record counts when a doorbell comes, or when it says something else.
 */
static void
sq_from_reset(struct softrnic *dev, struct softrnic_sq *sq)
{
	uint32_t counter;

	TAILQ_INSERT_TAIL(&dev->swept_sqs, sq, sweep_link);
	softrnic_uar_forget(dev, sq->uar, sq->object.number);
	if (softrnic_dbrec_read(dev, &sq->dbrec, 1, &counter) && (uint16_t)counter != 0) {
		sq->stale = true;
		sq->producer = (uint16_t)counter;
	}
}

static void
sq_to_reset(struct softrnic *dev, struct softrnic_sq *sq)
{
	if (sq->active)
		TAILQ_REMOVE(&dev->active_sqs, sq, active_link);
	if (sq->state != RNIC_WQ_STATE_RST)
		TAILQ_REMOVE(&dev->swept_sqs, sq, sweep_link);
	sq->active = sq->failed = sq->suspect = sq->stale = false;
	sq->state = RNIC_WQ_STATE_RST;
	sq->consumer = sq->producer = 0;
	sq->lso = (struct softrnic_lso){ 0 };
	sq->multi = (struct softrnic_multi){ 0 };
	softrnic_bf_audit_reset(&sq->bf_audit);
}

static void
sq_free(struct softrnic *dev, struct softrnic_sq *sq)
{
	sq_to_reset(dev, sq);
	softrnic_uar_user(dev, sq->uar, -1);
	softrnic_object_remove(dev, &sq->object);
	softrnic_ring_fini(&sq->ring);
	softrnic_dbrec_fini(dev, &sq->dbrec);
	sq->cq->object.refs--;
	sq->pd_object->refs--;
	sq->uar_object->refs--;
	if (sq->tis_object != NULL)
		sq->tis_object->refs--;
	softrnic_free(dev, sq);
}

void
softrnic_sq_drop(struct softrnic *dev, struct softrnic_object *object)
{
	sq_free(dev, (struct softrnic_sq *)object);
}

/* Sizes and flags of the context; what we do not offer is refused. */
static int
sq_from_context(const struct softrnic *dev, struct softrnic_sq *sq)
{
	struct rnic_sqc *sqc = &sq->context;
	const struct rnic_wq *wq = rnic_sqc_wq(sqc);

	/* 16-bit counters: a ring of 2^16 blocks could not tell full from empty. */
	if (rnic_sqc_get(sqc, RNIC_SQC_STATE) != RNIC_WQ_STATE_RST ||
	    rnic_sqc_get(sqc, RNIC_SQC_HAIRPIN) != 0 || rnic_sqc_get(sqc, RNIC_SQC_REG_UMR) != 0 ||
	    rnic_sqc_get(sqc, RNIC_SQC_TIS_LST_SZ) > 1 ||
	    rnic_wq_get(wq, RNIC_WQ_WQ_TYPE) != RNIC_WQ_CYCLIC ||
	    rnic_wq_get(wq, RNIC_WQ_LOG_WQ_STRIDE) != 6 ||
	    rnic_wq_get(wq, RNIC_WQ_LOG_WQ_SZ) > 15 || rnic_wq_get(wq, RNIC_WQ_WQ_SIGNATURE) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (softrnic_is_users(dev) && rnic_sqc_get(sqc, RNIC_SQC_RLKY) != 0)
		return RNIC_STATUS_BAD_PARAM;
	sq->log_size = (uint8_t)rnic_wq_get(wq, RNIC_WQ_LOG_WQ_SZ);
	sq->rlky = rnic_sqc_get(sqc, RNIC_SQC_RLKY) != 0;
	sq->flush_in_error = rnic_sqc_get(sqc, RNIC_SQC_FLUSH_IN_ERROR_EN) != 0;
	sq->uar = (uint32_t)rnic_wq_get(wq, RNIC_WQ_UAR_PAGE);
	sq->pd = (uint32_t)rnic_wq_get(wq, RNIC_WQ_PD);
	sq->tis = (uint32_t)rnic_sqc_get(sqc, RNIC_SQC_TIS_NUM_0);
	sq->user_index = (uint32_t)rnic_sqc_get(sqc, RNIC_SQC_USER_INDEX);
	return softrnic_clock_choose(
		rnic_general_cap_get(&dev->general_cap[1], RNIC_GENERAL_CAP_SQ_TS_FORMAT),
		rnic_sqc_get(sqc, RNIC_SQC_TS_FORMAT), &sq->utc);
}

/* The objects that the queue leans on; no references are taken yet. */
static int
sq_find_objects(struct softrnic *dev, struct softrnic_sq *sq)
{
	sq->cq = softrnic_object_find(dev, SOFTRNIC_CQ,
				      (uint32_t)rnic_sqc_get(&sq->context, RNIC_SQC_CQN));
	sq->pd_object = softrnic_object_find(dev, SOFTRNIC_PD, sq->pd);
	sq->uar_object = softrnic_object_find(dev, SOFTRNIC_UAR, sq->uar);
	if (sq->cq == NULL || sq->pd_object == NULL || sq->uar_object == NULL)
		return RNIC_STATUS_BAD_RES;
	if (rnic_sqc_get(&sq->context, RNIC_SQC_TIS_LST_SZ) != 0) {
		sq->tis_object = softrnic_object_find(dev, SOFTRNIC_TIS, sq->tis);
		if (sq->tis_object == NULL)
			return RNIC_STATUS_BAD_RES;
	}
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(create_sq)
{
	struct rnic_create_sq_in *in = (struct rnic_create_sq_in *)(uintptr_t)cmd->in;
	struct softrnic_sq *sq = softrnic_alloc(dev, 1, sizeof(*sq));
	struct softrnic_ring_place place;
	struct softrnic_address record;
	const struct rnic_wq *wq;
	int status;

	if (sq == NULL)
		return RNIC_STATUS_NO_RES;
	if (!softrnic_user_may(dev, RNIC_UCTX_RIGHT_RAW_TX)) {
		status = softrnic_refuse(dev, cmd, "its user has no right to send raw frames");
		goto free_sq;
	}
	sq->context = *rnic_create_sq_in_sqc(in);
	wq = rnic_sqc_wq(&sq->context);
	cmd->syndrome = 0x904001;
	status = sq_from_context(dev, sq);
	if (status != RNIC_STATUS_OK)
		goto free_sq;
	cmd->syndrome = 0x904002;
	status = sq_find_objects(dev, sq);
	if (status != RNIC_STATUS_OK)
		goto free_sq;
	cmd->syndrome = 0x904003;
	record = softrnic_wq_record(wq);
	status = softrnic_dbrec_init(dev, &sq->dbrec, &record);
	if (status != RNIC_STATUS_OK)
		goto free_sq;
	cmd->syndrome = 0x904004;
	place = softrnic_wq_place(wq, in + 1, cmd->in_bytes - sizeof(*in));
	status = softrnic_ring_init(dev, &sq->ring, &place, RNIC_WQEBB_BYTES << sq->log_size,
				    SOFTRNIC_DMA_READ);
	if (status != RNIC_STATUS_OK)
		goto free_sq;
	cmd->syndrome = 0x904005;
	status = softrnic_object_add(dev, SOFTRNIC_SQ, &sq->object);
	if (status != RNIC_STATUS_OK)
		goto free_ring;
	sq->cq->object.refs++;
	sq->pd_object->refs++;
	sq->uar_object->refs++;
	if (sq->tis_object != NULL)
		sq->tis_object->refs++;
	softrnic_uar_user(dev, sq->uar, 1);
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, sq->object.number);
	return RNIC_STATUS_OK;
free_ring:
	softrnic_ring_fini(&sq->ring);
free_sq:
	softrnic_dbrec_fini(dev, &sq->dbrec);
	softrnic_free(dev, sq);
	return status;
}

SOFTRNIC_CMD(modify_sq)
{
	struct rnic_modify_sq_in *in = (struct rnic_modify_sq_in *)(uintptr_t)cmd->in;
	struct softrnic_sq *sq = softrnic_object_find(
		dev, SOFTRNIC_SQ, (uint32_t)rnic_modify_sq_in_get(in, RNIC_MODIFY_SQ_IN_SQN));
	uint64_t from = rnic_modify_sq_in_get(in, RNIC_MODIFY_SQ_IN_SQ_STATE);
	uint64_t to = rnic_sqc_get(rnic_modify_sq_in_sqc(in), RNIC_SQC_STATE);

	cmd->syndrome = 0x905001;
	if (sq == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x905002;
	if (from != sq->state)
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x905003;
	if (!softrnic_wq_state_allowed(from, to))
		return RNIC_STATUS_BAD_RES_STATE;
	cmd->syndrome = 0x905004;
	if (rnic_modify_sq_in_get(in, RNIC_MODIFY_SQ_IN_BITMASK) != 0)
		return RNIC_STATUS_BAD_PARAM; /* rate limits and hairpins: not offered */
	if (to == from)
		return RNIC_STATUS_OK;
	if (to == RNIC_WQ_STATE_RST) {
		sq_to_reset(dev, sq);
		return RNIC_STATUS_OK;
	}
	if (from == RNIC_WQ_STATE_RST)
		sq_from_reset(dev, sq);
	sq->state = (uint8_t)to;
	/* To ERR: what waits is flushed. */
	if (!sq->stale)
		sq_activate(dev, sq);
	return RNIC_STATUS_OK;
}

static struct softrnic_sq *
sq_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_SQ,
				    (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));
}

SOFTRNIC_CMD(destroy_sq)
{
	struct softrnic_sq *sq = sq_of_command(dev, cmd);

	cmd->syndrome = 0x906001;
	if (sq == NULL)
		return RNIC_STATUS_BAD_RES;
	sq_free(dev, sq);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_sq)
{
	struct softrnic_sq *sq = sq_of_command(dev, cmd);
	struct rnic_sqc *sqc = rnic_query_sq_out_sqc(cmd->out);

	cmd->syndrome = 0x907001;
	if (sq == NULL)
		return RNIC_STATUS_BAD_RES;
	*sqc = sq->context;
	rnic_sqc_set(sqc, RNIC_SQC_STATE, sq->state);
	rnic_wq_set(rnic_sqc_wq(sqc), RNIC_WQ_HW_COUNTER, sq->consumer);
	rnic_wq_set(rnic_sqc_wq(sqc), RNIC_WQ_SW_COUNTER, sq->producer);
	return RNIC_STATUS_OK;
}
