#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rates and latencies of RDMA between two net_rnic devices, beside UCX, in turn. Run it by rdma.sh."""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import instr
from report import Report, Table, need_plot, publish
from turns import (START_TIMEOUT, Child, Failed, Row, Softrnicd, Turns, check_args, cpu_times, names,
                   prepare_child, run_turns, turns_parser)

PORT = 13400
LISTEN_TIMEOUT = 10
CALLS = ("post", "post-inline", "poll", "poll-read", "poll-receive")
ROUNDS = ("device-write", "device-read", "device-send")
ROUND_BURSTS, ROUND_SIZES = (1, 4, 32), (64, 1024)
PAIR = ("net_rnic0,wire=pair:bench", "net_rnic1,wire=pair:bench")


class Test:
    """One thing to measure: how by ours, how by UCX, and which of two figures is the better one."""

    program = "program"  # the option that names it

    def __init__(self, key, name, unit, ours, ucx=(), iterations=0, mtu=0):
        self.key = key
        self.name = name
        self.unit = unit  # M/s, GB/s, us
        self.ours = ours  # test, bytes, queue pairs, active ones
        self.ucx = ucx  # of puts, of active messages
        self.iterations = iterations
        self.mtu = mtu  # of our ports; 0: as they come

    @property
    def latency(self):
        """Less is better."""
        return self.unit == "us"

    def value(self, said):
        """In its unit, of what a program says: operations a second, or microseconds."""
        if self.latency:
            return said
        return said * self.ours[1] / 1e9 if self.unit == "GB/s" else said / 1e6


TESTS = [
    Test("write8", "WRITE of 8 bytes", "M/s", ("write", 8, 1, 1), ("ucp_put_bw", "ucp_am_bw"),
         1000000),
    Test("write8_lat", "WRITE of 8 bytes, one way", "us", ("write-lat", 8, 1, 1),
         ("ucp_put_lat", "ucp_am_lat"), 400000),
    Test("add8", "fetch-add", "M/s", ("add", 8, 1, 1), ("ucp_fadd", None), 400000),
    Test("add8_lat", "fetch-add, there and back", "us", ("add-lat", 8, 1, 1)),
    Test("write64k", "WRITE of 64 KiB", "GB/s", ("write", 65536, 1, 1),
         ("ucp_put_bw", "ucp_am_bw"), 40000),
    Test("write1m", "WRITE of 1 MiB", "GB/s", ("write", 1 << 20, 1, 1),
         ("ucp_put_bw", "ucp_am_bw"), 4000),
    Test("write1m_jumbo", "WRITE of 1 MiB, path MTU 4096", "GB/s", ("write", 1 << 20, 1, 1),
         ("ucp_put_bw", "ucp_am_bw"), 4000, mtu=4200),
    Test("write64", "WRITE of 64 bytes", "M/s", ("write", 64, 1, 1),
         ("ucp_put_bw", "ucp_am_bw"), 1000000),
    Test("send64", "SEND of 64 bytes", "M/s", ("send", 64, 1, 1), (None, "ucp_am_bw"), 1000000),
    Test("ud64", "datagram of 64 bytes", "M/s", ("ud", 64, 1, 1)),
    Test("one_of_1024", "WRITE of 8 bytes, 1 of 1,024 queue pairs", "M/s", ("write", 8, 1024, 1)),
    Test("all_1024", "WRITE of 8 bytes, all of 1,024", "M/s", ("write", 8, 1024, 1024)),
]


# Those in which packets as bytes are measured, too.
BYTES = ("write8", "write64", "write64k", "write1m", "write1m_jumbo", "send64", "ud64")


class Side(Row):
    """Ours, or a peer."""

    def can(self, test):
        """Whether there is something to measure."""
        raise NotImplementedError

    def measure(self, test, folder, args):
        """One repetition, in the test's unit."""
        raise NotImplementedError


