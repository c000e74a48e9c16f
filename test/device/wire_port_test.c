/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wire through another ethdev: a net_ring, whose other ends the test holds. What comes out of the device is in
 * `from_device`, what goes into it through `to_device`.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "wire_world.h"

#define ETHDEV	 "net_ring_cable"
#define RING	 64
#define RING_MAX (RING - 1)
#define PENDING	 32 /* frames that the wire keeps for a full ethdev */

static struct rte_ring *to_device, *from_device;
static struct rte_mempool *pool;

static uint16_t
ethdev_make(void)
{
	int id = rte_eth_from_rings("cable", &to_device, 1, &from_device, 1, 0);

	assert_true(id >= 0);
	return (uint16_t)id;
}

static void
ethdev_end(void)
{
	assert_int_equal(rte_vdev_uninit(ETHDEV), 0);
}

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
count_wire_pool(struct rte_mempool *mp, void *arg)
{
	*(unsigned int *)arg += strncmp(mp->name, "softrnic-", 9) == 0;
}

static unsigned int
wire_pools(void)
{
	unsigned int count = 0;

	rte_mempool_walk(count_wire_pool, &count);
	return count;
}

static struct rte_mbuf *
mbuf_of(uint32_t bytes, uint32_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	ww_frame((uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)bytes), bytes, number);
	return mbuf;
}

static void
put(struct rte_mbuf *mbuf)
{
	assert_int_equal(rte_ring_enqueue(to_device, mbuf), 0);
}

/* The next frame that came out is that one. */
static void
take(uint32_t bytes, uint32_t number)
{
	uint8_t wanted[WW_FRAME_BYTES];
	struct rte_mbuf *mbuf = NULL;

	if (rte_ring_dequeue(from_device, (void **)&mbuf) != 0)
		fail_msg("frame %u did not come out", number);
	ww_frame(wanted, bytes, number);
	assert_int_equal(rte_pktmbuf_pkt_len(mbuf), bytes);
	assert_int_equal(rte_pktmbuf_data_len(mbuf), bytes);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), wanted, bytes);
	rte_pktmbuf_free(mbuf);
}

static void
take_none(void)
{
	assert_int_equal(rte_ring_count(from_device), 0);
}

/*
 * Something that EAL's interrupt thread is about to do. Naps are counted, not seconds: who was held up for long has not
 * waited for long.
 */
static void
nap(unsigned int *naps, const char *what)
{
	if (++*naps > 20000)
		fail_msg("%s", what);
	usleep(1000);
}

static void
open_wire(struct ww *ww)
{
	struct softrnic_conf conf = { .name = "wired", .wire = "port:" ETHDEV };

	ww_open(ww, &conf);
}

static void
wait_for_link(struct ww *ww, bool up)
{
	unsigned int naps = 0;

	for (;;) {
		bool is;

		softrnic_poll(ww->poller);
		softrnic_lock(ww->poller);
		is = ww->dp.dev->port.link_up;
		softrnic_unlock(ww->poller);
		if (is == up)
			return;
		nap(&naps, up ? "the link does not go up" : "the link does not go down");
	}
}

static void
pass_both_ways(struct ww *ww)
{
	ww_post(ww, 2);
	put(mbuf_of(60, 1));
	put(mbuf_of(1514, 2));
	dp_run(&ww->dp);
	ww_expect(ww, 60, 1);
	ww_expect(ww, 1514, 2);
	ww_expect_none(ww);
	ww_send(ww, 60, 3);
	ww_send(ww, 1514, 4);
	take(60, 3);
	take(1514, 4);
	take_none();
}

static int
setup(void **state)
{
	(void)state;
	ethdev_make();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	ethdev_end();
	assert_int_equal(rte_ring_count(to_device), 0);
	assert_int_equal(rte_ring_count(from_device), 0);
	/* All mbufs are back, the wire's with their pool. */
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	assert_int_equal(wire_pools(), 0);
	return 0;
}

