/* SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdlib.h>

#include "result.h"

double
perf_result_peak(const struct perf_times *times, double hz)
{
	uint64_t i, j;
	double best = 0;

	for (i = 0; i < times->n; i++) {
		/* Of a list only the first post's time is its own. */
		if (i > 0 && times->posted[i] == times->posted[i - 1])
			continue;
		for (j = i; j < times->n; j++) {
			double rate;

			if (times->completed[j] <= times->posted[i])
				continue;
			rate = (double)(j - i + 1) /
			       (double)(times->completed[j] - times->posted[i]);
			if (rate > best)
				best = rate;
		}
	}
	return best * hz;
}

void
perf_result_bandwidth(struct perf_result *result)
{
	result->rate = result->seconds > 0 ? (double)result->iters / result->seconds : 0;
	result->average_bytes = result->rate * result->size;
}

static int
compare(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* The sample below which that share of them lies; the last one at most. */
static uint64_t
percentile(const uint64_t *sorted, uint64_t n, double share)
{
	uint64_t index = (uint64_t)ceil((double)n * share);

	return sorted[index < n ? index : n - 1];
}

void
perf_result_latency(struct perf_result *result, uint64_t *samples, uint64_t n, double tick_us)
{
	double sum = 0, squares = 0, mean;
	uint64_t i;

	if (n == 0)
		return;
	qsort(samples, n, sizeof(*samples), compare);
	for (i = 0; i < n; i++)
		sum += (double)samples[i];
	mean = sum / (double)n;
	for (i = 0; i < n; i++)
		squares += ((double)samples[i] - mean) * ((double)samples[i] - mean);
	result->min_us = (double)samples[0] * tick_us;
	result->max_us = (double)samples[n - 1] * tick_us;
	result->typical_us =
		(n % 2 != 0 ? (double)samples[n / 2]
			    : ((double)samples[n / 2] + (double)samples[n / 2 - 1]) / 2) *
		tick_us;
	result->average_us = mean * tick_us;
	result->stdev_us = sqrt(squares / (double)n) * tick_us;
	result->p99_us = (double)percentile(samples, n, 0.99) * tick_us;
	result->p999_us = (double)percentile(samples, n, 0.999) * tick_us;
	result->tps = result->seconds > 0 ? (double)result->iters / result->seconds : 0;
}
