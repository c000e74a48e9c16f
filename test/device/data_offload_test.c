/* SPDX-License-Identifier: BSD-3-Clause */

/* What send queues do to frames: checksums and VLAN tags, byte for byte, and what is refused. */
#include "data_frames.h"
#include "driver/counter.h"
#include "driver/cap.h"

#define BOTH  (RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM)
#define CVLAN 0x8100
#define SVLAN 0x88a8

static uint8_t expected[DF_ROOM], kept[DF_ROOM];

/* Build it twice: to send, with nonsense for checksums; as it should arrive. */
static uint32_t
build(struct df_world *w, const struct df_spec *spec)
{
	uint32_t bytes = df_build(expected, spec, 0);

	memcpy(w->out, expected, bytes);
	if (spec->version == 4)
		memcpy(w->out + df_l3(spec) + 10, "\xde\xad", 2);
	if (spec->proto == DF_TCP || spec->proto == DF_UDP)
		memcpy(w->out + df_l4_checksum_at(spec), "\xbe\xef", 2);
	memcpy(kept, w->out, bytes);
	return bytes;
}

/* A SEND with these flags arrives as expected; the sender's memory is as it was. */
static void
send_expected(struct df_world *w, uint32_t bytes, uint32_t segments, uint8_t cs_flags)
{
	df_wqe(w, bytes, segments)->cs_flags = cs_flags;
	df_ring(w);
	df_expect(w, expected, bytes);
	assert_memory_equal(w->out, kept, bytes);
}

static const struct df_spec kinds[] = {
	{ DF_TCP4 },
	{ DF_UDP4 },
	{ DF_TCP6 },
	{ DF_UDP6 },
	{ DF_TCP4, .ip_options = 40, .tcp_options = 40 },
	{ DF_UDP4, .ip_options = 4, .padding = 5 },
	{ DF_TCP6, .tcp_options = 12, .padding = 1 },
	{ DF_UDP6, .ip_options = 8 },
	{ DF_TCP6, .ip_options = 24, .padding = 7 },
	{ DF_TCP4, DF_TAG(CVLAN, 0x2064) },
	{ DF_UDP6, DF_TAG(SVLAN, 0x0001) },
	{ DF_UDP4, DF_TAGS_OF(SVLAN, 0x0fff, CVLAN, 0xe064) },
	{ DF_TCP4, DF_TAGS_OF(CVLAN, 1, CVLAN, 2), .ip_options = 40, .tcp_options = 40 },
	{ DF_TCP6, DF_TAGS_OF(SVLAN, 1, CVLAN, 2), .tcp_options = 40 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Headers of every kind, payloads of even and odd length, in pieces that begin at even and odd bytes. */
static void
test_checksums_are_inserted(void **state)
{
	static const uint32_t payloads[] = { 0, 1, 2, 3, 17, 64, 555, 1400, 8800 };
	struct df_world *w = *state;
	uint32_t kind, i, segments, sent = 0;
	struct df_spec spec;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
			for (segments = 1; segments <= 7; segments += 2) {
				spec = kinds[kind];
				spec.payload = payloads[i];
				send_expected(w, build(w, &spec), segments, BOTH);
				sent++;
			}
	assert_int_equal(dp_stats(&w->dp).tx_checksums, sent);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_good, sent);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_bad, 0);
}

/* One of the two: the other field arrives as it was sent. */
static void
test_only_what_is_asked_for(void **state)
{
	struct df_world *w = *state;
	struct df_spec spec;
	uint32_t kind, bytes;

	for (kind = 0; kind < KINDS; kind++) {
		spec = kinds[kind];
		spec.payload = 100;
		bytes = build(w, &spec);
		memcpy(expected + df_l4_checksum_at(&spec), "\xbe\xef", 2);
		send_expected(w, bytes, 1, RNIC_WQE_ETH_L3_CSUM);
		bytes = build(w, &spec);
		if (spec.version == 4)
			memcpy(expected + df_l3(&spec) + 10, "\xde\xad", 2);
		send_expected(w, bytes, 1, RNIC_WQE_ETH_L4_CSUM);
		bytes = build(w, &spec);
		memcpy(expected, kept, bytes);
		send_expected(w, bytes, 1, 0);
	}
}

