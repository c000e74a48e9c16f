/* SPDX-License-Identifier: BSD-3-Clause */

/* The wire through another ethdev: when it leaves that alone, and what it has it do. */
#include <errno.h>
#include <stdatomic.h>

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include "wire_cable.h"
#include "softrnic/port/port.h"

#define LARGE 1800 /* an MTU */

static eth_rx_burst_t rx_burst;
static eth_tx_burst_t tx_burst;
static unsigned int bursts;
/* Of one thread for another: ThreadSanitizer does not see the locks of EAL in between. */
static _Atomic(const struct eth_dev_ops *) driver_ops;
static struct eth_dev_ops ops;
static atomic_uint stops;
static atomic_uint mtu_is;

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
	return &rte_eth_devices[cable_id()];
}

/* The ethdev's bursts are counted, and its operations can be others, from its start on. */
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
	ops = *dev->dev_ops;
	atomic_store(&driver_ops, dev->dev_ops);
	dev->dev_ops = &ops;
	atomic_store(&mtu_is, 0);
	return 0;
}

static int
setup_linked(void **state)
{
	if (setup(state) != 0)
		return -1;
	cable_open(*state);
	cable_wait_for_link(*state, true);
	return 0;
}

/* ---- Whether it is used ---- */

static void
close_rq(struct dp_side *ww)
{
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
	ww->rq.producer = 0;
	dp_rq_record(&ww->rq);
}

