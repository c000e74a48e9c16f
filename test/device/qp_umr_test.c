/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows: what they give, and each thing that a WQE about them may not ask. */
#include "qp_umr.h"

/* ---- What a window gives ---- */

static void
uses(struct qw_two *two, bool type2)
{
	const uint32_t mr = region(two, DRV_LW), key = bound(two, type2, mr, ALL_RR_RW);
	const uint64_t start = (uintptr_t)two->in + AT;

	/* What the region does not give to peers, the window does. */
	refused(two, RNIC_WQE_RDMA_WRITE, mr);
	works(two, RNIC_WQE_RDMA_WRITE, key);
	assert_memory_equal(two->in + AT, two->out, 64);
	works(two, RNIC_WQE_RDMA_READ, key);
	works(two, RNIC_WQE_ATOMIC_FA, key);
	works(two, RNIC_WQE_ATOMIC_CS, key);
	/* All of it, and no byte beside it. */
	works_at(two, RNIC_WQE_RDMA_WRITE, key, start, LENGTH);
	works_at(two, RNIC_WQE_RDMA_WRITE, key, start + LENGTH - 1, 1);
	refused_at(two, RNIC_WQE_RDMA_WRITE, key, start - 1, 1);
	refused_at(two, RNIC_WQE_RDMA_WRITE, key, start + LENGTH, 1);
	refused_at(two, RNIC_WQE_RDMA_READ, key, start + LENGTH - 63, 64);
	refused_at(two, RNIC_WQE_RDMA_READ, key, UINT64_MAX - 3, 8);
	/* The byte that it had before. */
	refused(two, RNIC_WQE_RDMA_WRITE, key - 1);
}

static void
test_window_of_type_1(void **state)
{
	uses(*state, false);
}

static void
test_window_of_type_2(void **state)
{
	uses(*state, true);
}

static void
test_rights_of_the_window(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t right;
	} needs[] = { { RNIC_WQE_RDMA_READ, DRV_RR },
		      { RNIC_WQE_RDMA_WRITE, DRV_RW },
		      { RNIC_WQE_ATOMIC_FA, DRV_A } };
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW | ALL_RR_RW);

	for (uint32_t access = 0; access <= ALL_RR_RW; access += DRV_RR) {
		const uint32_t key = bound(two, true, mr, access);

		for (unsigned int i = 0; i < 3; i++) {
			if ((access & needs[i].right) != 0)
				works(two, needs[i].opcode, key);
			else
				refused(two, needs[i].opcode, key);
		}
	}
}

/* The owner may not write there, so the window's peer may not either. */
static void
test_rights_of_the_region(void **state)
{
	struct qw_two *two = *state;
	const uint32_t key = bound(two, true, region(two, ALL_RR_RW), ALL_RR_RW);

	works(two, RNIC_WQE_RDMA_READ, key);
	refused(two, RNIC_WQE_RDMA_WRITE, key);
	refused(two, RNIC_WQE_ATOMIC_FA, key);
}

/* A library that does not look lets a window reach beyond its region; the device does not. */
static void
test_range_of_the_region(void **state)
{
	struct qw_two *two = *state;
	const struct qw_key_conf conf = { .start = two->in + AT, .length = 4096, .access = DRV_LW };
	const uint32_t mr = qw_key(two->b.end, &conf), before = window(two, true);
	const uint64_t start = (uintptr_t)two->in + AT - 64;
	const struct umr umr = bind(&two->b, true, before, mr, start, 128, ALL_RR_RW);
	const uint32_t key = next_of(before);

	done(two, &umr);
	works_at(two, RNIC_WQE_RDMA_WRITE, key, start + 64, 64);
	refused_at(two, RNIC_WQE_RDMA_WRITE, key, start, 64);
	refused_at(two, RNIC_WQE_RDMA_READ, key, start + 63, 2);
}

