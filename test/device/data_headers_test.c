/* SPDX-License-Identifier: BSD-3-Clause */

/* What completions say of frames: header types, which checksums are right, the tag that was stripped, the time. */
#include "data_frames.h"
#include "driver/cap.h"

#define L2	  0x1
#define L3	  0x2
#define L4	  0x4
#define ALL	  (L2 | L3 | L4)
#define STRIPPED  0x01
#define OPTIONS	  0x02
#define IPV6	  0x04
#define IPV4	  0x08
#define TCP	  0x10
#define UDP	  0x20
#define TCP_ACK	  0x30
#define TCP_DATA  0x40
#define FRAGMENT  0x80
#define CVLAN	  0x8100
#define CHECKSUMS (RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM)
#define SVLAN	  0x88a8

/* Send what is in w->out, as it is; the completion of what arrives. */
static const uint8_t *
pass(struct df_world *w, uint32_t bytes, uint32_t segments, struct rnic_cqe *cqe)
{
	const uint8_t *frame;

	df_wqe(w, bytes, segments);
	df_ring(w);
	frame = df_receive(w, cqe);
	assert_non_null(frame);
	return frame;
}

static void
expect_types(struct df_world *w, const struct df_spec *spec, uint8_t ok, uint8_t types)
{
	uint32_t bytes = df_build(w->out, spec, 3);
	struct rnic_cqe cqe;

	for (uint32_t segments = 1; segments <= 5; segments++) {
		assert_memory_equal(pass(w, bytes, segments, &cqe), w->out, bytes);
		assert_int_equal(cqe.hds_ip_ext, ok);
		assert_int_equal(cqe.l4_l3_hdr_type, types);
	}
}

