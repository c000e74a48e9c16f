/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: create, query, destroy. Accesses by key are in tpt.c. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/memory/tpt.h"

/* Pages of a list that are looked at when the key is made, so that a driver hears what is wrong; others, where they are used. */
#define LOOK_PAGES (1u << 14)

static void
mkey_free(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	const uint64_t before = dev->translation_bytes;

	dev->translation_bytes -= mkey->room_bytes + mkey->chunk_count * sizeof(*mkey->chunk_list);
	softrnic_spend_bytes(dev, before - dev->translation_bytes);
	softrnic_mkey_forget(dev, mkey);
	softrnic_free(dev, mkey->room);
	softrnic_free(dev, mkey->chunk_list);
	softrnic_free(dev, mkey);
}

void
softrnic_mkey_drop(struct softrnic *dev, struct softrnic_object *object)
{
	struct softrnic_mkey *mkey = (struct softrnic_mkey *)object;

	softrnic_object_remove(dev, object);
	mkey_free(dev, mkey);
}

static uint8_t
mkey_mkc_access(const struct rnic_mkc *mkc)
{
	uint8_t access = 0;

	if (rnic_mkc_get(mkc, RNIC_MKC_LR))
		access |= SOFTRNIC_LOCAL_READ;
	if (rnic_mkc_get(mkc, RNIC_MKC_LW))
		access |= SOFTRNIC_LOCAL_WRITE;
	if (rnic_mkc_get(mkc, RNIC_MKC_RR))
		access |= SOFTRNIC_REMOTE_READ;
	if (rnic_mkc_get(mkc, RNIC_MKC_RW))
		access |= SOFTRNIC_REMOTE_WRITE;
	if (rnic_mkc_get(mkc, RNIC_MKC_A))
		access |= SOFTRNIC_REMOTE_ATOMIC;
	return access;
}

/* The context's fields, and whether they make sense without the translation entries. */
static int
mkey_context(struct softrnic_mkey *mkey, const struct rnic_mkc *mkc)
{
	mkey->context = *mkc;
	mkey->variant = rnic_mkc_get(mkc, RNIC_MKC_MKEY_7_0);
	mkey->access = mkey_mkc_access(mkc);
	mkey->mode = rnic_mkc_get(mkc, RNIC_MKC_ACCESS_MODE_4_2) << 2 |
		     rnic_mkc_get(mkc, RNIC_MKC_ACCESS_MODE_1_0);
	mkey->free = rnic_mkc_get(mkc, RNIC_MKC_FREE);
	mkey->length64 = rnic_mkc_get(mkc, RNIC_MKC_LENGTH64);
	mkey->pd = rnic_mkc_get(mkc, RNIC_MKC_PD);
	mkey->start = rnic_mkc_get(mkc, RNIC_MKC_START_ADDR);
	mkey->length = rnic_mkc_get(mkc, RNIC_MKC_LEN);
	mkey->qpn = rnic_mkc_get(mkc, RNIC_MKC_QPN);
	mkey->umr_en = rnic_mkc_get(mkc, RNIC_MKC_UMR_EN);
	mkey->en_rinval = rnic_mkc_get(mkc, RNIC_MKC_EN_RINVAL);
	mkey->log_page_size = rnic_mkc_get(mkc, RNIC_MKC_LOG_PAGE_SIZE);

	if (mkey->mode > RNIC_MKEY_KSM)
		return RNIC_STATUS_BAD_PARAM;
	/* Keys of signatures are a promise that we do not make. */
	if (rnic_mkc_get(mkc, RNIC_MKC_BSF_EN))
		return RNIC_STATUS_BAD_PARAM;
	if (mkey->length64)
		return mkey->mode == RNIC_MKEY_PA ? RNIC_STATUS_OK : RNIC_STATUS_BAD_PARAM;
	if (mkey->length > 0 && mkey->start + (mkey->length - 1) < mkey->start)
		return RNIC_STATUS_BAD_PARAM;
	if ((mkey->mode == RNIC_MKEY_MTT || mkey->mode == RNIC_MKEY_KSM) &&
	    mkey->log_page_size < 12)
		return RNIC_STATUS_BAD_PARAM;
	return RNIC_STATUS_OK;
}

