# SPDX-License-Identifier: BSD-3-Clause
"""What eth.py, instr.py and rdma.py share: the machine in words, and figures as text, Markdown, JSON, plot."""

import json
import os
import platform
import re
import statistics
import subprocess
import sys

import states


def first_line(path, pattern):
    """The first group of the first line of a file that matches, or an empty string."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = re.match(pattern, line)
                if m:
                    return m.group(1).strip()
    except OSError:
        pass
    return ""


def output_of(*command):
    """What a command prints, or an empty string if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def revision(root):
    """The commit that is measured; a + says that files differ from it."""
    commit = output_of("git", "-C", root, "rev-parse", "--short=10", "HEAD")
    changed = output_of("git", "-C", root, "status", "--porcelain", "--untracked-files=no")
    return commit + ("+" if commit and changed else "")


def cpu_flags():
    """What the processor can do, in the kernel's words."""
    return first_line("/proc/cpuinfo", r"flags\s*:\s*(.*)").split()


def machine(root):
    """This machine, as pairs of words that a reader needs beside a figure."""
    cpu = first_line("/proc/cpuinfo", r"model name\s*:\s*(.*)")
    flags = cpu_flags()
    simd = [f for f in ("avx2", "avx512f") if f in flags]
    kb = first_line("/proc/meminfo", r"MemTotal:\s*(\d+)")
    version = first_line(os.path.join(root, "VERSION"), r"(\S+)")
    return {
        "cpu": f"{cpu or platform.machine()}, {os.cpu_count()} CPUs"
               + (", virtual machine" if "hypervisor" in flags else "")
               + (f", {' '.join(simd)}" if simd else ""),
        "clock": first_line("/proc/cpuinfo", r"cpu MHz\s*:\s*(.*)") + " MHz",
        "memory": f"{int(kb or 0) / 2**20:.0f} GiB",
        "system": f"{first_line('/etc/os-release', r'PRETTY_NAME=.(.*).$')}, "
                  f"Linux {platform.release()}",
        "dpdk": output_of("pkg-config", "--modversion", "libdpdk"),
        "rdmapmd": f"{version} {revision(root)}".strip(),
        "load": " ".join(f"{x:.2f}" for x in os.getloadavg()) + " at the start",
    }


class Progress:
    """One line on a terminal that says where we are; silent in a pipe."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        """Replace the line."""
        if self.shown:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    def clear(self):
        """Take the line away, before something else is printed."""
        self.say("")


class Table:
    """A titled table of strings; columns of figures stand to the right."""

    def __init__(self, title, head):
        self.title = title
        self.head = head
        self.rows = []

    def text(self):
        """For a terminal."""
        cells = [self.head] + self.rows
        columns = []
        for column in zip(*cells):
            width = max(len(c) for c in column)
            right = all(re.match(r"(-|failed|[-\d.]+( \.\. [\d.]+)?)$", c) for c in column[1:])
            columns.append([c.rjust(width) if right else c.ljust(width) for c in column])
        return "\n".join([self.title] + ["  " + "  ".join(r).rstrip() for r in zip(*columns)])

    def markdown(self):
        """For a document."""
        out = [f"{self.title}:", "", "| " + " | ".join(self.head) + " |",
               "|" + "---|" * len(self.head)]
        out += ["| " + " | ".join(r) + " |" for r in self.rows]
        return "\n".join(out)


class Report:
    """What one run has found."""

    def __init__(self, root, what):
        self.what = what
        self.machine = machine(root)
        self.tables = []
        self.ratios = {}
        self.spreads = {}
        self.notes = []
        self.data = {}

    def ratio(self, name, ours, peer, runs=()):
        """Ours by the peer's; left out where one of them is not there. runs: pairs of single repetitions, by state as well."""
        if ours is None or not peer:
            return
        runs = [(a, b) for a, b in runs if b]
        self._ratio(name, ours, peer, runs)
        parts = states.by_state(runs)
        for state, pairs in parts.items() if len(parts) > 1 else ():
            self._ratio(f"{name}@{state}", *(statistics.median(x) for x in zip(*pairs)), pairs)

    def _ratio(self, name, ours, peer, runs):
        self.ratios[name] = ours / peer
        each = [a / b for a, b in runs]
        if each:
            self.spreads[name] = f"{min(each):.3f} .. {max(each):.3f}"

    def text(self):
        """The whole, for people; the ratio lines are for scripts as well."""
        out = [f"{k + ':':9}{v}" for k, v in self.machine.items()] + [""]
        for table in self.tables:
            out += [table.text(), ""]
        if self.notes:
            out += [f"note: {n}" for n in self.notes] + [""]
        for k, v in self.ratios.items():
            out.append(f"ratio {k}={v:.3f}" + (f" ({self.spreads[k]})" if k in self.spreads else ""))
        return "\n".join(out)

    def markdown(self):
        """To paste into doc/performance.md."""
        out = [f"Measured with `{self.what}` on:", ""]
        out += [f"- {k}: {v}" for k, v in self.machine.items()] + [""]
        for table in self.tables:
            out += [table.markdown(), ""]
        if self.ratios:
            spread = bool(self.spreads)
            out += ["| ratio | value |" + " min .. max |" * spread, "|---|---|" + "---|" * spread]
            out += [f"| `{k}` | {v:.3f} |" + f" {self.spreads.get(k, '')} |" * spread
                    for k, v in self.ratios.items()] + [""]
        out += [f"- {n}" for n in self.notes]
        return "\n".join(out)

    def write_json(self, path):
        """For scripts and for later comparison."""
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"what": self.what, "machine": self.machine, "ratios": self.ratios,
                       "spreads": self.spreads,
                       "notes": self.notes, **self.data}, f, indent=1)
            f.write("\n")


def need_plot(path):
    """Say before the measuring, not after it, that no plot can be made."""
    if not path:
        return None
    try:
        # Only who asks for a plot needs the package.
        import matplotlib  # pylint: disable=import-outside-toplevel
        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        sys.exit("--plot needs matplotlib: apt-get install python3-matplotlib")
    return pyplot


def add_output_options(parser):
    """The options that both programs have."""
    parser.add_argument("--root", default=".", help="root of the sources")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--without", metavar="PEER", action="append", default=[],
                        help="a peer that is not there; the figures say so")


def publish(report, args):
    """Print and write what was asked for."""
    report.notes += [f"not measured, as it is not there: {peer}" for peer in args.without]
    print(report.markdown() if args.markdown else report.text(), flush=True)
    if args.json:
        report.write_json(args.json)
