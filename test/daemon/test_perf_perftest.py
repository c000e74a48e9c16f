# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf --exchange=perftest: what perftest's programs exchange over TCP, word by word, and both ends of ours in that
language. The programs themselves are the other end in guests alone."""

import contextlib
import re
import socket
import struct

import pytest

from daemon.softrnicd import Softrnicd
from daemon.test_perf_pingpong import receive
from e2e.perf import Running
from e2e.tcp_port import free_port

LONG = pytest.mark.long
VERSION = b"6.06".ljust(16, b"\0")
SIZES = (struct.pack(">I", 4096), struct.pack(">I", 64))
MTU = b"3\0"
KEYS = re.compile(rb"0000:[0-9a-f]{4}:[0-9a-f]{6}:[0-9a-f]{6}:[0-9a-f]{8}:[0-9a-f]{16}:(?:[0-9a-f]{2}:){16}00000000:\0")
GID = bytes.fromhex("fe80000000000000aabbccfffe000001")
PATIENT = ("--exchange=perftest", "-u", "18")


def name(value):
    """Of a case: its arguments."""
    return " ".join(value) if isinstance(value, tuple) and isinstance(value[0], str) else ""


def keys(qp_num=0x11, rkey=0x1234, gid=GID):
    return b"%04x:%04x:%06x:%06x:%08x:%016x:%s:%08x:\0" % (0, 1, qp_num, 0x222222, rkey, 1 << 40, gid.hex(":").encode(), 0)


def run_both(*args):
    """The client and the server of a softrnicd's two devices."""
    args = ("-p", str(free_port()), *PATIENT, *args)
    with Softrnicd() as daemon:
        vdevs = daemon.vdevs()
        with Running(*args, vdevs=vdevs[:1]) as answers:
            answers.wait_for("Waiting for client")
            with Running(*args, "localhost", vdevs=vdevs[1:]) as asks:
                both = asks.end(), answers.end()
        daemon.stop()
    return both


@pytest.mark.parametrize("args, messages", [
    (("--op=write", "-s", "8192", "-n", "60", "-q", "2"), 120),
    (("--op=send", "-s", "1000", "-n", "60"), 60),
    *(pytest.param(args, messages, marks=LONG) for args, messages in (
        (("--op=read", "-s", "65536", "-n", "60"), 60),
        (("--op=fetch_add", "-n", "60"), 60),
        (("--op=cmp_swap", "-n", "60"), 60),
        (("--op=write", "-c", "UC", "-s", "1000", "-n", "60"), 60),
        (("--op=send", "-c", "UC", "-s", "1000", "-n", "60", "-Q", "7"), 60),
        (("--op=send", "-c", "UD", "-s", "1000", "-n", "60"), 60),
        (("--op=send", "-s", "64", "-n", "2000", "-q", "3", "-r", "16"), 6000)))], ids=name)
def test_bandwidth(args, messages):
    client, server = run_both(*args)
    for done in (client, server):
        assert done.code == 0 and done.messages() == [] and [iters for _, iters in done.rows()] == [messages], done
    # A server that posts nothing shows what the client has told.
    if "--op=send" not in args:
        assert client.out.splitlines()[-2].split() == server.out.splitlines()[-2].split(), (str(client), str(server))


@pytest.mark.parametrize("args, servers", [
    (("--op=write", "-s", "64"), True),
    *(pytest.param(args, servers, marks=LONG) for args, servers in (
        (("--op=send", "-s", "64"), True),
        (("--op=send", "-s", "64", "-c", "UD"), True),
        (("--op=read", "-s", "64"), False),
        (("--op=fetch_add",), False)))], ids=name)
def test_latency(args, servers):
    """A server knows nothing of the time that READs and atomics take."""
    for done, has_row in zip(run_both("--mode=lat", "-n", "60", *args), (True, servers)):
        assert done.code == 0 and done.messages() == [], done
        assert [number for _, number in done.rows("lat")] == [60] * has_row, done


