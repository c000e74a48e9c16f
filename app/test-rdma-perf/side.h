/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A run as one of its ends goes through it: open, meet the other end, connect, a warm-up and a measured phase of each size, report.
 */
#ifndef PERF_SIDE_H
#define PERF_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "end.h"
#include "link.h"
#include "options.h"
#include "report.h"
#include "result.h"

#define PERF_SIZES_MAX 24

struct perf_side {
	const struct perf_options *options;
	bool client;
	const char *device;   /**< to open; NULL: the first one */
	uint32_t first_lcore; /**< among EAL's */
	FILE *out;	      /**< where the table goes; NULL: nowhere */
	int fd;		      /**< to the other end of a loopback run, which it closes; -1: TCP */

	struct perf_end end;
	struct perf_link link;
	int perftest; /**< --exchange=perftest: the connection; 0: none */
	struct perf_test_info info;
	struct perf_result results[PERF_SIZES_MAX];
	uint32_t nresults;
};

/**
 * Go through all of it.
 *
 * @param side What it is, until `fd`; the rest is all zeros.
 * @return 0; -EINTR it was stopped by Ctrl-C; another error: it was said.
 */
int perf_side_run(struct perf_side *side);

#endif