static void
open_rq(struct dp_side *ww)
{
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

static void
close_sq(struct dp_side *ww)
{
	assert_int_equal(dp_sq_modify(&ww->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_RST), 0);
	ww->sq.producer = 0;
	dp_sq_record(&ww->sq);
}

static void
open_sq(struct dp_side *ww)
{
	assert_int_equal(dp_sq_modify(&ww->sq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

/* Bursts of the ethdev in that many polls. */
static unsigned int
bursts_in(struct dp_side *ww, unsigned int polls)
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
	struct dp_side *ww = *state;

	ww_post(ww, 4);
	assert_int_equal(drv_link_switch(&ww->dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_int_equal(bursts_in(ww, 100), 0);
	cable_put(cable_mbuf(60, 1));
	dp_run(&ww->dp);
	assert_int_equal(rte_ring_count(cable_in), 1);
	assert_int_equal(drv_link_switch(&ww->dp.drv, RNIC_VPORT_STATE_FOLLOW), 0);
	assert_true(ww->dp.dev->port.link_up);
	softrnic_poll(ww->poller);
	assert_int_equal(rte_ring_count(cable_in), 0);
	cable_put(cable_mbuf(60, 2));
	dp_run(&ww->dp);
	ww_expect(ww, 60, 2);
	ww_expect_none(ww);
}

/* A driver's port that is stopped, or was never started, whatever has its link up: the queues are all in reset. */
static void
test_a_port_without_queues_leaves_the_ethdev_alone(void **state)
{
	struct dp_side *ww = *state;

	assert_true(bursts_in(ww, 100) >= 100);
	close_rq(ww);
	close_sq(ww);
	assert_int_equal(bursts_in(ww, 100), 0);
	assert_true(ww->dp.dev->port.link_up);
	/* Each of the two is reason enough. */
	open_sq(ww);
	assert_true(bursts_in(ww, 100) >= 100);
	close_sq(ww);
	assert_int_equal(bursts_in(ww, 100), 0);
	open_rq(ww);
	assert_true(bursts_in(ww, 100) >= 100);
	/* Through ERR as well. */
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	assert_true(bursts_in(ww, 100) >= 100);
	assert_int_equal(dp_rq_modify(&ww->rq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
	assert_int_equal(bursts_in(ww, 100), 0);
	open_sq(ww);
	open_rq(ww);
	cable_pass_both_ways(ww);
}

/* A queue that is destroyed as it is, and a device that is reset, leave nothing that counts as used. */
static void
test_queues_that_are_destroyed_are_used_no_more(void **state)
{
	struct dp_rq other;
	struct dp_side *ww = *state;

	close_rq(ww);
	close_sq(ww);
	assert_int_equal(dp_rq_create(&ww->dp, &other, &ww->rx_cq, 4, 4), 0);
	assert_true(bursts_in(ww, 100) >= 100);
	assert_int_equal(dp_destroy(&ww->dp, RNIC_CMD_DESTROY_RQ, other.rqn), 0);
	assert_int_equal(bursts_in(ww, 100), 0);
	open_rq(ww);
	assert_int_equal(softrnic_reset(ww->dp.dev), 0);
	assert_int_equal(ww->dp.dev->open_rqs, 0);
	assert_int_equal(ww->dp.dev->ready_rqs, 0);
}

static void
test_frames_from_before_the_first_queue_are_thrown_away(void **state)
{
	struct dp_side *ww = *state;

	close_rq(ww);
	close_sq(ww);
	for (uint32_t i = 0; i < CABLE_RING - 1; i++)
		cable_put(cable_mbuf(60, i));
	assert_int_equal(bursts_in(ww, 100), 0);
	ww_post(ww, 4);
	open_rq(ww);
	dp_run(&ww->dp);
	ww_expect_none(ww);
	assert_int_equal(rte_ring_count(cable_in), 0);
	cable_put(cable_mbuf(60, 100));
	dp_run(&ww->dp);
	ww_expect(ww, 60, 100);
	ww_expect_none(ww);
}

/* What the ethdev did not take in time is not sent when somebody else uses the port. */
static void
test_frames_that_did_not_get_through_go_with_the_last_queue(void **state)
{
	struct dp_side *ww = *state;

	cable_open(ww);
	for (uint32_t i = 0; i < CABLE_RING - 1 + 20; i++)
		ww_send(ww, 60, i);
	close_rq(ww);
	close_sq(ww);
	assert_int_equal(bursts_in(ww, 100), 0);
	assert_int_equal(dp_stats(&ww->dp).wire_dropped, 20);
	for (uint32_t i = 0; i < CABLE_RING - 1; i++)
		cable_take(60, i);
	open_sq(ww);
	assert_true(bursts_in(ww, 100) >= 100);
	cable_take_none();
	ww_send(ww, 60, 7);
	cable_take(60, 7);
}

/* Nor what the faults have kept. */
static void
test_a_frame_that_waits_to_be_overtaken_goes_with_the_last_queue(void **state)
{
	struct softrnic_conf conf = { .name = "wired",
				      .wire = "port:" CABLE_ETHDEV,
				      .reorder_ppm = 1000000 };
	struct dp_side *ww = *state;

	ww_open(ww, &conf);
	cable_wait_for_link(ww, true);
	ww_frame(ww->out, 60, 1);
	dp_send(&ww->sq, ww->out, 60);
	/* Fewer polls than it is kept for. */
	for (unsigned int i = 0; i < 16 && dp_cq_peek(&ww->tx_cq) == NULL; i++)
		softrnic_poll(ww->poller);
	assert_non_null(dp_cq_next(&ww->tx_cq));
	close_rq(ww);
	close_sq(ww);
	assert_int_equal(bursts_in(ww, 200), 0);
	assert_int_equal(dp_stats(&ww->dp).wire_dropped, 1);
	open_sq(ww);
	assert_true(bursts_in(ww, 100) >= 100);
	cable_take_none();
}

/* ---- The MTU of an ethdev that takes one while it is stopped ---- */

static int
set_mtu_while_stopped(struct rte_eth_dev *dev, uint16_t mtu)
{
	if (dev->data->dev_started)
		return -EBUSY;
	atomic_store(&mtu_is, mtu);
	return 0;
}

static void
set_port_mtu(struct dp_side *ww, uint16_t mtu)
{
	assert_int_equal(drv_port_mtu_set(&ww->dp.drv, mtu + SOFTRNIC_FRAME_OVERHEAD), 0);
}

static void
wait_for_mtu(struct dp_side *ww, uint16_t mtu)
{
	unsigned int naps = 0;

	while (atomic_load(&mtu_is) != mtu) {
		softrnic_poll(ww->poller);
		cable_nap(&naps, "the ethdev does not get the MTU");
	}
}

static void
test_an_ethdev_is_stopped_to_get_its_mtu(void **state)
{
	struct dp_side *ww = *state;
	uint16_t mtu;

	ops.mtu_set = set_mtu_while_stopped;
	cable_open(ww);
	cable_wait_for_link(ww, true);
	for (mtu = LARGE; mtu < LARGE + 2; mtu++) {
		set_port_mtu(ww, mtu);
		wait_for_mtu(ww, mtu);
		/* The wire has let go of it by then. */
		cable_wait_for_link(ww, true);
		cable_pass_both_ways(ww);
		assert_int_equal(rte_eth_promiscuous_get(cable_id()), 1);
	}
}

static int
start_never_again(struct rte_eth_dev *dev)
{
	return atomic_load(&mtu_is) != 0 ? -EIO : atomic_load(&driver_ops)->dev_start(dev);
}

static int
stop_not_at_first(struct rte_eth_dev *dev)
{
	return atomic_fetch_add(&stops, 1) == 0 ? -EIO : atomic_load(&driver_ops)->dev_stop(dev);
}

static void
wait_to_have_it_back(void)
{
	struct rte_eth_dev_owner owner = { .id = 1 };
	unsigned int naps = 0;

	while (owner.id != RTE_ETH_DEV_NO_OWNER) {
		assert_int_equal(rte_eth_dev_owner_get(cable_id(), &owner), 0);
		cable_nap(&naps, "the ethdev is not given back");
	}
}

/* Nothing of ours touches it any more, until one comes that can be started. */
static void
test_an_ethdev_that_does_not_start_again_is_left(void **state)
{
	struct dp_side *ww = *state;

	ops.mtu_set = set_mtu_while_stopped;
	ops.dev_start = start_never_again;
	cable_open(ww);
	cable_wait_for_link(ww, true);
	set_port_mtu(ww, LARGE);
	wait_for_mtu(ww, LARGE);
	cable_wait_for_link(ww, false);
	wait_to_have_it_back();
	assert_int_equal(bursts_in(ww, 100), 0);
	cable_end();
	cable_comes(ww);
}

/* Its bursts are ethdev's dummies then: a link that is up would be a lie. */
static void
test_an_ethdev_that_does_not_stop_is_left(void **state)
{
	struct dp_side *ww = *state;

	atomic_store(&stops, 0);
	ops.mtu_set = set_mtu_while_stopped;
	ops.dev_stop = stop_not_at_first;
	cable_open(ww);
	cable_wait_for_link(ww, true);
	set_port_mtu(ww, LARGE);
	cable_wait_for_link(ww, false);
	wait_to_have_it_back();
	assert_int_equal(bursts_in(ww, 100), 0);
	assert_int_equal(rte_eth_dev_stop(cable_id()), 0);
	cable_end();
	cable_comes(ww);
}

static int
set_mtu_while_it_is_pulled_out(struct rte_eth_dev *dev, uint16_t mtu)
{
	if (!dev->data->dev_started)
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
	return set_mtu_while_stopped(dev, mtu);
}

static void
test_an_ethdev_that_is_pulled_out_while_it_is_stopped_is_closed(void **state)
{
	unsigned int naps = 0;
	struct dp_side *ww = *state;
	uint16_t id;

	ops.mtu_set = set_mtu_while_it_is_pulled_out;
	ops.dev_start = start_never_again;
	cable_open(ww);
	cable_wait_for_link(ww, true);
	id = cable_id();
	set_port_mtu(ww, LARGE);
	while (rte_eth_dev_is_valid_port(id)) {
		softrnic_poll(ww->poller);
		cable_nap(&naps, "the ethdev is not closed");
	}
	cable_wait_for_link(ww, false);
	cable_end();
	cable_comes(ww);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)   cmocka_unit_test_setup_teardown(name, setup, cable_teardown)
#define LINKED(name) cmocka_unit_test_setup_teardown(name, setup_linked, cable_teardown)
		LINKED(test_a_port_that_is_switched_off_leaves_the_ethdev_alone),
		LINKED(test_a_port_without_queues_leaves_the_ethdev_alone),
		LINKED(test_queues_that_are_destroyed_are_used_no_more),
		LINKED(test_frames_from_before_the_first_queue_are_thrown_away),
		TEST(test_frames_that_did_not_get_through_go_with_the_last_queue),
		TEST(test_a_frame_that_waits_to_be_overtaken_goes_with_the_last_queue),
		TEST(test_an_ethdev_is_stopped_to_get_its_mtu),
		TEST(test_an_ethdev_that_does_not_start_again_is_left),
		TEST(test_an_ethdev_that_does_not_stop_is_left),
		TEST(test_an_ethdev_that_is_pulled_out_while_it_is_stopped_is_closed),
#undef TEST
#undef LINKED
	};

	return cmocka_run_group_tests_name("wire_use", tests, NULL, NULL);
}

int
main(void)
{
	return cable_main("wire-use", run);
}
