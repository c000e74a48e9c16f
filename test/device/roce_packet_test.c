/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets that no good peer sends, made by hand: what each draws, and what it must not do. */
#include <string.h>

#include "roce_net.h"

#define PSN 0xfffffeu
#define MTU 1024u

/* What end 1, the responder, sent. */
struct log {
	struct roce_pkt pkts[64];
	uint32_t count;
};

static enum net_action
rule(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	struct log *log = net->test;

	if (from == &net->ends[1] && log->count < 64)
		log->pkts[log->count++] = *pkt;
	return NET_DROP;
}

static struct net *
create(void)
{
	static struct log log;
	struct net *net = net_create(&(struct net_conf){ .seed = 3 });
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	log = (struct log){ 0 };
	net->test = &log;
	net->rule = rule;
	attr.max_dest_rd_atomic = 2;
	net_connect(net, &attr, PSN);
	for (i = 0; i < 8; i++)
		net_recv(&net->ends[1], i, i * 8192, 8192);
	return net;
}

static int
setup(void **state)
{
	*state = create();
	return 0;
}

static uint8_t payload[16384];
static const struct iovec payload_piece = { payload, sizeof(payload) };
static struct iovec cut;

/* A request of so many bytes, as end 0 could have sent it. */
static struct roce_pkt
packet(uint8_t opcode, uint32_t psn, uint32_t length, uint32_t dma_length)
{
	cut = (struct iovec){ payload_piece.iov_base, length };
	return (struct roce_pkt){ .opcode = opcode,
				  .psn = psn & ROCE_PSN_MASK,
				  .dest_qpn = NET_QPN + 1,
				  .ack_request = true,
				  .rkey = NET_KEY,
				  .va = NET_VA + 65536,
				  .dma_length = dma_length,
				  .length = length,
				  .count = length > 0,
				  .pieces = &cut };
}

static void
give(struct net_end *to, struct roce_pkt pkt)
{
	net_inject(to, &pkt);
}

struct part {
	uint8_t opcode;
	uint32_t length, dma_length;
};

/* Good packets, and a last one that breaks the rules. */
struct bad {
	const char *name;
	struct part parts[4];
	uint32_t count;
};

#define S0                              \
	{                               \
		ROCE_SEND_FIRST, MTU, 0 \
	}
#define W0                                     \
	{                                      \
		ROCE_WRITE_FIRST, MTU, 3 * MTU \
	}

