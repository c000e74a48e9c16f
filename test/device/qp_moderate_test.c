/* SPDX-License-Identifier: BSD-3-Clause */

/* Moderated CQs: an event waits for so many entries, or so long after the first of them. */
#include <stdlib.h>

#include "qp_world.h"
/* No test waits for a period of an hour, and a held CQ shows nowhere else. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/event/cq.h"

#define COUNT	 4
#define LONG_US	 4095 /* as long as the field can say */
#define SHORT_US 500
#define HOUR_NS	 UINT64_C(3600000000000)

struct fixture {
	struct qw_two *two;
	struct dp_cq cq;
	struct qw_qp qp;
};

/* A queue pair whose sends complete in a moderated CQ. */
static void
open_with(struct fixture *f, uint16_t count, uint16_t period_us)
{
	const struct qw_conf conf = { .pair = true };
	const struct dp_cq_conf cq_conf = {
		.log_size = 8, .uar = 1, .max_count = count, .period_us = period_us
	};
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf qp_conf;

	f->two = qw_two_open(&conf);
	qw_two_connect(f->two, &attr);
	assert_int_equal(dp_cq_create(&f->two->qw.ends[0]->dp, &f->cq, &cq_conf), 0);
	qp_conf = qw_two_qp_conf(f->two, false);
	qp_conf.send_cq = &f->cq;
	assert_int_equal(qw_qp_create(f->two->qw.ends[0], &f->qp, &qp_conf), 0);
	qw_qp_to(&f->two->b, RNIC_CMD_2RST_QP);
	qw_connect(&f->qp, &f->two->b, &attr);
}

/* No test waits for a long period, however slowly it runs. */
static void
stop_the_clock(struct fixture *f)
{
	struct softrnic_cq *cq = softrnic_object_get(f->cq.dp->dev, SOFTRNIC_CQ, f->cq.cqn);

	/* By hand: a CQ's period has 12 bits of microseconds. */
	cq->period_ns = HOUR_NS;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	open_with(f, COUNT, LONG_US);
	stop_the_clock(f);
	*state = f;
	return 0;
}

static int
setup_short(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	open_with(f, COUNT, SHORT_US);
	*state = f;
	return 0;
}

static void
entries(struct fixture *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dp_wqe(&f->qp.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->qp.sq);
	/* A lost doorbell needs some polls; events come with the last of them. */
	qw_poll(&f->two->qw, 16);
}

/* Events of the CQ that are out; others do not happen here. */
static uint32_t
events(struct fixture *f)
{
	const struct rnic_eqe *eqe;
	uint32_t n = 0;

	for (; (eqe = dp_eq_next(f->cq.dp)) != NULL; n++) {
		assert_int_equal(eqe->type, RNIC_EVENT_COMPLETION);
		assert_int_equal(rnic_be32_to_cpu(eqe->data[6]), f->cq.cqn);
	}
	return n;
}

static void
reap(struct fixture *f, uint32_t count)
{
	while (count-- > 0)
		assert_non_null(dp_cq_next(&f->cq));
	assert_null(dp_cq_peek(&f->cq));
}

static int
modify(struct fixture *f, uint32_t select, uint16_t count, uint16_t period_us)
{
	struct rnic_modify_cq_in in = { 0 };

	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, f->cq.cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, select);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_CQ_MAX_COUNT, count);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_CQ_PERIOD, period_us);
	return dp_command(f->cq.dp, RNIC_CMD_MODIFY_CQ, RNIC_MODIFY_CQ_FIELDS, &in, sizeof(in),
			  NULL, 0);
}

/* The last of so many entries brings the event, one for all of them, and again when the CQ is armed again. */
static void
test_count(void **state)
{
	struct fixture *f = *state;

	for (uint32_t round = 0; round < 3; round++) {
		dp_cq_arm(&f->cq, round, false);
		entries(f, 1);
		entries(f, COUNT - 2);
		assert_int_equal(events(f), 0);
		entries(f, 1);
		assert_int_equal(events(f), 1);
		entries(f, COUNT);
		assert_int_equal(events(f), 0);
		reap(f, 2 * COUNT);
	}
}

/* Entries that were there when the CQ was armed count as well. */
static void
test_count_of_what_is_there(void **state)
{
	struct fixture *f = *state;

	entries(f, COUNT - 1);
	dp_cq_arm(&f->cq, 0, false);
	entries(f, 0);
	assert_int_equal(events(f), 0);
	entries(f, 1);
	assert_int_equal(events(f), 1);
}

static bool
event_is_out(void *arg)
{
	const struct fixture *f = arg;

	return TAILQ_EMPTY(&f->cq.dp->dev->held_cqs);
}

/* One entry alone waits as long as it may, from when it came. */
static void
test_period(void **state)
{
	struct fixture *f = *state;
	uint64_t start;

	for (uint32_t round = 0; round < 3; round++) {
		dp_cq_arm(&f->cq, round, false);
		qw_run_us(&f->two->qw, SHORT_US);
		assert_int_equal(events(f), 0);
		start = softrnic_now_ns();
		entries(f, 1);
		assert_true(qw_run_until(&f->two->qw, event_is_out, f));
		assert_true(softrnic_now_ns() - start >= SHORT_US * UINT64_C(1000));
		assert_int_equal(events(f), 1);
		reap(f, 1);
	}
}

