/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs through a switch: as descriptors to the end that has the address, else as bytes. */
#include <stdlib.h>

#include "qp_world.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"

/* A third device, which has the same switch and neither of the addresses. */
static struct dp other;

static struct qw_two *
open_switch(bool bytes)
{
	const struct qw_conf conf = { .pair = true, .through_switch = true, .bytes = bytes };
	const struct softrnic_conf device = { .name = "other",
					      .wire = "switch:qw",
					      .mac = { 2, 0, 0, 0, 0, 9 } };
	const struct qw_attr attr = qw_attr();
	struct qw_two *two = qw_two_open(&conf);

	assert_int_equal(dp_open_quick(&other, two->qw.poller, &device), 0);
	qw_two_connect(two, &attr);
	qw_fill(two->out, 8192, 1);
	qw_run(&two->qw);
	return two;
}

static void
close_switch(struct qw_two *two)
{
	dp_close(&other);
	qw_two_close(two);
}

static void
test_requests_of_all_kinds(void **state)
{
	struct qw_two *two;

	(void)state;
	for (unsigned int bytes = 0; bytes < 2; bytes++) {
		two = open_switch(bytes);
		qw_requests(two);
		assert_int_equal(two->qw.ends[0]->dp.dev->roce_counters.local_ack_timeout_err, 0);
		/* Descriptors are for one end; frames for all, until the switch has learned, and the third one's eyes. */
		if (!bytes) {
			assert_int_equal(qw_qp_inside(&two->a)->route, SOFTRNIC_ROCE_ENDS + 1);
			assert_int_equal(qw_qp_inside(&two->b)->route, SOFTRNIC_ROCE_ENDS);
			assert_int_equal(dp_stats(&other).rx_packets, 0);
		} else {
			assert_int_equal(qw_qp_inside(&two->a)->route, SOFTRNIC_ROCE_BYTES);
			assert_int_equal(dp_stats(&other).rx_packets, 1);
		}
		close_switch(two);
	}
}

/* Decided again when the address goes, and when it is there again; the packets meanwhile are frames that nobody wants. */
static void
test_the_address_goes_and_comes_again(void **state)
{
	struct qw_two *two = open_switch(false);

	(void)state;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	qw_set_vlan(two->b.end, 5);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in + 64);
	qw_run_us(&two->qw, 1000);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(qw_qp_inside(&two->a)->route, SOFTRNIC_ROCE_BYTES);
	assert_true(dp_stats(&two->b.end->dp).rx_unmatched > 0);
	qw_set_vlan(two->b.end, 0);
	qw_run_us(&two->qw, 500000);
	qw_done(two, 1);
	assert_memory_equal(two->in, two->out, 64);
	assert_int_equal(qw_qp_inside(&two->a)->route, SOFTRNIC_ROCE_ENDS + 1);
	close_switch(two);
}

/* The end is not there any more: others still are, the link is up, and nothing is touched. */
static void
test_the_end_leaves(void **state)
{
	struct qw_two *two = open_switch(false);

	(void)state;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	dp_close(&two->qw.memory[1].dp);
	qw_run_us(&two->qw, 2000000);
	qw_failed(two, 1, RNIC_SYND_RETRY_EXCEEDED);
	assert_true(two->qw.ends[0]->dp.dev->port.link_up);
	dp_close(&other);
	assert_false(two->qw.ends[0]->dp.dev->port.link_up);
	dp_close(&two->qw.memory[0].dp);
	assert_int_equal(softrnic_poller_destroy(two->qw.poller), 0);
	free(two);
}

/* Its port is switched off: the packet is lost, and counted with who sent it. */
static void
test_the_end_has_no_link(void **state)
{
	struct qw_two *two = open_switch(false);

	(void)state;
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	assert_int_equal(drv_link_switch(&two->b.end->dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_run_us(&two->qw, 1000);
	assert_int_equal(dp_stats(&two->a.end->dp).wire_no_peer, 1);
	assert_int_equal(drv_link_switch(&two->b.end->dp.drv, RNIC_VPORT_STATE_FOLLOW), 0);
	qw_run_us(&two->qw, 500000);
	qw_done(two, 1);
	close_switch(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_of_all_kinds),
		cmocka_unit_test(test_the_address_goes_and_comes_again),
		cmocka_unit_test(test_the_end_leaves),
		cmocka_unit_test(test_the_end_has_no_link),
	};

	return cmocka_run_group_tests_name("qp_switch", tests, NULL, NULL);
}
