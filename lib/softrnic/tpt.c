/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation and protection: from a key and an address to host memory. All bounds are taken as distances from the
 * region's start, so that nothing wraps at the end of the address space.
 */
#include <errno.h>
#include <stdlib.h>

#include "tpt.h"
#include "work.h"

/* A key in more chunks than that is translated page by page: looking them up must not keep the device busy. */
#define CHUNKS_MAX	(UINT64_C(1) << 16)
#define CHUNK_SHIFT_MAX 21 /* a hugepage, and the file that EAL makes of each */
/* A list of more entries is not looked through when the share is over: one access may come to thousands of keys. */
#define RESOLVE_AT_ONCE 4
/* Pages that one access looks at: of a longer list the next ones go on. */
#define RESOLVE_PIECE (1u << 14)

#define MTT_PERMISSIONS (RNIC_MTT_READ | RNIC_MTT_WRITE)

#define WRITES (SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC)

static unsigned int
dma_rights(unsigned int access)
{
	/* An atomic reads too; a pure write does not need to. */
	if ((access & SOFTRNIC_REMOTE_ATOMIC) != 0)
		return SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE;
	return (access & WRITES) != 0 ? SOFTRNIC_DMA_WRITE : SOFTRNIC_DMA_READ;
}

/* Where an address stands in the key's pages: the first page holds `start`. */
static uint64_t
page_offset(const struct softrnic_mkey *mkey, uint64_t distance, uint64_t *page)
{
	uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	uint64_t first = mkey->start & (page_bytes - 1);
	uint64_t in_page = (first + (distance & (page_bytes - 1))) & (page_bytes - 1);
	uint64_t carry = in_page < first || in_page < (distance & (page_bytes - 1));

	/* distance + first may wrap, so the pages are counted apart. */
	*page = (distance >> mkey->log_page_size) + carry;
	return in_page;
}

static int
translate_mtt(struct softrnic *dev, const struct softrnic_mkey *mkey, uint64_t distance,
	      uint32_t length, unsigned int access, struct iovec *iov, int count, int max)
{
	unsigned int prot = dma_rights(access);
	uint64_t needed = (prot & SOFTRNIC_DMA_READ ? RNIC_MTT_READ : 0) |
			  (prot & SOFTRNIC_DMA_WRITE ? RNIC_MTT_WRITE : 0);
	uint64_t page, skip = page_offset(mkey, distance, &page);

	for (; length > 0; page++, skip = 0) {
		uint64_t bytes = (UINT64_C(1) << mkey->log_page_size) - skip, mtt;

		if (page >= mkey->translation_count)
			return -EFAULT;
		mtt = rnic_be64_to_cpu(mkey->mtts[page]);
		if (!softrnic_mtt_fits(mkey, mtt))
			return -EFAULT;
		if (mkey->page_rights && (mtt & needed) != needed)
			return -EACCES;
		if (bytes > length)
			bytes = length;
		count = softrnic_dma_pieces(dev, (mtt & RNIC_MTT_ADDRESS_MASK) + skip, bytes, prot,
					    iov, count, max);
		if (count < 0)
			return count;
		length -= bytes;
	}
	return count;
}

/*
 * The region as one piece of host memory, for all that the key grants; NULL: it is not. False: nobody knows yet, there are
 * more pages to be looked at.
 */
static bool
resolve_flat(struct softrnic *dev, struct softrnic_mkey *mkey, uint8_t **flat)
{
	const uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	struct softrnic_mkey_look *look = &mkey->look;
	unsigned int prot = SOFTRNIC_DMA_READ;
	uint32_t pages = 0;

	if ((mkey->access & WRITES) != 0)
		prot |= SOFTRNIC_DMA_WRITE;
	for (; look->distance < mkey->length && pages < RESOLVE_PIECE; look->page++, pages++) {
		uint64_t skip = look->page == 0 ? mkey->start & (page_bytes - 1) : 0;
		uint64_t mtt = rnic_be64_to_cpu(mkey->mtts[look->page]), bytes = page_bytes - skip;
		uint8_t *at;

		if (bytes > mkey->length - look->distance)
			bytes = mkey->length - look->distance;
		at = softrnic_dma_ptr(dev, (mtt & RNIC_MTT_ADDRESS_MASK) + skip, bytes, prot);
		if (look->page == 0)
			look->host = at;
		if (at == NULL || at != look->host + look->distance ||
		    !softrnic_mtt_fits(mkey, mtt) ||
		    (mkey->page_rights && (mtt & MTT_PERMISSIONS) != MTT_PERMISSIONS)) {
			look->host = NULL;
			break;
		}
		look->distance += bytes;
	}
	softrnic_charge_steps(dev, pages);
	*flat = look->host;
	return look->host == NULL || look->distance == mkey->length;
}

