#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether dpdk-test-rdma-perf finds the figures that rdma_bench finds, in turn. Run it by agree.sh."""

import json
import os
import sys

from rdma import TESTS, Bench, Ours, run
from report import Report, Table, publish
from turns import START_TIMEOUT, Failed, check_args, names, run_turns, turns_parser

NEAR = 0.1  # by how much a ratio may differ from 1
DIFFERS, NO_VERDICT = 1, 3  # exit codes
# What has dpdk-test-rdma-perf do as rdma_bench does: the same burst, as many under way, one in as many signaled.
ALIKE = {
    "write8": "--op=write --inline_size=8 --post_list=32 --cq-mod=32 --tx-depth=128",
    "write64": "--op=write --post_list=32 --cq-mod=32 --tx-depth=128",
    "write64k": "--op=write --cq-mod=1 --tx-depth=8",
    "write1m": "--op=write --cq-mod=1 --tx-depth=8",
    "add8": "--op=fetch_add --post_list=8 --cq-mod=8 --tx-depth=128",
    "add8_lat": "--op=fetch_add --mode=lat --iters=100000",
}


def value_of(text, test):
    """In the test's unit, of what --out_json_file has."""
    try:
        results = json.loads(text)["results"]
        if test.latency:
            return float(results["t_typical"])
        rate = float(results["MsgRate"])  # millions a second
        size = int(results["MsgSize"])
    except (ValueError, KeyError, TypeError) as e:
        raise Failed(f"no result: {text[-200:]}") from e
    if size != test.ours[1] or rate <= 0:
        raise Failed(f"not what was asked for: {rate} M/s of {size} bytes")
    return rate * size / 1e3 if test.unit == "GB/s" else rate


class Perf(Ours):
    """dpdk-test-rdma-perf with both ends in one process, on the same two devices."""

    def __init__(self):
        super().__init__("perf", "dpdk-test-rdma-perf")

    def can(self, test):
        return test.key in ALIKE

    def measure(self, test, folder, args):
        path = os.path.join(folder, "result.json")
        how = ALIKE[test.key].split()
        if not test.latency:
            how += [f"--size={test.ours[1]}", f"--duration={max(1, round(args.seconds))}"]
        run([args.perf, *self.eal(folder, args), "--", "--ib-dev=net_rnic0", "--loopback=net_rnic1", "--verify=off", *how,
             "--out_json", f"--out_json_file={path}"], args.seconds + START_TIMEOUT)
        with open(path, encoding="utf-8") as f:
            return value_of(f.read(), test)


def all_rows():
    """The reference first."""
    return [Ours("bench", "rdma_bench"), Perf()]


def all_tests():
    """Those that both can do alike."""
    return [t for t in TESTS if t.key in ALIKE]


def make_report(bench):
    """A line for each test."""
    args = bench.args
    report = Report(args.root, "devtools/bench/agree.sh")
    table = Table(f"Median of {args.repeat} x {args.seconds:g} s", ["what", "unit"] + [r.name for r in bench.rows])
    reference, perf = bench.rows
    for test in bench.tests:
        medians = [r.median(test) for r in bench.rows]
        table.rows.append([test.name, test.unit] + ["failed" if m is None else f"{m:.3f}" for m in medians])
        report.ratio(f"{test.key}_perf_vs_bench", perf.median(test), reference.median(test),
                     zip(perf.figures.get(test.key, []), reference.figures.get(test.key, [])))
    report.tables.append(table)
    report.notes += [
        "SENDs are not compared: dpdk-test-rdma-perf has a thread for each end, which share a CPU here; rdma_bench has one thread",
        f"CPUs {args.cpus[0]} (device thread) and {args.cpus[1]}", *bench.notes(),
    ]
    report.data = {**bench.data(),
                   "rows": [{"key": r.key, "name": r.name, "figures": r.figures, "failed": r.why} for r in bench.rows]}
    return report


def verdict(ratios, disturbed):
    """(exit code, what is to be said). Of a ratio that is there by state, only those count. disturbed: why there is no verdict."""
    if disturbed:
        return NO_VERDICT, f"no verdict: {disturbed}"
    of_both = {name.partition("@")[0] for name in ratios if "@" in name}
    ratios = {name: value for name, value in ratios.items() if name not in of_both}
    far = [f"{name}={value:.3f}" for name, value in ratios.items() if abs(value - 1) > NEAR]
    if far:
        return DIFFERS, f"more than {100 * NEAR:.0f}% apart: {' '.join(far)}"
    return 0, f"all within {100 * NEAR:.0f}%"


def main():
    """See agree.sh --help."""
    p = turns_parser("agree.py")
    p.add_argument("--program", required=True)
    p.add_argument("--perf", required=True)
    p.add_argument("--tests", type=names)
    p.add_argument("--no-verdict", action="store_true")
    args = p.parse_args()
    check_args(p, args, (args.tests, list(ALIKE), "test"))
    bench = run_turns(lambda a, folder: Bench(a, folder, "agree", all_rows(), all_tests()), args)
    report = make_report(bench)
    code, said = (0, "no verdict was asked for") if args.no_verdict else verdict(report.ratios, bench.disturbed())
    if bench.failed():
        code, said = DIFFERS, "no verdict: not all was measured"
    report.notes.append(said)
    report.data["verdict"] = said
    publish(report, args)
    if code:
        print(f"agree: {said}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
