/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The translations of a key. They live in our memory: what a driver changes in its own afterwards does not count. Of a key that WQEs
 * change there is room for as many as it was made for, so that no WQE fails for want of memory.
 */
#include <malloc.h>
#include <string.h>

#include <rte_common.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/umem.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/list.h"

/* Pages of a list that are looked at when the key is made, so that a driver hears what is wrong; others, where they are used. */
#define LOOK_PAGES (1u << 14)

#define OCTWORD	      sizeof(struct rnic_klm)
#define OCTWORD_PAGES (OCTWORD / sizeof(struct rnic_be64))
#define ROOM_OCTWORDS 4u /* WQEs bring 64 bytes at a time */

void
softrnic_list_free(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	dev->translation_bytes -= mkey->room_bytes;
	softrnic_spend_bytes(dev, mkey->room_bytes);
	softrnic_free(dev, mkey->room);
	if (mkey->umem != NULL)
		mkey->umem->refs--;
	mkey->umem = NULL;
	mkey->room = NULL;
	mkey->room_bytes = 0;
}

uint64_t
softrnic_list_pages_needed(const struct softrnic_mkey *mkey)
{
	uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	uint64_t first = mkey->start & (page_bytes - 1);

	if (mkey->length == 0)
		return 0;
	/* The last page minus the first, without adding what could wrap. */
	return ((mkey->start + (mkey->length - 1)) >> mkey->log_page_size) -
	       ((mkey->start - first) >> mkey->log_page_size) + 1;
}

void *
softrnic_list_at(const struct softrnic_mkey *mkey, uint32_t octword)
{
	uint8_t *list = mkey->mode == RNIC_MKEY_MTT ? (uint8_t *)mkey->mtts : (uint8_t *)mkey->klms;

	return list + octword * OCTWORD;
}

uint32_t
softrnic_list_octwords(const struct softrnic_mkey *mkey)
{
	return mkey->mode == RNIC_MKEY_MTT ? mkey->translation_count / OCTWORD_PAGES
					   : mkey->translation_count;
}

/* ---- Lists of pages ---- */

/* How long the buffer is that the input came in, which may have been made for a longer command; 0: it is not ours to keep. */
static uint64_t
list_keep_input(struct softrnic *dev, struct softrnic_cmd *cmd)
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

static int
list_pages_room(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t octwords)
{
	mkey->room = softrnic_alloc(dev, octwords, OCTWORD);
	if (mkey->room == NULL)
		return RNIC_STATUS_NO_RES;
	mkey->room_bytes = octwords * OCTWORD;
	dev->translation_bytes += mkey->room_bytes;
	mkey->mtts = mkey->room;
	mkey->list_room = octwords;
	return RNIC_STATUS_OK;
}

/* The list as it came: a very long one stays where it is, in the input of the command, if that is all that it may become. */
static int
list_pages_take(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd,
		uint32_t octwords, uint32_t room)
{
	const struct rnic_create_mkey_in *in = cmd->in;
	int status;

	mkey->room_bytes = room > octwords ? 0 : list_keep_input(dev, cmd);
	if (mkey->room_bytes != 0) {
		dev->translation_bytes += mkey->room_bytes;
		mkey->room = (void *)(uintptr_t)in;
		mkey->mtts = (struct rnic_be64 *)((struct rnic_create_mkey_in *)mkey->room + 1);
		mkey->list_room = octwords;
		return RNIC_STATUS_OK;
	}
	status = list_pages_room(dev, mkey, room);
	if (status == RNIC_STATUS_OK)
		memcpy(mkey->mtts, in + 1, octwords * OCTWORD);
	return status;
}

