/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's clocks, read from its registers (PRM: "Initialization Segment"). */

#include <errno.h>

#include "core/timestamp.h"
#include "prm/init_seg.h"

#define CLOCK_TRIES 4

int
rnic_clock_read(struct rnic_dev *dev, bool real, uint64_t *clock)
{
	const enum rnic_init_seg_field high_half =
		real ? RNIC_ISEG_REAL_TIME_HIGH : RNIC_ISEG_INTERNAL_TIMER_HIGH;
	const enum rnic_init_seg_field low_half =
		real ? RNIC_ISEG_REAL_TIME_LOW : RNIC_ISEG_INTERNAL_TIMER_LOW;
	uint32_t high, low, again = rnic_register_read(dev, high_half);
	unsigned int tries = 0;

	/* The low half may have run over in between: not twice of a clock that is one. */
	do {
		high = again;
		low = rnic_register_read(dev, low_half);
		again = rnic_register_read(dev, high_half);
	} while (high != again && ++tries < CLOCK_TRIES);
	/* All ones, both, is a device that is lost. */
	if (high != again || (high == UINT32_MAX && low == UINT32_MAX))
		return -EIO;
	*clock = real ? rnic_clock_utc(high, low) : (uint64_t)high << 32 | low;
	return 0;
}
