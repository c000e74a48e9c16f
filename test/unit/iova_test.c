/* SPDX-License-Identifier: BSD-3-Clause */

/* The IOVA allocator: congruent, apart, unlike the address, and freed ranges are used again. */

#include "unit.h"
#include "main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Of all that an IOMMU may say, one window is used: the largest that its windows make together. */
static void
test_windows_join(void **state)
{
	static const struct {
		struct rnic_iova_window windows[4];
		uint32_t count;
		uint64_t first, last; /* of what may be used */
	} cases[] = {
		{ { { 0, UINT64_MAX } }, 1, UINT64_C(1) << 44, (UINT64_C(1) << 46) - 1 },
		{ { { 0, 0xfedfffff }, { 0xfef00000, 0x7fffffffff } },
		  2,
		  0xfef00000,
		  0x7fffffffff },
		{ { { 0xfef00000, 0x7fffffffff }, { 0, 0xfedfffff } },
		  2,
		  0xfef00000,
		  0x7fffffffff },
		{ { { 0, 0xfedfffff }, { 0xfef00000, 0xffffffff } }, 2, 0, 0xfedfffff },
		{ { { 0x40000000, 0x7fffffff }, { 0, 0x3fffffff }, { 0x10000000, 0x1fffffff } },
		  3,
		  0,
		  0x7fffffff },
		{ { { 0, 0x5fffffff }, { 0x40000000, 0x7fffffff }, { 0x90000000, 0x90ffffff } },
		  3,
		  0,
		  0x7fffffff },
		{ { { UINT64_MAX - 0xfff, UINT64_MAX }, { 0, 0xffffff } }, 2, 0, 0xffffff },
	};
	struct rnic_iova_window windows[4];
	struct rnic_iova_space space;
	uint64_t iova;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(windows, cases[i].windows, sizeof(windows));
		assert_int_equal(rnic_iova_init_windows(&space, windows, cases[i].count), 0);
		assert_true(space.start >= cases[i].first && space.end <= cases[i].last + 1);
		/* Most of it, and from no small address on. */
		assert_true(space.start >= 1 * MIB);
		assert_true(space.end - space.start >= (cases[i].last - cases[i].first) / 2);
		assert_int_equal(rnic_iova_alloc(&space, 0x1000, 64 * KIB, &iova), 0);
		assert_true(iova >= cases[i].first && iova + 64 * KIB - 1 <= cases[i].last);
		assert_true(rnic_iova_has(&space, iova, 64 * KIB));
		assert_false(rnic_iova_has(&space, iova, 4 * KIB));
		rnic_iova_fini(&space);
	}
}

static void
test_windows_without_room_are_refused(void **state)
{
	struct rnic_iova_window none[] = { { 0, 0xfffff }, { 0x100000, 0x100fff }, { 5, 4 } };
	struct rnic_iova_space space;

	(void)state;
	assert_int_equal(rnic_iova_init_windows(&space, none, 3), -ENOSPC);
	assert_int_equal(rnic_iova_init_windows(&space, none, 0), -ENOSPC);
	rnic_iova_fini(&space);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_congruent_and_apart),
	cmocka_unit_test(test_never_the_address_itself),
	cmocka_unit_test(test_freed_ranges_are_used_again),
	cmocka_unit_test(test_windows_join),
	cmocka_unit_test(test_windows_without_room_are_refused),
	cmocka_unit_test(test_full_space_and_bad_arguments_are_refused),
};

PLAIN_MAIN("iova", tests)
