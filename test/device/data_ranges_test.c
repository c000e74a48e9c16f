/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A client may map its memory in thousands of small ranges that are neighbours, so that they are one piece and still each of
 * them is to be looked up: whatever comes through them counts them, and stops after so many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../cpu_time.h"
#include "data_path.h"
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/sq.h"
#include "softrnic/event/eq.h"
#include "softrnic/memory/tpt.h"

#define RANGE	    4096u
#define RANGES	    512u /* of a page */
#define PAGE	    (RANGE * RANGES)
#define PAGE_LOG    21
#define IOVA	    (UINT64_C(1) << 44)
#define ELSEWHERE   (UINT64_C(1) << 45)
#define ACCESS	    (1u << 14) /* ranges that one access comes through */
#define ACCESS_WORK (ACCESS / 16 + RANGES / 16 + 64)
#define ACCESS_MS   50 /* of the processor's time; a hundred times as much as it takes */

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	uint8_t *memory;
};

static int
setup(void **state)
{
	const struct softrnic_conf conf = { .name = "ranges" };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	assert_int_equal(dp_open(&f->dp, f->poller, &conf), 0);
	f->memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f->memory != MAP_FAILED);
	for (uint32_t i = 0; i < RANGES; i++)
		assert_int_equal(softrnic_dma_map(f->dp.dev, IOVA + i * RANGE, RANGE,
						  f->memory + i * RANGE,
						  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
				 0);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	munmap(((struct fixture *)*state)->memory, PAGE);
	return dp_teardown(state);
}

/* What was resolved is to be resolved anew. */
static void
change_map(struct fixture *f)
{
	assert_int_equal(
		softrnic_dma_map(f->dp.dev, ELSEWHERE, RANGE, f->memory, SOFTRNIC_DMA_READ), 0);
	assert_int_equal(softrnic_dma_unmap(f->dp.dev, ELSEWHERE, RANGE), 0);
}

/* All of its pages are that one: no two of them are neighbours. */
static uint32_t
create_key(struct fixture *f, uint32_t pages)
{
	uint32_t key;

	assert_int_equal(dp_key_create(&f->dp, pages, PAGE_LOG, IOVA, 0, &key), 0);
	return key;
}

static uint8_t *
reach(struct fixture *f, uint32_t key, uint64_t va, uint32_t length)
{
	struct iovec iov;

	assert_int_equal(softrnic_tpt_translate(f->dp.dev, key << 8, f->dp.pd, va, length,
						SOFTRNIC_LOCAL_READ, &iov, 1),
			 1);
	assert_int_equal(iov.iov_len, length);
	return iov.iov_base;
}

/* As many chunks as a key may have, each of them of so many ranges: they are found out in many accesses, each of which works. */
static void
test_chunks_of_many_ranges_are_looked_at_in_pieces(void **state)
{
	enum { PAGES = 1 << 16, TIMES = 8 };
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	const struct softrnic_mkey *mkey;
	uint32_t key;

	softrnic_share_begin(dev, 0);
	key = create_key(f, PAGES);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	for (uint32_t i = 0; i < TIMES; i++) {
		double seconds = cpu_seconds();

		softrnic_share_begin(dev, 0);
		assert_ptr_equal(reach(f, key, (uint64_t)PAGE * (PAGES - 1) + 77, 64),
				 f->memory + 77);
		seconds = cpu_seconds() - seconds;
		if (seconds * 1000 > ACCESS_MS)
			print_message("# an access took %.3f s\n", seconds);
		assert_true(seconds * 1000 <= ACCESS_MS);
		assert_in_range(dev->budget->spent, 1, ACCESS_WORK);
		assert_null(mkey->chunks);
		/* Now and then it begins anew. */
		if (i % 4 == 0)
			change_map(f);
	}
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
}

