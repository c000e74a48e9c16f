/* SPDX-License-Identifier: BSD-3-Clause */

/* UD: one packet a message, and 40 bytes of headers before it where it is received. */
#include <string.h>

#include "roce_net.h"

#define PSN  0xfffffeu
#define MTU  1024u
#define ROOM (MTU + ROCE_GRH_BYTES)

static int
setup(void **state)
{
	struct net *net = net_create(&(struct net_conf){ .seed = 3, .transport = &roce_ud });
	struct roce_attr attr = net_attr(net);

	net_connect(net, &attr, PSN);
	for (uint32_t i = 0; i < 8; i++)
		net_recv(&net->ends[1], i, i * ROOM, ROOM);
	for (uint32_t i = 0; i < NET_MEMORY; i++)
		net->ends[0].memory[i] = (uint8_t)(i * 7 + (i >> 8));
	*state = net;
	return 0;
}

/* WQE `wqe` of end 1 has the headers, and so many bytes from there of end 0. */
static void
check_received(const struct net_end *b, uint32_t n, uint32_t wqe, uint32_t length, uint32_t from)
{
	const struct net_completion *done = &b->receives[n];
	const uint8_t *bytes = b->memory + wqe * ROOM;

	assert_true(b->receive_count > n);
	assert_int_equal(done->syndrome, 0);
	assert_int_equal(NET_ID(done->cookie), wqe);
	assert_int_equal(done->length, ROCE_GRH_BYTES + length);
	assert_int_equal(done->source_qpn, NET_QPN);
	for (uint32_t i = 0; i < ROCE_GRH_BYTES; i++)
		assert_int_equal(bytes[i], NET_HEADER);
	assert_memory_equal(bytes + ROCE_GRH_BYTES, b->peer->memory + from, length);
}

static void
check_lives(const struct net_end *b)
{
	assert_int_equal(b->qp.state, ROCE_RTS);
	assert_int_equal(b->event_count, 0);
}

static void
test_each_length(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 255, MTU - 1, MTU };
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	uint32_t count = sizeof(lengths) / sizeof(lengths[0]);

	for (uint32_t i = 0; i < count; i++)
		net_post(a, RNIC_WQE_SEND, i, 1000 * i, lengths[i], 0);
	net_poll(net);
	net_check_done(a, count);
	assert_int_equal(b->receive_count, 0);
	net_run(net);
	for (uint32_t i = 0; i < count; i++) {
		check_received(b, i, i, lengths[i], 1000 * i);
		assert_int_equal(b->receives[i].opcode, RNIC_CQE_RESPONDER_SEND);
	}
	assert_int_equal(net->emitted, count);
	check_lives(b);
}

static void
test_immediate_and_solicited(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_request *request = net_request(a, RNIC_WQE_SEND_IMM, 0, 0, 10, 0);

	request->solicited = true;
	request->immediate = 0x87654321;
	roce_qp_post(&a->qp);
	net_run(net);
	check_received(b, 0, 0, 10, 0);
	assert_int_equal(b->receives[0].opcode, RNIC_CQE_RESPONDER_SEND_IMM);
	assert_int_equal(b->receives[0].immediate, 0x87654321);
	assert_true(b->receives[0].solicited);
}

/* Datagrams are lost, doubled and overtaken: each that comes is one, and the next is none the worse. */
static void
test_datagrams_do_not_know_each_other(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	net->drop = 1000000;
	net_post(a, RNIC_WQE_SEND, 0, 0, 10, 0);
	net_run(net);
	net->drop = 0;
	net->duplicate = 1000000;
	net_post(a, RNIC_WQE_SEND, 1, 100, 10, 0);
	net_run(net);
	net_check_done(a, 2);
	assert_int_equal(b->receive_count, 2);
	check_received(b, 0, 0, 10, 100);
	check_received(b, 1, 1, 10, 100);
	assert_int_equal(b->counters.out_of_sequence, 0);
}

/* The highest bit of a request's Q_Key says: the sender's own. */
static void
test_own_key(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_request *request;

	a->qp.attr.qkey = NET_QKEY + 1;
	net_post(a, RNIC_WQE_SEND, 0, 0, 10, 0);
	net_run(net);
	check_received(b, 0, 0, 10, 0);
	request = net_request(a, RNIC_WQE_SEND, 1, 0, 10, 0);
	request->qkey = ROCE_QKEY_OWN | NET_QKEY;
	roce_qp_post(&a->qp);
	net_run(net);
	assert_int_equal(b->strangers, 1);
	b->qp.attr.qkey = NET_QKEY + 1;
	request = net_request(a, RNIC_WQE_SEND, 2, 200, 10, 0);
	request->qkey = ROCE_QKEY_OWN;
	roce_qp_post(&a->qp);
	net_run(net);
	assert_int_equal(b->receive_count, 2);
	check_received(b, 1, 1, 10, 200);
}

/* The WQE that is too short for it is the next one's. */
static void
test_longer_than_its_receive(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	b->recvs[0].capacity = ROCE_GRH_BYTES + 99;
	net_post(a, RNIC_WQE_SEND, 0, 0, 100, 0);
	net_post(a, RNIC_WQE_SEND, 1, 5000, 99, 0);
	net_run(net);
	assert_int_equal(b->receive_count, 1);
	check_received(b, 0, 0, 99, 5000);
	assert_int_equal(b->counters.resp_local_length_error, 1);
	check_lives(b);
}

