/* SPDX-License-Identifier: BSD-3-Clause */

/* Transport interface receive: where steering delivers, one queue or a table of them. */
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/port/port.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/tir.h"

/* Bits of MODIFY_TIR's bitmask. */
#define MODIFY_TIR_LRO		  UINT64_C(0x01)
#define MODIFY_TIR_INDIRECT_TABLE UINT64_C(0x02)
#define MODIFY_TIR_HASH		  UINT64_C(0x04)
#define MODIFY_TIR_SELF_LB	  UINT64_C(0x10)

/* Bytes of the context from the hash function's dword to the end of the inner fields' selection. */
#define HASH_KEY_DW	  (RNIC_FIELD_OFFSET(RNIC_TIRC_RX_HASH_TOEPLITZ_KEY_0) / 4)
#define HASH_SELECTION_DW (RNIC_FIELD_OFFSET(RNIC_TIRC_RX_HASH_INNER_L3_PROT_TYPE) / 4)

static bool
tirc_supported(const struct rnic_tirc *tirc)
{
	return !rnic_tirc_get(tirc, RNIC_TIRC_TLS_EN) &&
	       rnic_tirc_get(tirc, RNIC_TIRC_LRO_ENABLE_MASK) == 0 &&
	       !rnic_tirc_get(tirc, RNIC_TIRC_TUNNELED_OFFLOAD_EN) &&
	       rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_FN) <= RNIC_RX_HASH_TOEPLITZ;
}

/* Drivers name XOR8 where there is one queue and nothing to choose; as a choice it is not done. */
static bool
tir_hash_spreads(const struct rnic_tirc *tirc, uint32_t size)
{
	return size <= 1 || rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_FN) != RNIC_RX_HASH_INVERTED_XOR8;
}

bool
softrnic_tirs_take_size(struct softrnic *dev, const struct softrnic_rqt *rqt, uint32_t size)
{
	const struct softrnic_tir *tir;
	uint32_t number = 0;

	softrnic_spend_steps(dev, softrnic_object_limit(SOFTRNIC_TIR));
	while ((tir = softrnic_object_next(dev, SOFTRNIC_TIR, &number)) != NULL)
		if (tir->rqt == rqt && !tir_hash_spreads(&tir->context, size))
			return false;
	return true;
}

/* What the context names; nothing is taken yet. */
static int
tir_resolve(struct softrnic *dev, struct softrnic_tir *tir, const struct rnic_tirc *tirc)
{
	tir->disp_type = rnic_tirc_get(tirc, RNIC_TIRC_DISP_TYPE);
	tir->td = softrnic_object_find(dev, SOFTRNIC_TD,
				       rnic_tirc_get(tirc, RNIC_TIRC_TRANSPORT_DOMAIN));
	if (tir->td == NULL)
		return RNIC_STATUS_BAD_RES;
	switch (tir->disp_type) {
	case RNIC_TIR_DIRECT:
		tir->rq = softrnic_object_find(dev, SOFTRNIC_RQ,
					       rnic_tirc_get(tirc, RNIC_TIRC_INLINE_RQN));
		return tir->rq == NULL ? RNIC_STATUS_BAD_RES : RNIC_STATUS_OK;
	case RNIC_TIR_INDIRECT:
		tir->rqt = softrnic_object_find(dev, SOFTRNIC_RQT,
						rnic_tirc_get(tirc, RNIC_TIRC_INDIRECT_TABLE));
		if (tir->rqt == NULL)
			return RNIC_STATUS_BAD_RES;
		return tir_hash_spreads(tirc, tir->rqt->size) ? RNIC_STATUS_OK
							      : RNIC_STATUS_BAD_PARAM;
	default: return RNIC_STATUS_BAD_PARAM;
	}
}

static void
tir_refer(struct softrnic_tir *tir, int change)
{
	tir->td->refs += change;
	if (tir->rq != NULL)
		tir->rq->object.refs += change;
	if (tir->rqt != NULL)
		tir->rqt->object.refs += change;
}

static void
tir_set_self_lb(struct softrnic *dev, struct softrnic_tir *tir, uint64_t self_lb)
{
	dev->self_lb_tirs += (self_lb != 0) - (tir->self_lb != 0);
	softrnic_eth_changed(dev);
	tir->self_lb = (uint8_t)self_lb;
	rnic_tirc_set(&tir->context, RNIC_TIRC_SELF_LB_BLOCK, self_lb);
}

