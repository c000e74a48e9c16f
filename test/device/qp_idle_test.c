/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Looking in vain: many queues that have nothing to do make no round long, of whatever kind they are, and all of them are
 * looked at in the end. What a round looks at is counted, never timed: records that were read, clocks that were looked at.
 */
#include <stdlib.h>

#include "qp_world.h"
#include "test_clock.h"
/* What is looked at in vain shows in lists of the device, not at its outside. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/object.h"
#include "softrnic/engine/qp_poll.h"
#include "softrnic/engine/sq.h"
#include "softrnic/receive/qp.h"

#define MANY 700u
#define MOST 256u /* that a round looks at, of a kind */
/* The rounds in which all of them have had a look, with some to spare. */
#define ROUNDS (MANY / MOST + 2)
#define SPARE  32u /* looks of other kinds */

struct fixture {
	struct qw_two *two;
	struct dp *dp;
	struct dp_cq cq;
	struct dp_sq sqs[MANY];
	struct qw_qp senders[MANY], receivers[MANY];
};

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = 12, .uar = 1 };
	const struct qw_conf conf = { .pair = true };
	const struct qw_attr attr = qw_attr();
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->two = qw_two_open(&conf);
	qw_two_connect(f->two, &attr);
	f->dp = &f->two->a.end->dp;
	assert_int_equal(dp_cq_create(f->dp, &f->cq, &cq), 0);
	*state = f;
	return 0;
}

/* Records that one round reads. */
static uint64_t
accesses(struct fixture *f)
{
	uint64_t before = atomic_load(&softrnic_audit_accesses);

	softrnic_poll(f->two->qw.poller);
	return atomic_load(&softrnic_audit_accesses) - before;
}

/* ---- Send queues ---- */

static struct softrnic_sq *
sq_inside(struct dp_sq *sq)
{
	return softrnic_object_get(sq->dp->dev, SOFTRNIC_SQ, sq->sqn);
}

