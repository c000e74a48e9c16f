/* SPDX-License-Identifier: BSD-3-Clause */

/* How long a client waited for what it asked for, by the clock on the wall. */
#ifndef TEST_DAEMON_LATENCY_H
#define TEST_DAEMON_LATENCY_H

#include <stdint.h>

#define LATENCY_SAMPLES 4096 /* of a kind; more are not kept */

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

void latencies_forget(struct latencies *latencies);
uint64_t latency_now(void);
/* What was asked for at `start` has come. */
void latency_add(struct latencies *latencies, enum latency_of kind, uint64_t start);
/* So many in a thousand were no later than that, in nanoseconds; 1000: the worst. */
uint64_t latency_of(struct latencies *latencies, enum latency_of kind, unsigned int per_mille);

#endif