/* As a card: what it has not said that it has may not be asked for. */
static bool
mkey_order_valid(const struct softrnic *dev, const struct rnic_mkc *mkc)
{
	const struct rnic_general_cap *cap = &dev->general_cap[1];

	return rnic_mkc_get(mkc, RNIC_MKC_RELAXED_ORDERING_WRITE) <=
		       rnic_general_cap_get(cap, RNIC_GENERAL_CAP_RELAXED_ORDERING_WRITE) &&
	       rnic_mkc_get(mkc, RNIC_MKC_RELAXED_ORDERING_READ) <=
		       rnic_general_cap_get(cap, RNIC_GENERAL_CAP_RELAXED_ORDERING_READ);
}

/* Entries that [start, start + length) needs. */
static uint64_t
mkey_pages_needed(const struct softrnic_mkey *mkey)
{
	uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	uint64_t first = mkey->start & (page_bytes - 1);

	if (mkey->length == 0)
		return 0;
	/* The last page minus the first, without adding what could wrap. */
	return ((mkey->start + (mkey->length - 1)) >> mkey->log_page_size) -
	       ((mkey->start - first) >> mkey->log_page_size) + 1;
}

/* How long the buffer is that the input came in, which may have been made for a longer command; 0: it is not ours to keep. */
static uint64_t
mkey_keep_input(struct softrnic *dev, struct softrnic_cmd *cmd)
{
	uint64_t bytes;

	if (!cmd->in_keepable)
		return 0;
	bytes = malloc_usable_size((void *)(uintptr_t)cmd->in);
	if (!softrnic_memory_take(dev, bytes))
		return 0;
	cmd->in_kept = true;
	return bytes;
}

/* The list of pages, as it came: a very long one stays where it is, in the input of the command. */
static bool
mkey_mtts_take(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd,
	       uint64_t count)
{
	const struct rnic_create_mkey_in *in = cmd->in;
	const uint64_t bytes = count * sizeof(*mkey->mtts);

	mkey->room_bytes = mkey_keep_input(dev, cmd);
	if (mkey->room_bytes != 0) {
		mkey->room = (void *)(uintptr_t)in;
		mkey->mtts = (const struct rnic_be64 *)(in + 1);
	} else {
		mkey->room = softrnic_alloc(dev, 1, bytes);
		if (mkey->room == NULL)
			return false;
		mkey->room_bytes = bytes;
		mkey->mtts = memcpy(mkey->room, in + 1, bytes);
	}
	dev->translation_bytes += mkey->room_bytes;
	return true;
}

static int
mkey_mtts(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd,
	  uint64_t count)
{
	const uint64_t needed = mkey_pages_needed(mkey);

	if (!mkey->free && count < needed)
		return RNIC_STATUS_BAD_PARAM;
	if (!mkey_mtts_take(dev, mkey, cmd, count))
		return RNIC_STATUS_NO_RES;
	/* Of a very long one that is the whole share: where its pages are is looked up when it is used. */
	softrnic_spend_steps(dev, count);
	mkey->translation_count = count;
	/* The list is padded to 16 bytes: what is behind the last page does not count. */
	for (uint64_t i = 0; i < count && i < needed && i < LOOK_PAGES; i++) {
		const uint64_t mtt = rnic_be64_to_cpu(mkey->mtts[i]);

		if (!softrnic_mtt_fits(mkey, mtt)) {
			SOFTRNIC_LOG(NOTICE, dev,
				     "memory key: page 0x%" PRIx64 " is not aligned to 2^%u bytes",
				     mtt, mkey->log_page_size);
			return RNIC_STATUS_BAD_PARAM;
		}
	}
	return RNIC_STATUS_OK;
}

static uint32_t
mkey_in_parts(uint32_t count, uint32_t part)
{
	return (count + part - 1) / part;
}

