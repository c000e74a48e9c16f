/* SPDX-License-Identifier: BSD-3-Clause */

/* Single queues of a port that runs: stopped and started, and looked into. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "main.h"

#define DESC	512
#define WAIT_MS 60000

static const struct e2e_conf plain = { 0 };

/* ---- Start and stop ---- */

static uint64_t
missed(void)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	return stats.imissed;
}

/* Its mbufs are free, its frames are missed, and it comes back as new; often enough for its rings to wrap. */
static void
receive_queues_stop_and_start(void **unused)
{
	struct rte_eth_rxq_info info;
	unsigned int before, i, ms;
	uint64_t count;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &(struct e2e_conf){ .rx_desc = 64 }));
	for (i = 0; i < 20; i++) {
		assert_true(e2e_exchange(0, 1, i, 64, 1, 33));
		before = e2e_pool_used(e2e_pool);
		assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
		/* It is refilled 32 at a time. */
		assert_in_range(before - e2e_pool_used(e2e_pool), 33, 64);
		assert_int_equal(rte_eth_rx_queue_info_get(1, 0, &info), 0);
		assert_int_equal(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		count = missed();
		assert_true(e2e_send_frames(8));
		assert_true(
			e2e_wait_counted(1, offsetof(struct rte_eth_stats, imissed), count + 8));
		assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
		assert_int_equal(rte_eth_rx_queue_info_get(1, 0, &info), 0);
		assert_int_equal(info.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	}
	/* With frames in it, which go with it. */
	assert_true(e2e_send_frames(8));
	for (ms = 0; ms < WAIT_MS && rte_eth_rx_queue_count(1, 0) < 8; ms++)
		rte_delay_us_sleep(1000);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
	assert_true(e2e_exchange(0, 1, i, 64, 1, 33));
	/* And a port that stops meanwhile. */
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	assert_true(e2e_pair_stop());
}

static void
a_receive_queue_that_gets_no_mbufs_stays_stopped(void **unused)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"narrow", 100, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *taken[50];
	unsigned int i;

	(void)unused;
	assert_non_null(pool);
	assert_true(e2e_pair_start(&plain, &(struct e2e_conf){ .rx_desc = 64, .rx_pool = pool }));
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	for (i = 0; i < RTE_DIM(taken); i++)
		taken[i] = rte_pktmbuf_alloc(pool);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), -ENOMEM);
	assert_int_equal(rte_mempool_in_use_count(pool), RTE_DIM(taken));
	rte_pktmbuf_free_bulk(taken, RTE_DIM(taken));
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
	assert_true(e2e_exchange(0, 1, 1, 64, 1, 33));
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
}

static void
transmit_queues_stop_and_start(void **unused)
{
	struct rte_eth_txq_info info;
	struct rte_eth_stats stats;
	struct rte_mbuf *pkt;
	unsigned int i;

	(void)unused;
	assert_true(e2e_pair_start(&(struct e2e_conf){ .tx_queues = 2 }, &plain));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	for (i = 0; i < 10; i++) {
		assert_true(e2e_exchange(0, 1, i, 64, 1, 33));
		assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
		assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &info), 0);
		assert_int_equal(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		pkt = e2e_frame(e2e_pool, 1, 1, 64, 1);
		assert_non_null(pkt);
		assert_int_equal(rte_eth_tx_burst(0, 0, &pkt, 1), 0);
		/* The other one goes on. */
		assert_int_equal(rte_eth_tx_burst(0, 1, &pkt, 1), 1);
		assert_int_equal(e2e_receive(1, &pkt, 1), 1);
		rte_pktmbuf_free(pkt);
		assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
	}
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.opackets, 10 * 34);
	assert_int_equal(stats.q_opackets[0], 10 * 33);
	assert_int_equal(stats.q_obytes[0], 10 * 33 * 64);
	assert_int_equal(stats.q_opackets[1], 10);
	assert_int_equal(stats.oerrors, 0);
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	assert_true(e2e_pair_stop());
}

static void
queues_may_start_later(void **unused)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	struct rte_mbuf *pkt;
	unsigned int i, ms;

	(void)unused;
	assert_true(e2e_pair_start(&(struct e2e_conf){ .tx_deferred = 1 },
				   &(struct e2e_conf){ .rx_deferred = 1 }));
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_rx_queue_info_get(1, 0, &rx), 0);
		assert_int_equal(rx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		assert_int_equal(rx.conf.rx_deferred_start, 1);
		assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
		assert_int_equal(tx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		assert_int_equal(tx.conf.tx_deferred_start, 1);
		assert_int_equal(e2e_pool_used(e2e_pool), DESC);
		pkt = e2e_frame(e2e_pool, 1, 1, 64, 1);
		assert_int_equal(rte_eth_tx_burst(0, 0, &pkt, 1), 0);
		rte_pktmbuf_free(pkt);
		assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
		assert_true(e2e_send_frames(8));
		/* They have been on the wire when their mbufs are back. */
		for (ms = 0; ms < WAIT_MS && e2e_pool_used(e2e_pool) > DESC; ms++) {
			assert_in_range(rte_eth_tx_done_cleanup(0, 0, 0), 0, 8);
			rte_delay_us_sleep(1000);
		}
		assert_int_equal(e2e_pool_used(e2e_pool), DESC);
		assert_true(e2e_silent(1));
		assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
		assert_true(e2e_exchange(0, 1, 1, 64, 1, 33));
		assert_true(e2e_pair_stop());
		/* They wait again. */
		assert_int_equal(rte_eth_dev_start(0), 0);
		assert_int_equal(rte_eth_dev_start(1), 0);
		assert_true(e2e_wait_link(0, true));
	}
	assert_true(e2e_pair_stop());
}

