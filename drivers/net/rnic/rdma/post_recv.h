/* SPDX-License-Identifier: BSD-3-Clause */

/* Posting receives: the data path. */
#ifndef RNIC_RDMA_POST_RECV_H
#define RNIC_RDMA_POST_RECV_H

#include <stdint.h>

struct rdmapmd_qp;
struct rdmapmd_recv_wr;
struct rdmapmd_srq;

uint16_t rnic_rdma_post_recv(struct rdmapmd_qp *qp, const struct rdmapmd_recv_wr *wr, uint16_t n);
uint16_t rnic_rdma_post_srq_recv(struct rdmapmd_srq *srq, const struct rdmapmd_recv_wr *wr,
				 uint16_t n);
/* How many bytes a receive request has room for, by the segments in its WQE. */
uint32_t rnic_rdma_room(const void *segments, uint32_t max_gs);

#endif