static void
test_frames_pass_both_ways_whole_and_in_order(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	for (uint32_t round = 0; round < 20; round++) {
		ww_post(&ww, 50);
		for (uint32_t i = 0; i < 50; i++)
			put(mbuf_of(60 + i * 29, round * 50 + i));
		dp_run(&ww.dp);
		for (uint32_t i = 0; i < 50; i++)
			ww_expect(&ww, 60 + i * 29, round * 50 + i);
		for (uint32_t i = 0; i < 50; i++)
			ww_send(&ww, 60 + i * 29, round * 50 + i);
		for (uint32_t i = 0; i < 50; i++)
			take(60 + i * 29, round * 50 + i);
	}
	take_none();
	assert_int_equal(dp_stats(&ww.dp).rx_packets, 1000);
	assert_int_equal(dp_stats(&ww.dp).tx_packets, 1000);
	assert_int_equal(dp_stats(&ww.dp).tx_errors, 0);
	ww_close(&ww);
}

static void
switch_port(struct ww *ww, uint32_t state)
{
	struct rnic_modify_vport_state_in in = { 0 };

	rnic_modify_vport_state_in_set(&in, RNIC_MODIFY_VPORT_STATE_IN_ADMIN_STATE, state);
	assert_int_equal(
		dp_command(&ww->dp, RNIC_CMD_MODIFY_VPORT_STATE, 0, &in, sizeof(in), NULL, 0), 0);
}

/* Who stops a port may remove what is below it: nothing of ours is in a burst then. */
static void
test_a_port_that_is_switched_off_leaves_the_ethdev_alone(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	wait_for_link(&ww, true);
	ww_post(&ww, 4);
	switch_port(&ww, RNIC_VPORT_STATE_DOWN);
	put(mbuf_of(60, 1));
	dp_run(&ww.dp);
	assert_int_equal(rte_ring_count(to_device), 1);
	switch_port(&ww, RNIC_VPORT_STATE_FOLLOW);
	assert_true(ww.dp.dev->port.link_up);
	assert_int_equal(rte_ring_count(to_device), 0);
	put(mbuf_of(60, 2));
	dp_run(&ww.dp);
	ww_expect(&ww, 60, 2);
	ww_expect_none(&ww);
	ww_close(&ww);
}

/* Nobody else's: not among the ports that an application finds, and given back at the end. */
static void
test_the_ethdev_is_ours_until_the_end(void **state)
{
	struct rte_eth_dev_owner owner;
	struct rte_eth_conf conf = { 0 };
	struct ww ww;
	uint16_t id;

	(void)state;
	assert_int_equal(free_ports(), 1);
	open_wire(&ww);
	assert_int_equal(free_ports(), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_string_equal(owner.name, "softrnic wired");
	assert_int_equal(rte_eth_promiscuous_get(id), 1);
	ww_close(&ww);
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
	struct ww ww;
	uint16_t id;

	(void)state;
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_int_equal(rte_eth_dev_owner_unset(id, owner.id), 0);
	ww_close(&ww);
	/* It runs, or this would be done. */
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(id), 0);
}

static void
refuse(int expected)
{
	struct softrnic_conf conf = { .name = "wired", .wire = "port:" ETHDEV };
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
	uint16_t id;

	(void)state;
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(id, &owner), 0);
	refuse(-EPERM);
	assert_int_equal(rte_eth_dev_owner_get(id, &owner), 0);
	assert_string_equal(owner.name, "another");
	assert_int_equal(rte_eth_dev_owner_unset(id, owner.id), 0);
	/* In use by the application. */
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(id, 0, 64, 0, NULL, pool), 0);
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
	struct ww ww;

	(void)state;
	open_wire(&ww);
	for (uint32_t i = 0; i < 150; i++)
		ww_send(&ww, 60, i);
	assert_int_equal(dp_stats(&ww.dp).tx_packets, taken);
	assert_int_equal(dp_stats(&ww.dp).tx_errors, 150 - taken);
	assert_int_equal(ww.dp.dev->port.counters.tx_errors, 150 - taken);
	for (uint32_t i = 0; i < RING_MAX; i++)
		take(60, i);
	dp_run(&ww.dp);
	for (uint32_t i = RING_MAX; i < taken; i++)
		take(60, i);
	take_none();
	ww_send(&ww, 60, 7);
	take(60, 7);
	assert_int_equal(dp_stats(&ww.dp).tx_packets, taken + 1);
	ww_close(&ww);
}

