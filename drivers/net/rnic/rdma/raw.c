/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RAW_PACKET queue pairs: a send queue and a receive queue, as the ethdev has them, which the post and poll bursts of queue
 * pairs work on (PRM: "SQ Context", "RQ Context", "TIR"). The device knows no queue pair here, so that what it says of either
 * queue is put together:
 *
 *	queue pair   send queue   receive queue
 *	RESET, INIT  RST          RST
 *	RTR          RST          RDY
 *	RTS          RDY          RDY
 *	SQE          ERR          RDY
 *	ERR          any          ERR: after an error of a receive the send queue goes on until somebody asks for ERR
 *
 * It has the number of its send queue, or else of its receive queue. Completions of the send queue bear that one; those of
 * received frames bear the tag of the flow entry that led them here, which is the same number; errors of the receive queue
 * bear the receive queue's, and ours as their user index (poll.c).
 */

#include <errno.h>

#include "base/log.h"
#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "object/cq.h"
#include "object/q_counter.h"
#include "object/rq.h"
#include "object/sq.h"
#include "object/wq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/cqe.h"
#include "prm/queue.h"
#include "prm/wqe.h"
#include "rdma/raw.h"
#include "rdma/rdma.h"
#include "rdma/td.h"
#include "steering/flow.h"
#include "steering/qp_rules.h"

#define CQE_VERSION 1 /* entries bear user indexes */

/* ---- Create, destroy ---- */

static int
raw_check(struct rnic_dev *dev, bool receives)
{
	struct rnic_flow_table_props *nic_rx =
		rnic_flow_table_cap_nic_receive(&dev->caps.flow_table);

	if (dev->min_inline_mode > RNIC_INLINE_MODE_L2) {
		RNIC_LOG(ERR, dev,
			 "the vport demands more than L2 headers inline (mode %u), not supported: "
			 "lower it with the card's own tools (min_inline_mode)",
			 dev->min_inline_mode);
		return -ENOTSUP;
	}
	if (rnic_general_cap(dev, RNIC_GENERAL_CAP_CQE_VERSION) < CQE_VERSION) {
		RNIC_LOG(ERR, dev, "its completions are too old for RAW_PACKET queue pairs");
		return -ENOTSUP;
	}
	if (receives && !rnic_flow_table_props_get(nic_rx, RNIC_FLOW_TABLE_PROPS_FLOW_TAG)) {
		RNIC_LOG(ERR, dev,
			 "flow entries carry no flow_tag: RAW_PACKET queue pairs cannot receive");
		return -ENOTSUP;
	}
	return 0;
}

static const struct rnic_cq *
ring_of(struct rdmapmd_cq *cq)
{
	return &((struct rnic_rdma_cq *)cq)->ring;
}

static int
create_send(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	const struct rnic_wq_owner owner = {
		.pd = qp->qp.pd->pdn,
		.domain = rnic_rdma_domain(qp),
		.registers = RNIC_BFREG_LOW_LATENCY,
	};
	int rc;

	if (sizing->sq.wqe_count == 0)
		return 0;
	rc = rnic_sq_create_for(qp->dev, &owner, (unsigned int)__builtin_ctz(sizing->sq.wqe_count),
				ring_of(qp->qp.send_cq), &qp->sq.wq);
	qp->sq.header_bytes =
		qp->dev->min_inline_mode == RNIC_INLINE_MODE_L2 ? RNIC_INLINE_L2_BYTES : 0;
	qp->qp.qp_num = qp->sq.wq.sqn;
	return rc;
}

static int
create_receive(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	const struct rnic_wq_owner owner = {
		.pd = qp->qp.pd->pdn,
		.q_counter = qp->dev->qp_counters->number,
		.user_index = qp->qp.qp_num,
	};
	int rc;

	if (sizing->rq.wqe_count == 0)
		return 0;
	rc = rnic_rq_create_for(qp->dev, &owner, (unsigned int)__builtin_ctz(sizing->rq.wqe_count),
				(unsigned int)__builtin_ctz(sizing->rq.wqe_size),
				ring_of(qp->qp.recv_cq), &qp->rq.wq);
	if (rc != 0)
		return rc;
	if (sizing->sq.wqe_count == 0)
		qp->qp.qp_num = qp->rq.wq.rqn;
	rc = rnic_tir_create(qp->dev, qp->rq.wq.rqn, &qp->tir);
	qp->has_tir = rc == 0;
	return rc;
}

int
rnic_rdma_raw_create(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	struct rnic_rdma *rdma = qp->dev->rdma;
	int rc = raw_check(qp->dev, sizing->rq.wqe_count > 0);

	if (rc == 0)
		rc = create_send(qp, sizing);
	if (rc == 0)
		rc = create_receive(qp, sizing);
	if (rc != 0) {
		rnic_rq_destroy(qp->dev, &qp->rq.wq);
		rnic_sq_destroy(qp->dev, &qp->sq.wq);
		return rc;
	}
	pthread_mutex_lock(&rdma->lock);
	LIST_INSERT_HEAD(&rdma->raw_qps, qp, next_raw_qp);
	pthread_mutex_unlock(&rdma->lock);
	return 0;
}

