/* SPDX-License-Identifier: BSD-3-Clause */

/* Thread domains. */
#ifndef RNIC_RDMA_TD_H
#define RNIC_RDMA_TD_H

#include <stddef.h>

#include "core/bfreg.h"
#include "rdma/rdma.h"

struct rdmapmd_td;

struct rnic_rdma_td {
	struct rdmapmd_td td;
	struct rnic_bfreg *bf; /* of all its queue pairs */
};

/* The register of a queue pair's thread domain; NULL: it is in none. */
static inline struct rnic_bfreg *
rnic_rdma_domain(const struct rnic_rdma_qp *qp)
{
	return qp->qp.td != NULL ? ((const struct rnic_rdma_td *)qp->qp.td)->bf : NULL;
}

int rnic_rdma_td_alloc(struct rdmapmd_td *td);
int rnic_rdma_td_dealloc(struct rdmapmd_td *td);

#endif
