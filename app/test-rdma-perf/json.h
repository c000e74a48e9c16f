/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * --out_json: perftest's keys, in valid JSON. "results" is an object, and an array of such for several sizes.
 */
#ifndef PERF_JSON_H
#define PERF_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "report.h"

/**
 * Write a report.
 *
 * @param out     To where.
 * @param options The command line.
 * @param info    What the head of the table says besides.
 * @param results A row of the table each.
 * @param n       How many.
 */
void perf_json_write(FILE *out, const struct perf_options *options,
		     const struct perf_test_info *info, const struct perf_result *results,
		     uint32_t n);

#endif
