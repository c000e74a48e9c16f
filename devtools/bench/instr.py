#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per packet of burst functions, ours and net_mlx5's. Run it by instr.sh."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from report import Progress, Report, Table, add_output_options, need_plot, publish
from turns import Failed, numbers

ROW = re.compile(r"row (\S+) burst (\d+) bytes (\d+)")
TIMEOUT = 600

OURS = ["tx-none", "tx-none-nofree", "tx-full", "tx-csum", "tx-tso", "rx-none", "rx-full", "rx-time",
        "device", "device-udp", "device-rss", "device-csum", "empty"]
PEER = ["tx-none", "tx-none-nofree", "tx-none-nompw", "tx-full", "tx-inline", "rx-vec", "rx-scalar",
        "rx-scalar-plain", "empty-vec", "empty-scalar"]

# Where the device tells of frames together. The rows of OURS have an entry for each, as net_mlx5's have.
COMPRESSED = ["rx-none", "rx-full", "device", "device-udp", "device-rss", "empty"]

# Of a driver whose other end is a driver, too: what both do with a frame is all that is done with it.
MEMIF = ["tx-none", "rx-none"]
WAYS = {"net_rnic": ("tx-none", "device", "rx-none"), "net_memif": MEMIF}

# ratio's name, ours, the peer's that does the same
PAIRS = [
    ("tx", "tx-none", "tx-none"),
    ("tx_nofree", "tx-none-nofree", "tx-none-nofree"),
    ("tx_full", "tx-full", "tx-full"),
    ("rx", "rx-none", "rx-vec"),
    ("rx_vs_scalar", "rx-none", "rx-scalar-plain"),
    ("rx_full", "rx-full", "rx-scalar"),
    ("rx_full_vs_vec", "rx-full", "rx-vec"),
    ("empty", "empty", "empty-vec"),
    ("empty_vs_scalar", "empty", "empty-scalar"),
]


# Burst sizes that get ratio lines: testpmd's own, and small ones; all others are in the tables.
RATIO_BURSTS = (1, 4, 32)


def eal(vdevs, cpu):
    """Options of EAL: nothing shared, ordinary memory, one CPU. None for a program without EAL (vdevs None)."""
    if vdevs is None:
        return []
    return ["--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf",
            "--iova-mode=va", "--lcores", f"0@{cpu}", "--log-level=4",
            *[f"--vdev={v}" for v in vdevs], "--"]


def run(command, folder):
    """Its output; Failed if it ends badly."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"{' '.join(command)}: no end after {TIMEOUT} s") from e
    if done.returncode != 0:
        said = [x for x in (done.stdout + done.stderr).splitlines()
                if x.strip() and not x.startswith(("==", "row "))]
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}: "
                     + " | ".join(said[-3:]))
    return done.stdout


def rows_of(output):
    """(name, burst, bytes) -> calls, packets, cycles, from what a program prints."""
    rows = {}
    for line in output.splitlines():
        m = re.match(ROW.pattern + r" calls (\d+) packets (\d+) cycles (\S+)", line)
        if m:
            key = (m.group(1), int(m.group(2)), int(m.group(3)))
            rows[key] = (int(m.group(4)), int(m.group(5)), float(m.group(6)))
    return rows


def counted_in(folder):
    """(name, burst, bytes) -> instructions, from callgrind's dumps."""
    totals = {}
    for path in glob.glob(os.path.join(folder, "callgrind.*")):
        key = None
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = re.match(r"desc: Trigger: Client Request: " + ROW.pattern, line)
                if m:
                    key = (m.group(1), int(m.group(2)), int(m.group(3)))
                m = re.match(r"totals: (\d+)", line)
                if m and key:
                    totals[key] = int(m.group(1))
    return totals


def instructions(program, vdevs, plan, cpu):
    """(name, burst, bytes) -> instructions per packet, or per call where none move."""
    with tempfile.TemporaryDirectory(prefix="rdmapmd-bench.") as folder:
        output = run(["valgrind", "--tool=callgrind", "--toggle-collect=counted_call",
                      f"--callgrind-out-file={folder}/callgrind.out", program,
                      *eal(vdevs, cpu), *plan], folder)
        rows, totals = rows_of(output), counted_in(folder)
    call = ("call", 0, 0)
    if call not in rows or call not in totals:
        raise Failed(f"{program}: nothing was counted")
    price = totals[call] / rows[call][0]
    found = {}
    for key, (calls, packets, _) in rows.items():
        if key != call:
            if key not in totals:
                raise Failed(f"{program}: no dump of {key}")
            found[key] = (totals[key] - calls * price) / (packets or calls)
    return found


