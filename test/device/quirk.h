/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with quirks, for their tests. */
#ifndef TEST_DEVICE_QUIRK_H
#define TEST_DEVICE_QUIRK_H

#include "harness.h"

static inline void
start(struct hn *hn, const char *quirks)
{
	const struct softrnic_conf conf = { .name = "quirk", .quirks = quirks };

	hn_start(hn, NULL, &conf);
}

static inline struct softrnic_stats
stats(struct hn *hn)
{
	struct softrnic_stats s;

	softrnic_stats_get(hn->dev, &s);
	return s;
}

#endif
