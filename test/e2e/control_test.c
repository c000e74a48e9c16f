/* SPDX-License-Identifier: BSD-3-Clause */

/* The port's control operations, as an application sees them. */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "main.h"

#define WAIT_MS 60000

static const struct e2e_conf plain = { 0 };
static const struct e2e_conf sized = { .rx_desc = 100, .tx_desc = 200 };
static const struct e2e_conf promiscuous = { .promiscuous = true };
static const struct e2e_conf no_fast_free = { .no_fast_free = true };
/* Devargs: multi-packet WQEs have no room for headers inline, which a ConnectX-4 Lx wants, nor does it have such WQEs. */
static bool multi_packet = true, compressed = true;

static bool
delivered(const struct rte_ether_addr *to)
{
	const int rc = e2e_delivered(to, E2E_UNTAGGED);

	assert_in_range(rc, 0, 1);
	return rc == 1;
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
	assert_int_equal(info.max_rx_queues, 16);
	assert_int_equal(info.max_tx_queues, 16);
	assert_int_equal(info.rx_queue_offload_capa,
			 RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM |
				 RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_RSS_HASH |
				 RTE_ETH_RX_OFFLOAD_TIMESTAMP);
	assert_int_equal(info.rx_offload_capa,
			 info.rx_queue_offload_capa | RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	assert_int_equal(info.tx_queue_offload_capa,
			 RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
				 RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
				 RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |
				 RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
	assert_int_equal(info.tx_offload_capa, info.tx_queue_offload_capa);
	assert_int_equal(info.speed_capa, RTE_ETH_LINK_SPEED_100G);
	assert_int_equal(rte_eth_dev_fw_version_get(0, version, sizeof(version)), 0);
	assert_true(strlen(version) > 0);
	/* Too small a buffer: how much it takes. */
	assert_int_equal(rte_eth_dev_fw_version_get(0, version, 2), strlen(version) + 1);
}

static void
registers_can_be_read(void **unused)
{
	struct rte_dev_reg_info info = { 0 };
	char version[64], expected[64];
	uint32_t *values;

	(void)unused;
	assert_int_equal(rte_eth_dev_get_reg_info(0, &info), 0);
	assert_int_equal(info.width, 4);
	assert_true(info.length > 0x200 / 4);
	values = calloc(info.length, info.width);
	assert_non_null(values);
	info.data = values;
	assert_int_equal(rte_eth_dev_get_reg_info(0, &info), 0);
	/* The first two are the firmware's version. */
	snprintf(expected, sizeof(expected), "%u.%u.%04u", values[0] & 0xffff, values[0] >> 16,
		 values[1] & 0xffff);
	assert_int_equal(rte_eth_dev_fw_version_get(0, version, sizeof(version)), 0);
	assert_string_equal(version, expected);
	/* A part of them, and no more than there are. */
	info.offset = 1;
	info.length = 1;
	assert_int_equal(rte_eth_dev_get_reg_info(0, &info), 0);
	assert_int_equal(values[0], values[1]);
	info.length = UINT32_MAX;
	assert_int_not_equal(rte_eth_dev_get_reg_info(0, &info), 0);
	free(values);
}

static void
the_clock_goes(void **unused)
{
	uint64_t before, after;

	(void)unused;
	assert_int_equal(rte_eth_read_clock(0, &before), 0);
	rte_delay_us_sleep(10000);
	assert_int_equal(rte_eth_read_clock(0, &after), 0);
	assert_true(after > before);
}

static void
queue_and_burst_info(void **unused)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	struct rte_eth_burst_mode mode;

	(void)unused;
	assert_true(e2e_pair_start(&sized, &sized));
	assert_int_equal(rte_eth_rx_queue_info_get(0, 0, &rx), 0);
	assert_int_equal(rx.nb_desc, 100);
	assert_ptr_equal(rx.mp, e2e_pool);
	assert_int_equal(rx.scattered_rx, 0);
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_int_equal(tx.nb_desc, 200);
	assert_int_equal(rte_eth_rx_burst_mode_get(0, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "Scalar"));
	assert_int_equal(rte_eth_tx_burst_mode_get(0, 0, &mode), 0);
	assert_non_null(strstr(mode.info, multi_packet ? "multi-packet" : "SEND"));
	assert_true(e2e_pair_stop());
}

/* What is told of many frames at once has one time for all of them. */
static void
completions_are_compressed_where_no_times_are_told(void **unused)
{
	const struct e2e_conf times = { .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP };
	struct rte_eth_burst_mode mode;

	(void)unused;
	assert_true(e2e_pair_start(&sized, &times));
	assert_int_equal(rte_eth_rx_burst_mode_get(0, 0, &mode), 0);
	assert_int_equal(strstr(mode.info, "compressed completions") != NULL, compressed);
	assert_int_equal(rte_eth_rx_burst_mode_get(1, 0, &mode), 0);
	assert_null(strstr(mode.info, "compressed completions"));
	assert_true(e2e_pair_stop());
}

static void
what_is_not_supported_is_refused(void **unused)
{
	struct rte_eth_conf conf = { 0 };

	(void)unused;
	assert_int_not_equal(rte_eth_dev_configure(0, 17, 1, &conf), 0);
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 17, &conf), 0);
	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_DCB;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), -ENOTSUP);
	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	conf.lpbk_mode = 1;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), -ENOTSUP);
	conf.lpbk_mode = 0;
	conf.txmode.mq_mode = RTE_ETH_MQ_TX_DCB;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), -ENOTSUP);
	conf.txmode.mq_mode = RTE_ETH_MQ_TX_NONE;
	conf.dcb_capability_en = RTE_ETH_DCB_PFC_SUPPORT;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), -ENOTSUP);
	conf.dcb_capability_en = 0;
	conf.link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10G;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), -ENOTSUP);
	conf.link_speeds = RTE_ETH_LINK_SPEED_AUTONEG;
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TCP_LRO;
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	conf.rxmode.offloads = 0;
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	/* A port without its queues does not start. */
	assert_int_not_equal(rte_eth_dev_start(0), 0);
	assert_int_not_equal(rte_eth_rx_queue_setup(0, 0, 32, SOCKET_ID_ANY, NULL, e2e_pool), 0);
	assert_int_not_equal(rte_eth_tx_queue_setup(0, 0, 16384, SOCKET_ID_ANY, NULL), 0);
}

