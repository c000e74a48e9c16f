# SPDX-License-Identifier: BSD-3-Clause
"""TCP between two Linux networks whose only path is dpdk-testpmd between two ports."""

import dataclasses
import os

from e2e.testpmd import SANITIZED, Testpmd

FULL = os.environ.get("RDMAPMD_FULL") == "1"
SIZE = (256 if FULL else 16) << 20
if SANITIZED:
    SIZE >>= 2
MTUS = (1500, 9000)


@dataclasses.dataclass
class Forwarding:
    """How testpmd forwards, and which counters of both ports say that it did so."""
    name: str
    # {0} and {1}: the ports
    commands: tuple = ()
    # of `show port xstats`
    counters: tuple = ()

    def __str__(self):
        return self.name


# Checksums are made and segments cut in the kernel.
FORWARDINGS = (Forwarding("io"),)


def af_packet(mtu):
    """The two ethdevs at the cables of the network in the middle; a frame of that MTU fits into theirs."""
    room = "framesz=2048" if mtu <= 1500 else "framesz=16384,blocksz=16384,framecnt=256"
    return [f"net_af_packet{i},iface=cable{i},{room}" for i in (0, 1)]


def xstats(testpmd, port):
    lines = testpmd.do(f"show port xstats {port}").splitlines()
    return {key: int(value) for key, _, value in (line.partition(": ") for line in lines)
            if value.isdigit()}


def check(nets, forwarding, vdevs, within=(), size=SIZE):
    """A connection through testpmd's two ports."""
    # Whole frames in one buffer.
    args = [f"--mbuf-size={2176 if nets.mtu <= 1500 else 10240}"]
    with Testpmd(vdevs, args=args, mbufs=4096, within=within) as testpmd:
        testpmd.prompt()
        # The cables' own ethdevs are not testpmd's.
        ports = sorted(testpmd.stats())
        assert len(ports) == 2
        testpmd.do("port stop all")
        for port in ports:
            assert "fail" not in testpmd.do(f"port config mtu {port} {nets.mtu}").lower()
        for command in forwarding.commands:
            testpmd.do(command.format(*ports))
        testpmd.do("port start all", 60)
        for port in ports:
            testpmd.do(f"set promisc {port} on")
        testpmd.do(f"set fwd {forwarding.name}")
        testpmd.do("start")
        nets.transfer(size, 1800)
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
        for counter in forwarding.counters:
            assert xstats(testpmd, ports[0])[counter] > 0 or xstats(testpmd, ports[1])[counter] > 0
        testpmd.quit()
