/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "timed.h"

#define WARM_UP_NS 200000000u
#define STEPS	   16u /* between two looks at the clock */
#define SAMPLES	   (1u << 20)

uint64_t
timed_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* For who watches the machine meanwhile: seconds of the same clock. */
static void
print_window(uint64_t start_ns, uint64_t end_ns)
{
	printf("window %.3f %.3f\n", (double)start_ns / 1e9, (double)end_ns / 1e9);
}

int
timed_rate(struct timed *timed, int64_t (*step)(void *of), struct timed_rate *rate)
{
	uint64_t start = 0, end = timed_now_ns() + WARM_UP_NS, now, done = 0;
	int64_t n;

	for (uint32_t i = 1;; i++) {
		n = step(timed->of);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
		if (i % STEPS != 0)
			continue;
		now = timed_now_ns() - timed->left_out_ns;
		if (now < end)
			continue;
		if (start != 0)
			break;
		/* It counts from here. */
		if (timed->before != NULL)
			timed->before(timed->of);
		done = timed->left_out_ns = 0;
		start = timed_now_ns();
		end = start + (uint64_t)(timed->seconds * 1e9);
	}
	print_window(start, timed_now_ns());
	*rate = (struct timed_rate){ done, (double)(now - start) / 1e9 };
	return 0;
}

static int
compare(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

int
timed_latency(const struct timed *timed, int (*one)(void *of), struct timed_latency *latency)
{
	const uint64_t begin_ns = timed_now_ns(), begin = rte_rdtsc();
	const uint64_t warm_ns = begin_ns + WARM_UP_NS;
	const uint64_t end_ns = warm_ns + (uint64_t)(timed->seconds * 1e9);
	uint32_t *samples = malloc(SAMPLES * sizeof(*samples)), n = 0, looks = 0;
	uint64_t start, now_ns = begin_ns;
	double us; /* of a cycle */
	int rc = 0;

	if (samples == NULL)
		return -1;
	while (rc == 0 && n < SAMPLES && now_ns < end_ns) {
		if (timed->before != NULL)
			timed->before(timed->of);
		start = rte_rdtsc();
		rc = one(timed->of);
		samples[n] = (uint32_t)RTE_MIN(rte_rdtsc() - start, UINT32_MAX);
		n += now_ns >= warm_ns;
		/* As who measures one behind the other has it: the last one's records are still on their way when the next one begins. */
		if (++looks % STEPS == 0)
			now_ns = timed_now_ns();
	}
	now_ns = timed_now_ns();
	print_window(warm_ns, now_ns);
	us = (double)(now_ns - begin_ns) / 1e3 / (double)(rte_rdtsc() - begin);
	qsort(samples, n, sizeof(*samples), compare);
	if (rc == 0 && n > 0)
		*latency = (struct timed_latency){ samples[n / 2] * us,
						   samples[(uint64_t)n * 99 / 100] * us };
	else if (rc == 0)
		fprintf(stderr, "nothing has ended in time\n");
	free(samples);
	return rc != 0 || n == 0 ? -1 : 0;
}
