/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long a frame is on its way out of a port and back, one behind the other, from one thread; and how long it is from EAL's start to
 * the first one.
 *
 *	eth_latency [EAL OPTIONS] -- BYTES SECONDS DEVICE
 *
 * DEVICE is a port's, e.g. net_rnic0,wire=loop, and is added when EAL has started; what goes out of it must come back. The frame that
 * comes is the next one to go.
 *
 * Prints `start EAL FIRST`, milliseconds: of EAL's own start, and from there to the first frame that is back; then
 * `window START END` (timed.h) and `result latency bytes N lat MEDIAN P99`, microseconds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "timed.h"

#define RING_SIZE 1024
#define MBUFS	  8191
#define BATCH	  32u
#define PATIENCE  10u	/* seconds, for a frame */
#define TRY_US	  1000u /* for the first one: where the link is not up yet it is lost */
#define POLLS	  1024u /* between two looks at the clock */

struct bench {
	struct rte_mempool *pool;
	struct rte_mbuf *frame; /* the next one to go */
	uint16_t port;
	uint32_t bytes;
	double seconds;
};

/* ---- The port ---- */

static int
port_start(struct bench *b)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_txconf txconf;
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(b->port, &info);

	if (rc != 0)
		return rc;
	/* As testpmd has it. */
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	txconf = info.default_txconf;
	txconf.offloads = conf.txmode.offloads;
	rc = rte_eth_dev_configure(b->port, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(b->port, 0, RING_SIZE, 0, NULL, b->pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(b->port, 0, RING_SIZE, 0, &txconf);
	if (rc == 0)
		rc = rte_eth_dev_start(b->port);
	/* What cannot be that takes all frames anyway. */
	if (rc == 0)
		rte_eth_promiscuous_enable(b->port);
	return rc;
}

/* The device of that name is the only port. */
static int
port_open(struct bench *b, const char *device)
{
	int rc = rte_dev_probe(device);

	if (rc == 0 && rte_eth_dev_count_avail() != 1)
		rc = -ENODEV;
	if (rc == 0) {
		b->port = (uint16_t)rte_eth_find_next(0);
		b->pool = rte_pktmbuf_pool_create("frames", MBUFS, BATCH, 0,
						  RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
		rc = b->pool != NULL ? port_start(b) : -rte_errno;
	}
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", device, strerror(-rc));
	return rc;
}

/* ---- Frames ---- */

static int
frame_make(struct bench *b)
{
	struct rte_ether_hdr *header;

	b->frame = rte_pktmbuf_alloc(b->pool);
	if (b->frame == NULL)
		return -1;
	header = (void *)rte_pktmbuf_append(b->frame, (uint16_t)b->bytes);
	if (header == NULL)
		return -1;
	memset(header, 0, b->bytes);
	if (rte_eth_macaddr_get(b->port, &header->dst_addr) != 0)
		return -1;
	header->src_addr = header->dst_addr;
	header->ether_type = RTE_BE16(0x88b5); /* for local experiments */
	return 0;
}

/* Ours, if one has come: the next one to go. */
static bool
frame_receive(struct bench *b)
{
	struct rte_mbuf *mbuf;

	if (rte_eth_rx_burst(b->port, 0, &mbuf, 1) == 0)
		return false;
	if (mbuf->pkt_len != b->bytes) {
		rte_pktmbuf_free(mbuf);
		return false;
	}
	b->frame = mbuf;
	return true;
}

/* False: not within so long, but in the middle of that it may have been sent. */
static bool
frame_goes_and_comes(struct bench *b, uint64_t cycles)
{
	const uint64_t end = rte_get_timer_cycles() + cycles;
	bool sent = false;

	do {
		for (unsigned int i = 0; i < POLLS; i++) {
			sent = sent || rte_eth_tx_burst(b->port, 0, &b->frame, 1) == 1;
			if (sent && frame_receive(b))
				return true;
		}
	} while (rte_get_timer_cycles() < end);
	if (!sent)
		rte_pktmbuf_free(b->frame);
	return false;
}

/* Others that were sent before it may still come. */
static void
late_ones_drop(struct bench *b)
{
	struct rte_mbuf *mbufs[BATCH];
	uint16_t n;

	usleep(10 * TRY_US);
	while ((n = rte_eth_rx_burst(b->port, 0, mbufs, BATCH)) > 0)
		rte_pktmbuf_free_bulk(mbufs, n);
}

static int
first_goes_and_comes(struct bench *b)
{
	const uint64_t end = rte_get_timer_cycles() + PATIENCE * rte_get_timer_hz();
	bool is_back;

	do {
		if (frame_make(b) != 0) {
			fprintf(stderr, "no frames of %u bytes\n", b->bytes);
			return -1;
		}
		is_back = frame_goes_and_comes(b, rte_get_timer_hz() / US_PER_S * TRY_US);
	} while (!is_back && rte_get_timer_cycles() < end);
	if (!is_back)
		fprintf(stderr, "no frame has come back within %u s\n", PATIENCE);
	return is_back ? 0 : -1;
}

static int
there_and_back(void *of)
{
	if (frame_goes_and_comes(of, PATIENCE * rte_get_timer_hz()))
		return 0;
	fprintf(stderr, "a frame has not come back within %u s\n", PATIENCE);
	return -1;
}

/* ---- All of it ---- */

static int
run(struct bench *b, const char *device, double eal_ms)
{
	const struct timed timed = { .of = b, .seconds = b->seconds };
	const uint64_t began_ns = timed_now_ns();
	struct timed_latency found;

	if (port_open(b, device) != 0 || first_goes_and_comes(b) != 0)
		return -1;
	printf("start %.3f %.3f\n", eal_ms, (double)(timed_now_ns() - began_ns) / 1e6);
	late_ones_drop(b);
	if (timed_latency(&timed, there_and_back, &found) != 0)
		return -1;
	printf("result latency bytes %u lat %.3f %.3f\n", b->bytes, found.median_us, found.p99_us);
	rte_pktmbuf_free(b->frame);
	return rte_eth_dev_stop(b->port) == 0 && rte_eth_dev_close(b->port) == 0 ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct bench b = { 0 };
	const uint64_t began_ns = timed_now_ns();
	double eal_ms;
	int used, rc;

	used = rte_eal_init(argc, argv);
	if (used < 0)
		return EXIT_FAILURE;
	eal_ms = (double)(timed_now_ns() - began_ns) / 1e6;
	argc -= used;
	argv += used;
	if (argc == 4) {
		b.bytes = (uint32_t)strtoul(argv[1], NULL, 10);
		b.seconds = strtod(argv[2], NULL);
	}
	if (b.bytes < RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN || b.bytes > RTE_ETHER_MAX_LEN ||
	    !(b.seconds > 0)) {
		fprintf(stderr, "usage: eth_latency [EAL OPTIONS] -- BYTES SECONDS DEVICE\n");
		return 2;
	}
	rc = run(&b, argv[3], eal_ms);
	rte_eal_cleanup();
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
