/* SPDX-License-Identifier: BSD-3-Clause */

/* Timers and retries: when packets go again, and when a request is given up. */
#include <string.h>

#include "roce_net.h"

#define TIMEOUT_NS(t) (4096ull << (t))

/* retry_cnt tries more, a timeout apart, then the request fails a timeout later. */
static void
test_retries_run_out(void **state)
{
	uint8_t timeout, retry;
	uint32_t i;
	struct net_log log;

	(void)state;
	for (timeout = 1; timeout <= 31; timeout++) {
		for (retry = 0; retry <= 7; retry++) {
			struct net *net = net_create_logged(&log);
			struct net_end *a = &net->ends[0];
			struct roce_attr attr = net_attr(net);

			attr.timeout = timeout;
			attr.retry_cnt = retry;
			net_connect(net, &attr, 0);
			log.lose_all = true;
			net_post(a, RNIC_WQE_SEND, 1, 0, 10, 0);
			net_post(a, RNIC_WQE_RDMA_READ, 2, 0, 10, 0);
			net_run(net);
			assert_int_equal(log.count, 2 * (retry + 1u));
			for (i = 0; i < log.count; i++)
				assert_true(log.times[i] == 1 + i / 2 * TIMEOUT_NS(timeout));
			assert_int_equal(a->send_count, 2);
			assert_int_equal(a->sends[0].syndrome, RNIC_SYND_RETRY_EXCEEDED);
			assert_true(a->sends[0].time == 1 + (retry + 1) * TIMEOUT_NS(timeout));
			assert_int_equal(a->sends[1].syndrome, RNIC_SYND_WR_FLUSHED);
			assert_int_equal(a->counters.local_ack_timeout_err, retry + 1u);
			assert_int_equal(a->qp.state, ROCE_ERR);
			net_destroy(net);
		}
	}
}

/* Timeout 0 waits for ever. */
static void
test_no_timeout(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct roce_attr attr = net_attr(net);

	attr.timeout = 0;
	net_connect(net, &attr, 0);
	log->lose_all = true;
	net_post(&net->ends[0], RNIC_WQE_SEND, 1, 0, 10, 0);
	net_run(net);
	assert_int_equal(log->count, 1);
	assert_int_equal(net->ends[0].send_count, 0);
	assert_true(roce_qp_deadline(&net->ends[0].qp) == UINT64_MAX);
}

/* ... but not for longer: one that SQD sets holds for what is under way as well. */
static void
test_a_timeout_that_comes_late(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);

	attr.timeout = 0;
	net_connect(net, &attr, 0);
	log->lose_all = true;
	net_post(a, RNIC_WQE_SEND, 1, 0, 10, 0);
	net_recv(&net->ends[1], 1, 0, 10);
	net_run(net);
	log->lose_all = false;
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	attr.timeout = 5;
	assert_int_equal(roce_qp_modify(&a->qp, ROCE_SQD, &attr), 0);
	net_run(net);
	assert_int_equal(log->count, 2);
	assert_true(log->times[1] == log->times[0] + TIMEOUT_NS(5));
	net_check_done(a, 1);
}

/* Progress gives all retries back. */
static void
test_progress_renews_retries(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	attr.retry_cnt = 1;
	net_connect(net, &attr, 0);
	for (i = 0; i < 10; i++) {
		log->lose_all = true;
		net_recv(&net->ends[1], i, 0, 100);
		net_post(a, RNIC_WQE_SEND, i, 0, 10, 0);
		net_poll(net);
		log->lose_all = false;
		net_run(net);
		assert_int_equal(a->send_count, i + 1);
		assert_int_equal(a->sends[i].syndrome, 0);
	}
	assert_int_equal(a->counters.local_ack_timeout_err, 10);
}

/* Nothing runs when everything is acknowledged. */
static void
test_idle_has_no_deadline(void **state)
{
	struct net *net = *state;
	struct roce_attr attr = net_attr(net);

	net_connect(net, &attr, 0);
	net_post(&net->ends[0], RNIC_WQE_RDMA_WRITE, 1, 0, 10, 0);
	net_poll(net);
	assert_true(roce_qp_deadline(&net->ends[0].qp) == 1 + TIMEOUT_NS(5));
	net_run(net);
	assert_true(roce_qp_deadline(&net->ends[0].qp) == UINT64_MAX);
	assert_int_equal(roce_qp_poll(&net->ends[0].qp, UINT64_MAX - 1, 64), 0);
}

