/* SPDX-License-Identifier: BSD-3-Clause */

/* One thing goes wrong: each packet of a message in turn, its first or its repeated copy. PSNs wrap within it. */
#include <string.h>

#include "roce_net.h"

#define PACKETS 64u
#define MTU	1024u
#define LENGTH	(PACKETS * MTU)
#define PSN	0xffffe0u
#define LOCAL	0u
#define REMOTE	(1u << 20)
#define ACK_GAP 8u /* AckReq of every that many packets: net_attr() */

/* Which packet, and what happens to its copies in turn. */
struct fate {
	int from;		 /* end */
	uint8_t lowest, highest; /* opcodes */
	uint32_t psn;
	enum net_action actions[8];
	uint32_t seen;
	struct fate *other;
};

static enum net_action
rule(struct net *net, const struct net_end *from, const struct roce_pkt *pkt)
{
	struct fate *fate;

	for (fate = net->test; fate != NULL; fate = fate->other)
		if (from == &net->ends[fate->from] && pkt->opcode >= fate->lowest &&
		    pkt->opcode <= fate->highest && pkt->psn == fate->psn)
			return fate->seen < 8 ? fate->actions[fate->seen++] : NET_PASS;
	return NET_PASS;
}

static struct net *
create(struct fate *fate)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 5 });
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	net->test = fate;
	net->rule = rule;
	net_connect(net, &attr, PSN);
	for (i = 0; i < LENGTH; i++) {
		net->ends[0].memory[LOCAL + i] = (uint8_t)(i * 7 + (i >> 8) * 3);
		net->ends[1].memory[REMOTE + i] = (uint8_t)(i * 11 + (i >> 8) * 5);
	}
	return net;
}

/* Run one message over the fate; the data arrived once, and so did the completions. */
static struct net *
run(struct fate *fate, uint8_t opcode)
{
	struct net *net = create(fate);
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	uint32_t receives = opcode == RNIC_WQE_SEND ? 1 : 0;

	net_recv(b, 1, REMOTE, LENGTH);
	net_recv(b, 2, 0, LENGTH);
	net_post(a, opcode, 77, LOCAL, LENGTH, REMOTE);
	net_run(net);
	net_check_done(a, 1);
	assert_int_equal(b->receive_count, receives);
	if (receives != 0)
		assert_int_equal(b->receives[0].length, LENGTH);
	assert_memory_equal(a->memory + LOCAL, b->memory + REMOTE, LENGTH);
	assert_int_equal(a->qp.state, ROCE_RTS);
	assert_int_equal(b->qp.state, ROCE_RTS);
	return net;
}

struct expect {
	uint64_t out_of_sequence, duplicate_request;			     /* responder */
	uint64_t packet_seq_err, implied_nak_seq_err, local_ack_timeout_err; /* requester */
};

static void
check(struct net *net, struct expect expect)
{
	const struct roce_counters *a = &net->ends[0].counters, *b = &net->ends[1].counters;

	assert_int_equal(b->out_of_sequence, expect.out_of_sequence);
	assert_int_equal(b->duplicate_request, expect.duplicate_request);
	assert_int_equal(a->packet_seq_err, expect.packet_seq_err);
	assert_int_equal(a->implied_nak_seq_err, expect.implied_nak_seq_err);
	assert_int_equal(a->local_ack_timeout_err, expect.local_ack_timeout_err);
	net_destroy(net);
}

#define ACTIONS(...) ((const enum net_action[8]){ __VA_ARGS__ })
#define EXPECT(...)  ((struct expect){ __VA_ARGS__ })

/* This happens to its copies in turn. */
static void
meet(struct fate *fate, const enum net_action *actions, uint8_t opcode, struct expect expect)
{
	fate->seen = 0;
	memcpy(fate->actions, actions, sizeof(fate->actions));
	check(run(fate, opcode), expect);
}