/* Where [distance, distance + length) is, for all that the key grants; NULL: not in one piece. */
static uint8_t *
resolve_piece(struct softrnic *dev, const struct softrnic_mkey *mkey, uint64_t distance,
	      uint32_t length)
{
	bool writes = (mkey->access & WRITES) != 0;
	struct iovec piece;
	int n = translate_mtt(dev, mkey, distance, length,
			      writes ? SOFTRNIC_REMOTE_ATOMIC : SOFTRNIC_LOCAL_READ, &piece, 0, 1);

	return n == 1 ? piece.iov_base : NULL;
}

/* Their memory is not for the asking: a key of one page of terabytes has as many as one of thousands of small ones. */
static bool
chunks_alloc(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t count)
{
	const uint64_t bytes = count * sizeof(*mkey->chunk_list);

	if (mkey->chunk_list != NULL)
		return true;
	if (dev->translation_bytes + bytes > SOFTRNIC_TRANSLATION_MEMORY)
		return false;
	mkey->chunk_list = softrnic_alloc(dev, count, sizeof(*mkey->chunk_list));
	if (mkey->chunk_list == NULL)
		return false;
	mkey->chunk_count = count;
	dev->translation_bytes += bytes;
	return true;
}

/* A chunk lies within one page of the key, so it is aligned as that is. */
static void
resolve_chunks(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	uint8_t shift =
		mkey->log_page_size < CHUNK_SHIFT_MAX ? mkey->log_page_size : CHUNK_SHIFT_MAX;
	uint64_t last = (mkey->start + (mkey->length - 1)) >> shift;
	uint64_t count = last - (mkey->start >> shift) + 1;
	uint64_t skip = mkey->start & ((UINT64_C(1) << shift) - 1);

	if (count > CHUNKS_MAX || !chunks_alloc(dev, mkey, (uint32_t)count))
		return;
	softrnic_charge_steps(dev, count);
	mkey->chunk_shift = shift;
	for (uint64_t i = 0, distance = 0; i < count; i++, skip = 0) {
		uint64_t length = (UINT64_C(1) << shift) - skip;
		uint8_t *host;

		if (length > mkey->length - distance)
			length = mkey->length - distance;
		host = resolve_piece(dev, mkey, distance, (uint32_t)length);
		mkey->chunk_list[i] = host == NULL ? NULL : host - skip;
		distance += length;
	}
	mkey->chunks = mkey->chunk_list;
}

void
softrnic_mkey_forget(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	softrnic_resolved_remove(&dev->resolved_mkeys, &mkey->resolved);
	mkey->look = (struct softrnic_mkey_look){ 0 };
	mkey->flat = NULL;
	mkey->chunks = NULL;
	mkey->generation = 0;
}

void
softrnic_mkey_resolve(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	uint8_t *flat = NULL;
	bool known = true;

	if (softrnic_share_is_over(dev) &&
	    (mkey->translation_count > RESOLVE_AT_ONCE || mkey->chunk_count > RESOLVE_AT_ONCE))
		return;
	/* A look that has begun goes on, unless the map has changed. */
	if (mkey->look.generation != dev->dma_generation)
		softrnic_mkey_forget(dev, mkey);
	if (!mkey->free && mkey->mode == RNIC_MKEY_MTT && mkey->length > 0 &&
	    mkey->translation_count > 0) {
		mkey->look.generation = dev->dma_generation;
		known = resolve_flat(dev, mkey, &flat);
		if (known && flat == NULL)
			resolve_chunks(dev, mkey);
	}
	if (known) {
		mkey->look = (struct softrnic_mkey_look){ 0 };
		mkey->flat = flat;
		mkey->generation = dev->dma_generation;
	}
	/* Also half a look has an address. */
	if (mkey->resolved.place == 0 &&
	    (mkey->look.host != NULL || mkey->flat != NULL || mkey->chunks != NULL))
		softrnic_resolved_add(&dev->resolved_mkeys, &mkey->resolved);
}

/* One access, all the way down. */
struct walk {
	uint32_t pd;
	unsigned int access;
	struct iovec *iov;
	int max;
	uint32_t entries; /* of lists of keys that it has come through */
};

static int translate(struct softrnic *dev, struct walk *walk, uint32_t key, uint64_t va,
		     uint32_t length, int count, unsigned int depth);

/*
 * The entry that holds the byte at this distance, and how far within it that is; translation_count: none does. A way through
 * lists may come here for each byte, and each list may be larger than any cache: of each level of ends one line is looked
 * at, without a branch that could not be foreseen, and one of entries.
 */
