/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The responder: requests of the peer, executed once and in order. READs and atomics are remembered, so that they can
 * be answered again; answer.c sends what is due.
 */
#include <rte_branch_prediction.h>

#include "softrnic/roce/operation_private.h"

void
roce_responder_die(struct roce_qp *qp, uint32_t psn, enum roce_nak nak, uint8_t syndrome,
		   enum rnic_event event)
{
	struct roce_responder *resp = &qp->responder;

	resp->nak = true;
	resp->nak_psn = psn;
	resp->syndrome = ROCE_NAK(nak);
	resp->ack = false;
	if (syndrome != 0 && resp->recv_held)
		roce_recv_done(qp, syndrome);
	else
		qp->ops->event(qp, event);
	roce_qp_error(qp);
	resp->dying = true;
}

static void
responder_invalid(struct roce_qp *qp)
{
	roce_responder_die(qp, qp->responder.psn, ROCE_NAK_INVALID_REQUEST,
			   RNIC_SYND_REMOTE_INVALID_REQUEST, RNIC_EVENT_WQ_INVALID_REQUEST);
}

/*
 * The peer may not touch that memory: the receive of a WRITE with immediate ends so. Or the memory failed; then a WQE in use
 * is not to blame, and is flushed.
 */
static void
responder_refuse(struct roce_qp *qp, int rc)
{
	if (rc == -RNIC_SYND_REMOTE_OPERATION) {
		roce_responder_die(qp, qp->responder.psn, ROCE_NAK_REMOTE_OPERATION, 0,
				   RNIC_EVENT_WQ_CATASTROPHIC);
		return;
	}
	qp->counters->resp_remote_access_errors++;
	roce_responder_die(qp, qp->responder.psn, ROCE_NAK_REMOTE_ACCESS, RNIC_SYND_LOCAL_ACCESS,
			   RNIC_EVENT_WQ_ACCESS_ERROR);
}

/* A receive WQE for this message; false: none is there, and the peer is told to wait. */
static bool
responder_take_recv(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->responder;

	if (resp->recv_held)
		return true;
	resp->recv = (struct roce_recv){ 0 };
	if (qp->ops->recv_take(qp, &resp->recv)) {
		resp->recv_held = true;
		return true;
	}
	qp->counters->out_of_buffer++;
	resp->nak = true;
	resp->gap = true; /* what follows comes again, too */
	resp->nak_psn = resp->psn;
	resp->syndrome = ROCE_RNR(qp->attr.min_rnr_timer);
	return false;
}

/* The packet was executed. */
static inline __attribute__((always_inline)) void
responder_next(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation, uint32_t psns)
{
	struct roce_responder *resp = &qp->responder;
	bool word = (operation & (OP_IMM | OP_INVAL)) != 0;

	resp->psn = roce_psn_add(resp->psn, psns);
	if (pkt->ack_request && (operation & (OP_SEND | OP_WRITE)) != 0)
		resp->ack = true;
	if ((operation & OP_END) == 0)
		return;
	resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
	resp->message = ROCE_NO_MESSAGE;
	if (!resp->recv_held)
		return;
	resp->recv.opcode = (operation & OP_WRITE) != 0 ? RNIC_CQE_RESPONDER_WRITE_IMM
			    : !word			? RNIC_CQE_RESPONDER_SEND
			    : (operation & OP_IMM) != 0 ? RNIC_CQE_RESPONDER_SEND_IMM
							: RNIC_CQE_RESPONDER_SEND_INVAL;
	resp->recv.solicited = pkt->solicited;
	resp->recv.length = resp->offset;
	/* Or the key that was invalidated, in the same place. */
	resp->recv.immediate = word ? pkt->immediate : 0;
	roce_recv_done(qp, 0);
}

static void
responder_send(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	int rc = 0;

	if (!responder_take_recv(qp))
		return;
	if ((operation & OP_START) != 0) {
		resp->message = ROCE_SEND_MESSAGE;
		resp->offset = 0;
	}
	if (pkt->length > resp->recv.capacity - resp->offset) {
		qp->counters->resp_local_length_error++;
		roce_responder_die(qp, resp->psn, ROCE_NAK_INVALID_REQUEST, RNIC_SYND_LOCAL_LENGTH,
				   RNIC_EVENT_WQ_INVALID_REQUEST);
		return;
	}
	if (pkt->length > 0)
		rc = qp->ops->recv_scatter(qp, &resp->recv, resp->offset, pkt);
	if (rc < 0) {
		roce_responder_die(qp, resp->psn, ROCE_NAK_REMOTE_OPERATION, (uint8_t)-rc,
				   RNIC_EVENT_WQ_CATASTROPHIC);
		return;
	}
	if (unlikely((operation & OP_INVAL) != 0) &&
	    (rc = qp->ops->remote_invalidate(qp, pkt->invalidate_rkey)) < 0) {
		responder_refuse(qp, rc);
		return;
	}
	resp->offset += pkt->length;
	responder_next(qp, pkt, operation, 1);
}

