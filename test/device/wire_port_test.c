/* SPDX-License-Identifier: BSD-3-Clause */

/* The wire through another ethdev: what it carries, whom the ethdev belongs to, and how both come and go. */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "softrnic/wire/ops.h"
#include "softrnic/port/frame.h"
#include "wire_cable.h"
#include "softrnic/base/device.h"

#define RING_MAX (CABLE_RING - 1)
#define PENDING	 32 /* frames that the wire keeps for a full ethdev */

static unsigned int
free_ports(void)
{
	unsigned int count = 0;
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
		count++;
	return count;
}

static void
test_frames_pass_both_ways_whole_and_in_order(void **state)
{
	struct dp_side *ww = *state;

	for (uint32_t round = 0; round < 20; round++) {
		ww_post(ww, 50);
		for (uint32_t i = 0; i < 50; i++)
			cable_put(cable_mbuf(60 + i * 29, round * 50 + i));
		dp_run(&ww->dp);
		for (uint32_t i = 0; i < 50; i++)
			ww_expect(ww, 60 + i * 29, round * 50 + i);
		for (uint32_t i = 0; i < 50; i++)
			ww_send(ww, 60 + i * 29, round * 50 + i);
		for (uint32_t i = 0; i < 50; i++)
			cable_take(60 + i * 29, round * 50 + i);
	}
	cable_take_none();
	assert_int_equal(dp_stats(&ww->dp).rx_packets, 1000);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, 1000);
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 0);
}

/* Nobody else's: not among the ports that an application finds, and given back at the end. */
static void
test_the_ethdev_is_ours_until_the_end(void **state)
{
	struct rte_eth_dev_owner owner;
	struct rte_eth_conf conf = { 0 };
	struct dp_side *ww = *state;
	uint16_t id;

	assert_int_equal(free_ports(), 1);
	cable_open(ww);
	assert_int_equal(free_ports(), 0);
	id = cable_id();
	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_string_equal(owner.name, "softrnic wired");
	assert_int_equal(rte_eth_promiscuous_get(id), 1);
	ww_close(ww);
	assert_int_equal(free_ports(), 1);
	/* Stopped, or this would be refused. */
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
}

/* As where an ethdev went, and its number is another's before the wire has heard of it. */
static void
test_an_ethdev_that_is_not_ours_any_more_is_not_stopped(void **state)
{
	struct rte_eth_dev_owner owner;
	struct rte_eth_conf conf = { 0 };
	struct dp_side *ww = *state;
	const uint16_t id = cable_id();

	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_int_equal(rte_eth_dev_owner_unset(id, owner.id), 0);
	ww_close(ww);
	/* It runs, or this would be done. */
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(id), 0);
}

static void
refuse(int expected)
{
	struct softrnic_conf conf = { .name = "wired", .wire = "port:" CABLE_ETHDEV };
	struct softrnic_poller *poller;
	struct softrnic *dev;

	assert_int_equal(softrnic_poller_create(&poller), 0);
	assert_int_equal(softrnic_create(poller, &conf, &dev), expected);
	assert_int_equal(softrnic_poller_destroy(poller), 0);
}

static void
test_an_ethdev_that_somebody_else_has_is_refused(void **state)
{
	struct rte_eth_dev_owner owner = { .name = "another" };
	struct rte_eth_conf conf = { 0 };
	const uint16_t id = cable_id();

	(void)state;
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(id, &owner), 0);
	refuse(-EPERM);
	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_string_equal(owner.name, "another");
	assert_int_equal(rte_eth_dev_owner_unset(id, owner.id), 0);
	/* In use by the application. */
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, cable_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(id, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(id), 0);
	refuse(-EBUSY);
	assert_int_equal(free_ports(), 1);
	assert_int_equal(rte_eth_dev_stop(id), 0);
}