static void
test_zero_based_window(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW), key = window(two, true);
	struct umr umr = bind(&two->b, true, key, mr, (uintptr_t)two->in + AT, LENGTH, ALL_RR_RW);

	rnic_mkc_set(&umr.mkc, RNIC_MKC_START_ADDR, 0);
	done(two, &umr);
	works_at(two, RNIC_WQE_RDMA_WRITE, next_of(key), 0, LENGTH);
	assert_memory_equal(two->in + AT, two->out, LENGTH);
	refused_at(two, RNIC_WQE_RDMA_WRITE, next_of(key), LENGTH, 1);
	refused(two, RNIC_WQE_RDMA_WRITE, next_of(key));
}

/* The region goes, the window stays, and leads nowhere. */
static void
test_region_that_is_gone(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW), key = bound(two, true, mr, ALL_RR_RW);

	works(two, RNIC_WQE_RDMA_WRITE, key);
	assert_int_equal(dp_destroy(&two->b.end->dp, RNIC_CMD_DESTROY_MKEY, mr >> 8), 0);
	refused(two, RNIC_WQE_RDMA_WRITE, key);
	refused(two, RNIC_WQE_RDMA_READ, key);
}

static void
test_region_of_another_domain(void **state)
{
	struct qw_two *two = *state;
	uint32_t pd;
	struct qw_key_conf conf = { .start = two->in, .length = QW_BUFFER, .access = DRV_LW };

	pd = dp_create_simple(&two->b.end->dp, RNIC_CMD_ALLOC_PD);
	conf.pd = pd;
	refused(two, RNIC_WQE_RDMA_WRITE, bound(two, true, qw_key(two->b.end, &conf), ALL_RR_RW));
}

/* ---- Bound, unbound, bound again ---- */

static void
test_type_1_is_bound_anew(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW), first = bound(two, false, mr, ALL_RR_RW);
	struct umr umr = bind(&two->b, false, first, mr, (uintptr_t)two->in + AT, 64, DRV_RR);
	uint32_t key = next_of(first);

	done(two, &umr);
	refused(two, RNIC_WQE_RDMA_READ, first);
	works(two, RNIC_WQE_RDMA_READ, key);
	refused(two, RNIC_WQE_RDMA_WRITE, key);
	umr = unbind(false, key);
	done(two, &umr);
	refused(two, RNIC_WQE_RDMA_READ, key);
	key = next_of(key);
	refused(two, RNIC_WQE_RDMA_READ, key);
	umr = bind(&two->b, false, key, mr, (uintptr_t)two->in + AT, 64, DRV_RR);
	done(two, &umr);
	works(two, RNIC_WQE_RDMA_READ, next_of(key));
}

static void
test_type_2_is_invalidated(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW), key = bound(two, true, mr, ALL_RR_RW);
	struct umr umr = unbind(true, key);

	done(two, &umr);
	refused(two, RNIC_WQE_RDMA_WRITE, key);
	refused(two, RNIC_WQE_RDMA_WRITE, key & ~0xffu);
	/* Its users name it by what it was. */
	umr = bind(&two->b, true, key, mr, (uintptr_t)two->in + AT, LENGTH, ALL_RR_RW);
	done(two, &umr);
	works(two, RNIC_WQE_RDMA_WRITE, next_of(key));
	refused(two, RNIC_WQE_RDMA_WRITE, key);
}

/* In the order of the queue: what tells the peer of a key is behind the WQE that makes it. */
static void
test_order(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW);
	uint32_t key = window(two, true);

	for (unsigned int i = 0; i < 3; i++, key = next_of(key)) {
		const struct umr binds =
			bind(&two->b, true, key, mr, (uintptr_t)two->in + AT, LENGTH, ALL_RR_RW);
		const struct umr invalidates = unbind(true, next_of(key));

		put(&two->b, &binds, RNIC_WQE_CE_ON_ERROR);
		put(&two->b, &invalidates, RNIC_WQE_CE_ON_ERROR);
	}
	qw_recv(&two->a, two->out, 64);
	qw_wqe(&two->b, RNIC_WQE_SEND, two->in, 64, NULL, 0, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->b.sq);
	qw_run(&two->qw);
	/* Six of two blocks or three, and not one failed. */
	qw_expect(&two->b_send, RNIC_CQE_REQUESTER, 15, two->b.qpn);
	qw_expect(&two->a_recv, RNIC_CQE_RESPONDER_SEND, 0, two->a.qpn);
}

