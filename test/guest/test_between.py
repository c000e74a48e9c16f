# SPDX-License-Identifier: BSD-3-Clause
"""Linux's netdev at one end of a cable, and the port of stock dpdk-testpmd at the other."""

import collections
import contextlib
import os
import re
import time

import pytest

from e2e.networks import LEFT, RIGHT, Networks
from e2e.tcp import FORWARDINGS
from e2e.testpmd import Testpmd
from guest.machine import BOOT, KERNELS_HERE, devices, guest
from guest.netdev import BLOCK, COUNT, order, random_block, script, transfer
from guest.traffic import silence, statistics

ROOT = os.geteuid() == 0
# A cable between two devices of one daemon: the guest's, and testpmd's.
CABLE = ("wire=pair:cable,mac=02:00:00:00:00:0a", "wire=pair:cable,mac=02:00:00:00:00:0b")
MTUS = (1500, 9000)


def linux(kernel, socket, files=None):
    return guest(kernel, [socket], ["/usr/sbin/ethtool", "/bin/ip"], modules=["mlx5_core"], files=files, cpus=2)


def pmd(socket, more=(), within=()):
    """testpmd, whose port 0 is at our end. A frame is one buffer, and what Linux sends at once has room."""
    return Testpmd([f"net_rnic0,socket={socket}", *more], mbufs=12288, within=within, eal=("--no-huge", "-m", "1024"),
                   args=["--mbuf-size=16512", "--rxd=4096", "--txd=4096", "--disable-link-check"])


def start(testpmd, mtu, forwarding, commands=()):
    """Forward in this way from now on."""
    testpmd.prompt()
    testpmd.do("port stop all")
    assert testpmd.do(f"port config mtu 0 {mtu}").strip() == ""
    for command in commands:
        said = testpmd.do(command)
        assert "rror" not in said and "not supported" not in said, said
    testpmd.do("port start all")
    testpmd.do("set promisc all on")
    testpmd.do(f"set fwd {forwarding} retry")
    assert "packets/burst" in testpmd.do("start")


def hush(one, testpmd, nets=None):
    """Neither end says anything by itself from now on, and what was said has arrived: both can be counted."""
    order(one, "/bin/ip link set $eth arp off")
    if nets:
        nets.ip(nets.left, "link", "set", "eth0", "down")
    before = None
    while (now := testpmd.counters()) != before:
        before = now
        time.sleep(1)


def finish(testpmd, daemon):
    """The counters of its port when nothing moves any more, and what our end's device says that it has done."""
    testpmd.do("stop")
    port = testpmd.stats()[0]
    testpmd.quit()
    assert not testpmd.complaints()
    daemon.stop()
    # On as many lines as they need.
    said = "".join(re.findall(r"\bd1:((?: [a-z_]+=\d+)+)$", daemon.text(), re.MULTILINE))
    return port, collections.Counter({name: int(value) for name, value in re.findall(r"([a-z_]+)=(\d+)", said)})


