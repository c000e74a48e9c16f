/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: create, destroy, query (PRM: "CREATE_QP", "DESTROY_QP", "QUERY_QP"). */
#include <stdlib.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/memory.h"
#include "softrnic/base/object.h"
#include "softrnic/base/q_counter.h"
#include "softrnic/base/quirks.h"
#include "softrnic/base/sizes.h"
#include "softrnic/base/uar.h"
#include "softrnic/engine/qp_create.h"
#include "softrnic/engine/qp_modify.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/event/latch.h"
#include "softrnic/receive/mcg.h"
#include "softrnic/receive/rmp.h"

#define LOG_RQ_STRIDE_UNIT 4 /* log_rq_stride counts from 16 bytes on */

_Static_assert(SOFTRNIC_LOG_MAX_QP_SIZE == 15, "log_rq_size and log_sq_size have four bits");

/* Service types. */
static const struct {
	uint8_t st, connection;
} types[SOFTRNIC_QP_TYPES] = {
	[SOFTRNIC_QP_RC] = { RNIC_QP_ST_RC, ROCE_TRANSPORT_RC },
	[SOFTRNIC_QP_UC] = { RNIC_QP_ST_UC, ROCE_TRANSPORT_UC },
	[SOFTRNIC_QP_UD] = { RNIC_QP_ST_UD, SOFTRNIC_QP_UNCONNECTED },
	[SOFTRNIC_QP_QP1] = { RNIC_QP_ST_QP1, SOFTRNIC_QP_UNCONNECTED },
	[SOFTRNIC_QP_XRC] = { RNIC_QP_ST_XRC, ROCE_TRANSPORT_XRC },
	[SOFTRNIC_QP_REG_UMR] = { RNIC_QP_ST_REG_UMR, SOFTRNIC_QP_ALONE },
};

static uint8_t
qp_type(const struct rnic_qpc *qpc)
{
	uint8_t type = 0;

	while (type < SOFTRNIC_QP_TYPES && types[type].st != rnic_qpc_get(qpc, RNIC_QPC_ST))
		type++;
	return type;
}

/* What the context asks of the receive side and we do not offer; NULL: all is well. */
static const char *
qp_receive_fault(const struct rnic_qpc *qpc)
{
#define GET(field) rnic_qpc_get(qpc, RNIC_QPC_##field)
	const uint64_t type = GET(RQ_TYPE), st = GET(ST);
	const uint64_t stride = GET(LOG_RQ_STRIDE) + LOG_RQ_STRIDE_UNIT;

	if (type != RNIC_QP_RQ && type != RNIC_QP_SRQ && type != RNIC_QP_ZERO_SIZE_RQ)
		return "unknown rq_type";
	if (st == RNIC_QP_ST_XRC && type == RNIC_QP_RQ)
		return "XRC has no receive ring";
	if (st == RNIC_QP_ST_REG_UMR && type != RNIC_QP_ZERO_SIZE_RQ)
		return "what changes keys receives nothing";
	if (type == RNIC_QP_RQ && stride > SOFTRNIC_LOG_MAX_RQ_WQE)
		return "receive WQEs are longer than max_wqe_sz_rq";
	if (type == RNIC_QP_RQ && GET(NO_SQ) == 0 &&
	    (1u << (GET(LOG_RQ_SIZE) + stride)) % RNIC_WQEBB_BYTES != 0)
		return "the send ring, behind the receive ring, is not aligned to a WQEBB";
	return NULL;
}

/* What the context asks for and we do not offer; NULL: all is well. */
static const char *
qp_context_fault(const struct softrnic *dev, const struct rnic_qpc *qpc)
{
	if (qp_type(qpc) == SOFTRNIC_QP_TYPES)
		return "connections (RC, UC, XRC), datagrams, QP1 and REG_UMR are supported";
	if (GET(ST) == RNIC_QP_ST_QP1 && dev->qp1 != NULL)
		return "the port has its QP1 already";
	if (GET(DETH_SQPN) != 0)
		return "set_deth_sqpn is not offered";
	if (GET(STATE) != RNIC_QP_STATE_RST)
		return "a queue pair begins in RST";
	/* With them requests name memory by its address on the bus, and change keys that others have. */
	if (softrnic_is_users(dev) &&
	    (GET(RLKY) != 0 || GET(FRE) != 0 || GET(ST) == RNIC_QP_ST_REG_UMR))
		return "the reserved key and the registration of memory are not for users";
	if (GET(OFFLOAD_TYPE) != 0 || GET(END_PADDING_MODE) != 0 || GET(WQ_SIGNATURE) != 0)
		return "offloads, padding and signatures are not offered";
	return qp_receive_fault(qpc);
#undef GET
}

