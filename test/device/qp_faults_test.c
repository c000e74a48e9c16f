/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of queue pairs that rules name, and those that take their time on the wire; as descriptors, and as bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "qp_world.h"
#include "test_clock.h"
#include "softrnic/base/device.h"

#define PSN	 0x123456u
#define PACKETS	 4u /* of a message, of 1,024 bytes each */
#define BYTES	 (PACKETS * 1024)
#define DELAY_US 3000u

/* Bits of a WRITE's only packet, over IPv4: frame 14, IP 20, UDP 8, BTH 12, RETH 16, payload, ICRC. */
#define BIT_MAC	    (0 * 8 + 1)
#define BIT_IP_TTL  ((14 + 8) * 8)
#define BIT_UDP_SUM ((34 + 6) * 8 + 3)
#define BIT_OPCODE  (42 * 8 + 7)
#define BIT_ECN	    ((42 + 4) * 8)
#define BIT_QPN	    ((42 + 7) * 8)
#define BIT_PSN	    ((42 + 11) * 8 + 6)
#define BIT_RKEY    ((54 + 8) * 8)
#define BIT_PAYLOAD (70 * 8 + 5)
#define BIT_ICRC    ((70 + 64) * 8 + 31)
#define BIT_BEHIND  ((70 + 64 + 4) * 8)
#define FRAME_BYTES (70 + 64 + 4)

static struct qw_attr
attr_of(void)
{
	struct qw_attr attr = qw_attr();

	attr.psn = PSN;
	return attr;
}

static struct qw_two *
open_two(const char *rules, uint32_t delay_us, bool bytes)
{
	const struct qw_conf conf = {
		.pair = true, .seed = 7, .rules = rules, .delay_us = delay_us, .bytes = bytes
	};
	const struct qw_attr attr = attr_of();
	struct qw_two *two = qw_two_open(&conf);

	qw_two_connect(two, &attr);
	qw_fill(two->out, BYTES, 1);
	return two;
}

static bool
completed(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

/* A WRITE by a, until it has completed. */
static void
write_now(struct qw_two *two, uint32_t bytes)
{
	memset(two->in, 0, bytes);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, bytes, two->in);
	assert_true(qw_run_until(&two->qw, completed, two));
}

static const struct roce_counters *
counters(const struct qw_two *two)
{
	return &two->qw.ends[0]->dp.dev->roce_counters;
}

/* ---- Rules ---- */

/* A message of four packets goes over this wire, of which `lost` are lost, and is repeated after `timeouts`. */
static void
expect_drops(const char *rules, bool bytes, uint64_t lost, uint64_t timeouts)
{
	struct qw_two *two = open_two(rules, 0, bytes);

	write_now(two, BYTES);
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, BYTES);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_dropped, lost);
	assert_int_equal(counters(two)->local_ack_timeout_err, timeouts);
	qw_two_close(two);
}

static void
test_the_nth_packet_of_an_opcode_or_a_psn_is_lost(void **state)
{
	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		expect_drops("drop/opcode:0xff", bytes, 0, 0);
		/* The last packet: nothing behind it tells of the gap. */
		expect_drops("drop/opcode:0x08/nth:1", bytes, 1, 1);
		expect_drops("drop/nth:1/psn:0x123459", bytes, 1, 1);
		/* Twice in a row, and the third time it gets through. */
		expect_drops("drop/opcode:8/nth:1+drop/opcode:8/nth:2", bytes, 2, 2);
		/* One in the middle is asked for. */
		expect_drops("drop/opcode:7/nth:2", bytes, 1, 0);
		expect_drops("drop/psn:1193046/nth:1", bytes, 1, 0);
		/* Of any kind, the third. */
		expect_drops("drop/nth:3", bytes, 1, 0);
	}
}

/* All the time: the first copy and seven more, then the request has failed. */
static void
test_a_packet_that_is_always_lost_fails_its_request(void **state)
{
	struct qw_two *two = open_two("drop/psn:0x123459", 0, false);

	(void)state;
	write_now(two, BYTES);
	qw_failed(two, 0, RNIC_SYND_RETRY_EXCEEDED);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_dropped, 8);
	qw_two_close(two);
}

/* Numbers of queue pairs are drawn: the same seed has the same ones. */
static void
test_a_rule_for_one_queue_pair_leaves_others_alone(void **state)
{
	struct qw_two *two = open_two(NULL, 0, false);
	const uint32_t qpn = two->b.qpn;
	char rules[64];

	(void)state;
	qw_two_close(two);
	snprintf(rules, sizeof(rules), "drop/qpn:%u", qpn);
	two = open_two(rules, 0, false);
	assert_int_equal(two->b.qpn, qpn);
	write_now(two, 64);
	qw_failed(two, 0, RNIC_SYND_RETRY_EXCEEDED);
	qw_two_close(two);
	snprintf(rules, sizeof(rules), "drop/qpn:%u", qpn + 1);
	two = open_two(rules, 0, false);
	write_now(two, 64);
	qw_done(two, 0);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_dropped, 0);
	qw_two_close(two);
}

