/* SPDX-License-Identifier: BSD-3-Clause */

/* What drives all others: packets of RC that come in, and the poll, with its deadlines. */
#include "softrnic/roce/machine_private.h"

static unsigned int
qp_flush(struct roce_qp *qp)
{
	struct roce_recv recv = { 0 };
	unsigned int n = roce_requests_flush(qp), receives = 0;

	while (!qp->conf.srq && receives < qp->budget && qp->ops->recv_take(qp, &recv)) {
		qp->counters->resp_cqe_flush_error++;
		qp->ops->recv_complete(qp, &recv, RNIC_SYND_WR_FLUSHED);
		recv = (struct roce_recv){ 0 };
		receives++;
	}
	if (qp->conf.srq && !qp->last_wqe) {
		qp->last_wqe = true;
		qp->ops->event(qp, RNIC_EVENT_SRQ_LAST_WQE);
	}
	return n + receives;
}

struct roce_request *
roce_qp_claim(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;

	if (qp->state == ROCE_RST || req->head - req->tail > req->mask)
		return NULL;
	return roce_request_at(req, req->head);
}

void
roce_qp_post(struct roce_qp *qp)
{
	qp->requester.head++;
}

static void
rc_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	if (!roce_qp_receives(qp) || ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_RC ||
	    pkt->psn > ROCE_PSN_MASK)
		return;
	if (pkt->opcode >= ROCE_READ_RESPONSE_FIRST && pkt->opcode <= ROCE_ATOMIC_ACKNOWLEDGE)
		roce_completer_receive(qp, pkt, now);
	else
		roce_responder_receive(qp, pkt);
}

const struct roce_transport roce_rc = { .receive = rc_receive, .send = roce_requester_send };

static void
qp_deadlines(struct roce_qp *qp, uint64_t now)
{
	struct roce_requester *req = &qp->requester;

	if (req->resume_at != 0 && now >= req->resume_at) {
		req->resume_at = 0;
		req->gone_back = false;
	}
	if (req->retry_at != 0 && now >= req->retry_at) {
		qp->counters->local_ack_timeout_err++;
		req->gone_back = false;
		roce_requester_retry(qp, now);
	}
	/* A change of attributes, which has no time, may have set the first timeout, or the end of an RNR wait left none. */
	if (req->retry_at == 0 && req->resume_at == 0 && req->una != req->high &&
	    qp->attr.timeout != 0 && qp->state != ROCE_ERR)
		req->retry_at = now + roce_timeout_ns(qp);
}

unsigned int
roce_qp_poll(struct roce_qp *qp, uint64_t now, unsigned int budget)
{
	struct roce_requester *req = &qp->requester;
	unsigned int n;

	qp->budget = budget;
	if (qp->state < ROCE_RTR)
		return 0;
	if (qp->state != ROCE_ERR)
		qp_deadlines(qp, now);
	n = roce_responder_answer(qp);
	if (qp->state != ROCE_ERR)
		n += qp->transport.send(qp, now);
	if (qp->state == ROCE_ERR)
		n += qp_flush(qp);
	if (req->draining && req->tail == req->fresh) {
		req->draining = false;
		qp->ops->event(qp, RNIC_EVENT_SQ_DRAINED);
	}
	return n;
}

uint64_t
roce_qp_deadline(const struct roce_qp *qp)
{
	const struct roce_requester *req = &qp->requester;
	uint64_t deadline = UINT64_MAX;

	if (req->retry_at != 0)
		deadline = req->retry_at;
	if (req->resume_at != 0 && req->resume_at < deadline)
		deadline = req->resume_at;
	return deadline;
}
