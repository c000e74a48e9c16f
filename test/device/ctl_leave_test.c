/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The end of all objects, at a reset and at TEARDOWN_HCA: of many of them it takes several rounds, so that nobody waits
 * for it. Meanwhile the device does nothing else and touches no memory, and then it is as after power-on.
 */
#include <stdlib.h>

#include "ctl_fixture.h"
#include "tpt_key.h"

#define CQS	     3000u
#define KEYS	     12000u
#define IN_A_ROUND   1024u
#define INITIALIZING (UINT32_C(1) << 31)
#define LONG_RINGS   48u
#define LOG_LONG     22
#define LONG_PAGES   (1u << (LOG_LONG - 6))
#define LONG_AT_ONCE 8u

struct fixture {
	struct hn hn;
	uint32_t uar, cq_uar;
	struct hn_eq eq;
	struct hn_cq cq; /* of the last number, with an entry that nobody has seen */
	uint32_t objects;
};

static void
send_nop(struct fixture *f, uint32_t pd)
{
	struct hn *hn = &f->hn;
	uint32_t td = hn_alloc_object(hn, RNIC_CMD_ALLOC_TRANSPORT_DOMAIN);
	struct rnic_wqe_ctrl *wqe;
	struct hn_wq sq;

	hn_create_sq(hn, &sq, pd, f->cq_uar, f->cq.number, hn_create_tis(hn, td), 2);
	assert_int_equal(hn_modify_sq(hn, sq.number, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	wqe = hn_va(hn, sq.iova);
	wqe->opmod_idx_opcode = rnic_cpu_to_be32(RNIC_WQE_NOP);
	wqe->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(sq.number, 1));
	wqe->fm_ce_se = RNIC_WQE_CE_ALWAYS;
	((struct rnic_be32 *)hn_va(hn, sq.dbrec))[1] = rnic_cpu_to_be32(1);
	ctl_poll(hn, 10);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct drv_mkey key = { .mode = RNIC_MKEY_PA, .length64 = true };
	struct hn *hn = &f->hn;
	struct softrnic_stats stats;

	assert_non_null(f);
	hn_start(hn, NULL, NULL);
	hn_bring_up(hn);
	f->uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	f->cq_uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	key.pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	hn_create_eq(hn, &f->eq, f->uar, 4, UINT64_C(1) << RNIC_EVENT_PORT_CHANGE, 0);
	for (uint32_t i = 0; i < KEYS; i++)
		key_create_ok(hn, &key);
	for (uint32_t i = 0; i < CQS; i++)
		hn_create_cq(hn, &f->cq, f->cq_uar, f->eq.number, 2);
	send_nop(f, key.pd);
	stats = ctl_stats(hn);
	assert_int_equal(stats.cqes, 1);
	f->objects = stats.objects;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	hn_stop(&f->hn);
	free(f);
	return 0;
}

/* Doorbells of queues that have not gone yet: they would have an event written, if anybody obeyed them. */
static void
ring(struct fixture *f)
{
	const uint64_t page = (uint64_t)f->cq_uar * RNIC_UAR_PAGE_BYTES;

	hn_eq_arm(&f->hn, &f->eq);
	hn_write64(&f->hn, page + RNIC_UAR_CQ_ARM, f->cq.number);
	hn_write64(&f->hn, page + RNIC_UAR_CQ_ARM, UINT64_C(1) << 60 | f->cq.number);
}

/* Some of them have gone. */
static void
expect_piece(struct fixture *f)
{
	assert_in_range(f->objects - ctl_stats(&f->hn).objects, 1, IN_A_ROUND);
}

/* Round after round some more go. How many rounds there were. */
static unsigned int
expect_pieces(struct fixture *f)
{
	uint32_t left = ctl_stats(&f->hn).objects, before;
	unsigned int rounds = 0;

	while (left > 0) {
		ring(f);
		before = left;
		softrnic_poll(f->hn.poller);
		left = ctl_stats(&f->hn).objects;
		assert_in_range(before - left, 1, IN_A_ROUND);
		rounds++;
	}
	return rounds;
}

static uint32_t
initializing(struct fixture *f)
{
	return hn_read32(&f->hn, RNIC_FIELD_OFFSET(RNIC_ISEG_INITIALIZING)) & INITIALIZING;
}

static void
test_a_reset_takes_rounds(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->hn;
	uint8_t *before = malloc(hn->used);
	struct rnic_function_in enable = { 0 };

	assert_non_null(before);
	memcpy(before, hn->memory, hn->used);
	assert_int_equal(softrnic_reset(hn->dev), 0);
	expect_piece(f);
	/* The function says that it is not there yet. */
	assert_int_equal(initializing(f), INITIALIZING);
	assert_in_range(expect_pieces(f), 2, 100);
	assert_int_equal(initializing(f), 0);
	assert_memory_equal(before, hn->memory, hn->used);
	free(before);
	/* What is asked meanwhile is answered then. */
	hn_set_cmdq(hn);
	hn_head(&enable, RNIC_CMD_ENABLE_HCA, 0);
	hn_cmd_ok(hn, &enable, sizeof(enable), &enable, sizeof(enable));
}

/* As long as queues can be, and all of it the same page. */
static void
create_long_cq(struct fixture *f, uint64_t page)
{
	assert_int_equal(
		drv_cq_create(&f->hn.drv,
			      &(struct drv_cq){ .log_size = LOG_LONG,
						.uar = f->cq_uar,
						.eqn = f->eq.number,
						.dbrec = hn_alloc(&f->hn, 64, 64),
						.ring = { .iova = page, .count = LONG_PAGES } },
			      NULL),
		RNIC_STATUS_OK);
}

/* Page lists of queues are much memory as well, which the system takes back page by page. */
static void
test_long_rings_go_in_rounds(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint32_t left, before;
	uint64_t page;

	assert_non_null(f);
	*state = f;
	hn_start(&f->hn, NULL, NULL);
	hn_bring_up(&f->hn);
	f->uar = hn_alloc_object(&f->hn, RNIC_CMD_ALLOC_UAR);
	f->cq_uar = hn_alloc_object(&f->hn, RNIC_CMD_ALLOC_UAR);
	hn_create_eq(&f->hn, &f->eq, f->uar, 4, UINT64_C(1) << RNIC_EVENT_PORT_CHANGE, 0);
	page = hn_alloc(&f->hn, 4096, 4096);
	for (uint32_t i = 0; i < LONG_RINGS; i++)
		create_long_cq(f, page);
	before = ctl_stats(&f->hn).objects;
	assert_true(before > LONG_RINGS);
	assert_int_equal(softrnic_reset(f->hn.dev), 0);
	for (; before > 0; before = left) {
		left = ctl_stats(&f->hn).objects;
		assert_in_range(before - left, 0, LONG_AT_ONCE);
		softrnic_poll(f->hn.poller);
	}
}

static void
test_commands_wait_for_the_end_of_a_reset(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->hn;
	struct rnic_function_in enable = { 0 };
	uint8_t out[16];

	assert_int_equal(softrnic_reset(hn->dev), 0);
	hn_set_cmdq(hn);
	hn_head(&enable, RNIC_CMD_ENABLE_HCA, 0);
	hn_cmd_post(hn, 0, &enable, sizeof(enable), sizeof(out));
	hn_ring(hn, 1);
	while (ctl_stats(&f->hn).objects > 0) {
		assert_int_equal(hn_cmd_result(hn, 0, out, sizeof(out)), HN_PENDING);
		softrnic_poll(hn->poller);
	}
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 0, out, sizeof(out)), 0);
	/* A second one finds nothing to do. */
	assert_int_equal(softrnic_reset(hn->dev), 0);
	assert_int_equal(initializing(f), 0);
}

