/* SPDX-License-Identifier: BSD-3-Clause */

/* The port in secondary processes: what they see they ask the primary one for. */
#ifndef RNIC_ETHDEV_SECONDARY_H
#define RNIC_ETHDEV_SECONDARY_H

#include <stdbool.h>

struct rte_eth_dev;

/* What a secondary process may do. */
extern const struct eth_dev_ops rnic_secondary_ops;
/* In the primary process: secondary ones may ask about the port from now on, or may no longer. */
void rnic_secondary_offer(struct rte_eth_dev *eth_dev);
void rnic_secondary_withdraw(struct rte_eth_dev *eth_dev);
/* While a port that is offered has no device, they are told that there is no such port. Waits for an answer under way. */
void rnic_secondary_hide(const struct rte_eth_dev *eth_dev, bool hidden);

#endif
