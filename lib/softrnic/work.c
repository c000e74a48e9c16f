/* SPDX-License-Identifier: BSD-3-Clause */

#include "work.h"

void
softrnic_share_look(struct softrnic_turn *turn)
{
	uint64_t now = softrnic_now_ns();

	turn->look = turn->work + SOFTRNIC_LOOK_WORK;
	if (turn->end == 0)
		turn->end = now + SOFTRNIC_SHARE_NS;
	/* However it came to its end: there is one thing to ask. */
	if (now >= turn->end && turn->work < SOFTRNIC_WORK_MAX)
		turn->work = SOFTRNIC_WORK_MAX;
	if (turn->work >= SOFTRNIC_WORK_MAX && turn->budget != NULL)
		*turn->budget = 0;
}
