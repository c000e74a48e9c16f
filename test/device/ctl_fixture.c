/* SPDX-License-Identifier: BSD-3-Clause */

#include "ctl_fixture.h"

int
ctl_setup(void **state)
{
	static struct hn hn;

	hn_start(&hn, NULL, NULL);
	*state = &hn;
	return 0;
}

int
ctl_setup_ready(void **state)
{
	ctl_setup(state);
	hn_bring_up(*state);
	return 0;
}

int
ctl_teardown(void **state)
{
	hn_stop(*state);
	return 0;
}

void
ctl_event_queue(struct hn *hn, struct hn_eq *eq, enum rnic_event type)
{
	hn_create_eq(hn, eq, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), 4, UINT64_C(1) << type, 0);
}

void
ctl_poll(struct hn *hn, unsigned int polls)
{
	while (polls-- > 0)
		softrnic_poll(hn->poller);
}

struct softrnic_stats
ctl_stats(struct hn *hn)
{
	struct softrnic_stats stats;

	softrnic_stats_get(hn->dev, &stats);
	return stats;
}
