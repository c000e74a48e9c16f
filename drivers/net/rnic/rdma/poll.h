/* SPDX-License-Identifier: BSD-3-Clause */

/* Polling a CQ: the data path. */
#ifndef RNIC_RDMA_POLL_H
#define RNIC_RDMA_POLL_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmapmd.h"

struct rnic_rdma_cq;
struct rnic_rdma_qp;

enum rnic_rdma_poll_kind {
	RNIC_RDMA_POLL_PLAIN,
	/* Where the kernel has no fence for all CPUs: each poll that finds something has one of its own. */
	RNIC_RDMA_POLL_FENCED,
	RNIC_RDMA_POLL_DUMP, /* the same, and every entry is dumped */
	RNIC_RDMA_POLL_KINDS,
};
/* [1]: they fill completion_ts. */
extern const rdmapmd_poll_cq_t rnic_rdma_polls[2][RNIC_RDMA_POLL_KINDS];
int rnic_rdma_req_notify_cq(struct rdmapmd_cq *cq, bool solicited_only);
/* Entries of a queue pair that wait in a CQ that is stopped are no longer anybody's. */
void rnic_rdma_cq_clean(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);

#endif
