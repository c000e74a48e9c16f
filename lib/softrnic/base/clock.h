/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's clocks, and what clock the times in a queue's completions are of. */
#ifndef SOFTRNIC_CLOCK_H
#define SOFTRNIC_CLOCK_H

#include <rte_branch_prediction.h>

#include "softrnic/base/device.h"

/* CLOCK_MONOTONIC. */
uint64_t softrnic_now_ns(void);

/*
 * What an SQ, an RQ or a QP asks for in `format` (ts_format), of a device whose capability for that kind of queue is `cap`:
 * *utc is whether its completions have UTC, not the internal timer. Without the capability the field is reserved and not
 * looked at. Returns an enum rnic_cmd_status.
 */
int softrnic_clock_choose(uint64_t cap, uint64_t format, bool *utc);

/* UTC as cards have it: seconds in the high dword, nanoseconds in the low one. */
uint64_t softrnic_clock_utc_now(void);
/* ... at a moment of the internal timer: in ns since power-on, not in the future. */
uint64_t softrnic_clock_utc(const struct softrnic *dev, uint64_t moment);

/* The time of a completion that is written now. */
static inline struct rnic_be64
softrnic_clock_stamp(const struct softrnic *dev, bool utc)
{
	return rnic_cpu_to_be64(unlikely(utc) ? softrnic_clock_utc(dev, dev->now) : dev->now);
}

#endif
