# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup doctor: on a machine with one thing wrong it says that thing, what fixes it, and nothing else."""

import fcntl
import os
import re

import pytest

from machine import NIC, Machine

# Neither root nor who runs the tests.
USER = "daemon"
# Nor has this one a process.
OTHER = "bin"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    for name in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    made = Machine(tmp_path)
    made.process_of(USER, 900, "bash", "unlimited")
    return made


def expect(machine, ident, text, fix, *words, level="error"):
    """That finding alone; text and fix are patterns."""
    code, said, _ = machine.run("doctor", *words)
    found = machine.findings(*words)
    assert list(found) == [ident], said
    finding = found[ident]
    assert finding["level"] == level and code == (1 if level == "error" else 0)
    assert re.search(text, f"{finding['where']}: {finding['text']}"), said
    assert re.search(fix, "\n".join(finding["fix"])), said
    # Lines say the same as JSON.
    assert finding["text"] in said and all(f"  fix: {line}\n" in said for line in finding["fix"])


def test_a_machine_that_is_ready_has_no_findings(machine):
    code, said, errors = machine.run("doctor")
    assert (code, said, errors) == (0, "ok: nothing is in the way\n", "")
    assert machine.json("doctor", NIC)["findings"] == []


def test_no_function_of_the_class(machine):
    machine.file(f"/sys/bus/pci/devices/{NIC}/device", "0x1003")
    expect(machine, "no-function", "software RNIC need none", "rescan", level="warning")


def test_no_such_function(machine):
    expect(machine, "no-such-function", "0000:07:00.0: no such function", "rescan", "0000:07:00.0")


def test_neither_address_nor_interface(machine):
    expect(machine, "no-such-function", "eth9: neither an address", "rdmapmd-setup status", "eth9")


def test_not_of_the_class(machine):
    machine.function("0000:02:00.0", driver="e1000e", group=9, vendor=0x8086, device=0x10D3)
    expect(machine, "not-of-the-class", "8086:10d3 is not a function of the mlx5 class", "status", "02:00.0")


def test_iommu_not_used_by_the_kernel(machine):
    machine.no_iommu()
    found = machine.findings()
    assert found.keys() == {"iommu-off", "on-mlx5-core"}
    assert "does not use it" in found["iommu-off"]["text"] and "intel_iommu=on" in found["iommu-off"]["fix"][0]


def test_iommu_turned_off_on_the_command_line(machine):
    machine.no_iommu()
    machine.file("/proc/cmdline", "root=/dev/vda1 iommu=off quiet")
    found = machine.findings()
    assert "iommu=off" in found["iommu-off"]["text"] and "iommu=off" in found["iommu-off"]["fix"][0]


@pytest.mark.parametrize("cpu,name", [("GenuineIntel", "VT-d"), ("AuthenticAMD", "AMD-Vi"), ("none", "SMMU")])
def test_iommu_off_in_the_firmware(machine, cpu, name):
    machine.no_iommu()
    machine.remove("/sys/firmware/acpi/tables/DMAR")
    machine.file("/proc/cpuinfo", f"vendor_id\t: {cpu}\n")
    found = machine.findings()
    assert "firmware offers none" in found["iommu-off"]["text"] and name in found["iommu-off"]["fix"][0]


def test_mode_without_iommu(machine):
    machine.file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")
    expect(machine, "noiommu-mode", "can write to all memory", r"echo N > /sys/module/vfio/")


def test_group_without_iommu(machine):
    machine.function("0000:01:00.1", group=8, driver="vfio-pci") # so that there is an IOMMU all the same
    machine.file("/sys/kernel/iommu_groups/7/name", "vfio-noiommu")
    expect(machine, "noiommu-group", f"{NIC}: group 7 has no IOMMU", f"unbind {NIC} --apply")


def test_only_groups_without_iommu_are_no_iommu(machine):
    machine.file("/sys/kernel/iommu_groups/7/name", "vfio-noiommu")
    assert machine.findings().keys() == {"iommu-off", "noiommu-group"}


def test_vfio_pci_not_loaded(machine):
    machine.driver(NIC, "mlx5_core")
    os.rmdir(machine.at("/sys/bus/pci/drivers/vfio-pci"))
    found = machine.findings()
    assert found.keys() == {"vfio-pci-not-loaded", "on-mlx5-core"}
    assert found["vfio-pci-not-loaded"]["fix"][0] == "modprobe vfio-pci"


def test_type1_not_loaded(machine):
    os.rmdir(machine.at("/sys/module/vfio_iommu_type1"))
    expect(machine, "vfio-type1-not-loaded", "maps memory", "modprobe vfio_iommu_type1")


def test_container_node_missing(machine):
    machine.remove("/dev/vfio/vfio")
    expect(machine, "container-node-missing", "/dev/vfio/vfio: is not there", "--device /dev/vfio/vfio")


