/* SPDX-License-Identifier: BSD-3-Clause */

#include "xrc_srq.h"

#define LOG_UNIT 4 /* log_rq_stride counts from 16 bytes on */

uint32_t
drv_xrc_srq_fill(void *in, const struct drv_xrc_srq *srq)
{
	struct rnic_xrc_srqc *srqc = rnic_create_xrc_srq_in_xrc_srqc(in);

#define SET(field, value) rnic_xrc_srqc_set(srqc, RNIC_XRC_SRQC_##field, value)
	drv_head(in, RNIC_CMD_CREATE_XRC_SRQ, 0);
	SET(LOG_XRC_SRQ_SIZE, srq->log_size);
	SET(LOG_RQ_STRIDE, srq->log_stride - LOG_UNIT);
	SET(BASIC_CYCLIC_RCV_WQE, srq->cyclic);
	SET(XRCD, srq->xrcd);
	SET(CQN, srq->cqn);
	SET(USER_INDEX, srq->user_index);
	SET(PD, srq->pd);
	SET(LWM, srq->limit);
	SET(DBR_ADDR, srq->dbrec);
#undef SET
	return drv_pages_put(in, sizeof(struct rnic_create_xrc_srq_in), &srq->ring);
}

int
drv_xrc_srq_create(struct drv *drv, const struct drv_xrc_srq *srq, uint32_t *srqn)
{
	void *in = drv_in(sizeof(struct rnic_create_xrc_srq_in) + srq->ring.count * 8ul);

	return drv_create(drv, in, drv_xrc_srq_fill(in, srq), srqn);
}

uint32_t
drv_xrc_srq_arm_fill(void *in, uint32_t srqn, uint32_t limit)
{
	drv_head(in, RNIC_CMD_ARM_XRC_SRQ, RNIC_ARM_XRC_SRQ_OP_MOD);
	rnic_arm_xrc_srq_in_set(in, RNIC_ARM_XRC_SRQ_IN_XRC_SRQN, srqn);
	rnic_arm_xrc_srq_in_set(in, RNIC_ARM_XRC_SRQ_IN_LWM, limit);
	return sizeof(struct rnic_arm_xrc_srq_in);
}

int
drv_xrc_srq_arm(struct drv *drv, uint32_t srqn, uint32_t limit)
{
	struct rnic_arm_xrc_srq_in in = { 0 };

	return drv_execute(drv, &in, drv_xrc_srq_arm_fill(&in, srqn, limit), NULL);
}

int
drv_xrc_srq_query(struct drv *drv, uint32_t srqn, struct rnic_xrc_srqc *srqc)
{
	struct rnic_query_xrc_srq_out out;
	int status = drv_query(drv, RNIC_CMD_QUERY_XRC_SRQ, srqn, &out, sizeof(out));

	*srqc = *rnic_query_xrc_srq_out_xrc_srqc(&out);
	return status;
}
