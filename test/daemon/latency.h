/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long a client waited for what it asked for: by the clock on the wall, less the time in which it or the daemon was
 * ready to run and had no processor. That is up to the machine; what the daemon slept, or did for others, is not.
 */
#ifndef TEST_DAEMON_LATENCY_H
#define TEST_DAEMON_LATENCY_H

#include <stdint.h>
#include <sys/types.h>

#define LATENCY_SAMPLES 4096 /* of a kind; of more the worst is kept */

enum latency_of {
	LATENCY_READ,  /* a register, by message */
	LATENCY_FRAME, /* from a doorbell to its completion */
	LATENCY_KINDS,
};

struct latencies {
	struct {
		uint64_t ns[LATENCY_SAMPLES];
		unsigned int count;
	} of[LATENCY_KINDS];
};

struct latency_start {
	uint64_t wall_ns, delayed_ns;
};

/* The daemon that serves the client from now on: its first thread. */
void latency_of_daemon(pid_t pid);

void latencies_forget(struct latencies *latencies);
struct latency_start latency_begin(void);
/* What was asked for at `start` has come. */
void latency_end(struct latencies *latencies, enum latency_of kind, struct latency_start start);
/* So many in a thousand were no later than that, in nanoseconds; 1000: the worst. */
uint64_t latency_of(struct latencies *latencies, enum latency_of kind, unsigned int per_mille);

#endif