static void
ports_restart(void **unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < 20; i++) {
		assert_true(e2e_pair_start(&plain, &plain));
		assert_true(e2e_exchange(i % 2, !(i % 2), i, 100 + i, 1, 32));
		assert_true(e2e_pair_stop());
	}
	/* The same without a new configuration. */
	for (i = 0; i < 20; i++) {
		assert_true(e2e_pair_resume());
		assert_true(e2e_exchange(i % 2, !(i % 2), i, 100 + i, 2, 32));
		assert_true(e2e_pair_stop());
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
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 32));
	assert_true(e2e_pair_stop());
	rte_mempool_free(small);
}

static void
mtu_changes_stopped_and_started(void **unused)
{
	struct rte_eth_stats tx, rx;
	uint16_t mtu;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 0, 1514, 1, 4));
	/* What the queues take as they are, at once; more only when they are laid out anew. */
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 1400), 0);
	assert_true(e2e_exchange(0, 1, 10, 1414, 1, 4));
	/* The device knows of it, too: what it would not send, it does not take. */
	assert_int_equal(rte_eth_dev_set_mtu(0, 1500), 0);
	assert_true(e2e_send_eight(1514, 1, offsetof(struct rte_eth_stats, ierrors), &tx, &rx));
	assert_int_equal(rx.ipackets, 0);
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 9000), -EBUSY);
	assert_int_equal(rte_eth_dev_get_mtu(1, &mtu), 0);
	assert_int_equal(mtu, 1400);
	assert_true(e2e_exchange(0, 1, 20, 1414, 1, 4));
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_eth_dev_set_mtu(0, 9000), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 9000), 0);
	assert_true(e2e_pair_resume());
	assert_true(e2e_exchange(0, 1, 30, 9014, 6, 4));
	assert_true(e2e_exchange(1, 0, 30, 9014, 6, 4));
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_eth_dev_set_mtu(0, 9600), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 9600), 0);
	assert_true(e2e_pair_resume());
	assert_true(e2e_exchange(0, 1, 40, 9614, 6, 4));
	assert_true(e2e_exchange(1, 0, 40, 9614, 6, 4));
	assert_int_not_equal(rte_eth_dev_set_mtu(0, 67), 0);
	assert_int_equal(rte_eth_dev_set_mtu(0, 68), 0);
	assert_int_not_equal(rte_eth_dev_set_mtu(0, 20000), 0);
	assert_true(e2e_pair_stop());
}