static const struct bad bads[] = {
	{ "SEND MIDDLE without FIRST", { { ROCE_SEND_MIDDLE, MTU, 0 } }, 1 },
	{ "SEND LAST without FIRST", { { ROCE_SEND_LAST, 5, 0 } }, 1 },
	{ "WRITE MIDDLE without FIRST", { { ROCE_WRITE_MIDDLE, MTU, 0 } }, 1 },
	{ "WRITE LAST without FIRST", { { ROCE_WRITE_LAST, 5, 0 } }, 1 },
	{ "WRITE LAST with immediate without FIRST", { { ROCE_WRITE_LAST_IMM, 5, 0 } }, 1 },
	{ "SEND FIRST in a SEND", { S0, { ROCE_SEND_FIRST, MTU, 0 } }, 2 },
	{ "SEND ONLY in a SEND", { S0, { ROCE_SEND_ONLY, 5, 0 } }, 2 },
	{ "WRITE MIDDLE in a SEND", { S0, { ROCE_WRITE_MIDDLE, MTU, 0 } }, 2 },
	{ "WRITE LAST in a SEND", { S0, { ROCE_WRITE_LAST, 5, 0 } }, 2 },
	{ "WRITE ONLY in a SEND", { S0, { ROCE_WRITE_ONLY, 5, 5 } }, 2 },
	{ "READ in a SEND", { S0, { ROCE_READ_REQUEST, 0, 5 } }, 2 },
	{ "atomic in a SEND", { S0, { ROCE_FETCH_ADD, 0, 0 } }, 2 },
	{ "SEND LAST in a WRITE", { W0, { ROCE_SEND_LAST, 5, 0 } }, 2 },
	{ "SEND ONLY in a WRITE", { W0, { ROCE_SEND_ONLY, 5, 0 } }, 2 },
	{ "WRITE FIRST in a WRITE", { W0, { ROCE_WRITE_FIRST, MTU, 2 * MTU } }, 2 },
	{ "READ in a WRITE", { W0, { ROCE_READ_REQUEST, 0, 5 } }, 2 },
	{ "atomic in a WRITE", { W0, { ROCE_COMPARE_SWAP, 0, 0 } }, 2 },
	{ "SEND FIRST too short", { { ROCE_SEND_FIRST, MTU - 1, 0 } }, 1 },
	{ "SEND FIRST too long", { { ROCE_SEND_FIRST, MTU + 1, 0 } }, 1 },
	{ "SEND FIRST empty", { { ROCE_SEND_FIRST, 0, 0 } }, 1 },
	{ "SEND MIDDLE too short", { S0, { ROCE_SEND_MIDDLE, MTU - 1, 0 } }, 2 },
	{ "SEND MIDDLE too long", { S0, { ROCE_SEND_MIDDLE, 4 * MTU, 0 } }, 2 },
	{ "SEND LAST empty", { S0, { ROCE_SEND_LAST, 0, 0 } }, 2 },
	{ "SEND LAST too long", { S0, { ROCE_SEND_LAST, MTU + 1, 0 } }, 2 },
	{ "SEND ONLY too long", { { ROCE_SEND_ONLY, MTU + 1, 0 } }, 1 },
	{ "WRITE FIRST too short", { { ROCE_WRITE_FIRST, MTU - 1, 2 * MTU } }, 1 },
	{ "WRITE FIRST of one packet", { { ROCE_WRITE_FIRST, MTU, MTU } }, 1 },
	{ "WRITE FIRST of nothing", { { ROCE_WRITE_FIRST, MTU, 0 } }, 1 },
	{ "WRITE FIRST of too much", { { ROCE_WRITE_FIRST, MTU, ROCE_MESSAGE_MAX + 1 } }, 1 },
	{ "WRITE ONLY less than announced", { { ROCE_WRITE_ONLY, 5, 6 } }, 1 },
	{ "WRITE ONLY more than announced", { { ROCE_WRITE_ONLY, 5, 4 } }, 1 },
	{ "WRITE ONLY unannounced", { { ROCE_WRITE_ONLY_IMM, 5, 0 } }, 1 },
	{ "WRITE MIDDLE where LAST is due",
	  { W0, { ROCE_WRITE_MIDDLE, MTU, 0 }, { ROCE_WRITE_MIDDLE, MTU, 0 } },
	  3 },
	{ "WRITE LAST too early", { W0, { ROCE_WRITE_LAST, MTU, 0 } }, 2 },
	{ "WRITE LAST with too little",
	  { W0, { ROCE_WRITE_MIDDLE, MTU, 0 }, { ROCE_WRITE_LAST, MTU - 1, 0 } },
	  3 },
	{ "WRITE LAST with too much",
	  { { ROCE_WRITE_FIRST, MTU, 2 * MTU - 1 }, { ROCE_WRITE_LAST, MTU, 0 } },
	  2 },
	{ "READ with payload", { { ROCE_READ_REQUEST, 4, 5 } }, 1 },
	{ "READ of too much", { { ROCE_READ_REQUEST, 0, ROCE_MESSAGE_MAX + 1 } }, 1 },
	{ "atomic with payload", { { ROCE_FETCH_ADD, 8, 0 } }, 1 },
	{ "more READs than agreed",
	  { { ROCE_READ_REQUEST, 0, 5 }, { ROCE_FETCH_ADD, 0, 0 }, { ROCE_READ_REQUEST, 0, 5 } },
	  3 },
	{ "more atomics than agreed",
	  { { ROCE_READ_REQUEST, 0, 5 }, { ROCE_FETCH_ADD, 0, 0 }, { ROCE_FETCH_ADD, 0, 5 } },
	  3 },
	{ "SEND LAST with invalidate, empty", { S0, { ROCE_SEND_LAST_INVALIDATE, 0, 0 } }, 2 },
	{ "SEND LAST with invalidate without FIRST", { { ROCE_SEND_LAST_INVALIDATE, 5, 0 } }, 1 },
	{ "SEND ONLY with invalidate in a SEND", { S0, { ROCE_SEND_ONLY_INVALIDATE, 5, 0 } }, 2 },
	{ "opcode 15", { { 0x15, 0, 0 } }, 1 },
	{ "opcode 18", { { 0x18, 0, 0 } }, 1 },
	{ "opcode 1c, FLUSH", { { 0x1c, 0, 0 } }, 1 },
	{ "opcode 1d, ATOMIC WRITE", { { 0x1d, 8, 0 } }, 1 },
	{ "opcode 1f in a SEND", { S0, { 0x1f, 0, 0 } }, 2 },
};

