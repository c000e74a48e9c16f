/* SPDX-License-Identifier: BSD-3-Clause */

/* What the port is and can do. */
#ifndef RNIC_ETHDEV_INFO_H
#define RNIC_ETHDEV_INFO_H

#include <stddef.h>
#include <stdint.h>

struct rte_eth_burst_mode;
struct rte_eth_dev;
struct rte_eth_dev_info;

int rnic_info_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info);
int rnic_info_fw_version(struct rte_eth_dev *eth_dev, char *text, size_t size);
int rnic_info_rx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			    struct rte_eth_burst_mode *mode);
int rnic_info_tx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t queue,
			    struct rte_eth_burst_mode *mode);

#endif
