/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers of dpdk-test-rdma-perf: percentiles, rates and peaks from times; messages that prove themselves; and the table. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "pattern.h"
#include "recording.h"
#include "report.h"
#include "result.h"

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void
percentiles_are_of_sorted_samples(void **state)
{
	struct perf_result result = { .size = 2, .iters = 1000, .seconds = 0.5 };
	uint64_t samples[1000];
	unsigned int i;

	(void)state;
	/* 1 to 1000, in disorder. */
	for (i = 0; i < 1000; i++)
		samples[i] = (i * 7) % 1000 + 1;
	perf_result_latency(&result, samples, 1000, 0.5);
	assert_true(near(result.min_us, 0.5));
	assert_true(near(result.max_us, 500));
	assert_true(near(result.typical_us, 250.25));
	assert_true(near(result.average_us, 250.25));
	assert_true(near(result.stdev_us, sqrt((1000.0 * 1000 - 1) / 12) / 2));
	assert_true(near(result.p99_us, 495.5)); /* sample 990, from 0 */
	assert_true(near(result.p999_us, 500));	 /* sample 999 */
	assert_true(near(result.tps, 2000));
}

static void
few_samples_have_percentiles_too(void **state)
{
	struct perf_result result = { .iters = 1 };
	uint64_t one = 9;

	(void)state;
	perf_result_latency(&result, &one, 1, 1);
	assert_true(near(result.p99_us, 9) && near(result.p999_us, 9) &&
		    near(result.typical_us, 9));
	assert_true(result.stdev_us == 0);
	result = (struct perf_result){ 0 };
	perf_result_latency(&result, &one, 0, 1);
	assert_true(result.max_us == 0);
}

static void
bandwidth_is_of_iterations_and_time(void **state)
{
	struct perf_result result = { .size = 1 << 20, .iters = 300, .seconds = 3 };

	(void)state;
	perf_result_bandwidth(&result);
	assert_true(near(result.rate, 100));
	assert_true(near(result.average_bytes, 100.0 * (1 << 20)));
	result.seconds = 0;
	perf_result_bandwidth(&result);
	assert_true(result.rate == 0);
}

/* Four messages in 40 ticks, of which the middle two took 4. */
static void
the_peak_is_the_best_stretch(void **state)
{
	uint64_t posted[] = { 0, 20, 20, 24 }, completed[] = { 20, 0, 24, 60 };
	const struct perf_times times = { posted, completed, 4 };

	(void)state;
	assert_true(near(perf_result_peak(&times, 1000), 2 * 1000 / 4.0));
}

/* As perftest looks for it: at every stretch. */
static double
slow_peak(const struct perf_times *times)
{
	double best = 0;
	uint64_t i, j;

	for (i = 0; i < times->n; i++)
		for (j = i; j < times->n; j++)
			if (times->completed[j] > times->posted[i])
				best = fmax(best,
					    (double)(j - i + 1) / (double)(times->completed[j] -
									   times->posted[i]));
	return best;
}

static void
no_stretch_is_faster_than_the_peak(void **state)
{
	uint64_t posted[400], completed[400], now;
	unsigned int round, i;

	(void)state;
	srandom(7);
	for (round = 0; round < 50; round++) {
		const struct perf_times times = { posted, completed, 1 + (uint64_t)random() % 400 };

		now = UINT64_C(1) << 52; /* a clock that has run for long */
		for (i = 0; i < times.n; i++) {
			now += (uint64_t)random() % 100 == 0 ? 5000 : (uint64_t)random() % 40;
			posted[i] = now;
			/* One of three is signaled. */
			completed[i] = i % 3 == 2 || i + 1 == times.n
					       ? now + 50 + (uint64_t)random() % 500
					       : 0;
		}
		assert_true(fabs(perf_result_peak(&times, 1) / slow_peak(&times) - 1) < 1e-6);
	}
}

static void
each_byte_of_a_message_counts(void **state)
{
	static uint8_t message[67];
	size_t bytes, i;

	(void)state;
	for (bytes = 1; bytes <= sizeof(message); bytes++) {
		perf_pattern_fill(message, bytes, 5, 1000 + bytes);
		assert_int_equal(perf_pattern_check(message, bytes, 5, 1000 + bytes), -1);
		assert_int_equal(message[bytes - 1], perf_pattern_mark(1000 + bytes));
		for (i = 0; i < bytes; i++) {
			message[i] ^= 0x10;
			assert_int_equal(perf_pattern_check(message, bytes, 5, 1000 + bytes), i);
			message[i] ^= 0x10;
		}
	}
}

