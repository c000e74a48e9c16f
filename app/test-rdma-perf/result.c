/* SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "result.h"

#define ROUNDING 1e-6 /* of a message */

/* A stretch: the messages from `first` to `last`, from the post of the first to the completion of the last one. */
struct stretch {
	uint64_t first, last;
};

static double
rate_of(const struct perf_times *times, const struct stretch *stretch)
{
	return (double)(stretch->last - stretch->first + 1) /
	       (double)(times->completed[stretch->last] - times->posted[stretch->first]);
}

/*
 * Of all stretches the one that has most messages more than `rate` would have had in its time: for each end the beginning before it
 * that is furthest behind. @return Whether there is one that has more.
 */
static bool
faster_than(const struct perf_times *times, double rate, struct stretch *stretch)
{
	const uint64_t zero = times->posted[0];
	double behind = 0, most = 0;
	uint64_t i, first = 0;

	for (i = 0; i < times->n; i++) {
		const double begins = (double)i - rate * (double)(times->posted[i] - zero);
		double more;

		if (i == 0 || begins < behind) {
			behind = begins;
			first = i;
		}
		if (times->completed[i] <= times->posted[first])
			continue;
		more = (double)(i + 1) - rate * (double)(times->completed[i] - zero) - behind;
		if (more > most) {
			most = more;
			*stretch = (struct stretch){ first, i };
		}
	}
	return most > ROUNDING;
}

/* Each stretch that is found is faster than the one before; a handful of them leads to the fastest. */
double
perf_result_peak(const struct perf_times *times, double hz)
{
	struct stretch stretch;
	double best = 0, rate;

	while (times->n > 0 && faster_than(times, best, &stretch)) {
		rate = rate_of(times, &stretch);
		if (rate <= best)
			break;
		best = rate;
	}
	return best * hz;
}

static double
percent_of(const struct perf_cpu *cpu, double hz)
{
	return cpu->ticks == 0 ? 100 : (double)cpu->ns * hz / (double)cpu->ticks / 1e7;
}

uint32_t
perf_result_least_cpu(const struct perf_cpu *cpus, uint32_t n, double hz, double *percent)
{
	uint32_t i, least = 0;

	for (i = 1; i < n; i++)
		if (percent_of(&cpus[i], hz) < percent_of(&cpus[least], hz))
			least = i;
	*percent = percent_of(&cpus[least], hz);
	return least;
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
