/* SPDX-License-Identifier: BSD-3-Clause */

/* What is told of packets that come: checksums, types, tags, hashes, times; against what the test knows of them. */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>
#include <rte_mbuf_ptype.h>

#include "packet.h"

#define CHECKSUM_FLAGS (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)
#define VLAN_FLAGS     (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)
#define IP_GOOD	       RTE_MBUF_F_RX_IP_CKSUM_GOOD
#define IP_BAD	       RTE_MBUF_F_RX_IP_CKSUM_BAD
#define L4_GOOD	       RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define L4_BAD	       RTE_MBUF_F_RX_L4_CKSUM_BAD
#define C_TAG	       0x8100
#define S_TAG	       0x88a8
#define MORE_FRAGMENTS 0x2000
#define ICMP	       1

#define ETHER_IPV4 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4)
#define ETHER_EXT  (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT)
#define ETHER_IPV6 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN)

static const struct e2e_conf plain = { 0 };

/* Which byte of a frame is wrong, counted from where. */
enum damage { NONE, IP_HEADER, L4_HEADER, PAYLOAD, NO_UDP_CHECKSUM };

static const struct kind {
	struct df_spec spec;
	enum damage damage;
	uint64_t checksums;
	uint32_t ptype;
} kinds[] = {
	{ { .version = 4, .proto = DF_TCP, .payload = 10 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = DF_TCP, .payload = 10, .tcp_flags = 0x10 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = DF_TCP, .tcp_flags = 0x10 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = DF_UDP, .payload = 1401 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_UDP },
	{ { .version = 4, .proto = DF_UDP, .payload = 18, .padding = 4 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_UDP },
	{ { .version = 4, .proto = DF_UDP, .payload = 100 },
	  NO_UDP_CHECKSUM,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_UDP },
	{ { .version = 4, .proto = DF_TCP, .ip_options = 8, .payload = 30 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_EXT | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = ICMP, .payload = 60 }, NONE, IP_GOOD, ETHER_IPV4 },
	{ { .version = 4, .proto = DF_UDP, .fragment = MORE_FRAGMENTS, .payload = 200 },
	  NONE,
	  IP_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_FRAG },
	{ { .version = 4, .proto = DF_UDP, .fragment = 10, .payload = 200 },
	  NONE,
	  IP_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_FRAG },
	{ { .version = 6, .proto = DF_TCP, .payload = 10 },
	  NONE,
	  L4_GOOD,
	  ETHER_IPV6 | RTE_PTYPE_L4_TCP },
	{ { .version = 6, .proto = DF_UDP, .payload = 1402 },
	  NONE,
	  L4_GOOD,
	  ETHER_IPV6 | RTE_PTYPE_L4_UDP },
	{ { .version = 6, .proto = DF_UDP, .ip_options = 8, .payload = 33 },
	  NONE,
	  L4_GOOD,
	  ETHER_IPV6 | RTE_PTYPE_L4_UDP },
	{ { .version = 6, .proto = DF_TCP, .ip_options = 16, .payload = 33 },
	  PAYLOAD,
	  L4_BAD,
	  ETHER_IPV6 | RTE_PTYPE_L4_TCP },
	{ { .version = 6, .proto = 58, .payload = 40 }, NONE, 0, ETHER_IPV6 },
	{ { .version = 0, .payload = 80 }, NONE, 0, RTE_PTYPE_L2_ETHER },
	{ { .tags = 1,
	    .types = { C_TAG },
	    .tcis = { 7 },
	    .version = 4,
	    .proto = DF_TCP,
	    .payload = 50 },
	  NONE,
	  IP_GOOD | L4_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = DF_TCP, .payload = 10 },
	  IP_HEADER,
	  IP_BAD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = ICMP, .payload = 60 }, IP_HEADER, IP_BAD, ETHER_IPV4 },
	{ { .version = 4, .proto = DF_TCP, .payload = 10 },
	  L4_HEADER,
	  IP_GOOD | L4_BAD,
	  ETHER_IPV4 | RTE_PTYPE_L4_TCP },
	{ { .version = 4, .proto = DF_UDP, .payload = 1001 },
	  PAYLOAD,
	  IP_GOOD | L4_BAD,
	  ETHER_IPV4 | RTE_PTYPE_L4_UDP },
	{ { .version = 4, .proto = DF_UDP, .ip_options = 40, .payload = 5 },
	  PAYLOAD,
	  IP_GOOD | L4_BAD,
	  ETHER_EXT | RTE_PTYPE_L4_UDP },
	{ { .version = 6, .proto = DF_TCP, .payload = 900 },
	  PAYLOAD,
	  L4_BAD,
	  ETHER_IPV6 | RTE_PTYPE_L4_TCP },
	{ { .version = 6, .proto = DF_UDP, .payload = 9 },
	  L4_HEADER,
	  L4_BAD,
	  ETHER_IPV6 | RTE_PTYPE_L4_UDP },
	{ { .version = 6, .proto = DF_UDP, .payload = 9 },
	  NO_UDP_CHECKSUM,
	  L4_BAD,
	  ETHER_IPV6 | RTE_PTYPE_L4_UDP },
	/* The data of a fragment are nobody's to verify. */
	{ { .version = 4, .proto = DF_UDP, .fragment = MORE_FRAGMENTS, .payload = 200 },
	  PAYLOAD,
	  IP_GOOD,
	  ETHER_IPV4 | RTE_PTYPE_L4_FRAG },
};

