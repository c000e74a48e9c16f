/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * User contexts: whose an object is, and who may name it. A world of everything that is one user's, in which each command is sent by
 * him, by another user, by nobody that there is, and by the kernel.
 */
#include "ctl_world.h"
#include "prm/cmd_table.h"

#define CONTEXTS 256
#define NOBODY	 77

/* They name no object, or EQs alone, which are for all to name. */
static const uint16_t nameless[] = {
	RNIC_CMD_QUERY_HCA_CAP,
	RNIC_CMD_QUERY_ADAPTER,
	RNIC_CMD_QUERY_SPECIAL_CONTEXTS,
	RNIC_CMD_QUERY_EQ,
	RNIC_CMD_QUERY_VPORT_STATE,
	RNIC_CMD_QUERY_NIC_VPORT_CONTEXT,
	RNIC_CMD_QUERY_ROCE_ADDRESS,
	RNIC_CMD_QUERY_HCA_VPORT_PKEY,
	RNIC_CMD_QUERY_VPORT_COUNTER,
	RNIC_CMD_ALLOC_Q_COUNTER,
	RNIC_CMD_ALLOC_PD,
	RNIC_CMD_ALLOC_UAR,
	RNIC_CMD_NOP,
	RNIC_CMD_ALLOC_XRCD,
	RNIC_CMD_ALLOC_TRANSPORT_DOMAIN,
	RNIC_CMD_CREATE_FLOW_TABLE,
	RNIC_CMD_ALLOC_FLOW_COUNTER,
	RNIC_CMD_CREATE_UMEM,
};

struct fixture {
	struct world w; /* first, see ctl_teardown() */
	uint16_t owner, other;
};

static uint16_t acting;

static bool
is_nameless(uint16_t opcode)
{
	for (unsigned int i = 0; i < sizeof(nameless) / sizeof(nameless[0]); i++)
		if (nameless[i] == opcode)
			return true;
	return false;
}

/* What a user does needs what the kernel does. */
static uint16_t
user_or_kernel(uint16_t opcode)
{
	return world_is_of_function(opcode) ? RNIC_UID_KERNEL : acting;
}

static uint16_t
always(uint16_t opcode)
{
	(void)opcode;
	return acting;
}

/* ---- The contexts ---- */

static int
uctx_create(struct hn *hn, uint32_t cap, uint16_t *uid)
{
	struct rnic_create_uctx_in in = { 0 };
	uint32_t number;
	int status;

	hn_head(&in, RNIC_CMD_CREATE_UCTX, 0);
	rnic_create_uctx_in_set(&in, RNIC_CREATE_UCTX_IN_CAP, cap);
	status = drv_execute(&hn->drv, &in, sizeof(in), &number);
	*uid = (uint16_t)number;
	return status;
}

static int
setup(void **state)
{
	static struct fixture f;

	world_make(&f.w, WORLD_READY);
	assert_int_equal(uctx_create(&f.w.hn, RNIC_UCTX_RIGHT_RAW_TX, &f.owner), 0);
	assert_int_equal(uctx_create(&f.w.hn, RNIC_UCTX_RIGHT_RAW_TX, &f.other), 0);
	acting = f.owner;
	f.w.hn.uid = user_or_kernel;
	world_populate(&f.w);
	*state = &f;
	return 0;
}

static int
run_as(struct fixture *f, uint16_t uid, uint16_t opcode)
{
	acting = uid;
	f->w.hn.uid = always;
	world_good(&f->w, opcode);
	return world_run(&f->w, NULL);
}

static void
test_contexts_have_numbers(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	uint16_t uid;

	hn->uid = NULL;
	assert_int_not_equal(f->owner, RNIC_UID_KERNEL);
	assert_int_not_equal(f->owner, f->other);
	assert_int_equal(uctx_create(hn, RNIC_UCTX_RIGHT_RAW_TX << 1, &uid), RNIC_STATUS_BAD_PARAM);
	/* Two worlds have two each. */
	for (unsigned int i = 6; i < CONTEXTS; i++)
		assert_int_equal(uctx_create(hn, 0, &uid), 0);
	assert_int_equal(uctx_create(hn, 0, &uid), RNIC_STATUS_LIM);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), RNIC_STATUS_BAD_RES);
	assert_int_equal(uctx_create(hn, 0, &uid), 0);
	assert_int_equal(uid, f->other);
}

/* ---- Whose an object is ---- */

/* Each command in a world of its own: some of them can be done once. */
static void
each(void **state, bool of_function, void (*check)(struct fixture *f, uint16_t opcode))
{
	for (unsigned int i = 0; i < rnic_cmd_count; i++) {
		const uint16_t opcode = (uint16_t)rnic_cmds[i].opcode;

		if (world_is_of_function(opcode) != of_function)
			continue;
		check(*state, opcode);
		hn_stop(&((struct fixture *)*state)->w.hn);
		setup(state);
	}
}

