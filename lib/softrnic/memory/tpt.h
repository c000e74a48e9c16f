/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Translation and protection (tpt.c, mkey.c). The case of nearly every packet is inline: bytes that are contiguous in host memory.
 */
#ifndef SOFTRNIC_TPT_H
#define SOFTRNIC_TPT_H

#include <string.h>

#include <rte_branch_prediction.h>

#include "prm/mkey.h"
#include "softrnic/base/device.h"
#include "softrnic/base/sizes.h"

#define SOFTRNIC_LOCAL_READ    0x01
#define SOFTRNIC_LOCAL_WRITE   0x02
#define SOFTRNIC_REMOTE_READ   0x04
#define SOFTRNIC_REMOTE_WRITE  0x08
#define SOFTRNIC_REMOTE_ATOMIC 0x10

#define SOFTRNIC_LINE	  64 /* of the cache */
#define SOFTRNIC_KLM_LEAF 16 /* entries of a list of keys that are looked through */
#define SOFTRNIC_KLM_FAN  8  /* ends in a line */
/* A leaf is of 2^4, a line of 2^3; rounded up. */
#define SOFTRNIC_KLM_LEVELS ((SOFTRNIC_LOG_MAX_KLMS - 4 + 2) / 3)

/* How far it is known that a region is one piece, while it is looked at: it may take several accesses. */
struct softrnic_mkey_look {
	uint64_t generation;	 /* of the DMA map; 0: no look is under way */
	uint64_t page, distance; /* the next page or chunk, and where it begins */
	uint8_t *host;		 /* where the region begins */
	bool in_chunks;		 /* it is not one piece */
};

struct softrnic_mkey {
	struct softrnic_object object; /* number: the index; the key is index << 8 | variant */
	/* hot: the flat path reads only these */
	uint8_t variant;
	uint8_t access; /* SOFTRNIC_LOCAL_... that the key grants */
	uint8_t mode;	/* enum rnic_mkey_access_mode */
	bool length64;	/* no bounds: the whole address space (PA) */
	uint32_t pd;
	uint8_t chunk_shift;
	uint8_t log_page_size;
	bool free;	  /* no access: created so, or invalidated */
	bool page_rights; /* MTT entries carry rights of their own */
	uint64_t start, length;
	/* host address of `start` when the region is one piece of host memory with the rights it grants, else NULL */
	uint8_t *flat;
	/*
	 * The region in chunks of 2^chunk_shift bytes, the first one holds `start`: where each chunk begins in host
	 * memory; NULL: it is not one piece with the rights. No array: flat, too many pieces, or not resolved.
	 */
	uint8_t **chunks;
	/* of the DMA map when flat and chunks were resolved; another one's: they count for nothing */
	uint64_t generation;
	/* warm: also read on a way through lists */
	uint32_t translation_count, klm_levels;
	uint32_t
		qpn; /* of the only queue pair whose peer may use it; RNIC_MKEY_ANY_QPN: all of the domain */
	/* Translations, as the command brought them: a long list is not looked through when it comes. */
	struct rnic_be64 *mtts; /* MTT: page address | permission bits */
	struct rnic_klm *klms;	/* KLM, KSM; begin with a line */
	/*
	 * KLM: where the bytes of each leaf of entries end in the region; and above them the last ones of each
	 * SOFTRNIC_KLM_FAN, level by level. Each level is whole lines, filled up with ends behind all bytes.
	 */
	uint64_t *klm_ends;
	uint64_t klm_bytes;			 /* of all entries */
	uint32_t klm_level[SOFTRNIC_KLM_LEVELS]; /* where each begins */
	/* cold */
	struct softrnic_resolved resolved;
	bool umr_en, en_rinval; /* WQEs may change it; a peer's SEND may invalidate it */
	uint32_t list_room;	/* umr_en: octwords that there is place for */
	uint8_t **chunk_list;	/* the room of `chunks` */
	uint32_t chunk_count;
	struct softrnic_object *pd_object, *umem; /* umem: whose pages these are, or NULL */
	struct softrnic_mkey_look look;
	void *room; /* what translations lie in */
	uint64_t room_bytes;
	struct rnic_mkc context; /* as created, for QUERY_MKEY */
};

/* Of a key, what a way through it reads. */
#define SOFTRNIC_MKEY_WALKED offsetof(struct softrnic_mkey, resolved)

/* An entry of a list of pages, if what it names is on a page: a very long list is not looked through when the key is made. */
static inline bool
softrnic_mtt_fits(const struct softrnic_mkey *mkey, uint64_t mtt)
{
	return (mtt & RNIC_MTT_ADDRESS_MASK & ((UINT64_C(1) << mkey->log_page_size) - 1)) == 0;
}

/* Bytes of our memory that translation entries and chunks of all keys of a device may take. */
#define SOFTRNIC_TRANSLATION_MEMORY (UINT64_C(1) << 28)

/* Bytes that an entry of a list of keys stands for: 0 is 2 GiB. */
static inline uint64_t
softrnic_klm_bytes(const struct rnic_klm *klm)
{
	uint32_t bytes = rnic_be32_to_cpu(klm->byte_count);

	return bytes == 0 ? UINT64_C(1) << 31 : bytes;
}