/* It goes on where it stopped, comes to its end, and what it found is right, and gone with the memory. */
static void
test_chunks_of_many_ranges_are_found(void **state)
{
	enum { PAGES = 100 };
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	const struct softrnic_mkey *mkey;
	uint32_t key, accesses = 0;

	softrnic_share_begin(dev, 0);
	key = create_key(f, PAGES);
	mkey = softrnic_object_get(dev, SOFTRNIC_MKEY, key);
	for (; mkey->chunks == NULL; accesses++) {
		assert_in_range(accesses, 0, PAGES);
		softrnic_share_begin(dev, 0);
		reach(f, key, 0, 64);
	}
	assert_in_range(accesses, 2, 2 * PAGES * RANGES / ACCESS);
	for (uint32_t i = 0; i < PAGES; i++)
		assert_ptr_equal(mkey->chunks[i], f->memory);
	assert_int_equal(mkey->generation, dev->dma_generation);
	change_map(f);
	assert_null(mkey->chunks);
	softrnic_share_begin(dev, 0);
	assert_ptr_equal(reach(f, key, PAGE - 64, 64), f->memory + PAGE - 64);
	assert_null(mkey->chunks);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
}

/* However few pages its list names. */
static void
test_ranges_of_a_ring_are_charged(void **state)
{
	struct fixture *f = *state;
	struct rnic_be64 page = rnic_cpu_to_be64(IOVA);
	const struct softrnic_ring_place place = { .pas = &page,
						   .pas_bytes = sizeof(page),
						   .log_page_size = PAGE_LOG - 12 };
	struct softrnic *dev = f->dp.dev;
	static struct softrnic_ring ring; /* known by its place, also when this has failed */

	softrnic_share_begin(dev, 0);
	assert_int_equal(softrnic_ring_init(dev, &ring, &place, PAGE, SOFTRNIC_DMA_READ), 0);
	assert_in_range(dev->budget->spent, RANGES / 16, RANGES / 16 + 1);
	change_map(f);
	softrnic_share_begin(dev, 0);
	assert_true(softrnic_ring_refresh(dev, &ring));
	assert_in_range(dev->budget->spent, RANGES / 16, RANGES / 16 + 1);
	softrnic_ring_fini(&ring);
}

/* They are one piece in the end, and of pieces few are free. */
static void
test_ranges_on_the_way_are_charged(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	uint32_t key = create_key(f, 2);
	struct iovec iov;

	/* Nobody looks at the key as a whole. */
	change_map(f);
	softrnic_share_begin(dev, 0);
	softrnic_spend(dev, SOFTRNIC_WORK_MAX);
	assert_ptr_equal(reach(f, key, 0, PAGE), f->memory);
	assert_in_range(dev->budget->spent, SOFTRNIC_WORK_MAX + RANGES / 16,
			SOFTRNIC_WORK_MAX + RANGES / 16 + 1);
	/* Few at a time count as well. */
	softrnic_share_begin(dev, 0);
	for (uint32_t i = 0; i < RANGES / 4; i++)
		assert_int_equal(softrnic_tpt_translate(dev, SOFTRNIC_RESERVED_LKEY, f->dp.pd,
							IOVA + i * RANGE, 4 * RANGE,
							SOFTRNIC_LOCAL_READ, &iov, 1),
				 1);
	assert_in_range(dev->budget->spent, RANGES / 16, RANGES / 16 + 1);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_MKEY, key), 0);
}

/* ---- Rings of many queues ---- */

#define RECEIVERS  6u
#define RING_LOG   20 /* of entries of 64 bytes */
#define RING_PAGES (1u << 14)
#define FRAME	   64u

