/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random traffic both ways over bad networks: every byte, every atomic, every completion, every counter. When retries
 * run out, which bad networks do to honest QPs, both ends are connected anew, and what was under way may have happened
 * or not, but only in order.
 */
#include <stdlib.h>
#include <string.h>

#include "roce_net.h"

#define SLOTS	   32u /* messages under way of an end */
#define SLOT_BYTES 16384u
/* An end's memory: what it sends, what the peer reads of it and writes to it, what it receives, the peer's atomics. */
#define OUT	 0u
#define EXPOSED	 (SLOTS * SLOT_BYTES)
#define IN	 (2 * SLOTS * SLOT_BYTES)
#define ATOMIC	 (NET_MEMORY - 64)
#define RESULTS	 (NET_MEMORY - 4096) /* of our atomics, 8 bytes a slot */
#define IN_SLOTS ((RESULTS - IN) / SLOT_BYTES)

struct message {
	uint32_t id, length;
	uint8_t opcode;
	bool solicited;
	uint64_t swap_add, compare;
	uint64_t expect; /* an atomic's original value */
};

struct side {
	struct message messages[SLOTS];
	uint32_t posted, done;	  /* messages */
	uint32_t received;	  /* receive completions of ours, of this connection */
	uint32_t announced[4096]; /* ids of the peer's messages that take a receive WQE, in order */
	uint32_t announce_head, announce_tail;
	uint64_t word;	  /* of the peer, when all atomics posted so far are executed */
	uint64_t settled; /* when those that completed are */
	uint32_t in_slot;
	uint32_t failed; /* completions with an error, of this connection */
	/* what the responder of this end must have counted, by what arrived */
	uint32_t psn;
	struct roce_counters oracle;
};

struct flow {
	struct side sides[2];
	uint32_t total; /* messages to complete, of each side */
	uint32_t connections;
	/* without READs and atomics, whose missing answers stand before NAKs, the requester's counters are known, too */
	bool only_data;
};

static struct side *
side_of(const struct net_end *end)
{
	struct flow *flow = end->net->test;

	return &flow->sides[end - end->net->ends];
}

/* Bytes of message `id` of that side. */
static void
fill(uint8_t *to, uint32_t id, uint32_t length)
{
	uint32_t x = id * 2654435761u + 1;

	for (uint32_t i = 0; i < length; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (uint8_t)(x >> 24);
	}
}

static void
check_bytes(const uint8_t *at, uint32_t id, uint32_t length)
{
	static uint8_t expect[SLOT_BYTES];

	fill(expect, id, length);
	assert_memory_equal(at, expect, length);
}

static uint64_t
execute(const struct message *m, uint64_t word)
{
	if (m->opcode == RNIC_WQE_ATOMIC_FA)
		return word + m->swap_add;
	return m->opcode == RNIC_WQE_ATOMIC_CS && word == m->compare ? m->swap_add : word;
}

static bool
takes_recv(uint8_t opcode)
{
	return opcode == RNIC_WQE_SEND || opcode == RNIC_WQE_SEND_IMM ||
	       opcode == RNIC_WQE_RDMA_WRITE_IMM;
}

static void
completed(struct net_end *end, const struct net_completion *completion)
{
	struct side *side = side_of(end);
	uint32_t slot = (side->done + side->failed) % SLOTS;
	const struct message *m = &side->messages[slot];
	uint64_t original;

	assert_int_equal(NET_ID(completion->cookie), m->id);
	assert_int_not_equal(side->done + side->failed, side->posted);
	if (completion->syndrome != 0) {
		assert_int_equal(completion->syndrome,
				 side->failed == 0 && end->qp.state != ROCE_ERR
					 ? RNIC_SYND_RETRY_EXCEEDED
					 : RNIC_SYND_WR_FLUSHED);
		side->failed++;
		return;
	}
	assert_int_equal(side->failed, 0);
	switch (m->opcode) {
	case RNIC_WQE_RDMA_WRITE:
	case RNIC_WQE_RDMA_WRITE_IMM:
		check_bytes(end->peer->memory + EXPOSED + slot * SLOT_BYTES, m->id, m->length);
		break;
	case RNIC_WQE_RDMA_READ:
		check_bytes(end->memory + OUT + slot * SLOT_BYTES, ~m->id, m->length);
		break;
	case RNIC_WQE_ATOMIC_FA:
	case RNIC_WQE_ATOMIC_CS:
		memcpy(&original, end->memory + RESULTS + slot * 8, sizeof(original));
		assert_true(original == side->settled);
		side->settled = execute(m, side->settled);
		break;
	default: break;
	}
	side->done++;
}

