#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Appends by RDMO, beside what they cost without a worker, and beside UCX, in turn. Run it by rdmo.sh."""

import re
import statistics
import sys

import instr
import rdma
from report import Table, need_plot
from turns import START_TIMEOUT, Row, check_args, run_turns

BURST = 32
NEAR = 0.90  # of what its parts allow, the baseline must reach
INVALID = 3  # exit code
# What is counted of each kind of append, and what that is called: their sum is what one costs.
INSTR = {kind: tuple(f"{kind}-{call}" for call in ("post", "serve", "poll")) for kind in ("queue", "log")}


class Test(rdma.Test):
    """As there. ours: test, bytes, connections or queue pairs. ucx: tests of rdmo_ucx, with records a message."""

    program = "rdmo"

    def __init__(self, key, name, unit, ours, ucx=(None, None), records=1):
        super().__init__(key, name, unit, ours, ucx)
        self.records = records  # for each thing that rdmo_bench counts

    def value(self, said):
        return super().value(said) * (1 if self.latency else self.records)


QUEUES = [
    Test("queue64", "APPENDs of 64 bytes", "M/s", ("queue", 64, 1), (None, ("am", 1))),
    Test("queue64_lat", "one APPEND", "us", ("queue-lat", 64, 1), (None, ("am-lat", 1))),
    Test("queue64_one", "APPENDs, each in its message", "M/s", ("queue-one", 64, 1)),
    Test("echo64", "SEND there and one back", "M/s", ("echo", 64, 1)),
    Test("handler64", "APPENDs, of a message that has come", "M/s", ("handler", 64, 1)),
    Test("queue64_1000", "APPENDs of 1,000 connections", "M/s", ("queue", 64, 1000)),
    Test("log64", "APPENDs of 64 bytes to a log", "M/s", ("log", 64, 1)),
    Test("queue64k", "APPENDs of 64 KiB", "GB/s", ("queue", 1 << 16, 1)),
    Test("queue1m", "APPENDs of 1 MiB", "GB/s", ("queue", 1 << 20, 1)),
]
FW1 = [Test(f"fw1_{n}", f"FETCH_AND_ADD, WRITE; {n} queue pair{'s'[:n > 1]}", "M/s", ("fw1", 64, n),
            (("put", 1) if n == 1 else None, None)) for n in (1, 4, 8)]
REST = [
    Test("fw1_lat", "one FETCH_AND_ADD, WRITE", "us", ("fw1-lat", 64, 1), (("put-lat", 1), None)),
    Test("fw1_32", "one FETCH_AND_ADD, WRITE for 32", "M/s", ("fw1", 64 * BURST, 1),
         (("put", BURST), None), BURST),
    Test("packed64", "a burst in one active message", "M/s", (), (None, ("am", BURST))),
]
# What fw1 is made of, and what large appends are compared with, as rdma.py measures it.
PARTS = [t for t in rdma.TESTS if t.key in ("add8", "write64", "write64k", "write1m")]
TESTS = QUEUES + FW1 + REST + PARTS

# Those in which packets as bytes, and the daemon, are measured; and a slow wire: there more queue pairs do not help one initiator.
COMPARED = ("queue64", "queue64_lat", "fw1_1", "fw1_4", "fw1_8", "fw1_lat")
DELAYED = ("queue64", "queue64_lat", "fw1_1", "fw1_lat")


class Ours:
    """What rows of ours have beside those of rdma.py: their tests, and packets."""

    tests = tuple(t.key for t in TESTS)

    def __init__(self, *args):
        super().__init__(*args)
        self.packets = {}  # by test, of each measurement

    def can(self, test):
        """Those of this row."""
        return bool(test.ours) and test.key in self.tests

    def read_more(self, test, output):
        """Packets for each append."""
        m = re.search(r"^result .* packets ([\d.]+)", output, re.M)
        if m:
            self.packets.setdefault(test.key, []).append(float(m.group(1)))


class Embedded(Ours, rdma.Ours):
    """One process."""


class Bytes(Ours, rdma.Bytes):
    """The same, with packets as frames."""

    tests = COMPARED


class Daemon(Ours, rdma.Daemon):
    """Over softrnicd."""

    tests = COMPARED


class Delayed(Ours, rdma.Ours):
    """A wire on which each packet takes 10 us."""

    tests = DELAYED
    wire = "wire=pair:bench,delay=10"

    def __init__(self):
        super().__init__("delay10", "net_rnic embedded, 10 us each way")


