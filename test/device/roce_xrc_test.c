/* SPDX-License-Identifier: BSD-3-Clause */

/* XRC: each request names a shared receive queue of the responder's, and is executed for that one. */
#include <string.h>

#include "roce_net.h"

#define PSN  0xfffffeu
#define MTU  1024u
#define ROOM 8192u /* of each receive WQE */
#define WQES 16u
#define HALF (NET_MEMORY / 2)

#define XRC(opcode) ROCE_OPCODE(ROCE_TRANSPORT_XRC, opcode)

/*
 * Shared receive queues that end 1 has. Keys of their protection domains lead to one half of its memory each; their WQEs are in the
 * other half's end, where no request writes.
 */
struct srq {
	uint32_t srqn;
	uint32_t base; /* of what its keys lead to */
	bool gone;
	uint32_t head, tail; /* WQEs */
	uint32_t received;
};

static struct srq srqs[2];
static struct srq *selected;
static uint32_t selections;
static struct roce_ops ops; /* the net's, but for those below */
static const struct roce_ops *net_ops;

#define A	(srqs[0].srqn)
#define B	(srqs[1].srqn)
#define NOBODYS 0x777777u

static int
op_srq_select(struct roce_qp *qp, uint32_t srqn)
{
	(void)qp;
	selections++;
	selected = NULL;
	for (uint32_t i = 0; i < 2; i++)
		if (srqs[i].srqn == srqn && !srqs[i].gone)
			selected = &srqs[i];
	return selected != NULL ? 0 : -RNIC_SYND_REMOTE_INVALID_REQUEST;
}

/* Where the WQE of that number is. */
static uint32_t
wqe_at(const struct srq *srq, uint32_t n)
{
	return srq->base + HALF - (n % WQES + 1) * ROOM;
}

static bool
op_recv_take(struct roce_qp *qp, struct roce_recv *recv)
{
	(void)qp;
	if (selected->tail == selected->head)
		return false;
	recv->cookie = NET_COOKIE(selected->srqn, wqe_at(selected, selected->tail++));
	recv->capacity = ROOM;
	return true;
}

static void
op_recv_give_back(struct roce_qp *qp, const struct roce_recv *recv)
{
	(void)qp;
	for (uint32_t i = 0; i < 2; i++)
		srqs[i].tail -= srqs[i].srqn == NET_ID(recv->cookie);
}

static bool
is_ours(uint64_t va)
{
	return (va - NET_VA) / HALF * HALF == selected->base;
}

static int
op_remote_check(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
		enum roce_access access)
{
	return is_ours(va) ? net_ops->remote_check(qp, rkey, va, length, access)
			   : -RNIC_SYND_REMOTE_ACCESS;
}

static int
op_remote_write(struct roce_qp *qp, uint32_t rkey, uint64_t va, const struct roce_pkt *pkt)
{
	return is_ours(va) ? net_ops->remote_write(qp, rkey, va, pkt) : -RNIC_SYND_REMOTE_ACCESS;
}

static int
op_remote_read(struct roce_qp *qp, uint32_t rkey, uint64_t va, uint32_t length,
	       struct iovec *pieces)
{
	return is_ours(va) ? net_ops->remote_read(qp, rkey, va, length, pieces)
			   : -RNIC_SYND_REMOTE_ACCESS;
}

static int
op_remote_atomic(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t *original)
{
	return is_ours(pkt->va) ? net_ops->remote_atomic(qp, pkt, original)
				: -RNIC_SYND_REMOTE_ACCESS;
}

/* What both ends sent, of late; and it is of XRC, with the header that it must have. */
static struct {
	uint8_t opcode, syndrome;
	uint32_t psn, srqn;
	bool answer;
} sent[256];
static uint32_t sent_count;

static enum net_action
watch(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	assert_int_equal(ROCE_TRANSPORT(pkt->opcode), ROCE_TRANSPORT_XRC);
	sent[sent_count % 256].opcode = pkt->opcode;
	sent[sent_count % 256].syndrome = pkt->syndrome;
	sent[sent_count % 256].psn = pkt->psn;
	sent[sent_count % 256].srqn = pkt->srqn;
	sent[sent_count++ % 256].answer = from == &net->ends[1];
	return NET_PASS;
}

