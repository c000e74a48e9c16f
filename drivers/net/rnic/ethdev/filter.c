/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which frames the port takes: all, all multicast, addresses, VLANs. What is asked of a port that is stopped is kept here or
 * by ethdev, and told to the device when it starts.
 */

#include <errno.h>
#include <string.h>

#include <rte_ether.h>

#include "base/log.h"
#include "core/dev.h"
#include "ethdev/filter.h"
#include "ethdev/port.h"
#include "ethdev/rx_offload.h"
#include "object/port.h"
#include "steering/steer.h"

static bool
filters_vlans(const struct rte_eth_dev *eth_dev)
{
	return (eth_dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
}

/* ---- All frames, all multicast ---- */

static int
follow_modes(struct rte_eth_dev *eth_dev, bool promiscuous, bool allmulticast)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int rc = rnic_port_set_promiscuous(port->dev, promiscuous, allmulticast);

	if (rc == 0 && port->steering.up)
		rc = rnic_steering_set(port->dev, &port->steering,
				       eth_dev->data->mac_addrs[0].addr_bytes, promiscuous,
				       allmulticast);
	return rc;
}

static int
set_modes(struct rte_eth_dev *eth_dev, bool promiscuous, bool allmulticast)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int rc = follow_modes(eth_dev, promiscuous, allmulticast);

	if (rc != 0) {
		/* For ethdev nothing has changed. */
		(void)follow_modes(eth_dev, port->promiscuous, port->allmulticast);
		return rc;
	}
	port->promiscuous = promiscuous;
	port->allmulticast = allmulticast;
	return 0;
}

int
rnic_filter_promiscuous_enable(struct rte_eth_dev *eth_dev)
{
	return set_modes(eth_dev, true, eth_dev->data->all_multicast);
}

int
rnic_filter_promiscuous_disable(struct rte_eth_dev *eth_dev)
{
	return set_modes(eth_dev, false, eth_dev->data->all_multicast);
}

int
rnic_filter_allmulticast_enable(struct rte_eth_dev *eth_dev)
{
	return set_modes(eth_dev, eth_dev->data->promiscuous, true);
}

int
rnic_filter_allmulticast_disable(struct rte_eth_dev *eth_dev)
{
	return set_modes(eth_dev, eth_dev->data->promiscuous, false);
}

/* ---- Addresses ---- */

struct mac_list {
	struct rnic_mac macs[RNIC_MAC_ADDRS_MAX + RNIC_MC_ADDRS_MAX];
	uint32_t count;
};
_Static_assert(RNIC_MAC_ADDRS_MAX + RNIC_MC_ADDRS_MAX <= RNIC_STEERING_MACS, "room for all");

/* Each once; the own one and broadcast have slots of their own. */
static void
list_mac(struct mac_list *list, const struct rte_ether_addr *own, const struct rte_ether_addr *mac)
{
	uint32_t i;

	if (rte_is_zero_ether_addr(mac) || rte_is_broadcast_ether_addr(mac) ||
	    rte_is_same_ether_addr(mac, own))
		return;
	for (i = 0; i < list->count; i++)
		if (memcmp(&list->macs[i], mac, sizeof(list->macs[i])) == 0)
			return;
	memcpy(&list->macs[list->count++], mac, sizeof(list->macs[0]));
}

/* What ethdev has, with `mac`, unless that is NULL, in slot `index`, and with these multicast addresses. */
static int
set_macs(struct rte_eth_dev *eth_dev, uint32_t index, const struct rte_ether_addr *mac,
	 const struct rte_ether_addr *multicast, uint32_t multicasts)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rte_ether_addr *known = eth_dev->data->mac_addrs;
	const struct rte_ether_addr *own = index == 0 && mac != NULL ? mac : &known[0];
	struct mac_list list = { .count = 0 };
	uint32_t i;

	if (!port->steering.up)
		return 0;
	for (i = 1; i < port->mac_count; i++)
		list_mac(&list, own, i == index && mac != NULL ? mac : &known[i]);
	for (i = 0; i < multicasts; i++)
		list_mac(&list, own, &multicast[i]);
	return rnic_steering_set_macs(port->dev, &port->steering, list.macs, list.count);
}

int
rnic_filter_mac_add(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac, uint32_t index,
		    uint32_t pool)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	RTE_SET_USED(pool);
	return set_macs(eth_dev, index, mac, port->mc_addrs, port->mc_count);
}

void
rnic_filter_mac_remove(struct rte_eth_dev *eth_dev, uint32_t index)
{
	static const struct rte_ether_addr none;
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	/* What the device refuses has been said. */
	(void)set_macs(eth_dev, index, &none, port->mc_addrs, port->mc_count);
}

