/* SPDX-License-Identifier: BSD-3-Clause */

/* UC: messages arrive whole or not at all, and nobody is told. */
#include <string.h>

#include "roce_net.h"

#define PSN  0xfffffeu
#define MTU  1024u
#define ROOM 8192u /* of each receive WQE */

#define UC(opcode) ROCE_OPCODE(ROCE_TRANSPORT_UC, opcode)

/* Two of UC, connected, and eight receive WQEs at end 1, whose id is their number. */
static struct net *
create(const struct net_conf *conf)
{
	struct net_conf uc = *conf;
	struct net *net;
	struct roce_attr attr;

	uc.transport = &roce_uc;
	net = net_create(&uc);
	attr = net_attr(net);
	net_connect(net, &attr, PSN);
	for (uint32_t i = 0; i < 8; i++)
		net_recv(&net->ends[1], i, i * ROOM, ROOM);
	for (uint32_t i = 0; i < NET_MEMORY; i++)
		net->ends[0].memory[i] = (uint8_t)(i * 7 + (i >> 8));
	return net;
}

static int
setup(void **state)
{
	*state = create(&(struct net_conf){ .seed = 3 });
	return 0;
}

/* Of end 1: the message of that length and id has come into its WQE n. */
static void
check_received(const struct net_end *b, uint32_t n, uint32_t wqe, uint8_t opcode, uint32_t length,
	       uint32_t from)
{
	const struct net_completion *done = &b->receives[n];

	assert_true(b->receive_count > n);
	assert_int_equal(done->syndrome, 0);
	assert_int_equal(NET_ID(done->cookie), wqe);
	assert_int_equal(done->opcode, opcode);
	assert_int_equal(done->length, length);
	assert_memory_equal(b->memory + wqe * ROOM, b->peer->memory + from, length);
}

/* The QP goes on as if nothing had been. */
static void
check_lives(const struct net_end *b)
{
	assert_int_equal(b->qp.state, ROCE_RTS);
	assert_int_equal(b->event_count, 0);
	net_check_state(&b->qp);
}

static void
test_each_message_of_each_length(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM, RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_WRITE_IMM };
	static const uint8_t arrive[] = { RNIC_CQE_RESPONDER_SEND, RNIC_CQE_RESPONDER_SEND_IMM, 0,
					  RNIC_CQE_RESPONDER_WRITE_IMM };
	static const uint32_t lengths[] = { 0, 1, MTU - 1, MTU, MTU + 1, 5 * MTU, ROOM };
	uint32_t id = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++, id++) {
			struct net *net = create(&(struct net_conf){ .seed = 3 });
			struct net_end *a = &net->ends[0], *b = &net->ends[1];
			uint32_t length = lengths[n], remote = 100000;

			net_post(a, opcodes[i], id, 1000, length, remote);
			net_poll(net);
			/* Done when it is out, not when it has come. */
			net_check_done(a, 1);
			assert_int_equal(a->sends[0].opcode, opcodes[i]);
			assert_int_equal(b->receive_count, 0);
			net_run(net);
			assert_int_equal(b->receive_count, arrive[i] != 0);
			if (i < 2)
				check_received(b, 0, 0, arrive[i], length, 1000);
			else
				assert_memory_equal(b->memory + remote, a->memory + 1000, length);
			if (arrive[i] != 0)
				assert_int_equal(b->receives[0].immediate,
						 i % 2 != 0 ? id ^ 0xabcd0000 : 0);
			/* Nobody answers, and nobody waits. */
			assert_int_equal(net->emitted, length == 0 ? 1 : (length + MTU - 1) / MTU);
			assert_int_equal(roce_qp_deadline(&a->qp), UINT64_MAX);
			check_lives(b);
			net_destroy(net);
		}
	}
}

static uint32_t lost; /* the packet of that number goes nowhere, from 0 on */

static enum net_action
lose_one(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	(void)from;
	(void)pkt;
	return net->emitted - 1 == lost ? NET_DROP : NET_PASS;
}

