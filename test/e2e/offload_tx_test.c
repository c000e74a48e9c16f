/* SPDX-License-Identifier: BSD-3-Clause */

/* Offloads of packets that are sent: what arrives is, byte for byte, what other code makes of the same packet. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_errno.h>

#include "packet.h"

#define CHECKSUMS                                                       \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
#define ALL   (CHECKSUMS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_TCP_TSO)
#define C_TAG 0x8100
#define S_TAG 0x88a8
#define FIN   0x01
#define PSH   0x08
#define ACK   0x10
#define CWR   0x80

static const struct e2e_conf sender = { .tx_offloads = ALL }, plain = { 0 };

static const struct df_spec specs[] = {
	{ .version = 4, .proto = DF_TCP, .payload = 10, .tcp_flags = ACK },
	{ .version = 4, .proto = DF_UDP, .payload = 11 },
	{ .version = 4, .proto = DF_TCP, .ip_options = 40, .tcp_options = 40, .payload = 1001 },
	{ .version = 4, .proto = DF_UDP, .ip_options = 4, .payload = 1400 },
	{ .version = 4, .proto = DF_UDP, .payload = 20, .padding = 7 },
	{ .version = 6, .proto = DF_TCP, .tcp_options = 12, .payload = 99 },
	{ .version = 6, .proto = DF_UDP, .payload = 1420 },
	{ .version = 6, .proto = DF_UDP, .payload = 0 },
	{ .tags = 1,
	  .types = { C_TAG },
	  .tcis = { 5 },
	  .version = 4,
	  .proto = DF_TCP,
	  .payload = 9 },
	{ .tags = 2,
	  .types = { S_TAG, C_TAG },
	  .tcis = { 5, 0xe006 },
	  .version = 6,
	  .proto = DF_UDP,
	  .payload = 300 },
};

static void
checksums_are_made(void **unused)
{
	struct rte_eth_burst_mode mode;
	struct rte_mbuf *mbuf;
	unsigned int i, segs;

	(void)unused;
	packet_start(&sender, &plain);
	/* Only where it is of use. */
	assert_int_equal(rte_eth_tx_burst_mode_get(0, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "offloads"));
	assert_int_equal(rte_eth_tx_burst_mode_get(1, 0, &mode), 0);
	assert_null(strstr(mode.info, "offloads"));
	for (i = 0; i < RTE_DIM(specs); i++)
		for (segs = 1; segs <= 5; segs++) {
			mbuf = packet_make(&specs[i], packet_checksums(&specs[i]), segs, i);
			assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), 1);
			packet_send(0, &mbuf, 1);
			packet_expect_spec(&specs[i], i);
		}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

/* All wishes next to each other, in bursts of every size. */
static void
each_packet_of_a_burst_gets_what_it_asks_for(void **unused)
{
	struct rte_mbuf *pkts[64];
	uint64_t state = 5, asks;
	unsigned int count, i, seed;
	const struct df_spec *spec;

	(void)unused;
	packet_start(&sender, &plain);
	for (count = 1; count <= RTE_DIM(pkts); count++) {
		seed = count;
		for (i = 0; i < count; i++) {
			spec = &specs[(seed + i * i) % RTE_DIM(specs)];
			asks = i % 5 == 4 ? 0 : packet_checksums(spec);
			pkts[i] = packet_make(spec, asks, e2e_random(&state) % 8 == 0 ? 3 : 1, i);
		}
		packet_send(0, pkts, count);
		for (i = 0; i < count; i++)
			packet_expect_spec(&specs[(seed + i * i) % RTE_DIM(specs)], i);
	}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

/* One of the two checksums: the other field is as the packet has it. */
static void
only_what_is_asked_for_is_made(void **unused)
{
	const struct df_spec *spec = &specs[0];
	uint8_t frame[256];
	uint32_t bytes;
	struct rte_mbuf *mbuf;

	(void)unused;
	packet_start(&sender, &plain);
	bytes = packet_build(frame, spec, 0);
	memset(frame + df_l4_checksum_at(spec), 0x77, 2);
	mbuf = packet_mbuf(frame, bytes, 1, spec);
	memset(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, df_l3(spec) + 10), 0, 2);
	mbuf->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	packet_send(0, &mbuf, 1);
	packet_expect(frame, bytes);
	bytes = packet_build(frame, spec, 0);
	memset(frame + df_l3(spec) + 10, 0x77, 2);
	mbuf = packet_mbuf(frame, bytes, 1, spec);
	memset(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, df_l4_checksum_at(spec)), 0, 2);
	mbuf->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	packet_send(0, &mbuf, 1);
	packet_expect(frame, bytes);
	packet_stop();
}