/* What one flipped bit of a WRITE's packet leads to at the other end, where its second copy arrives whole. */
static const struct flip {
	uint32_t bit;
	uint8_t malformed, icrc, frames; /* counted there */
	bool harmless;			 /* nobody looks at that bit */
} flips[] = {
	{ BIT_MAC, .frames = 1 },
	{ BIT_IP_TTL, .malformed = 1 },
	{ BIT_UDP_SUM, .harmless = true },
	{ BIT_OPCODE, .malformed = 1 },
	{ BIT_ECN, .harmless = true },
	{ BIT_QPN, .icrc = 1 },
	{ BIT_PSN, .icrc = 1 },
	{ BIT_RKEY, .icrc = 1 },
	{ BIT_PAYLOAD, .icrc = 1 },
	{ BIT_ICRC, .icrc = 1 },
};

static void
flip_one(const struct flip *flip, bool bytes)
{
	struct softrnic_stats sent, came;
	struct qw_two *two;
	char rules[64];

	snprintf(rules, sizeof(rules), "corrupt/opcode:0x0a/bit:%u/nth:1", flip->bit);
	two = open_two(rules, 0, bytes);
	write_now(two, 64);
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, 64);
	sent = dp_stats(&two->a.end->dp);
	came = dp_stats(&two->b.end->dp);
	assert_int_equal(sent.wire_corrupted, 1);
	assert_int_equal(came.roce_malformed, flip->malformed);
	assert_int_equal(came.roce_icrc_errors, flip->icrc);
	assert_int_equal(came.rx_unmatched, flip->frames);
	assert_int_equal(counters(two)->local_ack_timeout_err, !flip->harmless);
	qw_two_close(two);
}

static void
test_any_bit_can_be_named(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		flip_one(&flips[i], false);
		flip_one(&flips[i], true);
	}
}

/* A packet that has no such bit is not one that the rule is for. */
static void
test_a_bit_behind_the_packets_end_is_none(void **state)
{
	struct qw_two *two;
	char rules[64];

	(void)state;
	snprintf(rules, sizeof(rules), "corrupt/bit:%u", BIT_BEHIND);
	two = open_two(rules, 0, false);
	write_now(two, 64);
	qw_done(two, 0);
	assert_int_equal(dp_stats(&two->a.end->dp).tx_bytes, FRAME_BYTES);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_corrupted, 0);
	qw_two_close(two);
}

/* Without a bit it is one that the ICRC covers, as for corrupt=. */
static void
test_a_packet_is_damaged_by_a_rule(void **state)
{
	struct qw_two *two;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		struct softrnic_stats came;

		two = open_two("corrupt/nth:2", 0, bytes);
		write_now(two, BYTES);
		qw_done(two, 0);
		assert_memory_equal(two->in, two->out, BYTES);
		assert_int_equal(dp_stats(&two->a.end->dp).wire_corrupted, 1);
		came = dp_stats(&two->b.end->dp);
		assert_int_equal(came.roce_icrc_errors + came.roce_malformed, 1);
		/* The two behind it. */
		assert_int_equal(two->b.end->dp.dev->roce_counters.out_of_sequence, 2);
		qw_two_close(two);
	}
}

static const char *const bad_rules[] = {
	"",
	"lose",
	"drop/",
	"drop/psn",
	"drop/psn:",
	"drop/psn:-1",
	"drop/psn:0x",
	"drop/psn: 1",
	"drop/psn:1x",
	"drop/psn:0x1000000",
	"drop/nth:0",
	"drop/opcode:256",
	"drop/qpn:1/qpn:1",
	"drop/colour:1",
	"drop+",
	"+drop",
	"drop++drop",
	"drop/bit:1",
	"corrupt/bit:33792",
	"corrupt/nth:18446744073709551616",
	"Drop",
	"drop /nth:1",
	"drop/nth:1,",
	"corrupt//bit:1",
	"dropp",
	"drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop+drop",
};

