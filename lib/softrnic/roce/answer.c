/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the responder sends, in the order of PSNs: an ACK that overtook a READ's response would say that the response
 * is lost.
 */
#include "softrnic/roce/machine_private.h"

static void
answer_emit(struct roce_qp *qp, struct roce_pkt *pkt)
{
	pkt->opcode |= qp->transport.opcode_bits;
	pkt->dest_qpn = qp->attr.dest_qpn;
	qp->ops->emit(qp, pkt);
}

/* The key went after the request was taken, or the memory failed. Nothing behind it is answered. */
static void
answer_refuse(struct roce_qp *qp, struct roce_resource *resource, int rc)
{
	bool access = rc != -RNIC_SYND_REMOTE_OPERATION;

	resource->pending = false;
	qp->responder.pending = qp->responder.head;
	qp->counters->resp_remote_access_errors += access ? 1 : 0;
	roce_responder_die(qp, resource->next_psn,
			   access ? ROCE_NAK_REMOTE_ACCESS : ROCE_NAK_REMOTE_OPERATION, 0,
			   access ? RNIC_EVENT_WQ_ACCESS_ERROR : RNIC_EVENT_WQ_CATASTROPHIC);
}

/* One packet of a READ's response. */
static void
answer_read(struct roce_qp *qp, struct roce_resource *resource)
{
	uint32_t mtu = 1u << qp->mtu_log;
	bool first = !resource->begun, last = resource->next_left <= mtu;
	struct iovec pieces[ROCE_PKT_PIECES];
	struct roce_pkt pkt = {
		.psn = resource->next_psn,
		.syndrome = ROCE_ACK_UNLIMITED,
		.msn = resource->msn,
		.length = last ? resource->next_left : mtu,
		.pieces = pieces,
	};
	int count;

	if (pkt.length > 0) {
		count = qp->ops->remote_read(qp, resource->rkey, resource->next_va, pkt.length,
					     pieces);
		if (count < 0) {
			answer_refuse(qp, resource, count);
			return;
		}
		pkt.count = (uint32_t)count;
	}
	pkt.opcode = first  ? (last ? ROCE_READ_RESPONSE_ONLY : ROCE_READ_RESPONSE_FIRST)
		     : last ? ROCE_READ_RESPONSE_LAST
			    : ROCE_READ_RESPONSE_MIDDLE;
	resource->begun = true;
	resource->next_psn = roce_psn_add(resource->next_psn, 1);
	resource->next_va += pkt.length;
	resource->next_left -= pkt.length;
	if (last) {
		resource->pending = false;
		resource->answered = true;
	}
	answer_emit(qp, &pkt);
}

/* The same for XRC: its shared receive queue may have gone, and others may have been named since. */
static void
answer_read_xrc(struct roce_qp *qp, struct roce_resource *resource)
{
	if (resource->next_left > 0 && qp->ops->srq_select(qp, resource->srqn) < 0)
		answer_refuse(qp, resource, -RNIC_SYND_REMOTE_ACCESS);
	else
		answer_read(qp, resource);
}

static void
answer_atomic(struct roce_qp *qp, struct roce_resource *resource)
{
	struct roce_pkt pkt = {
		.opcode = ROCE_ATOMIC_ACKNOWLEDGE,
		.psn = resource->psn,
		.syndrome = ROCE_ACK_UNLIMITED,
		.msn = resource->msn,
		.original = resource->original,
	};

	resource->pending = false;
	resource->answered = true;
	answer_emit(qp, &pkt);
}

/* A NAK acknowledges what is before it, so that it stands for an ACK too. */
static void
answer_acknowledge(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_pkt pkt = {
		.opcode = ROCE_ACKNOWLEDGE,
		.psn = roce_psn_add(resp->psn, ROCE_PSN_MASK),
		.syndrome = ROCE_ACK_UNLIMITED,
		.msn = resp->msn,
	};

	if (resp->nak) {
		pkt.psn = resp->nak_psn;
		pkt.syndrome = resp->syndrome;
	}
	resp->ack = resp->nak = false;
	answer_emit(qp, &pkt);
}

unsigned int
roce_responder_answer(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->responder;
	struct roce_resource *resource;
	unsigned int n;

	for (n = 0; n < qp->budget && (qp->state != ROCE_ERR || resp->dying); n++) {
		while (resp->pending != resp->head &&
		       !resp->ring[resp->pending & resp->mask].pending)
			resp->pending++;
		if (resp->pending != resp->head) {
			resource = &resp->ring[resp->pending & resp->mask];
			if (resource->opcode == ROCE_READ_REQUEST)
				answer_read(qp, resource);
			else if (resource->opcode == ROCE_XRC_READ)
				answer_read_xrc(qp, resource);
			else
				answer_atomic(qp, resource);
		} else if (resp->ack || resp->nak) {
			answer_acknowledge(qp);
		} else {
			break;
		}
	}
	return n;
}
