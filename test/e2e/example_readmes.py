# SPDX-License-Identifier: BSD-3-Clause
"""
What the READMEs of examples/ say, done: by the programs that were built here, or by those of another place. Where they are several
processes, on devices of softrnicd, those who sleep or wait leave the CPUs to the others.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess

from daemon.softrnicd import Softrnicd, hand_over, until
from e2e import captures, examples
from e2e.examples import BUILT
from e2e.tcp_port import free_port

RECORD = re.compile(r"^producer (\d+), record (\d+): (.*)$", re.M)
MESSAGE = re.compile(r"^sender (\d+), message (\d+): (.*)$", re.M)
BROADCASTS = [b"\xff" * 6 + b"\2\0\0\0\0\x99\x88\xb5" + bytes([i] * 46) for i in range(100)]


@contextlib.contextmanager
def softrnicd(argv, place=BUILT, count=None):
    """The one that a README starts."""
    assert argv[:3] == ["softrnicd", "--dir", "wires"], argv
    devices = [value for option, value in zip(argv, argv[1:]) if option == "--device"]
    with Softrnicd(devices, count=count) as daemon:
        if place.owner is not None:
            hand_over(daemon, *place.owner)
        yield daemon


def folder_of(daemon):
    return daemon.sockets[0].rpartition("/")[0]


# ---- rdma_pingpong ----

def pingpong(daemon, side, *args, place=BUILT):
    """The README's server (1) or client (2)."""
    argv, _ = examples.readme("rdma_pingpong", 1)[side]
    return examples.start([*examples.in_place(argv, folder_of(daemon)), *args], f"-{side}", place)


def rdma_pingpong(place, _):
    """One process, then two; but for fewer rounds and another port."""
    examples.run_readme("rdma_pingpong", place)
    port = str(free_port())
    with softrnicd(examples.readme("rdma_pingpong", 1)[0][0], place) as daemon:
        server = pingpong(daemon, 1, "-p", port, "net_rnic0", "100", place=place)
        examples.wait_for(server, f"^waiting at TCP port {port}$")
        client = pingpong(daemon, 2, "-p", port, "net_rnic0", "100", place=place)
        for process, last in ((client, "pong 99"), (server, "ping 99")):
            code, output = examples.finish(process)
            assert code == 0 and f"the last message: {last}\n" in output, output


# ---- raw_capture ----

def raw_capture(place, folder, frames=(), wanted=()):
    """The frames that it is given, and those that are to come out; by themselves a hundred for all."""
    frames = frames or BROADCASTS
    captures.write(f"{folder}/in.pcap", frames)
    (argv, lines), = examples.readme("raw_capture")
    argv = [re.sub(r"(^|=)(in|out)\.pcap", rf"\1{folder}/\2.pcap", arg) for arg in argv]
    code, output = examples.execute(argv, place)
    assert code == 0 and examples.says([line.replace("out.pcap", f"{folder}/out.pcap") for line in lines], output), output
    written, times = captures.read(f"{folder}/out.pcap")
    assert written == list(wanted or frames) and times == sorted(times), output


# ---- forward_and_serve ----

def forward_and_serve(place, _):
    """Frames and a reader at once; then the table is written, and the frames go elsewhere."""
    (argv, ready), (forwarder, serves), (peer, lines) = examples.readme("forward_and_serve")
    assert ready == ["ready wires/a.sock"], ready
    with softrnicd(argv, place) as daemon:
        forwarding = examples.start(examples.in_place(forwarder, folder_of(daemon)), "-forwarder", place)
        examples.wait_for(forwarding, "^" + re.escape(serves[0]) + "$")
        examples.wait_for(forwarding, "^port 1 serves at fe80::")
        code, output = examples.execute(examples.in_place(peer, folder_of(daemon)), place)
        assert code == 0, output
        # Every number of these lines: frames, counters, and where they came out.
        assert "\n".join(lines[:3]) + "\n" in output and examples.says(lines, output), output
        code, said = examples.finish(forwarding, signal.SIGINT)
        assert code == 0, said
        # The bytes are those of frames of 60: 3,000 of the peer's, each once.
        assert "3000 frames of 180000 bytes that an entry was for" in said, said
        # It leaves sockets that it finds to be somebody else's.
        if place.owner is None:
            daemon.stop()


# ---- rdmo_log, rdmo_queue and rdmo_params ----

