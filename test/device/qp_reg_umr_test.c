/* SPDX-License-Identifier: BSD-3-Clause */

/* The queue pair by which Linux' kernel changes memory keys (REG_UMR): it is of no domain, has no peer, and changes keys of all. */
#include "qp_umr.h"

#define NO_KEY	   0xffffff00u
#define MKEY_BYTES (RNIC_UMR_MASK_PD | RNIC_UMR_MASK_LR | RNIC_UMR_MASK_LW | RIGHTS)

struct fixture {
	struct qw_two *two; /* a's peer is b; keys are of b's end */
	struct qw_qp umr;
	uint32_t pd; /* another one than b's */
};

static struct qw_qp_conf
umr_conf(struct qw_two *two)
{
	struct qw_qp_conf conf = qw_two_qp_conf(two, true);

	conf.st = RNIC_QP_ST_REG_UMR;
	conf.no_rq = true;
	conf.pd = NO_KEY; /* not looked at */
	return conf;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct qw_qp_conf conf;
	int rc;

	assert_non_null(f);
	rc = qw_setup(state, &(struct qw_conf){ .pair = true }, NULL);
	f->two = *state;
	f->pd = dp_create_simple(&f->two->b.end->dp, RNIC_CMD_ALLOC_PD);
	conf = umr_conf(f->two);
	assert_int_equal(qw_qp_create(f->two->b.end, &f->umr, &conf), 0);
	/* Without a path, and with an MTU that the port does not have. */
	for (unsigned int i = 0; i < 3; i++) {
		static const uint16_t changes[] = { RNIC_CMD_RST2INIT_QP, RNIC_CMD_INIT2RTR_QP,
						    RNIC_CMD_RTR2RTS_QP };
		struct qw_attr attr = qw_attr();

		attr.mtu = RNIC_QP_MTU_4096;
		assert_int_equal(qw_qp_modify(&f->umr, changes[i], NULL, &attr), 0);
	}
	*state = f;
	return rc;
}

/* All of b's memory, in pages, as a memory region has it; WQEs may change it. */
static uint32_t
region_of(struct fixture *f, uint32_t pd, uint32_t access)
{
	struct dp *dp = &f->two->b.end->dp;
	const struct drv_mkey mkey = { .mode = RNIC_MKEY_MTT,
				       .access = access,
				       .log_page_size = DP_LOG_BYTES,
				       .pd = pd,
				       .start = (uintptr_t)dp->memory,
				       .length = DP_BYTES,
				       .pages = { .iova = DP_IOVA, .count = 1 },
				       .umr = true,
				       .variant = 0x31 };
	uint32_t key;

	assert_int_equal(drv_mkey_create(&dp->drv, &mkey, &key), 0);
	return key;
}

/* Domain and rights, as Linux writes them for ibv_rereg_mr(): no translations, and no segment behind the context. */
static struct umr
rereg(uint32_t key, uint32_t pd, uint32_t access)
{
	struct umr umr = { .key = key, .mask = MKEY_BYTES };

	rnic_mkc_set(&umr.mkc, RNIC_MKC_PD, pd);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LR, 1);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LW, (access & DRV_LW) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RR, (access & DRV_RR) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RW, (access & DRV_RW) != 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_A, (access & DRV_A) != 0);
	return umr;
}

static void
execute(struct fixture *f, const struct umr *umr)
{
	const uint16_t counter = f->umr.sq.producer;

	put(&f->umr, umr, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->umr.sq);
	qw_run(&f->two->qw);
	qw_expect(&f->two->b_send, RNIC_CQE_REQUESTER, counter, f->umr.qpn);
}

static void
test_a_key_gets_another_domain_and_other_rights(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	const uint32_t key = region_of(f, f->pd, DRV_LR);
	struct umr umr = rereg(key, dp->pd, DRV_LW | DRV_RW);

	refused(f->two, RNIC_WQE_RDMA_WRITE, key);
	execute(f, &umr);
	works(f->two, RNIC_WQE_RDMA_WRITE, key);
	assert_memory_equal(f->two->in + AT, f->two->out, 64);
	refused(f->two, RNIC_WQE_RDMA_READ, key);
	/* The one before is referred to no longer, the new one is. */
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DEALLOC_PD, f->pd), 0);
	f->pd = dp_create_simple(dp, RNIC_CMD_ALLOC_PD);
	umr = rereg(key, f->pd, ALL_RR_RW);
	execute(f, &umr);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DEALLOC_PD, f->pd), RNIC_STATUS_RES_BUSY);
	refused(f->two, RNIC_WQE_RDMA_WRITE, key);
}