/* ---- Mbufs ---- */

/*
 * What the application promised is taken at its word: mbufs go back without a look. These say that somebody else holds
 * them, against the promise, and go back all the same.
 */
static void
fast_free_looks_into_no_mbuf(void **unused)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"promised", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *pkts[32], *got[32];
	unsigned int i;

	(void)unused;
	assert_non_null(pool);
	assert_true(e2e_pair_start(&plain, &plain));
	for (i = 0; i < RTE_DIM(pkts); i++) {
		pkts[i] = e2e_frame(pool, 1, i, 64, 1);
		assert_non_null(pkts[i]);
		rte_mbuf_refcnt_set(pkts[i], 2);
	}
	assert_int_equal(rte_eth_tx_burst(0, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
	assert_int_equal(e2e_receive(1, got, RTE_DIM(got)), RTE_DIM(got));
	rte_pktmbuf_free_bulk(got, RTE_DIM(got));
	assert_true(e2e_pair_stop());
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	for (i = 0; i < RTE_DIM(pkts); i++) {
		assert_int_equal(rte_mbuf_refcnt_read(pkts[i]), 2);
		rte_mbuf_refcnt_set(pkts[i], 1);
	}
	rte_mempool_free(pool);
}

/* ---- Descriptors ---- */

static void
receive_descriptors_tell_their_status(void **unused)
{
	struct rte_mbuf *pkts[8];
	unsigned int ms;

	(void)unused;
	assert_true(e2e_pair_start(&plain, &(struct e2e_conf){ .rx_desc = 64 }));
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 0);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 0), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 63), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 64), -EINVAL);
	assert_true(e2e_send_frames(8));
	for (ms = 0; ms < WAIT_MS && rte_eth_rx_queue_count(1, 0) < 8; ms++)
		rte_delay_us_sleep(1000);
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 8);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 0), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 7), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 8), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(e2e_receive(1, pkts, 5), 5);
	rte_pktmbuf_free_bulk(pkts, 5);
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 3);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 2), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 3), RTE_ETH_RX_DESC_AVAIL);
	/* Five places wait for new mbufs: they are refilled many at once. */
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 58), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 59), RTE_ETH_RX_DESC_UNAVAIL);
	assert_true(e2e_pair_stop());
}

static void
transmit_descriptors_tell_their_status(void **unused)
{
	unsigned int count, ms, i;

	(void)unused;
	assert_true(e2e_pair_start(&(struct e2e_conf){ .tx_desc = 128 }, &plain));
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 0), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 127), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 128), -EINVAL);
	/* Fewer than ask for a completion, and more: what was sent is done, to the last slot. */
	for (count = 1; count <= 64; count += 9) {
		assert_true(e2e_send_frames(count));
		for (ms = 0; ms < WAIT_MS &&
			     rte_eth_tx_descriptor_status(0, 0, 127) != RTE_ETH_TX_DESC_DONE;
		     ms++)
			rte_delay_us_sleep(1000);
		for (i = 0; i < 128; i++)
			assert_int_equal(rte_eth_tx_descriptor_status(0, 0, i),
					 RTE_ETH_TX_DESC_DONE);
	}
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 0), RTE_ETH_TX_DESC_UNAVAIL);
	assert_true(e2e_pair_stop());
}

/* Nothing of what large sends' room is counted by stays behind, either: the ring is as free as it was. */
static void
transmit_descriptors_with_large_sends_are_all_free_again(void **unused)
{
	const struct e2e_conf large = { .tx_desc = 128,
					.tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
						       RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
						       RTE_ETH_TX_OFFLOAD_TCP_TSO };
	unsigned int ms;

	(void)unused;
	assert_true(e2e_pair_start(&large, &plain));
	assert_true(e2e_send_frames(32));
	for (ms = 0;
	     ms < WAIT_MS && rte_eth_tx_descriptor_status(0, 0, 127) != RTE_ETH_TX_DESC_DONE; ms++)
		rte_delay_us_sleep(1000);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, 127), RTE_ETH_TX_DESC_DONE);
	assert_true(e2e_pair_stop());
}

static const struct CMUnitTest tests[] = {
	E2E_PAIR_TEST(receive_queues_stop_and_start),
	E2E_PAIR_TEST(a_receive_queue_that_gets_no_mbufs_stays_stopped),
	E2E_PAIR_TEST(transmit_queues_stop_and_start),
	E2E_PAIR_TEST(queues_may_start_later),
	E2E_PAIR_TEST(fast_free_looks_into_no_mbuf),
	E2E_PAIR_TEST(receive_descriptors_tell_their_status),
	E2E_PAIR_TEST(transmit_descriptors_tell_their_status),
	E2E_PAIR_TEST(transmit_descriptors_with_large_sends_are_all_free_again),
};

E2E_PAIR_MAIN("queue", tests)