/* Two of XRC, connected; of the shared receive queues of end 1 each has all its WQEs. */
static struct net *
create(uint64_t seed)
{
	struct net *net = net_create(
		&(struct net_conf){ .seed = seed, .srq = { true, true }, .transport = &roce_xrc });
	struct roce_attr attr = net_attr(net);

	net_connect(net, &attr, PSN);
	net_ops = net->ends[1].qp.ops;
	ops = *net_ops;
	ops.srq_select = op_srq_select;
	ops.recv_take = op_recv_take;
	ops.recv_give_back = op_recv_give_back;
	ops.remote_check = op_remote_check;
	ops.remote_write = op_remote_write;
	ops.remote_read = op_remote_read;
	ops.remote_atomic = op_remote_atomic;
	net->ends[1].qp.ops = &ops;
	srqs[0] = (struct srq){ .srqn = 0x000001, .base = 0, .head = WQES };
	srqs[1] = (struct srq){ .srqn = 0xfedcba, .base = HALF, .head = WQES };
	selected = NULL;
	selections = sent_count = 0;
	net->rule = watch;
	for (uint32_t i = 0; i < NET_MEMORY; i++)
		net->ends[0].memory[i] = (uint8_t)(i * 7 + (i >> 8));
	return net;
}

static int
setup(void **state)
{
	*state = create(3);
	return 0;
}

/* As net_post(), for that shared receive queue. */
static void
post(struct net_end *a, uint32_t srqn, uint8_t opcode, uint32_t id, uint32_t local, uint32_t length,
     uint32_t remote)
{
	struct roce_request *request = net_request(a, opcode, id, local, length, remote);

	request->srqn = srqn;
	request->immediate = id ^ 0xabcd0000;
	request->swap_add = 5;
	roce_qp_post(&a->qp);
}

/* The receive of that number was of this queue's next WQE. */
static void
check_received(struct net_end *b, uint32_t n, struct srq *srq, uint8_t opcode, uint32_t length,
	       uint32_t from)
{
	const struct net_completion *done = &b->receives[n];
	uint32_t at = wqe_at(srq, srq->received++);

	assert_true(b->receive_count > n);
	assert_int_equal(done->syndrome, 0);
	assert_int_equal(done->opcode, opcode);
	assert_int_equal(done->length, length);
	assert_int_equal(NET_ID(done->cookie), srq->srqn);
	assert_int_equal(NET_OFFSET(done->cookie), at);
	if (opcode != RNIC_CQE_RESPONDER_WRITE_IMM)
		assert_memory_equal(b->memory + at, b->peer->memory + from, length);
}

/* The requester failed so, and with it both QPs; the responder said so at that PSN. */
static void
check_refused(struct net *net, uint32_t request, uint8_t syndrome, uint8_t nak, uint32_t psn)
{
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	assert_true(a->send_count > request);
	assert_int_equal(a->sends[request].syndrome, syndrome);
	assert_int_equal(a->qp.state, ROCE_ERR);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_true(sent_count > 0);
	assert_true(sent[(sent_count - 1) % 256].answer);
	assert_int_equal(sent[(sent_count - 1) % 256].opcode, XRC(ROCE_ACKNOWLEDGE));
	assert_int_equal(sent[(sent_count - 1) % 256].syndrome, ROCE_NAK(nak));
	assert_int_equal(sent[(sent_count - 1) % 256].psn, psn & ROCE_PSN_MASK);
}

/* A packet as end 0 could have sent it; its QP has not, and hears nothing of it. */
static void
give(struct net_end *b, uint8_t opcode, uint32_t psn, uint32_t srqn, uint32_t length)
{
	static uint8_t payload[2 * MTU];
	struct iovec piece = { payload, length };
	const struct roce_pkt pkt = { .opcode = opcode,
				      .psn = psn & ROCE_PSN_MASK,
				      .dest_qpn = NET_QPN + 1,
				      .srqn = srqn,
				      .ack_request = true,
				      .rkey = NET_KEY,
				      .va = NET_VA,
				      .dma_length =
					      opcode == XRC(ROCE_WRITE_FIRST) ? 2 * MTU : length,
				      .length = length,
				      .count = length > 0,
				      .pieces = &piece };

	net_inject(b, &pkt);
	net_check_state(&b->qp);
}

