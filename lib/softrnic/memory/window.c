/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keys that change in the order of a queue (UMR), and keys that a peer invalidates. A window is a list of one key: the memory
 * region's. Each packet looks its key up anew, so that from an invalidation on none reaches the memory.
 */
#include <errno.h>

#include "softrnic/base/object.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/memory/window.h"

#define FLAGS                                                                                 \
	(RNIC_WQE_UMR_CHECK_QPN | RNIC_WQE_UMR_TRANSLATION_OFFSET | RNIC_WQE_UMR_CHECK_FREE | \
	 RNIC_WQE_UMR_CHECK_NOT_FREE | RNIC_WQE_UMR_INLINE)

/*
 * What of a context a WQE may change: of lists of keys alone the range, of no key the size of its pages; and its domain, where the queue
 * pair is of none.
 */
#define RANGE (RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR)
#define STATE                                                                                    \
	(RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_QPN | RNIC_UMR_MASK_EN_RINVAL | \
	 RNIC_UMR_MASK_LR | RNIC_UMR_MASK_LW | RNIC_UMR_MASK_RR | RNIC_UMR_MASK_RW |             \
	 RNIC_UMR_MASK_A)

/* One bit of the mask, one field. */
static const struct {
	uint64_t mask;
	enum rnic_mkc_field field;
	uint8_t access; /* SOFTRNIC_..., if it is a right */
} fields[] = {
	{ RNIC_UMR_MASK_FREE, RNIC_MKC_FREE, 0 },
	{ RNIC_UMR_MASK_MKEY, RNIC_MKC_MKEY_7_0, 0 },
	{ RNIC_UMR_MASK_QPN, RNIC_MKC_QPN, 0 },
	{ RNIC_UMR_MASK_PD, RNIC_MKC_PD, 0 },
	{ RNIC_UMR_MASK_EN_RINVAL, RNIC_MKC_EN_RINVAL, 0 },
	{ RNIC_UMR_MASK_LEN, RNIC_MKC_LEN, 0 },
	{ RNIC_UMR_MASK_START_ADDR, RNIC_MKC_START_ADDR, 0 },
	{ RNIC_UMR_MASK_LR, RNIC_MKC_LR, SOFTRNIC_LOCAL_READ },
	{ RNIC_UMR_MASK_LW, RNIC_MKC_LW, SOFTRNIC_LOCAL_WRITE },
	{ RNIC_UMR_MASK_RR, RNIC_MKC_RR, SOFTRNIC_REMOTE_READ },
	{ RNIC_UMR_MASK_RW, RNIC_MKC_RW, SOFTRNIC_REMOTE_WRITE },
	{ RNIC_UMR_MASK_A, RNIC_MKC_A, SOFTRNIC_REMOTE_ATOMIC },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint32_t
umr_entries(const struct softrnic_umr *umr)
{
	return rnic_be16_to_cpu(umr->control->translations_octwords);
}

bool
softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes)
{
	const uint64_t mask = rnic_be64_to_cpu(umr->control->mkey_mask);
	const uint32_t head = sizeof(*umr->control) + sizeof(*umr->context);
	const uint64_t known = RANGE | STATE | (umr->of_all_pds ? RNIC_UMR_MASK_PD : 0);

	if (bytes < head || (umr->control->flags & ~FLAGS) != 0 || (mask & ~known) != 0)
		return false;
	/* Entries that lie elsewhere, and parts of lists, are not offered. */
	if (umr_entries(umr) > 0 && (umr->control->flags & RNIC_WQE_UMR_INLINE) == 0)
		return false;
	return umr_entries(umr) <= (bytes - head) / sizeof(*umr->entries) &&
	       rnic_be16_to_cpu(umr->control->translations_offset) == 0;
}

/* The key that may be changed, NULL: there is none. The byte of one that is free is the one before last: nobody knows it. */
static struct softrnic_mkey *
umr_find(struct softrnic *dev, const struct softrnic_umr *umr)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, umr->key >> 8);
	const uint8_t flags = umr->control->flags;

	if (mkey == NULL || !mkey->umr_en || (mkey->pd != umr->pd && !umr->of_all_pds) ||
	    (!mkey->free && mkey->variant != (umr->key & 0xff)) ||
	    ((flags & RNIC_WQE_UMR_CHECK_FREE) != 0 && !mkey->free) ||
	    ((flags & RNIC_WQE_UMR_CHECK_NOT_FREE) != 0 && mkey->free) ||
	    ((flags & RNIC_WQE_UMR_CHECK_QPN) != 0 && mkey->qpn != umr->qpn))
		return NULL;
	return mkey;
}

