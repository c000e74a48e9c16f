/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's registers, read as they are: the initialization segment with the health buffer, and its clock. */

#include <errno.h>

#include "core/dev.h"
#include "core/timestamp.h"
#include "ethdev/port.h"
#include "ethdev/regs.h"
#include "prm/init_seg.h"

int
rnic_regs_select(struct rte_dev_reg_info *info)
{
	if (info->data == NULL) {
		info->length = RNIC_REGS;
		info->width = RNIC_REGS_WIDTH;
		return 0;
	}
	if (info->length == 0)
		info->length = RNIC_REGS - RTE_MIN(info->offset, RNIC_REGS);
	if (info->offset >= RNIC_REGS || info->length > RNIC_REGS - info->offset)
		return -EINVAL;
	info->width = RNIC_REGS_WIDTH;
	info->version = 1;
	return (int)info->length;
}

int
rnic_regs_get(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info)
{
	struct rnic_access *access = rnic_ethdev_get(eth_dev)->dev->access;
	int count = rnic_regs_select(info), i;
	uint32_t *values = info->data;

	for (i = 0; i < count; i++)
		values[i] = rnic_be32_to_cpu(access->ops->read32(
			access, (uint64_t)(info->offset + (uint32_t)i) * RNIC_REGS_WIDTH));
	return count < 0 ? count : 0;
}

int
rnic_regs_clock(struct rte_eth_dev *eth_dev, uint64_t *clock)
{
	struct rnic_dev *dev = rnic_ethdev_get(eth_dev)->dev;

	return rnic_clock_read(dev, rnic_clock_is_real(dev), clock);
}