/* Whichever packet is missing: its message does not come, the one behind it does, in the same WQE. */
static void
test_a_gap_drops_its_message(void **state)
{
	(void)state;
	for (lost = 0; lost < 4; lost++) {
		struct net *net = create(&(struct net_conf){ .seed = 3 });
		struct net_end *a = &net->ends[0], *b = &net->ends[1];

		net->rule = lose_one;
		net_post(a, RNIC_WQE_SEND, 0, 0, 4 * MTU, 0);
		net_post(a, RNIC_WQE_SEND, 1, 50000, 2 * MTU + 5, 0);
		net_post(a, RNIC_WQE_SEND, 2, 70000, 5, 0);
		net_run(net);
		net_check_done(a, 3);
		assert_int_equal(b->receive_count, 2);
		check_received(b, 0, 0, RNIC_CQE_RESPONDER_SEND, 2 * MTU + 5, 50000);
		check_received(b, 1, 1, RNIC_CQE_RESPONDER_SEND, 5, 70000);
		/* Those behind it, up to the next first one, and that one. */
		assert_int_equal(b->counters.out_of_sequence, 4 - lost);
		check_lives(b);
		net_destroy(net);
	}
}

/* A WRITE with immediate tells of nothing unless all of it has come. */
static void
test_a_gap_drops_a_write(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	lost = 1;
	net->rule = lose_one;
	net_post(a, RNIC_WQE_RDMA_WRITE_IMM, 0, 0, 3 * MTU, 100000);
	net_post(a, RNIC_WQE_RDMA_WRITE_IMM, 1, 0, 3 * MTU, 200000);
	net_run(net);
	assert_int_equal(b->receive_count, 1);
	assert_int_equal(b->receives[0].immediate, 1 ^ 0xabcd0000);
	assert_int_equal(NET_ID(b->receives[0].cookie), 0);
	assert_memory_equal(b->memory + 200000, a->memory, 3 * MTU);
	check_lives(b);
}

/* A message that comes twice is two: nobody remembers the first. */
static void
test_a_repeated_message_is_another(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	net->duplicate = 1000000;
	net_post(a, RNIC_WQE_SEND, 0, 0, 100, 0);
	net_run(net);
	assert_int_equal(b->receive_count, 2);
	check_received(b, 1, 1, RNIC_CQE_RESPONDER_SEND, 100, 0);
}

/* ---- Packets that do not fit ---- */

static uint8_t payload[4 * ROOM];
static struct iovec cut = { .iov_base = payload };

static void
give(struct net_end *to, uint8_t opcode, uint32_t psn, uint32_t length, uint32_t dma_length)
{
	struct roce_pkt pkt = { .opcode = opcode,
				.psn = (PSN + psn) & ROCE_PSN_MASK,
				.dest_qpn = NET_QPN + 1,
				.rkey = NET_KEY,
				.va = NET_VA + 100000,
				.dma_length = dma_length,
				.length = length,
				.count = length > 0,
				.pieces = &cut };

	cut.iov_len = length;
	net_inject(to, &pkt);
}

struct bad {
	const char *name;
	struct {
		uint8_t opcode;
		uint32_t length, dma_length;
	} parts[3];
	uint32_t count;
};

#define S0                                  \
	{                                   \
		UC(ROCE_SEND_FIRST), MTU, 0 \
	}
#define W0                                         \
	{                                          \
		UC(ROCE_WRITE_FIRST), MTU, 3 * MTU \
	}

