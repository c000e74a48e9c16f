/* SPDX-License-Identifier: BSD-3-Clause */

/* What a port counts: to the frame, through resets, new devices and queues, and while others read. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "main.h"

static const struct e2e_conf plain = { 0 };
static const struct e2e_conf promiscuous = { .promiscuous = true };
static const struct e2e_conf shallow = { .rx_desc = 64 };

/* Counters do not depend on what happened in between, and a reset starts them at zero. */
static void
statistics_are_exact(void **unused)
{
	struct rte_eth_stats stats;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	rte_eth_stats_reset(0);
	rte_eth_stats_reset(1);
	assert_true(e2e_exchange(0, 1, 1, 100, 1, 33));
	assert_true(e2e_exchange(0, 1, 1, 1000, 3, 10));
	assert_true(e2e_pair_stop());
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 1));
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.opackets, 44);
	assert_int_equal(stats.obytes, 3300 + 10000 + 64);
	assert_int_equal(stats.ipackets, 0);
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.ipackets, 44);
	assert_int_equal(stats.ibytes, 3300 + 10000 + 64);
	assert_int_equal(stats.opackets + stats.imissed + stats.ierrors + stats.oerrors, 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.ipackets + stats.ibytes, 0);
	assert_true(e2e_pair_stop());
}

static uint64_t
extended(uint16_t port, const char *name)
{
	uint64_t id, value;

	assert_int_equal(rte_eth_xstats_get_id_by_name(port, name, &id), 0);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

/* By kind of destination, and by queue; a reset starts them at zero, a new device does not. */
static void
extended_statistics_are_exact(void **unused)
{
	static const struct {
		struct rte_ether_addr to;
		const char *packets, *bytes;
		unsigned int count;
	} kinds[] = {
		{ { { 2, 0, 0, 0, 0, 9 } }, "vport_unicast_packets", "vport_unicast_bytes", 5 },
		{ { { 1, 0, 0x5e, 0, 0, 9 } },
		  "vport_multicast_packets",
		  "vport_multicast_bytes",
		  3 },
		{ { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
		  "vport_broadcast_packets",
		  "vport_broadcast_bytes",
		  2 },
	};
	struct rte_mbuf *pkts[10];
	unsigned int kind, i, sent = 0;
	char name[64];

	(void)unused;
	assert_true(e2e_pair_start(&promiscuous, &promiscuous));
	assert_int_equal(rte_eth_xstats_reset(0), 0);
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	for (kind = 0; kind < RTE_DIM(kinds); kind++)
		for (i = 0; i < kinds[kind].count; i++) {
			pkts[sent] = e2e_frame(e2e_pool, 1, 1, 100, 1);
			assert_non_null(pkts[sent]);
			rte_pktmbuf_mtod(pkts[sent], struct rte_ether_hdr *)->dst_addr =
				kinds[kind].to;
			sent++;
		}
	assert_int_equal(e2e_send(0, 0, pkts, sent), sent);
	assert_int_equal(e2e_receive(1, pkts, sent), sent);
	rte_pktmbuf_free_bulk(pkts, sent);
	for (kind = 0; kind < RTE_DIM(kinds); kind++) {
		snprintf(name, sizeof(name), "tx_%s", kinds[kind].packets);
		assert_int_equal(extended(0, name), kinds[kind].count);
		snprintf(name, sizeof(name), "rx_%s", kinds[kind].packets);
		assert_int_equal(extended(1, name), kinds[kind].count);
		assert_int_equal(extended(0, name), 0);
		snprintf(name, sizeof(name), "rx_%s", kinds[kind].bytes);
		assert_int_equal(extended(1, name), kinds[kind].count * 100);
	}
	assert_int_equal(extended(1, "rx_q0_packets"), sent);
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_eth_dev_reset(1), 0);
	assert_int_equal(extended(1, "rx_vport_unicast_packets"), 5);
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	assert_int_equal(extended(1, "rx_vport_unicast_packets"), 0);
}

struct stats_reader {
	atomic_bool stop;
	atomic_uint reads;
	uint64_t limit; /* of what one who resets them has sent since */
	bool backwards, beyond;
};

static void *
read_stats(void *arg)
{
	struct stats_reader *reader = arg;
	struct rte_eth_stats stats;
	uint64_t last = 0;

	while (!atomic_load(&reader->stop)) {
		rte_eth_stats_get(0, &stats);
		reader->backwards |= stats.opackets < last;
		reader->beyond |= stats.opackets > reader->limit;
		last = stats.opackets;
		atomic_fetch_add(&reader->reads, 1);
	}
	return NULL;
}

/* A reset that a reader sees half of would be a number of packets that is near 2^64, or an old one. */
static void
statistics_are_reset_while_others_read_them(void **unused)
{
	struct stats_reader reader = { .limit = 8 };
	pthread_t thread;
	unsigned int round, i;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_stats, &reader), 0);
	for (round = 0; round < 50; round++) {
		assert_true(e2e_exchange(0, 1, round * 8, 64, 1, 8));
		for (i = 0; i < 20; i++)
			assert_int_equal(rte_eth_stats_reset(0), 0);
	}
	atomic_store(&reader.stop, true);
	pthread_join(thread, NULL);
	assert_false(reader.beyond);
	assert_true(e2e_pair_stop());
}

