/* SPDX-License-Identifier: BSD-3-Clause */

/* How often a test does something: as often as takes seconds, or as often as was asked for (./test.sh --full). */
#ifndef TEST_COUNTS_H
#define TEST_COUNTS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool
full_run(void)
{
	const char *size = getenv("RDMAPMD_SIZE");

	return size != NULL && strcmp(size, "full") == 0;
}

#endif