static void
refill(struct net_end *end)
{
	struct side *side = side_of(end);

	net_recv(end, side->in_slot, IN + side->in_slot * SLOT_BYTES, SLOT_BYTES);
	side->in_slot = (side->in_slot + 1) % IN_SLOTS;
}

static void
received(struct net_end *end, const struct net_completion *completion)
{
	struct side *side = side_of(end);
	const struct message *m;
	uint32_t id;

	if (completion->syndrome != 0) {
		assert_int_equal(completion->syndrome, RNIC_SYND_WR_FLUSHED);
		return;
	}
	/* Each once, in order. */
	assert_int_not_equal(side->announce_tail, side->announce_head);
	id = side->announced[side->announce_tail++ % 4096];
	m = &side_of(end->peer)->messages[id % SLOTS];
	assert_int_equal(m->id, id);
	assert_int_equal(completion->length, m->length);
	assert_int_equal(completion->solicited, m->solicited);
	if (m->opcode != RNIC_WQE_SEND)
		assert_int_equal(completion->immediate, id ^ 0xabcd0000);
	assert_int_equal(completion->opcode, m->opcode == RNIC_WQE_SEND ? RNIC_CQE_RESPONDER_SEND
					     : m->opcode == RNIC_WQE_SEND_IMM
						     ? RNIC_CQE_RESPONDER_SEND_IMM
						     : RNIC_CQE_RESPONDER_WRITE_IMM);
	if (m->opcode != RNIC_WQE_RDMA_WRITE_IMM)
		check_bytes(end->memory + NET_OFFSET(completion->cookie), id, m->length);
	side->received++;
	refill(end);
}

/* What the responder that gets this packet has to count, from its PSN alone. */
static void
oracle(struct net_end *to, const struct roce_pkt *pkt)
{
	struct side *side = side_of(to);
	int32_t ahead = roce_psn_diff(pkt->psn, side->psn);
	uint8_t op = pkt->opcode;

	if ((op >= ROCE_READ_RESPONSE_FIRST && op <= ROCE_ATOMIC_ACKNOWLEDGE) ||
	    to->qp.state == ROCE_ERR)
		return;
	if (ahead != 0) {
		side->oracle.out_of_sequence += ahead > 0;
		side->oracle.duplicate_request += ahead < 0;
		return;
	}
	if ((op == ROCE_SEND_FIRST || op == ROCE_SEND_ONLY || op == ROCE_SEND_ONLY_IMM ||
	     op == ROCE_WRITE_LAST_IMM || op == ROCE_WRITE_ONLY_IMM) &&
	    to->recv_head == to->recv_tail) {
		side->oracle.out_of_buffer++;
		return;
	}
	side->oracle.rx_write_requests +=
		op == ROCE_WRITE_FIRST || op == ROCE_WRITE_ONLY || op == ROCE_WRITE_ONLY_IMM;
	side->oracle.rx_read_requests += op == ROCE_READ_REQUEST;
	side->oracle.rx_atomic_requests += op == ROCE_COMPARE_SWAP || op == ROCE_FETCH_ADD;
	side->psn = roce_psn_add(side->psn, op != ROCE_READ_REQUEST || pkt->dma_length == 0
						    ? 1
						    : (pkt->dma_length + to->qp.attr.mtu - 1) /
							      to->qp.attr.mtu);
}

static void
watch(struct net_end *to, const struct roce_pkt *pkt)
{
	struct side *side = side_of(to);

	oracle(to, pkt);
	if (pkt->opcode != ROCE_ACKNOWLEDGE)
		return;
	/* With nothing late or repeated, each NAK finds its requester waiting. */
	side->oracle.rnr_nak_retry_err += pkt->syndrome >> 5 == ROCE_KIND_RNR;
	side->oracle.packet_seq_err += pkt->syndrome == ROCE_NAK(ROCE_NAK_SEQUENCE);
}