/* Linux' ibv_reg_mr(): the pages are elsewhere, by a key of a domain that neither the queue pair nor the key is of. */
static void
test_list_by_a_key_of_another_domain(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	const struct drv_mkey memory = {
		.mode = RNIC_MKEY_PA, .access = DRV_LR, .pd = f->pd, .length64 = true
	};
	const struct drv_mkey empty = { .mode = RNIC_MKEY_MTT,
					.log_page_size = 12,
					.pd = dp->pd,
					.free = true,
					.umr = true,
					.room = 4 };
	struct rnic_be64 *list = dp_alloc(dp, 64, 64);
	struct rnic_wqe_data data = { .byte_count = rnic_cpu_to_be32(64) };
	struct umr umr = { .flags = RNIC_WQE_UMR_TRANSLATION_OFFSET | RNIC_WQE_UMR_CHECK_FREE,
			   .mask = MKEY_BYTES | RNIC_UMR_MASK_LEN | RNIC_UMR_MASK_START_ADDR |
				   RNIC_UMR_MASK_PAGE_SIZE | RNIC_UMR_MASK_FREE,
			   .entries = 4,
			   .list = &data,
			   .list_bytes = sizeof(data) };
	uint32_t key;

	assert_non_null(list);
	assert_int_equal(drv_mkey_create(&dp->drv, &memory, &key), 0);
	data.lkey = rnic_cpu_to_be32(key);
	data.address = rnic_cpu_to_be64(dp_iova(dp, list));
	for (unsigned int i = 0; i < 8; i++)
		list[i] = rnic_cpu_to_be64(dp_iova(dp, f->two->in) + i * 4096ul);
	assert_int_equal(drv_mkey_create(&dp->drv, &empty, &umr.key), 0);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_PD, dp->pd);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LW, 1);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_RW, 1);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LOG_PAGE_SIZE, 12);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_START_ADDR, (uintptr_t)f->two->in);
	rnic_mkc_set(&umr.mkc, RNIC_MKC_LEN, 8 * 4096);
	execute(f, &umr);
	works(f->two, RNIC_WQE_RDMA_WRITE, umr.key);
	assert_memory_equal(f->two->in + AT, f->two->out, 64);
}

/* A WQE that fails changes nothing, and its queue pair is in ERR. */
static void
test_a_domain_that_is_none(void **state)
{
	struct fixture *f = *state;
	const uint32_t key = region_of(f, f->two->b.end->dp.pd, DRV_LR | DRV_LW | DRV_RW);
	const struct umr umr = rereg(key, 0xbad, DRV_RR);

	put(&f->umr, &umr, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->umr.sq);
	qw_run(&f->two->qw);
	qw_expect_error(&f->two->b_send, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_MW_BIND,
			f->umr.qpn);
	assert_int_equal(qw_qp_state(&f->umr), RNIC_QP_STATE_ERR);
	works(f->two, RNIC_WQE_RDMA_WRITE, key);
}

/* What users' queue pairs may not: another domain, also for a key of their own. */
static void
test_a_connection_changes_no_domain(void **state)
{
	struct fixture *f = *state;
	const uint32_t key = region_of(f, f->two->b.end->dp.pd, DRV_LR);
	const struct umr umr = rereg(key, f->two->b.end->dp.pd, DRV_RR);

	fails(f->two, &umr, RNIC_SYND_LOCAL_QP_OPERATION);
}

static void
test_it_sends_nothing(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_FA, RNIC_WQE_SEND_INVAL };
	struct fixture *f = *state;
	struct qw_qp_conf conf = umr_conf(f->two);
	const struct qw_attr attr = qw_attr();
	struct qw_qp qp;

	for (unsigned int i = 0; i < sizeof(opcodes); i++) {
		assert_int_equal(qw_qp_create(f->two->b.end, &qp, &conf), 0);
		assert_int_equal(qw_qp_modify(&qp, RNIC_CMD_RST2INIT_QP, NULL, &attr), 0);
		assert_int_equal(qw_qp_modify(&qp, RNIC_CMD_INIT2RTR_QP, NULL, &attr), 0);
		assert_int_equal(qw_qp_modify(&qp, RNIC_CMD_RTR2RTS_QP, NULL, &attr), 0);
		dp_wqe(&qp.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
		qw_wqe(&qp, opcodes[i], f->two->in, 8, f->two->in, f->two->b.end->key,
		       RNIC_WQE_CE_ALWAYS);
		dp_sq_ring(&qp.sq);
		qw_run(&f->two->qw);
		qw_expect(&f->two->b_send, RNIC_CQE_REQUESTER, 0, qp.qpn);
		qw_expect_error(&f->two->b_send, RNIC_CQE_REQUESTER_ERROR, 1,
				RNIC_SYND_LOCAL_QP_OPERATION, qp.qpn);
		assert_int_equal(qw_qp_destroy(&qp), 0);
	}
	assert_int_equal(dp_stats(&f->two->b.end->dp).tx_packets, 0);
}

/* Whatever a peer sends to its number. */
static void
test_it_receives_nothing(void **state)
{
	struct fixture *f = *state;
	const struct qw_attr attr = qw_attr();
	const struct softrnic_stats before = dp_stats(&f->two->b.end->dp);

	qw_qp_to(&f->two->a, RNIC_CMD_2RST_QP);
	f->two->a.sq.producer = 0;
	dp_sq_record(&f->two->a.sq);
	assert_int_equal(qw_qp_modify(&f->two->a, RNIC_CMD_RST2INIT_QP, NULL, &attr), 0);
	assert_int_equal(qw_qp_modify(&f->two->a, RNIC_CMD_INIT2RTR_QP, &f->umr, &attr), 0);
	assert_int_equal(qw_qp_modify(&f->two->a, RNIC_CMD_RTR2RTS_QP, NULL, &attr), 0);
	qw_write(f->two, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->two->a.sq);
	qw_poll(&f->two->qw, 10);
	qw_expect_nothing(&f->two->a_send);
	assert_int_equal(dp_stats(&f->two->b.end->dp).roce_dropped, before.roce_dropped + 1);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_key_gets_another_domain_and_other_rights),
		TEST(test_list_by_a_key_of_another_domain),
		TEST(test_a_domain_that_is_none),
		TEST(test_a_connection_changes_no_domain),
		TEST(test_it_sends_nothing),
		TEST(test_it_receives_nothing),
	};

	return cmocka_run_group_tests_name("qp_reg_umr", tests, NULL, NULL);
}
