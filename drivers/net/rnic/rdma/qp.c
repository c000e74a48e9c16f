/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs (PRM: "QP Context"): both rings in one piece of memory, the receive ring first, one doorbell record, a
 * register of their own, shared, or their thread domain's; made in RESET, taken down the same way. Those of RAW_PACKET have
 * their queues from raw.c.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/log.h"
#include "core/bfreg.h"
#include "core/cmd.h"
#include "core/create.h"
#include "core/dev.h"
#include "core/dump.h"
#include "core/timestamp.h"
#include "core/uar.h"
#include "object/q_counter.h"
#include "object/ring.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/qp.h"
#include "prm/wqe.h"
#include "rdma/modify.h"
#include "rdma/post.h"
#include "rdma/reset.h"
#include "rdma/post_recv.h"
#include "rdma/qp.h"
#include "rdma/qps.h"
#include "rdma/raw.h"
#include "rdma/rdma.h"
#include "rdma/td.h"

#define DEFAULT_USER_INDEX 0xffffff /* entries name the queue pair by its number */

static uint8_t
log2_of(uint32_t power)
{
	return (uint8_t)__builtin_ctz(power);
}

/* Which requests it takes, beside what else its kind says. */
static unsigned int
kind_of(const struct rnic_rdma_qp *qp)
{
	switch (qp->qp.qp_type) {
	case RDMAPMD_QPT_RAW_PACKET: return RNIC_RDMA_QP_RAW;
	/* Nobody answers. */
	case RDMAPMD_QPT_UC: return RNIC_RDMA_QP_ASKS_NONE;
	case RDMAPMD_QPT_UD:
	case RDMAPMD_QPT_GSI: return RNIC_RDMA_QP_DATAGRAM;
	default: return 0;
	}
}

/* ---- Rings ---- */

static int
alloc_send(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	struct rnic_rdma_send *sq = &qp->sq;

	sq->kinds =
		qp->dev->rdma
			->kinds[(qp->qp.sq_sig_all ? RNIC_RDMA_QP_SIGNALS_ALL : 0) | kind_of(qp)];
	/* Entries for a queue that is not there find a request that is long done. */
	sq->wqes = &qp->no_wqe;
	if (sizing->sq.wqe_count == 0)
		return 0;
	sq->wqes = calloc(sizing->sq.wqe_count, sizeof(sq->wqes[0]));
	if (sq->wqes == NULL)
		return -ENOMEM;
	sq->max_post = sizing->sq.max_post;
	sq->wqebbs = (uint8_t)(sizing->sq.wqe_size / RNIC_WQEBB_BYTES);
	sq->max_gs = sizing->sq.max_gs;
	sq->max_inline = sizing->sq.max_inline;
	return 0;
}

static int
alloc_receive(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	struct rnic_rdma_receive *rq = &qp->rq;

	if (sizing->rq.wqe_count == 0)
		return 0;
	rq->wr_ids = calloc(sizing->rq.wqe_count, sizeof(rq->wr_ids[0]));
	if (rq->wr_ids == NULL)
		return -ENOMEM;
	rq->max_post = sizing->rq.max_post;
	rq->max_gs = sizing->rq.max_gs;
	return 0;
}

static int
qp_alloc_requests(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	int rc = alloc_send(qp, sizing);

	return rc == 0 ? alloc_receive(qp, sizing) : rc;
}

/* Whatever of it there is. */
static void
qp_free_requests(struct rnic_rdma_qp *qp)
{
	if (qp->sq.wqes != &qp->no_wqe)
		free(qp->sq.wqes);
	free(qp->rq.wr_ids);
}

