# SPDX-License-Identifier: BSD-3-Clause
"""What is between a program and its function: one check a way to fail, each finding with the line that fixes it."""

import re
from dataclasses import dataclass, field

from . import bind, hugepages, pci, processes, stale, vfio
from .host import Failed

CAP_IPC_LOCK = 14
LITTLE_LOCKED = 64 << 20  # too little for any port

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass
class Finding:
    """id is for programs and stays; text and fix are for people."""

    id: str
    level: str
    where: str
    text: str
    fix: list = field(default_factory=list)


class Doctor:
    """Looks at a host with a user's eyes."""

    def __init__(self, host, user, memory):
        self.host, self.user, self.memory = host, user, memory
        self.findings = []

    def find(self, ident, level, where, text, *fix):
        self.findings.append(Finding(ident, level, where, text, list(fix)))

    def examine(self, words):
        functions = self.functions(words)
        if functions:
            self.iommu()
            self.vfio()
        for function in functions:
            self.function(function)
        self.memlock(bool(functions))
        self.hugepages()
        self.stale_files()
        return self.findings

    def functions(self, words):
        found = []
        for word in words:
            try:
                found.append(pci.find(self.host, word))
            except Failed as failure:
                ident = "not-of-the-class" if "not a function of" in str(failure) else "no-such-function"
                self.find(ident, ERROR, word, str(failure).removeprefix(f"{word}: "), *failure.fix)
        if not words:
            found = pci.functions_of_the_class(self.host)
            if not found:
                self.find("no-function", WARNING, "PCI", "no function of the mlx5 class here; ports on the software RNIC need none",
                          "echo 1 > /sys/bus/pci/rescan")
        return found

    # The machine

    def iommu(self):
        iommu = vfio.Iommu(self.host)
        if self.host.read(vfio.NOIOMMU) in ("Y", "1"):
            self.find("noiommu-mode", ERROR, "vfio", "is in no-IOMMU mode, in which a function can write to all memory; "
                      "the driver needs an IOMMU", f"echo N > {vfio.NOIOMMU}")
        if iommu.on:
            return
        off = iommu.turned_off_by()
        if not iommu.in_firmware:
            names = {"intel": "VT-d", "amd": "AMD-Vi (IOMMU)"}
            self.find("iommu-off", ERROR, "IOMMU", "the firmware offers none",
                      f"turn on {names.get(iommu.maker, 'the IOMMU (VT-d, AMD-Vi, SMMU)')} in the firmware's setup")
        elif off:
            self.find("iommu-off", ERROR, "IOMMU", f"the kernel's command line turns it off by {' '.join(off)}",
                      f"sed -i 's/ *\\b{re.escape(off[0])}\\b//' /etc/default/grub && update-grub && reboot")
        elif iommu.maker == "intel":
            self.find("iommu-off", ERROR, "IOMMU", "is present, but the kernel does not use it",
                      "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&intel_iommu=on iommu=pt /' /etc/default/grub && update-grub && reboot")
        else:
            self.find("iommu-off", ERROR, "IOMMU", "is present, but the kernel has created no groups",
                      "dmesg | grep -i -e iommu -e AMD-Vi -e smmu")

    def vfio(self):
        if not vfio.pci_driver_loaded(self.host):
            self.find("vfio-pci-not-loaded", ERROR, "vfio-pci", "is not loaded",
                      "modprobe vfio-pci", "echo vfio-pci > /etc/modules-load.d/vfio-pci.conf  # at each boot")
            return
        if not self.host.exists("/sys/module/vfio_iommu_type1"):
            self.find("vfio-type1-not-loaded", ERROR, "vfio", "the module that maps memory is not loaded",
                      "modprobe vfio_iommu_type1")
        if not self.host.exists(vfio.CONTAINER):
            self.find("container-node-missing", ERROR, vfio.CONTAINER, "is not there",
                      "modprobe vfio", f"docker run --device {vfio.CONTAINER} ...  # in a container")
        elif not self.host.may_write(vfio.CONTAINER, self.user):
            self.find("container-node-permission", ERROR, vfio.CONTAINER, f"{self.user.name} may not open it",
                      f"chmod 0666 {vfio.CONTAINER}  # it gives no access to any function")

    # A function

    def function(self, function):
        address, driver = function.address, function.driver
        if driver != "vfio-pci":
            self.not_bound(function)
        if function.group is None:
            return
        if vfio.is_noiommu(self.host, function.group):
            self.find("noiommu-group", ERROR, address, f"group {function.group} has no IOMMU",
                      f"rdmapmd-setup unbind {address} --apply", "then turn the IOMMU on: see rdmapmd-setup doctor")
            return
        others = function.in_the_way
        if others:
            self.find("group-not-viable", ERROR, address, f"group {function.group} cannot be used while other functions in it " +
                      "have a kernel driver: " + ", ".join(f"{other.address} ({other.id}) on {other.driver}"
                                                                  for other in others),
                      f"rdmapmd-setup bind {address} {' '.join(other.address for other in others)} --apply")
        if driver == "vfio-pci":
            self.group(function)

    def not_bound(self, function):
        address, driver = function.address, function.driver
        fix = f"rdmapmd-setup bind {address} --apply"
        if driver is None:
            self.find("no-driver", ERROR, address, "has no driver, and must be on vfio-pci", fix)
            return
        names = [netdev.name for netdev in function.netdevs]
        also = f" ({', '.join(names)})" if names else ""
        if driver == "mlx5_core":
            self.find("on-mlx5-core", ERROR, address, f"is still on mlx5_core{also}, and must be on vfio-pci", fix)
        else:
            self.find("on-another-driver", ERROR, address, f"is on {driver}{also}, and must be on vfio-pci", fix)
        lost = bind.losses(function)
        if lost:
            downs = [f"ip link set {netdev.name} down" for netdev in function.netdevs if netdev.up]
            self.find("link-in-use", WARNING, address, "binding would disconnect something: " + ", ".join(lost), *downs)

    def group(self, function):
        node = vfio.node(function.group)
        if not self.host.exists(node):
            self.find("group-node-missing", ERROR, function.address, f"its node {node} is not there",
                      f"docker run --device {node} --device {vfio.CONTAINER} ...  # in a container",
                      f"udevadm trigger --subsystem-match=vfio  # elsewhere")
        elif not self.host.may_write(node, self.user):
            self.find("group-permission", ERROR, function.address, f"{self.user.name} may not open its node {node}",
                      f"rdmapmd-setup bind {function.address} --owner {self.user.name} --apply")
        held = vfio.group_holders(self.host, function)
        if held:
            self.find("group-busy", ERROR, function.address, f"group {function.group} is in use by " +
                      ", ".join(processes.said(self.host, pid) for pid in held), f"kill {' '.join(map(str, held))}")

    # Memory

    def may_lock_all(self):
        if not self.user.own:
            return self.user.uid == 0
        match = re.search(r"(?m)^CapEff:\s*([0-9a-f]+)", self.host.read("/proc/self/status") or "")
        return match is not None and bool(int(match[1], 16) >> CAP_IPC_LOCK & 1)

    def locked(self):
        """The limit of locked memory, and whose it is: this process's, or that of another user's newest; None, "" if unknown."""
        pids = ["self"] if self.user.own else reversed(processes.of_user(self.host, self.user.uid))
        for pid in pids:
            match = re.search(r"(?m)^Max locked memory\s+(\S+)", self.host.read(f"/proc/{pid}/limits") or "")
            if match is not None:
                return match[1], "" if self.user.own else f" by the limits of {processes.said(self.host, pid)}"
        return None, ""

    def memlock(self, metal):
        limit, whose = self.locked()
        if not metal or limit == "unlimited" or self.may_lock_all():
            return
        total = sum(pool.total * pool.page for pool in hugepages.pools(self.host))
        who = self.user.name
        fix = [f"echo '{who} - memlock unlimited' > /etc/security/limits.d/rdmapmd.conf  # and log in again",
               "LimitMEMLOCK=infinity in a systemd unit, docker run --ulimit memlock=-1 for a container"]
        if limit is None:
            self.find("memlock-unknown", NOTE, "memlock", f"no process of {who} is seen here that would tell how much memory "
                      f"{who} may lock", *fix)
            return
        limit = int(limit)
        if limit < LITTLE_LOCKED:
            self.find("memlock-limit", ERROR, "memlock", f"{who} may lock {hugepages.said(limit)} of memory{whose}: too little for a port, "
                      "whose memory is locked while the function can reach it", *fix)
        elif limit < total:
            self.find("memlock-limit", WARNING, "memlock", f"{who} may lock {hugepages.said(limit)} of memory{whose}, less than the "
                      f"{hugepages.said(total)} of hugepages that a program can register", *fix)

    def hugepages(self):
        pools = [pool for pool in hugepages.pools(self.host) if pool.total > 0]
        wanted = f"rdmapmd-setup hugepages --size {self.memory >> 20}M --apply"
        if not pools:
            self.find("hugepages-none", ERROR, "hugepages", "none are reserved", wanted)
            return
        best = max(pools, key=lambda pool: pool.free * pool.page)
        free = best.free * best.page
        if free < self.memory:
            more = best.total * best.page + self.memory - free
            self.find("hugepages-too-few", ERROR, "hugepages", f"{hugepages.said(free)} of {hugepages.said(best.total * best.page)} "
                      f"are free, and {hugepages.said(self.memory)} are wanted (--memory)",
                      f"rdmapmd-setup hugepages --size {-(-more >> 20)}M --page {best.page >> 20}M --apply")
        mounted = [folder for pool in pools for folder in pool.mounts]
        if not mounted:
            self.find("hugepages-not-mounted", ERROR, "hugepages", f"those of {hugepages.said(best.page)} are not mounted "
                      "(programs with --in-memory need no mount)", f"rdmapmd-setup hugepages --size {best.total * best.page >> 20}M "
                      f"--page {best.page >> 20}M --apply")
        elif not any(self.host.may_write(folder, self.user) for folder in mounted):
            self.find("hugepages-permission", ERROR, mounted[0], f"{self.user.name} may not create files there "
                      "(programs with --in-memory need not)",
                      f"rdmapmd-setup hugepages --size {best.total * best.page >> 20}M --page {best.page >> 20}M "
                      f"--owner {self.user.name} --apply")

    def stale_files(self):
        left = stale.Leftovers(self.host)

        def fix(paths):
            return ("sudo " if left.of_others.intersection(paths) else "") + "rdmapmd-setup cleanup --apply"

        if left.hugepage_files:
            self.find("stale-hugepage-files", WARNING, "hugepages", f"{hugepages.said(left.hugepage_bytes)} are held by "
                      f"{len(left.hugepage_files)} files of dead processes, such as {left.hugepage_files[0]}", fix(left.hugepage_files))
        if left.runtime_folders:
            self.find("stale-runtime-folders", NOTE, left.runtime_folders[0], "belongs to a dead process" +
                      (f", as do {len(left.runtime_folders) - 1} more" if len(left.runtime_folders) > 1 else ""),
                      fix(left.runtime_folders + left.runtime_files))
        if left.sockets:
            self.find("stale-sockets", NOTE, left.sockets[0], "no process serves it" +
                      (f", nor {len(left.sockets) - 1} more" if len(left.sockets) > 1 else ""), fix(left.sockets))
