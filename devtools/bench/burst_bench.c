/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the driver's burst functions cost, and what the device does with their packets: two net_rnic ports
 * on the embedded software RNIC, joined by a wire, and one thread that sends on port 0, polls the device
 * by hand, and receives on port 1. Only the burst calls are counted, or only the poll.
 *
 *	burst_bench [EAL OPTIONS] -- NAME,... BURST,... BYTES,... CALLS
 *
 * NAME:
 *	tx-none		configured as testpmd does it: fast free if the port offers it, else no offload
 *	tx-none-nofree	no offload at all
 *	tx-full		all offloads that the port has (but fast free), none used by the packets
 *	tx-csum		the same; the packets want the checksums of IPv4 and UDP
 *	tx-tso		the same; large sends of one segment each
 *	rx-none		no offload, no packet types: as testpmd does it
 *	rx-full		all offloads that the port has but timestamps
 *	rx-time		all offloads that the port has
 *	empty		nothing to receive
 *	device		the round of the device that moves the packets, configured as testpmd does it
 *	device-udp	the same; the packets are datagrams over IPv4, without a checksum of theirs
 *	device-rss	the same, of many flows, where port 1 spreads by their hash
 *	device-csum	the same; all offloads, and the packets want the checksums of IPv4 and UDP
 *
 * EAL's options name the ports: --vdev=net_rnic0,wire=pair:b --vdev=net_rnic1,wire=pair:b. With one
 * port that sends to itself (net_ring) the same is measured for that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_random.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "by_hand.h"
#include "counted.h"

#define RING_SIZE 1024

/* ---- The ports. ---- */

static struct rte_mempool *tx_pool, *rx_pool;
static uint16_t tx_port, rx_port;
static struct rte_ether_hdr header;

enum offloads { AS_TESTPMD, NO_OFFLOADS, RX_OFFLOADS, ALL_OFFLOADS, ALL_AND_TIME };
enum wish { NOTHING, CHECKSUMS, LARGE_SEND, DATAGRAMS, FLOWS };

static int
start_port(uint16_t port, enum offloads offloads)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	struct rte_eth_txconf txconf;
	int ret = rte_eth_dev_info_get(port, &info);

	if (ret < 0)
		return ret;
	memset(&conf, 0, sizeof(conf));
	if (offloads == AS_TESTPMD || offloads == RX_OFFLOADS)
		conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (offloads >= ALL_OFFLOADS)
		conf.txmode.offloads = info.tx_offload_capa & ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (offloads >= RX_OFFLOADS) {
		conf.rxmode.offloads = info.rx_offload_capa;
		if (offloads != ALL_AND_TIME)
			conf.rxmode.offloads &= ~RTE_ETH_RX_OFFLOAD_TIMESTAMP;
		if (info.flow_type_rss_offloads != 0) {
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
			conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
		}
	}
	ret = rte_eth_dev_configure(port, 1, 1, &conf);
	if (ret < 0)
		return ret;
	if (ret == 0 && offloads == AS_TESTPMD)
		ret = rte_eth_dev_set_ptypes(port, RTE_PTYPE_UNKNOWN, NULL, 0);
	if (ret < 0)
		return ret;
	txconf = info.default_txconf;
	txconf.offloads = conf.txmode.offloads;
	ret = rte_eth_rx_queue_setup(port, 0, RING_SIZE, 0, NULL, rx_pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port, 0, RING_SIZE, 0, &txconf);
	if (ret == 0)
		ret = rte_eth_dev_start(port);
	if (ret == 0)
		rte_eth_promiscuous_enable(port);
	return ret;
}

static bool
wait_link(uint16_t port)
{
	struct rte_eth_link link = { 0 };

	for (int i = 0; i < 100; i++) {
		if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_status)
			return true;
		usleep(50000);
	}
	return false;
}

static int
start_ports(enum offloads offloads)
{
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];
	uint16_t port, n;
	int ret;

	RTE_ETH_FOREACH_DEV(port) {
		ret = start_port(port, offloads);
		if (ret < 0) {
			fprintf(stderr, "port %u does not start: %s\n", port, strerror(-ret));
			return ret;
		}
	}
	RTE_ETH_FOREACH_DEV(port) {
		if (!wait_link(port)) {
			fprintf(stderr, "port %u has no link\n", port);
			return -ENOLINK;
		}
	}
	/* Some PMDs offer buffers to the sender only when the receiver has polled. */
	n = rte_eth_rx_burst(rx_port, 0, pkts, COUNTED_BURST_MAX);
	rte_pktmbuf_free_bulk(pkts, n);
	rte_eth_macaddr_get(rx_port, &header.dst_addr);
	rte_eth_macaddr_get(tx_port, &header.src_addr);
	header.ether_type = RTE_BE16(0x88b5); /* for local experiments */
	return 0;
}

