/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The burst functions alone: rx.c and tx.c between rings, records and registers made by hand, with a device that is
 * played by the test. What they need of the rest of the driver is here, as little as there can be.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "doorbell.h"
#include "dump.h"
#include "rx.h"
#include "tx.h"

#define LOG_RING  6
#define RING	  (1u << LOG_RING)
#define BF_HALF	  256
#define ROOM	  2048u /* for data in an mbuf */
#define TOO_LONG  0x7fff0040u
#define FRAME	  64u
#define SOME_LKEY 0x1234u
#define ROUNDS	  300000u

int rnic_logtype, rnic_logtype_dump;
static atomic_uint generation;
static unsigned int failures;

/* ---- The rest of the driver ---- */

bool
rnic_dump_wanted(void)
{
	return false;
}

void
rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, bool ethernet)
{
	(void)sq;
	(void)index;
	(void)ethernet;
}

void
rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe)
{
	(void)cq;
	(void)cqe;
}

bool
rnic_mkey_lookup_slow(struct rnic_mkey_cache *cache, const struct rte_mbuf *mbuf, uintptr_t address,
		      struct rnic_be32 *lkey)
{
	(void)cache;
	(void)mbuf;
	(void)address;
	(void)lkey;
	return false;
}

void
rnic_rxq_failed(struct rnic_rxq *rxq)
{
	(void)rxq;
	failures++;
}

void
rnic_rxq_restart(struct rnic_rxq *rxq)
{
	(void)rxq;
}

void
rnic_txq_failed(struct rnic_txq *txq)
{
	(void)txq;
	failures++;
}

void
rnic_txq_restart(struct rnic_txq *txq)
{
	(void)txq;
}

/* ---- Queues by hand ---- */

struct fixture {
	struct rte_mempool *pool;
	struct rnic_dev dev; /* only what the choice of a burst function looks at */
	struct rnic_rxq rxq;
	struct rnic_txq txq;
	struct rnic_cqe rx_cqes[RING] __attribute__((aligned(64)));
	struct rnic_cqe tx_cqes[RING];
	uint8_t rq[RING * RNIC_WQE_DS_BYTES];
	uint8_t sq[RING * RNIC_WQEBB_BYTES];
	uint8_t bf[2 * BF_HALF];
	struct rnic_bfreg bf_register;
	struct rnic_cq_dbrec rx_cq_dbrec, tx_cq_dbrec;
	struct rnic_wq_dbrec rq_dbrec, sq_dbrec;
	struct rte_mbuf *rx_elts[RING], *tx_elts[RING];
	struct rnic_tx_wqe tx_wqes[RING];
};

static struct rnic_mkey_cache
key_of_everything(void)
{
	return (struct rnic_mkey_cache){
		.last = { .start = 0, .end = UINTPTR_MAX, .lkey = rnic_cpu_to_be32(SOME_LKEY) },
		.device_generation = &generation,
	};
}

static void
make_rxq(struct fixture *f)
{
	struct rnic_rxq *rxq = &f->rxq;

	*rxq = (struct rnic_rxq){
		.cq = { .ring = f->rx_cqes,
			.dbrec = &f->rx_cq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING },
		.rq = { .ring = f->rq,
			.dbrec = &f->rq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING,
			.log_stride = 4 },
		.state = RNIC_QUEUE_RUNNING,
		.segs = 1,
		.segment_bytes = ROOM,
		.frame_bytes = ROOM,
		.elts = f->rx_elts,
		.pool = f->pool,
		.mkeys = key_of_everything(),
	};
	memset(f->rx_cqes, 0xff, sizeof(f->rx_cqes));
}

static void
make_txq(struct fixture *f)
{
	f->txq = (struct rnic_txq){
		.cq = { .ring = f->tx_cqes,
			.dbrec = &f->tx_cq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING },
		.sq = { .ring = f->sq,
			.dbrec = &f->sq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING,
			.sqn = 0x77,
			.bf = &f->bf_register },
		.state = RNIC_QUEUE_RUNNING,
		.elts = f->tx_elts,
		.wqes = f->tx_wqes,
		.elts_mask = RING - 1,
		.length_span = 1500,
		.mkeys = key_of_everything(),
	};
	f->bf_register = (struct rnic_bfreg){
		.address = f->bf, .half = BF_HALF, .kind = RNIC_BFREG_LOW_LATENCY, .blueflame = true
	};
	memset(f->tx_cqes, 0xff, sizeof(f->tx_cqes));
	memset(f->bf, 0, sizeof(f->bf));
}

