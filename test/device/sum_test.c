/* SPDX-License-Identifier: BSD-3-Clause */

/* Internet checksums: sums of bytes, and of bytes that are copied, against the plainest way to make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "softrnic/port/sum.h"

#define BYTES 65536
#define PAD   64
#define FILL  0xee

static uint8_t from[BYTES + PAD], to[BYTES + 2 * PAD];

static uint16_t
plain_sum(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;
	uint16_t word;

	for (; length > 0; length -= length > 1 ? 2 : 1, bytes += 2) {
		word = 0;
		memcpy(&word, bytes, length > 1 ? 2 : 1);
		sum += word;
	}
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* 0 and 0xffff are one number. */
static void
assert_sum(uint64_t sum, uint16_t wanted)
{
	assert_int_equal(softrnic_sum_fold(sum) % 0xffff, wanted % 0xffff);
}

/* Copied and summed is the same as copied, and summed; and nothing else changes. */
static void
check_copy(size_t length, size_t from_at, size_t to_at)
{
	uint16_t wanted = plain_sum(from + from_at, length);
	size_t end = to_at + length;

	memset(to + to_at - 8, FILL, length + 16);
	assert_sum(softrnic_sum_copy(to + to_at, from + from_at, length), wanted);
	assert_memory_equal(to + to_at, from + from_at, length);
	assert_sum(softrnic_sum_bytes(to + to_at, length), wanted);
	for (size_t i = 1; i <= 8; i++) {
		assert_int_equal(to[to_at - i], FILL);
		assert_int_equal(to[end + i - 1], FILL);
	}
}

static int
fill_from(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++) {
		seed = seed * 1103515245 + 12345;
		from[i] = (uint8_t)(seed >> 16);
	}
	return 0;
}

static void
test_every_length_at_every_place(void **state)
{
	(void)state;
	for (size_t length = 0; length <= 400; length++)
		for (size_t at = 0; at < 16; at++)
			check_copy(length, at, 8 + at * 7 % 16);
	for (size_t length = 1400; length <= 1540; length++)
		check_copy(length, 34, 8 + 34);
}

/* The longest, of words that are largest, smallest, and at the border of what has a sign. */
static void
test_no_sum_overflows(void **state)
{
	static const uint16_t words[] = { 0, 0xffff, 0x8000, 0x7fff, 0x0080, 0xff7f };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (size_t at = 0; at < BYTES; at += 2)
			memcpy(from + at, &words[i], 2);
		check_copy(BYTES, 0, 8);
		check_copy(BYTES - 1, 0, 8);
		check_copy(BYTES - 64, 0, 9);
	}
}

/* From memory into itself, either way, as by memmove(): the sum is of what arrived, which is what was there before. */
static void
test_copies_that_overlap(void **state)
{
	static uint8_t both[2048], before[1500];

	(void)state;
	for (int ahead = -200; ahead <= 200; ahead += 25) {
		memcpy(both, from, sizeof(both));
		memcpy(before, both + 250, sizeof(before));
		assert_sum(softrnic_sum_copy(both + 250 + ahead, both + 250, sizeof(before)),
			   plain_sum(before, sizeof(before)));
		assert_memory_equal(both + 250 + ahead, before, sizeof(before));
	}
}

/* Whatever the pieces are, and wherever in them that begins and ends which is added up. */
static void
test_pieces_of_any_length(void **state)
{
	struct softrnic_sum_part part;
	uint32_t seed = 7, skip, bytes, length, at, n;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		skip = (uint32_t)i % 70;
		bytes = (uint32_t)i * 31 % 1500;
		length = skip + bytes + (uint32_t)i % 5;
		part = (struct softrnic_sum_part){ .skip = skip, .left = bytes };
		for (at = 0; at < length; at += n) {
			seed = seed * 1103515245 + 12345;
			n = 1 + (seed >> 16) % (i % 2 != 0 ? 7 : 700);
			n = n < length - at ? n : length - at;
			softrnic_sum_piece(&part, to + at, from + at, n);
		}
		assert_int_equal(part.left, 0);
		assert_sum(part.sum, plain_sum(from + skip, bytes));
		assert_memory_equal(to, from, length);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_length_at_every_place, fill_from),
		cmocka_unit_test_setup(test_no_sum_overflows, fill_from),
		cmocka_unit_test_setup(test_copies_that_overlap, fill_from),
		cmocka_unit_test_setup(test_pieces_of_any_length, fill_from),
	};

	return cmocka_run_group_tests_name("sum", tests, NULL, NULL);
}
