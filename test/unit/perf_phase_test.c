/* SPDX-License-Identifier: BSD-3-Clause */

/* A phase of dpdk-test-rdma-perf without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "main.h"
#include "phase.h"

static unsigned int
patience(struct perf_options options)
{
	struct perf_end end = { .options = &options };
	const struct perf_phase phase = { .end = &end, .layout = { .size = options.size } };

	return perf_phase_patience_s(&phase);
}

/* Four seconds where nothing takes long; never less than a queue pair's retries, or than what one completion tells of. */
static void
silence_is_as_long_as_what_may_take_its_time(void **state)
{
	struct perf_options o = {
		.transport = RDMAPMD_QPT_UD, .size = 64, .cq_mod = 100, .qps = 16, .timeout = 31
	};

	(void)state;
	assert_int_equal(patience(o), 4);
	o.transport = RDMAPMD_QPT_RC;
	o.timeout = 14;
	assert_int_equal(patience(o), 4);
	/* Eight times 4.096 us << 18, four times as long. */
	o.timeout = 18;
	assert_in_range(patience(o), 34, 36);
	o.timeout = 31;
	assert_true(patience(o) > 131 * 2000);
	o.timeout = 0;
	assert_int_equal(patience(o), 30);
	o.transport = RDMAPMD_QPT_UC;
	o.size = 1 << 23;
	o.qps = 1;
	assert_int_equal(patience(o), 4 + 800 / 16);
	o.cq_mod = 1;
	assert_int_equal(patience(o), 4);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(silence_is_as_long_as_what_may_take_its_time),
};

PLAIN_MAIN("perf-phase", tests)
