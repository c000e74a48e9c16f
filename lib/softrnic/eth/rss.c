/* SPDX-License-Identifier: BSD-3-Clause */

/* The Toeplitz hash: for each set bit of the input, the 32 bits of the key that begin at its place. */
#include "eth/eth.h"

uint32_t
softrnic_toeplitz(const uint8_t key[40], const uint8_t *input, uint32_t bytes)
{
	uint64_t window = 0; /* bits [63:0] of the key from the current byte on */
	uint32_t hash = 0, i, bit;

	for (i = 0; i < 8; i++)
		window = window << 8 | key[i];
	for (i = 0; i < bytes; i++) {
		for (bit = 0; bit < 8; bit++) {
			if ((input[i] & (0x80u >> bit)) != 0)
				hash ^= (uint32_t)(window << bit >> 32);
		}
		window = window << 8 | key[(i + 8) % 40];
	}
	return hash;
}
