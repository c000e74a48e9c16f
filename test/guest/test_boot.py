# SPDX-License-Identifier: BSD-3-Clause
"""A guest as a tool: its kernels, its devices, its end."""

import contextlib
import os
import socket
import time

import pytest

from guest.machine import BOOT, DIED, KERNELS, TIMED_OUT, Guest, Unavailable, guest, run, slot, vm

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
    result = run(LIST, BOOT, "wire=loop", kernel=kernel)
    assert result.status == 0 and functions(result.console) == [slot(0)]
    assert f"runs {kernel.split('-', maxsplit=1)[0]}." in result.console and "group 1" in result.console
    assert ("cloud" in result.console.split("runs ")[1].split()[0]) == kernel.endswith("-cloud")


def test_two_devices_behind_an_iommu_have_their_groups():
    result = run(LIST, BOOT, "wire=pair:cable", "wire=pair:cable", iommu=39, cpus=2)
    assert result.status == 0 and functions(result.console) == [slot(0), slot(1)]
    assert "group 0" in result.console


def test_the_exit_status_is_the_scripts_whatever_it_prints():
    result = run("echo 'exit 0'; echo 'guest: status 0'; tell exit 0; exit 42", BOOT)
    assert result.status == 42 and "exit 0\n" in result.console


def test_a_script_that_hangs_ends_in_time():
    with guest() as one:
        one.start("echo begins; tell hangs; sleep 1000")
        one.expect("hangs", BOOT)
        start = time.monotonic()
        result = one.wait(5)
        assert result.status == TIMED_OUT and 5 <= time.monotonic() - start < 60
    assert "begins" in result.console and "not done within 5 s" in result.console


def test_a_guest_that_dies_has_no_status():
    result = run("echo c >/proc/sysrq-trigger; sleep 1000", BOOT)
    assert result.status == DIED and "sysrq triggered crash" in result.console
    assert "ended without a status" in result.console


@pytest.fixture(name="fresh")
def fixture_fresh(tmp_path, monkeypatch):
    """A machine without a cache, and with the sources of apt that the test writes."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}/etc";')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vm.Waits, "spent", 0.0)
    yield tmp_path
    # Nothing half is left.
    assert os.listdir(tmp_path / "cache/rdmapmd/guest") == ["lock"]


@pytest.mark.usefixtures("fresh")
def test_without_a_mirror_there_is_no_guest():
    with pytest.raises(Unavailable, match="no Debian mirror that can be reached"):
        Guest()


def test_a_mirror_that_does_not_answer_is_not_waited_for(fresh, monkeypatch):
    monkeypatch.setattr(vm, "PATIENCE", 5)
    with socket.create_server(("127.0.0.1", 0)) as mirror:
        source = f"deb [trusted=yes] http://127.0.0.1:{mirror.getsockname()[1]}/ bookworm main\n"
        (fresh / "etc" / "sources.list").write_text(source)
        with pytest.raises(Unavailable, match="not done within 5 s"):
            Guest()
        # Nor asked again, by the tests that come.
        mirror.settimeout(0)
        connections = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                mirror.accept()[0].close()
                connections += 1
        assert connections > 0
        with pytest.raises(Unavailable, match="not done within 5 s"):
            Guest()
        with pytest.raises(BlockingIOError):
            mirror.accept()


def test_modules_come_with_what_they_depend_on():
    for kernel in ("6.1", "6.12"):
        result = run("grep -q ^vfio_pci /proc/modules && lsmod && ls /dev/vfio", BOOT, kernel=kernel, modules=["vfio-pci"])
        assert result.status == 0 and "vfio_iommu_type1" not in result.console
        assert "vfio_pci_core" in result.console


def test_a_module_that_there_is_not_is_said():
    with pytest.raises(FileNotFoundError, match="rdma_rxe"):
        guest("6.1-cloud", modules=["rdma_rxe"])


def test_the_script_and_the_host_speak_with_each_other(tmp_path):
    (tmp_path / "file").write_bytes(b"a file")
    with guest(files={"/data/file": tmp_path / "file", "/data/bytes": b"bytes"}) as one:
        one.start("tell ready $(cat /data/file); got=$(await); echo \"got $got\"; tell again; exit 7")
        assert one.expect("ready", BOOT) == "a file"
        one.tell("some words")
        one.expect("again", BOOT)
        result = one.wait(BOOT)
    assert result.status == 7 and "got some words\n" in result.console
