# SPDX-License-Identifier: BSD-3-Clause
"""The features that test/e2e checks on embedded devices, on functions of PCI behind an IOMMU: a physical function and a
virtual one that a cable joins, and a virtual one that hears itself.

Not here, as it is of other devices: frames of captures and of ethdevs below (replay, wire_use, test_wires.py), devices
without features that these have (the variants inline=1, which is of the device; bf=1, which vfio-pci has not mapped for
it), secondary processes of vdevs, and what stock tools do with vdevs (test_testpmd.py, test_tools.py)."""

import re

import pytest

from guest.functions import function, run
from guest.machine import slot

DEVICES = ("wire=pair:cable,mac=02:00:00:00:00:0a", "wire=pair:cable,mac=02:00:00:00:00:0b,id=15b3:1018",
           "wire=loop,id=15b3:1018")
PAIR = (function(0), function(1))
LOOP = (function(2),)
# Programs, and what they get.
ON_A_PAIR = ("frames", "control", "statistics", "rss", "filter", "queue", "interrupt", "offload_tx", "offload_rx", "raw",
             "raw_error", "rdma_matrix", "rdmo", "rdmo_matrix", "rdmo_log")
ON_A_LOOP = ("rdma", "rdma_doorbells", "rdma_count", "rdma_matrix", "raw", "rdmo")
RUNS = {
    **{f"{name} pair": (f"e2e_{name}", *PAIR) for name in ON_A_PAIR},
    **{f"{name} loop": (f"e2e_{name}", *LOOP) for name in ON_A_LOOP},
    "rdma_matrix processes": ("e2e_rdma_matrix", PAIR[0], f"peer:{PAIR[1]}"),
    **{f"{name} remote": (f"e2e_{name}", *PAIR, "remote") for name in ("rdmo", "rdmo_matrix", "rdmo_log")},
}
# Seconds for one of them, and for all: the guest is emulated.
PATIENCE = 400
ALL = 1500
EXAMPLES = f"""
echo "part rdma_pingpong"
rdma_pingpong $eal --in-memory -m 64 -a {slot(0)} -a {slot(1)} -- {slot(0)} 100 {slot(1)}
echo "status $?"
echo "part rdma_write"
rdma_write $eal --in-memory -m 64 -a {slot(0)} -a {slot(1)} -- {slot(0)} 300008 {slot(1)}
echo "status $?"
"""
IDENTITIES = f"""
echo "part identities"
for bdf in {slot(0)} {slot(1)} {slot(2)}; do
	cat /sys/bus/pci/devices/$bdf/device
done
"""
ONE = """
echo "part {name}"
timeout {patience} {command}
echo "status $?"
"""


@pytest.fixture(name="parts", scope="module")
def fixture_parts():
    """One guest for all, one after the other; what each has said, by its name."""
    script = "".join(ONE.format(name=name, patience=PATIENCE, command=" ".join(command))
                     for name, command in RUNS.items())
    script += EXAMPLES + IDENTITIES
    names = sorted({command[0] for command in RUNS.values()} | {"rdma_pingpong", "rdma_write"})
    console = run(script, ALL, *DEVICES, programs=names)
    return dict(re.findall(r"^part (.*?)\n(.*?)(?=^part |\Z)", console, re.M | re.S))


@pytest.mark.parametrize("name", RUNS)
def test_it_works_on_functions(parts, name):
    said = parts[name]
    assert "\nstatus 0\n" in said, said[-4000:]
    planned = re.search(r"^1\.\.(\d+)$", said, re.M)
    good = re.findall(r"^ok \d+", said, re.M)
    assert planned and len(good) == int(planned[1]) > 0 and "not ok" not in said and "# SKIP" not in said, said[-4000:]


@pytest.mark.parametrize("name,last", [
    ("rdma_pingpong", "the last message: pong 99"),
    ("rdma_write", "the counter was 42 and is 84"),
])
def test_examples_run_between_two_functions(parts, name, last):
    said = parts[name]
    assert "\nstatus 0\n" in said and last in said, said


def test_they_are_a_physical_function_and_virtual_ones(parts):
    assert parts["identities"].split()[:3] == ["0x1017", "0x1018", "0x1018"]
