/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The lcores that poll the workers, and what a thread does that has polled in vain.
 */
#ifndef RDMO_WORKER_LCORES_H
#define RDMO_WORKER_LCORES_H

#include <stdint.h>

#include "devices.h"

/** How long a thread has had nothing to do: begins with zeros. */
struct idle {
	uint64_t since;
};

/** After a turn with so much work. Who has had none for a while lets others run between its turns. */
void idle_turn(struct idle *idle, uint32_t work);

/** How many lcores poll: all but the main one. @return 0: there are none, or too many, which is said. */
uint32_t lcores_count(void);

/** Have them poll the workers of the devices. @return 0; -errno, which is said. */
int lcores_start(const struct devices *devices);

/** They have stopped polling when it returns. */
void lcores_stop(void);

#endif
