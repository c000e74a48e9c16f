# SPDX-License-Identifier: BSD-3-Clause
"""
The kernel's arping and ping -6, answered beside a stock dpdk-testpmd that sends all that it receives back where it came from. Run
within over_veth.sh: the driver's port is at va, the kernel at vb.
"""

import select
import socket
import struct
import subprocess

from e2e.testpmd import Testpmd, PATIENCE

OWN4, OWN6, KERNEL4, KERNEL6 = "192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2"
MAC = "02:00:00:00:47:11"
COUNT = 20


def ip(*args):
    return subprocess.run(["ip", *args], check=True, capture_output=True, text=True).stdout


def kernel_prepare():
    with open("/proc/sys/net/ipv6/conf/vb/disable_ipv6", "w", encoding="ascii") as f:
        f.write("0")
    ip("address", "add", f"{KERNEL4}/24", "dev", "vb")
    ip("-6", "address", "add", f"{KERNEL6}/64", "dev", "vb", "nodad")


def arping(count):
    """As arping: requests from the kernel's interface, and only answers to them count."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)) as packets:
        packets.bind(("vb", 0x0806))
        mine = packets.getsockname()[4]
        request = (b"\xff" * 6 + mine + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1) + mine +
                   socket.inet_aton(KERNEL4) + bytes(6) + socket.inet_aton(OWN4))
        own = bytes.fromhex(MAC.replace(":", ""))
        for _ in range(count):
            packets.send(request)
            while True:
                assert select.select([packets], [], [], PATIENCE)[0], "no answer"
                frame = packets.recv(2048)
                # What testpmd sends back is the request itself.
                if frame[20:22] == b"\0\2" and frame[28:32] == socket.inet_aton(OWN4):
                    assert frame[:12] == mine + own and frame[22:28] == own
                    break


def ping(count):
    """As ping -6."""
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as icmp:
        for number in range(count):
            echo = struct.pack("!BBHHH", 128, 0, 0, 0x4711, number) + bytes(range(56))
            icmp.sendto(echo, (OWN6, 0))
            while True:
                assert select.select([icmp], [], [], PATIENCE)[0], "no answer"
                answer, peer = icmp.recvfrom(2048)
                if answer[0] == 129 and answer[4:] == echo[4:]:
                    assert peer[0] == OWN6
                    break


def test_the_kernel_is_answered_beside_testpmd():
    kernel_prepare()
    # The wire's port first: it is the device's before testpmd looks for ports.
    vdevs = ["net_af_packet0,iface=va",
             f"net_rnic0,wire=port:net_af_packet0,mac={MAC},ip={OWN4}/24+{OWN6}/64"]
    with Testpmd(vdevs) as testpmd:
        testpmd.prompt()
        [port] = testpmd.stats()
        testpmd.wait_link(port, "up")
        testpmd.do("set fwd io")
        testpmd.do("start")
        arping(COUNT)
        ping(COUNT)
        # Which the kernel could not have sent without the MAC.
        assert MAC in ip("neigh", "show", "to", OWN6, "dev", "vb")
        # And testpmd has seen, and sent back, all of it.
        testpmd.wait(lambda: testpmd.stats()[port]["RX-packets"] >= 2 * COUNT, "frames for testpmd")
        testpmd.wait(lambda: testpmd.stats()[port]["TX-packets"] >= 2 * COUNT, "frames of testpmd")
        testpmd.do("stop")
        # The same while the port is stopped.
        testpmd.stop_ports(port)
        arping(1)
        ping(1)
        testpmd.quit()
        assert not testpmd.complaints()