def check_counters(found, port, device):
    """The guest's `ethtool -S`, and what testpmd's port at the other end says: not a frame is missing on either side."""
    # What the device has cut is one packet for the port, with one header.
    more = device["tx_lso_frames"] - device["tx_lso"]
    for ours, theirs, cut in (("tx", "RX", 0), ("rx", "TX", more)):
        packets = port[f"{theirs}-packets"] + cut
        assert packets > 0
        assert found[f"{ours}_packets"] == found[f"{ours}_packets_phy"] == packets, (found, port, device)
        # Ethernet's, IPv4's, and TCP's with the option that Linux uses. At the port, check sequences count.
        size = port[f"{theirs}-bytes"] + cut * (14 + 20 + 32)
        assert found[f"{ours}_bytes_phy"] == size + 4 * packets, (found, port, device)
    for name in ("rx_out_of_buffer", "rx_discards_phy", "rx_crc_errors_phy", "rx_wqe_err", "tx_cqe_err", "tx_queue_dropped"):
        assert found[name] == 0, (name, found)
    for name in ("RX-missed", "RX-errors", "RX-nombuf", "TX-errors"):
        assert port[name] == 0, port


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_testpmd_answers_pings_of_linux(kernel):
    """By its mode icmpecho, ARP too; as long as fits into a frame, of either size."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*CABLE))
        testpmd = stack.enter_context(pmd(daemon.sockets[1]))
        start(testpmd, max(MTUS), "icmpecho")
        one = stack.enter_context(linux(kernel, daemon.sockets[0]))
        one.start(script(MTUS[0]))
        one.expect("address", BOOT)
        for size in (56, *(mtu - 28 for mtu in MTUS)):
            order(one, f"/bin/ip link set $eth mtu {max(size + 28, MTUS[0])}")
            heard = order(one, f"result=$(ping -c 5 -i 0.2 -W 30 -s {size} {LEFT} | grep received)")
            assert heard == "5 packets transmitted, 5 packets received, 0% packet loss", heard
        heard = order(one, f"result=$(grep {LEFT} /proc/net/arp)")
        assert "02:00:00:00:00:0b" in heard, heard
        hush(one, testpmd)
        one.tell("end")
        result = one.wait(BOOT)
        port, device = finish(testpmd, daemon)
    assert result.status == 0, "the script failed"
    check_counters(statistics(result.console), port, device)
    # Three sizes, five each, and at least the one request of ARP before them.
    assert port["RX-packets"] == port["TX-packets"] >= 16


def offloads(forwarding, mtu):
    """
    Towards the guest our port makes checksums anew and cuts segments once more; the cable to the namespace has neither
    of both.
    """
    if not forwarding.commands:
        return []
    return [*(command.format(port=0, segment=mtu // 2) for command in forwarding.commands),
            "csum mac-swap off 1", "csum set ip sw 1", "csum set tcp sw 1"]


@pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
@pytest.mark.parametrize("mtu", MTUS)
@pytest.mark.parametrize("forwarding", FORWARDINGS, ids=str)
@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_linux_talks_with_a_namespace_through_testpmd(kernel, forwarding, mtu, tmp_path):
    block = random_block(tmp_path)
    room = "framesz=2048,framecnt=8192" if mtu == 1500 else "framesz=16384,blocksz=16384,framecnt=2048"
    with contextlib.ExitStack() as stack:
        nets = stack.enter_context(Networks(mtu))
        # Nobody is there to hear it before the guest is.
        silence(nets, (nets.left, "eth0"), (nets.middle, "cable0"))
        daemon = stack.enter_context(devices(*CABLE))
        testpmd = stack.enter_context(pmd(daemon.sockets[1], [f"net_af_packet0,iface=cable0,{room}"], nets.middle))
        start(testpmd, mtu, forwarding.name, offloads(forwarding, mtu))
        one = stack.enter_context(linux(kernel, daemon.sockets[0], {"/data/block": block}))
        one.start(script(mtu))
        one.expect("address", BOOT)
        transfer(one, nets, block)
        hush(one, testpmd, nets)
        one.tell("end")
        result = one.wait(BOOT)
        port, device = finish(testpmd, daemon)
    assert result.status == 0, "the script failed"
    found = statistics(result.console)
    check_counters(found, port, device)
    assert port["RX-bytes"] > COUNT * BLOCK and port["TX-bytes"] > COUNT * BLOCK
    assert port["TX-bytes"] <= port["TX-packets"] * (mtu + 14)
    # None of it without the offloads: the guest's, which its kernel leaves to its device, and ours.
    assert found["tx_tso_packets"] > 0 and found["tx_csum_partial"] > 0
    assert found["rx_csum_complete"] + found["rx_csum_unnecessary"] > 0
    if forwarding.commands:
        assert device["tx_lso_frames"] > device["tx_lso"] > 0 and device["tx_checksums"] > device["tx_lso_frames"]
        assert device["rx_checksums_good"] > 0
    assert device["rx_checksums_bad"] == 0
