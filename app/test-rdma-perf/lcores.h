/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Which threads run the workers, and the second end of a loopback run: EAL's lcores, the client's first, or where there is no second
 * one a thread that goes where the system lets it.
 */
#ifndef PERF_LCORES_H
#define PERF_LCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "result.h"

/** Note where the process may run. Before EAL starts, which ties the thread to one CPU. */
void perf_lcores_note_cpus(void);

/**
 * Whether there are enough lcores.
 *
 * @param each How many an end wants.
 * @param ends Ends in this process: 1 or 2.
 * @return 0; -EINVAL: it was said.
 */
int perf_lcores_check(uint32_t each, uint32_t ends);

/**
 * Run workers 0 .. n - 1 of an end, and return when all have ended.
 *
 * @param first Number of the end's first lcore among EAL's; that is the caller's.
 * @param n     How many.
 * @param run   What they do.
 * @param arg   Its first argument; the second one is the worker's number.
 * @param cpus  Out: what the thread of each has had meanwhile, [n]; of those that have not run all zeros.
 * @return 0; -EBUSY an lcore is in use: nothing runs then.
 */
int perf_lcores_run(uint32_t first, uint32_t n, void (*run)(void *arg, uint32_t worker), void *arg,
		    struct perf_cpu *cpus);

/**
 * A thread that polls should have had its CPU to itself: say if one has not.
 *
 * @param device Whose completions it has polled for.
 * @param cpus   What each has had, [n].
 * @param n      How many; 1 and more.
 */
void perf_lcores_say_if_busy(const char *device, const struct perf_cpu *cpus, uint32_t n);

/** The second end. */
struct perf_lcores_other;

/** Start the second end of a loopback run. `first` as in perf_lcores_run(). @return It; NULL: it was said. */
struct perf_lcores_other *perf_lcores_start_other(uint32_t first, int (*run)(void *arg), void *arg);

/** Wait until it has ended. @return What `run` has returned. */
int perf_lcores_join_other(struct perf_lcores_other *other);

#endif
