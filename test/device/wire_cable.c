/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "wire_cable.h"
#include "softrnic/base/poller.h"

struct rte_ring *cable_in, *cable_out;
struct rte_mempool *cable_pool;

uint16_t
cable_make(void)
{
	int id = rte_eth_from_rings("cable", &cable_in, 1, &cable_out, 1, 0);

	assert_true(id >= 0);
	return (uint16_t)id;
}

uint16_t
cable_id(void)
{
	uint16_t id;

	assert_int_equal(rte_eth_dev_get_port_by_name(CABLE_ETHDEV, &id), 0);
	return id;
}

void
cable_end(void)
{
	assert_int_equal(rte_vdev_uninit(CABLE_ETHDEV), 0);
}

static void
count_wire_pool(struct rte_mempool *mp, void *arg)
{
	*(unsigned int *)arg += strncmp(mp->name, "softrnic-", 9) == 0;
}

unsigned int
cable_pools(void)
{
	unsigned int count = 0;

	rte_mempool_walk(count_wire_pool, &count);
	return count;
}

struct rte_mbuf *
cable_mbuf(uint32_t bytes, uint32_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(cable_pool);

	assert_non_null(mbuf);
	ww_frame((uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)bytes), bytes, number);
	return mbuf;
}

void
cable_put(struct rte_mbuf *mbuf)
{
	assert_int_equal(rte_ring_enqueue(cable_in, mbuf), 0);
}

void
cable_take(uint32_t bytes, uint32_t number)
{
	uint8_t wanted[WW_FRAME_BYTES];
	struct rte_mbuf *mbuf = NULL;

	if (rte_ring_dequeue(cable_out, (void **)&mbuf) != 0)
		fail_msg("frame %u did not come out", number);
	ww_frame(wanted, bytes, number);
	assert_int_equal(rte_pktmbuf_pkt_len(mbuf), bytes);
	assert_int_equal(rte_pktmbuf_data_len(mbuf), bytes);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), wanted, bytes);
	rte_pktmbuf_free(mbuf);
}

void
cable_take_none(void)
{
	assert_int_equal(rte_ring_count(cable_out), 0);
}

void
cable_nap(unsigned int *naps, const char *what)
{
	if (++*naps > 20000)
		fail_msg("%s", what);
	usleep(1000);
}

void
cable_open(struct dp_side *ww)
{
	struct softrnic_conf conf = { .name = "wired", .wire = "port:" CABLE_ETHDEV };

	ww_open(ww, &conf);
	/* What comes from now on is the port's. */
	softrnic_poll(ww->poller);
}

void
cable_wait_for_link(struct dp_side *ww, bool up)
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
		cable_nap(&naps, up ? "the link does not go up" : "the link does not go down");
	}
}

void
cable_pass_both_ways(struct dp_side *ww)
{
	softrnic_poll(ww->poller);
	ww_post(ww, 2);
	cable_put(cable_mbuf(60, 1));
	cable_put(cable_mbuf(1514, 2));
	dp_run(&ww->dp);
	ww_expect(ww, 60, 1);
	ww_expect(ww, 1514, 2);
	ww_expect_none(ww);
	ww_send(ww, 60, 3);
	ww_send(ww, 1514, 4);
	cable_take(60, 3);
	cable_take(1514, 4);
	cable_take_none();
}

void
cable_comes(struct dp_side *ww)
{
	cable_make();
	cable_wait_for_link(ww, true);
	cable_pass_both_ways(ww);
}

int
cable_setup(void **state)
{
	cable_make();
	return ww_setup(state);
}

int
cable_setup_open(void **state)
{
	if (cable_setup(state) != 0)
		return -1;
	cable_open(*state);
	return 0;
}

int
cable_teardown(void **state)
{
	ww_close(*state);
	free(*state);
	cable_end();
	assert_int_equal(rte_ring_count(cable_in), 0);
	assert_int_equal(rte_ring_count(cable_out), 0);
	/* All mbufs are back, the wire's with their pool. */
	assert_int_equal(rte_mempool_in_use_count(cable_pool), 0);
	assert_int_equal(cable_pools(), 0);
	return 0;
}

int
cable_main(const char *name, int (*run)(void))
{
	char prefix[64];
	char *argv[] = { (char *)(uintptr_t)name,
			 (char *)(uintptr_t) "--lcores=0@(0-1)",
			 (char *)(uintptr_t) "--no-pci",
			 (char *)(uintptr_t) "--no-telemetry",
			 (char *)(uintptr_t) "--no-huge",
			 (char *)(uintptr_t) "-m128",
			 (char *)(uintptr_t) "--log-level=lib.*:4",
			 prefix,
			 NULL };
	int failed;

	snprintf(prefix, sizeof(prefix), "--file-prefix=rnic-%s-%d", name, (int)getpid());
	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return 1;
	cable_in = rte_ring_create("to", CABLE_RING, 0, 0);
	cable_out = rte_ring_create("from", CABLE_RING, 0, 0);
	cable_pool = rte_pktmbuf_pool_create("test", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (cable_in == NULL || cable_out == NULL || cable_pool == NULL)
		return 1;
	failed = run();
	rte_eal_cleanup();
	return failed;
}
