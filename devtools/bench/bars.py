#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks' figures are by the bars of bars.ini. Run it by all.sh."""

import argparse
import configparser
import json
import os
import re
import sys

from report import need_plot
from turns import QUIET

PASS, FAIL, MISSING, NO_VERDICT = "PASS", "FAIL", "MISSING", "NO VERDICT"
MISSED, DISTURBED = 1, 3  # exit codes
PEERS = ("rnic", "softrnicd", "memif_zc", "memif_copy", "virtio_packed")


class Bar:
    """What is aimed at."""

    def __init__(self, text):
        self.text = text
        m = re.fullmatch(r"(>=|<=) *([\d.]+)|([\d.]+) *\.\. *([\d.]+)", text)
        if not m:
            raise ValueError(f'"{text}" is no bar: >= N, <= N, or N .. M')
        number = float(m.group(2) or 0)
        self.least = float(m.group(3)) if m.group(3) else number if m.group(1) == ">=" else None
        self.most = float(m.group(4)) if m.group(4) else number if m.group(1) == "<=" else None

    def holds(self, value):
        """Whether it is cleared. As it is printed: what reads as the bar is no failure."""
        value = round(value, 3)
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def read_bars(path):
    """{part: {name: Bar}}"""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str
    with open(path, encoding="utf-8") as f:
        parser.read_file(f)
    return {part: {name: Bar(text) for name, text in parser[part].items()} for part in parser.sections()}


def read_part(folder, part):
    """What its script has written, or None."""
    try:
        with open(os.path.join(folder, f"{part}.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def values_of(found, name):
    """[(name, value, spread)]: by state where there is more than one, else one; none where it was not measured."""
    ratios, spreads = found.get("ratios", {}), found.get("spreads", {})
    by_state = [n for n in ratios if n.partition("@")[0] == name and "@" in n]
    names = by_state or [n for n in (name,) if n in ratios]
    values = [(n, ratios[n], spreads.get(n, "")) for n in names]
    if not values and name in found.get("values", {}):
        values = [(name, found["values"][name], "")]
    return values


def disturbed(found):
    """Whether its figures give no verdict: others used the machine, or that changed in a measurement."""
    return found.get("others", 0) > QUIET or found.get("changed", 0) > 0


def judge(bars, folder):
    """A line for each bar, and each state."""
    lines = []
    for part, named in bars.items():
        found = read_part(folder, part)
        for name, bar in named.items():
            values = values_of(found, name) if found else []
            if not values:
                lines.append({"part": part, "name": name, "bar": bar.text, "verdict": MISSING})
            for full, value, spread in values:
                verdict = NO_VERDICT if disturbed(found) else PASS if bar.holds(value) else FAIL
                lines.append({"part": part, "name": full, "bar": bar.text, "value": value, "spread": spread, "verdict": verdict})
    return lines


def print_lines(lines):
    """For people, and for scripts that like columns."""
    width = max(len(line["name"]) for line in lines)
    for line in lines:
        value = f"{line['value']:.3f}" if "value" in line else "-"
        spread = f"  ({line['spread']})" if line.get("spread") else ""
        print(f"{line['verdict']:10}  {line['name']:{width}}  {value:>8}  {line['bar']}{spread}")


def exit_code(lines):
    """0 only if all of them hold."""
    verdicts = {line["verdict"] for line in lines}
    if verdicts & {FAIL, MISSING}:
        return MISSED
    return DISTURBED if NO_VERDICT in verdicts else 0


def draw_sizes(pyplot, found, path):
    """Rates by the length of frames, a line for each row."""
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for row in found["rows"]:
        points = sorted((int(size), sorted(each)[len(each) // 2]) for size, each in row["mpps"].items() if each)
        if row["key"] in PEERS and points:
            axes.plot(*zip(*points), marker="o", label=row["name"])
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes of a frame, without FCS")
    axes.set_ylabel("Mpps, median")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def draw_bursts(pyplot, found, path):
    """Instructions by the size of bursts, 64 bytes."""
    figure, axes = pyplot.subplots(figsize=(7, 4))
    lines = {}
    for row in found["rows"]:
        if row["bytes"] == 64 and row["function"] in ("tx-none", "rx-none", "rx-vec", "device"):
            lines.setdefault(f"{row['driver']} {row['function']}", []).append((row["burst"], row["instructions"]))
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points)), marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("packets of a burst")
    axes.set_ylabel("instructions a packet, 64 bytes")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def draw(pyplot, folder, plots):
    """What there is."""
    for part, how, name in (("eth", draw_sizes, "rate_by_size.svg"), ("instr", draw_bursts, "instructions_by_burst.svg")):
        found = read_part(folder, part)
        if found:
            how(pyplot, found, os.path.join(plots, name))


def main():
    """See all.sh --help."""
    p = argparse.ArgumentParser(prog="bars.py")
    p.add_argument("--bars", required=True)
    p.add_argument("--dir", required=True)
    p.add_argument("--only", type=lambda text: text.split(","))
    p.add_argument("--json")
    p.add_argument("--plot")
    args = p.parse_args()
    try:
        bars = read_bars(args.bars)
    except (OSError, ValueError, configparser.Error) as e:
        sys.exit(f"all: {args.bars}: {e}")
    bars = {part: named for part, named in bars.items() if not args.only or part in args.only}
    lines = judge(bars, args.dir)
    if lines:
        print_lines(lines)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"bars": lines, "parts": {part: read_part(args.dir, part) for part in bars}}, f, indent=1)
            f.write("\n")
    if args.plot:
        draw(need_plot(args.plot), args.dir, args.plot)
    return exit_code(lines)


if __name__ == "__main__":
    sys.exit(main())
