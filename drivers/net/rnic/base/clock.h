/* SPDX-License-Identifier: BSD-3-Clause */

/* The driver's clock: microseconds that no user sets. */
#ifndef RNIC_BASE_CLOCK_H
#define RNIC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
rnic_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
