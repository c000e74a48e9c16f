/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rings, doorbell records and memory regions in umems, as Linux' DevX makes them for a user: a door that turns the addresses of each
 * command into offsets of one umem, and traffic over what it has made.
 */
#include <stdlib.h>

#include "driver/mkey.h"
#include "driver/umem.h"
#include "qp_world.h"

#define PAGE   4096u
#define BEGINS 1024u /* the umem, in its first page */

struct fixture {
	struct qw qw;
	struct qw_end *end;
	struct dp_cq cqs[4]; /* of sends and receives, of a and b */
	uint32_t umem;	     /* of all memory but its first kilobyte */
};

/* The door, for one device at a time. */
static int (*door)(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes);
static uint32_t door_umem;

static uint64_t
offset_of(uint64_t iova)
{
	return iova - DP_IOVA - BEGINS;
}

static int
into_umem(struct drv *drv, void *in, uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	return door(drv, in, drv_umem_move(in, in_bytes, door_umem, DP_IOVA + BEGINS), out,
		    out_bytes);
}

/* All of the end's memory, in pages of that size. */
static uint32_t
umem_of(struct dp *dp, uint32_t log_page_size, uint64_t rights)
{
	const struct drv_umem umem = {
		.log_page_size = log_page_size,
		.offset = BEGINS,
		.pages = { DP_IOVA | rights, UINT64_C(1) << log_page_size,
			   DP_BYTES >> log_page_size },
	};
	uint32_t number;

	assert_int_equal(drv_umem_create(&dp->drv, &umem, &number), 0);
	return number;
}

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = 6, .uar = 1 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	qw_open(&f->qw, &(struct qw_conf){ .ipv6 = false });
	f->end = f->qw.ends[0];
	f->umem = door_umem = umem_of(&f->end->dp, 12, RNIC_MTT_READ | RNIC_MTT_WRITE);
	door = f->end->dp.hn.drv.execute;
	f->end->dp.hn.drv.execute = into_umem;
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(dp_cq_create(&f->end->dp, &f->cqs[i], &cq), 0);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	qw_close(&f->qw);
	free(f);
	return 0;
}

static struct qw_qp_conf
qp_conf(struct fixture *f, unsigned int end)
{
	return (struct qw_qp_conf){ .send_cq = &f->cqs[2 * end],
				    .recv_cq = &f->cqs[2 * end + 1],
				    .log_sq = 4,
				    .log_rq = 4,
				    .log_stride = 6,
				    .uar = 1 };
}

/* ---- Traffic ---- */

static void
connect_two(struct fixture *f, struct qw_qp qps[2], struct qw_srq *srq)
{
	const struct qw_attr attr = qw_attr();

	for (unsigned int i = 0; i < 2; i++) {
		struct qw_qp_conf conf = qp_conf(f, i);

		conf.srq = i == 1 ? srq : NULL;
		assert_int_equal(qw_qp_create(f->end, &qps[i], &conf), 0);
	}
	qw_connect(&qps[0], &qps[1], &attr);
}

/* So many that each ring comes round. */
static void
test_queue_pairs(void **state)
{
	struct fixture *f = *state;
	struct qw_qp qps[2];
	uint8_t *out = dp_alloc(&f->end->dp, PAGE, 64), *in = dp_alloc(&f->end->dp, PAGE, 64);

	connect_two(f, qps, NULL);
	for (uint16_t i = 0; i < 100; i++) {
		qw_fill(out, 64, i);
		qw_recv(&qps[1], in, 64);
		qw_post(&qps[0], &qps[1], RNIC_WQE_SEND, out, 64, NULL);
		qw_run(&f->qw);
		qw_expect(&f->cqs[0], RNIC_CQE_REQUESTER, i, qps[0].qpn);
		qw_expect(&f->cqs[3], RNIC_CQE_RESPONDER_SEND, i, qps[1].qpn);
		assert_memory_equal(in, out, 64);
	}
}