class Ucx(rdma.Ucx):
    """rdmo_ucx: its two processes."""

    def can(self, test):
        return test not in PARTS and super().can(test)

    def measure(self, test, folder, args):
        what, records = test.ucx[self.messages]
        self.choose_transport()
        output = rdma.run([args.ucx, what, "64", str(records), str(args.seconds), str(args.cpus[0])],
                          args.seconds + START_TIMEOUT, args.cpus[1])
        self.window = rdma.window(output)
        said = rdma.result(output)
        return said if test.latency else said / 1e6


def all_rows(args):
    """Ours first."""
    rows = [Embedded("rnic", "net_rnic embedded"), Delayed(), Bytes(),
            *([Daemon()] if args.softrnicd else [])]
    if args.ucx:
        rows += [Ucx(f"{short}_{what}", transport, messages)
                 for short, transport in (("tcp", "tcp"), ("shm", "posix,self"))
                 for messages, what in enumerate(("put", "am"))]
    return rows


class Derived(Row):
    """Nothing that is measured: where a row is not in this run."""

    def __init__(self):
        super().__init__("", "", "")


class Figures:
    """Medians of one run by row and test, and ratios of them."""

    def __init__(self, bench, report):
        self.rows = {r.key: r for r in bench.rows}
        self.tests = {t.key: t for t in bench.tests}
        self.report = report

    def row(self, key):
        """One that has no figures, if it is not in this run."""
        return self.rows.get(key) or Derived()

    def median(self, row, test):
        """None where there is no figure."""
        return self.row(row).median(self.tests[test]) if test in self.tests else None

    def ratio(self, name, ours, theirs):
        """(row, test) of both."""
        each = [self.row(row).figures.get(test, []) for row, test in (ours, theirs)]
        self.report.ratio(name, self.median(*ours), self.median(*theirs), zip(*each))

    def best_fw1(self, row):
        """Over as many queue pairs as is best."""
        return max((t.key for t in FW1), key=lambda t: self.median(row, t) or 0)


def add_ratios(report, bench):
    """RDMO by what there is without it; below 1 is better for latencies alone."""
    f = Figures(bench, report)
    for row, name in (("rnic", ""), ("delay10", "_delay10"), ("rnic_bytes", "_bytes"),
                      ("softrnicd", "_softrnicd")):
        f.ratio(f"queue64{name}_vs_fw1", (row, "queue64"), (row, f.best_fw1(row)))
        f.ratio(f"queue64_lat{name}_vs_fw1_lat", (row, "queue64_lat"), (row, "fw1_lat"))
    f.ratio("queue64_vs_fw1_32", ("rnic", "queue64"), ("rnic", "fw1_32"))
    f.ratio("queue64_one_vs_echo", ("rnic", "queue64_one"), ("rnic", "echo64"))
    f.ratio("queue64_vs_handler", ("rnic", "queue64"), ("rnic", "handler64"))
    f.ratio("queue64_1000_vs_one", ("rnic", "queue64_1000"), ("rnic", "queue64"))
    f.ratio("log64_vs_fw1", ("rnic", "log64"), ("rnic", f.best_fw1("rnic")))
    for size in ("64k", "1m"):
        f.ratio(f"queue{size}_vs_write{size}", ("rnic", f"queue{size}"), ("rnic", f"write{size}"))
    for short in ("tcp", "shm"):
        f.ratio(f"queue64_vs_{short}_put", ("rnic", "queue64"), (f"{short}_put", "fw1_1"))
        f.ratio(f"queue64_vs_{short}_put_32", ("rnic", "queue64"), (f"{short}_put", "fw1_32"))
        f.ratio(f"queue64_vs_{short}_am", ("rnic", "queue64"), (f"{short}_am", "queue64"))
        f.ratio(f"queue64_vs_{short}_am_packed", ("rnic", "queue64"), (f"{short}_am", "packed64"))
        f.ratio(f"queue64_lat_vs_{short}_put", ("rnic", "queue64_lat"), (f"{short}_put", "fw1_lat"))
        f.ratio(f"queue64_lat_vs_{short}_am", ("rnic", "queue64_lat"), (f"{short}_am", "queue64_lat"))