/* What was lost is sent again, and what was executed is not executed again: a type 2 window would not be free. */
static void
test_executed_once(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW);
	uint32_t key = window(two, true);

	for (unsigned int i = 0; i < 200; i++, key = next_of(key)) {
		const struct umr binds =
			bind(&two->b, true, key, mr, (uintptr_t)two->in + AT, LENGTH, ALL_RR_RW);
		const struct umr invalidates = unbind(true, next_of(key));
		const uint16_t last = (uint16_t)(two->b.sq.producer + 7);

		for (unsigned int n = 0; n < 3; n++)
			qw_recv(&two->a, two->out, 64);
		qw_wqe(&two->b, RNIC_WQE_SEND, two->in, 64, NULL, 0, RNIC_WQE_CE_ON_ERROR);
		put(&two->b, &binds, RNIC_WQE_CE_ON_ERROR);
		qw_wqe(&two->b, RNIC_WQE_SEND, two->in, 64, NULL, 0, RNIC_WQE_CE_ON_ERROR);
		put(&two->b, &invalidates, RNIC_WQE_CE_ON_ERROR);
		qw_wqe(&two->b, RNIC_WQE_SEND, two->in, 64, NULL, 0, RNIC_WQE_CE_ALWAYS);
		dp_sq_ring(&two->b.sq);
		while (dp_cq_peek(&two->b_send) == NULL)
			qw_poll(&two->qw, 1);
		qw_expect(&two->b_send, RNIC_CQE_REQUESTER, last, two->b.qpn);
		forget(two);
	}
}

/* ---- What a WQE may not ask ---- */

static void
test_checks(void **state)
{
	struct qw_two *two = *state;
	const uint32_t mr = region(two, DRV_LW), key = bound(two, true, mr, ALL_RR_RW);
	const uint32_t other = bound(two, false, mr, ALL_RR_RW), empty = window(two, true);
	struct umr umr = bind(&two->b, true, key, mr, (uintptr_t)two->in + AT, 64, DRV_RR);

	/* must be free, and is not */
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* must not be free, and is */
	umr = unbind(true, empty);
	umr.flags = RNIC_WQE_UMR_INLINE | RNIC_WQE_UMR_CHECK_NOT_FREE;
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* must be bound to this queue pair: it is to none */
	umr = unbind(true, other);
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* not its byte */
	umr = unbind(true, key ^ 1);
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* no such key */
	umr = unbind(false, 0x7fff00);
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* one that WQEs may not change */
	umr = unbind(false, mr);
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* more entries than it was made for */
	umr = bind(&two->b, true, empty, mr, (uintptr_t)two->in + AT, 64, DRV_RR);
	umr.entries = ENTRIES + 1;
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* a range that wraps */
	umr = bind(&two->b, true, empty, mr, UINT64_MAX - 62, 64, DRV_RR);
	fails(two, &umr, RNIC_SYND_MW_BIND);
	/* Nothing has changed. */
	works(two, RNIC_WQE_RDMA_WRITE, key);
	works(two, RNIC_WQE_RDMA_WRITE, other);
	works(two, RNIC_WQE_RDMA_WRITE, two->b.end->key);
	umr = bind(&two->b, true, empty, mr, (uintptr_t)two->in + AT, 64, DRV_RR);
	done(two, &umr);
}