static void
stop_ports(void)
{
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port)
		rte_eth_dev_stop(port);
}

/* ---- Measuring. ---- */

struct bench_case {
	const char *name;
	enum offloads offloads;
	bool tx, rx; /* what is counted */
	enum wish wish;
	bool device;
};

static const struct bench_case cases[] = {
	{ "tx-none", AS_TESTPMD, true, false },
	{ "tx-none-nofree", NO_OFFLOADS, true, false },
	{ "tx-full", ALL_OFFLOADS, true, false },
	{ "rx-none", AS_TESTPMD, false, true },
	{ "rx-full", ALL_OFFLOADS, false, true },
	{ "empty", AS_TESTPMD, false, false },
	{ "tx-csum", ALL_OFFLOADS, true, false, CHECKSUMS },
	{ "tx-tso", ALL_OFFLOADS, true, false, LARGE_SEND },
	{ "rx-time", ALL_AND_TIME, false, true },
	{ "device", AS_TESTPMD, false, false, NOTHING, true },
	{ "device-udp", AS_TESTPMD, false, false, DATAGRAMS, true },
	{ "device-rss", RX_OFFLOADS, false, false, FLOWS, true },
	{ "device-csum", ALL_OFFLOADS, false, false, CHECKSUMS, true },
};

/* Headers as the wish needs them, and the wish. */
static void
make_wish(struct rte_mbuf *mbuf, enum wish wish)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(mbuf, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
	uint16_t bytes = mbuf->data_len - sizeof(*ether);

	if (wish == NOTHING)
		return;
	ether->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	memset(ip, 0, bytes);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(bytes);
	ip->time_to_live = 64;
	if (wish != LARGE_SEND) {
		ip->next_proto_id = IPPROTO_UDP;
		((struct rte_udp_hdr *)(ip + 1))->dgram_len = rte_cpu_to_be_16(bytes - sizeof(*ip));
	}
	if (wish == FLOWS) {
		ip->src_addr = (uint32_t)rte_rand();
		((struct rte_udp_hdr *)(ip + 1))->src_port = (uint16_t)rte_rand();
	}
	if (wish == DATAGRAMS || wish == FLOWS) {
		ip->hdr_checksum = rte_ipv4_cksum(ip);
		return;
	}
	mbuf->l2_len = sizeof(*ether);
	mbuf->l3_len = sizeof(*ip);
	mbuf->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	if (wish == CHECKSUMS) {
		mbuf->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
	} else {
		ip->next_proto_id = IPPROTO_TCP;
		((struct rte_tcp_hdr *)(ip + 1))->data_off = sizeof(struct rte_tcp_hdr) / 4 << 4;
		mbuf->l4_len = sizeof(struct rte_tcp_hdr);
		mbuf->tso_segsz = RTE_ETHER_MTU - sizeof(*ip) - sizeof(struct rte_tcp_hdr);
		mbuf->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
	}
}

static int
make_packets(struct rte_mbuf **pkts, unsigned int burst, unsigned int bytes, enum wish wish)
{
	if (rte_pktmbuf_alloc_bulk(tx_pool, pkts, burst) != 0) {
		fprintf(stderr, "the mempool is empty: completions do not free\n");
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < burst; i++) {
		pkts[i]->data_len = bytes;
		pkts[i]->pkt_len = bytes;
		memcpy(rte_pktmbuf_mtod(pkts[i], void *), &header, sizeof(header));
		make_wish(pkts[i], wish);
	}
	return 0;
}

static int
receive(struct counted *counted, burst_fn fn, void *queue, struct rte_mbuf **pkts,
	unsigned int burst, unsigned int bytes)
{
	unsigned int got = 0, idle = 0;

	while (got < burst && idle < 1000) {
		uint16_t n = counted != NULL ? counted_burst(counted, pkts + got, burst - got)
					     : fn(queue, pkts + got, burst - got);

		if (n == 0)
			by_hand_settle();
		idle = n == 0 ? idle + 1 : 0;
		got += n;
	}
	for (unsigned int i = 0; i < got; i++) {
		if (pkts[i]->pkt_len != bytes) {
			fprintf(stderr, "a packet of %u bytes, not %u\n", pkts[i]->pkt_len, bytes);
			return -EIO;
		}
	}
	rte_pktmbuf_free_bulk(pkts, got);
	if (got < burst) {
		fprintf(stderr, "%u of %u packets were lost\n", burst - got, burst);
		return -EIO;
	}
	return 0;
}

/* A round of the device, which moves a burst, as if it were a burst. */
static uint16_t
device_round(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	(void)queue;
	(void)pkts;
	by_hand_poll();
	return n;
}

