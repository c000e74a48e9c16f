/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What two ports do, subject by subject, each a test: what works is checked; what a port refuses, or says that it does and
 * does not, is named ("# not done"). Which card is refused what, and with which words, is the table of test_cards.py,
 * which runs this with the devargs of a card. What the driver says stands before the subject that it says it in.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#include "packet.h"
#include "raw.h"
#include "rdma_end.h"

#define QUEUES	 4
#define FLOWS	 64
#define JUMBO	 9000
#define MESSAGE	 100001u
#define ACK	 0x10
#define IP_GOOD	 RTE_MBUF_F_RX_IP_CKSUM_GOOD
#define L4_GOOD	 RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define STRIPPED (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)

static const struct e2e_conf plain = { 0 };
static const struct rte_ether_addr stranger = { { 0x02, 0xff, 1, 2, 3, 4 } };
static const struct rte_ether_addr group = { { 0x01, 0x00, 0x5e, 1, 2, 3 } };
static const char *devargs = "";

/* The errno; 0: it was said to be done. */
static void
not_done(const char *what, int rc)
{
	printf("# not done: %s: %d\n", what, -rc);
}

/* Frames to that address come to port 1, as they do with what was asked for; before, they did not. */
static void
expect_more(const char *what, int rc, const struct rte_ether_addr *to)
{
	if (rc != 0 || e2e_delivered(to, E2E_UNTAGGED) != 1)
		not_done(what, rc);
}

static void
expect_no_more(const struct rte_ether_addr *to)
{
	assert_int_equal(e2e_delivered(to, E2E_UNTAGGED), 0);
}

/* ---- The port ---- */

static void
bring_up(void **unused)
{
	struct rte_ether_addr macs[2];
	char firmware[32];
	uint16_t port;

	(void)unused;
	assert_int_equal(rte_eth_dev_count_avail(), 2);
	for (port = 0; port < 2; port++) {
		assert_int_equal(rte_eth_macaddr_get(port, &macs[port]), 0);
		assert_true(rte_is_valid_assigned_ether_addr(&macs[port]));
		assert_int_equal(rte_eth_dev_fw_version_get(port, firmware, sizeof(firmware)), 0);
	}
	assert_false(rte_is_same_ether_addr(&macs[0], &macs[1]));
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_pair_stop());
}

/* Of every length that an MTU of 1500 has. */
static void
frames(void **unused)
{
	uint32_t length, step = 0;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	for (length = 60; length <= 1514; length += length < 200 ? 1 : 73, step++)
		assert_true(e2e_exchange(step % 2, !(step % 2), 100 * step, length, 1 + step % 5,
					 1 + step % 64));
	assert_true(e2e_exchange(0, 1, 1, 1514, 8, 64));
	assert_true(e2e_exchange(1, 0, 1, 1514, 8, 64));
	assert_true(e2e_pair_stop());
}

static void
stop_and_start(void **unused)
{
	unsigned int round;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	for (round = 0; round < 3; round++) {
		assert_true(e2e_exchange(0, 1, round, 500, 2, 32));
		assert_true(e2e_exchange(1, 0, round, 500, 2, 32));
		assert_true(e2e_pair_restart());
	}
	assert_true(e2e_pair_stop());
}

static void
reset(void **unused)
{
	(void)unused;
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_true(e2e_pair_start(&plain, &plain));
	assert_true(e2e_exchange(0, 1, 1, 500, 2, 32));
	assert_true(e2e_exchange(1, 0, 1, 500, 2, 32));
	assert_true(e2e_pair_stop());
}

static uint64_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

/* A third port comes, works, and leaves nothing behind. What it takes of EAL's memory is hugepages to who has such. */
static void
come_and_close(void **unused)
{
	const uint64_t before = heap_bytes();
	struct rte_eth_dev_info info;
	struct e2e_conf conf = { 0 };
	char args[128];
	uint16_t port;

	(void)unused;
	snprintf(args, sizeof(args), "wire=loop%s%s", *devargs != '\0' ? "," : "", devargs);
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_rnic2", args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_rnic2", &port), 0);
	assert_int_equal(rte_eth_dev_info_get(port, &info), 0);
	conf.rx_desc = info.default_rxportconf.ring_size;
	conf.tx_desc = info.default_txportconf.ring_size;
	assert_int_equal(e2e_port_setup(port, &conf), 0);
	assert_true(e2e_wait_link(port, true));
	assert_true(e2e_exchange(port, port, 1, 200, 1, 32));
	printf("# a port with a queue of %u descriptors each way: %" PRIu64
	       " bytes of EAL's heap\n",
	       conf.rx_desc, heap_bytes() - before);
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_close(port), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_rnic2"), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 2);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
	assert_int_equal(heap_bytes(), before);
}

