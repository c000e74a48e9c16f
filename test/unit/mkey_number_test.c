/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers of memory keys over many registrations: none comes again, and the next is hard to guess. */

#include "verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "../counts.h"
#include "core/dev.h"
#include "object/mkey_history.h"
#include "rdmapmd.h"

static uint32_t
rounds(void)
{
	return full_run() ? 1000000 : 10000;
}

/* ---- What is remembered ---- */

static void
test_the_last_variants_of_an_index_are_known(void **state)
{
	struct rnic_mkey_history *history;
	uint32_t i;

	(void)state;
	assert_int_equal(rnic_mkey_history_create(&history), 0);
	for (i = 0; i < 63; i++) {
		assert_false(rnic_mkey_history_has(history, 0x123400 + i));
		assert_int_equal(rnic_mkey_history_add(history, 0x123400 + i), 0);
	}
	/* 62 of them; the index beside it has none. */
	assert_false(rnic_mkey_history_has(history, 0x123400));
	for (i = 1; i < 63; i++)
		assert_true(rnic_mkey_history_has(history, 0x123400 + i));
	assert_false(rnic_mkey_history_has(history, 0x123500 + 5));
	rnic_mkey_history_destroy(history);
}

/* As many as softrnic has; a device that never gives an index twice costs no more than that. */
static void
test_the_last_65536_indices_are_known(void **state)
{
	struct rnic_mkey_history *history;
	uint32_t i;

	(void)state;
	assert_int_equal(rnic_mkey_history_create(&history), 0);
	for (i = 0; i < 1 << 17; i++)
		assert_int_equal(rnic_mkey_history_add(history, i << 8 | 7), 0);
	for (i = 0; i < 1 << 16; i++) {
		assert_false(rnic_mkey_history_has(history, i << 8 | 7));
		assert_true(rnic_mkey_history_has(history, (i + (1u << 16)) << 8 | 7));
	}
	rnic_mkey_history_destroy(history);
}

/* ---- Registrations ---- */

struct world {
	struct unit_verbs verbs;
	uint8_t *memory;
};

static int
open_world(void **state)
{
	static struct world world;

	world.memory = rte_malloc(NULL, 8192, 4096);
	assert_non_null(world.memory);
	unit_verbs_open(&world.verbs);
	*state = &world;
	return 0;
}

/* The domain goes before its context: no region has stayed. */
static int
close_world(void **state)
{
	struct world *world = *state;

	assert_int_equal(rdmapmd_pd_dealloc(world->verbs.pd), 0);
	unit_verbs_close(&world->verbs);
	rte_free(world->memory);
	return 0;
}

static struct rdmapmd_mr *
reg(struct world *world)
{
	struct rdmapmd_mr *mr;

	assert_int_equal(rdmapmd_mr_reg(world->verbs.pd, world->memory, 8192,
					RDMAPMD_ACCESS_LOCAL_WRITE | RDMAPMD_ACCESS_REMOTE_READ,
					&mr),
			 0);
	return mr;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
test_no_key_comes_again(void **state)
{
	struct world *world = *state;
	const uint32_t count = rounds();
	uint32_t *keys = calloc(count, sizeof(*keys));
	struct rdmapmd_mr *kept = NULL, *mr;
	uint32_t i;

	assert_non_null(keys);
	for (i = 0; i < count; i++) {
		/* Now and then one lives on for a while, or changes and gets another key. */
		if (i % 7 == 3 && kept != NULL) {
			assert_int_equal(rdmapmd_mr_rereg(kept, RDMAPMD_REREG_MR_CHANGE_ACCESS,
							  NULL, NULL, 0,
							  RDMAPMD_ACCESS_LOCAL_WRITE),
					 0);
			keys[i] = kept->rkey;
			continue;
		}
		mr = reg(world);
		keys[i] = mr->rkey;
		if (i % 100 == 0) {
			if (kept != NULL)
				assert_int_equal(rdmapmd_mr_dereg(kept), 0);
			kept = mr;
			continue;
		}
		assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	}
	assert_int_equal(rdmapmd_mr_dereg(kept), 0);
	qsort(keys, count, sizeof(*keys), compare_numbers);
	for (i = 1; i < count; i++)
		assert_int_not_equal(keys[i - 1], keys[i]);
	free(keys);
}

/* ---- How hard the next key is to guess ---- */

/* Min-entropy in bits: of the best guess, which is the value seen most often. Sorts the values. */
static double
min_entropy(uint32_t *values, uint32_t count)
{
	uint32_t i, most = 0, run = 0;

	qsort(values, count, sizeof(*values), compare_numbers);
	for (i = 0; i < count; i++) {
		run = i > 0 && values[i] == values[i - 1] ? run + 1 : 1;
		most = RTE_MAX(most, run);
	}
	return log2((double)count / most);
}

/* Of some of the steps' bits. */
static double
part_entropy(const uint32_t *steps, uint32_t count, uint32_t shift, uint32_t mask)
{
	uint32_t *values = calloc(count, sizeof(*values)), i;
	double bits;

	assert_non_null(values);
	for (i = 0; i < count; i++)
		values[i] = steps[i] >> shift & mask;
	bits = min_entropy(values, count);
	free(values);
	return bits;
}

/*
 * From one key to the next, there are 8 bits of variant, which the driver draws, and an index of the device's, 16 bits
 * on softrnic; a card chooses indices as it likes, so the driver's part is looked at alone as well. n samples can show
 * log2(n) bits at most: a million shows the steps as a whole, ten thousand the bytes of them, and that the bytes have
 * nothing to do with each other, so that their bits add up.
 */
static void
test_the_step_to_the_next_key_has_16_bits(void **state)
{
	struct world *world = *state;
	const uint32_t count = rounds();
	uint32_t *steps = calloc(count, sizeof(*steps)), last = 0, i;
	double variant, low, high, together;

	assert_non_null(steps);
	for (i = 0; i < count; i++) {
		struct rdmapmd_mr *mr = reg(world);

		steps[i] = mr->rkey - last;
		last = mr->rkey;
		assert_int_equal(rdmapmd_mr_dereg(mr), 0);
	}
	variant = part_entropy(steps, count, 0, 0xff);
	low = part_entropy(steps, count, 8, 0xff);
	high = part_entropy(steps, count, 16, 0xff);
	print_message("# min-entropy of a step, in bits: variant %.2f, index %.2f + %.2f\n",
		      variant, low, high);
	assert_true(variant >= 7);
	assert_true(variant + low + high >= 16);
	/* Two bytes at a time have 65,536 values: were one to follow from the other, most would be the same few. */
	together = log2(count / 12.0 < 12000 ? count / 12.0 : 12000);
	assert_true(part_entropy(steps, count, 0, 0xffff) >= together);
	assert_true(part_entropy(steps, count, 8, 0xffff) >= together);
	if (count >= 1000000)
		assert_true(min_entropy(steps, count) >= 16);
	free(steps);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_the_last_variants_of_an_index_are_known),
	cmocka_unit_test(test_the_last_65536_indices_are_known),
	WORLD_TEST(test_no_key_comes_again),
	WORLD_TEST(test_the_step_to_the_next_key_has_16_bits),
};

UNIT_MAIN("mkey_number", tests)