SOFTRNIC_CMD(create_tir)
{
	struct rnic_create_tir_in in = *(const struct rnic_create_tir_in *)cmd->in;
	const struct rnic_tirc *tirc = rnic_create_tir_in_tirc(&in);
	struct rnic_object_out *out = cmd->out;
	struct softrnic_tir *tir;
	int status;

	if (!tirc_supported(tirc))
		return RNIC_STATUS_BAD_PARAM;
	tir = softrnic_alloc(dev, 1, sizeof(*tir));
	if (tir == NULL)
		return RNIC_STATUS_NO_RES;
	tir->context = *tirc;
	status = tir_resolve(dev, tir, tirc);
	if (status == RNIC_STATUS_OK)
		status = softrnic_object_add(dev, SOFTRNIC_TIR, &tir->object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, tir);
		return status;
	}
	softrnic_rss_init(&tir->rss, &tir->context);
	tir_refer(tir, 1);
	tir_set_self_lb(dev, tir, rnic_tirc_get(tirc, RNIC_TIRC_SELF_LB_BLOCK));
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, tir->object.number);
	return RNIC_STATUS_OK;
}

static void
tir_modify_hash(struct softrnic_tir *tir, const struct rnic_tirc *tirc)
{
	rnic_tirc_set(&tir->context, RNIC_TIRC_RX_HASH_FN,
		      rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_FN));
	rnic_tirc_set(&tir->context, RNIC_TIRC_RX_HASH_SYMMETRIC,
		      rnic_tirc_get(tirc, RNIC_TIRC_RX_HASH_SYMMETRIC));
	memcpy(&tir->context.dw[HASH_KEY_DW], &tirc->dw[HASH_KEY_DW],
	       (HASH_SELECTION_DW - HASH_KEY_DW + 1) * sizeof(tirc->dw[0]));
	softrnic_rss_init(&tir->rss, &tir->context);
}

SOFTRNIC_CMD(modify_tir)
{
	struct rnic_modify_tir_in in = *(const struct rnic_modify_tir_in *)cmd->in;
	uint64_t bitmask = rnic_modify_tir_in_get(&in, RNIC_MODIFY_TIR_IN_BITMASK);
	const struct rnic_tirc *tirc = rnic_modify_tir_in_tirc(&in);
	struct softrnic_tir *tir = softrnic_object_find(
		dev, SOFTRNIC_TIR, rnic_modify_tir_in_get(&in, RNIC_MODIFY_TIR_IN_TIRN));
	const struct rnic_tirc *hash;
	struct softrnic_rqt *rqt;

	if (tir == NULL)
		return RNIC_STATUS_BAD_RES;
	if ((bitmask & ~(MODIFY_TIR_LRO | MODIFY_TIR_INDIRECT_TABLE | MODIFY_TIR_HASH |
			 MODIFY_TIR_SELF_LB)) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if ((bitmask & (MODIFY_TIR_LRO | MODIFY_TIR_HASH)) != 0 && !tirc_supported(tirc))
		return RNIC_STATUS_BAD_PARAM;
	hash = (bitmask & MODIFY_TIR_HASH) != 0 ? tirc : &tir->context;
	rqt = tir->rqt;
	if ((bitmask & MODIFY_TIR_INDIRECT_TABLE) != 0) {
		if (tir->disp_type != RNIC_TIR_INDIRECT)
			return RNIC_STATUS_BAD_PARAM;
		rqt = softrnic_object_find(dev, SOFTRNIC_RQT,
					   rnic_tirc_get(tirc, RNIC_TIRC_INDIRECT_TABLE));
		if (rqt == NULL)
			return RNIC_STATUS_BAD_RES;
	}
	if (rqt != NULL && !tir_hash_spreads(hash, rqt->size))
		return RNIC_STATUS_BAD_PARAM;
	if (rqt != tir->rqt) {
		rqt->object.refs++;
		tir->rqt->object.refs--;
		tir->rqt = rqt;
		rnic_tirc_set(&tir->context, RNIC_TIRC_INDIRECT_TABLE, rqt->object.number);
	}
	if ((bitmask & MODIFY_TIR_HASH) != 0)
		tir_modify_hash(tir, tirc);
	if ((bitmask & MODIFY_TIR_SELF_LB) != 0)
		tir_set_self_lb(dev, tir, rnic_tirc_get(tirc, RNIC_TIRC_SELF_LB_BLOCK));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_tir)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_tir *tir = softrnic_object_find(
		dev, SOFTRNIC_TIR, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (tir == NULL)
		return RNIC_STATUS_BAD_RES;
	if (tir->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	tir_refer(tir, -1);
	tir_set_self_lb(dev, tir, 0);
	softrnic_object_remove(dev, &tir->object);
	softrnic_free(dev, tir);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_tir)
{
	const struct rnic_object_in *in = cmd->in;
	struct rnic_query_tir_out *out = cmd->out;
	const struct softrnic_tir *tir = softrnic_object_find(
		dev, SOFTRNIC_TIR, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (tir == NULL)
		return RNIC_STATUS_BAD_RES;
	*rnic_query_tir_out_tirc(out) = tir->context;
	return RNIC_STATUS_OK;
}