static void
test_types_of_headers(void **state)
{
	struct df_world *w = *state;
	static const struct {
		struct df_spec spec;
		uint8_t ok, types;
	} rows[] = {
		{ { DF_TCP4, .payload = 9 }, ALL, IPV4 | TCP },
		{ { DF_TCP4, .tcp_flags = 0x10 }, ALL, IPV4 | TCP_ACK },
		{ { DF_TCP4, .tcp_flags = 0x10, .tcp_options = 8, .padding = 6 },
		  ALL,
		  IPV4 | TCP_ACK },
		{ { DF_TCP6, .tcp_flags = 0x18, .payload = 1 }, ALL, IPV6 | TCP_DATA },
		{ { DF_UDP6, .payload = 1001 }, ALL, IPV6 | UDP },
		{ { DF_UDP4, .ip_options = 8 }, ALL, IPV4 | OPTIONS | UDP },
		{ { DF_UDP6, .ip_options = 8 }, ALL, IPV6 | OPTIONS | UDP },
		{ { DF_TCP6, .ip_options = 40, .tcp_flags = 0x10 }, ALL, IPV6 | OPTIONS | TCP_ACK },
		/* More options than the device looks at. */
		{ { DF_UDP6, .ip_options = 88 }, L2 | L3, IPV6 | OPTIONS },
		{ { .version = 4, .proto = 1, .payload = 56 }, L2 | L3, IPV4 },
		{ { .version = 6, .proto = 58, .payload = 56 }, L2 | L3, IPV6 },
		{ { DF_UDP4, .fragment = 0x2000, .payload = 80 }, L2 | L3, IPV4 | FRAGMENT },
		{ { DF_TCP4, .fragment = 0x0001, .payload = 80 }, L2 | L3, IPV4 | FRAGMENT },
		{ { .version = 6, .proto = 44, .payload = 80 }, L2 | L3, IPV6 | FRAGMENT },
		/* Do not fragment is no fragment. */
		{ { DF_TCP4, .fragment = 0x4000 }, ALL, IPV4 | TCP },
		{ { .payload = 60 }, L2, 0 },
		{ { DF_TCP4, .payload = 333, DF_TAG(CVLAN, 4095) }, ALL, IPV4 | TCP },
		{ { DF_UDP6, .payload = 8000, DF_TAGS_OF(SVLAN, 1, CVLAN, 2) }, ALL, IPV6 | UDP },
		{ { .payload = 60, DF_TAG(CVLAN, 0) }, L2, 0 },
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_types(w, &rows[i].spec, rows[i].ok, rows[i].types);
}

static const struct df_spec kinds[] = {
	{ DF_TCP4, .payload = 33, .ip_options = 4, .padding = 3 },
	{ DF_UDP4, .payload = 33 },
	{ DF_TCP6, .payload = 33, .padding = 3 },
	{ DF_UDP6, .payload = 34 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Each byte from the IP header on, changed: seen, unless nothing is summed over it. */
static void
test_a_changed_byte_is_seen(void **state)
{
	struct df_world *w = *state;
	const struct df_spec *spec;
	uint32_t kind, at, bytes, end, bad = 0;
	struct rnic_cqe cqe;

	for (kind = 0; kind < KINDS; kind++) {
		spec = &kinds[kind];
		bytes = df_build(w->out, spec, 0);
		end = bytes - spec->padding;
		for (at = df_l3(spec); at < bytes; at++) {
			bool in_ip = at < df_l4(spec), seen;
			uint32_t in_ipv6 = at - df_l3(spec);

			w->out[at] ^= 0x24;
			pass(w, bytes, 1 + at % 3, &cqe);
			w->out[at] ^= 0x24;
			seen = (cqe.hds_ip_ext & (L3 | L4)) != (L3 | L4);
			if (at >= end)
				assert_false(seen);
			else if (spec->version == 4 || !in_ip)
				assert_true(seen);
			else /* of IPv6's header: version, lengths, next header, addresses */
				assert_int_equal(seen, in_ipv6 == 0 || in_ipv6 == 4 ||
							       in_ipv6 == 5 || in_ipv6 == 6 ||
							       in_ipv6 >= 8);
			/* What is wrong behind it, the IP header has no part in. */
			if (!in_ip)
				assert_int_equal(cqe.hds_ip_ext & L3, L3);
			else if (spec->version == 4)
				assert_int_equal(cqe.hds_ip_ext & (L3 | L4), 0);
			bad += seen;
		}
	}
	assert_true(bad > 0);
	assert_true(dp_stats(&w->dp).rx_checksums_bad > bad / 2);
	assert_int_equal(dp_stats(&w->dp).rx_errors, 0);
}

/* What one byte loses its neighbour gets: as sums of bytes all is the same, as sums of words it is not. */
static void
test_bytes_have_their_place_in_sums(void **state)
{
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t kind, bytes, at;

	for (kind = 0; kind < KINDS; kind++) {
		bytes = df_build(w->out, &kinds[kind], 0);
		for (at = df_payload(&kinds[kind]); at < df_payload(&kinds[kind]) + 8; at++) {
			w->out[at]++;
			w->out[at + 1]--;
			pass(w, bytes, 1, &cqe);
			w->out[at]--;
			w->out[at + 1]++;
			assert_int_equal(cqe.hds_ip_ext, L2 | L3);
		}
	}
}

/* Right and wrong ones are counted: what a capture shows. */
static void
test_checksums_are_counted(void **state)
{
	struct df_world *w = *state;
	uint32_t bytes = df_build(w->out, &kinds[0], 0), i;
	struct rnic_cqe cqe;

	for (i = 0; i < 5; i++)
		pass(w, bytes, 1, &cqe);
	w->out[bytes - kinds[0].padding - 1] ^= 1;
	for (i = 0; i < 3; i++)
		pass(w, bytes, 1, &cqe);
	df_build(w->out, &kinds[0], 0);
	w->out[df_l3(&kinds[0]) + 8] ^= 1;
	pass(w, bytes, 1, &cqe);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_good, 5);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_bad, 4);
	/* No IP: nothing to count. */
	memset(w->out, 0, 64);
	pass(w, 64, 1, &cqe);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_good, 5);
	assert_int_equal(dp_stats(&w->dp).rx_checksums_bad, 4);
}

/* Over IPv4 a datagram may go without a checksum; over IPv6 it may not. */
static void
test_datagrams_without_a_checksum(void **state)
{
	struct df_spec spec = { DF_UDP4, .payload = 50 };
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t bytes;

	for (spec.version = 4; spec.version <= 6; spec.version += 2) {
		bytes = df_build(w->out, &spec, 0);
		memset(w->out + df_l4_checksum_at(&spec), 0, 2);
		pass(w, bytes, 1, &cqe);
		assert_int_equal(cqe.hds_ip_ext, spec.version == 4 ? ALL : L2 | L3);
		assert_int_equal(cqe.l4_l3_hdr_type, (spec.version == 4 ? IPV4 : IPV6) | UDP);
	}
}

/* Without a checksum the headers still have to be right: each of their bytes, changed. */
static void
test_headers_of_datagrams_without_a_checksum(void **state)
{
	struct df_spec spec = { DF_UDP4, .payload = 18 };
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t bytes, at;
	uint8_t ok;

	for (spec.padding = 0; spec.padding < 4; spec.padding += 3) {
		bytes = df_build(w->out, &spec, 0);
		memset(w->out + df_l4_checksum_at(&spec), 0, 2);
		for (at = 14; at < bytes; at++) {
			w->out[at] ^= 0x24;
			pass(w, bytes, 1 + at % 2, &cqe);
			w->out[at] ^= 0x24;
			/* Of the UDP header, the length, and what is a checksum now. */
			ok = at < 34 ? L2 : at >= 38 && at < 42 ? L2 | L3 : ALL;
			assert_int_equal(cqe.hds_ip_ext, ok);
		}
	}
}

