/* SPDX-License-Identifier: BSD-3-Clause */

#include "port.h"

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/log.h"
#include "base/tunables.h"
#include "bringup.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "core/pages.h"
#include "ethdev/port.h"
#include "ethdev/rx.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "ethdev/rxq.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/txq.h"

extern int softrnic_logtype;

#define POOL_MBUFS 1023

static struct rte_mempool *pools[2]; /* mbufs for whole frames, small ones */

struct rnic_ethdev port;
struct rnic_tunables port_tunables;
uint16_t port_descriptors = 64;
static void *rx_queues[PORT_QUEUES], *tx_queues[PORT_QUEUES];
static struct rte_eth_dev_data port_data = {
	.name = "net_rnic0",
	.dev_private = &port,
	.rx_queues = rx_queues,
	.tx_queues = tx_queues,
	.nb_rx_queues = PORT_QUEUES,
	.nb_tx_queues = PORT_QUEUES,
};
static struct rte_eth_dev port_dev = { .data = &port_data };

void
port_open(struct rnic_dev *dev)
{
	memset(&port, 0, sizeof(port));
	port.dev = dev;
}

bool
port_setup(struct port_queues *q, struct rnic_dev *dev, uint16_t index, uint8_t flags)
{
	const struct rte_eth_rxconf rx = {
		.offloads = (flags & PORT_OFFLOADS
				     ? RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH
				     : 0) |
			    (flags & PORT_TIMES ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0),
	};
	const struct rte_eth_txconf tx = {
		.offloads = (flags & PORT_FAST_FREE ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE : 0) |
			    (flags & PORT_OFFLOADS ? RNIC_TX_PACKET_OFFLOADS : 0),
	};

	*q = (struct port_queues){ .index = index,
				   .dev = dev,
				   .small = (flags & PORT_SMALL) != 0,
				   .tells = (flags & PORT_OFFLOADS ? RNIC_RX_TELLS : 0) |
					    (flags & PORT_TIMES ? RNIC_RX_TELLS_TIME : 0) };
	if (rnic_rx_not_compressed_why(dev, q->tells) == NULL)
		q->tells |= RNIC_RX_COMPRESSED;
	q->pool = pools[q->small];
	if (rnic_rxq_setup(&port_dev, index, port_descriptors, SOCKET_ID_ANY, &rx, q->pool) != 0)
		return false;
	q->rxq = rx_queues[index];
	rnic_rx_offloads_init(q->rxq, flags & PORT_OFFLOADS ? UINT32_MAX : 0);
	if (rnic_txq_setup(&port_dev, index, port_descriptors, SOCKET_ID_ANY, &tx) != 0)
		return false;
	q->txq = tx_queues[index];
	return true;
}

void
port_release(struct port_queues *q)
{
	port_rx_stop(q);
	port_tx_stop(q);
	rnic_rxq_release(&port_dev, q->index);
	rnic_txq_release(&port_dev, q->index);
}

void
port_rx_start(struct port_queues *q)
{
	if (!q->rx_up &&
	    rnic_rxq_start(q->rxq, PORT_MTU, (q->tells & RNIC_RX_COMPRESSED) != 0) == 0)
		q->rx_up = true;
}

void
port_rx_stop(struct port_queues *q)
{
	if (q->rx_up)
		rnic_rxq_stop(q->rxq);
	q->rx_up = false;
}

int
port_rx_halt(const struct port_queues *q)
{
	return rnic_rxq_queue_stop(&port_dev, q->index);
}

int
port_rx_resume(const struct port_queues *q)
{
	return rnic_rxq_queue_start(&port_dev, q->index);
}

void
port_tx_start(struct port_queues *q)
{
	if (!q->tx_up && rnic_txq_start(q->txq, PORT_MTU) == 0)
		q->tx_up = true;
}

void
port_tx_stop(struct port_queues *q)
{
	if (q->tx_up)
		rnic_txq_stop(q->txq);
	q->tx_up = false;
}

void
port_ask(const struct port_queues *q)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;

	rnic_rxq_info(&port_dev, q->index, &rx);
	rnic_txq_info(&port_dev, q->index, &tx);
	must(rx.nb_desc == tx.nb_desc && rx.mp == q->pool);
	rnic_txq_offloads(&port_dev);
	rnic_rxq_fits(q->rxq, PORT_MTU);
}

static struct rte_mbuf *held[2][POOL_MBUFS];
static unsigned int held_count[2];

static void
give_back(unsigned int which)
{
	while (held_count[which] > 0)
		rte_pktmbuf_free(held[which][--held_count[which]]);
}

void
port_hold(const struct port_queues *q)
{
	struct rte_mbuf *mbuf;

	if (held_count[q->small] > 0) {
		give_back(q->small);
		return;
	}
	while ((mbuf = rte_pktmbuf_alloc(q->pool)) != NULL)
		held[q->small][held_count[q->small]++] = mbuf;
}

void
port_give_back(void)
{
	give_back(0);
	give_back(1);
}

bool
port_mbufs_are_back(void)
{
	return rte_mempool_avail_count(pools[0]) == POOL_MBUFS &&
	       rte_mempool_avail_count(pools[1]) == POOL_MBUFS;
}

size_t
port_heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	must(rte_malloc_get_socket_stats(0, &stats) == 0);
	return stats.heap_allocsz_bytes;
}

/* ---- Packets ---- */

