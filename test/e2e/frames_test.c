/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets are real: frames of known content go in at one port and are checked byte for byte at the other. */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "port.h"

#define BURST_MAX 64
#define IDLE_S	  60 /* without a frame: they are lost */
#define WAIT_MS	  60000

/* Ports 0 and 1 are a pair; each test starts them as it needs them. */
static void
start(const struct e2e_conf *conf)
{
	assert_int_equal(e2e_port_setup(0, conf), 0);
	assert_int_equal(e2e_port_setup(1, conf), 0);
	assert_true(e2e_wait_link(0, true));
	assert_true(e2e_wait_link(1, true));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
}

/* Every mbuf comes back: none is lost in a queue. */
static void
stop(void)
{
	assert_int_equal(e2e_port_stop(0), 0);
	assert_int_equal(e2e_port_stop(1), 0);
	assert_int_equal(e2e_pool_used(e2e_pool), 0);
}

/* Frames of random lengths, segments and burst sizes, up to `window` on their way. */
static void
random_frames(uint16_t from, uint64_t total, uint32_t length_max, unsigned int segs_max,
	      unsigned int window, uint64_t seed)
{
	uint64_t sent = 0, received = 0, send_state = seed, receive_state = seed, state = seed + 1;
	uint64_t idle_end = rte_get_timer_cycles() + IDLE_S * rte_get_timer_hz();
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t to = !from, burst, n, i;
	uint32_t length;
	unsigned int segs;

	while (received < total) {
		burst = 1 + e2e_random(&state) % BURST_MAX;
		burst = RTE_MIN(burst, RTE_MIN(total - sent, window - (sent - received)));
		for (i = 0; i < burst; i++) {
			length = 64 + e2e_random(&send_state) % (length_max - 63);
			segs = 1 + e2e_random(&state) % segs_max;
			/* Often enough one segment, and always enough room. */
			if (e2e_random(&state) % 2 == 0)
				segs = 1;
			segs = RTE_MAX(segs, (length + 2047) / 2048);
			pkts[i] = e2e_frame(e2e_pool, to, sent + i, length, segs);
			assert_non_null(pkts[i]);
		}
		assert_int_equal(e2e_send(from, 0, pkts, burst), burst);
		sent += burst;
		n = rte_eth_rx_burst(to, 0, pkts, 1 + e2e_random(&state) % BURST_MAX);
		for (i = 0; i < n; i++) {
			length = 64 + e2e_random(&receive_state) % (length_max - 63);
			assert_true(e2e_check(pkts[i], to, received + i, length));
			rte_pktmbuf_free(pkts[i]);
		}
		received += n;
		if (n > 0)
			idle_end = rte_get_timer_cycles() + IDLE_S * rte_get_timer_hz();
		else if (rte_get_timer_cycles() > idle_end)
			fail_msg("%" PRIu64 " of %" PRIu64 " frames received", received, total);
		else if (burst == 0)
			sched_yield();
	}
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

static void
check_counts(uint16_t from, uint64_t packets, uint64_t bytes)
{
	struct rte_eth_stats tx, rx;

	assert_int_equal(rte_eth_stats_get(from, &tx), 0);
	assert_int_equal(rte_eth_stats_get(!from, &rx), 0);
	assert_int_equal(tx.opackets, packets);
	assert_int_equal(tx.obytes, bytes);
	assert_int_equal(tx.oerrors, 0);
	assert_int_equal(rx.ipackets, packets);
	assert_int_equal(rx.ibytes, bytes);
	assert_int_equal(rx.imissed, 0);
	assert_int_equal(rx.ierrors, 0);
}

static void
every_length_arrives(void **unused)
{
	const struct e2e_conf conf = { .mtu = 9000 };
	uint64_t sequence = 0, bytes = 0;
	uint32_t length;
	unsigned int segs;
	uint16_t from;

	(void)unused;
	start(&conf);
	for (from = 0; from < 2; from++) {
		sequence = 0;
		bytes = 0;
		/* To 9,014: MTU 9000 and the header. Odd steps meet all alignments. */
		for (length = 60; length <= 9014; length += length < 300 ? 1 : 61) {
			segs = 1 + length % 8;
			segs = RTE_MAX(segs, (length + 2047) / 2048);
			assert_true(e2e_exchange(from, !from, sequence, length, segs, 2));
			sequence += 2;
			bytes += 2 * length;
		}
		assert_true(e2e_exchange(from, !from, sequence, 9014, 8, 1));
		check_counts(from, sequence + 1, bytes + 9014);
	}
	stop();
}

static void
every_burst_size_arrives(void **unused)
{
	const struct e2e_conf conf = { 0 };
	unsigned int count;
	uint64_t sequence = 0;

	(void)unused;
	start(&conf);
	for (count = 1; count <= BURST_MAX; count++, sequence += count)
		assert_true(e2e_exchange(count % 2, !(count % 2), sequence, 64, 1, count));
	stop();
}

/* More than 2^17 packets of one WQE each or less: all 16-bit counters go round twice. */
static void
counters_of_queues_wrap(void **unused)
{
	const struct e2e_conf conf = { 0 };

	(void)unused;
	start(&conf);
	random_frames(0, 140000, 64, 1, 256, 1);
	random_frames(1, 140000, 200, 1, 256, 2);
	stop();
}

static void
wqes_of_one_packet_wrap(void **unused)
{
	const struct e2e_conf conf = { 0 };
	uint64_t sequence;

	(void)unused;
	start(&conf);
	/* A WQE and a doorbell for each. */
	for (sequence = 0; sequence < 70000; sequence++)
		assert_true(e2e_exchange(0, 1, sequence, 64, 1, 1));
	stop();
}

static void
mixed_bursts_arrive_in_order(void **unused)
{
	const struct e2e_conf conf = { .mtu = 9000 };

	(void)unused;
	start(&conf);
	random_frames(0, 20000, 9000, 8, 32, 3);
	random_frames(1, 20000, 1514, 8, 32, 4);
	stop();
}

static void
ring_sizes_need_not_be_powers_of_two(void **unused)
{
	static const uint16_t sizes[] = { 64, 65, 100, 500, 1000, 1023, 4096, 8192 };
	struct e2e_conf conf = { 0 };
	unsigned int i;

	(void)unused;
	for (i = 0; i < RTE_DIM(sizes); i++) {
		conf.rx_desc = sizes[i];
		conf.tx_desc = sizes[RTE_DIM(sizes) - 1 - i];
		/* 8,192 mbufs stand in one ring; the pool has them for one port only. */
		assert_int_equal(e2e_port_setup(0, &(struct e2e_conf){ .tx_desc = conf.tx_desc }),
				 0);
		assert_int_equal(e2e_port_setup(1, &conf), 0);
		assert_true(e2e_wait_link(0, true));
		/* The driver refills 32 at a time: no more than half a ring is sure to have room. */
		random_frames(0, 3 * sizes[i], 1514, 4, RTE_MIN(sizes[i] / 2, 64), i + 5);
		random_frames(1, 1000, 64, 1, 64, i + 6);
		stop();
	}
}

static void
sending_without_fast_free(void **unused)
{
	const struct e2e_conf conf = { .no_fast_free = true };

	(void)unused;
	start(&conf);
	random_frames(0, 10000, 1514, 8, 128, 20);
	stop();
}

/* References of others: the buffer is sent, and stays theirs. */
static void
shared_mbufs_are_sent_and_kept(void **unused)
{
	const struct e2e_conf conf = { .no_fast_free = true };
	struct rte_mbuf *frame, *clone, *pkts[64];
	unsigned int i;

	(void)unused;
	start(&conf);
	frame = e2e_frame(e2e_pool, 1, 7, 1000, 3);
	assert_non_null(frame);
	for (i = 0; i < RTE_DIM(pkts); i++) {
		clone = rte_pktmbuf_clone(frame, e2e_pool);
		assert_non_null(clone);
		pkts[i] = clone;
	}
	assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	assert_int_equal(e2e_receive(1, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	for (i = 0; i < RTE_DIM(pkts); i++) {
		assert_true(e2e_check(pkts[i], 1, 7, 1000));
		rte_pktmbuf_free(pkts[i]);
	}
	rte_pktmbuf_free(frame);
	stop();
}

static void
free_external(void *address, void *calls)
{
	(void)address;
	++*(unsigned int *)calls;
}

/* A buffer that no pool knows: sent if the driver can register its memory, else dropped and counted. Freed once. */
static void
external_buffers_are_sent_or_counted(void **unused)
{
	const struct e2e_conf conf = { .no_fast_free = true };
	struct rte_mbuf *model, *mbuf, *got;
	struct rte_eth_stats stats;
	unsigned int calls = 0;
	uint16_t length = 2048;
	uint8_t *buffer;

	(void)unused;
	start(&conf);
	model = e2e_frame(e2e_pool, 1, 9, 600, 1);
	mbuf = rte_pktmbuf_alloc(e2e_pool);
	buffer = rte_malloc("external", length, 0);
	assert_true(model != NULL && mbuf != NULL && buffer != NULL);
	rte_pktmbuf_attach_extbuf(
		mbuf, buffer, RTE_BAD_IOVA, length,
		rte_pktmbuf_ext_shinfo_init_helper(buffer, &length, free_external, &calls));
	memcpy(rte_pktmbuf_append(mbuf, 600), rte_pktmbuf_mtod(model, void *), 600);
	assert_int_equal(e2e_send(0, 0, &mbuf, 1), 1);
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.opackets + stats.oerrors, 1);
	if (stats.opackets == 1) {
		assert_int_equal(e2e_receive(1, &got, 1), 1);
		assert_true(e2e_check(got, 1, 9, 600));
		rte_pktmbuf_free(got);
	}
	rte_pktmbuf_free(model);
	stop();
	assert_int_equal(calls, 1);
	rte_free(buffer);
}

/* What cannot be sent is taken and counted; its neighbours in the burst are sent. */
static void
bad_packets_are_dropped_and_counted(void **unused)
{
	const struct e2e_conf conf = { 0 };
	struct rte_mbuf *pkts[8], *seg;
	struct rte_eth_stats stats;
	unsigned int i;

	(void)unused;
	start(&conf);
	for (i = 0; i < RTE_DIM(pkts); i++) {
		pkts[i] = e2e_frame(e2e_pool, 1, i, 200, i == 6 ? 3 : 1);
		assert_non_null(pkts[i]);
	}
	/* 0, 2, 7 are good. */
	pkts[1]->data_len = pkts[1]->pkt_len = 0;
	pkts[3]->data_len = pkts[3]->pkt_len = 13;
	pkts[4]->data_len = pkts[4]->pkt_len = UINT16_MAX;
	for (i = 0; i < 70; i++) {
		seg = rte_pktmbuf_alloc(e2e_pool);
		assert_non_null(seg);
		seg->data_len = seg->pkt_len = 10;
		assert_int_equal(rte_pktmbuf_chain(pkts[5], seg), 0);
	}
	pkts[6]->pkt_len += 5; /* not what its segments say */
	assert_int_equal(rte_eth_tx_prepare(0, 0, pkts, RTE_DIM(pkts)), 1);
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	assert_int_equal(e2e_receive(1, pkts, 3), 3);
	assert_true(e2e_check(pkts[0], 1, 0, 200));
	assert_true(e2e_check(pkts[1], 1, 2, 200));
	assert_true(e2e_check(pkts[2], 1, 7, 200));
	rte_pktmbuf_free_bulk(pkts, 3);
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.opackets, 3);
	assert_int_equal(stats.obytes, 600);
	assert_int_equal(stats.oerrors, 5);
	stop();
}

static void
empty_segments_are_skipped(void **unused)
{
	const struct e2e_conf conf = { 0 };
	struct rte_mbuf *frame = NULL, *empty, *tail;
	unsigned int place;

	(void)unused;
	start(&conf);
	for (place = 0; place < 3; place++) {
		empty = rte_pktmbuf_alloc(e2e_pool);
		frame = e2e_frame(e2e_pool, 1, place, 500, 2);
		assert_true(empty != NULL && frame != NULL);
		tail = frame->next;
		if (place == 0) {
			empty->next = frame;
			empty->nb_segs = 3;
			empty->pkt_len = 500;
			frame->nb_segs = 1;
			frame = empty;
		} else if (place == 1) {
			frame->next = empty;
			empty->next = tail;
			frame->nb_segs = 3;
		} else {
			tail->next = empty;
			frame->nb_segs = 3;
		}
		assert_int_equal(e2e_send(0, 0, &frame, 1), 1);
		assert_int_equal(e2e_receive(1, &frame, 1), 1);
		assert_true(e2e_check(frame, 1, place, 500));
		rte_pktmbuf_free(frame);
	}
	stop();
}

/* The receiver's pool runs dry: frames are lost and counted, and it goes on when mbufs are there again. */
static void
no_mbufs_then_mbufs_again(void **unused)
{
	struct rte_mempool *small = rte_pktmbuf_pool_create(
		"small", 100, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	const struct e2e_conf conf = { .rx_pool = small, .rx_desc = 64 };
	struct rte_mbuf *kept[128], *pkts[16];
	struct rte_eth_stats stats;
	unsigned int n = 0, round, ms, i;

	(void)unused;
	assert_non_null(small);
	assert_int_equal(e2e_port_setup(0, &(struct e2e_conf){ 0 }), 0);
	assert_int_equal(e2e_port_setup(1, &conf), 0);
	assert_true(e2e_wait_link(0, true));
	assert_int_equal(rte_eth_stats_reset(1), 0);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = e2e_frame(e2e_pool, 1, round * RTE_DIM(pkts) + i, 100, 1);
		assert_int_equal(e2e_send(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		/* Received or missed: the ring never has two rounds in it. */
		for (ms = 0; ms < WAIT_MS; ms++) {
			n += rte_eth_rx_burst(1, 0, kept + n, RTE_DIM(kept) - n);
			assert_int_equal(rte_eth_stats_get(1, &stats), 0);
			if (n + stats.imissed == (round + 1) * RTE_DIM(pkts))
				break;
			rte_delay_us_sleep(1000);
		}
	}
	/* All that the pool has: neither more nor fewer. */
	assert_int_equal(n, 100);
	for (i = 0; i < n; i++)
		assert_true(e2e_check(kept[i], 1, i, 100));
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.ipackets, 100);
	assert_int_equal(stats.imissed, 20 * RTE_DIM(pkts) - 100);
	assert_true(stats.rx_nombuf > 0);
	rte_pktmbuf_free_bulk(kept, n);
	/* The first poll fills the ring again. */
	assert_true(e2e_silent(1));
	for (round = 0; round < 20; round++)
		assert_true(e2e_exchange(0, 1, 1000 + 16 * round, 300, 2, 16));
	stop();
	assert_int_equal(rte_mempool_in_use_count(small), 0);
	rte_mempool_free(small);
}

static void
all_transmit_queues_send(void **unused)
{
	const struct e2e_conf conf = { .tx_queues = 8 };
	struct rte_eth_stats stats;
	struct rte_mbuf *mbuf;
	uint16_t queue;

	(void)unused;
	start(&conf);
	for (queue = 0; queue < 8; queue++) {
		mbuf = e2e_frame(e2e_pool, 1, queue, 64u + queue, 1);
		assert_int_equal(e2e_send(0, queue, &mbuf, 1), 1);
		assert_int_equal(e2e_receive(1, &mbuf, 1), 1);
		assert_true(e2e_check(mbuf, 1, queue, 64u + queue));
		rte_pktmbuf_free(mbuf);
	}
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	for (queue = 0; queue < 8; queue++) {
		assert_int_equal(stats.q_opackets[queue], 1);
		assert_int_equal(stats.q_obytes[queue], 64 + queue);
	}
	stop();
}

/* A WQE that the device refuses, as its data reach beyond the memory key: counted, repaired, nothing lost. */
static void
transmit_queue_recovers_from_an_error(void **unused)
{
	const struct e2e_conf conf = { .mtu = 9000, .no_fast_free = true };
	/* Alone in its memory, so that what follows has no key. */
	struct rte_mempool *island = rte_pktmbuf_pool_create(
		"island", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_eth_stats stats;
	struct rte_mbuf *bad;
	unsigned int ms;

	(void)unused;
	assert_non_null(island);
	start(&conf);
	assert_true(e2e_exchange(0, 1, 0, 64, 1, 10));
	bad = rte_pktmbuf_alloc(island);
	assert_non_null(bad);
	bad->data_len = bad->pkt_len = 9000;
	assert_int_equal(e2e_send(0, 0, &bad, 1), 1);
	for (ms = 0; ms < WAIT_MS; ms++) {
		rte_eth_tx_burst(0, 0, NULL, 0);
		assert_int_equal(rte_eth_stats_get(0, &stats), 0);
		if (stats.oerrors != 0)
			break;
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(stats.oerrors, 1);
	assert_int_equal(stats.opackets, 10);
	assert_int_equal(stats.obytes, 640);
	assert_int_equal(rte_mempool_in_use_count(island), 0);
	assert_true(e2e_exchange(0, 1, 100, 9000, 6, 10));
	random_frames(0, 1000, 1514, 3, 32, 30);
	stop();
	rte_mempool_free(island);
}

/* A stop that meets the error first, or comes when the queue is repaired but no burst has followed: nothing vanishes. */
static void
packets_lost_at_a_stop_are_counted(void **unused)
{
	const struct e2e_conf conf = { .mtu = 9000, .no_fast_free = true };
	/* The recovery is over before the stop; or has most likely just begun. */
	static const unsigned int recovery_us[] = { 50000, 50, 100, 200, 400 };
	struct rte_mempool *island = rte_pktmbuf_pool_create(
		"island3", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_eth_stats tx, rx;
	struct rte_mbuf *pkts[9];
	char *text = NULL;
	unsigned int wait, i;
	size_t size;
	FILE *log;

	(void)unused;
	assert_non_null(island);
	for (wait = 0; wait < 2 + RTE_DIM(recovery_us); wait++) {
		start(&conf);
		log = open_memstream(&text, &size);
		assert_non_null(log);
		assert_int_equal(rte_openlog_stream(log), 0);
		pkts[0] = rte_pktmbuf_alloc(island);
		assert_non_null(pkts[0]);
		/* Beyond the memory that there is a key for. */
		pkts[0]->data_len = pkts[0]->pkt_len = 9000;
		for (i = 1; i < RTE_DIM(pkts); i++)
			pkts[i] = e2e_frame(e2e_pool, 1, i, 100, 1);
		assert_int_equal(rte_eth_tx_burst(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		/* The device has seen this when frames of later doorbells have arrived. */
		if (wait > 0)
			assert_true(e2e_exchange(1, 0, 1, 64, 1, 1) &&
				    e2e_exchange(1, 0, 2, 64, 1, 1) &&
				    e2e_exchange(1, 0, 3, 64, 1, 1));
		if (wait > 1) {
			/* This burst meets the error. */
			assert_int_equal(rte_eth_tx_burst(0, 0, NULL, 0), 0);
			rte_delay_us_sleep(recovery_us[wait - 2]);
		}
		assert_int_equal(e2e_port_stop(0), 0);
		rte_openlog_stream(NULL);
		fclose(log);
		/* A device that has no CPU for so long has not come to the error when it is given up. */
		if (wait > 0 || strstr(text, "9 packets that the device did not send") == NULL) {
			assert_non_null(strstr(text, "Tx queue 0: error completion of WQE 0,"));
			assert_non_null(strstr(text, "packets are lost with it"));
		}
		free(text);
		assert_true(e2e_silent(1));
		assert_int_equal(rte_eth_stats_get(0, &tx), 0);
		assert_int_equal(rte_eth_stats_get(1, &rx), 0);
		assert_int_equal(rx.ipackets, 0);
		assert_int_equal(tx.opackets, 0);
		assert_int_equal(tx.obytes, 0);
		assert_int_equal(tx.oerrors, RTE_DIM(pkts));
		assert_int_equal(e2e_port_stop(1), 0);
		assert_int_equal(e2e_pool_used(e2e_pool), 0);
		assert_int_equal(rte_mempool_in_use_count(island), 0);
	}
	rte_mempool_free(island);
}

/* Packets of these lengths, one of each: which of them arrived is for the caller to know. */
static uint16_t
send_lengths(uint16_t from, const uint32_t *lengths, unsigned int count, unsigned int segs)
{
	struct rte_mbuf *pkts[8];
	unsigned int i;

	for (i = 0; i < count; i++) {
		pkts[i] = e2e_frame(e2e_pool, !from, i, lengths[i], segs);
		assert_non_null(pkts[i]);
	}
	i = rte_eth_tx_prepare(from, 0, pkts, count);
	assert_int_equal(e2e_send(from, 0, pkts, count), count);
	return i;
}

/* A VLAN tag beside the MTU is carried, a byte more is not: counted where it was sent, and nothing stops for it. */
static void
packets_beyond_the_mtu_are_counted(void **unused)
{
	static const uint16_t mtus[] = { 1500, 1400, 1450 };
	struct rte_eth_dev_info info;
	struct rte_eth_stats tx, rx;
	struct rte_mbuf *pkts[2];
	unsigned int i, segs;

	(void)unused;
	start(&(struct e2e_conf){ .mtu = mtus[0] });
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_int_equal(info.max_rx_pktlen, info.max_mtu + 18);
	for (i = 0; i < RTE_DIM(mtus); i++) {
		const uint32_t lengths[] = { 64, mtus[i] + 18, mtus[i] + 19, 1700, 2047 };

		/* With the ports running. */
		assert_int_equal(rte_eth_dev_set_mtu(0, mtus[i]), 0);
		assert_int_equal(rte_eth_dev_set_mtu(1, mtus[i]), 0);
		for (segs = 1; segs <= 3; segs += 2) {
			assert_int_equal(rte_eth_stats_reset(0), 0);
			assert_int_equal(rte_eth_stats_reset(1), 0);
			assert_int_equal(send_lengths(0, lengths, RTE_DIM(lengths), segs), 2);
			assert_int_equal(e2e_receive(1, pkts, 2), 2);
			assert_true(e2e_check(pkts[0], 1, 0, lengths[0]));
			assert_true(e2e_check(pkts[1], 1, 1, lengths[1]));
			rte_pktmbuf_free_bulk(pkts, 2);
			assert_true(e2e_silent(1));
			assert_int_equal(rte_eth_stats_get(0, &tx), 0);
			assert_int_equal(rte_eth_stats_get(1, &rx), 0);
			assert_int_equal(tx.opackets, 2);
			assert_int_equal(tx.oerrors, 3);
			assert_int_equal(rx.ipackets, 2);
		}
	}
	stop();
}

/* Of a queue that fails over and over, one line a second; how many were left out is said at the end. */
static void
error_lines_are_few_and_count_the_rest(void **unused)
{
	const struct e2e_conf conf = { .mtu = 9000, .no_fast_free = true };
	struct rte_mempool *island = rte_pktmbuf_pool_create(
		"island2", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	unsigned int i, lines = 0, more, unsaid = 0, ms;
	uint64_t begin, seconds;
	struct rte_eth_stats stats;
	struct rte_mbuf *bad;
	char *text = NULL, *at;
	size_t size;
	FILE *log = open_memstream(&text, &size);

	(void)unused;
	assert_true(island != NULL && log != NULL);
	start(&conf);
	assert_int_equal(rte_openlog_stream(log), 0);
	begin = rte_get_timer_cycles();
	for (i = 0; i < 8; i++) {
		bad = rte_pktmbuf_alloc(island);
		assert_non_null(bad);
		/* Beyond the memory that there is a key for. */
		bad->data_len = bad->pkt_len = 9000;
		assert_int_equal(e2e_send(0, 0, &bad, 1), 1);
		for (ms = 0; ms < WAIT_MS; ms++) {
			rte_eth_tx_burst(0, 0, NULL, 0);
			assert_int_equal(rte_eth_stats_get(0, &stats), 0);
			if (stats.oerrors > i)
				break;
			rte_delay_us_sleep(1000);
		}
		assert_int_equal(stats.oerrors, i + 1);
	}
	stop();
	seconds = (rte_get_timer_cycles() - begin) / rte_get_timer_hz();
	rte_openlog_stream(NULL);
	fclose(log);
	for (at = text; (at = strstr(at, "Tx queue 0: ")) != NULL; at++) {
		if (sscanf(at, "Tx queue 0: %u more error completions", &more) == 1)
			unsaid += more;
		else if (strncmp(at, "Tx queue 0: error completion of WQE", 35) == 0)
			lines++;
	}
	free(text);
	assert_int_equal(lines + unsaid, 8);
	/* The first, and one more with each second that they took. */
	assert_in_range(lines, 1, 1 + seconds);
	rte_mempool_free(island);
}

/* 2^24 completions and a few more: the CQ's index goes round. Once is enough, unless every count is asked for. */
static bool wrap_index;

static void
completion_index_wraps(void **unused)
{
	const struct e2e_conf conf = { 0 };
	const uint64_t total = full_run() || wrap_index ? (UINT64_C(1) << 24) + 100000 : 300000;

	(void)unused;
	start(&conf);
	random_frames(0, total, 64, 1, 256, 40);
	stop();
}

/* With one packet under way at a time each WQE is posted alone, and compared before its half is rung again. */
static void
whole_wqes_go_to_the_register(void **unused)
{
	const struct e2e_conf conf = { 0 };
	uint64_t i;

	(void)unused;
	start(&conf);
	for (i = 0; i < 1500; i++)
		assert_true(e2e_exchange(0, 1, i, 64 + i % 200, 1 + i % 3, 1));
	stop();
	assert_true(e2e_blueflame_right(1001));
}

/* An argument adds devargs to both ports; two may be PCI functions. */
int
main(int argc, char **argv)
{
	static const char *const vdevs[] = { "net_rnic0,wire=pair:frames",
					     "net_rnic1,wire=pair:frames", NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_length_arrives, stop_ports),
		cmocka_unit_test_teardown(every_burst_size_arrives, stop_ports),
		cmocka_unit_test_teardown(counters_of_queues_wrap, stop_ports),
		cmocka_unit_test_teardown(wqes_of_one_packet_wrap, stop_ports),
		cmocka_unit_test_teardown(mixed_bursts_arrive_in_order, stop_ports),
		cmocka_unit_test_teardown(ring_sizes_need_not_be_powers_of_two, stop_ports),
		cmocka_unit_test_teardown(sending_without_fast_free, stop_ports),
		cmocka_unit_test_teardown(shared_mbufs_are_sent_and_kept, stop_ports),
		cmocka_unit_test_teardown(external_buffers_are_sent_or_counted, stop_ports),
		cmocka_unit_test_teardown(bad_packets_are_dropped_and_counted, stop_ports),
		cmocka_unit_test_teardown(empty_segments_are_skipped, stop_ports),
		cmocka_unit_test_teardown(no_mbufs_then_mbufs_again, stop_ports),
		cmocka_unit_test_teardown(all_transmit_queues_send, stop_ports),
		cmocka_unit_test_teardown(transmit_queue_recovers_from_an_error, stop_ports),
		cmocka_unit_test_teardown(packets_lost_at_a_stop_are_counted, stop_ports),
		cmocka_unit_test_teardown(packets_beyond_the_mtu_are_counted, stop_ports),
		cmocka_unit_test_teardown(error_lines_are_few_and_count_the_rest, stop_ports),
		cmocka_unit_test_teardown(completion_index_wraps, stop_ports),
		/* The last one: it looks at what all of them did. */
		cmocka_unit_test_teardown(whole_wqes_go_to_the_register, stop_ports),
	};
	const size_t count = RTE_DIM(tests) - !e2e_blueflame(argc, argv);
	int failed;

	wrap_index = argc == 1 && !e2e_sanitized();
	if (e2e_init("frames", e2e_ports(argc, argv, vdevs)) < 0)
		return 1;
	failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
	e2e_fini();
	return failed;
}
