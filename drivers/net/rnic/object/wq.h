/* SPDX-License-Identifier: BSD-3-Clause */

/* What send and receive queues have in common. */
#ifndef RNIC_OBJECT_WQ_H
#define RNIC_OBJECT_WQ_H

#include <stdbool.h>
#include <stdint.h>

#include "prm/queue.h"

struct rnic_bfreg;

/* Whose a queue is: the port's, or a queue pair's. */
struct rnic_wq_owner {
	uint32_t pd;
	/* Of receive queues: what it counts in, what its entries bear. */
	uint32_t q_counter, user_index;
	bool ethdev; /* of receive queues: times are those of rte_eth_read_clock() */
	/* Of send queues: the register of a thread domain, or NULL and which kinds are wanted beside a shared one. */
	struct rnic_bfreg *domain;
	unsigned int registers; /* enum rnic_bfreg_kind */
};
/* The next state of an SQ or RQ on the way. RST is one step from everywhere: in ERR all that waits would be flushed first. */
static inline enum rnic_wq_state
rnic_wq_next_state(enum rnic_wq_state state, enum rnic_wq_state to)
{
	if (to == RNIC_WQ_STATE_RST)
		return to;
	switch (state) {
	case RNIC_WQ_STATE_RST: return RNIC_WQ_STATE_RDY;
	case RNIC_WQ_STATE_RDY: return RNIC_WQ_STATE_ERR;
	default: return RNIC_WQ_STATE_RST;
	}
}

#endif