static void
promiscuous_decides_about_foreign_frames(void **unused)
{
	const struct rte_ether_addr foreign = { { 0x02, 0xff, 1, 2, 3, 4 } };
	const struct rte_ether_addr multicast = { { 0x01, 0x00, 0x5e, 1, 2, 3 } };
	const struct rte_ether_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	struct rte_ether_addr own;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	assert_true(delivered(&own));
	assert_true(delivered(&broadcast));
	assert_false(delivered(&foreign));
	assert_false(delivered(&multicast));
	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	assert_true(delivered(&multicast));
	assert_false(delivered(&foreign));
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	assert_false(delivered(&multicast));
	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_true(delivered(&foreign));
	assert_true(delivered(&multicast));
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	assert_true(delivered(&multicast));
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	assert_false(delivered(&foreign));
	assert_false(delivered(&multicast));
	assert_true(delivered(&own));
	assert_true(e2e_pair_stop());
}

static void
promiscuous_survives_a_restart(void **unused)
{
	const struct rte_ether_addr foreign = { { 0x02, 0xff, 1, 2, 3, 4 } };

	(void)unused;
	assert_true(e2e_pair_start(&promiscuous, &promiscuous));
	assert_true(delivered(&foreign));
	assert_true(e2e_pair_stop());
	assert_true(e2e_pair_resume());
	assert_true(delivered(&foreign));
	assert_true(e2e_pair_stop());
}

static void
mac_address_changes(void **unused)
{
	struct rte_ether_addr fresh = { { 0x02, 0xaa, 1, 2, 3, 4 } }, old, now;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_macaddr_get(1, &old), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &fresh), 0);
	assert_int_equal(rte_eth_macaddr_get(1, &now), 0);
	assert_true(rte_is_same_ether_addr(&fresh, &now));
	assert_true(delivered(&fresh));
	assert_false(delivered(&old));
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &old), 0);
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(delivered(&old));
	assert_false(delivered(&fresh));
	assert_true(e2e_pair_stop());
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
	assert_true(e2e_pair_start(&plain, &plain));
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
	/* A port that stops leaves its link to the peer: a card's takes seconds to come again. */
	assert_int_equal(e2e_port_stop(0), 0);
	assert_true(e2e_wait_link(0, false));
	assert_int_equal(rte_eth_link_get(1, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(rte_eth_dev_set_link_down(0), 0);
	assert_true(e2e_wait_link(1, false));
	/* Up, down, up, down; the first may have been told before we counted. */
	for (ms = 0; ms < WAIT_MS && link_changes < changes + 3; ms++)
		rte_delay_us_sleep(1000);
	assert_true(link_changes >= changes + 3);
	assert_int_equal(e2e_port_stop(1), 0);
	rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_LSC, count_link_change, NULL);
}

static void
ignore_free(void *address, void *unused)
{
	(void)address;
	(void)unused;
}

/* A frame in memory of the application's own. Was it sent? */
static bool
sent_from(void *memory, struct rte_mbuf_ext_shared_info *shared)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(e2e_pool), *frame, *got;
	struct rte_eth_stats before, after;
	bool sent;

	assert_non_null(mbuf);
	frame = e2e_frame(e2e_pool, 1, 1, 100, 1);
	assert_non_null(frame);
	memcpy(memory, rte_pktmbuf_mtod(frame, void *), 100);
	rte_pktmbuf_free(frame);
	rte_mbuf_ext_refcnt_update(shared, 1);
	rte_pktmbuf_attach_extbuf(mbuf, memory, RTE_BAD_IOVA, 4096, shared);
	mbuf->data_len = mbuf->pkt_len = 100;
	assert_int_equal(rte_eth_stats_get(0, &before), 0);
	assert_int_equal(rte_eth_tx_burst(0, 0, &mbuf, 1), 1);
	assert_int_equal(rte_eth_stats_get(0, &after), 0);
	sent = after.oerrors == before.oerrors;
	if (!sent)
		return false;
	assert_int_equal(e2e_receive(1, &got, 1), 1);
	assert_true(e2e_check(got, 1, 1, 100));
	rte_pktmbuf_free(got);
	return true;
}

