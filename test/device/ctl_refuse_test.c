/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Refusals: for every command of the device's table, in a wrong state, too short, and wrong in each way that a row of
 * ctl_refuse_rows.c names. A row takes a good input, changes one field, and expects one status; then the good input
 * must work, so that no row is refused for another reason than its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ctl_refuse.h"
#include "driver/qp.h"
#include "prm/cmd_table.h"
/* Commands, and how many objects there may be, are taken from the device's tables, so that none is left out. */
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/hca/cmd_table.h"

#define OUT_ROOM 0x1010

/* Commands whose good input fails the second time, and how. */
static const struct {
	uint16_t opcode;
	int status;
} once[] = {
	{ RNIC_CMD_ENABLE_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_INIT_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_TEARDOWN_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_DISABLE_HCA, RNIC_STATUS_BAD_SYS_STATE },
	{ RNIC_CMD_DESTROY_MKEY, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_EQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_CQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_SQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_RQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_TIR, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_TIS, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_RQT, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_FLOW_TABLE, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_FLOW_GROUP, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DELETE_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_CREATE_FLOW_GROUP, RNIC_STATUS_BAD_PARAM },
	{ RNIC_CMD_SET_FLOW_TABLE_ENTRY, RNIC_STATUS_BAD_PARAM },
	{ RNIC_CMD_MODIFY_SQ, RNIC_STATUS_BAD_RES_STATE },
	{ RNIC_CMD_MODIFY_RQ, RNIC_STATUS_BAD_RES_STATE },
	{ RNIC_CMD_DESTROY_QP, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_RST2INIT_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_INIT2RTR_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_RTR2RTS_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_SQERR2RTS_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_RTS2SQD_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_SQD_RTS_QP, RNIC_STATUS_BAD_QP_STATE },
	{ RNIC_CMD_DESTROY_RMP, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DESTROY_XRC_SRQ, RNIC_STATUS_BAD_RES },
	{ RNIC_CMD_DETACH_FROM_MCG, RNIC_STATUS_BAD_RES },
};

#define ONCE (sizeof(once) / sizeof(once[0]))

/* Commands without an argument: all they can be is too many, too short, or too early. */
static const struct {
	uint16_t opcode;
	enum softrnic_object_type type;
	uint32_t there; /* in the world */
} allocations[] = {
	{ RNIC_CMD_ALLOC_PD, SOFTRNIC_PD, 3 },
	{ RNIC_CMD_ALLOC_UAR, SOFTRNIC_UAR, 2 },
	{ RNIC_CMD_ALLOC_TRANSPORT_DOMAIN, SOFTRNIC_TD, 2 },
	{ RNIC_CMD_ALLOC_XRCD, SOFTRNIC_XRCD, 2 },
	{ RNIC_CMD_ALLOC_Q_COUNTER, SOFTRNIC_Q_COUNTER, 2 },
};

#define ALLOCATIONS (sizeof(allocations) / sizeof(allocations[0]))

static const uint16_t early_only[] = { RNIC_CMD_QUERY_ADAPTER, RNIC_CMD_QUERY_ISSI, RNIC_CMD_NOP,
				       RNIC_CMD_QUERY_SPECIAL_CONTEXTS };

static int
send_input(struct world *w, const void *in, uint32_t bytes)
{
	static uint8_t out[OUT_ROOM];

	return hn_cmd(&w->hn, in, bytes, out, sizeof(out));
}

/* The command's good input. */
static int
run_good(struct world *w, uint16_t opcode)
{
	world_good(w, opcode);
	return world_run(w, NULL);
}