static void
test_the_link_follows_the_ethdevs(void **state)
{
	struct ww ww;
	uint16_t id;

	(void)state;
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	wait_for_link(&ww, true);
	ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN);
	assert_int_equal(rte_eth_dev_set_link_down(id), 0);
	wait_for_link(&ww, false);
	assert_int_equal(ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN), 1);
	ww_send(&ww, 60, 1);
	take_none();
	assert_int_equal(dp_stats(&ww.dp).tx_errors, 1);
	assert_int_equal(rte_eth_dev_set_link_up(id), 0);
	wait_for_link(&ww, true);
	assert_int_equal(ww_link_events(&ww, RNIC_PORT_CHANGE_ACTIVE), 1);
	pass_both_ways(&ww);
	ww_close(&ww);
}

static struct rte_mbuf *
mbuf_of_segments(uint32_t count, uint32_t bytes, uint32_t number)
{
	uint8_t frame[WW_FRAME_BYTES];
	struct rte_mbuf *head = NULL, *mbuf;

	ww_frame(frame, count * bytes, number);
	for (uint32_t i = 0; i < count; i++) {
		mbuf = rte_pktmbuf_alloc(pool);
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
	struct ww ww;

	(void)state;
	open_wire(&ww);
	ww_post(&ww, 10);
	put(mbuf_of(0, 0));
	put(mbuf_of(13, 1));
	put(mbuf_of(1519, 2));
	put(mbuf_of_segments(SOFTRNIC_FRAME_PIECES + 1, 2, 3));
	put(mbuf_of_segments(SOFTRNIC_FRAME_PIECES, 2, 4));
	put(mbuf_of_segments(3, 100, 5));
	put(mbuf_of(1518, 6));
	dp_run(&ww.dp);
	ww_expect(&ww, SOFTRNIC_FRAME_PIECES * 2, 4);
	ww_expect(&ww, 300, 5);
	ww_expect(&ww, 1518, 6);
	ww_expect_none(&ww);
	assert_int_equal(dp_stats(&ww.dp).rx_errors, 4);
	assert_int_equal(ww.dp.dev->port.counters.rx_errors, 4);
	ww_close(&ww);
}

/* As any card does: a frame that finds no buffer is lost, and counted. */
static void
test_a_frame_without_a_buffer_is_lost_and_counted(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	ww_post(&ww, 1);
	put(mbuf_of(60, 0));
	put(mbuf_of(60, 1));
	dp_run(&ww.dp);
	ww_expect(&ww, 60, 0);
	ww_expect_none(&ww);
	assert_int_equal(dp_stats(&ww.dp).rx_no_buffer, 1);
	ww_close(&ww);
}

static void
test_an_ethdev_that_comes_later_is_taken(void **state)
{
	struct ww ww;

	(void)state;
	ethdev_end();
	open_wire(&ww);
	assert_false(ww.dp.dev->port.link_up);
	ww_send(&ww, 60, 1);
	assert_int_equal(dp_stats(&ww.dp).tx_errors, 1);
	ethdev_make();
	wait_for_link(&ww, true);
	assert_int_equal(free_ports(), 0);
	pass_both_ways(&ww);
	ww_close(&ww);
}

static void
test_an_ethdev_goes_and_comes_again(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	for (uint32_t i = 0; i < 3; i++) {
		pass_both_ways(&ww);
		ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN);
		ethdev_end();
		/* At once, before anybody else could have its number. */
		assert_false(ww.dp.dev->wire->is_up(ww.dp.dev));
		assert_int_equal(ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN), 1);
		assert_false(ww.dp.dev->port.link_up);
		ww_send(&ww, 60, 1);
		take_none();
		ethdev_make();
		wait_for_link(&ww, true);
	}
	pass_both_ways(&ww);
	ww_close(&ww);
}

/* A daemon's memory of clients is its one polling thread's: nobody else writes an event. */
static void
test_only_who_polls_tells_of_the_link(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	wait_for_link(&ww, true);
	ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN);
	ethdev_end();
	assert_null(dp_eq_next(&ww.dp));
	assert_true(ww.dp.dev->port.link_up);
	softrnic_poll(ww.poller);
	assert_false(ww.dp.dev->port.link_up);
	assert_int_equal(ww_link_events(&ww, RNIC_PORT_CHANGE_DOWN), 1);
	ww_close(&ww);
	ethdev_make();
}