def check_baseline(report, bench):
    """Whether fw1 is as fast as its parts allow. What is to be said if it is not, or cannot be known."""
    f = Figures(bench, report)
    fw1, add, write = (f.median("rnic", t) for t in (f.best_fw1("rnic"), "add8", "write64"))
    if not (fw1 and add and write):
        return "this run does not show whether fw1 is a fair baseline: it takes fw1, add8 and write64 of the row rnic"
    allowed = 1 / (1 / add + 1 / write)
    report.ratio("fw1_vs_parts", fw1, allowed)
    if fw1 >= NEAR * allowed:
        return None
    return (f"INVALID: fw1 reaches {fw1 / allowed:.2f} of what FETCH_AND_ADD and WRITE allow, less than {NEAR:.2f}: its"
            " ratios mean nothing")


def packet_table(report, bench):
    """Packets for each append, of all rows that count them."""
    rows = [r for r in bench.rows if getattr(r, "packets", None)]
    table = Table("Packets for each append or echo, acknowledgements among them", ["what"] + [r.name for r in rows])
    for test in bench.tests:
        found = [r.packets.get(test.key) for r in rows]
        if any(found):
            table.rows.append([test.name] + [f"{statistics.median(x) / test.records:.3f}" if x else "-" for x in found])
    if table.rows:
        report.tables.append(table)
    for row in rows:
        if "queue64" in row.packets:
            name = row.key.removeprefix("rnic").strip("_")
            report.ratio(f"queue64_{name}_packets" if name else "queue64_packets",
                         statistics.median(row.packets["queue64"]), 1)
    report.data["packets"] = {r.key: r.packets for r in rows}


def instruction_table(report, args):
    """Of an append: what initiator and worker execute, by callgrind."""
    table = Table("Instructions for each append of 64 bytes", ["call", "one", f"bursts of {BURST}"])
    bursts = (1, BURST)
    report.data["instructions"] = {}
    for kind, calls in INSTR.items():
        found = instr.instructions(args.instr, ("net_rnic0,wire=pair:bench", "net_rnic1,wire=pair:bench"),
                                   [",".join(calls), ",".join(map(str, bursts)), "64", "1000"], args.cpus[1])
        rows = {call: [found[(call, b, 64)] for b in bursts] for call in calls}
        rows[f"{kind}, all of it"] = [sum(x) for x in zip(*rows.values())]
        table.rows += [[name] + [f"{x:.1f}" for x in cells] for name, cells in rows.items()]
        report.ratio(f"{kind}64_instr", rows[f"{kind}, all of it"][1], 1)
        report.data["instructions"].update({name: [round(x, 2) for x in cells] for name, cells in rows.items()})
    report.tables.append(table)


def make_report(bench):
    """Tables, ratios, notes; and whether the baseline is fair."""
    report = rdma.figures_report(bench, "devtools/bench/rdmo.sh")
    add_ratios(report, bench)
    packet_table(report, bench)
    unfair = check_baseline(report, bench)
    report.notes[:0] = [
        *([unfair] if unfair else []),
        "RDMO: one thread is initiator and worker; the device (thread or daemon) does the rest of both ends",
        "fw1: FETCH_AND_ADD, then WRITE: 16 such pairs under way, without status, bounds, order or an answer to who reads;"
        " ratios are to the best of 1, 4 and 8 queue pairs",
        "UCX: a thread at each end; its puts are counted when UCX says that they have completed, whether or not they have arrived",
        "a ratio is RDMO's by the other's: of rates, above 1 RDMO is faster; of latencies (_lat), below 1. _packets and _instr"
        " are of one append",
    ]
    report.data["fair"] = unfair is None
    return report, unfair


def main():
    """See rdmo.sh --help."""
    p = rdma.rdma_parser("rdmo.py")
    p.add_argument("--rdmo", required=True)
    p.add_argument("--ucx")
    args = p.parse_args()
    check_args(p, args, (args.rows, [r.key for r in all_rows(args)], "row"),
               (args.tests, [t.key for t in TESTS], "test"))
    need_plot(args.plot)
    bench = run_turns(lambda a, folder: rdma.Bench(a, folder, "rdmo", all_rows(a), TESTS), args)
    report, unfair = make_report(bench)
    code = rdma.finish(bench, report, instruction_table)
    if unfair:
        print(f"rdmo: {unfair}", file=sys.stderr)
    return code or (INVALID if unfair and unfair.startswith("INVALID") else 0)


if __name__ == "__main__":
    sys.exit(main())
