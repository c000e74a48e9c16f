/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "roce_check.h"
#include "roce_owner.h"

/* Everything that is handed out lies in here, and is never more than one payload. */
static uint8_t memory[1 << 16];

static struct owner *
owner_of(struct roce_qp *qp)
{
	return (struct owner *)qp;
}

uint32_t
owner_cut(const struct owner *o, uint32_t at, uint32_t length, struct iovec *pieces)
{
	uint32_t step = (length + o->cuts - 1) / o->cuts, count = 0, n;

	at %= (uint32_t)sizeof(memory) - OWNER_PAYLOAD_MAX;
	must(length <= OWNER_PAYLOAD_MAX);
	for (; length > 0; length -= n, at += n) {
		n = length < step ? length : step;
		pieces[count++] = (struct iovec){ memory + at, n };
	}
	return count;
}

/* 0, or the refusal that the input asked for. */
static int
verdict(struct owner *o, enum owner_refusal what)
{
	if (o->refuse != what || o->refuse_after-- > 0)
		return 0;
	o->refuse = OWNER_REFUSALS;
	return -o->refuse_syndrome;
}

static uint32_t
packets_of(const struct owner *o, const struct roce_request *request)
{
	if (request->opcode == RNIC_WQE_NOP)
		return 0;
	if (request->opcode == RNIC_WQE_ATOMIC_CS || request->opcode == RNIC_WQE_ATOMIC_FA)
		return 1;
	return request->length == 0 ? 1 : (request->length - 1) / owner_mtu(o) + 1;
}

static bool
wants_answer(const struct roce_request *request)
{
	return request->opcode == RNIC_WQE_RDMA_READ || request->opcode == RNIC_WQE_ATOMIC_CS ||
	       request->opcode == RNIC_WQE_ATOMIC_FA;
}

/* The record of a request that the transport names, which must be one of those that have not completed. */
static struct owner_request *
record_of(struct owner *o, const struct roce_request *request)
{
	uint32_t slot = (uint32_t)(request - o->qp.requester.ring);
	struct owner_request *record = &o->requests[slot % OWNER_REQUESTS];

	must(request >= o->qp.requester.ring && slot <= o->qp.requester.mask);
	must(((slot - o->completed) & o->qp.requester.mask) < o->posted - o->completed);
	/* The owner's part is as it was posted. */
	must(request->cookie == record->posted.cookie && request->opcode == record->posted.opcode &&
	     request->length == record->posted.length && request->va == record->posted.va &&
	     request->rkey == record->posted.rkey && request->swap_add == record->posted.swap_add &&
	     request->compare == record->posted.compare &&
	     request->immediate == record->posted.immediate);
	return record;
}

static bool
is_oldest(const struct owner *o, const struct roce_request *request)
{
	return request == &o->qp.requester.ring[o->completed & o->qp.requester.mask];
}

/* ---- Packets that go out ---- */

/* SEND and WRITE: the packet of that number is the one that the request has there. */
static void
check_data(const struct owner *o, const struct owner_request *record, const struct roce_pkt *pkt,
	   uint32_t number)
{
	const struct roce_request *posted = &record->posted;
	uint32_t packets = packets_of(o, posted), mtu = owner_mtu(o);
	bool first = number == 0, last = number + 1 == packets;
	bool write =
		posted->opcode == RNIC_WQE_RDMA_WRITE || posted->opcode == RNIC_WQE_RDMA_WRITE_IMM;
	bool immediate =
		posted->opcode == RNIC_WQE_SEND_IMM || posted->opcode == RNIC_WQE_RDMA_WRITE_IMM;
	bool invalidates = posted->opcode == RNIC_WQE_SEND_INVAL;
	/* first, last, with immediate */
	static const uint8_t opcodes[2][2][2][2] = {
		{ { { ROCE_SEND_MIDDLE, ROCE_SEND_MIDDLE },
		    { ROCE_SEND_LAST, ROCE_SEND_LAST_IMM } },
		  { { ROCE_SEND_FIRST, ROCE_SEND_FIRST },
		    { ROCE_SEND_ONLY, ROCE_SEND_ONLY_IMM } } },
		{ { { ROCE_WRITE_MIDDLE, ROCE_WRITE_MIDDLE },
		    { ROCE_WRITE_LAST, ROCE_WRITE_LAST_IMM } },
		  { { ROCE_WRITE_FIRST, ROCE_WRITE_FIRST },
		    { ROCE_WRITE_ONLY, ROCE_WRITE_ONLY_IMM } } },
	};

	if (last && invalidates)
		must(pkt->opcode ==
		     (first ? ROCE_SEND_ONLY_INVALIDATE : ROCE_SEND_LAST_INVALIDATE));
	else
		must(pkt->opcode == opcodes[write][first][last][immediate]);
	must(pkt->length == (last ? posted->length - number * mtu : mtu));
	must(!last || pkt->ack_request);
	must(!(last && immediate) || pkt->immediate == posted->immediate);
	must(!(last && invalidates) || pkt->invalidate_rkey == posted->immediate);
	must(pkt->solicited == (last && posted->solicited && (immediate || !write)));
	if (write && first)
		must(pkt->va == posted->va && pkt->rkey == posted->rkey &&
		     pkt->dma_length == posted->length);
	/* It was in the window when it went. */
	must(((pkt->psn - o->qp.requester.una) & ROCE_PSN_MASK) < o->qp.conf.window);
}

