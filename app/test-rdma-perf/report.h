/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The table on stdout: titles, columns and widths are perftest 4.5's.
 */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "result.h"

/** What the head says besides the options. */
struct perf_test_info {
	const char *device;   /**< its name */
	bool requester;	      /**< this end posts requests */
	bool responder;	      /**< this end posts receives */
	uint32_t mtu;	      /**< bytes */
	uint32_t inline_size; /**< bytes */
	uint32_t out_reads;   /**< READs and atomics under way */
};

/** What is told of a queue pair and its memory. */
struct perf_address {
	union rdmapmd_gid gid;
	uint32_t qp_num, psn;
	uint32_t out_reads, rkey;
	uint64_t vaddr;
};

/** perftest's name of a test, e.g. "RDMA_Write" and "BW", joined by `separator`. @return As snprintf(). */
int perf_report_test_name(char *text, size_t room, const struct perf_options *options,
			  const char *separator);

/** The head of the table. */
void perf_report_head(FILE *out, const struct perf_options *options,
		      const struct perf_test_info *info);

/** A line for a queue pair's address. `side`: "local" or "remote". */
void perf_report_address(FILE *out, const struct perf_options *options, const char *side,
			 const struct perf_address *address);

/** The line of dashes. */
void perf_report_line(FILE *out);

/** The titles of the columns. */
void perf_report_titles(FILE *out, const struct perf_options *options);

/** A row. */
void perf_report_row(FILE *out, const struct perf_options *options,
		     const struct perf_result *result);

/** Bytes a second as the column has them: MB/s of 2^20 bytes, or Gb/s of 10^9 bits. */
double perf_report_bandwidth(const struct perf_options *options, double bytes);

#endif
