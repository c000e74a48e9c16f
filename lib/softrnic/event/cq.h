/* SPDX-License-Identifier: BSD-3-Clause */

/* Writing completions, inline: what the data path does for each packet. */
#ifndef SOFTRNIC_CQ_H
#define SOFTRNIC_CQ_H

#include <string.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/dump.h"
#include "softrnic/event/compress.h"
#include "softrnic/event/latch.h"

#define SOFTRNIC_CQ_BATCH 16  /* entries that the driver gets to see together, at most */
#define SOFTRNIC_CQ_AHEAD 512 /* bytes: entries to come are asked for early */

/* A line that another core has, so that it is ours by the time that it is written. */
static inline void
softrnic_prefetch_to_write(const void *line)
{
#ifdef __x86_64__
	/* The builtin asks for a copy to read, as not all processors know this; those take it for nothing. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* The rare cases of softrnic_cq_claim(): full as far as was known, in error, or the ring must be resolved again. */
bool softrnic_cq_make_room(struct softrnic *dev, struct softrnic_cq *cq);

/*
 * The next entry, all of it zero but the last byte, which softrnic_cq_publish() alone may write. NULL: the CQ takes no more
 * entries (overrun: its event is posted).
 */
static inline struct rnic_cqe *
softrnic_cq_claim(struct softrnic *dev, struct softrnic_cq *cq)
{
	uint32_t slot = cq->collapsed ? 0 : cq->producer & ((1u << cq->log_size) - 1);
	uint8_t *entry;

	if (unlikely(cq->error ||
		     (cq->producer - cq->consumer >= 1u << cq->log_size && !cq->ignore_overrun) ||
		     cq->ring.generation != dev->dma_generation) &&
	    !softrnic_cq_make_room(dev, cq))
		return NULL;
	entry = softrnic_ring_at(&cq->ring, softrnic_cq_offset(cq, slot));
	softrnic_audit(dev, entry, sizeof(struct rnic_cqe), SOFTRNIC_DMA_WRITE);
	/* The driver's core has the lines of entries that it has read. At the ring's end the hint is of no use, nor harm. */
	softrnic_prefetch_to_write(entry + SOFTRNIC_CQ_AHEAD);
	if (cq->latch == NULL && cq->batch > 1) {
		cq->next = (struct rnic_cqe *)entry;
		entry = (uint8_t *)(unlikely(cq->compress != NULL)
					    ? softrnic_cq_compress_at(cq->compress, cq->producer)
					    : &cq->first);
	}
	memset(entry, 0, offsetof(struct rnic_cqe, op_own));
	return (struct rnic_cqe *)entry;
}

/* It got entries: the round ends with a look at it, and the driver writes there. */
static inline void
softrnic_cq_to_look_at(struct softrnic *dev, struct softrnic_cq *cq)
{
	if (cq->pending)
		return;
	cq->pending = true;
	__builtin_prefetch(cq->dbrec.host);
	STAILQ_INSERT_TAIL(&dev->pending_cqs, cq, pending_link);
}

/* What there is to do for an entry beside the owner byte. */
static inline void
softrnic_cq_advance(struct softrnic *dev, struct softrnic_cq *cq, const struct rnic_cqe *cqe,
		    bool solicited)
{
	if (unlikely(dev->dump_queues)) {
		softrnic_cq_show(cq);
		softrnic_dump_cqe(dev, cq->object.number, cq->producer, cqe);
	}
	cq->producer++;
	if (solicited)
		cq->solicited = cq->producer;
	softrnic_cq_to_look_at(dev, cq);
	dev->stats.cqes++;
}

/* So many more are held back, behind those that are. */
static inline void
softrnic_cq_compress_hold(struct softrnic *dev, struct softrnic_cq *cq, uint32_t count)
{
	if (cq->compress->count == 0)
		LIST_INSERT_HEAD(&dev->latched_cqs, cq, latch_link);
	cq->compress->count += count;
	cq->producer += count;
	dev->stats.cqes += count;
	softrnic_cq_to_look_at(dev, cq);
}

static inline uint8_t
softrnic_cq_op_own(const struct softrnic_cq *cq, enum rnic_cqe_opcode opcode, bool solicited)
{
	return (uint8_t)(RNIC_CQE_OP_OWN(opcode, cq->producer >> cq->log_size & 1) |
			 (solicited ? 2 : 0));
}

/* Of a CQ that compresses: the entry waits in `compress`, where it was claimed, until so many do. */
static inline void
softrnic_cq_compress_publish(struct softrnic *dev, struct softrnic_cq *cq, struct rnic_cqe *cqe,
			     uint8_t op_own, bool solicited, uint32_t most)
{
	cqe->op_own = op_own;
	softrnic_cq_compress_hold(dev, cq, 1);
	if (solicited)
		cq->solicited = cq->producer;
	if (cq->compress->count >= most || unlikely(dev->dump_queues))
		softrnic_cq_show(cq);
	if (unlikely(dev->dump_queues))
		softrnic_dump_cqe(dev, cq->object.number, cq->producer - 1, cqe);
}

/* Hand the entry over to the driver: after the payload and its other bytes comes the owner byte, with release. */
static inline void
softrnic_cq_publish(struct softrnic *dev, struct softrnic_cq *cq, struct rnic_cqe *cqe,
		    enum rnic_cqe_opcode opcode, bool solicited)
{
	const uint8_t op_own = softrnic_cq_op_own(cq, opcode, solicited);

	if (cqe == &cq->first) {
		cqe->op_own = op_own;
		softrnic_cq_place(cq->next, cqe);
	} else if (unlikely(cq->compress != NULL) && cq->latch == NULL) {
		softrnic_cq_compress_publish(dev, cq, cqe, op_own, solicited, 1);
		return;
	} else {
		__atomic_store_n(&cqe->op_own, op_own, __ATOMIC_RELEASE);
		softrnic_cq_show(cq);
	}
	softrnic_cq_advance(dev, cq, cqe, solicited);
}

/*
 * The same, for queues that complete many in a row: a driver that polls fetches the line of the next entry again and
 * again, and each store there takes the line from its core. So the first entry of a batch is put there last, when the batch
 * is full or softrnic_cq_show() says so: until then the driver, which takes entries in order, sees none of them.
 */
static inline void
softrnic_cq_publish_soon(struct softrnic *dev, struct softrnic_cq *cq, struct rnic_cqe *cqe,
			 enum rnic_cqe_opcode opcode, bool solicited)
{
	const uint8_t op_own = softrnic_cq_op_own(cq, opcode, solicited);

	if (unlikely(cq->latch == NULL)) {
		if (cq->compress != NULL) {
			softrnic_cq_compress_publish(dev, cq, cqe, op_own, solicited, cq->batch);
			return;
		}
		if (cq->batch <= 1) {
			softrnic_cq_publish(dev, cq, cqe, opcode, solicited);
			return;
		}
		LIST_INSERT_HEAD(&dev->latched_cqs, cq, latch_link);
		cq->latch = cq->next;
		cq->first.op_own = op_own;
		cq->latched = 1;
	} else {
		__atomic_store_n(&cqe->op_own, op_own, __ATOMIC_RELEASE);
		if (++cq->latched == cq->batch)
			softrnic_cq_show(cq);
	}
	softrnic_cq_advance(dev, cq, cqe, solicited);
}

/*
 * Several at once, as part of a batch. softrnic_cq_burst_open() says for how many of `want` there is room, which takes nothing and
 * fails nothing; 0: one by one, please, for whatever reason. Each entry is claimed, made and put down later, when its line had time to
 * come, and at the end they count.
 */
struct softrnic_cq_burst {
	struct softrnic_cq *cq;
	uint8_t *ring; /* the completion in the first entry */
	uint32_t producer, mask;
	uint8_t entry_shift, log_size;
	bool compressed; /* a list may be where an entry would be (compress.h) */
};

uint32_t softrnic_cq_burst_open(struct softrnic *dev, struct softrnic_cq *cq, uint32_t want,
				struct softrnic_cq_burst *burst);

/* Where the at'th one of the burst is made. *op_own: its last byte. */
static inline struct rnic_cqe *
softrnic_cq_burst_claim(struct softrnic *dev, const struct softrnic_cq_burst *burst, uint32_t at,
			enum rnic_cqe_opcode opcode, uint8_t *op_own)
{
	const uint32_t index = burst->producer + at;
	uint8_t *entry = burst->ring + ((size_t)(index & burst->mask) << burst->entry_shift);

	*op_own = (uint8_t)RNIC_CQE_OP_OWN(opcode, index >> burst->log_size & 1);
	(void)dev;
	softrnic_audit(dev, entry, sizeof(struct rnic_cqe), SOFTRNIC_DMA_WRITE);
	softrnic_prefetch_to_write(entry);
	if (unlikely(at == 0) && burst->cq->latch == NULL) {
		burst->cq->next = (struct rnic_cqe *)entry;
		return &burst->cq->first;
	}
	return (struct rnic_cqe *)entry;
}

/* Behind its payload and its other bytes. */
static inline void
softrnic_cq_burst_put(struct rnic_cqe *cqe, uint8_t op_own)
{
	__atomic_store_n(&cqe->op_own, op_own, __ATOMIC_RELEASE);
}

/* Where its at'th one is; of a list that is put there all bytes are the list's. */
static inline uint64_t *
softrnic_cq_burst_list(struct softrnic *dev, const struct softrnic_cq_burst *burst, uint32_t at)
{
	uint8_t *list = burst->ring +
			((size_t)((burst->producer + at) & burst->mask) << burst->entry_shift);

	(void)dev;
	softrnic_audit(dev, list, sizeof(struct rnic_cqe), SOFTRNIC_DMA_WRITE);
	return (uint64_t *)list;
}

static inline void
softrnic_cq_burst_close(struct softrnic *dev, const struct softrnic_cq_burst *burst, uint32_t count)
{
	struct softrnic_cq *cq = burst->cq;

	if (count == 0)
		return;
	if (cq->latch == NULL) {
		LIST_INSERT_HEAD(&dev->latched_cqs, cq, latch_link);
		cq->latch = cq->next;
		cq->latched = 0;
	}
	cq->latched = (uint8_t)(cq->latched + count);
	cq->producer += count;
	dev->stats.cqes += count;
	softrnic_cq_to_look_at(dev, cq);
	if (cq->latched >= cq->batch)
		softrnic_cq_show(cq);
}

/* An error CQE; 0, or -ENOSPC if the CQ takes none. */
int softrnic_cq_post_error(struct softrnic *dev, struct softrnic_cq *cq,
			   enum rnic_cqe_opcode opcode, enum rnic_cqe_syndrome syndrome,
			   uint8_t vendor_syndrome, uint32_t sop_qpn, uint32_t user_index,
			   uint16_t wqe_counter);

/* A queue's asynchronous event; of SRQs, whose events name no type, it is 0 too. */
#define SOFTRNIC_EVENT_QUEUE_QP 0
#define SOFTRNIC_EVENT_QUEUE_RQ 1
#define SOFTRNIC_EVENT_QUEUE_SQ 2
void softrnic_wq_event(struct softrnic *dev, enum rnic_event what, uint32_t queue_type,
		       uint32_t number);

/* End a round: show all entries, and raise the events of CQs that got some since the last call. */
void softrnic_cq_flush(struct softrnic *dev);
/* Raise the events that have waited long enough. */
void softrnic_cq_release(struct softrnic *dev);
/* Look at one arm record: repairs a doorbell that was lost on a shared page. */
void softrnic_cq_sweep(struct softrnic *dev);
/* The 64-bit write to RNIC_UAR_CQ_ARM (host order words). True: it is the first one of its CQ, which a record need not tell of. */
bool softrnic_cq_arm_doorbell(struct softrnic *dev, uint32_t arm, uint32_t cqn);

/* See softrnic_object_drop(). */
void softrnic_cq_drop(struct softrnic *dev, struct softrnic_object *object);

SOFTRNIC_CMD(create_cq);
SOFTRNIC_CMD(destroy_cq);
SOFTRNIC_CMD(query_cq);
SOFTRNIC_CMD(modify_cq);

#endif
