/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/work.h"

/* The end of all shares together follows from that of the first. */
static bool
round_is_over(const struct softrnic_budget *budget, uint64_t now)
{
	return budget->first_end != 0 &&
	       now >= budget->first_end + (SOFTRNIC_ROUND_SHARES - 1) * SOFTRNIC_SHARE_NS;
}

bool
softrnic_round_look(struct softrnic_budget *budget)
{
	budget->cut = round_is_over(budget, softrnic_now_ns());
	return budget->cut;
}

void
softrnic_share_look(struct softrnic_budget *budget)
{
	uint64_t now = softrnic_now_ns();

	budget->look = budget->spent + SOFTRNIC_LOOK_WORK;
	if (budget->end == 0)
		budget->end = now + SOFTRNIC_SHARE_NS;
	if (budget->first_end == 0)
		budget->first_end = budget->end;
	if (budget->spent < SOFTRNIC_WORK_MAX && now < budget->end &&
	    (budget->end == SOFTRNIC_NEVER_NS || !round_is_over(budget, now)))
		return;
	/* Whatever ended the share, softrnic_share_is_over() reads `spent`. */
	if (budget->spent < SOFTRNIC_WORK_MAX)
		budget->spent = SOFTRNIC_WORK_MAX;
	budget->look = UINT32_MAX;
	budget->cut = true;
	if (budget->qp_packets != NULL)
		*budget->qp_packets = 0;
	if (budget->dev != NULL && budget->dev->stats.shares_cut++ == 0)
		SOFTRNIC_LOG(INFO, budget->dev,
			     "more work than its share of a round: the rest waits (logged once, "
			     "and counted in shares_cut)");
}
