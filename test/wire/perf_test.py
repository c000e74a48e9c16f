# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf in two networks: RoCEv2 over a cable of Linux, and TCP beside it, by the same one."""

import os
import subprocess
import time

import pytest

from e2e.perf import PATIENT, Running

LONG = pytest.mark.long
PEER = ("nsenter", f"--net={os.environ['RDMA_PEER_NETNS']}")
# Where TCP goes; the ports have MACs and link-local addresses of their own.
ADDRESSES = {"va": "10.78.0.1", "vb": "10.78.0.2"}
BESIDE = {"ta": "10.79.0.1", "tb": "10.79.0.2"}


def port(interface):
    number = "ab".index(interface[1])
    return (f"net_af_packet0,iface={interface}", f"net_rnic0,mac=02:00:00:00:00:0{'ab'[number]},wire=port:net_af_packet0")


@pytest.fixture(autouse=True, scope="module")
def addresses():
    for interface, within in (("va", ()), ("vb", PEER)):
        subprocess.run([*within, "ip", "address", "add", f"{ADDRESSES[interface]}/24", "dev", interface], check=True)
        # Linux' checksums are to be on the cable: its other end looks at them.
        subprocess.run([*within, "ethtool", "-K", interface, "tx", "off"], check=True, stdout=subprocess.DEVNULL)


def both(*args, host=ADDRESSES["vb"]):
    server = Running(*args, vdevs=port("vb"), within=PEER)
    server.wait_for("Waiting for client")
    return server, Running(*args, host, vdevs=port("va"))


@pytest.mark.parametrize("args, size", [
    (("--op=send", "--mode=lat"), 3000),
    *(pytest.param(args, size, marks=LONG) for args, size in (
        (("--op=write",), 70000), (("--op=read", "-q", "2"), 5000), (("--op=fetch_add",), 8), (("-c", "UD", "--op=send"), 1000),
        (("-c", "UC", "--op=send", "--mode=lat"), 2500)))])
def test_messages_over_a_cable(args, size):
    server, client = both(*args, "-s", str(size), "-n", "20", *PATIENT)
    with server, client:
        asks, answers = client.end(), server.end()
    mode = "lat" if "--mode=lat" in args else "bw"
    assert asks.code == 0 and asks.messages() == [] and asks.rows(mode) == [(size, 40 if "-q" in args else 20)], asks
    assert answers.code == 0 and answers.messages() == [], answers


@LONG
def test_the_cable_is_taken_away():
    """From queue pairs and from TCP: each end finds out for itself."""
    server, client = both("--op=send", "-s", "64", "-D", "600")
    with server, client:
        client.wait_for("#bytes")
        time.sleep(0.5)
        subprocess.run(["ip", "link", "set", "va", "down"], check=True)
        start = time.monotonic()
        asks, answers = client.end(60), server.end(60)
        took = time.monotonic() - start
        subprocess.run(["ip", "link", "set", "va", "up"], check=True)
    assert asks.code == 1 and "transport retry counter exceeded" in asks.err and "has gone" in asks.err, asks
    assert answers.code == 1 and "gone" in answers.err, answers
    assert took < 5, took


@pytest.fixture(name="beside")
def beside_fixture():
    """A cable for TCP alone."""
    holder = os.environ["RDMA_PEER_NETNS"].split("/")[2]
    subprocess.run(["ip", "link", "add", "name", "ta", "type", "veth", "peer", "name", "tb", "netns", holder], check=True)
    for interface, within in (("ta", ()), ("tb", PEER)):
        subprocess.run([*within, "ip", "address", "add", f"{BESIDE[interface]}/24", "dev", interface], check=True)
        subprocess.run([*within, "ip", "link", "set", interface, "up"], check=True)
    yield BESIDE["tb"]
    subprocess.run(["ip", "link", "delete", "ta"], check=True)


@LONG
@pytest.mark.parametrize("args", [("-c", "UD"), ("-c", "UC"), ("-c", "UD", "-b"), ("-c", "UD", "--mode=lat")], ids=" ".join)
def test_the_cable_of_datagrams_is_taken_away(beside, args):
    """No completion tells it, TCP goes on, and net_af_packet's link stays: who hears nothing any more finds out, and the other end by it."""
    server, client = both(*args, "--op=send", "-s", "64", "-D", "600", host=beside)
    with server, client:
        client.wait_for("#bytes")
        time.sleep(0.5)
        subprocess.run(["ip", "link", "set", "va", "down"], check=True)
        start = time.monotonic()
        asks, answers = client.end(60), server.end(60)
        took = time.monotonic() - start
        subprocess.run(["ip", "link", "set", "va", "up"], check=True)
    assert asks.code == 1 and answers.code == 1, f"{asks}\n{answers}"
    assert "nothing has come for 3 s" in asks.err + answers.err, f"{asks}\n{answers}"
    assert took < 5, f"{took} s\n{asks}\n{answers}"
