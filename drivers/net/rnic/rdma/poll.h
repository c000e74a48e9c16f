/* SPDX-License-Identifier: BSD-3-Clause */

/* Polling a CQ: the data path. */
#ifndef RNIC_RDMA_POLL_H
#define RNIC_RDMA_POLL_H

#include <stdbool.h>
#include <stdint.h>

struct rdmapmd_cq;
struct rdmapmd_wc;
struct rnic_rdma_cq;
struct rnic_rdma_qp;

uint16_t rnic_rdma_poll_cq(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* The same, and every entry is dumped. */
uint16_t rnic_rdma_poll_cq_dump(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* The same where the kernel has no fence for all CPUs: each poll that finds something has one of its own. */
uint16_t rnic_rdma_poll_cq_fenced(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
int rnic_rdma_req_notify_cq(struct rdmapmd_cq *cq, bool solicited_only);
/* Entries of a queue pair that wait in a CQ that is stopped are no longer anybody's. */
void rnic_rdma_cq_clean(struct rnic_rdma_cq *cq, struct rnic_rdma_qp *qp);

#endif
