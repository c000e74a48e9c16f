/* SPDX-License-Identifier: BSD-3-Clause */

/* Posting: the data path. */
#ifndef RNIC_RDMA_POST_H
#define RNIC_RDMA_POST_H

#include <stdint.h>

struct rdmapmd_qp;
struct rdmapmd_send_wr;

uint16_t rnic_rdma_post_send(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr, uint16_t n);
/* The same, and every WQE is dumped. */
uint16_t rnic_rdma_post_send_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
				  uint16_t n);
/* The same of datagrams. */
uint16_t rnic_rdma_post_datagrams(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
				  uint16_t n);
uint16_t rnic_rdma_post_datagrams_dump(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr,
				       uint16_t n);
/*
 * Requests that have not been polled. Without a completion in sight for the last of them a NOP is posted behind it, whose
 * completion is not reported, so that polling leads to 0.
 */
uint32_t rnic_rdma_qp_outstanding(struct rdmapmd_qp *qp);
/* A bind of a window of type 1, or its end: as one request of rnic_rdma_post_send(). 0 or -errno. */
int rnic_rdma_mw_bind(struct rdmapmd_qp *qp, const struct rdmapmd_send_wr *wr);

#endif