/* Each draws the NAK of an invalid request at its PSN, and the QP dies; what came before counts. */
static void
test_invalid_requests(void **state)
{
	uint32_t i, n, psn;

	(void)state;
	for (i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		struct net *net = create();
		const struct log *log = net->test;
		struct net_end *b = &net->ends[1];
		bool in_send = bads[i].count > 1 && bads[i].parts[0].opcode == ROCE_SEND_FIRST;

		print_message("# %s\n", bads[i].name);
		for (n = 0, psn = PSN; n < bads[i].count; n++, psn++) {
			const struct part *part = &bads[i].parts[n];
			struct roce_pkt pkt =
				packet(part->opcode, psn, part->length, part->dma_length);

			assert_int_equal(b->qp.state, ROCE_RTS);
			net_inject(b, &pkt);
			net_check_state(&b->qp);
		}
		assert_int_equal(b->qp.state, ROCE_ERR);
		net_poll(net);
		assert_true(log->count > 0);
		assert_int_equal(log->pkts[log->count - 1].opcode, ROCE_ACKNOWLEDGE);
		assert_int_equal(log->pkts[log->count - 1].syndrome,
				 ROCE_NAK(ROCE_NAK_INVALID_REQUEST));
		assert_int_equal(log->pkts[log->count - 1].psn, (psn - 1) & ROCE_PSN_MASK);
		/* A WQE in use tells of it, else an event. */
		assert_int_equal(b->receive_count, 8);
		assert_int_equal(b->receives[0].syndrome,
				 in_send ? RNIC_SYND_REMOTE_INVALID_REQUEST : RNIC_SYND_WR_FLUSHED);
		assert_int_equal(b->event_count, in_send ? 0 : 1);
		if (!in_send)
			assert_int_equal(b->events[0], RNIC_EVENT_WQ_INVALID_REQUEST);
		/* It says nothing more, whatever comes. */
		n = log->count;
		net_inject(b, &(struct roce_pkt){ .opcode = ROCE_SEND_ONLY, .psn = psn - 1 });
		net_poll(net);
		assert_int_equal(log->count, n);
		net_destroy(net);
	}
}

/* Not of this transport, or not a PSN: not looked at. */
static void
test_other_transports(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	struct roce_pkt pkt = packet(0, PSN, 100, 100);
	uint32_t opcode;

	for (opcode = 0x20; opcode < 0x100; opcode++) {
		pkt.opcode = (uint8_t)opcode;
		net_inject(b, &pkt);
	}
	pkt.opcode = ROCE_SEND_ONLY;
	pkt.psn |= 1u << 24;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 0);
	assert_int_equal(b->qp.state, ROCE_RTS);
	assert_int_equal(b->receive_count, 0);
}

/* One NAK for a gap, silence until it is filled, then one for the next. */
static void
test_one_nak_per_gap(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	uint32_t i;

	for (i = 1; i < 20; i++) {
		give(b, packet(ROCE_WRITE_ONLY, PSN + i, 10, 10));
		net_poll(net);
	}
	assert_int_equal(log->count, 1);
	assert_int_equal(log->pkts[0].syndrome, ROCE_NAK(ROCE_NAK_SEQUENCE));
	assert_int_equal(log->pkts[0].psn, PSN);
	give(b, packet(ROCE_WRITE_ONLY, PSN, 10, 10));
	net_poll(net);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->pkts[1].syndrome, ROCE_ACK_UNLIMITED);
	assert_int_equal(log->pkts[1].msn, 1);
	give(b, packet(ROCE_WRITE_ONLY, PSN + 2, 10, 10));
	give(b, packet(ROCE_WRITE_ONLY, PSN + 2, 10, 10));
	net_poll(net);
	assert_int_equal(log->count, 3);
	assert_int_equal(log->pkts[2].psn, PSN + 1);
	/* Filled before the NAK went: there is nothing to complain of. */
	give(b, packet(ROCE_WRITE_ONLY, PSN + 1, 10, 10));
	give(b, packet(ROCE_WRITE_ONLY, PSN + 4, 10, 10));
	give(b, packet(ROCE_WRITE_ONLY, PSN + 2, 10, 10));
	net_poll(net);
	assert_int_equal(log->count, 4);
	assert_int_equal(log->pkts[3].syndrome, ROCE_ACK_UNLIMITED);
	assert_int_equal(log->pkts[3].psn, (PSN + 2) & ROCE_PSN_MASK);
	assert_int_equal(b->counters.out_of_sequence, 22);
}