static const struct bad bads[] = {
	{ "SEND MIDDLE without FIRST", { { UC(ROCE_SEND_MIDDLE), MTU, 0 } }, 1 },
	{ "SEND LAST without FIRST", { { UC(ROCE_SEND_LAST), 5, 0 } }, 1 },
	{ "WRITE MIDDLE without FIRST", { { UC(ROCE_WRITE_MIDDLE), MTU, 0 } }, 1 },
	{ "WRITE LAST without FIRST", { { UC(ROCE_WRITE_LAST), 5, 0 } }, 1 },
	{ "WRITE LAST with immediate without FIRST", { { UC(ROCE_WRITE_LAST_IMM), 5, 0 } }, 1 },
	{ "WRITE LAST in a SEND", { S0, { UC(ROCE_WRITE_LAST), 5, 0 } }, 2 },
	{ "SEND LAST in a WRITE", { W0, { UC(ROCE_SEND_LAST), 5, 0 } }, 2 },
	{ "SEND FIRST too short", { { UC(ROCE_SEND_FIRST), MTU - 1, 0 } }, 1 },
	{ "SEND FIRST too long", { { UC(ROCE_SEND_FIRST), MTU + 1, 0 } }, 1 },
	{ "SEND MIDDLE too short", { S0, { UC(ROCE_SEND_MIDDLE), MTU - 1, 0 } }, 2 },
	{ "SEND LAST empty", { S0, { UC(ROCE_SEND_LAST), 0, 0 } }, 2 },
	{ "SEND LAST too long", { S0, { UC(ROCE_SEND_LAST), MTU + 1, 0 } }, 2 },
	{ "SEND ONLY too long", { { UC(ROCE_SEND_ONLY), MTU + 1, 0 } }, 1 },
	{ "WRITE FIRST of one packet", { { UC(ROCE_WRITE_FIRST), MTU, MTU } }, 1 },
	{ "WRITE FIRST of too much", { { UC(ROCE_WRITE_FIRST), MTU, ROCE_MESSAGE_MAX + 1 } }, 1 },
	{ "WRITE ONLY less than announced", { { UC(ROCE_WRITE_ONLY_IMM), 5, 6 } }, 1 },
	{ "WRITE ONLY more than announced", { { UC(ROCE_WRITE_ONLY_IMM), 5, 4 } }, 1 },
	{ "WRITE LAST too early", { W0, { UC(ROCE_WRITE_LAST_IMM), MTU, 0 } }, 2 },
	{ "WRITE LAST with too much",
	  { { UC(ROCE_WRITE_FIRST), MTU, 2 * MTU - 1 }, { UC(ROCE_WRITE_LAST_IMM), MTU, 0 } },
	  2 },
	{ "READ", { { UC(ROCE_READ_REQUEST), 0, 5 } }, 1 },
	{ "atomic", { { UC(ROCE_FETCH_ADD), 0, 0 } }, 1 },
	{ "ACK", { { UC(ROCE_ACKNOWLEDGE), 0, 0 } }, 1 },
	{ "SEND ONLY with invalidate", { { UC(ROCE_SEND_ONLY_INVALIDATE), 5, 0 } }, 1 },
	{ "SEND LAST with invalidate", { S0, { UC(ROCE_SEND_LAST_INVALIDATE), 5, 0 } }, 2 },
	{ "RC's", { { ROCE_SEND_ONLY, 5, 0 } }, 1 },
	{ "UD's", { { ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY), 5, 0 } }, 1 },
};

/* Each is as if it had been lost: silence, and the next message begins anew. */
static void
test_packets_that_do_not_fit(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		struct net *net = create(&(struct net_conf){ .seed = 3 });
		struct net_end *b = &net->ends[1];
		uint32_t n;

		print_message("# %s\n", bads[i].name);
		for (n = 0; n < bads[i].count; n++)
			give(b, bads[i].parts[n].opcode, n, bads[i].parts[n].length,
			     bads[i].parts[n].dma_length);
		check_lives(b);
		/* What would go on, if it had been a good one, is not taken. */
		give(b, UC(ROCE_SEND_LAST), n, 9, 0);
		give(b, UC(ROCE_WRITE_LAST_IMM), n, 9, 0);
		assert_int_equal(b->receive_count, 0);
		give(b, UC(ROCE_SEND_ONLY), n + 3, 7, 0);
		assert_int_equal(b->receive_count, 1);
		assert_int_equal(NET_ID(b->receives[0].cookie), 0);
		assert_int_equal(b->receives[0].length, 7);
		net_poll(net);
		assert_int_equal(net->emitted, 0);
		net_destroy(net);
	}
}