static void
test_shared_receives(void **state)
{
	struct fixture *f = *state;
	struct qw_srq srq;
	struct qw_qp qps[2];
	uint8_t *out = dp_alloc(&f->end->dp, PAGE, 64), *in = dp_alloc(&f->end->dp, PAGE, 64);

	qw_srq_create(f->end, &srq, 4, 6, 0);
	connect_two(f, qps, &srq);
	for (uint16_t i = 0; i < 8; i++)
		qw_srq_write(&srq, i, (uint16_t)(i + 1), in + 64 * i, 64);
	qw_srq_post(&srq, 8);
	for (uint16_t i = 0; i < 8; i++) {
		qw_fill(out, 64, i);
		qw_post(&qps[0], &qps[1], RNIC_WQE_SEND, out, 64, NULL);
		qw_run(&f->qw);
		qw_expect(&f->cqs[0], RNIC_CQE_REQUESTER, i, qps[0].qpn);
		qw_expect(&f->cqs[3], RNIC_CQE_RESPONDER_SEND, i, qps[1].qpn);
		assert_memory_equal(in + 64 * i, out, 64);
	}
}

static void
test_frames(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->end->dp;
	struct dp_sq sq;
	struct dp_rq rq;
	uint8_t *out = dp_alloc(dp, PAGE, 64), *in = dp_alloc(dp, PAGE, 64);

	assert_int_equal(dp_sq_create(dp, &sq, &f->cqs[0], 4, 1, 0), 0);
	assert_int_equal(dp_rq_create(dp, &rq, &f->cqs[1], 4, 5), 0);
	assert_int_equal(dp_steer_all(&rq), 0);
	for (unsigned int i = 0; i < 40; i++) {
		qw_fill(out, 100, i);
		memset(out, 0xff, 6);
		dp_post(&rq, in, 256);
		dp_rq_record(&rq);
		dp_send(&sq, out, 100);
		qw_run(&f->qw);
		assert_non_null(dp_cq_next(&f->cqs[0]));
		assert_non_null(dp_cq_next(&f->cqs[1]));
		assert_memory_equal(in, out, 100);
	}
}

/* ---- Memory ---- */

/* [at, at + length) of memory, which begins at `start` for peers: RNIC_STATUS_... */
static int
region_of(struct fixture *f, uint32_t umem, uint64_t start, uint64_t at, uint64_t length,
	  unsigned int log_page_size, uint32_t *key)
{
	struct dp *dp = &f->end->dp;
	const struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				       .access = DRV_LR | DRV_LW | DRV_RR | DRV_RW,
				       .log_page_size = log_page_size,
				       .pd = dp->pd,
				       .start = start,
				       .length = length,
				       .umem = umem,
				       .umem_at = at };

	return drv_mkey_create(&dp->drv, &mkey, key);
}

/* What a peer writes by that key at `va` comes there, or is refused. */
static void
peer_writes(struct fixture *f, uint32_t key, uint64_t va, const uint8_t *memory, bool allowed)
{
	struct qw_qp qps[2];
	uint8_t *out = dp_alloc(&f->end->dp, 64, 64);

	connect_two(f, qps, NULL);
	qw_fill(out, 64, (uint32_t)va);
	qw_wqe(&qps[0], RNIC_WQE_RDMA_WRITE, out, 64, (void *)(uintptr_t)va, key,
	       RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&qps[0].sq);
	qw_run(&f->qw);
	if (allowed) {
		qw_expect(&f->cqs[0], RNIC_CQE_REQUESTER, 0, qps[0].qpn);
		assert_memory_equal(memory, out, 64);
	} else {
		qw_expect_error(&f->cqs[0], RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_REMOTE_ACCESS,
				qps[0].qpn);
	}
	while (qw_event(f->end, NULL) != 0)
		;
	assert_int_equal(qw_qp_destroy(&qps[0]), 0);
	assert_int_equal(qw_qp_destroy(&qps[1]), 0);
}

static void
test_region(void **state)
{
	struct fixture *f = *state;
	uint8_t *memory = dp_alloc(&f->end->dp, 16ul * PAGE, PAGE);
	const uint64_t at = offset_of(dp_iova(&f->end->dp, memory)) + 100;
	uint32_t key;

	/* In the umem's pages, and in smaller ones of a umem of large pages. */
	assert_int_equal(region_of(f, f->umem, 0x7000064, at, 3 * PAGE, 12, &key), 0);
	peer_writes(f, key, 0x7000064, memory + 100, true);
	peer_writes(f, key, 0x7000064 + PAGE, memory + 100 + PAGE, true);
	peer_writes(f, key, 0x7000064 + 3 * PAGE - 64, memory + 100 + 3 * PAGE - 64, true);
	peer_writes(f, key, 0x7000064 + 3 * PAGE - 63, NULL, false);
	peer_writes(f, key, 0x7000063, NULL, false);
	assert_int_equal(
		region_of(f, umem_of(&f->end->dp, DP_LOG_BYTES, RNIC_MTT_READ | RNIC_MTT_WRITE),
			  0x8000064, at, 3 * PAGE, 12, &key),
		0);
	peer_writes(f, key, 0x8000064 + 2 * PAGE, memory + 100 + 2 * PAGE, true);
}