/* The border between what was before and what will be: half of the range. */
static void
test_half_of_the_range(void **state)
{
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	give(b, packet(ROCE_WRITE_ONLY, PSN + ROCE_PSN_HALF, 10, 10));
	assert_int_equal(b->counters.duplicate_request, 1);
	give(b, packet(ROCE_WRITE_ONLY, PSN + ROCE_PSN_HALF - 1, 10, 10));
	assert_int_equal(b->counters.out_of_sequence, 1);
	assert_int_equal(b->counters.rx_write_requests, 0);
}

static uint32_t
repeat_read(struct net *net, uint32_t psn, uint64_t va, uint32_t dma_length, uint32_t rkey)
{
	struct log *log = net->test;
	struct roce_pkt pkt = packet(ROCE_READ_REQUEST, psn, 0, dma_length);
	uint32_t before = log->count;

	pkt.va = va;
	pkt.rkey = rkey;
	net_inject(&net->ends[1], &pkt);
	net_poll(net);
	return log->count - before;
}

/* A repeated READ: whole or a part of it, from any PSN; never beyond what was allowed, never with another key. */
static void
test_repeated_reads_stay_in_their_range(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	const uint64_t va = NET_VA + 65536;

	/* PSNs PSN .. PSN + 3 */
	assert_int_equal(repeat_read(net, PSN, va, 3 * MTU + 1, NET_KEY), 4);
	assert_int_equal(repeat_read(net, PSN, va, 3 * MTU + 1, NET_KEY), 4);
	assert_int_equal(repeat_read(net, PSN + 1, va + MTU, 2 * MTU + 1, NET_KEY), 3);
	assert_int_equal(log->pkts[0].msn, 1);
	assert_int_equal(log->pkts[8].opcode, ROCE_READ_RESPONSE_FIRST);
	assert_int_equal(log->pkts[8].psn, (PSN + 1) & ROCE_PSN_MASK);
	assert_int_equal(repeat_read(net, PSN + 3, va + 3 * MTU, 1, NET_KEY), 1);
	assert_int_equal(log->pkts[11].opcode, ROCE_READ_RESPONSE_ONLY);
	assert_int_equal(log->pkts[11].length, 1);
	/* beyond, before, too long for its PSN, wrapping, another key, another PSN */
	assert_int_equal(repeat_read(net, PSN + 3, va + 3 * MTU, 2, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN, va - 1, 100, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN + 3, va, 3 * MTU, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN, UINT64_MAX - 10, 100, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN, va + 3 * MTU + 2, 0, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN, va + 1, UINT32_MAX, NET_KEY), 0);
	assert_int_equal(repeat_read(net, PSN, va, 3 * MTU, NET_KEY + 1), 0);
	assert_int_equal(repeat_read(net, PSN - 1, va, 1, NET_KEY), 0);
	/* with payload */
	net_inject(b, &(struct roce_pkt){ .opcode = ROCE_READ_REQUEST,
					  .psn = PSN,
					  .rkey = NET_KEY,
					  .va = va,
					  .dma_length = 1,
					  .length = 8,
					  .count = 1,
					  .pieces = &payload_piece });
	net_poll(net);
	assert_int_equal(log->count, 12);
	/* An atomic at the PSN of a READ is none that was executed. */
	net_inject(b, &(struct roce_pkt){ .opcode = ROCE_FETCH_ADD,
					  .psn = PSN,
					  .rkey = NET_KEY,
					  .va = va,
					  .swap_add = 1 });
	net_poll(net);
	assert_int_equal(log->count, 12);
	assert_int_equal(b->atomics, 0);
	assert_int_equal(b->qp.state, ROCE_RTS);
	assert_int_equal(b->counters.rx_read_requests, 1);
	assert_int_equal(b->counters.duplicate_request, 13);
}

