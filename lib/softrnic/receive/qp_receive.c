/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive WQEs: from a ring of the queue pair's own, where they are taken in turn, or from a memory pool that many share
 * (an SRQ), where each names the next one. The one in use is a private copy; a QP uses one at a time.
 */
#include <errno.h>

#include <rte_branch_prediction.h>

#include "softrnic/base/clock.h"
#include "softrnic/base/wq.h"
#include "softrnic/event/cq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/qp_receive.h"
#include "softrnic/receive/rmp.h"
#include "softrnic/rocev2/encode.h"

/* ---- A ring of its own ---- */

static bool
qp_rq_fail(struct softrnic_qp *qp, int rc)
{
	qp->rq_failed = true;
	if (rc == -EOVERFLOW)
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "the doorbell record is ahead by more than the receive ring");
	else
		softrnic_qp_break(qp, RNIC_EVENT_WQ_ACCESS_ERROR,
				  "its rings or doorbell record are no longer reachable");
	return false;
}

/* The next WQE into the private copy: its counter. False: there is none. */
static inline bool
qp_rq_take(struct softrnic *dev, struct softrnic_qp *qp, uint16_t *counter)
{
	struct softrnic_qp_rq *rq = &qp->rq;
	uint32_t index = rq->consumer & ((1u << rq->log_size) - 1);
	int waiting;

	if (qp->no_rq || qp->rq_failed)
		return false;
	if (rq->consumer == rq->producer || qp->ring.generation != dev->dma_generation) {
		waiting = softrnic_ring_waiting(dev, &qp->ring, &qp->dbrec, rq->consumer,
						rq->log_size, &rq->producer);
		if (unlikely(waiting < 0))
			return qp_rq_fail(qp, waiting);
		if (waiting == 0)
			return false;
	}
	qp->recv_bytes = 1u << rq->log_stride;
	softrnic_qp_ring_copy(dev, &qp->ring, index << rq->log_stride, qp->recv_wqe,
			      qp->recv_bytes);
	*counter = rq->consumer++;
	return true;
}

bool
softrnic_qp_recv_waits(struct softrnic *dev, struct softrnic_qp *qp)
{
	uint32_t counter;

	return qp->rmp == NULL && !qp->no_rq && !qp->rq_failed &&
	       softrnic_dbrec_read(dev, &qp->dbrec, 0, &counter) &&
	       (uint16_t)counter != qp->rq.consumer;
}

/* ---- A pool of many ---- */

/* As qp_rq_take(). */
static bool
qp_rmp_take(struct softrnic *dev, struct softrnic_qp *qp, uint16_t *counter)
{
	int taken = softrnic_rmp_take(dev, qp->rmp, qp->recv_wqe, counter);

	qp->recv_bytes = 1u << qp->rmp->log_stride;
	if (unlikely(taken < 0))
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "its receive memory pool is in error");
	return taken > 0;
}

/* ---- For the transport ---- */

static inline uint32_t
qp_recv_first(const struct softrnic_qp *qp)
{
	return qp->rmp != NULL ? softrnic_rmp_first(qp->rmp) : 0;
}

/* What the data segments hold, up to the end of the list. */
static inline uint32_t
qp_recv_capacity(const struct softrnic_qp *qp)
{
	const struct rnic_wqe_data *segment;
	uint64_t sum = 0;
	uint32_t at;

	for (at = qp_recv_first(qp); at < qp->recv_bytes; at += RNIC_WQE_DS_BYTES) {
		segment = (const struct rnic_wqe_data *)(qp->recv_wqe + at);
		if (rnic_be32_to_cpu(segment->byte_count) == 0 &&
		    rnic_be32_to_cpu(segment->lkey) == RNIC_WQE_INVALID_LKEY)
			break;
		sum += softrnic_qp_segment_length(segment);
	}
	return sum > ROCE_MESSAGE_MAX ? ROCE_MESSAGE_MAX : (uint32_t)sum;
}

bool
softrnic_qp_recv_take(struct roce_qp *roce, struct roce_recv *recv)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	uint16_t counter;

	if (!(qp->rmp != NULL ? qp_rmp_take(qp->dev, qp, &counter)
			      : qp_rq_take(qp->dev, qp, &counter)))
		return false;
	recv->cookie = counter;
	recv->capacity = qp_recv_capacity(qp);
	return true;
}

void
softrnic_qp_recv_give_back(struct roce_qp *roce, const struct roce_recv *recv)
{
	softrnic_rmp_give_back(softrnic_qp_of(roce)->rmp, (uint16_t)recv->cookie);
}

int
softrnic_qp_recv_scatter(struct roce_qp *roce, const struct roce_recv *recv, uint32_t offset,
			 const struct roce_pkt *pkt)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	struct softrnic_qp_segments segments = {
		.wqe = qp->recv_wqe,
		.first = qp_recv_first(qp),
		.end = qp->recv_bytes,
		.id = (uint32_t)recv->cookie,
		.pd = qp->rmp != NULL ? qp->rmp->pd : qp->pd,
		.rlky = qp->rmp == NULL && qp->rlky,
	};
	struct iovec to[ROCE_PKT_PIECES];
	int rc;

	rc = softrnic_qp_pieces(qp->dev, &segments, &qp->recv_at, offset, pkt->length,
				SOFTRNIC_LOCAL_WRITE, to);
	if (rc < 0)
		return rc;
	softrnic_qp_copy(qp->dev, to, pkt);
	return 0;
}

