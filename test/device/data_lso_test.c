/* SPDX-License-Identifier: BSD-3-Clause */

/* Large sends: every frame that comes of one, against the frame that it should be. */
#include "data_frames.h"

#define ACK	    0x10
#define FIN	    0x01
#define PSH	    0x08
#define CWR	    0x80
#define LSO_MAX	    (1u << 18)
#define SEGMENT_GAP 65

static uint8_t expected[DF_ROOM], header[DF_ROOM];

/* The WQE: the header inline, the payload in so many data segments, which are no neighbours in w->out. */
static struct rnic_wqe_eth *
lso_wqe(struct df_world *w, const uint8_t *head, uint32_t head_bytes, uint32_t mss,
	uint32_t payload, uint32_t segments)
{
	uint32_t ds = head_bytes <= 2 ? 2 : 2 + (head_bytes - 2 + 15) / 16, at = 0, part, i, k;
	struct rnic_wqe_eth *eth;
	uint8_t *from;

	dp_wqe(&w->sq, RNIC_WQE_LSO, ds + segments, RNIC_WQE_CE_ALWAYS);
	eth = dp_wqe_at(&w->sq, 1);
	eth->mss = rnic_cpu_to_be16((uint16_t)mss);
	eth->cs_flags = RNIC_WQE_ETH_L3_CSUM | RNIC_WQE_ETH_L4_CSUM;
	eth->inline_header_size = rnic_cpu_to_be16((uint16_t)head_bytes);
	for (i = 0; i < head_bytes; i++)
		((uint8_t *)dp_wqe_at(&w->sq, 1 + (14 + i) / 16))[(14 + i) % 16] = head[i];
	for (i = 0; i < segments; i++) {
		part = i == segments - 1 ? payload - at : payload / segments;
		from = w->out + at + i * SEGMENT_GAP;
		for (k = 0; k < part; k++)
			from[k] = df_byte(at + k);
		dp_wqe_data(&w->sq, ds + i, from, part);
		at += part;
	}
	return eth;
}

/* What a driver puts there: headers of the whole, lengths and checksums of which nobody looks at. */
static uint32_t
build_header(const struct df_spec *spec)
{
	df_build(header, spec, 0);
	memset(header + df_l3(spec) + (spec->version == 4 ? 2 : 4), 0, 2);
	if (spec->version == 4)
		memset(header + df_l3(spec) + 10, 0x55, 2);
	memset(header + df_l4_checksum_at(spec), 0x66, 2);
	return df_payload(spec);
}

/* The frame of the payload's bytes [at, at + bytes). */
static uint32_t
build_expected(const struct df_spec *whole, uint32_t index, uint32_t at, uint32_t bytes, bool last)
{
	struct df_spec spec = *whole;

	spec.payload = bytes;
	spec.ip_id = (uint16_t)(whole->ip_id + index);
	spec.seq = whole->seq + at;
	if (!last)
		spec.tcp_flags &= (uint8_t) ~(FIN | PSH);
	if (index > 0)
		spec.tcp_flags &= (uint8_t)~CWR;
	return df_build(expected, &spec, at);
}

/* Up to `count` frames from the index'th on; how many there were. */
static uint32_t
expect_some(struct df_world *w, const struct df_spec *spec, uint32_t mss, uint32_t payload,
	    uint32_t index, uint32_t count)
{
	uint32_t at = index * mss, n, done;

	for (done = 0; done < count && at < payload; done++, at += n) {
		n = payload - at < mss ? payload - at : mss;
		df_expect(w, expected,
			  build_expected(spec, index + done, at, n, at + n == payload));
	}
	return done;
}

static uint32_t
expect_frames(struct df_world *w, const struct df_spec *spec, uint32_t mss, uint32_t payload)
{
	return expect_some(w, spec, mss, payload, 0, UINT32_MAX);
}

