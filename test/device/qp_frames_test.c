/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames of RoCEv2 that a device gets from anybody: each is judged by the first thing that is wrong with it, is counted under that
 * name alone, and leaves queue pairs and memory as they are.
 */
#include "driver/vport.h"
#include "opcodes.h"
#include "qp_world.h"
#include "softrnic/rocev2/decode.h"
#include "softrnic/rocev2/encode.h"
/* Frames come in past the wire, and counters are of the inside. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/random.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/receive.h"

#define ABSENT 0xabcde
#define IP     ROCEV2_ETHER_BYTES
#define UDP    (IP + ROCEV2_IPV4_BYTES)
#define BTH    (UDP + ROCEV2_UDP_BYTES)

struct sent {
	struct rocev2_frame head;
	struct roce_pkt pkt;
	struct iovec payload;
	uint8_t bytes[ROCEV2_FRAME_MAX];
	uint32_t length;
};

/* Opcodes of the transport that they have. */
static uint8_t
opcode_of(const struct qw_two *two, uint8_t opcode)
{
	return ROCE_OPCODE(qw_qp_inside((struct qw_qp *)(uintptr_t)&two->b)->connection, opcode);
}

/* A WRITE of one byte, as a would send its first one to b. */
static void
good_write(const struct qw_two *two, struct sent *sent)
{
	memset(sent, 0, sizeof(*sent));
	sent->payload = (struct iovec){ two->out, 1 };
	sent->pkt = (struct roce_pkt){
		.opcode = opcode_of(two, ROCE_WRITE_ONLY),
		.dest_qpn = two->b.qpn,
		.psn = qw_attr().psn,
		.ack_request = true,
		.rkey = two->b.end->key,
		.va = (uintptr_t)two->in,
		.dma_length = 1,
		.length = 1,
		.count = 1,
		.pieces = &sent->payload,
	};
	sent->head =
		(struct rocev2_frame){ .pkey = 0xffff, .hop_limit = 64, .source_port = 0xc000 };
	memcpy(sent->head.smac, two->a.end->mac, 6);
	memcpy(sent->head.dmac, two->b.end->mac, 6);
	memcpy(sent->head.sgid, two->a.end->gid, 16);
	memcpy(sent->head.dgid, two->b.end->gid, 16);
}

static void
arrive(const struct qw_two *two, struct sent *sent)
{
	struct softrnic_frame frame = { .length = sent->length, .count = 1 };
	struct softrnic *dev = two->b.end->dp.dev;

	frame.pieces[0] = (struct iovec){ sent->bytes, sent->length };
	softrnic_lock(two->qw.poller);
	/* As a poll does before it receives: no wire brings these frames. */
	dev->now = softrnic_now_ns() - dev->power_on_ns;
	softrnic_eth_receive(dev, &frame);
	softrnic_unlock(two->qw.poller);
}

/* ---- One thing is wrong ---- */

enum verdict { ETHERNET, MALFORMED, BAD_ICRC, UNKNOWN, DROPPED, SOURCE, PKEY, CNP, VERDICTS };

struct row {
	const char *name;
	enum verdict verdict;
	/* Before it is encoded, or after: then bytes are changed at `at`. */
	void (*before)(struct sent *sent);
	uint32_t at;
	uint8_t xor ;
};

static void
mac_of_another(struct sent *sent)
{
	sent->head.dmac[5] ^= 0x80;
}

static void
address_of_another(struct sent *sent)
{
	sent->head.dgid[15] ^= 0x80;
}

static void
another_vlan(struct sent *sent)
{
	sent->head.tagged = true;
	sent->head.tci = 5;
}

static void
first_with_padding(struct sent *sent)
{
	sent->pkt.opcode += ROCE_WRITE_FIRST - ROCE_WRITE_ONLY;
}

static void
number_0(struct sent *sent)
{
	sent->pkt.dest_qpn = 0;
}

static void
number_of_nobody(struct sent *sent)
{
	sent->pkt.dest_qpn = ABSENT;
}

static void
number_of_groups(struct sent *sent)
{
	sent->pkt.dest_qpn = 0xffffff;
}

/* Of a reliable one's an unreliable one's, and the other way round. */
static void
another_connection(struct sent *sent)
{
	sent->pkt.opcode ^= 0x20;
}

static void
extended_connection(struct sent *sent)
{
	sent->pkt.opcode = ROCE_OPCODE(ROCE_TRANSPORT_XRC, ROCE_WRITE_ONLY);
}

static void
datagram(struct sent *sent)
{
	sent->pkt.opcode = 0x64;
}

static void
source_of_another(struct sent *sent)
{
	sent->head.sgid[15] ^= 0x80;
}

static void
another_partition(struct sent *sent)
{
	sent->head.pkey = 0x8001;
}

/* Two things at once: what comes first in the order counts. */
static void
number_of_nobody_from_another(struct sent *sent)
{
	number_of_nobody(sent);
	source_of_another(sent);
}

static void
another_connection_from_another(struct sent *sent)
{
	another_connection(sent);
	source_of_another(sent);
}

