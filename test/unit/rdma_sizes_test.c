/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs: how large their queues are, computed by hand. */

#include "rdma_fake.h"

#include <string.h>

#include <rte_common.h>

/*
 * By hand: a send WQE has 48 bytes (control, remote address, atomic), then 16 for each segment, or 4 and the payload,
 * rounded to 16; whole blocks of 64. The ring is the next power of two of max_send_wr * wqe_size. A receive WQE is the
 * next power of two of 16 * segments.
 */
static const struct sized {
	struct rdmapmd_qp_cap asked;
	uint32_t wqe_size, wqe_count, max_post, max_inline;
	uint32_t rq_wqe_size, rq_wqe_count, rq_max_gs;
} sizes[] = {
	/* 48 + 16 = 64: one block */
	{ { 1, 1, 1, 1, 0 }, 64, 1, 1, 12, 16, 4, 1 },
	{ { 16, 16, 1, 1, 0 }, 64, 16, 16, 12, 16, 16, 1 },
	{ { 17, 17, 1, 2, 0 }, 64, 32, 32, 12, 32, 32, 2 },
	/* 48 + 2 * 16 = 80: two blocks; inline 128 - 52 */
	{ { 100, 100, 2, 3, 0 }, 128, 256, 128, 76, 64, 128, 4 },
	/* inline: 48 + align(4 + 64, 16) = 128 */
	{ { 128, 128, 1, 4, 64 }, 128, 256, 128, 76, 64, 128, 4 },
	/* 48 + align(4 + 76, 16) = 128, one byte more: 144, three blocks; 64 * 192 = 12,288: ring of 16,384 */
	{ { 64, 64, 1, 5, 76 }, 128, 128, 64, 76, 128, 64, 8 },
	{ { 64, 64, 1, 8, 77 }, 192, 256, 85, 140, 128, 64, 8 },
	/* the largest: 48 + 30 * 16 = 528: nine blocks; 1,000 * 576 = 576,000: ring of 2^20 */
	{ { 1000, 1000, 30, 32, 0 }, 576, 16384, 1820, 524, 512, 1024, 32 },
	/* 48 + align(4 + 972, 16) = 1,024 bytes, the device's limit; 2,048 of them fill 32,768 blocks */
	{ { 2048, 32768, 1, 1, 972 }, 1024, 32768, 2048, 972, 16, 32768, 1 },
	{ { 32768, 1, 1, 0, 0 }, 64, 32768, 32768, 12, 16, 4, 1 },
	/* No segment is asked for: there is room for one all the same. */
	{ { 4, 4, 0, 0, 8 }, 64, 4, 4, 12, 16, 4, 1 },
};

static void
test_sizes(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp_sizing sizing;
	struct rdmapmd_qp_cap cap;
	struct rdmapmd_qp *qp;
	unsigned int i;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		const struct sized *s = &sizes[i];

		attr = fake_qp_attr(set);
		attr.cap = cap = s->asked;
		assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), 0);
		assert_int_equal(rdmapmd_qp_sizing_query(qp, &sizing), 0);
		assert_int_equal(sizing.sq.wqe_size, s->wqe_size);
		assert_int_equal(sizing.sq.wqe_count, s->wqe_count);
		assert_int_equal(sizing.sq.max_post, s->max_post);
		assert_int_equal(sizing.sq.max_gs, RTE_MAX(s->asked.max_send_sge, 1u));
		assert_int_equal(sizing.sq.max_inline, s->max_inline);
		assert_int_equal(sizing.rq.wqe_size, s->rq_wqe_size);
		assert_int_equal(sizing.rq.wqe_count, s->rq_wqe_count);
		assert_int_equal(sizing.rq.max_post, s->rq_wqe_count);
		assert_int_equal(sizing.rq.max_gs, s->rq_max_gs);
		/* The driver got the same, and the application what follows. */
		assert_memory_equal(&set->fake->qp_sizing, &sizing, sizeof(sizing));
		assert_int_equal(attr.cap.max_send_wr, s->max_post);
		assert_int_equal(attr.cap.max_recv_wr, s->rq_wqe_count);
		assert_int_equal(attr.cap.max_send_sge, RTE_MAX(s->asked.max_send_sge, 1u));
		assert_int_equal(attr.cap.max_recv_sge, s->rq_max_gs);
		assert_int_equal(attr.cap.max_inline_data, s->max_inline);
		assert_int_equal(rdmapmd_qp_destroy(qp), 0);
		/* And without making one. */
		memset(&sizing, 0, sizeof(sizing));
		assert_int_equal(rdmapmd_qp_sizing_compute(set->context, RDMAPMD_QPT_RC, &cap,
							   false, &sizing),
				 0);
		assert_memory_equal(&set->fake->qp_sizing, &sizing, sizeof(sizing));
		assert_memory_equal(&cap, &attr.cap, sizeof(cap));
	}
}

