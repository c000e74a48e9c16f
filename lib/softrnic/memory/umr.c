/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keys that change in the order of a queue (UMR). A user binds windows, each a list of one key: the memory region's. A kernel may say
 * any key's range, pages and list, which are addresses of the bus: it is the one whose queue pairs have fre set, or that are made for
 * nothing else. Each packet looks its key up anew, so that from a change on it finds what was said last.
 */
#include <errno.h>
#include <string.h>

#include "softrnic/base/dma.h"
#include "softrnic/base/object.h"
#include "softrnic/memory/list.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/memory/umr.h"

#define OCTWORD sizeof(struct rnic_klm)

#define FLAGS                                                                                 \
	(RNIC_WQE_UMR_CHECK_QPN | RNIC_WQE_UMR_TRANSLATION_OFFSET | RNIC_WQE_UMR_CHECK_FREE | \
	 RNIC_WQE_UMR_CHECK_NOT_FREE | RNIC_WQE_UMR_INLINE)

/* What of a context a WQE may change; of keys of memory a kernel's alone the range. */
#define RANGE (RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR)
#define RIGHTS                                                                       \
	(RNIC_UMR_MASK_LR | RNIC_UMR_MASK_LW | RNIC_UMR_MASK_RR | RNIC_UMR_MASK_RW | \
	 RNIC_UMR_MASK_A)
#define STATE                                                                                    \
	(RNIC_UMR_MASK_FREE | RNIC_UMR_MASK_MKEY | RNIC_UMR_MASK_QPN | RNIC_UMR_MASK_EN_RINVAL | \
	 RIGHTS)
#define KERNEL (RNIC_UMR_MASK_PAGE_SIZE | RNIC_UMR_MASK_SMALL_FENCE)

