# SPDX-License-Identifier: BSD-3-Clause
"""PCI functions, their drivers and their network interfaces."""

import re

from .host import Failed

DEVICES = "/sys/bus/pci/devices"
DRIVERS = "/sys/bus/pci/drivers"
GROUPS = "/sys/kernel/iommu_groups"

VENDOR = 0x15B3
# The device ids that the driver takes, by its names of them.
CLASS = {
    0x1013: "ConnectX-4", 0x1014: "ConnectX-4 VF", 0x1015: "ConnectX-4 Lx", 0x1016: "ConnectX-4 Lx VF",
    0x1017: "ConnectX-5", 0x1018: "ConnectX-5 VF", 0x1019: "ConnectX-5 Ex", 0x101A: "ConnectX-5 Ex VF",
    0x101B: "ConnectX-6", 0x101C: "ConnectX-6 VF", 0x101D: "ConnectX-6 Dx", 0x101E: "ConnectX family VF",
    0x101F: "ConnectX-6 Lx", 0x1021: "ConnectX-7", 0x1023: "ConnectX-8",
    0xA2D2: "BlueField network controller", 0xA2D3: "BlueField VF", 0xA2D6: "BlueField-2 network controller",
    0xA2DC: "BlueField-3 network controller",
}
BRIDGE = 0x06  # base class


class NetDev:
    """A network interface of a function."""

    def __init__(self, host, name):
        self.host, self.name = host, name

    @property
    def up(self):
        return bool((self.host.number(f"/sys/class/net/{self.name}/flags") or 0) & 1)

    def uppers(self, seen=None):
        """Itself, and what stands on it: bonds, bridges, VLANs."""
        seen = set() if seen is None else seen
        if self.name not in seen:
            seen.add(self.name)
            for entry in self.host.names(f"/sys/class/net/{self.name}"):
                if entry.startswith("upper_"):
                    NetDev(self.host, entry[len("upper_"):]).uppers(seen)
        return seen

    @property
    def default_route(self):
        return bool(self.uppers() & default_route_interfaces(self.host))


def default_route_interfaces(host):
    found = set()
    for line in (host.read("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if len(words) > 7 and words[1] == "00000000" and words[7] == "00000000":
            found.add(words[0])
    for line in (host.read("/proc/net/ipv6_route") or "").splitlines():
        words = line.split()
        if len(words) > 9 and words[0] == "0" * 32 and words[1] == "00" and words[9] != "lo":
            found.add(words[9])
    return found


class Function:
    """What sysfs says of it now: nothing is remembered."""

    def __init__(self, host, address):
        self.host, self.address = host, address
        self.path = f"{DEVICES}/{address}"

    def number(self, name):
        return self.host.number(f"{self.path}/{name}") or 0

    @property
    def id(self):
        return f"{self.number('vendor'):04x}:{self.number('device'):04x}"

    @property
    def name(self):
        return CLASS[self.number("device")] if self.of_the_class else "another device"

    @property
    def of_the_class(self):
        return self.number("vendor") == VENDOR and self.number("device") in CLASS

    @property
    def is_bridge(self):
        return self.number("class") >> 16 == BRIDGE

    @property
    def driver(self):
        return self.host.link_name(f"{self.path}/driver")

    @property
    def override(self):
        text = self.host.read(f"{self.path}/driver_override")
        return None if text in (None, "", "(null)") else text

    @property
    def numa_node(self):
        return self.host.number(f"{self.path}/numa_node")

    @property
    def vfs(self):
        return self.number("sriov_numvfs")

    @property
    def netdevs(self):
        """Its own, and those of what is behind it, as of a USB controller or virtio."""
        names = [*self.host.names(f"{self.path}/net"), *self.below("net")]
        return [NetDev(self.host, name) for name in dict.fromkeys(names)]

    @property
    def disks(self):
        """Of NVMe the controllers, whose disks may stand elsewhere."""
        return self.below("block") + self.below("nvme")

    def below(self, kind):
        """Devices of a class that stand below it."""
        names = self.host.names(f"/sys/class/{kind}")
        return [name for name in names if f"/{self.address}/" in (self.host.target(f"/sys/class/{kind}/{name}") or "")]

    @property
    def has_netdevs_elsewhere(self):
        """Other network namespaces' are not shown; the folder is there as long as there is any."""
        return self.host.exists(f"{self.path}/net") and not self.netdevs

    @property
    def group(self):
        return self.host.link_name(f"{self.path}/iommu_group")

    @property
    def siblings(self):
        """The other functions of the IOMMU group that count: bridges may keep their driver."""
        if self.group is None:
            return []
        others = [Function(self.host, name) for name in self.host.names(f"{GROUPS}/{self.group}/devices")
                  if name != self.address]
        return [other for other in others if not other.is_bridge]

    @property
    def in_the_way(self):
        """Siblings whose driver keeps the group from user space."""
        return [other for other in self.siblings if other.driver not in (None, "vfio-pci", "pci-stub")]


def functions_of_the_class(host):
    every = [Function(host, name) for name in host.names(DEVICES)]
    return [function for function in every if function.of_the_class]


def find(host, word, any_device=False):
    """By address, with or without its domain, or by the name of a network interface."""
    address = word.lower()
    if re.fullmatch(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", address):
        address = "0000:" + address
    if not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", address):
        address = host.link_name(f"/sys/class/net/{word}/device") if re.fullmatch(r"[\w.@-]+", word) else None
        if address is None:
            raise Failed(f"{word}: neither an address such as 0000:01:00.0 nor a network interface here",
                         "rdmapmd-setup status")
    if not host.exists(f"{DEVICES}/{address}"):
        raise Failed(f"{address}: no such function", ["rdmapmd-setup status", "echo 1 > /sys/bus/pci/rescan"])
    function = Function(host, address)
    if not any_device and not function.of_the_class:
        raise Failed(f"{address}: {function.id} is not a function of the mlx5 class", "rdmapmd-setup status")
    return function
