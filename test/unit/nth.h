/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The n-th command, map or allocation fails, whatever it is for: what is done in stages fails in their middle, too. Calls
 * between the driver's files, and of calloc() and its like, come by here (the linker's --wrap: nth_wraps in meson.build).
 */
#ifndef UNIT_NTH_H
#define UNIT_NTH_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_dev;

enum unit_nth_of {
	UNIT_COMMANDS,
	UNIT_MAPS,
	UNIT_ALLOCATIONS,
	UNIT_HEAP,	 /* EAL's */
	UNIT_SYSTEM,	 /* mmap() */
	UNIT_INTERRUPTS, /* epoll_ctl() */
};

struct unit_nth {
	enum unit_nth_of of;
	unsigned int left; /* of them, until one fails, and that alone; 0: none does */
	bool failed;
	uint16_t opcode; /* of the command that failed */
};
extern struct unit_nth unit_nth;

/* Only what this thread does is counted: the device's has allocations of its own. */
extern _Thread_local bool unit_nth_counts;

/* What it answers: a command or a map, an allocation. */
int unit_nth_error(enum unit_nth_of of);

/* Maps come by here from now on; for a bring-up's hook, at its stage "wait until initialized". */
void unit_nth_take_maps(struct rnic_dev *dev);

#endif
