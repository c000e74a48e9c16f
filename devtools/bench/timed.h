/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the programs share that measure rates and latencies: what is done again and again, for so long, after a warm-up. No EAL is
 * needed. Both print `window START END`: of what counts, in seconds of CLOCK_MONOTONIC.
 */
#ifndef TIMED_H
#define TIMED_H

#include <stdint.h>

struct timed {
	void *of;	/* what the calls below get */
	double seconds; /* behind the warm-up */
	/* Called before what counts: of a rate once, of latencies each time. NULL: nothing is to be done then. */
	void (*before)(void *of);
	uint64_t left_out_ns; /* a step adds what it spent on something that does not count */
};

struct timed_rate {
	uint64_t done;
	double seconds;
};

struct timed_latency {
	double median_us, p99_us;
};

/* A clock that only goes on. */
uint64_t timed_now_ns(void);

/* Each step returns how much is done by it, or -1. Returns 0, or -1. */
int timed_rate(struct timed *timed, int64_t (*step)(void *of), struct timed_rate *rate);

/* How long each `one` takes, which returns 0, or -1. Returns 0, or -1. */
int timed_latency(const struct timed *timed, int (*one)(void *of), struct timed_latency *latency);

#endif
