/* SPDX-License-Identifier: BSD-3-Clause */

/* States of queue pairs. */
#ifndef RNIC_RDMA_MODIFY_H
#define RNIC_RDMA_MODIFY_H

#include "rdmapmd_driver.h"

struct rdmapmd_qp;
struct rdmapmd_qp_attr;
struct rnic_rdma_qp;

int rnic_rdma_qp_modify(struct rdmapmd_qp *qp, const struct rdmapmd_qp_attr *attr,
			unsigned int mask, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to);
int rnic_rdma_qp_query(struct rdmapmd_qp *qp, struct rdmapmd_qp_attr *attr);
/* To RESET: afterwards nothing is posted or completes, whatever the device answers. Nobody posts meanwhile. */
int rnic_rdma_qp_reset(struct rnic_rdma_qp *qp);

#endif