static void
qp_from_context(struct softrnic_qp *qp)
{
	const struct rnic_qpc *qpc = &qp->context;

#define GET(field) rnic_qpc_get(qpc, RNIC_QPC_##field)
	qp->type = qp_type(qpc);
	qp->connection = types[qp->type].connection;
	qp->block_lb_mc = GET(BLOCK_LB_MC) != 0;
	qp->pd = (uint32_t)GET(PD);
	qp->uar = (uint32_t)GET(UAR_PAGE);
	qp->user_index = (uint32_t)GET(USER_INDEX);
	qp->rlky = GET(RLKY) != 0;
	qp->fre = GET(FRE) != 0;
	qp->no_sq = GET(NO_SQ) != 0;
	/* Of XRC, requests name where receive WQEs are, whatever pool the context names. */
	qp->no_rq = GET(RQ_TYPE) == RNIC_QP_ZERO_SIZE_RQ || qp->type == SOFTRNIC_QP_XRC;
	if (!qp->no_sq)
		qp->sq_log_size = (uint8_t)GET(LOG_SQ_SIZE);
	if (GET(RQ_TYPE) == RNIC_QP_RQ) {
		qp->rq.log_size = (uint8_t)GET(LOG_RQ_SIZE);
		qp->rq.log_stride = (uint8_t)(GET(LOG_RQ_STRIDE) + LOG_RQ_STRIDE_UNIT);
		qp->sq_offset = 1u << (qp->rq.log_size + qp->rq.log_stride);
	}
#undef GET
}

/* Without a receive queue it takes no completion: Linux names a CQ of its own for a user's. Not another user's, who could not destroy it. */
static struct softrnic_cq *
qp_find_unused_cq(struct softrnic *dev, uint32_t number)
{
	struct softrnic_cq *cq = softrnic_object_get(dev, SOFTRNIC_CQ, number);

	return cq != NULL && cq->object.uid == RNIC_UID_KERNEL
		       ? cq
		       : softrnic_object_find(dev, SOFTRNIC_CQ, number);
}

/*
 * The objects that the queue pair leans on; no references are taken yet. Linux leaves fields that a type does not use as they come: the
 * domain of REG_UMR, which changes the keys of all of them; an XRC target's register; a pool, and an XRC domain, of others.
 */
static int
qp_find_objects(struct softrnic *dev, struct softrnic_qp *qp)
{
	const struct rnic_qpc *qpc = &qp->context;
	const bool is_target = softrnic_qp_is_xrc_target(qp);

#define FIELD(field)	  ((uint32_t)rnic_qpc_get(qpc, RNIC_QPC_##field))
#define FIND(type, field) softrnic_object_find(dev, SOFTRNIC_##type, FIELD(field))
	qp->send_cq = FIND(CQ, CQN_SND);
	qp->recv_cq = qp->no_rq ? qp_find_unused_cq(dev, FIELD(CQN_RCV)) : FIND(CQ, CQN_RCV);
	if (qp->type != SOFTRNIC_QP_REG_UMR)
		qp->pd_object = FIND(PD, PD);
	if (is_target)
		qp->xrcd = FIND(XRCD, XRCD);
	else
		qp->uar_object = FIND(UAR, UAR_PAGE);
	if (FIELD(RQ_TYPE) == RNIC_QP_SRQ && !qp->no_rq) {
		qp->rmp = softrnic_rmp_find(dev, FIELD(SRQN_RMPN_XRQN), false);
		if (qp->rmp == NULL)
			return RNIC_STATUS_BAD_RES;
	}
	if (qp->send_cq == NULL || qp->recv_cq == NULL ||
	    (qp->pd_object == NULL && qp->type != SOFTRNIC_QP_REG_UMR) ||
	    (is_target ? qp->xrcd == NULL : qp->uar_object == NULL))
		return RNIC_STATUS_BAD_RES;
#undef FIND
#undef FIELD
	return softrnic_q_counter_find(dev, (uint32_t)rnic_qpc_get(qpc, RNIC_QPC_COUNTER_SET_ID),
				       &qp->counter);
}

