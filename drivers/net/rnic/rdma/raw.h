/* SPDX-License-Identifier: BSD-3-Clause */

/* What is different of RAW_PACKET. */
#ifndef RNIC_RDMA_RAW_H
#define RNIC_RDMA_RAW_H

#include <stdint.h>

#include "prm/cqe.h"
#include "prm/queue.h"
#include "rdmapmd_driver.h"

struct rdmapmd_qp;
struct rdmapmd_qp_attr;
struct rdmapmd_qp_sizing;
struct rnic_rdma;
struct rnic_rdma_qp;

/* Both queues in RST; sets qp_num. */
int rnic_rdma_raw_create(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing);
int rnic_rdma_raw_destroy(struct rnic_rdma_qp *qp);
int rnic_rdma_raw_set_state(struct rnic_rdma_qp *qp, enum rnic_wq_state state);
/* Any change but to RESET and ERR. -EBUSY: send requests are not polled. */
int rnic_rdma_raw_start(struct rnic_rdma_qp *qp, enum rdmapmd_qp_state from,
			enum rdmapmd_qp_state to);
int rnic_rdma_raw_query(struct rnic_rdma_qp *qp, struct rdmapmd_qp_attr *attr);
int rnic_rdma_raw_attach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
int rnic_rdma_raw_detach_mac(struct rdmapmd_qp *qp, const uint8_t mac[6], uint16_t vlan_id);
/* Called with the lock of events held: whose an SQ or RQ is. RNIC_RDMA_NO_QPN: none of ours. */
uint32_t rnic_rdma_raw_number(const struct rnic_rdma *rdma, enum rnic_event_queue type,
			      uint32_t number);

#endif