static int
list_pages_create(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd,
		  uint32_t octwords, uint32_t room)
{
	const uint64_t needed = softrnic_list_pages_needed(mkey);
	const uint64_t count = octwords * OCTWORD_PAGES;
	int status;

	if (!mkey->free && count < needed)
		return RNIC_STATUS_BAD_PARAM;
	status = list_pages_take(dev, mkey, cmd, octwords, room);
	if (status != RNIC_STATUS_OK)
		return status;
	softrnic_list_written(dev, mkey, octwords);
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

/* Pages of a umem, which may be larger there; the first one has `start` where the umem has that byte. */
static int
list_pages_of_umem(struct softrnic *dev, struct softrnic_mkey *mkey,
		   const struct softrnic_address *address)
{
	const uint64_t page_bytes = UINT64_C(1) << mkey->log_page_size;
	const uint64_t count = softrnic_list_pages_needed(mkey),
		       first = mkey->start & (page_bytes - 1);
	const uint64_t octwords = (count + OCTWORD_PAGES - 1) / OCTWORD_PAGES;
	struct softrnic_umem *umem;
	int status = softrnic_umem_find(dev, address, mkey->length, &umem);

	if (status != RNIC_STATUS_OK)
		return status;
	if (mkey->log_page_size > umem->page_shift)
		return RNIC_STATUS_BAD_PARAM;
	if (octwords > SOFTRNIC_TRANSLATION_MEMORY / OCTWORD ||
	    dev->translation_bytes + octwords * OCTWORD > SOFTRNIC_TRANSLATION_MEMORY)
		return RNIC_STATUS_LIM;
	status = list_pages_room(dev, mkey, (uint32_t)octwords);
	if (status != RNIC_STATUS_OK)
		return status;
	mkey->umem = &umem->object;
	mkey->umem->refs++;
	mkey->page_rights = true;
	for (uint64_t i = 0, at = address->at; i < count; i++, at += page_bytes) {
		const uint64_t page = softrnic_umem_at(umem, at) - (i == 0 ? first : 0);

		if ((page & (page_bytes - 1)) != 0)
			return RNIC_STATUS_BAD_PARAM;
		mkey->mtts[i] = rnic_cpu_to_be64(page | umem->rights);
		at -= i == 0 ? first : 0;
	}
	softrnic_list_written(dev, mkey, (uint32_t)octwords);
	return RNIC_STATUS_OK;
}

/* ---- Lists of keys ---- */

static uint32_t
list_in_parts(uint32_t count, uint32_t part)
{
	return (count + part - 1) / part;
}

/* The levels of ends, of which the last one is one line. @return how many ends there are on all of them. */
static uint32_t
list_levels(struct softrnic_mkey *mkey, uint32_t entries)
{
	uint32_t ends = list_in_parts(entries, SOFTRNIC_KLM_LEAF), at = 0, lines;

	mkey->klm_levels = 0;
	do {
		lines = list_in_parts(ends, SOFTRNIC_KLM_FAN);
		mkey->klm_level[mkey->klm_levels++] = at;
		at += lines * SOFTRNIC_KLM_FAN;
		ends = lines;
	} while (lines > 1);
	return at;
}

/* So that an access finds its place in a list of any length without walking through it. */
static void
list_ends(struct softrnic_mkey *mkey)
{
	uint32_t ends = list_in_parts(mkey->translation_count, SOFTRNIC_KLM_LEAF);

	memset(mkey->klm_ends, 0xff,
	       list_levels(mkey, mkey->translation_count) * sizeof(*mkey->klm_ends));
	mkey->klm_bytes = 0;
	for (uint32_t i = 0; i < mkey->translation_count; i++) {
		mkey->klm_bytes += softrnic_klm_bytes(&mkey->klms[i]);
		mkey->klm_ends[i / SOFTRNIC_KLM_LEAF] = mkey->klm_bytes;
	}
	for (unsigned int level = 1; level < mkey->klm_levels; level++) {
		const uint64_t *below = mkey->klm_ends + mkey->klm_level[level - 1];

		for (uint32_t i = 0; i < ends; i++)
			mkey->klm_ends[mkey->klm_level[level] + i / SOFTRNIC_KLM_FAN] = below[i];
		ends = list_in_parts(ends, SOFTRNIC_KLM_FAN);
	}
}

/* Where so many entries go, and behind them the ends of those of KLM. */
static int
list_keys_room(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t count)
{
	uint64_t list_bytes, ends_bytes = 0;

	if (mkey->mode == RNIC_MKEY_KLM)
		ends_bytes = list_levels(mkey, count) * sizeof(*mkey->klm_ends);
	list_bytes = (count * sizeof(*mkey->klms) + SOFTRNIC_LINE - 1) & -(uint64_t)SOFTRNIC_LINE;
	mkey->room = softrnic_alloc(dev, 1, SOFTRNIC_LINE + list_bytes + ends_bytes);
	if (mkey->room == NULL)
		return RNIC_STATUS_NO_RES;
	mkey->room_bytes = SOFTRNIC_LINE + list_bytes + ends_bytes;
	dev->translation_bytes += mkey->room_bytes;
	mkey->klms =
		(void *)((uint8_t *)mkey->room + (-(uintptr_t)mkey->room & (SOFTRNIC_LINE - 1)));
	mkey->klm_ends = (void *)((uint8_t *)mkey->klms + list_bytes);
	mkey->list_room = count;
	return RNIC_STATUS_OK;
}

static int
list_keys_create(struct softrnic *dev, struct softrnic_mkey *mkey, const struct rnic_klm *list,
		 uint32_t count, uint32_t room)
{
	int status;

	if (count > SOFTRNIC_MAX_KLMS)
		return RNIC_STATUS_LIM;
	if (mkey->mode == RNIC_MKEY_KSM && !mkey->free && count < softrnic_list_pages_needed(mkey))
		return RNIC_STATUS_BAD_PARAM;
	status = list_keys_room(dev, mkey, room);
	if (status != RNIC_STATUS_OK)
		return status;
	memcpy(mkey->klms, list, count * sizeof(*mkey->klms));
	softrnic_list_written(dev, mkey, count);
	return RNIC_STATUS_OK;
}

/* ---- Both ---- */

void
softrnic_list_written(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t octwords)
{
	mkey->translation_count = mkey->mode == RNIC_MKEY_MTT ? octwords * OCTWORD_PAGES : octwords;
	/* Of a very long one that is the whole share: where its pages are is looked up when it is used. */
	softrnic_spend_steps(dev, mkey->translation_count);
	if (mkey->mode == RNIC_MKEY_KLM)
		list_ends(mkey);
}

/* A key of nothing; or one that WQEs fill, which must not fail for want of memory. */
static int
list_to_be_filled(struct softrnic *dev, struct softrnic_mkey *mkey, uint32_t room)
{
	if (!mkey->free && mkey->length > 0)
		return RNIC_STATUS_BAD_PARAM;
	if (!mkey->umr_en || room == 0)
		return RNIC_STATUS_OK;
	return mkey->mode == RNIC_MKEY_MTT ? list_pages_room(dev, mkey, room)
					   : list_keys_room(dev, mkey, room);
}

int
softrnic_list_create(struct softrnic *dev, struct softrnic_mkey *mkey, struct softrnic_cmd *cmd)
{
	const struct rnic_create_mkey_in *in = cmd->in;
	const uint64_t said = rnic_mkc_get(&mkey->context, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE);
	const uint32_t octwords = (uint32_t)rnic_create_mkey_in_get(
		in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE);
	const struct softrnic_address address = {
		.in_umem = rnic_create_mkey_in_get(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_VALID) != 0,
		.umem = (uint32_t)rnic_create_mkey_in_get(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_ID),
		.at = rnic_create_mkey_in_get(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_OFFSET),
	};
	uint64_t room = octwords;

	/* Pages are a user's, entries and all of memory are not. */
	if (address.in_umem)
		return mkey->mode == RNIC_MKEY_MTT && !mkey->umr_en
			       ? list_pages_of_umem(dev, mkey, &address)
			       : RNIC_STATUS_BAD_PARAM;
	if (mkey->mode == RNIC_MKEY_PA)
		return RNIC_STATUS_OK;
	if ((cmd->in_bytes - sizeof(*in)) / OCTWORD < octwords)
		return RNIC_STATUS_BAD_INP_LEN;
	if (octwords > said)
		return RNIC_STATUS_BAD_PARAM;
	if (mkey->umr_en)
		room = RTE_ALIGN(said, ROOM_OCTWORDS);
	if (mkey->mode != RNIC_MKEY_MTT)
		room = RTE_MIN(room, SOFTRNIC_MAX_KLMS);
	/* These live in our memory, not in the host's. */
	if (dev->translation_bytes + room * OCTWORD > SOFTRNIC_TRANSLATION_MEMORY)
		return RNIC_STATUS_LIM;
	if (octwords == 0)
		return list_to_be_filled(dev, mkey, (uint32_t)room);
	if (mkey->mode == RNIC_MKEY_MTT)
		return list_pages_create(dev, mkey, cmd, octwords, (uint32_t)room);
	return list_keys_create(dev, mkey, (const struct rnic_klm *)(in + 1), octwords,
				(uint32_t)room);
}