static uint32_t
random_length(struct net *net, uint32_t mtu)
{
	switch (net_below(net, 8)) {
	case 0: return (1 + net_below(net, 3)) * mtu + net_below(net, 3) - 1;
	case 1: return net_below(net, SLOT_BYTES < 12 * mtu ? SLOT_BYTES : 12 * mtu);
	default: return net_below(net, mtu + 2);
	}
}

/* Post one message more. */
static void
post(struct net_end *end)
{
	static const uint8_t opcodes[] = {
		RNIC_WQE_SEND,		 RNIC_WQE_SEND_IMM,  RNIC_WQE_RDMA_WRITE,
		RNIC_WQE_RDMA_WRITE_IMM, RNIC_WQE_RDMA_READ, RNIC_WQE_RDMA_READ,
		RNIC_WQE_ATOMIC_FA,	 RNIC_WQE_ATOMIC_CS, RNIC_WQE_NOP,
	};
	struct net *net = end->net;
	const struct flow *flow = net->test;
	struct side *side = side_of(end);
	uint32_t slot = side->posted % SLOTS;
	struct message *m = &side->messages[slot];
	uint8_t *out = end->memory + OUT + slot * SLOT_BYTES;
	uint32_t local = OUT + slot * SLOT_BYTES, remote = EXPOSED + slot * SLOT_BYTES;
	struct roce_request *request;

	/* What was written there last is still what it was, whatever came late. */
	if (side->posted >= SLOTS &&
	    (m->opcode == RNIC_WQE_RDMA_WRITE || m->opcode == RNIC_WQE_RDMA_WRITE_IMM))
		check_bytes(end->peer->memory + remote, m->id, m->length);
	*m = (struct message){
		.id = side->posted,
		.opcode = opcodes[net_below(net, flow->only_data ? 4 : sizeof(opcodes))],
		.length = random_length(net, end->qp.attr.mtu)
	};
	if (m->opcode == RNIC_WQE_ATOMIC_FA || m->opcode == RNIC_WQE_ATOMIC_CS) {
		m->length = 8;
		m->swap_add = net_random(net);
		m->compare = net_below(net, 2) ? side->word : net_random(net);
		side->word = execute(m, side->word);
		local = RESULTS + slot * 8;
		remote = ATOMIC;
	} else if (m->opcode == RNIC_WQE_RDMA_READ) {
		fill(end->peer->memory + remote, ~m->id, m->length);
		memset(out, 0xee, m->length);
	} else {
		fill(out, m->id, m->length);
	}
	if (takes_recv(m->opcode)) {
		struct side *peer = side_of(end->peer);

		peer->announced[peer->announce_head++ % 4096] = m->id;
	}
	request = net_request(end, m->opcode, m->id, local, m->length, remote);
	request->immediate = m->id ^ 0xabcd0000;
	request->swap_add = m->swap_add;
	request->compare = m->compare;
	request->fence = net_below(net, 16) == 0;
	request->solicited = m->solicited = net_below(net, 2) == 0;
	roce_qp_post(&end->qp);
	side->posted++;
}

static void
compare_counters(const struct net_end *end, bool all)
{
	const struct roce_counters *oracle = &side_of(end)->oracle, *is = &end->counters;

	assert_int_equal(is->rx_write_requests, oracle->rx_write_requests);
	assert_int_equal(is->rx_read_requests, oracle->rx_read_requests);
	assert_int_equal(is->rx_atomic_requests, oracle->rx_atomic_requests);
	assert_int_equal(end->atomics, oracle->rx_atomic_requests);
	assert_int_equal(is->out_of_sequence, oracle->out_of_sequence);
	assert_int_equal(is->duplicate_request, oracle->duplicate_request);
	assert_int_equal(is->out_of_buffer, oracle->out_of_buffer);
	assert_int_equal(is->local_ack_timeout_err, end->timeouts);
	assert_int_equal(is->resp_cqe_error, 0);
	if (!all)
		return;
	assert_int_equal(is->rnr_nak_retry_err, oracle->rnr_nak_retry_err);
	assert_int_equal(is->packet_seq_err, oracle->packet_seq_err);
	assert_int_equal(is->req_cqe_error, 0);
}