/* The oldest packet's clock runs on, however much is sent behind it. */
static void
test_later_packets_do_not_put_the_timeout_off(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	net_connect(net, &attr, 0);
	log->lose_all = true;
	for (i = 0; i < 8; i++) {
		net->now = 1 + i * TIMEOUT_NS(5) / 8;
		net_post(a, RNIC_WQE_RDMA_WRITE, i, 0, 10, 0);
		net_poll(net);
		assert_int_equal(log->count, i + 1);
		assert_true(roce_qp_deadline(&a->qp) == 1 + TIMEOUT_NS(5));
	}
}

/* The wait that the code of the RNR NAK says, for every code. */
static void
test_rnr_waits(void **state)
{
	static const uint32_t us[32] = {
		655360, 10,    20,    30,    40,    60,	    80,	    120,    160,    240,    320,
		480,	640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
		20480,	30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
	};
	struct net_log log;
	uint8_t code;

	(void)state;
	for (code = 0; code < 32; code++) {
		struct net *net = net_create_logged(&log);
		struct net_end *a = &net->ends[0], *b = &net->ends[1];
		struct roce_attr attr = net_attr(net);

		attr.min_rnr_timer = code;
		attr.timeout = 31;
		net_connect(net, &attr, 0xffffff);
		net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 3000, 0);
		net_post(a, RNIC_WQE_SEND, 2, 0, 3000, 0);
		while (a->qp.requester.resume_at == 0)
			assert_true(net_step(net));
		assert_int_equal(log.count, 6);
		assert_true(roce_qp_deadline(&a->qp) == net->now + us[code] * 1000ull);
		/* The WRITE before it is done; what follows the refused packet is not a gap. */
		assert_int_equal(a->send_count, 1);
		net_recv(b, 1, 0, 4096);
		net_run(net);
		assert_true(log.times[6] == 1 + 2 * NET_LATENCY + us[code] * 1000ull);
		assert_int_equal(log.psns[6], 2);
		assert_int_equal(log.count, 9);
		assert_int_equal(a->send_count, 2);
		assert_int_equal(a->sends[1].syndrome, 0);
		assert_int_equal(a->counters.rnr_nak_retry_err, 1);
		assert_int_equal(a->counters.packet_seq_err, 0);
		assert_int_equal(a->counters.local_ack_timeout_err, 0);
		assert_int_equal(b->counters.out_of_buffer, 1);
		net_destroy(net);
	}
}

static void
test_rnr_retries_run_out(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_SEND_IMM,
					   RNIC_WQE_RDMA_WRITE_IMM };
	struct net_log log;
	uint32_t i, rnr;

	(void)state;
	for (i = 0; i < 3; i++) {
		for (rnr = 0; rnr < 7; rnr++) {
			struct net *net = net_create_logged(&log);
			struct net_end *a = &net->ends[0], *b = &net->ends[1];
			struct roce_attr attr = net_attr(net);

			attr.rnr_retry = (uint8_t)rnr;
			net_connect(net, &attr, 0);
			net_post(a, opcodes[i], 1, 0, 10, 0);
			net_run(net);
			assert_int_equal(log.count, rnr + 1);
			assert_int_equal(a->sends[0].syndrome, RNIC_SYND_RNR_RETRY_EXCEEDED);
			assert_int_equal(a->counters.rnr_nak_retry_err, rnr + 1);
			assert_int_equal(a->qp.state, ROCE_ERR);
			assert_int_equal(b->qp.state, ROCE_RTS);
			assert_int_equal(b->memory[0], 0);
			net_destroy(net);
		}
	}
}

static struct roce_pkt
acknowledge(uint32_t psn, uint8_t syndrome)
{
	return (struct roce_pkt){ .opcode = ROCE_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome };
}

