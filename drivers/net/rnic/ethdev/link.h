/* SPDX-License-Identifier: BSD-3-Clause */

/* Link state, and what the device reports of itself. */
#ifndef RNIC_ETHDEV_LINK_H
#define RNIC_ETHDEV_LINK_H

#include <stdint.h>

struct rnic_dev;
struct rte_eth_dev;

int rnic_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete);
int rnic_link_refresh(struct rte_eth_dev *eth_dev);
/* RTE_ETH_LINK_SPEED_... of the speeds that the port can have; 0: it does not tell. */
uint32_t rnic_link_speed_capa(struct rnic_dev *dev);
int rnic_link_set_up(struct rte_eth_dev *eth_dev);
int rnic_link_set_down(struct rte_eth_dev *eth_dev);
/* What the device tells of itself; `arg` is the port. */
void rnic_link_on_port_change(void *arg);
void rnic_link_on_lost(void *arg);

#endif
