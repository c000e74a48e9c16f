/* SPDX-License-Identifier: BSD-3-Clause */

/* What a thread takes of the processor: a busy machine, on which other time goes by, changes it little. */
#ifndef TEST_CPU_TIME_H
#define TEST_CPU_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline double
cpu_seconds(void)
{
	return (double)cpu_ns() / 1e9;
}

#endif
