/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "pattern.h"

/* Eight bytes from their place: a multiplication and a fold, so that neighbours have nothing in common. */
static inline uint64_t
word(uint64_t start, uint64_t index)
{
	uint64_t x = (start + index) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 29;
}

static uint64_t
start_of(uint64_t key, uint64_t number)
{
	return (key * UINT64_C(0xd6e8feb86659fd93) ^ number) * UINT64_C(0xff51afd7ed558ccd);
}

void
perf_pattern_fill(void *buffer, size_t bytes, uint64_t key, uint64_t number)
{
	const uint64_t start = start_of(key, number);
	uint8_t *to = buffer;
	uint64_t w;
	size_t at;

	for (at = 0; at + sizeof(w) <= bytes; at += sizeof(w)) {
		w = word(start, at / sizeof(w));
		memcpy(to + at, &w, sizeof(w));
	}
	w = word(start, at / sizeof(w));
	memcpy(to + at, &w, bytes - at);
	if (bytes > 0)
		to[bytes - 1] = perf_pattern_mark(number);
}

int64_t
perf_pattern_check(const void *buffer, size_t bytes, uint64_t key, uint64_t number)
{
	const uint64_t start = start_of(key, number);
	const uint8_t *from = buffer;
	size_t at, i;

	for (at = 0; at < bytes; at += 8) {
		const size_t n = bytes - at < 8 ? bytes - at : 8;
		uint64_t w = word(start, at / 8);
		uint8_t wanted[8];

		memcpy(wanted, &w, sizeof(wanted));
		if (at + n == bytes)
			wanted[n - 1] = perf_pattern_mark(number);
		if (memcmp(wanted, from + at, n) == 0)
			continue;
		for (i = 0; wanted[i] == from[at + i]; i++)
			;
		return (int64_t)(at + i);
	}
	return -1;
}
