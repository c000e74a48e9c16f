# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup bind, unbind and status, with a kernel that answers."""

import json
import os
import re

import pytest

from machine import NIC, Kernel, Machine

PORT = "0000:01:00.1"
STATE = "/run/rdmapmd-setup/state.json"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.driver(NIC, "mlx5_core")
    return made


def refused(machine, text, *words):
    """With exit code 1, and nothing is touched."""
    before = everything(machine)
    code, _, errors = machine.run(*words)
    assert code == 1 and re.search(text, errors), errors
    assert everything(machine) == before


def everything(machine):
    found = {}
    for at, folders, names in os.walk(machine.root):
        for name in folders + names:
            path = os.path.join(at, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    found[path] = file.read()
            else:
                found[path] = None
    return found


def test_bind_without_apply_says_the_commands_and_changes_nothing(machine):
    before = everything(machine)
    code, said, _ = machine.run("bind", "01:00.0")
    assert code == 0 and said.splitlines() == [
        f"echo vfio-pci > /sys/bus/pci/devices/{NIC}/driver_override",
        f"echo {NIC} > /sys/bus/pci/drivers/mlx5_core/unbind",
        f"echo {NIC} > /sys/bus/pci/drivers_probe",
        "# nothing is changed: --apply does it",
    ]
    assert everything(machine) == before
    assert machine.json("bind", NIC)["applied"] is False


def test_bind_and_unbind_leave_the_machine_as_it_was(machine):
    before = everything(machine)
    assert machine.json("bind", NIC, "--apply")["applied"] is True
    assert machine.driver_of(NIC) == "vfio-pci" and os.path.exists(machine.at("/dev/vfio/7"))
    assert not machine.findings()
    code, said, _ = machine.run("unbind", NIC, "--apply")
    assert code == 0 and machine.driver_of(NIC) == "mlx5_core", said
    after = everything(machine)
    # The kernel shows no override as (null); one that was taken back reads so again there, and is empty here.
    override = machine.at(f"/sys/bus/pci/devices/{NIC}/driver_override")
    assert before.pop(override) == "(null)\n" and after.pop(override) == "\n"
    assert {path for path in after.keys() ^ before.keys() if os.path.basename(path) not in ("run",)} == set()
    assert {path: text for path, text in after.items() if path in before} == before


def test_bind_loads_the_module(machine):
    os.rmdir(machine.at("/sys/bus/pci/drivers/vfio-pci"))
    code, said, _ = machine.run("bind", NIC, "--yes")
    assert code == 0 and said.startswith("modprobe vfio-pci\n") and machine.driver_of(NIC) == "vfio-pci"


def test_bind_finds_a_function_by_its_interface(machine):
    machine.netdev(NIC, "ens1", up=False)
    assert machine.run("bind", "ens1", "--apply")[0] == 0
    assert machine.driver_of(NIC) == "vfio-pci"


def test_bind_waits_for_udev(machine):
    machine.file("/run/udev/control", "")
    assert "udevadm settle --timeout=10" in machine.json("bind", NIC)["steps"]


def test_bind_again_does_nothing(machine):
    machine.run("bind", NIC, "--apply")
    code, said, _ = machine.run("bind", NIC, "--apply")
    assert code == 0 and said == f"# {NIC} is on vfio-pci already\nnothing to do\n"
    # And what is undone is the first.
    machine.run("unbind", NIC, "--apply")
    assert machine.driver_of(NIC) == "mlx5_core"


def test_bind_refuses_an_interface_that_is_up(machine):
    machine.netdev(NIC, "ens1", up=True)
    refused(machine, "ens1 is up and loses its link; --force.*\n  fix: ip link set ens1 down", "bind", NIC, "--apply")
    assert machine.run("bind", NIC, "--apply", "--force")[0] == 0
    assert machine.driver_of(NIC) == "vfio-pci"


def test_bind_refuses_the_default_route(machine):
    machine.netdev(NIC, "ens1", up=True, route=True)
    refused(machine, "the default route goes through ens1", "bind", NIC, "--apply")


def test_bind_refuses_a_function_with_vfs(machine):
    machine.file(f"/sys/bus/pci/devices/{NIC}/sriov_numvfs", "2")
    refused(machine, "its 2 VFs go with it", "bind", NIC, "--apply")


def test_bind_refuses_an_interface_of_another_namespace(machine):
    """Its name is not shown here, and whether it is up."""
    machine.folder(f"/sys/bus/pci/devices/{NIC}/net")
    refused(machine, "in another network namespace", "bind", NIC, "--apply")
    assert machine.json("bind", NIC, "--apply", "--force")["applied"] is True


@pytest.mark.parametrize("kind,name", [("block", "sda"), ("nvme", "nvme0")])
def test_bind_refuses_a_sibling_with_disks(machine, kind, name):
    """doctor names it as one that is in the way, and the machine may run from it."""
    machine.function(PORT, driver="ahci", group=7, vendor=0x8086, device=0x9D03, kind=0x010601)
    machine.link(f"/sys/class/{kind}/{name}", f"../../devices/pci0000:00/0000:00:1d.0/{PORT}/ata1/{name}")
    machine.link(f"/sys/class/{kind}/other", f"../../devices/pci0000:00/0000:00:1d.0/0000:02:00.0/ata1/{name}")
    refused(machine, f"{PORT}: the disks on it are gone: {name}; --force", "bind", NIC, PORT, "--apply")
    assert machine.run("bind", NIC, PORT, "--apply", "--force")[0] == 0


def test_bind_refuses_a_sibling_behind_which_an_interface_is_up(machine):
    machine.function(PORT, driver="xhci_hcd", group=7, vendor=0x8086, device=0x9D2F, kind=0x0C0330)
    machine.file("/sys/devices/usb0/flags", "0x1003")
    machine.link("/sys/class/net/usb0", f"../../devices/{PORT}/../usb0")
    machine.folder(f"/sys/devices/{PORT}")
    refused(machine, "usb0 is up and loses its link", "bind", NIC, PORT, "--apply")


def test_bind_refuses_without_an_iommu(machine):
    machine.no_iommu()
    refused(machine, f"it has no IOMMU.*\n  fix: rdmapmd-setup doctor {NIC}", "bind", NIC, "--apply", "--force")


def test_bind_refuses_a_group_without_iommu(machine):
    machine.file("/sys/kernel/iommu_groups/7/name", "vfio-noiommu")
    machine.function("0000:05:00.0", group=8)
    refused(machine, "its group has no IOMMU", "bind", NIC, "--apply")


def test_bind_refuses_one_of_a_group(machine):
    machine.function(PORT, driver="mlx5_core", group=7)
    refused(machine, rf"{PORT} \(15b3:1017\) is on mlx5_core\n  fix: rdmapmd-setup bind {NIC} {PORT} --apply", "bind", NIC, "--apply")
    assert machine.run("bind", NIC, PORT, "--apply")[0] == 0
    assert machine.driver_of(NIC) == machine.driver_of(PORT) == "vfio-pci"


def test_bind_takes_another_device_of_the_group_along(machine):
    machine.function(PORT, driver="snd_hda_intel", group=7, vendor=0x8086, device=0x9D71, kind=0x040300)
    assert machine.run("bind", NIC, PORT, "--apply")[0] == 0
    assert machine.driver_of(PORT) == "vfio-pci"


def test_bind_refuses_what_is_not_of_the_class(machine):
    machine.function(PORT, driver="e1000e", group=9, vendor=0x8086, device=0x10D3)
    refused(machine, "8086:10d3 is neither a function of the mlx5 class", "bind", PORT, "--apply")


def test_bind_gives_the_node_to_its_owner(machine):
    code, said, _ = machine.run("bind", NIC, "--owner", "1234:5678", "--apply")
    assert code == 0 and said.endswith("chown 1234:5678 /dev/vfio/7\n")
    assert machine.text("/owner/dev/vfio/7") == "1234:5678"


def test_owner_of_a_function_that_is_bound_already(machine):
    machine.driver(NIC, "vfio-pci")
    assert machine.json("bind", NIC, "--owner", "1234:5678")["steps"] == ["chown 1234:5678 /dev/vfio/7"]


def test_a_bind_that_fails_is_taken_back(machine):
    """The second function stays with its driver, and the first goes back to its own."""
    machine.function(PORT, driver="mlx5_core", group=9)
    machine.folder("/sys/bus/pci/drivers/other")
    machine.run("bind", PORT, "--apply")
    machine.run("unbind", PORT, "--apply")
    kernel_refuses_the_second(machine)
    code, _, errors = machine.run("bind", NIC, PORT, "--apply")
    assert code == 1 and f"{PORT}: is on no driver and should be on vfio-pci; the earlier steps are undone" in errors
    assert machine.driver_of(NIC) == machine.driver_of(PORT) == "mlx5_core"
    assert machine.text(f"/sys/bus/pci/devices/{NIC}/driver_override") == ""
    assert not os.path.exists(machine.at(STATE))


def kernel_refuses_the_second(machine, refused="vfio-pci"):
    move = machine.driver

    def driver(address, name):
        if not (address == PORT and name == refused):
            move(address, name)
    machine.driver = driver


def test_what_is_not_taken_back_is_said(machine):
    machine.file("/sys/bus/pci/drivers/vfio-pci/refuses", "")
    machine.file("/sys/bus/pci/drivers/mlx5_core/refuses", "")
    code, _, errors = machine.run("bind", NIC, "--apply")
    assert code == 1 and f"undoing the earlier steps failed, too: echo {NIC} > /sys/bus/pci/drivers/mlx5_core/bind" in errors
    # So that unbind still knows where it belongs.
    os.unlink(machine.at("/sys/bus/pci/drivers/mlx5_core/refuses"))
    assert machine.run("unbind", NIC, "--apply")[0] == 0
    assert machine.driver_of(NIC) == "mlx5_core"


def test_unbind_keeps_an_override_that_was_there(machine):
    machine.file(f"/sys/bus/pci/devices/{NIC}/driver_override", "mlx5_core")
    machine.run("bind", NIC, "--apply")
    assert machine.text(f"/sys/bus/pci/devices/{NIC}/driver_override") == "vfio-pci"
    machine.run("unbind", NIC, "--apply")
    assert machine.text(f"/sys/bus/pci/devices/{NIC}/driver_override") == "mlx5_core"


def test_unbind_leaves_a_function_without_driver_that_had_none(machine):
    machine.driver(NIC, None)
    machine.run("bind", NIC, "--apply")
    assert machine.run("unbind", NIC, "--apply")[0] == 0
    assert machine.driver_of(NIC) is None


def test_unbind_of_what_others_have_bound_goes_to_mlx5_core(machine):
    machine.driver(NIC, "vfio-pci")
    machine.file(f"/sys/bus/pci/devices/{NIC}/driver_override", "vfio-pci")
    assert machine.run("unbind", NIC, "--apply")[0] == 0
    assert machine.driver_of(NIC) == "mlx5_core"


def test_unbind_loads_the_driver(machine):
    machine.run("bind", NIC, "--apply")
    os.rmdir(machine.at("/sys/bus/pci/drivers/mlx5_core"))
    code, said, _ = machine.run("unbind", NIC, "--apply")
    assert code == 0 and "modprobe mlx5_core\n" in said and machine.driver_of(NIC) == "mlx5_core"


def test_unbind_to_no_driver(machine):
    machine.run("bind", NIC, "--apply")
    assert machine.run("unbind", NIC, "--driver", "none", "--apply")[0] == 0
    assert machine.driver_of(NIC) is None


def test_unbind_that_fails_leaves_it_on_vfio_pci(machine):
    machine.run("bind", NIC, "--apply")
    machine.file("/sys/bus/pci/drivers/mlx5_core/refuses", "")
    code, _, errors = machine.run("unbind", NIC, "--apply")
    assert code == 1 and "mlx5_core/bind: No such device; the earlier steps are undone" in errors
    assert machine.driver_of(NIC) == "vfio-pci"
    assert machine.text(f"/sys/bus/pci/devices/{NIC}/driver_override") == "vfio-pci"
    # Nor is it forgotten.
    os.unlink(machine.at("/sys/bus/pci/drivers/mlx5_core/refuses"))
    assert machine.run("unbind", "--all", "--apply")[0] == 0
    assert machine.driver_of(NIC) == "mlx5_core"


def test_unbind_refuses_a_function_that_is_in_use(machine):
    """The kernel would wait, for as long as the program runs."""
    machine.run("bind", NIC, "--apply")
    machine.process(4711, "dpdk-testpmd", "/dev/vfio/7")
    refused(machine, r"in use by 4711 \(dpdk-testpmd\)\n  fix: kill 4711", "unbind", NIC)


def test_unbind_all_takes_what_bind_has_bound(machine):
    machine.function(PORT, driver="mlx5_core", group=9)
    machine.function("0000:02:00.0", driver="vfio-pci", group=10)
    machine.run("bind", NIC, PORT, "--apply")
    assert machine.run("unbind", "--all", "--apply")[0] == 0
    assert [machine.driver_of(address) for address in (NIC, PORT, "0000:02:00.0")] == ["mlx5_core", "mlx5_core", "vfio-pci"]
    assert not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_unbind_of_what_is_not_bound_does_nothing(machine):
    code, said, _ = machine.run("unbind", NIC, "--apply")
    assert code == 0 and said == f"# {NIC} is on mlx5_core, not on vfio-pci\nnothing to do\n"


def test_the_state_can_lie_elsewhere(machine):
    machine.folder("/elsewhere")
    machine.run("bind", NIC, "--apply", "--state", "/elsewhere/state")
    assert NIC in machine.text("/elsewhere/state") and not os.path.exists(machine.at(STATE))
    machine.run("unbind", "--all", "--apply", "--state", "/elsewhere/state")
    assert machine.driver_of(NIC) == "mlx5_core" and os.listdir(machine.at("/elsewhere")) == []


@pytest.mark.parametrize("spoil", ["another user's", "writable by others", "writable by a group", "a link", "no file"])
def test_a_state_that_others_may_write_is_not_believed(machine, spoil):
    """It says what root gives away, writes to and unmounts."""
    folder = machine.file("/srv/precious", "")
    now = [os.geteuid(), os.getegid()]
    state = machine.file(STATE, json.dumps({"owners": {folder: [[12345, 12345], now]}}))
    place = machine.at(state)
    if spoil == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        os.chown(place, 12345, 12345)
    elif spoil == "a link":
        os.rename(place, place + "2")
        os.symlink("state.json2", place)
    elif spoil == "no file":
        os.unlink(place)
        os.mkdir(place)
    else:
        os.chmod(place, 0o646 if "others" in spoil else 0o664)
    code, said, errors = machine.run("hugepages", "--undo", "--apply")
    assert not os.path.exists(machine.at("/owner" + folder)), f"it is now {machine.text('/owner' + folder)}'s"
    assert code == 1 and not said and state in errors and "--state FILE" in errors


@pytest.mark.parametrize("spoil", ["another user's", "open to others"])
def test_a_lock_that_others_may_hold_is_not_waited_for(machine, spoil):
    lock = machine.at(machine.file(STATE + ".lock", ""))
    os.chmod(lock, 0o600 if "user" in spoil else 0o604)
    if "user" in spoil:
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        os.chown(lock, 12345, 12345)
    code, said, errors = machine.run("bind", NIC, "--apply")
    assert machine.driver_of(NIC) == "mlx5_core", "it took a lock that others may hold for ever"
    assert code == 1 and not said and f"{STATE}.lock" in errors and "--state FILE" in errors


def test_the_state_is_written_to_a_file_of_its_own(machine):
    """Not to one that somebody has put there, whose second name may be another's."""
    precious = machine.file("/precious", "precious")
    machine.folder(os.path.dirname(STATE))
    os.link(machine.at(precious), machine.at(STATE + ".new"))
    machine.driver(NIC, "mlx5_core")
    assert machine.run("bind", NIC, "--apply")[0] == 0
    assert machine.text(precious) == "precious" and NIC in machine.text(STATE)


def test_a_state_that_cannot_be_read_is_named(machine):
    machine.file(STATE, "[1]")
    code, _, errors = machine.run("bind", NIC, "--apply")
    assert code == 1 and f"{STATE} is malformed\n  fix: rm {STATE}" in errors


def test_status_of_a_function_before_and_after(machine):
    machine.netdev(NIC, "ens1", up=False)
    code, said, _ = machine.run("status")
    assert code == 0
    assert said.splitlines() == ["IOMMU on", f"{NIC}  15b3:1017  ConnectX-5  mlx5_core  group 7  ens1 down",
                                 "hugepages of 2 MiB: 512, 500 free, mounted on /dev/hugepages", "hugepages of 1 GiB: 0, 0 free"]
    machine.run("bind", NIC, "--apply")
    machine.process(4711, "dpdk-testpmd", "/dev/vfio/7")
    row, = machine.json("status", NIC)["functions"]
    assert (row["driver"], row["before"], row["node"]) == ("vfio-pci", "mlx5_core", "/dev/vfio/7")
    assert row["holders"] == [{"pid": 4711, "name": "dpdk-testpmd"}] and row["owner"].endswith(" 0600")
    assert "in use by 4711 (dpdk-testpmd)  was on mlx5_core" in machine.run("status")[1]


def test_the_class_is_the_driver_s(machine):
    """The same device ids as the driver takes."""
    from rdmapmd_setup import pci # pylint: disable=import-outside-toplevel

    path = os.path.join(os.environ["RDMAPMD_SOURCE"], "drivers", "net", "rnic", "access", "class.h")
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r'ROW\((0x[0-9a-f]{4}), "(.*)"\)', file.read())
    assert {int(device, 16): name for device, name in rows} == pci.CLASS
    assert machine.json("status")["functions"][0]["name"] == "ConnectX-5"


