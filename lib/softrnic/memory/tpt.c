/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation and protection: from a key and an address to host memory. All bounds are taken as distances from the
 * region's start, so that nothing wraps at the end of the address space.
 */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/dma.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/resolved.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/tpt.h"

/* A key in more chunks than that is translated page by page: looking them up must not keep the device busy. */
#define CHUNKS_MAX	(UINT64_C(1) << 16)
#define CHUNK_SHIFT_MAX 21 /* a hugepage, and the file that EAL makes of each */
/* In frames, whatever the key's length: one access may come to thousands of keys. */
#define RESOLVE_WORK 4
/* Pages, or ranges of the map, that one access looks at: the next ones go on. */
#define RESOLVE_PIECE (1u << 14)

#define MTT_PERMISSIONS (RNIC_MTT_READ | RNIC_MTT_WRITE)

#define READS  (SOFTRNIC_LOCAL_READ | SOFTRNIC_REMOTE_READ | SOFTRNIC_REMOTE_ATOMIC)
#define WRITES (SOFTRNIC_LOCAL_WRITE | SOFTRNIC_REMOTE_WRITE | SOFTRNIC_REMOTE_ATOMIC)

/* An atomic reads too; a pure write does not need to. */
static unsigned int
tpt_dma_rights(unsigned int access)
{
	return ((access & READS) != 0 ? SOFTRNIC_DMA_READ : 0) |
	       ((access & WRITES) != 0 ? SOFTRNIC_DMA_WRITE : 0);
}

/* What a list of keys grants to a peer, those in the list need only grant to their own side. */
static unsigned int
tpt_inner_access(unsigned int access)
{
	return ((access & READS) != 0 ? SOFTRNIC_LOCAL_READ : 0) |
	       ((access & WRITES) != 0 ? SOFTRNIC_LOCAL_WRITE : 0);
}

/* Where an address stands in the key's pages: the first page holds `start`. */
static uint64_t
tpt_page_offset(const struct softrnic_mkey *mkey, uint64_t distance, uint64_t *page)
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
tpt_translate_mtt(struct softrnic *dev, const struct softrnic_mkey *mkey, uint64_t distance,
		  uint32_t length, unsigned int access, struct iovec *iov, int count, int max)
{
	unsigned int prot = tpt_dma_rights(access);
	uint64_t needed = (prot & SOFTRNIC_DMA_READ ? RNIC_MTT_READ : 0) |
			  (prot & SOFTRNIC_DMA_WRITE ? RNIC_MTT_WRITE : 0);
	uint64_t page, skip = tpt_page_offset(mkey, distance, &page);

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
 * The region as one piece of host memory, for all that the key grants; NULL: it is not. False: not known yet, there are
 * more pages to be looked at.
 */
static bool
tpt_resolve_flat(struct softrnic *dev, struct softrnic_mkey *mkey, uint8_t **flat)
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
	*flat = look->host;
	return look->host == NULL || look->distance == mkey->length;
}

/* Where [distance, distance + length) is, for all that the key grants; NULL: not in one piece. */
static uint8_t *
tpt_resolve_piece(struct softrnic *dev, const struct softrnic_mkey *mkey, uint64_t distance,
		  uint32_t length)
{
	bool writes = (mkey->access & WRITES) != 0;
	struct iovec piece;
	int n = tpt_translate_mtt(dev, mkey, distance, length,
				  writes ? SOFTRNIC_REMOTE_ATOMIC : SOFTRNIC_LOCAL_READ, &piece, 0,
				  1);

	return n == 1 ? piece.iov_base : NULL;
}

void
softrnic_chunks_free(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	const uint64_t bytes = mkey->chunk_count * sizeof(*mkey->chunk_list);

	dev->translation_bytes -= bytes;
	softrnic_spend_bytes(dev, bytes);
	softrnic_free(dev, mkey->chunk_list);
	mkey->chunk_list = NULL;
	mkey->chunk_count = 0;
}

/* Their memory is not for the asking: a key of one page of terabytes has as many as one of thousands of small ones. */
static bool
tpt_chunks_alloc(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t count)
{
	const uint64_t bytes = count * sizeof(*mkey->chunk_list);

	if (count <= mkey->chunk_count)
		return true;
	/* A WQE has made the key a longer one. */
	softrnic_chunks_free(dev, mkey);
	if (dev->translation_bytes + bytes > SOFTRNIC_TRANSLATION_MEMORY)
		return false;
	mkey->chunk_list = softrnic_alloc(dev, count, sizeof(*mkey->chunk_list));
	if (mkey->chunk_list == NULL)
		return false;
	mkey->chunk_count = count;
	dev->translation_bytes += bytes;
	return true;
}

