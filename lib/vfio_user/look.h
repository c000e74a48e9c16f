/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A look of a server at its client: how much of a client's work is done before other clients are served.
 *
 * Work comes in units: a message, one access of a message that holds many, or the removal of a region. No unit is cut; between two
 * units the look may end, and the remaining work waits for the next one. It ends when its steps are spent, or when its time is over by
 * the clock, which is read every 64 steps. A step is a register write, some 50 ns.
 *
 * Inside of the library.
 */
#ifndef VFU_LOOK_H
#define VFU_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#define VFU_LOOK_STEPS	  4096
#define VFU_LOOK_CLOCK	  64 /* steps from one look at the clock to the next */
#define VFU_MESSAGE_STEPS 64 /* of a message, for system calls that it took */
#define VFU_UNMAP_STEPS	  16 /* of a region that goes */
#define VFU_SIGNAL_STEPS \
	64 /* of an eventfd, for a system call of which only the clock tells how long it takes */

struct vfu_look {
	uint32_t steps;	    /* left */
	uint32_t unclocked; /* steps since the clock was read */
	uint64_t end_ns;
};

/* Begin one of several looks in a row that share the steps and the time of one. */
void vfu_look_begin(struct vfu_look *look, unsigned int looks);

/* A unit that took so many steps is done. */
void vfu_look_spend(struct vfu_look *look, uint32_t steps);

static inline bool
vfu_look_is_over(const struct vfu_look *look)
{
	return look->steps == 0;
}

#endif