/* ---- Offloads ---- */

#define TX_OFFLOADS                                                     \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |    \
	 RTE_ETH_TX_OFFLOAD_VLAN_INSERT)
#define RX_OFFLOADS \
	(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_TIMESTAMP)

/* Those of them that port 1 has; who has not all is named. */
static uint64_t
offered(uint64_t wanted, uint64_t has, const char *(*name)(uint64_t))
{
	uint64_t bit;

	for (bit = 1; bit != 0; bit <<= 1)
		if (wanted & ~has & bit)
			not_done(name(bit), -ENOTSUP);
	return wanted & has;
}

static const struct df_spec tcp = {
	.version = 4, .proto = DF_TCP, .tcp_flags = ACK, .payload = 333
};
static const struct df_spec udp = { .version = 4, .proto = DF_UDP, .payload = 1001 };
static const struct df_spec large = {
	.version = 6, .proto = DF_TCP, .tcp_flags = ACK, .payload = 10007
};

static void
send_asking(const struct df_spec *spec, uint64_t flags, uint16_t tci)
{
	const struct df_spec with = packet_tagged(spec, tci);
	struct rte_mbuf *mbuf = packet_make(spec, flags, 3, 0);

	mbuf->vlan_tci = tci;
	assert_int_equal(rte_eth_tx_prepare(0, 0, &mbuf, 1), 1);
	packet_send(0, &mbuf, 1);
	packet_expect_spec(flags & RTE_MBUF_F_TX_VLAN ? &with : spec, 0);
}

static void
offloads_of_tx(void **unused)
{
	struct rte_eth_dev_info info;
	struct e2e_conf sender = { 0 };

	(void)unused;
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	sender.tx_offloads =
		offered(TX_OFFLOADS, info.tx_offload_capa, rte_eth_dev_tx_offload_name);
	packet_start(&sender, &plain);
	if (sender.tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM)
		send_asking(&tcp, packet_checksums(&tcp), 0);
	if (sender.tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
		send_asking(&udp, packet_checksums(&udp), 0);
	if (sender.tx_offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)
		send_asking(&udp, RTE_MBUF_F_TX_VLAN, 0xb00d);
	if (sender.tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) {
		packet_send_large(&large, 1400, 6, true);
		packet_expect_large(&large, 1400, true);
	}
	assert_int_equal(packet_errors(), 0);
	packet_stop();
}

/* A frame whose tag is stripped, if tags are. */
static void
receive_one(const struct df_spec *spec, uint64_t offloads, bool good)
{
	const struct df_spec with = packet_tagged(spec, 0xa123);
	const bool strip = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	static uint8_t sent[PACKET_ROOM];
	const uint64_t want = IP_GOOD | (good ? L4_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD);
	const uint32_t bytes = packet_build(sent, &with, 0);
	struct rte_mbuf *mbuf;

	if (!good)
		sent[df_payload(&with)] ^= 1;
	mbuf = packet_mbuf(sent, bytes, 1, &with);
	packet_send(0, &mbuf, 1);
	if (strip)
		memmove(sent + 12, sent + 16, bytes - 16);
	mbuf = packet_receive(sent, bytes - (strip ? 4 : 0));
	assert_int_equal(mbuf->ol_flags & STRIPPED, strip ? STRIPPED : 0);
	if (strip)
		assert_int_equal(mbuf->vlan_tci, 0xa123);
	if ((offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) == RTE_ETH_RX_OFFLOAD_CHECKSUM)
		assert_int_equal(mbuf->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK |
						   RTE_MBUF_F_RX_L4_CKSUM_MASK),
				 want);
	rte_pktmbuf_free(mbuf);
}

