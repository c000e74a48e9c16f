/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queue tables: what a hash chooses from. */
#include <stdlib.h>
#include <string.h>

#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/sizes.h"
#include "softrnic/receive/rq.h"
#include "softrnic/receive/rqt.h"
#include "softrnic/receive/tir.h"

void
softrnic_rqt_drop(struct softrnic *dev, struct softrnic_object *object)
{
	struct softrnic_rqt *rqt = (struct softrnic_rqt *)object;

	softrnic_object_remove(dev, object);
	softrnic_free(dev, rqt->rqs);
	softrnic_free(dev, rqt);
}

/* The queues that a command lists behind its context, `fixed` bytes from its start; the caller frees them. */
static int
rqt_list(struct softrnic *dev, const struct softrnic_cmd *cmd, size_t fixed, uint32_t size,
	 struct softrnic_rq ***list)
{
	const struct rnic_rqn_entry *entries = (const void *)((const uint8_t *)cmd->in + fixed);
	struct softrnic_rq **rqs;

	/* A hash is masked to an index. */
	if (size == 0 || (size & (size - 1)) != 0 || size > 1u << SOFTRNIC_LOG_MAX_RQT_SIZE)
		return RNIC_STATUS_BAD_PARAM;
	if ((cmd->in_bytes - fixed) / sizeof(*entries) < size)
		return RNIC_STATUS_BAD_INP_LEN;
	rqs = softrnic_alloc(dev, size, sizeof(*rqs));
	if (rqs == NULL)
		return RNIC_STATUS_NO_RES;
	for (uint32_t i = 0; i < size; i++) {
		rqs[i] = softrnic_object_find(dev, SOFTRNIC_RQ,
					      rnic_rqn_entry_get(&entries[i], RNIC_RQN_ENTRY_RQN));
		if (rqs[i] == NULL) {
			softrnic_free(dev, rqs);
			return RNIC_STATUS_BAD_RES;
		}
	}
	*list = rqs;
	return RNIC_STATUS_OK;
}

static void
rqt_refer(struct softrnic_rq **rqs, uint32_t size, int change)
{
	for (uint32_t i = 0; i < size; i++)
		rqs[i]->object.refs += change;
}

SOFTRNIC_CMD(create_rqt)
{
	struct rnic_create_rqt_in in = *(const struct rnic_create_rqt_in *)cmd->in;
	const struct rnic_rqtc *rqtc = rnic_create_rqt_in_rqtc(&in);
	uint32_t max_size = rnic_rqtc_get(rqtc, RNIC_RQTC_RQT_MAX_SIZE);
	uint32_t size = rnic_rqtc_get(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE);
	struct rnic_object_out *out = cmd->out;
	struct softrnic_rqt *rqt;
	int status;

	if (size > max_size || max_size > 1u << SOFTRNIC_LOG_MAX_RQT_SIZE)
		return RNIC_STATUS_BAD_PARAM;
	rqt = softrnic_alloc(dev, 1, sizeof(*rqt));
	if (rqt == NULL)
		return RNIC_STATUS_NO_RES;
	rqt->max_size = max_size;
	rqt->size = size;
	status = rqt_list(dev, cmd, sizeof(in), size, &rqt->rqs);
	if (status == RNIC_STATUS_OK)
		status = softrnic_object_add(dev, SOFTRNIC_RQT, &rqt->object);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, rqt->rqs);
		softrnic_free(dev, rqt);
		return status;
	}
	rqt_refer(rqt->rqs, size, 1);
	rnic_object_out_set(out, RNIC_OBJECT_OUT_NUMBER, rqt->object.number);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(modify_rqt)
{
	struct rnic_modify_rqt_in in = *(const struct rnic_modify_rqt_in *)cmd->in;
	uint64_t bitmask = rnic_modify_rqt_in_get(&in, RNIC_MODIFY_RQT_IN_BITMASK);
	uint32_t size = rnic_rqtc_get(rnic_modify_rqt_in_rqtc(&in), RNIC_RQTC_RQT_ACTUAL_SIZE);
	struct softrnic_rqt *rqt = softrnic_object_find(
		dev, SOFTRNIC_RQT, rnic_modify_rqt_in_get(&in, RNIC_MODIFY_RQT_IN_RQTN));
	struct softrnic_rq **rqs;
	int status;

	if (rqt == NULL)
		return RNIC_STATUS_BAD_RES;
	if ((bitmask & ~(uint64_t)RNIC_MODIFY_RQT_RQN_LIST) != 0)
		return RNIC_STATUS_BAD_PARAM;
	if (bitmask == 0)
		return RNIC_STATUS_OK;
	if (size > rqt->max_size || !softrnic_tirs_take_size(dev, rqt, size))
		return RNIC_STATUS_BAD_PARAM;
	status = rqt_list(dev, cmd, sizeof(in), size, &rqs);
	if (status != RNIC_STATUS_OK)
		return status;
	rqt_refer(rqs, size, 1);
	rqt_refer(rqt->rqs, rqt->size, -1);
	softrnic_free(dev, rqt->rqs);
	rqt->rqs = rqs;
	rqt->size = size;
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(destroy_rqt)
{
	const struct rnic_object_in *in = cmd->in;
	struct softrnic_rqt *rqt = softrnic_object_find(
		dev, SOFTRNIC_RQT, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (rqt == NULL)
		return RNIC_STATUS_BAD_RES;
	if (rqt->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	rqt_refer(rqt->rqs, rqt->size, -1);
	softrnic_object_remove(dev, &rqt->object);
	softrnic_free(dev, rqt->rqs);
	softrnic_free(dev, rqt);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_rqt)
{
	const struct rnic_object_in *in = cmd->in;
	struct rnic_query_rqt_out *out = cmd->out;
	struct rnic_rqtc *rqtc = rnic_query_rqt_out_rqtc(out);
	struct rnic_rqn_entry *entries = (struct rnic_rqn_entry *)(out + 1);
	const struct softrnic_rqt *rqt = softrnic_object_find(
		dev, SOFTRNIC_RQT, rnic_object_in_get(in, RNIC_OBJECT_IN_NUMBER));

	if (rqt == NULL)
		return RNIC_STATUS_BAD_RES;
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_MAX_SIZE, rqt->max_size);
	rnic_rqtc_set(rqtc, RNIC_RQTC_RQT_ACTUAL_SIZE, rqt->size);
	/* The largest table fits into every output buffer. */
	for (uint32_t i = 0; i < rqt->size; i++)
		rnic_rqn_entry_set(&entries[i], RNIC_RQN_ENTRY_RQN, rqt->rqs[i]->object.number);
	return RNIC_STATUS_OK;
}
