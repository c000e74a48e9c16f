/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/tunables.h"

const struct rnic_tunables rnic_tunables_default = {
	.initializing_timeout_ms = 120000,
	.cmd_timeout_ms = 60000,
	.cmd_dead_timeout_ms = 2000,
	/* A busy machine may let a living server wait for long; a dead one is noticed by its socket. */
	.vfio_user_timeout_ms = 20000,
	.pages_patience_ms = 5000, /* Linux's */
	.health_period_ms = 1000,
	.silence_ms = 5000,
	.sync_patience_s = 2, /* the control thread may be waiting for a command */
	.last_ms = 500,
	.close_ms = 10000,
};

static const struct rnic_tunables *in_use = &rnic_tunables_default;

void
rnic_tunables_use(const struct rnic_tunables *tunables)
{
	in_use = tunables != NULL ? tunables : &rnic_tunables_default;
}

const struct rnic_tunables *
rnic_tunables_in_use(void)
{
	return in_use;
}

#ifdef RNIC_WITH_TESTS
static struct rnic_tunables of_environment;

/* RNIC_COUNTERS=end: a program with this driver, stock ones included, sees them come round soon. */
static void
counters_from_environment(void)
{
	const char *counters = getenv("RNIC_COUNTERS");

	if (counters == NULL || counters[0] != 'e')
		return;
	of_environment.token = UINT8_MAX - 5;
	of_environment.message = UINT16_MAX - 5;
	of_environment.elts = UINT16_MAX - 40;
	of_environment.heard = UINT32_MAX - 20;
	/* As of those that had 32 bits. */
	of_environment.generation = UINT32_MAX;
	of_environment.sends = UINT32_MAX - 40;
	of_environment.receives = UINT32_MAX & ~UINT32_C(0xffff);
	of_environment.armings = UINT32_MAX & ~UINT32_C(3);
}

/* RNIC_HEALTH_PERIOD_MS: that a device stands still is noticed sooner. */
static void
health_from_environment(void)
{
	const char *period = getenv("RNIC_HEALTH_PERIOD_MS");
	const unsigned long ms = period != NULL ? strtoul(period, NULL, 10) : 0;

	if (ms > 0 && ms <= UINT16_MAX)
		of_environment.health_period_ms = (unsigned int)ms;
}

RTE_INIT(rnic_tunables_from_environment)
{
	of_environment = rnic_tunables_default;
	counters_from_environment();
	health_from_environment();
	rnic_tunables_use(&of_environment);
}
#endif
