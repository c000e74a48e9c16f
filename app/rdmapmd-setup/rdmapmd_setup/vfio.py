# SPDX-License-Identifier: BSD-3-Clause
"""Groups as /dev/vfio shows them, and whether there is an IOMMU behind."""

import re

from . import pci, processes

CONTAINER = "/dev/vfio/vfio"
NOIOMMU = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"


def node(group):
    return f"/dev/vfio/{group}"


def is_noiommu(host, group):
    """A group that vfio made up, of a function that no IOMMU stands before."""
    return host.read(f"{pci.GROUPS}/{group}/name") == "vfio-noiommu" or host.exists(f"/dev/vfio/noiommu-{group}")


def group_holders(host, function):
    """Who has the function's group open, or the function itself by the newer interface."""
    if function.group is None:
        return []
    devices = [f"/dev/vfio/devices/{name}" for name in host.names(f"{function.path}/vfio-dev")]
    return processes.holders(host, [node(function.group), f"/dev/vfio/noiommu-{function.group}", *devices])


def pci_driver_loaded(host):
    return host.exists(f"{pci.DRIVERS}/vfio-pci")


class Iommu:
    """What the firmware has, what the kernel was told, and what came of it."""

    def __init__(self, host):
        self.host = host
        self.words = (host.read("/proc/cmdline") or "").split()

    @property
    def on(self):
        groups = self.host.names(pci.GROUPS)
        return any(self.host.read(f"{pci.GROUPS}/{group}/name") != "vfio-noiommu" for group in groups)

    @property
    def maker(self):
        vendor = re.search(r"(?m)^vendor_id\s*:\s*(\S+)", self.host.read("/proc/cpuinfo") or "")
        if self.host.exists("/sys/firmware/acpi/tables/DMAR") or vendor and vendor[1] == "GenuineIntel":
            return "intel"
        if self.host.exists("/sys/firmware/acpi/tables/IVRS") or vendor and vendor[1] in ("AuthenticAMD", "HygonGenuine"):
            return "amd"
        return None

    @property
    def in_firmware(self):
        return any(self.host.exists(f"/sys/firmware/acpi/tables/{table}") for table in ("DMAR", "IVRS", "IORT", "VIOT"))

    def turned_off_by(self):
        """Words of the kernel's command line that turn it off."""
        return [word for word in self.words
                if re.fullmatch(r"(intel_|amd_)?iommu=(\S+,)?off(,\S+)?", word)]
