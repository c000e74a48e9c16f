/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The requester: packets out of posted requests, in the order of their PSNs, and back to the oldest unacknowledged one
 * when an answer does not come.
 */
#include "softrnic/roce/data_private.h"

/* Complete what the acknowledged PSNs cover, even if it could not be repeated: its first copy was not lost. */
static void
requester_complete(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;
	struct roce_request *request;

	while (req->tail != req->fresh) {
		request = roce_request_at(req, req->tail);
		if (roce_psn_diff(req->una, request->psn + request->packets) < 0)
			break;
		/* Not those that wait to be asked again: their late answer came first. */
		if (req->tail != req->next && roce_wants_answer(request))
			req->rd_atomics--;
		qp->ops->complete(qp, request, 0);
		if (req->next == req->tail) {
			req->next++;
			req->sent = 0;
		}
		req->tail++;
	}
}

void
roce_requester_advance(struct roce_qp *qp, uint32_t una, uint64_t now)
{
	struct roce_requester *req = &qp->requester;

	req->una = una;
	req->retries = qp->attr.retry_cnt;
	req->rnr_retries = qp->attr.rnr_retry;
	req->gone_back = false;
	req->resume_at = 0;
	req->retry_at = una == req->high || qp->attr.timeout == 0 ? 0 : now + roce_timeout_ns(qp);
	requester_complete(qp);
	/* Acknowledged while it waited to be repeated: go on behind it. */
	if (roce_psn_diff(una, req->psn) > 0)
		roce_requester_rewind(qp);
}

bool
roce_requester_cover(struct roce_qp *qp, uint32_t psn, uint64_t now)
{
	struct roce_requester *req = &qp->requester;
	const struct roce_request *request;
	uint32_t i, end, una = req->una;
	bool covered = true;

	if (roce_psn_diff(psn, una) <= 0)
		return true;
	for (i = req->tail; i != req->fresh; i++) {
		request = roce_request_at(req, i);
		if (roce_psn_diff(psn, request->psn) <= 0)
			break;
		if (roce_wants_answer(request)) {
			covered = false;
			break;
		}
		end = roce_psn_add(request->psn, request->packets);
		una = roce_psn_diff(psn, end) < 0 ? psn : end;
	}
	if (una != req->una)
		roce_requester_advance(qp, una, now);
	return covered;
}

void
roce_requester_rewind(struct roce_qp *qp)
{
	struct roce_requester *req = &qp->requester;

	req->psn = req->una;
	req->next = req->tail;
	req->sent = 0;
	if (req->tail != req->fresh)
		req->sent = (req->una - roce_request_at(req, req->tail)->psn) & ROCE_PSN_MASK;
	req->rd_atomics = 0;
	req->since_ack_request = 0;
}

void
roce_requester_fail(struct roce_qp *qp, uint8_t syndrome)
{
	struct roce_requester *req = &qp->requester;

	qp->counters->req_cqe_error++;
	qp->ops->complete(qp, roce_request_at(req, req->tail), syndrome);
	req->tail++;
	roce_qp_error(qp);
}

void
roce_requester_retry(struct roce_qp *qp, uint64_t now)
{
	struct roce_requester *req = &qp->requester;

	if (req->retries == 0) {
		roce_requester_fail(qp, RNIC_SYND_RETRY_EXCEEDED);
		return;
	}
	req->retries--;
	roce_requester_rewind(qp);
	req->retry_at = qp->attr.timeout == 0 ? 0 : now + roce_timeout_ns(qp);
}

