/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --verify: whether what has arrived is what was sent.
 */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include "phase.h"

/**
 * After a phase of --mode=bw: the slots that messages came to, and the counters of atomics. Of UC's WRITEs those that are missing are
 * counted in the outcomes as lost, and slots to which any came as received.
 *
 * @param phase The phase; both ends have sent all.
 * @return How many messages or counters at this end are wrong; the first one was said.
 */
uint64_t perf_verify_phase(struct perf_phase *phase);

/**
 * In --mode=lat: message n, which has just come.
 *
 * @return 0; 1 it is wrong, and that was said.
 */
uint64_t perf_verify_message(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n);

/** In --mode=lat: what atomic n has fetched. @return As perf_verify_message(). */
uint64_t perf_verify_fetched(struct perf_phase *phase, const struct perf_queue *queue, uint64_t n);

#endif
