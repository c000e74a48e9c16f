/* SPDX-License-Identifier: BSD-3-Clause */

#include "sq.h"
#include "wq.h"

uint32_t
drv_sq_fill(void *in, const struct drv_sq *sq)
{
	struct rnic_sqc *sqc = rnic_create_sq_in_sqc(in);

	drv_head(in, RNIC_CMD_CREATE_SQ, 0);
	rnic_sqc_set(sqc, RNIC_SQC_ALLOW_MULTI_PKT_SEND_WQE, sq->multi_packet);
	rnic_sqc_set(sqc, RNIC_SQC_FLUSH_IN_ERROR_EN, sq->flush);
	rnic_sqc_set(sqc, RNIC_SQC_RLKY, sq->rlky);
	rnic_sqc_set(sqc, RNIC_SQC_TS_FORMAT, sq->ts_format);
	rnic_sqc_set(sqc, RNIC_SQC_USER_INDEX, sq->user_index);
	rnic_sqc_set(sqc, RNIC_SQC_CQN, sq->cqn);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_LST_SZ, 1);
	rnic_sqc_set(sqc, RNIC_SQC_TIS_NUM_0, sq->tisn);
	drv_wq_put(rnic_sqc_wq(sqc), sq->pd, sq->dbrec, 6, sq->log_size);
	rnic_wq_set(rnic_sqc_wq(sqc), RNIC_WQ_UAR_PAGE, sq->uar);
	return drv_pages_put(in, sizeof(struct rnic_create_sq_in), &sq->ring);
}

int
drv_sq_create(struct drv *drv, const struct drv_sq *sq, uint32_t *sqn)
{
	void *in = drv_in(sizeof(struct rnic_create_sq_in) + sq->ring.count * 8ul);

	return drv_create(drv, in, drv_sq_fill(in, sq), sqn);
}

uint32_t
drv_sq_modify_fill(void *in, uint32_t sqn, unsigned int from, unsigned int to)
{
	drv_head(in, RNIC_CMD_MODIFY_SQ, 0);
	rnic_modify_sq_in_set(in, RNIC_MODIFY_SQ_IN_SQ_STATE, from);
	rnic_modify_sq_in_set(in, RNIC_MODIFY_SQ_IN_SQN, sqn);
	rnic_sqc_set(rnic_modify_sq_in_sqc(in), RNIC_SQC_STATE, to);
	return sizeof(struct rnic_modify_sq_in);
}

int
drv_sq_modify(struct drv *drv, uint32_t sqn, unsigned int from, unsigned int to)
{
	struct rnic_modify_sq_in in = { 0 };

	return drv_execute(drv, &in, drv_sq_modify_fill(&in, sqn, from, to), NULL);
}

int
drv_sq_query(struct drv *drv, uint32_t sqn, struct rnic_sqc *sqc)
{
	struct rnic_query_sq_out out;
	int status = drv_query(drv, RNIC_CMD_QUERY_SQ, sqn, &out, sizeof(out));

	*sqc = *rnic_query_sq_out_sqc(&out);
	return status;
}
