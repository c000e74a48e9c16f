/* SPDX-License-Identifier: BSD-3-Clause */

#include "near_end.h"
#include "softrnic/base/tunables.h"

#define HEALTH_PERIOD_NS UINT64_C(10000000) /* of the health counter, which has 24 bits */

/* Before the first poller. */
static __attribute__((constructor)) void
near_end_begin(void)
{
	if (!near_end())
		return;
	softrnic_tunables = (struct softrnic_tunables){
		.dma_generation = UINT64_MAX - 1,
		.age_ns = (HEALTH_PERIOD_NS << 24) - HEALTH_PERIOD_NS / 2,
		.quiet_polls = UINT32_MAX - 20,
		.entries = UINT32_MAX - 10,
		.numbers = 2,
		.flow_groups = 0xfffffe,
		.queue_index = 0xff000000,
		.ring_index = UINT32_MAX - 2,
	};
}
