/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What becomes of the plugin when a process loads it. A driver fills in and calls what DPDK changes from one release to the
 * next without a new soname (struct eth_dev_ops, struct rte_bus, ...), so it is good for the release whose headers it was
 * built with and for no other: then nothing of it is registered, and a line says why. Stable releases (the last number)
 * leave these structs alone.
 */

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>
#include <rte_log.h>
#include <rte_version.h>

#include "bus/pci.h"
#include "bus/vdev.h"
#include "telemetry.h"

/*
 * Of a number of the process's own EAL. With another soname, what we are linked to is another EAL, which was loaded for us
 * alone and answers for itself; in the process's list its own comes first.
 */
static unsigned int
version_of_process(const char *name, unsigned int (*linked)(void))
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (symbol != NULL)
		memcpy(&linked, &symbol, sizeof(linked));
	return linked();
}

RTE_INIT(rnic_load)
{
	unsigned int year = version_of_process("rte_version_year", rte_version_year);
	unsigned int month = version_of_process("rte_version_month", rte_version_month);

	if (year == RTE_VER_YEAR && month == RTE_VER_MONTH) {
		rnic_vdev_register();
		rnic_pci_register();
		rnic_telemetry_register();
		return;
	}
	/* The driver's own log type may not be there yet. */
	rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL,
		"net_rnic: this plugin was built for DPDK %u.%02u and the process has DPDK %u.%02u: it offers no ports; "
		"build it again with the DPDK of the process\n",
		(unsigned int)RTE_VER_YEAR, (unsigned int)RTE_VER_MONTH, year, month);
}
