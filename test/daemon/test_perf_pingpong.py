# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf --exchange=pingpong: what ibv_rc_pingpong and its siblings exchange over TCP, byte by byte, and both ends of ours in
that language. The programs themselves are the other end in guests alone."""

import contextlib
import re
import socket

import pytest

from daemon.softrnicd import Softrnicd, until
from e2e.perf import Running, leave_nothing
from e2e.tcp_port import free_port

LONG = pytest.mark.long
TEXT = re.compile(rb"0000:[0-9a-f]{6}:[0-9a-f]{6}:[0-9a-f]{32}\0")
GID = "fe80000000000000aabbccfffe000001"


def text(qp_num=0x11, psn=0x222222, gid=GID):
    return b"%04x:%06x:%06x:%s\0" % (0, qp_num, psn, gid.encode())


def receive(stream, n):
    data = b""
    while len(data) < n:
        more = stream.recv(n - len(data))
        assert more, data
        data += more
    return data


@pytest.mark.parametrize("args", [
    (), *(pytest.param(args, marks=LONG) for args in (("-c", "UC"), ("-c", "UD", "-s", "1024"), ("--use-srq",), ("--use-srq", "-q", "5", "-n", "777")))])
def test_both_ends_of_ours(args):
    port = ("-p", str(free_port()))
    iters = () if "-n" in args else ("-n", "60")
    with Softrnicd() as daemon:
        vdevs = daemon.vdevs()
        with Running(*port, "--exchange=pingpong", *args, *iters, "-u", "18", vdevs=vdevs[:1]) as answers:
            answers.wait_for("Waiting for client")
            with Running(*port, "--exchange=pingpong", *args, *iters, "-u", "18", "localhost", vdevs=vdevs[1:]) as asks:
                client, server = asks.end(), answers.end()
        daemon.stop()
    size, count = 1024 if "UD" in args else 4096, 777 if "777" in args else 60
    for done in (client, server):
        assert done.code == 0 and done.messages() == [], done
        sent = re.search(r"^(\d+) bytes in [0-9.]+ seconds = [0-9.]+ Mbit/sec$", done.out, re.M)
        rounds = re.search(r"^(\d+) iters in [0-9.]+ seconds = [0-9.]+ usec/iter$", done.out, re.M)
        assert sent and rounds and int(sent[1]) == 2 * size * int(rounds[1]) and int(rounds[1]) >= count, done


@LONG
@pytest.mark.parametrize("damage, words", [(5, "--verify has found wrong data"), (1500, "no wrong byte was found")])
def test_a_wrong_byte_is_found_or_said_not_to_be_there(damage, words):
    """A datagram has 1,024 bytes, whatever -s says."""
    args = ("-p", str(free_port()), "--exchange=pingpong", "-c", "UD", "-n", "60", "-u", "18")
    with Softrnicd() as daemon:
        vdevs = daemon.vdevs()
        with Running(*args, vdevs=vdevs[:1]) as answers:
            answers.wait_for("Waiting for client")
            with Running(*args, f"--damage={damage}", "localhost", vdevs=vdevs[1:]) as asks:
                client, _ = asks.end(), answers.end()
        daemon.stop()
    assert client.code == 1 and words in client.err, client


@LONG
@pytest.mark.parametrize("interrupted", ["client", "server"])
def test_ctrl_c_prints_what_was_measured(interrupted, tmp_path):
    """The other end cannot be told: it learns that nothing comes any more."""
    args = ("-p", str(free_port()), "--exchange=pingpong", "-n", "10000000", "-u", "18")
    # In its log is each completion.
    logs = {interrupted: {"log": tmp_path / "log", "eal": ["--log-level=pmd.net.rnic.dump:debug"]}}
    with Softrnicd() as daemon:
        vdevs = daemon.vdevs()
        with Running(*args, vdevs=vdevs[:1], **logs.get("server", {})) as answers:
            answers.wait_for("Waiting for client")
            with Running(*args, "localhost", vdevs=vdevs[1:], **logs.get("client", {})) as asks:
                ended, left = (asks, answers) if interrupted == "client" else (answers, asks)
                until(lambda: ended.process.poll() is not None or ended.logged().count("\ndump cqe ") > 20, "messages")
                ended.interrupt()
                done, other = ended.end(60), left.end(60)
        daemon.stop()
    assert done.code == 130 and len(done.rows("lat")) == 1 and 0 < done.rows("lat")[0][1] < 10000000, str(done)[-2000:]
    assert re.search(rf"^{done.rows('lat')[0][1]} iters in ", done.out, re.M), done
    assert other.code == 1 and re.search("retry counter exceeded|nothing has come for 4 s", other.err) and len(other.rows("lat")) == 1, other
    leave_nothing(asks, answers)


def test_a_client_tells_one_text_and_ends_with_done():
    with socket.create_server(("localhost", 0)) as listener:
        port = str(listener.getsockname()[1])
        with Running("-p", port, "--exchange=pingpong", "localhost") as client:
            stream, _ = listener.accept()
            with stream:
                said = receive(stream, 52)
                assert TEXT.fullmatch(said) and said[19:23] == b"fe80", said
                stream.sendall(text())
                assert receive(stream, 5) == b"done\0"
                # It closes the connection, as theirs do.
                assert stream.recv(1) == b""
                done = client.end(60)
    # Nobody is there to answer.
    assert done.code == 1 and re.search("retry counter exceeded|nothing has come for 4 s", done.err), done


@LONG
def test_a_client_whose_port_has_no_link_tells_nothing():
    """Their server looks for the client's MAC as soon as it hears the address, and gives up after a second."""
    with socket.create_server(("localhost", 0)) as listener:
        port = str(listener.getsockname()[1])
        with Running("-p", port, "--exchange=pingpong", "localhost", vdevs=("net_rnic0,wire=pair:alone",)) as client:
            stream, _ = listener.accept()
            with stream:
                assert stream.recv(1) == b""
            done = client.end(60)
    assert done.code == 1 and "the port has no link" in done.err, done


