/* SPDX-License-Identifier: BSD-3-Clause */

/* How often a test does something: as often as takes seconds, or as often as was asked for (./test.sh --full). */
#ifndef TEST_COUNTS_H
#define TEST_COUNTS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool
run_is(const char *size)
{
	const char *run = getenv("RDMAPMD_SIZE");

	return run != NULL && strcmp(run, size) == 0;
}

static inline bool
full_run(void)
{
	return run_is("full");
}

/* What takes longer is left to ./test.sh --all. */
static inline bool
default_run(void)
{
	return run_is("default");
}

/* Most of a program's time is a sanitizer's. */
static inline bool
sanitized_run(void)
{
	const char *sanitizer = getenv("RDMAPMD_SANITIZER");

	return sanitizer != NULL && strcmp(sanitizer, "none") != 0;
}

#endif
