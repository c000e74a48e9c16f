/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's control operations, as an application sees them. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>

#include "port.h"

#define WAIT_MS 60000

static const struct e2e_conf plain = { 0 };

static void
start_both(const struct e2e_conf *conf)
{
	assert_int_equal(e2e_port_setup(0, conf), 0);
	assert_int_equal(e2e_port_setup(1, conf), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(e2e_wait_link(1, true));
}

static void
stop_both(void)
{
	assert_int_equal(e2e_port_stop(0), 0);
	assert_int_equal(e2e_port_stop(1), 0);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
}

/* After a test that failed half way. */
static int
stop_ports(void **unused)
{
	(void)unused;
	rte_eth_dev_stop(0);
	rte_eth_dev_stop(1);
	return 0;
}

/* Is a frame to that address delivered to port 1? */
static bool
delivered(const struct rte_ether_addr *to)
{
	struct rte_mbuf *mbuf = e2e_frame(e2e_pool, 1, 1, 100, 1);

	assert_non_null(mbuf);
	rte_pktmbuf_mtod(mbuf, struct rte_ether_hdr *)->dst_addr = *to;
	assert_int_equal(e2e_send(0, 0, &mbuf, 1), 1);
	return !e2e_silent(1);
}

static void
info_is_honest(void **unused)
{
	struct rte_eth_dev_info info;
	char version[64];

	(void)unused;
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_string_equal(info.driver_name, "net_rnic");
	assert_int_equal(info.min_mtu, 68);
	assert_true(info.max_mtu >= 9000);
	assert_int_equal(info.max_rx_queues, 1);
	assert_int_equal(info.max_tx_queues, 8);
	assert_int_equal(info.rx_offload_capa, RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_int_equal(info.tx_offload_capa,
			 RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	assert_int_equal(rte_eth_dev_fw_version_get(0, version, sizeof(version)), 0);
	assert_true(strlen(version) > 0);
	/* Too small a buffer: how much it takes. */
	assert_int_equal(rte_eth_dev_fw_version_get(0, version, 2), strlen(version) + 1);
}

static void
queue_and_burst_info(void **unused)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	struct rte_eth_burst_mode mode;

	(void)unused;
	start_both(&(struct e2e_conf){ .rx_desc = 100, .tx_desc = 200 });
	assert_int_equal(rte_eth_rx_queue_info_get(0, 0, &rx), 0);
	assert_int_equal(rx.nb_desc, 100);
	assert_ptr_equal(rx.mp, e2e_pool);
	assert_int_equal(rx.scattered_rx, 0);
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_int_equal(tx.nb_desc, 200);
	assert_int_equal(rte_eth_rx_burst_mode_get(0, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "Scalar"));
	assert_int_equal(rte_eth_tx_burst_mode_get(0, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "multi-packet"));
	stop_both();
}

static void
what_is_not_supported_is_refused(void **unused)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_rxconf rx = { .rx_deferred_start = 1 };
	struct rte_eth_txconf tx = { .tx_deferred_start = 1 };

	(void)unused;
	assert_int_not_equal(rte_eth_dev_configure(0, 2, 1, &conf), 0);
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 9, &conf), 0);
	conf.lpbk_mode = 1;
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	conf.lpbk_mode = 0;
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	conf.rxmode.offloads = 0;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, &rx, e2e_pool), -ENOTSUP);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, &tx), -ENOTSUP);
	assert_int_not_equal(rte_eth_rx_queue_setup(0, 0, 32, SOCKET_ID_ANY, NULL, e2e_pool), 0);
	assert_int_not_equal(rte_eth_tx_queue_setup(0, 0, 16384, SOCKET_ID_ANY, NULL), 0);
}

static void
ports_restart(void **unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < 20; i++) {
		start_both(&plain);
		assert_true(e2e_exchange(i % 2, !(i % 2), i, 100 + i, 1, 32));
		stop_both();
	}
	/* The same without a new configuration. */
	for (i = 0; i < 20; i++) {
		assert_int_equal(rte_eth_dev_start(0), 0);
		assert_int_equal(rte_eth_dev_start(1), 0);
		assert_true(e2e_wait_link(0, true));
		assert_true(e2e_exchange(i % 2, !(i % 2), i, 100 + i, 2, 32));
		stop_both();
	}
}