def test_container_node_permission(machine):
    os.chmod(machine.at("/dev/vfio/vfio"), 0o600)
    os.chmod(machine.at("/dev/vfio/7"), 0o666)
    os.chmod(machine.at("/dev/hugepages"), 0o777)
    expect(machine, "container-node-permission", f"{USER} may not open it", "chmod 0666 /dev/vfio/vfio", "--user", USER)


def test_group_not_viable_names_the_siblings(machine):
    machine.function("0000:01:00.1", driver="mlx5_core", group=7)
    machine.function("0000:01:00.2", driver="snd_hda_intel", group=7, vendor=0x8086, device=0x9D71, kind=0x040300)
    expect(machine, "group-not-viable", r"0000:01:00.1 \(15b3:1017\) on mlx5_core, 0000:01:00.2 \(8086:9d71\) on snd_hda_intel",
           f"bind {NIC} 0000:01:00.1 0000:01:00.2 --apply", NIC)


def test_siblings_that_are_not_in_the_way(machine):
    machine.function("0000:00:01.0", driver="pcieport", group=7, vendor=0x8086, device=0x1901, kind=0x060400)
    machine.function("0000:01:00.1", driver="vfio-pci", group=7)
    machine.function("0000:01:00.2", group=7, vendor=0x8086, device=0x9D71, kind=0x040300)
    assert not machine.findings(NIC)


def test_still_on_mlx5_core(machine):
    machine.driver(NIC, "mlx5_core")
    machine.netdev(NIC, "ens1", up=False)
    expect(machine, "on-mlx5-core", r"still on mlx5_core \(ens1\)", f"rdmapmd-setup bind {NIC} --apply")


def test_a_link_that_binding_takes_away(machine):
    machine.driver(NIC, "mlx5_core")
    machine.netdev(NIC, "ens1", up=True)
    found = machine.findings()
    assert found.keys() == {"on-mlx5-core", "link-in-use"}
    assert found["link-in-use"]["level"] == "warning" and "ens1 is up" in found["link-in-use"]["text"]
    assert found["link-in-use"]["fix"] == ["ip link set ens1 down"]


@pytest.mark.parametrize("route", ["ipv4", "ipv6", "bond"])
def test_a_default_route_that_binding_takes_away(machine, route):
    machine.driver(NIC, "mlx5_core")
    machine.netdev(NIC, "ens1", up=True, route=route == "ipv4")
    if route == "ipv6":
        machine.file("/proc/net/ipv6_route", f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 27}1 00000400 1 0 00000003 ens1")
    elif route == "bond":
        machine.link("/sys/class/net/ens1/upper_bond0", "../bond0")
        machine.route("bond0")
    assert "the default route goes through ens1" in machine.findings()["link-in-use"]["text"]


def test_vfs_that_binding_takes_away(machine):
    machine.driver(NIC, "mlx5_core")
    machine.file(f"/sys/bus/pci/devices/{NIC}/sriov_numvfs", "4")
    assert "its 4 VFs go with it" in machine.findings()["link-in-use"]["text"]


def test_without_a_driver(machine):
    machine.driver(NIC, None)
    expect(machine, "no-driver", "has no driver", f"bind {NIC} --apply")


def test_on_another_driver(machine):
    machine.driver(NIC, "uio_pci_generic")
    expect(machine, "on-another-driver", "is on uio_pci_generic", f"bind {NIC} --apply")


def test_group_node_missing(machine):
    machine.remove("/dev/vfio/7")
    expect(machine, "group-node-missing", "/dev/vfio/7 is not there", "--device /dev/vfio/7")


def test_group_permission(machine):
    os.chmod(machine.at("/dev/hugepages"), 0o777)
    expect(machine, "group-permission", f"{USER} may not open its node /dev/vfio/7", f"bind {NIC} --owner {USER} --apply",
           "--user", USER)


def test_group_busy_names_the_process(machine):
    machine.process(4711, "dpdk-testpmd", "/dev/null", "/dev/vfio/7")
    machine.process(4712, "sleep", "/dev/vfio/8")
    expect(machine, "group-busy", r"in use by 4711 \(dpdk-testpmd\)$", "kill 4711$")


def test_function_busy_by_its_own_node(machine):
    machine.folder(f"/sys/bus/pci/devices/{NIC}/vfio-dev/vfio3")
    machine.process(4711, "qemu-system-x86", "/dev/vfio/devices/vfio3")
    expect(machine, "group-busy", r"4711 \(qemu-system-x86\)", "kill 4711")


def test_little_memlock(machine):
    machine.memlock(8 << 20)
    expect(machine, "memlock-limit", "may lock 8 MiB of memory: too little", "memlock unlimited")


def test_memlock_below_the_hugepages(machine):
    machine.memlock(512 << 20)
    expect(machine, "memlock-limit", "512 MiB of memory, less than the 1 GiB of hugepages", "LimitMEMLOCK=infinity", level="warning")


def test_memlock_does_not_hold_for_who_may_lock_all(machine):
    machine.memlock(8 << 20)
    machine.file("/proc/self/status", "CapEff:\t000001ffffffffff\n")
    assert not machine.findings()


