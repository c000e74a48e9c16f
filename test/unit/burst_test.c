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

#include "base/log.h"
#include "base/owner.h"
#include "core/bfreg.h"
#include "core/dev.h"
#include "core/doorbell.h"
#include "core/dump.h"
#include "eal.h"
#include "ethdev/recovery.h"
#include "ethdev/rx.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "ethdev/tx.h"
#include "ethdev/tx_offload.h"
#include "ethdev/tx_queue.h"
#include "object/cq.h"
#include "object/entry_dump.h"
#include "object/mempool.h"
#include "object/rq.h"
#include "object/sq.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

#define LOG_RING  6
#define RING	  (1u << LOG_RING)
#define BF_HALF	  256
#define ROOM	  2048u /* for data in an mbuf */
#define TOO_LONG  0x7fff0040u
#define FRAME	  64u
#define SOME_LKEY 0x1234u
#define ROUNDS	  300000u

int rnic_logtype, rnic_logtype_dump;
static atomic_ullong generation;
static unsigned int failures;

/* ---- The rest of the driver ---- */

/* Each entry that is looked at is dumped: who wants to may write the next one then. */
static void (*on_entry)(const struct rnic_cq *cq);

bool
rnic_dump_wanted(void)
{
	return on_entry != NULL;
}

void
rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, enum rnic_wqe_kind kind)
{
	(void)sq;
	(void)index;
	assert_int_equal(kind, RNIC_WQE_OF_FRAMES);
}

