/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "roce_check.h"
#include "roce_net.h"

uint64_t
net_random(struct net *net)
{
	net->random ^= net->random >> 12;
	net->random ^= net->random << 25;
	net->random ^= net->random >> 27;
	return net->random * 0x2545f4914f6cdd1dull;
}

uint32_t
net_below(struct net *net, uint32_t below)
{
	return (uint32_t)((net_random(net) >> 32) * below >> 32);
}

static bool
net_chance(struct net *net, uint32_t ppm)
{
	return ppm != 0 && net_below(net, 1000000) < ppm;
}

static struct net_end *
end_of(struct roce_qp *qp)
{
	return (struct net_end *)qp;
}

/* ---- The heap of packets under way. ---- */

static bool
before(const struct net_pkt *a, const struct net_pkt *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void
heap_push(struct net *net, struct net_pkt *packet)
{
	uint32_t i;

	if (net->heap_count == net->heap_room) {
		net->heap_room = net->heap_room == 0 ? 256 : net->heap_room * 2;
		net->heap = realloc(net->heap, net->heap_room * sizeof(net->heap[0]));
		assert_non_null(net->heap);
	}
	for (i = net->heap_count++; i > 0 && before(packet, net->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		net->heap[i] = net->heap[(i - 1) / 2];
	net->heap[i] = packet;
}

static struct net_pkt *
heap_pop(struct net *net)
{
	struct net_pkt *top = net->heap[0], *last = net->heap[--net->heap_count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < net->heap_count) {
		if (child + 1 < net->heap_count && before(net->heap[child + 1], net->heap[child]))
			child++;
		if (before(last, net->heap[child]))
			break;
		net->heap[i] = net->heap[child];
		i = child;
	}
	net->heap[i] = last;
	return top;
}

void
net_clear(struct net *net)
{
	while (net->heap_count > 0)
		free(net->heap[--net->heap_count]);
}

/* ---- Sending and receiving. ---- */

/* What the owner does: the Q_Key, and the headers before the payload. */
static void
deliver_datagram(struct net_end *to, const struct roce_pkt *pkt)
{
	static uint8_t headers[ROCE_GRH_BYTES];
	struct iovec pieces[1 + ROCE_PKT_PIECES] = { { headers, sizeof(headers) } };
	struct roce_pkt whole = *pkt;

	if (pkt->qkey != to->qp.attr.qkey) {
		to->strangers++;
		return;
	}
	memset(headers, NET_HEADER, sizeof(headers));
	memcpy(&pieces[1], pkt->pieces, pkt->count * sizeof(pieces[0]));
	whole.pieces = pieces;
	whole.count++;
	whole.length += sizeof(headers);
	roce_qp_receive(&to->qp, &whole, to->net->now);
}

static void
deliver(struct net_end *to, const struct roce_pkt *pkt)
{
	struct net *net = to->net;

	net->delivered++;
	if (net->watch != NULL)
		net->watch(to, pkt);
	if (to->qp.conf.transport == &roce_ud)
		deliver_datagram(to, pkt);
	else
		roce_qp_receive(&to->qp, pkt, net->now);
}

void
net_inject(struct net_end *to, const struct roce_pkt *pkt)
{
	deliver(to, pkt);
}

static void
launch(struct net *net, struct net_end *to, const struct roce_pkt *pkt)
{
	struct net_pkt *packet = malloc(sizeof(*packet));
	uint32_t i, at = 0;

	assert_non_null(packet);
	packet->pkt = *pkt;
	packet->to = to;
	packet->order = net->order++;
	packet->at = net->now + NET_LATENCY;
	if (net_chance(net, net->reorder))
		packet->at += net_below(net, 5 * NET_LATENCY);
	for (i = 0; i < pkt->count; i++) {
		assert_true(pkt->pieces[i].iov_len <= sizeof(packet->payload) - at);
		memcpy(packet->payload + at, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
		at += (uint32_t)pkt->pieces[i].iov_len;
	}
	assert_int_equal(at, pkt->length);
	packet->piece = (struct iovec){ packet->payload, at };
	packet->pkt.pieces = &packet->piece;
	packet->pkt.count = at > 0 ? 1 : 0;
	heap_push(net, packet);
}

/* Headers that the opcode does not have, the codec would not carry. */
static void
check_headers(const struct roce_pkt *pkt)
{
	uint8_t op = pkt->opcode & 0x1f;
	bool datagram = ROCE_TRANSPORT(pkt->opcode) == ROCE_TRANSPORT_UD;
	bool reth = op == ROCE_WRITE_FIRST || op == ROCE_WRITE_ONLY || op == ROCE_WRITE_ONLY_IMM ||
		    op == ROCE_READ_REQUEST;
	bool atomic = op == ROCE_COMPARE_SWAP || op == ROCE_FETCH_ADD;

	if (ROCE_TRANSPORT(pkt->opcode) != ROCE_TRANSPORT_XRC ||
	    (op >= ROCE_READ_RESPONSE_FIRST && op <= ROCE_ATOMIC_ACKNOWLEDGE))
		assert_int_equal(pkt->srqn, 0);
	if (!reth)
		assert_int_equal(pkt->dma_length, 0);
	if (!reth && !atomic && !datagram)
		assert_true(pkt->va == 0 && pkt->rkey == 0);
	if (pkt->solicited)
		assert_true(op == ROCE_SEND_LAST || op == ROCE_SEND_LAST_IMM ||
			    op == ROCE_SEND_ONLY || op == ROCE_SEND_ONLY_IMM ||
			    op == ROCE_WRITE_LAST_IMM || op == ROCE_WRITE_ONLY_IMM);
}

static void
op_emit(struct roce_qp *qp, const struct roce_pkt *pkt)
{
	struct net_end *end = end_of(qp);
	struct net *net = end->net;
	enum net_action action = NET_PASS;

	net->emitted++;
	assert_int_equal(pkt->dest_qpn, NET_QPN + (uint32_t)(end->peer - net->ends));
	assert_true(pkt->psn <= ROCE_PSN_MASK && pkt->length <= 1u << qp->mtu_log);
	check_headers(pkt);
	if (net->rule != NULL)
		action = net->rule(net, end, pkt);
	if (action == NET_PASS)
		action = net_chance(net, net->drop)	   ? NET_DROP
			 : net_chance(net, net->corrupt)   ? NET_CORRUPT
			 : net_chance(net, net->duplicate) ? NET_DUPLICATE
							   : NET_PASS;
	/* A corrupted one does not pass the ICRC. */
	net->dropped += action == NET_DROP;
	net->corrupted += action == NET_CORRUPT;
	net->duplicated += action == NET_DUPLICATE;
	if (action == NET_DROP || action == NET_CORRUPT)
		return;
	if (net->direct) {
		deliver(end->peer, pkt);
		return;
	}
	launch(net, end->peer, pkt);
	if (action == NET_DUPLICATE)
		launch(net, end->peer, pkt);
}

/* ---- Memory. ---- */

static void
copy_in(uint8_t *to, const struct roce_pkt *pkt)
{
	uint32_t i;

	for (i = 0; i < pkt->count; i++) {
		memmove(to, pkt->pieces[i].iov_base, pkt->pieces[i].iov_len);
		to += pkt->pieces[i].iov_len;
	}
}

/* In up to three pieces of odd sizes. */
static int
pieces_of(uint8_t *from, uint32_t length, struct iovec *pieces)
{
	uint32_t cut = length > 100 ? 37 : length / 2;
	int count = 0;

	for (; length > 0; length -= cut, from += cut) {
		if (count == 2 || cut == 0 || cut > length)
			cut = length;
		pieces[count++] = (struct iovec){ from, cut };
	}
	return count;
}

static bool
local_ok(const struct net_end *end, uint64_t cookie, uint32_t offset, uint32_t length)
{
	uint64_t at = (uint64_t)NET_OFFSET(cookie) + offset;

	return at + length <= NET_MEMORY && at + length <= end->bad_from;
}

static int
op_gather(struct roce_qp *qp, const struct roce_request *req, uint32_t offset, uint32_t length,
	  struct iovec *pieces)
{
	struct net_end *end = end_of(qp);

	assert_true(length > 0 && offset + length <= req->length);
	if (!local_ok(end, req->cookie, offset, length))
		return -RNIC_SYND_LOCAL_PROTECTION;
	return pieces_of(end->memory + NET_OFFSET(req->cookie) + offset, length, pieces);
}

static int
op_scatter(struct roce_qp *qp, const struct roce_request *req, uint32_t offset,
	   const struct roce_pkt *pkt)
{
	struct net_end *end = end_of(qp);

	assert_true(pkt->length > 0 && offset + pkt->length <= req->length);
	if (!local_ok(end, req->cookie, offset, pkt->length))
		return -RNIC_SYND_LOCAL_PROTECTION;
	copy_in(end->memory + NET_OFFSET(req->cookie) + offset, pkt);
	return 0;
}

static int
op_scatter_atomic(struct roce_qp *qp, const struct roce_request *req, uint64_t original)
{
	struct net_end *end = end_of(qp);

	if (!local_ok(end, req->cookie, 0, sizeof(original)))
		return -RNIC_SYND_LOCAL_PROTECTION;
	memcpy(end->memory + NET_OFFSET(req->cookie), &original, sizeof(original));
	return 0;
}

static int
op_remote_check(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
		enum roce_access access)
{
	struct net_end *end = end_of(qp);

	assert_true(length > 0);
	if (end->remote_broken)
		return -RNIC_SYND_REMOTE_OPERATION;
	if (rkey != NET_KEY || (end->access & access) != access || va < NET_VA ||
	    va - NET_VA > end->region || length > end->region - (va - NET_VA))
		return -RNIC_SYND_REMOTE_ACCESS;
	return 0;
}

static int
op_remote_write(struct roce_qp *qp, uint32_t rkey, uint64_t va, const struct roce_pkt *pkt)
{
	int ret = op_remote_check(qp, rkey, va, pkt->length, ROCE_REMOTE_WRITE);

	if (ret == 0)
		copy_in(end_of(qp)->memory + (va - NET_VA), pkt);
	return ret;
}

static int
op_remote_read(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
	       struct iovec *pieces)
{
	int ret = op_remote_check(qp, rkey, va, length, ROCE_REMOTE_READ);

	return ret != 0 ? ret : pieces_of(end_of(qp)->memory + (va - NET_VA), length, pieces);
}

static int
op_remote_atomic(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t *original)
{
	struct net_end *end = end_of(qp);
	int ret = op_remote_check(qp, pkt->rkey, pkt->va, sizeof(uint64_t), ROCE_REMOTE_ATOMIC);
	uint64_t value;

	assert_int_equal(pkt->va % sizeof(uint64_t), 0);
	if (ret != 0)
		return ret;
	memcpy(&value, end->memory + (pkt->va - NET_VA), sizeof(value));
	*original = value;
	if (pkt->opcode == ROCE_FETCH_ADD)
		value += pkt->swap_add;
	else if (value == pkt->compare)
		value = pkt->swap_add;
	memcpy(end->memory + (pkt->va - NET_VA), &value, sizeof(value));
	end->atomics++;
	return 0;
}

static int
op_remote_invalidate(struct roce_qp *qp, uint32_t rkey)
{
	(void)qp;
	return rkey == NET_KEY ? 0 : -RNIC_SYND_REMOTE_ACCESS;
}

/* ---- Queues. ---- */

static bool
op_recv_take(struct roce_qp *qp, struct roce_recv *recv)
{
	struct net_end *end = end_of(qp);
	const struct net_recv *wqe = &end->recvs[end->recv_tail % NET_RECVS];

	if (end->recv_tail == end->recv_head)
		return false;
	recv->cookie = wqe->cookie;
	recv->capacity = wqe->capacity;
	end->recv_tail++;
	return true;
}

static void
op_recv_give_back(struct roce_qp *qp, const struct roce_recv *recv)
{
	struct net_end *end = end_of(qp);

	assert_true(qp->conf.srq);
	end->recv_tail--;
	assert_int_equal(end->recvs[end->recv_tail % NET_RECVS].cookie, recv->cookie);
}

static int
op_recv_scatter(struct roce_qp *qp, const struct roce_recv *recv, uint32_t offset,
		const struct roce_pkt *pkt)
{
	struct net_end *end = end_of(qp);

	assert_true(pkt->length > 0 && offset + pkt->length <= recv->capacity);
	if (!local_ok(end, recv->cookie, offset, pkt->length))
		return -RNIC_SYND_LOCAL_PROTECTION;
	copy_in(end->memory + NET_OFFSET(recv->cookie) + offset, pkt);
	return 0;
}

static void
op_recv_complete(struct roce_qp *qp, const struct roce_recv *recv, uint8_t syndrome)
{
	struct net_end *end = end_of(qp);
	struct net_completion *record = &end->receives[end->receive_count++ % NET_RECORDS];

	*record = (struct net_completion){ recv->cookie,    end->net->now,   syndrome,
					   recv->opcode,    recv->length,    recv->immediate,
					   recv->solicited, recv->source_qpn };
	if (end->received != NULL)
		end->received(end, record);
}

static void
op_complete(struct roce_qp *qp, const struct roce_request *req, uint8_t syndrome)
{
	struct net_end *end = end_of(qp);
	struct net_completion *record = &end->sends[end->send_count++ % NET_RECORDS];

	if (syndrome == 0)
		assert_true(qp->requester.rd_atomics <= qp->attr.max_rd_atomic);
	*record = (struct net_completion){ req->cookie, end->net->now, syndrome, req->opcode,
					   req->length };
	if (end->completed != NULL)
		end->completed(end, record);
}

static void
op_event(struct roce_qp *qp, enum rnic_event event)
{
	struct net_end *end = end_of(qp);

	end->events[end->event_count++ % 16] = event;
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

/* ---- The world. ---- */

struct net *
net_create(const struct net_conf *conf)
{
	struct net *net = calloc(1, sizeof(*net));
	struct roce_conf qp = {
		.ops = &ops,
		.transport = conf->transport != NULL ? conf->transport : &roce_rc,
		.requests_log = conf->requests_log != 0 ? conf->requests_log : 6,
		.max_dest_rd_atomic = 16,
		.window = conf->window,
	};
	int i;

	assert_non_null(net);
	net->random = conf->seed * 0x9e3779b97f4a7c15ull + 1;
	net->now = 1;
	for (i = 0; i < 2; i++) {
		struct net_end *end = &net->ends[i];

		end->net = net;
		end->peer = &net->ends[1 - i];
		/* Not of the heap, which may touch all of it: most worlds use little. */
		end->memory = mmap(NULL, NET_MEMORY, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(end->memory, MAP_FAILED);
		end->access = ROCE_REMOTE_READ | ROCE_REMOTE_WRITE | ROCE_REMOTE_ATOMIC;
		end->region = NET_MEMORY;
		end->bad_from = NET_MEMORY;
		qp.counters = &end->counters;
		qp.srq = conf->srq[i];
		assert_int_equal(roce_qp_init(&end->qp, &qp), 0);
	}
	return net;
}

void
net_destroy(struct net *net)
{
	int i;

	net_clear(net);
	free(net->heap);
	for (i = 0; i < 2; i++) {
		roce_qp_fini(&net->ends[i].qp);
		munmap(net->ends[i].memory, NET_MEMORY);
	}
	free(net);
}

struct roce_attr
net_attr(const struct net *net)
{
	(void)net;
	return (struct roce_attr){
		.mtu = 1024,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.timeout = 5, /* 131 us */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ack_req_freq_log = 3,
		.min_rnr_timer = 1,
		.access = ROCE_REMOTE_READ | ROCE_REMOTE_WRITE | ROCE_REMOTE_ATOMIC,
		.qkey = NET_QKEY,
	};
}

void
net_connect(struct net *net, const struct roce_attr *attr, uint32_t psn)
{
	struct roce_attr mine = *attr;
	int i;

	for (i = 0; i < 2; i++) {
		struct net_end *end = &net->ends[i];

		mine.dest_qpn = NET_QPN + (uint32_t)(end->peer - net->ends);
		mine.source_qpn = NET_QPN + (uint32_t)(end - net->ends);
		mine.sq_psn = roce_psn_add(psn, i == 0 ? 0 : 1000);
		mine.rq_psn = roce_psn_add(psn, end->peer == &net->ends[0] ? 0 : 1000);
		assert_int_equal(roce_qp_modify(&end->qp, ROCE_INIT, &mine), 0);
		assert_int_equal(roce_qp_modify(&end->qp, ROCE_RTR, &mine), 0);
		assert_int_equal(roce_qp_modify(&end->qp, ROCE_RTS, &mine), 0);
	}
}

struct roce_request *
net_request(struct net_end *end, uint8_t opcode, uint32_t id, uint32_t local, uint32_t length,
	    uint32_t remote)
{
	struct roce_request *request = roce_qp_claim(&end->qp);

	assert_non_null(request);
	*request = (struct roce_request){
		.cookie = NET_COOKIE(id, local),
		.opcode = opcode,
		.length = length,
		.rkey = NET_KEY,
		.va = NET_VA + remote,
	};
	if (end->qp.conf.transport == &roce_ud) {
		request->qkey = NET_QKEY;
		request->dest_qpn = NET_QPN + (uint32_t)(end->peer - end->net->ends);
	}
	return request;
}

void
net_post(struct net_end *end, uint8_t opcode, uint32_t id, uint32_t local, uint32_t length,
	 uint32_t remote)
{
	struct roce_request *request = net_request(end, opcode, id, local, length, remote);

	request->immediate = id ^ 0xabcd0000;
	roce_qp_post(&end->qp);
}

void
net_recv(struct net_end *end, uint32_t id, uint32_t local, uint32_t capacity)
{
	assert_true(end->recv_head - end->recv_tail < NET_RECVS);
	end->recvs[end->recv_head++ % NET_RECVS] =
		(struct net_recv){ NET_COOKIE(id, local), capacity };
}

void
net_poll(struct net *net)
{
	unsigned int work;
	uint32_t rounds = 0;

	do {
		work = 0;
		for (int i = 0; i < 2; i++) {
			struct net_end *end = &net->ends[i];
			uint64_t retry_at = end->qp.requester.retry_at;

			end->timeouts += retry_at != 0 && net->now >= retry_at;
			work += roce_qp_poll(&end->qp, net->now,
					     net->random_budget ? 1 + net_below(net, 8) : 64);
			net_check_state(&end->qp);
		}
		assert_true(rounds++ < 1000000);
	} while (work > 0);
}

bool
net_step(struct net *net)
{
	uint64_t next = UINT64_MAX, deadline;
	struct net_pkt *packet;
	int i;

	net_poll(net);
	for (i = 0; i < 2; i++) {
		deadline = roce_qp_deadline(&net->ends[i].qp);
		if (deadline < next)
			next = deadline;
	}
	if (net->heap_count > 0 && net->heap[0]->at <= next) {
		packet = heap_pop(net);
		if (packet->at > net->now)
			net->now = packet->at;
		deliver(packet->to, &packet->pkt);
		free(packet);
		return true;
	}
	if (next == UINT64_MAX)
		return false;
	assert_true(next > net->now); /* a deadline that has passed was looked at */
	net->now = next;
	return true;
}

void
net_run(struct net *net)
{
	uint32_t steps = 0;

	while (net_step(net))
		assert_true(steps++ < 1000000);
}

static enum net_action
log_rule(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	struct net_log *log = net->test;

	if (from == &net->ends[0] && log->count < 64) {
		log->times[log->count] = net->now;
		log->psns[log->count] = pkt->psn;
		log->opcodes[log->count++] = pkt->opcode;
	}
	return log->lose_all ? NET_DROP : NET_PASS;
}

void
net_log(struct net *net, struct net_log *log)
{
	*log = (struct net_log){ 0 };
	net->test = log;
	net->rule = log_rule;
}

struct net *
net_create_logged(struct net_log *log)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 3 });

	net_log(net, log);
	return net;
}

int
net_setup(void **state)
{
	static struct net_log log;

	*state = net_create_logged(&log);
	return 0;
}

int
net_teardown(void **state)
{
	net_destroy(*state);
	return 0;
}

void
net_check_done(const struct net_end *end, uint32_t count)
{
	assert_int_equal(end->send_count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(end->sends[i].syndrome, 0);
}

void
net_check_state(const struct roce_qp *qp)
{
	const char *broken = roce_check_state(qp);

	if (broken == NULL)
		broken = roce_check_timers(qp);
	if (broken != NULL)
		fail_msg("state: %s", broken);
	if (qp->state == ROCE_RTS || qp->state == ROCE_SQD)
		assert_true(qp->requester.rd_atomics <= qp->attr.max_rd_atomic);
}
