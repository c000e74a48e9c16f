/* SPDX-License-Identifier: BSD-3-Clause */

/* Address handles: the address vector of a datagram, but for its receiver. */
#ifndef RNIC_RDMA_AH_H
#define RNIC_RDMA_AH_H

#include <stdint.h>

#include "prm/wqe.h"
#include "rdmapmd_driver.h"

struct rnic_rdma_qp;

struct rnic_rdma_ah {
	struct rdmapmd_ah ah;
	struct rnic_wqe_av vector; /* what a WQE has, without dqp's number and qkey */
	uint8_t source;		   /* the index of the address that its path begins with */
};

int rnic_rdma_ah_create(struct rdmapmd_ah *ah, const struct rdmapmd_ah_attr *attr);
int rnic_rdma_ah_destroy(struct rdmapmd_ah *ah);

/* Groups of UD queue pairs. */
int rnic_rdma_mcast_attach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);
int rnic_rdma_mcast_detach(struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);

#endif
