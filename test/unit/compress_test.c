/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive bursts and compressed completions: a device that the test plays writes titles and lists into a ring, as PRM "CQE Compression"
 * has them, right ones and wrong ones.
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

#include "../counts.h"
#include "core/dev.h"
#include "eal.h"
#include "ethdev/recovery.h"
#include "ethdev/rx.h"
#include "ethdev/rx_offload.h"
#include "ethdev/rx_queue.h"
#include "object/cq.h"
#include "object/mempool.h"
#include "object/rq.h"
#include "prm/caps.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

#define LOG_RING 6
#define RING	 (1u << LOG_RING)
#define ROOM	 2048u
#define ROUNDS	 20000u
#define TCI	 0x2005u

static atomic_ullong generation;
static unsigned int failures;

/* ---- Recovery, which is not asked to do anything ---- */

void __wrap_rnic_recovery_failed(struct rnic_recovery *recovery);
void
__wrap_rnic_recovery_failed(struct rnic_recovery *recovery)
{
	(void)recovery;
	failures++;
}

/* ---- A queue, and its device ---- */

struct told {
	uint32_t length, hash;
	bool tagged;
};

struct fixture {
	struct rte_mempool *pool;
	struct rnic_dev dev; /* only what the choice of a burst function looks at */
	struct rnic_rxq rxq;
	struct rnic_cqe cqes[RING] __attribute__((aligned(64)));
	uint8_t rq[RING * RNIC_WQE_DS_BYTES];
	struct rnic_cq_dbrec cq_dbrec;
	struct rnic_wq_dbrec rq_dbrec;
	struct rte_mbuf *elts[RING];
	uint32_t producer;	/* the device's, of completions; it is its next WQE, too */
	struct told told[RING]; /* by their index: completions that wait */
	uint64_t random;
	bool scattered;	    /* which burst function: */
	unsigned int tells; /* RNIC_RX_TELLS, or nothing */
};

static int
setup_instance(void **state, bool scattered, unsigned int tells)
{
	const struct rte_mbuf fresh = { .data_off = RTE_PKTMBUF_HEADROOM,
					.refcnt = 1,
					.nb_segs = 1 };
	struct fixture *f = rte_zmalloc(NULL, sizeof(*f), 64);

	assert_non_null(f);
	f->pool = rte_pktmbuf_pool_create("compress", 1023, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					  SOCKET_ID_ANY);
	assert_non_null(f->pool);
	rnic_general_cap_set(&f->dev.caps.general, RNIC_GENERAL_CAP_CQE_COMPRESSION, 1);
	f->rxq = (struct rnic_rxq){
		.cq = { .ring = f->cqes,
			.dbrec = &f->cq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING,
			.compressed = true },
		.rq = { .ring = f->rq,
			.dbrec = &f->rq_dbrec,
			.mask = RING - 1,
			.log_size = LOG_RING,
			.log_stride = 4 },
		.state = RNIC_QUEUE_RUNNING,
		.segs = 1,
		.segment_bytes = ROOM,
		.frame_bytes = ROOM,
		.elts = f->elts,
		.pool = f->pool,
		.mkeys = { .last = { .start = 0, .end = UINTPTR_MAX },
			   .device_generation = &generation },
		.dev = &f->dev,
		.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
			    RTE_ETH_RX_OFFLOAD_CHECKSUM,
	};
	memcpy(&f->rxq.rearm, &fresh.rearm_data, sizeof(f->rxq.rearm));
	memset(f->cqes, 0xff, sizeof(f->cqes));
	rnic_rx_offloads_init(&f->rxq, RTE_PTYPE_ALL_MASK);
	assert_true(rnic_rx_refill_all(&f->rxq));
	f->random = 1;
	f->scattered = scattered;
	f->tells = tells;
	failures = 0;
	*state = f;
	return 0;
}

static int
setup(void **state)
{
	return setup_instance(state, false, RNIC_RX_TELLS);
}

static int
setup_silent(void **state)
{
	return setup_instance(state, false, 0);
}

static int
setup_scattered(void **state)
{
	return setup_instance(state, true, RNIC_RX_TELLS);
}

static int
setup_scattered_silent(void **state)
{
	return setup_instance(state, true, 0);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rte_mempool_free(f->pool);
	rte_free(f);
	return 0;
}

static uint32_t
draw(struct fixture *f, uint32_t below)
{
	f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(f->random >> 33) % below;
}

static uint16_t
burst(struct fixture *f, struct rte_mbuf **pkts, uint16_t count)
{
	return rnic_rx_mode_get(&f->dev, f->scattered, f->tells | RNIC_RX_COMPRESSED)
		->burst(&f->rxq, pkts, count);
}

