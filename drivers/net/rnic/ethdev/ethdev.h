/* SPDX-License-Identifier: BSD-3-Clause */

/* A port of ethdev's: created, attached, destroyed. */
#ifndef RNIC_ETHDEV_ETHDEV_H
#define RNIC_ETHDEV_ETHDEV_H

struct rte_device;
struct rte_eth_dev;

int rnic_ethdev_create(struct rte_device *device, const char *name, const char *devargs);
int rnic_ethdev_attach(struct rte_device *device, const char *name); /* in a secondary process */
int rnic_ethdev_destroy(struct rte_eth_dev *eth_dev);
extern const struct eth_dev_ops rnic_ethdev_ops;

#endif