/* Where the rings are in their memory. */
static void
qp_place_rings(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	struct rnic_sq *sq = &qp->sq.wq;
	struct rnic_rq *rq = &qp->rq.wq;

	if (sizing->rq.wqe_count > 0) {
		rq->ring = qp->memory.mem.address;
		rq->log_size = log2_of(sizing->rq.wqe_count);
		rq->log_stride = log2_of(sizing->rq.wqe_size);
		rq->mask = (uint16_t)(sizing->rq.wqe_count - 1);
		rq->dbrec = qp->dbrec;
	}
	if (sizing->sq.wqe_count > 0) {
		sq->ring = (uint8_t *)qp->memory.mem.address +
			   (size_t)sizing->rq.wqe_count * sizing->rq.wqe_size;
		sq->log_size = log2_of(sizing->sq.wqe_count);
		sq->mask = (uint16_t)(sizing->sq.wqe_count - 1);
		sq->dbrec = qp->dbrec;
	}
}

static void
qp_free_queues(struct rnic_rdma_qp *qp)
{
	rnic_bfreg_free(qp->dev, qp->sq.wq.bf);
	rnic_ring_free(qp->dev, &qp->memory, qp->dbrec);
}

static int
qp_alloc_queues(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing)
{
	const size_t bytes = (size_t)sizing->rq.wqe_count * sizing->rq.wqe_size +
			     (size_t)sizing->sq.wqe_count * RNIC_WQEBB_BYTES;
	/* It may have neither: it answers WRITEs, READs and atomics. */
	int rc = rnic_ring_alloc(qp->dev, "a queue pair", bytes, RNIC_ACCESS_READ, &qp->memory,
				 &qp->dbrec);

	if (rc != 0)
		return rc;
	qp->sq.wq.bf = rnic_bfreg_take(qp->dev, rnic_rdma_domain(qp), RNIC_BFREG_LOW_LATENCY);
	qp_place_rings(qp, sizing);
	return 0;
}

/* ---- The command ---- */

static void
qp_set_queues(struct rnic_qpc *qpc, const struct rnic_rdma_qp *qp)
{
	if (qp->sq.max_post > 0)
		rnic_qpc_set(qpc, RNIC_QPC_LOG_SQ_SIZE, qp->sq.wq.log_size);
	else
		rnic_qpc_set(qpc, RNIC_QPC_NO_SQ, 1);
	if (qp->srq != NULL) {
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_SRQ);
		rnic_qpc_set(qpc, RNIC_QPC_SRQN_RMPN_XRQN, qp->srq->srq.srqn);
	} else if (qp->rq.max_post > 0) {
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_RQ);
		rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_SIZE, qp->rq.wq.log_size);
		/* Strides of 16 << n bytes. */
		rnic_qpc_set(qpc, RNIC_QPC_LOG_RQ_STRIDE, qp->rq.wq.log_stride - 4u);
	} else {
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
	}
}

static void
qp_context_fill(struct rnic_qpc *qpc, const struct rnic_rdma_qp *qp, uint32_t create_flags)
{
	rnic_qpc_set(qpc, RNIC_QPC_ST, rnic_rdma_service_type(qp));
	rnic_qpc_set(qpc, RNIC_QPC_BLOCK_LB_MC,
		     (create_flags & RDMAPMD_QP_BLOCK_SELF_MCAST_LB) != 0);
	rnic_qpc_set(qpc, RNIC_QPC_PM_STATE, RNIC_QP_PM_STATE_MIGRATED);
	rnic_qpc_set(qpc, RNIC_QPC_PD, qp->qp.pd->pdn);
	rnic_qpc_set(qpc, RNIC_QPC_COUNTER_SET_ID, qp->dev->qp_counters->number);
	rnic_qpc_set(qpc, RNIC_QPC_UAR_PAGE, qp->sq.wq.bf->uar);
	/* A capability of RoCE, without which there are no such queue pairs. */
	rnic_qpc_set(
		qpc, RNIC_QPC_TS_FORMAT,
		rnic_ts_format(rnic_roce_cap_get(&qp->dev->caps.roce, RNIC_ROCE_CAP_QP_TS_FORMAT)));
	rnic_qpc_set(qpc, RNIC_QPC_USER_INDEX, DEFAULT_USER_INDEX);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, qp->qp.send_cq->cqn);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, qp->qp.recv_cq->cqn);
	rnic_qpc_set(qpc, RNIC_QPC_DBR_ADDR, qp->memory.dbrec_iova);
	qp_set_queues(qpc, qp);
}

