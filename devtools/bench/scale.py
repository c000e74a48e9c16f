#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packet rates of stock dpdk-testpmd over softrnicd with more and more threads, in turn. Run it by scale.sh."""

import os
import sys

from eth import RING, Bench, Row
from report import Report, Table, need_plot, publish
from turns import check_lists, numbers, run_turns, turns_parser

SPLIT = "split"


def pair_devices(pair, threads):
    """--device of both ends of a pair, and the thread of each."""
    return [f"name={end}{pair},wire=pair:p{pair},thread={thread}" for end, thread in zip("ab", threads)]


def make_row(key, name, topology, copies, pairs):
    """pairs: the threads of each one's ends. A forwarding lcore for each pair."""
    vdevs = [f"net_rnic{2 * i + k},socket=DIR/softrnicd/{end}{i}.sock" for i in range(len(pairs)) for k, end in enumerate("ab")]
    row = Row(key, name, topology, copies, [vdevs], ("--single-file-segments",))
    row.devices = tuple(d for i, threads in enumerate(pairs) for d in pair_devices(i, threads))
    row.threads = 1 + max(t for pair in pairs for t in pair)
    row.lcores = len(pairs)
    return row


def all_rows(args):
    """As many pairs as threads; then one pair whose ends have a thread each."""
    rows = [make_row(f"threads{n}", f"{n} thread{'s'[:n > 1]}", f"{n} pair{'s'[:n > 1]}, each on a thread and on an lcore of its own",
                     "device copies each frame once", [(i, i) for i in range(n)]) for n in args.threads]
    if max(args.threads) > 1:
        rows.append(make_row(SPLIT, "2 threads", "1 pair, whose ends have a thread each, on one lcore",
                             "each frame twice: into a ring and out of it", [(0, 1)]))
    for row in rows:
        row.plugin = args.plugin
    return rows


class Scale(Bench):
    """One run: softrnicd on the first CPUs, as many as it has threads, testpmd's lcores on those behind them."""

    def __init__(self, args, folder):
        super().__init__(args, folder, "scale", all_rows(args))

    def device_cpus(self, row):
        return set(self.args.cpus[:row.threads])

    def testpmd_cpus(self, row, i):
        cpus = self.args.cpus
        # Where there are too few, lcores share them.
        lcores = [cpus[(row.threads + lcore) % len(cpus)] for lcore in range(row.lcores)]
        return [cpus[0], *lcores]


def cpus_wanted(args):
    """For the row that wants the most."""
    return max(row.threads + row.lcores for row in all_rows(args))


def make_report(bench):
    """A table for each size, and every row by that of one thread."""
    args = bench.args
    report = Report(args.root, "devtools/bench/scale.sh")
    for size in args.sizes:
        table = Table(f"{size}-byte frames, median of {args.repeat} x {args.seconds:g} s", ["what", "Mpps", "min .. max", "topology", "copies"])
        first = bench.rows[0]
        for row in bench.rows:
            median, each = row.median(size), row.figures.get(size, [])
            cells = ["failed", "-"] if median is None else [f"{median:.2f}", f"{min(each):.2f} .. {max(each):.2f}"]
            table.rows.append([row.name, *cells, row.topology, row.copies])
            if row is not first:
                report.ratio(f"scale{size}_{row.key}_vs_{first.key}", row.median(size), first.median(size),
                             zip(each, first.figures.get(size, [])))
        report.tables.append(table)
    report.notes += [
        "counted: packets that the forwarding lcores receive a second, all ports added",
        f"io forwarding, bursts of 32, rings of {RING}, {args.bursts * 32 * 2} packets in flight a pair, frames without FCS",
        f"CPUs {' '.join(map(str, args.cpus))}", *bench.notes(), *bench.dropped,
    ]
    if len(args.cpus) < cpus_wanted(args):
        report.notes.append(f"threads and lcores shared CPUs, {cpus_wanted(args)} are wanted: these figures say nothing of how it scales")
    report.data = {**bench.data(), "rows": [{"key": r.key, "name": r.name, "topology": r.topology, "threads": r.threads,
                                             "mpps": {str(s): v for s, v in r.figures.items()}, "failed": r.why} for r in bench.rows]}
    return report


def draw(pyplot, bench, path):
    """Rate by threads, a line for each size."""
    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for size in bench.args.sizes:
        points = [(r.threads, r.median(size)) for r in bench.rows if r.key != SPLIT and r.median(size)]
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=f"{size} bytes")
    axes.set_xlabel("threads of softrnicd, and forwarding lcores")
    axes.set_ylabel("Mpps")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    """See scale.sh --help."""
    p = turns_parser("scale.py")
    p.add_argument("--sizes", type=numbers, default=[64, 1514])
    p.add_argument("--threads", type=numbers)
    p.add_argument("--bursts", type=int, default=8)
    p.add_argument("--share", action="store_true")
    p.set_defaults(mode="io")
    args = p.parse_args()
    have = sorted(os.sched_getaffinity(0))
    args.cpus = args.cpus or have
    if args.threads is None:
        args.threads = [n for n in (1, 2, 4, 8, 16, 32) if 2 * n <= len(args.cpus)] or [1]
    check_lists(p, (args.rows, [r.key for r in all_rows(args)], "row"))
    if not set(args.cpus) <= set(have):
        p.error(f"--cpus: there are {' '.join(map(str, have))}")
    if len(args.cpus) < cpus_wanted(args) and not args.share:
        sys.exit(f"scale: {cpus_wanted(args)} CPUs are wanted and {len(args.cpus)} are there: fewer --threads, "
                 "or --share, to see that it works")
    pyplot = need_plot(args.plot)
    bench = run_turns(Scale, args)
    publish(make_report(bench), args)
    if pyplot:
        draw(pyplot, bench, args.plot)
    return 1 if bench.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
