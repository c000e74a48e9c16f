/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs whose ends are polled by two threads: their packets go as bytes, through a pair or a switch. */
#include <stdlib.h>

#include "qp_world.h"

#define PIECE (64u << 10)

static struct qw_two *
open_beside(bool through_switch)
{
	const struct qw_conf conf = { .pair = true,
				      .beside = true,
				      .through_switch = through_switch };
	const struct qw_attr attr = qw_attr();
	struct qw_two *two = qw_two_open(&conf);

	qw_two_connect(two, &attr);
	qw_fill(two->out, 8192, 1);
	qw_run(&two->qw);
	return two;
}

static void
test_requests_of_all_kinds(void **state)
{
	struct qw_two *two;

	(void)state;
	for (unsigned int through_switch = 0; through_switch < 2; through_switch++) {
		two = open_beside(through_switch);
		qw_requests(two);
		assert_int_equal(dp_stats(&two->b.end->dp).roce_icrc_errors, 0);
		qw_two_close(two);
	}
}

/* The other thread is late: the trunk fills, and who sends waits for as long as it takes; nothing is lost that nobody repeats. */
static void
test_queue_pairs_wait_for_room(void **state)
{
	struct qw_two *two = open_beside(false);
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	struct softrnic_stats stats;
	unsigned int i;

	(void)state;
	a.st = b.st = RNIC_QP_ST_UC;
	qw_two_more(two, &two->a, &a, &two->b, &b, &attr);
	qw_fill(two->out, QW_BUFFER, 1);
	for (i = 0; i < QW_BUFFER / PIECE; i++)
		qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out + i * PIECE, PIECE,
			two->in + i * PIECE);
	for (i = 0; i < 100000; i++)
		softrnic_poll(two->qw.poller);
	for (i = 0; dp_cq_next(&two->a_send) != NULL; i++)
		;
	assert_in_range(i, 1, QW_BUFFER / PIECE - 1);
	qw_run(&two->qw);
	for (; i < QW_BUFFER / PIECE; i++)
		qw_done(two, (uint16_t)i);
	assert_memory_equal(two->in, two->out, QW_BUFFER);
	stats = dp_stats(&two->a.end->dp);
	assert_int_equal(stats.wire_dropped + stats.tx_errors, 0);
	qw_two_close(two);
}

/* Its thread goes on, and the device has gone: the link tells. */
static void
test_the_end_leaves(void **state)
{
	struct qw_two *two = open_beside(false);

	(void)state;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	dp_close(&two->qw.memory[1].dp);
	qw_run_us(&two->qw, 2000000);
	qw_failed(two, 1, RNIC_SYND_RETRY_EXCEEDED);
	assert_false(drv_link_is_up(&two->qw.ends[0]->dp.drv));
	dp_close(&two->qw.memory[0].dp);
	assert_int_equal(softrnic_poller_destroy(two->qw.second), 0);
	assert_int_equal(softrnic_poller_destroy(two->qw.poller), 0);
	free(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_of_all_kinds),
		cmocka_unit_test(test_queue_pairs_wait_for_room),
		cmocka_unit_test(test_the_end_leaves),
	};

	return cmocka_run_group_tests_name("qp_trunk", tests, NULL, NULL);
}