static uint32_t
build(uint8_t *frame, const struct kind *kind)
{
	uint32_t bytes = packet_build(frame, &kind->spec, 0);

	switch (kind->damage) {
	case NONE: break;
	case IP_HEADER: frame[df_l3(&kind->spec) + 8] ^= 1; break;
	case L4_HEADER: frame[df_l4(&kind->spec)] ^= 1; break;
	case PAYLOAD: frame[df_payload(&kind->spec) + kind->spec.payload - 1] ^= 0x80; break;
	case NO_UDP_CHECKSUM: memset(frame + df_l4_checksum_at(&kind->spec), 0, 2); break;
	}
	return bytes;
}

/* Send frames of all kinds at once; they come in order, and are the caller's. */
static void
exchange(struct rte_mbuf **pkts, unsigned int segs)
{
	static uint8_t frame[PACKET_ROOM];
	unsigned int i;
	uint32_t bytes;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		bytes = build(frame, &kinds[i]);
		pkts[i] = packet_mbuf(frame, bytes, segs, &kinds[i].spec);
	}
	packet_send(0, pkts, RTE_DIM(kinds));
	for (i = 0; i < RTE_DIM(kinds); i++) {
		bytes = build(frame, &kinds[i]);
		pkts[i] = packet_receive(frame, bytes);
	}
}

static void
expect_checksums(uint64_t mask, const struct e2e_conf *conf)
{
	struct rte_mbuf *pkts[RTE_DIM(kinds)];
	uint64_t got, expected;
	unsigned int i;

	packet_start(&plain, conf);
	exchange(pkts, 1);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		got = pkts[i]->ol_flags & CHECKSUM_FLAGS;
		expected = kinds[i].checksums & mask;
		if (got != expected)
			fail_msg("kind %u: flags 0x%" PRIx64 ", not 0x%" PRIx64, i, got, expected);
		assert_int_equal(pkts[i]->ol_flags & (VLAN_FLAGS | RTE_MBUF_F_RX_RSS_HASH), 0);
		rte_pktmbuf_free(pkts[i]);
	}
	packet_stop();
}

static void
checksums_are_verified(void **unused)
{
	const struct e2e_conf all = { .rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM };
	const struct e2e_conf ip = { .rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM };

	(void)unused;
	expect_checksums(UINT64_MAX, &all);
	expect_checksums(RTE_MBUF_F_RX_IP_CKSUM_MASK, &ip);
	expect_checksums(0, &plain);
}

/* Each of TCP and UDP for itself. */
static void
checksums_of_one_protocol(void **unused)
{
	const struct e2e_conf tcp = { .rx_offloads = RTE_ETH_RX_OFFLOAD_TCP_CKSUM };
	struct rte_mbuf *pkts[RTE_DIM(kinds)];
	uint64_t expected;
	unsigned int i;

	(void)unused;
	packet_start(&plain, &tcp);
	exchange(pkts, 1);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		expected = (kinds[i].ptype & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP
				   ? kinds[i].checksums & RTE_MBUF_F_RX_L4_CKSUM_MASK
				   : 0;
		assert_int_equal(pkts[i]->ol_flags & CHECKSUM_FLAGS, expected);
		rte_pktmbuf_free(pkts[i]);
	}
	packet_stop();
}

