/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What ends the process: signals, and devices that are lost.
 */
#ifndef RDMO_WORKER_WATCH_H
#define RDMO_WORKER_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "devices.h"
#include "load.h"

struct watch {
	uint32_t count; /* of devices */
	const struct device *devices[DEVICES_MAX + LOADS_MAX];
	struct pollfd fds[1 + DEVICES_MAX + LOADS_MAX]; /* first the signals' */
	bool is_lost;					/* a device is, which was said */
};

/** From now on the signals wait, in all threads that are started from then on. @return 0; -errno, which is said. */
int watch_block_signals(void);

/** Watch devices, and those of initiators. @return 0; -errno, which is said. */
int watch_open(struct watch *watch, const struct devices *devices, const struct loads *loads);

/**
 * Whether something has come.
 *
 * @param watch      What is watched.
 * @param timeout_ms How long to sleep until then; 0: not at all.
 * @return A signal's number; 0: none, or see is_lost.
 */
int watch_look(struct watch *watch, int timeout_ms);

void watch_close(struct watch *watch);

#endif