/* ---- What arrives ---- */

/* Each kind, of each length, alternately for both: the WQE is of the queue that is named, and the key of its protection domain. */
static void
test_each_message_is_for_the_queue_that_it_names(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM, RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ };
	static const uint8_t arrive[] = { RNIC_CQE_RESPONDER_SEND, RNIC_CQE_RESPONDER_SEND_IMM, 0,
					  RNIC_CQE_RESPONDER_WRITE_IMM, 0 };
	static const uint32_t lengths[] = { 0, 1, MTU - 1, MTU, MTU + 1, 2 * MTU, 5 * MTU, ROOM };
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	uint32_t id = 0, received = 0;

	for (uint32_t i = 0; i < sizeof(opcodes); i++)
		for (uint32_t n = 0; n < 8; n++, id++) {
			struct srq *srq = &srqs[(id ^ i) % 2];
			uint32_t remote = srq->base + 1000 + id, length = lengths[n];

			srq->head = srq->tail + 1;
			memset(b->memory + srq->base + 1000, (int)id, 2 * ROOM);
			post(a, srq->srqn, opcodes[i], id, 100 * id, length, remote);
			net_run(net);
			net_check_done(a, id + 1);
			assert_int_equal(b->receive_count, received + (arrive[i] != 0));
			if (arrive[i] != 0)
				check_received(b, received++, srq, arrive[i], length, 100 * id);
			if (i >= 2)
				assert_memory_equal(b->memory + remote, a->memory + 100 * id,
						    length);
			assert_int_equal(srqs[0].tail + srqs[1].tail, received);
		}
	assert_true(srqs[0].received > 5 && srqs[1].received > 5);
}

static void
test_atomics_are_for_the_queue_that_they_name(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	uint64_t value;

	for (uint32_t i = 0; i < 4; i++)
		post(a, srqs[i % 2].srqn, i < 2 ? RNIC_WQE_ATOMIC_FA : RNIC_WQE_ATOMIC_CS, i, 8 * i,
		     8, srqs[i % 2].base + 8);
	net_run(net);
	net_check_done(a, 4);
	assert_int_equal(b->atomics, 4);
	for (uint32_t i = 0; i < 4; i++) {
		memcpy(&value, a->memory + 8 * i, 8);
		assert_int_equal(value, i < 2 ? 0 : 5);
		memcpy(&value, b->memory + srqs[i % 2].base + 8, 8);
		assert_int_equal(value, 5);
	}
}

/* As many READs as may be are taken before the first is answered: of each one's own queue. */
static void
test_answers_are_of_their_own_queues(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	net->direct = true;
	for (uint32_t i = 0; i < NET_MEMORY; i++)
		b->memory[i] = (uint8_t)(i * 11 + (i >> 9));
	for (uint32_t i = 0; i < 8; i++)
		post(a, srqs[i % 2].srqn, RNIC_WQE_RDMA_READ, i, i * ROOM, 4 * MTU + i,
		     srqs[i % 2].base + i * ROOM);
	post(a, A, RNIC_WQE_SEND, 8, 0, 5, 0);
	net_run(net);
	net_check_done(a, 9);
	for (uint32_t i = 0; i < 8; i++)
		assert_memory_equal(a->memory + i * ROOM, b->memory + srqs[i % 2].base + i * ROOM,
				    4 * MTU + i);
}

/* What goes out names it in each request, a message's each packet too; answers name nothing. */
static void
test_each_request_names_its_queue(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_INVAL,
					   RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_CS };
	struct net *net = *state;
	struct net_end *a = &net->ends[0];
	uint32_t requests = 0;

	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		struct roce_request *request = net_request(
			a, opcodes[i], i, 0, opcodes[i] == RNIC_WQE_ATOMIC_CS ? 8 : 3 * MTU, HALF);

		request->srqn = B;
		request->immediate = NET_KEY;
		roce_qp_post(&a->qp);
	}
	net_run(net);
	net_check_done(a, sizeof(opcodes));
	assert_true(sent_count < 256);
	for (uint32_t i = 0; i < sent_count; i++) {
		assert_int_equal(sent[i].srqn, sent[i].answer ? 0 : B);
		requests += !sent[i].answer;
	}
	assert_int_equal(requests, 3 * 3 + 1 + 1);
}

