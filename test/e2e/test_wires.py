# SPDX-License-Identifier: BSD-3-Clause
"""Ports whose wires lead out of the process, under stock dpdk-testpmd: captures, and other ethdevs."""

import os
import tempfile
import time

import pytest

from e2e import captures
from e2e.testpmd import Testpmd

FULL = os.environ.get("RDMAPMD_FULL") == "1"
FRAMES = 100_000 if FULL else 5_000


@pytest.fixture(name="folder")
def fixture_folder():
    with tempfile.TemporaryDirectory(prefix="rnic-wires-") as folder:
        yield folder


def forward_all(testpmd, count, port=1):
    """Until so many frames left by a port; testpmd waits where it would drop."""
    testpmd.do("set fwd io retry")
    testpmd.do("set burst tx delay 10 retry 1000000")
    testpmd.do("start")
    testpmd.wait(lambda: testpmd.stats()[port]["TX-packets"] >= count, 60, f"{count} frames")
    testpmd.do("stop")


def test_a_capture_comes_out_as_it_went_in(folder):
    """Every frame, identical and in order, though nothing tells the capture how fast it is forwarded."""
    frames = captures.mixed(FRAMES, 1)
    first, second = f"{folder}/in.pcap", f"{folder}/out.pcap"
    captures.write(first, frames)
    start = time.time_ns()
    with Testpmd([f"net_rnic0,wire=pcap,rx_pcap={first}", f"net_rnic1,wire=pcap,tx_pcap={second}"],
                 args=["--no-flush-rx"]) as testpmd:
        testpmd.prompt()
        # More than the queues hold has to wait, and does.
        assert "Link status: up" in testpmd.do("show port info 0")
        forward_all(testpmd, len(frames))
        stats = testpmd.stats()
        assert stats[0]["RX-packets"] == len(frames)
        assert stats[0]["RX-bytes"] == sum(map(len, frames))
        for port in (0, 1):
            for key in ("RX-missed", "RX-errors", "RX-nombuf", "TX-errors"):
                assert stats[port][key] == 0, stats
        testpmd.wait(lambda: "Link status: down" in testpmd.do("show port info 0"), 10,
                     "end of the link")
        assert "Link status: up" in testpmd.do("show port info 1")
        testpmd.quit()
        assert not testpmd.complaints()
    out, times = captures.read(second)
    assert len(out) == len(frames)
    assert out == frames
    assert times == sorted(times)
    assert start <= times[0] and times[-1] <= time.time_ns()


def test_one_port_reads_a_capture_and_writes_another(folder):
    """The last frames still get out, though their port's link ends with the file."""
    frames = captures.mixed(1000, 2)
    first, second = f"{folder}/in.pcap", f"{folder}/out.pcap"
    captures.write(first, frames)
    with Testpmd([f"net_rnic0,wire=pcap,rx_pcap={first},tx_pcap={second}"],
                 args=["--no-flush-rx", "--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        forward_all(testpmd, len(frames), 0)
        testpmd.quit()
    assert captures.read(second)[0] == frames


def test_what_the_wire_cannot_be_is_said(folder):
    for wire, said in ((f"pcap,rx_pcap={folder}/none.pcap", "none.pcap: No such file"),
                       ("pcap", "wants rx_pcap"), ("loop,iface=lo", 'are of the wire "pcap"')):
        with Testpmd([f"net_rnic0,wire={wire}"]) as testpmd:
            testpmd.prompt()
            assert said in " ".join(testpmd.complaints())
            testpmd.quit()


def test_an_ethdev_is_the_wire_and_no_port_of_the_application():
    """net_ring brings back what is sent: one port of testpmd, though there are two ethdevs."""
    with Testpmd(["net_ring0", "net_rnic0,wire=port:net_ring0"],
                 args=["--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        summary = testpmd.do("show port summary all")
        assert "net_rnic0" in summary and "net_ring0" not in summary
        testpmd.do("start tx_first 1")
        time.sleep(1)
        testpmd.do("stop")
        stats = list(testpmd.stats().values())
        assert len(stats) == 1 and stats[0]["RX-packets"] > 1000
        assert stats[0]["TX-errors"] == 0 and stats[0]["RX-errors"] == 0
        testpmd.quit()
        assert not testpmd.complaints()


def test_the_ethdev_may_stand_behind_the_port_on_the_command_line():
    with Testpmd(["net_rnic0,wire=port:net_ring0", "net_ring0"],
                 args=["--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        testpmd.wait(lambda: "Link status: up" in testpmd.do("show port info 0"), 10, "link")
        assert "net_ring0" not in testpmd.do("show port summary all")
        testpmd.do("start tx_first 1")
        time.sleep(0.5)
        testpmd.do("stop")
        assert testpmd.stats()[0]["RX-packets"] > 1000
        testpmd.quit()
