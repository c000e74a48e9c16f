/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Compressed completions as they stand in a ring, byte by byte (PRM: "CQE Compression"), and CQs that cannot have them. That no completion is
 * told of otherwise than alone is data_burst_test.c's.
 */
#include <stdlib.h>

#include "data_expect.h"
#include "softrnic/base/object.h"
#include "softrnic/event/cq.h"
#include "softrnic/event/compress.h"
#include "test_clock.h"

#define CQ_LOG	   6
#define CQ_ENTRIES (1u << CQ_LOG)
#define UNTOUCHED  0xff

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq cq;
	uint32_t made;
};

static void
create_cq(struct fixture *f, const struct dp_cq_conf *conf)
{
	assert_int_equal(dp_cq_create(&f->dp, &f->cq, conf), 0);
}

static int
setup(void **state)
{
	const struct softrnic_conf device = { .name = "compress", .wire = "loop" };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	assert_int_equal(dp_open_quick(&f->dp, f->poller, &device), 0);
	*state = f;
	return 0;
}

static struct softrnic_cq *
inside(const struct fixture *f)
{
	return softrnic_object_get(f->dp.dev, SOFTRNIC_CQ, f->cq.cqn);
}

/* A frame like those before it, but for what lists tell of; hash_type: what its hash is of. */
static void
frame_completes(struct fixture *f, uint8_t l4_l3_hdr_type, uint8_t hash_type)
{
	struct softrnic_cq *cq = inside(f);
	struct rnic_cqe *cqe = softrnic_cq_claim(f->dp.dev, cq);

	assert_non_null(cqe);
	cqe->wqe_counter = rnic_cpu_to_be16((uint16_t)f->made);
	cqe->byte_count = rnic_cpu_to_be32(1000 + f->made);
	cqe->rx_hash_result = rnic_cpu_to_be32(0xabcd0000 + f->made);
	cqe->checksum = rnic_cpu_to_be16((uint16_t)(0x5000 + f->made));
	cqe->hds_ip_ext = RNIC_CQE_L2_OK;
	cqe->l4_l3_hdr_type = l4_l3_hdr_type;
	cqe->rx_hash_type = hash_type;
	f->made++;
	softrnic_cq_publish_soon(f->dp.dev, cq, cqe, RNIC_CQE_RESPONDER_SEND, false);
}

static void
frames_complete(struct fixture *f, uint32_t count)
{
	for (; count > 0; count--)
		frame_completes(f, RNIC_CQE_L3_IPV4, 0);
}

static const struct rnic_cqe *
slot(const struct fixture *f, uint32_t index)
{
	return (const struct rnic_cqe *)(f->cq.ring + (size_t)(index % CQ_ENTRIES) * 64);
}

static void
expect_list(const struct fixture *f, uint32_t index, uint32_t first, uint32_t count, bool sums)
{
	const struct rnic_mini_cqe *list = (const void *)slot(f, index);

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(rnic_be32_to_cpu(list[i].byte_count), 1000 + first + i);
		if (sums)
			assert_int_equal(rnic_be16_to_cpu(list[i].checksum), 0x5000 + first + i);
		else
			assert_int_equal(rnic_be32_to_cpu(list[i].rx_hash_result),
					 0xabcd0000 + first + i);
	}
}

static void
expect_untouched(const struct fixture *f, uint32_t from, uint32_t to)
{
	uint8_t nothing[64];

	memset(nothing, UNTOUCHED, sizeof(nothing));
	for (; from < to; from++)
		assert_memory_equal(slot(f, from), nothing, sizeof(nothing));
}

static void
expect_title(const struct fixture *f, uint32_t index, uint32_t count)
{
	assert_int_equal(slot(f, index)->op_own, 0x2c | (index >> CQ_LOG & 1));
	assert_int_equal(rnic_be32_to_cpu(slot(f, index)->byte_count), count);
	assert_int_equal(rnic_be16_to_cpu(slot(f, index)->wqe_counter), index);
}

/* ---- In a ring ---- */

static void
a_title_and_its_lists(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG, .uar = 1, .compressed = true });
	frames_complete(f, 20);
	expect_untouched(f, 0, CQ_ENTRIES);
	softrnic_cq_flush(f->dp.dev);
	expect_title(f, 0, 20);
	expect_list(f, 1, 0, 8, false);
	expect_untouched(f, 2, 8);
	expect_list(f, 8, 8, 8, false);
	expect_untouched(f, 9, 16);
	expect_list(f, 16, 16, 4, false);
	expect_untouched(f, 17, CQ_ENTRIES);
}

static void
lists_of_sums(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG,
					   .uar = 1,
					   .compressed = true,
					   .format = RNIC_MINI_CQE_CHECKSUM });
	frames_complete(f, 2);
	softrnic_cq_flush(f->dp.dev);
	expect_title(f, 0, 2);
	expect_list(f, 1, 0, 2, true);
	expect_untouched(f, 2, CQ_ENTRIES);
}

