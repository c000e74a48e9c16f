/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <rte_common.h>

#include "softrnic/rocev2/fold.h"

bool rocev2_fold_is_there;

#ifdef __x86_64__

/*
 * Polynomials are reflected: the lowest bit has the highest power. A product of two of them is one bit short, which constants make up for
 * by being shifted.
 */
#define POLYNOMIAL UINT64_C(0x1db710641) /* CRC-32 of Ethernet, 33 bits */
#define QUOTIENT   UINT64_C(0x1f7011641) /* x^64 divided by it */

#define FOLD __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul")))

/* What 128 bits are multiplied by to stand so many bits further on: their first half, their second half. */
struct distance {
	uint64_t first, second;
};

static struct {
	struct distance bits2048, bits512, bits128;
	uint64_t x64;
} by;

/* x^n modulo the polynomial. */
static uint64_t
power_of(uint32_t n)
{
	uint32_t rest = UINT32_C(1) << 31;

	for (; n > 0; n--)
		rest = rest >> 1 ^ ((rest & 1) != 0 ? (uint32_t)(POLYNOMIAL >> 1) : 0);
	return (uint64_t)rest << 1;
}

static struct distance
distance_of(uint32_t bits)
{
	return (struct distance){ power_of(bits + 32), power_of(bits - 32) };
}

RTE_INIT(rocev2_fold_init)
{
	by.bits2048 = distance_of(2048);
	by.bits512 = distance_of(512);
	by.bits128 = distance_of(128);
	by.x64 = power_of(64);
	rocev2_fold_is_there =
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
}

FOLD static inline __m128i
multiplier(const struct distance *distance)
{
	return _mm_set_epi64x((int64_t)distance->second, (int64_t)distance->first);
}

FOLD static inline __m512i
fold(__m512i sum, __m512i by_what, __m512i next)
{
	const __m512i first = _mm512_clmulepi64_epi128(sum, by_what, 0x00);
	const __m512i second = _mm512_clmulepi64_epi128(sum, by_what, 0x11);

	return _mm512_ternarylogic_epi64(first, second, next, 0x96); /* exclusive or of all three */
}

FOLD static inline __m128i
fold_quarter(__m128i sum, __m128i by_what, __m128i next)
{
	const __m128i first = _mm_clmulepi64_si128(sum, by_what, 0x00);
	const __m128i second = _mm_clmulepi64_si128(sum, by_what, 0x11);

	return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

/* 64 bits modulo the polynomial: by a multiplication with its inverse, then with itself (Barrett). */
FOLD static inline uint32_t
reduce_half(__m128i sum)
{
	const __m128i by_what = _mm_set_epi64x((int64_t)QUOTIENT, (int64_t)POLYNOMIAL);
	const __m128i low = _mm_set_epi32(0, 0, 0, -1);
	__m128i times = _mm_clmulepi64_si128(_mm_and_si128(sum, low), by_what, 0x10);

	times = _mm_clmulepi64_si128(_mm_and_si128(times, low), by_what, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, times), 1);
}

/* 128 bits, and 32 zeros behind them. */
FOLD static inline uint32_t
reduce(__m128i sum)
{
	const __m128i by_what = multiplier(&by.bits128);
	const __m128i low = _mm_set_epi32(0, 0, 0, -1);
	const __m128i x64 = _mm_set_epi64x(0, (int64_t)by.x64);

	sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, by_what, 0x10));
	sum = _mm_xor_si128(_mm_srli_si128(sum, 4),
			    _mm_clmulepi64_si128(_mm_and_si128(sum, low), x64, 0x00));
	return reduce_half(sum);
}

FOLD static inline uint32_t
reduce_all(const __m512i sums[4])
{
	const __m128i quarter = multiplier(&by.bits128);
	const __m512i by_what = _mm512_broadcast_i32x4(multiplier(&by.bits512));
	__m512i all = sums[0];
	__m128i sum;

	for (unsigned int i = 1; i < 4; i++)
		all = fold(all, by_what, sums[i]);
	sum = fold_quarter(_mm512_castsi512_si128(all), quarter, _mm512_extracti32x4_epi32(all, 1));
	sum = fold_quarter(sum, quarter, _mm512_extracti32x4_epi32(all, 2));
	sum = fold_quarter(sum, quarter, _mm512_extracti32x4_epi32(all, 3));
	return reduce(sum);
}

/* The next 64 bytes, which go to `to` if that is somewhere. */
FOLD static inline __m512i
take(uint8_t *to, const uint8_t *from)
{
	const __m512i bytes = _mm512_loadu_si512(from);

	if (to != NULL)
		_mm512_storeu_si512(to, bytes);
	return bytes;
}

/* For each way of its own: `to` is known. */
FOLD static inline __attribute__((always_inline)) uint32_t
fold_all(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length)
{
	const __m512i by_what = _mm512_broadcast_i32x4(multiplier(&by.bits2048));
	const __m512i begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc));
	__m512i sums[4];

	for (unsigned int i = 0; i < 4; i++)
		sums[i] = take(to != NULL ? to + 64 * i : NULL, from + 64 * i);
	sums[0] = _mm512_xor_si512(sums[0], begin);
	for (size_t at = ROCEV2_FOLD_BYTES; at < length; at += ROCEV2_FOLD_BYTES)
		for (unsigned int i = 0; i < 4; i++)
			sums[i] = fold(
				sums[i], by_what,
				take(to != NULL ? to + at + 64 * i : NULL, from + at + 64 * i));
	return ~reduce_all(sums);
}

FOLD uint32_t
rocev2_fold(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length)
{
	return to == NULL ? fold_all(crc, NULL, from, length) : fold_all(crc, to, from, length);
}

FOLD uint32_t
rocev2_fold_word(uint32_t crc, const uint8_t *word)
{
	uint32_t bytes;

	memcpy(&bytes, word, sizeof(bytes));
	return ~reduce_half(_mm_cvtsi32_si128((int)(~crc ^ bytes)));
}

#else

/* It is never there. */
uint32_t
rocev2_fold(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length)
{
	(void)to;
	(void)from;
	(void)length;
	return crc;
}

uint32_t
rocev2_fold_word(uint32_t crc, const uint8_t *word)
{
	(void)word;
	return crc;
}

#endif