static int
setup(void **state)
{
	struct fixture *f = rte_zmalloc(NULL, sizeof(*f), 64);

	assert_non_null(f);
	f->pool = rte_pktmbuf_pool_create("burst", 1023, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					  SOCKET_ID_ANY);
	assert_non_null(f->pool);
	rnic_ethernet_cap_set(&f->dev.caps.ethernet, RNIC_ETHERNET_CAP_ENHANCED_MULTI_PKT_SEND_WQE,
			      1);
	make_rxq(f);
	make_txq(f);
	failures = 0;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rte_mempool_free(f->pool);
	rte_free(f);
	return 0;
}

/* ---- Receive: a race on purpose, which ThreadSanitizer would report. ---- */

#ifndef RNIC_TSAN
struct flipper {
	struct rnic_cqe *cqes;
	atomic_bool stop;
};

/* A device, or who pretends to be one, that goes on writing into entries that it has given away. */
static void *
flip(void *arg)
{
	struct flipper *flipper = arg;
	unsigned int i;

	while (!atomic_load_explicit(&flipper->stop, memory_order_relaxed)) {
		for (i = 0; i < RING; i++)
			__atomic_store_n(&flipper->cqes[i].byte_count.raw, RNIC_SWAP32(TOO_LONG),
					 __ATOMIC_RELAXED);
		for (i = 0; i < RING; i++)
			__atomic_store_n(&flipper->cqes[i].byte_count.raw, RNIC_SWAP32(FRAME),
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The length that was checked is the one that the mbuf gets, whatever the entry says by then. */
static void
test_a_length_that_changes_under_the_burst(void **state)
{
	struct fixture *f = *state;
	struct rnic_rxq *rxq = &f->rxq;
	struct flipper flipper = { .cqes = f->rx_cqes };
	eth_rx_burst_t burst = rnic_rx_mode_get(&f->dev, false)->burst;
	unsigned int round, taken = 0;
	struct rte_mbuf *pkts[32];
	pthread_t thread;
	uint16_t n, i;

	assert_true(rnic_rx_refill_all(rxq));
	for (i = 0; i < RING; i++)
		f->rx_cqes[i].byte_count = rnic_cpu_to_be32(FRAME);
	assert_int_equal(pthread_create(&thread, NULL, flip, &flipper), 0);
	/* The other thread may have been kept from its work. */
	for (round = 0; round < ROUNDS || ((taken == 0 || failures == 0) && round < 200 * ROUNDS);
	     round++) {
		/* 32 entries of the device's pass, ready at once. */
		for (i = 0; i < RTE_DIM(pkts); i++) {
			uint32_t index = rxq->cq.consumer + i;

			__atomic_store_n(
				&f->rx_cqes[index & (RING - 1)].op_own,
				RNIC_CQE_OP_OWN(RNIC_CQE_RESPONDER_SEND, index >> LOG_RING & 1),
				__ATOMIC_RELEASE);
		}
		n = burst(rxq, pkts, RTE_DIM(pkts));
		for (i = 0; i < n; i++) {
			assert_int_equal(pkts[i]->pkt_len, FRAME);
			assert_int_equal(pkts[i]->data_len, FRAME);
		}
		rte_pktmbuf_free_bulk(pkts, n);
		taken += n;
		if (n == RTE_DIM(pkts))
			continue;
		/* Refused: as the recovery would, go on behind it. */
		rte_mbuf_raw_free(rxq->elts[rxq->consumer++ & (RING - 1)]);
		rnic_rx_refill_all(rxq);
		while (rxq->cq.consumer % RTE_DIM(pkts) != 0) {
			rte_mbuf_raw_free(rxq->elts[rxq->consumer++ & (RING - 1)]);
			rxq->cq.consumer++;
		}
		rnic_rx_refill_all(rxq);
	}
	atomic_store(&flipper.stop, true);
	pthread_join(thread, NULL);
	/* Both kinds were met. */
	assert_true(taken > 0);
	assert_true(failures > 0);
}

#endif

/* ---- Transmit ---- */

static void
transmit(struct fixture *f, unsigned int count, unsigned int segs)
{
	struct rte_mbuf *pkts[32], *seg;
	unsigned int i, k;

	for (i = 0; i < count; i++) {
		pkts[i] = rte_pktmbuf_alloc(f->pool);
		assert_non_null(pkts[i]);
		pkts[i]->data_len = pkts[i]->pkt_len = FRAME;
		for (k = 1; k < segs; k++) {
			seg = rte_pktmbuf_alloc(f->pool);
			assert_non_null(seg);
			seg->data_len = seg->pkt_len = FRAME;
			assert_int_equal(rte_pktmbuf_chain(pkts[i], seg), 0);
		}
	}
	assert_int_equal(rnic_tx_mode_get(&f->dev)->burst(&f->txq, pkts, (uint16_t)count), count);
	/* The device has sent all, and completes nothing: take them back for it. */
	rnic_tx_free(&f->txq, f->txq.elts_head);
}

/* Of the half that was written last: the bytes of the WQE at this WQEBB, and nothing behind them. */
static void
expect_register(const struct fixture *f, unsigned int half, unsigned int wqebb, size_t bytes)
{
	static const uint8_t nothing[BF_HALF];
	const uint8_t *written = f->bf + (size_t)half * BF_HALF;

	assert_ptr_equal(f->bf_register.address, f->bf + (size_t)!half * BF_HALF);
	assert_memory_equal(written, f->sq + (size_t)wqebb * RNIC_WQEBB_BYTES, bytes);
	assert_memory_equal(written + bytes, nothing, BF_HALF - bytes);
}

static void
test_one_wqe_goes_by_blueflame(void **state)
{
	struct fixture *f = *state;

	/* Head and 1 unit of data: 1 WQEBB; head and 14: 4, which is half a register. */
	transmit(f, 1, 1);
	expect_register(f, 0, 0, 64);
	transmit(f, 14, 1);
	expect_register(f, 1, 1, 256);
	memset(f->bf, 0, sizeof(f->bf));
	transmit(f, 1, 3);
	expect_register(f, 0, 5, 128);
	assert_int_equal(rnic_be32_to_cpu(f->sq_dbrec.send_counter), 7);
}

static void
test_what_blueflame_does_not_take_rings_only(void **state)
{
	struct fixture *f = *state;

	/* Longer than half a register. */
	transmit(f, 15, 1);
	expect_register(f, 0, 0, 8);
	/* Two WQEs. */
	memset(f->bf, 0, sizeof(f->bf));
	transmit(f, 2, 2);
	expect_register(f, 1, 6, 8);
	assert_int_equal(f->txq.sq.producer, 7);
	/* Around the end of the ring. */
	while (f->txq.sq.producer != RING - 1)
		transmit(f, 1, 1);
	memset(f->bf, 0, sizeof(f->bf));
	f->bf_register.address = f->bf;
	transmit(f, 1, 4);
	expect_register(f, 0, RING - 1, 8);
	/* Not asked for. */
	f->bf_register.blueflame = false;
	memset(f->bf, 0, sizeof(f->bf));
	transmit(f, 1, 1);
	expect_register(f, 1, 1, 8);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#ifndef RNIC_TSAN
		cmocka_unit_test_setup_teardown(test_a_length_that_changes_under_the_burst, setup,
						teardown),
#endif
		cmocka_unit_test_setup_teardown(test_one_wqe_goes_by_blueflame, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_blueflame_does_not_take_rings_only, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("burst", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	char *eal[] = { argv[0],
			(char *)(uintptr_t) "--no-huge",
			(char *)(uintptr_t) "-m128",
			(char *)(uintptr_t) "--no-shconf",
			(char *)(uintptr_t) "--no-pci",
			(char *)(uintptr_t) "--no-telemetry",
			(char *)(uintptr_t) "--lcores=0@(0-1)",
			(char *)(uintptr_t) "--log-level=*:critical" };
	int rc;

	(void)argc;
	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 1;
	rc = run();
	rte_eal_cleanup();
	return rc;
}