/* A repeated WRITE or SEND is acknowledged, not executed. */
static void
test_repeated_data_is_not_executed(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	struct roce_pkt pkt = packet(ROCE_WRITE_ONLY, PSN, 10, 10);

	memset(payload, 0x11, sizeof(payload));
	net_inject(b, &pkt);
	give(b, packet(ROCE_SEND_ONLY_IMM, PSN + 1, 10, 0));
	memset(payload, 0x22, sizeof(payload));
	net_poll(net);
	pkt = packet(ROCE_WRITE_ONLY, PSN, 10, 10);
	pkt.ack_request = false;
	net_inject(b, &pkt);
	give(b, packet(ROCE_SEND_ONLY_IMM, PSN + 1, 10, 0));
	net_poll(net);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->pkts[1].psn, (PSN + 1) & ROCE_PSN_MASK);
	assert_int_equal(b->memory[65536], 0x11);
	assert_int_equal(b->memory[0], 0x11);
	assert_int_equal(b->receive_count, 1);
}

/* An atomic is answered from memory of it only if it is the same, and only as long as it is remembered. */
static void
test_repeated_atomics(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	struct roce_pkt pkt = {
		.opcode = ROCE_FETCH_ADD, .psn = PSN, .rkey = NET_KEY, .va = NET_VA, .swap_add = 5
	};
	uint32_t i;

	for (i = 0; i < 3; i++) {
		pkt.psn = (PSN + i) & ROCE_PSN_MASK;
		net_inject(b, &pkt);
		net_poll(net);
	}
	assert_int_equal(log->count, 3);
	assert_int_equal(log->pkts[2].original, 10);
	/* Two are remembered. */
	pkt.psn = PSN;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 3);
	pkt.psn = PSN + 1;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 4);
	assert_int_equal(log->pkts[3].original, 5);
	pkt.swap_add = 6;
	net_inject(b, &pkt);
	pkt.swap_add = 5;
	pkt.va += 8;
	net_inject(b, &pkt);
	pkt.va -= 8;
	pkt.rkey++;
	net_inject(b, &pkt);
	pkt.rkey--;
	pkt.opcode = ROCE_COMPARE_SWAP;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 4);
	assert_int_equal(b->atomics, 3);
	/* The same of a compare-and-swap, by both of its operands. */
	pkt.psn = (PSN + 3) & ROCE_PSN_MASK;
	pkt.compare = 15;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 5);
	pkt.compare++;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 5);
	pkt.compare--;
	net_inject(b, &pkt);
	net_poll(net);
	assert_int_equal(log->count, 6);
	assert_int_equal(log->pkts[5].original, 15);
	assert_int_equal(b->atomics, 4);
}

/* A repeated READ that waits for its turn gives way to a new one. */
static void
test_new_reads_go_before_repeated_ones(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	uint32_t i;

	for (i = 0; i < 2; i++)
		assert_int_equal(repeat_read(net, PSN + i, NET_VA + 65536, 8, NET_KEY), 1);
	give(b, packet(ROCE_READ_REQUEST, PSN, 0, 8));
	give(b, packet(ROCE_READ_REQUEST, PSN + 2, 0, 8));
	net_check_state(&b->qp);
	net_poll(net);
	assert_int_equal(log->count, 3);
	assert_int_equal(log->pkts[2].psn, (PSN + 2) & ROCE_PSN_MASK);
	assert_int_equal(b->qp.state, ROCE_RTS);
}

/* The same of an atomic; its value stays with what it was asked by. */
static void
test_new_reads_go_before_repeated_atomics(void **state)
{
	struct roce_pkt add = { .opcode = ROCE_FETCH_ADD, .rkey = NET_KEY, .va = NET_VA };
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		add.psn = (PSN + i) & ROCE_PSN_MASK;
		net_inject(b, &add);
		net_poll(net);
	}
	add.psn = PSN;
	net_inject(b, &add);
	give(b, packet(ROCE_READ_REQUEST, PSN + 2, 0, 8));
	net_poll(net);
	assert_int_equal(log->count, 3);
	assert_int_equal(log->pkts[2].opcode, ROCE_READ_RESPONSE_ONLY);
	assert_int_equal(b->qp.state, ROCE_RTS);
}

/* Messages are counted in 24 bits. */
static void
test_message_sequence_number_wraps(void **state)
{
	static const uint32_t msns[] = { 0xffffff, 0, 1 };
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];
	uint32_t i;

	b->qp.responder.msn = 0xfffffe;
	for (i = 0; i < 3; i++) {
		give(b, i == 1 ? packet(ROCE_READ_REQUEST, PSN + i, 0, 8)
			       : packet(ROCE_WRITE_ONLY, PSN + i, 8, 8));
		net_poll(net);
		assert_int_equal(log->count, i + 1);
		assert_int_equal(log->pkts[i].msn, msns[i]);
	}
}

