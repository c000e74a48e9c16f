# SPDX-License-Identifier: BSD-3-Clause
"""Ports whose wires lead out of the process, under stock dpdk-testpmd: captures, and other ethdevs."""

import os
import tempfile

import pytest

from e2e import captures
from e2e.networks import Networks
from e2e.testpmd import Testpmd, forward
from size import FULL

ROOT = os.geteuid() == 0
FRAMES = 100_000 if FULL else 5_000


@pytest.fixture(name="folder")
def fixture_folder():
    with tempfile.TemporaryDirectory(prefix="rnic-wires-") as folder:
        yield folder


# Promiscuous mode is on when the ports start: else frames wait for it, but only for some seconds.
PROMISCUOUS = ["--no-flush-rx", "--disable-device-start"]


def forward_all(testpmd, count, port=1):
    """Until so many frames left by a port; testpmd waits where it would drop."""
    testpmd.do("set fwd io retry")
    testpmd.do("set burst tx delay 10 retry 1000000")
    testpmd.do("start")
    testpmd.wait(lambda: testpmd.stats()[port]["TX-packets"] >= count, f"{count} frames")
    testpmd.do("stop")


def replay(first, second, frames):
    """From one capture to another one; nothing tells the first one how fast it is forwarded."""
    with Testpmd([f"net_rnic0,wire=pcap,rx_pcap={first}", f"net_rnic1,wire=pcap,tx_pcap={second}"],
                 args=PROMISCUOUS) as testpmd:
        testpmd.prompt()
        testpmd.do("port start all")
        # More than the queues hold has to wait, and does.
        testpmd.wait_link(0, "up")
        forward_all(testpmd, len(frames))
        stats = testpmd.stats()
        assert stats[0]["RX-packets"] == len(frames)
        assert stats[0]["RX-bytes"] == sum(map(len, frames))
        for port in (0, 1):
            for key in ("RX-missed", "RX-errors", "RX-nombuf", "TX-errors"):
                assert stats[port][key] == 0, stats
        testpmd.wait_link(0, "down")
        assert "Link status: up" in testpmd.do("show port info 1")
        testpmd.quit()
        assert not testpmd.complaints()
    out, times = captures.read(second)
    assert len(out) == len(frames)
    assert out == frames
    assert times == sorted(times)


def test_a_capture_comes_out_as_it_went_in(folder):
    """Every frame, identical and in order."""
    frames = captures.mixed(FRAMES, 1)
    captures.write(f"{folder}/in.pcap", frames)
    replay(f"{folder}/in.pcap", f"{folder}/out.pcap", frames)


@pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
def test_recorded_traffic_comes_out_as_it_went_in(folder):
    with Networks() as nets:
        nets.record(f"{folder}/in.pcap")
    frames, _ = captures.read(f"{folder}/in.pcap")
    kinds = captures.kinds(frames)
    for kind in ("arp", "ipv4/6", "ipv4/17", "ipv4/1", "ipv4/17 fragment", "ipv6/6", "ipv6/17",
                 "ipv6/58", "ipv6/44", "vlan ipv4/17"):
        assert kinds[kind] > 0, kinds
    replay(f"{folder}/in.pcap", f"{folder}/out.pcap", frames)


def test_one_port_reads_a_capture_and_writes_another(folder):
    """The last frames still get out, though their port's link ends with the file."""
    frames = captures.mixed(1000, 2)
    first, second = f"{folder}/in.pcap", f"{folder}/out.pcap"
    captures.write(first, frames)
    # That end is a second away: a busy machine may need longer, but not each time.
    for _ in range(3):
        with Testpmd([f"net_rnic0,wire=pcap,rx_pcap={first},tx_pcap={second}"],
                     args=[*PROMISCUOUS, "--port-topology=loop"]) as testpmd:
            testpmd.prompt()
            testpmd.do("port start all")
            forward_all(testpmd, len(frames), 0)
            testpmd.quit()
        if len(captures.read(second)[0]) == len(frames):
            break
    assert captures.read(second)[0] == frames


def test_what_the_wire_cannot_be_is_said(folder):
    for wire, said in ((f"pcap,rx_pcap={folder}/none.pcap", "none.pcap: No such file"),
                       ("pcap", "set rx_pcap"), ("loop,iface=lo", 'need the wire "pcap"')):
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
        forward(testpmd, bursts=1)
        stats = list(testpmd.stats().values())
        assert len(stats) == 1 and stats[0]["RX-packets"] > 1000
        assert stats[0]["TX-errors"] == 0 and stats[0]["RX-errors"] == 0
        testpmd.quit()
        assert not testpmd.complaints()