/* The ring and a burst more; then each frame is an error of the port, and none of those before is lost. */
static void
test_what_a_full_ethdev_does_not_take_is_counted(void **state)
{
	const uint32_t taken = RING_MAX + PENDING;
	struct dp_side *ww = *state;

	for (uint32_t i = 0; i < 150; i++)
		ww_send(ww, 60, i);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, taken);
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 150 - taken);
	assert_int_equal(ww->dp.dev->port.counters.tx_errors, 150 - taken);
	for (uint32_t i = 0; i < RING_MAX; i++)
		cable_take(60, i);
	dp_run(&ww->dp);
	for (uint32_t i = RING_MAX; i < taken; i++)
		cable_take(60, i);
	cable_take_none();
	ww_send(ww, 60, 7);
	cable_take(60, 7);
	assert_int_equal(dp_stats(&ww->dp).tx_packets, taken + 1);
}

/* A burst a round, however fast the other end is. */
static void
test_an_ethdev_that_always_has_more_takes_its_turn(void **state)
{
	uint64_t before, now;
	struct dp_side *ww = *state;

	cable_wait_for_link(ww, true);
	before = dp_stats(&ww->dp).rx_packets;
	for (uint32_t i = 0; i < 20; i++, before = now) {
		while (rte_ring_free_count(cable_in) > 0)
			cable_put(cable_mbuf(60, i));
		ww_post(ww, CABLE_RING);
		softrnic_poll(ww->poller);
		now = dp_stats(&ww->dp).rx_packets;
		assert_in_range(now - before, 1, 32);
	}
	dp_run(&ww->dp);
}

static void
test_the_link_follows_the_ethdevs(void **state)
{
	struct dp_side *ww = *state;
	const uint16_t id = cable_id();

	cable_wait_for_link(ww, true);
	ww_link_events(ww, RNIC_PORT_CHANGE_DOWN);
	assert_int_equal(rte_eth_dev_set_link_down(id), 0);
	cable_wait_for_link(ww, false);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 1);
	ww_send(ww, 60, 1);
	cable_take_none();
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 1);
	assert_int_equal(rte_eth_dev_set_link_up(id), 0);
	cable_wait_for_link(ww, true);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_ACTIVE), 1);
	cable_pass_both_ways(ww);
}

static struct rte_mbuf *
mbuf_of_segments(uint32_t count, uint32_t bytes, uint32_t number)
{
	uint8_t frame[WW_FRAME_BYTES];
	struct rte_mbuf *head = NULL, *mbuf;

	ww_frame(frame, count * bytes, number);
	for (uint32_t i = 0; i < count; i++) {
		mbuf = rte_pktmbuf_alloc(cable_pool);
		assert_non_null(mbuf);
		memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame + i * bytes, bytes);
		if (head == NULL)
			head = mbuf;
		else
			assert_int_equal(rte_pktmbuf_chain(head, mbuf), 0);
	}
	return head;
}

static void
test_frames_that_no_port_would_take_are_errors(void **state)
{
	struct dp_side *ww = *state;

	ww_post(ww, 10);
	cable_put(cable_mbuf(0, 0));
	cable_put(cable_mbuf(13, 1));
	cable_put(cable_mbuf(1519, 2));
	cable_put(mbuf_of_segments(SOFTRNIC_FRAME_PIECES + 1, 2, 3));
	cable_put(mbuf_of_segments(SOFTRNIC_FRAME_PIECES, 2, 4));
	cable_put(mbuf_of_segments(3, 100, 5));
	cable_put(cable_mbuf(1518, 6));
	dp_run(&ww->dp);
	ww_expect(ww, SOFTRNIC_FRAME_PIECES * 2, 4);
	ww_expect(ww, 300, 5);
	ww_expect(ww, 1518, 6);
	ww_expect_none(ww);
	assert_int_equal(dp_stats(&ww->dp).rx_errors, 4);
	assert_int_equal(ww->dp.dev->port.counters.rx_errors, 4);
}

/* As any card does: a frame that finds no buffer is lost, and counted. */
static void
test_a_frame_without_a_buffer_is_lost_and_counted(void **state)
{
	struct dp_side *ww = *state;

	ww_post(ww, 1);
	cable_put(cable_mbuf(60, 0));
	cable_put(cable_mbuf(60, 1));
	dp_run(&ww->dp);
	ww_expect(ww, 60, 0);
	ww_expect_none(ww);
	assert_int_equal(dp_stats(&ww->dp).rx_no_buffer, 1);
}

