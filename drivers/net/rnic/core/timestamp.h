/* SPDX-License-Identifier: BSD-3-Clause */

/* The clocks of the device: what times the completions of a queue have, and what is read. */
#ifndef RNIC_CORE_TIMESTAMP_H
#define RNIC_CORE_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dev.h"
#include "prm/caps.h"
#include "prm/queue.h"

/*
 * Of received frames and rte_eth_read_clock(): UTC where the device can tell of it, as with Linux's driver, else the free running
 * one. CQEs and registers have either in two dwords: seconds and nanoseconds, or the halves of a number.
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
 * ts_format of queues that are not for received frames, for a capability of enum rnic_ts_cap: the free running clock, as with
 * Linux's mlx5_ib. A device of real time alone refuses that, and has nothing but its default.
 */
static inline enum rnic_ts_format
rnic_ts_format(uint64_t capability)
{
	return capability == RNIC_TS_CAP_REAL_TIME ? RNIC_TS_FORMAT_DEFAULT
						   : RNIC_TS_FORMAT_FREE_RUNNING;
}

/* Now, by one of the two. -EIO: the device is lost. */
int rnic_clock_read(struct rnic_dev *dev, bool real, uint64_t *clock);

#endif