static void
every_row(void **state)
{
	static uint8_t bad[IN_ROOM];
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < refusal_count; i++) {
		const struct refusal *row = &refusals[i];
		uint64_t value = row->value;
		struct softrnic_stats before, after;
		int status;

		world_make_for(&w, row->opcode);
		memcpy(bad, world_good(&w, row->opcode), sizeof(bad));
		if (row->from != 0)
			value = *(uint32_t *)((uint8_t *)&w + row->from);
		if (row->length == 0)
			rnic_field_set((struct rnic_be32 *)(void *)bad, row->field, value);
		before = ctl_stats(&w.hn);
		status = send_input(&w, bad, w.in_bytes - row->length);
		after = ctl_stats(&w.hn);
		if (status != row->status)
			fail_msg("0x%x, %s: status 0x%x, expected 0x%x", row->opcode, row->what,
				 status, row->status);
		/* A refusal leaves nothing behind. */
		assert_int_equal(after.objects, before.objects);
		assert_int_equal(after.commands_failed, before.commands_failed + 1);
		status = world_run(&w, NULL);
		if (status != RNIC_STATUS_OK)
			fail_msg("0x%x, behind %s: the good input got status 0x%x", row->opcode,
				 row->what, status);
		hn_stop(&w.hn);
	}
}

static void
what_works_only_once(void **state)
{
	struct world w;
	int status;

	(void)state;
	for (unsigned int i = 0; i < ONCE; i++) {
		world_make_for(&w, once[i].opcode);
		assert_int_equal(run_good(&w, once[i].opcode), RNIC_STATUS_OK);
		status = world_run(&w, NULL);
		if (status != once[i].status)
			fail_msg("0x%x for the second time: status 0x%x, expected 0x%x",
				 once[i].opcode, status, once[i].status);
		hn_stop(&w.hn);
	}
}

/* What prepares a function is refused once it is ready. */
static void
preparations_in_a_ready_function(void **state)
{
	static const uint16_t opcodes[] = { RNIC_CMD_ENABLE_HCA, RNIC_CMD_DISABLE_HCA,
					    RNIC_CMD_INIT_HCA, RNIC_CMD_SET_HCA_CAP,
					    RNIC_CMD_SET_ISSI };
	struct world *w = *state;

	for (unsigned int i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		int status = run_good(w, opcodes[i]);

		if (status != RNIC_STATUS_BAD_SYS_STATE)
			fail_msg("0x%x in a ready function: status 0x%x", opcodes[i], status);
	}
}

static void
tables_of_created_objects_have_an_end(void **state)
{
	static const struct {
		uint16_t opcode;
		enum softrnic_object_type type;
	} creations[] = {
		{ RNIC_CMD_CREATE_MKEY, SOFTRNIC_MKEY },
		{ RNIC_CMD_CREATE_EQ, SOFTRNIC_EQ },
		{ RNIC_CMD_CREATE_CQ, SOFTRNIC_CQ },
		{ RNIC_CMD_CREATE_TIS, SOFTRNIC_TIS },
		{ RNIC_CMD_CREATE_TIR, SOFTRNIC_TIR },
		{ RNIC_CMD_CREATE_RQT, SOFTRNIC_RQT },
		{ RNIC_CMD_CREATE_SQ, SOFTRNIC_SQ },
		{ RNIC_CMD_CREATE_RQ, SOFTRNIC_RQ },
		{ RNIC_CMD_CREATE_FLOW_TABLE, SOFTRNIC_FLOW_TABLE },
		{ RNIC_CMD_CREATE_QP, SOFTRNIC_QP },
		{ RNIC_CMD_CREATE_RMP, SOFTRNIC_RMP },
		{ RNIC_CMD_CREATE_XRC_SRQ, SOFTRNIC_RMP },
	};
	struct world *w = *state;

	for (unsigned int i = 0; i < sizeof(creations) / sizeof(creations[0]); i++) {
		const struct softrnic_object_table *table = &w->hn.dev->tables[creations[i].type];
		int status;

		world_good(w, creations[i].opcode);
		do {
			status = world_run(w, NULL);
		} while (status == RNIC_STATUS_OK);
		if (status != RNIC_STATUS_LIM ||
		    table->used != softrnic_object_limit(creations[i].type))
			fail_msg("0x%x behind %u objects: status 0x%x", creations[i].opcode,
				 table->used, status);
	}
}

