/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --mode=bw: as many requests as there is room for, and receives for those of the other end.
 */
#ifndef PERF_BANDWIDTH_H
#define PERF_BANDWIDTH_H

#include "phase.h"

/** How far the queue pairs of a worker are. */
struct perf_flows;

/**
 * Make a worker ready: its first receives are posted. Before the other end begins.
 *
 * @param phase  The phase.
 * @param worker The worker.
 * @param flows  Out: to be given to perf_bandwidth_run(), and freed; NULL on error.
 * @return 0; an error: it was said.
 */
int perf_bandwidth_prepare(struct perf_phase *phase, struct perf_worker *worker,
			   struct perf_flows **flows);

/** Run a worker until all is sent and received, or the phase has failed. */
void perf_bandwidth_run(struct perf_phase *phase, struct perf_worker *worker,
			struct perf_flows *flows);

#endif
