/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The completer: what comes back. An answer is believed only for PSNs that are out, and everything before its PSN is
 * acknowledged by it, except READs and atomics, whose data must come.
 */
#include "softrnic/roce/machine_private.h"

/* AETH's codes of the time to wait, in units of 10 us. */
static const uint32_t rnr_times[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

/* An answer behind one that is missing. */
static void
completer_implied_nak(struct roce_qp *qp, uint64_t now)
{
	/* The others of the same flight say the same. */
	if (qp->requester.gone_back)
		return;
	qp->counters->implied_nak_seq_err++;
	qp->requester.gone_back = true;
	roce_requester_retry(qp, now);
}

static void
completer_rnr(struct roce_qp *qp, uint8_t code, uint64_t now)
{
	struct roce_requester *req = &qp->requester;

	qp->counters->rnr_nak_retry_err++;
	/* A second copy; the first is obeyed already. */
	if (req->resume_at != 0)
		return;
	if (qp->attr.rnr_retry < 7) {
		if (req->rnr_retries == 0) {
			roce_requester_fail(qp, RNIC_SYND_RNR_RETRY_EXCEEDED);
			return;
		}
		req->rnr_retries--;
	}
	roce_requester_rewind(qp);
	req->retry_at = 0;
	req->gone_back = true;
	req->resume_at = now + rnr_times[code] * 10000ull;
}

static void
completer_nak(struct roce_qp *qp, uint8_t nak, uint64_t now)
{
	switch (nak) {
	case ROCE_NAK_SEQUENCE:
		qp->counters->packet_seq_err++;
		if (qp->requester.gone_back)
			return;
		qp->requester.gone_back = true;
		roce_requester_retry(qp, now);
		break;
	case ROCE_NAK_INVALID_REQUEST:
		qp->counters->req_remote_invalid_request++;
		roce_requester_fail(qp, RNIC_SYND_REMOTE_INVALID_REQUEST);
		break;
	case ROCE_NAK_REMOTE_ACCESS:
		qp->counters->req_remote_access_errors++;
		roce_requester_fail(qp, RNIC_SYND_REMOTE_ACCESS);
		break;
	case ROCE_NAK_REMOTE_OPERATION: roce_requester_fail(qp, RNIC_SYND_REMOTE_OPERATION); break;
	default: break; /* reserved: as if it had been lost */
	}
}

static void
completer_acknowledge(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	uint8_t kind = ROCE_SYNDROME_KIND(pkt->syndrome);

	if (kind != ROCE_KIND_ACK && kind != ROCE_KIND_RNR && kind != ROCE_KIND_NAK)
		return;
	/* An ACK acknowledges its own PSN as well, the others what is before theirs. */
	if (!roce_requester_cover(qp, roce_psn_add(pkt->psn, kind == ROCE_KIND_ACK), now))
		completer_implied_nak(qp, now);
	else if (kind == ROCE_KIND_RNR)
		completer_rnr(qp, ROCE_SYNDROME_VALUE(pkt->syndrome), now);
	else if (kind == ROCE_KIND_NAK)
		completer_nak(qp, ROCE_SYNDROME_VALUE(pkt->syndrome), now);
}

/* The data of the READ whose PSNs hold una, which is the packet's: 0 or the request's syndrome. */
static int
completer_read_data(struct roce_qp *qp, const struct roce_request *request,
		    const struct roce_pkt *pkt)
{
	uint32_t index = (pkt->psn - request->psn) & ROCE_PSN_MASK;
	uint32_t offset = index << qp->mtu_log;
	bool last = index + 1 == request->packets;
	bool says_last =
		pkt->opcode == ROCE_READ_RESPONSE_LAST || pkt->opcode == ROCE_READ_RESPONSE_ONLY;

	/*
	 * FIRST or MIDDLE depends on where the response began, which after a repeated request can be either: answers to
	 * both are under way.
	 */
	if (request->opcode != RNIC_WQE_RDMA_READ || last != says_last ||
	    (pkt->opcode != ROCE_READ_RESPONSE_MIDDLE &&
	     ROCE_SYNDROME_KIND(pkt->syndrome) != ROCE_KIND_ACK) ||
	    pkt->length != (last ? request->length - offset : 1u << qp->mtu_log))
		return -RNIC_SYND_BAD_RESPONSE;
	return pkt->length == 0 ? 0 : qp->ops->scatter(qp, request, offset, pkt);
}

static int
completer_atomic_data(struct roce_qp *qp, const struct roce_request *request,
		      const struct roce_pkt *pkt)
{
	if (!roce_is_atomic(request->opcode) || pkt->length != 0 ||
	    ROCE_SYNDROME_KIND(pkt->syndrome) != ROCE_KIND_ACK)
		return -RNIC_SYND_BAD_RESPONSE;
	return qp->ops->scatter_atomic(qp, request, pkt->original);
}

static void
completer_data(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	struct roce_requester *req = &qp->requester;
	const struct roce_request *request;
	int rc;

	if (!roce_requester_cover(qp, pkt->psn, now)) {
		completer_implied_nak(qp, now);
		return;
	}
	request = roce_request_at(req, req->tail);
	rc = pkt->opcode == ROCE_ATOMIC_ACKNOWLEDGE ? completer_atomic_data(qp, request, pkt)
						    : completer_read_data(qp, request, pkt);
	if (rc < 0)
		roce_requester_fail(qp, (uint8_t)-rc);
	else
		roce_requester_advance(qp, roce_psn_add(pkt->psn, 1), now);
}

void
roce_completer_receive(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now)
{
	const struct roce_requester *req = &qp->requester;

	if (qp->state != ROCE_RTS && qp->state != ROCE_SQD)
		return;
	/* Old, or never asked for. */
	if (roce_psn_diff(pkt->psn, req->una) < 0 || roce_psn_diff(pkt->psn, req->high) >= 0)
		return;
	if (pkt->opcode == ROCE_ACKNOWLEDGE)
		completer_acknowledge(qp, pkt, now);
	else
		completer_data(qp, pkt, now);
}
