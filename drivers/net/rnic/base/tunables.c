/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include <rte_common.h>

#include "base/tunables.h"

struct rnic_tunables rnic_tunables;
unsigned int rnic_health_period_ms = 1000;

#ifdef RNIC_WITH_TESTS
/* RNIC_COUNTERS=end: a program with this driver, stock ones included, sees them come round soon. */
RTE_INIT(rnic_tunables_from_environment)
{
	const char *counters = getenv("RNIC_COUNTERS");

	if (counters == NULL || counters[0] != 'e')
		return;
	rnic_tunables = (struct rnic_tunables){
		.token = UINT8_MAX - 5,
		.message = UINT16_MAX - 5,
		.elts = UINT16_MAX - 40,
		.heard = UINT32_MAX - 20,
		/* As of those that had 32 bits. */
		.generation = UINT32_MAX,
		.sends = UINT32_MAX - 40,
		.receives = UINT32_MAX & ~UINT32_C(0xffff),
		.armings = UINT32_MAX & ~UINT32_C(3),
	};
}

/* RNIC_HEALTH_PERIOD_MS: that a device stands still is noticed sooner. */
RTE_INIT(rnic_health_from_environment)
{
	const char *period = getenv("RNIC_HEALTH_PERIOD_MS");
	const unsigned long ms = period != NULL ? strtoul(period, NULL, 10) : 0;

	if (ms > 0 && ms <= UINT16_MAX)
		rnic_health_period_ms = (unsigned int)ms;
}
#endif
