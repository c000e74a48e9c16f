# SPDX-License-Identifier: BSD-3-Clause
"""
Our driver on a function that vfio-pci has in a guest, behind an IOMMU; in a second guest, at the other end of the cable, Linux'
mlx5_ib with libmlx5, or its rxe upon mlx5_core's netdev. Some of the cases of rxe, in both directions.
"""

import contextlib

import pytest

from guest import functions, rxe_cases
from guest.machine import BOOT, devices, guest, slot
from guest.rxe import MACS, OURS, RNIC, VERBS, Verbs, addresses, machine
from guest.test_verbs_ours import DRIVER, SCRIPT, Mlx5, libmlx5

WAYS = {"ours-asks": ("ours", "theirs"), "theirs-asks": ("theirs", "ours")}
CASES = (*rxe_cases.SMOKE, rxe_cases.reads, rxe_cases.atomics, rxe_cases.unreliable, rxe_cases.windows_2, rxe_cases.wrong_qkeys,
         rxe_cases.nobody_there)
BOUND = f"""{functions.COMMON}
tell ready
rnic_peer -l 0 -d {functions.PLUGIN} --no-telemetry -m 128 --log-level=lib.*:4 -a {slot(0)},{addresses(OURS)} \\
	<&8 >/dev/ttyS1 2>/tmp/log || {{ cat /tmp/log; exit 2; }}
dmesg | grep -iE 'DMAR.*fault|WARNING:|BUG:' && exit 3
exit 0
"""


class Bound(Verbs):
    """Ours. Its orders get there as those of any guest do."""

    name = "rnic"
    addresses = OURS


@contextlib.contextmanager
def mlx5_ib(socket):
    with guest("6.1", [socket], ["/bin/ip", VERBS], libraries=libmlx5(), modules=["mlx5_core", "mlx5_ib", "ib_uverbs"], files=DRIVER,
               cpus=1) as one:
        one.start(SCRIPT)
        one.expect("ready", BOOT)
        yield Mlx5(one)


@contextlib.contextmanager
def rxe(socket):
    with machine([socket], ["mlx5_core"]) as verbs:
        yield verbs


@pytest.fixture(name="rig", scope="module", params=(mlx5_ib, rxe), ids=lambda other: other.__name__)
def fixture_rig(request):
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*(f"wire=pair:cable,mac={mac},id=15b3:1018" for mac in MACS)))
        # First: without it the other guest's end has no link.
        one = functions.machine(daemon.sockets[1:], [RNIC], cpus=1)
        stack.enter_context(one)
        one.start(BOUND)
        one.expect("ready", BOOT)
        yield Rig(Bound(one), stack.enter_context(request.param(daemon.sockets[0])), daemon)


class Rig:
    """Both guests."""

    def __init__(self, ours, theirs, daemon):
        self.ours, self.theirs, self.daemon = ours, theirs, daemon
        for peer in (ours, theirs):
            peer.memory = peer.get("who")


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_bound_function_of_ours_agrees(case, way, family, rig):
    case(*(getattr(rig, name) for name in WAYS[way]), family)


def test_both_end_well(rig):
    for peer in (rig.theirs, rig.ours):
        result = peer.end()
        assert result.status == 0, result.console[-4000:]
    rig.daemon.stop()
