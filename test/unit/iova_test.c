/* SPDX-License-Identifier: BSD-3-Clause */

/* The IOVA allocator: congruent, apart, unlike the address, and freed ranges are used again. */

#include "unit.h"

#include <stdlib.h>

#include "access/iova.h"

#define START (UINT64_C(1) << 44)
#define END   (UINT64_C(1) << 45)
#define KIB   UINT64_C(1024)
#define MIB   (1024 * KIB)
#define GIB   (1024 * MIB)

static uint64_t
modulus_of(size_t length)
{
	uint64_t modulus = 4 * KIB;

	while (modulus * 2 <= length)
		modulus *= 2;
	return modulus;
}

static void
assert_apart(const struct rnic_iova_space *space)
{
	uint32_t i;

	for (i = 1; i < space->count; i++)
		assert_true(space->ranges[i].start >
			    space->ranges[i - 1].start + space->ranges[i - 1].length);
}

static void
test_congruent_and_apart(void **state)
{
	static const uint64_t lengths[] = { 4 * KIB, 8 * KIB, 12 * KIB, 64 * KIB,
					    2 * MIB, 3 * MIB, 1 * GIB,	1 * GIB + 4 * KIB };
	struct rnic_iova_space space;
	uint64_t address = 0x100000000, iova;
	unsigned int round, i;

	(void)state;
	rnic_iova_init(&space, START, END);
	for (round = 0; round < 20; round++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			uint64_t modulus = modulus_of(lengths[i]);

			address += (1 + round * 7) * 4 * KIB;
			assert_int_equal(rnic_iova_alloc(&space, address, lengths[i], &iova), 0);
			assert_true(iova >= START && iova + lengths[i] <= END);
			assert_int_equal(iova & (modulus - 1), address & (modulus - 1));
			assert_true(iova != address);
			address += lengths[i];
		}
	assert_int_equal(space.count, 160);
	assert_apart(&space);
	rnic_iova_fini(&space);
}

/* Even where the space contains the address. */
static void
test_never_the_address_itself(void **state)
{
	struct rnic_iova_space space;
	uint64_t iova;
	unsigned int i;

	(void)state;
	for (i = 0; i < 200; i++) {
		uint64_t address = START + (1 + i % 16) * 4 * KIB;

		rnic_iova_init(&space, START, END);
		assert_int_equal(rnic_iova_alloc(&space, address, 4 * KIB, &iova), 0);
		assert_true(iova != address);
		rnic_iova_fini(&space);
	}
}

static void
test_freed_ranges_are_used_again(void **state)
{
	struct rnic_iova_space space;
	/* Room for about three ranges of 1 MiB with the alignment and gaps that they want. */
	const uint64_t end = START + 6 * MIB;
	uint64_t iova, kept;
	unsigned int i;

	(void)state;
	rnic_iova_init(&space, START, end);
	assert_int_equal(rnic_iova_alloc(&space, 0x10000000, MIB, &kept), 0);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(rnic_iova_alloc(&space, 0x20000000 + i * MIB, MIB, &iova), 0);
		assert_int_equal(rnic_iova_free(&space, iova, MIB), 0);
	}
	assert_int_equal(space.count, 1);
	assert_int_equal(rnic_iova_free(&space, kept, MIB), 0);
	assert_int_equal(space.count, 0);
	rnic_iova_fini(&space);
}

static void
test_full_space_and_bad_arguments_are_refused(void **state)
{
	struct rnic_iova_space space;
	uint64_t iova, first = 0;
	int rc = 0, n = 0;

	(void)state;
	rnic_iova_init(&space, START, START + 4 * MIB);
	assert_int_equal(rnic_iova_alloc(&space, 0x1000, 8 * MIB, &iova), -ENOSPC);
	assert_int_equal(rnic_iova_alloc(&space, 0x1000, 0, &iova), -EINVAL);
	assert_int_equal(rnic_iova_alloc(&space, 0x1001, 4 * KIB, &iova), -EINVAL);
	assert_int_equal(rnic_iova_alloc(&space, 0x1000, 4 * KIB + 1, &iova), -EINVAL);
	assert_int_equal(space.count, 0);
	while (rc == 0 && n++ < 1000) {
		rc = rnic_iova_alloc(&space, 0x1000, 64 * KIB, &iova);
		if (rc == 0 && first == 0)
			first = iova;
	}
	assert_int_equal(rc, -ENOSPC);
	assert_true(space.count >= 20);
	assert_apart(&space);
	assert_int_equal(rnic_iova_free(&space, first, 4 * KIB), -ENOENT);
	assert_int_equal(rnic_iova_free(&space, first + 4 * KIB, 64 * KIB), -ENOENT);
	assert_int_equal(rnic_iova_free(&space, first, 64 * KIB), 0);
	assert_int_equal(rnic_iova_free(&space, first, 64 * KIB), -ENOENT);
	rnic_iova_fini(&space);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_congruent_and_apart),
		cmocka_unit_test(test_never_the_address_itself),
		cmocka_unit_test(test_freed_ranges_are_used_again),
		cmocka_unit_test(test_full_space_and_bad_arguments_are_refused),
	};

	return cmocka_run_group_tests_name("iova", tests, NULL, NULL);
}
