/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues as after creation: nothing is posted. */

#include <stdatomic.h>

#include "core/doorbell.h"
#include "rdma/reset.h"
#include "rdma/rdma.h"

void
rnic_rdma_queues_reset(struct rnic_rdma_qp *qp)
{
	struct rnic_rdma_send *sq = &qp->sq;
	struct rnic_rdma_receive *rq = &qp->rq;
	const struct rnic_tunables *tunables = &qp->dev->tunables;
	uint32_t i;

	sq->signaled = tunables->sends;
	__atomic_store_n(&sq->head, tunables->sends, __ATOMIC_RELEASE);
	__atomic_store_n(&sq->tail, tunables->sends, __ATOMIC_RELEASE);
	sq->wq.producer = 0;
	/* A WQEBB where no WQE starts stands for a request that is long done. */
	for (i = 0; sq->wqes != NULL && i <= sq->wq.mask; i++)
		sq->wqes[i] = (struct rnic_rdma_wqe){ .head = tunables->sends - 1 };
	__atomic_store_n(&rq->head, tunables->receives, __ATOMIC_RELEASE);
	__atomic_store_n(&rq->tail, tunables->receives, __ATOMIC_RELEASE);
	rq->wq.producer = 0;
	__atomic_store_n(&rq->least, UINT32_MAX, __ATOMIC_RELAXED);
	if (sq->wq.dbrec != NULL)
		rnic_sq_dbrec_publish(sq->wq.dbrec, 0);
	if (rq->wq.dbrec != NULL)
		rnic_rq_dbrec_publish(rq->wq.dbrec, 0);
}

void
rnic_rdma_srq_reset(struct rnic_rdma_srq *srq)
{
	uint32_t i;

	for (i = 0; i <= srq->mask; i++)
		atomic_store_explicit(&srq->next[i], i < srq->mask ? i + 1 : RNIC_RDMA_SRQ_LAST,
				      memory_order_relaxed);
	srq->head = 0;
	__atomic_store_n(&srq->least, UINT32_MAX, __ATOMIC_RELAXED);
	atomic_store_explicit(&srq->tail, srq->mask, memory_order_release);
	srq->posted = 0;
	rnic_dbrec_publish(srq->dbrec, 0);
}