/* Both ends from ERR to a new connection; what had not completed happened up to some message, and not behind it. */
static void
reconnect(struct net *net, struct roce_attr *attr)
{
	struct flow *flow = net->test;
	uint32_t psn = (uint32_t)net_random(net) & ROCE_PSN_MASK;
	uint64_t word, model;
	int i;

	for (i = 0; i < 2; i++) {
		struct net_end *end = &net->ends[i];

		if (end->qp.state != ROCE_ERR)
			assert_int_equal(roce_qp_modify(&end->qp, ROCE_ERR, NULL), 0);
	}
	net_poll(net);
	net_clear(net);
	for (i = 0; i < 2; i++) {
		struct net_end *end = &net->ends[i];
		struct side *side = &flow->sides[i];
		uint32_t m = side->done;

		assert_int_equal(end->qp.requester.tail, end->qp.requester.head);
		assert_int_equal(end->recv_head, end->recv_tail);
		memcpy(&word, end->peer->memory + ATOMIC, sizeof(word));
		for (model = side->settled; model != word; m++) {
			assert_int_not_equal(m, side->posted);
			model = execute(&side->messages[m % SLOTS], model);
		}
		side->word = side->settled = word;
		/* Those are given up; the slots' contents are undefined. */
		for (; side->done != side->posted; side->done++)
			side->messages[side->done % SLOTS].opcode = RNIC_WQE_NOP;
		side->announce_tail = side->announce_head;
		side->failed = 0;
		assert_int_equal(roce_qp_modify(&end->qp, ROCE_RST, NULL), 0);
	}
	for (i = 0; i < 2; i++) {
		flow->sides[i].announce_tail = flow->sides[i].announce_head;
		flow->sides[i].psn = roce_psn_add(psn, i == 1 ? 0 : 1000);
	}
	attr->mtu = (uint16_t)(256u << net_below(net, 5));
	net_connect(net, attr, psn);
	flow->connections++;
}

static void
flow_run(struct net *net, struct roce_attr attr, uint32_t messages)
{
	struct flow *flow = net->test;
	uint64_t steps = 0;
	uint32_t idle = 0;
	int i;

	net->watch = watch;
	flow->total = messages;
	for (i = 0; i < 2; i++) {
		net->ends[i].completed = completed;
		net->ends[i].received = received;
	}
	reconnect(net, &attr);
	for (;;) {
		bool over = true;

		for (i = 0; i < 2; i++) {
			struct net_end *end = &net->ends[i];
			struct side *side = &flow->sides[i];

			while (side->posted < flow->total && side->posted - side->done < SLOTS &&
			       end->qp.state == ROCE_RTS)
				post(end);
			/* Now and then the peer finds no receive WQE. */
			if (end->recv_head == end->recv_tail && net_below(net, 4) == 0)
				refill(end);
			else if (end->recv_head - end->recv_tail < 4 && net_below(net, 8) == 0)
				refill(end);
			over &= side->done == flow->total;
		}
		if (over)
			break;
		if (flow->sides[0].failed != 0 || flow->sides[1].failed != 0)
			reconnect(net, &attr);
		/* With nothing under way there is something to post, or a receive WQE, soon. */
		idle = net_step(net) ? 0 : idle + 1;
		assert_true(idle < 1000);
		assert_true(steps++ < 1000ull * messages + 1000000);
	}
	net_run(net);
	for (i = 0; i < 2; i++) {
		assert_int_equal(flow->sides[i].announce_head, flow->sides[i].announce_tail);
		compare_counters(&net->ends[i], flow->only_data);
	}
}

static struct net *
flow_create(uint64_t seed, bool only_data)
{
	struct net *net =
		net_create(&(struct net_conf){ .seed = seed, .requests_log = 5, .window = 32 });
	struct flow *flow = calloc(1, sizeof(*flow));

	assert_non_null(flow);
	flow->only_data = only_data;
	net->test = flow;
	net->random_budget = true;
	return net;
}

