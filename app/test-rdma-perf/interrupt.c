/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "interrupt.h"

static atomic_bool interrupted;

static void
handle(int number)
{
	(void)number;
	atomic_store_explicit(&interrupted, true, memory_order_relaxed);
}

void
perf_interrupt_install(void)
{
	/* No SA_RESTART: a call that waits is to return. */
	const struct sigaction action = { .sa_handler = handle, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool
perf_interrupted(void)
{
	return atomic_load_explicit(&interrupted, memory_order_relaxed);
}