static struct rnic_cqe *
slot_at(struct fixture *f, uint32_t index)
{
	return &f->cqes[index & (RING - 1)];
}

/* Completions that the driver waits for. */
static uint32_t
posted(const struct fixture *f)
{
	return (uint16_t)(rnic_be32_to_cpu(f->rq_dbrec.receive_counter) - f->producer);
}

/* A title's, or of a frame alone. */
static struct rnic_cqe
entry_of(const struct fixture *f, const struct told *told)
{
	return (struct rnic_cqe){
		.rx_hash_result = rnic_cpu_to_be32(told->hash),
		.rx_hash_type = RNIC_CQE_HASH_SRC_IPV4 | RNIC_CQE_HASH_DST_IPV4,
		.hds_ip_ext = RNIC_CQE_L2_OK | RNIC_CQE_L3_OK,
		.l4_l3_hdr_type =
			(uint8_t)(RNIC_CQE_L3_IPV4 | (told->tagged ? RNIC_CQE_VLAN_STRIPPED : 0)),
		.vlan_info = rnic_cpu_to_be16(told->tagged ? TCI : 0),
		.byte_count = rnic_cpu_to_be32(told->length),
		.wqe_counter = rnic_cpu_to_be16((uint16_t)f->producer),
	};
}

static void
put(struct fixture *f, const struct rnic_cqe *entry, uint8_t format)
{
	struct rnic_cqe *slot = slot_at(f, f->producer);

	memcpy(slot, entry, offsetof(struct rnic_cqe, op_own));
	__atomic_store_n(&slot->op_own,
			 RNIC_CQE_OP_OWN(RNIC_CQE_RESPONDER_SEND, f->producer >> LOG_RING & 1) |
				 format,
			 __ATOMIC_RELEASE);
}

static struct told *
tell(struct fixture *f, uint32_t index, bool tagged)
{
	struct told *told = &f->told[index & (RING - 1)];

	*told = (struct told){ .length = 60 + draw(f, 1400),
			       .hash = draw(f, 1u << 31),
			       .tagged = tagged };
	return told;
}

static void
tell_one(struct fixture *f)
{
	const struct rnic_cqe entry = entry_of(f, tell(f, f->producer, draw(f, 2)));

	put(f, &entry, 0);
	f->producer++;
}

/* The lists of so many frames. */
static void
write_lists(struct fixture *f, uint32_t count, bool tagged)
{
	struct rnic_mini_cqe *list = NULL;
	const struct told *told;

	for (uint32_t at = 0; at < count; at++) {
		if (at % RNIC_MINI_CQES == 0)
			list = (struct rnic_mini_cqe *)slot_at(f, f->producer + (at == 0 ? 1 : at));
		told = tell(f, f->producer + at, tagged);
		list[at % RNIC_MINI_CQES] =
			(struct rnic_mini_cqe){ .rx_hash_result = rnic_cpu_to_be32(told->hash),
						.byte_count = rnic_cpu_to_be32(told->length) };
	}
}

/* A title that says `says` of frames. */
static void
write_title(struct fixture *f, uint32_t says)
{
	struct rnic_cqe title = entry_of(f, &f->told[f->producer & (RING - 1)]);

	title.byte_count = rnic_cpu_to_be32(says);
	put(f, &title, RNIC_CQE_COMPRESSED);
}

static void
tell_session(struct fixture *f, uint32_t count)
{
	write_lists(f, count, draw(f, 2));
	write_title(f, count);
	f->producer += count;
}