/* A READ whose key has gone when it is answered: NAK, and nothing for those behind it. */
static void
test_nothing_is_answered_behind_a_refused_read(void **state)
{
	struct net *net = *state;
	struct log *log = net->test;
	struct net_end *b = &net->ends[1];

	give(b, packet(ROCE_READ_REQUEST, PSN, 0, 8));
	net_inject(b, &(struct roce_pkt){ .opcode = ROCE_FETCH_ADD,
					  .psn = PSN + 1,
					  .rkey = NET_KEY,
					  .va = NET_VA });
	b->access = 0;
	net_poll(net);
	assert_int_equal(log->count, 1);
	assert_int_equal(log->pkts[0].syndrome, ROCE_NAK(ROCE_NAK_REMOTE_ACCESS));
	assert_int_equal(log->pkts[0].psn, PSN);
}

struct answer {
	const char *name;
	uint8_t request;
	uint32_t request_length;
	uint8_t opcode, syndrome;
	uint32_t psn; /* behind the request's first */
	uint32_t length;
	uint8_t status; /* of the request; 0: the answer was ignored */
};

#define OK  ROCE_ACK_UNLIMITED
#define R   RNIC_WQE_RDMA_READ
#define W   RNIC_WQE_RDMA_WRITE
#define A   RNIC_WQE_ATOMIC_FA
#define BAD RNIC_SYND_BAD_RESPONSE

static const struct answer answers[] = {
	{ "one byte less", R, 100, ROCE_READ_RESPONSE_ONLY, OK, 0, 99, BAD },
	{ "one byte more", R, 100, ROCE_READ_RESPONSE_ONLY, OK, 0, 101, BAD },
	{ "FIRST of one packet", R, 100, ROCE_READ_RESPONSE_FIRST, OK, 0, 100, BAD },
	{ "MIDDLE of one packet", R, 100, ROCE_READ_RESPONSE_MIDDLE, OK, 0, 100, BAD },
	{ "ONLY of three packets", R, 3000, ROCE_READ_RESPONSE_ONLY, OK, 0, MTU, BAD },
	{ "LAST too early", R, 3000, ROCE_READ_RESPONSE_LAST, OK, 0, MTU, BAD },
	{ "FIRST too short", R, 3000, ROCE_READ_RESPONSE_FIRST, OK, 0, MTU - 1, BAD },
	{ "FIRST too long", R, 3000, ROCE_READ_RESPONSE_FIRST, OK, 0, MTU + 1, BAD },
	{ "FIRST empty", R, 3000, ROCE_READ_RESPONSE_FIRST, OK, 0, 0, BAD },
	{ "ONLY that is a NAK", R, 100, ROCE_READ_RESPONSE_ONLY, ROCE_NAK(0), 0, 100, BAD },
	{ "data for a WRITE", W, 100, ROCE_READ_RESPONSE_ONLY, OK, 0, 100, BAD },
	{ "data for an atomic", A, 8, ROCE_READ_RESPONSE_ONLY, OK, 0, 8, BAD },
	{ "atomic's for a READ", R, 8, ROCE_ATOMIC_ACKNOWLEDGE, OK, 0, 0, BAD },
	{ "atomic's for a WRITE", W, 8, ROCE_ATOMIC_ACKNOWLEDGE, OK, 0, 0, BAD },
	{ "atomic's with payload", A, 8, ROCE_ATOMIC_ACKNOWLEDGE, OK, 0, 8, BAD },
	{ "atomic's that is a NAK", A, 8, ROCE_ATOMIC_ACKNOWLEDGE, ROCE_NAK(2), 0, 0, BAD },
	{ "NAK: invalid request", W, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(1), 0, 0,
	  RNIC_SYND_REMOTE_INVALID_REQUEST },
	{ "NAK: access", R, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(2), 0, 0, RNIC_SYND_REMOTE_ACCESS },
	{ "NAK: operation", A, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(3), 0, 0, RNIC_SYND_REMOTE_OPERATION },
	{ "NAK in the middle", W, 3000, ROCE_ACKNOWLEDGE, ROCE_NAK(2), 2, 0,
	  RNIC_SYND_REMOTE_ACCESS },
	/* ignored */
	{ "reserved NAK", W, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(7), 0, 0, 0 },
	{ "reserved kind", W, 8, ROCE_ACKNOWLEDGE, 0x40, 0, 0, 0 },
	{ "reserved kind 7", W, 8, ROCE_ACKNOWLEDGE, 0xff, 0, 0, 0 },
	{ "ACK of what was not sent", W, 8, ROCE_ACKNOWLEDGE, OK, 1, 0, 0 },
	{ "ACK of the past", W, 8, ROCE_ACKNOWLEDGE, OK, ROCE_PSN_MASK, 0, 0 },
	{ "NAK of what was not sent", W, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(2), 1, 0, 0 },
	{ "NAK of the past", W, 8, ROCE_ACKNOWLEDGE, ROCE_NAK(2), ROCE_PSN_MASK, 0, 0 },
	{ "RNR NAK of the past", W, 8, ROCE_ACKNOWLEDGE, ROCE_RNR(0), ROCE_PSN_MASK, 0, 0 },
	{ "data of the past", R, 8, ROCE_READ_RESPONSE_ONLY, OK, ROCE_PSN_MASK, 8, 0 },
	{ "data of the future", R, 8, ROCE_READ_RESPONSE_ONLY, OK, 1, 8, 0 },
	{ "ACK for a READ", R, 8, ROCE_ACKNOWLEDGE, OK, 0, 0, 0 },
	{ "ACK for an atomic", A, 8, ROCE_ACKNOWLEDGE, OK, 0, 0, 0 },
};