static void
check_question(const struct owner *o, const struct owner_request *record,
	       const struct roce_pkt *pkt, uint32_t number)
{
	const struct roce_request *posted = &record->posted;
	uint64_t offset = (uint64_t)number * owner_mtu(o);

	must(o->qp.requester.rd_atomics <= o->qp.attr.max_rd_atomic);
	must(pkt->length == 0 && pkt->rkey == posted->rkey && pkt->va == posted->va + offset);
	if (posted->opcode == RNIC_WQE_RDMA_READ) {
		must(pkt->opcode == ROCE_READ_REQUEST);
		must(pkt->dma_length == posted->length - offset);
		return;
	}
	must(pkt->opcode ==
	     (posted->opcode == RNIC_WQE_ATOMIC_CS ? ROCE_COMPARE_SWAP : ROCE_FETCH_ADD));
	must(pkt->swap_add == posted->swap_add && pkt->compare == posted->compare);
}

/* Which of the requests the packet belongs to, by its PSN, and is it what that one says? */
static void
check_request(struct owner *o, const struct roce_pkt *pkt)
{
	struct owner_request *record;
	const struct roce_request *request;
	uint32_t i, number, questions = 0;

	must(o->qp.state == ROCE_RTS || o->qp.state == ROCE_SQD);
	for (i = o->completed; i != o->posted; i++) {
		request = &o->qp.requester.ring[i & o->qp.requester.mask];
		must(i != o->qp.requester.fresh);
		record = record_of(o, request);
		must(request->packets == packets_of(o, &record->posted));
		number = (pkt->psn - request->psn) & ROCE_PSN_MASK;
		if (number < request->packets)
			break;
		questions += wants_answer(request);
	}
	must(i != o->posted);
	must(record->posted.syndrome == 0 && record->refused == 0);
	must(number <= record->sent);
	must(o->qp.state == ROCE_RTS || record->sent > 0);
	/* A fence: no READ or atomic before it has no answer, when it begins. */
	must(!record->posted.fence || record->sent > 0 || questions == 0);
	if (wants_answer(&record->posted)) {
		check_question(o, record, pkt, number);
		record->sent = request->packets;
	} else {
		check_data(o, record, pkt, number);
		if (number == record->sent)
			record->sent++;
	}
}

/* PSNs of READs and atomics that wait for answers; what is half of their range away stands before as well as behind. */
static uint64_t
psns_due(const struct owner *o)
{
	const struct roce_responder *resp = &o->qp.responder;
	uint64_t due = 0;
	uint32_t i;

	for (i = resp->oldest; i != resp->head; i++)
		due += resp->ring[i & resp->mask].packets;
	return due;
}

