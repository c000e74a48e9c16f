/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <time.h>

#include "latency.h"

void
latencies_forget(struct latencies *latencies)
{
	for (unsigned int i = 0; i < LATENCY_KINDS; i++)
		latencies->of[i].count = 0;
}

uint64_t
latency_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
latency_add(struct latencies *latencies, enum latency_of kind, uint64_t start)
{
	if (latencies->of[kind].count < LATENCY_SAMPLES)
		latencies->of[kind].ns[latencies->of[kind].count++] = latency_now() - start;
}

static int
order(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

uint64_t
latency_of(struct latencies *latencies, enum latency_of kind, unsigned int per_mille)
{
	const unsigned int count = latencies->of[kind].count;
	unsigned int at = (unsigned int)((uint64_t)count * per_mille / 1000);

	if (count == 0)
		return 0;
	qsort(latencies->of[kind].ns, count, sizeof(latencies->of[kind].ns[0]), order);
	return latencies->of[kind].ns[at < count ? at : count - 1];
}