/*
 * A chunk lies within one page of the key, so it is aligned as that is. Each may be of hundreds of ranges, and all of them of
 * the same ones. False: there are more to be looked at.
 */
static bool
tpt_resolve_chunks(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	struct softrnic_mkey_look *look = &mkey->look;
	uint8_t shift =
		mkey->log_page_size < CHUNK_SHIFT_MAX ? mkey->log_page_size : CHUNK_SHIFT_MAX;
	uint64_t last = (mkey->start + (mkey->length - 1)) >> shift;
	uint64_t count = last - (mkey->start >> shift) + 1;
	const uint32_t ranges = dev->budget->ranges;

	if (count > CHUNKS_MAX || !tpt_chunks_alloc(dev, mkey, (uint32_t)count))
		return true;
	mkey->chunk_shift = shift;
	for (; look->page < count; look->page++) {
		uint64_t skip = look->page == 0 ? mkey->start & ((UINT64_C(1) << shift) - 1) : 0;
		uint64_t length = (UINT64_C(1) << shift) - skip;
		uint8_t *host;

		if (dev->budget->ranges - ranges >= RESOLVE_PIECE)
			return false;
		/* Also where a page's rights end it before any range is looked up. */
		softrnic_spend_ranges(dev, 1);
		if (length > mkey->length - look->distance)
			length = mkey->length - look->distance;
		host = tpt_resolve_piece(dev, mkey, look->distance, (uint32_t)length);
		mkey->chunk_list[look->page] = host == NULL ? NULL : host - skip;
		look->distance += length;
	}
	mkey->chunks = mkey->chunk_list;
	return true;
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
softrnic_mkeys_forget(struct softrnic *dev)
{
	struct softrnic_mkey *mkey;

	while ((mkey = SOFTRNIC_RESOLVED_LAST(&dev->resolved_mkeys, struct softrnic_mkey)) != NULL)
		softrnic_mkey_forget(dev, mkey);
}

void
softrnic_mkey_resolve(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	uint8_t *flat = NULL;
	bool known = true;

	if (softrnic_share_is_over(dev))
		return;
	/* A look that has begun goes on, unless the map has changed. */
	if (mkey->look.generation != dev->dma_generation)
		softrnic_mkey_forget(dev, mkey);
	/* The quick path does not check who asks. */
	if (!mkey->free && mkey->qpn == RNIC_MKEY_ANY_QPN && mkey->mode == RNIC_MKEY_MTT &&
	    mkey->length > 0 && mkey->translation_count > 0) {
		softrnic_spend(dev, RESOLVE_WORK);
		mkey->look.generation = dev->dma_generation;
		if (!mkey->look.in_chunks)
			known = tpt_resolve_flat(dev, mkey, &flat);
		if (known && flat == NULL && !mkey->look.in_chunks) {
			mkey->look.in_chunks = true;
			mkey->look.page = mkey->look.distance = 0;
		}
		if (mkey->look.in_chunks)
			known = tpt_resolve_chunks(dev, mkey);
	}
	if (known) {
		mkey->look = (struct softrnic_mkey_look){ 0 };
		mkey->flat = flat;
		mkey->generation = dev->dma_generation;
	}
	/* Also half a look has an address. */
	if (mkey->resolved.slot == 0 &&
	    (mkey->look.host != NULL || mkey->flat != NULL || mkey->chunks != NULL))
		softrnic_resolved_add(&dev->resolved_mkeys, &mkey->resolved);
}

/* The key itself, without what it leads to: 0 and *mkey, or -errno. */
static int
tpt_find(struct softrnic *dev, uint32_t qpn, uint32_t key, uint32_t pd, uint64_t va,
	 uint32_t length, unsigned int access, struct softrnic_mkey **out)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);
	uint64_t distance;

	if (mkey == NULL || mkey->variant != (key & 0xff) || mkey->free || mkey->pd != pd ||
	    (mkey->access & access) != access ||
	    (mkey->qpn != RNIC_MKEY_ANY_QPN && mkey->qpn != qpn))
		return -EACCES;
	distance = va - mkey->start;
	if (!mkey->length64 &&
	    (va < mkey->start || distance > mkey->length || length > mkey->length - distance))
		return -EFAULT;
	*out = mkey;
	return 0;
}

