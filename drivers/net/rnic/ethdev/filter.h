/* SPDX-License-Identifier: BSD-3-Clause */

/* Which frames the port takes: what was asked for, kept while the port is stopped. */
#ifndef RNIC_ETHDEV_FILTER_H
#define RNIC_ETHDEV_FILTER_H

#include <stdint.h>

struct rte_eth_dev;
struct rte_ether_addr;

int rnic_filter_promiscuous_enable(struct rte_eth_dev *eth_dev);
int rnic_filter_promiscuous_disable(struct rte_eth_dev *eth_dev);
int rnic_filter_allmulticast_enable(struct rte_eth_dev *eth_dev);
int rnic_filter_allmulticast_disable(struct rte_eth_dev *eth_dev);
int rnic_filter_mac_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac);
int rnic_filter_mac_add(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac, uint32_t index,
			uint32_t pool);
void rnic_filter_mac_remove(struct rte_eth_dev *eth_dev, uint32_t index);
int rnic_filter_set_mc_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *macs,
			    uint32_t count);
int rnic_filter_vlan_set(struct rte_eth_dev *eth_dev, uint16_t vlan_id, int on);
int rnic_filter_vlan_offload_set(struct rte_eth_dev *eth_dev, int mask);
/* The port starts, its steering is there: all that was asked for before. */
int rnic_filter_start(struct rte_eth_dev *eth_dev);

#endif
