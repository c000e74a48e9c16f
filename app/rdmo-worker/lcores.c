/* SPDX-License-Identifier: BSD-3-Clause */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "lcores.h"
#include "say.h"

#define LCORES_MAX 64 /* of a worker */
#define YIELD_US   50

static const struct devices *polled;
static atomic_bool is_stopped;

void
idle_turn(struct idle *idle, uint32_t work)
{
	uint64_t now;

	if (work > 0) {
		idle->since = 0;
		return;
	}
	now = rte_get_timer_cycles();
	if (idle->since == 0)
		idle->since = now;
	if (now - idle->since > rte_get_timer_hz() / 1000000 * YIELD_US)
		sched_yield();
	else
		rte_pause();
}

uint32_t
lcores_count(void)
{
	const uint32_t count = rte_lcore_count() - 1;

	if (count == 0)
		say("there is no lcore but the main one: give EAL two or more (-l 0-1)");
	else if (count > LCORES_MAX)
		say("EAL has %u lcores beside the main one: %u may poll", count, LCORES_MAX);
	return count <= LCORES_MAX ? count : 0;
}

/* Lcore `i` of each worker. */
static int
poll_all(void *i)
{
	struct idle idle = { 0 };

	while (!atomic_load_explicit(&is_stopped, memory_order_acquire)) {
		uint32_t work = 0;

		for (uint32_t k = 0; k < polled->count; k++)
			work += rdmo_worker_poll(polled->served[k].worker, (uint32_t)(uintptr_t)i);
		idle_turn(&idle, work);
	}
	return 0;
}

int
lcores_start(const struct devices *devices)
{
	uintptr_t i = 0;
	unsigned int lcore;
	int rc;

	polled = devices;
	atomic_store(&is_stopped, false);
	RTE_LCORE_FOREACH_WORKER(lcore) {
		rc = rte_eal_remote_launch(poll_all, (void *)i++, lcore);
		if (rc != 0)
			return say_failed(rc, "lcore %u does not start: %s", lcore, strerror(-rc));
	}
	return 0;
}

void
lcores_stop(void)
{
	atomic_store_explicit(&is_stopped, true, memory_order_release);
	rte_eal_mp_wait_lcore();
}
