/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long the machine had other things to do, as a thread sees it that sleeps for moments: what is said to take a time may take as
 * much longer.
 */
#ifndef TEST_STALLS_H
#define TEST_STALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define STALLS_LOOK_US \
	1000u /* who sleeps for so long, and for twice as long at least, could not run */

struct stalls {
	pthread_t thread;
	atomic_bool end;
	uint64_t us;
};

static inline uint64_t
stalls_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline void *
stalls_watch(void *arg)
{
	const struct timespec look = { .tv_nsec = STALLS_LOOK_US * 1000 };
	struct stalls *stalls = arg;
	uint64_t before, late;

	while (!atomic_load(&stalls->end)) {
		before = stalls_now_us();
		nanosleep(&look, NULL);
		late = stalls_now_us() - before - STALLS_LOOK_US;
		if (late > STALLS_LOOK_US)
			stalls->us += late;
	}
	return NULL;
}

/* 0 or an error number, as pthread_create() has it. Not on the stack of a test, which may end before the thread does. */
static inline int
stalls_begin(struct stalls *stalls)
{
	stalls->us = 0;
	atomic_store(&stalls->end, false);
	return pthread_create(&stalls->thread, NULL, stalls_watch, stalls);
}

/* Milliseconds, of all that began since. */
static inline uint64_t
stalls_end(struct stalls *stalls)
{
	atomic_store(&stalls->end, true);
	pthread_join(stalls->thread, NULL);
	return stalls->us / 1000;
}

#endif
