# SPDX-License-Identifier: BSD-3-Clause
"""Examples that are two processes, on devices of softrnicd: those who sleep or wait leave the CPUs to the others."""

import os
import re
import signal
import socket
import tempfile
import threading
import time

import pytest

from e2e import example_readmes, examples
from e2e.example_readmes import MESSAGE, RECORD, Log, folder_of, pingpong, softrnicd
from e2e.examples import BUILT
from e2e.tcp_port import free_port
from size import FULL

# As ibv_rc_pingpong writes it: LID, number of the queue pair, first PSN, GID, and the NUL behind them.
TEXT = re.compile(rb"0000:[0-9a-f]{6}:[0-9a-f]{6}:[0-9a-f]{32}\0")


@pytest.fixture(name="folder")
def fixture_folder():
    with tempfile.TemporaryDirectory(prefix="rnic-pairs-") as made:
        yield made


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
    with softrnicd(examples.readme("rdma_pingpong", 1)[0][0]) as running:
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
def test_pingpong_is_not_held_by_a_client_that_says_nothing(daemon):
    port = free_port()
    server = pingpong(daemon, 1, "-p", str(port))
    examples.wait_for(server, "^waiting at TCP port")
    with socket.create_connection(("127.0.0.1", port)):
        code, output = examples.finish(server)
    assert code == 1 and "the other side does not answer" in output, output


@pytest.mark.long
def test_pingpong_says_who_is_not_there(daemon):
    port = free_port()
    code, output = examples.finish(pingpong(daemon, 2, "-p", str(port)))
    assert code == 1 and f"TCP port {port} of localhost: Connection refused" in output, output


def test_forward_and_serve_as_its_readme_says():
    example_readmes.forward_and_serve(BUILT, None)


@pytest.mark.long
def test_forward_peer_says_that_nobody_answers():
    (argv, _), _, (peer, _) = examples.readme("forward_and_serve")
    with softrnicd(argv) as daemon:
        code, output = examples.execute(examples.in_place(peer, folder_of(daemon)))
    assert code == 1 and "the forwarder's answer: nothing for 10 s" in output, output


def test_rdmo_log_as_its_readme_says(folder):
    example_readmes.rdmo_log(BUILT, folder)


def write_lines(path, producer, count):
    """Of all lengths that a line may have."""
    with open(path, "w", encoding="ascii") as text:
        text.writelines(f"{producer} {i} {'x' * (i * 7 % 900)}\n" for i in range(count))


@pytest.mark.long
def test_rdmo_log_goes_on_where_it_was(folder):
    """Three producers, whose log ends, and is killed, and is started again: each line is there once, whole, in its producer's order."""
    count = 2000
    with Log(folder) as log:
        for producer in range(3):
            write_lines(f"{folder}/{producer}", producer, count)
        tail = log.start_tail()
        producers = [log.start_producer(i, f"{folder}/{i}") for i in range(3)]
        for i in range(3):
            log.wait_for(f"^producer {i},")
        for number in (signal.SIGINT, signal.SIGKILL):
            tail.send_signal(number)
            assert tail.wait(examples.PATIENCE) == (0 if number == signal.SIGINT else -signal.SIGKILL), log.read()
            behind = len(log.read())
            tail = log.start_tail()
            log.wait_for("^producer", behind)
        for producer in producers:
            code, output = examples.finish(producer)
            assert code == 0 and f"{count} lines appended; waited 0 times" in output, output
        tail.send_signal(signal.SIGINT)
        assert tail.wait(examples.PATIENCE) == 0, log.read()
        said = log.read()
    for i in range(3):
        with open(f"{folder}/{i}", encoding="ascii") as text:
            wanted = text.read().splitlines()
        # Who was killed had printed some that it had not released.
        numbers = {int(number): line for producer, number, line in RECORD.findall(said) if producer == str(i)}
        assert [numbers[number] for number in sorted(numbers)] == wanted


def records_of(path, counts):
    """Count them by producer: each is the next of its producer's lines, as it was written."""
    with open(path, encoding="ascii") as said:
        for line in said:
            if found := RECORD.match(line):
                producer = int(found[1])
                assert found[2] == str(counts[producer] + 1) and found[3] == line_of(producer, counts[producer]), line
                counts[producer] += 1
            else:
                assert not line.startswith("damaged"), line


def line_of(producer, i):
    return f"{producer} {i} {'x' * (i * 7 % 23)}"


@pytest.mark.long
@pytest.mark.parametrize("faults", ("", "drop=10000", "dup=10000", "reorder=10000", "corrupt=10000",
                                    "drop=10000,dup=10000,reorder=10000,corrupt=10000"))