static void
check_answer(const struct owner *o, const struct roce_pkt *pkt)
{
	bool nak = pkt->opcode == ROCE_ACKNOWLEDGE &&
		   ROCE_SYNDROME_KIND(pkt->syndrome) != ROCE_KIND_ACK;
	int32_t ahead = roce_psn_diff(pkt->psn, o->qp.responder.psn);

	must(pkt->msn <= ROCE_PSN_MASK);
	must((nak ? ahead <= 0 : ahead < 0) || psns_due(o) >= ROCE_PSN_HALF);
	must(pkt->opcode != ROCE_ACKNOWLEDGE || !nak || pkt->syndrome >> 5 == ROCE_KIND_RNR ||
	     ROCE_SYNDROME_VALUE(pkt->syndrome) <= ROCE_NAK_REMOTE_OPERATION);
	must(pkt->opcode == ROCE_READ_RESPONSE_FIRST || pkt->opcode == ROCE_READ_RESPONSE_MIDDLE
		     ? pkt->length == owner_mtu(o)
		     : true);
	must(pkt->opcode > ROCE_READ_RESPONSE_ONLY ? pkt->length == 0 : true);
}

static void
op_emit(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct owner *o = owner_of(qp);
	uint32_t i, length = 0;

	/* Only a poll sends, and not from within what its packet brought about. */
	must(o->polling && o->received == NULL);
	must(pkt->dest_qpn == OWNER_QPN && pkt->psn <= ROCE_PSN_MASK);
	must(pkt->length <= owner_mtu(o) && pkt->count <= ROCE_PKT_PIECES);
	must(pkt->count == 0 || (pkt->pieces == o->pieces && pkt->count == (uint32_t)o->count));
	for (i = 0; i < pkt->count; i++)
		length += (uint32_t)pkt->pieces[i].iov_len;
	must(length == pkt->length);
	o->emissions++;
	if (pkt->opcode >= ROCE_READ_RESPONSE_FIRST && pkt->opcode <= ROCE_ATOMIC_ACKNOWLEDGE)
		check_answer(o, pkt);
	else
		check_request(o, pkt);
	if (o->emitted != NULL)
		o->emitted(o, pkt);
}

/* ---- Requester ---- */

static int
op_gather(struct roce_qp *qp, const struct roce_request *req, uint32_t offset, uint32_t length,
	  struct iovec *pieces)
{
	struct owner *o = owner_of(qp);
	struct owner_request *record = record_of(o, req);
	int ret = verdict(o, OWNER_GATHER);

	must(o->polling && o->received == NULL && !wants_answer(req) &&
	     req->opcode != RNIC_WQE_NOP);
	must(length > 0 && length <= owner_mtu(o) && offset <= req->length &&
	     length <= req->length - offset);
	if (ret < 0) {
		record->refused = (uint8_t)-ret;
		return ret;
	}
	o->pieces = pieces;
	return o->count = (int)owner_cut(o, offset, length, pieces);
}

static int
op_scatter(struct roce_qp *qp, const struct roce_request *req, uint32_t offset,
	   const struct roce_pkt *pkt)
{
	struct owner *o = owner_of(qp);
	struct owner_request *record = record_of(o, req);
	int ret = verdict(o, OWNER_SCATTER);

	must(pkt == o->received && is_oldest(o, req) && req->opcode == RNIC_WQE_RDMA_READ);
	must(record->sent > 0 && pkt->length > 0);
	/* Each byte once, in order. */
	must(offset == record->scattered && pkt->length <= req->length - offset);
	if (ret < 0)
		record->refused = (uint8_t)-ret;
	else
		record->scattered += pkt->length;
	return ret;
}

static int
op_scatter_atomic(struct roce_qp *qp, const struct roce_request *req, uint64_t original)
{
	struct owner *o = owner_of(qp);
	struct owner_request *record = record_of(o, req);
	int ret = verdict(o, OWNER_SCATTER_ATOMIC);

	must(o->received != NULL && original == o->received->original && is_oldest(o, req));
	must(wants_answer(req) && req->opcode != RNIC_WQE_RDMA_READ);
	must(record->sent > 0 && !record->answered);
	if (ret < 0)
		record->refused = (uint8_t)-ret;
	else
		record->answered = true;
	return ret;
}

static void
check_success(const struct owner *o, const struct owner_request *record)
{
	const struct roce_request *posted = &record->posted;

	must(o->qp.state == ROCE_RTS || o->qp.state == ROCE_SQD);
	must(posted->syndrome == 0 && !o->failed);
	/* All of it went once, even if its data was refused when it was to go again. */
	must(record->refused == 0 || !wants_answer(posted));
	must(record->sent == packets_of(o, posted));
	if (posted->opcode == RNIC_WQE_RDMA_READ)
		must(record->scattered == posted->length);
	else if (wants_answer(posted))
		must(record->answered);
}

