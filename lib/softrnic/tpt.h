/* SPDX-License-Identifier: BSD-3-Clause */

/* Translation and protection, inline: the case of nearly every packet, bytes in one piece of host memory. */
#ifndef SOFTRNIC_TPT_H
#define SOFTRNIC_TPT_H

#include <string.h>

#include "device.h"

/* The region is in pieces, and [va, va + length) within it: its address, if it lies in one of them; else NULL. */
static inline uint8_t *
softrnic_tpt_chunk(const struct softrnic_mkey *mkey, uint64_t va, uint32_t length)
{
	uint64_t in_chunk = va & ((UINT64_C(1) << mkey->chunk_shift) - 1);
	uint8_t *chunk;

	if (mkey->chunks == NULL || in_chunk + length > UINT64_C(1) << mkey->chunk_shift ||
	    length == 0)
		return NULL;
	chunk = mkey->chunks[(va >> mkey->chunk_shift) - (mkey->start >> mkey->chunk_shift)];
	return chunk == NULL ? NULL : chunk + in_chunk;
}

/*
 * Host address of [va, va + length) if it is one piece of host memory that is quickly found, and the access is
 * allowed; NULL: ask softrnic_tpt_translate(), which handles every other case and counts refusals.
 */
static inline uint8_t *
softrnic_tpt_flat(const struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		  uint32_t length, unsigned int access)
{
	const struct softrnic_object_table *table = &dev->tables[SOFTRNIC_MKEY];
	const struct softrnic_mkey *mkey;
	uint32_t index = (key >> 8) - table->first;
	uint64_t at;

	if (index >= table->size || table->slots[index] == NULL)
		return NULL;
	mkey = (const struct softrnic_mkey *)table->slots[index];
	at = va - mkey->start;
	/* va below start wraps to more than any length; the last comparison cannot wrap behind the one before it. */
	if (mkey->variant != (uint8_t)key || mkey->pd != pd ||
	    (access & ~(unsigned int)mkey->access) != 0 ||
	    mkey->generation != dev->dma_generation || at > mkey->length ||
	    length > mkey->length - at)
		return NULL;
	return __builtin_expect(mkey->flat != NULL, 1) ? mkey->flat + at
						       : softrnic_tpt_chunk(mkey, va, length);
}

/*
 * From one client's memory to another's, or to its own: nobody keeps a driver on a loop wire from sending what it
 * receives into, so the two may overlap. Small copies inline: most frames are.
 */
static inline void
softrnic_copy(void *to, const void *from, size_t length)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (length < 16 || length > 128) {
		memmove(d, s, length);
		return;
	}
	/* 16 bytes at a time; the last ones overlap what is already there. */
	for (size_t at = 0; at + 16 < length; at += 16)
		memmove(d + at, s + at, 16);
	memmove(d + length - 16, s + length - 16, 16);
}

/*
 * The compiler must read client memory once: behind this it knows nothing of what the private copy holds, so it
 * cannot go back to the source for it.
 */
#define SOFTRNIC_PRIVATE(copy) __asm__ volatile("" : "+m"(copy))

#endif
