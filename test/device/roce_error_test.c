/* SPDX-License-Identifier: BSD-3-Clause */

/* Every way for a request to fail: its status, what the other end sees, what becomes of what was posted around it. */
#include <string.h>

#include "roce_net.h"

#define BEFORE 3u /* good SENDs in front of the one that fails */
#define BEHIND 2u
#define BAD    (BEFORE + 1)
#define ALL    (BEFORE + 1 + BEHIND)

/* How the bad request is made, and what must come of it. */
struct failure {
	const char *name;
	uint8_t opcode;
	uint32_t length;
	uint32_t remote;				/* offset */
	uint32_t rkey;					/* 0: the right one */
	uint8_t preset;					/* syndrome that the owner gives it */
	unsigned int attr_access_lost, key_access_lost; /* at the peer */
	bool remote_broken, no_rd_atomic;
	bool local_bad, peer_recv_bad; /* memory that may not be used */

	uint8_t syndrome;
	bool peer_lives;
	uint8_t recv_syndrome; /* of the peer's receive WQE in use; 0: none is */
	int event;	       /* of the peer; -1: none */
};

#define FAILURE(what, op, bytes, status, ...)                               \
	{                                                                   \
		.name = (what), .opcode = RNIC_WQE_##op, .length = (bytes), \
		.syndrome = RNIC_SYND_##status, __VA_ARGS__                 \
	}