static void
qp_references(struct softrnic_qp *qp, int change)
{
	struct softrnic_object *const objects[] = { qp->pd_object, qp->uar_object, qp->xrcd };

	for (unsigned int i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		if (objects[i] != NULL)
			objects[i]->refs += (uint32_t)change;
	}
	qp->send_cq->object.refs += (uint32_t)change;
	qp->recv_cq->object.refs += (uint32_t)change;
	/* XRC's may go. */
	if (qp->rmp != NULL && qp->type != SOFTRNIC_QP_XRC)
		qp->rmp->object.refs += (uint32_t)change;
	if (qp->counter != NULL)
		qp->counter->object.refs += (uint32_t)change;
}

static void
qp_free(struct softrnic *dev, struct softrnic_qp *qp)
{
	softrnic_mcg_leave(dev, qp);
	if (dev->qp1 == qp)
		dev->qp1 = NULL;
	softrnic_qp_close(dev, qp);
	if (qp->uar_object != NULL)
		softrnic_uar_user(dev, qp->uar, -1);
	softrnic_object_remove(dev, &qp->object);
	softrnic_ring_fini(&qp->ring);
	softrnic_dbrec_fini(dev, &qp->dbrec);
	qp_references(qp, -1);
	softrnic_free(dev, qp);
}

void
softrnic_qp_drop(struct softrnic *dev, struct softrnic_object *object)
{
	qp_free(dev, (struct softrnic_qp *)object);
}

/*
 * Both rings and the record. A queue pair may have no ring at all: it answers WRITEs, READs and atomics. An XRC target has no record,
 * either.
 */
static int
qp_rings_init(struct softrnic *dev, const struct softrnic_cmd *cmd, struct softrnic_qp *qp)
{
	const struct rnic_create_qp_in *in = cmd->in;
	const struct rnic_qpc *qpc = &qp->context;
	const struct softrnic_address record = {
		.in_umem = rnic_qpc_get(qpc, RNIC_QPC_DBR_UMEM_VALID) != 0,
		.umem = (uint32_t)rnic_qpc_get(qpc, RNIC_QPC_DBR_UMEM_ID),
		.at = rnic_qpc_get(qpc, RNIC_QPC_DBR_ADDR),
	};
	const struct softrnic_ring_place place = {
		.pas = (const struct rnic_be64 *)(in + 1),
		.pas_bytes = cmd->in_bytes - sizeof(*in),
		.log_page_size = rnic_qpc_get(qpc, RNIC_QPC_LOG_PAGE_SIZE),
		.page_offset = rnic_qpc_get(qpc, RNIC_QPC_PAGE_OFFSET),
		.address = { .in_umem = rnic_create_qp_in_get(in,
							      RNIC_CREATE_QP_IN_WQ_UMEM_VALID) != 0,
			     .umem = (uint32_t)rnic_create_qp_in_get(in,
								     RNIC_CREATE_QP_IN_WQ_UMEM_ID),
			     .at = rnic_create_qp_in_get(in, RNIC_CREATE_QP_IN_WQ_UMEM_OFFSET) },
	};
	uint32_t bytes = qp->sq_offset;
	int status;

	if (softrnic_qp_is_xrc_target(qp))
		return RNIC_STATUS_OK;
	status = softrnic_dbrec_init(dev, &qp->dbrec, &record);
	if (status != RNIC_STATUS_OK)
		return status;
	if (!qp->no_sq)
		bytes += RNIC_WQEBB_BYTES << qp->sq_log_size;
	if (bytes == 0)
		return RNIC_STATUS_OK;
	return softrnic_ring_init(dev, &qp->ring, &place, bytes, SOFTRNIC_DMA_READ);
}