static void
test_an_ethdev_that_comes_later_is_taken(void **state)
{
	struct dp_side *ww = *state;

	cable_end();
	cable_open(ww);
	assert_false(ww->dp.dev->port.link_up);
	ww_send(ww, 60, 1);
	assert_int_equal(dp_stats(&ww->dp).tx_errors, 1);
	cable_make();
	cable_wait_for_link(ww, true);
	assert_int_equal(free_ports(), 0);
	cable_pass_both_ways(ww);
}

static void
test_an_ethdev_goes_and_comes_again(void **state)
{
	struct dp_side *ww = *state;

	for (uint32_t i = 0; i < 3; i++) {
		cable_pass_both_ways(ww);
		ww_link_events(ww, RNIC_PORT_CHANGE_DOWN);
		cable_end();
		/* At once, before anybody else could have its number. */
		assert_false(ww->dp.dev->wire->is_up(ww->dp.dev));
		assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 1);
		assert_false(ww->dp.dev->port.link_up);
		ww_send(ww, 60, 1);
		cable_take_none();
		cable_make();
		cable_wait_for_link(ww, true);
	}
	cable_pass_both_ways(ww);
}

/* A daemon's memory of clients is its one polling thread's: nobody else writes an event. */
static void
test_only_who_polls_tells_of_the_link(void **state)
{
	struct dp_side *ww = *state;

	cable_wait_for_link(ww, true);
	ww_link_events(ww, RNIC_PORT_CHANGE_DOWN);
	cable_end();
	assert_null(dp_eq_next(&ww->dp));
	assert_true(ww->dp.dev->port.link_up);
	softrnic_poll(ww->poller);
	assert_false(ww->dp.dev->port.link_up);
	assert_int_equal(ww_link_events(ww, RNIC_PORT_CHANGE_DOWN), 1);
	ww_close(ww);
	cable_make();
}

/* The other order of ends: the ethdev is still there when the device goes, or not. */
static void
test_a_device_may_end_without_its_ethdev(void **state)
{
	struct dp_side *ww = *state;

	cable_end();
	ww_close(ww);
	cable_make();
	cable_open(ww);
	cable_pass_both_ways(ww);
}

/* The event of hardware that was pulled out: the wire closes the ethdev, as its owner. */
static void
test_an_ethdev_whose_device_is_pulled_out_is_closed(void **state)
{
	unsigned int naps = 0;
	struct dp_side *ww = *state;
	const uint16_t id = cable_id();

	rte_eth_dev_callback_process(&rte_eth_devices[id], RTE_ETH_EVENT_INTR_RMV, NULL);
	softrnic_poll(ww->poller);
	assert_false(ww->dp.dev->port.link_up);
	while (rte_eth_dev_is_valid_port(id))
		cable_nap(&naps, "the ethdev is not closed");
	cable_end();
	cable_comes(ww);
}

/* Of one thread for another: ThreadSanitizer does not see the locks of EAL in between. */
static _Atomic(const struct eth_dev_ops *) driver_ops;
static uint16_t pulled_out;

static int
start_while_it_is_pulled_out(struct rte_eth_dev *dev)
{
	rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
	return atomic_load(&driver_ops)->dev_start(dev);
}

static int
have_it_pulled_out(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	static struct eth_dev_ops ops;

	(void)type;
	(void)arg;
	(void)ret;
	pulled_out = id;
	ops = *rte_eth_devices[id].dev_ops;
	atomic_store(&driver_ops, rte_eth_devices[id].dev_ops);
	ops.dev_start = start_while_it_is_pulled_out;
	rte_eth_devices[id].dev_ops = &ops;
	return 0;
}

/*
 * An ethdev whose probe takes its time when all is done: it has a name then, and everybody has been told of it, but its bus has
 * not given it its driver.
 */
static atomic_uint slow_asked;

static int
slow_info(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	(void)dev;
	(void)info;
	atomic_fetch_add(&slow_asked, 1);
	return 0;
}

static int
slow_probe(struct rte_vdev_device *vdev)
{
	static const struct eth_dev_ops ops = { .dev_infos_get = slow_info };
	struct rte_eth_dev *dev = rte_eth_vdev_allocate(vdev, 0);

	if (dev == NULL)
		return -1;
	dev->dev_ops = &ops;
	rte_eth_dev_probing_finish(dev);
	usleep(300000);
	return atomic_load(&slow_asked) == 0 ? 0 : -EBUSY;
}

