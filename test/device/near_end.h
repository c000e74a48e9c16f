/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counters near their end: with RDMAPMD_NEAR_END set, all that the device counts for itself begins so near to its end that
 * most tests see it come round (lib/softrnic/base/tunables.h), and so do the sequence numbers of queue pairs. Nothing else may
 * look otherwise then: meson.build has each program of the data path run a second time like that.
 */
#ifndef TEST_NEAR_END_H
#define TEST_NEAR_END_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool
near_end(void)
{
	return getenv("RDMAPMD_NEAR_END") != NULL;
}

#endif