static void
test_a_send_invalidates(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	for (uint32_t i = 0; i < 3; i++) {
		struct roce_request *request =
			net_request(a, RNIC_WQE_SEND_INVAL, i, 0, i == 0 ? 7 : 2 * MTU, 0);

		/* The last one is no key. */
		request->srqn = srqs[i % 2].srqn;
		request->immediate = NET_KEY + (i == 2);
		roce_qp_post(&a->qp);
	}
	net_run(net);
	check_received(b, 0, &srqs[0], RNIC_CQE_RESPONDER_SEND_INVAL, 7, 0);
	check_received(b, 1, &srqs[1], RNIC_CQE_RESPONDER_SEND_INVAL, 2 * MTU, 0);
	assert_int_equal(b->receives[0].immediate, NET_KEY);
	check_refused(net, 2, RNIC_SYND_REMOTE_ACCESS, ROCE_NAK_REMOTE_ACCESS, PSN + 4);
}

/* ---- A bad network ---- */

static struct net_end *receiver;
static uint32_t arrived[2]; /* of each queue */

static void
on_received(struct net_end *end, const struct net_completion *done)
{
	uint32_t i = NET_ID(done->cookie) == B, id;

	assert_ptr_equal(end, receiver);
	assert_int_equal(done->syndrome, 0);
	memcpy(&id, end->memory + NET_OFFSET(done->cookie), sizeof(id));
	/* Once each, in order: those of a queue are every other one. */
	assert_int_equal(id, 2 * arrived[i]++ + i);
	for (uint32_t n = sizeof(id); n < done->length; n++)
		assert_int_equal(end->memory[NET_OFFSET(done->cookie) + n], (uint8_t)(id + n));
	srqs[i].head++;
}

static void
test_messages_arrive_once_and_in_order(void **state)
{
	const uint32_t rounds = full_run() ? 20000 : 2000;
	struct net *net = create(7);
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	uint64_t word[2];

	(void)state;
	receiver = b;
	arrived[0] = arrived[1] = 0;
	b->received = on_received;
	net->drop = net->duplicate = net->corrupt = 10000;
	net->reorder = 50000;
	net->random_budget = true;
	for (uint32_t n = 0; n < rounds; n++) {
		struct srq *srq = &srqs[n % 2];
		const uint32_t length = 4 + net_below(net, 5 * MTU), to = srq->base + 1000;
		uint8_t *from = a->memory + n % 4 * ROOM, *back = a->memory + HALF;

		memcpy(from, &n, sizeof(n));
		for (uint32_t i = sizeof(n); i < length; i++)
			from[i] = (uint8_t)(n + i);
		post(a, srq->srqn, RNIC_WQE_SEND, n, n % 4 * ROOM, length, 0);
		post(a, srq->srqn, RNIC_WQE_RDMA_WRITE, n, n % 4 * ROOM, length, to);
		post(a, srq->srqn, RNIC_WQE_RDMA_READ, n, HALF, length, to);
		post(a, srq->srqn, RNIC_WQE_ATOMIC_FA, n, HALF + 2 * ROOM, 8, srq->base);
		net_run(net);
		assert_int_equal(a->send_count, 4 * (n + 1));
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(a->sends[(4 * n + i) % NET_RECORDS].syndrome, 0);
		assert_memory_equal(b->memory + to, from, length);
		assert_memory_equal(back, from, length);
	}
	assert_true(net->dropped > 0 && net->duplicated > 0 && net->corrupted > 0);
	assert_int_equal(arrived[0] + arrived[1], rounds);
	assert_int_equal(b->atomics, rounds);
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(&word[i], b->memory + srqs[i].base, 8);
		assert_int_equal(word[i], 5 * (rounds / 2));
	}
	net_destroy(net);
}

/* ---- Queues that are empty, or are none ---- */

