/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Ctrl-C: what was measured so far is printed, and all that was made goes away.
 */
#ifndef PERF_INTERRUPT_H
#define PERF_INTERRUPT_H

#include <stdbool.h>

/** Once it has come, how long the ends may still take to tell each other how far they are, in milliseconds. */
#define PERF_INTERRUPT_MS 1000

/** From now on SIGINT and SIGTERM are noted; a second one ends the process at once. */
void perf_interrupt_install(void);

/** Whether one has come. */
bool perf_interrupted(void);

#endif
