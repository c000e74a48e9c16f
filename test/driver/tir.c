/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "tir.h"

/* Of the context: rx_hash_toeplitz_key. */
#define KEY_OFFSET 0x28

static void
put_context(struct rnic_tirc *tirc, const struct drv_tir *tir)
{
	rnic_tirc_set(tirc, RNIC_TIRC_DISP_TYPE,
		      tir->rqtn != 0 ? RNIC_TIR_INDIRECT : RNIC_TIR_DIRECT);
	rnic_tirc_set(tirc, RNIC_TIRC_INLINE_RQN, tir->rqn);
	rnic_tirc_set(tirc, RNIC_TIRC_INDIRECT_TABLE, tir->rqtn);
	rnic_tirc_set(tirc, RNIC_TIRC_TRANSPORT_DOMAIN, tir->td);
	rnic_tirc_set(tirc, RNIC_TIRC_SELF_LB_BLOCK, tir->self_lb_block);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_FN, tir->hash);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_SYMMETRIC, tir->symmetric);
	if (tir->key != NULL)
		memcpy((uint8_t *)tirc + KEY_OFFSET, tir->key, DRV_TOEPLITZ_BYTES);
	rnic_tirc_set(tirc, RNIC_TIRC_RX_HASH_OUTER_SELECTED_FIELDS, tir->fields);
}

uint32_t
drv_tir_fill(void *in, const struct drv_tir *tir)
{
	drv_head(in, RNIC_CMD_CREATE_TIR, 0);
	put_context(rnic_create_tir_in_tirc(in), tir);
	return sizeof(struct rnic_create_tir_in);
}

int
drv_tir_create(struct drv *drv, const struct drv_tir *tir, uint32_t *tirn)
{
	struct rnic_create_tir_in in = { 0 };

	return drv_execute(drv, &in, drv_tir_fill(&in, tir), tirn);
}

int
drv_tir_modify(struct drv *drv, uint32_t tirn, uint64_t what, const struct drv_tir *tir)
{
	struct rnic_modify_tir_in in = { 0 };

	drv_head(&in, RNIC_CMD_MODIFY_TIR, 0);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_TIRN, tirn);
	rnic_modify_tir_in_set(&in, RNIC_MODIFY_TIR_IN_BITMASK, what);
	put_context(rnic_modify_tir_in_tirc(&in), tir);
	return drv_execute(drv, &in, sizeof(in), NULL);
}