/* That of another one is full, which helps nobody: the peer waits, and goes on when there is one. */
static void
test_an_empty_queue_makes_the_peer_wait(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_RDMA_WRITE_IMM };
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t tries = 0;

		srqs[1].head = srqs[1].tail;
		post(a, B, opcodes[i], i, 0, 3 * MTU, HALF);
		while (b->counters.out_of_buffer < 3 * (i + 1) && tries++ < 1000)
			assert_true(net_step(net));
		assert_int_equal(b->counters.out_of_buffer, 3 * (i + 1));
		assert_int_equal(b->receive_count, i);
		srqs[1].head++;
		net_run(net);
		net_check_done(a, i + 1);
		assert_int_equal(srqs[0].tail, 0);
		check_received(b, i, &srqs[1],
			       i == 0 ? RNIC_CQE_RESPONDER_SEND : RNIC_CQE_RESPONDER_WRITE_IMM,
			       3 * MTU, 0);
	}
	assert_true(b->counters.out_of_buffer == 6 && a->counters.rnr_nak_retry_err == 6);
}

/* Whatever is asked of it, and whether or not it would need a WQE or a key. */
static void
test_a_queue_that_may_not_be_named(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND,	    RNIC_WQE_SEND_IMM,
					   RNIC_WQE_SEND_INVAL,	    RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_CS,	    RNIC_WQE_ATOMIC_FA };

	(void)state;
	for (uint32_t i = 0; i < sizeof(opcodes); i++)
		for (uint32_t length = 0; length <= 3 * MTU; length += 3 * MTU) {
			struct net *net = create(3);
			struct net_end *a = &net->ends[0], *b = &net->ends[1];
			bool atomic = opcodes[i] == RNIC_WQE_ATOMIC_CS ||
				      opcodes[i] == RNIC_WQE_ATOMIC_FA;

			post(a, A, RNIC_WQE_SEND, 0, 0, 5, 0);
			post(a, NOBODYS, opcodes[i], 1, 0, atomic ? 8 : length, 0);
			net_run(net);
			assert_int_equal(a->sends[0].syndrome, 0);
			check_refused(net, 1, RNIC_SYND_REMOTE_INVALID_REQUEST,
				      ROCE_NAK_INVALID_REQUEST, PSN + 1);
			assert_int_equal(a->counters.req_remote_invalid_request, 1);
			/* No WQE was in use: an event tells of it, and that the QP uses none any more. */
			assert_int_equal(b->receive_count, 1);
			assert_int_equal(b->event_count, 2);
			assert_int_equal(b->events[0], RNIC_EVENT_WQ_INVALID_REQUEST);
			assert_int_equal(b->events[1], RNIC_EVENT_SRQ_LAST_WQE);
			assert_int_equal(srqs[0].tail + srqs[1].tail, 1);
			net_destroy(net);
		}
}

/* A key of one's protection domain is none of another's. */
static void
test_a_key_of_another_protection_domain(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_FA };

	(void)state;
	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		struct net *net = create(3);

		post(&net->ends[0], B, opcodes[i], 0, 0, 8, HALF);
		post(&net->ends[0], A, opcodes[i], 1, 0, 8, HALF);
		net_run(net);
		assert_int_equal(net->ends[0].sends[0].syndrome, 0);
		check_refused(net, 1, RNIC_SYND_REMOTE_ACCESS, ROCE_NAK_REMOTE_ACCESS, PSN + 1);
		net_destroy(net);
	}
}

/* ---- Packets that no good peer sends ---- */

/* The second packet of a message names another queue, and be it one that may be named. */
static void
test_a_message_names_one_queue(void **state)
{
	static const uint8_t kinds[][2] = { { XRC(ROCE_SEND_FIRST), XRC(ROCE_SEND_LAST) },
					    { XRC(ROCE_SEND_FIRST), XRC(ROCE_SEND_MIDDLE) },
					    { XRC(ROCE_WRITE_FIRST), XRC(ROCE_WRITE_LAST) },
					    { XRC(ROCE_WRITE_FIRST), XRC(ROCE_WRITE_LAST_IMM) } };

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		const uint8_t *kind = kinds[i / 2];
		struct net *net = create(3);
		struct net_end *b = &net->ends[1];

		give(b, kind[0], PSN, A, MTU);
		assert_int_equal(b->qp.state, ROCE_RTS);
		give(b, kind[1], PSN + 1, i % 2 == 0 ? B : A, MTU);
		assert_int_equal(b->qp.state, i % 2 == 0 ? ROCE_ERR : ROCE_RTS);
		net_poll(net);
		if (i % 2 == 0) {
			assert_int_equal(sent[sent_count - 1].syndrome,
					 ROCE_NAK(ROCE_NAK_INVALID_REQUEST));
			assert_int_equal(sent[sent_count - 1].psn, PSN + 1);
			assert_int_equal(b->receive_count, i < 4);
			if (i < 4)
				assert_int_equal(b->receives[0].syndrome,
						 RNIC_SYND_REMOTE_INVALID_REQUEST);
		}
		net_destroy(net);
	}
}

