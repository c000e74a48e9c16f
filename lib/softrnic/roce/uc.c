/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The unreliable connection: messages as RC has them, SEND and WRITE, that arrive whole or not at all. A packet that is missing, or
 * does not fit, takes its message with it; the next first packet begins another one.
 */
#include "softrnic/roce/data_private.h"
#include "softrnic/roce/operation_private.h"

/* ---- Requests ---- */

static uint8_t
uc_check(const struct roce_qp *qp, const struct roce_request *request)
{
	(void)qp;
	if (request->opcode != RNIC_WQE_SEND && request->opcode != RNIC_WQE_SEND_IMM &&
	    !roce_is_write(request->opcode))
		return RNIC_SYND_LOCAL_QP_OPERATION;
	return request->length > ROCE_MESSAGE_MAX ? RNIC_SYND_LOCAL_LENGTH : 0;
}

static uint8_t
uc_emit(struct roce_qp *qp, struct roce_request *request)
{
	struct iovec pieces[ROCE_PKT_PIECES];
	struct roce_pkt pkt = { .pieces = pieces };
	uint8_t syndrome = roce_data_packet(qp, request, pieces, &pkt);

	if (syndrome != 0)
		return syndrome;
	pkt.opcode = ROCE_OPCODE(ROCE_TRANSPORT_UC, pkt.opcode);
	pkt.dest_qpn = qp->attr.dest_qpn;
	pkt.psn = roce_unreliable_psn(qp);
	qp->ops->emit(qp, &pkt);
	return 0;
}

static unsigned int
uc_send(struct roce_qp *qp, uint64_t now)
{
	static const struct roce_sender sender = { uc_check, uc_emit };

	(void)now;
	return roce_unreliable_send(qp, &sender);
}

/* ---- Messages ---- */

/* What has come of it counts for nothing, and what follows is not looked at. */
static void
uc_drop(struct roce_qp *qp)
{
	qp->responder.message = ROCE_NO_MESSAGE;
	roce_recv_undone(qp);
}

/* The packet was taken. */
static void
uc_next(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	bool write = (operation & OP_WRITE) != 0, immediate = (operation & OP_IMM) != 0;

	resp->offset += pkt->length;
	if ((operation & OP_END) == 0)
		return;
	resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
	resp->message = ROCE_NO_MESSAGE;
	if (!write || immediate)
		roce_unreliable_complete(qp, pkt,
					 write	     ? RNIC_CQE_RESPONDER_WRITE_IMM
					 : immediate ? RNIC_CQE_RESPONDER_SEND_IMM
						     : RNIC_CQE_RESPONDER_SEND);
}

static void
uc_receive_send(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;

	if (!roce_unreliable_take(qp)) {
		uc_drop(qp);
		return;
	}
	if (pkt->length > resp->recv.capacity - resp->offset) {
		qp->counters->resp_local_length_error++;
		uc_drop(qp);
		return;
	}
	if (roce_unreliable_scatter(qp, pkt))
		uc_next(qp, pkt, operation);
}

static void
uc_receive_write(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	struct roce_responder *resp = &qp->responder;
	bool start = (operation & OP_START) != 0, end = (operation & OP_END) != 0;
	uint32_t total = start ? pkt->dma_length : resp->left;
	int rc = 0;

	if (total > ROCE_MESSAGE_MAX || (end ? total != pkt->length : total <= pkt->length) ||
	    ((operation & OP_IMM) != 0 && !roce_unreliable_take(qp))) {
		uc_drop(qp);
		return;
	}
	if (start) {
		resp->rkey = pkt->rkey;
		resp->va = pkt->va;
		if (!end)
			rc = qp->ops->remote_check(qp, pkt->rkey, pkt->va, total,
						   ROCE_REMOTE_WRITE);
	}
	if (rc >= 0 && pkt->length > 0)
		rc = qp->ops->remote_write(qp, resp->rkey, resp->va + resp->offset, pkt);
	if (rc < 0) {
		qp->counters->resp_remote_access_errors++;
		uc_drop(qp);
		return;
	}
	qp->counters->rx_write_requests += start ? 1 : 0;
	resp->left = total - pkt->length;
	uc_next(qp, pkt, operation);
}

/* Does it go on with the message, or begin one, with that much payload? */
static bool
uc_fits(const struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t operation)
{
	uint32_t mtu = 1u << qp->mtu_log;

	if ((operation & OP_WRITE) != 0 && (qp->attr.access & ROCE_REMOTE_WRITE) == 0)
		return false;
	if ((operation & OP_START) == 0 &&
	    qp->responder.message !=
		    ((operation & OP_SEND) != 0 ? ROCE_SEND_MESSAGE : ROCE_WRITE_MESSAGE))
		return false;
	if ((operation & OP_END) == 0)
		return pkt->length == mtu;
	return pkt->length <= mtu && (pkt->length > 0 || (operation & OP_START) != 0);
}

static void
uc_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	struct roce_responder *resp = &qp->responder;
	uint8_t operation = roce_operation(pkt->opcode);

	(void)now;
	if (!roce_qp_receives(qp) || ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_UC ||
	    pkt->psn > ROCE_PSN_MASK || (operation & (OP_SEND | OP_WRITE)) == 0 ||
	    (operation & OP_INVAL) != 0)
		return;
	if (pkt->psn != resp->psn) {
		qp->counters->out_of_sequence++;
		uc_drop(qp);
	}
	if (!uc_fits(qp, pkt, operation)) {
		uc_drop(qp);
		return;
	}
	if (qp->state == ROCE_RTR && !resp->established) {
		resp->established = true;
		qp->ops->event(qp, RNIC_EVENT_COMM_ESTABLISHED);
	}
	resp->psn = roce_psn_add(pkt->psn, 1);
	if ((operation & OP_START) != 0) {
		/* A message that its sender did not finish gives its receive back: this one may need none. */
		if (resp->message != ROCE_NO_MESSAGE)
			uc_drop(qp);
		resp->message = (operation & OP_SEND) != 0 ? ROCE_SEND_MESSAGE : ROCE_WRITE_MESSAGE;
		resp->offset = 0;
	}
	if ((operation & OP_SEND) != 0)
		uc_receive_send(qp, pkt, operation);
	else
		uc_receive_write(qp, pkt, operation);
}

const struct roce_transport roce_uc = { .receive = uc_receive, .send = uc_send };