static void
packet_types_are_told(void **unused)
{
	struct rte_mbuf *pkts[RTE_DIM(kinds)];
	uint32_t supported[16], all = 0;
	int count, k;
	unsigned int i;

	(void)unused;
	count = rte_eth_dev_get_supported_ptypes(1, RTE_PTYPE_ALL_MASK, supported, 16);
	assert_in_range(count, 1, 16);
	packet_start(&plain, &plain);
	exchange(pkts, 1);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		assert_int_equal(pkts[i]->packet_type, kinds[i].ptype);
		all |= kinds[i].ptype;
		rte_pktmbuf_free(pkts[i]);
	}
	/* What is said to be supported has been seen. */
	for (k = 0; k < count; k++)
		assert_int_equal(all & supported[k], supported[k]);
	packet_stop();
}

/* Only some layers, or none. */
static void
packet_types_that_are_not_wanted_are_not_told(void **unused)
{
	static const uint32_t masks[] = { RTE_PTYPE_L3_MASK, RTE_PTYPE_L2_MASK | RTE_PTYPE_L4_MASK,
					  0, RTE_PTYPE_ALL_MASK };
	struct rte_mbuf *pkts[RTE_DIM(kinds)];
	struct rte_eth_burst_mode mode;
	unsigned int i, k;

	(void)unused;
	for (k = 0; k < RTE_DIM(masks); k++) {
		assert_true(rte_eth_dev_set_ptypes(1, masks[k], NULL, 0) >= 0);
		packet_start(&plain, &plain);
		assert_int_equal(rte_eth_rx_burst_mode_get(1, 0, &mode), 0);
		assert_true((strstr(mode.info, "offloads") == NULL) == (masks[k] == 0));
		/* Not while frames come. */
		assert_int_equal(rte_eth_dev_set_ptypes(1, RTE_PTYPE_L4_MASK, NULL, 0), -EBUSY);
		exchange(pkts, 1);
		for (i = 0; i < RTE_DIM(kinds); i++) {
			assert_int_equal(pkts[i]->packet_type, kinds[i].ptype & masks[k]);
			rte_pktmbuf_free(pkts[i]);
		}
		packet_stop();
	}
}

/* Frames over several mbufs say it in the first. */
static void
large_frames_are_told_of_as_well(void **unused)
{
	struct e2e_conf jumbo = { .mtu = 9000, .rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM };
	struct kind kind = { { .version = 4, .proto = DF_TCP, .payload = 8900 },
			     NONE,
			     IP_GOOD | L4_GOOD,
			     ETHER_IPV4 | RTE_PTYPE_L4_TCP };
	static uint8_t frame[PACKET_ROOM];
	struct rte_mbuf *mbuf;
	uint32_t bytes;

	(void)unused;
	packet_start(&(struct e2e_conf){ .mtu = 9000 }, &jumbo);
	for (kind.damage = NONE; kind.damage <= PAYLOAD; kind.damage++) {
		bytes = build(frame, &kind);
		mbuf = packet_mbuf(frame, bytes, 6, &kind.spec);
		packet_send(0, &mbuf, 1);
		mbuf = packet_receive(frame, bytes);
		assert_true(mbuf->nb_segs > 1);
		assert_int_equal(mbuf->packet_type, kind.ptype);
		assert_int_equal(mbuf->ol_flags & CHECKSUM_FLAGS,
				 kind.damage == NONE	    ? IP_GOOD | L4_GOOD
				 : kind.damage == IP_HEADER ? IP_BAD
							    : IP_GOOD | L4_BAD);
		rte_pktmbuf_free(mbuf);
	}
	packet_stop();
}

/* ---- VLAN tags ---- */

static const struct df_spec untagged = { .version = 4, .proto = DF_UDP, .payload = 77 };

/* With and without tags; what is stripped must be told of. */
static void
expect_stripping(bool strip)
{
	static const uint16_t types[] = { 0, C_TAG, S_TAG };
	static uint8_t sent[PACKET_ROOM], bare[PACKET_ROOM];
	uint32_t bytes, bare_bytes;
	struct rte_mbuf *mbuf;
	struct df_spec spec;
	unsigned int i;
	bool stripped;

	for (i = 0; i < RTE_DIM(types); i++) {
		spec = untagged;
		spec.tags = types[i] != 0;
		spec.types[0] = types[i];
		spec.tcis[0] = 0xa123;
		bytes = packet_build(sent, &spec, 0);
		bare_bytes = packet_build(bare, &untagged, 0);
		mbuf = packet_mbuf(sent, bytes, 1, &spec);
		packet_send(0, &mbuf, 1);
		stripped = strip && types[i] == C_TAG;
		mbuf = packet_receive(stripped ? bare : sent, stripped ? bare_bytes : bytes);
		assert_int_equal(mbuf->ol_flags & VLAN_FLAGS, stripped ? VLAN_FLAGS : 0);
		if (stripped)
			assert_int_equal(mbuf->vlan_tci, 0xa123);
		rte_pktmbuf_free(mbuf);
	}
}

