# SPDX-License-Identifier: BSD-3-Clause
"""TCP between two Linux networks whose only path is dpdk-testpmd between two ports."""

import collections
import dataclasses
import os
import re

import pytest

from e2e.testpmd import SANITIZED, Testpmd, telemetry
from size import FULL

SIZE = (256 if FULL else 16) << 20
if SANITIZED:
    SIZE >>= 2
MTUS = (1500, 9000)


@dataclasses.dataclass
class Forwarding:
    """How testpmd forwards."""
    name: str
    # For the offloads of each port, while it is stopped; {segment}: less than what a frame of the MTU carries
    commands: tuple = ()

    def __str__(self):
        return self.name


# Checksums are made and segments cut in the kernel; or made anew and cut once more by the devices.
FORWARDINGS = (
    Forwarding("io"),
    Forwarding("csum", ("csum mac-swap off {port}", "csum set ip hw {port}", "csum set tcp hw {port}",
                        "tso set {segment} {port}")),
)
# Each way of forwarding and each MTU; the other pairs of them stand for more of the same.
CASES = [pytest.param(forwarding, mtu, id=f"{forwarding}-{mtu}", marks=[] if mtu == usual else pytest.mark.long)
         for forwarding, usual in zip(FORWARDINGS, MTUS) for mtu in MTUS]


def af_packet(mtu):
    """The two ethdevs at the cables of the network in the middle; a frame of that MTU fits into theirs."""
    room = "framesz=2048" if mtu <= 1500 else "framesz=16384,blocksz=16384,framecnt=256"
    return [f"net_af_packet{i},iface=cable{i},{room}" for i in (0, 1)]


def by_telemetry(testpmd, ports):
    """Counters of the devices in testpmd, of each port."""
    names = [re.search(r"Device name: (\S+)", testpmd.do(f"show port info {port}"))[1] for port in ports]
    return [collections.Counter(counted) for counted in
            telemetry(testpmd, *(f"/rnic/softrnic,{name}" for name in names))]


def check(nets, forwarding, vdevs, within=(), size=SIZE, embedded=True):
    """A connection through testpmd's two ports."""
    # Whole frames in one buffer.
    args = [f"--mbuf-size={2176 if nets.mtu <= 1500 else 10240}"]
    with Testpmd(vdevs, eal=("--no-huge", "-m", "256"), args=args, mbufs=4096, within=within, telemetry=embedded) as testpmd:
        testpmd.prompt()
        # The cables' own ethdevs are not testpmd's.
        ports = sorted(testpmd.stats())
        assert len(ports) == 2
        testpmd.stop_ports()
        for port in ports:
            assert "fail" not in testpmd.do(f"port config mtu {port} {nets.mtu}").lower()
        for command in forwarding.commands:
            for port in ports:
                said = testpmd.do(command.format(port=port, segment=nets.mtu // 2))
                assert "rror" not in said and "not supported" not in said, said
        testpmd.do("port start all")
        for port in ports:
            testpmd.do(f"set promisc {port} on")
        testpmd.do(f"set fwd {forwarding.name}")
        testpmd.do("start")
        seen = nets.transfer(size, 1800)
        testpmd.do("stop")
        stats = testpmd.stats()
        assert stats[ports[0]]["RX-bytes"] > size and stats[ports[1]]["TX-bytes"] > size
        assert stats[ports[1]]["RX-packets"] > 0 and stats[ports[0]]["TX-packets"] > 0
        for port in ports:
            assert stats[port]["RX-errors"] == 0 and stats[port]["TX-errors"] == 0, stats
            # Frames of the size that they are said to have.
            for way in ("RX", "TX"):
                assert stats[port][f"{way}-bytes"] <= stats[port][f"{way}-packets"] * (nets.mtu + 14)
        assert stats[ports[0]]["RX-bytes"] / stats[ports[0]]["RX-packets"] > nets.mtu / 2
        check_frames(forwarding, nets.mtu, size, seen)
        if embedded:
            check_counters(forwarding, by_telemetry(testpmd, ports))
        testpmd.quit()


def check_frames(forwarding, mtu, size, seen):
    """What inspect() saw of so many bytes."""
    assert seen["frames"] >= size // mtu // 2 and seen["wrong"] == 0, seen
    assert seen["longest"] <= (mtu // 2 + 100 if forwarding.commands else mtu + 14), seen


def check_counters(forwarding, counted):
    """No run counts whose offloads were not at work. counted: by the devices at the left and the right cable."""
    left, right = counted
    assert left["rx_checksums_bad"] == 0 and right["rx_checksums_bad"] == 0, counted
    if forwarding.commands:
        assert left["rx_checksums_good"] > 0 and right["rx_checksums_good"] > 0, counted
        # Data go out at the right: none that came in is small enough to stay whole.
        assert right["tx_lso_frames"] > right["tx_lso"] > 0, right
        # Acknowledgements go out at the left: asked for by themselves, while a large send has checksums in any case.
        assert left["tx_checksums"] > left["tx_lso_frames"], left
