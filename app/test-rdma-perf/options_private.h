/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The command line, between the files that it was cut into.
 */
#ifndef PERF_OPTIONS_PRIVATE_H
#define PERF_OPTIONS_PRIVATE_H

#include <getopt.h>

#include "options.h"

/* options_foreign.c: what perftest has, and we do not. */
#define PERF_FOREIGN_MAX 160

/** Their letters, as getopt() wants them. */
extern const char perf_foreign_letters[];
/** Add them to a table. @return How many. */
unsigned int perf_foreign_longs(struct option *longs);
/** The long name of what getopt_long() has returned; NULL: it is no such option. */
const char *perf_foreign_name(int value);

/* options_rules.c */

/** Give those that were not given their values. */
void perf_options_default(struct perf_options *options);
/** Whether they go together. @return 0, -EINVAL. */
int perf_options_check(const struct perf_options *options);

#endif