def cycles(program, vdevs, plan, cpu):
    """The same in TSC cycles: not exact, and a lower bound."""
    with tempfile.TemporaryDirectory(prefix="rdmapmd-bench.") as folder:
        rows = rows_of(run([program, *eal(vdevs, cpu), *plan], folder))
    return {key: row[2] for key, row in rows.items() if key[0] != "call"}


class Side:
    """A program, what it measured."""

    def __init__(self, title, program, names, vdevs=()):
        self.title = title
        self.program = program
        self.names = names
        self.vdevs = vdevs
        self.instr = {}
        self.cycles = {}

    def measure(self, args, cpu):
        """Both figures of all rows."""
        lists = [",".join(self.names), ",".join(map(str, args.bursts)),
                 ",".join(map(str, args.sizes))]
        self.instr = instructions(self.program, self.vdevs, lists + [str(args.calls)], cpu)
        self.cycles = cycles(self.program, self.vdevs, lists + [str(args.calls * 10)], cpu)

    def table(self, args, size):
        """Bursts across, functions down."""
        timed = 32 if 32 in args.bursts else args.bursts[-1]
        table = Table(f"{self.title}, {size}-byte frames: instructions per packet",
                      ["function"] + [f"burst {b}" for b in args.bursts]
                      + [f"cycles at {timed}"])
        for name in self.names:
            cells = [self.instr.get((name, b, size)) for b in args.bursts]
            if not any(cells):
                continue
            last = self.cycles.get((name, timed, size))
            table.rows.append([name] + [f"{c:.1f}" if c is not None else "-" for c in cells]
                              + [f"{last:.1f}" if last is not None else "-"])
        return table

    def empty_rows(self):
        """The polls that find nothing: instructions and cycles per call."""
        return [[self.title, name, f"{self.instr[key]:.0f}", f"{self.cycles.get(key, 0):.0f}"]
                for name in self.names for key in [(name, 32, 0)] if key in self.instr]


def ratios(report, ours, peer, args):
    """Ours by the peer's."""
    bursts = [b for b in args.bursts if b in RATIO_BURSTS] or args.bursts
    for name, a, b in PAIRS:
        if name.startswith("empty"):
            report.ratio(f"{name}_instr", ours.instr.get((a, 32, 0)), peer.instr.get((b, 32, 0)))
            continue
        direction, _, rest = name.partition("_")
        rest = "_" + rest if rest else ""
        for size in args.sizes:
            for burst in bursts:
                at = "" if burst == 32 else f"_burst{burst}"
                report.ratio(f"{direction}{size}{rest}{at}_instr",
                             ours.instr.get((a, burst, size)), peer.instr.get((b, burst, size)))


def way(side, burst, size):
    """What a frame costs from one application to the other; None where a part was not counted."""
    parts = [side.instr.get((name, burst, size)) for name in WAYS[side.title]]
    return sum(parts) if all(parts) else None


def ways(report, sides, args):
    """The table of that, and our ratio."""
    sides = [s for s in sides if s.instr and s.title in WAYS]
    for size in args.sizes:
        table = Table(f"A frame's way from application to application, {size} bytes: instructions",
                      ["driver", "what is added up"] + [f"burst {b}" for b in args.bursts])
        for side in sides:
            cells = [way(side, b, size) for b in args.bursts]
            table.rows.append([side.title, ", ".join(WAYS[side.title])]
                              + [f"{c:.0f}" if c else "-" for c in cells])
        report.tables.append(table)
        if len(sides) == 2:
            for burst in [b for b in args.bursts if b in RATIO_BURSTS] or args.bursts:
                at = "" if burst == 32 else f"_burst{burst}"
                report.ratio(f"way{size}_vs_memif{at}_instr", way(sides[0], burst, size),
                             way(sides[1], burst, size))


def draw(pyplot, sides, args):
    """Instructions by burst size, what testpmd selects on both sides."""
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
    for ax, names, what in ((axes[0], ("tx-none",), "Tx"),
                            (axes[1], ("rx-none", "rx-vec", "rx-scalar-plain"), "Rx")):
        for side in sides:
            for name in names:
                at = [(b, side.instr[(name, b, args.sizes[0])]) for b in args.bursts
                      if (name, b, args.sizes[0]) in side.instr]
                if at:
                    ax.plot(*zip(*at), marker="o", label=f"{side.title} {name}")
        ax.set_xscale("log", base=2)
        ax.set_xticks(args.bursts, [str(b) for b in args.bursts])
        ax.set_ylim(bottom=0)
        ax.set_xlabel(f"{what} burst, {args.sizes[0]}-byte frames")
        ax.set_ylabel("instructions per packet")
        ax.legend()
    figure.tight_layout()
    figure.savefig(args.plot)


