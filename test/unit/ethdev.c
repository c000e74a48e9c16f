/* SPDX-License-Identifier: BSD-3-Clause */

#include "ethdev.h"

#include <string.h>

#include <rte_bus.h>
#include <rte_dev.h>

#include "base/tunables.h"
#include "ethdev/port.h"

void
unit_ethdev_configure(const struct unit_ethdev *port, const struct rte_eth_conf *conf)
{
	assert_int_equal(rte_eth_dev_configure(port->id, 1, 1, conf), 0);
	assert_int_equal(
		rte_eth_rx_queue_setup(port->id, 0, port->rx_desc, SOCKET_ID_ANY, NULL, port->pool),
		0);
	assert_int_equal(rte_eth_tx_queue_setup(port->id, 0, port->tx_desc, SOCKET_ID_ANY, NULL),
			 0);
}

void
unit_ethdev_plug(struct unit_ethdev *port, unsigned int mbufs, const struct rte_eth_conf *conf,
		 uint16_t rx_desc, uint16_t tx_desc)
{
	if (port->pool == NULL)
		port->pool = rte_pktmbuf_pool_create("ethdev", mbufs, 0, 0,
						     RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(port->pool);
	port->rx_desc = rx_desc;
	port->tx_desc = tx_desc;
	assert_int_equal(rte_eal_hotplug_add("vdev", UNIT_DEVICE, "wire=loop"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(UNIT_DEVICE, &port->id), 0);
	port->dev = rnic_ethdev_get(&rte_eth_devices[port->id])->dev;
	unit_ethdev_configure(port, conf);
}

void
unit_ethdev_unplug(struct unit_ethdev *port)
{
	unsigned int left;

	if (rte_eth_dev_get_port_by_name(UNIT_DEVICE, &port->id) == 0) {
		rte_eth_dev_stop(port->id);
		assert_int_equal(rte_eal_hotplug_remove("vdev", UNIT_DEVICE), 0);
	}
	left = rte_mempool_in_use_count(port->pool);
	rte_mempool_free(port->pool);
	port->pool = NULL;
	assert_int_equal(left, 0);
}

static bool
link_is_up(const struct unit_ethdev *port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get(port->id, &link), 0);
	return link.link_status == RTE_ETH_LINK_UP;
}

void
unit_ethdev_start(const struct unit_ethdev *port)
{
	assert_int_equal(rte_eth_dev_start(port->id), 0);
	assert_true(UNIT_COMES(link_is_up(port)));
}

int
unit_ethdev_open(void **state, unsigned int period_ms)
{
	static const struct rte_eth_conf conf = {
		.rxmode = { .mtu = 9000, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER },
		.txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS },
	};
	static struct unit_ethdev port;

	*state = &port;
	unit_tunables()->health_period_ms = period_ms;
	unit_ethdev_plug(&port, 2047, &conf, 1024, 256);
	assert_int_equal(rte_eth_promiscuous_enable(port.id), 0);
	unit_ethdev_start(&port);
	unit_listen(RTE_LOG_WARNING);
	return 0;
}

int
unit_ethdev_setup(void **state)
{
	return unit_ethdev_open(state, 100);
}

int
unit_ethdev_close(void **state)
{
	unit_ethdev_unplug(*state);
	unit_listen_no_more();
	return unit_restore(state);
}

struct rte_mbuf *
unit_frame(const struct unit_ethdev *port, unsigned int segs)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(port->pool), *seg;

	assert_non_null(frame);
	memset(rte_pktmbuf_append(frame, 100), 2, 100);
	for (unsigned int i = 1; i < segs; i++) {
		seg = rte_pktmbuf_alloc(port->pool);
		assert_non_null(seg);
		memset(rte_pktmbuf_append(seg, 100), 2, 100);
		assert_int_equal(rte_pktmbuf_chain(frame, seg), 0);
	}
	return frame;
}

void
unit_send(const struct unit_ethdev *port, unsigned int count, unsigned int segs)
{
	struct rte_mbuf *frame;

	while (count-- > 0) {
		frame = unit_frame(port, segs);
		assert_int_equal(rte_eth_tx_burst(port->id, 0, &frame, 1), 1);
	}
}

static unsigned int
receive_some(const struct unit_ethdev *port)
{
	struct rte_mbuf *pkts[32];
	const uint16_t n = rte_eth_rx_burst(port->id, 0, pkts, RTE_DIM(pkts));

	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

unsigned int
unit_receive(const struct unit_ethdev *port, unsigned int want)
{
	unsigned int got = 0;

	(void)UNIT_COMES((got += receive_some(port)) >= want);
	return got;
}

void
unit_loop(const struct unit_ethdev *port, unsigned int count)
{
	unit_send(port, count, 1);
	assert_int_equal(unit_receive(port, count), count);
}
