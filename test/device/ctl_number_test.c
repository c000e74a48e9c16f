/* SPDX-License-Identifier: BSD-3-Clause */

/* The numbers of memory keys: a peer that knows some of them must not know the next. */
#include <stdlib.h>

#include "softrnic/base/random.h"
#include "softrnic/base/device.h"
#include "tpt_key.h"

#define NUMBERS (1u << 16)

static void
siphash_is_siphash(void **state)
{
	/* The vector for a message of eight bytes in the paper's reference code. */
	const uint64_t key[] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };

	(void)state;
	assert_true(softrnic_siphash(key, UINT64_C(0x0706050403020100)) ==
		    UINT64_C(0x93f5f5799a932462));
}

static uint32_t
make(struct hn *hn, uint32_t pd)
{
	return key_create_ok(
		       hn,
		       &(struct drv_mkey){ .mode = RNIC_MKEY_PA, .pd = pd, .length64 = true }) >>
	       8;
}

static void
start(struct hn *hn, uint64_t seed, uint32_t *pd)
{
	const struct softrnic_conf conf = { .name = "number0", .seed = seed };

	hn_start(hn, NULL, &conf);
	hn_bring_up(hn);
	*pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
}

/* With three keys that live on, whose numbers nobody else gets. */
static void
each_number_comes_once_before_any_comes_again(void **state)
{
	static uint8_t seen[NUMBERS];
	static struct hn hn;
	uint32_t pd, kept[3], first = UINT32_MAX, i, round, number;

	(void)state;
	start(&hn, 5, &pd);
	for (i = 0; i < 3; i++)
		kept[i] = make(&hn, pd);
	for (round = 0; round < 2; round++)
		for (i = 3; i < NUMBERS; i++) {
			number = make(&hn, pd);
			first = number < first ? number : first;
			assert_true(number != kept[0] && number != kept[1] && number != kept[2]);
			assert_in_range(number, 0x100, 0x100 + NUMBERS - 1);
			assert_int_equal(seen[number - 0x100]++, round);
			assert_int_equal(hn_destroy(&hn, RNIC_CMD_DESTROY_MKEY, number), 0);
		}
	assert_in_range(first, 0x100, 0x103);
	hn_stop(&hn);
}

static void
a_seed_says_the_order(void **state)
{
	const uint64_t seeds[] = { 98, 99, 99 };
	static struct hn hn;
	uint32_t numbers[3][16], pd, i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		start(&hn, seeds[i], &pd);
		for (k = 0; k < 16; k++)
			numbers[i][k] = make(&hn, pd);
		hn_stop(&hn);
	}
	assert_memory_not_equal(numbers[0], numbers[1], sizeof(numbers[0]));
	assert_memory_equal(numbers[1], numbers[2], sizeof(numbers[0]));
}

static void
without_a_seed_nobody_knows_the_order(void **state)
{
	struct softrnic_poller *poller;
	uint64_t secrets[2];
	unsigned int i;

	(void)state;
	assert_int_equal(softrnic_poller_create(&poller), 0);
	for (i = 0; i < 2; i++) {
		const struct softrnic_conf conf = { .name = "secret0" };
		struct softrnic *dev;

		assert_int_equal(softrnic_create(poller, &conf, &dev), 0);
		secrets[i] = softrnic_secret(dev);
		assert_true(secrets[i] != softrnic_secret(dev));
		softrnic_destroy(dev);
	}
	assert_true(secrets[0] != secrets[1]);
	softrnic_poller_destroy(poller);
}

/* A draw is one step, however few are free: who fills his table makes nobody wait. */
static void
the_last_free_number_is_found_at_once(void **state)
{
	static struct hn hn;
	struct drv_mkey one = { .mode = RNIC_MKEY_PA, .length64 = true };
	uint32_t pd, i, key, last = 0;
	uint64_t draws;

	(void)state;
	start(&hn, 5, &pd);
	one.pd = pd;
	for (i = 0; i < NUMBERS; i++)
		last = make(&hn, pd);
	assert_int_equal(key_create(&hn, &one, &key), RNIC_STATUS_LIM);
	draws = hn.dev->secret.count;
	for (i = 0; i < 10; i++) {
		assert_int_equal(hn_destroy(&hn, RNIC_CMD_DESTROY_MKEY, last), 0);
		assert_int_equal(make(&hn, pd), last);
	}
	assert_int_equal(hn.dev->secret.count - draws, 10);
	hn_stop(&hn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_is_siphash),
		cmocka_unit_test(each_number_comes_once_before_any_comes_again),
		cmocka_unit_test(a_seed_says_the_order),
		cmocka_unit_test(without_a_seed_nobody_knows_the_order),
		cmocka_unit_test(the_last_free_number_is_found_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
