/* SPDX-License-Identifier: BSD-3-Clause */

/* What a driver makes the device keep has an end, whatever it is made of; and it comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"
#include "softrnic/base/device.h"

#define MEMORY	  (UINT64_C(32) << 20)
#define PAGE_LOG  12
#define KEY_PAGES (1u << 17) /* entries of a key's list: a megabyte */
#define CQ_LOG	  20	     /* entries: its list names 16384 pages */

struct world {
	struct softrnic_poller *poller;
	struct dp dp;
	uint32_t keys[512], count;
};

static int
setup(void **state)
{
	const struct softrnic_conf conf = { .name = "memory", .memory_max = MEMORY };
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(softrnic_poller_create(&w->poller), 0);
	assert_int_equal(dp_open(&w->dp, w->poller, &conf), 0);
	*state = w;
	return 0;
}

/* A key whose list names one page again and again: its status. */
static int
key_create(struct world *w)
{
	int status = dp_key_create(&w->dp, KEY_PAGES, PAGE_LOG, DP_IOVA, 0, &w->keys[w->count]);

	w->count += status == 0;
	return status;
}

/* A completion queue whose list does so, too. */
static int
cq_create(struct world *w)
{
	return drv_cq_create(&w->dp.drv,
			     &(struct drv_cq){ .log_size = CQ_LOG,
					       .uar = w->dp.uars[1],
					       .eqn = w->dp.eqn,
					       .dbrec = DP_IOVA,
					       .ring = { .iova = DP_IOVA,
							 .count = 64u << (CQ_LOG - PAGE_LOG) } },
			     NULL);
}

static void
all_kinds_together_have_a_limit(void **state)
{
	struct world *w = *state;
	uint32_t cqs = 0;
	int status;

	/* Half of it is one kind's, the rest another's. */
	while (w->count < MEMORY / 2 / (KEY_PAGES * sizeof(uint64_t)))
		assert_int_equal(key_create(w), 0);
	while ((status = cq_create(w)) == 0)
		cqs++;
	/* The lists of so many alone are that long. */
	assert_true(w->count * KEY_PAGES * sizeof(uint64_t) +
			    cqs * (UINT64_C(64) << (CQ_LOG - PAGE_LOG)) * 16 <=
		    MEMORY);
	assert_int_equal(status, RNIC_STATUS_LIM);
	assert_true(cqs > 0);
	assert_in_range(dp_stats(&w->dp).memory_refused, 1, 2);
	/* What is smaller goes on for a while, and what goes makes room. */
	assert_int_not_equal(dp_create_simple(&w->dp, RNIC_CMD_ALLOC_PD), UINT32_MAX);
	assert_int_equal(key_create(w), RNIC_STATUS_LIM);
	assert_int_equal(dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, w->keys[--w->count]), 0);
	assert_int_equal(key_create(w), 0);
	assert_int_equal(key_create(w), RNIC_STATUS_LIM);
}

static void
it_comes_back(void **state)
{
	struct world *w = *state;
	uint64_t before = w->dp.dev->memory;
	uint32_t keys;

	assert_true(before > 0);
	for (unsigned int round = 0; round < 2; round++) {
		while (key_create(w) == 0)
			;
		keys = w->count;
		while (w->count > 0)
			assert_int_equal(
				dp_destroy(&w->dp, RNIC_CMD_DESTROY_MKEY, w->keys[--w->count]), 0);
		assert_true(keys > 20);
		assert_int_equal(w->dp.dev->memory, before);
	}
	while (cq_create(w) == 0)
		;
	/* Long rings go in pieces, and the rest of them over rounds. */
	assert_int_equal(softrnic_reset(w->dp.dev), 0);
	dp_run(&w->dp);
	assert_int_equal(w->dp.dev->memory, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_kinds_together_have_a_limit, setup,
						dp_teardown),
		cmocka_unit_test_setup_teardown(it_comes_back, setup, dp_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
