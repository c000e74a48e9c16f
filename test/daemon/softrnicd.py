# SPDX-License-Identifier: BSD-3-Clause
"""A softrnicd in a folder of its own, and what is to be equal before and after."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

SANITIZED = os.environ.get("RDMAPMD_SANITIZER", "none") != "none"
# Seconds for what comes: a busy machine may be slow, and what does not come by then never does.
PATIENCE = 300 if SANITIZED else 100
PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "app", "softrnicd", "softrnicd")
# A cable's two ends; the same, each with a thread of its own.
PAIR = ("name=a,wire=pair:cable,mac=02:00:00:00:00:0a", "name=b,wire=pair:cable,mac=02:00:00:00:00:0b")
THREADS = tuple(f"{device},thread={i}" for i, device in enumerate(PAIR))


class Softrnicd:
    """Use as a context. Its messages are in the file `log`, those of restarts behind those before."""

    def __init__(self, devices=PAIR, eal=(), within=(), log_level="info", user=None, count=None, threads=None):
        """
        count: how many devices there are, if not as many as `devices` has; threads: how many, if not as many as THREADS wants; eal: EAL's options; within: a command that has it run somewhere else, e.g. in a network namespace; user: whom it becomes,
        started by root
        """
        self.devices = devices
        self.count = len(devices) if count is None else count
        self.log_level = log_level
        self.eal = eal
        self.within = within
        self.user = user
        self.threads = threads if threads is not None else len(THREADS) if devices == THREADS else 1
        self.folder = tempfile.mkdtemp(prefix="rnicd-", dir="/run" if os.geteuid() == 0 else None)
        self.log = os.path.join(self.folder, "log")
        self.process = None
        self.sockets = []
        self.start()

    def start(self):
        command = [*self.within, PROGRAM, "--dir", os.path.join(self.folder, "s"),
                   "--log-level", self.log_level, "--threads", str(self.threads), *(["--user", self.user] if self.user else [])]
        for device in self.devices:
            command += ["--device", device]
        if self.eal:
            command += ["--", *self.eal]
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        lines = [self.process.stdout.readline() for _ in range(self.count)]
        assert all(line.startswith("ready ") for line in lines), self.text()
        self.sockets = [line.split()[1] for line in lines]

    def vdevs(self, options=""):
        return [f"net_rnic{i},socket={path}{options}" for i, path in enumerate(self.sockets)]

    def text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def stop(self):
        """SIGTERM: it ends well and leaves no socket."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.text()
        self.process.stdout.close()
        assert not [path for path in self.sockets if os.path.exists(path)]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.kill()
        if kind is not None:
            print(self.text())
        shutil.rmtree(self.folder, ignore_errors=True)


def hand_over(daemon, uid, gid):
    """The sockets are their owner's alone: make another user that."""
    for path in (daemon.folder, os.path.dirname(daemon.sockets[0]), *daemon.sockets):
        os.chown(path, uid, gid)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
        time.sleep(0.005)


def ticks(pid):
    """Of CPU time, 10 ms each. Of a thread: PID/task/TID."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))


def least_ticks(pid, enough):
    """The least that it takes in a second, of a few, or what is little enough: at its start it may have something to do."""
    least = None
    for _ in range(10):
        before = ticks(pid)
        time.sleep(1)
        least = min(ticks(pid) - before, least if least is not None else 1000)
        if least <= enough:
            break
    return least