static void
tables_have_an_end(void **state)
{
	struct world *w = *state;
	struct drv *drv = &w->hn.drv;

	for (unsigned int i = 0; i < ALLOCATIONS; i++) {
		const uint16_t opcode = allocations[i].opcode;
		uint32_t count = softrnic_object_limit(allocations[i].type), number, seen = 0;

		for (uint32_t n = allocations[i].there; n < count; n++) {
			assert_int_equal(drv_simple(drv, opcode, 0, &number), RNIC_STATUS_OK);
			assert_int_not_equal(number, seen);
			seen = number;
		}
		assert_int_equal(drv_simple(drv, opcode, 0, NULL), RNIC_STATUS_LIM);
		/* One back, and there is room for one. */
		assert_int_equal(drv_destroy(drv, opcode + 1, number), RNIC_STATUS_OK);
		assert_int_equal(drv_simple(drv, opcode, 0, NULL), RNIC_STATUS_OK);
		assert_int_equal(drv_simple(drv, opcode, 0, NULL), RNIC_STATUS_LIM);
	}
}

static void
every_opcode_in_a_state_below_its_own(void **state)
{
	uint8_t in[IN_ROOM] = { 0 };
	struct world w;

	(void)state;
	for (enum world_state below = WORLD_OFF; below < WORLD_READY; below++) {
		world_make(&w, below);
		for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
			const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
			int status;

			if ((enum world_state)desc->state <= below)
				continue;
			hn_head(in, desc->opcode, 0);
			status = send_input(&w, in, sizeof(in));
			if (status != RNIC_STATUS_BAD_SYS_STATE)
				fail_msg("%s in state %u: status 0x%x", desc->name, below, status);
		}
		hn_stop(&w.hn);
	}
}

static void
every_opcode_one_byte_too_short(void **state)
{
	uint8_t in[IN_ROOM] = { 0 };
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
		int status;

		assert_true(desc->in_bytes >= 8);
		world_make(&w, (enum world_state)desc->state);
		hn_head(in, desc->opcode, 0);
		status = send_input(&w, in, desc->in_bytes - 1);
		/* Less than a header does not even get delivered. */
		if (status != (desc->in_bytes == 8 ? HN_DELIVERY(RNIC_DELIVERY_INPUT_LENGTH_ERR)
						   : RNIC_STATUS_BAD_INP_LEN))
			fail_msg("%s with %u bytes: status 0x%x", desc->name, desc->in_bytes - 1,
				 status);
		hn_stop(&w.hn);
	}
}

static void
every_opcode_with_the_shortest_output(void **state)
{
	uint8_t out[8];
	struct world w;

	(void)state;
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		const struct softrnic_cmd_desc *desc = &softrnic_cmd_table[i];
		int status;

		world_make_for(&w, desc->opcode);
		world_good(&w, desc->opcode);
		status = hn_cmd(&w.hn, w.in, w.in_bytes, out, sizeof(out));
		if (status != RNIC_STATUS_OK)
			fail_msg("%s with 8 bytes of output: status 0x%x", desc->name, status);
		hn_stop(&w.hn);
	}
}

static void
unknown_opcodes(void **state)
{
	static const uint16_t unknown[] = { 0x000, 0x0ff, 0x106, 0x10c, 0x10d, 0x50d, 0x510,
					    0x700, 0x762, 0x808, 0x910, 0xa05, 0xb00, 0xffff };
	uint8_t in[64] = { 0 };

	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		hn_head(in, unknown[i], 0);
		assert_int_equal(send_input(*state, in, sizeof(in)), RNIC_STATUS_BAD_OP);
	}
}

/* As they are of every device that is not given the capability. */
static void
the_switch_s_table_without_the_capability(void **state)
{
	struct world w = { 0 };

	(void)state;
	hn_start(&w.hn, NULL, NULL);
	hn_bring_up(&w.hn);
	assert_int_equal(run_good(&w, RNIC_CMD_SET_L2_TABLE_ENTRY), RNIC_STATUS_BAD_OP);
	assert_int_equal(run_good(&w, RNIC_CMD_DELETE_L2_TABLE_ENTRY), RNIC_STATUS_BAD_OP);
	hn_stop(&w.hn);
}

