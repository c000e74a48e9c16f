/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * An end, between the files that it was cut into.
 */
#ifndef PERF_END_PRIVATE_H
#define PERF_END_PRIVATE_H

#include "end.h"

/**
 * What the device can do beside what is asked for; settles mtu, inline_size, out_reads, size_max. Before anything is made.
 *
 * @return 0; -EINVAL: it was said.
 */
int perf_end_check_limits(struct perf_end *end);

/**
 * Say what the device cannot do.
 *
 * @param end  The end: its device is named.
 * @param rc   Why: -errno.
 * @param what Behind "cannot": a verb and its object.
 * @return rc.
 */
int perf_end_cannot(const struct perf_end *end, int rc, const char *what);

/** Entries that the CQ of one worker has. */
uint64_t perf_end_cqe(const struct perf_options *options);

/** The capacities that a queue pair is created with. */
struct rdmapmd_qp_cap perf_end_cap(const struct perf_end *end);

#endif