/* A message of data packets, each of them in turn, on its first and on its repeated copy. */
static void
each_of_data(uint8_t opcode, uint8_t lowest, uint8_t highest)
{
	for (uint32_t k = 0; k < PACKETS; k++) {
		struct fate fate = { 0, lowest, highest, roce_psn_add(PSN, k), { 0 }, 0 };
		const bool last = k == PACKETS - 1;
		const uint32_t behind = PACKETS - 1 - k;
		/* Nothing tells of a missing last one but time, which goes back to what is unacknowledged. */
		const uint32_t again = last ? ACK_GAP - 1 : 0, waits = last ? 2 : 1;
		const struct expect once = { behind, again, !last, 0, last };
		/* The repeated copy; a second NAK for the same gap does not come. */
		const struct expect twice = { 2 * behind, again, !last, 0, waits };

		meet(&fate, ACTIONS(NET_DROP), opcode, once);
		meet(&fate, ACTIONS(NET_CORRUPT), opcode, once);
		meet(&fate, ACTIONS(NET_DUPLICATE), opcode, EXPECT(0, 1, 0, 0, 0));
		meet(&fate, ACTIONS(NET_DROP, NET_DROP), opcode, twice);
		meet(&fate, ACTIONS(NET_DROP, NET_CORRUPT), opcode, twice);
		meet(&fate, ACTIONS(NET_DROP, NET_DUPLICATE), opcode,
		     EXPECT(behind, again + 1, !last, 0, last));
	}
}

static void
test_each_packet_of_a_send(void **state)
{
	(void)state;
	each_of_data(RNIC_WQE_SEND, ROCE_SEND_FIRST, ROCE_SEND_ONLY);
}

static void
test_each_packet_of_a_write(void **state)
{
	(void)state;
	each_of_data(RNIC_WQE_RDMA_WRITE, ROCE_WRITE_FIRST, ROCE_WRITE_ONLY);
}

static void
test_each_packet_of_a_read_response(void **state)
{
	const uint8_t read = RNIC_WQE_RDMA_READ;

	(void)state;
	for (uint32_t k = 0; k < PACKETS; k++) {
		struct fate fate = { 1,
				     ROCE_READ_RESPONSE_FIRST,
				     ROCE_READ_RESPONSE_ONLY,
				     roce_psn_add(PSN, k),
				     { 0 },
				     0 };
		const bool last = k == PACKETS - 1;
		const struct expect once = { 0, 1, 0, !last, last };
		const struct expect twice = { 0, 2, 0, !last, last ? 2 : 1 };

		meet(&fate, ACTIONS(NET_DROP), read, once);
		meet(&fate, ACTIONS(NET_CORRUPT), read, once);
		meet(&fate, ACTIONS(NET_DUPLICATE), read, EXPECT(0, 0, 0, 0, 0));
		meet(&fate, ACTIONS(NET_DROP, NET_DROP), read, twice);
		meet(&fate, ACTIONS(NET_DROP, NET_CORRUPT), read, twice);
		meet(&fate, ACTIONS(NET_DROP, NET_DUPLICATE), read, once);
		/* Behind a timeout, what follows the missing one tells of it again. */
		meet(&fate, ACTIONS(NET_DROP, NET_DROP, NET_DROP), read,
		     EXPECT(0, 3, 0, last ? 0 : 2, last ? 3 : 1));
	}
}

static void
test_read_request_lost_or_doubled(void **state)
{
	struct fate fate = { 0, ROCE_READ_REQUEST, ROCE_READ_REQUEST, PSN, { 0 }, 0 };
	const uint8_t read = RNIC_WQE_RDMA_READ;

	(void)state;
	meet(&fate, ACTIONS(NET_DROP), read, EXPECT(0, 0, 0, 0, 1));
	meet(&fate, ACTIONS(NET_DUPLICATE), read, EXPECT(0, 1, 0, 0, 0));
	meet(&fate, ACTIONS(NET_CORRUPT, NET_CORRUPT, NET_CORRUPT), read, EXPECT(0, 0, 0, 0, 3));
}