void
rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe)
{
	(void)cqe;
	if (on_entry != NULL)
		on_entry(cq);
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

int
rnic_rq_set_vlan_strip(struct rnic_dev *dev, const struct rnic_rq *rq, bool strip)
{
	(void)dev;
	(void)rq;
	(void)strip;
	return 0;
}

void
rnic_recovery_failed(struct rnic_recovery *recovery)
{
	(void)recovery;
	failures++;
}

bool
rnic_recovery_retry(struct rnic_recovery *recovery)
{
	(void)recovery;
	return false;
}

void
rnic_cq_drop(struct rnic_cq *cq)
{
	(void)cq;
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
		.slots = RING,
		.length_span = 1500,
		.mkeys = key_of_everything(),
		.dev = &f->dev,
	};
	rnic_tx_offloads_init(&f->txq);
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
	rnic_ethernet_cap_set(&f->dev.caps.ethernet, RNIC_ETHERNET_CAP_WQE_VLAN_INSERT, 1);
	rnic_ethernet_cap_set(&f->dev.caps.ethernet, RNIC_ETHERNET_CAP_MAX_LSO_CAP, 16);
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
	eth_rx_burst_t burst = rnic_rx_mode_get(&f->dev, false, 0)->burst;
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
	assert_int_equal(
		rnic_tx_mode_get(&f->dev, f->txq.offloads)->burst(&f->txq, pkts, (uint16_t)count),
		count);
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

/* ---- Offloads: what stands in WQEs, and what is read from CQEs ---- */

#define HEADER 54u /* Ethernet, IPv4, TCP */

static void
offer(struct fixture *f, uint64_t offloads)
{
	f->txq.offloads = offloads;
	rnic_tx_offloads_init(&f->txq);
	f->bf_register.blueflame = false;
}

/* What the device cuts: IPv4 and TCP without options. */
static void
make_tcp(uint8_t *frame)
{
	memcpy(frame + 12, "\x08\0\x45", 3);
	memset(frame + 20, 0, 2);
	frame[23] = IPPROTO_TCP;
	frame[46] = 0x50;
}

static struct rte_mbuf *
asking(struct fixture *f, uint64_t ol_flags, uint16_t bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(f->pool);
	uint16_t i;

	assert_non_null(mbuf);
	mbuf->data_len = bytes;
	mbuf->pkt_len = bytes;
	mbuf->ol_flags = ol_flags;
	mbuf->l2_len = 14;
	mbuf->l3_len = 20;
	mbuf->l4_len = 20;
	for (i = 0; i < bytes; i++)
		*rte_pktmbuf_mtod_offset(mbuf, uint8_t *, i) = (uint8_t)(i + 1);
	if (ol_flags & RTE_MBUF_F_TX_TCP_SEG)
		make_tcp(rte_pktmbuf_mtod(mbuf, uint8_t *));
	return mbuf;
}

static void
burst(struct fixture *f, struct rte_mbuf **pkts, uint16_t count)
{
	assert_int_equal(rnic_tx_mode_get(&f->dev, f->txq.offloads)->burst(&f->txq, pkts, count),
			 count);
}

/* The unit `ds` of the WQE that begins at `wqebb`. */
static const void *
unit(const struct fixture *f, unsigned int wqebb, unsigned int ds)
{
	return f->sq + (wqebb * RNIC_WQEBB_BYTES + ds * RNIC_WQE_DS_BYTES) % sizeof(f->sq);
}

static void
expect_wqe(const struct fixture *f, unsigned int wqebb, uint8_t opcode, unsigned int ds,
	   const char *eth_segment)
{
	const struct rnic_wqe_ctrl *ctrl = unit(f, wqebb, 0);

	assert_int_equal(rnic_be32_to_cpu(ctrl->opmod_idx_opcode), wqebb << 8 | opcode);
	assert_int_equal(rnic_be32_to_cpu(ctrl->qpn_ds), 0x77 << 8 | ds);
	assert_memory_equal(unit(f, wqebb, 1), eth_segment, RNIC_WQE_DS_BYTES);
}

static void
expect_data(const struct fixture *f, unsigned int wqebb, unsigned int ds,
	    const struct rte_mbuf *mbuf, uint32_t from)
{
	const struct rnic_wqe_data *data = unit(f, wqebb, ds);

	assert_int_equal(rnic_be32_to_cpu(data->byte_count), mbuf->data_len - from);
	assert_int_equal(rnic_be32_to_cpu(data->lkey), SOME_LKEY);
	assert_ptr_equal(rnic_be64_to_cpu(data->address),
			 rte_pktmbuf_mtod_offset(mbuf, uintptr_t, from));
}

static void
test_packets_of_the_same_wish_share_a_wqe(void **state)
{
	const uint64_t tcp = RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM;
	const uint64_t udp = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM;
	const uint64_t wishes[] = {
		tcp, tcp | RTE_MBUF_F_TX_IPV4, udp, 0, 0, RTE_MBUF_F_TX_IP_CKSUM
	};
	struct rte_mbuf *pkts[RTE_DIM(wishes)];
	struct fixture *f = *state;
	unsigned int i;

	offer(f, RNIC_TX_CHECKSUM_OFFLOADS);
	for (i = 0; i < RTE_DIM(wishes); i++)
		pkts[i] = asking(f, wishes[i], FRAME);
	burst(f, pkts, RTE_DIM(wishes));
	expect_wqe(f, 0, RNIC_WQE_ENHANCED_MPSW, 5, "\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0");
	expect_wqe(f, 2, RNIC_WQE_ENHANCED_MPSW, 4, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	expect_wqe(f, 3, RNIC_WQE_ENHANCED_MPSW, 3, "\0\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0");
	assert_int_equal(f->txq.sq.producer, 4);
	for (i = 0; i < RTE_DIM(wishes); i++)
		expect_data(f,
			    i < 3   ? 0
			    : i < 5 ? 2
				    : 3,
			    2 + (i < 3	 ? i
				 : i < 5 ? i - 3
					 : 0),
			    pkts[i], 0);
	rnic_tx_free(&f->txq, f->txq.elts_head);
}

static void
test_a_tag_stands_in_the_ethernet_segment(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *mbuf;

	offer(f, RNIC_TX_PACKET_OFFLOADS);
	mbuf = asking(f, RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_TCP_CKSUM, FRAME);
	mbuf->vlan_tci = 0xa123;
	burst(f, &mbuf, 1);
	expect_wqe(f, 0, RNIC_WQE_SEND, 3, "\0\0\0\0\x80\0\0\0\0\0\0\0\x80\0\xa1\x23");
	expect_data(f, 0, 2, mbuf, 0);
	rnic_tx_free(&f->txq, f->txq.elts_head);
}

/* Where headers are inline, or the device has no other way, it is among them. */
static void
test_a_tag_stands_in_an_inline_header(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *mbuf;

	offer(f, RNIC_TX_PACKET_OFFLOADS);
	f->txq.does.tag_in_segment = false;
	mbuf = asking(f, RTE_MBUF_F_TX_VLAN, FRAME);
	mbuf->vlan_tci = 0xa123;
	burst(f, &mbuf, 1);
	expect_wqe(f, 0, RNIC_WQE_SEND, 4, "\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\x01\x02");
	assert_memory_equal(unit(f, 0, 2),
			    "\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x81\0\xa1\x23\x0d\x0e", 16);
	expect_data(f, 0, 3, mbuf, 14);
	rnic_tx_free(&f->txq, f->txq.elts_head);
}

/* Headers inline, around the end of the ring as well; then the payload. */
static void
test_a_large_send(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *mbuf;
	unsigned int wqebb, i;

	offer(f, RNIC_TX_PACKET_OFFLOADS);
	for (wqebb = 0; wqebb < 3 * RING; wqebb = f->txq.sq.producer) {
		mbuf = asking(f, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM, 1500);
		mbuf->tso_segsz = 0x123;
		burst(f, &mbuf, 1);
		/* 52 bytes behind the segment's two are 4 units. */
		expect_wqe(f, wqebb, RNIC_WQE_LSO, 7,
			   "\0\0\0\0\xc0\0\x01\x23\0\0\0\0\0\x36\x01\x02");
		for (i = 2; i < HEADER; i++)
			assert_int_equal(
				((const uint8_t *)unit(f, wqebb, 2 + (i - 2) / 16))[(i - 2) % 16],
				*rte_pktmbuf_mtod_offset(mbuf, uint8_t *, i));
		expect_data(f, wqebb, 6, mbuf, HEADER);
		assert_int_equal(f->txq.sq.producer, wqebb + 2);
		/* The device has done it. */
		rnic_tx_free(&f->txq, f->txq.elts_head);
		f->txq.sq_tail = f->txq.sq.producer;
		if (wqebb == RING - 4) {
			mbuf = asking(f, 0, FRAME);
			burst(f, &mbuf, 1);
			rnic_tx_free(&f->txq, f->txq.elts_head);
			f->txq.sq_tail = f->txq.sq.producer;
		}
	}
}

/* They take more WQEBBs than they have segments: the ring is full before there are no slots. */
static void
test_large_sends_leave_room_for_themselves(void **state)
{
	struct fixture *f = *state;
	eth_tx_burst_t tx;
	struct rte_mbuf *mbuf;
	unsigned int sent;

	offer(f, RNIC_TX_PACKET_OFFLOADS);
	tx = rnic_tx_mode_get(&f->dev, f->txq.offloads)->burst;
	for (sent = 0;; sent++) {
		mbuf = asking(f, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM, 1500);
		mbuf->tso_segsz = 500;
		if (tx(&f->txq, &mbuf, 1) == 0)
			break;
		assert_true(f->txq.sq.producer <= RING);
		assert_int_equal(f->txq.stats.errors, 0);
	}
	rte_pktmbuf_free(mbuf);
	assert_in_range(sent, RING / 2 - 1, RING / 2);
	assert_int_equal(f->txq.stats.errors, 0);
	rnic_tx_free(&f->txq, f->txq.elts_head);
}

static void
test_what_completions_tell(void **state)
{
	static const struct {
		uint8_t hds, type, hash_type;
		uint32_t ptype;
		uint64_t flags;
	} rows[] = {
		{ 1, 0, 0, RTE_PTYPE_L2_ETHER, 0 },
		{ 7, 0x38, 0, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
		  RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD },
		{ 3, 0x28, 0x25, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP,
		  RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD |
			  RTE_MBUF_F_RX_RSS_HASH },
		{ 1, 0x28, 0, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP,
		  RTE_MBUF_F_RX_IP_CKSUM_BAD },
		{ 3, 0x88, 0, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG,
		  RTE_MBUF_F_RX_IP_CKSUM_GOOD },
		{ 7, 0x1a, 0, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT | RTE_PTYPE_L4_TCP,
		  RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD },
		{ 7, 0x45, 0xff,
		  RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		  RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED |
			  RTE_MBUF_F_RX_RSS_HASH },
		/* Bits that mean nothing today. */
		{ 0xff, 0x0c, 0, RTE_PTYPE_L2_ETHER, 0 },
	};
	struct rte_mbuf *pkts[RTE_DIM(rows)];
	struct fixture *f = *state;
	unsigned int i;

	f->rxq.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH;
	rnic_rx_offloads_init(&f->rxq, UINT32_MAX);
	assert_true(rnic_rx_refill_all(&f->rxq));
	for (i = 0; i < RTE_DIM(rows); i++) {
		struct rnic_cqe *cqe = &f->rx_cqes[i];

		cqe->hds_ip_ext = rows[i].hds;
		cqe->l4_l3_hdr_type = rows[i].type;
		cqe->rx_hash_type = rows[i].hash_type;
		cqe->rx_hash_result = rnic_cpu_to_be32(0xa1b2c300 + i);
		cqe->vlan_info = rnic_cpu_to_be16((uint16_t)(0x8070 + i));
		cqe->byte_count = rnic_cpu_to_be32(100 + i);
		cqe->op_own = RNIC_CQE_OP_OWN(RNIC_CQE_RESPONDER_SEND, 0);
	}
	assert_int_equal(rnic_rx_mode_get(&f->dev, false, RNIC_RX_TELLS)
				 ->burst(&f->rxq, pkts, RTE_DIM(rows)),
			 RTE_DIM(rows));
	for (i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(pkts[i]->packet_type, rows[i].ptype);
		assert_int_equal(pkts[i]->ol_flags, rows[i].flags);
		assert_int_equal(pkts[i]->hash.rss, 0xa1b2c300 + i);
		assert_int_equal(pkts[i]->vlan_tci, 0x8070 + i);
		assert_int_equal(pkts[i]->pkt_len, 100 + i);
		assert_int_equal(pkts[i]->data_len, 100 + i);
	}
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(rows));
}

/* ---- A device that always writes one more entry ---- */

static unsigned int entries_seen, entries_more;

static void
complete_tx(const struct rnic_cq *cq, uint32_t index)
{
	struct rnic_cqe *cqe = &cq->ring[index & (RING - 1)];

	cqe->wqe_counter = rnic_cpu_to_be16(0);
	__atomic_store_n(&cqe->op_own, RNIC_CQE_OP_OWN(RNIC_CQE_REQUESTER, index >> LOG_RING & 1),
			 __ATOMIC_RELEASE);
}

static void
write_one_more(const struct rnic_cq *cq)
{
	entries_seen++;
	if (entries_more > 0)
		complete_tx(cq, entries_seen);
	entries_more -= entries_more > 0;
}

/* It says of the same WQE that it is done, again and again, and never of the next one. */
static void
test_reaping_ends_with_a_ring_of_entries(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *mbuf;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		mbuf = rte_pktmbuf_alloc(f->pool);
		assert_non_null(mbuf);
		mbuf->data_len = mbuf->pkt_len = FRAME;
		assert_int_equal(
			rnic_tx_mode_get(&f->dev, f->txq.offloads)->burst(&f->txq, &mbuf, 1), 1);
	}
	entries_seen = 0;
	entries_more = 1000 * RING;
	complete_tx(&f->txq.cq, 0);
	on_entry = write_one_more;
	assert_true(rnic_tx_reap(&f->txq, RING));
	on_entry = NULL;
	assert_in_range(entries_seen, 2, RING + 1);
	assert_int_equal(f->txq.elts_tail, 1);
	assert_int_equal(failures, 0);
	rnic_tx_free(&f->txq, f->txq.elts_head);
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
		cmocka_unit_test_setup_teardown(test_packets_of_the_same_wish_share_a_wqe, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_tag_stands_in_the_ethernet_segment, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_tag_stands_in_an_inline_header, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_large_send, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_sends_leave_room_for_themselves, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_completions_tell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reaping_ends_with_a_ring_of_entries, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("burst", tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	int rc;

	(void)argc;
	if (unit_eal(argv[0], 128, UNIT_EAL_QUIET) != 0)
		return 1;
	rc = run();
	rte_eal_cleanup();
	return rc;
}