class Ours(Side):
    """A program of ours on two devices joined by a pair wire."""

    daemon = False
    wire = "wire=pair:bench"

    def __init__(self, key, name, topology="one process: one lcore + device thread"):
        super().__init__(key, name, topology)

    def can(self, test):
        return True

    def _vdevs(self, folder, args):
        return [f"net_rnic{i},{self.wire},poll={args.cpus[0]}" for i in range(2)]

    def eal(self, folder, args):
        """EAL's options: one lcore, and the two devices."""
        return ["-d", args.plugin, "--lcores", f"0@{args.cpus[1]}", "--in-memory",
                "--no-pci", "--no-telemetry", "--iova-mode=va", "--log-level=4",
                f"--file-prefix=rdmapmd-bench-{os.getpid()}",
                *(["--single-file-segments"] if self.daemon else []),
                *[f"--vdev={v}" for v in self._vdevs(folder, args)]]

    def measure(self, test, folder, args):
        command = [getattr(args, test.program), *self.eal(folder, args), "--", "net_rnic0",
                   "net_rnic1", *map(str, test.ours), str(args.seconds),
                   *([str(test.mtu)] if test.mtu else [])]
        daemon = None
        if self.daemon:
            daemon = Softrnicd(args.softrnicd, folder,
                               [f"name={i},wire=pair:bench" for i in range(2)], {args.cpus[0]})
        try:
            if daemon:
                daemon.wait_ready()
            output = run(command, args.seconds + START_TIMEOUT)
        finally:
            if daemon:
                daemon.quit()
        if daemon:
            daemon.check_end()
        self.read_more(test, output)
        self.window = window(output)
        return test.value(result(output))

    def read_more(self, test, output):
        """What a program says beside the result."""


class Bytes(Ours):
    """The same, with packets as frames: headers, ICRC."""

    wire = "wire=pair:bench,bytes=1"

    def __init__(self):
        super().__init__("rnic_bytes", "net_rnic embedded, packets as bytes")

    def can(self, test):
        return test.key in BYTES


class Daemon(Ours):
    """The same over softrnicd."""

    daemon = True

    def __init__(self):
        super().__init__("softrnicd", "net_rnic over softrnicd",
                         "two processes: one thread each")

    def _vdevs(self, folder, args):
        return [f"net_rnic{i},socket={folder}/softrnicd/{i}.sock" for i in range(2)]


