/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --exchange=perftest: the traffic of perftest's programs, of which this end takes one's place. perftest_exchange.h has what they say.
 */
#ifndef PERF_PERFTEST_H
#define PERF_PERFTEST_H

#include "end.h"
#include "result.h"

/**
 * Exchange all messages, as the program does whose place this end takes, and take leave.
 *
 * @param end    The end, connected.
 * @param fd     The connection.
 * @param result Out: as far as it went.
 * @return 0; -EINTR; another error: it was said.
 */
int perf_perftest_run(struct perf_end *end, int fd, struct perf_result *result);

#endif
