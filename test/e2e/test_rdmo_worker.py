# SPDX-License-Identifier: BSD-3-Clause
"""rdmo-worker: its command line, its logs and tickets, initiators inside and of other processes, how it ends."""

import contextlib
import itertools
import json
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import tempfile
import time

import pytest

from daemon.softrnicd import Softrnicd, ticks, until
from e2e import examples
from e2e.tcp_port import free_port

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "app", "rdmo-worker", "rdmo-worker")
PLUGIN = os.environ["RDMAPMD_PLUGIN"]
PAIR = tuple(f"net_rnic{i},wire=pair:cable" for i in range(2))
LOCAL = ("--listen", "127.0.0.1:0")
COUNTER = itertools.count()
# Seconds: a busy machine may be slow, and what has not come by then never does.
PATIENCE = 600
TICKET = re.compile(r"rdmo/1 (\S+) id=[0-9a-f]{16} secret=[0-9a-f]{32} key=[0-9a-f]{16} at=[0-9a-f]{16} bytes=[0-9a-f]{16} "
                    r"tail=0{16} tail-key=0{16}\n")


def command(*args, vdevs=("net_rnic0",), lcores=2):
    return [PROGRAM, "-d", PLUGIN, *(f"--vdev={vdev}" for vdev in vdevs), "--lcores=" + ",".join(f"{i}@(0-1)" for i in range(lcores)),
            "--no-huge", "-m", "256", "--no-pci", "--no-telemetry", f"--file-prefix=rdmo-{os.getpid()}-{next(COUNTER)}", "--", *args]


