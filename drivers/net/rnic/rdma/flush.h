/* SPDX-License-Identifier: BSD-3-Clause */

/* Polling a CQ of a device that is lost. */
#ifndef RNIC_RDMA_FLUSH_H
#define RNIC_RDMA_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct rdmapmd_cq;
struct rdmapmd_wc;
struct rnic_rdma_cq;

/* In the place of the poll once the device is lost: what was posted comes back, flushed. */
uint16_t rnic_rdma_poll_cq_lost(struct rdmapmd_cq *cq, struct rdmapmd_wc *wc, uint16_t n);
/* Is there something that a poll would flush? */
bool rnic_rdma_cq_waits(struct rnic_rdma_cq *cq);

#endif