/* The peer never hears of it. */
#define LOCAL(what, op, bytes, status, ...) \
	FAILURE(what, op, bytes, status, .peer_lives = true, ##__VA_ARGS__)
#define BAD_MEMORY(what, op, bytes) LOCAL(what, op, bytes, LOCAL_PROTECTION, .local_bad = true)
#define ACCESS(what, op, bytes, ...) \
	FAILURE(what, op, bytes, REMOTE_ACCESS, .event = RNIC_EVENT_WQ_ACCESS_ERROR, __VA_ARGS__)
#define INVALID(what, op, bytes, ...)                                                            \
	FAILURE(what, op, bytes, REMOTE_INVALID_REQUEST, .event = RNIC_EVENT_WQ_INVALID_REQUEST, \
		__VA_ARGS__)
#define BROKEN(what, op, bytes)                                                         \
	FAILURE(what, op, bytes, REMOTE_OPERATION, .event = RNIC_EVENT_WQ_CATASTROPHIC, \
		.remote_broken = true)
/* A receive WQE tells of it. */
#define RECEIVE(what, op, bytes, status, there, ...)                                      \
	FAILURE(what, op, bytes, status, .event = -1, .recv_syndrome = RNIC_SYND_##there, \
		##__VA_ARGS__)
#define RNIC_WQE_UNKNOWN 0x7f

static const struct failure failures[] = {
	/* local ones: the peer never hears of them */
	LOCAL("unknown opcode", UNKNOWN, 8, LOCAL_QP_OPERATION),
	LOCAL("segmentation offload", LSO, 8, LOCAL_QP_OPERATION),
	LOCAL("READ where none was agreed", RDMA_READ, 8, LOCAL_QP_OPERATION, .no_rd_atomic = true),
	LOCAL("longer than a message", RDMA_WRITE, ROCE_MESSAGE_MAX + 1, LOCAL_LENGTH),
	LOCAL("atomic of 4 bytes", ATOMIC_FA, 4, LOCAL_LENGTH),
	LOCAL("atomic of 16 bytes", ATOMIC_CS, 16, LOCAL_LENGTH),
	LOCAL("refused by the owner", SEND, 8, MW_BIND, .preset = RNIC_SYND_MW_BIND),
	LOCAL("NOP refused by the owner", NOP, 0, LOCAL_QP_OPERATION,
	      .preset = RNIC_SYND_LOCAL_QP_OPERATION),
	BAD_MEMORY("SEND from bad memory", SEND, 100),
	BAD_MEMORY("WRITE whose end is bad memory", RDMA_WRITE, 200000),
	BAD_MEMORY("READ to bad memory", RDMA_READ, 100),
	BAD_MEMORY("atomic to bad memory", ATOMIC_FA, 8),
	/* access */
	ACCESS("WRITE, wrong key", RDMA_WRITE, 8, .rkey = NET_KEY + 1),
	ACCESS("long WRITE, wrong key", RDMA_WRITE, 9000, .rkey = NET_KEY + 1),
	ACCESS("WRITE, one byte beyond", RDMA_WRITE, 9000, .remote = NET_MEMORY - 8999),
	ACCESS("WRITE before the region", RDMA_WRITE, 8, .remote = UINT32_MAX),
	ACCESS("WRITE, key without", RDMA_WRITE, 8, .key_access_lost = ROCE_REMOTE_WRITE),
	/* The first packet takes no WQE yet. */
	ACCESS("long WRITE with immediate, wrong key", RDMA_WRITE_IMM, 9000, .rkey = 1),
	RECEIVE("WRITE with immediate, wrong key", RDMA_WRITE_IMM, 8, REMOTE_ACCESS, LOCAL_ACCESS,
		.rkey = 1),
	RECEIVE("WRITE with immediate, key without", RDMA_WRITE_IMM, 8, REMOTE_ACCESS, LOCAL_ACCESS,
		.key_access_lost = ROCE_REMOTE_WRITE),
	ACCESS("READ, wrong key", RDMA_READ, 8, .rkey = 1),
	ACCESS("READ, one byte beyond", RDMA_READ, 9000, .remote = NET_MEMORY - 8999),
	ACCESS("READ, key without", RDMA_READ, 8, .key_access_lost = ROCE_REMOTE_READ),
	ACCESS("atomic, key without", ATOMIC_FA, 8, .key_access_lost = ROCE_REMOTE_ATOMIC),
	/* invalid requests */
	INVALID("WRITE, QP without", RDMA_WRITE, 8, .attr_access_lost = ROCE_REMOTE_WRITE),
	INVALID("WRITE with immediate, QP without", RDMA_WRITE_IMM, 8,
		.attr_access_lost = ROCE_REMOTE_WRITE),
	/* It is not for want of a key. */
	INVALID("WRITE of no bytes, QP without", RDMA_WRITE, 0,
		.attr_access_lost = ROCE_REMOTE_WRITE),
	INVALID("READ of no bytes, QP without", RDMA_READ, 0, .attr_access_lost = ROCE_REMOTE_READ),
	INVALID("WRITE, neither QP nor key", RDMA_WRITE, 8, .rkey = 1,
		.attr_access_lost = ROCE_REMOTE_WRITE),
	INVALID("READ, QP without", RDMA_READ, 8, .attr_access_lost = ROCE_REMOTE_READ),
	INVALID("atomic, QP without", ATOMIC_CS, 8, .attr_access_lost = ROCE_REMOTE_ATOMIC),
	INVALID("atomic, not aligned", ATOMIC_CS, 8, .remote = 4),
	INVALID("atomic, not aligned, wrong key", ATOMIC_FA, 8, .remote = 4, .rkey = 1),
	RECEIVE("SEND longer than its WQE", SEND, 4097, REMOTE_INVALID_REQUEST, LOCAL_LENGTH),
	/* the peer's own trouble */
	RECEIVE("SEND into bad memory", SEND, 100, REMOTE_OPERATION, LOCAL_PROTECTION,
		.peer_recv_bad = true),
	BROKEN("WRITE, memory broken", RDMA_WRITE, 100),
	FAILURE("WRITE with immediate, memory broken", RDMA_WRITE_IMM, 100, REMOTE_OPERATION,
		.remote_broken = true, .recv_syndrome = RNIC_SYND_WR_FLUSHED,
		.event = RNIC_EVENT_WQ_CATASTROPHIC),
	BROKEN("READ, memory broken", RDMA_READ, 100),
	BROKEN("atomic, memory broken", ATOMIC_FA, 8),
};

#define RECV_AT	   65536u
#define RECV_BYTES 4096u
#define BAD_AT	   (NET_MEMORY - 131072)

static void
check_requester(const struct failure *f, struct net_end *a)
{
	uint32_t i;

	/* The good ones before it, it, and those behind it, in the order of posting. */
	assert_int_equal(a->send_count, ALL);
	for (i = 0; i < ALL; i++) {
		assert_int_equal(NET_ID(a->sends[i].cookie), i + 1);
		assert_int_equal(a->sends[i].syndrome, i < BEFORE     ? 0
						       : i + 1 == BAD ? f->syndrome
								      : RNIC_SYND_WR_FLUSHED);
	}
	/* Its receive WQEs are flushed as well. */
	assert_int_equal(a->qp.state, ROCE_ERR);
	assert_int_equal(a->receive_count, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(NET_ID(a->receives[i].cookie), i);
		assert_int_equal(a->receives[i].syndrome, RNIC_SYND_WR_FLUSHED);
	}
	assert_int_equal(a->event_count, 0);
	assert_int_equal(a->counters.req_cqe_error, 1);
	assert_int_equal(a->counters.req_cqe_flush_error, BEHIND);
	assert_int_equal(a->counters.resp_cqe_flush_error, 4);
	assert_int_equal(a->counters.req_remote_invalid_request,
			 f->syndrome == RNIC_SYND_REMOTE_INVALID_REQUEST);
	assert_int_equal(a->counters.req_remote_access_errors,
			 f->syndrome == RNIC_SYND_REMOTE_ACCESS);
}

static void
check_responder(const struct failure *f, struct net_end *b)
{
	uint32_t used = BEFORE + (f->recv_syndrome != 0), i;

	assert_int_equal(b->qp.state, f->peer_lives ? ROCE_RTS : ROCE_ERR);
	if (f->peer_lives) {
		/* Those behind an answer that finds no place have arrived before it. */
		assert_int_equal(b->receive_count, f->local_bad && f->opcode != RNIC_WQE_SEND &&
								   f->opcode != RNIC_WQE_RDMA_WRITE
							   ? BEFORE + BEHIND
							   : BEFORE);
		assert_int_equal(b->event_count, 0);
		return;
	}
	/* Not a byte was written where that was not allowed. */
	if (f->remote < NET_MEMORY)
		assert_int_equal(b->memory[f->remote], 0);
	assert_int_equal(b->receive_count, 8);
	for (i = 0; i < 8; i++) {
		assert_int_equal(NET_ID(b->receives[i].cookie), i);
		assert_int_equal(b->receives[i].syndrome, i < BEFORE ? 0
							  : i < used ? f->recv_syndrome
								     : RNIC_SYND_WR_FLUSHED);
	}
	assert_int_equal(b->event_count, f->event < 0 ? 0 : 1);
	if (f->event >= 0)
		assert_int_equal(b->events[0], f->event);
	assert_int_equal(b->counters.resp_remote_access_errors,
			 f->syndrome == RNIC_SYND_REMOTE_ACCESS);
	assert_int_equal(b->counters.resp_local_length_error,
			 f->recv_syndrome == RNIC_SYND_LOCAL_LENGTH);
	assert_int_equal(b->counters.resp_cqe_error,
			 f->recv_syndrome != 0 && f->recv_syndrome != RNIC_SYND_WR_FLUSHED);
}

static void
fail_once(const struct failure *f, bool direct)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;
	uint32_t i;

	net->direct = direct;
	memset(a->memory, 0x5a, 16384);
	attr.max_rd_atomic = f->no_rd_atomic ? 0 : 4;
	net_connect(net, &attr, 0xfffffe);
	b->qp.attr.access &= (uint8_t)~f->attr_access_lost;
	b->access &= ~f->key_access_lost;
	for (i = 0; i < 4; i++)
		net_recv(a, i, RECV_AT, RECV_BYTES);
	for (i = 0; i < 8; i++)
		net_recv(b, i, f->peer_recv_bad && i == BEFORE ? BAD_AT : RECV_AT, RECV_BYTES);
	if (f->peer_recv_bad)
		b->bad_from = BAD_AT;
	b->remote_broken = f->remote_broken;
	for (i = 1; i <= ALL; i++) {
		if (i != BAD) {
			net_post(a, RNIC_WQE_SEND, i, 0, 3000, 0);
			continue;
		}
		if (f->local_bad)
			a->bad_from = BAD_AT;
		request = net_request(a, f->opcode, i,
				      f->local_bad && f->length < 131072 ? BAD_AT
				      : f->local_bad			 ? BAD_AT - 100000
									 : 0,
				      f->length, f->remote);
		if (f->remote == UINT32_MAX)
			request->va = NET_VA - 1;
		if (f->rkey != 0)
			request->rkey = f->rkey;
		request->syndrome = f->preset;
		roce_qp_post(&a->qp);
	}
	net_run(net);
	check_requester(f, a);
	check_responder(f, b);
	net_destroy(net);
}

static void
test_every_failure(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		print_message("# %s\n", failures[i].name);
		fail_once(&failures[i], false);
		fail_once(&failures[i], true);
	}
}

