/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An embedded data plane: Ethernet frames go from each of two ports to the other one, on one lcore, by bursts of the ethdev API.
 * Peers on the same wires READ its flow counters and WRITE its forwarding table, by queue pairs of the same two functions: the
 * devices do that, and the lcore meets no message, no lock and no system call. A second thread lets peers in (serve.c), and
 * sleeps otherwise. No kernel has a part in any of it.
 *
 *   forward_and_serve -d librte_net_rnic.so --vdev net_rnic0,wire=... --vdev net_rnic1,wire=...
 *
 * The first two ports, until Ctrl-C. peer.c is the other side.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "serve.h"

#define BURST	    32
#define DESCRIPTORS 512
#define MBUFS	    4095

static volatile sig_atomic_t stopped;

/* ---- Forwarding ---- */

/* The only one that counts is this lcore: no atomic addition, but each word is stored as a whole, as others read it. */
static void
count(struct counter *counter, uint32_t bytes)
{
	__atomic_store_n(&counter->packets, counter->packets + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&counter->bytes, counter->bytes + bytes, __ATOMIC_RELAXED);
}

/* A peer may change the entry at any time: it is loaded once. */
static enum action
look_up(struct shared *shared, const struct rte_mbuf *frame)
{
	const struct rte_ether_hdr *header = rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);
	const unsigned int index = index_of(&header->dst_addr);
	const uint64_t entry = __atomic_load_n(&shared->table[index], __ATOMIC_RELAXED);

	if (entry >> 16 != entry_of(&header->dst_addr, 0) >> 16) {
		count(&shared->counters[ENTRIES], frame->pkt_len);
		return ACTION_OTHER;
	}
	count(&shared->counters[index], frame->pkt_len);
	return (enum action)(entry & 0xffff);
}

static void
transmit(uint16_t port, struct rte_mbuf **frames, uint16_t n)
{
	const uint16_t taken = rte_eth_tx_burst(port, 0, frames, n);

	if (taken < n)
		rte_pktmbuf_free_bulk(frames + taken, (unsigned int)(n - taken));
}

static void
forward_from(uint16_t port, struct shared *shared)
{
	struct rte_mbuf *frames[BURST], *out[PORTS][BURST];
	const uint16_t n = rte_eth_rx_burst(port, 0, frames, BURST);
	uint16_t ready[PORTS] = { 0, 0 }, to, i;

	for (i = 0; i < n; i++) {
		switch (look_up(shared, frames[i])) {
		case ACTION_OTHER: to = port ^ 1; break;
		case ACTION_BACK: to = port; break;
		default: rte_pktmbuf_free(frames[i]); continue;
		}
		out[to][ready[to]++] = frames[i];
	}
	for (to = 0; to < PORTS; to++)
		if (ready[to] > 0)
			transmit(to, out[to], ready[to]);
}

/* ---- Life cycle ---- */

static void
start_port(uint16_t port, struct rte_mempool *mbufs)
{
	const struct rte_eth_conf conf = { 0 };
	const int socket = rte_eth_dev_socket_id(port);

	TRY(rte_eth_dev_configure(port, 1, 1, &conf));
	TRY(rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, (unsigned int)socket, NULL, mbufs));
	TRY(rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, (unsigned int)socket, NULL));
	TRY(rte_eth_dev_start(port));
	/* Frames for others are what is forwarded. Those for the port's own RoCE address go to its queue pairs all the same. */
	TRY(rte_eth_promiscuous_enable(port));
}

static void
report(const struct shared *shared)
{
	const struct counter *others = &shared->counters[ENTRIES];
	struct counter own = { 0, 0 };
	unsigned int i;

	for (i = 0; i < ENTRIES; i++) {
		own.packets += shared->counters[i].packets;
		own.bytes += shared->counters[i].bytes;
	}
	printf("%" PRIu64 " frames of %" PRIu64 " bytes that an entry was for, %" PRIu64
	       " of %" PRIu64 " others\n",
	       own.packets, own.bytes, others->packets, others->bytes);
}

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *mbufs;
	struct shared *shared;
	cpu_set_t cpus;
	uint16_t port;

	setlinebuf(stdout);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	TRY(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus));
	if (rte_eal_init(argc, argv) < 0)
		rte_exit(EXIT_FAILURE, "EAL does not start\n");
	if (rte_eth_dev_count_avail() < PORTS)
		rte_exit(EXIT_FAILURE, "two ports are needed: --vdev=net_rnic0,... or -a BDF\n");
	mbufs = rte_pktmbuf_pool_create("frames", MBUFS, BURST, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					SOCKET_ID_ANY);
	shared = rte_zmalloc("shared", sizeof(*shared), 4096);
	if (mbufs == NULL || shared == NULL)
		rte_exit(EXIT_FAILURE, "no memory\n");
	for (port = 0; port < PORTS; port++)
		start_port(port, mbufs);
	serve_start(shared, &cpus);

	while (!stopped)
		for (port = 0; port < PORTS; port++)
			forward_from(port, shared);

	/* The ports go when no peer reaches the memory any more. */
	serve_stop();
	report(shared);
	for (port = 0; port < PORTS; port++) {
		TRY(rte_eth_dev_stop(port));
		TRY(rte_eth_dev_close(port));
	}
	rte_free(shared);
	rte_mempool_free(mbufs);
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