static uint64_t
klm_find(const struct softrnic_mkey *mkey, uint64_t distance, uint64_t *skip)
{
	uint64_t at = 0, begin, index;

	if (distance >= mkey->klm_bytes)
		return mkey->translation_count;
	for (unsigned int level = mkey->klm_levels; level-- > 0;) {
		const uint64_t *ends;
		uint64_t before = 0;

		at *= SOFTRNIC_KLM_FAN;
		ends = mkey->klm_ends + mkey->klm_level[level] + at;
		for (unsigned int i = 0; i < SOFTRNIC_KLM_FAN; i++)
			before += ends[i] <= distance;
		at += before;
	}
	begin = mkey->klm_ends[at];
	index = (at + 1) * SOFTRNIC_KLM_LINE;
	if (index > mkey->translation_count)
		index = mkey->translation_count;
	do
		begin -= softrnic_klm_bytes(&mkey->klms[--index]);
	while (begin > distance);
	*skip = distance - begin;
	return index;
}

/*
 * Stretches of other keys, one behind the other; KSM: all of the same size. They may be as short as a byte, and what they
 * lead to may be neighbours, which become one piece: so it is the entries, of this list and of those behind it, that end
 * the translation.
 */
static int
translate_klm(struct softrnic *dev, struct walk *walk, const struct softrnic_mkey *mkey,
	      uint64_t distance, uint32_t length, int count, unsigned int depth)
{
	uint64_t index, skip = 0;

	if (depth == SOFTRNIC_MAX_INDIRECTION)
		return -EACCES;
	if (mkey->mode == RNIC_MKEY_KSM)
		skip = page_offset(mkey, distance, &index);
	else
		index = klm_find(mkey, distance, &skip);
	for (; length > 0; index++, skip = 0) {
		const struct rnic_klm *klm = &mkey->klms[index];
		uint64_t bytes;

		if (index >= mkey->translation_count)
			return -EFAULT;
		if (walk->entries == SOFTRNIC_ENTRIES_ACCESS)
			return -E2BIG;
		walk->entries++;
		bytes = mkey->mode == RNIC_MKEY_KSM ? UINT64_C(1) << mkey->log_page_size
						    : softrnic_klm_bytes(klm);
		bytes -= skip;
		if (bytes > length)
			bytes = length;
		count = translate(dev, walk, rnic_be32_to_cpu(klm->mkey),
				  rnic_be64_to_cpu(klm->address) + skip, bytes, count, depth + 1);
		if (count < 0)
			return count;
		length -= bytes;
	}
	return count;
}

/* The key itself, without what it leads to: 0 and *mkey, or -errno. */
static int
find(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
     unsigned int access, struct softrnic_mkey **out)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);
	uint64_t distance;

	if (mkey == NULL || mkey->variant != (key & 0xff) || mkey->free || mkey->pd != pd ||
	    (mkey->access & access) != access)
		return -EACCES;
	distance = va - mkey->start;
	if (!mkey->length64 &&
	    (va < mkey->start || distance > mkey->length || length > mkey->length - distance))
		return -EFAULT;
	*out = mkey;
	return 0;
}

/* Pieces go behind the `count` that are there already. */
static int
translate(struct softrnic *dev, struct walk *walk, uint32_t key, uint64_t va, uint32_t length,
	  int count, unsigned int depth)
{
	const unsigned int access = walk->access;
	struct iovec *iov = walk->iov;
	struct softrnic_mkey *mkey;
	uint64_t distance;
	int rc;

	rc = find(dev, key, walk->pd, va, length, access, &mkey);
	if (rc != 0)
		return rc;
	if (length == 0)
		return count;
	distance = va - mkey->start;
	if (mkey->generation != dev->dma_generation)
		softrnic_mkey_resolve(dev, mkey);
	if (mkey->flat != NULL && mkey->generation == dev->dma_generation) {
		if (count == walk->max)
			return -E2BIG;
		iov[count].iov_base = mkey->flat + distance;
		iov[count].iov_len = length;
		return count + 1;
	}
	switch (mkey->mode) {
	case RNIC_MKEY_PA:
		return softrnic_dma_pieces(dev, va, length, dma_rights(access), iov, count,
					   walk->max);
	case RNIC_MKEY_MTT:
		return translate_mtt(dev, mkey, distance, length, access, iov, count, walk->max);
	default: return translate_klm(dev, walk, mkey, distance, length, count, depth);
	}
}

int
softrnic_tpt_translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		       uint32_t length, unsigned int access, struct iovec *iov, int max)
{
	struct walk walk = { .pd = pd, .access = access, .iov = iov, .max = max };
	int rc;

	if (key == SOFTRNIC_RESERVED_LKEY)
		rc = softrnic_dma_pieces(dev, va, length, dma_rights(access), iov, 0, max);
	else
		rc = translate(dev, &walk, key, va, length, 0, 0);
	softrnic_charge_entries(dev, walk.entries);
	if (rc < 0)
		dev->stats.tpt_faults++;
	return rc;
}

int
softrnic_tpt_check(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
		   unsigned int access)
{
	struct softrnic_mkey *mkey;
	int rc = find(dev, key, pd, va, length, access, &mkey);

	if (rc != 0)
		dev->stats.tpt_faults++;
	return rc;
}
