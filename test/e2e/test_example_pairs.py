# SPDX-License-Identifier: BSD-3-Clause
"""Examples that are two processes, on devices of softrnicd: those who sleep or wait leave the CPUs to the others."""

import re
import signal
import socket
import threading

import pytest

from daemon.softrnicd import Softrnicd
from e2e import examples
from e2e.tcp_port import free_port

# As ibv_rc_pingpong writes it: LID, number of the queue pair, first PSN, GID, and the NUL behind them.
TEXT = re.compile(rb"0000:[0-9a-f]{6}:[0-9a-f]{6}:[0-9a-f]{32}\0")


def devices_of(argv):
    """What a README's softrnicd has."""
    assert argv[:3] == ["softrnicd", "--dir", "wires"], argv
    return [value for option, value in zip(argv, argv[1:]) if option == "--device"]


def folder_of(daemon):
    return daemon.sockets[0].rpartition("/")[0]


def pingpong(daemon, side, *args):
    """The README's server (1) or client (2)."""
    argv, _ = examples.readme("rdma_pingpong", 1)[side]
    return examples.start([*examples.in_place(argv, folder_of(daemon)), *args], unique=f"-{side}")


class Between(threading.Thread):
    """Takes the client's connection, makes one to the server, and hands on what they say; which it keeps."""

    def __init__(self, port):
        super().__init__()
        self.to = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.said = []

    def hand_on(self, source, target, size):
        text = source.recv(size, socket.MSG_WAITALL)
        self.said.append(text)
        target.sendall(text)

    def run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.to))
        with self.listener, client, server:
            self.hand_on(client, server, 52)
            self.hand_on(server, client, 52)
            self.hand_on(client, server, 5)
            self.said.append(client.recv(1) + server.recv(1))


@pytest.fixture(name="daemon")
def fixture_daemon():
    with Softrnicd(devices_of(examples.readme("rdma_pingpong", 1)[0][0])) as running:
        yield running


def test_pingpong_of_two_processes(daemon):
    """As the README says, but for fewer rounds, another port, and somebody between them who hears what they say."""
    port = str(free_port())
    server = pingpong(daemon, 1, "-p", port, "net_rnic0", "100")
    examples.wait_for(server, f"^waiting at TCP port {port}$")
    between = Between(port)
    between.start()
    client = pingpong(daemon, 2, "-p", str(between.port), "net_rnic0", "100")
    for process, last in ((client, "pong 99"), (server, "ping 99")):
        code, output = examples.finish(process)
        assert code == 0 and f"the last message: {last}\n" in output, output
        assert re.search("^100 round trips of 64 bytes", output, re.M), output
    between.join()
    texts = between.said
    assert TEXT.fullmatch(texts[0]) and TEXT.fullmatch(texts[1]), texts
    assert texts[0] != texts[1] and texts[2:] == [b"done\0", b""], texts


@pytest.mark.long
def test_pingpong_server_ends_on_an_interrupt(daemon):
    server = pingpong(daemon, 1, "-p", str(free_port()))
    examples.wait_for(server, "^waiting at TCP port")
    code, output = examples.finish(server, signal.SIGINT)
    assert code == 0, output


@pytest.mark.long
def test_pingpong_refuses_what_is_no_address(daemon):
    port = free_port()
    server = pingpong(daemon, 1, "-p", str(port))
    examples.wait_for(server, "^waiting at TCP port")
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1".ljust(51) + b"\0")
        code, output = examples.finish(server)
    assert code == 1 and "not an address: GET /" in output, output


@pytest.mark.long
def test_pingpong_says_who_is_not_there(daemon):
    port = free_port()
    code, output = examples.finish(pingpong(daemon, 2, "-p", str(port)))
    assert code == 1 and f"TCP port {port} of localhost: Connection refused" in output, output


def test_forward_and_serve_as_its_readme_says():
    """Frames and a reader at once; then the table is written, and the frames go elsewhere."""
    (softrnicd, ready), (forwarder, serves), (peer, lines) = examples.readme("forward_and_serve")
    assert ready == ["ready wires/a.sock"], ready
    with Softrnicd(devices_of(softrnicd)) as daemon:
        forwarding = examples.start(examples.in_place(forwarder, folder_of(daemon)), unique="-forwarder")
        examples.wait_for(forwarding, "^" + re.escape(serves[0]) + "$")
        examples.wait_for(forwarding, "^port 1 serves at fe80::")
        code, output = examples.execute(examples.in_place(peer, folder_of(daemon)))
        assert code == 0, output
        # Every number of these lines: frames, counters, and where they came out.
        assert "\n".join(lines[:3]) + "\n" in output and examples.says(lines, output), output
        code, said = examples.finish(forwarding, signal.SIGINT)
        assert code == 0, said
        # The bytes are those of frames of 60: 3,000 of the peer's, each once.
        assert "3000 frames of 180000 bytes that an entry was for" in said, said
        daemon.stop()


@pytest.mark.long
def test_forward_peer_says_that_nobody_answers():
    (softrnicd, _), _, (peer, _) = examples.readme("forward_and_serve")
    with Softrnicd(devices_of(softrnicd)) as daemon:
        code, output = examples.execute(examples.in_place(peer, folder_of(daemon)))
    assert code == 1 and "the forwarder's answer: nothing for 10 s" in output, output