static void
check_failure(const struct owner *o, const struct owner_request *record, uint8_t syndrome)
{
	/* The first one says why; it waited for its turn, so that what was refused is why. */
	must((syndrome == RNIC_SYND_WR_FLUSHED) == (o->qp.state == ROCE_ERR));
	must(!o->failed || syndrome == RNIC_SYND_WR_FLUSHED);
	if (syndrome == RNIC_SYND_WR_FLUSHED)
		return;
	if (record->posted.syndrome != 0)
		must(syndrome == record->posted.syndrome);
	if (o->honest && record->posted.syndrome == 0)
		must(syndrome == RNIC_SYND_RETRY_EXCEEDED ||
		     syndrome == RNIC_SYND_RNR_RETRY_EXCEEDED ||
		     syndrome == RNIC_SYND_LOCAL_LENGTH ||
		     syndrome == RNIC_SYND_LOCAL_QP_OPERATION);
}

static void
op_complete(struct roce_qp *qp, const struct roce_request *req, uint8_t syndrome)
{
	struct owner *o = owner_of(qp);
	struct owner_request *record;

	must(o->polling || o->received != NULL);
	must(o->completed != o->posted && is_oldest(o, req));
	record = record_of(o, req);
	if (syndrome == 0)
		check_success(o, record);
	else
		check_failure(o, record, syndrome);
	o->failed = o->failed || syndrome != 0;
	o->send_flushed += syndrome == RNIC_SYND_WR_FLUSHED;
	o->send_errors += syndrome != 0 && syndrome != RNIC_SYND_WR_FLUSHED;
	o->completed++;
}

/* ---- Responder ---- */

static bool
op_recv_take(struct roce_qp *qp, struct roce_recv *recv)
{
	struct owner *o = owner_of(qp);

	must((o->polling || o->received != NULL) && !o->held);
	must(qp->state != ROCE_ERR || !qp->conf.srq);
	if (o->recv_tail == o->recv_head)
		return false;
	recv->cookie = o->recv_tail;
	recv->capacity = o->recvs[o->recv_tail % OWNER_RECVS];
	o->recv_tail++;
	o->held = true;
	o->held_scattered = 0;
	return true;
}

static void
check_held(const struct owner *o, const struct roce_recv *recv)
{
	must(o->held && recv->cookie == o->recv_tail - 1);
	must(recv->capacity == o->recvs[(o->recv_tail - 1) % OWNER_RECVS]);
}

/* The pool's next one again. */
static void
op_recv_give_back(struct roce_qp *qp, const struct roce_recv *recv)
{
	struct owner *o = owner_of(qp);

	must(qp->conf.srq);
	check_held(o, recv);
	o->recv_tail--;
	o->held = false;
}

static int
op_recv_scatter(struct roce_qp *qp, const struct roce_recv *recv, uint32_t offset,
		const struct roce_pkt *pkt)
{
	struct owner *o = owner_of(qp);
	int ret = verdict(o, OWNER_RECV_SCATTER);

	check_held(o, recv);
	must(pkt == o->received && pkt->length > 0);
	must(offset == o->held_scattered && offset <= recv->capacity &&
	     pkt->length <= recv->capacity - offset);
	o->held_scattered += ret < 0 ? 0 : pkt->length;
	return ret;
}

static void
op_recv_complete(struct roce_qp *qp, const struct roce_recv *recv, uint8_t syndrome)
{
	struct owner *o = owner_of(qp);

	must(o->polling || o->changing || o->received != NULL);
	check_held(o, recv);
	o->held = false;
	o->recv_flushed += syndrome == RNIC_SYND_WR_FLUSHED;
	o->recv_errors += syndrome != 0 && syndrome != RNIC_SYND_WR_FLUSHED;
	if (syndrome != 0)
		return;
	must(o->received != NULL && qp->state != ROCE_ERR);
	must(recv->opcode == RNIC_CQE_RESPONDER_SEND ||
	     recv->opcode == RNIC_CQE_RESPONDER_SEND_IMM ||
	     recv->opcode == RNIC_CQE_RESPONDER_SEND_INVAL ||
	     recv->opcode == RNIC_CQE_RESPONDER_WRITE_IMM);
	must(recv->solicited == o->received->solicited);
	if (recv->opcode == RNIC_CQE_RESPONDER_WRITE_IMM)
		must(o->held_scattered == 0);
	else
		must(recv->length == o->held_scattered);
	if (recv->opcode == RNIC_CQE_RESPONDER_SEND_INVAL)
		must(recv->immediate == o->received->invalidate_rkey);
	else if (recv->opcode != RNIC_CQE_RESPONDER_SEND)
		must(recv->immediate == o->received->immediate);
}

