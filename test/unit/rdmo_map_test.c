/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of keys, beside a list that is searched from its beginning. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <rte_common.h>

#include "main.h"
#include "rdmo/map.h"

#define MAX 37

static struct rdmo_map map;

static int
open_map(void **state)
{
	(void)state;
	return rdmo_map_open(&map, MAX);
}

static int
close_map(void **state)
{
	(void)state;
	rdmo_map_close(&map);
	return 0;
}

static void
test_what_is_put_is_found_until_it_is_taken(void **state)
{
	int a, b;

	(void)state;
	assert_null(rdmo_map_find(&map, 7));
	assert_null(rdmo_map_take(&map, 7));
	assert_int_equal(rdmo_map_put(&map, 7, &a), 0);
	assert_int_equal(rdmo_map_put(&map, 0, &b), 0);
	assert_int_equal(rdmo_map_put(&map, 7, &b), -EEXIST);
	assert_ptr_equal(rdmo_map_find(&map, 7), &a);
	assert_ptr_equal(rdmo_map_find(&map, 0), &b);
	assert_null(rdmo_map_find(&map, 8));
	assert_ptr_equal(rdmo_map_take(&map, 7), &a);
	assert_null(rdmo_map_find(&map, 7));
	assert_ptr_equal(rdmo_map_find(&map, 0), &b);
}

static void
test_it_holds_as_many_as_it_was_opened_for(void **state)
{
	static int values[MAX + 1];

	(void)state;
	for (uint32_t i = 0; i < MAX; i++)
		assert_int_equal(rdmo_map_put(&map, i, &values[i]), 0);
	assert_int_equal(rdmo_map_put(&map, MAX, &values[MAX]), -ENOSPC);
	assert_null(rdmo_map_find(&map, MAX));
	for (uint32_t i = 0; i < MAX; i++)
		assert_ptr_equal(rdmo_map_find(&map, i), &values[i]);
}

/* Puts and takes in any order: what is in the way of others moves, and nobody is lost. */
static void
test_any_order(void **state)
{
	static struct {
		uint64_t key;
		int value;
		int in;
	} list[3 * MAX];
	uint64_t random = 1;
	uint32_t in = 0;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(list); i++)
		list[i].key =
			(i % 3 == 0 ? UINT64_C(1) << 40 : 1) * i; /* neighbours, and far ones */
	for (uint32_t n = 0; n < 20000; n++) {
		const uint32_t i = (uint32_t)((random = random * 6364136223846793005 + 99) >> 33) %
				   RTE_DIM(list);

		if (list[i].in) {
			assert_ptr_equal(rdmo_map_take(&map, list[i].key), &list[i].value);
			in--;
		} else if (in == MAX) {
			assert_int_equal(rdmo_map_put(&map, list[i].key, &list[i].value), -ENOSPC);
			continue;
		} else {
			assert_int_equal(rdmo_map_put(&map, list[i].key, &list[i].value), 0);
			in++;
		}
		list[i].in = !list[i].in;
		for (uint32_t k = 0; k < RTE_DIM(list); k++)
			assert_ptr_equal(rdmo_map_find(&map, list[k].key),
					 list[k].in ? &list[k].value : NULL);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_map, close_map)

static const struct CMUnitTest tests[] = {
	TEST(test_what_is_put_is_found_until_it_is_taken),
	TEST(test_it_holds_as_many_as_it_was_opened_for),
	TEST(test_any_order),
};

PLAIN_MAIN("rdmo-map", tests)