/* A monitor reads on while the port is set up anew; what ended queues have sent stays counted. */
static void
statistics_are_read_while_queues_come_and_go(void **unused)
{
	struct stats_reader reader = { .limit = UINT64_MAX };
	pthread_t thread;
	unsigned int seen;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_stats, &reader), 0);
	for (unsigned int round = 0; round < 20; round++) {
		seen = atomic_load(&reader.reads);
		assert_true(e2e_exchange(0, 1, round * 8, 64, 1, 8));
		assert_true(e2e_pair_stop());
		assert_true(e2e_pair_start(&plain, &plain));
		while (atomic_load(&reader.reads) == seen)
			rte_delay_us_sleep(100);
	}
	atomic_store(&reader.stop, true);
	pthread_join(thread, NULL);
	assert_false(reader.backwards);
	assert_true(e2e_pair_stop());
}

/* A full ring takes no more than it has room for, and loses nothing. */
static void
missed_frames_are_counted(void **unused)
{
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[64];
	unsigned int i, round, got = 0;
	uint16_t n;

	(void)unused;
	assert_true(e2e_pair_start(&shallow, &shallow));
	rte_eth_stats_reset(0);
	rte_eth_stats_reset(1);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = e2e_frame(e2e_pool, 1, i, 64, 1);
		assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	}
	/* The last one has come by. */
	assert_true(e2e_wait_counted(1, offsetof(struct rte_eth_stats, imissed), 5 * 64 - 64));
	do {
		n = rte_eth_rx_burst(1, 0, pkts, 32);
		rte_pktmbuf_free_bulk(pkts, n);
		got += n;
	} while (n > 0);
	assert_int_equal(got, 64);
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.ipackets, 64);
	assert_int_equal(stats.imissed, 5 * 64 - 64);
	assert_true(e2e_pair_stop());
}

/* What the application had not looked at when the device went is counted all the same. */
static void
missed_frames_survive_a_reset(void **unused)
{
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[64];
	unsigned int i, round;

	(void)unused;
	assert_true(e2e_pair_start(&shallow, &shallow));
	rte_eth_stats_reset(1);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = e2e_frame(e2e_pool, 1, i, 64, 1);
		assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	}
	assert_true(e2e_wait_counted(1, offsetof(struct rte_eth_stats, imissed), 2 * 64));
	assert_int_equal(rte_eth_dev_reset(1), 0);
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.imissed, 2 * 64);
	assert_int_equal(e2e_port_stop(0), 0);
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.imissed, 2 * 64);
	assert_true(e2e_pair_stop());
}

/* The port drops them before any queue sees them; twice, as a counter that was read must not count again. */
static void
frames_beyond_the_receivers_mtu_are_counted(void **unused)
{
	struct rte_eth_stats tx, rx;

	(void)unused;
	assert_int_equal(e2e_port_setup(0, &(struct e2e_conf){ .mtu = 9000 }), 0);
	assert_int_equal(e2e_port_setup(1, &plain), 0);
	assert_true(e2e_wait_link(0, true));
	for (unsigned int round = 0; round < 2; round++) {
		assert_true(
			e2e_send_eight(5000, 1, offsetof(struct rte_eth_stats, ierrors), &tx, &rx));
		assert_int_equal(tx.opackets, 8);
		assert_int_equal(tx.oerrors, 0);
		assert_int_equal(rx.ipackets, 0);
		assert_int_equal(rx.ierrors, 8);
		assert_int_equal(rx.imissed, 0);
	}
	assert_true(e2e_pair_stop());
	/* Counted where a new device takes the place of the old, neither lost nor twice. */
	assert_int_equal(rte_eth_dev_reset(1), 0);
	assert_int_equal(rte_eth_stats_get(1, &rx), 0);
	assert_int_equal(rx.ierrors, 8);
}

static void
frames_sent_without_a_link_are_counted(void **unused)
{
	struct rte_eth_stats tx, rx;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(e2e_port_stop(1), 0);
	assert_int_equal(rte_eth_dev_set_link_down(1), 0);
	assert_true(e2e_wait_link(0, false));
	assert_true(e2e_send_eight(100, 0, offsetof(struct rte_eth_stats, oerrors), &tx, &rx));
	assert_int_equal(tx.oerrors, 8);
	assert_int_equal(rx.ipackets + rx.ierrors, 0);
	assert_int_equal(e2e_port_stop(0), 0);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
}

static const struct CMUnitTest tests[] = {
	E2E_PAIR_TEST(statistics_are_exact),
	E2E_PAIR_TEST(extended_statistics_are_exact),
	E2E_PAIR_TEST(statistics_are_reset_while_others_read_them),
	E2E_PAIR_TEST(statistics_are_read_while_queues_come_and_go),
	E2E_PAIR_TEST(missed_frames_are_counted),
	E2E_PAIR_TEST(missed_frames_survive_a_reset),
	E2E_PAIR_TEST(frames_beyond_the_receivers_mtu_are_counted),
	E2E_PAIR_TEST(frames_sent_without_a_link_are_counted),
};

E2E_PAIR_MAIN("statistics", tests)
