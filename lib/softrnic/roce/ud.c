/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Datagrams: one packet each, to the queue pair that its request names. Before the payload the receive WQE takes the headers
 * that it came with; they are the first bytes of what the owner hands over as payload.
 */
#include "softrnic/roce/machine_private.h"

static uint8_t
ud_check(const struct roce_qp *qp, const struct roce_request *request)
{
	if (request->opcode != RNIC_WQE_SEND && request->opcode != RNIC_WQE_SEND_IMM)
		return RNIC_SYND_LOCAL_QP_OPERATION;
	return request->length > qp->attr.mtu ? RNIC_SYND_LOCAL_LENGTH : 0;
}

static uint8_t
ud_emit(struct roce_qp *qp, struct roce_request *request)
{
	bool immediate = request->opcode == RNIC_WQE_SEND_IMM;
	struct iovec pieces[ROCE_PKT_PIECES];
	struct roce_pkt pkt = {
		.opcode = ROCE_OPCODE(ROCE_TRANSPORT_UD,
				      immediate ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY),
		.solicited = request->solicited,
		.dest_qpn = request->dest_qpn,
		.immediate = immediate ? request->immediate : 0,
		.qkey = (request->qkey & ROCE_QKEY_OWN) != 0 ? qp->attr.qkey : request->qkey,
		.source_qpn = qp->attr.source_qpn,
		.length = request->length,
		.pieces = pieces,
	};
	int count;

	if (pkt.length > 0) {
		count = qp->ops->gather(qp, request, 0, pkt.length, pieces);
		if (count < 0)
			return (uint8_t)-count;
		pkt.count = (uint32_t)count;
	}
	pkt.psn = roce_unreliable_psn(qp);
	qp->ops->emit(qp, &pkt);
	return 0;
}

static unsigned int
ud_send(struct roce_qp *qp, uint64_t now)
{
	static const struct roce_sender sender = { ud_check, ud_emit };

	(void)now;
	return roce_unreliable_send(qp, &sender);
}

static void
ud_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	struct roce_responder *resp = &qp->responder;
	bool immediate = pkt->opcode == ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY_IMM);

	(void)now;
	if (!roce_qp_receives(qp) ||
	    (!immediate && pkt->opcode != ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY)))
		return;
	/* Longer than any that it may send itself: no peer of the same MTU has sent it. */
	if (pkt->length > qp->attr.mtu + ROCE_GRH_BYTES) {
		qp->counters->resp_local_length_error++;
		return;
	}
	if (!roce_unreliable_take(qp))
		return;
	if (pkt->length > resp->recv.capacity) {
		qp->counters->resp_local_length_error++;
		roce_recv_undone(qp);
		return;
	}
	resp->offset = 0;
	resp->recv.source_qpn = pkt->source_qpn;
	if (!roce_unreliable_scatter(qp, pkt))
		return;
	resp->offset = pkt->length;
	roce_unreliable_complete(qp, pkt,
				 immediate ? RNIC_CQE_RESPONDER_SEND_IMM : RNIC_CQE_RESPONDER_SEND);
}

const struct roce_transport roce_ud = { .receive = ud_receive, .send = ud_send };