static int
qp_create_command(struct rnic_rdma_qp *qp, uint32_t create_flags)
{
	struct rnic_create_qp_in in = { 0 };

	qp_context_fill(rnic_create_qp_in_qpc(&in), qp, create_flags);
	return rnic_cmd_create(qp->dev, RNIC_CMD_CREATE_QP, &in, sizeof(in), &qp->memory.mem,
			       &qp->qp.qp_num);
}

/* ---- Life ---- */

/* As the device knows it, in RESET. */
static int
qp_make(struct rnic_rdma_qp *qp, const struct rdmapmd_qp_sizing *sizing, uint32_t create_flags)
{
	int rc;

	if (rnic_rdma_is_raw(qp))
		return rnic_rdma_raw_create(qp, sizing);
	rc = qp_alloc_queues(qp, sizing);
	if (rc != 0)
		return rc;
	rc = qp_create_command(qp, create_flags);
	if (rc != 0)
		qp_free_queues(qp);
	else
		qp->sq.wq.sqn = qp->qp.qp_num;
	return rc;
}

static int
qp_unmake(struct rnic_rdma_qp *qp)
{
	int rc;

	if (rnic_rdma_is_raw(qp))
		return rnic_rdma_raw_destroy(qp);
	rc = rnic_cmd_destroy(qp->dev, RNIC_CMD_DESTROY_QP, qp->qp.qp_num);
	qp_free_queues(qp);
	return rc;
}

static struct rnic_rdma_cq *
cq_of(struct rdmapmd_cq *cq)
{
	return (struct rnic_rdma_cq *)cq;
}

/* Afterwards no poll knows of it. */
static void
qp_leave_cqs(struct rnic_rdma_qp *qp)
{
	rnic_rdma_cqs_stop(qp);
	rnic_rdma_qps_remove(cq_of(qp->qp.send_cq), qp);
	rnic_rdma_qps_remove(cq_of(qp->qp.recv_cq), qp);
	rnic_rdma_cqs_go(qp);
}

/* Before anything is posted: the polls must find it. */
static int
qp_enter_cqs(struct rnic_rdma_qp *qp)
{
	int rc = rnic_rdma_qps_add(cq_of(qp->qp.send_cq), qp);

	if (rc != 0)
		return rc;
	rc = rnic_rdma_qps_add(cq_of(qp->qp.recv_cq), qp);
	if (rc != 0)
		qp_leave_cqs(qp);
	return rc;
}

/* ---- What the device has ---- */

static int
qp_check(struct rnic_dev *dev, const struct rdmapmd_qp_init_attr *attr)
{
	const char *what = NULL;

	if (attr->qp_type == RDMAPMD_QPT_UC && !rnic_general_cap(dev, RNIC_GENERAL_CAP_UC))
		what = "queue pairs of type UC";
	else if ((attr->qp_type == RDMAPMD_QPT_UD || attr->qp_type == RDMAPMD_QPT_GSI) &&
		 !rnic_general_cap(dev, RNIC_GENERAL_CAP_UD))
		what = "queue pairs of type UD";
	else if ((attr->create_flags & RDMAPMD_QP_BLOCK_SELF_MCAST_LB) &&
		 !rnic_general_cap(dev, RNIC_GENERAL_CAP_BLOCK_LB_MC))
		what = "BLOCK_SELF_MCAST_LB (block_lb_mc)";
	if (what == NULL)
		return 0;
	RNIC_LOG(ERR, dev, "it has no %s", what);
	return -ENOTSUP;
}