static void
tags_are_inserted(void **unused)
{
	const uint16_t tci = 0xb00d;
	struct rte_mbuf *mbuf;
	struct df_spec with;
	unsigned int i, segs, asks;

	(void)unused;
	packet_start(&sender, &plain);
	for (i = 0; i < RTE_DIM(specs); i++) {
		if (specs[i].tags == DF_TAGS)
			continue;
		for (segs = 1; segs <= 3; segs++)
			for (asks = 0; asks < 2; asks++) {
				mbuf = packet_make(&specs[i],
						   asks ? packet_checksums(&specs[i]) : 0, segs, i);
				mbuf->ol_flags |= RTE_MBUF_F_TX_VLAN;
				mbuf->vlan_tci = tci;
				assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), 1);
				packet_send(0, &mbuf, 1);
				with = packet_tagged(&specs[i], tci);
				packet_expect_spec(&with, i);
			}
	}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

static void
large_sends_become_segments(void **unused)
{
	static const uint32_t payloads[] = { 1, 100, 1399, 1400, 1401, 2800, 10007, 60000 };
	static const struct df_spec kinds[] = {
		{ .version = 4,
		  .proto = DF_TCP,
		  .tcp_flags = ACK | PSH | FIN | CWR,
		  .ip_id = 0xfffe,
		  .seq = 0xfffff000 },
		{ .version = 4,
		  .proto = DF_TCP,
		  .ip_options = 12,
		  .tcp_options = 12,
		  .tcp_flags = ACK },
		{ .version = 6, .proto = DF_TCP, .tcp_options = 20, .tcp_flags = ACK | PSH },
		{ .tags = 1, .types = { C_TAG }, .tcis = { 9 }, .version = 6, .proto = DF_TCP },
	};
	struct df_spec spec;
	unsigned int i, k, segs;

	(void)unused;
	packet_start(&sender, &plain);
	for (k = 0; k < RTE_DIM(kinds); k++)
		for (i = 0; i < RTE_DIM(payloads); i++)
			for (segs = 1; segs <= 50; segs = segs * 2 + segs % 3) {
				spec = kinds[k];
				spec.payload = payloads[i];
				if ((df_length(&spec) + segs - 1) / segs > 2000)
					continue;
				packet_send_large(&spec, 1400, segs, segs % 2 == 1);
				packet_expect_large(&spec, 1400, segs % 2 == 1);
			}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

/* Nothing to cut: an acknowledgement whose sender asks for segmentation all the same. */
static void
a_large_send_without_payload_is_one_frame(void **unused)
{
	const struct df_spec spec = { .version = 4, .proto = DF_TCP, .tcp_flags = ACK };

	(void)unused;
	packet_start(&sender, &plain);
	packet_send_large(&spec, 1400, 1, false);
	packet_expect_spec(&spec, 0);
	packet_stop();
}

/* The longest headers that there can be, in segments that end within them. */
static void
long_headers_in_many_pieces(void **unused)
{
	struct df_spec spec = { .tags = 1,
				.types = { S_TAG },
				.tcis = { 4 },
				.version = 4,
				.proto = DF_TCP,
				.ip_options = 40,
				.tcp_options = 40,
				.payload = 2000,
				.tcp_flags = ACK };
	unsigned int segs;

	(void)unused;
	packet_start(&sender, &plain);
	for (segs = 2; segs <= 50; segs += 3) {
		packet_send_large(&spec, 700, segs, true);
		packet_expect_large(&spec, 700, true);
	}
	packet_stop();
}

/* Send queues of few descriptors, whose ring large sends fill sooner than their segments do. */
static void
large_sends_among_others_fill_a_small_ring(void **unused)
{
	const struct e2e_conf small = { .tx_offloads = ALL, .tx_desc = 64 };
	struct df_spec large = { .version = 4, .proto = DF_TCP, .tcp_options = 12, .payload = 300 };
	const unsigned int rounds = full_run() ? 5000 : 500;
	unsigned int round, i;
	struct rte_mbuf *pkts[24];

	(void)unused;
	packet_start(&small, &plain);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++) {
			large.seq = round;
			if ((round + i) % 3 == 0) {
				pkts[i] = packet_make(&specs[i % 2],
						      packet_checksums(&specs[i % 2]), 1, i);
				continue;
			}
			pkts[i] = packet_make(&large,
					      RTE_MBUF_F_TX_TCP_SEG | packet_checksums(&large),
					      1 + (round + i) % 2, 0);
			pkts[i]->tso_segsz = 200;
		}
		packet_send(0, pkts, RTE_DIM(pkts));
		for (i = 0; i < RTE_DIM(pkts); i++) {
			if ((round + i) % 3 == 0)
				packet_expect_spec(&specs[i % 2], i);
			else
				packet_expect_large(&large, 200, false);
		}
	}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