/*
 * Two copies of one RNR NAK are one; a NAK of sequence does not shorten the wait, behind it it is obeyed; an ACK that
 * comes late ends it.
 */
static void
test_rnr_wait_meets_other_answers(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct roce_pkt rnr = acknowledge(0, ROCE_RNR(14)),
			ack = acknowledge(0, ROCE_ACK_UNLIMITED),
			nak = acknowledge(0, ROCE_NAK(ROCE_NAK_SEQUENCE));
	uint64_t waits;

	attr.rnr_retry = 1;
	net_connect(net, &attr, 0);
	log->lose_all = true;
	net_post(a, RNIC_WQE_SEND, 1, 0, 10, 0);
	net_poll(net);
	net_inject(a, &rnr);
	waits = roce_qp_deadline(&a->qp);
	net_inject(a, &rnr);
	net_inject(a, &nak);
	net_poll(net);
	assert_int_equal(log->count, 1);
	assert_int_equal(a->qp.state, ROCE_RTS);
	assert_true(roce_qp_deadline(&a->qp) == waits);
	net->now = waits;
	net_poll(net);
	assert_int_equal(log->count, 2);
	net_inject(a, &nak);
	net_poll(net);
	assert_int_equal(log->count, 3);
	rnr.psn = ack.psn = 1;
	net_inject(a, &(struct roce_pkt){ .opcode = ROCE_ACKNOWLEDGE, .syndrome = 0x1f });
	net_post(a, RNIC_WQE_SEND, 2, 0, 10, 0);
	net_poll(net);
	net_inject(a, &rnr);
	net_inject(a, &ack);
	assert_int_equal(a->send_count, 2);
	assert_int_equal(a->sends[1].syndrome, 0);
	assert_true(roce_qp_deadline(&a->qp) == UINT64_MAX);
}

/* An ACK for packets that were sent before the requester went back counts, and it goes on behind them. */
static void
test_late_ack_while_packets_are_repeated(void **state)
{
	struct net *net = *state;
	struct net_log *log = net->test;
	struct net_end *a = &net->ends[0];
	struct roce_attr attr = net_attr(net);
	struct roce_pkt ack = acknowledge(3, ROCE_ACK_UNLIMITED);

	net_connect(net, &attr, 0);
	log->lose_all = true;
	net_post(a, RNIC_WQE_RDMA_WRITE, 1, 0, 6 * 1024, 0);
	net_poll(net);
	net->now += TIMEOUT_NS(5);
	assert_int_equal(roce_qp_poll(&a->qp, net->now, 1), 1);
	assert_int_equal(log->psns[6], 0);
	net_inject(a, &ack);
	net_poll(net);
	assert_int_equal(log->count, 9);
	assert_int_equal(log->psns[7], 4);
	ack.psn = 5;
	net_inject(a, &ack);
	assert_int_equal(a->send_count, 1);
}

/* 7 is for ever. */
static void
test_rnr_for_ever(void **state)
{
	struct net *net = *state;
	struct net_end *a = &net->ends[0], *b = &net->ends[1];
	struct roce_attr attr = net_attr(net);
	uint32_t i;

	net_connect(net, &attr, 0);
	net_post(a, RNIC_WQE_SEND_IMM, 1, 0, 10, 0);
	for (i = 0; i < 10000; i++)
		assert_true(net_step(net));
	assert_true(a->counters.rnr_nak_retry_err > 1000);
	assert_int_equal(a->send_count, 0);
	net_recv(b, 1, 0, 10);
	net_run(net);
	assert_int_equal(a->sends[0].syndrome, 0);
	assert_int_equal(b->receive_count, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, net_setup, net_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retries_run_out),
		T(test_no_timeout),
		T(test_a_timeout_that_comes_late),
		T(test_progress_renews_retries),
		T(test_idle_has_no_deadline),
		T(test_later_packets_do_not_put_the_timeout_off),
		cmocka_unit_test(test_rnr_waits),
		cmocka_unit_test(test_rnr_retries_run_out),
		T(test_rnr_wait_meets_other_answers),
		T(test_late_ack_while_packets_are_repeated),
		T(test_rnr_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
