/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The extended reliable connection (IBTA vol. 1, annex A14): RC, but that each request names the shared receive queue of the
 * responder that it is for. RC's code does all else, of packets that look like its own.
 */
#include "softrnic/roce/operation_private.h"

#define OPERATION    0x1f /* of an opcode */
#define NO_OPERATION 0x1f /* one that nobody has: invalid, whatever else the packet is */

/* May the next packet name what it names? If so, it is executed for that. */
static bool
xrc_select(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct roce_responder *resp = &qp->responder;

	/* As the first one of its message. */
	if (resp->message != ROCE_NO_MESSAGE && pkt->srqn != resp->srqn)
		return false;
	resp->srqn = pkt->srqn;
	return qp->ops->srq_select(qp, pkt->srqn) >= 0;
}

static void
xrc_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	struct roce_pkt rc = *pkt;

	if (!roce_qp_receives(qp) || ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_XRC ||
	    pkt->psn > ROCE_PSN_MASK)
		return;
	rc.opcode &= OPERATION;
	if (rc.opcode >= ROCE_READ_RESPONSE_FIRST && rc.opcode <= ROCE_ATOMIC_ACKNOWLEDGE) {
		roce_completer_receive(qp, &rc, now);
		return;
	}
	/* What was executed before is executed for nobody. */
	if (pkt->psn == qp->responder.psn && !xrc_select(qp, pkt))
		rc.opcode = NO_OPERATION;
	else if (rc.opcode == ROCE_READ_REQUEST)
		rc.opcode = ROCE_XRC_READ;
	roce_responder_receive(qp, &rc);
}

const struct roce_transport roce_xrc = { .receive = xrc_receive,
					 .send = roce_requester_send,
					 .opcode_bits = ROCE_OPCODE(ROCE_TRANSPORT_XRC, 0) };
