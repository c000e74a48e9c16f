/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues. The burst functions use the members directly. */
#ifndef RNIC_OBJECT_SQ_H
#define RNIC_OBJECT_SQ_H

#include <stdint.h>

#include "object/ring.h"
#include "prm/queue.h"

struct rnic_bfreg;
struct rnic_cq;
struct rnic_dev;
struct rnic_wq_dbrec;
struct rnic_wq_owner;

struct rnic_sq {
	uint8_t *ring; /* of WQEBBs */
	struct rnic_wq_dbrec *dbrec;
	struct rnic_bfreg *bf;
	uint16_t producer; /* WQEBBs, free running */
	uint16_t mask;
	uint8_t log_size;
	uint32_t sqn;
	struct rnic_ring memory;
};

/* Created for the port, and moved to RDY. */
int rnic_sq_create(struct rnic_dev *dev, unsigned int log_wqebbs, const struct rnic_cq *cq,
		   struct rnic_sq *sq);
/* Create for any owner, in state RST. */
int rnic_sq_create_for(struct rnic_dev *dev, const struct rnic_wq_owner *owner,
		       unsigned int log_wqebbs, const struct rnic_cq *cq, struct rnic_sq *sq);
int rnic_sq_destroy(struct rnic_dev *dev, struct rnic_sq *sq);
int rnic_sq_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state *state);
/* By whichever way leads there. */
int rnic_sq_set_state(struct rnic_dev *dev, const struct rnic_sq *sq, enum rnic_wq_state to);
/* ERR -> RST -> RDY after an error completion; producer and records start again at zero. */
int rnic_sq_recover(struct rnic_dev *dev, struct rnic_sq *sq);

#endif