static void
responder_write(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	bool start = (operation & OP_START) != 0, end = (operation & OP_END) != 0;
	uint32_t total = start ? pkt->dma_length : resp->left;
	int rc = 0;

	/* What RETH announced is what comes: all of it with the last packet, not before. */
	if (total > ROCE_MESSAGE_MAX || (end ? total != pkt->length : total <= pkt->length)) {
		responder_invalid(qp);
		return;
	}
	if ((operation & OP_IMM) != 0 && !responder_take_recv(qp))
		return;
	if (start) {
		resp->offset = 0;
		resp->rkey = pkt->rkey;
		resp->va = pkt->va;
		if (!end)
			rc = qp->ops->remote_check(qp, pkt->rkey, pkt->va, total,
						   ROCE_REMOTE_WRITE);
	}
	if (rc >= 0 && pkt->length > 0)
		rc = qp->ops->remote_write(qp, resp->rkey, resp->va + resp->offset, pkt);
	if (rc < 0) {
		responder_refuse(qp, rc);
		return;
	}
	qp->counters->rx_write_requests += start ? 1 : 0;
	resp->message = ROCE_WRITE_MESSAGE;
	resp->offset += pkt->length;
	resp->left = total - pkt->length;
	responder_next(qp, pkt, operation, 1);
}

/* Room to remember one more READ or atomic; NULL: the peer has more of them under way than was agreed. */
static struct roce_resource *
responder_remember(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_resource *resource;

	if (qp->attr.max_dest_rd_atomic == 0)
		return NULL;
	if (resp->head - resp->oldest >= qp->attr.max_dest_rd_atomic) {
		resource = &resp->ring[resp->oldest & resp->mask];
		if (resource->pending && !resource->answered)
			return NULL;
		resp->oldest++;
		if ((int32_t)(resp->pending - resp->oldest) < 0)
			resp->pending = resp->oldest;
	}
	resource = &resp->ring[resp->head & resp->mask];
	*resource = (struct roce_resource){
		.opcode = pkt->opcode,
		.pending = true,
		.psn = pkt->psn,
		.packets = 1,
		.rkey = pkt->rkey,
		.va = pkt->va,
		.srqn = pkt->srqn,
		.msn = (resp->msn + 1) & ROCE_PSN_MASK,
		.next_psn = pkt->psn,
	};
	return resource;
}

static void
responder_read(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_resource *resource;
	int rc = 0;

	/* With half of the range, a repeated packet of it could be a new one. */
	if (pkt->dma_length > ROCE_MESSAGE_MAX ||
	    roce_packets(pkt->dma_length, qp->mtu_log) >= ROCE_PSN_HALF) {
		responder_invalid(qp);
		return;
	}
	if (pkt->dma_length > 0)
		rc = qp->ops->remote_check(qp, pkt->rkey, pkt->va, pkt->dma_length,
					   ROCE_REMOTE_READ);
	if (rc < 0) {
		responder_refuse(qp, rc);
		return;
	}
	resource = responder_remember(qp, pkt);
	if (resource == NULL) {
		responder_invalid(qp);
		return;
	}
	resource->length = resource->next_left = pkt->dma_length;
	resource->next_va = pkt->va;
	resource->packets = roce_packets(pkt->dma_length, qp->mtu_log);
	resp->head++;
	qp->counters->rx_read_requests++;
	/* The response acknowledges all before it. */
	resp->ack = false;
	responder_next(qp, pkt, operation, resource->packets);
}

static void
responder_atomic(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_resource *resource;
	int rc;

	resource = pkt->va % sizeof(uint64_t) == 0 ? responder_remember(qp, pkt) : NULL;
	if (resource == NULL) {
		responder_invalid(qp);
		return;
	}
	rc = qp->ops->remote_atomic(qp, pkt, &resource->original);
	if (rc < 0) {
		responder_refuse(qp, rc);
		return;
	}
	resource->swap_add = pkt->swap_add;
	resource->compare = pkt->compare;
	resp->head++;
	qp->counters->rx_atomic_requests++;
	resp->ack = false;
	responder_next(qp, pkt, operation, 1);
}

