/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For test_replay.py: receives a capture by four queues with RSS, and says of each packet, a line each: queue, RSS hash
 * or '-', packet type, checksums, timestamp, length, and a hash over its bytes (FNV-1a).
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include "port.h"

#define QUEUES	    4
#define PATIENCE_MS 60000

static const char *
checksum(uint64_t flags, uint64_t mask, uint64_t good, uint64_t bad)
{
	return (flags & mask) == good ? "good" : (flags & mask) == bad ? "bad" : "unknown";
}

static uint32_t
fnv(const uint8_t *bytes, uint32_t length)
{
	uint32_t hash = 0x811c9dc5;

	while (length-- > 0)
		hash = (hash ^ *bytes++) * 0x01000193;
	return hash;
}

static void
say(uint16_t queue, const struct rte_mbuf *mbuf, int timestamp_at)
{
	static uint8_t bytes[16384];
	const uint8_t *data = rte_pktmbuf_read(mbuf, 0, mbuf->pkt_len, bytes);

	printf("packet %u ", queue);
	if (mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		printf("%08x", mbuf->hash.rss);
	else
		printf("-");
	printf(" %x %s %s %" PRIu64 " %u %08x\n", mbuf->packet_type,
	       checksum(mbuf->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
			RTE_MBUF_F_RX_IP_CKSUM_BAD),
	       checksum(mbuf->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
			RTE_MBUF_F_RX_L4_CKSUM_BAD),
	       *RTE_MBUF_DYNFIELD(mbuf, timestamp_at, const uint64_t *), mbuf->pkt_len,
	       fnv(data, mbuf->pkt_len));
}

/* Until there is nothing more, and the link, which there is when something has come, has gone with the end of the capture. */
static bool
receive(int timestamp_at)
{
	struct rte_mbuf *mbufs[32];
	struct rte_eth_link link;
	unsigned int ms, found, all = 0;
	uint16_t queue, n, i;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		/* Looked at first: what came before its end is in the queues. */
		if (rte_eth_link_get_nowait(0, &link) != 0)
			return false;
		found = 0;
		for (queue = 0; queue < QUEUES; queue++) {
			n = rte_eth_rx_burst(0, queue, mbufs, RTE_DIM(mbufs));
			for (i = 0; i < n; i++)
				say(queue, mbufs[i], timestamp_at);
			rte_pktmbuf_free_bulk(mbufs, n);
			found += n;
		}
		all += found;
		if (found > 0)
			ms = 0;
		else if (all > 0 && link.link_status == RTE_ETH_LINK_DOWN)
			return true;
		else
			rte_delay_us_sleep(1000);
	}
	fprintf(stderr, "the link stays up\n");
	return false;
}

int
main(int argc, char **argv)
{
	const char *vdevs[] = { argc == 2 ? argv[1] : "", NULL };
	struct e2e_conf conf = {
		.rx_queues = QUEUES,
		.rss = true,
		.promiscuous = true,
		.link_polled = true,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TIMESTAMP |
			       RTE_ETH_RX_OFFLOAD_CHECKSUM,
	};
	struct rte_eth_dev_info info;
	int timestamp_at;
	uint64_t flag;
	bool done;

	if (argc != 2) {
		fprintf(stderr, "Usage: replay VDEV\n");
		return 2;
	}
	if (e2e_init("replay", vdevs) != 0)
		return EXIT_FAILURE;
	if (rte_eth_dev_info_get(0, &info) != 0)
		return EXIT_FAILURE;
	conf.rss_hf =
		info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	if (rte_mbuf_dyn_rx_timestamp_register(&timestamp_at, &flag) != 0 ||
	    e2e_port_setup(0, &conf) != 0) {
		fprintf(stderr, "the port does not start\n");
		return EXIT_FAILURE;
	}
	done = receive(timestamp_at);
	e2e_fini();
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