static void
owner_alone(struct fixture *f, uint16_t opcode)
{
	const int expected = is_nameless(opcode) ? RNIC_STATUS_OK : RNIC_STATUS_BAD_RES;

	if (run_as(f, f->other, opcode) != expected ||
	    run_as(f, f->owner, opcode) != RNIC_STATUS_OK)
		fail_msg("%s", rnic_cmd_name(opcode));
}

static void
test_objects_are_their_owners(void **state)
{
	each(state, false, owner_alone);
}

static void
kernel_too(struct fixture *f, uint16_t opcode)
{
	if (run_as(f, RNIC_UID_KERNEL, opcode) != RNIC_STATUS_OK)
		fail_msg("%s", rnic_cmd_name(opcode));
}

static void
test_the_kernel_names_everything(void **state)
{
	each(state, false, kernel_too);
}

static void
nobody(struct fixture *f, uint16_t opcode)
{
	if (run_as(f, NOBODY, opcode) != RNIC_STATUS_BAD_RES)
		fail_msg("%s", rnic_cmd_name(opcode));
}

static void
test_who_is_not_there_does_nothing(void **state)
{
	each(state, false, nobody);
}

/* Also where the state or the length of a command would refuse it. */
static void
not_a_users(struct fixture *f, uint16_t opcode)
{
	if (opcode != RNIC_CMD_ENABLE_HCA && run_as(f, f->owner, opcode) != RNIC_STATUS_BAD_RES)
		fail_msg("%s", rnic_cmd_name(opcode));
}

static void
test_the_function_is_the_kernel_s(void **state)
{
	each(state, true, not_a_users);
}

static void
test_what_is_shared_is_for_all_to_name(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	uint32_t pd, tis;

	hn->uid = always;
	acting = RNIC_UID_SHARED;
	pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	tis = hn_create_tis(hn, f->w.td);
	acting = f->other;
	hn_create_mkey(hn, pd, f->w.memory, 4096, true);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_TIS, tis), 0);
	/* And no user's: his context can go without it. */
	acting = RNIC_UID_KERNEL;
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), RNIC_STATUS_RES_BUSY);
}

/* A user's object on the kernel's; and the kernel's on a user's, as Linux' memory regions are. */
static void
test_owners_mix(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	const uint32_t users = f->w.pd;
	uint32_t kernels, key;

	hn->uid = NULL;
	kernels = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	key = hn_create_mkey(hn, users, f->w.memory, 4096, true);
	hn->uid = always;
	acting = f->owner;
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), RNIC_STATUS_BAD_RES);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, kernels), RNIC_STATUS_BAD_RES);
	acting = RNIC_UID_KERNEL;
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
}

/* Linux' XRC initiators: without a receive queue, whose CQ is the kernel's. */
static void
test_a_receive_cq_that_is_not_used(void **state)
{
	struct fixture *f = *state;
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(&f->w, RNIC_CMD_CREATE_QP));
	struct hn_cq kernels;

	f->w.hn.uid = NULL;
	hn_create_cq(&f->w.hn, &kernels, f->w.uar, f->w.eq.number, 4);
	f->w.hn.uid = always;
	acting = f->owner;
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, kernels.number);
	assert_int_equal(world_run(&f->w, NULL), RNIC_STATUS_BAD_RES);
	rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
	assert_int_equal(world_run(&f->w, NULL), RNIC_STATUS_OK);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_SND, kernels.number);
	assert_int_equal(world_run(&f->w, NULL), RNIC_STATUS_BAD_RES);
}

/* Another user's could not be destroyed as long as the queue pair is there. */
static void
test_a_receive_cq_that_is_not_used_is_nobody_else_s(void **state)
{
	struct fixture *f = *state;
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(&f->w, RNIC_CMD_CREATE_QP));
	struct hn *hn = &f->w.hn;
	struct hn_cq others;

	hn->uid = always;
	acting = f->other;
	hn_create_cq(hn, &others, hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR), f->w.eq.number, 4);
	acting = f->owner;
	rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
	rnic_qpc_set(qpc, RNIC_QPC_CQN_RCV, others.number);
	assert_int_equal(world_run(&f->w, NULL), RNIC_STATUS_BAD_RES);
	acting = f->other;
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_CQ, others.number), 0);
}

/* ---- What a user may not do with objects of his own ---- */

static void
with_reserved_key(struct world *w)
{
	rnic_qpc_set(rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP)), RNIC_QPC_RLKY, 1);
}

static void
with_registration(struct world *w)
{
	rnic_qpc_set(rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP)), RNIC_QPC_FRE, 1);
}

static void
for_registration(struct world *w)
{
	struct rnic_qpc *qpc = rnic_create_qp_in_qpc(world_good(w, RNIC_CMD_CREATE_QP));

	rnic_qpc_set(qpc, RNIC_QPC_ST, RNIC_QP_ST_REG_UMR);
	rnic_qpc_set(qpc, RNIC_QPC_RQ_TYPE, RNIC_QP_ZERO_SIZE_RQ);
}