int
rnic_rdma_raw_destroy(struct rnic_rdma_qp *qp)
{
	struct rnic_rdma *rdma = qp->dev->rdma;
	int rc = 0, first_rc = 0;

	pthread_mutex_lock(&rdma->lock);
	LIST_REMOVE(qp, next_raw_qp);
	pthread_mutex_unlock(&rdma->lock);
#define KEEP_FIRST(call) (rc = (call), first_rc = first_rc != 0 ? first_rc : rc)
	if (qp->has_tir) {
		KEEP_FIRST(rnic_qp_steering_drop(qp->dev, qp->tir));
		KEEP_FIRST(rnic_cmd_destroy(qp->dev, RNIC_CMD_DESTROY_TIR, qp->tir));
		qp->has_tir = false;
	}
	KEEP_FIRST(rnic_rq_destroy(qp->dev, &qp->rq.wq));
	KEEP_FIRST(rnic_sq_destroy(qp->dev, &qp->sq.wq));
#undef KEEP_FIRST
	return first_rc;
}

uint32_t
rnic_rdma_raw_number(const struct rnic_rdma *rdma, enum rnic_event_queue type, uint32_t number)
{
	const struct rnic_rdma_qp *qp;

	LIST_FOREACH(qp, &rdma->raw_qps, next_raw_qp)
		if ((type == RNIC_EVENT_QUEUE_SQ && qp->sq.max_post > 0 &&
		     qp->sq.wq.sqn == number) ||
		    (type == RNIC_EVENT_QUEUE_RQ && qp->rq.max_post > 0 && qp->rq.wq.rqn == number))
			return qp->qp.qp_num;
	return RNIC_RDMA_NO_QPN;
}

/* ---- States ---- */

int
rnic_rdma_raw_set_state(struct rnic_rdma_qp *qp, enum rnic_wq_state state)
{
	int rc = 0, rq_rc = 0;

	if (qp->sq.max_post > 0)
		rc = rnic_sq_set_state(qp->dev, &qp->sq.wq, state);
	if (qp->rq.max_post > 0)
		rq_rc = rnic_rq_set_state(qp->dev, &qp->rq.wq, state);
	return rc != 0 ? rc : rq_rc;
}

/*
 * The send queue, out of its error. Its WQEs begin anew, so none may be under way: an entry that waits would be taken for one
 * that is posted now.
 */
static int
send_again(struct rnic_rdma_qp *qp)
{
	const uint64_t tail = __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&qp->sq.head, __ATOMIC_RELAXED) != tail) {
		RNIC_LOG(ERR, qp->dev,
			 "QP 0x%x: there are send requests to be polled before it leaves SQE",
			 qp->qp.qp_num);
		return -EBUSY;
	}
	return rnic_sq_recover(qp->dev, &qp->sq.wq);
}

int
rnic_rdma_raw_start(struct rnic_rdma_qp *qp, enum rdmapmd_qp_state from, enum rdmapmd_qp_state to)
{
	if (from == RDMAPMD_QPS_INIT && to == RDMAPMD_QPS_RTR && qp->rq.max_post > 0)
		return rnic_rq_set_state(qp->dev, &qp->rq.wq, RNIC_WQ_STATE_RDY);
	if (to == RDMAPMD_QPS_RTS && qp->sq.max_post > 0) {
		if (from == RDMAPMD_QPS_RTR)
			return rnic_sq_set_state(qp->dev, &qp->sq.wq, RNIC_WQ_STATE_RDY);
		if (from == RDMAPMD_QPS_SQE)
			return send_again(qp);
	}
	return 0;
}

int
rnic_rdma_raw_query(struct rnic_rdma_qp *qp, struct rdmapmd_qp_attr *attr)
{
	enum rnic_wq_state sq = RNIC_WQ_STATE_RST, rq = RNIC_WQ_STATE_RST;
	int rc = 0;

	if (qp->sq.max_post > 0)
		rc = rnic_sq_state(qp->dev, &qp->sq.wq, &sq);
	if (rc == 0 && qp->rq.max_post > 0)
		rc = rnic_rq_state(qp->dev, &qp->rq.wq, &rq);
	if (rc != 0)
		return rc;
	if (qp->state == RDMAPMD_QPS_ERR || rq == RNIC_WQ_STATE_ERR)
		attr->qp_state = RDMAPMD_QPS_ERR;
	else if (sq == RNIC_WQ_STATE_ERR)
		attr->qp_state = RDMAPMD_QPS_SQE;
	else
		attr->qp_state = (enum rdmapmd_qp_state)qp->state;
	return 0;
}

/* ---- Which frames it receives ---- */

int
rnic_rdma_raw_attach_mac(struct rdmapmd_qp *head, const uint8_t mac[6], uint16_t vlan_id)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;

	return rnic_qp_steering_add(qp->dev, mac, vlan_id, qp->tir, head->qp_num);
}

int
rnic_rdma_raw_detach_mac(struct rdmapmd_qp *head, const uint8_t mac[6], uint16_t vlan_id)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;

	return rnic_qp_steering_del(qp->dev, mac, vlan_id, qp->tir);
}
