/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues on a device whose clock is another, or that does not know a state of queue pairs. */

#include "card.h"

#include <errno.h>
#include <string.h>

#include <rte_memory.h>

#include "../e2e/rdma.h"
#include "core/cmd.h"
#include "core/dev.h"
#include "prm/caps.h"
#include "prm/cmd.h"
#include "prm/queue.h"
#include "prm/vport.h"
#include "prm/wqe.h"
#include "rdmapmd.h"

struct queues {
	struct rnic_dev *dev;
	struct rdmapmd_context *context;
	struct rdmapmd_cq *cq;
	struct rdmapmd_qp *rc, *raw;
};
static struct queues queues;

static int
setup(void **state)
{
	(void)state;
	queues = (struct queues){ 0 };
	card_begin();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (queues.context != NULL)
		assert_int_equal(rdmapmd_context_close(queues.context), 0);
	card_close(queues.dev);
	card_end();
	return 0;
}

static int
make_qp(enum rdmapmd_qp_type type, struct rdmapmd_pd *pd, struct rdmapmd_qp **qp)
{
	struct rdmapmd_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = queues.cq,
		.recv_cq = queues.cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return rdmapmd_qp_create(pd, &attr, qp);
}

/* A queue pair of each type, and with that of RAW_PACKET an SQ and an RQ. */
static void
open_with_queues(void)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 32 };
	struct rdmapmd_pd *pd;

	queues.dev = card_opened();
	assert_int_equal(rdmapmd_device_open(queues.dev->device, &queues.context), 0);
	assert_int_equal(rdmapmd_pd_alloc(queues.context, &pd), 0);
	assert_int_equal(rdmapmd_cq_create(queues.context, &attr, &queues.cq), 0);
	assert_int_equal(make_qp(RDMAPMD_QPT_RC, pd, &queues.rc), 0);
	assert_int_equal(make_qp(RDMAPMD_QPT_RAW_PACKET, pd, &queues.raw), 0);
}

/* ---- The clock of completions ---- */

/* ts_format of a context that a command makes; -1 of other commands. */
static int
ts_format(const struct card_command *c)
{
	/* The first dword of SQC and RQC, the third of QPC: all three stand at 0x20. Other commands are shorter. */
	const struct rnic_be32 *dword = (const struct rnic_be32 *)c->in + 0x20 / 4;

	switch (c->opcode) {
	case RNIC_CMD_CREATE_SQ:
	case RNIC_CMD_CREATE_RQ: return rnic_be32_to_cpu(*dword) >> 4 & 3;
	case RNIC_CMD_CREATE_QP: return rnic_be32_to_cpu(*dword) >> 6 & 3;
	default: return -1;
	}
}

static unsigned int made;

static int
refuse_free_running(const struct card_command *c)
{
	const int format = ts_format(c);

	made += format >= 0;
	return format == 0 ? -EINVAL : CARD_SENDS;
}

static int
refuse_all_formats(const struct card_command *c)
{
	const int format = ts_format(c);

	made += format >= 0;
	return format > 0 ? -EINVAL : CARD_SENDS;
}

static void
real_time_alone(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_SQ_TS_FORMAT, 1);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_RQ_TS_FORMAT, 1);
	rnic_roce_cap_set(&caps->roce, RNIC_ROCE_CAP_QP_TS_FORMAT, 1);
}

static void
test_queues_of_a_device_with_a_real_time_clock_alone(void **state)
{
	(void)state;
	made = 0;
	card.caps = real_time_alone;
	card.before = refuse_free_running;
	open_with_queues();
	assert_int_equal(made, 3);
}

static void
both_clocks(struct rnic_caps *caps)
{
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_SQ_TS_FORMAT, 2);
	rnic_general_cap_set(&caps->general, RNIC_GENERAL_CAP_RQ_TS_FORMAT, 2);
	rnic_roce_cap_set(&caps->roce, RNIC_ROCE_CAP_QP_TS_FORMAT, 2);
}

/* Completion timestamps are of the free running one. */
static void
test_queues_of_a_device_with_both_clocks(void **state)
{
	(void)state;
	made = 0;
	card.caps = both_clocks;
	card.before = refuse_all_formats;
	open_with_queues();
	assert_int_equal(made, 3);
}

