/* SPDX-License-Identifier: BSD-3-Clause */

#include <time.h>

#include "message.h"
#include "pace.h"

static uint64_t
vfu_pace_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
vfu_pace_begin(const struct vfu_pace *pace, struct vfu_pace_unit *unit)
{
	unit->wall_ns = vfu_now_ns();
	unit->cpu_ns =
		atomic_load_explicit(&pace->suspect_until_ns, memory_order_relaxed) > unit->wall_ns
			? vfu_pace_cpu_ns()
			: 0;
}

bool
vfu_pace_end(struct vfu_pace *pace, const struct vfu_pace_unit *unit)
{
	uint64_t now = vfu_now_ns(), took, until;

	if (now - unit->wall_ns < VFU_PACE_UNIT_NS)
		return false;
	atomic_store(&pace->suspect_until_ns, now + VFU_PACE_SUSPECT_NS);
	if (unit->cpu_ns == 0)
		return false;
	took = vfu_pace_cpu_ns() - unit->cpu_ns;
	until = now + took * VFU_PACE_TIMES;
	if (took < VFU_PACE_UNIT_NS || until < atomic_load(&pace->paused_until_ns))
		return false;
	/* Who is left alone comes back as who was. */
	atomic_store(&pace->suspect_until_ns, until + VFU_PACE_SUSPECT_NS);
	atomic_store(&pace->paused_until_ns, until);
	return true;
}

bool
vfu_pace_goes_on(struct vfu_pace *pace)
{
	uint64_t until = atomic_load(&pace->paused_until_ns);

	/* One that a thread has made longer since is not over. */
	return until != 0 && vfu_now_ns() >= until &&
	       atomic_compare_exchange_strong(&pace->paused_until_ns, &until, 0);
}
