/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include "counted.h"

/* Calls of the empty function that set the price of counting. */
#define PRICE_CALLS 1000

__attribute__((noinline)) uint16_t
counted_call(burst_fn fn, void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t done = fn(queue, pkts, n);

	/* No tail call: callgrind must see this function end after the burst has ended. */
	__asm__ volatile("" : "+r"(done));
	return done;
}

static __attribute__((noinline)) uint16_t
no_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue;
	(void)pkts;
	(void)n;
	__asm__ volatile("");
	return 0;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Per packet, or per call if nothing came. */
static double
median_cycles(const struct counted *counted)
{
	double cycles[COUNTED_BATCHES];
	unsigned int n = 0;

	for (unsigned int i = 0; i < COUNTED_BATCHES; i++) {
		const struct counted_batch *batch = &counted->batches[i];
		uint64_t units = batch->packets > 0 ? batch->packets : batch->calls;

		if (units > 0)
			cycles[n++] =
				((double)batch->cycles - counted->overhead * batch->calls) / units;
	}
	if (n == 0)
		return 0;
	qsort(cycles, n, sizeof(cycles[0]), compare);
	return RTE_MAX(cycles[n / 2], 0.0);
}

void
counted_start(struct counted *counted, burst_fn fn, void *queue, uint64_t calls)
{
	counted->fn = fn;
	counted->queue = queue;
	counted->calls = 0;
	counted->packets = 0;
	counted->batch_calls = calls / COUNTED_BATCHES + 1;
	memset(counted->batches, 0, sizeof(counted->batches));
	CALLGRIND_ZERO_STATS;
}

void
counted_stop(struct counted *counted, const char *name, unsigned int burst, unsigned int bytes)
{
	char label[128];

	snprintf(label, sizeof(label), "row %s burst %u bytes %u", name, burst, bytes);
	CALLGRIND_DUMP_STATS_AT(label);
	printf("%s calls %lu packets %lu cycles %.1f\n", label, counted->calls, counted->packets,
	       median_cycles(counted));
	fflush(stdout);
}

void
counted_init(struct counted *counted)
{
	counted->overhead = 0;
	counted_start(counted, no_burst, NULL, PRICE_CALLS);
	for (int i = 0; i < PRICE_CALLS; i++)
		counted_burst(counted, NULL, 0);
	counted->overhead = median_cycles(counted);
	counted_stop(counted, "call", 0, 0);
}

static int
parse_numbers(char *text, unsigned int max, unsigned int *out, unsigned int *n)
{
	char *save = NULL, *end;

	for (char *t = strtok_r(text, ",", &save); t != NULL; t = strtok_r(NULL, ",", &save)) {
		unsigned long value = strtoul(t, &end, 10);

		if (*end != '\0' || value == 0 || value > max || *n == COUNTED_LIST_MAX) {
			fprintf(stderr, "%s: want at most %d numbers from 1 to %u\n", t,
				COUNTED_LIST_MAX, max);
			return -EINVAL;
		}
		out[(*n)++] = (unsigned int)value;
	}
	return 0;
}

int
counted_plan_parse(int argc, char **argv, struct counted_plan *plan)
{
	char *save = NULL;

	memset(plan, 0, sizeof(*plan));
	if (argc != 5) {
		fprintf(stderr, "usage: %s [EAL OPTIONS] -- NAME,... BURST,... BYTES,... CALLS\n",
			argv[0]);
		return -EINVAL;
	}
	for (char *t = strtok_r(argv[1], ",", &save); t != NULL; t = strtok_r(NULL, ",", &save))
		if (plan->n_names < COUNTED_LIST_MAX)
			plan->names[plan->n_names++] = t;
	if (parse_numbers(argv[2], COUNTED_BURST_MAX, plan->bursts, &plan->n_bursts) < 0 ||
	    parse_numbers(argv[3], 2000, plan->bytes, &plan->n_bytes) < 0)
		return -EINVAL;
	plan->calls = strtoull(argv[4], NULL, 10);
	if (plan->calls == 0 || plan->n_names == 0 || plan->n_bursts == 0 || plan->n_bytes == 0) {
		fprintf(stderr, "nothing to measure\n");
		return -EINVAL;
	}
	return 0;
}
