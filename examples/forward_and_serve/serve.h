/* SPDX-License-Identifier: BSD-3-Clause */

/* The forwarder's other half: a thread that lets peers in, and sleeps while none comes. */
#ifndef SERVE_H
#define SERVE_H

#include <sched.h>
#include <stdint.h>

#include <rte_debug.h>

#include "protocol.h"

#define PORTS 2
#define TRY(call)                                                                   \
	do {                                                                        \
		int rc_ = (call);                                                   \
		if (rc_ != 0)                                                       \
			rte_exit(EXIT_FAILURE, #call ": %s\n", strerror(abs(rc_))); \
	} while (0)

/*
 * What peers reach. The counters are written by the forwarding lcore alone, the table by peers alone; neither waits for the
 * other, and each word is read and written as a whole.
 */
struct shared {
	struct counter counters[ENTRIES + 1];
	uint64_t table[ENTRIES];
};

/* cpus: where its thread may run. EAL has pinned the one that calls, and what that one starts would run beside it. */
void serve_start(struct shared *shared, const cpu_set_t *cpus);
void serve_stop(void);

#endif