/* One access, all the way down. */
struct walk {
	uint32_t pd, qpn;
	unsigned int access;
	struct iovec *iov;
	int count, max;	  /* of pieces */
	uint32_t entries; /* of lists of keys that it has come through */
};

/* What an access asks of one key. */
struct stretch {
	struct softrnic_mkey *mkey; /* NULL: not found yet */
	uint64_t va;
	uint32_t key, length;
	/* A list of keys: the entry in which it begins, and how far within. */
	uint64_t entry, skip;
};

static int
tpt_stretch_find(struct softrnic *dev, const struct walk *walk, struct stretch *stretch)
{
	int rc = tpt_find(dev, walk->qpn, stretch->key, walk->pd, stretch->va, stretch->length,
			  walk->access, &stretch->mkey);

	if (rc == 0 && stretch->length > 0 && stretch->mkey->generation != dev->dma_generation)
		softrnic_mkey_resolve(dev, stretch->mkey);
	return rc;
}

/* Of a key of memory. Its pieces go behind those that are there already. */
static int
tpt_stretch_pieces(struct softrnic *dev, struct walk *walk, const struct stretch *stretch)
{
	const struct softrnic_mkey *mkey = stretch->mkey;
	const uint64_t distance = stretch->va - mkey->start;
	int count;

	if (mkey->flat != NULL && mkey->generation == dev->dma_generation) {
		if (walk->count == walk->max)
			return -E2BIG;
		walk->iov[walk->count++] = (struct iovec){ mkey->flat + distance, stretch->length };
		return 0;
	}
	if (mkey->mode == RNIC_MKEY_PA)
		count = softrnic_dma_pieces(dev, stretch->va, stretch->length,
					    tpt_dma_rights(walk->access), walk->iov, walk->count,
					    walk->max);
	else
		count = tpt_translate_mtt(dev, mkey, distance, stretch->length, walk->access,
					  walk->iov, walk->count, walk->max);
	if (count < 0)
		return count;
	walk->count = count;
	return 0;
}

/* ---- Lists of keys ---- */

/*
 * A way through lists may come to thousands of entries, each of which may lead to another list, and all of them may be larger
 * than any cache. To find one takes several steps that hang on each other: the slot of its key, the key, the ends in its
 * list level by level, the entry. So a batch of them goes together: each step is taken for all, and what the next one
 * looks at is asked for, so that their lines come from memory at the same time.
 */
#define BATCH 32

struct batch {
	struct stretch of[BATCH];
	unsigned int count;
};

static bool
tpt_is_list(const struct softrnic_mkey *mkey)
{
	return mkey->mode == RNIC_MKEY_KLM || mkey->mode == RNIC_MKEY_KSM;
}

static void
tpt_batch_ask_for_keys(struct softrnic *dev, const struct batch *batch)
{
	const struct softrnic_object_table *table = &dev->tables[SOFTRNIC_MKEY];
	const struct stretch *end = batch->of + batch->count;

	for (const struct stretch *s = batch->of; s < end; s++) {
		const uint32_t index = (s->key >> 8) - table->first;

		__builtin_prefetch(table->slots + (index < table->size ? index : 0));
	}
	for (const struct stretch *s = batch->of; s < end; s++) {
		const uint8_t *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, s->key >> 8);

		for (size_t at = 0; mkey != NULL && at < SOFTRNIC_MKEY_WALKED; at += SOFTRNIC_LINE)
			__builtin_prefetch(mkey + at);
	}
}

/* One level down: the line of the next one, or of the entries, that has the byte. No branch hangs on what is found. */
static void
tpt_stretch_descend(struct stretch *stretch, unsigned int level)
{
	const struct softrnic_mkey *mkey = stretch->mkey;
	const uint64_t distance = stretch->va - mkey->start;
	const uint64_t first = stretch->entry * SOFTRNIC_KLM_FAN;
	const uint64_t *ends = mkey->klm_ends + mkey->klm_level[level] + first;
	uint64_t before = 0;

	for (unsigned int i = 0; i < SOFTRNIC_KLM_FAN; i++)
		before += ends[i] <= distance;
	stretch->entry = first + before;
	if (level > 0) {
		__builtin_prefetch(mkey->klm_ends + mkey->klm_level[level - 1] +
				   stretch->entry * SOFTRNIC_KLM_FAN);
		return;
	}
	for (unsigned int i = 0; i < SOFTRNIC_KLM_LEAF * sizeof(*mkey->klms); i += SOFTRNIC_LINE)
		__builtin_prefetch(
			(const uint8_t *)(mkey->klms + stretch->entry * SOFTRNIC_KLM_LEAF) + i);
}