static void
tags_are_stripped(void **unused)
{
	const struct e2e_conf strip = { .rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP };

	(void)unused;
	packet_start(&plain, &strip);
	expect_stripping(true);
	packet_stop();
	packet_start(&plain, &plain);
	expect_stripping(false);
	packet_stop();
}

static void
stripping_is_switched_while_frames_come(void **unused)
{
	const struct e2e_conf checksum = { .rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM };
	unsigned int i;

	(void)unused;
	packet_start(&plain, &checksum);
	for (i = 0; i < 6; i++) {
		assert_int_equal(
			rte_eth_dev_set_vlan_offload(1, i % 2 ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0), 0);
		expect_stripping(i % 2);
	}
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, 0, 0), 0);
	expect_stripping(false);
	packet_stop();
}

/* That it strips no more does not change the burst function, nor what is said of it. */
static void
the_burst_function_stays_while_stripping_ends(void **unused)
{
	const struct e2e_conf strip = { .rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP };
	struct rte_eth_burst_mode mode;

	(void)unused;
	assert_true(rte_eth_dev_set_ptypes(1, 0, NULL, 0) >= 0);
	packet_start(&plain, &strip);
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, 0), 0);
	expect_stripping(false);
	assert_int_equal(rte_eth_rx_burst_mode_get(1, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "offloads"));
	packet_stop();
	assert_true(rte_eth_dev_set_ptypes(1, RTE_PTYPE_ALL_MASK, NULL, 0) >= 0);
}

/* Burst functions that look at nothing would lose the tag. */
static void
a_port_without_offloads_does_not_begin_to_strip(void **unused)
{
	(void)unused;
	assert_true(rte_eth_dev_set_ptypes(1, 0, NULL, 0) >= 0);
	packet_start(&plain, &plain);
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), -EBUSY);
	expect_stripping(false);
	packet_stop();
	assert_true(rte_eth_dev_set_ptypes(1, RTE_PTYPE_ALL_MASK, NULL, 0) >= 0);
}

/* ---- Hashes ---- */

static void
hashes_are_told(void **unused)
{
	struct e2e_conf conf = {
		.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH,
		.rss = true,
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
			  RTE_ETH_RSS_NONFRAG_IPV6_UDP,
	};
	uint8_t key[40];
	static uint8_t frame[PACKET_ROOM];
	const struct df_spec *spec;
	struct rte_mbuf *mbuf;
	unsigned int i, hashed = 0;
	uint64_t state = 3;
	bool ports, any;

	(void)unused;
	for (i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)e2e_random(&state);
	conf.rss_key = key;
	packet_start(&plain, &conf);
	for (i = 0; i < 4 * RTE_DIM(kinds); i++) {
		spec = &kinds[i % RTE_DIM(kinds)].spec;
		packet_build(frame, spec, 0);
		if (spec->version == 4)
			frame[df_l3(spec) + 15] = (uint8_t)i;
		mbuf = packet_mbuf(frame, df_length(spec), 1, spec);
		packet_send(0, &mbuf, 1);
		mbuf = packet_receive(frame, df_length(spec));
		/* Spreading does not look behind headers of IPv6's own. */
		ports = spec->version == 4 ? spec->proto == DF_TCP && spec->fragment == 0
					   : spec->proto == DF_UDP && spec->ip_options == 0;
		any = spec->version == 4 || ports;
		assert_int_equal((mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, any);
		if (any)
			assert_int_equal(mbuf->hash.rss, packet_hash(frame, spec, ports, key));
		hashed += any;
		rte_pktmbuf_free(mbuf);
	}
	assert_true(hashed > 40);
	packet_stop();
}

/* ---- Times ---- */

static void
timestamps_are_of_the_device_s_clock(void **unused)
{
	const struct e2e_conf conf = { .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP };
	uint64_t before, after, time, flag = 0, last = 0;
	struct rte_mbuf *mbuf;
	uint8_t frame[256];
	int offset = -1;
	unsigned int i, fresh = 0;

	(void)unused;
	packet_start(&plain, &conf);
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&offset, &flag), 0);
	for (i = 0; i < 50; i++) {
		packet_build(frame, &untagged, 0);
		mbuf = packet_mbuf(frame, df_length(&untagged), 1, &untagged);
		assert_int_equal(rte_eth_read_clock(1, &before), 0);
		packet_send(0, &mbuf, 1);
		mbuf = packet_receive(frame, df_length(&untagged));
		assert_int_equal(rte_eth_read_clock(1, &after), 0);
		assert_true(mbuf->ol_flags & flag);
		time = *RTE_MBUF_DYNFIELD(mbuf, offset, rte_mbuf_timestamp_t *);
		assert_true(time > last && time <= after);
		last = time;
		/* Of the poll in which it came, which had not begun much before. */
		fresh += time + 1000000000 > before;
		rte_pktmbuf_free(mbuf);
		rte_delay_us_sleep(100);
	}
	packet_stop();
	/* A device thread may lose its CPU in a poll, but not in each of them. */
	assert_true(fresh > i / 2);
	/* Not asked for: not told. */
	packet_start(&plain, &plain);
	mbuf = packet_mbuf(frame, df_length(&untagged), 1, &untagged);
	packet_send(0, &mbuf, 1);
	mbuf = packet_receive(frame, df_length(&untagged));
	assert_int_equal(mbuf->ol_flags & flag, 0);
	rte_pktmbuf_free(mbuf);
	packet_stop();
}