/* A user who may only read the memory gives nobody the right to write to it. */
static void
test_region_that_is_read_only(void **state)
{
	struct fixture *f = *state;
	uint8_t *memory = dp_alloc(&f->end->dp, PAGE, PAGE);
	uint32_t key;

	assert_int_equal(region_of(f, umem_of(&f->end->dp, 12, RNIC_MTT_READ), 0x7000000,
				   offset_of(dp_iova(&f->end->dp, memory)), PAGE, 12, &key),
			 0);
	peer_writes(f, key, 0x7000000, NULL, false);
}

static void
test_regions_that_are_refused(void **state)
{
	struct fixture *f = *state;
	const uint64_t bytes = DP_BYTES - BEGINS;
	struct dp *dp = &f->end->dp;
	struct drv_mkey mkey = { .pd = dp->pd, .umem = f->umem, .length = PAGE };
	uint32_t key;

	assert_int_equal(region_of(f, f->umem, 0x7000000, bytes - PAGE, PAGE, 12, &key), 0);
	assert_int_equal(region_of(f, f->umem, 0x7000001, bytes - PAGE + 1, PAGE, 12, &key),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(region_of(f, f->umem, 0x7000400, bytes + 1, 0, 12, &key),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(region_of(f, f->umem, 0x7000400, UINT64_MAX - 10, PAGE, 12, &key),
			 RNIC_STATUS_BAD_PARAM);
	/* pages that begin where the umem has no page, and larger ones than it has */
	assert_int_equal(region_of(f, f->umem, 0x7000000, 0, PAGE, 12, &key),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(region_of(f, f->umem, 0x7000400, 0, PAGE, 13, &key),
			 RNIC_STATUS_BAD_PARAM);
	assert_int_equal(region_of(f, f->umem ^ 1, 0x7000400, 0, PAGE, 12, &key),
			 RNIC_STATUS_BAD_RES);
	/* all memory by its address on the bus; lists of keys */
	mkey.mode = RNIC_MKEY_PA;
	mkey.length64 = true;
	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), RNIC_STATUS_BAD_PARAM);
	mkey.mode = RNIC_MKEY_KLM;
	mkey.length64 = false;
	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), RNIC_STATUS_BAD_PARAM);
}

/* ---- Refusals, and who goes first ---- */

/* A queue whose ring and record lie in that umem. */
static int
queue_in(struct fixture *f, uint16_t opcode, uint32_t umem)
{
	struct dp *dp = &f->end->dp;
	struct qw_qp_conf conf = qp_conf(f, 0);
	struct qw_srq srq;
	struct qw_qp qp;
	struct dp_cq cq;
	struct dp_sq sq;
	struct dp_rq rq;
	int status;

	door_umem = umem;
	switch (opcode) {
	case RNIC_CMD_CREATE_CQ:
		status = dp_cq_create(dp, &cq, &(struct dp_cq_conf){ .log_size = 6, .uar = 1 });
		break;
	case RNIC_CMD_CREATE_QP: status = qw_qp_create(f->end, &qp, &conf); break;
	case RNIC_CMD_CREATE_SQ: status = dp_sq_create(dp, &sq, &f->cqs[0], 4, 1, 0); break;
	case RNIC_CMD_CREATE_RQ: status = dp_rq_create(dp, &rq, &f->cqs[1], 4, 5); break;
	default: status = qw_srq_try(f->end, &srq, 4, 6, 0); break;
	}
	door_umem = f->umem;
	return status;
}

static const uint16_t creates[] = { RNIC_CMD_CREATE_CQ, RNIC_CMD_CREATE_QP, RNIC_CMD_CREATE_SQ,
				    RNIC_CMD_CREATE_RQ, RNIC_CMD_CREATE_RMP };
#define CREATES (sizeof(creates) / sizeof(creates[0]))

static void
test_no_such_umem(void **state)
{
	for (unsigned int i = 0; i < CREATES; i++)
		assert_int_equal(queue_in(*state, creates[i], 0x123456), RNIC_STATUS_BAD_RES);
}