static void
memory_of_the_applications_own_is_mapped_and_unmapped(void **unused)
{
	const size_t length = 1 << 16;
	struct rte_mbuf_ext_shared_info shared = { .free_cb = ignore_free };
	struct rte_eth_dev_info info;
	uint8_t *memory = aligned_alloc(4096, length);
	unsigned int i;

	(void)unused;
	assert_non_null(memory);
	assert_int_equal(rte_extmem_register(memory, length, NULL, 0, 4096), 0);
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_true(e2e_pair_start(&no_fast_free, &no_fast_free));
	for (i = 0; i < 3; i++) {
		assert_false(sent_from(memory, &shared));
		assert_int_equal(rte_dev_dma_map(info.device, memory, (uintptr_t)memory, length),
				 0);
		assert_true(sent_from(memory, &shared));
		assert_true(sent_from(memory + length - 4096, &shared));
		assert_int_not_equal(
			rte_dev_dma_map(info.device, memory + 4096, (uintptr_t)memory, 4096), 0);
		assert_int_equal(rte_errno, EEXIST);
		assert_int_not_equal(
			rte_dev_dma_unmap(info.device, memory, (uintptr_t)memory, 4096), 0);
		/* The device has done with what lies there. */
		assert_int_equal(rte_eth_dev_stop(0), 0);
		assert_int_equal(rte_dev_dma_unmap(info.device, memory, (uintptr_t)memory, length),
				 0);
		assert_int_equal(rte_eth_dev_start(0), 0);
		assert_true(e2e_wait_link(0, true));
		assert_true(e2e_wait_link(1, true));
	}
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_extmem_unregister(memory, length), 0);
	free(memory);
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

/* Until the pool that only senders use is whole. Returns the packets that were given back, of at most `most` at a time. */
static unsigned int
clean_up(uint32_t count, int most)
{
	unsigned int freed = 0, ms;
	int n;

	for (ms = 0; ms < WAIT_MS && e2e_pool_used(e2e_pool) > 0; ms++) {
		n = rte_eth_tx_done_cleanup(0, 0, count);
		assert_in_range(n, 0, most);
		freed += n;
		if (n == 0)
			rte_delay_us_sleep(1000);
	}
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
	return freed;
}

static struct rte_mempool *
receivers_pool(void)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"cleanup", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

/* What was sent is given back when asked for, to the last packet, however many mbufs each has. */
static void
transmit_cleanup_on_demand(void **unused)
{
	static const unsigned int counts[] = { 1, 10, 31, 32, 33, 64 };
	struct e2e_conf conf = { .rx_pool = receivers_pool(),
				 .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS };
	struct rte_mbuf *pkts[64];
	unsigned int i, k, segs;

	(void)unused;
	assert_true(e2e_pair_start(&conf, &conf));
	for (segs = 1; segs <= 3; segs++)
		for (i = 0; i < RTE_DIM(counts); i++) {
			for (k = 0; k < counts[i]; k++)
				pkts[k] = e2e_frame(e2e_pool, 1, k, 120, segs);
			/* One burst: nothing of it is given back before it is asked for. */
			assert_int_equal(rte_eth_tx_burst(0, 0, pkts, counts[i]), counts[i]);
			assert_int_equal(e2e_receive(1, pkts, counts[i]), counts[i]);
			rte_pktmbuf_free_bulk(pkts, counts[i]);
			assert_int_equal(clean_up(0, 64), counts[i]);
			assert_int_equal(rte_eth_tx_done_cleanup(0, 0, 0), 0);
		}
	assert_true(e2e_pair_stop());
	rte_mempool_free(conf.rx_pool);
}

