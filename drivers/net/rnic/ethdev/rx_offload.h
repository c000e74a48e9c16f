/* SPDX-License-Identifier: BSD-3-Clause */

/* What receive queues offer, and what completions tell of a frame. */
#ifndef RNIC_ETHDEV_RX_OFFLOAD_H
#define RNIC_ETHDEV_RX_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <rte_version.h>

struct rnic_dev;
struct rnic_rxq;
struct rte_eth_dev;

/* What the device can do. */
uint64_t rnic_rx_offloads_of(const struct rnic_dev *dev);
/* The queue's tables, from its offloads and the packet types that are wanted; it does not run. */
void rnic_rx_offloads_init(struct rnic_rxq *rxq, uint32_t ptype_mask);
/* If its offloads ask for them. */
int rnic_rx_timestamps_init(struct rnic_rxq *rxq);
/* RNIC_RX_TELLS... of all queues together. */
unsigned int rnic_rx_tells(const struct rte_eth_dev *eth_dev);
/* ethdev's; since 24.03 it wants their number, before that their end. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
const uint32_t *rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev, size_t *count);
#else
const uint32_t *rnic_rx_ptypes_get(struct rte_eth_dev *eth_dev);
#endif
int rnic_rx_ptypes_set(struct rte_eth_dev *eth_dev, uint32_t ptype_mask);
/* All queues as the port's offloads say. */
int rnic_rx_follow_vlan_strip(struct rte_eth_dev *eth_dev);
void rnic_rx_vlan_strip_queue_set(struct rte_eth_dev *eth_dev, uint16_t queue, int on);

#endif
