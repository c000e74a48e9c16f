/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdatomic.h>
#include <time.h>

#include "test_clock.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define LOOK_NS	      1000
/* Of the wall clock and of the other one at the start. */
#define WALL_START_NS (1700000000 * NS_PER_SECOND)
#define START_NS      (1000 * NS_PER_SECOND)

static atomic_uint_least64_t passed_ns;

void
test_clock_advance_us(uint64_t us)
{
	atomic_fetch_add(&passed_ns, us * 1000);
}

/* The linker has all calls of clock_gettime() come here (--wrap). */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns;

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return __real_clock_gettime(clock, now);
	ns = (clock == CLOCK_MONOTONIC ? START_NS : WALL_START_NS) + LOOK_NS +
	     atomic_fetch_add(&passed_ns, LOOK_NS);
	now->tv_sec = (time_t)(ns / NS_PER_SECOND);
	now->tv_nsec = (long)(ns % NS_PER_SECOND);
	return 0;
}