def run(*args, **how):
    """Exit code, output and messages of one that ends by itself."""
    done = subprocess.run(command(*args, **how), capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


class Worker:
    """One that goes on. Use as a context."""

    def __init__(self, *args, devices=1, **how):
        self.process = subprocess.Popen(command(*args, **how), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [self.process.stdout.readline() for _ in range(devices)]
        assert all(line.startswith("ready ") for line in lines), (lines, self.end(signal.SIGKILL))
        self.addresses = [line.split()[1] for line in lines]

    def line(self):
        return self.process.stdout.readline()

    def end(self, number=signal.SIGTERM):
        """Exit code, the rest of the output, messages."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture(name="folder")
def fixture_folder():
    with tempfile.TemporaryDirectory(prefix="rdmo-worker-") as made:
        yield made


def counted(output):
    """What it prints at its end: {what: {of what: number}}."""
    found = {}
    for what, counts in re.findall(r"^(\S+ at \S+|log \S+|\S+ to \S+): (\d+ .*)$", output, re.M):
        if "appends/s" not in counts:
            found[what] = {name: int(count) for count, name in re.findall(r"(\d+) ([a-z ]+)", counts)}
    return found


# ---- The command line ----

def test_help_and_version():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("Usage: rdmo-worker [EAL OPTIONS] -- --log NAME"), done
    assert len(re.findall("^  rdmo-worker -l ", done.stdout, re.M)) == 3 and max(map(len, done.stdout.splitlines())) < 100, done
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and re.fullmatch(r"rdmo-worker \d+\.\d+\.\d+\n", done.stdout), done


FULL_LINE = ("--log", "a", "--tickets", "t")


@pytest.mark.parametrize("args, message", [
    ((), "there is nothing to serve"),
    (("--log", "a"), "nobody could append to the logs"),
    ((*FULL_LINE, "--nothing"), "unknown option --nothing"),
    ((*FULL_LINE, "more"), '"more" is no option'),
    (("--tickets", "t", "--log"), "--log wants a value"),
    (("--tickets", "t", "--log", "a/b"), '"a/b" is no name'),
    (("--tickets", "t", "--log", ".a"), '".a" is no name'),
    (("--tickets", "t", "--log", "a,size=5000"), '"size=5000": wanted is a power of two'),
    (("--tickets", "t", "--log", "a,size=2K"), '"size=2K": wanted is a power of two'),
    (("--tickets", "t", "--log", "a,producers=0"), '"producers=0": wanted is 1 to 65536'),
    (("--tickets", "t", "--log", "a,keep"), '"keep": wanted is 0 or 1'),
    (("--tickets", "t", "--log", "a,color=red"), 'unknown key "color=red"'),
    ((*FULL_LINE, "--log", "a"), "two logs named a"),
    ((*FULL_LINE, "--listen", "nowhere"), '--listen: "nowhere": wanted is HOST:PORT'),
    ((*FULL_LINE, "--listen", "127.0.0.1:65536"), "wanted is HOST:PORT"),
    ((*FULL_LINE, "--listen", "unix:"), "wanted is HOST:PORT"),
    ((*FULL_LINE, "--load", "net_rnic1,log=b"), "there is no --log b"),
    ((*FULL_LINE, "--load", "net_rnic1,burst=257"), '"burst=257": wanted is records, 1 to 256'),
    (("--log", "a,size=4K", "--load", "net_rnic1,size=2048"), "records of half its size at most"),
    (("--log", "a,producers=1", "--load", "net_rnic1", "--load", "net_rnic1"), "there are more initiators"),
    (("--log", "a,device=net_rnic1", "--load", "net_rnic1"), "device net_rnic1 has an initiator"),
    ((*FULL_LINE, "--connections", "0"), "--connections: wanted is 1 to 2048"),
    ((*FULL_LINE, "--duration", "soon"), "--duration: wanted are seconds"),
])
def test_a_wrong_command_line(args, message):
    """Before EAL starts, and so without a device."""
    done = subprocess.run([PROGRAM, "--", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == "", done
    assert re.fullmatch(rf"rdmo-worker: .*{re.escape(message)}.* \(see --help\)\n", done.stderr), done


def test_eals_options_stand_before_ours():
    done = subprocess.run([PROGRAM, *FULL_LINE], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and 'there is no "--"' in done.stderr, done


def test_one_lcore_is_too_few(folder):
    code, out, err = run("--log", "a", "--tickets", folder, lcores=1)
    assert code == 2 and out == "" and "there is no lcore but the main one" in err, (out, err)


# ---- The bootstrap ----

def bootstrap_ticks(pid):
    """Those of the thread that has it."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as name:
            if name.read() == "rdmo\n":
                return ticks(f"{pid}/task/{task}")
    raise AssertionError("no such thread")


def test_clients_wait_while_no_descriptor_is_left(folder):
    with Worker(*LOCAL, "--log", "a", "--tickets", folder) as worker, contextlib.ExitStack() as stack:
        pid = worker.process.pid
        where = ("127.0.0.1", int(worker.addresses[0].rpartition(":")[2]))
        few = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 9
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, few))
        crowd = [stack.enter_context(socket.create_connection(where)) for _ in range(30)]
        line = worker.process.stderr.readline()
        while "wait to be accepted: Too many open files" not in line:
            assert line, "it says nothing"
            line = worker.process.stderr.readline()
        before = bootstrap_ticks(pid)
        time.sleep(1)
        assert bootstrap_ticks(pid) - before < 30
        for each in crowd:
            each.close()
        with socket.create_connection(where, timeout=PATIENCE) as late:
            late.shutdown(socket.SHUT_WR)
            assert late.recv(1) == b""
        code, _, err = worker.end()
        assert code == 0 and "wait to be accepted" not in err, err


def test_a_machine_that_vanishes_is_noticed(folder):
    """By the kernel, which asks a peer that says nothing: both ends of the stream want that."""
    with Worker(*LOCAL, "--log", "a", "--tickets", folder, "--load", "net_rnic1", vdevs=PAIR) as worker:
        port = ":%04X" % int(worker.addresses[0].rpartition(":")[2])

        def asked():
            with open("/proc/net/tcp", encoding="ascii") as table:
                rows = [line.split() for line in table if port in line]
            # Established, and what the kernel's timer of it is for.
            return [row[5][:2] for row in rows if row[3] == "01"]

        until(lambda: len(asked()) >= 2, "connection")
        assert set(asked()) == {"02"}
        assert worker.end()[0] == 0


# ---- What is not there, or in use ----

