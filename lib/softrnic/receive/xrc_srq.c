/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared receive queues of XRC domains (PRM: "XRC SRQ Context"): memory pools with a CQ of their own. A queue pair of the domain takes
 * from the one that a request names, and knows it for no longer.
 */
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/event/cq.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/xrc_srq.h"

#define LOG_STRIDE_UNIT 4	  /* log_rq_stride counts from 16 bytes on */
#define NO_USER_INDEX	0xffffffu /* completions have the number */

/* ---- Its end ---- */

/* Those that took from it last hold nothing of it any more. As many looks as there are queue pairs. */
static void
xrc_srq_forget(struct softrnic *dev, const struct softrnic_rmp *rmp)
{
	struct softrnic_qp *qp;
	uint32_t number = 0;

	while ((qp = softrnic_object_next(dev, SOFTRNIC_QP, &number)) != NULL) {
		if (qp->type != SOFTRNIC_QP_XRC)
			continue;
		if (qp->rmp == rmp)
			qp->rmp = NULL;
		if (qp->named == rmp)
			qp->named = NULL;
	}
}

static void
xrc_srq_free(struct softrnic *dev, struct softrnic_rmp *rmp)
{
	xrc_srq_forget(dev, rmp);
	rmp->xrcd->refs--;
	rmp->cq->object.refs--;
	softrnic_rmp_free(dev, rmp);
}

void
softrnic_rmp_drop(struct softrnic *dev, struct softrnic_object *object)
{
	struct softrnic_rmp *rmp = (struct softrnic_rmp *)object;

	if (rmp->xrcd != NULL)
		xrc_srq_free(dev, rmp);
	else
		softrnic_rmp_free(dev, rmp);
}

/* ---- The commands ---- */

/* What the context asks for and we do not offer; NULL: all is well. */
static const char *
xrc_srq_fault(const struct rnic_xrc_srqc *srqc)
{
#define GET(field) rnic_xrc_srqc_get(srqc, RNIC_XRC_SRQC_##field)
	if (GET(STATE) != RNIC_XRC_SRQC_STATE_GOOD)
		return "it begins in good state";
	if (GET(WQ_SIGNATURE) != 0 || GET(CONT_SRQ) != 0 || GET(RLKY) != 0)
		return "signatures, containers and the reserved key are not offered";
	if (GET(DBR_UMEM_VALID) != 0)
		return "its record is in no umem";
	return NULL;
}

static struct softrnic_rmp_conf
xrc_srq_conf(const struct softrnic_cmd *cmd, const struct rnic_xrc_srqc *srqc)
{
	const struct rnic_create_xrc_srq_in *in = cmd->in;

	return (struct softrnic_rmp_conf){
		.pd = (uint32_t)GET(PD),
		.limit = (uint32_t)GET(LWM),
		.log_size = (uint8_t)GET(LOG_XRC_SRQ_SIZE),
		.log_stride = (uint8_t)(GET(LOG_RQ_STRIDE) + LOG_STRIDE_UNIT),
		.cyclic = GET(BASIC_CYCLIC_RCV_WQE) != 0,
		.record = { .at = GET(DBR_ADDR) },
		.place = { .pas = (const struct rnic_be64 *)(in + 1),
			   .pas_bytes = cmd->in_bytes - sizeof(*in),
			   .log_page_size = GET(LOG_PAGE_SIZE),
			   .page_offset = GET(PAGE_OFFSET) },
	};
}

/* Everything of it that other pools do not have; no references are taken yet. */
static int
xrc_srq_prepare(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_rmp *rmp,
		const struct rnic_xrc_srqc *srqc)
{
	rmp->xrc_context = *srqc;
	cmd->syndrome = 0x705006;
	rmp->xrcd = softrnic_object_find(dev, SOFTRNIC_XRCD, (uint32_t)GET(XRCD));
	rmp->cq = softrnic_object_find(dev, SOFTRNIC_CQ, (uint32_t)GET(CQN));
	return rmp->xrcd != NULL && rmp->cq != NULL ? RNIC_STATUS_OK : RNIC_STATUS_BAD_RES;
}

