/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Work: what a client made long must not make a round long, since others wait for it.
 *
 * Whoever has a turn (a queue, the command interface, a wire) sets *dev->turn to 0 and counts its WQEs, frames or commands
 * there. What walks a list counts that beside them, wherever it is walked: a frame may be steered by the tables of another
 * device, of the same poller. No turn goes on beyond its budget, and no queue of a device gets one in a round in which
 * others have taken SOFTRNIC_WORK_MAX. Who is charged is who has the turn, not whose list it is: that bounds the round.
 */
#ifndef SOFTRNIC_WORK_H
#define SOFTRNIC_WORK_H

#include "device.h"

/* In frames from one buffer to another, of which each takes some 50 to 100 ns. */
#define SOFTRNIC_WORK_MAX 4096u

static inline void
softrnic_charge(struct softrnic *dev, uint32_t work)
{
	*dev->turn += work;
}

/* Steps from one element of a list to the next one, with what is looked at there: 16 of them are like a frame. */
static inline void
softrnic_charge_steps(struct softrnic *dev, uint64_t steps)
{
	*dev->turn += (uint32_t)(steps / 16);
}

/* What can wait for another turn shall. */
static inline bool
softrnic_turn_is_over(const struct softrnic *dev)
{
	return *dev->turn >= SOFTRNIC_WORK_MAX;
}

#endif
