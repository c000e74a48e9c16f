/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows: their keys, and the WQEs that change these. */
#ifndef RNIC_RDMA_MW_H
#define RNIC_RDMA_MW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdma/rdma.h"

struct rnic_wqe_data;

struct rnic_rdma_mw {
	struct rdmapmd_mw mw;
	_Atomic uint32_t *seen; /* its slot: the key that was seen invalidated last */
};

int rnic_rdma_mw_alloc(struct rdmapmd_mw *mw);
int rnic_rdma_mw_free(struct rdmapmd_mw *mw);
bool rnic_rdma_mw_bound(const struct rdmapmd_mw *mw);
/* The table of a device's windows goes with it. */
void rnic_rdma_mws_free(struct rnic_rdma *rdma);

/* A WQE that changes a window. */
struct rnic_rdma_umr {
	uint32_t ds;	      /* its length in units */
	uint32_t key;	      /* as it is before */
	uint32_t invalidated; /* the key that leads nowhere when it is done; 0: none */
};
#define RNIC_RDMA_UMR_WQEBBS 3

/* What BIND_MW or LOCAL_INV takes; ds 0: it is not allowed. */
struct rnic_rdma_umr rnic_rdma_mw_look(const struct rnic_rdma_qp *qp,
				       const struct rdmapmd_send_wr *wr, enum rdmapmd_mw_type type);
/* All of it but its control segment, into the WQEBBs; from now on the window is what the request says. */
void rnic_rdma_mw_build(const struct rnic_rdma_qp *qp, const struct rdmapmd_send_wr *wr,
			struct rnic_wqe_data *const wqebbs[RNIC_RDMA_UMR_WQEBBS]);

/* A completion was polled that tells of the end of this key; it may be any number. */
void rnic_rdma_mw_invalidated(struct rnic_rdma *rdma, uint32_t key);

#endif