/* May that opcode stand here, with that much payload, on this QP? */
static bool
responder_check(const struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	static const uint8_t rights[] = {
		[OP_WRITE] = ROCE_REMOTE_WRITE,
		[OP_READ] = ROCE_REMOTE_READ,
		[OP_ATOMIC] = ROCE_REMOTE_ATOMIC,
	};
	enum roce_message message = (operation & OP_SEND) != 0	  ? ROCE_SEND_MESSAGE
				    : (operation & OP_WRITE) != 0 ? ROCE_WRITE_MESSAGE
								  : ROCE_NO_MESSAGE;
	uint8_t right = rights[operation & (OP_WRITE | OP_READ | OP_ATOMIC)];
	uint32_t mtu = 1u << qp->mtu_log;

	if (operation == 0 || (qp->attr.access & right) != right ||
	    qp->responder.message != ((operation & OP_START) != 0 ? ROCE_NO_MESSAGE : message))
		return false;
	if ((operation & (OP_READ | OP_ATOMIC)) != 0)
		return pkt->length == 0;
	if ((operation & OP_END) == 0)
		return pkt->length == mtu;
	return pkt->length <= mtu && (pkt->length > 0 || (operation & OP_START) != 0);
}

/* A READ again, or its rest: within what was allowed, from any of its PSNs. */
static bool
responder_repeated_read(const struct roce_qp *qp, const struct roce_pkt *pkt,
			struct roce_resource *resource)
{
	uint32_t index = (pkt->psn - resource->psn) & ROCE_PSN_MASK;

	if (pkt->rkey != resource->rkey || pkt->srqn != resource->srqn || pkt->va < resource->va ||
	    pkt->va - resource->va > resource->length ||
	    pkt->dma_length > resource->length - (pkt->va - resource->va) ||
	    roce_packets(pkt->dma_length, qp->mtu_log) > resource->packets - index)
		return false;
	resource->next_psn = pkt->psn;
	resource->next_va = pkt->va;
	resource->next_left = pkt->dma_length;
	return true;
}

static bool
responder_repeated_atomic(const struct roce_pkt *pkt, const struct roce_resource *resource)
{
	return pkt->rkey == resource->rkey && pkt->va == resource->va &&
	       pkt->swap_add == resource->swap_add && pkt->compare == resource->compare;
}

/* A packet that was executed before. */
static void
responder_repeat(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_resource *resource;
	uint32_t i;

	qp->counters->duplicate_request++;
	if ((operation & (OP_SEND | OP_WRITE)) != 0)
		resp->ack = true;
	if ((operation & (OP_READ | OP_ATOMIC)) == 0)
		return;
	for (i = resp->oldest; i != resp->head; i++) {
		resource = &resp->ring[i & resp->mask];
		if (((pkt->psn - resource->psn) & ROCE_PSN_MASK) < resource->packets)
			break;
	}
	/* Too old, or never asked: the requester tries something else. */
	if (i == resp->head || resource->opcode != pkt->opcode || pkt->length != 0 ||
	    !((operation & OP_READ) != 0 ? responder_repeated_read(qp, pkt, resource)
					 : responder_repeated_atomic(pkt, resource)))
		return;
	resource->pending = true;
	resource->begun = false;
	if ((int32_t)(i - resp->pending) < 0)
		resp->pending = i;
}

void
roce_responder_receive(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct roce_responder *resp = &qp->responder;
	uint8_t operation = roce_operation(pkt->opcode);
	int32_t ahead = roce_psn_diff(pkt->psn, resp->psn);

	if (ahead < 0) {
		responder_repeat(qp, pkt, operation);
		return;
	}
	if (ahead > 0) {
		qp->counters->out_of_sequence++;
		if (!resp->gap) {
			resp->gap = resp->nak = true;
			resp->nak_psn = resp->psn;
			resp->syndrome = ROCE_NAK(ROCE_NAK_SEQUENCE);
		}
		return;
	}
	resp->gap = resp->nak = false;
	if (qp->state == ROCE_RTR && !resp->established) {
		resp->established = true;
		qp->ops->event(qp, RNIC_EVENT_COMM_ESTABLISHED);
	}
	if (!responder_check(qp, pkt, operation))
		responder_invalid(qp);
	else if ((operation & OP_SEND) != 0)
		responder_send(qp, pkt, operation);
	else if ((operation & OP_WRITE) != 0)
		responder_write(qp, pkt, operation);
	else if ((operation & OP_READ) != 0)
		responder_read(qp, pkt, operation);
	else
		responder_atomic(qp, pkt, operation);
}