static void
test_answers_that_no_responder_gives(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct answer *t = &answers[i];
		struct net *net = create();
		struct net_end *a = &net->ends[0];
		struct roce_pkt pkt = packet(t->opcode, PSN + t->psn, t->length, 0);

		print_message("# %s\n", t->name);
		net_post(a, t->request, 1, 0, t->request_length, 0);
		net_post(a, RNIC_WQE_NOP, 2, 0, 0, 0);
		net_poll(net);
		pkt.syndrome = t->syndrome;
		net_inject(a, &pkt);
		net_check_state(&a->qp);
		assert_int_equal(a->send_count, t->status != 0 ? 1 : 0);
		if (t->status != 0)
			assert_int_equal(a->sends[0].syndrome, t->status);
		assert_int_equal(a->qp.state, t->status != 0 ? ROCE_ERR : ROCE_RTS);
		/* Left alone, it ends in either case. */
		net_run(net);
		assert_int_equal(a->send_count, 2);
		assert_int_equal(a->sends[1].syndrome, RNIC_SYND_WR_FLUSHED);
		net_destroy(net);
	}
}

/* What says neither ACK nor NAK says nothing of the packets before it either. */
static void
test_reserved_answers_acknowledge_nothing(void **state)
{
	static const uint8_t kinds[] = { 2, 4, 5, 6, 7 };
	struct net *net = *state;
	struct net_end *a = &net->ends[0];
	uint32_t i;

	net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 8, 0);
	net_post(a, RNIC_WQE_RDMA_WRITE, 2, 0, 8, 0);
	net_poll(net);
	for (i = 0; i < sizeof(kinds); i++) {
		net_inject(a, &(struct roce_pkt){ .opcode = ROCE_ACKNOWLEDGE,
						  .psn = (PSN + 1) & ROCE_PSN_MASK,
						  .syndrome = (uint8_t)(kinds[i] << 5) });
		assert_int_equal(a->send_count, 0);
		assert_int_equal(a->qp.requester.una, PSN);
	}
}

/* After a READ was asked for again, its answers may begin anew or go on: both fit. */
static void
test_answers_of_both_requests_fit(void **state)
{
	static const uint8_t opcodes[] = { ROCE_READ_RESPONSE_FIRST, ROCE_READ_RESPONSE_FIRST,
					   ROCE_READ_RESPONSE_MIDDLE, ROCE_READ_RESPONSE_ONLY };
	struct net *net = *state;
	struct net_end *a = &net->ends[0];
	struct roce_pkt pkt;
	uint32_t i;

	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 4 * MTU, 0);
	net_poll(net);
	for (i = 0; i < 4; i++) {
		pkt = packet(opcodes[i], PSN + i, MTU, 0);
		pkt.syndrome = ROCE_ACK_UNLIMITED;
		net_inject(a, &pkt);
	}
	assert_int_equal(a->send_count, 1);
	assert_int_equal(a->sends[0].syndrome, 0);
}