/* One bit of the mask, one field. */
static const struct {
	uint64_t mask;
	enum rnic_mkc_field field;
} fields[] = {
	{ RNIC_UMR_MASK_FREE, RNIC_MKC_FREE },
	{ RNIC_UMR_MASK_MKEY, RNIC_MKC_MKEY_7_0 },
	{ RNIC_UMR_MASK_QPN, RNIC_MKC_QPN },
	{ RNIC_UMR_MASK_PD, RNIC_MKC_PD },
	{ RNIC_UMR_MASK_EN_RINVAL, RNIC_MKC_EN_RINVAL },
	{ RNIC_UMR_MASK_SMALL_FENCE, RNIC_MKC_SMALL_FENCE_ON_RDMA_READ_RESPONSE },
	{ RNIC_UMR_MASK_LEN, RNIC_MKC_LEN },
	{ RNIC_UMR_MASK_START_ADDR, RNIC_MKC_START_ADDR },
	{ RNIC_UMR_MASK_PAGE_SIZE, RNIC_MKC_LOG_PAGE_SIZE },
	{ RNIC_UMR_MASK_LR, RNIC_MKC_LR },
	{ RNIC_UMR_MASK_LW, RNIC_MKC_LW },
	{ RNIC_UMR_MASK_RR, RNIC_MKC_RR },
	{ RNIC_UMR_MASK_RW, RNIC_MKC_RW },
	{ RNIC_UMR_MASK_A, RNIC_MKC_A },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint32_t
umr_octwords(const struct softrnic_umr *umr)
{
	return rnic_be16_to_cpu(umr->control->translations_octwords);
}

/* Where in the key's list they go. */
static uint64_t
umr_offset(const struct softrnic_umr *umr)
{
	return (uint64_t)rnic_be32_to_cpu(umr->control->translations_offset_47_16) << 16 |
	       rnic_be16_to_cpu(umr->control->translations_offset);
}

static bool
umr_is_inline(const struct softrnic_umr *umr)
{
	return (umr->control->flags & RNIC_WQE_UMR_INLINE) != 0;
}

/* Of a list that is elsewhere: all of it is there. */
static bool
umr_pointer_is_sound(const struct softrnic_umr *umr, uint32_t bytes)
{
	const struct rnic_wqe_data *data = umr->list;

	return bytes == sizeof(*data) &&
	       rnic_be32_to_cpu(data->byte_count) >= umr_octwords(umr) * OCTWORD &&
	       rnic_be32_to_cpu(data->byte_count) < RNIC_WQE_INLINE;
}

bool
softrnic_umr_is_sound(const struct softrnic_umr *umr, uint32_t bytes)
{
	const uint64_t mask = rnic_be64_to_cpu(umr->control->mkey_mask);
	const uint32_t head = sizeof(*umr->control) + sizeof(*umr->context);
	const uint64_t known = RANGE | STATE | (umr->registers ? KERNEL : 0) |
			       (umr->of_all_pds ? RNIC_UMR_MASK_PD : 0);

	if (bytes < head || (umr->control->flags & ~FLAGS) != 0 || (mask & ~known) != 0)
		return false;
	/* Without the flag it is another field, of signatures; parts of lists are a kernel's. */
	if (umr_offset(umr) != 0 &&
	    (!umr->registers || (umr->control->flags & RNIC_WQE_UMR_TRANSLATION_OFFSET) == 0))
		return false;
	if (umr_octwords(umr) == 0 || umr_is_inline(umr))
		return umr_octwords(umr) <= (bytes - head) / OCTWORD;
	return umr->registers && umr_pointer_is_sound(umr, bytes - head);
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

/* How many octwords the list will have. */
static uint64_t
umr_octwords_after(const struct softrnic_mkey *mkey, const struct softrnic_umr *umr)
{
	const uint64_t end = umr_offset(umr) + umr_octwords(umr);
	const uint64_t before = softrnic_list_octwords(mkey);

	if (umr_octwords(umr) == 0)
		return before;
	/* A part of a list leaves the rest as it is. */
	if ((umr->control->flags & RNIC_WQE_UMR_TRANSLATION_OFFSET) != 0 && before > end)
		return before;
	return end;
}

/* May the key become `next`? */
static bool
umr_is_allowed(const struct softrnic_mkey *mkey, const struct softrnic_umr *umr,
	       const struct softrnic_mkey *next)
{
	const uint64_t mask = rnic_be64_to_cpu(umr->control->mkey_mask);
	const uint64_t after = umr_octwords_after(mkey, umr);

	if (umr_offset(umr) + umr_octwords(umr) > mkey->list_room)
		return false;
	if (mkey->mode == RNIC_MKEY_KLM)
		return true;
	/* The rights to memory are those that the kernel has pinned it with. */
	if (!umr->registers && (mask & RIGHTS) != 0)
		return false;
	/* It was checked as it is when it was made, unless it was made to be free. */
	if (!umr->registers || mkey->mode == RNIC_MKEY_PA)
		return (mask & (RANGE | RNIC_UMR_MASK_PAGE_SIZE)) == 0 && umr_octwords(umr) == 0 &&
		       (!mkey->free || next->free);
	return next->free || softrnic_list_pages_needed(next) <=
				     (mkey->mode == RNIC_MKEY_MTT ? 2 * after : after);
}

/*
 * Where a list is that is elsewhere: a key that stands for all memory by its address on the bus, so that the list that changes is on
 * no way to the one that is read.
 */
static bool
umr_pointer_is_allowed(struct softrnic *dev, const struct softrnic_umr *umr)
{
	const struct rnic_wqe_data *data = umr->list;
	const uint32_t key = rnic_be32_to_cpu(data->lkey);
	const struct softrnic_mkey *mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key >> 8);

	if (key == SOFTRNIC_RESERVED_LKEY)
		return umr->rlky;
	return mkey != NULL && mkey->mode == RNIC_MKEY_PA &&
	       softrnic_tpt_check(dev, key, umr->of_all_pds ? mkey->pd : umr->pd,
				  rnic_be64_to_cpu(data->address), umr_octwords(umr) * OCTWORD,
				  SOFTRNIC_LOCAL_READ) == 0;
}

/* The list, as far as the WQE changes it. -EACCES: it cannot be read, and is as it was. */
static int
umr_list_write(struct softrnic *dev, struct softrnic_mkey *mkey, const struct softrnic_umr *umr)
{
	const uint64_t after = umr_octwords_after(mkey, umr);
	const uint32_t bytes = umr_octwords(umr) * OCTWORD;
	const struct rnic_wqe_data *data = umr->list;
	void *to = softrnic_list_at(mkey, (uint32_t)umr_offset(umr));

	if (umr_is_inline(umr))
		memcpy(to, umr->list, bytes);
	else if (!umr_pointer_is_allowed(dev, umr) ||
		 softrnic_dma_read(dev, rnic_be64_to_cpu(data->address), to, bytes) != 0)
		return -EACCES;
	softrnic_list_written(dev, mkey, (uint32_t)after);
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
	struct softrnic_mkey next = { 0 };
	struct softrnic_object *pd;
	struct rnic_mkc mkc;

	if (mkey == NULL)
		return -EACCES;
	mkc = umr_context(mkey, umr);
	pd = softrnic_object_get(dev, SOFTRNIC_PD, (uint32_t)rnic_mkc_get(&mkc, RNIC_MKC_PD));
	if (pd == NULL || softrnic_mkey_context(&next, &mkc) != RNIC_STATUS_OK ||
	    !umr_is_allowed(mkey, umr, &next))
		return -EACCES;
	if (umr_octwords(umr) > 0 && umr_list_write(dev, mkey, umr) != 0)
		return -EACCES;
	softrnic_mkey_forget(dev, mkey);
	umr_pd_set(mkey, pd);
	return softrnic_mkey_context(mkey, &mkc) == RNIC_STATUS_OK ? 0 : -EACCES;
}