/* A UDP checksum that comes out as 0 is sent as ffff, one of TCP is not. */
static void
test_a_checksum_of_zero(void **state)
{
	struct df_world *w = *state;
	struct df_spec spec = { .version = 4, .payload = 20 };
	uint32_t at, bytes;
	uint8_t *word;

	for (int udp = 0; udp < 2; udp++) {
		spec.proto = udp ? DF_UDP : DF_TCP;
		at = df_l4_checksum_at(&spec);
		df_build(w->out, &spec, 0);
		/* Put the checksum into a word of payload that was zero: then there is nothing left of it. */
		word = w->out + df_payload(&spec);
		bytes = df_length(&spec);
		memset(word, 0, 2);
		memset(w->out + at, 0, 2);
		{
			uint32_t l4 = df_l4(&spec);
			uint32_t sum = df_sum(w->out + 26, 8) + spec.proto + (bytes - l4) +
				       df_sum(w->out + l4, bytes - l4);
			uint16_t fill = (uint16_t)~df_fold(sum);

			word[0] = (uint8_t)(fill >> 8);
			word[1] = (uint8_t)fill;
		}
		memcpy(expected, w->out, bytes);
		memset(expected + at, udp ? 0xff : 0, 2);
		memset(w->out + at, 0x77, 2);
		memcpy(kept, w->out, bytes);
		send_expected(w, bytes, 1, RNIC_WQE_ETH_L4_CSUM);
	}
}

/* Fragments, other protocols, no IP, lengths that lie: no L4 checksum, and the frame goes its way. */
static void
test_frames_without_an_l4_checksum(void **state)
{
	static const struct df_spec others[] = {
		{ DF_UDP4, .fragment = 0x2000, .payload = 64 },
		{ DF_TCP4, .fragment = 0x0010, .payload = 64 },
		{ .version = 4, .proto = 1, .payload = 64 },
		{ .version = 6, .proto = 58, .payload = 64 },
		{ .version = 6, .proto = 44, .payload = 64 },
		{ .payload = 64 },
	};
	struct df_world *w = *state;
	struct df_spec spec;
	uint32_t i, bytes;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		bytes = build(w, &others[i]);
		if (others[i].proto == DF_TCP || others[i].proto == DF_UDP)
			memcpy(expected + df_l4_checksum_at(&others[i]), "\xbe\xef", 2);
		send_expected(w, bytes, 2, BOTH);
	}
	/* The packet claims a byte more than the frame has, or less than its headers. */
	for (i = 0; i < 2; i++) {
		spec = (struct df_spec){ DF_UDP4, .payload = 64 };
		bytes = build(w, &spec);
		w->out[17] = i == 0 ? 20 + 8 + 64 + 1 : 20 + 7;
		memcpy(kept, w->out, bytes);
		memcpy(expected, w->out, bytes);
		send_expected(w, bytes, 1, RNIC_WQE_ETH_L4_CSUM);
	}
	/* Cut in the middle of a header. */
	spec = kinds[0];
	build(w, &spec);
	for (bytes = 14; bytes < 14 + 20 + 20; bytes += 3) {
		memcpy(expected, kept, bytes);
		send_expected(w, bytes, 1, RNIC_WQE_ETH_L4_CSUM);
	}
}

static void
ask_tag(struct rnic_wqe_eth *eth, bool svlan, uint16_t tci)
{
	eth->inline_header_size = rnic_cpu_to_be16(
		(uint16_t)(RNIC_WQE_ETH_INSERT_VLAN | (svlan ? RNIC_WQE_ETH_SVLAN : 0)));
	eth->inline_header_start[0] = (uint8_t)(tci >> 8);
	eth->inline_header_start[1] = (uint8_t)tci;
}

/* Behind the addresses, before what was there; of either type; with checksums and without. */
static void
test_tags_are_inserted(void **state)
{
	static const uint32_t payloads[] = { 0, 1, 46, 1400 };
	struct df_world *w = *state;
	struct rnic_wqe_eth *eth;
	struct df_spec plain, tagged;
	uint32_t kind, i, bytes, sent = 0;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < 4 * sizeof(payloads) / sizeof(payloads[0]); i++) {
			bool svlan = (i & 1) != 0, checksums = (i & 2) != 0;

			plain = kinds[kind];
			plain.payload = payloads[i / 4];
			if (plain.tags == DF_TAGS)
				continue;
			tagged = plain;
			tagged.types[1] = plain.types[0];
			tagged.tcis[1] = plain.tcis[0];
			tagged.types[0] = svlan ? SVLAN : CVLAN;
			tagged.tcis[0] = (uint16_t)(0x1000 + i);
			tagged.tags++;
			bytes = df_build(w->out, &plain, 0);
			if (checksums)
				memset(w->out + df_l4_checksum_at(&plain), 0, 2);
			memcpy(kept, w->out, bytes);
			eth = df_wqe(w, bytes, 1 + i % 3);
			ask_tag(eth, svlan, tagged.tcis[0]);
			if (checksums)
				eth->cs_flags = BOTH;
			df_ring(w);
			df_expect(w, expected, df_build(expected, &tagged, 0));
			assert_memory_equal(w->out, kept, bytes);
			sent++;
		}
	assert_int_equal(dp_stats(&w->dp).tx_vlans, sent);
}

