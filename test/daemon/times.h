/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The processor time of the longest things that a softrnicd of tests does at a stretch: times.c is linked into one, around
 * functions that the product has (by the linker's --wrap), and keeps them in memory that it shares with the test.
 */
#ifndef TEST_DAEMON_TIMES_H
#define TEST_DAEMON_TIMES_H

#include <stdatomic.h>

/* The number of the file descriptor that the test gives it. */
#define TIMES_ENV "SOFTRNICD_TIMES"

/*
 * What a page may cost that is touched first. Beyond that it is the machine's: behind shadow page tables it was 13 us, so
 * that 512 new pages would be the longest round of all.
 */
#define TIMES_FAULT_NS 1000

enum times_of {
	TIMES_ROUND, /* a device's, in a round of the poller */
	TIMES_LOOK,  /* at all sockets: what is done from one round to the next */
	TIMES_UNIT, /* of a look: from one step that is charged to the next, as nothing ends it in between */
	TIMES_KINDS,
};

struct times {
	/* By the test, before the daemon starts: what this machine takes for such a page beyond TIMES_FAULT_NS. */
	uint64_t fault_ns;
	/* without that, for each page that was touched first in it */
	struct {
		atomic_ullong count, longest_ns;
	} of[TIMES_KINDS];
};

#endif
