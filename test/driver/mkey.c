/* SPDX-License-Identifier: BSD-3-Clause */

#include "mkey.h"

struct rnic_klm
drv_klm(uint32_t bytes, uint32_t key, uint64_t address)
{
	return (struct rnic_klm){ rnic_cpu_to_be32(bytes), rnic_cpu_to_be32(key),
				  rnic_cpu_to_be64(address) };
}

uint32_t
drv_mkey_octwords(const struct drv_mkey *mkey)
{
	if (mkey->klms != NULL)
		return mkey->count;
	return ((mkey->mtts != NULL ? mkey->count : mkey->pages.count) + 1) / 2;
}

size_t
drv_mkey_bytes(const struct drv_mkey *mkey)
{
	return sizeof(struct rnic_create_mkey_in) + drv_mkey_octwords(mkey) * 16ul;
}

static void
put_translations(void *list, const struct drv_mkey *mkey)
{
	struct drv_pages pages = mkey->pages;
	struct rnic_be64 *mtts = list;
	struct rnic_klm *klms = list;

	if (mkey->klms != NULL) {
		for (uint32_t i = 0; i < mkey->count; i++)
			klms[i] = mkey->klms[i];
	} else if (mkey->mtts != NULL) {
		for (uint32_t i = 0; i < mkey->count; i++)
			mtts[i] = rnic_cpu_to_be64(mkey->mtts[i]);
	} else {
		pages.iova |= RNIC_MTT_READ | RNIC_MTT_WRITE;
		drv_pages_put(list, 0, &pages);
	}
}

uint32_t
drv_mkey_fill(void *in, const struct drv_mkey *mkey)
{
	struct rnic_mkc *mkc = rnic_create_mkey_in_mkc(in);
	const uint32_t octwords = drv_mkey_octwords(mkey);

	drv_head(in, RNIC_CMD_CREATE_MKEY, 0);
	rnic_mkc_set(mkc, RNIC_MKC_FREE, mkey->free);
	rnic_mkc_set(mkc, RNIC_MKC_LR, (mkey->access & DRV_LR) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_LW, (mkey->access & DRV_LW) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RR, (mkey->access & DRV_RR) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_RW, (mkey->access & DRV_RW) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_A, (mkey->access & DRV_A) != 0);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_1_0, mkey->mode & 3);
	rnic_mkc_set(mkc, RNIC_MKC_ACCESS_MODE_4_2, mkey->mode >> 2);
	rnic_mkc_set(mkc, RNIC_MKC_QPN, mkey->qpn != 0 ? mkey->qpn : RNIC_MKEY_ANY_QPN);
	rnic_mkc_set(mkc, RNIC_MKC_MKEY_7_0, mkey->variant);
	rnic_mkc_set(mkc, RNIC_MKC_UMR_EN, mkey->umr);
	rnic_mkc_set(mkc, RNIC_MKC_EN_RINVAL, mkey->rinval);
	rnic_mkc_set(mkc, RNIC_MKC_LENGTH64, mkey->length64);
	rnic_mkc_set(mkc, RNIC_MKC_PD, mkey->pd);
	rnic_mkc_set(mkc, RNIC_MKC_START_ADDR, mkey->start);
	rnic_mkc_set(mkc, RNIC_MKC_LEN, mkey->length);
	rnic_mkc_set(mkc, RNIC_MKC_TRANSLATIONS_OCTWORD_SIZE,
		     mkey->room != 0 ? mkey->room : octwords);
	rnic_mkc_set(mkc, RNIC_MKC_LOG_PAGE_SIZE, mkey->log_page_size);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, octwords);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_PG_ACCESS, mkey->page_rights);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_VALID, mkey->umem != 0);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_ID, mkey->umem);
	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_MKEY_UMEM_OFFSET, mkey->umem_at);
	put_translations((struct rnic_create_mkey_in *)in + 1, mkey);
	return (uint32_t)drv_mkey_bytes(mkey);
}

int
drv_mkey_create(struct drv *drv, const struct drv_mkey *mkey, uint32_t *key)
{
	void *in = drv_in(drv_mkey_bytes(mkey));
	uint32_t index;
	int status = drv_create(drv, in, drv_mkey_fill(in, mkey), &index);

	*key = index << 8 | mkey->variant;
	return status;
}

uint32_t
drv_reserved_lkey(struct drv *drv)
{
	struct rnic_object_in in = { 0 };
	struct rnic_query_special_contexts_out out;

	drv_head(&in, RNIC_CMD_QUERY_SPECIAL_CONTEXTS, 0);
	if (drv->execute(drv, &in, sizeof(in), &out, sizeof(out)) != 0)
		return 0;
	return (uint32_t)rnic_query_special_contexts_out_get(
		&out, RNIC_QUERY_SPECIAL_CONTEXTS_OUT_RESD_LKEY);
}
