#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How many lines a function takes that executes a command: of the driver's definitions that call rnic_cmd_exec(),
rnic_cmd_try(), rnic_cmd_create() or rnic_cmd_query(), or one of their kind (rnic_cmd_exec_in(), rnic_cmd_try_query()...), by
name or by an rnic_cmd_fn that was handed in. Lines go from the return type to the
closing brace. Commands with nothing but a number, rnic_cmd_alloc() and rnic_cmd_destroy(), are a line where they are
used and do not count, nor does what cmd.c itself consists of (rnic_cmd_*)."""

import argparse
import os
import re
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A definition as clang-format leaves it: the return type, the name and its parameters, the body between braces in column 0.
DEFINITION = re.compile(r"^[a-z][^\n;{}()]*\n(\w+)\([^;{}]*\)\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)
BY_NAME = re.compile(r"\brnic_cmd_(exec|try|create|query)(_\w+)?\s*\(")
HANDED_IN = re.compile(r"\brnic_cmd_fn\s*\*\s*(\w+)")


def executes(text):
    """Whether a definition calls one of them."""
    return bool(BY_NAME.search(text)) or any(
        re.search(rf"\b{name}\s*\(", text) for name in HANDED_IN.findall(text))


def commands_below(folder):
    """(lines, file, function) of each that executes a command."""
    for where, _, files in os.walk(folder):
        for name in sorted(files):
            if name.endswith(".c"):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for found in DEFINITION.finditer(text):
                    if executes(found[0]) and not found[1].startswith("rnic_cmd_"):
                        yield found[0].count("\n") + 1, os.path.relpath(path, folder), found[1]


def main():
    """Print their number, mean, median and maximum; with --list each of them, too."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="Exit code: 0 done, 1 there are none, 2 usage.")
    parser.add_argument("--list", action="store_true", help="each function, the longest first")
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "drivers/net/rnic"),
                        help="of sources (drivers/net/rnic)")
    args = parser.parse_args()
    found = sorted(commands_below(args.folder), reverse=True)
    if not found:
        print("no function executes a command", file=sys.stderr)
        return 1
    if args.list:
        for lines, path, name in found:
            print(f"{lines:4} {path}: {name}()")
    counts = [lines for lines, _, _ in found]
    print(f"{len(counts)} functions execute a command: mean {statistics.mean(counts):.1f} lines, "
          f"median {statistics.median(counts):g}, max {counts[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