def test_a_port_that_is_in_use(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "127.0.0.1:%u" % other.getsockname()[1]
        code, out, err = run("--listen", address, "--log", "a", "--tickets", folder)
    assert code == 1 and out == "" and f"rdmo-worker: net_rnic0 cannot be served at {address}: it is in use" in err, (out, err)
    assert os.listdir(folder) == []


@pytest.mark.long
@pytest.mark.parametrize("args, message", [
    (("--log", "a,device=net_rnic7"), "log a: there is no device net_rnic7"),
    (("--log", "a", "--load", "net_rnic7"), "cannot open the device net_rnic7: No such device"),
    (("--log", "a,size=1G"), "log a: no memory for 107378"),
    (("--log", "a", "--listen", "host.example:1"), "HOST must be a numeric address of this machine"),
    (("--log", "a", "--json", "/dev/null/x"), "--json: cannot write /dev/null/x: Not a directory"),
])
def test_what_cannot_be_started(folder, args, message):
    code, out, err = run(*LOCAL, "--tickets", folder, *args)
    assert code == 1 and out == "" and "rdmo-worker: " in err and message in err, (out, err)
    assert os.listdir(folder) == []


@pytest.mark.long
def test_there_is_no_device(folder):
    code, out, err = run("--log", "a", "--tickets", folder, vdevs=())
    assert code == 1 and out == "" and "there is no device" in err, (out, err)


# ---- An initiator inside ----

def test_an_initiator_inside_appends_until_it_is_ended(folder):
    """As the manual page has it: rates each second; at the end all that was posted is answered, and all that was appended is read."""
    report = os.path.join(folder, "report")
    with Worker(*LOCAL, "--log", "events", "--load", "net_rnic1", "--json", report, vdevs=PAIR) as worker:
        rate = re.fullmatch(r"net_rnic1 to events: (\d+) appends/s, \d+\.\d MB/s, 0 refused/s\n", worker.line())
        code, out, err = worker.end()
    assert rate and int(rate[1]) > 0 and code == 0, (out, err)
    counts = counted(out)
    load = counts["net_rnic1 to events"]
    assert load["posted"] == load["appended"] > 0 and load["refused"] == 0, out
    assert counts["log events"] == {"records": load["appended"], "bytes": 64 * load["appended"], "damaged": 0}, out
    device = counts[f"net_rnic0 at {worker.addresses[0]}"]
    assert device["operations"] == load["posted"] and device["refused"] == 0 and device["messages"] < load["posted"], out
    with open(report, encoding="utf-8") as text:
        written = json.load(text)
    assert written["loads"] == [{"device": "net_rnic1", "log": "events", **load}], written
    assert written["logs"] == [{"log": "events", **counts["log events"]}], written
    assert written["devices"][0]["operations"] == load["posted"], written


def test_a_log_that_is_kept_is_full(folder):
    """64 KiB are 682 records of 96 bytes, and a rest."""
    with Worker(*LOCAL, "--log", "events,size=64K,keep=1", "--load", "net_rnic0", "--tickets", folder) as worker:
        until(lambda: re.search(r" 0 appends/s, 0\.0 MB/s, [1-9]\d* refused/s$", worker.line()), "refusal")
        code, out, err = worker.end(signal.SIGINT)
    assert code == 0, err
    counts = counted(out)
    assert counts["log events"]["records"] == 682 and counts["net_rnic0 to events"]["appended"] == 682, out
    assert counts["net_rnic0 to events"]["refused"] > 0, out


@pytest.mark.long
def test_it_ends_by_itself(folder):
    """Two lcores that poll, two devices that are served, a log on each, and two initiators of one log."""
    vdevs = [f"net_rnic{i},wire=switch:hub" for i in range(4)]
    code, out, err = run("--listen", f"unix:{folder}/s", "--log", "a", "--log", "b,device=net_rnic1,producers=2", "--load",
                         "net_rnic2,log=b,size=0", "--load", "net_rnic3,log=b,burst=1", "--duration", "2", "--load", "net_rnic2",
                         vdevs=vdevs, lcores=3)
    assert code == 0, (out, err)
    assert out.startswith(f"ready unix:{folder}/s\nready unix:{folder}/s.1\n"), out
    counts = counted(out)
    assert counts["log b"]["records"] == sum(load["appended"] for name, load in counts.items() if name.endswith(" to b")), out
    assert counts["log a"]["records"] == counts["net_rnic2 to a"]["appended"] > 0, out
    assert all(load["appended"] > 0 for name, load in counts.items() if " to " in name), out
    assert os.listdir(folder) == [], folder


# ---- Tickets, and who has them ----

def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_tickets_are_private_and_go_away(folder):
    tickets = os.path.join(folder, "tickets")
    before = os.umask(0)
    try:
        worker = Worker(*LOCAL, "--log", "a", "--log", "b,size=4K,producers=1", "--tickets", tickets)
    finally:
        os.umask(before)
    with worker:
        assert sorted(os.listdir(tickets)) == ["a", "b"]
        assert mode(tickets) == 0o700 and [mode(os.path.join(tickets, name)) for name in "ab"] == [0o600, 0o600]
        texts = []
        for name in "ab":
            with open(os.path.join(tickets, name), encoding="ascii") as text:
                texts.append(text.read())
        assert all(TICKET.fullmatch(text) and TICKET.fullmatch(text)[1] == worker.addresses[0] for text in texts), texts
        # By each of them one log alone.
        assert all(len(set(re.findall(f" {part}=[0-9a-f]*", "".join(texts)))) == 2 for part in ("id", "secret", "key", "at")), texts
        # What somebody else has put there meanwhile is not ours to remove.
        os.rename(os.path.join(tickets, "a"), os.path.join(tickets, "other"))
        os.rename(os.path.join(tickets, "b"), os.path.join(tickets, "a"))
        code, _, err = worker.end()
    assert code == 0, err
    assert sorted(os.listdir(tickets)) == ["a", "other"]


def test_another_process_appends(folder):
    """By its ticket, over a switch: rdmo_log's producer, with the lines of a file. A ticket of before is replaced."""
    tickets = os.path.join(folder, "tickets")
    os.mkdir(tickets)
    with open(os.path.join(tickets, "events"), "w", encoding="ascii") as text:
        text.write("old")
    with open(__file__, encoding="utf-8") as text:
        lines = text.read().splitlines()
    with Softrnicd(("name=w,count=2,wire=switch:hub",), count=2) as daemon:
        first, second = daemon.vdevs()
        with Worker(*LOCAL, "--log", "events", "--tickets", tickets, vdevs=[first]) as worker:
            code, output = examples.execute(["rdmo_log", f"--vdev={second}", "--no-pci", "--no-huge", "-m256", "--", "produce",
                                             os.path.join(tickets, "events"), "3", __file__])
            assert code == 0 and f"{len(lines)} lines appended; waited 0 times" in output, output
            code, out, err = worker.end()
        assert code == 0, err
        assert counted(out)["log events"] == {"records": len(lines), "bytes": sum(len(line.encode()) for line in lines), "damaged": 0}
        daemon.stop()


@pytest.mark.long
def test_initiators_that_go_on_lose_the_worker(folder):
    """No operation of theirs is refused because it ends: they are disconnected, and wait for another worker."""
    with Softrnicd(("name=w,count=2,wire=switch:hub",), count=2) as daemon:
        first, second = daemon.vdevs()
        with Worker(*LOCAL, "--log", "events", "--tickets", folder, vdevs=[first]) as worker:
            # Empty lines, which never end.
            producer = examples.start(["rdmo_log", f"--vdev={second}", "--no-pci", "--no-huge", "-m256", "--", "produce",
                                       os.path.join(folder, "events"), "0", "/dev/zero"])
            # It runs when it is at its work, which takes CPU time; EAL's start takes less.
            until(lambda: ticks(producer.pid) > 100, "work")
            code, out, err = worker.end()
            assert code == 0 and "wrong keys" not in err, err
            assert counted(out)["log events"]["records"] > 0, out
            code, said = examples.finish(producer, signal.SIGINT)
            assert code == 0 and re.search(r"^[1-9]\d* lines appended", said, re.M), said
        daemon.stop()


def test_a_device_that_is_lost(folder):
    with Softrnicd(("name=a,wire=loop",)) as daemon:
        with Worker("--listen", f"127.0.0.1:{free_port()}", "--log", "a", "--tickets", folder, vdevs=daemon.vdevs()) as worker:
            daemon.kill()
            code, _, err = worker.wait()
    assert code == 1 and "rdmo-worker: the device net_rnic0 is lost" in err, err
    assert os.listdir(folder) == []