static void
offloads_of_rx(void **unused)
{
	struct rte_eth_dev_info info;
	struct e2e_conf receiver = { 0 };

	(void)unused;
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	receiver.rx_offloads =
		offered(RX_OFFLOADS, info.rx_offload_capa, rte_eth_dev_rx_offload_name);
	packet_start(&plain, &receiver);
	receive_one(&tcp, receiver.rx_offloads, true);
	receive_one(&udp, receiver.rx_offloads, true);
	receive_one(&tcp, receiver.rx_offloads, false);
	receive_one(&udp, receiver.rx_offloads, false);
	packet_stop();
}

/* Each frame's time is between two looks at the clock; what the clock counts is for the guide to say. */
static void
timestamps(void **unused)
{
	const struct e2e_conf receiver = { .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP };
	uint64_t begin, end, time, last = 0, flag = 0;
	struct rte_eth_dev_info info;
	struct rte_mbuf *mbuf;
	int offset = -1, i;

	(void)unused;
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	if (offered(RTE_ETH_RX_OFFLOAD_TIMESTAMP, info.rx_offload_capa,
		    rte_eth_dev_rx_offload_name) == 0)
		return;
	packet_start(&plain, &receiver);
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&offset, &flag), 0);
	assert_int_equal(rte_eth_read_clock(1, &begin), 0);
	for (i = 0; i < 10; i++) {
		mbuf = e2e_frame(e2e_pool, 1, (uint64_t)i, 300, 1);
		packet_send(0, &mbuf, 1);
		assert_int_equal(e2e_receive(1, &mbuf, 1), 1);
		assert_true(e2e_check(mbuf, 1, (uint64_t)i, 300));
		assert_int_equal(rte_eth_read_clock(1, &end), 0);
		assert_true(mbuf->ol_flags & flag);
		time = *RTE_MBUF_DYNFIELD(mbuf, offset, rte_mbuf_timestamp_t *);
		assert_true(time >= last && time <= end);
		last = time;
		rte_pktmbuf_free(mbuf);
	}
	assert_true(last >= begin);
	packet_stop();
}

/* ---- Which queue ---- */

static uint16_t
receive_on_a_queue(struct rte_mbuf **mbuf)
{
	const uint64_t end = rte_get_timer_cycles() + 60 * rte_get_timer_hz();
	uint16_t queue;

	do {
		for (queue = 0; queue < QUEUES; queue++)
			if (rte_eth_rx_burst(1, queue, mbuf, 1) == 1)
				return queue;
	} while (rte_get_timer_cycles() < end);
	fail_msg("a frame is lost");
	return 0;
}

static void
rss(void **unused)
{
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX },
						    { .mask = UINT64_MAX } };
	const struct e2e_conf receiver = { .rx_queues = QUEUES,
					   .rss = true,
					   .rss_hf =
						   RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
					   .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH };
	uint8_t key[40], frame[1500];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };
	unsigned int i, hits[QUEUES] = { 0 };
	struct rte_mbuf *mbuf;
	uint32_t bytes, hash;
	uint16_t queue;

	(void)unused;
	packet_start(&plain, &receiver);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(1, &conf), 0);
	assert_int_equal(rte_eth_dev_rss_reta_query(1, reta, 128), 0);
	for (i = 0; i < FLOWS; i++) {
		bytes = packet_build(frame, &udp, 0);
		frame[df_l3(&udp) + 15] = (uint8_t)i;	/* of the source's address */
		frame[df_l4(&udp)] = (uint8_t)(i * 37); /* and of its port */
		mbuf = packet_mbuf(frame, bytes, 1, &udp);
		packet_send(0, &mbuf, 1);
		queue = receive_on_a_queue(&mbuf);
		hash = packet_hash(frame, &udp, true, key);
		assert_true(mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
		assert_int_equal(mbuf->hash.rss, hash);
		assert_int_equal(queue, reta[hash % 128 / 64].reta[hash % 64]);
		hits[queue]++;
		rte_pktmbuf_free(mbuf);
	}
	for (queue = 0; queue < QUEUES; queue++)
		assert_true(hits[queue] > 0);
	packet_stop();
}

/* ---- Which frames ---- */

static void
vlans(void **unused)
{
	struct rte_ether_addr own;

	(void)unused;
	assert_true(e2e_pair_start(
		&plain, &(struct e2e_conf){ .rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER }));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	assert_int_equal(e2e_delivered(&own, 5), 0);
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 1), 0);
	assert_int_equal(e2e_delivered(&own, 5), 1);
	assert_int_equal(e2e_delivered(&own, 6), 0);
	assert_int_equal(e2e_delivered(&own, E2E_UNTAGGED), 1);
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 0), 0);
	assert_int_equal(e2e_delivered(&own, 5), 0);
	assert_true(e2e_pair_stop());
}