SOFTRNIC_CMD(create_xrc_srq)
{
	struct rnic_create_xrc_srq_in *in = (struct rnic_create_xrc_srq_in *)(uintptr_t)cmd->in;
	const struct rnic_xrc_srqc *srqc = rnic_create_xrc_srq_in_xrc_srqc(in);
	const struct softrnic_rmp_conf conf = xrc_srq_conf(cmd, srqc);
	const char *fault = xrc_srq_fault(srqc);
	struct softrnic_rmp *rmp;
	int status;

	cmd->syndrome = 0x705001;
	if (fault == NULL &&
	    rnic_create_xrc_srq_in_get(in, RNIC_CREATE_XRC_SRQ_IN_XRC_SRQ_UMEM_VALID) != 0)
		fault = "its ring is in no umem";
	if (fault == NULL)
		fault = softrnic_rmp_fault(&conf);
	if (fault != NULL)
		return softrnic_refuse(dev, cmd, fault);
	rmp = softrnic_alloc(dev, 1, sizeof(*rmp));
	if (rmp == NULL)
		return RNIC_STATUS_NO_RES;
	status = xrc_srq_prepare(dev, cmd, rmp, srqc);
	if (status == RNIC_STATUS_OK)
		status = softrnic_rmp_open(dev, cmd, rmp, &conf);
	if (status != RNIC_STATUS_OK) {
		softrnic_free(dev, rmp);
		return status;
	}
	rmp->user_index = (uint32_t)GET(USER_INDEX);
	if (rmp->user_index == NO_USER_INDEX || GET(USER_INDEX_EQUAL_XRC_SRQN) != 0)
		rmp->user_index = rmp->object.number;
	rmp->xrcd->refs++;
	rmp->cq->object.refs++;
	return RNIC_STATUS_OK;
#undef GET
}

static struct softrnic_rmp *
xrc_srq_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_rmp_find(dev, (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER),
				 true);
}

/* Also while a message comes that has a WQE of it: that message's next packet finds it gone. */
SOFTRNIC_CMD(destroy_xrc_srq)
{
	struct softrnic_rmp *rmp = xrc_srq_of_command(dev, cmd);

	cmd->syndrome = 0x706001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	xrc_srq_free(dev, rmp);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_xrc_srq)
{
	const struct softrnic_rmp *rmp = xrc_srq_of_command(dev, cmd);
	struct rnic_xrc_srqc *srqc = rnic_query_xrc_srq_out_xrc_srqc(cmd->out);

	cmd->syndrome = 0x707001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	*srqc = rmp->xrc_context;
	rnic_xrc_srqc_set(srqc, RNIC_XRC_SRQC_STATE,
			  rmp->state == RNIC_WQ_STATE_ERR ? RNIC_XRC_SRQC_STATE_ERROR
							  : RNIC_XRC_SRQC_STATE_GOOD);
	rnic_xrc_srqc_set(srqc, RNIC_XRC_SRQC_LWM, rmp->limit);
	rnic_xrc_srqc_set(
		srqc, RNIC_XRC_SRQC_WQE_CNT,
		(uint16_t)(rmp->producer - rmp->consumer + (uint16_t)rmp->returned_count));
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(arm_xrc_srq)
{
	const struct rnic_arm_xrc_srq_in *in = cmd->in;
	struct softrnic_rmp *rmp = softrnic_rmp_find(
		dev, (uint32_t)rnic_arm_xrc_srq_in_get(in, RNIC_ARM_XRC_SRQ_IN_XRC_SRQN), true);
	const uint64_t limit = rnic_arm_xrc_srq_in_get(in, RNIC_ARM_XRC_SRQ_IN_LWM);

	cmd->syndrome = 0x708001;
	if (rmp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x708002;
	if (cmd->op_mod != RNIC_ARM_XRC_SRQ_OP_MOD)
		return softrnic_refuse(dev, cmd, "unknown op_mod");
	if (limit > 1u << rmp->log_size)
		return softrnic_refuse(dev, cmd, "the limit is above its size");
	rmp->limit = (uint16_t)limit;
	if (limit != 0)
		softrnic_rmp_limit(dev, rmp);
	return RNIC_STATUS_OK;
}