static bool
covered(uint16_t opcode)
{
	for (unsigned int i = 0; i < refusal_count; i++) {
		if (refusals[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < ONCE; i++) {
		if (once[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < ALLOCATIONS; i++) {
		if (allocations[i].opcode == opcode)
			return true;
	}
	for (unsigned int i = 0; i < sizeof(early_only) / sizeof(early_only[0]); i++) {
		if (early_only[i] == opcode)
			return true;
	}
	return false;
}

static void
no_opcode_is_left_out(void **state)
{
	(void)state;
	assert_true(softrnic_cmd_table_size > 60);
	for (unsigned int i = 0; i < softrnic_cmd_table_size; i++) {
		if (!covered(softrnic_cmd_table[i].opcode))
			fail_msg("%s has no refusal here", softrnic_cmd_table[i].name);
		/* Dumps know it. */
		assert_string_equal(rnic_cmd_name(softrnic_cmd_table[i].opcode),
				    softrnic_cmd_table[i].name);
		/* The table is searched by halves. */
		if (i > 0)
			assert_true(softrnic_cmd_table[i - 1].opcode <
				    softrnic_cmd_table[i].opcode);
	}
}

static void
destroy_flows(struct world *w)
{
	struct drv *drv = &w->hn.drv;

	assert_int_equal(drv_fte_delete(drv, w->table, 0), 0);
	assert_int_equal(drv_group_destroy(drv, w->table, w->group), 0);
	assert_int_equal(drv_group_destroy(drv, w->table, w->loose_group), 0);
	assert_int_equal(drv_table_destroy(drv, w->table), 0);
	assert_int_equal(drv_table_destroy(drv, w->loose_table), 0);
	assert_int_equal(drv_flow_counter_dealloc(drv, w->flow_counter), 0);
	assert_int_equal(drv_flow_counter_dealloc(drv, w->loose_flow_counter), 0);
}

/* Everything of the world destroyed in a good order: nothing is left. */
static void
nothing_is_left_when_all_is_destroyed(void **state)
{
	struct world *w = *state;
	const struct {
		uint16_t opcode;
		uint32_t number;
	} order[] = {
		{ RNIC_CMD_DESTROY_TIR, w->tir },
		{ RNIC_CMD_DESTROY_TIR, w->loose_tir },
		{ RNIC_CMD_DESTROY_TIR, w->indirect_tir },
		{ RNIC_CMD_DESTROY_RQT, w->rqt },
		{ RNIC_CMD_DESTROY_RQT, w->loose_rqt },
		{ RNIC_CMD_DESTROY_RQ, w->rq.number },
		{ RNIC_CMD_DESTROY_RQ, w->loose_rq.number },
		{ RNIC_CMD_DESTROY_SQ, w->sq.number },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_RST] },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_INIT] },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_RTR] },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_RTS] },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_SQER] },
		{ RNIC_CMD_DESTROY_QP, w->qps[RNIC_QP_STATE_SQD] },
		{ RNIC_CMD_DESTROY_QP, w->datagram },
		{ RNIC_CMD_DESTROY_RMP, w->rmp },
		{ RNIC_CMD_DESTROY_RMP, w->loose_rmp },
		{ RNIC_CMD_DESTROY_XRC_SRQ, w->xrc_srq },
		{ RNIC_CMD_DEALLOC_XRCD, w->xrcd },
		{ RNIC_CMD_DEALLOC_XRCD, w->loose_xrcd },
		{ RNIC_CMD_DESTROY_TIS, w->tis },
		{ RNIC_CMD_DESTROY_TIS, w->loose_tis },
		{ RNIC_CMD_DESTROY_CQ, w->cq.number },
		{ RNIC_CMD_DESTROY_CQ, w->loose_cq.number },
		{ RNIC_CMD_DESTROY_EQ, w->eq.number },
		{ RNIC_CMD_DESTROY_EQ, w->loose_eq.number },
		{ RNIC_CMD_DESTROY_MKEY, w->mkey >> 8 },
		{ RNIC_CMD_DESTROY_MKEY, w->umem_key >> 8 },
		{ RNIC_CMD_DESTROY_UMEM, w->umem },
		{ RNIC_CMD_DESTROY_UMEM, w->loose_umem },
		{ RNIC_CMD_DEALLOC_Q_COUNTER, w->counter },
		{ RNIC_CMD_DEALLOC_Q_COUNTER, w->loose_counter },
		{ RNIC_CMD_DEALLOC_UAR, w->uar },
		{ RNIC_CMD_DEALLOC_UAR, w->loose_uar },
		{ RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, w->td },
		{ RNIC_CMD_DEALLOC_TRANSPORT_DOMAIN, w->loose_td },
		{ RNIC_CMD_DEALLOC_PD, w->pd },
		{ RNIC_CMD_DEALLOC_PD, w->loose_pd },
		{ RNIC_CMD_DEALLOC_PD, w->users_pd },
		{ RNIC_CMD_DESTROY_UCTX, w->uctx },
		{ RNIC_CMD_DESTROY_UCTX, w->loose_uctx },
	};

	destroy_flows(w);
	assert_int_equal(
		drv_mcg(&w->hn.drv, RNIC_CMD_DETACH_FROM_MCG, w->datagram, world_group_gid), 0);
	for (unsigned int i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_int_equal(hn_destroy(&w->hn, order[i].opcode, order[i].number), 0);
	assert_int_equal(ctl_stats(&w->hn).objects, 0);
	/* And by reset, whatever is there. */
	world_populate(w);
	assert_int_equal(ctl_stats(&w->hn).objects, 45);
	softrnic_reset(w->hn.dev);
	assert_int_equal(ctl_stats(&w->hn).objects, 0);
}