def values(ours):
    """What has a bar of its own: FUNCTION_BYTES_burstN, and empty."""
    if ours is None:
        return {}
    found = {f"{name}_{size}_burst{burst}": round(v, 2) for (name, burst, size), v in ours.instr.items()}
    found.update({row[1]: float(row[2]) for row in ours.empty_rows()})
    return found


def main():
    """See instr.sh --help."""
    p = argparse.ArgumentParser(prog="instr.py")
    p.add_argument("--ours")
    p.add_argument("--peer")
    p.add_argument("--bursts", type=numbers, default=[1, 4, 8, 16, 32, 64])
    p.add_argument("--sizes", type=numbers, default=[64, 1500])
    p.add_argument("--calls", type=int, default=3200)
    add_output_options(p)
    args = p.parse_args()
    pyplot = need_plot(args.plot)
    if not shutil.which("valgrind"):
        sys.exit("instr: valgrind is missing (apt-get install valgrind)")

    cpu = max(os.sched_getaffinity(0))
    sides = []
    if args.ours:
        for title, names, how in (("net_rnic", OURS, 0), ("net_rnic, compressed completions", COMPRESSED, 1)):
            sides.append(Side(title, args.ours, names,
                              [f"net_rnic{i},wire=pair:bench,cqe_comp={how}" for i in (0, 1)]))
        # In one process, and with plain memory: so each end copies.
        socket = f"socket=rdmapmd-bench-{os.getpid()}"
        sides.append(Side("net_memif", args.ours, MEMIF,
                          (f"net_memif0,role=server,{socket}", f"net_memif1,role=client,{socket}")))
    if args.peer:
        sides.append(Side("net_mlx5", args.peer, PEER))
    progress, failed = Progress(), False
    for side in sides:
        progress.say(f"counting {side.title}")
        try:
            side.measure(args, cpu)
        except Failed as e:
            failed = True
            progress.clear()
            print(f"instr: {e}", file=sys.stderr)
    progress.clear()

    report = Report(args.root, "devtools/bench/instr.sh")
    for size in args.sizes:
        report.tables += [s.table(args, size) for s in sides if s.instr]
    empty = Table("Polls that find nothing, per call", ["driver", "function", "instructions",
                                                        "cycles"])
    empty.rows = [row for s in sides for row in s.empty_rows()]
    report.tables.append(empty)
    by_title = {s.title: s for s in sides}
    if "net_rnic" in by_title and "net_mlx5" in by_title:
        ratios(report, by_title["net_rnic"], by_title["net_mlx5"], args)
    ways(report, sides, args)
    report.notes += [
        f"instructions: callgrind, {args.calls} calls after a warm-up, the burst function and all"
        " that it calls, nothing else; the same in every run",
        "cycles: one core, everything in its caches, no device beside it: a lower bound, and noisy",
        "net_mlx5: the distribution's library on queues made by hand; a - is a burst size at which"
        " the function delivers nothing",
        "device: a round of the software RNIC, from the WQE to the receiver's completion; of frames that are"
        " no IP packets, UDP over IPv4 without a checksum, such of random flows with RSS, and UDP with"
        " all offloads and RSS",
        "compressed completions: frames that are alike but for length and hash are told of together; the other"
        " rows of net_rnic, and net_mlx5, have an entry for each frame",
        "net_memif: both ends in one process, each of which copies the frame; our device copies it once",
        "net_mlx5 also fills packet type, RSS hash and checksum flags (rx-vec always, rx-scalar-plain"
        " the type alone); net_rnic fills them in rx-full",
    ]
    report.data = {"bench": "instr", "calls": args.calls, "rows": [
        {"driver": s.title, "function": k[0], "burst": k[1], "bytes": k[2],
         "instructions": round(v, 2), "cycles": s.cycles.get(k)}
        for s in sides for k, v in s.instr.items()], "values": values(by_title.get("net_rnic"))}
    publish(report, args)
    if pyplot:
        draw(pyplot, sides, args)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