/* Lengths that do not fit each other or the frame. */
static void
test_lengths_that_lie(void **state)
{
	struct df_spec spec = { DF_UDP4, .payload = 50 };
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t bytes = df_build(w->out, &spec, 0);

	/* The frame ends before the packet does. */
	pass(w, bytes - 1, 1, &cqe);
	assert_int_equal(cqe.hds_ip_ext, L2);
	/* UDP says less or more than IP, and has the sum for it. */
	for (int change = -1; change <= 1; change += 2) {
		df_build(w->out, &spec, 0);
		w->out[df_l4(&spec) + 5] = (uint8_t)(58 + change);
		pass(w, bytes, 1, &cqe);
		assert_int_equal(cqe.hds_ip_ext, L2 | L3);
	}
	/* An IP header of less than 20 bytes, or of more than there is. */
	df_build(w->out, &spec, 0);
	w->out[14] = 0x44;
	pass(w, bytes, 1, &cqe);
	assert_int_equal(cqe.hds_ip_ext, L2);
	assert_int_equal(cqe.l4_l3_hdr_type, 0);
	w->out[14] = 0x4f;
	pass(w, 14 + 59, 1, &cqe);
	assert_int_equal(cqe.hds_ip_ext, L2);
	/* Each length that cuts a header. */
	df_build(w->out, &spec, 0);
	for (bytes = 14; bytes < 14 + 28; bytes++) {
		pass(w, bytes, 1, &cqe);
		assert_int_equal(cqe.hds_ip_ext, L2);
	}
}

/* What happens to a frame on its way is seen, though the device made its checksums and need not add up the others. */
static void
test_damage_on_the_wire_is_seen(void **state)
{
	struct df_world *w = *state;
	uint32_t i, at, bytes, seen = 0;
	const struct df_spec *spec;
	const uint8_t *frame;
	struct rnic_cqe cqe;

	for (i = 0; i < 400; i++) {
		spec = &kinds[i % KINDS];
		bytes = df_build(w->out, spec, i);
		df_wqe(w, bytes, 1)->cs_flags = CHECKSUMS;
		df_ring(w);
		frame = df_receive(w, &cqe);
		/* Not a frame for us any more? */
		if (frame == NULL)
			continue;
		for (at = 0; frame[at] == w->out[at]; at++)
			assert_in_range(at, 0, bytes - 2);
		if (at < (spec->version == 4 ? 14 : df_l4(spec)) || at >= bytes - spec->padding)
			continue;
		assert_int_not_equal(cqe.hds_ip_ext & (L3 | L4), L3 | L4);
		seen++;
	}
	assert_in_range(seen, 200, 400);
}

/* Linux takes it for granted: a tunnel's datagrams go without a checksum, and carry packets that have one. */
static void
test_sum_of_datagrams_without_a_checksum(void **state)
{
	struct df_spec spec = { DF_UDP4 };
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t bytes;

	for (spec.payload = 23; spec.payload < 1500; spec.payload += 37) {
		bytes = df_build(w->out, &spec, 0);
		memset(w->out + df_l4_checksum_at(&spec), 0, 2);
		pass(w, bytes, 1 + spec.payload % 3, &cqe);
		assert_int_equal(cqe.hds_ip_ext, ALL);
		assert_int_equal(rnic_be16_to_cpu(cqe.checksum),
				 df_fold(df_sum(w->out + 14, bytes - 14)));
	}
}