/* A port that cannot start is as it was: nothing is lost, and it starts when the cause is gone. */
static void
start_fails_cleanly_without_mbufs(void **unused)
{
	struct rte_mempool *small =
		rte_pktmbuf_pool_create("few", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);

	(void)unused;
	assert_non_null(small);
	assert_int_not_equal(e2e_port_setup(0, &(struct e2e_conf){ .rx_pool = small }), 0);
	assert_int_equal(rte_mempool_in_use_count(small), 0);
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 32));
	stop_both();
	rte_mempool_free(small);
}

static void
mtu_changes_stopped_and_started(void **unused)
{
	uint16_t mtu;

	(void)unused;
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 0, 1514, 1, 4));
	/* What the queues take as they are, at once; more only when they are laid out anew. */
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 1400), 0);
	assert_true(e2e_exchange(0, 1, 10, 1414, 1, 4));
	assert_int_equal(rte_eth_dev_set_mtu(1, 9000), -EBUSY);
	assert_int_equal(rte_eth_dev_get_mtu(1, &mtu), 0);
	assert_int_equal(mtu, 1400);
	assert_true(e2e_exchange(0, 1, 20, 1414, 1, 4));
	stop_both();
	assert_int_equal(rte_eth_dev_set_mtu(0, 9000), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 9000), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(e2e_exchange(0, 1, 30, 9014, 6, 4));
	assert_true(e2e_exchange(1, 0, 30, 9014, 6, 4));
	assert_int_not_equal(rte_eth_dev_set_mtu(0, 67), 0);
	assert_int_equal(rte_eth_dev_set_mtu(0, 68), 0);
	assert_int_not_equal(rte_eth_dev_set_mtu(0, 20000), 0);
	stop_both();
}

static void
promiscuous_decides_about_foreign_frames(void **unused)
{
	const struct rte_ether_addr foreign = { { 0x02, 0xff, 1, 2, 3, 4 } };
	const struct rte_ether_addr multicast = { { 0x01, 0x00, 0x5e, 1, 2, 3 } };
	const struct rte_ether_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	struct rte_ether_addr own;

	(void)unused;
	start_both(&plain);
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	assert_true(delivered(&own));
	assert_true(delivered(&broadcast));
	assert_false(delivered(&foreign));
	assert_false(delivered(&multicast));
	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	assert_true(delivered(&multicast));
	assert_false(delivered(&foreign));
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_true(delivered(&foreign));
	assert_true(delivered(&multicast));
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	assert_true(delivered(&multicast));
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	assert_false(delivered(&foreign));
	assert_false(delivered(&multicast));
	assert_true(delivered(&own));
	stop_both();
}

static void
promiscuous_survives_a_restart(void **unused)
{
	const struct rte_ether_addr foreign = { { 0x02, 0xff, 1, 2, 3, 4 } };

	(void)unused;
	start_both(&(struct e2e_conf){ .promiscuous = true });
	assert_true(delivered(&foreign));
	stop_both();
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(delivered(&foreign));
	stop_both();
}

static void
mac_address_changes(void **unused)
{
	struct rte_ether_addr fresh = { { 0x02, 0xaa, 1, 2, 3, 4 } }, old, now;

	(void)unused;
	start_both(&plain);
	assert_int_equal(rte_eth_macaddr_get(1, &old), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &fresh), 0);
	assert_int_equal(rte_eth_macaddr_get(1, &now), 0);
	assert_true(rte_is_same_ether_addr(&fresh, &now));
	assert_true(delivered(&fresh));
	assert_false(delivered(&old));
	stop_both();
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &old), 0);
	start_both(&plain);
	assert_true(delivered(&old));
	assert_false(delivered(&fresh));
	stop_both();
}

static atomic_uint link_changes;

static int
count_link_change(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port;
	(void)event;
	(void)arg;
	(void)ret;
	link_changes++;
	return 0;
}