/* Two completions' worth of packets, in one burst: when one packet is asked for, the second completion's stay. */
static void
transmit_cleanup_stops_when_it_has_enough(void **unused)
{
	struct e2e_conf conf = { .rx_pool = receivers_pool() };
	struct rte_mbuf *pkts[120];
	unsigned int i;

	(void)unused;
	assert_true(e2e_pair_start(&conf, &conf));
	for (i = 0; i < RTE_DIM(pkts); i++) {
		pkts[i] = e2e_frame(e2e_pool, 1, i, 120, 1);
		assert_non_null(pkts[i]);
	}
	assert_int_equal(rte_eth_tx_burst(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	assert_int_equal(e2e_receive(1, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
	assert_int_equal(clean_up(1, 60), RTE_DIM(pkts));
	assert_true(e2e_pair_stop());
	rte_mempool_free(conf.rx_pool);
}

static uint64_t
missed_by(uint16_t port)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	return stats.imissed;
}

/* Single packets and NOPs in a small ring: no WQE may be built on one that is under way. */
static void
transmit_cleanup_leaves_room_for_its_own(void **unused)
{
	struct e2e_conf conf = { .rx_pool = receivers_pool(), .tx_desc = 128 };
	struct rte_mbuf *pkts[1];
	unsigned int i, sent = 0, got = 0, ms;

	(void)unused;
	assert_true(e2e_pair_start(&conf, &conf));
	assert_int_equal(rte_eth_stats_reset(1), 0);
	for (i = 0; i < 20000; i++) {
		pkts[0] = e2e_frame(e2e_pool, 1, i, 120, 1);
		assert_non_null(pkts[0]);
		if (rte_eth_tx_burst(0, 0, pkts, 1) == 1)
			sent++;
		else
			rte_pktmbuf_free(pkts[0]);
		if (i % 50 == 0)
			assert_true(rte_eth_tx_done_cleanup(0, 0, 0) >= 0);
		while (rte_eth_rx_burst(1, 0, pkts, 1) == 1) {
			rte_pktmbuf_free(pkts[0]);
			got++;
		}
	}
	clean_up(0, 128);
	for (ms = 0; ms < WAIT_MS && got + missed_by(1) < sent; ms++) {
		while (rte_eth_rx_burst(1, 0, pkts, 1) == 1) {
			rte_pktmbuf_free(pkts[0]);
			got++;
		}
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(got + missed_by(1), sent);
	assert_true(e2e_pair_stop());
	rte_mempool_free(conf.rx_pool);
}

static void
reset_gives_a_fresh_port(void **unused)
{
	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 8));
	assert_true(e2e_exchange(1, 0, 1, 64, 1, 8));
	assert_true(e2e_pair_stop());
}

int
main(int argc, char **argv)
{
	static const char *const vdevs[] = { "net_rnic0,wire=pair:control",
					     "net_rnic1,wire=pair:control", NULL };
	const struct CMUnitTest tests[] = {
		E2E_PAIR_TEST(info_is_honest),
		E2E_PAIR_TEST(registers_can_be_read),
		E2E_PAIR_TEST(the_clock_goes),
		E2E_PAIR_TEST(queue_and_burst_info),
		E2E_PAIR_TEST(completions_are_compressed_where_no_times_are_told),
		E2E_PAIR_TEST(what_is_not_supported_is_refused),
		E2E_PAIR_TEST(ports_restart),
		E2E_PAIR_TEST(start_fails_cleanly_without_mbufs),
		E2E_PAIR_TEST(mtu_changes_stopped_and_started),
		E2E_PAIR_TEST(promiscuous_decides_about_foreign_frames),
		E2E_PAIR_TEST(promiscuous_survives_a_restart),
		E2E_PAIR_TEST(mac_address_changes),
		E2E_PAIR_TEST(link_follows_the_peer),
		E2E_PAIR_TEST(memory_of_the_applications_own_is_mapped_and_unmapped),
		E2E_PAIR_TEST(ports_come_and_go),
		E2E_PAIR_TEST(transmit_cleanup_on_demand),
		E2E_PAIR_TEST(transmit_cleanup_stops_when_it_has_enough),
		E2E_PAIR_TEST(transmit_cleanup_leaves_room_for_its_own),
		E2E_PAIR_TEST(reset_gives_a_fresh_port),
	};
	int failed, i;

	for (i = 1; i < argc; i++)
		compressed &= strstr(argv[i], "cqe_comp=0") == NULL;
	for (i = 1; i < argc; i++)
		if (strstr(argv[i], "like=cx4lx") != NULL || strstr(argv[i], "inline=1") != NULL)
			multi_packet = false;
	if (e2e_init("control", e2e_ports(argc, argv, vdevs)) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	e2e_fini();
	return failed;
}
