# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup on a machine that has a function of the class: Linux's own sysfs, vfio and drivers answer it."""

import json
import os
import re
import subprocess

import pytest

from guest.machine import KERNELS_HERE, Guest, Unavailable, devices, slot

NIC = slot(0)
PYTHON = os.path.realpath("/usr/bin/python3")
SETUP = os.path.join(os.environ["RDMAPMD_SOURCE"], "app", "rdmapmd-setup")
# What it has loaded once it has done something.
MODULES = f"""
import contextlib, importlib, io, sys
sys.path.insert(0, {SETUP!r})
from rdmapmd_setup import cli
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for words in (["doctor", "--json"], ["bind", "no-such-function"], ["hugepages", "--size", "1G"]):
        cli.main(words)
for name in ("encodings.ascii", "encodings.latin_1", "encodings.utf_8", "subprocess", "_posixsubprocess"):
    importlib.import_module(name)
print(*(module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)), sep="\\n")
"""
# A process of nobody's, which says its number and stays.
NOBODY = """
import os, time
os.setuid(65534)
child = os.fork()
if child:
    print(child)
else:
    os.close(1)
    time.sleep(1000)
"""
# Of each call the script shows what it said and its exit code.
BEGIN = """
dmesg -n 1
NOBODY='""" + NOBODY + """'
nic=/sys/bus/pci/devices/""" + NIC + """
setup() { PYTHONHOME=/usr """ + f"/bin/{os.path.basename(PYTHON)}" + """ /opt/rdmapmd-setup "$@"; }
nobody() { PYTHONHOME=/usr """ + f"/bin/{os.path.basename(PYTHON)}" + """ -c "$NOBODY"; }
say() { name=$1; shift; echo "begin $name"; "$@" 2>&1; echo "end $name $?"; }
driver() { basename "$(readlink $nic/driver)"; }
"""
MODPROBE = "#!/bin/sh\nfor module in $(cat /extra.order); do insmod $module || exit; done\n"


class UntoldGuest(Guest):
    """Nobody tells its kernel to use the IOMMU that is there."""

    def _command(self, *args):
        return [word.replace("intel_iommu=on ", "") for word in super()._command(*args)]


