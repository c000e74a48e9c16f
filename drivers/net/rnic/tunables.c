/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include <rte_common.h>

#include "tunables.h"

struct rnic_tunables rnic_tunables;

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
		.generation = UINT32_MAX,
		.sends = UINT32_MAX - 40,
		.receives = UINT32_MAX & ~UINT32_C(0xffff),
		.armings = UINT32_MAX & ~UINT32_C(3),
	};
}
#endif