/* Taken, dropped, counted: packets whose wish the queue was not configured for. */
static void
what_a_queue_does_not_offer_is_dropped(void **unused)
{
	static const struct {
		uint64_t offloads, ol_flags;
		bool refused;
	} cases[] = {
		{ 0, RTE_MBUF_F_TX_IP_CKSUM, true },
		{ 0, RTE_MBUF_F_TX_TCP_CKSUM, true },
		{ 0, RTE_MBUF_F_TX_TCP_SEG, true },
		{ 0, RTE_MBUF_F_TX_VLAN, true },
		{ 0, RTE_MBUF_F_TX_OUTER_IP_CKSUM, true },
		{ 0, RTE_MBUF_F_TX_SEC_OFFLOAD, true },
		{ RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, RTE_MBUF_F_TX_IP_CKSUM, false },
		{ RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM, true },
		{ RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, RTE_MBUF_F_TX_VLAN, true },
		{ RTE_ETH_TX_OFFLOAD_UDP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM, true },
		{ RTE_ETH_TX_OFFLOAD_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM, true },
		{ RTE_ETH_TX_OFFLOAD_TCP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM, false },
		{ RTE_ETH_TX_OFFLOAD_VLAN_INSERT, RTE_MBUF_F_TX_TCP_SEG, true },
		{ ALL, RTE_MBUF_F_TX_SCTP_CKSUM, true },
		{ ALL, RTE_MBUF_F_TX_QINQ | RTE_MBUF_F_TX_VLAN, true },
		{ ALL, RTE_MBUF_F_TX_UDP_SEG, true },
		{ ALL, RTE_MBUF_F_TX_OUTER_UDP_CKSUM, true },
		{ ALL, RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_TCP_CKSUM, true },
		{ ALL, RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, true },
		/* That it is a tunnel's alone does not ask for anything. */
		{ ALL, RTE_MBUF_F_TX_TUNNEL_VXLAN, false },
		{ 0, RTE_MBUF_F_TX_TUNNEL_GRE | RTE_MBUF_F_TX_OUTER_IPV4, false },
	};
	const struct df_spec *spec = &specs[0];
	struct e2e_conf conf = { 0 };
	struct rte_mbuf *pkts[4];
	unsigned int i, k, segs, refused;
	uint8_t frame[256];

	(void)unused;
	packet_build(frame, spec, 0);
	for (i = 0; i < RTE_DIM(cases); i++) {
		conf.tx_offloads = cases[i].offloads;
		packet_start(&conf, &plain);
		refused = 0;
		for (segs = 1; segs <= 2; segs++) {
			for (k = 0; k < RTE_DIM(pkts); k++)
				pkts[k] =
					packet_mbuf(frame, df_length(spec), k % 2 ? segs : 1, spec);
			/* Not the first of the burst, and not the last. */
			pkts[1]->ol_flags |= cases[i].ol_flags;
			assert_int_equal(rte_eth_tx_prepare(0, 0, pkts, RTE_DIM(pkts)),
					 cases[i].refused ? 1 : RTE_DIM(pkts));
			if (cases[i].refused)
				assert_int_equal(rte_errno, ENOTSUP);
			refused += cases[i].refused;
			packet_send(0, pkts, RTE_DIM(pkts));
			for (k = 0; k < RTE_DIM(pkts) - cases[i].refused; k++)
				packet_expect(frame, df_length(spec));
		}
		assert_true(e2e_silent(1));
		assert_int_equal(packet_errors(), refused);
		packet_stop();
	}
}

