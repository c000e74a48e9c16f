/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver's own queues: frames of neighbours come in by one, and go out by the other. One caller at a time.
 */
#ifndef RNIC_NEIGH_QUEUES_H
#define RNIC_NEIGH_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "object/cq.h"
#include "object/rq.h"
#include "object/sq.h"

struct rnic_dev;
struct rnic_eq;

struct rnic_neigh_queues {
	struct rnic_cq cq;
	struct rnic_rq rq;
	struct rnic_sq sq;
	volatile void *arm_register;
	uint32_t sequence; /* of the next arming */
	uint16_t rq_tail, sq_tail;
	bool broken; /* an entry with an error: nothing comes or goes until it is recovered */
	uint32_t tir, key;
	bool has_tir, has_key;
	uint8_t *
		memory; /* of frames: received ones, those to send, what is behind the first bytes of long ones */
	uint32_t behind_bytes;
};

/* With a TIR; armed, events of completions go to `eq`. Executes commands. */
int rnic_neigh_queues_create(struct rnic_dev *dev, const struct rnic_eq *eq,
			     struct rnic_neigh_queues *queues);
/* Of one that is all zeros there is nothing to do. Executes commands. */
void rnic_neigh_queues_destroy(struct rnic_dev *dev, struct rnic_neigh_queues *queues);
/* A frame of 60 to RNIC_NEIGH_READ_BYTES. false: there is no room; it is lost, as on a wire. */
bool rnic_neigh_queues_send(struct rnic_neigh_queues *queues, const uint8_t *frame, uint32_t bytes);
/* Each frame that has come: its first bytes, which are the callee's for the time of the call. Then it is armed again. */
void rnic_neigh_queues_poll(struct rnic_neigh_queues *queues,
			    void (*fn)(void *arg, const uint8_t *frame, uint32_t bytes), void *arg);
/* Out of an error, in two steps: by commands, while `broken` keeps others away; then they may come again. */
int rnic_neigh_queues_recover(struct rnic_dev *dev, struct rnic_neigh_queues *queues);
void rnic_neigh_queues_restart(struct rnic_neigh_queues *queues);

#endif
