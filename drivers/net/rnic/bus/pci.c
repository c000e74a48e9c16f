/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How the PCI bus finds the driver: -a BDF[,key=value...], or without an allow list every function of the class that is
 * bound to vfio-pci. One that is bound to anything else is not ours: the bus asks the next driver.
 *
 * Nothing of EAL's vfio is used. RTE_PCI_DRV_NEED_MAPPING would put all of the process's memory into a container, for the
 * device to read and to write. RTE_PCI_DRV_NEED_IOVA_AS_VA would make the bus refuse functions in a process with physical
 * addresses on behalf of a driver that uses none of EAL's IOVAs, and before net_mlx5 is asked for those of mlx5_core.
 */

#include <errno.h>

#include <bus_driver.h>
#include <bus_pci_driver.h>
#include <rte_devargs.h>
#include <rte_eal.h>

#include "access/class.h"
#include "base/log.h"
#include "bus/common.h"
#include "bus/pci.h"
#include "ethdev/ethdev.h"
#include "object/mempool.h"

static int
pci_probe(struct rte_pci_driver *driver, struct rte_pci_device *pci)
{
	const struct rte_devargs *devargs = pci->device.devargs;

	RTE_SET_USED(driver);
	if (pci->kdrv != RTE_PCI_KDRV_VFIO) {
		RNIC_LOG_NAMED(
			DEBUG, pci->name,
			"not bound to vfio-pci: left to other drivers; rdmapmd-setup bind %s --apply "
			"makes it ours",
			pci->name);
		return 1;
	}
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rnic_ethdev_attach(&pci->device, pci->name);
	return rnic_ethdev_create(&pci->device, pci->name, devargs != NULL ? devargs->args : NULL);
}

static int
pci_remove(struct rte_pci_device *pci)
{
	return rnic_bus_remove(pci->name);
}

static int
pci_dma_map(struct rte_pci_device *pci, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return rnic_bus_dma(pci->name, rnic_mkey_map, addr, len);
}

static int
pci_dma_unmap(struct rte_pci_device *pci, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return rnic_bus_dma(pci->name, rnic_mkey_unmap, addr, len);
}

static const struct rte_pci_id pci_ids[] = {
#define ID(device, name) { RTE_PCI_DEVICE(RNIC_PCI_VENDOR, device) },
	RNIC_PCI_DEVICES(ID)
#undef ID
		{ .vendor_id = 0 },
};

static struct rte_pci_driver rnic_pci_driver = {
	.driver.name = "net_rnic",
	.id_table = pci_ids,
	.probe = pci_probe,
	.remove = pci_remove,
	.dma_map = pci_dma_map,
	.dma_unmap = pci_dma_unmap,
	.drv_flags = RTE_PCI_DRV_INTR_LSC | RTE_PCI_DRV_INTR_RMV,
};

RTE_PMD_REGISTER_PCI_TABLE(net_rnic, pci_ids);
RTE_PMD_REGISTER_KMOD_DEP(net_rnic, "* vfio-pci");

/*
 * At the head of the bus's list. A program may have net_mlx5 linked in, which stands there before a plugin is loaded: it
 * fails with functions on vfio-pci, and the bus asks nobody after an error. The list itself is the bus's own, but
 * drivers lead to it.
 */
void
rnic_pci_register(void)
{
	struct rte_pci_driver *first = &rnic_pci_driver, *before;
	TAILQ_HEAD(drivers, rte_pci_driver) * list;

	rte_pci_register(&rnic_pci_driver);
	while ((before = TAILQ_PREV(first, drivers, next)) != NULL)
		first = before;
	if (first == &rnic_pci_driver)
		return;
	/* The head begins with the pointer that leads to the first one. */
	list = (struct drivers *)(void *)first->next.tqe_prev;
	TAILQ_REMOVE(list, &rnic_pci_driver, next);
	TAILQ_INSERT_HEAD(list, &rnic_pci_driver, next);
}