/* Unfit for the transport, whatever the owner thinks of it: its syndrome. */
static uint8_t
request_check(const struct roce_qp *qp, const struct roce_request *request)
{
	switch (request->opcode) {
	case RNIC_WQE_NOP: return 0;
	case RNIC_WQE_SEND_INVAL:
	case RNIC_WQE_SEND:
	case RNIC_WQE_SEND_IMM:
	case RNIC_WQE_RDMA_WRITE:
	case RNIC_WQE_RDMA_WRITE_IMM: break;
	case RNIC_WQE_ATOMIC_CS:
	case RNIC_WQE_ATOMIC_FA:
		if (request->length != sizeof(uint64_t))
			return RNIC_SYND_LOCAL_LENGTH;
		/* fall through */
	case RNIC_WQE_RDMA_READ:
		if (qp->attr.max_rd_atomic == 0)
			return RNIC_SYND_LOCAL_QP_OPERATION;
		break;
	default: return RNIC_SYND_LOCAL_QP_OPERATION;
	}
	/* With half of the range or more, the peer could not tell new packets from repeated ones. */
	if (request->length > ROCE_MESSAGE_MAX ||
	    roce_packets(request->length, qp->mtu_log) >= ROCE_PSN_HALF)
		return RNIC_SYND_LOCAL_LENGTH;
	return 0;
}

/* May a packet of this request go, by the limits on what is under way? */
static bool
request_has_room(const struct roce_qp *qp, const struct roce_request *request)
{
	const struct roce_requester *req = &qp->requester;

	if (roce_wants_answer(request))
		return req->rd_atomics < qp->attr.max_rd_atomic;
	/* It has no PSN, but waits for those before it, and one answer may end all that wait. */
	if (request->opcode == RNIC_WQE_NOP)
		return req->next - req->tail < qp->conf.window;
	return ((req->psn - req->una) & ROCE_PSN_MASK) < qp->conf.window;
}

/* Give a request its PSNs; false: it has to wait. */
static bool
request_start(struct roce_qp *qp, struct roce_request *request)
{
	struct roce_requester *req = &qp->requester;
	uint32_t packets;

	if (request->fence && req->rd_atomics > 0)
		return false;
	packets = request->opcode == RNIC_WQE_NOP   ? 0
		  : roce_is_atomic(request->opcode) ? 1
						    : roce_packets(request->length, qp->mtu_log);
	if (((req->psn - req->una) & ROCE_PSN_MASK) + packets >= ROCE_PSN_HALF)
		return false;
	request->psn = req->psn;
	request->packets = packets;
	req->fresh++;
	return true;
}

/* The state moves before the packet goes: its answer may arrive within emit(). */
static void
requester_emit(struct roce_qp *qp, struct roce_pkt *pkt, uint32_t psns, uint64_t now)
{
	struct roce_requester *req = &qp->requester;

	pkt->opcode |= qp->transport.opcode_bits;
	pkt->dest_qpn = qp->attr.dest_qpn;
	pkt->psn = req->psn;
	req->psn = roce_psn_add(req->psn, psns);
	if (roce_psn_diff(req->psn, req->high) > 0)
		req->high = req->psn;
	if (req->retry_at == 0 && qp->attr.timeout != 0)
		req->retry_at = now + roce_timeout_ns(qp);
	qp->ops->emit(qp, pkt);
}

/* One packet of a SEND or WRITE; false: it has to wait, or failed. */
static bool
requester_send_data(struct roce_qp *qp, struct roce_request *request, uint64_t now)
{
	struct roce_requester *req = &qp->requester;
	bool last = req->sent + 1 == request->packets;
	uint32_t flight = (req->psn - req->una) & ROCE_PSN_MASK;
	struct iovec pieces[ROCE_PKT_PIECES];
	struct roce_pkt pkt = { .srqn = request->srqn, .pieces = pieces };
	uint8_t syndrome;

	syndrome = roce_data_packet(qp, request, pieces, &pkt);
	if (syndrome != 0) {
		request->syndrome = syndrome;
		return false;
	}
	req->since_ack_request++;
	pkt.ack_request = last || flight + 1 >= qp->conf.window ||
			  req->since_ack_request >> qp->attr.ack_req_freq_log != 0;
	if (pkt.ack_request)
		req->since_ack_request = 0;
	req->sent = last ? 0 : req->sent + 1;
	req->next += last ? 1 : 0;
	requester_emit(qp, &pkt, 1, now);
	return true;
}