/* Who is not like the title ends its session: alone it has an entry. */
static void
frames_that_differ_are_told_of_apart(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG, .uar = 1, .compressed = true });
	frames_complete(f, 1);
	frame_completes(f, RNIC_CQE_L3_IPV6, 0);
	frames_complete(f, 3);
	softrnic_cq_flush(f->dp.dev);
	assert_int_equal(slot(f, 0)->op_own, 0x20);
	assert_int_equal(rnic_be32_to_cpu(slot(f, 0)->byte_count), 1000);
	assert_int_equal(slot(f, 1)->op_own, 0x20);
	assert_int_equal(slot(f, 1)->l4_l3_hdr_type, RNIC_CQE_L3_IPV6);
	expect_title(f, 2, 3);
	expect_list(f, 3, 2, 3, false);
	expect_untouched(f, 4, CQ_ENTRIES);
	assert_int_equal(dp_stats(&f->dp).cqe_titles, 1);
	assert_int_equal(dp_stats(&f->dp).cqes_compressed, 3);
}

/* Where lists tell of hashes, what they are of is the title's; where of sums, nobody asks. */
static void
hashes_of_other_fields(void **state)
{
	struct fixture *f = *state;

	for (uint32_t format = RNIC_MINI_CQE_HASH; format <= RNIC_MINI_CQE_CHECKSUM; format++) {
		create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG,
						   .uar = 1,
						   .compressed = true,
						   .format = (enum rnic_mini_cqe_format)format });
		f->made = 0;
		frame_completes(f, RNIC_CQE_L3_IPV4, RNIC_CQE_HASH_SRC_IPV4);
		frame_completes(f, RNIC_CQE_L3_IPV4, RNIC_CQE_HASH_DST_IPV4);
		frame_completes(f, RNIC_CQE_L3_IPV4, RNIC_CQE_HASH_DST_IPV4);
		softrnic_cq_flush(f->dp.dev);
		if (format == RNIC_MINI_CQE_CHECKSUM) {
			expect_title(f, 0, 3);
			continue;
		}
		assert_int_equal(slot(f, 0)->op_own, 0x20);
		expect_title(f, 1, 2);
	}
}

/* A resize ends the old ring behind what was held back. */
static void
a_resize_comes_behind_them(void **state)
{
	struct {
		struct rnic_modify_cq_in in;
		struct rnic_be64 page;
	} in = { 0 };
	struct rnic_cqc *cqc = rnic_modify_cq_in_cqc(&in.in);
	struct fixture *f = *state;
	void *ring = dp_alloc(&f->dp, 4096, 4096);

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG, .uar = 1, .compressed = true });
	frames_complete(f, 3);
	memset(ring, UNTOUCHED, 4096);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_CQN, f->cq.cqn);
	rnic_modify_cq_in_set(&in.in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_RESIZE_CQ_RING);
	in.page = rnic_cpu_to_be64(dp_iova(&f->dp, ring));
	/* To one entry, where no list has a place. */
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE, &in,
				    sizeof(in), NULL, 0),
			 RNIC_STATUS_BAD_PARAM);
	rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, 5);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_RESIZE, &in,
				    sizeof(in), NULL, 0),
			 0);
	expect_title(f, 0, 3);
	assert_int_equal(RNIC_CQE_OPCODE(slot(f, 3)->op_own), RNIC_CQE_RESIZE);
	f->cq.ring = ring;
	f->made++;
	frames_complete(f, 2);
	softrnic_cq_flush(f->dp.dev);
	expect_list(f, 5, 4, 2, false);
	assert_int_equal(slot(f, 4)->op_own, 0x2c);
}

/* Lists go round the ring's end as frames do, and owner bits turn there. */
static void
a_session_goes_round_the_ring(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG, .uar = 1, .compressed = true });
	for (i = 0; i < CQ_ENTRIES - 4; i++) {
		frames_complete(f, 1);
		softrnic_cq_flush(f->dp.dev);
		assert_non_null(dp_cq_next(&f->cq));
	}
	frames_complete(f, 13);
	softrnic_cq_flush(f->dp.dev);
	expect_title(f, CQ_ENTRIES - 4, 13);
	expect_list(f, CQ_ENTRIES - 3, CQ_ENTRIES - 4, 8, false);
	expect_list(f, CQ_ENTRIES + 4, CQ_ENTRIES + 4, 5, false);
	for (i = 0; i < 13; i++)
		assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&f->cq)->byte_count),
				 1000 + CQ_ENTRIES - 4 + i);
	frames_complete(f, 2);
	softrnic_cq_flush(f->dp.dev);
	expect_title(f, CQ_ENTRIES + 9, 2);
}

