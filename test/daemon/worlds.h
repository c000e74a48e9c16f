/* SPDX-License-Identifier: BSD-3-Clause */

/* A daemon with as many devices as the tests have room for, by the cables of its neighbours. The last one is the victim's. */
#ifndef TEST_DAEMON_WORLDS_H
#define TEST_DAEMON_WORLDS_H

#include "daemon.h"

#define NEIGHBOURS (DAEMON_DEVICES - 1)

enum world {
	WORLD_LOOPS, /* each to itself, as the victim's always but for: */
	WORLD_PAIRS, /* one to the other, and the first one to the victim */
	WORLD_PORTS, /* ethdevs that bring broadcasts without an end, as fast as they are taken */
	WORLD_CAPTURES, /* files of broadcasts */
};

void world_start(struct daemon *d, enum world world);
void world_stop(struct daemon *d);

#endif