def open_to_all(machine):
    os.chmod(machine.at("/dev/vfio/7"), 0o666)
    os.chmod(machine.at("/dev/hugepages"), 0o777)


def test_memlock_of_another_user_is_that_of_his_newest_process(machine):
    open_to_all(machine)
    machine.memlock(8 << 20)
    machine.process_of(OTHER, 1000, "sleep", 8 << 20)
    assert not machine.findings("--user", USER)
    machine.memlock("unlimited")
    machine.process_of(USER, 1100, "zsh", 4 << 20)
    expect(machine, "memlock-limit", rf"{USER} may lock 4 MiB of memory by the limits of 1100 \(zsh\): too little",
           f"'{USER} - memlock unlimited'", "--user", USER)
    machine.process_of(USER, 1200, "zsh", 512 << 20)
    expect(machine, "memlock-limit", rf"512 MiB of memory by the limits of 1200 \(zsh\), less than", "LimitMEMLOCK", "--user", USER,
           level="warning")
    assert not machine.findings()


@pytest.mark.parametrize("limit", [8 << 20, "unlimited"])
def test_memlock_of_a_user_without_a_process_is_not_known(machine, limit):
    open_to_all(machine)
    machine.memlock(limit)
    expect(machine, "memlock-unknown", f"no process of {OTHER} is seen here", f"'{OTHER} - memlock unlimited'", "--user", OTHER,
           level="note")
    assert "memlock-unknown" not in machine.findings("--user", "root")


def test_no_hugepages(machine):
    machine.pool(2048, 0, 0)
    expect(machine, "hugepages-none", "none are reserved", "hugepages --size 256M --apply")


def test_too_few_hugepages(machine):
    machine.pool(2048, 512, 100)
    # What is there, and what is missing beside what others use.
    expect(machine, "hugepages-too-few", "200 MiB of 1 GiB are free, and 256 MiB are wanted",
           "hugepages --size 1080M --page 2M --apply")
    assert not machine.findings("--memory", "200M")


def test_pages_that_others_have_reserved_are_not_free(machine):
    machine.file("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "450")
    expect(machine, "hugepages-too-few", "100 MiB of 1 GiB", "hugepages")


def test_hugepages_not_mounted(machine):
    machine.file("/proc/mounts", "proc /proc proc rw 0 0\n")
    expect(machine, "hugepages-not-mounted", "those of 2 MiB are not mounted", "hugepages --size 1024M --page 2M --apply")


def test_a_mount_of_another_page_size_is_none(machine):
    machine.file("/proc/mounts", "nodev /dev/hugepages hugetlbfs rw,relatime,pagesize=1024M 0 0\n")
    expect(machine, "hugepages-not-mounted", "those of 2 MiB", "--page 2M")


def test_a_mount_that_names_no_page_size_has_the_default(machine):
    machine.file("/proc/mounts", "nodev /dev/hugepages hugetlbfs rw,relatime 0 0\n")
    assert not machine.findings()


def test_hugepages_permission(machine):
    os.chmod(machine.at("/dev/vfio/7"), 0o666)
    os.chmod(machine.at("/dev/hugepages"), 0o755)
    expect(machine, "hugepages-permission", f"{USER} may not create files there", f"--owner {USER} --apply", "--user", USER)


def test_stale_hugepage_files(machine):
    for number in range(2):
        path = machine.file(f"/dev/hugepages/rtemap_{number}", "")
        os.truncate(machine.at(path), 2 << 20)
        machine.age(path)
    expect(machine, "stale-hugepage-files", "4 MiB are held by 2 files .* such as /dev/hugepages/rtemap_0", "cleanup --apply",
           level="warning")


def test_hugepage_files_in_use_are_not_stale(machine):
    path = machine.age(machine.file("/dev/hugepages/rtemap_0", ""))
    with open(machine.at(path), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert not machine.findings()
    assert machine.findings().keys() == {"stale-hugepage-files"}


def test_stale_runtime_folder(machine):
    machine.age(machine.file("/run/dpdk/rte/config", "x"))
    expect(machine, "stale-runtime-folders", "/run/dpdk/rte: belongs to a dead process", "cleanup --apply", level="note")


def test_stale_sockets_of_softrnicd(machine):
    machine.socket("/run/softrnic/rnic0.sock")
    expect(machine, "stale-sockets", "/run/softrnic/rnic0.sock: no process serves it", "cleanup --apply", level="note")


def test_all_that_is_wrong_is_said_at_once(machine):
    machine.no_iommu()
    machine.pool(2048, 0, 0)
    machine.memlock(65536)
    code, said, _ = machine.run("doctor")
    assert code == 1 and said.endswith("4 errors\n")
    assert machine.findings().keys() == {"iommu-off", "on-mlx5-core", "memlock-limit", "hugepages-none"}


def test_no_such_user(machine):
    code, _, errors = machine.run("doctor", "--user", "nobody-of-that-name")
    assert code == 1 and "no such user" in errors
