# SPDX-License-Identifier: BSD-3-Clause
"""
Linux' mlx5_ib with libmlx5 on a function of softrnicd, and our driver on the function at the other end of its cable: what verbs have,
in both directions. The cases are those of rxe; what is refused is refused as the specification says, whoever asks.
"""

import contextlib
import glob

import pytest

from guest import rxe_cases
from guest.machine import BOOT, devices, guest, slot
from guest.rxe import LINK_UP, MACS, OURS, VERBS, Rig, Rnic, Verbs, addresses

WAYS = {"mlx5-asks": ("verbs", "rnic"), "ours-asks": ("rnic", "verbs")}
DRIVER = {"/etc/libibverbs.d/mlx5.driver": b"driver mlx5\n"}
# Linux has counters of packets by ethtool alone.
CASES = [case for case in (*rxe_cases.SMOKE, *rxe_cases.ALL) if case is not rxe_cases.packets]

SCRIPT = f"""
dmesg -n 1
device=/sys/bus/pci/devices/{slot(0)}
for i in $(seq 600); do
	[ ! -d $device/infiniband ] || break
	sleep 0.1
done
eth=$(ls $device/net)
{LINK_UP}
# Counters as they are, not as they were 10 ms ago.
echo 0 >/sys/class/infiniband/$(ls $device/infiniband)/ports/1/hw_counters/lifespan
tell ready
verbs_peer $(ls $device/infiniband) $eth <&8 >/dev/ttyS1 || exit 2
if dmesg | grep -iE 'WARNING:|BUG:|Oops|mlx5_cmd'; then
	exit 3
fi
exit 0
"""


class Mlx5(Verbs):
    """In the guest."""

    name = "mlx5_ib"


def libmlx5():
    found = glob.glob("/usr/lib/*/libibverbs/libmlx5-rdmav*.so")
    if not found:
        pytest.skip("no ibverbs-providers")
    return found


@pytest.fixture(name="rig", scope="module")
def fixture_rig():
    own = [f"wire=pair:cable,mac={mac},id=15b3:1018" for mac in MACS]
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*own))
        # First: without it the guest's end has no link.
        rnic = stack.enter_context(Rnic(f"--vdev=net_rnic0,socket={daemon.sockets[1]},{addresses(OURS)}"))
        one = stack.enter_context(guest("6.1", daemon.sockets[:1], ["/bin/ip", VERBS], libraries=libmlx5(),
                                        modules=["mlx5_core", "mlx5_ib", "ib_uverbs"], files=DRIVER, cpus=1))
        one.start(SCRIPT)
        one.expect("ready", BOOT)
        yield Rig(Mlx5(one), rnic, daemon)


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_mlx5_and_ours_agree(case, way, family, rig):
    case(*(getattr(rig, name) for name in WAYS[way]), family)


@pytest.mark.parametrize("way", WAYS)
def test_a_region_gets_other_rights(way, rig):
    """ibv_rereg_mr() of Linux is a request to the queue pair that it has for this, and the key stays what it is."""
    requester, responder = (getattr(rig, name) for name in WAYS[way])
    for may_write in (1, 0, 1, 0):
        before = responder.memory["read_only_rkey"]
        responder.memory.update(responder.get("rereg", write=may_write))
        assert responder is rig.rnic or responder.memory["read_only_rkey"] == before
        link = rxe_cases.Link(requester, responder, 4)
        if may_write:
            rxe_cases.write(link, 3000, False, **link.target("read_only_rkey"))
        else:
            link.prepare()
            link.post("WRITE", length=8, **link.target("read_only_rkey"))
            link.failed(rxe_cases.ACCESS_ERROR)


def test_both_end_well(rig):
    rig.end()