/* The sum of the packet, by which a driver may check what the device does not know. */
static void
test_sum_of_the_packet(void **state)
{
	static const struct df_spec specs[] = {
		{ DF_TCP4, .payload = 1, .padding = 5 },
		{ DF_TCP4, .payload = 1400, .ip_options = 4 },
		{ DF_UDP6, .payload = 77, .padding = 2 },
		{ .version = 4, .proto = 1, .payload = 99 },
		{ .version = 6, .proto = 58, .payload = 101 },
		{ DF_UDP4, .fragment = 0x2001, .payload = 100 },
		{ .version = 4, .proto = 132, .payload = 10, DF_TAG(CVLAN, 0) },
	};
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t i, l3;

	/* As they were sent, and with checksums that the device made itself. */
	for (i = 0; i < 2 * sizeof(specs) / sizeof(specs[0]); i++) {
		const struct df_spec *spec = &specs[i / 2];
		uint32_t bytes = df_build(w->out, spec, i);

		l3 = df_l3(spec);
		df_wqe(w, bytes, 1 + i % 5)->cs_flags = (i & 1) != 0 ? CHECKSUMS : 0;
		df_ring(w);
		assert_non_null(df_receive(w, &cqe));
		assert_int_equal(rnic_be16_to_cpu(cqe.checksum),
				 df_fold(df_sum(w->out + l3, bytes - spec->padding - l3)));
	}
	/* Of what is no packet there is none. */
	memset(w->out, 0x11, 64);
	pass(w, 64, 1, &cqe);
	assert_int_equal(rnic_be16_to_cpu(cqe.checksum), 0);
}

/* ---- VLAN tags ---- */

static void
set_vsd(struct df_world *w, bool vsd)
{
	struct rnic_rqc rqc = { 0 };

	rnic_rqc_set(&rqc, RNIC_RQC_VSD, vsd);
	assert_int_equal(drv_rq_change(&w->dp.drv, w->rq.rqn, RNIC_MODIFY_RQ_VSD, &rqc), 0);
}

/* The outer tag, of type 8100, goes from the frame into the completion; all else is as it was. */
static void
test_tags_are_stripped(void **state)
{
	static const struct df_spec specs[] = {
		{ DF_TCP4, .payload = 100, DF_TAG(CVLAN, 0) },
		{ DF_UDP6, .payload = 1400, DF_TAG(CVLAN, 0) },
		{ .payload = 50, DF_TAG(CVLAN, 0) },
		{ DF_UDP4, .payload = 64, DF_TAGS_OF(CVLAN, 0, CVLAN, 0x123) },
	};
	struct df_world *w = *state;
	static uint8_t bare[DF_ROOM];
	struct df_spec tagged, rest;
	struct rnic_cqe cqe;
	uint32_t i, segments, bytes, stripped = 0;
	const uint8_t *frame;

	set_vsd(w, false);
	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		for (segments = 1; segments <= 20; segments++) {
			tagged = rest = specs[i];
			tagged.tcis[0] = (uint16_t)(0xe001 + segments);
			rest.tags--;
			rest.types[0] = tagged.types[1];
			rest.tcis[0] = tagged.tcis[1];
			bytes = df_build(w->out, &tagged, 0);
			frame = pass(w, bytes, segments, &cqe);
			assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), bytes - 4);
			df_build(bare, &rest, 0);
			assert_memory_equal(frame, bare, bytes - 4);
			assert_int_equal(rnic_be16_to_cpu(cqe.vlan_info), 0xe001 + segments);
			assert_int_equal(cqe.l4_l3_hdr_type & STRIPPED, STRIPPED);
			if (tagged.version != 0)
				assert_int_equal(cqe.hds_ip_ext, ALL);
			stripped++;
		}
	assert_int_equal(dp_stats(&w->dp).rx_vlans, stripped);
	/* On the wire they had it: the port's counters say so. */
	assert_int_equal(dp_stats(&w->dp).rx_bytes, dp_stats(&w->dp).tx_bytes);
}

/* A queue that does not strip, other tags, and what has no room for one. */
static void
test_tags_that_stay(void **state)
{
	struct df_spec spec = { .payload = 60, DF_TAG(CVLAN, 0x77) };
	struct df_world *w = *state;
	struct rnic_cqe cqe;
	uint32_t bytes = df_build(w->out, &spec, 0);

	assert_memory_equal(pass(w, bytes, 1, &cqe), w->out, bytes);
	assert_int_equal(cqe.l4_l3_hdr_type, 0);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), bytes);
	set_vsd(w, false);
	spec.types[0] = SVLAN;
	df_build(w->out, &spec, 0);
	assert_memory_equal(pass(w, bytes, 1, &cqe), w->out, bytes);
	assert_int_equal(cqe.l4_l3_hdr_type, 0);
	spec.types[0] = CVLAN;
	df_build(w->out, &spec, 0);
	for (bytes = 14; bytes < 18; bytes++) {
		assert_memory_equal(pass(w, bytes, 1, &cqe), w->out, bytes);
		assert_int_equal(cqe.l4_l3_hdr_type, 0);
	}
	pass(w, 18, 1, &cqe);
	assert_int_equal(cqe.l4_l3_hdr_type, STRIPPED);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), 14);
	set_vsd(w, true);
	pass(w, 18, 1, &cqe);
	assert_int_equal(cqe.l4_l3_hdr_type, 0);
	assert_int_equal(dp_stats(&w->dp).rx_vlans, 1);
}

