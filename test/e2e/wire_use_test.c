/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ethdev below a port: when its bursts are called, and when it may be removed. A net_ring that brings back what is sent,
 * whose bursts are counted, and are wrong from the moment when somebody begins to remove it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include <ethdev_driver.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "port.h"
#include "raw.h"

#define CABLE  "net_ring_cable"
#define PORT   "net_rnic0"
#define ROUNDS 50

static const struct e2e_conf conf = { .link_polled = true };
static struct rte_ring *ring;
static eth_rx_burst_t rx_burst;
static eth_tx_burst_t tx_burst;
static atomic_uint bursts, late;
static atomic_bool gone;
static uint16_t port;

static uint16_t
count_rx(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	atomic_fetch_add(&bursts, 1);
	if (!atomic_load(&gone))
		return rx_burst(queue, mbufs, count);
	atomic_fetch_add(&late, 1);
	return 0;
}

static uint16_t
count_tx(void *queue, struct rte_mbuf **mbufs, uint16_t count)
{
	atomic_fetch_add(&bursts, 1);
	if (!atomic_load(&gone))
		return tx_burst(queue, mbufs, count);
	atomic_fetch_add(&late, 1);
	return 0;
}

static int
setup(void **unused)
{
	int id = rte_eth_from_rings("cable", &ring, 1, &ring, 1, 0);

	(void)unused;
	if (id < 0)
		return -1;
	rx_burst = rte_eth_devices[id].rx_pkt_burst;
	tx_burst = rte_eth_devices[id].tx_pkt_burst;
	rte_eth_devices[id].rx_pkt_burst = count_rx;
	rte_eth_devices[id].tx_pkt_burst = count_tx;
	atomic_store(&bursts, 0);
	atomic_store(&late, 0);
	atomic_store(&gone, false);
	if (rte_eal_hotplug_add("vdev", PORT, "wire=port:" CABLE) != 0)
		return -1;
	return rte_eth_dev_get_port_by_name(PORT, &port);
}

static void
remove_cable(void)
{
	if (atomic_exchange(&gone, true))
		return;
	assert_int_equal(rte_vdev_uninit(CABLE), 0);
}

static int
teardown(void **unused)
{
	(void)unused;
	rte_eth_dev_stop(port);
	if (rte_eal_hotplug_remove("vdev", PORT) != 0)
		return -1;
	remove_cable();
	return 0;
}

/*
 * Bursts in so many rounds of the device: each question is a command, which the device answers before it looks at its wire,
 * and two of them are never in one round.
 */
static unsigned int
bursts_in_rounds(void)
{
	const unsigned int before = atomic_load(&bursts);
	struct rte_eth_link link;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(rte_eth_link_get(port, &link), 0);
	return atomic_load(&bursts) - before;
}

static void
expect_use(void)
{
	assert_true(bursts_in_rounds() >= ROUNDS - 1);
}

/* Nothing touches the ethdev: it may go, and nothing touches it then. */
static void
expect_no_use(void)
{
	assert_int_equal(bursts_in_rounds(), 0);
	remove_cable();
	assert_int_equal(bursts_in_rounds(), 0);
	assert_int_equal(atomic_load(&late), 0);
}

static void
send_and_receive(uint64_t sequence)
{
	struct rte_mbuf *mbuf;

	assert_true(e2e_wait_link(port, true));
	mbuf = e2e_frame(e2e_pool, port, sequence, 100, 1);
	assert_non_null(mbuf);
	assert_int_equal(e2e_send(port, 0, &mbuf, 1), 1);
	assert_int_equal(e2e_receive(port, &mbuf, 1), 1);
	assert_true(e2e_check(mbuf, port, sequence, 100));
	rte_pktmbuf_free(mbuf);
}

static void
a_port_that_was_never_started_leaves_its_ethdev_alone(void **unused)
{
	(void)unused;
	expect_no_use();
}

static void
a_port_that_is_stopped_leaves_its_ethdev_alone(void **unused)
{
	(void)unused;
	assert_int_equal(e2e_port_setup(port, &conf), 0);
	send_and_receive(1);
	expect_use();
	assert_int_equal(e2e_port_stop(port), 0);
	assert_int_equal(bursts_in_rounds(), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	send_and_receive(2);
	assert_int_equal(e2e_port_stop(port), 0);
	expect_no_use();
}

/* A context has the link up, and no queue. */
static void
a_context_alone_leaves_the_ethdev_alone(void **unused)
{
	struct rdmapmd_context *context;

	(void)unused;
	assert_int_equal(e2e_port_setup(port, &conf), 0);
	assert_true(e2e_wait_link(port, true));
	assert_int_equal(rdmapmd_device_open_by_port(port, &context), 0);
	expect_use();
	assert_int_equal(e2e_port_stop(port), 0);
	expect_no_use();
	assert_int_equal(rdmapmd_context_close(context), 0);
}

/* As somebody does who looks at a device. */
static void
a_context_that_came_and_went_leaves_the_ethdev_alone(void **unused)
{
	struct rdmapmd_context *context;

	(void)unused;
	assert_int_equal(e2e_port_setup(port, &conf), 0);
	assert_int_equal(e2e_port_stop(port), 0);
	assert_int_equal(rdmapmd_device_open_by_port(port, &context), 0);
	assert_int_equal(rdmapmd_context_close(context), 0);
	expect_no_use();
}

/* Which has the ethdev as long as it lives, whatever the port is. */
static void
a_queue_pair_uses_the_ethdev_to_its_end(void **unused)
{
	static const struct raw_conf raw = { .not_attached = true };
	struct raw_end *end = &raw_ends[0];

	(void)unused;
	end->port = port;
	assert_int_equal(e2e_port_setup(port, &conf), 0);
	raw_open_end(end, &raw);
	assert_int_equal(e2e_port_stop(port), 0);
	rdma_wait_link(end->context);
	expect_use();
	raw_close_end(end);
	expect_no_use();
}

int
main(void)
{
	static const char *const none[] = { NULL };
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_port_that_was_never_started_leaves_its_ethdev_alone),
		TEST(a_port_that_is_stopped_leaves_its_ethdev_alone),
		TEST(a_context_alone_leaves_the_ethdev_alone),
		TEST(a_context_that_came_and_went_leaves_the_ethdev_alone),
		TEST(a_queue_pair_uses_the_ethdev_to_its_end),
#undef TEST
	};
	int failed;

	if (e2e_init("wire-use", none) < 0)
		return 1;
	ring = rte_ring_create("cable", 1024, 0, 0);
	if (ring == NULL)
		return 1;
	failed = cmocka_run_group_tests_name("wire_use", tests, NULL, NULL);
	raw_free();
	e2e_fini();
	return failed;
}