/* Asked for while the port is stopped, or at work; the frames are as long as the MTU has them. */
static void
mtu_of(uint16_t mtu)
{
	char what[16];
	int rc = rte_eth_dev_set_mtu(0, mtu);

	if (rc == 0)
		rc = rte_eth_dev_set_mtu(1, mtu);
	if (rc == 0) {
		assert_int_equal(rte_eth_dev_start(0), 0);
		assert_int_equal(rte_eth_dev_start(1), 0);
		assert_true(e2e_wait_link(0, true) && e2e_wait_link(1, true));
		assert_true(e2e_exchange(0, 1, 1, mtu + 14u, 1 + mtu / 2000, 32));
		assert_true(e2e_exchange(1, 0, 1, mtu + 14u, 1 + mtu / 2000, 32));
		assert_true(e2e_pair_stop());
	} else {
		snprintf(what, sizeof(what), "MTU %u", mtu);
		not_done(what, rc);
	}
}

static void
mtu(void **unused)
{
	int rc;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	rc = rte_eth_dev_set_mtu(1, 1400);
	if (rc != 0)
		not_done("MTU of a port at work", rc);
	assert_true(e2e_exchange(0, 1, 1, 1414, 1, 32));
	assert_true(e2e_pair_stop());
	mtu_of(1400);
	mtu_of(JUMBO);
	assert_int_equal(rte_eth_dev_set_mtu(0, 1500), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 1500), 0);
}

static void
promiscuous(void **unused)
{
	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	expect_no_more(&stranger);
	expect_more("promiscuous", rte_eth_promiscuous_enable(1), &stranger);
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	expect_no_more(&stranger);
	assert_true(e2e_pair_stop());
}

static void
all_multicast(void **unused)
{
	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	expect_no_more(&group);
	expect_more("all multicast", rte_eth_allmulticast_enable(1), &group);
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	expect_no_more(&group);
	assert_true(e2e_pair_stop());
}

static void
addresses(void **unused)
{
	struct rte_ether_addr own, more = stranger, list = group;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	assert_int_equal(rte_eth_macaddr_get(1, &own), 0);
	expect_no_more(&more);
	expect_more("another address", rte_eth_dev_mac_addr_add(1, &more, 0), &more);
	assert_int_equal(rte_eth_dev_mac_addr_remove(1, &more), 0);
	expect_no_more(&more);
	expect_no_more(&list);
	expect_more("a multicast address", rte_eth_dev_set_mc_addr_list(1, &list, 1), &list);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, NULL, 0), 0);
	expect_no_more(&list);
	assert_int_equal(e2e_delivered(&own, E2E_UNTAGGED), 1);
	assert_true(e2e_pair_stop());
}

/* ---- RDMA ---- */

static struct rdma_end ends[2];
static struct rdma_peer peer = { .end = &ends[1] };

static int
open_ends(void **unused)
{
	static const struct rdma_conf conf = { 0 };

	(void)unused;
	assert_true(e2e_pair_start(&plain, &plain));
	rdma_end_open(&ends[0], e2e_port_name(0), &conf);
	rdma_end_open(&ends[1], e2e_port_name(1), &conf);
	rdma_meet(&ends[0], &peer, &conf, &conf);
	return 0;
}

static int
close_ends(void **unused)
{
	(void)unused;
	rdma_end_close(&ends[0]);
	rdma_end_close(&ends[1]);
	return e2e_pair_stop() ? 0 : -1;
}

static void
request(enum rdmapmd_wr_opcode opcode, uint32_t own_at, uint32_t length, uint32_t peer_at)
{
	const struct rdmapmd_sge sge = { (uintptr_t)ends[0].memory + own_at, length,
					 ends[0].keys[RDMA_REGION_ALL] };
	struct rdmapmd_send_wr wr = { .wr_id = 1,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .opcode = opcode,
				      .send_flags = RDMAPMD_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)ends[1].memory + peer_at;
	wr.wr.rdma.rkey = ends[1].keys[RDMA_REGION_ALL];
	rdma_post(ends[0].qp, &wr);
}

