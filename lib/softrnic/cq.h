/* SPDX-License-Identifier: BSD-3-Clause */

/* Writing completions, inline: what the data path does for each packet. */
#ifndef SOFTRNIC_CQ_H
#define SOFTRNIC_CQ_H

#include <string.h>

#include "dump.h"

/* The rare cases of softrnic_cq_claim(): full as far as was known, in error, or the ring must be resolved again. */
bool softrnic_cq_make_room(struct softrnic *dev, struct softrnic_cq *cq);

/*
 * Where the next entry goes, all of it zero but the last byte, which softrnic_cq_publish() alone may write. NULL: the
 * CQ takes no more entries (overrun: its event is posted).
 */
static inline struct rnic_cqe *
softrnic_cq_claim(struct softrnic *dev, struct softrnic_cq *cq)
{
	uint32_t slot = cq->collapsed ? 0 : cq->producer & ((1u << cq->log_size) - 1);
	uint8_t *entry;

	if (__builtin_expect(cq->error ||
				     (cq->producer - cq->consumer >= 1u << cq->log_size &&
				      !cq->ignore_overrun) ||
				     cq->ring.generation != dev->dma_generation,
			     0) &&
	    !softrnic_cq_make_room(dev, cq))
		return NULL;
	/* An entry of 128 bytes has the completion in its second half. */
	entry = softrnic_ring_at(&cq->ring, slot << cq->cqe_bytes_log2);
	entry += (1u << cq->cqe_bytes_log2) - sizeof(struct rnic_cqe);
	softrnic_audit(dev, entry, sizeof(struct rnic_cqe), SOFTRNIC_DMA_WRITE);
	memset(entry, 0, offsetof(struct rnic_cqe, op_own));
	return (struct rnic_cqe *)entry;
}

/* Hand the entry over to the driver: after the payload and its other bytes comes the owner byte, with release. */
static inline void
softrnic_cq_publish(struct softrnic *dev, struct softrnic_cq *cq, struct rnic_cqe *cqe,
		    enum rnic_cqe_opcode opcode, bool solicited)
{
	uint8_t owner = cq->producer >> cq->log_size & 1;

	__atomic_store_n(&cqe->op_own,
			 (uint8_t)(RNIC_CQE_OP_OWN(opcode, owner) | (solicited ? 2 : 0)),
			 __ATOMIC_RELEASE);
	if (__builtin_expect(dev->dump_queues, 0))
		softrnic_dump_cqe(dev, cq, cqe);
	cq->producer++;
	if (solicited)
		cq->solicited = cq->producer;
	if (!cq->pending) {
		cq->pending = true;
		STAILQ_INSERT_TAIL(&dev->pending_cqs, cq, pending_link);
	}
	dev->stats.cqes++;
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

#endif
