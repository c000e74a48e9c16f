/* SPDX-License-Identifier: BSD-3-Clause */

#include "work.h"

void
softrnic_share_look(struct softrnic_turn *turn)
{
	uint64_t now = softrnic_now_ns();

	turn->look = turn->work + SOFTRNIC_LOOK_WORK;
	if (turn->end == 0)
		turn->end = now + SOFTRNIC_SHARE_NS;
	if (turn->work < SOFTRNIC_WORK_MAX && now < turn->end)
		return;
	/* However it came to its end: there is one thing to ask. */
	if (turn->work < SOFTRNIC_WORK_MAX)
		turn->work = SOFTRNIC_WORK_MAX;
	turn->look = UINT32_MAX;
	if (turn->budget != NULL)
		*turn->budget = 0;
	if (turn->dev != NULL && turn->dev->stats.shares_cut++ == 0)
		SOFTRNIC_LOG(
			INFO, turn->dev,
			"more to do than its share of a round: the rest waits (this is said once, "
			"and counted in shares_cut)");
}