static eth_tx_burst_t
burst_of(const struct port_queues *q)
{
	return rnic_tx_mode_get(q->dev, q->txq->offloads)->burst;
}

static struct rte_mbuf *
packet_make(struct port_queues *q, unsigned int segments, uint16_t bytes)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(q->pool), *mbuf = head;
	unsigned int i;

	for (i = 0; mbuf != NULL; i++) {
		uint16_t n = RTE_MIN(bytes, rte_pktmbuf_tailroom(mbuf));

		memset(rte_pktmbuf_mtod(mbuf, void *), 0xff, n);
		mbuf->data_len = n;
		if (mbuf != head) {
			rte_pktmbuf_lastseg(head)->next = mbuf;
			head->nb_segs++;
		}
		head->pkt_len += n;
		if (i + 1 >= segments)
			break;
		mbuf = rte_pktmbuf_alloc(q->pool);
	}
	return head;
}

/* Anything, sensible or not. */
static void
packet_ask(struct rte_mbuf *packet, struct fuzz_input *input)
{
	packet->ol_flags = (uint64_t)fuzz_u16(input) << 45;
	packet->tx_offload = (uint64_t)fuzz_u16(input) << 24 | fuzz_u16(input);
	packet->l2_len = fuzz_u8(input) % 32;
	packet->vlan_tci = 0x1234;
}

void
port_transmit(struct port_queues *q, struct fuzz_input *input)
{
	uint8_t count = fuzz_u8(input) % (PORT_BURST + 1), segments = fuzz_u8(input) % 8;
	uint16_t bytes = fuzz_u16(input), sent, i, made = 0;
	struct rte_mbuf *pkts[PORT_BURST];

	if (!q->tx_up)
		return;
	for (; made < count; made++) {
		pkts[made] = packet_make(q, segments, bytes);
		if (pkts[made] == NULL)
			break;
		if (q->txq->offloads & RNIC_TX_PACKET_OFFLOADS)
			packet_ask(pkts[made], input);
	}
	if (made > 0)
		rnic_tx_prepare(q->txq, pkts, made);
	sent = burst_of(q)(q->txq, pkts, made);
	must(sent <= made);
	for (i = sent; i < made; i++)
		rte_pktmbuf_free(pkts[i]);
}

/* What an application may count on. */
static void
check_packet(const struct port_queues *q, const struct rte_mbuf *packet)
{
	const struct rte_mbuf *mbuf;
	uint32_t bytes = 0, segs = 0;

	for (mbuf = packet; mbuf != NULL; mbuf = mbuf->next, segs++) {
		must(mbuf->pool == q->pool);
		must(rte_mbuf_refcnt_read(mbuf) == 1);
		must(mbuf->data_off == RTE_PKTMBUF_HEADROOM);
		must(mbuf->data_len <= mbuf->buf_len - mbuf->data_off);
		bytes += mbuf->data_len;
	}
	must(packet->pkt_len == bytes && bytes > 0);
	must(packet->nb_segs == segs);
	must(q->tells != 0 || (packet->ol_flags == 0 && packet->packet_type == 0));
	must((packet->ol_flags & ~q->rxq->timestamp_flag &
	      ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_RSS_HASH |
		RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)) == 0);
}

void
port_receive(struct port_queues *q, struct fuzz_input *input)
{
	uint16_t count = fuzz_u8(input) % (PORT_BURST + 1), i;
	struct rte_mbuf *pkts[PORT_BURST];

	if (!q->rx_up)
		return;
	count = rnic_rx_mode_get(q->dev, q->small, q->tells)->burst(q->rxq, pkts, count);
	for (i = 0; i < count; i++) {
		check_packet(q, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
}

/* ---- The process ---- */

void
port_init(void)
{
	const char *args[] = { "fuzz",
			       "--no-huge",
			       "-m",
			       "64",
			       "--no-pci",
			       "--no-shconf",
			       "--no-telemetry",
			       "--lcores=0@(0-1)",
			       "--log-level=*:emergency" };

	must(rte_eal_init(RTE_DIM(args), (char **)(uintptr_t)args) >= 0);
	rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_EMERG);
	if (getenv("FUZZ_LOG") != NULL) {
		rte_log_set_global_level(RTE_LOG_DEBUG);
		rte_log_set_level((uint32_t)rnic_logtype, RTE_LOG_DEBUG);
		rte_log_set_level((uint32_t)softrnic_logtype, RTE_LOG_DEBUG);
	}
	fake_init();
	pools[0] =
		rte_pktmbuf_pool_create("whole", POOL_MBUFS, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, 0);
	pools[1] =
		rte_pktmbuf_pool_create("small", POOL_MBUFS, 0, 0, 256 + RTE_PKTMBUF_HEADROOM, 0);
	must(pools[0] != NULL && pools[1] != NULL);
	/* It takes memory once. */
	must(rte_mbuf_dyn_rx_timestamp_register(NULL, NULL) == 0);
	port_tunables = rnic_tunables_default;
	port_tunables.cmd_timeout_ms = 1;
	port_tunables.cmd_dead_timeout_ms = 1;
	/* A device that looks dead is so at once: an input says what single reads are. */
	port_tunables.initializing_timeout_ms = 0;
	port_tunables.pages_patience_ms = 1;
	port_tunables.health_period_ms = 1000000000;
	rnic_tunables_use(&port_tunables);
}
