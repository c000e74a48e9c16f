/* SPDX-License-Identifier: BSD-3-Clause */

/* Registers as they are, and the device's clock. Up to the health counter; nothing in there changes by being read. */
#ifndef RNIC_ETHDEV_REGS_H
#define RNIC_ETHDEV_REGS_H

#include <stdint.h>

#include "prm/init_seg.h"

struct rte_dev_reg_info;
struct rte_eth_dev;

#define RNIC_REGS_WIDTH 4u
#define RNIC_REGS	(RNIC_FIELD_OFFSET(RNIC_ISEG_HEALTH_COUNTER) / RNIC_REGS_WIDTH + 1)
/* How many registers are wanted from info->offset on. 0: it is told how many there are; -EINVAL: there are not so many. */
int rnic_regs_select(struct rte_dev_reg_info *info);
int rnic_regs_get(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info);
int rnic_regs_clock(struct rte_eth_dev *eth_dev, uint64_t *clock);

#endif