static void
another_partition_from_another(struct sent *sent)
{
	another_partition(sent);
	source_of_another(sent);
}

static void
another_partition_ahead(struct sent *sent)
{
	another_partition(sent);
	sent->pkt.psn = roce_psn_add(sent->pkt.psn, 1);
}

static void
congestion(struct sent *sent)
{
	sent->pkt.opcode = ROCE_CNP;
	sent->pkt.length = sent->pkt.count = 0;
}

static const struct row rows[] = {
	{ "MAC address of another", ETHERNET, mac_of_another, 0, 0 },
	{ "GID of another", ETHERNET, address_of_another, 0, 0 },
	{ "another VLAN", ETHERNET, another_vlan, 0, 0 },
	{ "another port of UDP", ETHERNET, NULL, UDP + 3, 1 },
	{ "a fragment", ETHERNET, NULL, IP + 7, 1 },
	{ "IP options", ETHERNET, NULL, IP, 3 },
	{ "IP longer than the frame", MALFORMED, NULL, IP + 2, 0x10 },
	{ "UDP is not the rest of IP", MALFORMED, NULL, UDP + 5, 4 },
	{ "IP's checksum", MALFORMED, NULL, IP + 10, 1 },
	{ "version of the transport header", MALFORMED, NULL, BTH + 1, 1 },
	{ "no such opcode", MALFORMED, NULL, BTH, 0xf0 },
	{ "padding of a FIRST", MALFORMED, first_with_padding, 0, 0 },
	{ "ICRC", BAD_ICRC, NULL, BTH + 20, 1 },
	{ "queue pair 0", UNKNOWN, number_0, 0, 0 },
	{ "a queue pair that is none", UNKNOWN, number_of_nobody, 0, 0 },
	{ "a group's number", UNKNOWN, number_of_groups, 0, 0 },
	{ "another connection's", DROPPED, another_connection, 0, 0 },
	{ "an extended connection's", DROPPED, extended_connection, 0, 0 },
	{ "a datagram", DROPPED, datagram, 0, 0 },
	{ "source of another", SOURCE, source_of_another, 0, 0 },
	{ "another partition", PKEY, another_partition, 0, 0 },
	{ "congestion", CNP, congestion, 0, 0 },
	{ "MAC address of another, and ICRC", ETHERNET, mac_of_another, BTH + 20, 1 },
	{ "IP's checksum, and QPN of nobody", MALFORMED, number_of_nobody, IP + 10, 1 },
	{ "ICRC, and QPN of nobody", BAD_ICRC, number_of_nobody, BTH + 20, 1 },
	{ "QPN of nobody, and source", UNKNOWN, number_of_nobody_from_another, 0, 0 },
	{ "another connection's, and source", DROPPED, another_connection_from_another, 0, 0 },
	{ "source, and another partition", SOURCE, another_partition_from_another, 0, 0 },
	{ "another partition, and PSN", PKEY, another_partition_ahead, 0, 0 },
};

static uint64_t
counted(const struct qw_two *two, enum verdict verdict)
{
	const struct softrnic_stats s = dp_stats(&two->b.end->dp);

	switch (verdict) {
	case ETHERNET: return s.rx_unmatched;
	case MALFORMED: return s.roce_malformed;
	case BAD_ICRC: return s.roce_icrc_errors;
	case UNKNOWN: return s.roce_unknown_qp;
	case DROPPED: return s.roce_dropped;
	case SOURCE: return s.roce_source_errors;
	case PKEY: return s.roce_pkey_errors;
	case CNP: return s.roce_cnps;
	default: return 0;
	}
}

static void
assert_untouched(struct qw_two *two, const char *what)
{
	const struct roce_qp *roce = &qw_qp_inside(&two->b)->roce;

	qw_run(&two->qw);
	if (two->in[0] != 0)
		fail_msg("%s: memory was written", what);
	if (roce->state != ROCE_RTS || roce->responder.psn != qw_attr().psn)
		fail_msg("%s: state %u, PSN 0x%x", what, roce->state, roce->responder.psn);
	/* Not so much as a NAK. */
	assert_int_equal(dp_stats(&two->b.end->dp).tx_packets, 0);
	qw_expect_nothing(&two->b_recv);
	qw_expect_nothing(&two->b_send);
}

static void
test_each_thing_that_is_wrong_has_its_counter(void **state)
{
	uint64_t before[VERDICTS];
	struct qw_two *two = *state;
	struct sent sent;

	two->in[0] = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		for (enum verdict v = 0; v < VERDICTS; v++)
			before[v] = counted(two, v);
		good_write(two, &sent);
		if (row->before != NULL)
			row->before(&sent);
		sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes);
		sent.bytes[row->at] ^= row->xor ;
		arrive(two, &sent);
		for (enum verdict v = 0; v < VERDICTS; v++) {
			if (counted(two, v) != before[v] + (v == row->verdict))
				fail_msg("%s: counter %d is %d more", row->name, v,
					 (int)(counted(two, v) - before[v]));
		}
		assert_untouched(two, row->name);
	}
	/* And with nothing wrong it is executed. */
	good_write(two, &sent);
	two->out[0] = 1;
	sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes);
	arrive(two, &sent);
	assert_int_equal(two->in[0], 1);
}