/* ---- All of it, and nothing left over from one frame to the next ---- */

static void
mbufs_say_nothing_of_earlier_frames(void **unused)
{
	const struct e2e_conf all = {
		.rx_desc = 64,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
			       RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TIMESTAMP,
		.rss = true,
		.rss_hf = RTE_ETH_RSS_IPV4,
	};
	static uint8_t frame[PACKET_ROOM];
	struct rte_mbuf *pkts[RTE_DIM(kinds)];
	const struct kind *kind;
	unsigned int round, i;
	bool tagged;

	(void)unused;
	packet_start(&plain, &all);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < RTE_DIM(kinds); i++) {
			kind = &kinds[(i * 5 + round) % RTE_DIM(kinds)];
			pkts[i] = packet_mbuf(frame, build(frame, kind), 1, &kind->spec);
		}
		packet_send(0, pkts, RTE_DIM(kinds));
		assert_int_equal(e2e_receive(1, pkts, RTE_DIM(kinds)), RTE_DIM(kinds));
		for (i = 0; i < RTE_DIM(kinds); i++) {
			kind = &kinds[(i * 5 + round) % RTE_DIM(kinds)];
			tagged = kind->spec.tags > 0;
			assert_int_equal(pkts[i]->pkt_len,
					 df_length(&kind->spec) - (tagged ? 4 : 0));
			assert_int_equal(pkts[i]->packet_type, kind->ptype);
			assert_int_equal(pkts[i]->ol_flags & CHECKSUM_FLAGS, kind->checksums);
			assert_int_equal(pkts[i]->ol_flags & VLAN_FLAGS, tagged ? VLAN_FLAGS : 0);
			assert_int_equal((pkts[i]->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0,
					 kind->spec.version == 4);
			rte_pktmbuf_free(pkts[i]);
		}
	}
	packet_stop();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(checksums_are_verified, packet_teardown),
		cmocka_unit_test_teardown(checksums_of_one_protocol, packet_teardown),
		cmocka_unit_test_teardown(packet_types_are_told, packet_teardown),
		cmocka_unit_test_teardown(packet_types_that_are_not_wanted_are_not_told,
					  packet_teardown),
		cmocka_unit_test_teardown(large_frames_are_told_of_as_well, packet_teardown),
		cmocka_unit_test_teardown(tags_are_stripped, packet_teardown),
		cmocka_unit_test_teardown(stripping_is_switched_while_frames_come, packet_teardown),
		cmocka_unit_test_teardown(the_burst_function_stays_while_stripping_ends,
					  packet_teardown),
		cmocka_unit_test_teardown(a_port_without_offloads_does_not_begin_to_strip,
					  packet_teardown),
		cmocka_unit_test_teardown(hashes_are_told, packet_teardown),
		cmocka_unit_test_teardown(timestamps_are_of_the_device_s_clock, packet_teardown),
		cmocka_unit_test_teardown(mbufs_say_nothing_of_earlier_frames, packet_teardown),
	};
	int failed;

	if (packet_init("offload_rx", argc, argv) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	e2e_fini();
	return failed;
}
