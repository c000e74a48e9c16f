/* SPDX-License-Identifier: BSD-3-Clause */

/* What a thread takes of the processor: a busy machine, on which other time goes by, changes it little. */
#ifndef TEST_CPU_TIME_H
#define TEST_CPU_TIME_H

#include <time.h>

static inline double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