def test_rdmo_log_of_many_records(folder, faults):
    """Three producers, over wires that spoil one frame in a hundred: none is lost, torn, doubled or out of order."""
    count = (10 if FULL else 1) * (10**5 if faults else 10**6) // 3
    with Log(folder, faults=f",{faults}" if faults else "") as log:
        for producer in range(3):
            with open(f"{folder}/{producer}", "w", encoding="ascii") as text:
                text.writelines(f"{line_of(producer, i)}\n" for i in range(count))
        tail = log.start_tail()
        producers = [log.start_producer(i, f"{folder}/{i}") for i in range(3)]
        for producer in producers:
            code, output = examples.finish(producer)
            assert code == 0 and f"{count} lines appended" in output and "connected again 0 times" in output, output
        tail.send_signal(signal.SIGINT)
        assert tail.wait(examples.PATIENCE) == 0, log.read()[-1000:]
        counts = [0, 0, 0]
        records_of(log.said, counts)
        assert counts == [count] * 3


@pytest.mark.long
def test_rdmo_log_of_others_is_told(folder):
    """A ticket that is none, a producer's number that there is not, a log that has begun anew."""
    with Log(folder) as log:
        tail = log.start_tail()
        lines = f"{folder}/lines"
        write_lines(lines, 0, 1)
        code, output = examples.finish(log.start_producer(64, lines))
        assert code == 1 and "a line was refused: out of bounds" in output, output
        with open(f"{folder}/ticket", "a", encoding="ascii") as text:
            text.write("more\n")
        code, output = examples.finish(log.start_producer(0, lines))
        assert code == 0, output
        os.truncate(f"{folder}/ticket", 20)
        code, output = examples.finish(log.start_producer(0, lines))
        assert code == 1 and "/ticket is no ticket" in output, output
        tail.send_signal(signal.SIGINT)
        assert tail.wait(examples.PATIENCE) == 0, log.read()


def cpu_ticks(process):
    """Of its first thread, which is the main lcore's."""
    with open(f"/proc/{process.pid}/task/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def sleeps(process):
    before = cpu_ticks(process)
    time.sleep(1)
    assert cpu_ticks(process) - before <= os.sysconf("SC_CLK_TCK") // 10


def test_rdmo_queue_as_its_readme_says(folder):
    """Who takes sleeps while there is nothing to take."""
    example_readmes.rdmo_queue(BUILT, folder, idle=sleeps)


def test_rdmo_params_as_its_readme_says(folder):
    """And what cannot be set."""
    example_readmes.rdmo_params(BUILT, folder, wrong=("1000=1", "7", "7=", "=1", "7=x"))


@pytest.mark.long
def test_rdmo_queue_holds_its_senders_up(folder):
    """Ten times what it has room for, taken out slowly: none is refused, lost or out of order, and senders take as long."""
    count, ms = 700, 3
    with Log(folder, "rdmo_queue") as queue:
        for sender in range(2):
            write_lines(f"{folder}/{sender}", sender, count)
        take = queue.start_tail(str(ms))
        for sender in [queue.start_producer(i, f"{folder}/{i}") for i in range(2)]:
            code, output = examples.finish(sender)
            said = re.search(r"^(\d+) messages sent in ([0-9.]+) s; refused 0 times$", output, re.M)
            assert code == 0 and said and int(said[1]) == count, output
            # What the queue has room for may be there still.
            assert float(said[2]) > (count - 65536 / 450) * ms / 1000, output
        queue.wait_for(f"^sender 0, message {count}:")
        queue.wait_for(f"^sender 1, message {count}:")
        take.send_signal(signal.SIGINT)
        assert take.wait(examples.PATIENCE) == 0, queue.read()
        said = queue.read()
    for i in range(2):
        with open(f"{folder}/{i}", encoding="ascii") as text:
            wanted = text.read().splitlines()
        assert [line for sender, _, line in MESSAGE.findall(said) if sender == str(i)] == wanted


@pytest.mark.long
def test_rdmo_queue_refuses_after_a_while(folder):
    """A message takes longer than another one waits for its room: who sends is told, and sends again until there is some."""
    wanted = [f"{i} {'x' * 900}" for i in range(70)]
    with Log(folder, "rdmo_queue") as queue:
        with open(f"{folder}/lines", "w", encoding="ascii") as text:
            text.writelines(f"{line}\n" for line in wanted)
        take = queue.start_tail("3000")
        code, output = examples.finish(queue.start_producer(0, f"{folder}/lines"))
        assert code == 0 and re.search(r"^70 messages sent in .* refused [1-9]\d* times$", output, re.M), output
        # What it has is not lost when it ends, and takes no time then.
        take.send_signal(signal.SIGINT)
        assert take.wait(examples.PATIENCE) == 0, queue.read()
        assert sorted(line for _, _, line in MESSAGE.findall(queue.read())) == sorted(wanted)
