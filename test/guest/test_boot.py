# SPDX-License-Identifier: BSD-3-Clause
"""A guest as a tool: its kernels, its devices, its end."""

import os
import time

import pytest

from guest.machine import DIED, KERNELS, TIMED_OUT, Guest, Unavailable, guest, run, slot

LIST = f"""
for device in /sys/bus/pci/devices/*; do
	echo "function ${{device##*/}} $(cat $device/vendor $device/device $device/class | tr '\\n' ' ')"
done
[ -d /sys/bus/pci/devices/{slot(0)}/iommu_group ]; echo "group $?"
echo "runs $(uname -r)"
"""


def functions(console):
    """Addresses of our functions: vendor, device and class are a ConnectX-5's."""
    return [line.split()[1] for line in console.splitlines()
            if line.startswith("function ") and line.split()[2:] == ["0x15b3", "0x1017", "0x020000"]]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_guest_boots_with_a_device(kernel):
    result = run(LIST, 100, "wire=loop", kernel=kernel)
    assert result.status == 0 and functions(result.console) == [slot(0)]
    assert f"runs {kernel.split('-', maxsplit=1)[0]}." in result.console and "group 1" in result.console
    assert ("cloud" in result.console.split("runs ")[1].split()[0]) == kernel.endswith("-cloud")


def test_two_devices_behind_an_iommu_have_their_groups():
    result = run(LIST, 100, "wire=pair:cable", "wire=pair:cable", iommu=39, cpus=2)
    assert result.status == 0 and functions(result.console) == [slot(0), slot(1)]
    assert "group 0" in result.console


def test_the_exit_status_is_the_scripts_whatever_it_prints():
    result = run("echo 'exit 0'; echo 'guest: status 0'; tell exit 0; exit 42", 100)
    assert result.status == 42 and "exit 0\n" in result.console


def test_a_script_that_hangs_ends_in_time():
    start = time.monotonic()
    result = run("echo begins; sleep 1000", 15)
    assert result.status == TIMED_OUT and time.monotonic() - start < 60
    assert "begins" in result.console and "not done within 15 s" in result.console


def test_a_guest_that_dies_has_no_status():
    result = run("echo c >/proc/sysrq-trigger; sleep 1000", 100)
    assert result.status == DIED and "sysrq triggered crash" in result.console
    assert "ended without a status" in result.console


def test_without_a_mirror_there_is_no_guest(tmp_path, monkeypatch):
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}/etc";')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Unavailable, match="no Debian mirror that can be reached"):
        Guest()
    # Nothing half is left.
    assert os.listdir(tmp_path / "cache/rdmapmd/guest") == ["lock"]


def test_modules_come_with_what_they_depend_on():
    for kernel in ("6.1", "6.12"):
        result = run("grep -q ^vfio_pci /proc/modules && lsmod && ls /dev/vfio", 100, kernel=kernel, modules=["vfio-pci"])
        assert result.status == 0 and "vfio_iommu_type1" not in result.console
        assert "vfio_pci_core" in result.console


def test_a_module_that_there_is_not_is_said():
    with pytest.raises(FileNotFoundError, match="rdma_rxe"):
        guest("6.1-cloud", modules=["rdma_rxe"])


def test_the_script_and_the_host_speak_with_each_other(tmp_path):
    (tmp_path / "file").write_bytes(b"a file")
    with guest(files={"/data/file": tmp_path / "file", "/data/bytes": b"bytes"}) as one:
        one.start("tell ready $(cat /data/file); got=$(await); echo \"got $got\"; tell again; exit 7")
        assert one.expect("ready", 100) == "a file"
        one.tell("some words")
        one.expect("again", 100)
        result = one.wait(100)
    assert result.status == 7 and "got some words\n" in result.console
