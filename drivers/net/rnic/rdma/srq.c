/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues: receive memory pools that are linked lists (PRM: "RMP Context"). */

#include <errno.h>
#include <stdlib.h>

#include "core/cmd.h"
#include "core/create.h"
#include "core/control.h"
#include "core/dev.h"
#include "core/eq.h"
#include "object/ring.h"
#include "prm/cmd.h"
#include "prm/qp.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "rdma/reset.h"
#include "rdma/post_recv.h"
#include "rdma/rdma.h"
#include "rdma/srq.h"

static int
srq_create_command(struct rnic_rdma_srq *srq, uint8_t log_size)
{
	struct rnic_create_rmp_in in = { 0 };
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(&in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_LINKED_LIST);
	rnic_wq_set(wq, RNIC_WQ_PD, srq->srq.pd->pdn);
	rnic_wq_set(wq, RNIC_WQ_DBR_ADDR, srq->memory.dbrec_iova);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_STRIDE, srq->log_stride);
	rnic_wq_set(wq, RNIC_WQ_LOG_WQ_SZ, log_size);
	return rnic_cmd_create(srq->dev, RNIC_CMD_CREATE_RMP, &in, sizeof(in), &srq->memory.mem,
			       &srq->srq.srqn);
}

/* Whatever of it there is. */
static void
srq_free(struct rnic_rdma_srq *srq)
{
	free(srq->next);
	free(srq->wr_ids);
	rnic_ring_free(srq->dev, &srq->memory, srq->dbrec);
}

static int
srq_alloc(struct rnic_rdma_srq *srq, const struct rdmapmd_srq_sizing *sizing)
{
	void *dbrec;
	int rc;

	srq->mask = sizing->wqe_count - 1;
	srq->max_gs = sizing->max_gs;
	srq->log_stride = (uint8_t)__builtin_ctz(sizing->wqe_size);
	srq->next = calloc(sizing->wqe_count, sizeof(srq->next[0]));
	srq->wr_ids = calloc(sizing->wqe_count, sizeof(srq->wr_ids[0]));
	rc = srq->next == NULL || srq->wr_ids == NULL ? -ENOMEM : 0;
	if (rc == 0)
		rc = rnic_ring_alloc(srq->dev, "a shared receive queue",
				     (size_t)sizing->wqe_count * sizing->wqe_size, RNIC_ACCESS_READ,
				     &srq->memory, &dbrec);
	if (rc != 0) {
		srq_free(srq);
		return rc;
	}
	srq->dbrec = dbrec;
	srq->ring = srq->memory.mem.address;
	rnic_rdma_srq_reset(srq);
	return 0;
}

int
rnic_rdma_srq_create(struct rdmapmd_srq *head, const struct rdmapmd_srq_sizing *sizing)
{
	struct rnic_rdma_srq *srq = (struct rnic_rdma_srq *)head;
	int rc;

	srq->dev = rnic_rdma_dev(head->context);
	rc = srq_alloc(srq, sizing);
	if (rc != 0)
		return rc;
	rc = srq_create_command(srq, (uint8_t)__builtin_ctz(sizing->wqe_count));
	if (rc != 0) {
		srq_free(srq);
		return rc;
	}
	head->post_srq_recv = rnic_rdma_post_srq_recv;
	pthread_mutex_lock(&srq->dev->rdma->lock);
	LIST_INSERT_HEAD(&srq->dev->rdma->all_srqs, srq, next_srq);
	pthread_mutex_unlock(&srq->dev->rdma->lock);
	return 0;
}

int
rnic_rdma_srq_arm(struct rdmapmd_srq *head, uint32_t limit)
{
	struct rnic_rdma_srq *srq = (struct rnic_rdma_srq *)head;
	struct rnic_modify_rmp_in in = { 0 };
	struct rnic_rmpc *rmpc = rnic_modify_rmp_in_rmpc(&in);

	rnic_modify_rmp_in_set(&in, RNIC_MODIFY_RMP_IN_RMP_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_rmp_in_set(&in, RNIC_MODIFY_RMP_IN_RMPN, head->srqn);
	rnic_modify_rmp_in_set(&in, RNIC_MODIFY_RMP_IN_BITMASK, RNIC_MODIFY_RMP_LWM);
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_wq_set(rnic_rmpc_wq(rmpc), RNIC_WQ_LWM, limit);
	/* Before: it may be reached at once. */
	atomic_store(&srq->armed, limit != 0);
	rnic_eq_suspect(srq->dev->rdma->event_eq);
	return rnic_cmd_exec_in(srq->dev, RNIC_CMD_MODIFY_RMP, 0, &in, sizeof(in));
}

int
rnic_rdma_srq_query(struct rdmapmd_srq *head, uint32_t *limit)
{
	struct rnic_rdma_srq *srq = (struct rnic_rdma_srq *)head;
	struct rnic_query_rmp_out out;
	int rc = rnic_cmd_query(srq->dev, RNIC_CMD_QUERY_RMP, head->srqn, &out, sizeof(out));

	if (rc == 0)
		*limit = (uint32_t)rnic_wq_get(rnic_rmpc_wq(rnic_query_rmp_out_rmpc(&out)),
					       RNIC_WQ_LWM);
	return rc;
}

int
rnic_rdma_srq_destroy(struct rdmapmd_srq *head)
{
	struct rnic_rdma_srq *srq = (struct rnic_rdma_srq *)head;
	int rc;

	pthread_mutex_lock(&srq->dev->rdma->lock);
	LIST_REMOVE(srq, next_srq);
	pthread_mutex_unlock(&srq->dev->rdma->lock);
	rc = rnic_cmd_destroy(srq->dev, RNIC_CMD_DESTROY_RMP, head->srqn);
	rnic_control_sync(srq->dev);
	srq_free(srq);
	return rc;
}