/* All of its ring is one page. */
static void
create_long_cq(struct fixture *f, struct dp_cq *cq)
{
	*cq = (struct dp_cq){ .dp = &f->dp,
			      .log_size = RING_LOG,
			      .bytes = 64,
			      .ring = dp_alloc(&f->dp, 4096, 4096),
			      .dbrec = dp_alloc(&f->dp, 8, 8) };
	assert_int_equal(
		drv_cq_create(&f->dp.drv,
			      &(struct drv_cq){ .log_size = RING_LOG,
						.uar = f->dp.uars[1],
						.eqn = f->dp.eqn,
						.dbrec = dp_iova(&f->dp, cq->dbrec),
						.ring = { .iova = dp_iova(&f->dp, cq->ring),
							  .count = RING_PAGES } },
			      &cq->cqn),
		0);
}

/* Each of them gets all frames. */
static void
create_receivers(struct fixture *f, struct dp_cq *cqs, struct dp_rq *rqs)
{
	uint8_t *buffer = dp_alloc(&f->dp, 2048, 64);
	uint32_t tirns[RECEIVERS];

	for (uint32_t i = 0; i < RECEIVERS; i++) {
		create_long_cq(f, &cqs[i]);
		assert_int_equal(dp_rq_create(&f->dp, &rqs[i], &cqs[i], 6, 4), 0);
		assert_int_equal(dp_tir_create(&rqs[i]), 0);
		for (uint32_t k = 0; k < 32; k++)
			dp_post(&rqs[i], buffer, 2048);
		dp_rq_record(&rqs[i]);
		tirns[i] = rqs[i].tirn;
	}
	assert_int_equal(drv_root_to_tirs(&f->dp.drv, tirns, RECEIVERS, NULL), 0);
}

