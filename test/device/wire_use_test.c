/* SPDX-License-Identifier: BSD-3-Clause */

/* The wire through another ethdev: when it leaves that alone. */
#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include "wire_cable.h"

static eth_rx_burst_t rx_burst;
static eth_tx_burst_t tx_burst;
static unsigned int bursts;

static uint16_t
count_rx(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	bursts++;
	return rx_burst(queue, mbufs, count);
}

static uint16_t
count_tx(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	bursts++;
	return tx_burst(queue, mbufs, count);
}

static struct rte_eth_dev *
cable_dev(void)
{
	uint16_t id;

	assert_int_equal(rte_eth_dev_get_port_by_name(CABLE_ETHDEV, &id), 0);
	return &rte_eth_devices[id];
}

/* The ethdev's bursts are counted. */
static int
setup(void **state)
{
	struct rte_eth_dev *dev;
	int ret = cable_setup(state);

	if (ret != 0)
		return ret;
	dev = cable_dev();
	rx_burst = dev->rx_pkt_burst;
	tx_burst = dev->tx_pkt_burst;
	dev->rx_pkt_burst = count_rx;
	dev->tx_pkt_burst = count_tx;
	bursts = 0;
	return 0;
}

/* ---- Whether it is used ---- */

static void
switch_port(struct ww *ww, uint32_t state)
{
	struct rnic_modify_vport_state_in in = { 0 };

	rnic_modify_vport_state_in_set(&in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE, state);
	assert_int_equal(
		dp_command(&ww->dp, RNIC_CMD_MODIFY_VPORT_STATE, 0, &in, sizeof(in), NULL, 0), 0);
}

static void
close_rq(struct ww *ww)
{
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
	ww->rq.producer = 0;
	dp_rq_record(&ww->rq);
}