/* The longest frame that could ever go counts with its tag; so do the counters. */
static void
test_lengths_count_the_tag(void **state)
{
	const struct df_spec spec = { .payload = 9018 - 14 - 4 };
	struct df_world *w = *state;
	struct softrnic_stats before = dp_stats(&w->dp), now;
	uint32_t bytes = df_build(w->out, &spec, 0);

	ask_tag(df_wqe(w, bytes, 1), false, 7);
	df_ring(w);
	now = dp_stats(&w->dp);
	assert_int_equal(now.tx_bytes - before.tx_bytes, 9018);
	assert_int_equal(now.rx_bytes - before.rx_bytes, 9018);
	assert_non_null(dp_cq_next(&w->rx_cq));
	/* A byte above the MTU of the day: the port drops it. */
	ask_tag(df_wqe(w, bytes + 1, 1), false, 7);
	df_ring(w);
	assert_int_equal(dp_stats(&w->dp).tx_errors, now.tx_errors + 1);
	assert_int_equal(dp_stats(&w->dp).tx_vlans, now.tx_vlans);
	/* Above every MTU: the queue's error. */
	ask_tag(df_wqe(w, 9996 - 3, 1), false, 7);
	df_ring_fails(w, RNIC_SYND_LOCAL_LENGTH);
	df_wqe(w, 9997, 1)->cs_flags = BOTH;
	df_ring_fails(w, RNIC_SYND_LOCAL_LENGTH);
	/* Nothing, and less than a header. */
	ask_tag(df_wqe(w, 0, 0), false, 7);
	df_ring_fails(w, RNIC_SYND_LOCAL_LENGTH);
	now = dp_stats(&w->dp);
	ask_tag(df_wqe(w, 13, 1), false, 7);
	df_ring(w);
	assert_int_equal(dp_stats(&w->dp).tx_errors, now.tx_errors + 1);
	assert_null(dp_cq_next(&w->rx_cq));
}

/* As many pieces as a frame may have, headers in more of them than one. */
static void
test_many_small_pieces(void **state)
{
	struct df_spec spec = { DF_TCP6, .payload = 500 };
	struct df_world *w = *state;
	struct rnic_wqe_eth *eth;
	uint32_t bytes, i;

	bytes = df_build(w->out, &spec, 0);
	dp_wqe(&w->sq, RNIC_WQE_SEND, RNIC_WQE_DS_MAX, RNIC_WQE_CE_ALWAYS);
	for (i = 0; i < 60; i++)
		dp_wqe_data(&w->sq, 2 + i, w->out + i, 1);
	dp_wqe_data(&w->sq, 62, w->out + 60, bytes - 60);
	eth = dp_wqe_at(&w->sq, 1);
	eth->cs_flags = BOTH;
	ask_tag(eth, false, 0x123);
	spec.tags = 1;
	spec.types[0] = CVLAN;
	spec.tcis[0] = 0x123;
	df_ring(w);
	df_expect(w, expected, df_build(expected, &spec, 0));
}

/* A counter of the port's RFC 2819 group, by its place in it. */
static uint64_t
rfc_2819(struct df_world *w, uint32_t index, bool clear)
{
	return drv_port_counter(&w->dp.drv, 2, index, clear);
}