/* Zero bytes touch no memory: no key is looked at. */
static void
test_no_bytes_need_no_key(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;
	uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ, RNIC_WQE_RDMA_WRITE_IMM };
	uint32_t i;

	net_connect(net, &attr, 0);
	a->bad_from = b->bad_from = 0;
	net_recv(b, 0, 0, 0);
	net_recv(b, 1, 0, 0);
	for (i = 0; i < 3; i++) {
		request = net_request(a, opcodes[i], i, 0, 0, 0);
		request->rkey = 0;
		request->va = UINT64_MAX;
		roce_qp_post(&a->qp);
	}
	net_post(a, RNIC_WQE_SEND, 3, 0, 0, 0);
	net_run(net);
	net_check_done(a, 4);
	assert_int_equal(b->receive_count, 2);
	assert_int_equal(b->receives[0].opcode, RNIC_CQE_RESPONDER_WRITE_IMM);
	assert_int_equal(b->receives[1].length, 0);
	assert_int_equal(b->qp.responder.msn, 4);
}

static struct net_end *lose_key_of;

static enum net_action
lose_key(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	(void)net;
	if (from == lose_key_of && pkt->opcode == ROCE_READ_RESPONSE_MIDDLE)
		lose_key_of->access = 0;
	return NET_PASS;
}