/* Two queues of a port, each with offloads of its own. */
static void
queues_offer_what_each_was_set_up_for(void **unused)
{
	const struct rte_eth_conf conf = { .rxmode = { .mtu = 1500 } };
	struct rte_eth_txconf tx[2] = { { .offloads = RTE_ETH_TX_OFFLOAD_TCP_CKSUM },
					{ .offloads = 0 } };
	const struct df_spec *spec = &specs[0];
	struct rte_mbuf *mbuf;
	uint16_t queue;

	(void)unused;
	assert_int_equal(e2e_port_setup(1, &plain), 0);
	assert_int_equal(rte_eth_dev_configure(0, 1, 2, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 64, SOCKET_ID_ANY, NULL, e2e_pool), 0);
	for (queue = 0; queue < 2; queue++)
		assert_int_equal(rte_eth_tx_queue_setup(0, queue, 128, SOCKET_ID_ANY, &tx[queue]),
				 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_true(e2e_wait_link(0, true));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	for (queue = 0; queue < 2; queue++) {
		mbuf = packet_make(spec, RTE_MBUF_F_TX_TCP_CKSUM, 1, 3);
		packet_send(queue, &mbuf, 1);
	}
	packet_expect_spec(spec, 3);
	assert_true(e2e_silent(1));
	assert_int_equal(packet_errors(), 1);
	packet_stop();
}

/* Headers that are not what the packet says, found before a burst. */
static void
prepare_finds_what_the_device_would_not(void **unused)
{
	enum { L2 = 1, L3, L4, FRAGMENT, PROTO, LENGTH, SHORT, MSS, ALL_HEADER };
	static const int faults[] = {
		0, L2, L3, L4, FRAGMENT, PROTO, LENGTH, SHORT, MSS, ALL_HEADER
	};
	struct df_spec spec = { .version = 4, .proto = DF_TCP, .payload = 500 };
	struct rte_mbuf *mbuf;
	unsigned int i;
	uint8_t *ip;

	(void)unused;
	packet_start(&sender, &plain);
	for (i = 0; i < RTE_DIM(faults); i++) {
		mbuf = packet_make(&spec, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM, 1, 0);
		mbuf->tso_segsz = 100;
		if (faults[i] == LENGTH || faults[i] == FRAGMENT || faults[i] == PROTO)
			mbuf->ol_flags ^= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
		ip = rte_pktmbuf_mtod_offset(mbuf, uint8_t *, 14);
		switch (faults[i]) {
		case L2: mbuf->l2_len += 4; break;
		case L3: mbuf->l3_len += 4; break;
		case L4: mbuf->l4_len += 4; break;
		case FRAGMENT: ip[6] = 0x20; break;
		case PROTO: ip[9] = DF_UDP; break;
		case LENGTH: ip[2] += 1; break;
		case SHORT: rte_pktmbuf_trim(mbuf, 510); break;
		case MSS: mbuf->tso_segsz = 31; break;
		case ALL_HEADER:
			mbuf->tso_segsz = 1500;
			spec.payload = 500;
			break;
		default: break;
		}
		rte_errno = 0;
		/* A segment of 1500 bytes would do if there were so many. */
		assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1),
				 faults[i] == 0 || faults[i] == ALL_HEADER);
		assert_int_equal(rte_errno, faults[i] == 0 || faults[i] == ALL_HEADER ? 0 : EINVAL);
		rte_pktmbuf_free(mbuf);
	}
	packet_stop();
}

