/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues as after creation. */
#ifndef RNIC_RDMA_RESET_H
#define RNIC_RDMA_RESET_H

struct rnic_rdma_qp;
struct rnic_rdma_srq;

/* Nothing is posted. Nobody posts meanwhile, and its CQs are stopped. */
void rnic_rdma_queues_reset(struct rnic_rdma_qp *qp);
/* All WQEs are free. */
void rnic_rdma_srq_reset(struct rnic_rdma_srq *srq);

#endif