/* The other order of ends: the ethdev is still there when the device goes, or not. */
static void
test_a_device_may_end_without_its_ethdev(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	ethdev_end();
	ww_close(&ww);
	ethdev_make();
	open_wire(&ww);
	pass_both_ways(&ww);
	ww_close(&ww);
}

/* The event of hardware that was pulled out: the wire closes the ethdev, as its owner. */
static void
test_an_ethdev_whose_device_is_pulled_out_is_closed(void **state)
{
	unsigned int naps = 0;
	struct ww ww;
	uint16_t id;

	(void)state;
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	rte_eth_dev_callback_process(&rte_eth_devices[id], RTE_ETH_EVENT_INTR_RMV, NULL);
	softrnic_poll(ww.poller);
	assert_false(ww.dp.dev->port.link_up);
	while (rte_eth_dev_is_valid_port(id))
		nap(&naps, "the ethdev is not closed");
	ethdev_end();
	ethdev_make();
	wait_for_link(&ww, true);
	pass_both_ways(&ww);
	ww_close(&ww);
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

/* Hardware takes its time to start, and may be gone before it has. */
static void
test_an_ethdev_that_is_pulled_out_while_it_starts_is_closed(void **state)
{
	unsigned int naps = 0;
	struct ww ww;

	(void)state;
	ethdev_end();
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW,
						       have_it_pulled_out, NULL),
			 0);
	ethdev_make();
	assert_int_equal(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW,
							 have_it_pulled_out, NULL),
			 0);
	while (rte_eth_dev_is_valid_port(pulled_out))
		nap(&naps, "the ethdev is not closed");
	assert_false(ww.dp.dev->port.link_up);
	ethdev_end();
	ethdev_make();
	wait_for_link(&ww, true);
	pass_both_ways(&ww);
	ww_close(&ww);
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
	struct ww ww;
	uint16_t id;

	(void)state;
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	atomic_store(&asked, 0);
	ops = *rte_eth_devices[id].dev_ops;
	atomic_store(&driver_ops, rte_eth_devices[id].dev_ops);
	ops.link_update = take_long_to_tell_of_the_link;
	__atomic_store_n(&rte_eth_devices[id].dev_ops, &ops, __ATOMIC_RELEASE);
	while (atomic_load(&asked) == 0)
		nap(&naps, "nobody asks for the link");
	ethdev_end();
	assert_int_equal(atomic_load(&asked), 2);
	ww_close(&ww);
	ethdev_make();
}

/* Mbufs that the other side still has outlive the wire; the next one takes their pool over. */
static void
test_mbufs_that_are_still_out_keep_their_pool(void **state)
{
	struct ww ww;

	(void)state;
	open_wire(&ww);
	ww_send(&ww, 100, 1);
	ww_close(&ww);
	assert_int_equal(wire_pools(), 1);
	open_wire(&ww);
	assert_int_equal(wire_pools(), 1);
	ww_send(&ww, 100, 2);
	take(100, 1);
	take(100, 2);
	pass_both_ways(&ww);
	ww_close(&ww);
}

/* Its receive queue is set up with the wire's pool: the next owner may start it as it is. */
static void
test_an_ethdev_that_was_given_back_keeps_its_pool(void **state)
{
	struct softrnic_conf conf = { .name = "wired", .wire = "port:" ETHDEV, .max_mtu = 2000 };
	struct ww ww;
	uint16_t id;

	(void)state;
	open_wire(&ww);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	ww_close(&ww);
	assert_int_equal(wire_pools(), 1);
	assert_int_equal(rte_eth_dev_start(id), 0);
	assert_int_equal(rte_eth_dev_stop(id), 0);
	/* The next wire has it, or sets the queue up with another one, and there is one again. */
	open_wire(&ww);
	assert_int_equal(wire_pools(), 1);
	ww_close(&ww);
	ww_open(&ww, &conf);
	assert_int_equal(wire_pools(), 1);
	pass_both_ways(&ww);
	ww_close(&ww);
	assert_int_equal(wire_pools(), 1);
	ethdev_end();
	assert_int_equal(wire_pools(), 0);
	ethdev_make();
}