/* A first packet in the middle of a message, in its turn or not, is the beginning of another one. */
static void
test_first_begins_anew(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	give(b, UC(ROCE_SEND_FIRST), 0, MTU, 0);
	give(b, UC(ROCE_SEND_FIRST), 1, MTU, 0);
	give(b, UC(ROCE_SEND_LAST), 2, 3, 0);
	assert_int_equal(b->receive_count, 1);
	assert_int_equal(b->receives[0].length, MTU + 3);
	assert_int_equal(b->counters.out_of_sequence, 0);
	give(b, UC(ROCE_WRITE_FIRST), 3, MTU, 2 * MTU);
	give(b, UC(ROCE_SEND_ONLY_IMM), 100, 5, 0);
	assert_int_equal(b->receive_count, 2);
	assert_int_equal(NET_ID(b->receives[1].cookie), 1);
	check_lives(b);
}

/* A sender whose SEND failed in its middle goes on with WRITEs, which need no receive: others of the pool may. */
static void
test_an_unfinished_send_gives_its_receive_back(void **state)
{
	struct net *net = create(&(struct net_conf){ .seed = 3, .srq = { false, true } });
	struct net_end *b = &net->ends[1];

	(void)state;
	give(b, UC(ROCE_SEND_FIRST), 0, MTU, 0);
	assert_int_equal(b->recv_tail, 1);
	give(b, UC(ROCE_WRITE_ONLY), 1, 8, 8);
	assert_int_equal(b->counters.rx_write_requests, 1);
	assert_int_equal(b->recv_tail, 0);
	assert_int_equal(b->counters.out_of_sequence, 0);
	net_destroy(net);
}

static void
test_longer_than_its_receive(void **state)
{
	struct net *net = create(&(struct net_conf){ .seed = 3 });
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	(void)state;
	net_post(a, RNIC_WQE_SEND, 0, 0, ROOM + 1, 0);
	net_post(a, RNIC_WQE_SEND, 1, 1000, ROOM, 0);
	net_run(net);
	assert_int_equal(b->receive_count, 1);
	check_received(b, 0, 0, RNIC_CQE_RESPONDER_SEND, ROOM, 1000);
	assert_int_equal(b->counters.resp_local_length_error, 1);
	check_lives(b);
	net_destroy(net);
}

/* Of a pool no WQE is kept: not for a message that is dropped, nor beyond a reset in the middle of one. */
static void
test_a_shared_receive_is_not_kept(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct net *net = create(&(struct net_conf){ .seed = 3, .srq = { false, true } });
		struct net_end *a = &net->ends[0], *b = &net->ends[1];

		lost = i == 0 ? 2 : 3;
		net->rule = lose_one;
		net_post(a, RNIC_WQE_SEND, 0, 0, i == 1 ? ROOM + 1 : 4 * MTU, 0);
		net_run(net);
		assert_int_equal(b->receive_count, 0);
		/* A last packet that is missing leaves a message that may go on. */
		assert_int_equal(b->recv_tail, i == 2);
		if (i == 2)
			assert_int_equal(roce_qp_modify(&b->qp, ROCE_RST, NULL), 0);
		assert_int_equal(b->recv_tail, 0);
		net_destroy(net);
	}
}

static void
test_without_a_receive(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	b->recv_tail = b->recv_head;
	net_post(a, RNIC_WQE_SEND, 0, 0, 3 * MTU, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE_IMM, 1, 0, 10, 100000);
	net_run(net);
	assert_int_equal(b->receive_count, 0);
	assert_int_equal(b->counters.out_of_buffer, 2);
	check_lives(b);
	net_recv(b, 9, 9 * ROOM, ROOM);
	net_post(a, RNIC_WQE_SEND, 2, 0, 10, 0);
	net_run(net);
	check_received(b, 0, 9, RNIC_CQE_RESPONDER_SEND, 10, 0);
}