static void
rc_write_and_read(void **unused)
{
	(void)unused;
	rdma_end_put(&ends[0], RDMA_FROM, MESSAGE, 1, 1);
	rdma_end_blank(&ends[1], RDMA_TO, MESSAGE, 1);
	request(RDMAPMD_WR_RDMA_WRITE, RDMA_FROM, MESSAGE, RDMA_TO);
	rdma_expect(ends[0].cq, 1, RDMAPMD_WC_RDMA_WRITE);
	assert_true(rdma_end_has(&ends[1], RDMA_TO, MESSAGE, 1, 1));
	rdma_end_put(&ends[1], RDMA_FROM, MESSAGE, 1, 2);
	rdma_end_blank(&ends[0], RDMA_TO, MESSAGE, 1);
	request(RDMAPMD_WR_RDMA_READ, RDMA_TO, MESSAGE, RDMA_FROM);
	rdma_expect(ends[0].cq, 1, RDMAPMD_WC_RDMA_READ);
	assert_true(rdma_end_has(&ends[0], RDMA_TO, MESSAGE, 1, 2));
}

/* A peer that is to be allowed them may be refused that. */
static int
allow_atomics(struct rdmapmd_qp *qp)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_INIT,
					      .port_num = 1,
					      .qp_access_flags = RDMAPMD_ACCESS_REMOTE_ATOMIC };

	rdma_to(qp, RDMAPMD_QPS_RESET);
	return rdmapmd_qp_modify(qp, &attr,
				 RDMAPMD_QP_STATE | RDMAPMD_QP_PKEY_INDEX | RDMAPMD_QP_PORT |
					 RDMAPMD_QP_ACCESS_FLAGS);
}

static void
atomics(void **unused)
{
	uint64_t *old = (uint64_t *)(ends[0].memory + RDMA_TO);
	uint64_t *there = (uint64_t *)(ends[1].memory + RDMA_FROM);
	const struct rdmapmd_sge sge = { (uintptr_t)old, sizeof(*old),
					 ends[0].keys[RDMA_REGION_ALL] };
	struct rdmapmd_send_wr wr = { .wr_id = 3,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .opcode = RDMAPMD_WR_ATOMIC_FETCH_AND_ADD,
				      .send_flags = RDMAPMD_SEND_SIGNALED };

	(void)unused;
	if (!rdma_has_atomics(ends[0].context)) {
		not_done("atomics", allow_atomics(ends[1].qp));
		return;
	}
	*there = 40;
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = ends[1].keys[RDMA_REGION_ALL];
	wr.wr.atomic.compare_add = 2;
	rdma_post(ends[0].qp, &wr);
	rdma_expect(ends[0].cq, 3, RDMAPMD_WC_FETCH_ADD);
	assert_int_equal(*old, 40);
	assert_int_equal(*there, 42);
}

static void
send_queue_drained(void **unused)
{
	const struct rdmapmd_qp_attr attr = { .qp_state = RDMAPMD_QPS_SQD };
	const int rc = rdmapmd_qp_modify(ends[0].qp, &attr, RDMAPMD_QP_STATE);

	(void)unused;
	if (rc != 0)
		not_done("SQD", rc);
}

/* ---- Frames of queue pairs ---- */

static int
open_raw(void **unused)
{
	assert_true(e2e_pair_start(&plain, &plain));
	return raw_setup(unused);
}

static int
close_raw(void **unused)
{
	raw_teardown(unused);
	return e2e_pair_stop() ? 0 : -1;
}

static void
raw_post(const uint8_t to[6], uint32_t length)
{
	raw_frame(&raw_ends[0], 0, to, RDMAPMD_VLAN_ANY, length, length);
	raw_send(&raw_ends[0], 2, length, RDMAPMD_SEND_SIGNALED);
	rdma_expect(raw_ends[0].send_cq, 2, RDMAPMD_WC_SEND);
}

static void
raw_exchange(const uint8_t to[6], uint32_t length)
{
	raw_receive(&raw_ends[1], 1, 1);
	raw_post(to, length);
	raw_expect(&raw_ends[1], 1, 0, to, RDMAPMD_VLAN_ANY, length, length);
}