static void
open_rq(struct ww *ww)
{
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

static void
close_sq(struct ww *ww)
{
	assert_int_equal(dp_sq_modify(&ww->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
	ww->sq.producer = 0;
	dp_sq_record(&ww->sq);
}

static void
open_sq(struct ww *ww)
{
	assert_int_equal(dp_sq_modify(&ww->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

/* Bursts of the ethdev in that many polls. */
static unsigned int
bursts_in(struct ww *ww, unsigned int polls)
{
	unsigned int before = bursts;

	while (polls-- > 0)
		softrnic_poll(ww->poller);
	return bursts - before;
}

/* Who stops a port may remove what is below it: nothing of ours is in a burst then. */
static void
test_a_port_that_is_switched_off_leaves_the_ethdev_alone(void **state)
{
	struct ww ww;

	(void)state;
	cable_open(&ww);
	cable_wait_for_link(&ww, true);
	ww_post(&ww, 4);
	switch_port(&ww, RNIC_VPORT_STATE_DOWN);
	assert_int_equal(bursts_in(&ww, 100), 0);
	cable_put(cable_mbuf(60, 1));
	dp_run(&ww.dp);
	assert_int_equal(rte_ring_count(cable_in), 1);
	switch_port(&ww, RNIC_VPORT_STATE_FOLLOW);
	assert_true(ww.dp.dev->port.link_up);
	softrnic_poll(ww.poller);
	assert_int_equal(rte_ring_count(cable_in), 0);
	cable_put(cable_mbuf(60, 2));
	dp_run(&ww.dp);
	ww_expect(&ww, 60, 2);
	ww_expect_none(&ww);
	ww_close(&ww);
}

/* A driver's port that is stopped, or was never started, whatever has its link up: the queues are all in reset. */
static void
test_a_port_without_queues_leaves_the_ethdev_alone(void **state)
{
	struct ww ww;

	(void)state;
	cable_open(&ww);
	cable_wait_for_link(&ww, true);
	assert_true(bursts_in(&ww, 100) >= 100);
	close_rq(&ww);
	close_sq(&ww);
	assert_int_equal(bursts_in(&ww, 100), 0);
	assert_true(ww.dp.dev->port.link_up);
	/* Each of the two is reason enough. */
	open_sq(&ww);
	assert_true(bursts_in(&ww, 100) >= 100);
	close_sq(&ww);
	assert_int_equal(bursts_in(&ww, 100), 0);
	open_rq(&ww);
	assert_true(bursts_in(&ww, 100) >= 100);
	/* Through ERR as well. */
	assert_int_equal(dp_rq_modify(&ww.rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	assert_true(bursts_in(&ww, 100) >= 100);
	assert_int_equal(dp_rq_modify(&ww.rq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
	assert_int_equal(bursts_in(&ww, 100), 0);
	open_sq(&ww);
	open_rq(&ww);
	cable_pass_both_ways(&ww);
	ww_close(&ww);
}

/* A queue that is destroyed as it is, and a device that is reset, leave nothing that counts as used. */
static void
test_queues_that_are_destroyed_are_used_no_more(void **state)
{
	struct dp_rq other;
	struct ww ww;

	(void)state;
	cable_open(&ww);
	cable_wait_for_link(&ww, true);
	close_rq(&ww);
	close_sq(&ww);
	assert_int_equal(dp_rq_create(&ww.dp, &other, &ww.rx_cq, 4, 4), 0);
	assert_true(bursts_in(&ww, 100) >= 100);
	assert_int_equal(dp_destroy(&ww.dp, RNIC_CMD_DESTROY_RQ, other.rqn), 0);
	assert_int_equal(bursts_in(&ww, 100), 0);
	open_rq(&ww);
	assert_int_equal(softrnic_reset(ww.dp.dev), 0);
	assert_int_equal(ww.dp.dev->open_rqs, 0);
	ww_close(&ww);
}

static void
test_frames_from_before_the_first_queue_are_thrown_away(void **state)
{
	struct ww ww;

	(void)state;
	cable_open(&ww);
	cable_wait_for_link(&ww, true);
	close_rq(&ww);
	close_sq(&ww);
	for (uint32_t i = 0; i < CABLE_RING - 1; i++)
		cable_put(cable_mbuf(60, i));
	assert_int_equal(bursts_in(&ww, 100), 0);
	ww_post(&ww, 4);
	open_rq(&ww);
	dp_run(&ww.dp);
	ww_expect_none(&ww);
	assert_int_equal(rte_ring_count(cable_in), 0);
	cable_put(cable_mbuf(60, 100));
	dp_run(&ww.dp);
	ww_expect(&ww, 60, 100);
	ww_expect_none(&ww);
	ww_close(&ww);
}

/* What the ethdev did not take in time is not sent when somebody else uses the port. */
static void
test_frames_that_did_not_get_through_go_with_the_last_queue(void **state)
{
	struct ww ww;

	(void)state;
	cable_open(&ww);
	for (uint32_t i = 0; i < CABLE_RING - 1 + 20; i++)
		ww_send(&ww, 60, i);
	close_rq(&ww);
	close_sq(&ww);
	assert_int_equal(bursts_in(&ww, 100), 0);
	for (uint32_t i = 0; i < CABLE_RING - 1; i++)
		cable_take(60, i);
	open_sq(&ww);
	assert_true(bursts_in(&ww, 100) >= 100);
	cable_take_none();
	ww_send(&ww, 60, 7);
	cable_take(60, 7);
	ww_close(&ww);
}

/* Nor what the faults have kept. */
static void
test_a_frame_that_waits_to_be_overtaken_goes_with_the_last_queue(void **state)
{
	struct softrnic_conf conf = {
		.name = "wired", .wire = "port:" CABLE_ETHDEV, .reorder_ppm = 1000000
	};
	struct ww ww;

	(void)state;
	ww_open(&ww, &conf);
	cable_wait_for_link(&ww, true);
	ww_frame(ww.out, 60, 1);
	dp_send(&ww.sq, ww.out, 60);
	/* Fewer polls than it is kept for. */
	for (unsigned int i = 0; i < 16 && dp_cq_peek(&ww.tx_cq) == NULL; i++)
		softrnic_poll(ww.poller);
	assert_non_null(dp_cq_next(&ww.tx_cq));
	close_rq(&ww);
	close_sq(&ww);
	assert_int_equal(bursts_in(&ww, 200), 0);
	assert_int_equal(dp_stats(&ww.dp).wire_dropped, 1);
	open_sq(&ww);
	assert_true(bursts_in(&ww, 100) >= 100);
	cable_take_none();
	ww_close(&ww);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, cable_teardown)
		TEST(test_a_port_that_is_switched_off_leaves_the_ethdev_alone),
		TEST(test_a_port_without_queues_leaves_the_ethdev_alone),
		TEST(test_queues_that_are_destroyed_are_used_no_more),
		TEST(test_frames_from_before_the_first_queue_are_thrown_away),
		TEST(test_frames_that_did_not_get_through_go_with_the_last_queue),
		TEST(test_a_frame_that_waits_to_be_overtaken_goes_with_the_last_queue),
#undef TEST
	};

	return cmocka_run_group_tests_name("wire_use", tests, NULL, NULL);
}

int
main(void)
{
	return cable_main("wire-use", run);
}