static void
link_follows_the_peer(void **unused)
{
	struct rte_eth_link link;
	unsigned int changes, ms;

	(void)unused;
	assert_int_equal(
		rte_eth_dev_callback_register(1, RTE_ETH_EVENT_INTR_LSC, count_link_change, NULL),
		0);
	start_both(&plain);
	assert_int_equal(rte_eth_link_get(1, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
	assert_true(link.link_speed > 0);
	changes = link_changes;
	assert_int_equal(rte_eth_dev_set_link_down(0), 0);
	assert_true(e2e_wait_link(0, false));
	assert_true(e2e_wait_link(1, false));
	assert_int_equal(rte_eth_dev_set_link_up(0), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(e2e_wait_link(1, true));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_int_equal(e2e_port_stop(0), 0);
	assert_true(e2e_wait_link(1, false));
	/* Up, down, up, down; the first may have been told before we counted. */
	for (ms = 0; ms < WAIT_MS && link_changes < changes + 3; ms++)
		rte_delay_us_sleep(1000);
	assert_true(link_changes >= changes + 3);
	assert_int_equal(e2e_port_stop(1), 0);
	rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_LSC, count_link_change, NULL);
}

/* Counters do not depend on what happened in between, and a reset starts them at zero. */
static void
statistics_are_exact(void **unused)
{
	struct rte_eth_stats stats;

	(void)unused;
	start_both(&plain);
	rte_eth_stats_reset(0);
	rte_eth_stats_reset(1);
	assert_true(e2e_exchange(0, 1, 1, 100, 1, 33));
	assert_true(e2e_exchange(0, 1, 1, 1000, 3, 10));
	stop_both();
	start_both(&plain);
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
	stop_both();
}

struct stats_reader {
	atomic_bool stop;
	atomic_uint reads;
	bool backwards;
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
		last = stats.opackets;
		atomic_fetch_add(&reader->reads, 1);
	}
	return NULL;
}

/* A monitor reads on while the port is set up anew; what ended queues have sent stays counted. */
static void
statistics_are_read_while_queues_come_and_go(void **unused)
{
	struct stats_reader reader = { 0 };
	pthread_t thread;
	unsigned int seen;

	(void)unused;
	start_both(&plain);
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_stats, &reader), 0);
	for (unsigned int round = 0; round < 20; round++) {
		seen = atomic_load(&reader.reads);
		assert_true(e2e_exchange(0, 1, round * 8, 64, 1, 8));
		stop_both();
		start_both(&plain);
		while (atomic_load(&reader.reads) == seen)
			rte_delay_us_sleep(100);
	}
	atomic_store(&reader.stop, true);
	pthread_join(thread, NULL);
	assert_false(reader.backwards);
	stop_both();
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
	start_both(&(struct e2e_conf){ .rx_desc = 64 });
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
	stop_both();
}

/* What the application had not looked at when the device went is counted all the same. */
static void
missed_frames_survive_a_reset(void **unused)
{
	struct rte_eth_stats stats;
	struct rte_mbuf *pkts[64];
	unsigned int i, round;

	(void)unused;
	start_both(&(struct e2e_conf){ .rx_desc = 64 });
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
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.imissed, 2 * 64);
	stop_both();
}

/* Send 8 frames of a length from port 0, wait until a port has counted them, and read what both make of them. */
static void
send_eight(uint32_t length, uint16_t port, size_t member, struct rte_eth_stats *tx,
	   struct rte_eth_stats *rx)
{
	struct rte_mbuf *pkts[8];
	unsigned int i;

	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	for (i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = e2e_frame(e2e_pool, 1, i, length, 1 + length / 2048);
	assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	assert_true(e2e_wait_counted(port, member, RTE_DIM(pkts)));
	assert_int_equal(rte_eth_stats_get(0, tx), 0);
	assert_int_equal(rte_eth_stats_get(1, rx), 0);
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
		send_eight(5000, 1, offsetof(struct rte_eth_stats, ierrors), &tx, &rx);
		assert_int_equal(tx.opackets, 8);
		assert_int_equal(tx.oerrors, 0);
		assert_int_equal(rx.ipackets, 0);
		assert_int_equal(rx.ierrors, 8);
		assert_int_equal(rx.imissed, 0);
	}
	stop_both();
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
	start_both(&plain);
	assert_int_equal(e2e_port_stop(1), 0);
	assert_true(e2e_wait_link(0, false));
	send_eight(100, 0, offsetof(struct rte_eth_stats, oerrors), &tx, &rx);
	assert_int_equal(tx.oerrors, 8);
	assert_int_equal(rx.ipackets + rx.ierrors, 0);
	assert_int_equal(e2e_port_stop(0), 0);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
}

