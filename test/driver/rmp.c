/* SPDX-License-Identifier: BSD-3-Clause */

#include "rmp.h"
#include "wq.h"

uint32_t
drv_rmp_fill(void *in, const struct drv_rmp *rmp)
{
	struct rnic_rmpc *rmpc = rnic_create_rmp_in_rmpc(in);
	struct rnic_wq *wq = rnic_rmpc_wq(rmpc);

	drv_head(in, RNIC_CMD_CREATE_RMP, 0);
	rnic_rmpc_set(rmpc, RNIC_RMPC_STATE, RNIC_WQ_STATE_RDY);
	rnic_rmpc_set(rmpc, RNIC_RMPC_BASIC_CYCLIC_RCV_WQE, rmp->cyclic);
	drv_wq_put(wq, rmp->pd, rmp->dbrec, rmp->log_stride, rmp->log_size);
	if (!rmp->cyclic)
		rnic_wq_set(wq, RNIC_WQ_WQ_TYPE, RNIC_WQ_LINKED_LIST);
	rnic_wq_set(wq, RNIC_WQ_LWM, rmp->limit);
	return drv_pages_put(in, sizeof(struct rnic_create_rmp_in), &rmp->ring);
}

int
drv_rmp_create(struct drv *drv, const struct drv_rmp *rmp, uint32_t *rmpn)
{
	void *in = drv_in(sizeof(struct rnic_create_rmp_in) + rmp->ring.count * 8ul);

	return drv_create(drv, in, drv_rmp_fill(in, rmp), rmpn);
}

uint32_t
drv_rmp_modify_fill(void *in, uint32_t rmpn, unsigned int from, unsigned int to)
{
	drv_head(in, RNIC_CMD_MODIFY_RMP, 0);
	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_RMP_STATE, from);
	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_RMPN, rmpn);
	rnic_rmpc_set(rnic_modify_rmp_in_rmpc(in), RNIC_RMPC_STATE, to);
	return sizeof(struct rnic_modify_rmp_in);
}

uint32_t
drv_rmp_limit_fill(void *in, uint32_t rmpn, uint32_t limit)
{
	rnic_modify_rmp_in_set(in, RNIC_MODIFY_RMP_IN_BITMASK, RNIC_MODIFY_RMP_LWM);
	rnic_wq_set(rnic_rmpc_wq(rnic_modify_rmp_in_rmpc(in)), RNIC_WQ_LWM, limit);
	return drv_rmp_modify_fill(in, rmpn, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RDY);
}

int
drv_rmp_modify(struct drv *drv, uint32_t rmpn, unsigned int from, unsigned int to)
{
	struct rnic_modify_rmp_in in = { 0 };

	return drv_execute(drv, &in, drv_rmp_modify_fill(&in, rmpn, from, to), NULL);
}

int
drv_rmp_limit_set(struct drv *drv, uint32_t rmpn, uint32_t limit)
{
	struct rnic_modify_rmp_in in = { 0 };

	return drv_execute(drv, &in, drv_rmp_limit_fill(&in, rmpn, limit), NULL);
}

int
drv_rmp_query(struct drv *drv, uint32_t rmpn, struct rnic_rmpc *rmpc)
{
	struct rnic_query_rmp_out out;
	int status = drv_query(drv, RNIC_CMD_QUERY_RMP, rmpn, &out, sizeof(out));

	*rmpc = *rnic_query_rmp_out_rmpc(&out);
	return status;
}