static bool
range_holds(const struct owner_range *range, uint32_t rkey, uint64_t va, uint32_t length)
{
	return rkey == range->rkey && va - range->va <= range->length &&
	       length <= range->length - (va - range->va);
}

static int
op_remote_check(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
		enum roce_access access)
{
	struct owner *o = owner_of(qp);
	struct owner_range range = { rkey, va, length };
	int ret = verdict(o, OWNER_REMOTE_CHECK);

	must(o->received != NULL && length > 0 && length <= ROCE_MESSAGE_MAX);
	must(access == ROCE_REMOTE_READ || access == ROCE_REMOTE_WRITE);
	must((qp->attr.access & access) != 0);
	must(rkey == o->received->rkey && va == o->received->va &&
	     length == o->received->dma_length);
	if (ret < 0)
		return ret;
	if (access == ROCE_REMOTE_READ) {
		o->reads[o->read_count++ % OWNER_READS] = range;
	} else {
		o->write = range;
		o->written = 0;
	}
	return 0;
}

static int
op_remote_write(struct roce_qp *qp, uint32_t rkey, uint64_t va, const struct roce_pkt *pkt)
{
	struct owner *o = owner_of(qp);
	int ret = verdict(o, OWNER_REMOTE_WRITE);

	must(pkt == o->received && pkt->length > 0 && pkt->length <= owner_mtu(o));
	must((qp->attr.access & ROCE_REMOTE_WRITE) != 0);
	if (pkt->opcode == ROCE_WRITE_ONLY || pkt->opcode == ROCE_WRITE_ONLY_IMM) {
		o->write = (struct owner_range){ pkt->rkey, pkt->va, pkt->dma_length };
		o->written = 0;
		must(pkt->dma_length == pkt->length);
	}
	/* Within what was announced, each byte once, in order. */
	must(range_holds(&o->write, rkey, va, pkt->length) && va - o->write.va == o->written);
	o->written += pkt->length;
	return ret;
}

static int
op_remote_read(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
	       struct iovec *pieces)
{
	struct owner *o = owner_of(qp);
	int ret = verdict(o, OWNER_REMOTE_READ);
	uint32_t i;

	must(o->polling && o->received == NULL && length > 0 && length <= owner_mtu(o));
	for (i = 0; i < OWNER_READS && i < o->read_count; i++)
		if (range_holds(&o->reads[i], rkey, va, length))
			break;
	must(i < OWNER_READS && i < o->read_count);
	if (ret < 0)
		return ret;
	o->pieces = pieces;
	return o->count = (int)owner_cut(o, (uint32_t)va, length, pieces);
}

static int
op_remote_atomic(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t *original)
{
	struct owner *o = owner_of(qp);

	must(pkt == o->received && pkt->psn == qp->responder.psn && pkt->va % 8 == 0);
	must(pkt->opcode == ROCE_COMPARE_SWAP || pkt->opcode == ROCE_FETCH_ADD);
	must((qp->attr.access & ROCE_REMOTE_ATOMIC) != 0);
	*original = ++o->cookies;
	return verdict(o, OWNER_REMOTE_ATOMIC);
}

/* Refused as atomics are: so that kept inputs mean what they did. */
static int
op_remote_invalidate(struct roce_qp *qp, uint32_t rkey)
{
	struct owner *o = owner_of(qp);

	must(o->received != NULL && o->received->psn == qp->responder.psn);
	must(o->received->opcode == ROCE_SEND_LAST_INVALIDATE ||
	     o->received->opcode == ROCE_SEND_ONLY_INVALIDATE);
	must(rkey == o->received->invalidate_rkey);
	return verdict(o, OWNER_REMOTE_ATOMIC);
}

