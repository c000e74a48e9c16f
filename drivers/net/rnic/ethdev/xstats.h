/* SPDX-License-Identifier: BSD-3-Clause */

/* Extended statistics. */
#ifndef RNIC_ETHDEV_XSTATS_H
#define RNIC_ETHDEV_XSTATS_H

struct rnic_ethdev;
struct rte_eth_dev;
struct rte_eth_xstat;
struct rte_eth_xstat_name;

int rnic_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names,
		      unsigned int size);
int rnic_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int size);
int rnic_xstats_reset(struct rte_eth_dev *eth_dev);
/* With the lock of the statistics held: the device comes; ask it. */
void rnic_xstats_begin(struct rnic_ethdev *port);
int rnic_xstats_poll(struct rnic_ethdev *port);

#endif
