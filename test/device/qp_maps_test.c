/* SPDX-License-Identifier: BSD-3-Clause */

/* A client that has thousands of queue pairs and thousands of maps: each map that goes must not look at all of the others. */
#include <stdlib.h>

#include "../cpu_time.h"
#include "qp_world.h"
/* Queue pairs that are watched, and doorbells without a page for each. */
#include "softrnic/base/device.h"
#include "softrnic/engine/qp_poll.h"

#define QPS   3000u
#define MAPS  8000u
#define TRIES 5
#define IOVA  (UINT64_C(1) << 45)
#define PAGE  4096u

static int
setup(void **state)
{
	const struct qw_conf conf = { 0 };

	*state = qw_two_open(&conf);
	return 0;
}

static int
teardown(void **state)
{
	qw_two_close(*state);
	return 0;
}

/* Of the processor's time. */
static double
unmap_seconds(struct dp *dp)
{
	double seconds;

	for (uint32_t i = 0; i < MAPS; i++)
		assert_int_equal(softrnic_dma_map(dp->dev, IOVA + i * 2ul * PAGE, PAGE, dp->memory,
						  SOFTRNIC_DMA_READ),
				 0);
	seconds = cpu_seconds();
	for (uint32_t i = 0; i < MAPS; i++)
		assert_int_equal(softrnic_dma_unmap(dp->dev, IOVA + i * 2ul * PAGE, PAGE), 0);
	return cpu_seconds() - seconds;
}

/* Each has sent lately, so that its record is looked at. */
static void
watch_all(struct qw_two *two, struct qw_qp *qps)
{
	struct dp *dp = &two->qw.ends[0]->dp;
	const uint64_t end = dp_stats(dp).wqes + QPS;

	for (uint32_t i = 0; i < QPS; i++) {
		qw_wqe(&qps[i], RNIC_WQE_NOP, NULL, 0, NULL, 0, RNIC_WQE_CE_ON_ERROR);
		dp_sq_record(&qps[i].sq);
		softrnic_qp_doorbell(dp->dev, qps[i].qpn);
	}
	for (uint32_t polls = 0; dp_stats(dp).wqes < end; polls++) {
		assert_true(polls < QPS);
		softrnic_poll(two->qw.poller);
	}
	assert_int_equal(dp->dev->qp_watch.count, QPS);
}

static void
test_maps_that_go_beside_many_queue_pairs(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct qw_qp *qps = calloc(QPS, sizeof(*qps));
	struct dp *dp = &two->qw.ends[0]->dp;
	const struct qw_attr attr = qw_attr();
	double alone = 1, beside = 1, seconds;

	assert_non_null(qps);
	for (uint32_t i = 0; i < TRIES; i++) {
		seconds = unmap_seconds(dp);
		alone = seconds < alone ? seconds : alone;
	}
	conf.no_rq = true;
	conf.log_sq = 0;
	for (uint32_t i = 0; i < QPS; i++) {
		assert_int_equal(qw_qp_create(two->qw.ends[0], &qps[i], &conf), 0);
		assert_int_equal(qw_qp_modify(&qps[i], RNIC_CMD_RST2INIT_QP, &qps[i], &attr), 0);
		assert_int_equal(qw_qp_modify(&qps[i], RNIC_CMD_INIT2RTR_QP, &qps[i], &attr), 0);
		assert_int_equal(qw_qp_modify(&qps[i], RNIC_CMD_RTR2RTS_QP, &qps[i], &attr), 0);
	}
	for (uint32_t i = 0; i < TRIES; i++) {
		watch_all(two, qps);
		seconds = unmap_seconds(dp);
		beside = seconds < beside ? seconds : beside;
	}
	print_message("# %u maps go: %.1f ms, beside %u queue pairs %.1f ms\n", MAPS, alone * 1e3,
		      QPS, beside * 1e3);
	assert_true(beside < 3 * alone + .002);
	/* All of them still hear of what is posted. */
	watch_all(two, qps);
	for (uint32_t i = 0; i < QPS; i++)
		assert_int_equal(qw_qp_inside(&qps[i])->sq_consumer, TRIES + 1);
	free(qps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_maps_that_go_beside_many_queue_pairs, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("qp_maps", tests, NULL, NULL);
}