static void
test_sizes_that_are_too_large(void **state)
{
	static const struct rdmapmd_qp_cap caps[] = {
		{ 32769, 1, 1, 1, 0 },
		{ 1, 32769, 1, 1, 0 },
		{ 1, 1, 31, 1, 0 },
		{ 1, 1, 1, 33, 0 },
		{ 1, 1, 1, 1, 973 },
		{ 2049, 1, 1, 1, 972 },
		{ 16385, 1, 2, 1, 0 },
		{ UINT32_MAX, 1, 1, 1, 0 },
		{ 1, UINT32_MAX, 1, 1, 0 },
		{ 1, 1, UINT32_MAX, 1, 0 },
		{ 1, 1, 1, UINT32_MAX, 0 },
		{ 1, 1, 1, 1, UINT32_MAX },
		{ 1, 1, 0x10000000, 1, 0 },
		{ 1, 1, 1, 0x10000000, 0 },
		{ 1, 1, 1, 1, UINT32_MAX - 3 },
	};
	struct fake_set *set = *state;
	struct rdmapmd_qp_init_attr attr;
	struct rdmapmd_qp *qp = NULL;
	unsigned int i;

	set->fake->call_count = 0;
	for (i = 0; i < RTE_DIM(caps); i++) {
		attr = fake_qp_attr(set);
		attr.cap = caps[i];
		assert_int_equal(rdmapmd_qp_create(set->pd, &attr, &qp), -EINVAL);
		assert_memory_equal(&attr.cap, &caps[i], sizeof(attr.cap));
	}
	assert_null(qp);
	fake_assert_calls(set->fake, 0, "");
}

/* Devices whose limits do not go together. */
static void
test_the_smallest_limit_counts(void **state)
{
	struct fake *fake = fake_register("fake1");
	struct rdmapmd_qp_sizing sizing;
	struct rdmapmd_qp_cap cap = { .max_recv_wr = 1, .max_recv_sge = 17 };
	struct fake_set set;

	(void)state;
	fake->attr.max_rq_desc_sz = 256; /* 16 segments */
	fake->attr.max_qp_wr = 100000;
	fake->attr.max_send_wqebb = 100000;
	fake_open(fake, &set);
	assert_int_equal(
		rdmapmd_qp_sizing_compute(set.context, RDMAPMD_QPT_RC, &cap, false, &sizing),
		-EINVAL);
	cap = (struct rdmapmd_qp_cap){ .max_recv_wr = 32769, .max_recv_sge = 1 };
	assert_int_equal(
		rdmapmd_qp_sizing_compute(set.context, RDMAPMD_QPT_RC, &cap, false, &sizing),
		-EINVAL);
	cap = (struct rdmapmd_qp_cap){ .max_send_wr = 32769, .max_send_sge = 1 };
	assert_int_equal(
		rdmapmd_qp_sizing_compute(set.context, RDMAPMD_QPT_RC, &cap, false, &sizing),
		-EINVAL);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake->attr.max_recv_sge = 5;
	fake_open(fake, &set);
	cap = (struct rdmapmd_qp_cap){ .max_recv_wr = 1, .max_recv_sge = 5 };
	assert_int_equal(
		rdmapmd_qp_sizing_compute(set.context, RDMAPMD_QPT_RC, &cap, false, &sizing), 0);
	assert_int_equal(sizing.rq.wqe_size, 128);
	assert_int_equal(sizing.rq.max_gs, 5); /* not the 8 that would fit */
	assert_int_equal(cap.max_recv_sge, 5);
	assert_int_equal(rdmapmd_context_close(set.context), 0);
	fake_unregister(fake);
}

