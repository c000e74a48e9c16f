#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long a frame is on its way out of a port and back, over net_rnic and its peers, in turn. Run it by latency.sh."""

import os
import re
import statistics
import sys
import tempfile

from eth import RING, Testpmd, memif_rows, our_rows, virtio_rows
from rdma import window
from report import Report, Table, publish
from states import Figure
from turns import START_TIMEOUT, Child, Failed, Softrnicd, Turns, check_args, cpu_times, numbers, run_turns, turns_parser

LOOP = "one process: one lcore + device thread, which sends back what comes"
DAEMON = "two processes: one lcore, softrnicd with one thread, which sends back what comes"
TWO = "two processes, one lcore each: the other one sends back what comes"
PEERS = ("memif_zc", "memif_copy", "virtio_packed")


class Program(Child):
    """eth_latency, which ends by itself."""

    def __init__(self, args, folder, row, size):
        device = row.processes[-1][0].replace("DIR", folder).replace("CPU", str(args.cpus[0]))
        super().__init__([args.program, "--lcores", f"0@{args.cpus[1]}", "--in-memory", "--no-pci", "--no-telemetry",
                          "--iova-mode=va", f"--file-prefix=rdmapmd-bench-{os.getpid()}", *row.eal,
                          *(["-d", row.plugin] if row.plugin else []), "--", str(size), str(args.seconds), device],
                         os.path.join(folder, "eth_latency.log"))

    def figure(self, seconds):
        """The median, with the 99th percentile, EAL's start and the first frame."""
        self.wait(r"\nresult [^\n]*\n", START_TIMEOUT + seconds, "no result")
        median, tail = re.search(r"^result .* lat ([\d.]+) ([\d.]+)$", self.text, re.M).groups()
        found = Figure(float(median))
        found.tail = float(tail)
        found.eal, found.first = (float(x) for x in re.search(r"^start ([\d.]+) ([\d.]+)$", self.text, re.M).groups())
        return found

    def quit(self):
        """It has ended, or is of no use any more."""
        self.child.stdin.close()
        self.join()


def all_rows(args):
    """Ours first. Of a peer the first process is the other end."""
    ours, daemon = our_rows(args)
    ours.topology, daemon.topology = LOOP, DAEMON
    ours.processes, daemon.processes = [["net_rnic0,wire=loop,poll=CPU"]], [["net_rnic0,socket=DIR/softrnicd/a.sock"]]
    daemon.devices = ("name=a,wire=loop",)
    peers = [r for r in memif_rows() + virtio_rows() if r.key in PEERS]
    for row in peers:
        row.topology = TWO
    return ([ours, daemon] if args.plugin else []) + peers


class Bench(Turns):
    """One run."""

    def __init__(self, args, folder):
        super().__init__("latency", args, folder, all_rows(args))
        self.turns = [(row, size) for size in args.sizes for row in self.rows]

    def label(self, row, what):
        return f"{row.name} ({row.topology}), {what} bytes"

    def start_others(self, row, size, folder, running):
        """The processes beside ours, into the list."""
        if row.devices:
            running.append(Softrnicd(self.args.softrnicd, folder, row.devices, {self.args.cpus[0]}))
            running[-1].wait_ready()
        for vdevs in row.processes[:-1]:
            cpu = self.args.cpus[0]
            running.append(Testpmd(folder, (cpu, cpu), [v.replace("DIR", folder) for v in vdevs], size, row.plugin, row.eal))
            running[-1].wait("testpmd> ", START_TIMEOUT, "testpmd did not start")
            running[-1].start(0)

    def measure(self, row, what):
        """One repetition: the median in microseconds, and the others' share."""
        running = []
        cpu = cpu_times()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            try:
                self.start_others(row, what, folder, running)
                program = Program(self.args, folder, row, what)
                running.append(program)
                figure = program.figure(self.args.seconds)
                row.window = window(program.text)
                if row.must_say and not re.search(row.must_say, program.text):
                    raise Failed(f"the driver does not say \"{row.must_say}\": {program.tail()}")
                ours = sum(p.jiffies() for p in running)
            finally:
                for p in reversed(running):
                    p.quit()
        for p in running:
            # How a peer's other end ends is its own: net_memif's server may crash when its client has gone (DPDK 22.11).
            if not isinstance(p, Testpmd):
                p.check_end()
        cpu = [b - a for a, b in zip(cpu, cpu_times())]
        return figure, max(0.0, (cpu[0] - ours) / max(1, cpu[2]))