/* What one ethdev is set up with is nothing for another wire. */
static void
test_a_pool_that_an_ethdev_is_set_up_with_is_not_taken_over(void **state)
{
	struct softrnic_conf other_conf = { .name = "other", .wire = "port:net_ring_other" };
	struct ww ww;

	(void)state;
	open_wire(&ww);
	ww_close(&ww);
	assert_true(rte_eth_from_rings("other", &to_device, 1, &from_device, 1, 0) >= 0);
	ww_open(&ww, &other_conf);
	assert_int_equal(wire_pools(), 2);
	ww_close(&ww);
	assert_int_equal(rte_vdev_uninit("net_ring_other"), 0);
	assert_int_equal(wire_pools(), 1);
}

/*
 * The ethdev of one wire goes; another one gets its number, and a wire of its own. Each wire has its own pool: whichever
 * ends first, the other one's is still there.
 */
static void
test_wires_whose_ethdevs_had_the_same_number_share_no_pool(void **state)
{
	struct softrnic_conf second_conf = { .name = "second", .wire = "port:net_ring_other" };
	struct ww first, second;
	uint16_t id, other;
	int ret;

	(void)state;
	open_wire(&first);
	assert_int_equal(rte_eth_dev_get_port_by_name(ETHDEV, &id), 0);
	ethdev_end();
	ret = rte_eth_from_rings("other", &to_device, 1, &from_device, 1, 0);
	assert_int_equal(ret, id);
	ww_open(&second, &second_conf);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_ring_other", &other), 0);
	assert_int_equal(other, id);
	assert_int_equal(wire_pools(), 2);
	ww_close(&second);
	assert_int_equal(rte_vdev_uninit("net_ring_other"), 0);
	assert_int_equal(wire_pools(), 1);
	ethdev_make();
	wait_for_link(&first, true);
	pass_both_ways(&first);
	ww_close(&first);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_frames_pass_both_ways_whole_and_in_order),
		TEST(test_a_port_that_is_switched_off_leaves_the_ethdev_alone),
		TEST(test_the_ethdev_is_ours_until_the_end),
		TEST(test_an_ethdev_that_is_not_ours_any_more_is_not_stopped),
		TEST(test_an_ethdev_that_somebody_else_has_is_refused),
		TEST(test_what_a_full_ethdev_does_not_take_is_counted),
		TEST(test_the_link_follows_the_ethdevs),
		TEST(test_frames_that_no_port_would_take_are_errors),
		TEST(test_a_frame_without_a_buffer_is_lost_and_counted),
		TEST(test_an_ethdev_that_comes_later_is_taken),
		TEST(test_an_ethdev_goes_and_comes_again),
		TEST(test_only_who_polls_tells_of_the_link),
		TEST(test_a_device_may_end_without_its_ethdev),
		TEST(test_an_ethdev_whose_device_is_pulled_out_is_closed),
		TEST(test_an_ethdev_that_is_pulled_out_while_it_starts_is_closed),
		TEST(test_an_ethdev_goes_when_nobody_asks_it_any_more),
		TEST(test_mbufs_that_are_still_out_keep_their_pool),
		TEST(test_an_ethdev_that_was_given_back_keeps_its_pool),
		TEST(test_a_pool_that_an_ethdev_is_set_up_with_is_not_taken_over),
		TEST(test_wires_whose_ethdevs_had_the_same_number_share_no_pool),
#undef TEST
	};

	return cmocka_run_group_tests_name("wire_port", tests, NULL, NULL);
}

int
main(void)
{
	char prefix[64];
	char *argv[] = { (char *)(uintptr_t) "wire_port",
			 (char *)(uintptr_t) "--lcores=0@(0-1)",
			 (char *)(uintptr_t) "--no-pci",
			 (char *)(uintptr_t) "--no-telemetry",
			 (char *)(uintptr_t) "--no-huge",
			 (char *)(uintptr_t) "-m128",
			 (char *)(uintptr_t) "--log-level=lib.*:4",
			 prefix,
			 NULL };
	int failed;

	snprintf(prefix, sizeof(prefix), "--file-prefix=rnic-wire-port-%d", (int)getpid());
	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return 1;
	to_device = rte_ring_create("to", RING, 0, 0);
	from_device = rte_ring_create("from", RING, 0, 0);
	pool = rte_pktmbuf_pool_create("test", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (to_device == NULL || from_device == NULL || pool == NULL)
		return 1;
	failed = run();
	rte_eal_cleanup();
	return failed;
}