static const struct df_spec kinds[] = {
	{ DF_TCP4, .tcp_flags = ACK | PSH, .ip_id = 77, .seq = 1000 },
	{ DF_TCP6, .tcp_flags = ACK | PSH | FIN, .seq = 0x80000000 },
	/* Numbers that wrap. */
	{ DF_TCP4, .tcp_flags = ACK | CWR | FIN, .ip_id = 0xfffe, .seq = 0xfffffc00,
	  .tcp_options = 12 },
	/* The longest headers. */
	{ DF_TCP4, .tcp_flags = 0xff, DF_TAGS_OF(0x88a8, 5, 0x8100, 6), .ip_options = 40,
	  .tcp_options = 40 },
	{ DF_TCP6, .tcp_flags = ACK, DF_TAG(0x8100, 0x3001), .tcp_options = 40 },
	/* Datagrams, of which Linux makes its large sends too. */
	{ DF_UDP4, .ip_id = 9 },
	{ DF_UDP6, .ip_options = 8 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Even and odd segments, whole ones and a rest, one, in pieces that end anywhere. */
static void
test_every_segment_is_a_packet_of_its_own(void **state)
{
	static const struct {
		uint32_t mss, payload, segments;
	} sizes[] = {
		{ 1460, 14600, 1 },  { 1460, 14601, 3 },   { 1459, 9000, 2 },
		{ 536, 20000, 7 },   { 1460, 1460, 1 },	   { 1460, 100, 1 },
		{ 7, 1, 1 },	     { 100, 4097, 30 },	   { 8800, 65536, 2 },
		{ 1000, 65536, 16 }, { 8800, LSO_MAX, 1 }, { 2100, LSO_MAX, 13 },
	};
	struct df_world *w = *state;
	struct softrnic_stats stats;
	uint64_t wqes = 0, frames = 0;
	uint32_t kind, i;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			lso_wqe(w, header, build_header(&kinds[kind]), sizes[i].mss,
				sizes[i].payload, sizes[i].segments);
			df_ring(w);
			frames += expect_frames(w, &kinds[kind], sizes[i].mss, sizes[i].payload);
			wqes++;
			assert_null(dp_cq_next(&w->rx_cq));
		}
	stats = dp_stats(&w->dp);
	assert_int_equal(stats.tx_lso, wqes);
	assert_int_equal(stats.tx_lso_frames, frames);
	assert_int_equal(stats.tx_checksums, frames);
	assert_int_equal(stats.tx_packets, frames);
	assert_int_equal(stats.rx_packets, frames);
	assert_int_equal(stats.rx_checksums_good, frames);
	assert_int_equal(stats.rx_checksums_bad, 0);
}

/* Checksums are part of it, whether the flags say so or not: what stood there was of another packet. */
static void
test_checksums_without_flags(void **state)
{
	struct df_world *w = *state;

	lso_wqe(w, header, build_header(&kinds[0]), 1000, 3000, 1)->cs_flags = 0;
	df_ring(w);
	assert_int_equal(expect_frames(w, &kinds[0], 1000, 3000), 3);
}

/* Above the MTU of the day: each is dropped and counted, and the queue lives. */
static void
test_segments_above_the_mtu_are_dropped(void **state)
{
	struct df_world *w = *state;

	assert_int_equal(drv_port_mtu_set(&w->dp.drv, 1522), 0);
	lso_wqe(w, header, build_header(&kinds[0]), 1465, 5000, 1);
	df_ring(w);
	assert_int_equal(dp_stats(&w->dp).tx_errors, 3);
	/* The rest of it fits. */
	assert_int_equal(dp_stats(&w->dp).tx_packets, 1);
	assert_int_equal(dp_stats(&w->dp).tx_lso_frames, 1);
	assert_int_equal(dp_stats(&w->dp).tx_checksums, 1);
	assert_non_null(dp_cq_next(&w->rx_cq));
	assert_null(dp_cq_next(&w->rx_cq));
	assert_int_equal(dp_sq_state(&w->sq), RNIC_WQ_STATE_RDY);
}

static void
refused(struct df_world *w, const struct df_spec *spec, int header_change, uint32_t mss,
	uint32_t payload, uint8_t syndrome)
{
	uint32_t bytes = (uint32_t)((int)build_header(spec) + header_change);

	lso_wqe(w, header, bytes, mss, payload, payload != 0);
	df_ring_fails(w, syndrome);
}

static void
test_headers_that_are_refused(void **state)
{
	const uint8_t syndrome = RNIC_SYND_LOCAL_QP_OPERATION;
	struct df_world *w = *state;
	struct df_spec spec = kinds[0];

	refused(w, &spec, 0, 0, 3000, syndrome);
	/* A byte less or more than the headers are; none at all. */
	refused(w, &spec, -1, 1000, 3000, syndrome);
	refused(w, &spec, 1, 1000, 3000, syndrome);
	refused(w, &spec, -(int)df_payload(&spec), 1000, 3000, syndrome);
	refused(w, &spec, 13 - (int)df_payload(&spec), 1000, 3000, syndrome);
	refused(w, &spec, 200, 1000, 3000, syndrome);
	/* The same of a datagram. Then neither TCP nor UDP, a fragment, no IP. */
	spec.proto = DF_UDP;
	refused(w, &spec, -1, 1000, 3000, syndrome);
	refused(w, &spec, 1, 1000, 3000, syndrome);
	spec.proto = 132;
	refused(w, &spec, 20, 1000, 3000, syndrome);
	spec = kinds[0];
	spec.fragment = 0x2000;
	refused(w, &spec, 0, 1000, 3000, syndrome);
	spec = (struct df_spec){ 0 };
	refused(w, &spec, 40, 1000, 3000, syndrome);
	/* Tunnels; a tag to insert. */
	lso_wqe(w, header, build_header(&kinds[0]), 1000, 3000, 1)->cs_flags =
		RNIC_WQE_ETH_L4_INNER_CSUM;
	df_ring_fails(w, syndrome);
	lso_wqe(w, header, build_header(&kinds[0]), 1000, 3000, 1)->inline_header_size =
		rnic_cpu_to_be16(RNIC_WQE_ETH_INSERT_VLAN);
	df_ring_fails(w, syndrome);
	assert_int_equal(dp_stats(&w->dp).tx_packets, 0);
	assert_int_equal(dp_stats(&w->dp).tx_lso, 0);
}

static void
test_lengths_that_are_refused(void **state)
{
	const uint8_t syndrome = RNIC_SYND_LOCAL_LENGTH;
	struct df_world *w = *state;

	refused(w, &kinds[0], 0, 1000, 0, syndrome);
	/* More than the capability says, in two segments. */
	lso_wqe(w, header, build_header(&kinds[0]), 1000, LSO_MAX + 1, 2);
	df_ring_fails(w, syndrome);
	/* Frames above every MTU. */
	refused(w, &kinds[0], 0, 9996 - 54 + 1, 20000, syndrome);
	assert_int_equal(dp_stats(&w->dp).tx_packets, 0);
}

/* However many frames it becomes, others have their turn between them, and it completes when the last one is out. */
static void
test_a_long_one_has_many_turns(void **state)
{
	enum { MSS = 9, PAYLOAD = 3000, TURN = 127, FRAMES = (PAYLOAD + MSS - 1) / MSS };
	struct df_world *w = *state;
	uint32_t done, n;

	lso_wqe(w, header, build_header(&kinds[3]), MSS, PAYLOAD, 5);
	dp_sq_ring(&w->sq);
	for (done = 0; done < FRAMES; done += n) {
		assert_null(dp_cq_next(&w->tx_cq));
		assert_int_equal(dp_stats(&w->dp).wqes, 0);
		softrnic_poll(w->poller);
		n = expect_some(w, &kinds[3], MSS, PAYLOAD, done, TURN);
		assert_null(dp_cq_next(&w->rx_cq));
	}
	assert_non_null(dp_cq_next(&w->tx_cq));
	assert_int_equal(dp_stats(&w->dp).wqes, 1);
	assert_int_equal(dp_stats(&w->dp).tx_lso, 1);
	assert_int_equal(dp_stats(&w->dp).tx_lso_frames, FRAMES);
}

/* Whoever resets a queue in the middle of one finds it new. */
static void
test_a_reset_ends_a_long_one(void **state)
{
	struct df_world *w = *state;

	lso_wqe(w, header, build_header(&kinds[0]), 3, 3000, 1);
	dp_sq_ring(&w->sq);
	softrnic_poll(w->poller);
	assert_int_equal(expect_some(w, &kinds[0], 3, 3000, 0, 127), 127);
	assert_int_equal(dp_sq_restart(&w->sq, RNIC_WQ_STATE_RDY), 0);
	lso_wqe(w, header, build_header(&kinds[0]), 1000, 1000, 1);
	df_ring(w);
	assert_int_equal(expect_frames(w, &kinds[0], 1000, 1000), 1);
}

/* The driver writes another WQE over one that is half done, which has less than was sent already. */
static void
test_one_that_shrinks_under_way_ends(void **state)
{
	struct df_world *w = *state;

	lso_wqe(w, header, build_header(&kinds[0]), 3, 3000, 1);
	dp_sq_ring(&w->sq);
	softrnic_poll(w->poller);
	w->sq.producer = 0;
	lso_wqe(w, header, build_header(&kinds[0]), 3, 30, 1);
	df_ring(w);
	assert_int_equal(dp_stats(&w->dp).tx_lso_frames, 127);
	assert_int_equal(dp_sq_state(&w->sq), RNIC_WQ_STATE_RDY);
}

#define T(test) cmocka_unit_test_setup_teardown(test, df_setup, df_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_every_segment_is_a_packet_of_its_own),
		T(test_checksums_without_flags),
		T(test_segments_above_the_mtu_are_dropped),
		T(test_headers_that_are_refused),
		T(test_lengths_that_are_refused),
		T(test_a_long_one_has_many_turns),
		T(test_a_reset_ends_a_long_one),
		T(test_one_that_shrinks_under_way_ends),
	};

	return cmocka_run_group_tests_name("data_lso", tests, NULL, NULL);
}
