/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * What a run has measured, and how it follows from the times that were noted.
 */
#ifndef PERF_RESULT_H
#define PERF_RESULT_H

#include <stdint.h>

/** Of one size of message. */
struct perf_result {
	uint32_t size;	/**< bytes of a message */
	uint64_t iters; /**< messages, of all queue pairs together */
	uint64_t lost;	/**< messages that did not arrive (UC, UD) */
	double seconds; /**< from the first post to the last completion */

	/* bandwidth */
	double peak_bytes;    /**< bytes a second, over the best stretch; 0: not looked for */
	double average_bytes; /**< bytes a second */
	double rate;	      /**< messages a second */

	/* latency, microseconds */
	double min_us, max_us, typical_us, average_us, stdev_us, p99_us, p999_us;
	double tps; /**< exchanges a second */
};

/** When requests were posted and completed, in the order of posting; ticks. */
struct perf_times {
	uint64_t *posted;    /**< [n] */
	uint64_t *completed; /**< [n]; 0: a later one's completion told of it */
	uint64_t n;
};

/** What a thread has had of its CPU. */
struct perf_cpu {
	uint64_t ns;	/**< CPU time */
	uint64_t ticks; /**< time; 0: it did not run */
};

/**
 * Of threads that poll the one that has had least of its CPU.
 *
 * @param cpus    What each has had, [n].
 * @param n       How many; 1 and more.
 * @param hz      Ticks a second.
 * @param percent Out: what it has had; 100 if it did not run.
 * @return Which.
 */
uint32_t perf_result_least_cpu(const struct perf_cpu *cpus, uint32_t n, double hz, double *percent);

/**
 * The largest rate of any stretch from a post to a completion, as perftest looks for it.
 *
 * @param times What was noted.
 * @param hz    Ticks a second.
 * @return Messages a second; 0: nothing was noted.
 */
double perf_result_peak(const struct perf_times *times, double hz);

/** Fill in average_bytes and rate, of iters messages of `size` in `seconds`. */
void perf_result_bandwidth(struct perf_result *result);

/**
 * Fill in what is about latency.
 *
 * @param result  Its size and iters are set.
 * @param samples Ticks of each exchange; sorted afterwards.
 * @param n       How many; 0: all become 0.
 * @param tick_us Microseconds of a tick, halved where an exchange is there and back.
 */
void perf_result_latency(struct perf_result *result, uint64_t *samples, uint64_t n, double tick_us);

#endif