static int
slow_remove(struct rte_vdev_device *vdev)
{
	return rte_eth_dev_release_port(rte_eth_dev_allocated(rte_vdev_device_name(vdev)));
}

static void
test_an_ethdev_is_left_alone_until_its_probe_has_returned(void **state)
{
	struct softrnic_conf conf = { .name = "slow", .wire = "port:net_slow0" };
	struct rte_vdev_driver driver = {
		.driver.name = "net_slow",
		.probe = slow_probe,
		.remove = slow_remove,
	};
	struct dp_side *ww = *state;
	unsigned int naps = 0;

	rte_vdev_register(&driver);
	ww_open(ww, &conf);
	assert_int_equal(rte_vdev_init("net_slow0", ""), 0);
	while (atomic_load(&slow_asked) == 0)
		cable_nap(&naps, "the ethdev is not looked at");
	ww_close(ww);
	assert_int_equal(rte_vdev_uninit("net_slow0"), 0);
	rte_vdev_unregister(&driver);
}

/* Hardware takes its time to start, and may be gone before it has. */
static void
test_an_ethdev_that_is_pulled_out_while_it_starts_is_closed(void **state)
{
	unsigned int naps = 0;
	struct dp_side *ww = *state;

	cable_end();
	cable_open(ww);
	assert_int_equal(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW,
						       have_it_pulled_out, NULL),
			 0);
	cable_make();
	assert_int_equal(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW,
							 have_it_pulled_out, NULL),
			 0);
	while (rte_eth_dev_is_valid_port(pulled_out))
		cable_nap(&naps, "the ethdev is not closed");
	assert_false(ww->dp.dev->port.link_up);
	cable_end();
	cable_comes(ww);
}

static atomic_uint asked; /* 1: somebody is asking for the link, 2: has the answer */

static int
take_long_to_tell_of_the_link(struct rte_eth_dev *dev, int wait)
{
	unsigned int none = 0;

	if (atomic_compare_exchange_strong(&asked, &none, 1)) {
		usleep(100000);
		atomic_store(&asked, 2);
	}
	return atomic_load(&driver_ops)->link_update(dev, wait);
}

/* Nobody is in a call of an ethdev's any more when it is removed: hardware may take its time to answer. */
static void
test_an_ethdev_goes_when_nobody_asks_it_any_more(void **state)
{
	static struct eth_dev_ops ops;
	unsigned int naps = 0;
	struct dp_side *ww = *state;
	const uint16_t id = cable_id();

	atomic_store(&asked, 0);
	ops = *rte_eth_devices[id].dev_ops;
	atomic_store(&driver_ops, rte_eth_devices[id].dev_ops);
	ops.link_update = take_long_to_tell_of_the_link;
	__atomic_store_n(&rte_eth_devices[id].dev_ops, &ops, __ATOMIC_RELEASE);
	while (atomic_load(&asked) == 0)
		cable_nap(&naps, "nobody asks for the link");
	cable_end();
	assert_int_equal(atomic_load(&asked), 2);
	ww_close(ww);
	cable_make();
}

/* Mbufs that the other side still has outlive the wire; the next one takes their pool over. */
static void
test_mbufs_that_are_still_out_keep_their_pool(void **state)
{
	struct dp_side *ww = *state;

	ww_send(ww, 100, 1);
	ww_close(ww);
	assert_int_equal(cable_pools(), 1);
	cable_open(ww);
	assert_int_equal(cable_pools(), 1);
	ww_send(ww, 100, 2);
	cable_take(100, 1);
	cable_take(100, 2);
	cable_pass_both_ways(ww);
}

/* Its receive queue is set up with the wire's pool: the next owner may start it as it is. */
static void
test_an_ethdev_that_was_given_back_keeps_its_pool(void **state)
{
	struct softrnic_conf conf = { .name = "wired",
				      .wire = "port:" CABLE_ETHDEV,
				      .max_mtu = 2000 };
	struct dp_side *ww = *state;
	uint16_t id;

	cable_open(ww);
	id = cable_id();
	ww_close(ww);
	assert_int_equal(cable_pools(), 1);
	assert_int_equal(rte_eth_dev_start(id), 0);
	assert_int_equal(rte_eth_dev_stop(id), 0);
	/* The next wire has it, or sets the queue up with another one, and there is one again. */
	cable_open(ww);
	assert_int_equal(cable_pools(), 1);
	ww_close(ww);
	ww_open(ww, &conf);
	assert_int_equal(cable_pools(), 1);
	cable_pass_both_ways(ww);
	ww_close(ww);
	assert_int_equal(cable_pools(), 1);
	cable_end();
	assert_int_equal(cable_pools(), 0);
	cable_make();
}