/* Armed anew with nothing unseen, the wait is over. */
static void
test_armed_anew(void **state)
{
	struct fixture *f = *state;

	dp_cq_arm(&f->cq, 0, false);
	entries(f, 1);
	reap(f, 1);
	assert_false(TAILQ_EMPTY(&f->cq.dp->dev->held_cqs));
	dp_cq_arm(&f->cq, 1, false);
	qw_run(&f->two->qw);
	assert_true(TAILQ_EMPTY(&f->cq.dp->dev->held_cqs));
	assert_int_equal(events(f), 0);
}

/* Other values hold at once, for what waits too. */
static void
test_values_change(void **state)
{
	struct fixture *f = *state;
	const uint32_t both = RNIC_MODIFY_CQ_MAX_COUNT | RNIC_MODIFY_CQ_PERIOD;

	dp_cq_arm(&f->cq, 0, false);
	entries(f, 2);
	assert_int_equal(events(f), 0);
	assert_int_equal(modify(f, RNIC_MODIFY_CQ_MAX_COUNT, 2, 0), 0);
	assert_int_equal(events(f), 1);
	/* Without a count, or without a period, there is no moderation. */
	for (uint32_t i = 0; i < 3; i++) {
		reap(f, i == 0 ? 2 : 1);
		dp_cq_arm(&f->cq, 1 + i, false);
		assert_int_equal(modify(f, both, i == 0 ? 0 : 100, i == 1 ? 0 : LONG_US), 0);
		if (i != 1)
			stop_the_clock(f);
		entries(f, 1);
		assert_int_equal(events(f), i == 2 ? 0 : 1);
	}
	assert_int_equal(modify(f, RNIC_MODIFY_CQ_PERIOD, 0, SHORT_US), 0);
	assert_true(qw_run_until(&f->two->qw, event_is_out, f));
	assert_int_equal(events(f), 1);
}

/* A doorbell that says what the record has said already does not start the clock again. */
static void
test_doorbell_behind_its_record(void **state)
{
	struct fixture *f = *state;
	struct softrnic *dev = f->cq.dp->dev;
	struct softrnic_cq *cq = softrnic_object_get(dev, SOFTRNIC_CQ, f->cq.cqn);
	uint64_t held_to;

	dp_cq_arm(&f->cq, 0, false);
	entries(f, 1);
	held_to = cq->held_to;
	assert_true(cq->held);
	softrnic_lock(f->two->qw.poller);
	softrnic_cq_arm_doorbell(dev, cq->arm, f->cq.cqn);
	softrnic_unlock(f->two->qw.poller);
	assert_true(cq->held && cq->held_to == held_to);
}

static void
test_values_can_be_asked_for(void **state)
{
	struct fixture *f = *state;
	struct rnic_object_in in = { 0 };
	struct rnic_query_cq_out out;
	const struct rnic_cqc *cqc = rnic_query_cq_out_cqc(&out);

	rnic_object_in_set(&in, RNIC_OBJECT_IN_NUMBER, f->cq.cqn);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(dp_command(f->cq.dp, RNIC_CMD_QUERY_CQ, 0, &in, sizeof(in), &out,
					    sizeof(out)),
				 0);
		assert_int_equal(rnic_cqc_get(cqc, RNIC_CQC_CQ_MAX_COUNT), i == 0 ? COUNT : 77);
		assert_int_equal(rnic_cqc_get(cqc, RNIC_CQC_CQ_PERIOD), LONG_US - i);
		assert_int_equal(modify(f, RNIC_MODIFY_CQ_MAX_COUNT | RNIC_MODIFY_CQ_PERIOD, 77,
					LONG_US - 1),
				 0);
	}
}

/* A CQ that goes takes its event along. */
static void
test_destroyed_while_its_event_waits(void **state)
{
	struct fixture *f = *state;

	dp_cq_arm(&f->cq, 0, false);
	entries(f, 1);
	assert_false(TAILQ_EMPTY(&f->cq.dp->dev->held_cqs));
	assert_int_equal(qw_qp_destroy(&f->qp), 0);
	assert_int_equal(dp_destroy(f->cq.dp, RNIC_CMD_DESTROY_CQ, f->cq.cqn), 0);
	assert_true(TAILQ_EMPTY(&f->cq.dp->dev->held_cqs));
	qw_run(&f->two->qw);
	assert_int_equal(events(f), 0);
}

#define T(name)	    cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)
#define SHORT(name) cmocka_unit_test_setup_teardown(name, setup_short, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_count),
		T(test_count_of_what_is_there),
		SHORT(test_period),
		T(test_armed_anew),
		T(test_values_change),
		T(test_doorbell_behind_its_record),
		T(test_values_can_be_asked_for),
		T(test_destroyed_while_its_event_waits),
	};

	return cmocka_run_group_tests_name("qp_moderate", tests, NULL, NULL);
}