class Log:
    """rdmo_log's README, or that of one alike: its daemon, whose log it is, and producers, which are on a switch."""

    def __init__(self, folder, example="rdmo_log", place=BUILT, faults=""):
        (argv, ready), (self.tail, self.tells), (self.producer, self.told), *self.others = examples.readme(example)
        argv = [arg + faults if arg.startswith("name=") else arg for arg in argv]
        assert ready == ["ready wires/w0.sock"], ready
        self.folder = folder
        self.place = place
        self.address = f"127.0.0.1:{free_port()}"
        self.stack = contextlib.ExitStack()
        self.daemon = self.stack.enter_context(softrnicd(argv, place, count=4))
        self.said = f"{folder}/said"
        self.processes = []

    def read(self):
        """What all tails have said."""
        with open(self.said, encoding="utf-8") as text:
            return text.read()

    def wait_for(self, pattern, behind=0):
        until(lambda: re.search(pattern, self.read()[behind:], re.M), pattern)

    def command(self, argv, device, *args):
        """With ticket and log in the folder."""
        argv = [re.sub("w[01]", device, arg) if arg.startswith("--vdev") else arg for arg in argv]
        argv = [f"{self.folder}/{arg}" if arg in ("ticket", "log") else arg for arg in argv]
        argv = ["--lcores=0@(0-1),1@(0-1)" if arg.startswith("--lcores") else arg for arg in argv]
        return [*examples.in_place(argv, folder_of(self.daemon)), *args]

    def start_tail(self, *args):
        """Which has all that it says in a file: it is waited for, and nothing of it gets lost."""
        argv = examples.command(self.command(self.tail, "w0", self.address, *args), "-tail", self.place)
        with open(self.said, "a", encoding="utf-8") as said:
            behind = said.tell()
            self.processes.append(subprocess.Popen(argv, env=self.place.env, stdout=said, stderr=subprocess.STDOUT))
        self.wait_for(f"^listening at {self.address}$", behind)
        return self.processes[-1]

    def start_producer(self, producer, lines):
        argv = self.command(self.producer[:-2], f"w{1 + producer % 3}", str(producer), lines)
        self.processes.append(examples.start(argv, f"-{producer}", self.place))
        return self.processes[-1]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.stack.__exit__(kind, value, trace)


def makefile_of(example, folder):
    """A copy of what the READMEs send, and its lines: the program may not look into the folder of the sources."""
    path = shutil.copy(os.path.join(examples.FOLDER, example, "Makefile"), folder)
    with open(path, encoding="utf-8") as text:
        return path, text.read().splitlines()


def rdmo_log(place, folder):
    """But for the address. All lines of the file are there, in its order; the ticket is nobody else's."""
    path, lines = makefile_of("rdmo_log", folder)
    with Log(folder, "rdmo_log", place) as log:
        tail = log.start_tail()
        assert os.stat(f"{folder}/ticket").st_mode & 0o777 == 0o600
        code, output = examples.finish(log.start_producer(7, path))
        assert code == 0 and examples.says(log.told, output) and f"{len(lines)} lines appended" in output, output
        tail.send_signal(signal.SIGINT)
        code, output = tail.wait(examples.PATIENCE), log.read()
        assert code == 0 and examples.says(log.tells, output) and f"\n{len(lines)} lines\n" in output, output
        assert RECORD.findall(output) == [("7", str(i + 1), line) for i, line in enumerate(lines)], output


def rdmo_queue(place, folder, idle=lambda process: None):
    """But for the address. `idle` is called with the one who takes, while there is nothing to take."""
    path, lines = makefile_of("rdmo_queue", folder)
    with Log(folder, "rdmo_queue", place) as queue:
        take = queue.start_tail()
        assert os.stat(f"{folder}/ticket").st_mode & 0o777 == 0o600
        idle(take)
        code, output = examples.finish(queue.start_producer(7, path))
        assert code == 0 and examples.says(queue.told, output) and f"{len(lines)} messages sent" in output, output
        queue.wait_for(f"^sender 7, message {len(lines)}:")
        take.send_signal(signal.SIGINT)
        code, output = take.wait(examples.PATIENCE), queue.read()
        assert code == 0 and examples.says(queue.tells, output) and f"\n{len(lines)} messages\n" in output, output
        assert MESSAGE.findall(output) == [("7", str(i + 1), line) for i, line in enumerate(lines)], output


def rdmo_params(place, folder, wrong=()):
    """But for the address. `wrong`: changes that are none."""
    with Log(folder, "rdmo_params", place) as params:
        server = params.start_tail()
        assert os.stat(f"{folder}/ticket").st_mode & 0o777 == 0o600
        code, output = examples.execute(params.command(params.producer, "w1"), place)
        assert code == 0 and examples.says(params.told, output), output
        (reader, told), = params.others
        code, output = examples.execute(params.command(reader, "w2"), place)
        assert code == 0 and examples.says(told, output), output
        assert re.findall(r"^parameter (\d+): (\d+)$", output, re.M) == [("7", "42"), ("999", "1")], output
        params.wait_for("^parameter 7: 42, was 0$")
        params.wait_for("^parameter 999: 1, was 0$")
        for change in wrong:
            code, output = examples.execute([*params.command(params.producer[:-2], "w1"), change], place)
            assert code == 1 and change in output, output
        server.send_signal(signal.SIGINT)
        assert server.wait(examples.PATIENCE) == 0, params.read()


# ---- Any of them ----

OWN_WAY = {"rdma_pingpong": rdma_pingpong, "raw_capture": raw_capture, "forward_and_serve": forward_and_serve, "rdmo_log": rdmo_log,
           "rdmo_queue": rdmo_queue, "rdmo_params": rdmo_params}


def run(name, place, folder):
    """All that the README of that example does; `folder` is for its files."""
    if name in OWN_WAY:
        OWN_WAY[name](place, folder)
    else:
        examples.run_readme(name, place)