/* Without asking before: the bad one is dropped alone, and its neighbours know nothing of it. */
static void
a_large_send_that_cannot_be_cut_is_dropped_alone(void **unused)
{
	enum { L2, L3, L4, FRAGMENT, PROTO, VERSION, FAULTS };
	const struct df_spec *good = &specs[0];
	struct df_spec spec = { .version = 4, .proto = DF_TCP, .payload = 500 };
	struct rte_mbuf *pkts[3], *bad;
	unsigned int i;
	uint8_t *ip;

	(void)unused;
	packet_start(&sender, &plain);
	for (i = 0; i < FAULTS; i++) {
		pkts[0] = packet_make(good, packet_checksums(good), 1, 2 * i);
		pkts[1] = bad = packet_make(&spec, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM,
					    1 + i % 2, 0);
		pkts[2] = packet_make(good, packet_checksums(good), 1, 2 * i + 1);
		bad->tso_segsz = 100;
		ip = rte_pktmbuf_mtod_offset(bad, uint8_t *, 14);
		switch (i) {
		case L2: bad->l2_len += 4; break;
		case L3: bad->l3_len += 4; break;
		case L4: bad->l4_len += 4; break;
		case FRAGMENT: ip[6] = 0x20; break;
		case PROTO: ip[9] = DF_UDP; break;
		default: ip[0] = 0x65; break;
		}
		packet_send(0, pkts, RTE_DIM(pkts));
		packet_expect_spec(good, 2 * i);
		packet_expect_spec(good, 2 * i + 1);
		assert_int_equal(packet_errors(), i + 1);
	}
	assert_true(e2e_silent(1));
	packet_stop();
}

/* Segments beyond the MTU, a tag that makes the frame too long, more bytes than the device cuts: counted, not sent. */
static void
frames_that_would_become_too_long_are_dropped(void **unused)
{
	struct df_spec spec = { .version = 4, .proto = DF_TCP, .payload = 9000 };
	struct df_spec full = { .version = 4, .proto = DF_UDP, .payload = 1472 + 4 };
	struct rte_mbuf *mbuf;
	unsigned int i;

	(void)unused;
	packet_start(&sender, &plain);
	for (i = 0; i < 2; i++) {
		mbuf = packet_make(&spec, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM, 5, 0);
		/* 1,518 bytes are an MTU of 1500 with a tag. */
		mbuf->tso_segsz = 1518 - 54 + (i == 0);
		assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), i);
		packet_send(0, &mbuf, 1);
		assert_int_equal(packet_errors(), 1);
	}
	packet_expect_large(&spec, 1518 - 54, false);
	for (i = 0; i < 2; i++) {
		mbuf = packet_make(&full, 0, 1, 0);
		mbuf->ol_flags |= i == 0 ? RTE_MBUF_F_TX_VLAN : 0;
		assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), i);
		packet_send(0, &mbuf, 1);
		assert_int_equal(packet_errors(), 2);
	}
	packet_expect_spec(&full, 0);
	packet_stop();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(checksums_are_made, packet_teardown),
		cmocka_unit_test_teardown(each_packet_of_a_burst_gets_what_it_asks_for,
					  packet_teardown),
		cmocka_unit_test_teardown(only_what_is_asked_for_is_made, packet_teardown),
		cmocka_unit_test_teardown(tags_are_inserted, packet_teardown),
		cmocka_unit_test_teardown(large_sends_become_segments, packet_teardown),
		cmocka_unit_test_teardown(a_large_send_without_payload_is_one_frame,
					  packet_teardown),
		cmocka_unit_test_teardown(long_headers_in_many_pieces, packet_teardown),
		cmocka_unit_test_teardown(large_sends_among_others_fill_a_small_ring,
					  packet_teardown),
		cmocka_unit_test_teardown(what_a_queue_does_not_offer_is_dropped, packet_teardown),
		cmocka_unit_test_teardown(queues_offer_what_each_was_set_up_for, packet_teardown),
		cmocka_unit_test_teardown(prepare_finds_what_the_device_would_not, packet_teardown),
		cmocka_unit_test_teardown(a_large_send_that_cannot_be_cut_is_dropped_alone,
					  packet_teardown),
		cmocka_unit_test_teardown(frames_that_would_become_too_long_are_dropped,
					  packet_teardown),
	};
	int failed;

	if (packet_init("offload_tx", argc, argv) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	e2e_fini();
	return failed;
}