/* To how many does it come? */
static uint64_t
send_frame(struct fixture *f, struct dp_sq *sq, const uint8_t *frame)
{
	const uint64_t before = dp_stats(&f->dp).cqes;

	dp_wqe(sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(sq, 2, (void *)(uintptr_t)frame, FRAME);
	dp_sq_ring(sq);
	softrnic_poll(f->poller);
	return dp_stats(&f->dp).cqes - before;
}

/* When the map has changed the rings of all of them are looked up anew: not for one frame. */
static void
test_rings_of_many_receivers_are_looked_at_in_pieces(void **state)
{
	const struct dp_cq_conf conf = { .log_size = 6, .uar = 1, .ignore_overrun = true };
	struct dp_cq cqs[RECEIVERS], cq;
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	struct dp_rq rqs[RECEIVERS];
	uint32_t ranges, frames;
	struct dp_sq sq;
	uint8_t *frame;
	uint64_t n;

	assert_int_equal(dp_cq_create(&f->dp, &cq, &conf), 0);
	assert_int_equal(dp_sq_create(&f->dp, &sq, &cq, 8, 2, 0), 0);
	create_receivers(f, cqs, rqs);
	frame = dp_alloc(&f->dp, FRAME, 64);
	memcpy(frame + 12, "\x88\xb5", 2);
	assert_int_equal(send_frame(f, &sq, frame), RECEIVERS);
	change_map(f);
	for (frames = 1, n = 0; n < RECEIVERS; frames++) {
		assert_in_range(frames, 1, RECEIVERS + 1);
		ranges = dev->budget->ranges;
		n = send_frame(f, &sq, frame);
		assert_in_range(n, 1, RECEIVERS);
		assert_in_range(dev->budget->ranges - ranges, 0,
				SOFTRNIC_RANGES_FRAME + RING_PAGES + 256);
	}
	assert_in_range(dp_stats(&f->dp).rx_no_buffer, 1, RECEIVERS * RECEIVERS);
}

/* ---- Events, of which each goes to as many queues as there are ---- */

#define EQS	    100u
#define EQ_LOG	    16 /* of entries of 64 bytes: two pages, of two times RANGES */
#define EQ_RANGES   (16u + 2)
#define SEND_QUEUES 256u

/* All of them in one memory, which nobody reads. */
static void
create_long_eqs(struct fixture *f, uint64_t events)
{
	const struct drv_eq eq = { .log_size = EQ_LOG,
				   .uar = f->dp.uars[0],
				   .log_page_size = PAGE_LOG - 12,
				   .events = events,
				   .ring = { .iova = IOVA, .count = 2 } };

	for (uint32_t i = 0; i < EQS; i++)
		assert_int_equal(drv_eq_create(&f->dp.drv, &eq, NULL), 0);
}

static void
test_an_event_does_not_look_up_the_rings_of_all_queues(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->dp.dev;
	const struct rnic_eqe *entries = (const struct rnic_eqe *)(const void *)f->memory;
	const uint32_t data[7] = { 0 };
	uint32_t ranges;
	uint64_t before;

	create_long_eqs(f, UINT64_C(1) << RNIC_EVENT_PAGE_REQUEST);
	for (uint32_t i = 0; i < 3; i++) {
		change_map(f);
		ranges = dev->budget->ranges;
		before = dp_stats(&f->dp).eqes;
		softrnic_event(dev, RNIC_EVENT_PAGE_REQUEST, 0, data);
		assert_int_equal(dp_stats(&f->dp).eqes - before, EQS);
		assert_in_range(dev->budget->ranges - ranges, 0, EQS * EQ_RANGES);
		assert_int_equal(entries[i].type, RNIC_EVENT_PAGE_REQUEST);
	}
	/* One whose next entry cannot be reached takes no more, even if it can be reached again. */
	for (uint32_t i = 0; i < 2; i++) {
		if (i == 0)
			assert_int_equal(softrnic_dma_unmap(dev, IOVA, RANGE), 0);
		before = dp_stats(&f->dp).eqes;
		softrnic_event(dev, RNIC_EVENT_PAGE_REQUEST, 0, data);
		assert_int_equal(dp_stats(&f->dp).eqes, before);
		if (i == 0)
			assert_int_equal(softrnic_dma_map(dev, IOVA, RANGE, f->memory,
							  SOFTRNIC_DMA_READ | SOFTRNIC_DMA_WRITE),
					 0);
	}
}

/* Queues whose memory has gone do no work, but all of it is told. */
static void
test_events_of_queues_that_fail_are_charged(void **state)
{
	const struct dp_cq_conf conf = { .log_size = 6, .uar = 1, .ignore_overrun = true };
	struct fixture *f = *state;
	static struct dp_sq sqs[SEND_QUEUES];
	uint64_t before, last, now;
	struct dp_cq cq;

	assert_int_equal(dp_cq_create(&f->dp, &cq, &conf), 0);
	for (uint32_t i = 0; i < SEND_QUEUES; i++)
		assert_int_equal(dp_sq_create(&f->dp, &sqs[i], &cq, 4, 1, 0), 0);
	create_long_eqs(f, UINT64_C(1) << RNIC_EVENT_WQ_ACCESS_ERROR);
	for (uint32_t i = 0; i < SEND_QUEUES; i++)
		softrnic_sq_doorbell(f->dp.dev, sqs[i].sqn);
	assert_int_equal(softrnic_dma_unmap(f->dp.dev, DP_IOVA, DP_BYTES), 0);
	before = last = dp_stats(&f->dp).eqes;
	do {
		softrnic_poll(f->poller);
		now = dp_stats(&f->dp).eqes;
		assert_in_range(now - last, 1, SOFTRNIC_WORK_MAX + EQS);
		last = now;
	} while (now - before < SEND_QUEUES * EQS);
	assert_int_equal(now - before, SEND_QUEUES * EQS);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(chunks_of_many_ranges_are_looked_at_in_pieces),
		T(chunks_of_many_ranges_are_found),
		T(ranges_of_a_ring_are_charged),
		T(ranges_on_the_way_are_charged),
		T(rings_of_many_receivers_are_looked_at_in_pieces),
		T(an_event_does_not_look_up_the_rings_of_all_queues),
		T(events_of_queues_that_fail_are_charged),
	};
#undef T

	return cmocka_run_group_tests_name("data_ranges", tests, NULL, NULL);
}
