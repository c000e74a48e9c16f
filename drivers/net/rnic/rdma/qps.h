/* SPDX-License-Identifier: BSD-3-Clause */

/* Which queue pairs a CQ has, and how its polls are stopped. */
#ifndef RNIC_RDMA_QPS_H
#define RNIC_RDMA_QPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "rdma/rdma.h"

int rnic_rdma_qps_init(struct rnic_rdma_cq *cq);
void rnic_rdma_qps_fini(struct rnic_rdma_cq *cq);
/* Threads: any, beside one that polls. -ENOMEM, -EEXIST: the device gave a number twice. */
int rnic_rdma_qps_add(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);
/* Of a CQ that is stopped; nothing if it is not there. */
void rnic_rdma_qps_remove(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);
struct rnic_rdma_qp *rnic_rdma_qps_find(const struct rnic_rdma_cq *cq, uint32_t qp_num);

/*
 * Stop the CQs of a queue pair: a poll that is under way ends first, and those that begin before they go on find nothing and
 * return at once. Threads: any, beside those that poll. Not within a poll.
 */
void rnic_rdma_cqs_stop(struct rnic_rdma_qp *qp);
void rnic_rdma_cqs_go(struct rnic_rdma_qp *qp);
/* Must polls have a fence of their own? Asks the kernel once. */
bool rnic_rdma_polls_fenced(void);

static __rte_always_inline void
rnic_rdma_poll_ends(struct rnic_rdma_cq *cq)
{
	/* Partner: the load-acquire of the thread that stops the CQ. */
	atomic_store_explicit(&cq->polling, 0, memory_order_release);
}

/*
 * A poll says that it begins, then looks whether it may; who stops the CQ says so, then looks whether there is one. Either
 * sees the other if no store is late: one of the two must have a fence, and who stops lets the kernel fence all CPUs.
 */
static __rte_always_inline bool
rnic_rdma_poll_begins(struct rnic_rdma_cq *cq, const bool fenced)
{
	if (fenced)
		atomic_exchange_explicit(&cq->polling, 1, memory_order_seq_cst);
	else
		atomic_store_explicit(&cq->polling, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(!atomic_load_explicit(&cq->stopped,
					 fenced ? memory_order_seq_cst : memory_order_acquire)))
		return true;
	rnic_rdma_poll_ends(cq);
	return false;
}

#endif