/* Another message, stream, or place is seen at once. */
static void
messages_are_not_mistaken_for_each_other(void **state)
{
	static uint8_t message[8192 + 8];

	(void)state;
	perf_pattern_fill(message, sizeof(message), 1, 7);
	assert_in_range(perf_pattern_check(message, 8192, 1, 7 + 256), 0, 8);
	assert_in_range(perf_pattern_check(message, 8192, 2, 7), 0, 8);
	assert_in_range(perf_pattern_check(message + 8, 8192, 1, 7), 0, 8);
	assert_in_range(perf_pattern_check(message + 4096, 4096, 1, 7), 0, 8);
}

/* ---- The table, as perftest 4.5 prints it ---- */

static char text[4096];

static const char *
row(const struct perf_options *options, const struct perf_result *result)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	perf_report_row(out, options, result);
	fclose(out);
	return text;
}

static const char *
titles(const struct perf_options *options)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	perf_report_titles(out, options);
	fclose(out);
	return text;
}

static void
rows_and_titles_are_perftests(void **state)
{
	struct perf_options options = { .mode = PERF_BW };
	struct perf_result result = { .size = 65536,
				      .iters = 5000,
				      .peak_bytes = 2e9,
				      .average_bytes = 1 << 30,
				      .rate = 16384 };

	(void)state;
	assert_string_equal(
		titles(&options),
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n");
	assert_string_equal(
		row(&options, &result),
		" 65536      5000             1907.35            1024.00\t\t   0.016384\n");
	options.gbits = true;
	assert_string_equal(
		titles(&options),
		" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n");
	assert_string_equal(
		row(&options, &result),
		" 65536      5000             16.00              8.59   \t\t   0.016384\n");
	result.average_bytes = 1e6;
	assert_string_equal(
		row(&options, &result),
		" 65536      5000           16.000000            0.008000            0.016384\n");
	options = (struct perf_options){ .mode = PERF_LAT };
	result = (struct perf_result){ .size = 2,
				       .iters = 1000,
				       .min_us = 1,
				       .max_us = 20,
				       .typical_us = 1.5,
				       .average_us = 1.6,
				       .stdev_us = 0.1,
				       .p99_us = 2,
				       .p999_us = 19.25,
				       .tps = 312500 };
	assert_string_equal(
		titles(&options),
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
		"t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n");
	assert_string_equal(
		row(&options, &result),
		" 2       1000          1.00           20.00        1.50     \t       1.60        \t0.10   "
		"\t\t2.00    \t\t19.25  \n");
	options.duration = 1;
	assert_string_equal(titles(&options),
			    " #bytes        #iterations       t_avg[usec]    tps average\n");
	assert_string_equal(row(&options, &result),
			    " 2             1000            1.60           312500.00\n");
}

/* A row of the recording, read back: 0 it is none. */
static int
parse_row(const char *line, const struct perf_options *options, struct perf_result *r)
{
	const double unit = options->gbits ? 125e6 : 1 << 20;
	int n;

	*r = (struct perf_result){ 0 };
	if (options->mode == PERF_BW) {
		n = sscanf(line, " %u %" SCNu64 " %lf %lf %lf", &r->size, &r->iters, &r->peak_bytes,
			   &r->average_bytes, &r->rate);
		r->peak_bytes *= unit;
		r->average_bytes *= unit;
		r->rate *= 1e6;
		return n == 5;
	}
	if (options->duration > 0)
		return sscanf(line, " %u %" SCNu64 " %lf %lf", &r->size, &r->iters, &r->average_us,
			      &r->tps) == 4;
	return sscanf(line, " %u %" SCNu64 " %lf %lf %lf %lf %lf %lf %lf", &r->size, &r->iters,
		      &r->min_us, &r->max_us, &r->typical_us, &r->average_us, &r->stdev_us,
		      &r->p99_us, &r->p999_us) == 9;
}

static unsigned int
print_again(struct recording *recording, bool latency)
{
	struct perf_options options;
	struct perf_result result;
	const char *line;
	unsigned int n = 0;

	while ((line = recording_line(recording)) != NULL) {
		options = (struct perf_options){
			.mode = latency ? PERF_LAT : PERF_BW,
			.gbits = strstr(recording->command, "--report_gbits") != NULL,
			.duration = strstr(recording->command, " -D ") != NULL,
		};
		if (strncmp(line, " #bytes", strlen(" #bytes")) == 0) {
			titles(&options);
		} else if (parse_row(line, &options, &result)) {
			row(&options, &result);
			n++;
		} else {
			continue;
		}
		text[strcspn(text, "\n")] = '\0';
		assert_string_equal(text, line);
	}
	return n;
}

/* The widths of columns, too: rows that Debian 12's programs have printed. */
static void
recorded_rows_are_printed_alike(void **state)
{
	struct recording recording;
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; recorded_programs[i] != NULL; i++) {
		recording_open(&recording, recorded_programs[i]);
		n += print_again(&recording, strstr(recorded_programs[i], "_lat") != NULL);
		recording_close(&recording);
	}
	assert_in_range(n, 200, 400);
}