/* Cards that have no choice have reserved bits there. */
static void
test_queues_of_a_device_with_one_clock(void **state)
{
	(void)state;
	made = 0;
	card.before = refuse_all_formats;
	open_with_queues();
	assert_int_equal(made, 3);
}

/* ---- Headers in send WQEs ---- */

static unsigned int inline_cap; /* of the card: wqe_inline_mode */
static uint64_t inline_set;

static void
inline_caps(struct rnic_caps *caps)
{
	rnic_ethernet_cap_set(&caps->ethernet, RNIC_ETHERNET_CAP_WQE_INLINE_MODE, inline_cap);
}

static int
note_inline_mode(const struct card_command *c)
{
	const struct rnic_sqc *sqc = (const struct rnic_sqc *)((const uint8_t *)c->in + 0x20);

	if (c->opcode == RNIC_CMD_CREATE_SQ)
		inline_set = rnic_sqc_get(sqc, RNIC_SQC_MIN_WQE_INLINE_MODE);
	return CARD_SENDS;
}

static void
answer_inline_mode(const struct card_command *c)
{
	if (c->opcode == RNIC_CMD_QUERY_NIC_VPORT_CONTEXT)
		rnic_nic_vport_context_set(
			rnic_query_nic_vport_context_out_nic_vport_context(c->out),
			RNIC_NIC_VPORT_CONTEXT_MIN_WQE_INLINE_MODE, RNIC_INLINE_MODE_L2);
}

/* A card that always wants L2 headers has no field for it in the SQ's context; one whose vport says it has. */
static void
test_an_sq_names_the_mode_of_the_vport_alone(void **state)
{
	static const unsigned int caps[] = { RNIC_WQE_INLINE_CAP_L2, RNIC_WQE_INLINE_CAP_VPORT };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		inline_cap = caps[i];
		inline_set = 99;
		card.caps = inline_caps;
		card.before = note_inline_mode;
		card.after = answer_inline_mode;
		open_with_queues();
		assert_int_equal(queues.dev->min_inline_mode, RNIC_INLINE_MODE_L2);
		assert_int_equal(inline_set,
				 inline_cap == RNIC_WQE_INLINE_CAP_VPORT ? RNIC_INLINE_MODE_L2 : 0);
		if (i == 0) {
			teardown(state);
			setup(state);
		}
	}
}

/* ---- Tags of received frames ---- */

static void
no_tags(struct rnic_caps *caps)
{
	rnic_flow_table_props_set(rnic_flow_table_cap_nic_receive(&caps->flow_table),
				  RNIC_FLOW_TABLE_PROPS_FLOW_TAG, 0);
}

/* They say whose a frame is. */
static void
test_a_card_without_tags_has_no_raw_packet(void **state)
{
	struct rdmapmd_cq_init_attr attr = { .cqe = 32 };
	struct rdmapmd_pd *pd;

	(void)state;
	card.caps = no_tags;
	queues.dev = card_opened();
	assert_int_equal(rdmapmd_device_open(queues.dev->device, &queues.context), 0);
	assert_int_equal(rdmapmd_pd_alloc(queues.context, &pd), 0);
	assert_int_equal(rdmapmd_cq_create(queues.context, &attr, &queues.cq), 0);
	assert_int_equal(make_qp(RDMAPMD_QPT_RAW_PACKET, pd, &queues.raw), -ENOTSUP);
	assert_int_equal(unit_said("no flow_tag"), 1);
	assert_int_equal(make_qp(RDMAPMD_QPT_RC, pd, &queues.rc), 0);
}

/* ---- A state that firmware does not know ---- */

static int
refuse_sqd(const struct card_command *c)
{
	return c->opcode == RNIC_CMD_RTS2SQD_QP || c->opcode == RNIC_CMD_SQD2SQD_QP ? -EOPNOTSUPP
										    : CARD_SENDS;
}

static const struct rdma_conf plain = { 0 };