/* Each ACK stands for those before it; only the last one is missed. */
static void
test_each_ack_lost_or_doubled(void **state)
{
	uint32_t k;

	(void)state;
	for (k = ACK_GAP - 1; k < PACKETS; k += ACK_GAP) {
		struct fate fate = {
			1, ROCE_ACKNOWLEDGE, ROCE_ACKNOWLEDGE, roce_psn_add(PSN, k), { 0 }, 0
		};
		const bool last = k == PACKETS - 1;

		meet(&fate, ACTIONS(NET_DROP), RNIC_WQE_SEND,
		     EXPECT(0, last ? ACK_GAP : 0, 0, 0, last));
		assert_true(last ? fate.seen > 1 : fate.seen == 1);
		meet(&fate, ACTIONS(NET_DUPLICATE), RNIC_WQE_SEND, EXPECT(0, 0, 0, 0, 0));
	}
}

/* A gap, and one in what is repeated for it: a NAK each, and no waiting. */
static void
test_a_nak_for_each_gap(void **state)
{
	struct fate second = { .highest = ROCE_SEND_ONLY,
			       .psn = roce_psn_add(PSN, 40),
			       .actions = { NET_PASS, NET_DROP } };
	struct fate fate = { .highest = ROCE_SEND_ONLY,
			     .psn = roce_psn_add(PSN, 10),
			     .actions = { NET_DROP },
			     .other = &second };

	(void)state;
	check(run(&fate, RNIC_WQE_SEND), (struct expect){ 53 + 23, 0, 2, 0, 0 });
}

/* A second copy of a NAK does not make the requester go back a second time. */
static void
test_nak_doubled(void **state)
{
	struct fate nak = { .from = 1,
			    .lowest = ROCE_ACKNOWLEDGE,
			    .highest = ROCE_ACKNOWLEDGE,
			    .psn = roce_psn_add(PSN, 10),
			    .actions = { NET_DUPLICATE } };
	struct fate fate = { .highest = ROCE_SEND_ONLY,
			     .psn = roce_psn_add(PSN, 10),
			     .actions = { NET_DROP },
			     .other = &nak };

	(void)state;
	check(run(&fate, RNIC_WQE_SEND), (struct expect){ 53, 0, 2, 0, 0 });
}

static void
test_nak_lost_time_helps(void **state)
{
	struct fate fate = { 1, ROCE_ACKNOWLEDGE, ROCE_ACKNOWLEDGE, PSN, { NET_DROP }, 0 };
	struct net *net = create(&fate);
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_pkt later = { .opcode = ROCE_SEND_ONLY, .psn = roce_psn_add(PSN, 1) };

	(void)state;
	net_recv(b, 1, REMOTE, LENGTH);
	/* A packet behind a gap draws the NAK of the packet that is on its way. */
	net_post(a, RNIC_WQE_SEND, 1, 0, 100, 0);
	net_inject(b, &later);
	net_run(net);
	assert_int_equal(fate.seen, 2); /* the NAK, and the ACK with the same PSN */
	assert_int_equal(a->send_count, 1);
	check(net, (struct expect){ 1, 0, 0, 0, 0 });
}

/* However often an atomic's answer is lost: executed once, the value that was there then. */
static void
test_atomic_exactly_once(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_ATOMIC_FA, RNIC_WQE_ATOMIC_CS };
	uint32_t lost, i;
	uint64_t value;

	(void)state;
	for (lost = 0; lost <= 7; lost++) {
		for (i = 0; i < 2; i++) {
			struct fate fate = {
				1, ROCE_ATOMIC_ACKNOWLEDGE, ROCE_ATOMIC_ACKNOWLEDGE, PSN, { 0 }, 0
			};
			struct net *net;
			struct net_end *a, *b;
			struct roce_request *request;

			for (uint32_t n = 0; n < lost; n++)
				fate.actions[n] = n % 2 != 0 ? NET_CORRUPT : NET_DROP;
			net = create(&fate);
			a = &net->ends[0];
			b = &net->ends[1];
			value = 41;
			memcpy(b->memory + REMOTE, &value, sizeof(value));
			request = net_request(a, opcodes[i], 1, LOCAL, 8, REMOTE);
			request->swap_add = i == 0 ? 1 : 42;
			request->compare = 41;
			roce_qp_post(&a->qp);
			net_run(net);
			net_check_done(a, 1);
			memcpy(&value, a->memory + LOCAL, sizeof(value));
			assert_int_equal(value, 41);
			memcpy(&value, b->memory + REMOTE, sizeof(value));
			assert_int_equal(value, 42);
			assert_int_equal(b->atomics, 1);
			assert_int_equal(b->counters.rx_atomic_requests, 1);
			check(net, (struct expect){ 0, lost, 0, 0, lost });
		}
	}
}