def test_frames_go_to_a_file_of_net_pcap_and_come_from_one(folder):
    """Each frame of a capture gets there, while the ethdev brings others without an end."""
    frames = captures.mixed(500, 5)
    first, second = f"{folder}/in.pcap", f"{folder}/out.pcap"
    captures.write(first, frames)
    with Testpmd([f"net_pcap0,rx_pcap={first},tx_pcap={second},infinite_rx=1",
                  f"net_rnic0,wire=pcap,rx_pcap={first}", "net_rnic1,wire=port:net_pcap0"],
                 args=PROMISCUOUS) as testpmd:
        testpmd.prompt()
        _, wired = sorted(testpmd.stats())
        testpmd.do("port start all")
        forward_all(testpmd, len(frames), wired)
        stats = testpmd.stats()[wired]
        assert stats["TX-packets"] == len(frames) and stats["TX-errors"] == 0, stats
        assert stats["RX-packets"] > 0 and stats["RX-errors"] == 0, stats
        testpmd.quit()
        assert not testpmd.complaints()
    assert captures.read(second)[0] == frames


def test_the_ethdev_may_stand_behind_the_port_on_the_command_line():
    with Testpmd(["net_rnic0,wire=port:net_ring0", "net_ring0"],
                 args=["--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        testpmd.wait_link(0, "up")
        assert "net_ring0" not in testpmd.do("show port summary all")
        testpmd.do("start tx_first 1")
        testpmd.wait(lambda: testpmd.stats()[0]["RX-packets"] > 1000, "packets")
        testpmd.do("stop")
        testpmd.quit()


def test_an_ethdev_that_goes_takes_the_link_along():
    """The application goes on, with a port that is down; so does the port beside it."""
    with Testpmd(["net_ring0", "net_rnic0,wire=port:net_ring0", "net_rnic1"],
                 args=["--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        wired, other = sorted(testpmd.stats())
        testpmd.do("start tx_first 1")
        testpmd.wait(lambda: testpmd.stats()[wired]["RX-packets"] > 1000, "packets")
        testpmd.do("stop")
        assert "Link status: up" in testpmd.do(f"show port info {wired}")
        testpmd.do("device detach net_ring0")
        testpmd.wait_link(wired, "down")
        testpmd.do("start tx_first 1")
        before = testpmd.stats()[other]["RX-packets"]
        testpmd.wait(lambda: testpmd.stats()[other]["RX-packets"] > before + 1000, "packets")
        testpmd.do("stop")
        testpmd.quit()


def test_shared_memory_of_memif_is_a_wire(folder):
    """Two ports joined by two ethdevs, which find each other only after the ports are there."""
    memif = f"socket={folder}/memif.sock,socket-abstract=no"
    with Testpmd([f"net_memif0,role=server,{memif}", f"net_memif1,role=client,{memif}",
                  "net_rnic0,wire=port:net_memif0", "net_rnic1,wire=port:net_memif1"],
                 args=["--disable-link-check"]) as testpmd:
        testpmd.prompt()
        ports = sorted(testpmd.stats())
        for port in ports:
            testpmd.wait_link(port, "up")
        testpmd.do("start tx_first 1")
        for port in ports:
            testpmd.wait(lambda port=port: testpmd.stats()[port]["RX-packets"] > 1000, "packets")
        testpmd.do("stop")
        for stats in testpmd.stats().values():
            assert stats["RX-errors"] == 0 and stats["TX-errors"] == 0, stats
        testpmd.do("port stop all")
        assert "Port 3 is closed" in testpmd.do("port close all")
        assert not testpmd.complaints()
        # It is killed here, as "quit" may crash. The server's handle stays registered when net_memif frees it; EAL's
        # cleanup wakes the interrupt thread, which looks at all handles, while it unmaps the memory (DPDK 22.11).


@pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun")
def test_frames_cross_between_two_interfaces_of_net_tap(folder):
    frames = captures.mixed(200, 4)
    captures.write(f"{folder}/in.pcap", frames)
    with Networks() as nets, \
            Testpmd(["net_tap0,iface=tap0", "net_tap1,iface=tap1",
                     "net_rnic0,wire=port:net_tap0", "net_rnic1,wire=port:net_tap1"],
                    within=nets.middle) as testpmd:
        testpmd.prompt()
        for port in (0, 1):
            testpmd.wait_link(sorted(testpmd.stats())[port], "up")
        testpmd.do("start")
        for into, out_of in (("tap0", "tap1"), ("tap1", "tap0")):
            assert nets.cross(into, out_of, f"{folder}/in.pcap") == len(frames)
        testpmd.do("stop")
        testpmd.quit()


# net_tap lives on signals, which ThreadSanitizer puts off.
if os.environ.get("RDMAPMD_SANITIZER") == "thread":
    del test_frames_cross_between_two_interfaces_of_net_tap
