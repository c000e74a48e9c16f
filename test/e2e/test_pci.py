# SPDX-License-Identifier: BSD-3-Clause
"""Which driver gets which PCI function: stock testpmd, which has net_mlx5 in it, on a sysfs tree of our own."""

import os
import re
import shutil
import subprocess
import tempfile

import pytest

from e2e.testpmd import PATIENCE, plugin, two_cpus

OURS, MLX5 = "net_rnic", "mlx5_pci"
BDF, OTHER = "0000:41:00.0", "0000:41:00.1"
PF, VF = 0x1017, 0x1018


@pytest.fixture
def sysfs():
    root = tempfile.mkdtemp(prefix="rnic-pci-")
    yield root
    shutil.rmtree(root)


def function(sysfs, bdf, driver, device=PF, group=77):
    """A network function, as the kernel shows it."""
    folder = os.path.join(sysfs, bdf)
    os.mkdir(folder)
    values = {"vendor": "0x15b3", "device": f"{device:#06x}", "subsystem_vendor": "0x15b3",
              "subsystem_device": "0x0001", "class": "0x020000", "numa_node": "-1",
              "resource": 6 * (18 * "0" + " " + 18 * "0" + " " + 18 * "0" + "\n")}
    for name, value in values.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(value.replace(18 * "0", f"{0:#018x}") + "\n")
    if driver is not None:
        os.symlink(f"../../../bus/pci/drivers/{driver}", os.path.join(folder, "driver"))
    if group is not None:
        os.symlink(f"../../../kernel/iommu_groups/{group}", os.path.join(folder, "iommu_group"))


def probe(sysfs, *args):
    """What testpmd says until it has looked at all functions; it needs no port to start."""
    command = ["dpdk-testpmd", "-l", two_cpus(), "-d", plugin(), "--no-huge", "-m", "128", "--no-shconf",
               "--no-telemetry", "--log-level=lib.eal:debug", "--log-level=bus.pci:debug",
               "--log-level=pmd.net.rnic.driver:debug", *args, "--", "--auto-start", "--stats-period=1"]
    runtime = os.path.join(sysfs, "..", os.path.basename(sysfs) + "-run")
    os.mkdir(runtime)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, SYSFS_PCI_DEVICES=sysfs, RUNTIME_DIRECTORY=runtime),
                              text=True, timeout=PATIENCE, check=False)
    finally:
        shutil.rmtree(runtime)
    assert done.returncode >= 0, done.stdout
    return done.stdout


def asked(said):
    """The drivers that the bus has asked, in order."""
    return re.findall(r"probe driver: 15b3:\w+ (\w+)", said)


@pytest.mark.parametrize("device", [PF, VF])
def test_ours_is_asked_first_for_what_is_on_vfio_pci(sysfs, device):
    function(sysfs, BDF, "vfio-pci", device)
    said = probe(sysfs, "-a", BDF)
    # There is no such node: ours has failed with it, and nobody else was asked.
    assert asked(said) == [OURS], said
    assert re.search(rf"net_rnic: {BDF}: /dev/vfio/\w+.*: ", said), said
    assert "bring-up failed at stage 'access'" in said


@pytest.mark.parametrize("device", [PF, VF])
def test_net_mlx5_gets_what_is_on_mlx5_core(sysfs, device):
    function(sysfs, BDF, "mlx5_core", device)
    said = probe(sysfs, "-a", BDF)
    assert asked(said) == [OURS, MLX5], said
    assert "not bound to vfio-pci: left to other drivers" in said


def test_each_gets_its_own_of_two(sysfs):
    function(sysfs, BDF, "mlx5_core")
    function(sysfs, OTHER, "vfio-pci", VF)
    said = probe(sysfs, "-a", BDF, "-a", OTHER)
    assert asked(said) == [OURS, MLX5, OURS], said


@pytest.mark.parametrize("driver", [None, "somebody_else"])
def test_what_is_bound_elsewhere_is_not_ours(sysfs, driver):
    function(sysfs, BDF, driver)
    said = probe(sysfs, "-a", BDF)
    # The bus itself passes over what has no driver.
    assert asked(said)[:2] == ([OURS, MLX5] if driver is not None else []), said
    assert "bring-up" not in said


def test_without_an_allow_list_the_same(sysfs):
    function(sysfs, BDF, "vfio-pci")
    said = probe(sysfs)
    assert asked(said) == [OURS], said


def test_devargs_are_checked(sysfs):
    function(sysfs, BDF, "vfio-pci")
    said = probe(sysfs, "-a", f"{BDF},wire=loop")
    assert "devarg 'wire' is for the embedded device, and this is a PCI function" in said
    function(sysfs, OTHER, "vfio-pci")
    said = probe(sysfs, "-a", f"{OTHER},nonsense=1")
    assert "unknown devarg 'nonsense'" in said


def test_a_vdev_by_its_function(sysfs):
    function(sysfs, BDF, "mlx5_core")
    said = probe(sysfs, "-b", BDF, "--vdev", f"net_rnic0,pci={BDF[5:]}")
    assert f"net_rnic: net_rnic0: {BDF} is bound to mlx5_core, not to vfio-pci: run rdmapmd-setup bind {BDF} --apply" in said