def exchange(stream, word, n=None):
    """A server's part: what the client has said."""
    said = receive(stream, len(word) if n is None else n)
    stream.sendall(word)
    return said


def test_the_words_of_a_client():
    with socket.create_server(("localhost", 0)) as listener:
        port = str(listener.getsockname()[1])
        with Running("-p", port, *PATIENT, "--op=read", "--mode=lat", "-n", "5", "-u", "1", "localhost") as client:
            stream, _ = listener.accept()
            with stream:
                assert exchange(stream, VERSION) == VERSION
                assert (exchange(stream, SIZES[0]), exchange(stream, SIZES[1])) == SIZES
                assert re.fullmatch(rb"[1-5]\0", exchange(stream, MTU))
                said = [exchange(stream, keys()) for _ in range(4)]
                assert all(KEYS.fullmatch(each) for each in said) and len(set(said)) == 1, said
                done = client.end(60)
    # Nobody is there to answer.
    assert done.code == 1 and "retry counter exceeded" in done.err, done


def serve(*words, args=()):
    """What a server of ours says to a client that says these words, and how it ends."""
    port = free_port()
    with Running("-p", str(port), *PATIENT, *args) as server:
        server.wait_for("Waiting for client")
        with socket.create_connection(("localhost", port)) as stream:
            said = b""
            # Who does not like what it hears may have gone by now.
            with contextlib.suppress(OSError):
                stream.sendall(b"".join(words))
                stream.shutdown(socket.SHUT_WR)
                while more := stream.recv(4096):
                    said += more
        return said, server.end(60)


MET = (VERSION, *SIZES, MTU)
WRONG = {
    "native": ((b"RDMAPERF 004 HELLO    00000001\nx",), "the other end is no program of perftest"),
    "old": ((b"5.1".ljust(16, b"\0"),), "the other end is perftest 5.1: 5.33 is needed"),
    "buffer": ((VERSION, struct.pack(">I", 1 << 20), SIZES[1]), "the other end has a cycle buffer of 1048576 bytes"),
    "MTU": ((VERSION, *SIZES, b"6\0"), "the other end sends no MTU"),
    "no address": ((*MET, keys()[:59].ljust(108, b"\0")), "the other end sends no keys with an address: start it with -x INDEX"),
    "regions": ((*MET, keys(), keys(rkey=7)), "the other end has a region for each queue pair"),
    "short": ((VERSION[:7],), "the other end has gone: see what it has printed"),
}


@pytest.mark.parametrize("words, message", [pytest.param(*row, id=name, marks=() if name == "no address" else LONG)
                                            for name, row in WRONG.items()])
def test_a_client_that_says_something_else(words, message):
    _, done = serve(*words, args=("-q", "2"))
    assert done.code == 1 and message in done.err, done


def test_a_server_is_left_in_the_middle():
    """It waits for the client's end as long as there is a client."""
    said, done = serve(*MET, *[keys()] * 3)
    assert said.startswith(b"".join(MET[:3])) and len(said) == 26 + 3 * 108, said
    assert all(KEYS.fullmatch(said[at:at + 108]) for at in range(26, len(said), 108)), said
    assert done.code == 1 and "the other end has gone" in done.err, done


@pytest.mark.parametrize("args", [("--op=send",), pytest.param(("--op=send", "--mode=lat"), marks=LONG),
                                  pytest.param(("--op=send", "-c", "UD", "-s", "64"), marks=LONG)], ids=name)
def test_a_client_that_is_killed(args):
    """Its stream tells, while its queue pair is silent."""
    args = ("-p", str(free_port()), *PATIENT, *args, "-n", "10000000")
    with Softrnicd() as daemon:
        vdevs = daemon.vdevs()
        with Running(*args, vdevs=vdevs[:1]) as answers:
            answers.wait_for("Waiting for client")
            with Running(*args, "localhost", vdevs=vdevs[1:]) as asks:
                answers.wait_for("#bytes")
                asks.process.kill()
                done = answers.end(5)
        daemon.stop()
    assert done.code == 1 and "the other end has gone" in done.err, done