/* The answer to what is before it on the way was taken for its own: it was done, said its completion. */
static void
test_failure_behind_a_request_under_way(void **state)
{
	struct qw_two *two = *state;
	const struct umr umr = unbind(true, window(two, true));
	const uint16_t counter = two->b.sq.producer;

	qw_wqe(&two->b, RNIC_WQE_RDMA_WRITE, two->in, 64, two->out, two->a.end->key,
	       RNIC_WQE_CE_ALWAYS);
	put(&two->b, &umr, RNIC_WQE_CE_ALWAYS);
	put(&two->b, &umr, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->b.sq);
	qw_run(&two->qw);
	qw_expect(&two->b_send, RNIC_CQE_REQUESTER, counter, two->b.qpn);
	qw_expect_error(&two->b_send, RNIC_CQE_REQUESTER_ERROR, (uint16_t)(counter + 1),
			RNIC_SYND_MW_BIND, two->b.qpn);
	qw_expect_error(&two->b_send, RNIC_CQE_REQUESTER_ERROR, (uint16_t)(counter + 3),
			RNIC_SYND_WR_FLUSHED, two->b.qpn);
	qw_expect_nothing(&two->b_send);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
}

static void
test_window_of_another_domain(void **state)
{
	struct qw_two *two = *state;
	uint32_t pd, key;
	struct umr umr;

	pd = dp_create_simple(&two->b.end->dp, RNIC_CMD_ALLOC_PD);
	key = window_of(two, true, pd);
	umr = bind(&two->b, true, key, region(two, DRV_LW), (uintptr_t)two->in + AT, 64, DRV_RR);
	fails(two, &umr, RNIC_SYND_MW_BIND);
}

static void
test_form(void **state)
{
	struct qw_two *two = *state;
	const uint32_t key = window(two, true);
	const struct umr good =
		bind(&two->b, true, key, region(two, DRV_LW), (uintptr_t)two->in + AT, 64, DRV_RR);
	struct umr umr;

	for (unsigned int bit = 0; bit < 64; bit++) {
		if (((BIND | RNIC_UMR_MASK_QPN | RNIC_UMR_MASK_EN_RINVAL | RNIC_UMR_MASK_LR) >>
			     bit &
		     1) != 0)
			continue;
		umr = good;
		umr.mask |= UINT64_C(1) << bit;
		fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	}
	for (unsigned int bit = 0; bit < 3; bit++) {
		umr = good;
		umr.flags |= (uint8_t)(1 << bit);
		fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	}
	/* entries that lie elsewhere, that are a part of a list, that are not there */
	umr = good;
	umr.flags &= (uint8_t)~RNIC_WQE_UMR_INLINE;
	fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	umr = good;
	umr.offset = 1;
	fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	umr = good;
	umr.units = 11;
	fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	/* half a context, no control */
	umr = unbind(true, key);
	for (umr.units = 1; umr.units < 8; umr.units++)
		fails(two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
	done(two, &good);
}

/* ---- Whose it is ---- */

static void
test_another_queue_pair(void **state)
{
	struct qw_two *two = *state;
	const struct qw_qp_conf a_conf = qw_two_qp_conf(two, false),
				b_conf = qw_two_qp_conf(two, true);
	const uint32_t key = bound(two, true, region(two, DRV_LW), ALL_RR_RW);
	const struct qw_attr attr = qw_attr();
	struct umr umr = unbind(true, key);
	struct qw_qp a, b;

	qw_two_more(two, &a, &a_conf, &b, &b_conf, &attr);
	/* Neither its peer nor itself. */
	qw_wqe(&a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in + AT, key, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&a.sq);
	qw_run(&two->qw);
	qw_expect_error(&two->a_send, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_REMOTE_ACCESS, a.qpn);
	qw_two_more(two, &a, &a_conf, &b, &b_conf, &attr);
	put(&b, &umr, RNIC_WQE_CE_ON_ERROR);
	dp_sq_ring(&b.sq);
	qw_run(&two->qw);
	qw_expect_error(&two->b_send, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_MW_BIND, b.qpn);
	forget(two);
	works(two, RNIC_WQE_RDMA_WRITE, key);
}

/* A key that CREATE_MKEY bound: for that one's peer, by an address of one piece or of several. */
static void
test_key_that_was_made_for_a_queue_pair(void **state)
{
	struct qw_two *two = *state;
	struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				 .access = DRV_LR | DRV_LW | ALL_RR_RW,
				 .pd = two->b.end->dp.pd,
				 .start = (uintptr_t)two->in,
				 .length = 8192,
				 .log_page_size = 12,
				 .pages = { dp_iova(&two->b.end->dp, two->in), 4096, 2 } };
	uint32_t key;

	mkey.qpn = two->b.qpn;
	assert_int_equal(drv_mkey_create(&two->b.end->dp.drv, &mkey, &key), 0);
	works(two, RNIC_WQE_RDMA_WRITE, key);
	mkey.qpn = two->b.qpn ^ 1;
	assert_int_equal(drv_mkey_create(&two->b.end->dp.drv, &mkey, &key), 0);
	refused(two, RNIC_WQE_RDMA_WRITE, key);
}

