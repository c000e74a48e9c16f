# SPDX-License-Identifier: BSD-3-Clause
"""
ibv_rc_pingpong and its siblings of rdma-core, on Linux' rxe in a guest, and dpdk-test-rdma-perf --exchange=pingpong: each once as
the server and once as the client of the other. They tell each other their queue pairs by TCP, which the host's own network stack
has at the end of the cable where our device is.
"""

import os
import re

import pytest

from e2e.perf import Running
from guest.rxe import MACS, OURS, SHELL, THEIRS, Tap, addresses, gid_of, machine

# Of Debian's ibverbs-utils.
PROGRAMS = {kind: f"/usr/bin/ibv_{kind}_pingpong" for kind in ("rc", "uc", "ud", "srq")}
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun"),
    pytest.mark.skipif(not all(map(os.path.exists, PROGRAMS.values())), reason="no ibverbs-utils"),
]
OURS_FOR = {"rc": (), "uc": ("-c", "UC"), "ud": ("-c", "UD"), "srq": ("--use-srq",)}
# Datagrams of their default size are longer than the path's MTU, which ibv_ud_pingpong refuses.
SIZE_FOR = {"ud": ("-s", "1024")}
QUEUE_PAIRS = {"srq": 16}
PORT, GID_INDEX = 18515, {4: "1", 6: "2"}
FEW = ("-n", "100")
# The host's own address on the cable.
HOST = "10.78.0.3"
VDEVS = (f"net_rnic0,wire=port:net_af_packet0,mac={MACS[1]},{addresses(OURS)}", "net_af_packet0,iface=tap0")


@pytest.fixture(name="rig", scope="module")
def fixture_rig():
    with Tap() as tap:
        tap.run("ip", "address", "add", f"{HOST}/24", "dev", "tap0")
        with machine((), ["virtio_pci", "virtio_net"], PROGRAMS.values(), SHELL, taps={"tap0": MACS[0]},
                     within=tap.within) as rxe:
            yield Rig(rxe, tap)


class Rig:
    """A shell in the guest, and the namespace that our program runs in."""

    def __init__(self, rxe, tap):
        self.rxe, self.tap = rxe, tap

    def ours(self, kind, *args, family=4):
        # The timeout is for a busy machine.
        return Running("--exchange=pingpong", "-u", "18", "-x", GID_INDEX[family], *OURS_FOR[kind], *SIZE_FOR.get(kind, ()), *args,
                       vdevs=VDEVS, within=self.tap.within)

    def begin_theirs(self, kind, *args, family=4, then=":"):
        """In the background; -c has the server look at what it receives."""
        index = self.rxe.gid_index(gid_of(THEIRS[family]))
        words = [f"ibv_{kind}_pingpong", "-d", "rxe0", "-c", "-g", str(index), *SIZE_FOR.get(kind, ()), *args]
        assert self.rxe.shell(f"{' '.join(words)} >/tmp/theirs 2>&1 & {then}") == (0, "")

    def end(self, process):
        """How both have ended: ours, and theirs with its status in the first line."""
        done = process.end()
        if done.code != 0:
            # It waits for messages however long they take.
            self.rxe.shell("sleep 1; kill $!")
        _, said = self.rxe.shell("wait $!; echo status $?; cat /tmp/theirs")
        return done, said


def told(side, text):
    """Numbers and first PSNs of queue pairs, as either program prints them."""
    found = re.findall(rf"^ +{side} address: +LID [0x]+,? QPN 0x([0-9a-f]+),? PSN 0x([0-9a-f]+)", text, re.M)
    return [(int(qp_num, 16), int(psn, 16)) for qp_num, psn in found]


def check(kind, iters, ours, theirs):
    """All messages have gone there and back, and each has connected the queue pairs that the other one has told."""
    both = f"{ours}\n{theirs}"
    assert ours.code == 0 and ours.messages() == [], both
    assert theirs.startswith("status 0\n") and "invalid data" not in theirs, both
    for text in (ours.out, theirs):
        size = re.search(r"^(\d+) bytes in [0-9.]+ seconds = [0-9.]+ Mbit/sec$", text, re.M)
        count = re.search(r"^(\d+) iters in [0-9.]+ seconds = [0-9.]+ usec/iter$", text, re.M)
        # Of several queue pairs some may have one more; theirs do not count these.
        assert size and count and iters <= int(count[1]) < iters + QUEUE_PAIRS.get(kind, 1), both
        assert int(size[1]) == 2 * int(count[1]) * (1024 if kind == "ud" else 4096), both
    assert len(told("local", ours.out)) == QUEUE_PAIRS.get(kind, 1), both
    assert told("local", ours.out) == told("remote", theirs) and told("local", theirs) == told("remote", ours.out), both


CASES = [(kind, family) for kind in PROGRAMS for family in (4, 6)]


def as_server(rig, kind, iters, *args, **how):
    """Ours."""
    with rig.ours(kind, *args, **how) as server:
        server.wait_for("Waiting for client")
        rig.begin_theirs(kind, *args, HOST, **how)
        check(kind, iters, *rig.end(server))


@pytest.mark.parametrize("kind, family", CASES)
def test_theirs_is_a_client_of_ours(kind, family, rig):
    as_server(rig, kind, 100, *FEW, family=family)


@pytest.mark.parametrize("kind, family", CASES)
def test_ours_is_a_client_of_theirs(kind, family, rig):
    rig.begin_theirs(kind, *FEW, family=family, then=f"listens {PORT}")
    with rig.ours(kind, *FEW, THEIRS[4], family=family) as client:
        check(kind, 100, *rig.end(client))


def test_defaults_are_theirs(rig):
    """Size, count, receives and path MTU."""
    as_server(rig, "rc", 1000)


def test_both_end_well(rig):
    assert rig.rxe.end().status == 0