/* It was destroyed between two packets of a message: the WQE in use is told of it. */
static void
test_a_queue_that_goes_within_a_message(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	post(a, B, RNIC_WQE_SEND, 0, 0, 3 * MTU, 0);
	while (b->qp.responder.msn == 0 && !b->qp.responder.recv_held)
		assert_true(net_step(net));
	srqs[1].gone = true;
	net_run(net);
	check_refused(net, 0, RNIC_SYND_REMOTE_INVALID_REQUEST, ROCE_NAK_INVALID_REQUEST, PSN + 1);
	assert_int_equal(b->receive_count, 1);
	assert_int_equal(NET_ID(b->receives[0].cookie), B);
	assert_int_equal(b->receives[0].syndrome, RNIC_SYND_REMOTE_INVALID_REQUEST);
}

static void
one_goes(struct net_end *to, const struct roce_pkt *pkt)
{
	(void)pkt;
	if (to == &to->net->ends[0])
		srqs[1].gone = true;
}

/* It goes within the answer of a READ: as if the key had gone. */
static void
test_a_queue_that_goes_within_an_answer(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	net->direct = true;
	net->watch = one_goes;
	post(a, B, RNIC_WQE_RDMA_READ, 0, 0, 3 * MTU, HALF);
	net_run(net);
	check_refused(net, 0, RNIC_SYND_REMOTE_ACCESS, ROCE_NAK_REMOTE_ACCESS, PSN + 1);
	assert_int_equal(b->counters.resp_remote_access_errors, 1);
	assert_int_equal(b->events[0], RNIC_EVENT_WQ_ACCESS_ERROR);
}

/* A READ of no bytes is answered from no memory, whatever has gone. */
static void
test_an_answer_of_nothing_needs_no_queue(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	give(b, XRC(ROCE_READ_REQUEST), PSN, B, 0);
	srqs[1].gone = true;
	net_poll(net);
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent[0].opcode, XRC(ROCE_READ_RESPONSE_ONLY));
	assert_int_equal(b->qp.state, ROCE_RTS);
}

/* What was executed before is not asked for again: its queue may have gone. */
static void
test_repeated_data_asks_for_no_queue(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];
	uint32_t before;

	give(b, XRC(ROCE_SEND_ONLY), PSN, A, 5);
	net_poll(net);
	before = selections;
	srqs[0].gone = true;
	give(b, XRC(ROCE_SEND_ONLY), PSN, A, 5);
	/* Nor does what is behind a gap. */
	give(b, XRC(ROCE_SEND_ONLY), PSN + 2, A, 5);
	net_poll(net);
	assert_int_equal(selections, before);
	assert_int_equal(b->qp.state, ROCE_RTS);
	assert_int_equal(b->receive_count, 1);
	assert_int_equal(b->counters.duplicate_request, 1);
	assert_int_equal(b->counters.out_of_sequence, 1);
}

/* A repeated READ is what it was, so that it names the same queue. */
static void
test_a_repeated_read_names_the_same_queue(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	give(b, XRC(ROCE_READ_REQUEST), PSN, A, 0);
	net_poll(net);
	assert_int_equal(sent_count, 1);
	give(b, XRC(ROCE_READ_REQUEST), PSN, B, 0);
	net_poll(net);
	assert_int_equal(sent_count, 1);
	give(b, XRC(ROCE_READ_REQUEST), PSN, A, 0);
	net_poll(net);
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[1].opcode, XRC(ROCE_READ_RESPONSE_ONLY));
}

