# SPDX-License-Identifier: BSD-3-Clause
"""softrnicd from outside: its command line, its start and its end, what it gives up."""

import errno
import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time

import pytest

from daemon.softrnicd import PATIENCE, PROGRAM, SANITIZED, least_ticks


def run(*args, env=None):
    return subprocess.run([PROGRAM, *args], env=env, text=True, capture_output=True, timeout=PATIENCE)


def said_at_start(*args):
    """What it says on stdout and, if it ends, on stderr."""
    with subprocess.Popen([PROGRAM, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        line = process.stdout.readline()
        if line:
            process.terminate()
        return line, process.communicate(timeout=PATIENCE)[1]


class Daemon:
    """One process; use as a context. Its log is in `log` once it has ended."""

    def __init__(self, *args, env=None, ready=1):
        self.process = subprocess.Popen([PROGRAM, *args], env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self.sockets = []
        self.log = ""
        for _ in range(ready):
            line = self.process.stdout.readline()
            if not line.startswith("ready "):
                self.end(signal.SIGKILL)
                raise AssertionError(f"not ready: {line!r} {self.log}")
            self.sockets.append(line.split()[1])

    def end(self, number=signal.SIGTERM):
        """Send the signal; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, log = self.process.communicate(timeout=PATIENCE)
        self.log += log
        return self.process.returncode

    def status(self, key):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            return dict(line.split(":", 1) for line in status)[key].strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)


@pytest.fixture(name="room")
def fixture_room():
    """A folder with a short name: the path of a socket has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="softrnicd-", dir="/tmp") as name:
        yield pathlib.Path(name)


@pytest.fixture(name="folder")
def fixture_folder(room):
    return str(room / "s")


# ---- The command line ----

def test_help_has_examples():
    done = run("--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "\n  softrnicd --device name=a,wire=pair:cable" in done.stdout
    for key in ("name=", "socket=", "wire=pair:", "mac=", "like=", "id=", "drop=", "seed=", "health=", "fatal=", "bf=",
                "quirks="):
        assert key in done.stdout
    assert run("--version").stdout.startswith("softrnicd ")


@pytest.mark.parametrize("args,said", [
    (["--bogus"], "unknown option --bogus"),
    (["word"], 'unknown option "word"'),
    (["--dir"], "--dir wants a value"),
    (["--device"], "--device wants a value"),
    (["--device", "foo=1"],
     "there are name count socket wire rx_pcap tx_pcap mac like id drop dup reorder corrupt delay rule bytes seed health fatal bf thread quirks"),
    (["--device", "name"], "not KEY=VALUE"),
    (["--device", "name=a,,bf=1"], "not KEY=VALUE"),
    (["--device", "name=a,name=b"], "twice"),
    (["--device", "name=a/b"], "name="),
    (["--device", "name=.."], "name="),
    (["--device", "name=" + "x" * 64], "name="),
    (["--device", "name=a", "--device", "name=a"], "two devices"),
    (["--device", "wire=pair:"], "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES"),
    (["--device", "wire=switch:"], "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES"),
    (["--device", "wire=port:"], "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES"),
    (["--device", "wire=null:x"], "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES"),
    (["--device", "wire=pcap:file"], "loop, pair:NAME, switch:NAME, port:ETHDEV, pcap, null or source:BYTES"),
    (["--device", "rx_pcap="], "a path of 1 to 255 bytes"),
    (["--device", "wire=pcap,iface=eth0"], "wanted is wire=port:net_af_packet0"),
    (["--device", "mac=02:00:00:00:00"], "mac="),
    (["--device", "mac=03:00:00:00:00:00"], "no group address"),
    (["--device", "mac=02:00:00:00:00:001"], "mac="),
    (["--device", "like="], "one of default, cx4lx"),
    (["--device", "like=cx3"], "one of default, cx4lx"),
    (["--device", "id=15b3"], "VVVV:DDDD"),
    (["--device", "id=15b3:101g"], "VVVV:DDDD"),
    (["--device", "id=ffff:ffff"], "VVVV:DDDD"),
    (["--device", "drop=1000001"], "parts per million"),
    (["--device", "drop=-1"], "parts per million"),
    (["--device", "delay=10000001"], "microseconds, 0 to 10000000"),
    (["--device", "delay=1ms"], "microseconds, 0 to 10000000"),
    (["--device", "rule="], "up to 16 rules"),
    (["--device", "rule=drop/psn:0x1000000"], "up to 16 rules"),
    (["--device", "rule=drop/bit:1"], "up to 16 rules"),
    (["--device", "rule=drop+"], "up to 16 rules"),
    (["--device", "rule=" + "+".join(["drop/nth:1"] * 17)], "up to 16 rules"),
    (["--device", "health=0"], "milliseconds, at least 1"),
    (["--device", "fatal=1s"], "milliseconds, at least 1"),
    (["--device", "bf=2"], "0 or 1"),
    (["--device", "quirks=uar-8+"], "names with + between them"),
    (["--device", "quirks=uar-9"], "uar-8 uar-16 uar-256"),
    (["--device", "quirks=uar-8+uar-16"], "one each of uar-"),
    (["--device", "socket=" + "/x" * 60], "107 bytes"),
    (["--client-memory", "lots"], "at least 1M"),
    (["--client-memory", "1023K"], "at least 1M"),
    (["--client-memory", "0"], "at least 1M"),
    (["--client-memory", "17179869184G"], "at least 1M"),
    (["--client-memory", "1" * 40], "at least 1M"),
    (["--threads", "0"], "a number, 1 to 64"),
    (["--threads", "65"], "a number, 1 to 64"),
    (["--threads", "two"], "a number, 1 to 64"),
    (["--device", "thread=1"], "thread=1: there are 1 (--threads)"),
    (["--threads", "2", "--device", "thread=2"], "thread=2: there are 2 (--threads)"),
    (["--device", "thread=64"], "a thread's number, 0 to 63"),
    (["--device", "thread=-1"], "a thread's number, 0 to 63"),
    (["--log-level", "loud"], "error, warning, info, debug"),
    (["--", "-l", "0"], "EAL option -l: --threads sets the number"),
    (["--", "--no-huge", "--main-lcore=1"], "EAL option --main-lcore=1: --threads sets the number"),
    (["--device", "count=0"], "a number of devices, 1 to 64"),
    (["--device", "count=65"], "a number of devices, 1 to 64"),
    (["--device", "count=-1"], "a number of devices, 1 to 64"),
    (["--device", "count=2x"], "a number of devices, 1 to 64"),
    (["--device", "count="], "a number of devices, 1 to 64"),
    (["--device", "count=2,count=2"], "twice"),
    (["--device", "count=2,socket=x"], "not for count="),
    (["--device", "wire=pcap,tx_pcap=x,count=2"], "not for count="),
    (["--device", "name=" + "x" * 63 + ",count=2"], "too long"),
    (["--device", "mac=02:00:00:ff:ff:ff,count=2"], "no room for count="),
    (["--device", "count=60", "--device", "count=5"], "more than 64 devices"),
    (["--device", "name=f,count=2", "--device", "name=f1"], "two devices"),
    (["--device", "bf=1"] * 65, "more than 64 devices"),
])
def test_usage_errors(args, said):
    done = run(*args)
    assert done.returncode == 2, done
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_what_it_cannot_do_it_says(room):
    done = run("--dir", str(room / "no" / "such"))
    assert done.returncode == 1 and "--dir" in done.stderr
    (room / "file").write_text("")
    done = run("--dir", str(room / "file"))
    assert done.returncode == 1 and "is no folder" in done.stderr
    open_to_all = room / "open"
    open_to_all.mkdir()
    # That nobody but its owner may remove what is there keeps nobody from putting something there.
    for mode in (0o777, 0o1777, 0o1770):
        open_to_all.chmod(mode)
        line, said = said_at_start("--dir", str(open_to_all))
        assert line == "" and "others can put files" in said and "--dir" in said, (line, mode)
    done = run("--dir", str(room), "--device", "name=" + "x" * 63, "--device", "socket=" + "y" * 99)
    assert done.returncode == 1 and "107 bytes" in done.stderr
    assert run("--dir", "x" * 108).returncode == 2
    done = run("--dir", str(room / "s"), "--device", "wire=source:59")
    assert done.returncode == 1 and "60 to " in done.stderr
    done = run("--dir", str(room / "s"), *["--device", "wire=pair:x"] * 3)
    assert done.returncode == 1 and "already joins" in done.stderr
    assert os.listdir(room / "s") == []


# ---- The folder ----

@pytest.fixture(name="theirs")
def fixture_theirs(room):
    """A folder of somebody else's, where only he may put things; not sticky, so that the kernel follows his links."""
    if os.geteuid() != 0:
        pytest.skip("only root can be led where others may not go")
    nobody = pwd.getpwnam("nobody")
    theirs = room / "theirs"
    theirs.mkdir()
    os.chown(theirs, nobody.pw_uid, nobody.pw_gid)
    room.chmod(0o755)
    return theirs


@pytest.mark.parametrize("option", ["--dir {}/rnic", "--dir {}/rnic/", "--dir {}/rnic/s", "--dir {}/../theirs/rnic/s",
                                    "--dir {}/twice/s", "--device socket={}/rnic/s.sock"])
def test_links_of_strangers_are_not_followed(room, theirs, option):
    """They led root into a folder of his own, where sockets and lock files appeared."""
    ours = room / "etc"
    ours.mkdir()
    for name, target in (("rnic", "../etc"), ("twice", f"{theirs}/rnic")):
        (theirs / name).symlink_to(target)
        os.chown(theirs / name, *theirs.stat()[4:6], follow_symlinks=False)
    before = ours.stat().st_mtime_ns
    line, said = said_at_start(*option.format(theirs).split())
    assert line == "" and ours.stat().st_mtime_ns == before, f"{line.strip()}; something was made in {ours}"
    assert "--dir" in said


def test_links_on_the_way_may_be_our_own(room):
    (room / "real").mkdir()
    (room / "link").symlink_to("real")
    (room / "link2").symlink_to(f"{room}/link/../link")
    for args, path in ((("--dir", f"{room}/link2/s"), "rnic0.sock"),
                       (("--device", f"socket={room}/link2/x"), "x")):
        with Daemon(*args) as daemon:
            assert os.path.basename(daemon.sockets[0]) == path
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(daemon.sockets[0])
            assert daemon.end() == 0
    assert os.listdir(room / "real") == ["s"] and os.listdir(room / "real" / "s") == []
    # It is a link itself, and might be another one tomorrow.
    line, said = said_at_start("--dir", str(room / "link"))
    assert line == "" and "a link to one" in said
    (room / "loop").symlink_to("loop")
    assert "Too many levels" in run("--dir", str(room / "loop" / "s")).stderr


def test_a_folder_that_is_put_elsewhere_stays_the_same(room, folder):
    """Whoever may rename it does not choose where the daemon removes something."""
    with Daemon("--dir", folder) as daemon:
        os.rename(folder, room / "moved")
        os.mkdir(folder)
        (room / "s" / "rnic0.sock").write_text("precious")
        assert daemon.end() == 0
    assert os.listdir(room / "moved") == [] and os.listdir(folder) == ["rnic0.sock"]


def test_a_lock_with_two_names_is_not_written_to(room, folder):
    """The other name may be one of a file that matters."""
    os.mkdir(folder, 0o700)
    (room / "precious").write_text("precious")
    os.link(room / "precious", f"{folder}/rnic0.sock.lock")
    line, said = said_at_start("--dir", folder)
    assert (room / "precious").read_text() == "precious"
    assert line == "" and "two names" in said


# ---- Start and end ----

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_and_its_sockets(folder, number):
    with Daemon("--dir", folder, "--device", "name=a", "--device", "mac=02:00:00:00:00:01",
                "--device", "socket=third", ready=3) as daemon:
        assert daemon.sockets == [f"{folder}/a.sock", f"{folder}/rnic1.sock", f"{folder}/third"]
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for path in daemon.sockets:
            assert stat.S_ISSOCK(os.stat(path).st_mode)
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert daemon.end(number) == 0, daemon.log
        assert os.listdir(folder) == []


def test_count_makes_devices_with_numbers(folder):
    with Daemon("--dir", folder, "--device", "name=f,count=3,wire=switch:hub", "--device", "wire=switch:hub",
                "--device", "count=2,bf=1", ready=6) as daemon:
        assert daemon.sockets == [f"{folder}/{name}.sock" for name in ("f0", "f1", "f2", "rnic3", "rnic4", "rnic5")]
        for path in daemon.sockets:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
        assert daemon.end() == 0, daemon.log
        assert os.listdir(folder) == []


def test_there_may_be_64_devices(folder):
    with Daemon("--dir", folder, "--device", "name=f,count=64,wire=switch:hub", ready=64) as daemon:
        assert daemon.sockets == [f"{folder}/f{number}.sock" for number in range(64)]
        assert daemon.end() == 0, daemon.log


def test_default_folder(room):
    env = dict(os.environ, XDG_RUNTIME_DIR=str(room))
    with Daemon(env=env) as daemon:
        assert daemon.sockets == [f"{room}/softrnic/rnic0.sock"]
        assert daemon.end() == 0
    # The folder that it made is good enough the next time.
    with Daemon(env=env) as daemon:
        assert daemon.end() == 0


def test_a_living_holder_is_named(folder):
    with Daemon("--dir", folder) as daemon:
        done = run("--dir", folder)
        assert done.returncode == 1
        assert f"process {daemon.pid} (softrnicd)" in done.stderr
        # The second device of a daemon that fails takes the first one's socket along.
        done = run("--dir", folder, "--device", "name=x", "--device", "name=rnic0")
        assert done.returncode == 1
        assert sorted(os.listdir(folder)) == ["rnic0.sock", "rnic0.sock.lock"]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(daemon.sockets[0])
        assert daemon.end() == 0


def test_a_foreign_holder_and_a_file_are_left_alone(room):
    path = str(room / "dev")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen()
        done = run("--device", f"socket={path}")
        assert done.returncode == 1 and f"process {os.getpid()} " in done.stderr
        assert stat.S_ISSOCK(os.stat(path).st_mode)
    os.unlink(path)
    (room / "dev").write_text("precious")
    done = run("--device", f"socket={path}")
    assert done.returncode == 1 and "no socket" in done.stderr
    assert (room / "dev").read_text() == "precious"


def test_a_stale_socket_is_replaced(folder):
    with Daemon("--dir", folder) as daemon:
        daemon.end(signal.SIGKILL)
        assert sorted(os.listdir(folder)) == ["rnic0.sock", "rnic0.sock.lock"]
    with Daemon("--dir", folder) as daemon:
        assert daemon.end() == 0
        assert "left behind by a dead server" in daemon.log
    assert os.listdir(folder) == []


def test_log_level(folder):
    with Daemon("--dir", folder, "--log-level", "error") as daemon:
        assert daemon.end() == 0
        assert daemon.log == ""


def test_idle_costs_nothing(folder):
    with Daemon("--dir", folder) as daemon:
        assert least_ticks(daemon.pid, 2) <= 2


# ---- Strangers ----

def test_strangers_are_survived(folder):
    with Daemon("--dir", folder) as daemon:
        fds = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 16, b"\xff" * 4096):
            for _ in range(5):
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(daemon.sockets[0])
                    if data:
                        client.sendall(data)
        deadline = time.monotonic() + PATIENCE
        while len(os.listdir(f"/proc/{daemon.pid}/fd")) != fds:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert daemon.end() == 0, daemon.log


def test_who_says_nothing_is_hung_up_on(folder):
    with Daemon("--dir", folder) as daemon:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(daemon.sockets[0])
            assert select.select([client], [], [], PATIENCE)[0], "still connected"
            assert client.recv(1) == b""
        assert daemon.end() == 0, daemon.log


# ---- Messages to people ----

def message(command, payload, flags=0):
    return struct.pack("<HHIII", 1, command, 16 + len(payload), flags, 0) + payload


VERSION = message(1, b"\0\0\1\0{}\0")
GET_INFO = message(4, struct.pack("<4I", 16, 0, 0, 0))
# Writable memory without a file, no answer wanted: a message to people each time.
REFUSED = message(2, struct.pack("<IIQQQ", 32, 3, 0, 0, 4096), flags=0x10)


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(path)
    client.sendall(VERSION)
    assert client.recv(4096)
    return client


def flood(path):
    """Returns when all of it has been worked off."""
    with connect(path) as client:
        for _ in range(200):
            client.sendall(REFUSED * 100)
        client.sendall(GET_INFO)
        assert client.recv(100)


def test_a_client_does_not_decide_how_much_is_logged(folder, room):
    with open(room / "log", "wb") as log:
        daemon = subprocess.Popen([PROGRAM, "--dir", folder, "--device", "name=a", "--device", "name=b"],
                                  text=True, stdout=subprocess.PIPE, stderr=log)
    try:
        paths = [daemon.stdout.readline().split()[1] for _ in "ab"]
        begin = time.monotonic()
        flood(paths[0])
        # 200 lines, and 10 with each second that it took.
        lines = 200 + 10 * (time.monotonic() - begin)
        assert (room / "log").stat().st_size < 1000 * lines
        assert "a: more messages are left out" in (room / "log").read_text()
        # The other device has its own share; and what was left out is said.
        connect(paths[1]).close()
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
        said = (room / "log").read_text()
        assert re.search(r"b: client \d+ .* connected", said)
        assert sum(int(n) for n in re.findall(r"a: (\d+) messages left out", said)) > 20000 - 2 * lines
    finally:
        daemon.kill()
        daemon.communicate()


# ---- Memory ----

def dma(client, command, iova, size, fd=None):
    """DMA_MAP (2) of the file's start or DMA_UNMAP (3); the error of the answer."""
    payload = (struct.pack("<IIQQQ", 32, 3, 0, iova, size) if command == 2
               else struct.pack("<IIQQ", 24, 0, iova, size))
    socket.send_fds(client, [message(command, payload)], [] if fd is None else [fd])
    return struct.unpack("<HHIII", client.recv(4096)[:16])[4]


def memory(size, there):
    fd = os.memfd_create("client")
    os.ftruncate(fd, size)
    os.pwrite(fd, bytes(there), 0)
    return fd


def test_holes_are_said_once_by_default(folder):
    fds = [memory(64 << 20, 0), memory(64 << 20, 0)]
    with Daemon("--dir", folder) as daemon:
        for _ in range(2):
            with connect(daemon.sockets[0]) as client:
                assert dma(client, 2, 0, 64 << 20, fds[0]) == 0
                assert dma(client, 2, 1 << 30, 64 << 20, fds[1]) == 0
        assert daemon.end() == 0
        assert daemon.log.count("are not there yet") == 2
        assert f"{64 << 20} bytes of the client's memory" in daemon.log
    for fd in fds:
        os.close(fd)


def test_holes_have_a_limit_where_there_is_one(folder):
    hollow, full, half = memory(9 << 20, 0), memory(64 << 20, 64 << 20), memory(10 << 20, 5 << 20)
    with Daemon("--dir", folder, "--client-memory", "10M") as daemon:
        with connect(daemon.sockets[0]) as client:
            assert dma(client, 2, 0, 64 << 20, full) == 0
            assert dma(client, 2, 1 << 30, 9 << 20, hollow) == 0
            # The same file a second time has the same holes; another one has more.
            assert dma(client, 2, 2 << 30, 9 << 20, hollow) == 0
            assert dma(client, 2, 3 << 30, 10 << 20, half) == errno.ENOSPC
            assert dma(client, 3, 1 << 30, 9 << 20) == 0
            assert dma(client, 2, 3 << 30, 10 << 20, half) == errno.ENOSPC
            assert dma(client, 3, 2 << 30, 9 << 20) == 0
            assert dma(client, 2, 3 << 30, 10 << 20, half) == 0
        assert daemon.end() == 0
        assert "refused by --client-memory" in daemon.log
    for fd in (hollow, full, half):
        os.close(fd)


def full_pipe():
    read, write = os.pipe()
    return read, write, os.open(f"/proc/self/fd/{write}", os.O_WRONLY | os.O_NONBLOCK)


def full_socket():
    ours, theirs = socket.socketpair()
    fill = os.dup(theirs.fileno())
    return ours.detach(), theirs.detach(), fill


def full_terminal():
    ours, theirs = os.openpty()
    return ours, theirs, os.open(os.ttyname(theirs), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)


def fill_up(kind, fd):
    try:
        while True:
            if kind is full_socket:
                with socket.socket(fileno=os.dup(fd)) as end:
                    end.send(b"x" * 100, socket.MSG_DONTWAIT)
            else:
                os.write(fd, b"x" * 100)
    except BlockingIOError:
        os.close(fd)


@pytest.mark.parametrize("kind", [full_pipe, full_socket, full_terminal])
def test_messages_that_nobody_reads_stop_nothing(folder, kind):
    ours, theirs, filler = kind()
    daemon = subprocess.Popen([PROGRAM, "--dir", folder, "--device", "name=a", "--device", "name=b"],
                              text=True, stdout=subprocess.PIPE, stderr=theirs)
    try:
        paths = [daemon.stdout.readline().split()[1] for _ in "ab"]
        fill_up(kind, filler)
        with connect(paths[1]) as innocent:
            flood(paths[0])
            innocent.sendall(GET_INFO)
            assert innocent.recv(100)
            # What is shared with others is left as it was.
            assert os.get_blocking(theirs)
            # Somebody reads again: and is told.
            os.set_blocking(ours, False)
            said = b""
            deadline = time.monotonic() + PATIENCE
            while b"messages are lost" not in said:
                assert time.monotonic() < deadline, said[-1000:]
                connect(paths[0]).close()
                time.sleep(0.1)
                try:
                    said = said[-1000:] + os.read(ours, 1 << 20)
                except BlockingIOError:
                    pass
        fill_up(kind, os.dup(theirs) if kind is full_socket
                else os.open(f"/proc/self/fd/{theirs}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
    finally:
        daemon.kill()
        daemon.communicate()
        os.close(ours)
        os.close(theirs)


# ---- The jail ----

ROOT = os.geteuid() == 0


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return {key: value.strip() for key, value in (line.split(":", 1) for line in status)}


def is_nobody_special(status):
    """Neither root, nor of his groups, whatever the number that is looked at."""
    return "0" not in status["Uid"].split() + status["Gid"].split() + status["Groups"].split()


def test_privileges_are_gone(folder):
    with Daemon("--dir", folder) as daemon:
        for caps in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(daemon.status(caps), 16) == 0
        if ROOT:
            assert int(daemon.status("CapBnd"), 16) == 0
        assert daemon.status("NoNewPrivs") == "1"
        if not SANITIZED:
            assert daemon.status("Seccomp") == "2"
            assert is_nobody_special(status_of(daemon.pid)) or not ROOT, daemon.status("Uid")
        # Nothing that was open here is open there.
        inherited = os.pipe()
        os.set_inheritable(inherited[1], True)
        assert daemon.end() == 0
        assert SANITIZED == ("no jail, and still user" in daemon.log)
    subprocess_fds = subprocess.Popen(
        [PROGRAM, "--dir", folder], close_fds=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    try:
        assert subprocess_fds.stdout.readline().startswith("ready ")
        ours = os.stat(inherited[1])
        for pid in (subprocess_fds.pid, *children(subprocess_fds.pid)):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                theirs = os.stat(f"/proc/{pid}/fd/{fd}")
                assert (theirs.st_dev, theirs.st_ino) != (ours.st_dev, ours.st_ino)
    finally:
        subprocess_fds.terminate()
        subprocess_fds.communicate(timeout=PATIENCE)
        os.close(inherited[0])
        os.close(inherited[1])


DENIED = ("openat", "socket", "execve", "ptrace", "clone", "mmap of code", "mprotect", "unlink", "rename",
          "unlink of the socket", "rename of the socket", "making a file", "mkdir", "rmdir", "mknod", "symlink", "link", "chmod")


@pytest.mark.parametrize("place", ["outside", "s/below"], ids=("outside", "below"))
@pytest.mark.parametrize("user", [None, "nobody"])
def test_the_jail_holds(room, folder, user, place):
    """Also below its sockets' folder, where it could remove files."""
    if user is not None and not ROOT:
        pytest.skip("is an ordinary user already")
    room.chmod(0o755)
    os.makedirs(f"{folder}/below", 0o700)
    os.makedirs(room / place, exist_ok=True)
    precious = room / place / "precious"
    precious.write_text("")
    if user is not None:
        for path in (folder, f"{folder}/below", room / place, precious):
            shutil.chown(path, user)
    program = shutil.copy(PROGRAM, room)
    done = subprocess.run([program, "--dir", folder, "--probe-jail", precious], text=True, capture_output=True,
                          timeout=PATIENCE, user=user, group=user and pwd.getpwnam(user).pw_gid, extra_groups=user and [])
    if SANITIZED:
        # Its runtime cannot live in there, and nobody shall think that it does.
        assert done.returncode == 1 and "no jail" in done.stderr
        return
    assert "ALLOWED" not in done.stdout, done.stdout
    assert done.returncode == 0, done
    for call in DENIED:
        assert re.search(f"^denied {call}: ", done.stdout, re.M), done.stdout
    assert precious.exists() and os.listdir(folder) == ["below"]
    assert int(re.search(r"(\d+) system calls allowed", done.stderr).group(1)) <= 30
    status = dict(re.findall(r"^(\w+):\t(.*)$", done.stdout, re.M))
    assert is_nobody_special(status) or not ROOT, status
    caps = ["CapInh", "CapPrm", "CapEff", "CapAmb"] + ["CapBnd"] * (ROOT and user is None)
    assert not any(int(status[key], 16) for key in caps), status


def test_whom_it_becomes(folder):
    for user, said in (("nobody-of-that-name", "no such user"), *([] if ROOT else [("root", "only root")])):
        done = run("--dir", folder, "--user", user)
        assert done.returncode == 1 and said in done.stderr
    if not ROOT or SANITIZED:
        return
    daemon = pwd.getpwnam("daemon")
    for user, uid, gid in (("daemon", daemon.pw_uid, daemon.pw_gid), ("root", 0, 0)):
        with Daemon("--dir", folder, "--user", user) as process:
            assert process.status("Uid").split() == [str(uid)] * 4 and process.status("Gid").split() == [str(gid)] * 4
            # What it has made is still root's.
            assert os.stat(folder).st_uid == os.stat(process.sockets[0]).st_uid == 0
            assert int(process.status("CapPrm"), 16) == 0
            assert process.end() == 0
            assert f"jailed: user {uid}, no capabilities" in process.log
        assert os.listdir(folder) == []


def test_to_end_with_its_parent_stays_as_asked_for(folder):
    """The kernel forgets that when the user changes."""
    script = 'setpriv --pdeathsig KILL "$@" & wait'
    with subprocess.Popen(["sh", "-c", script, "sh", PROGRAM, "--dir", folder], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shell:
        assert shell.stdout.readline().startswith("ready ")
        (daemon,) = children(shell.pid)
        shell.kill()
        wait_for_the_end(daemon)


# ---- Who removes the sockets ----

def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def has_ended(pid):
    try:
        return status_of(pid)["State"].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for_the_end(pid):
    deadline = time.monotonic() + PATIENCE
    while not has_ended(pid):
        assert time.monotonic() < deadline, f"process {pid} does not end"
        time.sleep(0.01)


def test_who_removes_the_sockets_can_do_nothing_else(folder, room):
    with Daemon("--dir", folder, "--device", "name=a", "--device", f"socket={room}/b", ready=2) as daemon:
        (sweeper,) = children(daemon.pid)
        status = status_of(sweeper)
        assert not any(int(status[caps], 16) for caps in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
        assert status["NoNewPrivs"] == "1" and (SANITIZED or status["Seccomp"] == "2")
        # Two folders and one end of a pair.
        assert len(os.listdir(f"/proc/{sweeper}/fd")) == 3
        # What is for the daemon, from a terminal or a service manager, may come to it as well.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(sweeper, number)
        assert daemon.end() == 0
    assert os.listdir(folder) == [] and not (room / "b").exists() and not (room / "b.lock").exists()
    wait_for_the_end(sweeper)


@pytest.mark.parametrize("first", ["sweeper", "daemon"])
def test_what_nobody_removes_the_next_start_does(folder, first):
    with Daemon("--dir", folder) as daemon:
        (sweeper,) = children(daemon.pid)
        if first == "sweeper":
            os.kill(sweeper, signal.SIGKILL)
            assert daemon.end() == 0
        else:
            daemon.end(signal.SIGKILL)
        # Without a jail it removes them itself.
        if not SANITIZED or first == "daemon":
            assert sorted(os.listdir(folder)) == ["rnic0.sock", "rnic0.sock.lock"]
    wait_for_the_end(sweeper)
    assert "A second process, which can do nothing else, then" in run("--help").stdout
    with Daemon("--dir", folder) as daemon:
        assert daemon.end() == 0
    assert os.listdir(folder) == []
