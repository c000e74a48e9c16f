/* SPDX-License-Identifier: BSD-3-Clause */

/* Entries of CQs that are held back, the first one of a batch. */
#ifndef SOFTRNIC_LATCH_H
#define SOFTRNIC_LATCH_H

#include <string.h>

#include "softrnic/base/device.h"

/* The first entry of a batch goes to its place. Pairs with the driver's acquire of the last byte: behind it are all of them. */
static inline void
softrnic_cq_place(struct rnic_cqe *to, const struct rnic_cqe *first)
{
	memcpy(to, first, offsetof(struct rnic_cqe, op_own));
	__atomic_store_n(&to->op_own, first->op_own, __ATOMIC_RELEASE);
}

/* Let the driver see what the CQ holds back: the last store to its entries. */
static inline void
softrnic_cq_show(struct softrnic_cq *cq)
{
	if (cq->latch == NULL)
		return;
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
