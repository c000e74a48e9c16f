/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Internet checksums (RFC 1071): the sums.
 *
 * They add words as they are in memory, in one's complement, so that the result has the byte order of the headers, and words of 64
 * bits work as well as those of 16; carries are added at the end.
 */
#ifndef SOFTRNIC_SUM_H
#define SOFTRNIC_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
softrnic_sum_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static inline uint64_t
softrnic_sum_add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	uint64_t carry = __builtin_add_overflow(a, b, &sum);

	return sum + carry;
}

static inline uint16_t
softrnic_sum_fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* All that is right sums up to 0xffff, and so is a multiple of it before it is folded: one multiplication to see that. */
static inline bool
softrnic_sum_good(uint64_t sum)
{
	return sum % 0xffff == 0;
}

/* Of these bytes; behind an odd one follows a zero. */
uint64_t softrnic_sum_bytes(const uint8_t *bytes, size_t length);

/*
 * softrnic_copy() of at most 64 KiB, and the sum of what has arrived at `to`, whatever became of `from` meanwhile. Where
 * the CPU has AVX2, a long one takes no longer than the copy alone.
 */
uint64_t softrnic_sum_copy(uint8_t *to, const uint8_t *from, size_t length);

/* A copy in pieces of any length, of which some bytes are added up: `left` of them, behind those that are skipped. */
struct softrnic_sum_part {
	uint64_t sum;
	uint32_t skip, left;
	bool odd; /* so many of them have been added up */
};
/* The next piece. */
void softrnic_sum_piece(struct softrnic_sum_part *part, uint8_t *to, const uint8_t *from,
			size_t length);

#endif
