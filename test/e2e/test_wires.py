# SPDX-License-Identifier: BSD-3-Clause
"""Ports whose wires lead out of the process, under stock dpdk-testpmd: captures, and other ethdevs."""

import os
import subprocess
import sys
import tempfile
import time

import pytest

from e2e import captures
from e2e.testpmd import Testpmd

ROOT = os.geteuid() == 0
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


# ---- Real interfaces ----

# Run in a namespace: switch the offloads of an interface off, as net_af_packet carries none.
PLAIN = """
import fcntl, socket, struct, sys
s = socket.socket()
for command in (0x17, 0x15, 0x1f, 0x24, 0x2c):  # Tx and Rx checksums, TSO, GSO, GRO
    value = struct.pack("II", command, 0)
    import array
    data = array.array("B", value)
    request = struct.pack("16sP", sys.argv[1].encode(), data.buffer_info()[0])
    try:
        fcntl.ioctl(s, 0x8946, request)
    except OSError as error:
        if command == 0x17:
            raise
"""
SEND = """
import socket, sys
s = socket.create_connection(("10.9.9.2", 7), timeout=60)
left = int(sys.argv[1])
block = bytes(range(256)) * 256
while left:
    s.sendall(block[:min(left, len(block))])
    left -= min(left, len(block))
s.shutdown(socket.SHUT_WR)
print(s.makefile("r").read(), end="")
"""
RECEIVE = """
import hashlib, socket
listener = socket.create_server(("10.9.9.2", 7))
print("listens", flush=True)
s, _ = listener.accept()
digest = hashlib.sha256()
while data := s.recv(65536):
    digest.update(data)
s.sendall(digest.hexdigest().encode())
"""


class Namespaces:
    """Three network namespaces in a row: left -- middle -- right. Use as a context."""

    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "1000"]) for _ in range(3)]
        self.left, self.middle, self.right = (
            ["nsenter", f"--net=/proc/{holder.pid}/ns/net"] for holder in self.holders)

    def __enter__(self):
        own = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + 10
        for holder in self.holders:
            while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                assert time.monotonic() < end and holder.poll() is None
                time.sleep(0.01)
        for side, holder, address in ((self.left, self.holders[0], "10.9.9.1/24"),
                                      (self.right, self.holders[2], "10.9.9.2/24")):
            port = "cable0" if side is self.left else "cable1"
            self.ip(self.middle, "link", "add", port, "type", "veth", "peer", "name", "eth0",
                    "netns", str(holder.pid))
            self.ip(self.middle, "link", "set", port, "up")
            self.ip(side, "address", "add", address, "dev", "eth0")
            self.ip(side, "link", "set", "eth0", "up")
            subprocess.run([*side, sys.executable, "-c", PLAIN, "eth0"], check=True)
        return self

    @staticmethod
    def ip(where, *args):
        subprocess.run([*where, "ip", *args], check=True)

    def __exit__(self, kind, value, trace):
        for holder in self.holders:
            holder.kill()
            holder.wait()


def test_tcp_between_two_networks_through_two_ports():
    """The only path between them is testpmd, between two ports on net_af_packet."""
    if not ROOT:
        pytest.skip("only root can make network namespaces")
    size = (64 if FULL else 8) << 20
    wanted = subprocess.run([sys.executable, "-c",
                             "import hashlib; print(hashlib.sha256("
                             f"bytes(range(256)) * {size // 256}).hexdigest())"],
                            capture_output=True, text=True, check=True).stdout.strip()
    with Namespaces() as nets, \
            Testpmd(["net_af_packet0,iface=cable0", "net_af_packet1,iface=cable1",
                     "net_rnic0,wire=port:net_af_packet0", "net_rnic1,wire=port:net_af_packet1"],
                    within=nets.middle) as testpmd:
        testpmd.prompt()
        summary = testpmd.do("show port summary all")
        assert "net_af_packet" not in summary and "net_rnic1" in summary
        testpmd.do("start")
        with subprocess.Popen([*nets.right, sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE,
                              text=True) as receiver:
            assert receiver.stdout.readline() == "listens\n"
            sent = subprocess.run([*nets.left, sys.executable, "-c", SEND, str(size)],
                                  capture_output=True, text=True, timeout=200, check=True)
            assert receiver.wait(30) == 0
        assert sent.stdout == wanted
        testpmd.do("stop")
        stats = testpmd.stats()
        assert stats[0]["RX-bytes"] > size and stats[1]["TX-bytes"] > size
        testpmd.quit()
