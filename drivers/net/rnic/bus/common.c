/* SPDX-License-Identifier: BSD-3-Clause */

#include "bus/common.h"

#include <errno.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "core/dev.h"
#include "ethdev/ethdev.h"
#include "ethdev/port.h"

/* The device, if its port is open; the primary process's alone. */
static struct rnic_dev *
open_device(const char *name)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(name);

	if (eth_dev == NULL || rte_eal_process_type() != RTE_PROC_PRIMARY)
		return NULL;
	return rnic_ethdev_get(eth_dev)->dev;
}

/* Work requests name the process's addresses: whatever the IOVA is said to be. */
int
rnic_bus_dma(const char *name, int (*act)(struct rnic_dev *dev, void *addr, size_t len), void *addr,
	     size_t len)
{
	struct rnic_dev *dev = open_device(name);
	int rc = dev != NULL ? act(dev, addr, len) : -ENODEV;

	if (rc == 0)
		return 0;
	rte_errno = -rc;
	return -1;
}

int
rnic_bus_remove(const char *name)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(name);

	/* The application may have closed the port. */
	if (eth_dev == NULL)
		return 0;
	return rnic_ethdev_destroy(eth_dev);
}
