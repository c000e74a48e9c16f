# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf: to start it, and to read its table."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import tempfile
import time

PLUGIN = os.environ["RDMAPMD_PLUGIN"]
PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "app", "test-rdma-perf", "dpdk-test-rdma-perf")
# Results, never rates: two busy threads share what CPUs there are, and a busy machine is no lost packet.
PATIENT = ("-u", "18")
PAIR = tuple(f"net_rnic{i},wire=pair:cable" for i in range(2))
NUMBER = r"[0-9]+(?:\.[0-9]+)?"
ROWS = {
    "bw": re.compile(rf"^ (\d+) +(\d+) +{NUMBER} +{NUMBER}\s+{NUMBER}$", re.M),
    "lat": re.compile(rf"^ (\d+) +(\d+) +(?:{NUMBER}\s+){{6}}{NUMBER} *$", re.M),
    "lat -D": re.compile(rf"^ (\d+) +(\d+) +{NUMBER} +{NUMBER} *$", re.M),
}
EAL_NOISE = re.compile(r"^(EAL|TELEMETRY|rdmapmd): ")


def command(*args, vdevs=("net_rnic0",), lcores="0@(0-1)", eal=()):
    return [PROGRAM, "-d", PLUGIN, *(f"--vdev={vdev}" for vdev in vdevs), f"--lcores={lcores}", "--no-huge", "-m", "256",
            "--no-pci", "--no-telemetry", f"--file-prefix=perf-{os.getpid()}-{next(COUNTER)}", *eal, "--", *args]


def counter():
    number = 0
    while True:
        yield number
        number += 1


COUNTER = counter()


class Done:
    """A run that has ended: its exit code, its table, its messages, and the seconds that it took, where that is known."""

    def __init__(self, code, out, err, took=None):
        self.code, self.out, self.err, self.took = code, out, err, took

    def __str__(self):
        return f"exit code {self.code}\n{self.out}\n{self.err}"

    def rows(self, kind="bw"):
        """(bytes, iterations) of each row."""
        return [(int(size), int(iters)) for size, iters in ROWS[kind].findall(self.out)]

    def messages(self):
        """What the program has said, without what depends on the machine."""
        lines = [line for line in self.err.splitlines() if line.startswith("dpdk-test-rdma-perf: ")]
        return [line for line in lines if "the machine was busy" not in line]


def run(*args, within=(), **how):
    start = time.monotonic()
    done = subprocess.run([*within, *command(*args, **how)], capture_output=True, text=True, timeout=300, check=False)
    return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


def loopback(*args, **how):
    return run("--loopback", *PATIENT, *args, **how)


# Where programs leave what outlives them; what was built may lie there, too.
PLACES = ("/dev/shm/", "/dev/hugepages/", "/run/", "/var/tmp/", f"{tempfile.gettempdir()}/")
OURS = tuple(f"{os.environ[name]}/" for name in ("RDMAPMD_SOURCE", "RDMAPMD_BUILD"))


def names_of(pid):
    """What a process has open, mapped or bound in these places."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    with open("/proc/net/unix", encoding="utf-8") as sockets:
        rows = [line.split() for line in sockets]
    found |= {row[7] for row in rows if len(row) > 7 and f"socket:[{row[6]}]" in found}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        rows = [line.split(maxsplit=5) for line in maps]
    found |= {row[5].rstrip("\n") for row in rows if len(row) > 5}
    return {name for name in found if name.startswith(PLACES) and not name.startswith(OURS)}


class Running:
    """A run that goes on. Use as a context. With `terminal` its stderr is one, so that it shows its progress; with `log` the file of that
    name."""

    def __init__(self, *args, within=(), terminal=False, log=None, **how):
        # A group of its own: a signal to it is what Ctrl-C is to a terminal's.
        line = command(*args, **how)
        self.prefix = next(word for word in line if word.startswith("--file-prefix=")).partition("=")[2]
        self.terminal, stderr = pty.openpty() if terminal else (None, subprocess.PIPE)
        self.log = log
        if log is not None:
            stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.said = self.shown = b""  # on stdout, on the terminal
        self.names = set()  # what it had when it was interrupted
        self.process = subprocess.Popen([*within, *line], stdout=subprocess.PIPE, stderr=stderr,
                                        text=True, start_new_session=True)
        if stderr != subprocess.PIPE:
            os.close(stderr)

    def wait_for(self, text):
        """Until a line of stdout has it. What is behind that line is left to communicate(), which knows of no buffer here."""
        while text.encode() not in self.said or not self.said.endswith(b"\n"):
            more = os.read(self.process.stdout.fileno(), 1)
            if not more:
                raise AssertionError(f"no {text!r} in {self.said}\n{self.end().err}")
            self.said += more

    def _look(self):
        """@return Whether the terminal is still there."""
        try:
            more = os.read(self.terminal, 4096)
        except OSError:
            more = b""
        self.shown += more
        return bool(more)

    def wait_until_it_measures(self):
        """Until its terminal shows messages that are none of the warm-up."""
        while not re.search(rb"bytes: [1-9][0-9]* messages", self.shown):
            assert self._look(), self.shown

    def interrupt(self):
        self.names = names_of(self.process.pid) - {str(self.log)}
        assert any(name.startswith(f"{self.folder()}/") for name in self.names), self.names
        self.process.send_signal(signal.SIGINT)

    def end(self, timeout=300):
        out, err = self.process.communicate(timeout=timeout)
        if self.terminal is not None:
            while self._look():
                pass
            err = re.sub(r"[^\r\n]*\r\033\[K", "", self.shown.decode()).replace("\r\n", "\n")
        elif self.log is not None:
            err = self.logged()
        return Done(self.process.returncode, self.said.decode() + out, err)

    def logged(self):
        with open(self.log, encoding="utf-8") as text:
            return text.read()

    def folder(self):
        """EAL's, of this process."""
        return os.path.join(os.environ["RUNTIME_DIRECTORY"], "dpdk", self.prefix)

    def left(self):
        """What there still is: in EAL's folder, of what it had elsewhere, of what has its prefix; and processes."""
        found = os.listdir(self.folder()) if os.path.exists(self.folder()) else []
        found += [name for name in self.names if os.path.lexists(name) and not name.startswith(f"{self.folder()}/")]
        for place in ("/dev/shm", tempfile.gettempdir()):
            found += [f"{place}/{name}" for name in os.listdir(place) if self.prefix in name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 0)
            found.append("a process of its group")
        return sorted(found)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        if self.terminal is not None:
            os.close(self.terminal)


def leave_nothing(*ended):
    """Nothing stays of these that does not stay of a run that came to its end."""
    with Running("--loopback", "-n", "20") as ordinary:
        assert ordinary.end().code == 0
    for run_ in ended:
        assert run_.left() == ordinary.left(), f"{run_.left()}, and ordinarily {ordinary.left()}"