static void
test_queues_of_no_size(void **state)
{
	struct fake_set *set = *state;
	struct rdmapmd_qp_cap cap = { .max_recv_wr = 4, .max_recv_sge = 2, .max_send_sge = 3 };
	struct rdmapmd_qp_sizing sizing;

	assert_int_equal(
		rdmapmd_qp_sizing_compute(set->context, RDMAPMD_QPT_RC, &cap, false, &sizing), 0);
	assert_int_equal(sizing.sq.wqe_count, 0);
	assert_int_equal(cap.max_send_sge, 0);
	assert_int_equal(cap.max_inline_data, 0);
	assert_int_equal(sizing.rq.wqe_count, 4);
	/* With an SRQ there is no receive queue. */
	cap = (struct rdmapmd_qp_cap){ .max_send_wr = 1, .max_recv_wr = 4, .max_recv_sge = 2 };
	assert_int_equal(
		rdmapmd_qp_sizing_compute(set->context, RDMAPMD_QPT_RC, &cap, true, &sizing), 0);
	assert_int_equal(sizing.rq.wqe_count, 0);
	assert_int_equal(cap.max_recv_wr, 0);
	assert_int_equal(cap.max_recv_sge, 0);
	assert_int_equal(sizing.sq.wqe_count, 1);
}

/*
 * By hand: a send WQE has 64 bytes (control, address vector), then 16 for each segment, or 4 and the payload; at most 63 units of
 * 16 bytes are counted.
 */
static void
test_sizes_of_datagrams(void **state)
{
	static const struct {
		uint32_t sges, bytes, wqe_size, max_inline; /* wqe_size 0: refused */
	} rows[] = {
		{ 1, 0, 128, 60 },    { 4, 60, 128, 60 },    { 5, 0, 192, 124 },
		{ 1, 61, 192, 124 },  { 29, 0, 576, 508 },   { 30, 0, 0, 0 },
		{ 1, 892, 960, 892 }, { 1, 893, 1024, 940 }, { 1, 940, 1024, 940 },
		{ 1, 941, 0, 0 },
	};
	struct fake_set *set = *state;
	struct rdmapmd_qp_sizing sizing;
	unsigned int i, type;
	int rc;

	for (i = 0; i < RTE_DIM(rows); i++)
		for (type = RDMAPMD_QPT_GSI; type <= RDMAPMD_QPT_UD; type += 3) {
			struct rdmapmd_qp_cap cap = { .max_send_wr = 16,
						      .max_send_sge = rows[i].sges,
						      .max_inline_data = rows[i].bytes };

			rc = rdmapmd_qp_sizing_compute(set->context, (enum rdmapmd_qp_type)type,
						       &cap, true, &sizing);
			assert_int_equal(rc, rows[i].wqe_size == 0 ? -EINVAL : 0);
			if (rc != 0)
				continue;
			assert_int_equal(sizing.sq.wqe_size, rows[i].wqe_size);
			assert_int_equal(sizing.sq.max_inline, rows[i].max_inline);
			assert_int_equal(cap.max_inline_data, rows[i].max_inline);
		}
}

/* Queue pairs of the test have a receive queue of their own. */
static int
setup(void **state)
{
	struct fake_set *set;

	fake_setup(state);
	set = *state;
	set->srq = NULL;
	return 0;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_sizes),
	TEST(test_sizes_that_are_too_large),
	TEST(test_the_smallest_limit_counts),
	TEST(test_queues_of_no_size),
	TEST(test_sizes_of_datagrams),
};

FAKE_MAIN("rdma_sizes", tests)