/* A frame that exactly fills its buffer without the tag, and one that finds none. */
static void
test_room_counts_without_the_tag(void **state)
{
	struct df_spec spec = { .payload = 100, DF_TAG(CVLAN, 0) };
	struct df_world *w = *state;
	uint32_t bytes = df_build(w->out, &spec, 0), i;
	struct rnic_cqe cqe;

	set_vsd(w, false);
	for (i = 0; i < 1u << DF_RQ_LOG; i++)
		((struct rnic_wqe_data *)w->rq.ring)[i].byte_count = rnic_cpu_to_be32(bytes - 4);
	pass(w, bytes, 1, &cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe.byte_count), bytes - 4);
	/* All but the one that was posted again. */
	for (i = 0; i < 1u << DF_RQ_LOG; i++)
		pass(w, bytes, 1, &cqe);
	assert_int_equal(dp_stats(&w->dp).rx_no_buffer, 0);
}

/* ---- Time ---- */

/* A frame to ourselves is sent and received between two moments of the clock that its queues have asked for. */
static void
check_times(struct df_world *w, bool utc)
{
	const struct rnic_cqe *sent;
	uint64_t before, after;
	struct rnic_cqe cqe;

	df_build(w->out, &kinds[0], 0);
	df_wqe(w, 100, 1);
	before = dp_clock(&w->dp, utc);
	dp_sq_ring(&w->sq);
	dp_run(&w->dp);
	after = dp_clock(&w->dp, utc);
	assert_non_null(df_receive(w, &cqe));
	assert_in_range(dp_cqe_time(&cqe, utc), before, after);
	sent = dp_cq_next(&w->tx_cq);
	assert_non_null(sent);
	assert_in_range(dp_cqe_time(sent, utc), before, after);
}

/* Completions have the time of the internal timer, in units of the frequency that the capabilities name. */
static void
test_times_are_of_the_internal_timer(void **state)
{
	struct df_world *w = *state;
	struct rnic_general_cap cap;

	for (int i = 0; i < 10; i++)
		check_times(w, false);
	assert_int_equal(drv_cap_query(&w->dp.drv, RNIC_CAP_GENERAL, true, &cap, sizeof(cap)), 0);
	assert_int_equal(rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_DEVICE_FREQUENCY_KHZ),
			 1000000);
	assert_int_equal(rnic_general_cap_get(&cap, RNIC_GENERAL_CAP_DEVICE_FREQUENCY_MHZ), 1000);
}

/* Who has two clocks tells the times of frames by the one that the queue names, who has one by that. */
static void
test_times_are_of_the_clock_that_is_asked_for(void **state)
{
	static const struct {
		const char *like;
		enum rnic_ts_format format;
		bool real;
	} cases[] = {
		{ "realtime", RNIC_TS_FORMAT_DEFAULT, true },
		{ "realtime", RNIC_TS_FORMAT_REAL_TIME, true },
		{ "cx6dx", RNIC_TS_FORMAT_FREE_RUNNING, false },
		{ "cx6dx", RNIC_TS_FORMAT_DEFAULT, false },
		{ "cx6dx", RNIC_TS_FORMAT_REAL_TIME, true },
		{ "cx5", RNIC_TS_FORMAT_FREE_RUNNING, false },
		{ "default", RNIC_TS_FORMAT_REAL_TIME, false }, /* reserved: not looked at */
	};
	void *world;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		df_setup_like(&world, cases[i].like, cases[i].format);
		for (int frame = 0; frame < 3; frame++)
			check_times(world, cases[i].real);
		df_teardown(&world);
	}
}

#define T(test) cmocka_unit_test_setup_teardown(test, df_setup, df_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_types_of_headers),
		T(test_a_changed_byte_is_seen),
		T(test_bytes_have_their_place_in_sums),
		T(test_checksums_are_counted),
		T(test_datagrams_without_a_checksum),
		T(test_headers_of_datagrams_without_a_checksum),
		T(test_lengths_that_lie),
		cmocka_unit_test_setup_teardown(test_damage_on_the_wire_is_seen, df_setup_corrupt,
						df_teardown),
		T(test_sum_of_datagrams_without_a_checksum),
		T(test_sum_of_the_packet),
		T(test_tags_are_stripped),
		T(test_tags_that_stay),
		T(test_room_counts_without_the_tag),
		T(test_times_are_of_the_internal_timer),
		cmocka_unit_test(test_times_are_of_the_clock_that_is_asked_for),
	};

	return cmocka_run_group_tests_name("data_headers", tests, NULL, NULL);
}
