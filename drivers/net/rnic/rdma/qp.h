/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: created and destroyed. */
#ifndef RNIC_RDMA_QP_H
#define RNIC_RDMA_QP_H

struct rdmapmd_qp;
struct rdmapmd_qp_init_attr;
struct rdmapmd_qp_sizing;

int rnic_rdma_qp_create(struct rdmapmd_qp *qp, const struct rdmapmd_qp_init_attr *attr,
			const struct rdmapmd_qp_sizing *sizing);
int rnic_rdma_qp_destroy(struct rdmapmd_qp *qp);

#endif