def files():
    said = subprocess.run([PYTHON, "-c", MODULES], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {path: path for path in said.split() if not path.startswith(SETUP)}
    for name in os.listdir(os.path.join(SETUP, "rdmapmd_setup")):
        if name.endswith(".py"):
            found[f"/opt/rdmapmd_setup/{name}"] = os.path.join(SETUP, "rdmapmd_setup", name)
    found["/opt/rdmapmd-setup"] = os.path.join(SETUP, "rdmapmd-setup")
    return found


class Calls:
    """What the calls of a guest's script said."""

    def __init__(self, script, make=Guest, **kwargs):
        placed = files()
        libraries = [path for path in placed if path.endswith(".so")]
        with devices("wire=loop") as daemon:
            try:
                guest = make(devices=daemon.sockets, programs=[PYTHON], libraries=libraries, memory=1024, hugepages=200,
                             files={path: source for path, source in placed.items() if path not in libraries}, **kwargs)
            except Unavailable as error:
                pytest.skip(f"no guest here: {error}")
            guest.root.text("/opt/bin/modprobe", MODPROBE, 0o755)
            result = guest.run(BEGIN + "PATH=/opt/bin:$PATH\n" + script, 300)
        self.console = result.console
        assert result.status == 0, self.console
        self.said = {name: (int(code), text) for name, text, code in
                     re.findall(r"(?ms)^begin (\S+)\n(.*?)^end \1 (\d+)$", result.console)}

    def text(self, name, code=0):
        got, text = self.said[name]
        assert got == code, f"{name}: {got}\n{text}"
        return text

    def findings(self, name):
        """By their names; errors, or their absence, must be the exit code."""
        code, text = self.said[name]
        data = json.loads(text)
        found = {finding["id"]: finding for finding in data["findings"]}
        assert code == data["exit"] == any(finding["level"] == "error" for finding in found.values()), text
        return found


LIFE = f"""
link=$(ls $nic/net)
say fresh setup doctor --json
ip link set $link up
say up setup doctor --json
say refused setup bind {NIC} --apply
say still driver
ip link set $link down
unshare -n sleep 1000 &
until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
ip link set $link netns $!
say hidden setup bind {NIC} --apply
kill $!
until [ -e $nic/net/$link ]; do sleep 0.1; done
say dry setup bind {NIC}
say still2 driver
say bind setup bind $link --apply
say bound driver
say ready setup doctor --json
say status setup status --json
node=/dev/vfio/$(basename $(readlink $nic/iommu_group))
exec 9<>$node
say busy setup doctor --json
say held setup unbind {NIC} --apply
exec 9>&-
say user setup doctor --user nobody --json
say owner setup bind {NIC} --owner nobody --apply
say memory setup hugepages --size 420M --owner nobody --apply
little=$(nobody)
say limited setup doctor --user nobody --json
ulimit -l unlimited
much=$(nobody)
say allowed setup doctor --user nobody --json
kill $little $much
truncate -s 2M /dev/hugepages/rtemap_0
touch -d '2020-01-01 00:00' /dev/hugepages/rtemap_0
say stale setup doctor --json
say cleanup setup cleanup --apply
say clean ls /dev/hugepages
say back setup unbind --all --apply
say returned driver
say net ls $nic/net
say override cat $nic/driver_override
say less setup hugepages --undo --apply
say pages cat /proc/sys/vm/nr_hugepages
say left ls /run
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_a_function_goes_to_user_space_and_back(kernel):
    calls = Calls(LIFE, kernel=kernel, iommu=48, modules=["mlx5_core"], extra_modules=["vfio_iommu_type1", "vfio-pci"])
    fresh = calls.findings("fresh")
    assert fresh.keys() == {"on-mlx5-core", "vfio-pci-not-loaded"}
    link = re.search(r"still on mlx5_core \((\w+)\)", fresh["on-mlx5-core"]["text"])[1]

    assert f"{link} is up" in calls.findings("up")["link-in-use"]["text"]
    assert f"{link} is up and loses its link" in calls.text("refused", 1)
    assert "another network namespace" in calls.text("hidden", 1)
    assert calls.text("still") == calls.text("still2") == "mlx5_core\n"
    assert "nothing is changed" in calls.text("dry")

    calls.text("bind")
    assert calls.text("bound") == "vfio-pci\n" and not calls.findings("ready")
    row, = json.loads(calls.text("status"))["functions"]
    assert (row["address"], row["driver"], row["before"], row["owner"]) == (NIC, "vfio-pci", "mlx5_core", "root:root 0600")

    busy = calls.findings("busy")
    assert busy.keys() == {"group-busy"} and re.search(r"in use by \d+ \(sh\)", busy["group-busy"]["text"])
    assert re.search(r"in use by \d+ \(sh\)", calls.text("held", 1))

    assert calls.findings("user").keys() >= {"group-permission", "hugepages-permission"}
    calls.text("owner")
    calls.text("memory")
    assert "memlock-limit" in calls.findings("limited")
    assert calls.findings("allowed").keys() <= {"container-node-permission"}

    assert calls.findings("stale").keys() == {"stale-hugepage-files"}
    assert "rm /dev/hugepages/rtemap_0" in calls.text("cleanup") and calls.text("clean") == ""

    calls.text("back")
    assert calls.text("returned") == "mlx5_core\n" and calls.text("net").split() == [link]
    assert calls.text("override") == "(null)\n"
    calls.text("less")
    assert calls.text("pages") == "200\n" and "rdmapmd-setup" not in calls.text("left")


BIND = f"""
say doctor setup doctor --json
say bind setup bind {NIC} --apply --force
say driver driver
"""


@pytest.mark.parametrize("how,text,fix", [
    ({}, "the firmware offers none", "in the firmware's setup"),
    ({"iommu": 48, "append": "intel_iommu=off"}, "turns it off by intel_iommu=off", "intel_iommu=off"),
], ids=["firmware", "turned-off"])
def test_without_an_iommu_doctor_says_what_to_do(how, text, fix):
    calls = Calls(BIND, modules=["mlx5_core", "vfio_iommu_type1", "vfio-pci"], **how)
    found = calls.findings("doctor")
    assert found.keys() == {"iommu-off", "on-mlx5-core"}
    assert text in found["iommu-off"]["text"] and fix in found["iommu-off"]["fix"][0]
    assert "it has no IOMMU" in calls.text("bind", 1) and calls.text("driver") == "mlx5_core\n"


def test_debians_kernel_uses_an_iommu_untold():
    calls = Calls(BIND, UntoldGuest, modules=["mlx5_core", "vfio_iommu_type1", "vfio-pci"], iommu=48)
    assert calls.findings("doctor").keys() == {"on-mlx5-core"}
    calls.text("bind")
    assert calls.text("driver") == "vfio-pci\n"