/* Every opcode of every other transport, and PSNs that are none. */
static void
test_packets_of_other_transports_are_dropped(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	for (uint32_t opcode = 0; opcode < 256; opcode++)
		if (ROCE_TRANSPORT(opcode) != ROCE_TRANSPORT_XRC)
			give(b, (uint8_t)opcode, PSN, A, 5);
	net_inject(b, &(struct roce_pkt){
			      .opcode = XRC(ROCE_SEND_ONLY), .psn = PSN | 1u << 24, .srqn = A });
	net_poll(net);
	assert_int_equal(selections, 0);
	assert_int_equal(net->emitted, 0);
	assert_int_equal(b->qp.responder.psn, PSN);
	give(b, XRC(ROCE_SEND_ONLY), PSN, A, 5);
	assert_int_equal(b->receive_count, 1);
}

/* And RC takes none of XRC's. */
static void
test_rc_drops_packets_of_xrc(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 3 });
	struct net_end *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);

	(void)state;
	net_connect(net, &attr, PSN);
	net_recv(b, 1, 0, ROOM);
	for (uint32_t opcode = 0xa0; opcode < 0xc0; opcode++)
		give(b, (uint8_t)opcode, PSN, A, 5);
	net_poll(net);
	assert_int_equal(net->emitted, 0);
	assert_int_equal(b->qp.responder.psn, PSN);
	give(b, ROCE_SEND_ONLY, PSN, 0, 5);
	assert_int_equal(b->receive_count, 1);
	net_destroy(net);
}

/* Opcodes of XRC that are none, which the codec does not let through. */
static void
test_reserved_operations_are_invalid(void **state)
{
	static const uint8_t reserved[] = { 0xb5, 0xb8, 0xbf };

	(void)state;
	for (uint32_t i = 0; i < sizeof(reserved); i++) {
		struct net *net = create(3);

		give(&net->ends[1], reserved[i], PSN, A, 0);
		net_poll(net);
		assert_int_equal(sent[0].syndrome, ROCE_NAK(ROCE_NAK_INVALID_REQUEST));
		net_destroy(net);
	}
}

/* The first packet tells that the connection is there, even if it may not be what it is: as RC's does. */
static void
test_the_first_packet_establishes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct net *net = create(3);
		struct net_end *b = &net->ends[1];
		struct roce_attr attr = net_attr(net);

		attr.rq_psn = PSN;
		assert_int_equal(roce_qp_modify(&b->qp, ROCE_RST, NULL), 0);
		assert_int_equal(roce_qp_modify(&b->qp, ROCE_INIT, &attr), 0);
		assert_int_equal(roce_qp_modify(&b->qp, ROCE_RTR, &attr), 0);
		give(b, XRC(ROCE_SEND_ONLY), PSN, i == 0 ? A : NOBODYS, 5);
		assert_int_equal(b->event_count, 1 + i);
		assert_int_equal(b->events[0], RNIC_EVENT_COMM_ESTABLISHED);
		net_destroy(net);
	}
}

/* A WQE that was taken for a message that does not end goes back to the queue that it is of. */
static void
test_a_wqe_in_use_goes_back(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	give(b, XRC(ROCE_SEND_FIRST), PSN, B, MTU);
	assert_int_equal(srqs[1].tail, 1);
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_RST, NULL), 0);
	assert_int_equal(srqs[1].tail, 0);
	assert_int_equal(srqs[0].tail, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_message_is_for_the_queue_that_it_names),
		T(test_atomics_are_for_the_queue_that_they_name),
		T(test_answers_are_of_their_own_queues),
		T(test_each_request_names_its_queue),
		T(test_a_send_invalidates),
		cmocka_unit_test(test_messages_arrive_once_and_in_order),
		T(test_an_empty_queue_makes_the_peer_wait),
		cmocka_unit_test(test_a_queue_that_may_not_be_named),
		cmocka_unit_test(test_a_key_of_another_protection_domain),
		cmocka_unit_test(test_a_message_names_one_queue),
		T(test_a_queue_that_goes_within_a_message),
		T(test_a_queue_that_goes_within_an_answer),
		T(test_an_answer_of_nothing_needs_no_queue),
		T(test_repeated_data_asks_for_no_queue),
		T(test_a_repeated_read_names_the_same_queue),
		T(test_packets_of_other_transports_are_dropped),
		cmocka_unit_test(test_rc_drops_packets_of_xrc),
		cmocka_unit_test(test_reserved_operations_are_invalid),
		cmocka_unit_test(test_the_first_packet_establishes),
		T(test_a_wqe_in_use_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
