/* SPDX-License-Identifier: BSD-3-Clause */

/* Rx interrupts: an event queue and a vector for each receive queue. What the control thread does for them. */
#ifndef RNIC_ETHDEV_RX_INTR_H
#define RNIC_ETHDEV_RX_INTR_H

#include <stdint.h>

#include "core/control.h"

struct rnic_dev;
struct rte_eth_dev;

extern const struct rnic_control_source rnic_rx_intr_source;
/* Before the queues are made, if the port is configured so; before they go, and after; what the device has is woken. */
int rnic_rx_intr_start(struct rte_eth_dev *eth_dev);
void rnic_rx_intr_quiet(struct rte_eth_dev *eth_dev);
void rnic_rx_intr_stop(struct rte_eth_dev *eth_dev);
int rnic_rx_intr_enable(struct rte_eth_dev *eth_dev, uint16_t queue);
int rnic_rx_intr_disable(struct rte_eth_dev *eth_dev, uint16_t queue);
/* A queue with interrupts (rxq->eq) goes on with its next burst: a thread that sleeps on it shall make one. Any thread. */
void rnic_rx_intr_ready(struct rnic_dev *dev, uint16_t queue);
/* Who sleeps on any queue shall look: the device is lost. Any thread. */
void rnic_rx_intr_wake(struct rnic_dev *dev);

#endif