/* A READ, or what is left of it after a loss; an atomic. */
static void
requester_ask(struct roce_qp *qp, struct roce_request *request, uint64_t now)
{
	struct roce_requester *req = &qp->requester;
	uint32_t offset = req->sent << qp->mtu_log;
	uint32_t psns = request->packets - req->sent;
	struct roce_pkt pkt = { .srqn = request->srqn, .rkey = request->rkey };

	pkt.va = request->va + offset;
	if (request->opcode == RNIC_WQE_RDMA_READ) {
		pkt.opcode = ROCE_READ_REQUEST;
		pkt.dma_length = request->length - offset;
	} else {
		pkt.opcode =
			request->opcode == RNIC_WQE_ATOMIC_CS ? ROCE_COMPARE_SWAP : ROCE_FETCH_ADD;
		pkt.swap_add = request->swap_add;
		pkt.compare = request->compare;
	}
	req->rd_atomics++;
	req->sent = 0;
	req->next++;
	requester_emit(qp, &pkt, psns, now);
}

/* One packet of a request that has its PSNs; false: it failed. */
static bool
requester_emit_next(struct roce_qp *qp, struct roce_request *request, uint64_t now)
{
	if (request->opcode == RNIC_WQE_NOP) {
		qp->requester.next++;
		requester_complete(qp);
		return true;
	}
	if (!roce_wants_answer(request))
		return requester_send_data(qp, request, now);
	requester_ask(qp, request, now);
	return true;
}

/*
 * What the owner does itself: it begins as any other, and once only, whatever is repeated before it. One that fails has not begun,
 * or the answer to those before it would be taken for its own. False: it has to wait, or failed.
 */
static __attribute__((noinline)) bool
requester_execute(struct roce_qp *qp, struct roce_request *request)
{
	struct roce_requester *req = &qp->requester;
	int rc;

	if (req->next - req->tail >= qp->conf.window)
		return false;
	if (req->next == req->fresh) {
		if (request->fence && req->rd_atomics > 0)
			return false;
		rc = qp->ops->execute(qp, request);
		if (rc < 0) {
			request->syndrome = (uint8_t)-rc;
			if (req->tail == req->next)
				roce_requester_fail(qp, request->syndrome);
			return false;
		}
		request->psn = req->psn;
		request->packets = 0;
		req->fresh++;
	}
	req->next++;
	requester_complete(qp);
	return true;
}

/* One step of the next request; false: nothing can be done now. */
static bool
requester_step(struct roce_qp *qp, uint64_t now)
{
	struct roce_requester *req = &qp->requester;
	struct roce_request *request = roce_request_at(req, req->next);

	if (req->next == req->head || (req->next == req->fresh && qp->state != ROCE_RTS))
		return false;
	if (req->next == req->fresh && request->syndrome == 0)
		request->syndrome = request_check(qp, request);
	if (request->syndrome == 0) {
		if (!request_has_room(qp, request) ||
		    (req->next == req->fresh && !request_start(qp, request)))
			return false;
		if (requester_emit_next(qp, request, now))
			return true;
	}
	if (request->syndrome == ROCE_EXECUTE)
		return requester_execute(qp, request);
	/* A bad one waits for those before it, and fails in its turn. */
	if (req->tail == req->next)
		roce_requester_fail(qp, request->syndrome);
	return false;
}

unsigned int
roce_requester_send(struct roce_qp *qp, uint64_t now)
{
	unsigned int n = 0;

	/* Each packet can change everything: its answer may have come already. */
	while (n < qp->budget && (qp->state == ROCE_RTS || qp->state == ROCE_SQD) &&
	       qp->requester.resume_at == 0 && requester_step(qp, now))
		n++;
	return n;
}