/* Vport, what RDMA makes of it, steering. */
static int
follow_mac(struct rte_eth_dev *eth_dev, const struct rte_ether_addr *mac, bool stop_when_refused)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	int rc = rnic_port_set_mac(port->dev, mac->addr_bytes);

	if (rc == 0 || !stop_when_refused)
		rc = rnic_port_follow_mac(port->dev);
	if ((rc == 0 || !stop_when_refused) && port->steering.up)
		rc = rnic_steering_set(port->dev, &port->steering, mac->addr_bytes,
				       eth_dev->data->promiscuous, eth_dev->data->all_multicast);
	/* One that was a further address is no longer, or is again. */
	if (rc == 0 || !stop_when_refused)
		rc = set_macs(eth_dev, 0, mac, port->mc_addrs, port->mc_count);
	return rc;
}

int
rnic_filter_mac_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	struct rte_ether_addr was;
	int rc;

	memcpy(&was, port->dev->mac, sizeof(was));
	rc = follow_mac(eth_dev, mac, true);
	/* For ethdev the port has the old one still. */
	if (rc != 0)
		(void)follow_mac(eth_dev, &was, false);
	return rc;
}

int
rnic_filter_set_mc_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *macs, uint32_t count)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint32_t i;
	int rc;

	if (count > RNIC_MC_ADDRS_MAX) {
		RNIC_LOG(ERR, port->dev, "%u multicast addresses: at most %u; use allmulticast",
			 count, RNIC_MC_ADDRS_MAX);
		return -ENOSPC;
	}
	for (i = 0; i < count; i++)
		if (!rte_is_multicast_ether_addr(&macs[i])) {
			RNIC_LOG(ERR, port->dev,
				 "multicast addresses: address %u of %u is not multicast", i + 1,
				 count);
			return -EINVAL;
		}
	rc = set_macs(eth_dev, 0, NULL, macs, count);
	if (rc == 0) {
		if (count > 0)
			memcpy(port->mc_addrs, macs, count * sizeof(*macs));
		port->mc_count = count;
	}
	return rc;
}

/* ---- VLANs ---- */

int
rnic_filter_vlan_set(struct rte_eth_dev *eth_dev, uint16_t vlan_id, int on)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	uint64_t vlans[RNIC_VLAN_WORDS];

	if (!port->steering.up || !filters_vlans(eth_dev))
		return 0;
	memcpy(vlans, eth_dev->data->vlan_filter_conf.ids, sizeof(vlans));
	if (on)
		vlans[vlan_id / 64] |= UINT64_C(1) << vlan_id % 64;
	else
		vlans[vlan_id / 64] &= ~(UINT64_C(1) << vlan_id % 64);
	return rnic_steering_set_vlans(port->dev, &port->steering, vlans);
}

static int
follow_vlans(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);

	_Static_assert(sizeof(eth_dev->data->vlan_filter_conf.ids) == sizeof(port->steering.vlans),
		       "a bit for each VLAN");
	if (!port->steering.up)
		return 0;
	return rnic_steering_set_vlans(port->dev, &port->steering,
				       filters_vlans(eth_dev) ? eth_dev->data->vlan_filter_conf.ids
							      : NULL);
}

int
rnic_filter_vlan_offload_set(struct rte_eth_dev *eth_dev, int mask)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const bool filtered = port->steering.has_vlans;
	int rc = mask & RTE_ETH_VLAN_FILTER_MASK ? follow_vlans(eth_dev) : 0;

	if (rc != 0 || !(mask & RTE_ETH_VLAN_STRIP_MASK))
		return rc;
	rc = rnic_rx_follow_vlan_strip(eth_dev);
	/* For ethdev neither has changed. */
	if (rc != 0 && port->steering.up)
		(void)rnic_steering_set_vlans(port->dev, &port->steering,
					      filtered ? eth_dev->data->vlan_filter_conf.ids
						       : NULL);
	return rc;
}

/* ---- Start ---- */

int
rnic_filter_start(struct rte_eth_dev *eth_dev)
{
	struct rnic_ethdev *port = rnic_ethdev_get(eth_dev);
	const struct rte_eth_dev_data *data = eth_dev->data;
	int rc;

	if (!port->steering.up)
		return 0;
	/* VLANs first: nothing is let in that will be refused. */
	rc = follow_vlans(eth_dev);
	if (rc == 0)
		rc = rnic_steering_set(port->dev, &port->steering, data->mac_addrs[0].addr_bytes,
				       data->promiscuous, data->all_multicast);
	if (rc == 0)
		rc = set_macs(eth_dev, 0, NULL, port->mc_addrs, port->mc_count);
	return rc;
}
