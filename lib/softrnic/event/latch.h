/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues, and their entries that are held back, the first one of a batch. */
#ifndef SOFTRNIC_LATCH_H
#define SOFTRNIC_LATCH_H

#include <string.h>

#include "prm/queue.h"
#include "softrnic/base/ring.h"

struct softrnic_cq_compress;

struct softrnic_cq {
	struct softrnic_object object;
	struct softrnic_ring ring;
	struct softrnic_dbrec dbrec; /* consumer index, arm word */
	uint32_t producer;	     /* free running, 24 bits on the wire */
	uint32_t consumer;	     /* as last read from the record */
	uint32_t solicited;	     /* producer behind the last solicited entry */
	uint32_t arm;		     /* the arm word as last seen, in the record or a doorbell */
	uint64_t fired;		     /* the arm word whose event was raised; ~0: none yet */
	uint32_t arms;		     /* of its page, when it was made */
	uint8_t log_size;
	uint8_t cqe_bytes_log2; /* 6 or 7 */
	bool collapsed;		/* cc: every entry goes to slot 0 */
	bool ignore_overrun;	/* oi */
	bool error;		/* overrun or unreachable: takes no more entries */
	bool armed;
	bool pending; /* on the list of CQs that got entries in this poll */
	/*
	 * The first entry of a batch that is held back (softrnic_cq_publish_soon()), and where it goes; NULL: there is no
	 * batch. next: where the entry goes that first is claimed as.
	 */
	struct rnic_cqe first, *latch, *next;
	uint8_t latched, batch; /* entries: held back, and as many as may be; 1: none ever is */
	LIST_ENTRY(softrnic_cq) latch_link;
	struct softrnic_cq_compress *
		compress; /* holds those back that come one by one; NULL: they are not compressed */
	/* Moderation: an event waits for so many entries, or so long after the first of them; either 0: it does not. */
	uint16_t max_count;
	bool held; /* an event waits, on the list of those */
	uint64_t period_ns;
	uint64_t held_to; /* ns since power-on */
	TAILQ_ENTRY(softrnic_cq) held_link;
	uint32_t eqn, uar;
	STAILQ_ENTRY(softrnic_cq) pending_link;
	TAILQ_ENTRY(softrnic_cq) sweep_link;
	struct softrnic_object *eq;
	struct rnic_cqc context;
};

/*
 * Where in the ring the completion of a slot is. An entry of 128 bytes has it in its second half, which may lie in the next page: rings
 * begin on 64 bytes.
 */
static inline uint32_t
softrnic_cq_offset(const struct softrnic_cq *cq, uint32_t slot)
{
	return ((slot + 1) << cq->cqe_bytes_log2) - (uint32_t)sizeof(struct rnic_cqe);
}

/* The first entry of a batch goes to its place. Pairs with the driver's acquire of the last byte: behind it are all of them. */
static inline void
softrnic_cq_place(struct rnic_cqe *to, const struct rnic_cqe *first)
{
	memcpy(to, first, offsetof(struct rnic_cqe, op_own));
	__atomic_store_n(&to->op_own, first->op_own, __ATOMIC_RELEASE);
}

/* compress.c: all that is held back there goes to the CQ's ring; runs of frames that are alike as lists, the others as they are. */
void softrnic_cq_compress_show(struct softrnic_cq *cq);

/* Let the driver see what the CQ holds back: the last store to its entries. */
static inline void
softrnic_cq_show(struct softrnic_cq *cq)
{
	if (cq->latch == NULL) {
		if (cq->compress != NULL)
			softrnic_cq_compress_show(cq);
		return;
	}
	softrnic_cq_place(cq->latch, &cq->first);
	cq->latch = NULL;
	LIST_REMOVE(cq, latch_link);
}

/*
 * Let drivers see all entries that are held back. No round ends, no event is posted and no command is answered without it.
 */
static inline void
softrnic_cqs_show(struct softrnic *dev)
{
	struct softrnic_cq *cq;

	while ((cq = LIST_FIRST(&dev->latched_cqs)) != NULL)
		softrnic_cq_show(cq);
}

#endif
