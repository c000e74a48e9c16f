/* SPDX-License-Identifier: BSD-3-Clause */

/* The clock of the device: of received frames, of queues, and of rte_eth_read_clock(). */
#ifndef RNIC_CORE_TIMESTAMP_H
#define RNIC_CORE_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dev.h"
#include "prm/caps.h"
#include "prm/queue.h"

/*
 * UTC where the device can tell of it, as with Linux's driver, else the free running one. CQEs and registers have either in two
 * dwords: seconds and nanoseconds, or the halves of a number.
 */
static inline bool
rnic_clock_is_real(const struct rnic_dev *dev)
{
	return rnic_general_cap_get(&dev->caps.general, RNIC_GENERAL_CAP_RQ_TS_FORMAT) !=
	       RNIC_TS_CAP_FREE_RUNNING;
}
static inline uint64_t
rnic_clock_utc(uint32_t seconds, uint32_t nanoseconds)
{
	return (uint64_t)seconds * 1000000000 + nanoseconds;
}

/*
 * ts_format for a capability of enum rnic_ts_cap: a device of real time alone refuses a queue that asks for the free running
 * clock, and one of that alone has nothing but zeros there. What the device was configured for is good everywhere else.
 */
static inline enum rnic_ts_format
rnic_ts_format(uint64_t capability)
{
	return capability == RNIC_TS_CAP_FREE_RUNNING ? RNIC_TS_FORMAT_FREE_RUNNING
						      : RNIC_TS_FORMAT_DEFAULT;
}

#endif