static void
op_event(struct roce_qp *qp, enum rnic_event event)
{
	struct owner *o = owner_of(qp);

	must(o->polling || o->received != NULL);
	switch (event) {
	case RNIC_EVENT_COMM_ESTABLISHED:
		must(qp->state == ROCE_RTR && !o->established);
		o->established = true;
		break;
	case RNIC_EVENT_SQ_DRAINED:
		must(qp->state == ROCE_SQD && o->draining);
		o->draining = false;
		break;
	case RNIC_EVENT_SRQ_LAST_WQE:
		must(qp->state == ROCE_ERR && qp->conf.srq && !o->last_wqe);
		o->last_wqe = true;
		break;
	default:
		must(event == RNIC_EVENT_WQ_INVALID_REQUEST ||
		     event == RNIC_EVENT_WQ_ACCESS_ERROR || event == RNIC_EVENT_WQ_CATASTROPHIC);
	}
}

static const struct roce_ops ops = {
	.emit = op_emit,
	.gather = op_gather,
	.scatter = op_scatter,
	.scatter_atomic = op_scatter_atomic,
	.complete = op_complete,
	.recv_take = op_recv_take,
	.recv_give_back = op_recv_give_back,
	.recv_scatter = op_recv_scatter,
	.recv_complete = op_recv_complete,
	.remote_check = op_remote_check,
	.remote_write = op_remote_write,
	.remote_read = op_remote_read,
	.remote_atomic = op_remote_atomic,
	.remote_invalidate = op_remote_invalidate,
	.event = op_event,
};

/* ---- What the owner does ---- */

#define NEVER_LATER ((4096ull << 31) + 655360000) /* the longest time-out and RNR wait together */

static void
must_be_null(const char *broken)
{
	if (broken != NULL)
		fuzz_broken(broken, __FILE__, __LINE__);
}

static void
check_qp(const struct owner *o)
{
	const struct roce_counters *counters = &o->counters;
	uint64_t deadline = roce_qp_deadline(&o->qp);

	must_be_null(roce_check_state(&o->qp));
	must(o->qp.requester.tail == o->completed && o->qp.requester.head == o->posted);
	must(o->qp.responder.recv_held == o->held);
	must(counters->req_cqe_error == o->send_errors &&
	     counters->req_cqe_flush_error == o->send_flushed);
	must(counters->resp_cqe_error == o->recv_errors &&
	     counters->resp_cqe_flush_error == o->recv_flushed);
	must(deadline != 0);
	if (o->qp.state < ROCE_RTR || o->qp.state == ROCE_ERR)
		must(deadline == UINT64_MAX);
	else
		must(deadline == UINT64_MAX || deadline <= o->now + NEVER_LATER);
}

void
owner_receive(struct owner *o, struct roce_pkt *pkt)
{
	struct iovec pieces[ROCE_PKT_PIECES];
	uint32_t psn = o->qp.responder.psn;
	enum roce_state state = o->qp.state;

	must(o->received == NULL);
	pkt->count = owner_cut(o, pkt->psn * 64, pkt->length, pieces);
	pkt->pieces = pieces;
	o->received = pkt;
	roce_qp_receive(&o->qp, pkt, o->now);
	o->received = NULL;
	/* Only what was expected is executed, and in those states. */
	must(o->qp.responder.psn == psn ||
	     (pkt->psn == psn && state >= ROCE_RTR && state != ROCE_ERR));
	if (!o->polling)
		check_qp(o);
}

unsigned int
owner_poll(struct owner *o, unsigned int budget)
{
	unsigned int n;

	o->polling = true;
	o->emissions = 0;
	n = roce_qp_poll(&o->qp, o->now, budget);
	o->polling = false;
	must(n <= 4 * budget && o->emissions <= 2 * budget && n >= o->emissions);
	must(roce_qp_deadline(&o->qp) > o->now);
	check_qp(o);
	must_be_null(roce_check_timers(&o->qp));
	return n;
}

/* Packets and WQEs that may be due: an upper bound. */
static uint64_t
work_due(const struct owner *o)
{
	const struct roce_responder *resp = &o->qp.responder;
	uint64_t due = o->qp.conf.window + 2 * OWNER_REQUESTS + OWNER_RECVS + 8;
	uint32_t i;

	for (i = resp->pending; i != resp->head; i++)
		due += 1 + resp->ring[i & resp->mask].next_left / owner_mtu(o);
	return due;
}

void
owner_settle(struct owner *o)
{
	const unsigned int budget = 8;
	uint64_t due = work_due(o), n;
	bool stirs = o->emitted != NULL;

	for (n = 0; n <= due && n < 512; n++)
		if (owner_poll(o, budget) == 0)
			return;
	/* Answers within emit() make new work. */
	must(stirs || due >= 512);
}