static void
test_idle_send_queues(void **state)
{
	struct fixture *f = *state;
	uint32_t looked = 0, i;

	for (i = 0; i < MANY; i++) {
		assert_int_equal(dp_sq_create(f->dp, &f->sqs[i], &f->cq, 4, 1, 0), 0);
		softrnic_sq_doorbell(f->dp->dev, f->sqs[i].sqn);
	}
	assert_in_range(accesses(f), 1, MOST + SPARE);
	qw_poll(&f->two->qw, ROUNDS);
	for (i = 0; i < MANY; i++)
		looked += sq_inside(&f->sqs[i])->idle > 0;
	assert_int_equal(looked, MANY);
	/* Who rings has nothing to wait for, even if he is far behind. */
	for (i = 0; i < MANY; i++) {
		struct dp_sq *sq = &f->sqs[(i * 37) % MANY];

		if (i % 100 != 0)
			continue;
		dp_wqe(sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
		dp_sq_record(sq);
		softrnic_sq_doorbell(f->dp->dev, sq->sqn);
		softrnic_poll(f->two->qw.poller);
		assert_non_null(dp_cq_next(&f->cq));
	}
	/* And who does not is found by his record. */
	dp_wqe(&f->sqs[MANY - 1], RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_record(&f->sqs[MANY - 1]);
	qw_poll(&f->two->qw, ROUNDS);
	assert_non_null(dp_cq_next(&f->cq));
}

/* ---- Pages with doorbells ---- */

static void
test_pages_with_doorbells(void **state)
{
	enum { PAGES = 200, LOOK = 64, QUIET = 100 };
	struct fixture *f = *state;
	const uint32_t uar = f->dp->uars[1];
	uint32_t active = 0, i;

	for (i = 0; i < PAGES; i++) {
		f->dp->uars[1] = dp_create_simple(f->dp, RNIC_CMD_ALLOC_UAR);
		assert_int_equal(dp_sq_create(f->dp, &f->sqs[i], &f->cq, 4, 1, 0), 0);
	}
	f->dp->uars[1] = uar;
	while (!TAILQ_EMPTY(&f->dp->dev->active_sqs))
		softrnic_poll(f->two->qw.poller);
	/* In peace a round looks at some pages. */
	qw_poll(&f->two->qw, QUIET);
	for (i = 0; i < PAGES; i++) {
		dp_wqe(&f->sqs[i], RNIC_WQE_NOP, 1, RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&f->sqs[i]);
	}
	softrnic_poll(f->two->qw.poller);
	for (i = 0; i < PAGES; i++)
		active += sq_inside(&f->sqs[i])->consumer == 1;
	assert_in_range(active, 1, LOOK);
	qw_run(&f->two->qw);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(sq_inside(&f->sqs[i])->consumer, 1);
	assert_int_equal(dp_stats(f->dp).doorbells_missed, 0);
}

/* ---- Queue pairs ---- */

static void
open_many(struct fixture *f)
{
	struct qw_qp_conf a = qw_two_qp_conf(f->two, false), b = qw_two_qp_conf(f->two, true);
	struct qw_attr attr = qw_attr();

	a.send_cq = &f->cq;
	a.no_rq = b.no_rq = true;
	a.log_sq = b.log_sq = 1;
	for (uint32_t i = 0; i < MANY; i++)
		qw_two_more(f->two, &f->senders[i], &a, &f->receivers[i], &b, &attr);
}

static void
write_nothing(struct fixture *f)
{
	for (uint32_t i = 0; i < MANY; i++) {
		qw_wqe(&f->senders[i], RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
		dp_sq_record(&f->senders[i].sq);
		softrnic_qp_doorbell(f->dp->dev, f->senders[i].qpn);
	}
}

static void
expect_writes(struct fixture *f)
{
	for (uint32_t i = 0; i < MANY; i++)
		assert_non_null(dp_cq_next(&f->cq));
	assert_null(dp_cq_next(&f->cq));
}

static void
test_queue_pairs_that_sent_lately(void **state)
{
	static uint8_t more[4096];
	struct fixture *f = *state;
	uint32_t i;

	open_many(f);
	write_nothing(f);
	qw_run(&f->two->qw);
	expect_writes(f);
	assert_int_equal(f->dp->dev->qp_watch.count, MANY);
	assert_in_range(accesses(f), 1, MOST + SPARE);
	/* Rings without anything behind them. */
	for (i = 0; i < MANY; i++)
		softrnic_qp_doorbell(f->dp->dev, f->senders[i].qpn);
	assert_in_range(accesses(f), 1, 2 * MOST + SPARE);
	qw_poll(&f->two->qw, ROUNDS);
	assert_true(TAILQ_EMPTY(&f->dp->dev->active_qps));
	/* All of them are to be looked up anew, and to have a turn. */
	assert_int_equal(softrnic_dma_map(f->dp->dev, UINT64_C(1) << 50, sizeof(more), more,
					  SOFTRNIC_DMA_READ),
			 0);
	assert_in_range(accesses(f), 1, 2 * MOST + SPARE);
	for (i = 0; i < MANY; i++) {
		qw_wqe(&f->senders[i], RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
		dp_sq_record(&f->senders[i].sq);
	}
	/* No doorbell: their records are looked at. */
	qw_run(&f->two->qw);
	expect_writes(f);
	assert_int_equal(dp_stats(f->dp).doorbells_missed, 0);
}

static uint32_t
timed(struct fixture *f)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MANY; i++)
		count += qw_qp_inside(&f->senders[i])->timed;
	return count;
}

/* Their answers have come: nothing but a scan of all of them takes them off the list of those that wait for one. */
static void
test_deadlines(void **state)
{
	struct fixture *f = *state;
	uint32_t left;

	open_many(f);
	write_nothing(f);
	qw_run(&f->two->qw);
	expect_writes(f);
	assert_int_equal(timed(f), MANY);
	/* One that gets no answer. */
	qw_qp_to(&f->receivers[MANY - 1], RNIC_CMD_2RST_QP);
	qw_wqe(&f->senders[MANY - 1], RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->senders[MANY - 1].sq);
	while (qw_qp_inside(&f->senders[MANY - 1])->deadline == UINT64_MAX)
		softrnic_poll(f->two->qw.poller);
	left = timed(f);
	test_clock_advance_us(60 * 1000000);
	softrnic_poll(f->two->qw.poller);
	assert_in_range(left - timed(f), 1, MOST);
	for (uint32_t i = 0; i < 100 && dp_cq_peek(&f->cq) == NULL; i++) {
		test_clock_advance_us(60 * 1000000);
		qw_poll(&f->two->qw, ROUNDS);
	}
	qw_expect_error(&f->cq, RNIC_CQE_REQUESTER_ERROR, 1, RNIC_SYND_RETRY_EXCEEDED,
			f->senders[MANY - 1].qpn);
	softrnic_poll(f->two->qw.poller);
	assert_in_range(timed(f), 0, 1);
}

/* ---- Completion queues ---- */

/* Their events wait: each of them for a time of its own. All of them fit into the event queue. */
static void
test_events_that_wait(void **state)
{
	enum { CQS = 450 };
	const struct dp_cq_conf conf = {
		.log_size = 2, .uar = 1, .max_count = 2, .period_us = 4095
	};
	struct fixture *f = *state;
	const struct rnic_eqe *eqe;
	struct dp_cq *cqs = calloc(CQS, sizeof(*cqs));
	uint32_t events = 0, i;
	uint64_t start;

	assert_non_null(cqs);
	for (i = 0; i < CQS; i++) {
		assert_int_equal(dp_cq_create(f->dp, &cqs[i], &conf), 0);
		assert_int_equal(dp_sq_create(f->dp, &f->sqs[i], &cqs[i], 4, 1, 0), 0);
		dp_cq_arm(&cqs[i], 1, false);
		dp_wqe(&f->sqs[i], RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
		dp_sq_record(&f->sqs[i]);
		softrnic_sq_doorbell(f->dp->dev, f->sqs[i].sqn);
	}
	qw_poll(&f->two->qw, ROUNDS);
	while (dp_eq_next(f->dp) != NULL)
		;
	assert_int_equal(dp_stats(f->dp).cqes, CQS);
	/* The clock goes by a microsecond with each look at it. */
	start = softrnic_now_ns();
	softrnic_poll(f->two->qw.poller);
	assert_in_range(softrnic_now_ns() - start, 1, SPARE * 1000);
	test_clock_advance_us(4095);
	for (i = 0; i < 2 * ROUNDS; i++) {
		softrnic_poll(f->two->qw.poller);
		while ((eqe = dp_eq_next(f->dp)) != NULL)
			events += eqe->type == RNIC_EVENT_COMPLETION;
	}
	assert_int_equal(events, CQS);
	free(cqs);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(idle_send_queues), T(pages_with_doorbells), T(queue_pairs_that_sent_lately),
		T(deadlines),	     T(events_that_wait),
	};

	return cmocka_run_group_tests_name("qp_idle", tests, NULL, NULL);
}