/* Fields at random, near what could be meant often enough; the rest of the QP must stay whole. */
static void
random_packet(struct net *net, struct net_end *to, struct roce_pkt *pkt)
{
	static const uint32_t lengths[] = { 0, 1, 4, 8, MTU - 1, MTU, MTU + 1, 2 * MTU };
	static const uint32_t near[] = { 0, 0, 0, 1, 2, 0xffffff, 0xfffffe, 0x7fffff, 0x800000 };
	const struct roce_qp *qp = &to->qp;
	uint32_t base = net_below(net, 3) == 0 ? qp->requester.una : qp->responder.psn;

	*pkt = packet((uint8_t)(net_below(net, 64) == 0 ? net_random(net) : net_below(net, 0x20)),
		      net_below(net, 8) == 0 ? (uint32_t)net_random(net)
					     : base + near[net_below(net, 9)],
		      lengths[net_below(net, 8)], 0);
	pkt->ack_request = net_below(net, 2) != 0;
	pkt->solicited = net_below(net, 2) != 0;
	pkt->dma_length = net_below(net, 2) != 0   ? pkt->length
			  : net_below(net, 4) != 0 ? net_below(net, 8 * MTU)
						   : (uint32_t)net_random(net);
	pkt->va = net_below(net, 8) == 0 ? net_random(net) : NET_VA + 8 * net_below(net, 1000);
	pkt->rkey = net_below(net, 16) == 0 ? (uint32_t)net_random(net) : NET_KEY;
	pkt->swap_add = net_random(net);
	pkt->compare = net_below(net, 2);
	pkt->syndrome = net_below(net, 2) != 0 ? ROCE_ACK_UNLIMITED : (uint8_t)net_random(net);
	pkt->immediate = pkt->msn = (uint32_t)net_random(net);
}

static void
test_hostile_packets(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_RDMA_WRITE_IMM,
					   RNIC_WQE_RDMA_READ, RNIC_WQE_ATOMIC_CS, RNIC_WQE_NOP };
	uint32_t rounds = full_run() ? 1000000 : 100000, i, n, deaths = 0, done = 0;
	struct net *net = net_create(&(struct net_conf){ .seed = 99, .requests_log = 4 });
	struct roce_attr attr = net_attr(net);
	struct roce_pkt pkt;

	(void)state;
	net->drop = 100000;
	net->random_budget = true;
	net_connect(net, &attr, PSN);
	for (i = 0; i < rounds; i++) {
		struct net_end *end = &net->ends[net_below(net, 2)];

		random_packet(net, end, &pkt);
		net_inject(end, &pkt);
		net_check_state(&end->qp);
		/* Our own traffic goes on beside it. */
		while (end->recv_head - end->recv_tail < 4)
			net_recv(end, i, 65536, net_below(net, 4 * MTU));
		if (roce_qp_claim(&end->qp) != NULL) {
			uint8_t opcode = opcodes[net_below(net, 5)];

			net_post(end, opcode, i, opcode == RNIC_WQE_SEND ? 0 : 65536,
				 opcode == RNIC_WQE_ATOMIC_CS ? 8 : net_below(net, 3 * MTU),
				 8 * net_below(net, 1000));
		}
		net_step(net);
		if (net->ends[0].qp.state == ROCE_ERR && net->ends[1].qp.state == ROCE_ERR) {
			deaths++;
			net_poll(net);
			for (n = 0; n < 2; n++) {
				assert_int_equal(net->ends[n].qp.requester.tail,
						 net->ends[n].qp.requester.head);
				done += net->ends[n].send_count;
				net->ends[n].send_count = 0;
				assert_int_equal(roce_qp_modify(&net->ends[n].qp, ROCE_RST, NULL),
						 0);
			}
			net_clear(net);
			net_connect(net, &attr, (uint32_t)net_random(net) & ROCE_PSN_MASK);
		}
	}
	assert_true(deaths > rounds / 1000);
	assert_true(done > deaths);
	net_destroy(net);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invalid_requests),
		T(test_other_transports),
		T(test_one_nak_per_gap),
		T(test_half_of_the_range),
		T(test_repeated_reads_stay_in_their_range),
		T(test_repeated_data_is_not_executed),
		T(test_repeated_atomics),
		T(test_new_reads_go_before_repeated_ones),
		T(test_new_reads_go_before_repeated_atomics),
		T(test_message_sequence_number_wraps),
		T(test_nothing_is_answered_behind_a_refused_read),
		cmocka_unit_test(test_answers_that_no_responder_gives),
		T(test_reserved_answers_acknowledge_nothing),
		T(test_answers_of_both_requests_fit),
		cmocka_unit_test(test_hostile_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