static void
ports_come_and_go(void **unused)
{
	uint16_t ports = rte_eth_dev_count_avail(), port;
	unsigned int i;

	(void)unused;
	for (i = 0; i < 5; i++) {
		assert_int_equal(rte_eal_hotplug_add("vdev", "net_rnic7", "wire=loop"), 0);
		assert_int_equal(rte_eth_dev_count_avail(), ports + 1);
		assert_int_equal(rte_eth_dev_get_port_by_name("net_rnic7", &port), 0);
		assert_int_equal(e2e_port_setup(port, &plain), 0);
		assert_true(e2e_wait_link(port, true));
		assert_true(e2e_exchange(port, port, 1, 200, 2, 16));
		/* Once closed by the application, once pulled from under it. */
		if (i % 2 == 0) {
			assert_int_equal(rte_eth_dev_stop(port), 0);
			assert_int_equal(rte_eth_dev_close(port), 0);
		}
		assert_int_equal(rte_eal_hotplug_remove("vdev", "net_rnic7"), 0);
		assert_int_equal(rte_eth_dev_count_avail(), ports);
		assert_int_equal(e2e_pool_used(e2e_pool), 0);
	}
	assert_int_not_equal(rte_eal_hotplug_add("vdev", "net_rnic7", "wire=nowhere"), 0);
	assert_int_not_equal(rte_eal_hotplug_add("vdev", "net_rnic7", "colour=blue"), 0);
	assert_int_equal(rte_eth_dev_count_avail(), ports);
}

/* What was sent is given back when asked for, up to the last WQE that wanted a completion. */
static void
transmit_cleanup_on_demand(void **unused)
{
	unsigned int used, ms;
	int freed = 0, n;

	(void)unused;
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 64));
	used = e2e_pool_used(e2e_pool);
	for (ms = 0; ms < WAIT_MS && freed < 32; ms++) {
		n = rte_eth_tx_done_cleanup(0, 0, 0);
		assert_true(n >= 0);
		freed += n;
		if (n == 0)
			rte_delay_us_sleep(1000);
	}
	assert_in_range(freed, 32, 64);
	assert_int_equal(used - e2e_pool_used(e2e_pool), freed);
	stop_both();
}

static void
reset_gives_a_fresh_port(void **unused)
{
	(void)unused;
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	start_both(&plain);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_true(e2e_exchange(1, 0, 1, 64, 1, 8));
	stop_both();
}

int
main(void)
{
	static const char *const vdevs[] = { "net_rnic0,wire=pair:control",
					     "net_rnic1,wire=pair:control", NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(info_is_honest, stop_ports),
		cmocka_unit_test_teardown(queue_and_burst_info, stop_ports),
		cmocka_unit_test_teardown(what_is_not_supported_is_refused, stop_ports),
		cmocka_unit_test_teardown(ports_restart, stop_ports),
		cmocka_unit_test_teardown(start_fails_cleanly_without_mbufs, stop_ports),
		cmocka_unit_test_teardown(mtu_changes_stopped_and_started, stop_ports),
		cmocka_unit_test_teardown(promiscuous_decides_about_foreign_frames, stop_ports),
		cmocka_unit_test_teardown(promiscuous_survives_a_restart, stop_ports),
		cmocka_unit_test_teardown(mac_address_changes, stop_ports),
		cmocka_unit_test_teardown(link_follows_the_peer, stop_ports),
		cmocka_unit_test_teardown(statistics_are_exact, stop_ports),
		cmocka_unit_test_teardown(statistics_are_read_while_queues_come_and_go, stop_ports),
		cmocka_unit_test_teardown(missed_frames_are_counted, stop_ports),
		cmocka_unit_test_teardown(missed_frames_survive_a_reset, stop_ports),
		cmocka_unit_test_teardown(frames_beyond_the_receivers_mtu_are_counted, stop_ports),
		cmocka_unit_test_teardown(frames_sent_without_a_link_are_counted, stop_ports),
		cmocka_unit_test_teardown(ports_come_and_go, stop_ports),
		cmocka_unit_test_teardown(transmit_cleanup_on_demand, stop_ports),
		cmocka_unit_test_teardown(reset_gives_a_fresh_port, stop_ports),
	};
	int failed;

	if (e2e_init("control", vdevs) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	e2e_fini();
	return failed;
}