/* The port's frames are the queue pair's while it has the port's address. */
static void
raw_packets(void **unused)
{
	const uint8_t *own = raw_ends[1].port_mac;
	struct rte_mbuf *mbuf;

	(void)unused;
	assert_int_equal(rdmapmd_qp_attach_mac(raw_ends[1].qp, own, RDMAPMD_VLAN_ANY), 0);
	raw_exchange(own, 60);
	raw_exchange(own, 1514);
	assert_int_equal(rdmapmd_qp_detach_mac(raw_ends[1].qp, own, RDMAPMD_VLAN_ANY), 0);
	raw_post(own, 100);
	assert_int_equal(e2e_receive(1, &mbuf, 1), 1);
	assert_int_equal(mbuf->pkt_len, 100);
	rte_pktmbuf_free(mbuf);
}

/* A frame to the port, behind it, tells that it does not come. */
static void
raw_address(void **unused)
{
	const uint8_t *own = raw_ends[1].port_mac;
	struct rdmapmd_wc wc;

	(void)unused;
	assert_int_equal(rdmapmd_qp_attach_mac(raw_ends[1].qp, own, RDMAPMD_VLAN_ANY), 0);
	raw_receive(&raw_ends[1], 1, 2);
	raw_post(raw_ends[1].mac, 300);
	raw_post(own, 301);
	wc = rdma_wait(raw_ends[1].recv_cq);
	if (wc.byte_len == 301) {
		not_done("frames to its own address", 0);
		return;
	}
	assert_int_equal(wc.byte_len, 300);
	raw_expect(&raw_ends[1], 2, 1, own, RDMAPMD_VLAN_ANY, 301, 301);
}

static void
raw_multicast(void **unused)
{
	const int rc = rdmapmd_qp_attach_mac(raw_ends[1].qp, group.addr_bytes, RDMAPMD_VLAN_ANY);
	const uint8_t *own = raw_ends[1].port_mac;

	(void)unused;
	if (rc != 0) {
		not_done("multicast beside the ethdev", rc);
		/* As the message says. */
		assert_int_equal(rte_eth_dev_stop(1), 0);
		assert_int_equal(
			rdmapmd_qp_attach_mac(raw_ends[1].qp, group.addr_bytes, RDMAPMD_VLAN_ANY),
			0);
		raw_exchange(group.addr_bytes, 200);
		return;
	}
	assert_int_equal(rdmapmd_qp_attach_mac(raw_ends[1].qp, own, RDMAPMD_VLAN_ANY), 0);
	raw_receive(&raw_ends[1], 1, 2);
	raw_post(group.addr_bytes, 200);
	raw_post(own, 201);
	if (rdma_wait(raw_ends[1].recv_cq).byte_len != 200)
		not_done("multicast beside the ethdev", 0);
	else
		raw_expect(&raw_ends[1], 2, 1, own, RDMAPMD_VLAN_ANY, 201, 201);
}

/* An argument adds devargs to all ports. */
int
main(int argc, char **argv)
{
	static const char *const vdevs[] = { "net_rnic0,wire=pair:cable",
					     "net_rnic1,wire=pair:cable", NULL };
#define PORT_TEST(name) cmocka_unit_test_teardown(name, e2e_pair_give_up)
	const struct CMUnitTest tests[] = {
		PORT_TEST(bring_up),
		PORT_TEST(frames),
		PORT_TEST(offloads_of_tx),
		PORT_TEST(offloads_of_rx),
		PORT_TEST(timestamps),
		PORT_TEST(rss),
		PORT_TEST(vlans),
		PORT_TEST(mtu),
		PORT_TEST(promiscuous),
		PORT_TEST(all_multicast),
		PORT_TEST(addresses),
		cmocka_unit_test_setup_teardown(rc_write_and_read, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(atomics, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(send_queue_drained, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(raw_packets, open_raw, close_raw),
		cmocka_unit_test_setup_teardown(raw_address, open_raw, close_raw),
		cmocka_unit_test_setup_teardown(raw_multicast, open_raw, close_raw),
		PORT_TEST(stop_and_start),
		PORT_TEST(reset),
		PORT_TEST(come_and_close),
	};
	int failed;

	/* What the driver says, and what is said here, in the order in which it is said. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	rte_openlog_stream(stdout);
	if (argc > 1)
		devargs = argv[1];
	if (e2e_init("card", e2e_ports(argc, argv, vdevs)) < 0)
		return 1;
	raw_find_ports();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	raw_free();
	e2e_fini();
	return failed;
}