@LONG
def test_a_client_with_an_srq_tells_256_texts():
    with socket.create_server(("localhost", 0)) as listener:
        port = str(listener.getsockname()[1])
        with Running("-p", port, "--exchange=pingpong", "--use-srq", "-q", "3", "localhost") as client:
            stream, _ = listener.accept()
            with stream:
                said = receive(stream, 52 * 256)
                texts = [said[52 * i:52 * (i + 1)] for i in range(256)]
                assert all(TEXT.fullmatch(each) for each in texts), said
                assert [each[5:11] != b"000000" for each in texts] == [True] * 3 + [False] * 253
                stream.sendall(b"".join(text(i + 1) if i < 2 else text(0, 0, "0" * 32) for i in range(256)))
            done = client.end(60)
    assert done.code == 1 and "the other end has 2 queue pairs, this one 3: give both the same -q" in done.err, done


def serve(said, *args):
    """What a server of ours answers to a client that says that, and how it ends."""
    port = free_port()
    with Running("-p", str(port), "--exchange=pingpong", *args) as server:
        server.wait_for("Waiting for client")
        with socket.create_connection(("localhost", port)) as stream:
            stream.sendall(said)
            answer = b""
            # Who does not like what it hears may have gone by now.
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_WR)
                while more := stream.recv(4096):
                    answer += more
        return answer, server.end(60)


@pytest.mark.parametrize("said, words", [
    pytest.param(b"RDMAPERF 002 HELLO    00000001\nx" + bytes(30), "the other end is not ibv_*_pingpong", marks=LONG),
    pytest.param(text(gid="0" * 32), "the other end tells no address: start it with -g INDEX", marks=LONG),
    pytest.param(text()[:20], "the other end has gone while addresses were exchanged", marks=LONG)], ids=["native", "address", "short"])
def test_a_client_that_says_something_else(said, words):
    answer, done = serve(said)
    assert done.code == 1 and words in done.err and answer == b"", done


@LONG
def test_a_server_answers_with_its_own_text():
    answer, done = serve(text() + b"done\0")
    assert TEXT.fullmatch(answer), answer
    assert done.code == 1 and "nothing has come for 4 s" in done.err, done