def add_ratios(report, rows, size):
    """Ours by each peer's, of the medians and of the 99th percentiles; the first frame by EAL's start."""
    def pairs(a, b, of):
        return list(zip([of(f) for f in a.figures.get(size, [])], [of(f) for f in b.figures.get(size, [])]))

    for prefix, ours in ((f"latency{size}", "rnic"), (f"latency{size}_softrnicd", "softrnicd")):
        for peer in PEERS:
            a, b = rows.get(ours), rows.get(peer)
            if a is None or b is None or a.median(size) is None or b.median(size) is None:
                continue
            report.ratio(f"{prefix}_vs_{peer}", a.median(size), b.median(size), pairs(a, b, lambda f: f))
            tails = pairs(a, b, lambda f: f.tail)
            report.ratio(f"{prefix}_p99_vs_{peer}", *(statistics.median(x) for x in zip(*tails)), tails)
    if (ours := rows.get("rnic")) is not None and ours.median(size) is not None:
        starts = [(f.first, f.eal) for f in ours.figures[size]]
        report.ratio(f"first{size}_vs_eal", *(statistics.median(x) for x in zip(*starts)), starts)


def make_report(bench):
    """Tables, ratios, notes."""
    args = bench.args
    report = Report(args.root, "devtools/bench/latency.sh")
    for size in args.sizes:
        table = Table(f"{size}-byte frames, one after the other: there and back, median of {args.repeat} x {args.seconds:g} s",
                      ["what", "us", "min .. max", "99 %", "first frame, ms", "topology", "copies"])
        for row in bench.rows:
            median, each = row.median(size), row.figures.get(size, [])
            cells = ["failed", "-", "-", "-"] if median is None else [
                f"{median:.3f}", f"{min(each):.3f} .. {max(each):.3f}", f"{statistics.median(f.tail for f in each):.3f}",
                f"{statistics.median(f.first for f in each):.1f}"]
            table.rows.append([row.name, *cells, row.topology, row.copies])
        report.tables.append(table)
        add_ratios(report, {r.key: r for r in bench.rows}, size)
    eal = [f.eal for r in bench.rows for of in r.figures.values() for f in of]
    report.notes += [
        f"one frame under way, rings of {RING}, frames without FCS; below 1 ours is faster",
        "first frame: from the end of EAL's start, when the port is added, to the first frame that is back; EAL's start itself took"
        + (f" {statistics.median(eal):.0f} ms" if eal else " ?"),
        f"CPUs {args.cpus[0]} (device thread, softrnicd, the other end) and {args.cpus[1]}", *bench.notes(),
    ]
    report.data = {**bench.data(), "rows": [
        {"key": r.key, "name": r.name, "topology": r.topology, "copies": r.copies, "failed": r.why,
         "us": {str(s): v for s, v in r.figures.items()},
         "p99_us": {str(s): [f.tail for f in v] for s, v in r.figures.items()},
         "first_ms": {str(s): [f.first for f in v] for s, v in r.figures.items()}} for r in bench.rows]}
    return report


def main():
    """See latency.sh --help."""
    p = turns_parser("latency.py")
    p.add_argument("--sizes", type=numbers, default=[64, 1514])
    p.add_argument("--program", required=True)
    p.set_defaults(mode="io", device_cpu=None)
    args = p.parse_args()
    check_args(p, args, (args.rows, [r.key for r in all_rows(args)], "row"))
    bench = run_turns(Bench, args)
    publish(make_report(bench), args)
    return 1 if bench.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