/* The shortest frames of a cable are padded: what follows IP's end is not the packet's. */
static void
test_padding_of_ethernet_is_cut_off(void **state)
{
	struct qw_two *two = *state;
	struct sent sent;

	good_write(two, &sent);
	two->out[0] = 1;
	two->in[0] = 0;
	sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes) + 40;
	arrive(two, &sent);
	assert_int_equal(two->in[0], 1);
	assert_int_equal(two->in[1], 0);
}

/* The next one of a connection, after one that was good: it is judged by the addresses that there are now. */
static void
test_an_address_that_has_gone_takes_no_more(void **state)
{
	struct rnic_set_roce_address_in in = { 0 };
	struct qw_two *two = *state;
	struct sent sent;

	for (uint32_t i = 0; i < 3; i++) {
		good_write(two, &sent);
		sent.pkt.psn += i;
		two->out[0] = (uint8_t)(i + 1);
		sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes);
		if (i == 2) {
			drv_head(&in, RNIC_CMD_SET_ROCE_ADDRESS, 0);
			assert_int_equal(drv_execute(&two->b.end->dp.drv, &in, sizeof(in), NULL),
					 0);
		}
		arrive(two, &sent);
		assert_int_equal(two->in[0], i == 2 ? 2 : i + 1);
		assert_int_equal(counted(two, ETHERNET), i == 2);
	}
}

/* Of the values that ECN has one says so (RFC 3168); what says so is taken, and is a packet only if it is one. */
static void
test_a_packet_that_met_congestion_is_counted(void **state)
{
	struct qw_two *two = *state;
	struct sent sent;
	uint64_t marked = 0;

	for (uint32_t i = 0; i < 5; i++) {
		good_write(two, &sent);
		sent.pkt.psn += RTE_MIN(i, 3u);
		sent.head.traffic_class = (uint8_t)(0x68 | RTE_MIN(i, 3u));
		two->out[0] = (uint8_t)(i + 1);
		sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes);
		sent.bytes[sent.length - 1] ^= i == 4;
		arrive(two, &sent);
		marked += i == 3;
		assert_int_equal(dp_stats(&two->b.end->dp).np_ecn_marked_roce_packets, marked);
		assert_int_equal(two->in[0], RTE_MIN(i, 3u) + 1);
	}
}

/* ---- Spoofed ones ---- */

/*
 * Whoever is on the wire sends what he likes: addresses that are not the peer's, every opcode, PSNs of all the range, guessed keys.
 * Each has a right ICRC.
 */
static void
test_packets_from_elsewhere_change_nothing(void **state)
{
	const uint32_t frames = 100000;
	struct qw_two *two = *state;
	uint64_t random = 7, refused;
	struct sent sent;

	two->in[0] = 0;
	for (uint32_t i = 0; i < frames; i++) {
		uint64_t r = softrnic_splitmix64(&random);

		good_write(two, &sent);
		sent.pkt.opcode = (uint8_t)(r % 0x18);
		sent.pkt.psn = (uint32_t)(r >> 8) & ROCE_PSN_MASK;
		sent.pkt.rkey ^= (uint32_t)(r >> 32) & 1;
		if (opcodes_find(sent.pkt.opcode) == NULL)
			continue;
		if (opcodes_find(sent.pkt.opcode)->whole)
			sent.pkt.length = sent.pkt.count = 0;
		/* Its MAC address anybody may have. */
		sent.head.smac[5] ^= (uint8_t)(r >> 33 & 1);
		sent.head.sgid[12 + (r >> 40) % 4] ^= (uint8_t)(1 + (r >> 42) % 255);
		sent.length = rocev2_encode(&sent.head, &sent.pkt, sent.bytes);
		arrive(two, &sent);
	}
	refused = counted(two, SOURCE);
	assert_in_range(refused, frames * 9 / 10, frames);
	assert_untouched(two, "spoofed");
	assert_int_equal(dp_stats(&two->b.end->dp).tx_packets, 0);
}

static int
setup(void **state)
{
	struct qw_attr attr = qw_attr();

	attr.timeout = 0;
	return qw_setup(state, &(struct qw_conf){ .pair = true, .bytes = true }, &attr);
}

static int
setup_unreliable(void **state)
{
	struct qw_two *two = qw_two_open(&(struct qw_conf){ .pair = true, .bytes = true });
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();

	a.st = b.st = RNIC_QP_ST_UC;
	qw_two_more(two, &two->a, &a, &two->b, &b, &attr);
	*state = two;
	return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_each_thing_that_is_wrong_has_its_counter),
		{ "the same of an unreliable connection",
		  test_each_thing_that_is_wrong_has_its_counter, setup_unreliable, qw_teardown,
		  NULL },
		T(test_padding_of_ethernet_is_cut_off),
		T(test_an_address_that_has_gone_takes_no_more),
		T(test_a_packet_that_met_congestion_is_counted),
		T(test_packets_from_elsewhere_change_nothing),
	};

	return cmocka_run_group_tests_name("qp_frames", tests, NULL, NULL);
}