static void
test_a_card_without_sqd_says_so(void **state)
{
	const struct rdmapmd_qp_attr to_sqd = { .qp_state = RDMAPMD_QPS_SQD };
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	unsigned int i;

	(void)state;
	open_with_queues();
	rdma_connect(queues.rc, queues.rc, &plain);
	card.before = refuse_sqd;
	for (i = 0; i < 2; i++) {
		assert_int_equal(rdmapmd_qp_modify(queues.rc, &to_sqd, RDMAPMD_QP_STATE), -ENOTSUP);
		assert_int_equal(unit_said("has no state SQD"), i + 1);
		/* It sends as before. */
		assert_int_equal(rdmapmd_qp_state(queues.rc), RDMAPMD_QPS_RTS);
		assert_int_equal(rdmapmd_post_send(queues.rc, &nop, 1), 1);
	}
}

#define BAD_QP_STATE 0x10

static bool
is_drained(struct rdmapmd_qp *qp)
{
	struct rdmapmd_qp_init_attr init;
	struct rdmapmd_qp_attr attr;

	assert_int_equal(rdmapmd_qp_query(qp, &attr, &init), 0);
	return !attr.sq_draining;
}

/* On a device that knows it. */
static void
enter_sqd(struct rdmapmd_qp *qp)
{
	rdma_to(qp, RDMAPMD_QPS_SQD);
	assert_true(UNIT_COMES(is_drained(qp)));
}

/* Some say so by the state: of a queue pair that is where we think it is. Of one that broke it is no word about SQD. */
static void
test_a_card_that_takes_sqd_for_a_wrong_state(void **state)
{
	static const struct {
		enum rdmapmd_qp_state from;
		uint16_t opcode;
	} ways[] = { { RDMAPMD_QPS_RTS, RNIC_CMD_RTS2SQD_QP },
		     { RDMAPMD_QPS_SQD, RNIC_CMD_SQD2SQD_QP } };
	const struct rdmapmd_qp_attr to_sqd = { .qp_state = RDMAPMD_QPS_SQD };
	const struct rdmapmd_send_wr nop = { .opcode = RDMAPMD_WR_NOP,
					     .send_flags = RDMAPMD_SEND_SIGNALED };
	unsigned int i;

	(void)state;
	open_with_queues();
	rdma_connect(queues.rc, queues.rc, &plain);
	for (i = 0; i < RTE_DIM(ways); i++) {
		unit_refuse(queues.dev, ways[i].opcode, BAD_QP_STATE);
		assert_int_equal(rdmapmd_qp_modify(queues.rc, &to_sqd, RDMAPMD_QP_STATE), -ENOTSUP);
		assert_int_equal(unit_said("has no state SQD"), i + 1);
		assert_int_equal(rdmapmd_qp_state(queues.rc), ways[i].from);
		assert_int_equal(rdmapmd_post_send(queues.rc, &nop, 1), 1);
		/* A card that knows the one, and not the other. */
		unit_refuse_nothing(queues.dev);
		if (i == 0)
			enter_sqd(queues.rc);
	}

	assert_int_equal(rnic_cmd_destroy(queues.dev, RNIC_CMD_2ERR_QP, queues.rc->qp_num), 0);
	unit_refuse(queues.dev, RNIC_CMD_SQD2SQD_QP, BAD_QP_STATE);
	assert_int_equal(rdmapmd_qp_modify(queues.rc, &to_sqd, RDMAPMD_QP_STATE), -EINVAL);
	unit_refuse_nothing(queues.dev);
	assert_int_equal(unit_said("has no state SQD"), RTE_DIM(ways));
	assert_int_equal(unit_said("bad QP state"), RTE_DIM(ways) + 1);
}

#define QUEUE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	QUEUE_TEST(test_queues_of_a_device_with_a_real_time_clock_alone),
	QUEUE_TEST(test_queues_of_a_device_with_both_clocks),
	QUEUE_TEST(test_queues_of_a_device_with_one_clock),
	QUEUE_TEST(test_an_sq_names_the_mode_of_the_vport_alone),
	QUEUE_TEST(test_a_card_without_tags_has_no_raw_packet),
	QUEUE_TEST(test_a_card_without_sqd_says_so),
	QUEUE_TEST(test_a_card_that_takes_sqd_for_a_wrong_state),
};

UNIT_MAIN("card_queue", tests)
