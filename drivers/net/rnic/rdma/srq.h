/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues. */
#ifndef RNIC_RDMA_SRQ_H
#define RNIC_RDMA_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "rdma/rdma.h"

struct rdmapmd_srq;
struct rdmapmd_srq_sizing;

int rnic_rdma_srq_create(struct rdmapmd_srq *srq, const struct rdmapmd_srq_sizing *sizing);
int rnic_rdma_srq_arm(struct rdmapmd_srq *srq, uint32_t limit);
int rnic_rdma_srq_query(struct rdmapmd_srq *srq, uint32_t *limit);
int rnic_rdma_srq_destroy(struct rdmapmd_srq *srq);
/* A WQE has completed: its request's wr_id. False: it was not posted. */
static inline bool
rnic_rdma_srq_complete(struct rnic_rdma_srq *srq, uint16_t counter, uint64_t *wr_id)
{
	const uint32_t index = counter & srq->mask;
	uint32_t state = RNIC_RDMA_SRQ_POSTED, before;

	/*
	 * In one step: a device that lies may name it in two CQs, which two threads poll. Partner: the store-release of POSTED
	 * in rnic_rdma_post_srq_recv(), behind the wr_id. One that lies names it at any time, so its entry orders nothing.
	 */
	if (unlikely(!atomic_compare_exchange_strong_explicit(
		    &srq->next[index], &state, RNIC_RDMA_SRQ_LAST, memory_order_acquire,
		    memory_order_relaxed)))
		return false;
	*wr_id = srq->wr_ids[index];
	before = atomic_exchange_explicit(&srq->tail, index, memory_order_acq_rel);
	/* Partner: the load-acquire in rnic_rdma_post_srq_recv(), before it writes the WQE anew. */
	atomic_store_explicit(&srq->next[before], index, memory_order_release);
	return true;
}

#endif
