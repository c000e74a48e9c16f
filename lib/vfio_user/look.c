/* SPDX-License-Identifier: BSD-3-Clause */

#include "look.h"
#include "message.h"
#include "types.h"

void
vfu_look_begin(struct vfu_look *look, unsigned int looks)
{
	look->steps = looks < VFU_LOOK_STEPS ? VFU_LOOK_STEPS / looks : 1;
	look->unclocked = 0;
	look->end_ns = vfu_now_ns() + VFU_LOOK_NS / looks;
}

void
vfu_look_spend(struct vfu_look *look, uint32_t steps)
{
	look->steps -= steps < look->steps ? steps : look->steps;
	look->unclocked += steps;
	if (look->unclocked < VFU_LOOK_CLOCK)
		return;
	look->unclocked = 0;
	if (vfu_now_ns() >= look->end_ns)
		look->steps = 0;
}