/*
 * Host segments of [va, va + length) under a key. rlky: the key is ignored and va is an iova (reserved lkey).
 *
 * Returns how many of `iov` were filled (> 0; 0 for length 0), or -EACCES (key, PD, access), -EFAULT (bounds, map),
 * -E2BIG (more than max pieces, or SOFTRNIC_ENTRIES_ACCESS entries of lists of keys). Failures are counted in
 * stats.tpt_faults, and entries in dev->budget, whether they led anywhere or not.
 */
int softrnic_tpt_translate(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
			   uint32_t length, unsigned int access, struct iovec *iov, int max);
/* The same for the peer of a queue pair, which may use keys that are bound to that one, too. */
int softrnic_tpt_translate_for(struct softrnic *dev, uint32_t qpn, uint32_t key, uint32_t pd,
			       uint64_t va, uint32_t length, unsigned int access, struct iovec *iov,
			       int max);
/*
 * Does the key allow it, by its PD, rights and bounds? 0, -EACCES or -EFAULT, which count in stats.tpt_faults. What the
 * key leads to is found out at the access. The reserved key is none.
 */
int softrnic_tpt_check(struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		       uint32_t length, unsigned int access);
int softrnic_tpt_check_for(struct softrnic *dev, uint32_t qpn, uint32_t key, uint32_t pd,
			   uint64_t va, uint32_t length, unsigned int access);
/*
 * Look again whether the key's region is one piece of host memory, or chunks that each are one; not when the share is over,
 * and of a very long list of pages some: then its generation stays another one's, and it is translated page by page.
 */
void softrnic_mkey_resolve(struct softrnic *dev, struct softrnic_mkey *mkey);
/* Give back what it keeps of that look. */
void softrnic_chunks_free(struct softrnic *dev, struct softrnic_mkey *mkey);
/* QUERY_SPECIAL_CONTEXTS: addresses are iovas, if the queue has rlky set. */
#define SOFTRNIC_RESERVED_LKEY 0x00000300u
/* softrnic_tpt_translate() takes the reserved key from anybody: queues without rlky refuse it themselves. */

/* ---- Inline. ---- */

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
 * The key, if it is one of the domain that grants the access, and what it leads to is known; else NULL. Good for many accesses
 * in a row, until a command or another WQE is executed.
 */
static inline const struct softrnic_mkey *
softrnic_tpt_key(const struct softrnic *dev, uint32_t key, uint32_t pd, unsigned int access)
{
	const struct softrnic_object_table *table = &dev->tables[SOFTRNIC_MKEY];
	const struct softrnic_mkey *mkey;
	uint32_t index = (key >> 8) - table->first;

	if (index >= table->size || table->slots[index] == NULL)
		return NULL;
	mkey = (const struct softrnic_mkey *)table->slots[index];
	if (mkey->variant != (uint8_t)key || mkey->pd != pd ||
	    (access & ~(unsigned int)mkey->access) != 0 || mkey->generation != dev->dma_generation)
		return NULL;
	return mkey;
}

/* [va, va + length) of what it leads to, if that is one piece of host memory that is quickly found; else NULL. */
static inline uint8_t *
softrnic_tpt_piece(const struct softrnic_mkey *mkey, uint64_t va, uint32_t length)
{
	const uint64_t at = va - mkey->start;
	uint64_t end;

	/* va below start wraps to more than any length. */
	if (__builtin_add_overflow(at, length, &end) || end > mkey->length)
		return NULL;
	return likely(mkey->flat != NULL) ? mkey->flat + at : softrnic_tpt_chunk(mkey, va, length);
}

/* The key of the last access, as those of neighbours mostly have the same. All zero: there was none. */
struct softrnic_tpt_last {
	const struct softrnic_mkey *mkey;
	struct rnic_be32 lkey;
};

/* softrnic_tpt_flat() of one of many accesses in a row, each of that domain and kind. */
static inline uint8_t *
softrnic_tpt_flat_next(const struct softrnic *dev, struct softrnic_tpt_last *last,
		       struct rnic_be32 lkey, uint32_t pd, uint64_t va, uint32_t length,
		       unsigned int access)
{
	if (unlikely(last->mkey == NULL || last->lkey.raw != lkey.raw)) {
		last->lkey = lkey;
		last->mkey = softrnic_tpt_key(dev, rnic_be32_to_cpu(lkey), pd, access);
		if (last->mkey == NULL)
			return NULL;
	}
	return softrnic_tpt_piece(last->mkey, va, length);
}

/*
 * Host address of [va, va + length) if it is one piece of host memory that is quickly found, and the access is
 * allowed; NULL: ask softrnic_tpt_translate(), which handles every other case and counts refusals.
 */
static inline uint8_t *
softrnic_tpt_flat(const struct softrnic *dev, uint32_t key, uint32_t pd, uint64_t va,
		  uint32_t length, unsigned int access)
{
	const struct softrnic_mkey *mkey = softrnic_tpt_key(dev, key, pd, access);

	return unlikely(mkey == NULL) ? NULL : softrnic_tpt_piece(mkey, va, length);
}

/* All of them, called before memory is taken away from the device (its `holders`). */
void softrnic_mkeys_forget(struct softrnic *dev);
/* One of them, also before it is freed. */
void softrnic_mkey_forget(struct softrnic *dev, struct softrnic_mkey *mkey);

#endif