/* Everything of CREATE_QP but memory, open and number. */
static int
qp_prepare(struct softrnic *dev, struct softrnic_cmd *cmd, struct softrnic_qp *qp)
{
	struct rnic_create_qp_in *in = (struct rnic_create_qp_in *)(uintptr_t)cmd->in;
	const char *fault;
	int status;

	qp->context = *rnic_create_qp_in_qpc(in);
	cmd->syndrome = 0x500001;
	fault = qp_context_fault(dev, &qp->context);
	if (fault == NULL && softrnic_quirks_roce_off(dev))
		fault = "RoCE is off";
	if (fault != NULL)
		return softrnic_refuse(dev, cmd, fault);
	qp_from_context(qp);
	softrnic_qp_forget(qp);
	cmd->syndrome = 0x500002;
	status = softrnic_clock_choose(dev->qp_ts_format,
				       rnic_qpc_get(&qp->context, RNIC_QPC_TS_FORMAT), &qp->utc);
	if (status != RNIC_STATUS_OK)
		return status;
	cmd->syndrome = 0x500003;
	status = qp_find_objects(dev, qp);
	if (status != RNIC_STATUS_OK)
		return status;
	cmd->syndrome = 0x500004;
	return qp_rings_init(dev, cmd, qp);
}

SOFTRNIC_CMD(create_qp)
{
	struct softrnic_qp *qp = softrnic_alloc(dev, 1, sizeof(*qp));
	int status;

	if (qp == NULL)
		return RNIC_STATUS_NO_RES;
	status = qp_prepare(dev, cmd, qp);
	if (status != RNIC_STATUS_OK)
		goto free_qp;
	cmd->syndrome = 0x500005;
	status = softrnic_qp_open(dev, qp);
	if (status != RNIC_STATUS_OK)
		goto free_ring;
	cmd->syndrome = 0x500006;
	status = softrnic_object_add(dev, SOFTRNIC_QP, &qp->object);
	if (status != RNIC_STATUS_OK)
		goto close_qp;
	if (qp->type == SOFTRNIC_QP_QP1)
		dev->qp1 = qp;
	qp_references(qp, 1);
	if (qp->uar_object != NULL)
		softrnic_uar_user(dev, qp->uar, 1);
	rnic_object_out_set(cmd->out, RNIC_OBJECT_OUT_NUMBER, qp->object.number);
	return RNIC_STATUS_OK;
close_qp:
	softrnic_qp_close(dev, qp);
free_ring:
	softrnic_ring_fini(&qp->ring);
free_qp:
	softrnic_dbrec_fini(dev, &qp->dbrec);
	softrnic_free(dev, qp);
	return status;
}

static struct softrnic_qp *
qp_of_command(struct softrnic *dev, const struct softrnic_cmd *cmd)
{
	return softrnic_object_find(dev, SOFTRNIC_QP,
				    (uint32_t)rnic_object_in_get(cmd->in, RNIC_OBJECT_IN_NUMBER));
}

/* In any state, as a card does: what is under way ends nowhere. */
SOFTRNIC_CMD(destroy_qp)
{
	struct softrnic_qp *qp = qp_of_command(dev, cmd);

	cmd->syndrome = 0x501001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	cmd->syndrome = 0x501002;
	if (qp->object.refs > 0)
		return RNIC_STATUS_RES_BUSY;
	qp_free(dev, qp);
	return RNIC_STATUS_OK;
}

SOFTRNIC_CMD(query_qp)
{
	const struct softrnic_qp *qp = qp_of_command(dev, cmd);
	struct rnic_qpc *qpc = rnic_query_qp_out_qpc(cmd->out);

	cmd->syndrome = 0x50b001;
	if (qp == NULL)
		return RNIC_STATUS_BAD_RES;
	*qpc = qp->context;
	softrnic_qp_report(qp, qpc);
	return RNIC_STATUS_OK;
}
