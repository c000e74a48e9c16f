/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What no completion tells, of datagrams and unreliable connections: the port's link and the device, by asynchronous events.
 */
#ifndef PERF_WATCH_H
#define PERF_WATCH_H

#include "end.h"

/**
 * Look at what the device has told of itself and of its port. The end's own thread.
 *
 * @param end      The end.
 * @param grace_ms For how long there may be no link: one that was trained anew comes again.
 * @return 0; -ENOLINK no link for that long, -ENODEV the device has gone: it was said.
 */
int perf_watch_look(struct perf_end *end, unsigned int grace_ms);

#endif