/* Returns how often the ends had to be connected. */
static uint32_t
flow_destroy(struct net *net)
{
	struct flow *flow = net->test;
	uint32_t connections = flow->connections;

	free(flow);
	net_destroy(net);
	return connections;
}

/* Messages of each side in one of `parts` runs: 10^5 of all, 10^6 in full. */
static uint32_t
share(uint32_t parts)
{
	return (full_run() ? 1000000 : 100000) / 2 / parts;
}

static void
test_good_network(void **state)
{
	struct net *net = flow_create(1, false);

	(void)state;
	flow_run(net, net_attr(net), share(20));
	assert_int_equal(net->ends[0].counters.out_of_sequence == 0 ||
				 net->ends[0].counters.out_of_buffer > 0,
			 1);
	assert_int_equal(net->ends[0].counters.implied_nak_seq_err, 0);
	assert_int_equal(flow_destroy(net), 1);
}

/* Packets are handed over within emit(), their payload lies where the sender has it. */
static void
test_one_copy(void **state)
{
	struct net *net = flow_create(2, false);

	(void)state;
	net->direct = true;
	flow_run(net, net_attr(net), share(20));
	assert_int_equal(net->ends[0].counters.local_ack_timeout_err, 0);
	assert_int_equal(flow_destroy(net), 1);
}

struct loss {
	uint32_t drop, parts; /* per million; see share() */
	bool only_data;
};

static void
test_loss(void **state)
{
	const struct loss *loss = *state;
	struct net *net = flow_create(loss->drop, loss->only_data);

	net->drop = loss->drop;
	flow_run(net, net_attr(net), share(loss->parts));
	assert_true(net->dropped > 0);
	/* Eight tries that fail are to be expected from 10 % on. */
	assert_true(flow_destroy(net) == 1 || loss->drop >= 100000);
}

static void
test_duplication_reordering_corruption(void **state)
{
	static const uint32_t rates[][4] = {
		{ 0, 100000, 0, 0 },
		{ 0, 0, 100000, 0 },
		{ 0, 0, 0, 10000 },
		{ 10000, 10000, 10000, 10000 },
		{ 1000, 300000, 300000, 1000 },
		{ 50000, 50000, 200000, 50000 },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		struct net *net = flow_create(100 + i, false);

		net->drop = rates[i][0];
		net->duplicate = rates[i][1];
		net->reorder = rates[i][2];
		net->corrupt = rates[i][3];
		flow_run(net, net_attr(net), share(20));
		flow_destroy(net);
	}
}

/* Loss and direct hand-over together: answers come within emit(), or not at all. */
static void
test_one_copy_with_loss(void **state)
{
	struct net *net = flow_create(7, false);

	(void)state;
	net->direct = true;
	net->drop = 20000;
	flow_run(net, net_attr(net), share(20));
	flow_destroy(net);
}

/* Few READs at a time, few PSNs, one slot of everything. */
static void
test_narrow_limits(void **state)
{
	struct net *net = flow_create(8, false);
	struct roce_attr attr = net_attr(net);

	(void)state;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
	attr.ack_req_freq_log = 8;
	net->ends[0].qp.conf.window = 1;
	net->ends[1].qp.conf.window = 2;
	net->drop = 10000;
	net->reorder = 10000;
	flow_run(net, attr, share(20));
	flow_destroy(net);
}

#define LOSS(name, ...)                                                   \
	{                                                                 \
		"test_loss_" #name, test_loss, NULL, NULL, &(struct loss) \
		{                                                         \
			__VA_ARGS__                                       \
		}                                                         \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_network),
		cmocka_unit_test(test_one_copy),
		LOSS(tenth_of_a_percent, 1000, 10, false),
		LOSS(one_percent, 10000, 5, false),
		LOSS(five_percent, 50000, 10, false),
		LOSS(ten_percent, 100000, 10, false),
		LOSS(thirty_percent, 300000, 20, false),
		LOSS(of_data_alone, 20000, 10, true),
		cmocka_unit_test(test_duplication_reordering_corruption),
		cmocka_unit_test(test_one_copy_with_loss),
		cmocka_unit_test(test_narrow_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
