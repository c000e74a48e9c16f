/* SPDX-License-Identifier: BSD-3-Clause */

/* The link, and what the device reports of itself: both come in from the interrupt thread. */

#include <stdatomic.h>

#include "ethdev/port.h"

#include "base/log.h"
#include "core/control.h"
#include "core/dev.h"
#include "ethdev/link.h"
#include "ethdev/rx_intr.h"
#include "object/port.h"

static int
link_set(struct rte_eth_dev *eth_dev, bool up, uint32_t speed)
{
	struct rte_eth_link link = {
		.link_speed = RTE_ETH_SPEED_NUM_NONE,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
	};

	if (up)
		link.link_speed = speed != 0 ? speed : (uint32_t)RTE_ETH_SPEED_NUM_UNKNOWN;
	return rte_eth_linkstatus_set(eth_dev, &link);
}

uint32_t
rnic_link_speed_capa(struct rnic_dev *dev)
{
	uint32_t speeds[RNIC_PROTOCOLS], flags = 0;
	unsigned int i;

	if (rnic_port_speeds(dev, speeds) < 0)
		return 0;
	for (i = 0; i < RNIC_PROTOCOLS; i++)
		flags |= rte_eth_speed_bitflag(speeds[i], RTE_ETH_LINK_FULL_DUPLEX);
	return flags;
}

/* Ask the device. Returns as rte_eth_linkstatus_set(): 0 changed, -1 not. */
int
rnic_link_refresh(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint32_t speed = 0;
	bool up = false;

	if (rnic_port_link(port->dev, &up, &speed) < 0)
		up = false;
	/* A port that is stopped has no link, whatever the wire says. */
	return link_set(eth_dev, up && atomic_load_explicit(&port->started, memory_order_relaxed),
			speed);
}

/* Without waiting, what the last port change event said is as good as a question. */
int
rnic_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete)
{
	if (!wait_to_complete)
		return -1;
	if (rnic_link_refresh(eth_dev) != 0)
		return -1;
	/* An event should have told. */
	rnic_control_suspect(rnic_ethdev_get(eth_dev)->dev);
	return 0;
}

int
rnic_link_set_up(struct rte_eth_dev *eth_dev)
{
	int rc = rnic_port_set_admin(rnic_ethdev_get(eth_dev)->dev, true);

	if (rc == 0)
		rnic_link_refresh(eth_dev);
	return rc;
}

int
rnic_link_set_down(struct rte_eth_dev *eth_dev)
{
	int rc = rnic_port_set_admin(rnic_ethdev_get(eth_dev)->dev, false);

	if (rc == 0)
		rnic_link_refresh(eth_dev);
	return rc;
}

void
rnic_link_on_port_change(void *arg)
{
	struct rte_eth_dev *eth_dev = arg;

	if (rnic_link_refresh(eth_dev) == 0 && eth_dev->data->dev_conf.intr_conf.lsc)
		rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

void
rnic_link_on_lost(void *arg)
{
	struct rte_eth_dev *eth_dev = arg;
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rnic_dev *dev = port->dev;

	atomic_store_explicit(&port->removed, true, memory_order_relaxed);
	link_set(eth_dev, false, 0);
	rnic_rx_intr_wake(dev);
	RNIC_LOG(ERR, dev, "device lost: close port %u", eth_dev->data->port_id);
	rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RMV, NULL);
}