static int
round_trips(struct counted *counted, const struct bench_case *c, unsigned int burst,
	    unsigned int bytes, uint64_t calls)
{
	const struct rte_eth_fp_ops *tx = &rte_eth_fp_ops[tx_port], *rx = &rte_eth_fp_ops[rx_port];
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];
	uint16_t sent;
	int ret;

	if (c->device)
		counted_start(counted, device_round, NULL, calls);
	else
		counted_start(counted, c->tx ? tx->tx_pkt_burst : rx->rx_pkt_burst,
			      c->tx ? tx->txq.data[0] : rx->rxq.data[0], calls);
	for (uint64_t call = 0; call < calls; call++) {
		ret = make_packets(pkts, burst, bytes, c->wish);
		if (ret < 0)
			return ret;
		sent = c->tx ? counted_burst(counted, pkts, burst)
			     : tx->tx_pkt_burst(tx->txq.data[0], pkts, burst);
		if (sent != burst) {
			fprintf(stderr, "%u of a burst of %u were taken\n", sent, burst);
			return -EIO;
		}
		if (c->device)
			counted_burst(counted, pkts, burst);
		by_hand_settle();
		ret = receive(c->rx ? counted : NULL, rx->rx_pkt_burst, rx->rxq.data[0], pkts,
			      burst, bytes);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void
measure_empty(struct counted *counted, const char *name, uint64_t calls)
{
	const struct rte_eth_fp_ops *rx = &rte_eth_fp_ops[rx_port];
	struct rte_mbuf *pkts[COUNTED_BURST_MAX];

	counted_start(counted, rx->rx_pkt_burst, rx->rxq.data[0], calls);
	for (uint64_t call = 0; call < calls; call++)
		counted_burst(counted, pkts, 32);
	counted_stop(counted, name, 32, 0);
}

static int
measure_sizes(struct counted *counted, const struct bench_case *c, const struct counted_plan *plan)
{
	if (!c->tx && !c->rx && !c->device) {
		measure_empty(counted, c->name, plan->calls);
		return 0;
	}
	for (unsigned int b = 0; b < plan->n_bytes; b++) {
		for (unsigned int n = 0; n < plan->n_bursts; n++) {
			unsigned int burst = plan->bursts[n], bytes = plan->bytes[b];
			int ret;

			/* First until the queues are in their stride. */
			ret = round_trips(counted, c, burst, bytes, 2 * RING_SIZE / burst);
			if (ret == 0)
				ret = round_trips(counted, c, burst, bytes, plan->calls);
			if (ret < 0)
				return ret;
			counted_stop(counted, c->name, burst, bytes);
		}
	}
	return 0;
}

static int
measure(struct counted *counted, const char *name, const struct counted_plan *plan)
{
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		int ret;

		if (strcmp(name, cases[i].name) != 0)
			continue;
		ret = start_ports(cases[i].offloads);
		/* The first packets of a mempool make the driver register it, by commands that it waits for. */
		if (ret == 0)
			ret = round_trips(counted, &cases[i], 32, 64, 8);
		if (ret == 0) {
			by_hand_begin();
			by_hand_settle();
			ret = measure_sizes(counted, &cases[i], plan);
			if (by_hand_end() != 0)
				return -EAGAIN;
		}
		stop_ports();
		return ret;
	}
	fprintf(stderr, "unknown name %s\n", name);
	return -EINVAL;
}

static int
find_ports(void)
{
	uint16_t port, n = 0;

	RTE_ETH_FOREACH_DEV(port) {
		if (n == 0)
			tx_port = port;
		rx_port = port;
		n++;
	}
	if (n == 0 || n > 2) {
		fprintf(stderr, "%u ports: give EAL one that sends to itself, or two (--vdev)\n",
			n);
		return -ENODEV;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct counted_plan plan;
	struct counted counted;
	uint16_t port;
	int skip, ret = 0;

	skip = rte_eal_init(argc, argv);
	if (skip < 0)
		return EXIT_FAILURE;
	if (counted_plan_parse(argc - skip, argv + skip, &plan) < 0)
		return 2;
	if (find_ports() < 0)
		return EXIT_FAILURE;
	tx_pool = rte_pktmbuf_pool_create("tx", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	rx_pool = rte_pktmbuf_pool_create("rx", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	if (tx_pool == NULL || rx_pool == NULL) {
		fprintf(stderr, "no memory: give EAL more with -m\n");
		return EXIT_FAILURE;
	}
	counted_init(&counted);
	for (unsigned int i = 0; i < plan.n_names && ret == 0; i++)
		ret = measure(&counted, plan.names[i], &plan);
	RTE_ETH_FOREACH_DEV(port)
		rte_eth_dev_close(port);
	rte_eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