static void
forget(struct owner *o)
{
	o->posted = o->completed = 0;
	o->recv_head = o->recv_tail = 0;
	o->held = o->failed = o->established = o->draining = o->last_wqe = false;
	o->read_count = 0;
}

void
owner_change(struct owner *o, enum roce_state to, const struct roce_attr *attr)
{
	enum roce_state from = o->qp.state;
	struct roce_qp before;
	int ret;

	memcpy(&before, &o->qp, sizeof(before));
	o->changing = true;
	ret = roce_qp_modify(&o->qp, to, to == ROCE_RST || to == ROCE_ERR ? NULL : attr);
	o->changing = false;
	must(ret == 0 || ret == -EINVAL);
	if (ret != 0) {
		must(memcmp(&before, &o->qp, sizeof(before)) == 0);
		return;
	}
	must(roce_state_allowed(from, to) && o->qp.state == to);
	if (to == ROCE_RST)
		forget(o);
	else if (to == ROCE_ERR)
		o->failed = true;
	else
		o->attr = *attr;
	if (to == ROCE_SQD && from != ROCE_SQD)
		o->draining = true;
	else if (to != ROCE_SQD)
		o->draining = false;
	check_qp(o);
}

void
owner_bring_up(struct owner *o, enum roce_state state)
{
	if (o->qp.state == ROCE_RST)
		owner_change(o, ROCE_INIT, &o->attr);
	if (o->qp.state == ROCE_INIT && state >= ROCE_RTR)
		owner_change(o, ROCE_RTR, &o->attr);
	if (o->qp.state == ROCE_RTR && state >= ROCE_RTS)
		owner_change(o, ROCE_RTS, &o->attr);
}

void
owner_open(struct owner *o, struct fuzz_input *input, enum roce_state state, bool equal_psns)
{
	struct roce_conf conf = { .ops = &ops, .transport = &roce_rc, .counters = &o->counters };
	uint8_t flags;

	memset(o, 0, sizeof(*o));
	o->input = input;
	o->now = 1;
	o->cuts = 1;
	o->refuse = OWNER_REFUSALS;
	conf.requests_log = fuzz_u8(input) % 5;
	conf.max_dest_rd_atomic = fuzz_u8(input) % (ROCE_RD_ATOMIC_MAX + 1);
	conf.window = fuzz_u8(input);
	flags = fuzz_u8(input);
	conf.srq = (flags & 0x80) != 0;
	o->attr = (struct roce_attr){
		.mtu = (uint16_t)(ROCE_MTU_MIN << (flags & 7) % 5),
		.dest_qpn = OWNER_QPN,
		.max_dest_rd_atomic = conf.max_dest_rd_atomic,
		.access = flags >> 3 & 7,
		.max_rd_atomic = fuzz_u8(input) % (ROCE_RD_ATOMIC_MAX + 1),
		.timeout = fuzz_u8(input) % 32,
		.min_rnr_timer = fuzz_u8(input) % 32,
	};
	flags = fuzz_u8(input);
	o->attr.retry_cnt = flags & 7;
	o->attr.rnr_retry = flags >> 3 & 7;
	o->attr.ack_req_freq_log = fuzz_u8(input) % 9;
	o->attr.sq_psn = fuzz_u32(input) & ROCE_PSN_MASK;
	o->attr.rq_psn = equal_psns ? o->attr.sq_psn : fuzz_u32(input) & ROCE_PSN_MASK;
	must(roce_qp_init(&o->qp, &conf) == 0);
	owner_bring_up(o, state);
	must(o->qp.state == state);
}

void
owner_close(struct owner *o)
{
	unsigned int n;

	owner_settle(o);
	o->emitted = NULL;
	if (o->qp.state != ROCE_RST) {
		owner_change(o, ROCE_ERR, NULL);
		for (n = 0; owner_poll(o, 8) != 0; n++)
			must(n < OWNER_REQUESTS + OWNER_RECVS);
		must(o->completed == o->posted && !o->held);
		must(o->qp.conf.srq ? o->last_wqe : o->recv_tail == o->recv_head);
		must(roce_qp_deadline(&o->qp) == UINT64_MAX);
	}
	roce_qp_fini(&o->qp);
}
