/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Messages for people: one line on stderr each, never in the middle of a progress line.
 */
#ifndef PERF_SAY_H
#define PERF_SAY_H

#define PERF_PROGRAM "dpdk-test-rdma-perf"

/** "dpdk-test-rdma-perf: ..." and an end of line. */
void perf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** As perf_say(). @return `rc`, for what is returned at once. */
int perf_fail(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Show how far a run is, on a terminal only; `text` NULL takes the line away. */
void perf_progress(const char *text);

#endif