/* A queue pair that registers memory goes up, and has nothing to be changed afterwards. */
static void
changes_that_a_type_does_not_have(void **state)
{
	static const struct {
		enum rnic_qp_state in;
		uint16_t opcode;
	} rows[] = {
		{ RNIC_QP_STATE_INIT, RNIC_CMD_INIT2INIT_QP },
		{ RNIC_QP_STATE_RTS, RNIC_CMD_RTS2RTS_QP },
		{ RNIC_QP_STATE_SQD, RNIC_CMD_SQD2SQD_QP },
		{ RNIC_QP_STATE_SQD, RNIC_CMD_SQD_RTS_QP },
	};
	struct world *w = *state;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP));
		uint32_t qpn;

		rnic_qpc_set(qpc, RNIC_QPC_ST, RNIC_QP_ST_REG_UMR);
		rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
		assert_int_equal(world_run(w, &qpn), RNIC_STATUS_OK);
		world_qp_raise(w, qpn, RNIC_QP_STATE_RST, rows[i].in);
		rnic_modify_qp_in_set(world_good(w, rows[i].opcode), RNIC_MODIFY_QP_IN_QPN, qpn);
		assert_int_equal(world_run(w, NULL), RNIC_STATUS_BAD_QP_STATE);
		assert_int_equal(hn_destroy(&w->hn, RNIC_CMD_DESTROY_QP, qpn), 0);
	}
}

#define READY(test) cmocka_unit_test_setup_teardown(test, world_setup, ctl_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_opcode_is_left_out),
		cmocka_unit_test(every_row),
		cmocka_unit_test(what_works_only_once),
		READY(preparations_in_a_ready_function),
		READY(tables_have_an_end),
		READY(tables_of_created_objects_have_an_end),
		cmocka_unit_test(every_opcode_in_a_state_below_its_own),
		cmocka_unit_test(every_opcode_one_byte_too_short),
		cmocka_unit_test(every_opcode_with_the_shortest_output),
		READY(unknown_opcodes),
		cmocka_unit_test(the_switch_s_table_without_the_capability),
		READY(changes_that_a_type_does_not_have),
		READY(nothing_is_left_when_all_is_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
