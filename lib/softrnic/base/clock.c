/* SPDX-License-Identifier: BSD-3-Clause */

#include <time.h>

#include "prm/cmd.h"
#include "softrnic/base/clock.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* As cards have it. */
static uint64_t
clock_split(uint64_t ns)
{
	return ns / NS_PER_S << 32 | ns % NS_PER_S;
}

uint64_t
softrnic_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int
softrnic_clock_choose(uint64_t cap, uint64_t format, bool *utc)
{
	*utc = false;
	if (cap == RNIC_TS_CAP_FREE_RUNNING)
		return RNIC_STATUS_OK;
	/* That both are there does not change what the device has by default. */
	*utc = format == RNIC_TS_FORMAT_REAL_TIME ||
	       (format == RNIC_TS_FORMAT_DEFAULT && cap == RNIC_TS_CAP_REAL_TIME);
	return format <= RNIC_TS_FORMAT_REAL_TIME ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;
}

uint64_t
softrnic_clock_utc_now(void)
{
	return clock_split(clock_ns(CLOCK_REALTIME));
}

uint64_t
softrnic_clock_utc(const struct softrnic *dev, uint64_t moment)
{
	const uint64_t ago = softrnic_now_ns() - dev->power_on_ns - moment;

	/* Last: a pause in between has it late, and not before it was sent. */
	return clock_split(clock_ns(CLOCK_REALTIME) - ago);
}