/* From the leaf that has the byte to its entry. */
static void
tpt_stretch_enter(struct stretch *stretch)
{
	const struct softrnic_mkey *mkey = stretch->mkey;
	const uint64_t distance = stretch->va - mkey->start;
	const uint64_t leaf = stretch->entry * SOFTRNIC_KLM_LEAF;
	uint64_t begin = mkey->klm_ends[stretch->entry], index = leaf + SOFTRNIC_KLM_LEAF;

	if (index > mkey->translation_count)
		index = mkey->translation_count;
	stretch->entry = index;
	while (index-- > leaf) {
		const bool before = begin > distance;

		begin -= before ? softrnic_klm_bytes(&mkey->klms[index]) : 0;
		stretch->entry -= before;
	}
	stretch->skip = distance - begin;
}

/* Find the keys, and where those begin that are lists. @return 0 or -errno; *lists: there are any. */
static int
tpt_batch_find(struct softrnic *dev, const struct walk *walk, struct batch *batch, bool *lists)
{
	struct stretch *const end = batch->of + batch->count;
	unsigned int levels = 0;

	tpt_batch_ask_for_keys(dev, batch);
	*lists = false;
	for (struct stretch *s = batch->of; s < end; s++) {
		const struct softrnic_mkey *mkey;
		int rc = s->mkey == NULL ? tpt_stretch_find(dev, walk, s) : 0;

		/* What a key leads to beyond the bounds of another is for the key to answer for. */
		if (rc != 0)
			return rc == -EFAULT ? -EACCES : rc;
		mkey = s->mkey;
		*lists = *lists || tpt_is_list(mkey);
		if (mkey->mode == RNIC_MKEY_KSM)
			s->skip = tpt_page_offset(mkey, s->va - mkey->start, &s->entry);
		if (mkey->mode == RNIC_MKEY_MTT && mkey->flat == NULL)
			__builtin_prefetch(mkey->mtts +
					   ((s->va - mkey->start) >> mkey->log_page_size));
		if (mkey->mode != RNIC_MKEY_KLM)
			continue;
		if (s->va - mkey->start >= mkey->klm_bytes)
			return -EFAULT;
		if (levels < mkey->klm_levels)
			levels = mkey->klm_levels;
		__builtin_prefetch(mkey->klm_ends + mkey->klm_level[mkey->klm_levels - 1]);
	}
	while (levels-- > 0) {
		for (struct stretch *s = batch->of; s < end; s++) {
			if (s->mkey->mode == RNIC_MKEY_KLM && levels < s->mkey->klm_levels)
				tpt_stretch_descend(s, levels);
		}
	}
	for (struct stretch *s = batch->of; s < end; s++) {
		if (s->mkey->mode == RNIC_MKEY_KLM)
			tpt_stretch_enter(s);
	}
	return 0;
}

static int tpt_translate(struct softrnic *dev, struct walk *walk, struct batch *batch,
			 unsigned int depth);

/* All that is in a batch goes on before it takes more, so that everything stays in order. */
static int
tpt_batch_add(struct softrnic *dev, struct walk *walk, struct batch *batch, unsigned int depth,
	      const struct stretch *stretch)
{
	if (batch->count == BATCH) {
		int rc = tpt_translate(dev, walk, batch, depth);

		if (rc != 0)
			return rc;
		batch->count = 0;
	}
	batch->of[batch->count++] = *stretch;
	return 0;
}

/*
 * Stretches of other keys, one behind the other; KSM: all of the same size. They may be as short as a byte, and what they
 * lead to may be neighbours, which become one piece: so it is the entries, of this list and of those behind it, that end
 * the translation.
 */
static int
tpt_stretch_entries(struct softrnic *dev, struct walk *walk, const struct stretch *stretch,
		    struct batch *deeper, unsigned int depth)
{
	const struct softrnic_mkey *mkey = stretch->mkey;
	uint64_t index = stretch->entry, skip = stretch->skip, bytes;
	int rc;

