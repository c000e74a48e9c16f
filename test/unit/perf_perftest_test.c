/* SPDX-License-Identifier: BSD-3-Clause */

/* --exchange=perftest: the text that queue pairs are told by. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "perftest_exchange.h"

/* As perftest 4.5's ib_write_bw writes it. */
static const char sample[PERF_PERFTEST_KEYS] =
	"0000:0010:00012d:4f2a1c:00181de4:00007f5c3a8b1000:"
	"fd:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01:00000000:";

static void
keys_are_read_as_they_are_written(void **state)
{
	char text[PERF_PERFTEST_KEYS];
	struct perf_address address;

	(void)state;
	assert_int_equal(perf_perftest_parse(sample, &address), 0);
	assert_int_equal(address.out_reads, 16);
	assert_int_equal(address.qp_num, 0x12d);
	assert_int_equal(address.psn, 0x4f2a1c);
	assert_int_equal(address.rkey, 0x181de4);
	assert_int_equal(address.vaddr, 0x7f5c3a8b1000);
	assert_int_equal(address.gid.raw[0], 0xfd);
	assert_int_equal(address.gid.raw[15], 1);
	perf_perftest_format(text, &address);
	assert_memory_equal(text, sample, sizeof(text));
}

/* One byte that is another one: a hexadecimal digit is another number, and all else is refused. */
static void
other_texts_are_refused(void **state)
{
	static const char others[] = { '\0', ' ', '-', '+', 'x', 'g', ':', '\377' };
	struct perf_address address;
	unsigned int i, j;

	(void)state;
	for (i = 0; i < sizeof(sample); i++)
		for (j = 0; j < sizeof(others); j++) {
			char text[PERF_PERFTEST_KEYS];

			memcpy(text, sample, sizeof(text));
			if (text[i] == others[j])
				continue;
			text[i] = others[j];
			/* The SRQ's number is nothing to us. */
			if (others[j] == ':' && i >= PERF_PERFTEST_KEYS - 10 &&
			    i < PERF_PERFTEST_KEYS - 1)
				continue;
			assert_int_equal(perf_perftest_parse(text, &address), -EINVAL);
		}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(keys_are_read_as_they_are_written),
	cmocka_unit_test(other_texts_are_refused),
};

PLAIN_MAIN("perf-perftest", tests)
