/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues of the library's. */
#ifndef RNIC_RDMA_CQ_H
#define RNIC_RDMA_CQ_H

#include <stdint.h>

struct rdmapmd_cq;
struct rdmapmd_cq_layout;

int rnic_rdma_cq_create(struct rdmapmd_cq *cq, const struct rdmapmd_cq_layout *layout);
int rnic_rdma_cq_resize(struct rdmapmd_cq *cq, uint8_t log_size);
int rnic_rdma_cq_moderate(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us);
int rnic_rdma_cq_destroy(struct rdmapmd_cq *cq);

#endif