/* A key that does not allow it, and a QP that does not: the peer hears nothing, and nothing is written. */
static void
test_writes_that_may_not_be(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	static const uint8_t none[3 * MTU];

	b->access = ROCE_REMOTE_READ;
	net_post(a, RNIC_WQE_RDMA_WRITE_IMM, 0, 0, 3 * MTU, 100000);
	net_run(net);
	assert_int_equal(b->counters.resp_remote_access_errors, 1);
	b->access = ROCE_REMOTE_WRITE;
	b->qp.attr.access = 0;
	net_post(a, RNIC_WQE_RDMA_WRITE_IMM, 1, 0, 3 * MTU, 100000);
	net_run(net);
	assert_memory_equal(b->memory + 100000, none, sizeof(none));
	assert_int_equal(b->receive_count, 0);
	net_check_done(a, 2);
	check_lives(b);
}

/* Its own memory is the receiver's to have right. */
static void
test_receive_memory_that_is_not_there(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	b->bad_from = MTU;
	net_post(a, RNIC_WQE_SEND, 0, 0, 3 * MTU, 0);
	net_run(net);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_int_equal(b->receive_count, 8);
	assert_int_equal(b->receives[0].syndrome, RNIC_SYND_LOCAL_PROTECTION);
	assert_int_equal(b->receives[7].syndrome, RNIC_SYND_WR_FLUSHED);
	assert_int_equal(net->emitted, 3);
}

/* ---- Requests that fail ---- */

struct fault {
	uint8_t opcode, syndrome;
	uint32_t local, length;
	uint8_t owner; /* what the owner found */
};

/* The rest is flushed; what is received goes on, and requests do when they are let. */
static void
test_failed_requests(void **state)
{
	static const struct fault faults[] = {
		{ RNIC_WQE_RDMA_READ, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8, 0 },
		{ RNIC_WQE_ATOMIC_FA, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8, 0 },
		{ RNIC_WQE_SEND_INVAL, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8, 0 },
		{ RNIC_WQE_SEND, RNIC_SYND_LOCAL_LENGTH, 0, ROCE_MESSAGE_MAX + 1, 0 },
		{ RNIC_WQE_SEND, RNIC_SYND_LOCAL_PROTECTION, NET_MEMORY - MTU, 3 * MTU, 0 },
		{ RNIC_WQE_SEND, RNIC_SYND_MW_BIND, 0, 8, RNIC_SYND_MW_BIND },
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct net *net = create(&(struct net_conf){ .seed = 3 });
		struct net_end *a = &net->ends[0], *b = &net->ends[1];
		struct roce_attr attr = net_attr(net);
		struct roce_request *request;

		net_post(a, RNIC_WQE_SEND, 0, 0, 10, 0);
		request = net_request(a, faults[i].opcode, 1, faults[i].local, faults[i].length, 0);
		request->syndrome = faults[i].owner;
		roce_qp_post(&a->qp);
		net_post(a, RNIC_WQE_SEND, 2, 0, 10, 0);
		net_run(net);
		assert_int_equal(a->send_count, 3);
		assert_int_equal(a->sends[0].syndrome, 0);
		assert_int_equal(a->sends[1].syndrome, faults[i].syndrome);
		assert_int_equal(a->sends[2].syndrome, RNIC_SYND_WR_FLUSHED);
		assert_int_equal(a->qp.state, ROCE_SQER);
		assert_int_equal(b->receive_count, 1);
		net_recv(a, 0, 500000, 100);
		net_post(b, RNIC_WQE_SEND, 3, 0, 10, 0);
		net_run(net);
		assert_int_equal(a->receive_count, 1);
		assert_int_equal(a->receives[0].syndrome, 0);
		assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
		net_post(a, RNIC_WQE_SEND, 4, 2000, 10, 0);
		net_run(net);
		check_received(b, 1, 1, RNIC_CQE_RESPONDER_SEND, 10, 2000);
		check_lives(b);
		net_destroy(net);
	}
}