/* Queue pair 1 is one, in all contexts. -EBUSY. */
static int
qp_take_number(struct rnic_rdma_qp *qp)
{
	struct rnic_rdma *rdma = qp->dev->rdma;
	int rc = 0;

	if (qp->qp.qp_type != RDMAPMD_QPT_GSI)
		return 0;
	pthread_mutex_lock(&rdma->lock);
	if (rdma->has_qp1)
		rc = -EBUSY;
	rdma->has_qp1 = true;
	pthread_mutex_unlock(&rdma->lock);
	if (rc != 0)
		RNIC_LOG(ERR, qp->dev, "its queue pair 1 is in use");
	return rc;
}

static void
qp_give_number(struct rnic_rdma_qp *qp)
{
	if (qp->qp.qp_type != RDMAPMD_QPT_GSI)
		return;
	pthread_mutex_lock(&qp->dev->rdma->lock);
	qp->dev->rdma->has_qp1 = false;
	pthread_mutex_unlock(&qp->dev->rdma->lock);
}

static void
qp_set_bursts(struct rnic_rdma_qp *qp)
{
	const bool dump = rnic_dump_wanted();

	if (qp->sq.max_post > 0 && rnic_rdma_is_datagram(qp))
		qp->qp.post_send = dump ? rnic_rdma_post_datagrams_dump : rnic_rdma_post_datagrams;
	else if (qp->sq.max_post > 0)
		qp->qp.post_send = dump ? rnic_rdma_post_send_dump : rnic_rdma_post_send;
	if (qp->rq.max_post > 0)
		qp->qp.post_recv = rnic_rdma_post_recv;
}

int
rnic_rdma_qp_create(struct rdmapmd_qp *head, const struct rdmapmd_qp_init_attr *attr,
		    const struct rdmapmd_qp_sizing *sizing)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	int rc;

	qp->dev = rnic_rdma_dev(head->context);
	qp->srq = (struct rnic_rdma_srq *)head->srq;
	qp->state = RDMAPMD_QPS_RESET;
	rc = qp_check(qp->dev, attr);
	if (rc == 0)
		rc = qp_take_number(qp);
	if (rc != 0)
		return rc;
	rc = qp_alloc_requests(qp, sizing);
	if (rc == 0)
		rc = qp_make(qp, sizing, attr->create_flags);
	if (rc != 0)
		goto no_qp;
	rnic_rdma_queues_reset(qp);
	rc = qp_enter_cqs(qp);
	if (rc == -EEXIST)
		RNIC_LOG(ERR, qp->dev,
			 "QP 0x%x: completions of another queue of that CQ bear the same number; "
			 "take another CQ",
			 head->qp_num);
	if (rc != 0)
		goto no_cq;
	qp_set_bursts(qp);
	pthread_mutex_lock(&qp->dev->rdma->lock);
	LIST_INSERT_HEAD(&qp->dev->rdma->all_qps, qp, next_qp);
	pthread_mutex_unlock(&qp->dev->rdma->lock);
	return 0;

no_cq:
	qp_unmake(qp);
no_qp:
	qp_free_requests(qp);
	qp_give_number(qp);
	return rc;
}

int
rnic_rdma_qp_destroy(struct rdmapmd_qp *head)
{
	struct rnic_rdma_qp *qp = (struct rnic_rdma_qp *)head;
	int rc = 0, destroy_rc;

	pthread_mutex_lock(&qp->dev->rdma->lock);
	LIST_REMOVE(qp, next_qp);
	pthread_mutex_unlock(&qp->dev->rdma->lock);
	/* The device stops what it was doing; completions that still come match no queue pair. */
	if (qp->state != RDMAPMD_QPS_RESET)
		rc = rnic_rdma_qp_reset(qp);
	/* Before its rings go; and its number, which may be the next one's. */
	qp_leave_cqs(qp);
	destroy_rc = qp_unmake(qp);
	qp_give_number(qp);
	qp_free_requests(qp);
	return rc != 0 ? rc : destroy_rc;
}
