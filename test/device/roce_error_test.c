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

static const struct failure failures[] = {
	/* local ones: the peer never hears of them */
	{ .name = "unknown opcode",
	  .opcode = 0x7f,
	  .length = 8,
	  .syndrome = RNIC_SYND_LOCAL_QP_OPERATION,
	  .peer_lives = true },
	{ .name = "SEND with invalidate",
	  .opcode = RNIC_WQE_SEND_INVAL,
	  .length = 8,
	  .syndrome = RNIC_SYND_LOCAL_QP_OPERATION,
	  .peer_lives = true },
	{ .name = "segmentation offload",
	  .opcode = RNIC_WQE_LSO,
	  .length = 8,
	  .syndrome = RNIC_SYND_LOCAL_QP_OPERATION,
	  .peer_lives = true },
	{ .name = "READ where none was agreed",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 8,
	  .no_rd_atomic = true,
	  .syndrome = RNIC_SYND_LOCAL_QP_OPERATION,
	  .peer_lives = true },
	{ .name = "longer than a message",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = ROCE_MESSAGE_MAX + 1,
	  .syndrome = RNIC_SYND_LOCAL_LENGTH,
	  .peer_lives = true },
	{ .name = "atomic of 4 bytes",
	  .opcode = RNIC_WQE_ATOMIC_FA,
	  .length = 4,
	  .syndrome = RNIC_SYND_LOCAL_LENGTH,
	  .peer_lives = true },
	{ .name = "atomic of 16 bytes",
	  .opcode = RNIC_WQE_ATOMIC_CS,
	  .length = 16,
	  .syndrome = RNIC_SYND_LOCAL_LENGTH,
	  .peer_lives = true },
	{ .name = "refused by the owner",
	  .opcode = RNIC_WQE_SEND,
	  .length = 8,
	  .preset = RNIC_SYND_MW_BIND,
	  .syndrome = RNIC_SYND_MW_BIND,
	  .peer_lives = true },
	{ .name = "NOP refused by the owner",
	  .opcode = RNIC_WQE_NOP,
	  .preset = RNIC_SYND_LOCAL_QP_OPERATION,
	  .syndrome = RNIC_SYND_LOCAL_QP_OPERATION,
	  .peer_lives = true },
	{ .name = "SEND from bad memory",
	  .opcode = RNIC_WQE_SEND,
	  .length = 100,
	  .local_bad = true,
	  .syndrome = RNIC_SYND_LOCAL_PROTECTION,
	  .peer_lives = true },
	{ .name = "WRITE whose end is bad memory",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 200000,
	  .local_bad = true,
	  .syndrome = RNIC_SYND_LOCAL_PROTECTION,
	  .peer_lives = true },
	{ .name = "READ to bad memory",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 100,
	  .local_bad = true,
	  .syndrome = RNIC_SYND_LOCAL_PROTECTION,
	  .peer_lives = true },
	{ .name = "atomic to bad memory",
	  .opcode = RNIC_WQE_ATOMIC_FA,
	  .length = 8,
	  .local_bad = true,
	  .syndrome = RNIC_SYND_LOCAL_PROTECTION,
	  .peer_lives = true },
	/* access */
	{ .name = "WRITE, wrong key",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 8,
	  .rkey = NET_KEY + 1,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "long WRITE, wrong key",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 9000,
	  .rkey = NET_KEY + 1,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "WRITE, one byte beyond",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 9000,
	  .remote = NET_MEMORY - 8999,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "WRITE before the region",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 8,
	  .remote = UINT32_MAX,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "WRITE, key without",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 8,
	  .key_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	/* The first packet takes no WQE yet. */
	{ .name = "long WRITE with immediate, wrong key",
	  .opcode = RNIC_WQE_RDMA_WRITE_IMM,
	  .length = 9000,
	  .rkey = 1,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "WRITE with immediate, wrong key",
	  .opcode = RNIC_WQE_RDMA_WRITE_IMM,
	  .length = 8,
	  .rkey = 1,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .recv_syndrome = RNIC_SYND_LOCAL_ACCESS,
	  .event = -1 },
	{ .name = "WRITE with immediate, key without",
	  .opcode = RNIC_WQE_RDMA_WRITE_IMM,
	  .length = 8,
	  .key_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .recv_syndrome = RNIC_SYND_LOCAL_ACCESS,
	  .event = -1 },
	{ .name = "READ, wrong key",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 8,
	  .rkey = 1,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "READ, one byte beyond",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 9000,
	  .remote = NET_MEMORY - 8999,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "READ, key without",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 8,
	  .key_access_lost = ROCE_REMOTE_READ,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	{ .name = "atomic, key without",
	  .opcode = RNIC_WQE_ATOMIC_FA,
	  .length = 8,
	  .key_access_lost = ROCE_REMOTE_ATOMIC,
	  .syndrome = RNIC_SYND_REMOTE_ACCESS,
	  .event = RNIC_EVENT_WQ_ACCESS_ERROR },
	/* invalid requests */
	{ .name = "WRITE, QP without",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 8,
	  .attr_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "WRITE with immediate, QP without",
	  .opcode = RNIC_WQE_RDMA_WRITE_IMM,
	  .length = 8,
	  .attr_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	/* It is not for want of a key. */
	{ .name = "WRITE of no bytes, QP without",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .attr_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "READ of no bytes, QP without",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .attr_access_lost = ROCE_REMOTE_READ,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "WRITE, neither QP nor key",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 8,
	  .rkey = 1,
	  .attr_access_lost = ROCE_REMOTE_WRITE,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "READ, QP without",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 8,
	  .attr_access_lost = ROCE_REMOTE_READ,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "atomic, QP without",
	  .opcode = RNIC_WQE_ATOMIC_CS,
	  .length = 8,
	  .attr_access_lost = ROCE_REMOTE_ATOMIC,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "atomic, not aligned",
	  .opcode = RNIC_WQE_ATOMIC_CS,
	  .length = 8,
	  .remote = 4,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "atomic, not aligned, wrong key",
	  .opcode = RNIC_WQE_ATOMIC_FA,
	  .length = 8,
	  .remote = 4,
	  .rkey = 1,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .event = RNIC_EVENT_WQ_INVALID_REQUEST },
	{ .name = "SEND longer than its WQE",
	  .opcode = RNIC_WQE_SEND,
	  .length = 4097,
	  .syndrome = RNIC_SYND_REMOTE_INVALID_REQUEST,
	  .recv_syndrome = RNIC_SYND_LOCAL_LENGTH,
	  .event = -1 },
	/* the peer's own trouble */
	{ .name = "SEND into bad memory",
	  .opcode = RNIC_WQE_SEND,
	  .length = 100,
	  .peer_recv_bad = true,
	  .syndrome = RNIC_SYND_REMOTE_OPERATION,
	  .recv_syndrome = RNIC_SYND_LOCAL_PROTECTION,
	  .event = -1 },
	{ .name = "WRITE, memory broken",
	  .opcode = RNIC_WQE_RDMA_WRITE,
	  .length = 100,
	  .remote_broken = true,
	  .syndrome = RNIC_SYND_REMOTE_OPERATION,
	  .event = RNIC_EVENT_WQ_CATASTROPHIC },
	{ .name = "WRITE with immediate, memory broken",
	  .opcode = RNIC_WQE_RDMA_WRITE_IMM,
	  .length = 100,
	  .remote_broken = true,
	  .syndrome = RNIC_SYND_REMOTE_OPERATION,
	  .recv_syndrome = RNIC_SYND_WR_FLUSHED,
	  .event = RNIC_EVENT_WQ_CATASTROPHIC },
	{ .name = "READ, memory broken",
	  .opcode = RNIC_WQE_RDMA_READ,
	  .length = 100,
	  .remote_broken = true,
	  .syndrome = RNIC_SYND_REMOTE_OPERATION,
	  .event = RNIC_EVENT_WQ_CATASTROPHIC },
	{ .name = "atomic, memory broken",
	  .opcode = RNIC_WQE_ATOMIC_FA,
	  .length = 8,
	  .remote_broken = true,
	  .syndrome = RNIC_SYND_REMOTE_OPERATION,
	  .event = RNIC_EVENT_WQ_CATASTROPHIC },
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
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;
	uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ, RNIC_WQE_RDMA_WRITE_IMM };
	uint32_t i;

	(void)state;
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
	assert_int_equal(a->send_count, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(a->sends[i].syndrome, 0);
	assert_int_equal(b->receive_count, 2);
	assert_int_equal(b->receives[0].opcode, RNIC_CQE_RESPONDER_WRITE_IMM);
	assert_int_equal(b->receives[1].length, 0);
	assert_int_equal(b->qp.responder.msn, 4);
	net_destroy(net);
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
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);

	(void)state;
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
	net_destroy(net);
}

/*
 * Its memory went before it was repeated, and then comes the answer to its first copy: the peer has it, and nothing has
 * failed. What waits behind it is not blamed for it either.
 */
static void
test_late_answer_to_what_cannot_be_repeated(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct iovec piece = { net->ends[1].memory, 10 };
	struct roce_pkt answer = { .opcode = ROCE_READ_RESPONSE_ONLY,
				   .psn = 102,
				   .syndrome = ROCE_ACK_UNLIMITED,
				   .length = 10,
				   .count = 1,
				   .pieces = &piece };
	uint32_t i;

	(void)state;
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
	assert_int_equal(a->send_count, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(a->sends[i].syndrome, 0);
	assert_int_equal(a->qp.state, ROCE_RTS);
	net_destroy(net);
}

/* What was asked before the bad request is answered before its NAK. */
static void
test_answers_due_go_before_the_nak(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;

	(void)state;
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
	net_destroy(net);
}

/* Put to ERR by its owner, a QP says nothing any more. */
static void
test_no_answers_in_error(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 1 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	struct roce_request *request;

	(void)state;
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
	net_destroy(net);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_failure),
		cmocka_unit_test(test_no_bytes_need_no_key),
		cmocka_unit_test(test_key_goes_during_a_read),
		cmocka_unit_test(test_late_answer_to_what_cannot_be_repeated),
		cmocka_unit_test(test_answers_due_go_before_the_nak),
		cmocka_unit_test(test_no_answers_in_error),
		cmocka_unit_test(test_error_with_a_shared_receive_queue),
		cmocka_unit_test(test_flush_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