/* A key that goes while its READ is answered: what was sent counts, the rest is refused at its PSN. */
static void
test_key_goes_during_a_read(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);

	net_connect(net, &attr, 100);
	lose_key_of = b;
	net->rule = lose_key;
	net_recv(b, 0, 0, 100);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 8192, 0);
	net_post(a, RNIC_WQE_SEND, 2, 0, 10, 0);
	net_run(net);
	assert_int_equal(a->send_count, 2);
	assert_int_equal(a->sends[0].syndrome, RNIC_SYND_REMOTE_ACCESS);
	assert_int_equal(a->sends[1].syndrome, RNIC_SYND_WR_FLUSHED);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_int_equal(b->counters.resp_remote_access_errors, 1);
	assert_int_equal(b->events[0], RNIC_EVENT_WQ_ACCESS_ERROR);
}

/*
 * Its memory went before it was repeated, and then comes the answer to its first copy: the peer has it, and nothing has
 * failed. What waits behind it is not blamed for it either.
 */
static void
test_late_answer_to_what_cannot_be_repeated(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct iovec piece = { net->ends[1].memory, 10 };
	struct roce_pkt answer = { .opcode = ROCE_READ_RESPONSE_ONLY,
				   .psn = 102,
				   .syndrome = ROCE_ACK_UNLIMITED,
				   .length = 10,
				   .count = 1,
				   .pieces = &piece };

	net_connect(net, &attr, 100);
	net->drop = 1000000;
	net_post(a, RNIC_WQE_RDMA_WRITE, 0, 0, 10, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE, 1, BAD_AT, 10, 0);
	net_post(a, RNIC_WQE_RDMA_READ, 2, 100, 10, 0);
	net_poll(net);
	a->bad_from = BAD_AT;
	net->now = roce_qp_deadline(&a->qp);
	net_poll(net);
	assert_int_equal(net->emitted, 3 + 1);
	net_inject(a, &answer);
	net_check_state(&a->qp);
	net_poll(net);
	net_check_done(a, 3);
	assert_int_equal(a->qp.state, ROCE_RTS);
}

/* What was asked before the bad request is answered before its NAK. */
static void
test_answers_due_go_before_the_nak(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;

	net_connect(net, &attr, 100);
	net->direct = true;
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 20000, 0);
	net_post(a, RNIC_WQE_ATOMIC_FA, 2, 0, 8, 0);
	request = net_request(a, RNIC_WQE_RDMA_WRITE, 3, 0, 10, 0);
	request->rkey = 0;
	roce_qp_post(&a->qp);
	/* All three are at the peer before it answers any. */
	assert_int_equal(roce_qp_poll(&a->qp, net->now, 64), 3);
	assert_int_equal(b->qp.state, ROCE_ERR);
	net_run(net);
	assert_int_equal(a->sends[0].syndrome, 0);
	assert_int_equal(a->sends[1].syndrome, 0);
	assert_int_equal(a->sends[2].syndrome, RNIC_SYND_REMOTE_ACCESS);
}