/* SQD: what has begun ends, what has not waits. */
static void
test_draining(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);

	net_post(a, RNIC_WQE_SEND, 0, 0, 5 * MTU, 0);
	net_post(a, RNIC_WQE_SEND, 1, 0, 10, 0);
	assert_int_equal(roce_qp_poll(&a->qp, net->now, 2), 2);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	net_run(net);
	assert_int_equal(a->event_count, 1);
	assert_int_equal(a->events[0], RNIC_EVENT_SQ_DRAINED);
	assert_int_equal(a->send_count, 1);
	assert_int_equal(b->receive_count, 1);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
	net_run(net);
	net_check_done(a, 2);
	assert_int_equal(b->receive_count, 2);
}

/* A NOP among messages has no packet. */
static void
test_nop(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0];

	net_post(a, RNIC_WQE_NOP, 0, 0, 0, 0);
	net_post(a, RNIC_WQE_SEND, 1, 0, 0, 0);
	net_post(a, RNIC_WQE_NOP, 2, 0, 0, 0);
	net_run(net);
	net_check_done(a, 3);
	assert_int_equal(net->emitted, 1);
}

/* ---- A bad network ---- */

/* Every message has its number at its beginning and at its end. */
#define MESSAGE (5 * MTU + 100)

static uint32_t whole; /* messages that arrived */

static void
on_received(struct net_end *end, const struct net_completion *done)
{
	const uint8_t *bytes = end->memory + NET_OFFSET(done->cookie);
	uint32_t first, last;

	assert_int_equal(done->syndrome, 0);
	assert_true(done->length >= 8);
	memcpy(&first, bytes, sizeof(first));
	memcpy(&last, bytes + done->length - sizeof(last), sizeof(last));
	assert_int_equal(first, last);
	for (uint32_t i = 4; i < done->length - 4; i++)
		assert_int_equal(bytes[i], (uint8_t)(first + i));
	whole++;
	net_recv(end, NET_ID(done->cookie), NET_OFFSET(done->cookie), ROOM);
}

static void
test_what_arrives_is_whole(void **state)
{
	uint32_t rounds = full_run() ? 100000 : 5000, n, length;

	(void)state;
	for (uint32_t rate = 10000; rate <= 300000; rate *= 5) {
		struct net *net = create(&(struct net_conf){ .seed = rate });
		struct net_end *a = &net->ends[0], *b = &net->ends[1];

		whole = 0;
		net->drop = net->duplicate = net->reorder = net->corrupt = rate;
		b->received = on_received;
		for (n = 0; n < rounds; n++) {
			length = 8 + net_below(net, MESSAGE - 8);
			memcpy(a->memory, &n, sizeof(n));
			for (uint32_t i = 4; i < length - 4; i++)
				a->memory[i] = (uint8_t)(n + i);
			memcpy(a->memory + length - sizeof(n), &n, sizeof(n));
			net_post(a, RNIC_WQE_SEND, n, 0, length, 0);
			/* The payload goes with the packet. */
			net_run(net);
		}
		assert_int_equal(a->send_count, rounds);
		assert_true(whole > rounds / 200);
		assert_true(whole < rounds + net->duplicated);
		check_lives(b);
		net_destroy(net);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_message_of_each_length),
		cmocka_unit_test(test_a_gap_drops_its_message),
		T(test_a_gap_drops_a_write),
		T(test_a_repeated_message_is_another),
		cmocka_unit_test(test_packets_that_do_not_fit),
		T(test_first_begins_anew),
		cmocka_unit_test(test_an_unfinished_send_gives_its_receive_back),
		cmocka_unit_test(test_longer_than_its_receive),
		cmocka_unit_test(test_a_shared_receive_is_not_kept),
		T(test_without_a_receive),
		T(test_writes_that_may_not_be),
		T(test_receive_memory_that_is_not_there),
		cmocka_unit_test(test_failed_requests),
		T(test_draining),
		T(test_nop),
		cmocka_unit_test(test_what_arrives_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
