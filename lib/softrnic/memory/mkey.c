/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory keys: create, query, destroy. Accesses by key are in tpt.c. */
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/memory/list.h"
#include "softrnic/memory/mkey.h"
#include "softrnic/memory/tpt.h"

static void
mkey_free(struct softrnic *dev, struct softrnic_mkey *mkey)
{
	softrnic_mkey_forget(dev, mkey);
	softrnic_list_free(dev, mkey);
	softrnic_chunks_free(dev, mkey);
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

int
softrnic_mkey_context(struct softrnic_mkey *mkey, const struct rnic_mkc *mkc)
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

SOFTRNIC_CMD(create_mkey)
{
	struct rnic_create_mkey_in in = *(const struct rnic_create_mkey_in *)cmd->in;
	struct rnic_object_out *out = cmd->out;
	struct softrnic_mkey *mkey;
	int status;

	if (!mkey_order_valid(dev, rnic_create_mkey_in_mkc(&in)))
		return RNIC_STATUS_BAD_PARAM;
	mkey = softrnic_alloc(dev, 1, sizeof(*mkey));
	if (mkey == NULL)
		return RNIC_STATUS_NO_RES;
	status = softrnic_mkey_context(mkey, rnic_create_mkey_in_mkc(&in));
	if (status != RNIC_STATUS_OK)
		goto fail;
	/* A user's memory is what the kernel has pinned for him, in a list or by other keys. */
	if (mkey->mode == RNIC_MKEY_PA && softrnic_is_users(dev)) {
		status = softrnic_refuse(dev, cmd, "addresses of the bus are not for users");
		goto fail;
	}
	mkey->page_rights = rnic_create_mkey_in_get(&in, RNIC_CREATE_MKEY_IN_PG_ACCESS);
	mkey->pd_object = softrnic_object_find(dev, SOFTRNIC_PD, mkey->pd);
	if (mkey->pd_object == NULL) {
		status = RNIC_STATUS_BAD_RES;
		goto fail;
	}
	status = softrnic_list_create(dev, mkey, cmd);
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
	const struct softrnic_mkey *mkey = softrnic_object_find(
		dev, SOFTRNIC_MKEY, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (mkey == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_mkey_out_mkc(out) = mkey->context;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_mkey)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_mkey *mkey = softrnic_object_find(
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