/* The levels of ends, of which the last one is one line. @return how many ends there are on all of them. */
static uint32_t
mkey_klm_levels(struct softrnic_mkey *mkey, uint32_t entries)
{
	uint32_t ends = mkey_in_parts(entries, SOFTRNIC_KLM_LEAF), at = 0, lines;

	mkey->klm_levels = 0;
	do {
		lines = mkey_in_parts(ends, SOFTRNIC_KLM_FAN);
		mkey->klm_level[mkey->klm_levels++] = at;
		at += lines * SOFTRNIC_KLM_FAN;
		ends = lines;
	} while (lines > 1);
	return at;
}

/* So that an access finds its place in a list of any length without walking through it. */
static void
mkey_klm_ends(struct softrnic_mkey *mkey)
{
	uint32_t ends = mkey_in_parts(mkey->translation_count, SOFTRNIC_KLM_LEAF);

	for (uint32_t i = 0; i < mkey->translation_count; i++) {
		mkey->klm_bytes += softrnic_klm_bytes(&mkey->klms[i]);
		mkey->klm_ends[i / SOFTRNIC_KLM_LEAF] = mkey->klm_bytes;
	}
	for (unsigned int level = 1; level < mkey->klm_levels; level++) {
		const uint64_t *below = mkey->klm_ends + mkey->klm_level[level - 1];

		for (uint32_t i = 0; i < ends; i++)
			mkey->klm_ends[mkey->klm_level[level] + i / SOFTRNIC_KLM_FAN] = below[i];
		ends = mkey_in_parts(ends, SOFTRNIC_KLM_FAN);
	}
}

/* Where so many entries go, and behind them the ends of those of KLM. */
static int
mkey_klm_room(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t count)
{
	uint64_t list_bytes, ends_bytes = 0;

	if (mkey->mode == RNIC_MKEY_KLM)
		ends_bytes = mkey_klm_levels(mkey, count) * sizeof(*mkey->klm_ends);
	list_bytes = (count * sizeof(*mkey->klms) + SOFTRNIC_LINE - 1) & -(uint64_t)SOFTRNIC_LINE;
	mkey->room = softrnic_alloc(dev, 1, SOFTRNIC_LINE + list_bytes + ends_bytes);
	if (mkey->room == NULL)
		return RNIC_STATUS_NO_RES;
	mkey->room_bytes = SOFTRNIC_LINE + list_bytes + ends_bytes;
	dev->translation_bytes += mkey->room_bytes;
	mkey->klms =
		(void *)((uint8_t *)mkey->room + (-(uintptr_t)mkey->room & (SOFTRNIC_LINE - 1)));
	mkey->klm_ends = (void *)((uint8_t *)mkey->klms + list_bytes);
	mkey->klm_room = count;
	return RNIC_STATUS_OK;
}

void
softrnic_mkey_klms_set(struct softrnic_mkey *mkey, const struct rnic_klm *list, uint32_t count)
{
	mkey->translation_count = count;
	memcpy(mkey->klms, list, count * sizeof(*mkey->klms));
	if (mkey->mode != RNIC_MKEY_KLM)
		return;
	memset(mkey->klm_ends, 0xff, mkey_klm_levels(mkey, count) * sizeof(*mkey->klm_ends));
	mkey->klm_bytes = 0;
	mkey_klm_ends(mkey);
}

static int
mkey_klms(struct softrnic *dev, struct softrnic_mkey *mkey, const struct rnic_klm *list,
	  uint64_t count)
{
	int status;

	if (count > SOFTRNIC_MAX_KLMS)
		return RNIC_STATUS_LIM;
	if (mkey->mode == RNIC_MKEY_KSM && !mkey->free && count < mkey_pages_needed(mkey))
		return RNIC_STATUS_BAD_PARAM;
	status = mkey_klm_room(dev, mkey, (uint32_t)count);
	if (status != RNIC_STATUS_OK)
		return status;
	softrnic_spend_steps(dev, count);
	softrnic_mkey_klms_set(mkey, list, (uint32_t)count);
	return RNIC_STATUS_OK;
}