static void
test_a_teardown_takes_rounds(void **state)
{
	struct rnic_teardown_hca_in in = { 0 };
	struct rnic_function_in init = { 0 };
	struct fixture *f = *state;
	struct hn *hn = &f->hn;
	uint8_t out[16], nop[16] = { 0 };

	hn_head(&in, RNIC_CMD_TEARDOWN_HCA, 0);
	hn_head(nop, RNIC_CMD_NOP, 0);
	hn_cmd_post(hn, 3, &in, sizeof(in), sizeof(out));
	hn_cmd_post(hn, 5, nop, sizeof(nop), sizeof(out));
	hn_ring(hn, 1 << 3 | 1 << 5);
	softrnic_poll(hn->poller);
	expect_piece(f);
	assert_int_equal(hn_cmd_result(hn, 3, out, sizeof(out)), HN_PENDING);
	assert_int_equal(hn_cmd_result(hn, 5, out, sizeof(out)), HN_PENDING);
	assert_in_range(expect_pieces(f), 2, 100);
	softrnic_poll(hn->poller);
	assert_int_equal(hn_cmd_result(hn, 3, out, sizeof(out)), 0);
	assert_int_equal(hn_cmd_result(hn, 5, out, sizeof(out)), 0);
	hn_head(&init, RNIC_CMD_INIT_HCA, 0);
	hn_cmd_ok(hn, &init, sizeof(init), &init, sizeof(init));
	assert_int_equal(hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), f->uar);
}

/* A reset in the middle of it: nobody waits for the command any more. */
static void
test_a_reset_ends_a_teardown(void **state)
{
	struct rnic_teardown_hca_in in = { 0 };
	struct fixture *f = *state;
	struct hn *hn = &f->hn;
	uint8_t out[16];

	hn_head(&in, RNIC_CMD_TEARDOWN_HCA, 0);
	hn_cmd_post(hn, 0, &in, sizeof(in), sizeof(out));
	hn_ring(hn, 1);
	softrnic_poll(hn->poller);
	expect_piece(f);
	assert_int_equal(softrnic_reset(hn->dev), 0);
	while (ctl_stats(&f->hn).objects > 0)
		softrnic_poll(hn->poller);
	ctl_poll(hn, 10);
	assert_int_equal(hn_cmd_result(hn, 0, out, sizeof(out)), HN_PENDING);
	hn_set_cmdq(hn);
	hn_bring_up(hn);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reset_takes_rounds),
		cmocka_unit_test_teardown(test_long_rings_go_in_rounds, teardown),
		T(commands_wait_for_the_end_of_a_reset),
		T(a_teardown_takes_rounds),
		T(a_reset_ends_a_teardown),
	};

	return cmocka_run_group_tests_name("ctl_leave", tests, NULL, NULL);
}