/* A umem of one page: what lies behind it is not in it. */
static void
test_beyond_the_umem(void **state)
{
	struct fixture *f = *state;
	const struct drv_umem conf = { .log_page_size = 12,
				       .offset = BEGINS,
				       .pages = { DP_IOVA | RNIC_MTT_READ | RNIC_MTT_WRITE, PAGE,
						  1 } };
	uint32_t umem;

	assert_int_equal(drv_umem_create(&f->end->dp.drv, &conf, &umem), 0);
	for (unsigned int i = 0; i < CREATES; i++)
		assert_int_equal(queue_in(f, creates[i], umem), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(drv_destroy(&f->end->dp.drv, RNIC_CMD_DESTROY_UMEM, umem), 0);
}

/* The device writes completions: not to what the user may only read. */
static void
test_completions_need_the_right(void **state)
{
	struct fixture *f = *state;
	const uint32_t umem = umem_of(&f->end->dp, 12, RNIC_MTT_READ);

	assert_int_equal(queue_in(f, RNIC_CMD_CREATE_CQ, umem), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(queue_in(f, RNIC_CMD_CREATE_QP, umem), 0);
}

static void
test_a_umem_goes_behind_what_lies_in_it(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->end->dp;
	const uint32_t umem = umem_of(dp, 12, RNIC_MTT_READ | RNIC_MTT_WRITE);
	struct qw_qp_conf conf = qp_conf(f, 0);
	uint32_t key;
	struct qw_qp qp;
	struct dp_cq cq;

	door_umem = umem;
	assert_int_equal(dp_cq_create(dp, &cq, &(struct dp_cq_conf){ .log_size = 6, .uar = 1 }), 0);
	assert_int_equal(qw_qp_create(f->end, &qp, &conf), 0);
	assert_int_equal(region_of(f, umem, 0x7000400, 0, PAGE, 12, &key), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_UMEM, umem), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_CQ, cq.cqn), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_UMEM, umem), RNIC_STATUS_RES_BUSY);
	assert_int_equal(qw_qp_destroy(&qp), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_UMEM, umem), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_UMEM, umem), 0);
	door_umem = f->umem;
}

/* Also what is refused half way keeps nothing. */
static void
test_what_is_refused_refers_to_nothing(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->end->dp;
	const uint32_t umem = umem_of(dp, 12, RNIC_MTT_READ);
	uint32_t key;

	/* The record is in it, and the ring may not be; a region that does not fit its pages. */
	assert_int_equal(queue_in(f, RNIC_CMD_CREATE_CQ, umem), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(region_of(f, umem, 0x7000000, 0, PAGE, 12, &key), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_UMEM, umem), 0);
}

static void
test_limit_of_pages(void **state)
{
	struct fixture *f = *state;
	struct drv_umem conf = { .log_page_size = 12,
				 .pages = { DP_IOVA | RNIC_MTT_READ, 0, 1u << 22 } };
	uint32_t first, second;

	assert_int_equal(drv_umem_create(&f->end->dp.drv, &conf, &first), 0);
	conf.pages.count = (1u << 22) + 1;
	assert_int_equal(drv_umem_create(&f->end->dp.drv, &conf, &second), RNIC_STATUS_NO_RES);
	assert_int_equal(dp_destroy(&f->end->dp, RNIC_CMD_DESTROY_UMEM, first), 0);
	assert_int_equal(drv_umem_create(&f->end->dp.drv, &conf, &second), 0);
}

/* All of it is dropped with the function, whatever leans on what. */
static void
test_reset(void **state)
{
	struct fixture *f = *state;
	struct qw_qp qps[2];
	uint32_t key;

	connect_two(f, qps, NULL);
	assert_int_equal(region_of(f, f->umem, 0x7000400, 0, PAGE, 12, &key), 0);
	softrnic_reset(f->end->dp.dev);
	assert_int_equal(dp_stats(&f->end->dp).objects, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_queue_pairs),
		TEST(test_shared_receives),
		TEST(test_frames),
		TEST(test_region),
		TEST(test_region_that_is_read_only),
		TEST(test_regions_that_are_refused),
		TEST(test_no_such_umem),
		TEST(test_beyond_the_umem),
		TEST(test_completions_need_the_right),
		TEST(test_a_umem_goes_behind_what_lies_in_it),
		TEST(test_what_is_refused_refers_to_nothing),
		TEST(test_limit_of_pages),
		TEST(test_reset),
	};

	return cmocka_run_group_tests_name("qp_umem", tests, NULL, NULL);
}