static void
sq_with_reserved_key(struct world *w)
{
	rnic_sqc_set(rnic_create_sq_in_sqc(world_good(w, RNIC_CMD_CREATE_SQ)), RNIC_SQC_RLKY, 1);
}

static void
rq_with_reserved_key(struct world *w)
{
	rnic_rqc_set(rnic_create_rq_in_rqc(world_good(w, RNIC_CMD_CREATE_RQ)), RNIC_RQC_RLKY, 1);
}

static void
all_of_memory(struct world *w)
{
	struct rnic_create_mkey_in *in = world_good(w, RNIC_CMD_CREATE_MKEY);

	rnic_create_mkey_in_set(in, RNIC_CREATE_MKEY_IN_TRANSLATIONS_OCTWORD_ACTUAL_SIZE, 0);
	rnic_mkc_set(rnic_create_mkey_in_mkc(in), RNIC_MKC_ACCESS_MODE_1_0, RNIC_MKEY_PA);
	rnic_mkc_set(rnic_create_mkey_in_mkc(in), RNIC_MKC_LENGTH64, 1);
}

/* The kernel forwards his commands as they are: all memory of its machine would be his. */
static void
test_a_user_names_no_address_of_the_bus(void **state)
{
	static void (*const ways[])(struct world * w) = {
		with_reserved_key,    with_registration,    for_registration,
		sq_with_reserved_key, rq_with_reserved_key, all_of_memory,
	};
	struct fixture *f = *state;

	f->w.hn.uid = always;
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		ways[i](&f->w);
		acting = f->owner;
		if (world_run(&f->w, NULL) != RNIC_STATUS_BAD_PARAM)
			fail_msg("way %u is a user's", i);
		acting = RNIC_UID_KERNEL;
		if (world_run(&f->w, NULL) != RNIC_STATUS_OK)
			fail_msg("way %u is not the kernel's", i);
	}
}

static void
test_raw_frames_are_a_right(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	uint16_t uid;

	hn->uid = NULL;
	assert_int_equal(uctx_create(hn, 0, &uid), 0);
	assert_int_equal(run_as(f, uid, RNIC_CMD_CREATE_SQ), RNIC_STATUS_BAD_PARAM);
	assert_int_equal(run_as(f, f->owner, RNIC_CMD_CREATE_SQ), 0);
}

static void
test_a_context_goes_behind_its_objects(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	uint32_t pd, uar;

	hn->uid = always;
	acting = f->other;
	pd = hn_alloc_object(hn, RNIC_CMD_ALLOC_PD);
	uar = hn_alloc_object(hn, RNIC_CMD_ALLOC_UAR);
	acting = RNIC_UID_KERNEL;
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), RNIC_STATUS_RES_BUSY);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_PD, pd), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), RNIC_STATUS_RES_BUSY);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DEALLOC_UAR, uar), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, f->other), 0);
	acting = f->other;
	assert_int_equal(hn_simple(hn, RNIC_CMD_ALLOC_PD, 0, 0, NULL), RNIC_STATUS_BAD_RES);
}

/* All at once: a world of a user's, and his context. */
static void
test_teardown_drops_contexts(void **state)
{
	struct fixture *f = *state;
	struct hn *hn = &f->w.hn;
	struct softrnic_stats stats;
	uint16_t uid;

	hn->uid = NULL;
	assert_int_equal(hn_simple(hn, RNIC_CMD_TEARDOWN_HCA, 0, 0, NULL), 0);
	softrnic_stats_get(hn->dev, &stats);
	assert_int_equal(stats.objects, 0);
	assert_int_equal(hn_simple(hn, RNIC_CMD_INIT_HCA, 0, 0, NULL), 0);
	assert_int_equal(uctx_create(hn, 0, &uid), 0);
	assert_int_equal(hn_destroy(hn, RNIC_CMD_DESTROY_UCTX, uid), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ctl_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contexts_have_numbers),
		TEST(test_objects_are_their_owners),
		TEST(test_the_kernel_names_everything),
		TEST(test_who_is_not_there_does_nothing),
		TEST(test_the_function_is_the_kernel_s),
		TEST(test_what_is_shared_is_for_all_to_name),
		TEST(test_owners_mix),
		TEST(test_a_receive_cq_that_is_not_used),
		TEST(test_a_receive_cq_that_is_not_used_is_nobody_else_s),
		TEST(test_a_user_names_no_address_of_the_bus),
		TEST(test_raw_frames_are_a_right),
		TEST(test_a_context_goes_behind_its_objects),
		TEST(test_teardown_drops_contexts),
	};

	return cmocka_run_group_tests_name("ctl_uctx", tests, NULL, NULL);
}