/* An ACK for what follows a READ says that the READ's answer is lost: it is asked for at once, not after the timeout. */
static void
test_ack_behind_a_lost_response(void **state)
{
	struct fate fate = { 1, ROCE_READ_RESPONSE_ONLY, ROCE_READ_RESPONSE_ONLY, PSN, { NET_DROP },
			     0 };
	struct net *net = create(&fate);
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	(void)state;
	net_recv(b, 1, REMOTE + 4096, 100);
	net_post(a, RNIC_WQE_RDMA_READ, 1, 0, 500, REMOTE);
	net_post(a, RNIC_WQE_SEND, 2, 8192, 100, 0);
	net_run(net);
	assert_int_equal(a->send_count, 2);
	assert_int_equal(NET_ID(a->sends[0].cookie), 1);
	assert_int_equal(b->receive_count, 1);
	assert_memory_equal(a->memory, b->memory + REMOTE, 500);
	check(net, (struct expect){ 0, 2, 0, 1, 0 });
}

/* READs under way up to the limit, all answers lost: asked for again in order, answered from what is remembered. */
static void
test_reads_up_to_the_limit_are_repeated(void **state)
{
	struct fate fate = {
		1, ROCE_READ_RESPONSE_FIRST, ROCE_READ_RESPONSE_ONLY, PSN, { NET_DROP }, 0
	};
	struct net *net = create(&fate);
	struct net_end *a = &net->ends[0];
	uint32_t i;

	(void)state;
	for (i = 0; i < 12; i++)
		net_post(a, RNIC_WQE_RDMA_READ, i, i * 4096, 3000, REMOTE + i * 4096);
	net_poll(net);
	assert_int_equal(a->qp.requester.rd_atomics, 4);
	assert_int_equal(a->qp.requester.fresh, 4);
	net_run(net);
	assert_int_equal(a->send_count, 12);
	for (i = 0; i < 12; i++)
		assert_memory_equal(a->memory + i * 4096, net->ends[1].memory + REMOTE + i * 4096,
				    3000);
	assert_int_equal(net->ends[1].counters.rx_read_requests, 12);
	check(net, (struct expect){ 0, 4, 0, 1, 0 });
}

struct step {
	uint8_t opcode;
	uint32_t length;
	bool fence;
};