static void
qp_recv_complete_error(struct softrnic_qp *qp, struct softrnic_cq *cq, uint32_t user_index,
		       const struct roce_recv *recv, uint8_t syndrome)
{
	if (softrnic_cq_post_error(
		    qp->dev, cq, RNIC_CQE_RESPONDER_ERROR, (enum rnic_cqe_syndrome)syndrome,
		    syndrome == RNIC_SYND_WR_FLUSHED ? QP_VENDOR_FLUSHED : QP_VENDOR_RESPONDER,
		    qp->object.number, user_index, (uint16_t)recv->cookie) != 0)
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "its receive CQ takes no completion");
}

/* A completion, but for what it says of the packet, to be published; NULL: there is none, and nothing else is to be done. */
static inline struct rnic_cqe *
qp_recv_claim(struct softrnic_qp *qp, struct softrnic_cq *cq, uint32_t user_index,
	      const struct roce_recv *recv, uint8_t syndrome)
{
	struct rnic_cqe *cqe;

	if (unlikely(syndrome != 0)) {
		qp_recv_complete_error(qp, cq, user_index, recv, syndrome);
		return NULL;
	}
	cqe = softrnic_cq_claim(qp->dev, cq);
	if (unlikely(cqe == NULL)) {
		softrnic_qp_break(qp, RNIC_EVENT_WQ_CATASTROPHIC,
				  "its receive CQ takes no completion");
		return NULL;
	}
	cqe->srqn_user_index = rnic_cpu_to_be32(user_index);
	cqe->byte_count = rnic_cpu_to_be32(recv->length);
	cqe->timestamp = softrnic_clock_stamp(qp->dev, qp->utc);
	cqe->sop_drop_qpn = rnic_cpu_to_be32(qp->object.number);
	cqe->wqe_counter = rnic_cpu_to_be16((uint16_t)recv->cookie);
	return cqe;
}

static inline void
qp_recv_complete_to(struct softrnic_qp *qp, struct softrnic_cq *cq, uint32_t user_index,
		    const struct roce_recv *recv, uint8_t syndrome)
{
	struct rnic_cqe *cqe = qp_recv_claim(qp, cq, user_index, recv, syndrome);

	if (unlikely(cqe == NULL))
		return;
	cqe->flags_rqpn = rnic_cpu_to_be32(qp->roce.attr.dest_qpn);
	cqe->immediate = rnic_cpu_to_be32(recv->immediate);
	softrnic_cq_publish(qp->dev, cq, cqe, (enum rnic_cqe_opcode)recv->opcode, recv->solicited);
}

void
softrnic_qp_recv_complete(struct roce_qp *roce, const struct roce_recv *recv, uint8_t syndrome)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);

	qp_recv_complete_to(qp, qp->recv_cq, qp->user_index, recv, syndrome);
}

void
softrnic_qp_recv_complete_of(struct softrnic_qp *qp, const struct softrnic_rmp *rmp,
			     const struct roce_recv *recv, uint8_t syndrome)
{
	qp_recv_complete_to(qp, rmp->cq, rmp->user_index, recv, syndrome);
}

void
softrnic_qp_recv_complete_datagram(struct roce_qp *roce, const struct roce_recv *recv,
				   uint8_t syndrome)
{
	struct softrnic_qp *qp = softrnic_qp_of(roce);
	const struct rocev2_frame *head = qp->arriving;
	struct rnic_cqe *cqe = qp_recv_claim(qp, qp->recv_cq, qp->user_index, recv, syndrome);
	enum rnic_cqe_roce kind;

	if (unlikely(cqe == NULL))
		return;
	kind = rocev2_is_ipv4(head) ? RNIC_CQE_ROCE_IPV4 : RNIC_CQE_ROCE_IPV6;
	cqe->flags_rqpn = rnic_cpu_to_be32(RNIC_CQE_GRH | (uint32_t)kind << RNIC_CQE_ROCE_SHIFT |
					   recv->source_qpn);
	/* In the place of an immediate: the partition. Who asks for it is QP1's owner. */
	cqe->immediate = rnic_cpu_to_be32(
		recv->opcode == RNIC_CQE_RESPONDER_SEND ? head->pkey : recv->immediate);
	if (head->tagged) {
		cqe->l4_l3_hdr_type = RNIC_CQE_VLAN_STRIPPED;
		cqe->vlan_info = rnic_cpu_to_be16(head->tci);
	}
	softrnic_cq_publish(qp->dev, qp->recv_cq, cqe, (enum rnic_cqe_opcode)recv->opcode,
			    recv->solicited);
}
