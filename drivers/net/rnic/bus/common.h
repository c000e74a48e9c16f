/* SPDX-License-Identifier: BSD-3-Clause */

/* What the drivers of both buses do with a port, by its name. */
#ifndef RNIC_BUS_COMMON_H
#define RNIC_BUS_COMMON_H

#include <stddef.h>

struct rnic_dev;

int rnic_bus_remove(const char *name);
/* rnic_mkey_map() or rnic_mkey_unmap(); sets rte_errno and returns -1, as the buses want it. */
int rnic_bus_dma(const char *name, int (*act)(struct rnic_dev *dev, void *addr, size_t len),
		 void *addr, size_t len);

#endif