/* A key of nothing; or one that WQEs fill, which must not fail for want of memory. */
static int
mkey_to_be_filled(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	uint64_t count = rnic_mkc_get(&mkey->context, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE);

	if (!mkey->free && mkey->length > 0)
		return RNIC_STATUS_BAD_PARAM;
	if (!mkey->umr_en || mkey->mode != RNIC_MKEY_KLM || count == 0)
		return RNIC_STATUS_OK;
	return mkey_klm_room(dev, mkey, (uint32_t)RTE_MIN(count, SOFTRNIC_UMR_KLMS));
}

static int
mkey_translations(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd)
{
	const struct rnic_create_mkey_in *in = cmd->in;
	uint64_t octwords =
		rnic_create_mkey_in_get(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE);

	if (mkey->mode == RNIC_MKEY_PA)
		return RNIC_STATUS_OK;
	if ((cmd->in_bytes - sizeof(*in)) / sizeof(struct rnic_klm) < octwords)
		return RNIC_STATUS_BAD_INP_LEN;
	if (octwords > rnic_mkc_get(&mkey->context, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE))
		return RNIC_STATUS_BAD_PARAM;
	/* These live in our memory, not in the host's. */
	if (dev->translation_bytes + octwords * sizeof(struct rnic_klm) >
	    SOFTRNIC_TRANSLATION_MEMORY)
		return RNIC_STATUS_LIM;
	if (octwords == 0)
		return mkey_to_be_filled(dev, mkey);
	if (mkey->mode == RNIC_MKEY_MTT)
		return mkey_mtts(dev, mkey, cmd, octwords * 2);
	return mkey_klms(dev, mkey, (const struct rnic_klm *)(in + 1), octwords);
}

SOFTRNIC_CMD(create_mkey)
{
	struct rnic_create_mkey_in in = *(const struct rnic_create_mkey_in *)cmd->in;
	struct rnic_object_out *out = cmd->out;
	struct softrnic_mkey *mkey;
	int status;

	/* There are no umems. */
	if (rnic_create_mkey_in_get(&in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_VALID) ||
	    !mkey_order_valid(dev, rnic_create_mkey_in_mkc(&in)))
		return RNIC_STATUS_BAD_PARAM;
	mkey = softrnic_alloc(dev, 1, sizeof(*mkey));
	if (mkey == NULL)
		return RNIC_STATUS_NO_RES;
	status = mkey_context(mkey, rnic_create_mkey_in_mkc(&in));
	if (status != RNIC_STATUS_OK)
		goto fail;
	mkey->page_rights = rnic_create_mkey_in_get(&in, RNIC_CREATE_MKEY_IN_PG_ACCESS);
	mkey->pd_object = softrnic_object_get(dev, SOFTRNIC_PD, mkey->pd);
	if (mkey->pd_object == NULL) {
		status = RNIC_STATUS_BAD_RES;
		goto fail;
	}
	status = mkey_translations(dev, mkey, cmd);
	if (status != RNIC_STATUS_OK)
		goto fail;
	status = softrnic_object_add(dev, SOFTRNIC_MKEY, &mkey->object);
	if (status != RNIC_STATUS_OK)
		goto fail;
	mkey->pd_object->refs++;
	softrnic_mkey_resolve(dev, mkey);
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, mkey->object.number);
	return RNIC_STATUS_OK;

fail:
	mkey_free(dev, mkey);
	return status;
}

SOFTRNIC_CMD(query_mkey)
{
	const struct rnic_object_in *in = cmd->in;
	struct rnic_query_mkey_out *out = cmd->out;
	const struct softrnic_mkey *mkey = softrnic_object_get(
		dev, SOFTRNIC_MKEY, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (mkey == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_mkey_out_mkc(out) = mkey->context;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_mkey)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_mkey *mkey = softrnic_object_get(
		dev, SOFTRNIC_MKEY, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (mkey == NULL)
		return RNIC_STATUS_BAD_RES;
	if (mkey->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	mkey->pd_object->refs--;
	softrnic_object_remove(dev, &mkey->object);
	mkey_free(dev, mkey);
	return RNIC_STATUS_OK;
}