/* What fails is told of by itself, behind all that was held back. */
static void
an_error_is_an_entry(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG, .uar = 1, .compressed = true });
	frames_complete(f, 3);
	assert_int_equal(softrnic_cq_post_error(f->dp.dev, inside(f), RNIC_CQE_RESPONDER_ERROR,
						RNIC_SYND_LOCAL_PROTECTION, 1, 2, 3, 4),
			 0);
	expect_title(f, 0, 3);
	assert_int_equal(slot(f, 3)->op_own, 0xe2);
}

/* A ring that may overrun has no session longer than it is. */
static void
a_ring_that_overruns_keeps_its_lists(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){
			     .log_size = 2, .uar = 1, .ignore_overrun = true, .compressed = true });
	for (uint32_t i = 0; i < 30; i++)
		frame_completes(f, RNIC_CQE_L3_IPV4, 0);
	softrnic_cq_flush(f->dp.dev);
	/* 28 and 29: the last ones. */
	assert_int_equal(((const struct rnic_cqe *)f->cq.ring)[0].op_own, 0x2c | 1);
	assert_int_equal(rnic_be32_to_cpu(((const struct rnic_cqe *)f->cq.ring)[0].byte_count), 2);
	assert_int_equal(dp_stats(&f->dp).cqe_titles, 8);
}

/* An event is raised when entries show, for as many as are told of. */
static void
events_count_what_is_told_of(void **state)
{
	struct fixture *f = *state;

	create_cq(f, &(struct dp_cq_conf){ .log_size = CQ_LOG,
					   .uar = 1,
					   .compressed = true,
					   .max_count = 10,
					   .period_us = 4000 });
	dp_cq_arm(&f->cq, 1, false);
	softrnic_poll(f->poller);
	frames_complete(f, 9);
	softrnic_cq_flush(f->dp.dev);
	expect_title(f, 0, 9);
	assert_null(dp_eq_next(&f->dp));
	frames_complete(f, 1);
	softrnic_cq_flush(f->dp.dev);
	dp_expect_event(&f->dp, RNIC_EVENT_COMPLETION);
}

/* ---- CQs that cannot be ---- */

static int
create(struct fixture *f, uint32_t log_size, bool collapsed, uint32_t format)
{
	struct dp_cq cq;

	return dp_cq_create(&f->dp, &cq,
			    &(struct dp_cq_conf){ .log_size = log_size,
						  .uar = 1,
						  .collapsed = collapsed,
						  .compressed = true,
						  .format = (enum rnic_mini_cqe_format)format });
}

static void
cqs_that_have_no_place_for_a_list(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, 0, false, RNIC_MINI_CQE_HASH), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(create(f, CQ_LOG, true, RNIC_MINI_CQE_HASH), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(create(f, 1, false, RNIC_MINI_CQE_HASH), 0);
}

/* Titles and lists are the one layout that there is. */
static void
another_layout(void **state)
{
	struct rnic_create_cq_in *in = drv_in(sizeof(*in) + 8);
	struct fixture *f = *state;
	struct drv_cq cq = { .log_size = CQ_LOG,
			     .uar = f->dp.uars[1],
			     .eqn = f->dp.eqn,
			     .compressed = true,
			     .dbrec = dp_iova(&f->dp, dp_alloc(&f->dp, 8, 64)) };
	uint64_t page = dp_iova(&f->dp, dp_alloc(&f->dp, 4096, 4096));
	uint32_t bytes, cqn;

	cq.ring = (struct drv_pages){ .iova = page, .count = 1 };
	bytes = drv_cq_fill(in, &cq);
	rnic_cqc_set(rnic_create_cq_in_cqc(in), RNIC_CQC_CQE_COMPRESSION_LAYOUT, 1);
	assert_int_equal(drv_create(&f->dp.drv, in, bytes, &cqn), RNIC_STATUS_BAD_PARAM);
}

static void
formats_that_are_not_there(void **state)
{
	struct fixture *f = *state;

	for (uint32_t format = 0; format < 4; format++)
		assert_int_equal(create(f, CQ_LOG, false, format),
				 format > RNIC_MINI_CQE_CHECKSUM ? RNIC_STATUS_BAD_PARAM : 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, dp_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_title_and_its_lists),
		TEST(lists_of_sums),
		TEST(frames_that_differ_are_told_of_apart),
		TEST(hashes_of_other_fields),
		TEST(a_resize_comes_behind_them),
		TEST(a_session_goes_round_the_ring),
		TEST(an_error_is_an_entry),
		TEST(a_ring_that_overruns_keeps_its_lists),
		TEST(events_count_what_is_told_of),
		TEST(cqs_that_have_no_place_for_a_list),
		TEST(another_layout),
		TEST(formats_that_are_not_there),
	};

	return cmocka_run_group_tests_name("data_compress", tests, NULL, NULL);
}
