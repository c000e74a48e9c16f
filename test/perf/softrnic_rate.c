/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets per second through the device, driven by hand-made loops: 64-byte frames in enhanced multi-packet WQEs.
 *
 *	sink   sent into a device whose flow tables are empty: WQE parsing, lookup, counters
 *	loop   sent, looped back, received into buffers: all of it
 *	pair   the same between two devices
 *
 * Each is measured twice: `inline`, where one thread is the driver and polls the device in turn, which costs no
 * cache traffic between cores; and `host`, where the device thread of the process runs on a second core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data_path.h"

#define FRAME_BYTES 64
#define PER_WQE	    30 /* data segments behind control and Ethernet segment: 8 WQEBBs */
#define SQ_LOG_SIZE 10
#define RQ_LOG_SIZE 10
#define RX_BURST    32

struct side {
	struct dp dp;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *frames, *buffers;
	uint16_t tx_consumer;
	uint64_t sent, received;
	bool no_receive;
};

static void
die(const char *what, int status)
{
	fprintf(stderr, "%s: status %d\n", what, status);
	exit(1);
}

static void
side_open(struct side *side, struct softrnic_poller *poller, const char *name, const char *wire,
	  bool sink)
{
	struct softrnic_conf conf = { .name = name, .wire = wire };
	struct dp_cq_conf cq = { .log_size = 10, .uar = 1 };
	int status;
	uint32_t i;

	memset(side, 0, sizeof(*side));
	side->no_receive = sink;
	status = dp_open_quick(&side->dp, poller, &conf);
	if (status != 0)
		die("device", status);
	status = dp_cq_create(&side->dp, &side->tx_cq, &cq);
	if (status == 0)
		status = dp_cq_create(&side->dp, &side->rx_cq, &cq);
	if (status == 0)
		status = dp_sq_create(&side->dp, &side->sq, &side->tx_cq, SQ_LOG_SIZE, 1,
				      DP_SQ_MULTI_PACKET);
	if (status == 0)
		status = dp_rq_create(&side->dp, &side->rq, &side->rx_cq, RQ_LOG_SIZE, 4);
	if (status == 0 && !sink)
		status = dp_steer_all(&side->rq);
	if (status != 0)
		die("queues", status);
	side->frames = dp_alloc(&side->dp, (size_t)PER_WQE * 2048, 2048);
	side->buffers = dp_alloc(&side->dp, (size_t)2048 << RQ_LOG_SIZE, 2048);
	for (i = 0; i < PER_WQE; i++)
		memcpy(side->frames + (size_t)i * 2048,
		       "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5", 14);
	for (i = 0; i < 1u << RQ_LOG_SIZE; i++)
		dp_post(&side->rq, side->buffers + (size_t)i * 2048, 2048);
	dp_rq_record(&side->rq);
}

/* Fill the send ring as far as there is room, one doorbell for all. */
static void
side_send(struct side *side)
{
	struct dp_sq *sq = &side->sq;
	const struct rnic_cqe *cqe;
	bool rung = false;
	uint32_t i;

	while ((cqe = dp_cq_next(&side->tx_cq)) != NULL) {
		side->tx_consumer = (uint16_t)(rnic_be16_to_cpu(cqe->wqe_counter) + 8);
		side->sent += PER_WQE;
	}
	while ((uint16_t)(sq->producer - side->tx_consumer) + 8u <= 1u << SQ_LOG_SIZE) {
		dp_wqe(sq, RNIC_WQE_ENHANCED_MPSW, PER_WQE + 2, RNIC_WQE_CE_ALWAYS);
		for (i = 0; i < PER_WQE; i++)
			dp_wqe_data(sq, i + 2, side->frames + (size_t)i * 2048, FRAME_BYTES);
		rung = true;
		/* A driver's burst is about this much. */
		if (!side->no_receive)
			break;
	}
	if (rung)
		dp_sq_ring(sq);
}

static void
side_receive(struct side *side)
{
	struct dp_cq *cq = &side->rx_cq;
	uint32_t slot, n;

	for (n = 0; n < RX_BURST && dp_cq_peek(cq) != NULL; n++) {
		slot = cq->consumer++ & ((1u << RQ_LOG_SIZE) - 1);
		dp_post(&side->rq, side->buffers + (size_t)slot * 2048, 2048);
	}
	if (n == 0)
		return;
	__atomic_store_n(&cq->dbrec->consumer_index.raw,
			 RNIC_SWAP32(cq->consumer & RNIC_CQ_INDEX_MASK), __ATOMIC_RELEASE);
	dp_rq_record(&side->rq);
	side->received += n;
}

/* One thread: its CPU time, which others on the machine do not shorten. Two: the time that passes. */
static uint64_t
clock_ns(bool own_thread)
{
	struct timespec t;

	clock_gettime(own_thread ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
measure(const char *name, const char *wire, bool sink, bool own_thread, double seconds)
{
	static struct side sides[2];
	struct softrnic_poller *poller;
	bool pair = strncmp(wire, "pair", 4) == 0;
	uint64_t start, now, sent, received;
	struct softrnic_stats stats;
	uint32_t i;
	int ret;

	ret = own_thread ? softrnic_host_get(-1, &poller) : softrnic_poller_create(&poller);
	if (ret != 0)
		die("poller", ret);
	side_open(&sides[0], poller, "rate0", wire, sink);
	if (pair)
		side_open(&sides[1], poller, "rate1", wire, false);
	start = clock_ns(own_thread);
	sent = received = 0;
	do {
		for (i = 0; i < 256; i++) {
			side_send(&sides[0]);
			if (!own_thread)
				softrnic_poll(poller);
			if (!sink)
				side_receive(&sides[pair]);
		}
		now = clock_ns(own_thread);
	} while ((double)(now - start) < seconds * 1e9);
	stats = dp_stats(&sides[0].dp);
	sent = sides[0].sent;
	received = sides[pair].received;
	printf("%s %s: tx %.2f Mpps, rx %.2f Mpps (cqes %llu, no buffer %llu)\n", name,
	       own_thread ? "host" : "inline", (double)sent * 1e3 / (double)(now - start),
	       (double)received * 1e3 / (double)(now - start), (unsigned long long)stats.cqes,
	       (unsigned long long)dp_stats(&sides[pair].dp).rx_no_buffer);
	dp_close(&sides[0].dp);
	if (pair)
		dp_close(&sides[1].dp);
	if (own_thread)
		softrnic_host_put();
	else
		softrnic_poller_destroy(poller);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name, *wire;
		bool sink;
	} cases[] = {
		{ "sink", "loop", true },
		{ "loop", "loop", false },
		{ "pair", "pair:rate", false },
	};
	double seconds = argc > 1 ? atof(argv[1]) : 1.0;
	const char *only = argc > 2 ? argv[2] : NULL; /* e.g. "inline loop" */
	char title[32];
	size_t threads, i;

	for (threads = 0; threads < 2; threads++) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			snprintf(title, sizeof(title), "%s %s", threads == 0 ? "inline" : "host",
				 cases[i].name);
			if (only == NULL || strcmp(only, title) == 0)
				measure(cases[i].name, cases[i].wire, cases[i].sink, threads != 0,
					seconds);
		}
	}
	return 0;
}