	for (uint64_t left = stretch->length; left > 0; left -= bytes, index++, skip = 0) {
		const struct rnic_klm *klm = &mkey->klms[index];
		struct stretch next = { 0 };

		if (index >= mkey->translation_count)
			return -EFAULT;
		if (walk->entries == SOFTRNIC_ENTRIES_ACCESS)
			return -E2BIG;
		walk->entries++;
		bytes = mkey->mode == RNIC_MKEY_KSM ? UINT64_C(1) << mkey->log_page_size
						    : softrnic_klm_bytes(klm);
		bytes -= skip;
		if (bytes > left)
			bytes = left;
		next.key = rnic_be32_to_cpu(klm->mkey);
		next.va = rnic_be64_to_cpu(klm->address) + skip;
		next.length = (uint32_t)bytes;
		rc = tpt_batch_add(dev, walk, deeper, depth, &next);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Neighbours in what is asked for, which have come through as many lists. */
static int
tpt_translate(struct softrnic *dev, struct walk *walk, struct batch *batch, unsigned int depth)
{
	struct batch deeper;
	bool lists;
	int rc = tpt_batch_find(dev, walk, batch, &lists);

	if (rc == 0 && lists && depth == SOFTRNIC_MAX_INDIRECTION)
		rc = -EACCES;
	deeper.count = 0;
	for (unsigned int i = 0; rc == 0 && i < batch->count; i++) {
		const struct stretch *stretch = &batch->of[i];

		if (!lists)
			rc = tpt_stretch_pieces(dev, walk, stretch);
		else if (tpt_is_list(stretch->mkey))
			rc = tpt_stretch_entries(dev, walk, stretch, &deeper, depth + 1);
		else
			rc = tpt_batch_add(dev, walk, &deeper, depth + 1, stretch);
	}
	return rc == 0 && deeper.count > 0 ? tpt_translate(dev, walk, &deeper, depth + 1) : rc;
}

/* Lists go the long way, which wants room on the stack. */
static __attribute__((noinline)) int
tpt_translate_list(struct softrnic *dev, struct walk *walk, const struct stretch *stretch)
{
	struct batch batch;

	walk->access = tpt_inner_access(walk->access);
	batch.of[0] = *stretch;
	batch.count = 1;
	return tpt_translate(dev, walk, &batch, 0);
}

int
softrnic_tpt_translate_for(struct softrnic *dev, uint32_t qpn, uint32_t key, uint32_t pd,
			   uint64_t va, uint32_t length, unsigned int access, struct iovec *iov,
			   int max)
{
	struct walk walk = { .pd = pd, .qpn = qpn, .access = access, .iov = iov, .max = max };
	struct stretch all = { .key = key, .va = va, .length = length };
	int rc;

	if (key == SOFTRNIC_RESERVED_LKEY) {
		rc = softrnic_dma_pieces(dev, va, length, tpt_dma_rights(access), iov, 0, max);
	} else {
		rc = tpt_stretch_find(dev, &walk, &all);
		if (rc == 0 && length > 0)
			rc = tpt_is_list(all.mkey) ? tpt_translate_list(dev, &walk, &all)
						   : tpt_stretch_pieces(dev, &walk, &all);
		if (rc == 0)
			rc = walk.count;
	}
	softrnic_spend_entries(dev, walk.entries);
	if (rc < 0)
		dev->stats.tpt_faults++;
	return rc;
}

int
softrnic_tpt_translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		       uint32_t length, unsigned int access, struct iovec *iov, int max)
{
	return softrnic_tpt_translate_for(dev, RNIC_MKEY_ANY_QPN, key, pd, va, length, access, iov,
					  max);
}

int
softrnic_tpt_check_for(struct softrnic *dev, uint32_t qpn, uint32_t key, uint32_t pd, uint64_t va,
		       uint32_t length, unsigned int access)
{
	struct softrnic_mkey *mkey;
	int rc = tpt_find(dev, qpn, key, pd, va, length, access, &mkey);

	if (rc != 0)
		dev->stats.tpt_faults++;
	return rc;
}

int
softrnic_tpt_check(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va, uint32_t length,
		   unsigned int access)
{
	return softrnic_tpt_check_for(dev, RNIC_MKEY_ANY_QPN, key, pd, va, length, access);
}