/* Put to ERR by its owner, a QP says nothing any more. */
static void
test_no_answers_in_error(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;

	net_connect(net, &attr, 100);
	net->direct = true;
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 20000, 0);
	request = net_request(a, RNIC_WQE_RDMA_WRITE, 2, 0, 10, 0);
	request->rkey = 0;
	roce_qp_post(&a->qp);
	assert_int_equal(roce_qp_poll(&a->qp, net->now, 64), 2);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_ERR, NULL), 0);
	net->emitted = 0;
	assert_int_equal(roce_qp_poll(&b->qp, net->now, 64), 0);
	assert_int_equal(net->emitted, 0);
}

/* Shared receive WQEs stay with the others; the owner learns when this QP has none of them any more. */
static void
test_error_with_a_shared_receive_queue(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1, .srq = { false, true } });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	(void)state;
	net_connect(net, &attr, 0);
	for (i = 0; i < 4; i++)
		net_recv(b, i, 0, 4096);
	net_post(a, RNIC_WQE_SEND, 1, 0, 100, 0);
	net_post(a, RNIC_WQE_SEND, 2, 0, 4096 + 1024, 0);
	net_run(net);
	assert_int_equal(b->receive_count, 2);
	assert_int_equal(b->receives[1].syndrome, RNIC_SYND_LOCAL_LENGTH);
	assert_int_equal(b->recv_head - b->recv_tail, 2);
	assert_int_equal(b->event_count, 1);
	assert_int_equal(b->events[0], RNIC_EVENT_SRQ_LAST_WQE);
	net_destroy(net);
}

/* A message half received when its QP goes to ERR, and many posted: each WQE completes once, in order. */
static void
test_flush_in_order(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1, .requests_log = 6 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_pkt first = { .opcode = ROCE_SEND_FIRST, .psn = 7, .length = 1024, .count = 1 };
	struct iovec piece = { a->memory, 1024 };
	uint32_t i;

	(void)state;
	net_connect(net, &attr, 7);
	first.pieces = &piece;
	for (i = 0; i < 100; i++)
		net_recv(b, i, 0, 4096);
	net_inject(b, &first);
	for (i = 0; i < 64; i++)
		net_post(b, i % 2 != 0 ? RNIC_WQE_RDMA_READ : RNIC_WQE_NOP, i, 0, 100, 0);
	assert_null(roce_qp_claim(&b->qp));
	assert_int_equal(roce_qp_modify(&b->qp, ROCE_ERR, NULL), 0);
	net->random_budget = true;
	net_run(net);
	assert_int_equal(b->send_count, 64);
	for (i = 0; i < 64; i++) {
		assert_int_equal(NET_ID(b->sends[i].cookie), i);
		assert_int_equal(b->sends[i].syndrome, RNIC_SYND_WR_FLUSHED);
	}
	assert_int_equal(b->receive_count, 100);
	for (i = 0; i < 100; i++) {
		assert_int_equal(NET_ID(b->receives[i].cookie), i);
		assert_int_equal(b->receives[i].syndrome, RNIC_SYND_WR_FLUSHED);
	}
	/* What is posted in ERR is flushed too. */
	net_post(b, RNIC_WQE_SEND, 64, 0, 100, 0);
	net_recv(b, 100, 0, 10);
	net_run(net);
	assert_int_equal(b->send_count, 65);
	assert_int_equal(b->receive_count, 101);
	assert_int_equal(b->counters.req_cqe_flush_error, 65);
	assert_int_equal(b->counters.resp_cqe_flush_error, 101);
	assert_int_equal(b->event_count, 0);
	net_destroy(net);
}

#define T(name) cmocka_unit_test_setup_teardown(name, net_setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_failure),
		T(test_no_bytes_need_no_key),
		T(test_key_goes_during_a_read),
		T(test_late_answer_to_what_cannot_be_repeated),
		T(test_answers_due_go_before_the_nak),
		T(test_no_answers_in_error),
		cmocka_unit_test(test_error_with_a_shared_receive_queue),
		cmocka_unit_test(test_flush_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
