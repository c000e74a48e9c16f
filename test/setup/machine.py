# SPDX-License-Identifier: BSD-3-Clause
"""A machine on which all is as it should be, as a tree of files that a test breaks; and a kernel that answers writes to it."""

import errno
import io
import json
import os
import pwd
import re
import socket
import stat
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "app", "rdmapmd-setup"))

from rdmapmd_setup import cli, host  # pylint: disable=wrong-import-position

NIC = "0000:01:00.0"
PROGRAM = os.path.join(os.environ["RDMAPMD_SOURCE"], "app", "rdmapmd-setup", "rdmapmd-setup")


class Machine:
    """Paths are those of the machine."""

    def __init__(self, root):
        self.root = str(root)
        self.owners = {}
        self.mounted_by_hugeadm = None
        self.programs, self.says = [], (0, "")  # that were run, and what each ends with and says
        self.file("/proc/cmdline", "root=/dev/vda1 intel_iommu=on")
        self.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n")
        self.file("/proc/meminfo", "HugePages_Total: 512\nHugepagesize:       2048 kB\n")
        self.file("/proc/mounts", "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n")
        self.file("/proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n")
        self.file("/proc/self/status", "Name:\tpython3\nCapEff:\t0000000000000000\n")
        self.memlock("unlimited")
        self.file("/sys/firmware/acpi/tables/DMAR", "")
        self.folder("/sys/module/vfio_iommu_type1")
        self.file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N")
        self.folder("/dev/hugepages")
        self.folder("/run")
        self.file("/dev/vfio/vfio", "", 0o666)
        for driver in ("vfio-pci", "mlx5_core", "pcieport"):
            self.folder(f"/sys/bus/pci/drivers/{driver}")
        self.pool(2048, 512, 500)
        self.pool(1048576, 0, 0)
        self.function(NIC, driver="vfio-pci", group=7)

    def at(self, path):
        return self.root + path

    def folder(self, path):
        os.makedirs(self.at(path), exist_ok=True)

    def file(self, path, text, mode=0o644):
        self.folder(os.path.dirname(path))
        with open(self.at(path), "w", encoding="utf-8") as file:
            file.write(text + "\n" if text else "")
        os.chmod(self.at(path), mode)
        return path

    def text(self, path):
        with open(self.at(path), encoding="utf-8") as file:
            return file.read().strip()

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        if os.path.lexists(self.at(path)):
            os.unlink(self.at(path))
        os.symlink(target, self.at(path))

    def remove(self, path):
        os.unlink(self.at(path))

    def age(self, path, seconds=3600):
        os.utime(self.at(path), (time.time() - seconds,) * 2)
        return path

    def pool(self, kib, total, free):
        folder = f"/sys/kernel/mm/hugepages/hugepages-{kib}kB"
        for name, value in (("nr_hugepages", total), ("free_hugepages", free), ("resv_hugepages", 0), ("nr_overcommit_hugepages", 0)):
            self.file(f"{folder}/{name}", str(value))

    def hugeadm(self, page_kib=2048):
        """libhugetlbfs' program, which mounts pages of one size."""
        self.mounted_by_hugeadm = page_kib
        self.file("/usr/bin/hugeadm", "", 0o755)

    def memlock(self, limit, pid="self"):
        self.file(f"/proc/{pid}/limits", "Limit                     Soft Limit           Hard Limit           Units\n"
                                         f"Max locked memory         {limit:<20} {limit:<20} bytes")

    def function(self, address, driver=None, group=None, device=0x1017, vendor=0x15B3, kind=0x020000):
        folder = f"/sys/bus/pci/devices/{address}"
        for name, value in (("vendor", f"{vendor:#06x}"), ("device", f"{device:#06x}"), ("class", f"{kind:#08x}"),
                            ("numa_node", "0"), ("driver_override", "(null)")):
            self.file(f"{folder}/{name}", value)
        if group is not None:
            self.link(f"{folder}/iommu_group", f"../../../kernel/iommu_groups/{group}")
            self.link(f"/sys/kernel/iommu_groups/{group}/devices/{address}", f"../../../../bus/pci/devices/{address}")
        self.driver(address, driver)

    def driver(self, address, driver):
        """What the kernel does when a driver takes a function, or leaves it."""
        folder = f"/sys/bus/pci/devices/{address}"
        if os.path.lexists(self.at(f"{folder}/driver")):
            self.remove(f"{folder}/driver")
        if driver is not None:
            self.link(f"{folder}/driver", f"../../../../bus/pci/drivers/{driver}")
        group = self.group(address)
        if group is not None:
            node = f"/dev/vfio/{group}"
            members = os.listdir(self.at(f"/sys/kernel/iommu_groups/{group}/devices"))
            wanted = any(self.driver_of(member) == "vfio-pci" for member in members)
            if wanted and not os.path.exists(self.at(node)):
                self.file(node, "", 0o600)
            elif not wanted and os.path.exists(self.at(node)):
                self.remove(node)

    def driver_of(self, address):
        path = self.at(f"/sys/bus/pci/devices/{address}/driver")
        return os.path.basename(os.readlink(path)) if os.path.lexists(path) else None

    def group(self, address):
        path = self.at(f"/sys/bus/pci/devices/{address}/iommu_group")
        return os.path.basename(os.readlink(path)) if os.path.lexists(path) else None

    def no_iommu(self):
        """As a kernel boots without one."""
        self.driver(NIC, "mlx5_core")
        self.remove(f"/sys/bus/pci/devices/{NIC}/iommu_group")
        self.remove(f"/sys/kernel/iommu_groups/7/devices/{NIC}")
        os.removedirs(self.at("/sys/kernel/iommu_groups/7/devices"))
        self.folder("/sys/kernel/iommu_groups")
        self.file("/proc/cmdline", "root=/dev/vda1")

    def netdev(self, address, name, up, route=False):
        self.file(f"/sys/class/net/{name}/flags", "0x1003" if up else "0x1002")
        self.link(f"/sys/class/net/{name}/device", f"../../../{address}")
        self.folder(f"/sys/bus/pci/devices/{address}/net/{name}")
        if route:
            self.route(name)

    def route(self, name):
        with open(self.at("/proc/net/route"), "a", encoding="utf-8") as file:
            file.write(f"{name}\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")

    def process(self, pid, name, *opened):
        self.file(f"/proc/{pid}/comm", name)
        for number, path in enumerate(opened):
            self.link(f"/proc/{pid}/fd/{number}", path)

    def process_of(self, user, pid, name, limit):
        self.process(pid, name)
        self.memlock(limit, pid)
        self.owners[f"/proc/{pid}"] = pwd.getpwnam(user).pw_uid

    def socket(self, path):
        """As somebody leaves it who listened there."""
        self.folder(os.path.dirname(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
            bind_at(made, self.at(path))
        return path

    # The tool on it

    def run(self, *words):
        """By a kernel that answers; returns exit code, output and errors."""
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            try:
                code = cli.main(list(words), Kernel(self))
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), errors.getvalue()

    def json(self, *words):
        code, said, errors = self.run(*words, "--json")
        data = json.loads(said)
        assert data["exit"] == code and not errors
        return data

    def findings(self, *words):
        return {finding["id"]: finding for finding in self.json("doctor", *words)["findings"]}


def bind_at(made, path):
    """Paths may be longer than an address."""
    folder = os.open(os.path.dirname(path), os.O_PATH)
    try:
        made.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


class Kernel(host.Host):
    """Does to the tree what Linux does when somebody writes to its files."""

    real = False

    def __init__(self, machine):
        super().__init__(machine.root)
        self.machine = machine

    def write(self, path, text):
        if not os.path.exists(self.at(path)) and not re.search(r"/(bind|unbind|drivers_probe)$", path):
            raise OSError(errno.ENOENT, "No such file or directory")
        match = re.fullmatch(r"/sys/bus/pci/drivers/([^/]+)/(bind|unbind)", path)
        if match is not None:
            self.bind(match[1], match[2], text)
        elif path.endswith("/driver/unbind"):
            self.machine.driver(text, None)
        elif path == "/sys/bus/pci/drivers_probe":
            self.probe(text)
        elif path.endswith("/nr_hugepages"):
            self.resize(path, int(text))
        else:
            super().write(path, text)

    def stat(self, path):
        """Ordinary users cannot give files away."""
        status = super().stat(path)
        if status is None or path not in self.machine.owners:
            return status
        fields = list(status)
        fields[stat.ST_UID] = self.machine.owners[path]
        return os.stat_result(fields)

    def override(self, address):
        said = self.machine.text(f"/sys/bus/pci/devices/{address}/driver_override")
        return said if said not in ("", "(null)") else None

    def bind(self, driver, what, address):
        now = self.machine.driver_of(address)
        if what == "unbind":
            if now != driver:
                raise OSError(errno.ENODEV, "No such device")
            self.machine.driver(address, None)
        elif now is not None or (self.override(address) or "mlx5_core") != driver or self.refuses(driver):
            raise OSError(errno.ENODEV, "No such device")
        else:
            self.machine.driver(address, driver)

    def refuses(self, driver):
        return os.path.exists(self.at(f"/sys/bus/pci/drivers/{driver}/refuses"))

    def probe(self, address):
        driver = self.override(address) or "mlx5_core"
        if self.machine.driver_of(address) is None and self.exists(f"/sys/bus/pci/drivers/{driver}") and \
                not self.refuses(driver):
            self.machine.driver(address, driver)

    def resize(self, path, wanted):
        """No more than the memory of this machine."""
        folder = os.path.dirname(path)
        old, got = int(self.machine.text(path)), min(wanted, 1000)
        free = int(self.machine.text(f"{folder}/free_hugepages"))
        super().write(path, str(got))
        super().write(f"{folder}/free_hugepages", str(free + got - old))

    def run(self, argv):
        if argv[0] == "modprobe":
            self.machine.folder(f"/sys/bus/pci/drivers/{argv[1]}")
            for address in os.listdir(self.at("/sys/bus/pci/devices")):
                if argv[1] == "mlx5_core":
                    self.probe(address)
        elif argv[0] == "mount":
            assert os.path.isdir(self.at(argv[-1]))
            self.mounts(lambda lines: lines + [f"{argv[-2]} {argv[-1]} {argv[2]} rw,{argv[4]} 0 0"])
        elif argv[0] == "hugeadm":
            self.hugeadm(*argv[1:])
        elif argv[0] == "umount":
            self.mounts(lambda lines: [line for line in lines if line.split()[1] != argv[1]])
        else:
            assert argv[0] == "udevadm"

    def hugeadm(self, what, text=None):
        """As 2.23 does it: ends well with too few pages, and takes what it adds from what may come on demand."""
        if what == "--create-mounts":
            kib = self.machine.mounted_by_hugeadm
            folder = f"/var/lib/hugetlbfs/pagesize-{kib >> 10}MB"
            self.machine.folder(folder)
            self.mounts(lambda lines: lines + [f"none {folder} hugetlbfs rw,relatime,pagesize={kib >> 10}M 0 0"])
            return
        assert what == "--pool-pages-min"
        mib, added = map(int, re.fullmatch(r"(\d+)MB:\+(\d+)", text).groups())
        folder = f"/sys/kernel/mm/hugepages/hugepages-{mib << 10}kB"
        self.resize(f"{folder}/nr_hugepages", int(self.machine.text(f"{folder}/nr_hugepages")) + added)
        more = int(self.machine.text(f"{folder}/nr_overcommit_hugepages"))
        self.machine.file(f"{folder}/nr_overcommit_hugepages", str(max(more - added, 0)))

    def output_of(self, argv, seconds):
        self.machine.programs.append(argv)
        return self.machine.says

    def mounts(self, change):
        lines = self.machine.text("/proc/mounts").splitlines()
        self.machine.file("/proc/mounts", "\n".join(change(lines)))

    def chown(self, path, uid, gid):
        assert os.path.exists(self.at(path))
        self.machine.file("/owner" + path, f"{uid}:{gid}")