/* What one ethdev is set up with is nothing for another wire. */
static void
test_a_pool_that_an_ethdev_is_set_up_with_is_not_taken_over(void **state)
{
	struct softrnic_conf other_conf = { .name = "other", .wire = "port:net_ring_other" };
	struct dp_side *ww = *state;

	ww_close(ww);
	assert_true(rte_eth_from_rings("other", &cable_in, 1, &cable_out, 1, 0) >= 0);
	ww_open(ww, &other_conf);
	assert_int_equal(cable_pools(), 2);
	ww_close(ww);
	assert_int_equal(rte_vdev_uninit("net_ring_other"), 0);
	assert_int_equal(cable_pools(), 1);
}

/*
 * The ethdev of one wire goes; another one gets its number, and a wire of its own. Each wire has its own pool: whichever
 * ends first, the other one's is still there.
 */
static void
test_wires_whose_ethdevs_had_the_same_number_share_no_pool(void **state)
{
	struct softrnic_conf second_conf = { .name = "second", .wire = "port:net_ring_other" };
	struct dp_side first, second;
	uint16_t id, other;
	int ret;

	(void)state;
	cable_open(&first);
	id = cable_id();
	cable_end();
	ret = rte_eth_from_rings("other", &cable_in, 1, &cable_out, 1, 0);
	assert_int_equal(ret, id);
	ww_open(&second, &second_conf);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_ring_other", &other), 0);
	assert_int_equal(other, id);
	assert_int_equal(cable_pools(), 2);
	ww_close(&second);
	assert_int_equal(rte_vdev_uninit("net_ring_other"), 0);
	assert_int_equal(cable_pools(), 1);
	cable_comes(&first);
	ww_close(&first);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, cable_setup, cable_teardown)
#define OPEN(name) cmocka_unit_test_setup_teardown(name, cable_setup_open, cable_teardown)
		OPEN(test_frames_pass_both_ways_whole_and_in_order),
		TEST(test_the_ethdev_is_ours_until_the_end),
		OPEN(test_an_ethdev_that_is_not_ours_any_more_is_not_stopped),
		TEST(test_an_ethdev_that_somebody_else_has_is_refused),
		OPEN(test_what_a_full_ethdev_does_not_take_is_counted),
		OPEN(test_an_ethdev_that_always_has_more_takes_its_turn),
		OPEN(test_the_link_follows_the_ethdevs),
		OPEN(test_frames_that_no_port_would_take_are_errors),
		OPEN(test_a_frame_without_a_buffer_is_lost_and_counted),
		TEST(test_an_ethdev_that_comes_later_is_taken),
		TEST(test_an_ethdev_is_left_alone_until_its_probe_has_returned),
		OPEN(test_an_ethdev_goes_and_comes_again),
		OPEN(test_only_who_polls_tells_of_the_link),
		OPEN(test_a_device_may_end_without_its_ethdev),
		OPEN(test_an_ethdev_whose_device_is_pulled_out_is_closed),
		TEST(test_an_ethdev_that_is_pulled_out_while_it_starts_is_closed),
		OPEN(test_an_ethdev_goes_when_nobody_asks_it_any_more),
		OPEN(test_mbufs_that_are_still_out_keep_their_pool),
		TEST(test_an_ethdev_that_was_given_back_keeps_its_pool),
		OPEN(test_a_pool_that_an_ethdev_is_set_up_with_is_not_taken_over),
		TEST(test_wires_whose_ethdevs_had_the_same_number_share_no_pool),
#undef TEST
#undef OPEN
	};

	return cmocka_run_group_tests_name("wire_port", tests, NULL, NULL);
}

int
main(void)
{
	return cable_main("wire-port", run);
}
