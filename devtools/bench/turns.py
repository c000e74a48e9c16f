# SPDX-License-Identifier: BSD-3-Clause
"""What agree.py, eth.py, latency.py, rdma.py and rdmo.py share: processes, rows measured in turn, and again when they were disturbed."""

import argparse
import ctypes
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import states
from report import Progress, add_output_options

START_TIMEOUT = 60
COMMAND_TIMEOUT = 10
QUIET = 0.03  # share of the machine that others may use during a measurement


class Failed(Exception):
    """A row could not be measured; the text says why."""


def prepare_child(cpus=None):
    """In the child: no process of ours outlives us, however we end; all its threads on these CPUs."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if cpus:
        os.sched_setaffinity(0, cpus)


class Child:
    """A process of a row: what it says, what it costs."""

    def __init__(self, command, log, cpus=None):
        self.log = log
        self.name = os.path.basename(command[0])
        self.text = ""
        self.more = threading.Condition()
        self.child = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=lambda: prepare_child(cpus))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        fd = self.child.stdout.fileno()
        with open(self.log, "wb") as log:
            while data := os.read(fd, 65536):
                log.write(data)
                with self.more:
                    self.text += data.decode(errors="replace")
                    self.more.notify_all()
        with self.more:
            self.more.notify_all()

    def tail(self):
        """What it said went wrong, or its last words."""
        lines = [x.strip() for x in self.text.splitlines() if x.strip()]
        bad = [x for x in lines if re.search(r"error(?!s:)|cannot|fail|refus|invalid", x, re.I)]
        return " | ".join(bad[:3] or lines[-3:])

    def wait(self, pattern, seconds, what, start=0):
        """Until it has said so, after position start of its output."""
        deadline = time.monotonic() + seconds
        with self.more:
            while not (m := re.search(pattern, self.text[start:], re.S)):
                left = deadline - time.monotonic()
                if left <= 0 or not self.reader.is_alive():
                    raise Failed(f"{what}: {self.tail()}")
                self.more.wait(min(left, 0.2))
            return m

    def jiffies(self):
        """Its processor time, all threads."""
        try:
            with open(f"/proc/{self.child.pid}/stat", encoding="utf-8") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])

    def join(self):
        """It was told to end; end it when it does not."""
        try:
            self.child.wait(COMMAND_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def check_end(self):
        """Whether it lived until it was told to end, and ended as it should."""
        if self.child.returncode != 0:
            raise Failed(f"{self.name} ended with {self.child.returncode}: {self.tail()}")


class Softrnicd(Child):
    """One softrnicd with its sockets in a folder of its own."""

    def __init__(self, program, folder, devices, cpus, threads=1):
        command = [program, "--dir", os.path.join(folder, "softrnicd"), "--threads", str(threads)]
        for device in devices:
            command += ["--device", device]
        super().__init__(command, os.path.join(folder, "softrnicd.log"), cpus)
        self.devices = len(devices)

    def wait_ready(self):
        """A line for each device."""
        self.wait(r"(?m)(^ready [^\n]*\n.*?){%d}" % self.devices, START_TIMEOUT,
                  "softrnicd did not start")

    def quit(self):
        """By the signal that it is made to end by."""
        self.child.stdin.close()
        self.child.terminate()
        self.join()


class Crossing(Child):
    """The program that looks all along how long a cache line takes from one CPU to the other."""

    def __init__(self, program, folder, cpus):
        super().__init__([program, *map(str, cpus), str(states.EVERY_MS)], os.path.join(folder, "crossing.log"))

    def during(self, start, end):
        """See states.judge."""
        with self.more:
            return states.judge(states.seen(self.text, start, end))

    def why_not(self):
        """Why it has seen nothing, or None."""
        return None if "crossing " in self.text and self.reader.is_alive() else self.tail() or "it says nothing"

    def quit(self):
        """It ends with its input."""
        self.child.stdin.close()
        self.join()


def cpu_times():
    """Busy, stolen and all jiffies of the machine."""
    with open("/proc/stat", encoding="utf-8") as f:
        t = [int(x) for x in f.readline().split()[1:9]]
    return sum(t) - t[3] - t[4], t[7], sum(t)


def two_cpus():
    """Two CPUs that we may use, of different cores where there are any."""
    cpus = sorted(os.sched_getaffinity(0))
    first = cpus[0]
    try:
        path = f"/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list"
        with open(path, encoding="utf-8") as f:
            siblings = {int(x) for part in f.read().strip().split(",")
                        for x in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
    except (OSError, ValueError):
        siblings = {first}
    others = [c for c in cpus if c not in siblings] or cpus[1:]
    if not others:
        sys.exit("two CPUs are needed")
    return (first, others[0])


def numbers(text):
    """A comma-separated list of numbers."""
    return [int(x) for x in names(text)]


def names(text):
    """A comma-separated list."""
    return text.split(",")


class Row:
    """One side of the comparison."""

    def __init__(self, key, name, topology):
        self.key = key
        self.name = name
        self.topology = topology
        self.figures = {}  # of what was measured (key_of): one of each repetition
        self.window = None  # (start, end) of the last measurement, where it is known; or all of it counts
        self.why = {}  # of what could not be: why

    def median(self, what):
        """None where there is no figure."""
        values = self.figures.get(key_of(what))
        return statistics.median(values) if values and key_of(what) not in self.why else None


def key_of(what):
    """What is measured goes by its key, or is its own."""
    return getattr(what, "key", what)


class Turns:
    """One run: all rows in turn, the turns repeated."""

    def __init__(self, name, args, folder, rows):
        self.name = name
        self.args = args
        self.folder = folder
        self.rows = [r for r in rows if not args.rows or r.key in args.rows]
        self.turns = []  # (row, what) of one repetition
        self.again = 0  # measurements that may be made again, so that a run ends
        self.others = 0.0  # greatest share of the machine that was not ours, of figures kept
        self.changed = 0  # figures kept during which the machine's state changed
        self.crossing = None  # the program that looks at the state
        self.blind = "nobody asked for it"  # why the state is not known, or None
        self.states = []  # their names
        self.took = 0.0  # seconds, all of it

    def label(self, row, what):
        """Of a turn, for people."""
        raise NotImplementedError

    def measure(self, row, what):
        """One repetition, and the share of the machine that others had meanwhile."""
        raise NotImplementedError

    def measure_once(self, row, what):
        """One repetition: the figure, whether the state changed, the others' share."""
        row.window = None
        began = time.monotonic()
        value, others = self.measure(row, what)
        figure, changed = value if isinstance(value, states.Figure) else states.Figure(value), False
        if self.crossing:
            figure.crossing, changed = self.crossing.during(*(row.window or (began, time.monotonic())))
        return figure, changed, others

    def measure_quietly(self, row, what):
        """Again when it was disturbed, by others or by the machine; the least disturbed one counts, fast or slow."""
        best = self.measure_once(row, what)
        for _ in range(self.args.patience):
            if not best[1] and best[2] <= QUIET or self.again == 0:
                break
            self.again -= 1
            best = min(best, self.measure_once(row, what), key=lambda x: (x[1] or x[2] > QUIET, x[2]))
        self.changed += best[1]
        self.others = max(self.others, best[2])
        return best[0]

    def disturbed(self):
        """Why the figures give no verdict, or None."""
        if self.others > QUIET:
            return f"others used {100 * self.others:.0f}% of the machine"
        if self.changed:
            return f"the machine's state changed during {self.changed} measurement{'s'[:self.changed > 1]}"
        return None

    def run(self, progress):
        """All of it, while the machine is looked at."""
        if self.args.crossing:
            self.crossing = Crossing(self.args.crossing, self.folder, (self.args.cpus[0], self.args.cpus[-1]))
        try:
            self.run_turns(progress)
        finally:
            if self.crossing:
                self.blind = self.crossing.why_not()
                self.crossing.quit()
        self.states = states.name_states([f for r in self.rows for of in r.figures.values() for f in of])

    def run_turns(self, progress):
        """All of it."""
        began = time.monotonic()
        every = self.turns * self.args.repeat
        self.again = len(every) // 2
        for done, (row, what) in enumerate(every, 1):
            label = self.label(row, what)
            progress.say(f"{done}/{len(every)} {label}")
            if key_of(what) in row.why:
                continue
            try:
                value = self.measure_quietly(row, what)
                row.figures.setdefault(key_of(what), []).append(value)
            except Failed as e:
                row.why[key_of(what)] = str(e)
                progress.clear()
                print(f"{self.name}: {label}: {e}", file=sys.stderr)
        self.took = time.monotonic() - began
        progress.clear()

    def notes(self):
        """What must be said of any run."""
        notes = [f"took {self.took / 60:.1f} minutes",
                 f"others used up to {100 * self.others:.0f}% of the machine during a measurement"
                 + (": too much, these figures mean nothing" if self.others > QUIET else "")]
        if self.blind:
            notes.append(f"how long a cache line takes from one CPU to the other is not known: {self.blind}")
        else:
            notes.append("a cache line took " + (", or ".join(self.states) or "?") + " from one CPU to the other"
                         + (", NAME@TIME is a ratio in that state" if len(self.states) > 1 else ""))
        if self.changed:
            notes.append(f"that changed during {self.changed} measurements: these mean nothing")
        return notes

    def data(self):
        """The same for scripts."""
        return {"bench": self.name, "seconds": self.args.seconds, "repeat": self.args.repeat,
                "others": round(self.others, 3), "states": self.states, "changed": self.changed}

    def failed(self):
        """Whether a row has no figure that it should have."""
        return any(r.why for r in self.rows)


def turns_parser(name):
    """The options that both programs have."""
    p = argparse.ArgumentParser(prog=name)
    p.add_argument("--plugin")
    p.add_argument("--softrnicd")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--rows", type=names)
    p.add_argument("--cpus", type=numbers)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--crossing")
    add_output_options(p)
    return p


def check_lists(parser, *lists):
    """lists: what was asked for, what there is, what it is called."""
    for given, known, what in lists:
        for key in given or []:
            if key not in known:
                parser.error(f"no {what} {key} in this run; there are {' '.join(known)}")


def check_args(parser, args, *lists):
    """check_lists, and the two CPUs of a run."""
    check_lists(parser, *lists)
    args.cpus = args.cpus or two_cpus()
    if len(args.cpus) != 2:
        parser.error("--cpus needs two numbers")


def run_turns(make, args):
    """Make a Turns, run it, and give it back; its folder goes in any case."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="rdmapmd-bench.")
    try:
        bench = make(args, folder)
        bench.run(Progress())
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return bench
