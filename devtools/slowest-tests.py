#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The slowest tests of meson's testlog.json: programs, and single cases where a program says how long each took."""

import argparse
import json
import os
import re
import sys

CASE = re.compile(r"^(?:not )?ok \d+ - ([^#\n]*)")
TOOK = re.compile(r"^# took ([\d.]+) s$")


def cases(output):
    """(seconds, case) of each line `ok ...` behind which stands `# took ...`."""
    name = None
    for line in output.splitlines():
        if (found := CASE.match(line)):
            name = found[1].strip()
        elif name and (found := TOOK.match(line)):
            yield float(found[1]), name


def tests(path):
    """(seconds, suite or build: test or case) of a log, whose name says of what: test-SUITE.json."""
    what = os.path.basename(path).removeprefix("test-").removesuffix(".json")
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            name = test["name"].rpartition(" / ")[2]
            parts = list(cases(test.get("stdout", "")))
            # A program that hung has its seconds in no case.
            rest = test["duration"] - sum(seconds for seconds, _ in parts)
            parts.append((rest, "around its cases" if parts else ""))
            for seconds, case in parts:
                yield seconds, f"{what}: {name}{': ' if case else ''}{case}"


def main():
    parser = argparse.ArgumentParser(description="Print the slowest tests of meson test logs, in seconds.",
                                     epilog="example: devtools/slowest-tests.py build/test-e2e.json")
    parser.add_argument("-n", type=int, default=20, metavar="N", help="so many (default: %(default)s)")
    parser.add_argument("log", nargs="+", help="a testlog.json")
    args = parser.parse_args()
    slowest = {}
    for path in args.log:
        for seconds, name in tests(path):
            slowest[name] = max(seconds, slowest.get(name, 0))
    for name, seconds in sorted(slowest.items(), key=lambda test: -test[1])[:args.n]:
        print(f"{seconds:8.1f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