/* ---- What QUERY_MKEY says ---- */

static void
test_query(void **state)
{
	struct qw_two *two = *state;
	const uint32_t key = bound(two, true, region(two, DRV_LW), DRV_RR);
	struct umr umr = unbind(true, key);
	struct rnic_mkc mkc = qw_key_query(two->b.end, key);

	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_FREE), 0);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_QPN), two->b.qpn);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_MKEY_7_0), key & 0xff);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_LEN), LENGTH);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_START_ADDR), (uintptr_t)two->in + AT);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_RR), 1);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_RW), 0);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_PD), two->b.end->dp.pd);
	done(two, &umr);
	mkc = qw_key_query(two->b.end, key);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_FREE), 1);
	assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_MKEY_7_0), 0);
}

/* Other types of queue pairs have no such request, whatever it says: nothing is bound, and what they receive goes on. */
static void
test_other_types(void **state)
{
	static const enum rnic_qp_st types[] = { RNIC_QP_ST_UC, RNIC_QP_ST_UD };
	const struct qw_attr attr = qw_attr();

	(void)state;
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct qw_two *two = qw_two_open(&(struct qw_conf){ .pair = true });
		struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
		struct rnic_mkc mkc;
		struct umr umr;
		uint32_t key;

		a.st = b.st = types[i];
		qw_two_more(two, &two->a, &a, &two->b, &b, &attr);
		key = window(two, false);
		umr = bind(&two->b, false, key, region(two, DRV_LR | DRV_LW),
			   (uintptr_t)two->in + AT, LENGTH, DRV_RR);
		put(&two->b, &umr, RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&two->b.sq);
		qw_run(&two->qw);
		qw_expect_error(&two->b_send, RNIC_CQE_REQUESTER_ERROR, 0,
				RNIC_SYND_LOCAL_QP_OPERATION, two->b.qpn);
		assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_SQER);
		mkc = qw_key_query(two->b.end, key);
		assert_int_equal(rnic_mkc_get(&mkc, RNIC_MKC_FREE), 1);
		qw_two_close(two);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_window_of_type_1),
		TEST(test_window_of_type_2),
		TEST(test_rights_of_the_window),
		TEST(test_rights_of_the_region),
		TEST(test_range_of_the_region),
		TEST(test_zero_based_window),
		TEST(test_region_that_is_gone),
		TEST(test_region_of_another_domain),
		TEST(test_type_1_is_bound_anew),
		TEST(test_type_2_is_invalidated),
		TEST(test_order),
		LOSSY(test_executed_once),
		TEST(test_checks),
		TEST(test_failure_behind_a_request_under_way),
		TEST(test_window_of_another_domain),
		TEST(test_form),
		TEST(test_another_queue_pair),
		TEST(test_key_that_was_made_for_a_queue_pair),
		TEST(test_query),
		cmocka_unit_test(test_other_types),
	};

	return cmocka_run_group_tests_name("qp_umr", tests, NULL, NULL);
}