/* Received frames by their length, with FCS: the ends of each class, and what is too short. */
static void
test_lengths_are_counted_by_class(void **state)
{
	static const struct {
		uint32_t index, first, last;
	} classes[] = {
		{ 6, 18, 63 },	    { 11, 64, 64 },	{ 12, 65, 127 },    { 13, 128, 255 },
		{ 14, 256, 511 },   { 15, 512, 1023 },	{ 16, 1024, 1518 }, { 17, 1519, 2047 },
		{ 18, 2048, 4095 }, { 19, 4096, 8191 }, { 20, 8192, 9022 },
	};
	const uint32_t count = sizeof(classes) / sizeof(classes[0]);
	const struct df_spec spec = { .payload = 9018 - 14 };
	struct df_world *w = *state;
	uint64_t packets = 0, octets = 0;
	struct rnic_cqe cqe;
	uint32_t i, j;

	df_build(w->out, &spec, 0);
	for (i = 0; i < count; i++) {
		/* As often as the class's number says, each end. */
		for (j = 0; j < 2 * (i + 1); j++) {
			uint32_t length = (j & 1) != 0 ? classes[i].last : classes[i].first;

			df_wqe(w, length - 4, 1);
			df_ring(w);
			assert_non_null(df_receive(w, &cqe));
			octets += length;
			packets++;
		}
	}
	for (i = 0; i < count; i++)
		assert_int_equal(rfc_2819(w, classes[i].index, false), 2 * (i + 1));
	assert_int_equal(rfc_2819(w, 1, false), octets);
	assert_int_equal(rfc_2819(w, 2, true), packets);
	assert_int_equal(rfc_2819(w, 2, false), 0);
	for (i = 0; i < count; i++)
		assert_int_equal(rfc_2819(w, classes[i].index, false), 0);
}

/* Flags are those of all packets of the WQE; a tag cannot be. */
static void
test_many_packets_in_a_wqe(void **state)
{
	static const uint32_t payloads[] = { 3, 100, 1400 };
	struct df_world *w = *state;
	struct df_spec spec;
	uint32_t kind, i;

	for (kind = 0; kind < KINDS; kind++) {
		struct rnic_wqe_eth *eth;

		dp_wqe(&w->sq, RNIC_WQE_ENHANCED_MPSW, 5, RNIC_WQE_CE_ALWAYS);
		eth = dp_wqe_at(&w->sq, 1);
		eth->cs_flags = BOTH;
		spec = kinds[kind];
		for (i = 0; i < 3; i++) {
			uint8_t *frame = w->out + i * DF_ROOM;

			spec.payload = payloads[i];
			dp_wqe_data(&w->sq, 2 + i, frame, df_build(frame, &spec, i));
			memset(frame + df_l4_checksum_at(&spec), 0x99, 2);
		}
		df_ring(w);
		for (i = 0; i < 3; i++) {
			spec.payload = payloads[i];
			df_expect(w, expected, df_build(expected, &spec, i));
		}
	}
	dp_wqe(&w->sq, RNIC_WQE_ENHANCED_MPSW, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&w->sq, 2, w->out, 64);
	ask_tag(dp_wqe_at(&w->sq, 1), false, 1);
	df_ring_fails(w, RNIC_SYND_LOCAL_QP_OPERATION);
}

static struct rnic_ethernet_cap
query_ethernet(struct df_world *w)
{
	struct rnic_ethernet_cap cap;

	assert_int_equal(
		drv_cap_query(&w->dp.drv, RNIC_CAP_ETHERNET_OFFLOADS, true, &cap, sizeof(cap)), 0);
	return cap;
}

static void
test_capabilities_say_so(void **state)
{
	struct df_world *w = *state;
	struct rnic_ethernet_cap cap = query_ethernet(w);

	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_CSUM_CAP), 1);
	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_VLAN_CAP), 1);
	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_WQE_VLAN_INSERT), 1);
	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_MAX_LSO_CAP), 18);
}

/* Where the L2 header must be inline there is no place for a tag. */
static void
test_no_insertion_where_headers_are_inline(void **state)
{
	struct df_world *w = *state;
	struct rnic_ethernet_cap cap = query_ethernet(w);

	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_WQE_VLAN_INSERT), 0);
	assert_int_equal(rnic_ethernet_cap_get(&cap, RNIC_ETHERNET_CAP_CSUM_CAP), 1);
	ask_tag(df_wqe(w, 64, 1), false, 1);
	df_ring_fails(w, RNIC_SYND_LOCAL_QP_OPERATION);
}

#define T(test) cmocka_unit_test_setup_teardown(test, df_setup, df_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_checksums_are_inserted),
		T(test_only_what_is_asked_for),
		T(test_a_checksum_of_zero),
		T(test_frames_without_an_l4_checksum),
		T(test_tags_are_inserted),
		T(test_lengths_count_the_tag),
		T(test_many_small_pieces),
		T(test_lengths_are_counted_by_class),
		T(test_many_packets_in_a_wqe),
		T(test_capabilities_say_so),
		cmocka_unit_test_setup_teardown(test_no_insertion_where_headers_are_inline,
						df_setup_inline_l2, df_teardown),
	};

	return cmocka_run_group_tests_name("data_offload", tests, NULL, NULL);
}
