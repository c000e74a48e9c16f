/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/base/clock.h"
#include "softrnic/base/log.h"
#include "softrnic/base/work.h"

/* Of all shares together, which the first of them tells. */
static bool
round_is_over(const struct softrnic_turn *turn, uint64_t now)
{
	return turn->first_end != 0 &&
	       now >= turn->first_end + (SOFTRNIC_ROUND_SHARES - 1) * SOFTRNIC_SHARE_NS;
}

bool
softrnic_round_look(struct softrnic_turn *turn)
{
	turn->cut = round_is_over(turn, softrnic_now_ns());
	return turn->cut;
}

void
softrnic_share_look(struct softrnic_turn *turn)
{
	uint64_t now = softrnic_now_ns();

	turn->look = turn->work + SOFTRNIC_LOOK_WORK;
	if (turn->end == 0)
		turn->end = now + SOFTRNIC_SHARE_NS;
	if (turn->first_end == 0)
		turn->first_end = turn->end;
	if (turn->work < SOFTRNIC_WORK_MAX && now < turn->end &&
	    (turn->end == SOFTRNIC_NEVER_NS || !round_is_over(turn, now)))
		return;
	/* However it came to its end: there is one thing to ask. */
	if (turn->work < SOFTRNIC_WORK_MAX)
		turn->work = SOFTRNIC_WORK_MAX;
	turn->look = UINT32_MAX;
	turn->cut = true;
	if (turn->budget != NULL)
		*turn->budget = 0;
	if (turn->dev != NULL && turn->dev->stats.shares_cut++ == 0)
		SOFTRNIC_LOG(INFO, turn->dev,
			     "more work than its share of a round: the rest waits (logged once, "
			     "and counted in shares_cut)");
}