/* What the context will be. */
static struct rnic_mkc
umr_context(const struct softrnic_mkey *mkey, const struct softrnic_umr *umr)
{
	const uint64_t mask = rnic_be64_to_cpu(umr->control->mkey_mask);
	struct rnic_mkc mkc = mkey->context;

	for (unsigned int i = 0; i < FIELDS; i++)
		if ((mask & fields[i].mask) != 0)
			rnic_mkc_set(&mkc, fields[i].field,
				     rnic_mkc_get(umr->context, fields[i].field));
	return mkc;
}

static int
umr_check(const struct softrnic_mkey *mkey, const struct softrnic_umr *umr,
	  const struct rnic_mkc *mkc)
{
	const uint64_t mask = rnic_be64_to_cpu(umr->control->mkey_mask);
	const uint64_t start = rnic_mkc_get(mkc, RNIC_MKC_START_ADDR);
	const uint64_t length = rnic_mkc_get(mkc, RNIC_MKC_LEN);

	if (mkey->mode != RNIC_MKEY_KLM)
		/* It was checked as it is when it was made, unless it was made to be free. */
		return (mask & RANGE) != 0 || umr_entries(umr) > 0 ||
				       (mkey->free && !rnic_mkc_get(mkc, RNIC_MKC_FREE))
			       ? -EACCES
			       : 0;
	if (umr_entries(umr) > mkey->klm_room || (length > 0 && start + (length - 1) < start))
		return -EACCES;
	return 0;
}

static void
umr_pd_set(struct softrnic_mkey *mkey, struct softrnic_object *pd)
{
	mkey->pd_object->refs--;
	pd->refs++;
	mkey->pd_object = pd;
	mkey->pd = pd->number;
}

int
softrnic_umr_execute(struct softrnic *dev, const struct softrnic_umr *umr)
{
	struct softrnic_mkey *mkey = umr_find(dev, umr);
	struct softrnic_object *pd;
	struct rnic_mkc mkc;

	if (mkey == NULL)
		return -EACCES;
	mkc = umr_context(mkey, umr);
	pd = softrnic_object_get(dev, SOFTRNIC_PD, (uint32_t)rnic_mkc_get(&mkc, RNIC_MKC_PD));
	if (pd == NULL || umr_check(mkey, umr, &mkc) != 0)
		return -EACCES;
	softrnic_mkey_forget(dev, mkey);
	umr_pd_set(mkey, pd);
	if (umr_entries(umr) > 0)
		softrnic_mkey_klms_set(mkey, umr->entries, umr_entries(umr));
	mkey->context = mkc;
	mkey->variant = (uint8_t)rnic_mkc_get(&mkc, RNIC_MKC_MKEY_7_0);
	mkey->free = rnic_mkc_get(&mkc, RNIC_MKC_FREE) != 0;
	mkey->qpn = (uint32_t)rnic_mkc_get(&mkc, RNIC_MKC_QPN);
	mkey->en_rinval = rnic_mkc_get(&mkc, RNIC_MKC_EN_RINVAL) != 0;
	mkey->start = rnic_mkc_get(&mkc, RNIC_MKC_START_ADDR);
	mkey->length = rnic_mkc_get(&mkc, RNIC_MKC_LEN);
	mkey->access = 0;
	for (unsigned int i = 0; i < FIELDS; i++)
		if (fields[i].access != 0 && rnic_mkc_get(&mkc, fields[i].field))
			mkey->access |= fields[i].access;
	return 0;
}

int
softrnic_window_invalidate(struct softrnic *dev, uint32_t qpn, uint32_t pd, uint32_t key)
{
	struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);

	if (mkey == NULL || mkey->variant != (key & 0xff) || mkey->free || !mkey->en_rinval ||
	    mkey->pd != pd || (mkey->qpn != RNIC_MKEY_ANY_QPN && mkey->qpn != qpn)) {
		dev->stats.tpt_faults++;
		return -EACCES;
	}
	softrnic_mkey_forget(dev, mkey);
	mkey->free = true;
	rnic_mkc_set(&mkey->context, RNIC_MKC_FREE, 1);
	return 0;
}