class Ucx(Side):
    """ucx_perftest between two processes."""

    def __init__(self, key, transport, messages):
        super().__init__(key, f"UCX {'shared memory' if transport == 'posix,self' else 'tcp'}, "
                         + ("active messages" if messages else "puts and atomics"),
                         "two processes, one thread each")
        self.messages = messages
        self.environment = dict(os.environ, UCX_LOG_LEVEL="error", UCX_TLS=transport,
                                UCX_NET_DEVICES="lo" if transport == "tcp" else "all")
        self.slow = 20 if transport == "tcp" else 1
        self.port = PORT + os.getpid() % 500 * 16

    def can(self, test):
        return bool(test.ucx and test.ucx[self.messages])

    def choose_transport(self):
        """For the processes to come."""
        os.environ.update({k: v for k, v in self.environment.items() if k.startswith("UCX_")})

    def measure(self, test, folder, args):
        size = test.ours[1]
        # As many as take about the time asked for, on the machine that this was written on.
        iterations = max(200, int(test.iterations * args.seconds / 2 / self.slow))
        self.port = PORT + (self.port - PORT + 1) % 8000
        server = ["ucx_perftest", "-p", str(self.port)]
        client = ["ucx_perftest", "127.0.0.1", "-p", str(self.port), "-t", test.ucx[self.messages],
                  "-s", str(size), "-n", str(iterations), "-w", str(max(100, iterations // 20)),
                  "-f", "-v"]
        log = os.path.join(folder, "ucx.log")
        self.choose_transport()
        peer = Child(server, log, {args.cpus[0]})
        try:
            wait_listening(self.port, peer)
            output = run(client, START_TIMEOUT, args.cpus[1])
        finally:
            peer.child.stdin.close()
            peer.child.terminate()
            peer.join()
        fields = [x.strip() for x in (output.strip().splitlines() or [""])[-1].split(",")]
        # iterations, 50 % and average latency, overall latency; MB/s and messages/s, average and overall
        if len(fields) < 8 or not re.match(r"\d+$", fields[0]):
            raise Failed(f"ucx_perftest said: {output[-200:]}")
        if test.latency:
            return float(fields[1])
        rate = float(fields[7])
        return rate * size / 1e9 if test.unit == "GB/s" else rate / 1e6


def wait_listening(port, child):
    """Until somebody listens there: ucx_perftest says so too late, and takes a probe for its client."""
    deadline = time.monotonic() + LISTEN_TIMEOUT
    while child.child.poll() is None and time.monotonic() < deadline:
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                with open(path, encoding="utf-8") as f:
                    if any(x[1].endswith(f":{port:04X}") and x[3] == "0A"
                           for x in (line.split() for line in f)):
                        return
            except OSError:
                pass
        time.sleep(0.02)
    raise Failed(f"{child.name} does not listen: {child.tail()}")


def result(output):
    """The figure that a program of the bench has found."""
    m = re.search(r"^result .* (?:rate|lat) ([\d.]+)", output, re.M)
    if not m:
        raise Failed(f"no result: {output[-200:]}")
    return float(m.group(1))


def window(output):
    """When it was measured, by the clock that only goes on; None where a program does not say."""
    m = re.search(r"^window ([\d.]+) ([\d.]+)", output, re.M)
    return (float(m.group(1)), float(m.group(2))) if m else None


def run(command, timeout, cpu=None):
    """Its output; Failed if it ends badly."""
    try:
        done = subprocess.run(  # pylint: disable=subprocess-popen-preexec-fn
            command, capture_output=True, text=True, check=False, timeout=timeout,
            preexec_fn=lambda: prepare_child(None if cpu is None else {cpu}))
    except subprocess.TimeoutExpired as e:
        raise Failed(f"{os.path.basename(command[0])}: no end after {timeout:.0f} s") from e
    if done.returncode != 0:
        said = [x.strip() for x in (done.stdout + done.stderr).splitlines() if x.strip()]
        raise Failed(f"{os.path.basename(command[0])} ended with {done.returncode}: "
                     + " | ".join(said[-3:]))
    return done.stdout


def all_rows(args):
    """Ours first."""
    rows = [Ours("rnic", "net_rnic embedded"), Bytes(), *([Daemon()] if args.softrnicd else [])]
    if shutil.which("ucx_perftest"):
        rows += [Ucx("tcp_put", "tcp", 0), Ucx("tcp_am", "tcp", 1),
                 Ucx("shm_am", "posix,self", 1)]
    return rows


class Bench(Turns):
    """One run."""

    def __init__(self, args, folder, name="rdma", rows=None, tests=None):
        super().__init__(name, args, folder, rows or all_rows(args))
        self.tests = [t for t in tests or TESTS if not args.tests or t.key in args.tests]
        self.turns = [(r, t) for t in self.tests for r in self.rows if r.can(t)]

    def label(self, row, what):
        return f"{row.name}, {what.name}"

    def measure(self, row, what):
        """One repetition, and the share of the machine that others had meanwhile."""
        cpu, ours = cpu_times(), children_seconds()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            value = row.measure(what, folder, self.args)
        cpu = [b - a for a, b in zip(cpu, cpu_times())]
        ours = (children_seconds() - ours) * os.sysconf("SC_CLK_TCK")
        return value, max(0.0, (cpu[0] - ours) / max(1, cpu[2]))


def children_seconds():
    """Processor time of all processes of ours that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def add_ratios(report, bench):
    """Ours by each peer's; many queue pairs by one."""
    rows = {r.key: r for r in bench.rows}
    by_key = {t.key: t for t in bench.tests}

    def add(name, ours, theirs):
        row, test = ours
        other, base = theirs
        if row and other and test and base:
            report.ratio(name, row.median(test), other.median(base),
                         zip(row.figures.get(test.key, []), other.figures.get(base.key, [])))

    for key in ("rnic", "rnic_bytes", "softrnicd"):
        ours = rows.get(key)
        name = key.removeprefix("rnic")
        name = f"_{name}" if name == "softrnicd" else name
        for test in bench.tests:
            for peer in ("tcp_put", "tcp_am", "shm_am"):
                add(f"{test.key}{name}_vs_{peer}", (ours, test), (rows.get(peer), test))
        for many in ("one_of_1024", "all_1024"):
            add(f"{many}{name}_vs_one", (ours, by_key.get(many)), (ours, by_key.get("write8")))
        add(f"ud64{name}_vs_send64", (ours, by_key.get("ud64")), (ours, by_key.get("send64")))
    for test in bench.tests:
        add(f"{test.key}_bytes_vs_elided", (rows.get("rnic_bytes"), test), (rows.get("rnic"), test))


def round_table(report, args):
    """What a request costs both devices, by callgrind."""
    plan = [",".join(ROUNDS), ",".join(map(str, ROUND_BURSTS)), ",".join(map(str, ROUND_SIZES)), "1000"]
    found = instr.instructions(args.instr, PAIR, plan, args.cpus[1])
    table = Table("Instructions of the devices per request, from the WQE to the completion",
                  ["request"] + [f"{s} bytes, burst {b}" for s in ROUND_SIZES for b in ROUND_BURSTS])
    for name in ROUNDS:
        table.rows.append([name] + [f"{found[(name, b, s)]:.0f}" for s in ROUND_SIZES for b in ROUND_BURSTS])
    report.tables.append(table)
    report.data["rounds"] = {f"{n}_{s}_burst{b}": round(v, 2) for (n, b, s), v in found.items()}


def instruction_table(report, args):
    """Post and poll by callgrind, beside libmlx5's where that is built; then the devices' rounds."""
    cpu = args.cpus[1]
    plan = [",".join(CALLS), "1,32", "8", "1000"]
    ours = instr.instructions(args.instr, PAIR, plan, cpu)
    peer = instr.instructions(args.instr_peer, None, plan, cpu) if args.instr_peer else {}
    table = Table("Instructions per request and completion",
                  ["call", "net_rnic, 1", "net_rnic, 32", "libmlx5, 1", "libmlx5, 32"])
    for name in CALLS:
        keys = [(name, b, 8) for b in (1, 32)]
        table.rows.append([name] + [f"{found[k]:.1f}" if found else "-"
                                    for found in (ours, peer) for k in keys])
        for key in keys:
            report.ratio(f"{name}_burst{key[1]}_instr", ours[key], peer.get(key))
    report.tables.append(table)
    for what, found in (("instructions", ours), ("libmlx5", peer)):
        report.data[what] = {f"{n}_{b}": round(v, 2) for (n, b, _), v in found.items()}
    round_table(report, args)


def figures_report(bench, what):
    """All figures, and notes on any run."""
    args = bench.args
    report = Report(args.root, what)
    table = Table(f"Median of {args.repeat} x {args.seconds:g} s",
                  ["what", "unit"] + [r.name for r in bench.rows])
    for test in bench.tests:
        cells = []
        for row in bench.rows:
            m = row.median(test)
            cells.append("failed" if test.key in row.why else "-" if m is None else f"{m:.3f}")
        table.rows.append([test.name, test.unit] + cells)
    report.tables.append(table)
    report.notes += [
        f"CPUs {args.cpus[0]} (device thread, softrnicd, UCX's server) and {args.cpus[1]}",
        *bench.notes(),
    ]
    report.data = {**bench.data(), "rows": [
        {"key": r.key, "name": r.name, "figures": r.figures, "failed": r.why}
        for r in bench.rows]}
    return report


def make_report(bench):
    """Tables, ratios, notes."""
    report = figures_report(bench, "devtools/bench/rdma.sh")
    add_ratios(report, bench)
    report.notes[:0] = [
        "packets as bytes: headers, and the ICRC made and checked; in the other rows a packet is a"
        " descriptor that points at the sender's memory",
        "net_rnic: one application thread posts and polls, the device (thread or daemon) does the"
        " rest of both ends; UCX: a thread at each end",
        "a ratio is ours by the peer's: of rates, above 1 we are faster; of latencies (_lat) and"
        " instructions, below 1",
        "UCX tcp is the floor; UCX over shared memory copies or stores into the peer's memory with"
        " no device in between",
    ]
    return report


def draw(pyplot, bench, path):
    """A panel for each test."""
    figure, axes = pyplot.subplots(2, (len(bench.tests) + 1) // 2, squeeze=False, figsize=(16, 7))
    for ax, test in zip(axes.flat, bench.tests):
        rows = [r for r in bench.rows if r.median(test)]
        ax.barh([r.name for r in rows], [r.median(test) for r in rows])
        ax.invert_yaxis()
        ax.set_title(test.name)
        ax.set_xlabel(test.unit)
    figure.tight_layout()
    figure.savefig(path)


def rdma_parser(name):
    """The options of rdma.py and rdmo.py."""
    p = turns_parser(name)
    p.add_argument("--program", required=True)
    p.add_argument("--instr")
    p.add_argument("--tests", type=names)
    return p


def finish(bench, report, count):
    """Count instructions, if there is a program for it, and publish all. count: adds them. The exit code."""
    args = bench.args
    failed = bench.failed()
    if args.instr:
        try:
            count(report, args)
        except Failed as e:
            failed = True
            print(f"{bench.name}: {e}", file=sys.stderr)
    publish(report, args)
    if args.plot:
        draw(need_plot(args.plot), bench, args.plot)
    return 1 if failed else 0


def main():
    """See rdma.sh --help."""
    p = rdma_parser("rdma.py")
    p.add_argument("--instr-peer")
    args = p.parse_args()
    check_args(p, args, (args.rows, [r.key for r in all_rows(args)], "row"),
               (args.tests, [t.key for t in TESTS], "test"))
    need_plot(args.plot)
    bench = run_turns(Bench, args)
    return finish(bench, make_report(bench), instruction_table)


if __name__ == "__main__":
    sys.exit(main())