/* With copies and without, the same completions in the same order, and the same states. */
static void
test_one_copy_gives_the_same(void **state)
{
	static const struct step steps[] = {
		{ RNIC_WQE_SEND, 0, false },	      { RNIC_WQE_RDMA_WRITE, 0, false },
		{ RNIC_WQE_RDMA_READ, 0, false },     { RNIC_WQE_SEND_IMM, 1023, false },
		{ RNIC_WQE_RDMA_READ, 65535, false }, { RNIC_WQE_RDMA_WRITE, 65536, true },
		{ RNIC_WQE_NOP, 0, false },	      { RNIC_WQE_RDMA_WRITE_IMM, 1025, false },
		{ RNIC_WQE_ATOMIC_FA, 8, false },     { RNIC_WQE_ATOMIC_CS, 8, false },
		{ RNIC_WQE_SEND, 70000, true }, /* too long for its WQE */
		{ RNIC_WQE_RDMA_READ, 10, false },    { RNIC_WQE_SEND, 10, false },
	};
	const uint32_t count = sizeof(steps) / sizeof(steps[0]);
	struct fate none = { 0, 1, 0, 0, { 0 }, 0 };
	struct net *nets[2];
	uint32_t i, n;

	(void)state;
	for (n = 0; n < 2; n++) {
		struct net *net = nets[n] = create(&none);

		net->direct = n == 1;
		for (i = 0; i < 6; i++)
			net_recv(&net->ends[1], i, REMOTE + (i << 16), 65536);
		for (i = 0; i < count; i++) {
			struct roce_request *request =
				net_request(&net->ends[0], steps[i].opcode, i, i << 12,
					    steps[i].length, REMOTE + (8 << 16));

			request->fence = steps[i].fence;
			roce_qp_post(&net->ends[0].qp);
		}
		net_run(net);
		assert_int_equal(net->ends[0].send_count, count);
		assert_int_equal(net->ends[1].receive_count, 6);
		assert_int_equal(net->ends[0].sends[10].syndrome, RNIC_SYND_REMOTE_INVALID_REQUEST);
	}
	for (n = 0; n < 2; n++) {
		const struct net_end *copy = &nets[0]->ends[n], *one = &nets[1]->ends[n];

		assert_int_equal(copy->qp.state, ROCE_ERR);
		assert_int_equal(one->qp.state, copy->qp.state);
		for (i = 0; i < copy->send_count; i++) {
			assert_int_equal(one->sends[i].cookie, copy->sends[i].cookie);
			assert_int_equal(one->sends[i].syndrome, copy->sends[i].syndrome);
		}
		for (i = 0; i < copy->receive_count; i++) {
			assert_int_equal(one->receives[i].cookie, copy->receives[i].cookie);
			assert_int_equal(one->receives[i].syndrome, copy->receives[i].syndrome);
			assert_int_equal(one->receives[i].length, copy->receives[i].length);
			assert_int_equal(one->receives[i].opcode, copy->receives[i].opcode);
		}
		assert_memory_equal(one->memory, copy->memory, NET_MEMORY);
		assert_memory_equal(&one->counters, &copy->counters, sizeof(one->counters));
	}
	net_destroy(nets[0]);
	net_destroy(nets[1]);
}

/* A QP that is its own peer hears its answers while it sends. */
static void
test_a_qp_connected_to_itself(void **state)
{
	struct fate none = { 0, 1, 0, 0, { 0 }, 0 };
	struct net *net = net_create(&(struct net_conf){ .seed = 1, .requests_log = 6 });
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	(void)state;
	net->test = &none;
	net->direct = true;
	a->peer = a;
	attr.dest_qpn = NET_QPN;
	attr.sq_psn = attr.rq_psn = PSN;
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_INIT, &attr), 0);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTR, &attr), 0);
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
	for (i = 0; i < LENGTH; i++)
		a->memory[i] = (uint8_t)(i * 7);
	for (i = 0; i < 16; i++)
		net_recv(a, i, REMOTE, LENGTH);
	for (i = 0; i < 16; i++) {
		net_post(a, RNIC_WQE_SEND, i, 0, LENGTH - i, 0);
		net_post(a, RNIC_WQE_RDMA_READ, i, 2 * LENGTH, LENGTH - i, 0);
		net_post(a, RNIC_WQE_ATOMIC_FA, i, 4 * LENGTH, 8, 5 * LENGTH);
	}
	net_run(net);
	net_check_done(a, 48);
	assert_int_equal(a->receive_count, 16);
	assert_memory_equal(a->memory, a->memory + REMOTE, LENGTH);
	assert_memory_equal(a->memory, a->memory + 2 * LENGTH, LENGTH);
	assert_int_equal(a->atomics, 16);
	net_destroy(net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_packet_of_a_send),
		cmocka_unit_test(test_each_packet_of_a_write),
		cmocka_unit_test(test_each_packet_of_a_read_response),
		cmocka_unit_test(test_read_request_lost_or_doubled),
		cmocka_unit_test(test_each_ack_lost_or_doubled),
		cmocka_unit_test(test_a_nak_for_each_gap),
		cmocka_unit_test(test_nak_doubled),
		cmocka_unit_test(test_nak_lost_time_helps),
		cmocka_unit_test(test_atomic_exactly_once),
		cmocka_unit_test(test_ack_behind_a_lost_response),
		cmocka_unit_test(test_reads_up_to_the_limit_are_repeated),
		cmocka_unit_test(test_one_copy_gives_the_same),
		cmocka_unit_test(test_a_qp_connected_to_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
