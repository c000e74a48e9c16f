/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/base/copy.h"
#include "softrnic/port/sum.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <rte_byteorder.h>

/* From when on vectors pay for their beginning and end. */
#define SUM_VECTOR_MIN 128

/* Of less than 8 bytes. */
static inline uint64_t
sum_rest(const uint8_t *bytes, size_t length)
{
	uint32_t half;
	uint16_t word;
	uint64_t sum = 0;

	if ((length & 4) != 0) {
		memcpy(&half, bytes, sizeof(half));
		sum = half;
		bytes += 4;
	}
	if ((length & 2) != 0) {
		memcpy(&word, bytes, sizeof(word));
		sum += word;
		bytes += 2;
	}
	if ((length & 1) != 0) {
		word = 0;
		memcpy(&word, bytes, 1);
		sum += word;
	}
	return sum;
}

/* Two chains of additions, and carries counted apart: half the instructions of a vector of 16-bit words. */
uint64_t
softrnic_sum_bytes(const uint8_t *bytes, size_t length)
{
	uint64_t even = 0, odd = 0, carries = 0;

	for (; length >= 64; length -= 64, bytes += 64) {
		carries += __builtin_add_overflow(even, softrnic_sum_word(bytes), &even);
		carries += __builtin_add_overflow(odd, softrnic_sum_word(bytes + 8), &odd);
		carries += __builtin_add_overflow(even, softrnic_sum_word(bytes + 16), &even);
		carries += __builtin_add_overflow(odd, softrnic_sum_word(bytes + 24), &odd);
		carries += __builtin_add_overflow(even, softrnic_sum_word(bytes + 32), &even);
		carries += __builtin_add_overflow(odd, softrnic_sum_word(bytes + 40), &odd);
		carries += __builtin_add_overflow(even, softrnic_sum_word(bytes + 48), &even);
		carries += __builtin_add_overflow(odd, softrnic_sum_word(bytes + 56), &odd);
	}
	for (; length >= 8; length -= 8, bytes += 8)
		carries += __builtin_add_overflow(even, softrnic_sum_word(bytes), &even);
	return softrnic_sum_add(softrnic_sum_add(even, odd), carries + sum_rest(bytes, length));
}

static uint64_t
sum_copy_plain(uint8_t *to, const uint8_t *from, size_t length)
{
	softrnic_copy(to, from, length);
	/* The compiler may know that both are the same, as long as nothing else changes either. */
	__asm__ volatile("" : : : "memory");
	return softrnic_sum_bytes(to, length);
}

#ifdef __x86_64__
/* Tuned for a CPU that has it: for others, compilers make two accesses of one that is not aligned. */
#define SUM_AVX2 __attribute__((target("avx2,tune=haswell")))

/*
 * There is an instruction that adds two signed words to each other (vpmaddwd, times 1), and none for unsigned ones: they
 * lose 0x8000 each before, and their sum gets it back.
 */
SUM_AVX2 static inline __m256i
sum_vector(__m256i sum, __m256i words)
{
	const __m256i flip = _mm256_set1_epi16(INT16_MIN), ones = _mm256_set1_epi16(1);

	return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_xor_si256(words, flip), ones));
}

/* `to` and `from` are apart. Each byte is read once. */
SUM_AVX2 static uint64_t
sum_copy_avx2(uint8_t *to, const uint8_t *from, size_t length)
{
	__m256i even = _mm256_setzero_si256(), odd = even, first, second;
	const size_t whole = length & ~(size_t)63, rest = length - whole;
	int64_t total;
	__m128i sum;
	size_t at;

	for (at = 0; at < whole; at += 64) {
		first = _mm256_loadu_si256((const __m256i *)(from + at));
		second = _mm256_loadu_si256((const __m256i *)(from + at + 32));
		_mm256_storeu_si256((__m256i *)(to + at), first);
		_mm256_storeu_si256((__m256i *)(to + at + 32), second);
		even = sum_vector(even, first);
		odd = sum_vector(odd, second);
	}
	even = _mm256_add_epi32(even, odd);
	sum = _mm_add_epi32(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
	total = _mm_cvtsi128_si32(sum) + (int64_t)(whole / 2) * 0x8000;
	if (rest == 0)
		return (uint64_t)total;
	return softrnic_sum_add((uint64_t)total, sum_copy_plain(to + whole, from + whole, rest));
}
#endif

uint64_t
softrnic_sum_copy(uint8_t *to, const uint8_t *from, size_t length)
{
#ifdef __x86_64__
	const uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;

	if (length >= SUM_VECTOR_MIN && __builtin_cpu_supports("avx2") && ahead >= length &&
	    -ahead >= length)
		return sum_copy_avx2(to, from, length);
#endif
	return sum_copy_plain(to, from, length);
}

void
softrnic_sum_piece(struct softrnic_sum_part *part, uint8_t *to, const uint8_t *from, size_t length)
{
	size_t skip = part->skip < length ? part->skip : length, n = length - skip;
	uint64_t sum;

	if (skip > 0)
		softrnic_copy(to, from, skip);
	part->skip -= (uint32_t)skip;
	if (n > part->left)
		n = part->left;
	if (n > 0) {
		sum = softrnic_sum_copy(to + skip, from + skip, n);
		/* Behind an odd byte, the words of a piece straddle those of the packet. */
		part->sum = softrnic_sum_add(part->sum,
					     part->odd ? rte_bswap16(softrnic_sum_fold(sum)) : sum);
		part->odd ^= n & 1;
		part->left -= (uint32_t)n;
	}
	if (skip + n < length)
		softrnic_copy(to + skip + n, from + skip + n, length - skip - n);
}