static void
the_head_is_perftests(void **state)
{
	struct perf_options options = { .mode = PERF_BW,
					.transport = RDMAPMD_QPT_RC,
					.qps = 2,
					.tx_depth = 128,
					.cq_mod = 100,
					.post_list = 1,
					.bidirectional = true };
	const struct perf_test_info info = { .device = "net_rnic0",
					     .requester = true,
					     .mtu = 1024 };
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	perf_report_head(out, &options, &info);
	fclose(out);
	assert_string_equal(
		text,
		"---------------------------------------------------------------------------------------\n"
		"                    RDMA_Write Bidirectional BW Test\n"
		" Dual-port       : OFF\t\tDevice         : net_rnic0\n"
		" Number of qps   : 2\t\tTransport type : IB\n"
		" Connection type : RC\t\tUsing SRQ      : OFF\n"
		" PCIe relax order: OFF\n"
		" ibv_wr* API     : OFF\n"
		" TX depth        : 128\n"
		" CQ Moderation   : 100\n"
		" Mtu             : 1024[B]\n"
		" Link type       : Ethernet\n"
		" GID index       : 0\n"
		" Max inline data : 0[B]\n"
		" rdma_cm QPs\t : OFF\n"
		" Data ex. method : Ethernet\n"
		"---------------------------------------------------------------------------------------\n");
}

static void
names_of_tests_are_perftests(void **state)
{
	static const struct {
		struct perf_options options;
		const char *name;
	} names[] = {
		{ { .op = PERF_WRITE, .mode = PERF_BW }, "RDMA_Write BW " },
		{ { .op = PERF_READ, .mode = PERF_LAT }, "RDMA_Read Latency " },
		{ { .op = PERF_SEND, .mode = PERF_BW, .post_list = 4 }, "Send Post List BW " },
		{ { .op = PERF_FETCH_ADD, .mode = PERF_BW }, "Atomic FETCH_AND_ADD BW " },
		{ { .op = PERF_CMP_SWAP, .mode = PERF_LAT }, "Atomic CMP_AND_SWAP Latency " },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		perf_report_test_name(text, sizeof(text), &names[i].options, " ");
		assert_string_equal(text, names[i].name);
	}
}

static void
addresses_are_told_as_perftest_does(void **state)
{
	const struct perf_options options = { .op = PERF_WRITE };
	struct perf_address address = {
		.qp_num = 0x1a3, .psn = 0xabcdef, .rkey = 0x200, .vaddr = 0x7f0012345000
	};
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	address.gid.raw[0] = 254;
	address.gid.raw[15] = 1;
	perf_report_address(out, &options, "local", &address);
	fclose(out);
	assert_string_equal(
		text,
		" local address: LID 0000 QPN 0x01a3 PSN 0xabcdef RKey 0x000200 VAddr 0x007f0012345000\n"
		" GID: 254:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n");
}

/* Not the first one alone; and none that has not run. */
static void
of_threads_that_poll_the_one_with_least_is_found(void **state)
{
	/* A tick is a nanosecond. */
	const struct perf_cpu cpus[] = { { 95, 100 }, { 0, 0 }, { 40, 80 }, { 60, 100 } };
	double percent;

	(void)state;
	assert_int_equal(perf_result_least_cpu(cpus, 4, 1e9, &percent), 2);
	assert_true(near(percent, 50));
	assert_int_equal(perf_result_least_cpu(cpus, 1, 1e9, &percent), 0);
	assert_true(near(percent, 95));
	assert_int_equal(perf_result_least_cpu(cpus + 1, 1, 1e9, &percent), 0);
	assert_true(near(percent, 100));
	assert_int_equal(perf_result_least_cpu(cpus, 1, 2e9, &percent), 0);
	assert_true(near(percent, 190));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(percentiles_are_of_sorted_samples),
	cmocka_unit_test(few_samples_have_percentiles_too),
	cmocka_unit_test(bandwidth_is_of_iterations_and_time),
	cmocka_unit_test(the_peak_is_the_best_stretch),
	cmocka_unit_test(no_stretch_is_faster_than_the_peak),
	cmocka_unit_test(each_byte_of_a_message_counts),
	cmocka_unit_test(messages_are_not_mistaken_for_each_other),
	cmocka_unit_test(rows_and_titles_are_perftests),
	cmocka_unit_test(recorded_rows_are_printed_alike),
	cmocka_unit_test(the_head_is_perftests),
	cmocka_unit_test(names_of_tests_are_perftests),
	cmocka_unit_test(addresses_are_told_as_perftest_does),
	cmocka_unit_test(of_threads_that_poll_the_one_with_least_is_found),
};

PLAIN_MAIN("perf-result", tests)