static void
test_texts_that_are_no_rules_are_refused(void **state)
{
	struct softrnic_conf conf = { .name = "ruled" };
	struct softrnic_poller *poller;
	struct softrnic *dev;

	(void)state;
	assert_int_equal(softrnic_poller_create(&poller), 0);
	for (unsigned int i = 0; i < sizeof(bad_rules) / sizeof(bad_rules[0]); i++) {
		conf.rules = bad_rules[i];
		if (softrnic_rules_valid(conf.rules))
			fail_msg("\"%s\" is taken", conf.rules);
		assert_int_equal(softrnic_create(poller, &conf, &dev), -EINVAL);
	}
	assert_true(softrnic_rules_valid("drop"));
	assert_true(softrnic_rules_valid("corrupt/bit:33791/qpn:0xffFFff/psn:16777215/opcode:255/"
					 "nth:18446744073709551615+drop/nth:1"));
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

/* ---- A long cable ---- */

static uint64_t
time_of(const struct rnic_cqe *cqe)
{
	return dp_cqe_time(cqe, false);
}

/* There and back: the request's completion comes twice the delay after it was sent, and none of it is repeated. */
static void
test_a_request_takes_its_way_there_and_back(void **state)
{
	struct qw_two *two;
	uint64_t before, took;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		two = open_two(NULL, DELAY_US, bytes);
		for (uint16_t i = 0; i < 3; i++) {
			before = dp_clock(&two->a.end->dp, false);
			write_now(two, BYTES);
			took = time_of(qw_done(two, i)) - before;
			assert_in_range(took, 2 * DELAY_US * 1000, (2 * DELAY_US + 100) * 1000);
			assert_memory_equal(two->in, two->out, BYTES);
		}
		assert_int_equal(counters(two)->local_ack_timeout_err, 0);
		assert_int_equal(two->b.end->dp.dev->roce_counters.out_of_sequence, 0);
		assert_int_equal(two->b.end->dp.dev->roce_counters.duplicate_request, 0);
		qw_two_close(two);
	}
}

/* The payload is that of the time when it was sent: the sender may have it back when the peer has answered, not before. */
static void
test_a_large_message_is_whole_behind_a_long_cable(void **state)
{
	struct qw_two *two;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		two = open_two(NULL, DELAY_US, bytes);
		qw_fill(two->out, 1u << 20, 3);
		write_now(two, 1u << 20);
		qw_done(two, 0);
		assert_memory_equal(two->in, two->out, 1u << 20);
		assert_int_equal(dp_stats(&two->a.end->dp).wire_dropped, 0);
		assert_int_equal(counters(two)->local_ack_timeout_err, 0);
		qw_two_close(two);
	}
}

/* A cable as long as the timeout has each request repeated before its answer is there; it completes once. */
static void
test_a_cable_that_is_longer_than_the_timeout(void **state)
{
	struct qw_two *two = open_two(NULL, 50000, false);

	(void)state;
	write_now(two, 64);
	qw_done(two, 0);
	qw_run_us(&two->qw, 500000);
	qw_expect_nothing(&two->a_send);
	assert_memory_equal(two->in, two->out, 64);
	assert_int_equal(counters(two)->local_ack_timeout_err, 1);
	assert_int_equal(two->b.end->dp.dev->roce_counters.duplicate_request, 1);
	qw_two_close(two);
}

static struct qw_two *
open_with_a_packet_under_way(void)
{
	struct qw_two *two = open_two(NULL, DELAY_US, false);

	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	while (dp_stats(&two->a.end->dp).tx_packets == 0)
		softrnic_poll(two->qw.poller);
	return two;
}

/* It was a descriptor for that device when it was sent: by now it is a frame that nobody there wants. */
static void
test_a_packet_under_way_finds_that_the_address_has_gone(void **state)
{
	struct qw_two *two = open_with_a_packet_under_way();
	struct softrnic_stats came;

	(void)state;
	qw_set_vlan(two->b.end, 5);
	qw_run_us(&two->qw, 2 * DELAY_US);
	came = dp_stats(&two->b.end->dp);
	assert_int_equal(came.rx_unmatched, 1);
	assert_int_equal(came.roce_source_errors, 0);
	qw_two_close(two);
}

static void
test_a_packet_under_way_is_lost_with_the_device_that_it_is_for(void **state)
{
	struct qw_two *two = open_with_a_packet_under_way();

	(void)state;
	dp_close(&two->qw.memory[1].dp);
	qw_run_us(&two->qw, 2 * DELAY_US);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_dropped, 1);
	dp_close(&two->qw.memory[0].dp);
	assert_int_equal(softrnic_poller_destroy(two->qw.poller), 0);
	free(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_nth_packet_of_an_opcode_or_a_psn_is_lost),
		cmocka_unit_test(test_a_packet_that_is_always_lost_fails_its_request),
		cmocka_unit_test(test_a_rule_for_one_queue_pair_leaves_others_alone),
		cmocka_unit_test(test_any_bit_can_be_named),
		cmocka_unit_test(test_a_bit_behind_the_packets_end_is_none),
		cmocka_unit_test(test_a_packet_is_damaged_by_a_rule),
		cmocka_unit_test(test_texts_that_are_no_rules_are_refused),
		cmocka_unit_test(test_a_request_takes_its_way_there_and_back),
		cmocka_unit_test(test_a_large_message_is_whole_behind_a_long_cable),
		cmocka_unit_test(test_a_cable_that_is_longer_than_the_timeout),
		cmocka_unit_test(test_a_packet_under_way_finds_that_the_address_has_gone),
		cmocka_unit_test(test_a_packet_under_way_is_lost_with_the_device_that_it_is_for),
	};

	return cmocka_run_group_tests_name("qp_faults", tests, NULL, NULL);
}
