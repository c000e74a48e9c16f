/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --plot: a picture of the results, as SVG: bandwidth or latency by size of message.
 */
#ifndef PERF_PLOT_H
#define PERF_PLOT_H

#include <stdint.h>
#include <stdio.h>

#include "report.h"

/** Draw. Parameters as those of perf_json_write(). */
void perf_plot_write(FILE *out, const struct perf_options *options,
		     const struct perf_test_info *info, const struct perf_result *results,
		     uint32_t n);

#endif