/* A datagram of a longer MTU than the own is no datagram, and takes no WQE. */
static void
test_longer_than_the_mtu(void **state)
{
	static uint8_t payload[ROOM + 1];
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	b->recvs[0].capacity = sizeof(payload);
	for (uint32_t length = ROOM + 1; length >= ROOM; length--) {
		const struct iovec piece = { payload, length };

		roce_qp_receive(&b->qp,
				&(struct roce_pkt){
					.opcode = ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY),
					.psn = PSN,
					.source_qpn = NET_QPN,
					.length = length,
					.count = 1,
					.pieces = &piece },
				net->now);
		assert_int_equal(b->counters.resp_local_length_error, 1);
		assert_int_equal(b->recv_tail, length == ROOM);
		assert_int_equal(b->receive_count, length == ROOM);
	}
	assert_int_equal(b->receives[0].length, ROOM);
	check_lives(b);
}

static void
test_without_a_receive(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	b->recv_tail = b->recv_head;
	net_post(a, RNIC_WQE_SEND, 0, 0, 100, 0);
	net_run(net);
	assert_int_equal(b->receive_count, 0);
	assert_int_equal(b->counters.out_of_buffer, 1);
	net_recv(b, 0, 0, ROOM);
	net_post(a, RNIC_WQE_SEND, 1, 300, 100, 0);
	net_run(net);
	check_received(b, 0, 0, 100, 300);
	check_lives(b);
}

static void
test_receive_memory_that_is_not_there(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];

	b->bad_from = 100;
	net_post(a, RNIC_WQE_SEND, 0, 0, 100, 0);
	net_run(net);
	assert_int_equal(b->qp.state, ROCE_ERR);
	assert_int_equal(b->receive_count, 8);
	assert_int_equal(b->receives[0].syndrome, RNIC_SYND_LOCAL_PROTECTION);
	assert_int_equal(b->receives[1].syndrome, RNIC_SYND_WR_FLUSHED);
}

/* Nothing but datagrams: what another opcode carries is not looked at. */
static void
test_other_packets(void **state)
{
	static uint8_t payload[ROOM];
	static const struct iovec piece = { payload, sizeof(payload) };
	struct net *net = *state;
	struct net_end *b = &net->ends[1];

	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		if (opcode == ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY) ||
		    opcode == ROCE_OPCODE(ROCE_TRANSPORT_UD, ROCE_SEND_ONLY_IMM))
			continue;
		roce_qp_receive(&b->qp,
				&(struct roce_pkt){ .opcode = (uint8_t)opcode,
						    .psn = PSN,
						    .length = sizeof(payload),
						    .count = 1,
						    .pieces = &piece },
				net->now);
	}
	net_poll(net);
	assert_int_equal(b->receive_count, 0);
	assert_int_equal(b->recv_tail, 0);
	assert_int_equal(net->emitted, 0);
	check_lives(b);
}

/* The rest is flushed; what is received goes on. */
static void
test_failed_requests(void **state)
{
	static const struct {
		uint8_t opcode, syndrome;
		uint32_t local, length;
	} faults[] = {
		{ RNIC_WQE_SEND, RNIC_SYND_LOCAL_LENGTH, 0, MTU + 1 },
		{ RNIC_WQE_RDMA_WRITE, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8 },
		{ RNIC_WQE_RDMA_READ, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8 },
		{ RNIC_WQE_ATOMIC_CS, RNIC_SYND_LOCAL_QP_OPERATION, 0, 8 },
		{ RNIC_WQE_SEND, RNIC_SYND_LOCAL_PROTECTION, NET_MEMORY - 5, 6 },
	};
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);

	for (uint32_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		net_post(a, faults[i].opcode, 1, faults[i].local, faults[i].length, 0);
		net_post(a, RNIC_WQE_SEND, 2, 0, 10, 0);
		net_run(net);
		assert_int_equal(a->send_count, 2 * i + 2);
		assert_int_equal(a->sends[2 * i].syndrome, faults[i].syndrome);
		assert_int_equal(a->sends[2 * i + 1].syndrome, RNIC_SYND_WR_FLUSHED);
		assert_int_equal(a->qp.state, ROCE_SQER);
		assert_int_equal(net->emitted, i);
		net_recv(a, i, 500000, ROOM);
		net_post(b, RNIC_WQE_SEND, 3, 0, 10, 0);
		net_run(net);
		assert_int_equal(a->receive_count, i + 1);
		assert_int_equal(roce_qp_modify(&a->qp, ROCE_RTS, &attr), 0);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_length),
		T(test_immediate_and_solicited),
		T(test_datagrams_do_not_know_each_other),
		T(test_own_key),
		T(test_longer_than_its_receive),
		T(test_longer_than_the_mtu),
		T(test_without_a_receive),
		T(test_receive_memory_that_is_not_there),
		T(test_other_packets),
		T(test_failed_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