def test_what_cannot_be_remembered_is_not_done(machine):
    machine.folder(STATE + ".new")
    code, _, errors = machine.run("bind", NIC, "--apply")
    assert code == 1 and f"{STATE}: Is a directory" in errors
    assert machine.driver_of(NIC) == "mlx5_core"


def test_what_cannot_be_forgotten_is_taken_back(machine):
    assert machine.run("bind", NIC, "--apply")[0] == 0
    machine.folder(STATE + ".new")
    code, _, errors = machine.run("unbind", NIC, "--apply")
    assert code == 1 and f"{STATE}: Is a directory; the earlier steps are undone" in errors
    assert machine.driver_of(NIC) == "vfio-pci"


def test_of_two_that_go_back_both_do_or_none(machine):
    machine.function(PORT, driver="mlx5_core", group=8)
    assert machine.run("bind", NIC, PORT, "--apply")[0] == 0
    kernel_refuses_the_second(machine, "mlx5_core")
    code, _, errors = machine.run("unbind", "--all", "--apply")
    assert code == 1 and "the earlier steps are undone" in errors
    assert machine.driver_of(NIC) == machine.driver_of(PORT) == "vfio-pci"
    assert NIC in machine.text(STATE) and PORT in machine.text(STATE)


def test_the_state_may_be_a_file_of_this_folder(machine, monkeypatch):
    folder = machine.at("/mine")
    machine.folder("/mine")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Kernel, "at", lambda self, path: path if path.startswith(self.root) else self.root + path)
    assert machine.run("bind", NIC, "--state", "state", "--apply")[0] == 0
    assert "mlx5_core" in machine.text("/mine/state")
    assert machine.run("unbind", NIC, "--state", "state", "--apply")[0] == 0
    assert os.listdir(folder) == [] and machine.driver_of(NIC) == "mlx5_core"