/* What is told of a frame beside its length; nothing, unless the burst is one that tells. */
static void
expect_told(const struct fixture *f, const struct rte_mbuf *pkt, const struct told *told)
{
	const bool tells = f->tells != 0;

	assert_int_equal(pkt->hash.rss, tells ? told->hash : 0);
	assert_int_equal(pkt->vlan_tci, tells && told->tagged ? TCI : 0);
	assert_int_equal((pkt->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0, tells && told->tagged);
	assert_int_equal((pkt->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, tells);
	assert_int_equal(pkt->packet_type & RTE_PTYPE_L3_MASK, tells ? RTE_PTYPE_L3_IPV4 : 0);
}

/* Those that a burst takes are the next ones that were told of. */
static void
take(struct fixture *f, uint16_t want, uint16_t expected)
{
	const uint32_t first = f->rxq.cq.consumer;
	struct rte_mbuf *pkts[RING];
	const struct told *told;

	assert_int_equal(burst(f, pkts, want), expected);
	for (uint16_t i = 0; i < expected; i++) {
		told = &f->told[(first + i) & (RING - 1)];
		assert_int_equal(pkts[i]->pkt_len, told->length);
		assert_int_equal(pkts[i]->data_len, told->length);
		expect_told(f, pkts[i], told);
	}
	rte_pktmbuf_free_bulk(pkts, expected);
	assert_int_equal(f->rxq.cq.consumer, first + expected);
	assert_int_equal(rnic_be32_to_cpu(f->cq_dbrec.consumer_index),
			 f->rxq.cq.consumer & RNIC_CQ_INDEX_MASK);
}

/* ---- What is right ---- */

static void
test_each_length_of_a_session_from_each_slot(void **state)
{
	struct fixture *f = *state;

	for (uint32_t count = 2; count <= RING / 2; count++) {
		for (uint32_t i = 0; i < RING; i++) {
			tell_session(f, count);
			take(f, RING, (uint16_t)count);
		}
		tell_one(f);
		take(f, RING, 1);
	}
	assert_int_equal(failures, 0);
}

/* Frames that come alone and together, in bursts of any size: what was not written in this turn of the ring is no entry. */
static void
test_sessions_and_entries_in_any_order(void **state)
{
	struct fixture *f = *state;
	uint32_t waiting, want, count;

	for (uint32_t round = 0; round < (full_run() ? 50 * ROUNDS : ROUNDS); round++) {
		while (posted(f) > 1 && draw(f, 4) != 0) {
			count = 2 + draw(f, posted(f) - 1);
			if (draw(f, 2))
				tell_one(f);
			else
				tell_session(f, count);
		}
		waiting = f->producer - f->rxq.cq.consumer;
		assert_int_equal(rnic_cq_waiting(&f->rxq.cq, RING), waiting);
		want = 1 + draw(f, RING);
		take(f, (uint16_t)want, (uint16_t)RTE_MIN(want, waiting));
	}
	assert_int_equal(failures, 0);
}

/* Its rest comes with the next burst, without another entry. */
static void
test_a_session_that_does_not_fit_into_a_burst(void **state)
{
	struct fixture *f = *state;

	tell_session(f, 21);
	assert_int_equal(rnic_cq_waiting(&f->rxq.cq, 5), 5);
	take(f, 3, 3);
	assert_int_equal(rnic_cq_waiting(&f->rxq.cq, RING), 18);
	take(f, 16, 16);
	take(f, 16, 2);
	take(f, 16, 0);
	assert_int_equal(failures, 0);
}

/* ---- While the device writes ---- */

struct writer {
	struct fixture *f;
	uint32_t sessions;
};

/* Sessions of as many as wait, and entries, as fast as buffers are posted. */
static void *
write_on(void *arg)
{
	const struct writer *writer = arg;
	struct fixture *f = writer->f;
	uint32_t waiting;

	for (uint32_t i = 0; i < writer->sessions; i++) {
		do {
			waiting = (uint16_t)(RNIC_SWAP32(__atomic_load_n(
						     &f->rq_dbrec.receive_counter.raw,
						     __ATOMIC_ACQUIRE)) -
					     f->producer);
		} while (waiting < 3);
		if (i % 4 == 0)
			tell_one(f);
		else
			tell_session(f, 2 + i % (waiting - 2));
	}
	return NULL;
}

/* Whenever it looks: a title that has just come is none that is wrong. */
static void
test_a_device_that_writes_while_it_is_polled(void **state)
{
	struct fixture *f = *state;
	struct writer writer = { f, (full_run() ? 50 : 1) * 400000u };
	struct rte_mbuf *pkts[RING];
	uint32_t taken = 0;
	pthread_t thread;
	bool ends = false;
	uint16_t n;

	assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
	while (failures == 0) {
		n = burst(f, pkts, 5);
		rte_pktmbuf_free_bulk(pkts, n);
		taken += n;
		if (ends && n == 0)
			break;
		ends = ends || pthread_tryjoin_np(thread, NULL) == 0;
	}
	assert_int_equal(failures, 0);
	assert_int_equal(taken, f->producer);
}

/* Nothing of a session that was dropped in its middle is taken for an entry afterwards. */
static void
test_a_queue_that_is_emptied_within_a_session(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 5 * RING; i++) {
		tell_session(f, 2 + i % 30);
		take(f, (uint16_t)(1 + i % 2), (uint16_t)(1 + i % 2));
		tell_one(f);
		rnic_cq_drop(&f->rxq.cq);
		assert_int_equal(f->rxq.cq.consumer, f->producer);
		assert_int_equal(rnic_cq_waiting(&f->rxq.cq, RING), 0);
		while (f->rxq.consumer != (uint16_t)f->producer)
			rte_mbuf_raw_free(f->elts[f->rxq.consumer++ & (RING - 1)]);
		rnic_rx_refill_all(&f->rxq);
		take(f, 32, 0);
	}
	assert_int_equal(failures, 0);
}

/* ---- What is not ---- */

/* The same from the start. */
static void
again(void **state)
{
	const struct fixture *f = *state;
	const bool scattered = f->scattered;
	const unsigned int tells = f->tells;

	teardown(state);
	setup_instance(state, scattered, tells);
}

/* So many frames come before the mistake, and none behind it; the CQ goes on at `next`, or nobody knows where. */
static void
expect_mistake(struct fixture *f, uint16_t good, bool lost, uint32_t next)
{
	const uint32_t first = f->rxq.cq.consumer;
	struct rte_mbuf *pkts[RING];
	uint16_t n = burst(f, pkts, RING);

	assert_int_equal(n, good);
	for (uint16_t i = 0; i < n; i++)
		assert_int_equal(pkts[i]->pkt_len, f->told[(first + i) & (RING - 1)].length);
	rte_pktmbuf_free_bulk(pkts, n);
	assert_int_equal(failures, 1);
	assert_int_equal(f->rxq.stats.errors, 1);
	assert_int_equal(f->rxq.cq.lost, lost);
	if (lost)
		return;
	/* As the recovery does. */
	rnic_cq_drop(&f->rxq.cq);
	assert_int_equal(f->rxq.cq.consumer, next);
}

static void
test_counts_that_cannot_be(void **state)
{
	/* RING - 5 buffers wait. */
	static const uint32_t counts[] = { 0, RING - 4, RING, RING + 1, 0x10000 + 4, UINT32_MAX };
	struct fixture *f;

	for (size_t i = 0; i < RTE_DIM(counts); i++) {
		f = *state;
		tell_one(f);
		tell_session(f, 4);
		tell(f, f->producer, false);
		write_title(f, counts[i]);
		expect_mistake(f, 5, counts[i] - 1 >= RING, f->producer + counts[i]);
		again(state);
	}
}

static void
test_a_title_of_another_buffer(void **state)
{
	struct fixture *f = *state;

	tell_session(f, 4);
	write_lists(f, 4, false);
	write_title(f, 4);
	slot_at(f, f->producer)->wqe_counter = rnic_cpu_to_be16((uint16_t)(f->producer + 1));
	expect_mistake(f, 4, false, f->producer + 4);
}

static void
test_formats_that_nobody_has_asked_for(void **state)
{
	struct rnic_cqe entry;
	struct fixture *f;

	for (uint8_t format = 1; format < 3; format++) {
		f = *state;
		tell_session(f, 4);
		entry = entry_of(f, tell(f, f->producer, false));
		put(f, &entry, (uint8_t)(format << 2));
		expect_mistake(f, 4, false, f->producer + 1);
		again(state);
	}
}

static void
test_lengths_that_cannot_be(void **state)
{
	static const uint32_t lengths[] = { 0, ROOM + 1, UINT32_MAX };
	struct rnic_mini_cqe *list;
	struct fixture *f;

	for (size_t i = 0; i < RTE_DIM(lengths); i++) {
		f = *state;
		write_lists(f, 12, false);
		list = (struct rnic_mini_cqe *)slot_at(f, f->producer + 8);
		list[2].byte_count = rnic_cpu_to_be32(lengths[i]);
		write_title(f, 12);
		expect_mistake(f, 10, false, f->producer + 12);
		again(state);
	}
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_length_of_a_session_from_each_slot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_sessions_and_entries_in_any_order, setup,
						teardown),
		{ "sessions_and_entries_of_which_nothing_is_told",
		  test_sessions_and_entries_in_any_order, setup_silent, teardown, NULL },
		{ "sessions_and_entries_that_are_scattered", test_sessions_and_entries_in_any_order,
		  setup_scattered, teardown, NULL },
		{ "sessions_that_are_scattered_and_nothing_is_told",
		  test_sessions_and_entries_in_any_order, setup_scattered_silent, teardown, NULL },
		cmocka_unit_test_setup_teardown(test_a_session_that_does_not_fit_into_a_burst,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_device_that_writes_while_it_is_polled, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_queue_that_is_emptied_within_a_session,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts_that_cannot_be, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_title_of_another_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_formats_that_nobody_has_asked_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lengths_that_cannot_be, setup, teardown),
		{ "lengths_that_cannot_be_where_nothing_is_told", test_lengths_that_cannot_be,
		  setup_silent, teardown, NULL },
		{ "lengths_that_cannot_be_where_frames_are_scattered", test_lengths_that_cannot_be,
		  setup_scattered, teardown, NULL },
	};

	return cmocka_run_group_tests_name("compress", tests, NULL, NULL);
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
