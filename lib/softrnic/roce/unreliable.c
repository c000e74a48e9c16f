/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What UC and UD share: nothing is acknowledged, so that a request is done with its last packet, and nothing is ever sent
 * again. A message that cannot be taken is dropped, which only a counter tells, and the receive WQE that it had is the next one's,
 * of whichever queue pair has it, too.
 */
#include "softrnic/roce/machine_private.h"

/* The oldest request ends. Only one has begun at any time. */
static void
unreliable_done(struct roce_qp *qp, uint8_t syndrome)
{
	struct roce_requester *req = &qp->requester;
	const struct roce_request *request = roce_request_at(req, req->tail);

	req->sent = 0;
	req->tail++;
	req->next = req->fresh = req->tail;
	qp->ops->complete(qp, request, syndrome);
}

/* The oldest request fails: those behind it are flushed, what is received goes on (IBTA vol. 1, 10.3.1: SQER). */
static void
unreliable_fail(struct roce_qp *qp, uint8_t syndrome)
{
	qp->counters->req_cqe_error++;
	unreliable_done(qp, syndrome);
	if (qp->state == ROCE_ERR)
		return;
	qp->requester.draining = false;
	qp->state = ROCE_SQER;
}

/* One packet of the oldest request, or its end; false: nothing can be done now. */
static bool
unreliable_step(struct roce_qp *qp, const struct roce_sender *sender)
{
	struct roce_requester *req = &qp->requester;
	struct roce_request *request = roce_request_at(req, req->tail);
	bool begun = req->fresh != req->tail;

	if (req->tail == req->head || (!begun && qp->state != ROCE_RTS))
		return false;
	if (!begun && request->syndrome == 0 && request->opcode != RNIC_WQE_NOP)
		request->syndrome = sender->check(qp, request);
	if (request->syndrome == 0 && request->opcode != RNIC_WQE_NOP) {
		if (!begun) {
			request->psn = req->psn;
			request->packets = roce_packets(request->length, qp->mtu_log);
			req->fresh++;
		}
		request->syndrome = sender->emit(qp, request);
	}
	if (request->syndrome != 0) {
		unreliable_fail(qp, request->syndrome);
		return false;
	}
	if (request->opcode == RNIC_WQE_NOP || ++req->sent == request->packets)
		unreliable_done(qp, 0);
	return true;
}

unsigned int
roce_unreliable_send(struct roce_qp *qp, const struct roce_sender *sender)
{
	struct roce_requester *req = &qp->requester;
	unsigned int n = 0;

	while (n < qp->budget && (qp->state == ROCE_RTS || qp->state == ROCE_SQD) &&
	       unreliable_step(qp, sender))
		n++;
	if (qp->state == ROCE_SQER) {
		n += roce_requests_flush(qp);
		req->next = req->fresh = req->tail;
	}
	return n;
}

uint32_t
roce_unreliable_psn(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;
	uint32_t psn = req->psn;

	/* What is sent is acknowledged, as far as others see: no timer runs. */
	req->psn = req->high = req->una = roce_psn_add(psn, 1);
	return psn;
}

bool
roce_unreliable_take(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->responder;

	if (resp->recv_held)
		return true;
	resp->recv = (struct roce_recv){ 0 };
	resp->recv_held = qp->ops->recv_take(qp, &resp->recv);
	if (!resp->recv_held)
		qp->counters->out_of_buffer++;
	return resp->recv_held;
}

bool
roce_unreliable_scatter(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct roce_responder *resp = &qp->responder;
	int rc;

	if (pkt->length == 0)
		return true;
	rc = qp->ops->recv_scatter(qp, &resp->recv, resp->offset, pkt);
	if (rc >= 0)
		return true;
	roce_recv_done(qp, (uint8_t)-rc);
	roce_qp_error(qp);
	return false;
}

void
roce_unreliable_complete(struct roce_qp *qp, const struct roce_pkt *pkt, uint8_t opcode)
{
	struct roce_recv *recv = &qp->responder.recv;

	recv->opcode = opcode;
	recv->solicited = pkt->solicited;
	recv->length = qp->responder.offset;
	recv->immediate = opcode == RNIC_CQE_RESPONDER_SEND ? 0 : pkt->immediate;
	roce_recv_done(qp, 0);
}
