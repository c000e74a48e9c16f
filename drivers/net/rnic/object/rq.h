/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues. The burst functions use the members directly. */
#ifndef RNIC_OBJECT_RQ_H
#define RNIC_OBJECT_RQ_H

#include <stdbool.h>
#include <stdint.h>

#include "object/ring.h"
#include "prm/queue.h"

struct rnic_cq;
struct rnic_dev;
struct rnic_wq_dbrec;
struct rnic_wq_owner;

struct rnic_rq {
	uint8_t *ring; /* of (1 << log_stride)-byte WQEs */
	struct rnic_wq_dbrec *dbrec;
	uint16_t producer; /* WQEs, free running */
	uint16_t mask;
	uint8_t log_size, log_stride;
	uint32_t rqn;
	struct rnic_ring memory;
};
int rnic_rq_create(struct rnic_dev *dev, unsigned int log_wqes, unsigned int log_stride,
		   const struct rnic_cq *cq, struct rnic_rq *rq);
int rnic_rq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner,
		       unsigned int log_wqes, unsigned int log_stride, const struct rnic_cq *cq,
		       struct rnic_rq *rq);
int rnic_rq_destroy(struct rnic_dev *dev, struct rnic_rq *rq);
int rnic_rq_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state *state);
int rnic_rq_set_state(struct rnic_dev *dev, const struct rnic_rq *rq, enum rnic_wq_state to);
int rnic_rq_recover(struct rnic_dev *dev, struct rnic_rq *rq);
/* Of a queue that was created tags stay in frames; in whatever state it is. */
int rnic_rq_set_vlan_strip(struct rnic_dev *dev, const struct rnic_rq *rq, bool strip);
/* To RST, where it stays; producer and record are zero. */
int rnic_rq_reset(struct rnic_dev *dev, struct rnic_rq *rq);

#endif
