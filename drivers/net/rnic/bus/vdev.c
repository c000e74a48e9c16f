/* SPDX-License-Identifier: BSD-3-Clause */

/* How DPDK finds the driver as a vdev's: --vdev=net_rnicN[,key=value...]. pci.c is how the PCI bus does. */

#include <errno.h>

#include <bus_driver.h>
#include <bus_vdev_driver.h>
#include <rte_eal.h>
#include <rte_kvargs.h>

#include "base/log.h"
#include "bus/common.h"
#include "bus/vdev.h"
#include "ethdev/ethdev.h"
#include "object/mempool.h"

static int
vdev_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rnic_ethdev_attach(&vdev->device, name);
	if (rte_eal_iova_mode() != RTE_IOVA_VA) {
		RNIC_LOG_NAMED(
			ERR, name,
			"the process has physical addresses as IOVAs, the device needs virtual ones: start it with --iova-mode=va");
		return -ENOTSUP;
	}
	return rnic_ethdev_create(&vdev->device, name, rte_vdev_device_args(vdev));
}

static int
vdev_remove(struct rte_vdev_device *vdev)
{
	return rnic_bus_remove(rte_vdev_device_name(vdev));
}

static int
vdev_dma_map(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return rnic_bus_dma(rte_vdev_device_name(vdev), rnic_mkey_map, addr, len);
}

static int
vdev_dma_unmap(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	RTE_SET_USED(iova);
	return rnic_bus_dma(rte_vdev_device_name(vdev), rnic_mkey_unmap, addr, len);
}

static struct rte_vdev_driver rnic_vdev_driver = {
	.driver.name = "net_rnic",
	.probe = vdev_probe,
	.remove = vdev_remove,
	.dma_map = vdev_dma_map,
	.dma_unmap = vdev_dma_unmap,
	.drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA,
};

RTE_PMD_REGISTER_PARAM_STRING(
	net_rnic, "socket=<path> "
		  "peer=own|any "
		  "pci=<address> "
		  "wire=loop|pair:<name>|switch:<name>|port:<ethdev>|pcap|null|source:<bytes> "
		  "rx_pcap=<path> "
		  "tx_pcap=<path> "
		  "iface=<interface> "
		  "drop=<ppm> "
		  "dup=<ppm> "
		  "reorder=<ppm> "
		  "corrupt=<ppm> "
		  "delay=<microseconds> "
		  "rule=<rule>[+<rule>]... "
		  "seed=<int> "
		  "poll=thread|<cpu> "
		  "bf=0|1 "
		  "bfregs=<2-512> "
		  "low_latency=<0-510> "
		  "log_max_qp=<8-18> "
		  "cqe_comp=0|1|auto "
		  "mac=<address> "
		  "inline=0|1 "
		  "like=<card> "
		  "quirks=<name>[+<name>]... "
		  "ip=<address>[+<address>]...");

/*
 * The flag NEED_IOVA_AS_VA makes EAL choose virtual addresses where it has the choice. Where it has none, the vdev bus
 * would refuse the port before the driver is asked, with a message that names no remedy. A bus without devices is told
 * once EAL has chosen, before the vdev bus probes: it withdraws the flag, so that vdev_probe() can say what to do.
 */
static int
mode_bus_scan(void)
{
	return 0;
}

static int
mode_bus_probe(void)
{
	if (rte_eal_iova_mode() != RTE_IOVA_VA)
		rnic_vdev_driver.drv_flags &= ~RTE_VDEV_DRV_NEED_IOVA_AS_VA;
	return 0;
}

static struct rte_device *
mode_bus_find_device(const struct rte_device *start, rte_dev_cmp_t cmp, const void *data)
{
	RTE_SET_USED(start);
	RTE_SET_USED(cmp);
	RTE_SET_USED(data);
	return NULL;
}

static struct rte_bus mode_bus = {
	.name = "net_rnic_iova_mode",
	.scan = mode_bus_scan,
	.probe = mode_bus_probe,
	.find_device = mode_bus_find_device,
};

/* As RTE_REGISTER_BUS and RTE_PMD_REGISTER_VDEV do unasked. */
void
rnic_vdev_register(void)
{
	rte_bus_register(&mode_bus);
	rte_vdev_register(&rnic_vdev_driver);
}
