/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --mode=lat: a message there and one back, or one request after the other where the other end has nothing to do.
 */
#ifndef PERF_LATENCY_H
#define PERF_LATENCY_H

#include "phase.h"

/** Post the first receives. Before the other end begins. @return 0; an error: it was said. */
int perf_latency_prepare(struct perf_phase *phase);

/** Run the end's part, until all has been exchanged or the phase has failed. */
void perf_latency_run(struct perf_phase *phase);

#endif
