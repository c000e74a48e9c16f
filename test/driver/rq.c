/* SPDX-License-Identifier: BSD-3-Clause */

#include "rq.h"
#include "wq.h"

uint32_t
drv_rq_fill(void *in, const struct drv_rq *rq)
{
	struct rnic_rqc *rqc = rnic_create_rq_in_rqc(in);

	drv_head(in, RNIC_CMD_CREATE_RQ, 0);
	rnic_rqc_set(rqc, RNIC_RQC_VSD, rq->vsd);
	rnic_rqc_set(rqc, RNIC_RQC_FLUSH_IN_ERROR_EN, rq->flush);
	rnic_rqc_set(rqc, RNIC_RQC_TS_FORMAT, rq->ts_format);
	rnic_rqc_set(rqc, RNIC_RQC_USER_INDEX, rq->user_index);
	rnic_rqc_set(rqc, RNIC_RQC_CQN, rq->cqn);
	rnic_rqc_set(rqc, RNIC_RQC_COUNTER_SET_ID, rq->counter);
	if (rq->rmpn != 0) {
		rnic_rqc_set(rqc, RNIC_RQC_MEM_RQ_TYPE, RNIC_RQ_MEM_RMP);
		rnic_rqc_set(rqc, RNIC_RQC_RMPN, rq->rmpn);
	} else {
		drv_wq_put(rnic_rqc_wq(rqc), rq->pd, rq->dbrec, rq->log_stride, rq->log_size);
	}
	return drv_pages_put(in, sizeof(struct rnic_create_rq_in), &rq->ring);
}

int
drv_rq_create(struct drv *drv, const struct drv_rq *rq, uint32_t *rqn)
{
	void *in = drv_in(sizeof(struct rnic_create_rq_in) + rq->ring.count * 8ul);

	return drv_create(drv, in, drv_rq_fill(in, rq), rqn);
}

int
drv_rq_modify(struct drv *drv, uint32_t rqn, unsigned int from, unsigned int to)
{
	struct rnic_modify_rq_in in = { 0 };

	drv_head(&in, RNIC_CMD_MODIFY_RQ, 0);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, from);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rqn);
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, to);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

int
drv_rq_change(struct drv *drv, uint32_t rqn, uint64_t bitmask, const struct rnic_rqc *rqc)
{
	struct rnic_modify_rq_in in = { 0 };

	drv_head(&in, RNIC_CMD_MODIFY_RQ, 0);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQ_STATE, RNIC_WQ_STATE_RDY);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_RQN, rqn);
	rnic_modify_rq_in_set(&in, RNIC_MODIFY_RQ_IN_BITMASK, bitmask);
	*rnic_modify_rq_in_rqc(&in) = *rqc;
	rnic_rqc_set(rnic_modify_rq_in_rqc(&in), RNIC_RQC_STATE, RNIC_WQ_STATE_RDY);
	return drv_execute(drv, &in, sizeof(in), NULL);
}

int
drv_rq_query(struct drv *drv, uint32_t rqn, struct rnic_rqc *rqc)
{
	struct rnic_query_rq_out out;
	int status = drv_query(drv, RNIC_CMD_QUERY_RQ, rqn, &out, sizeof(out));

	*rqc = *rnic_query_rq_out_rqc(&out);
	return status;
}
