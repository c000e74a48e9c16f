/* SPDX-License-Identifier: BSD-3-Clause */

/* The Toeplitz hash, by DPDK's rte_thash: for each set bit of the input, the 32 bits of the key that begin at its place. */
#include <rte_byteorder.h>
#include <rte_thash.h>

#include "softrnic/receive/rss.h"

uint32_t
softrnic_toeplitz(const uint8_t key[40], const uint8_t *input, uint32_t bytes)
{
	uint32_t words[SOFTRNIC_TOEPLITZ_INPUT / 4] = { 0 }, aligned[10], i;

	/* Bits that are not set change nothing: a last word is filled up with them. */
	memcpy(words, input, bytes);
	memcpy(aligned, key, sizeof(aligned));
	for (i = 0; i < SOFTRNIC_TOEPLITZ_INPUT / 4; i++)
		words[i] = rte_be_to_cpu_32(words[i]);
	return rte_softrss(words, (bytes + 3) / 4, (const uint8_t *)aligned);
}
