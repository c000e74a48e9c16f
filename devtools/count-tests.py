#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the test cases in meson's testlog.json.

A program that speaks TAP counts with each of its cases, any other as one. A program that failed
without a failed case (it crashed, leaked, timed out, ended early) counts as one failed case more.
"""

import argparse
import json
import re
import sys

CASE = re.compile(r"^(not )?ok\b\s*(\d*)\s*(?:-\s*)?([^#]*)(?:#\s*(\w+)\s*(.*))?$")
# How many lines of what a failed case said are worth repeating.
DETAILS = 30
SKIP_ALL = re.compile(r"^1\.\.0\s*#\s*skip\S*\s*(.*)$", re.IGNORECASE)


class Count:
    """Cases of one or more programs, with a line for each that did not pass."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.details = []

    def fail(self, label):
        self.failed.append(label)
        self.details.append([])

    def add_tap(self, name, output):
        """Take the lines of a TAP stream; how many cases it had."""
        cases = 0
        told = 0
        for line in output.splitlines():
            if told and line.startswith("#"):
                told -= 1
                self.details[-1].append(line)
            whole = SKIP_ALL.match(line)
            if whole:
                self.skipped.append(f"{name}: {whole.group(1)}")
                return 1
            match = CASE.match(line)
            if not match:
                continue
            cases += 1
            told = 0
            bad, number, case, directive, reason = match.groups()
            label = f"{name}: {case.strip() or number}"
            if (directive or "").lower().startswith("skip"):
                # cmocka says "not ok 3 # SKIP".
                self.skipped.append(f"{label}: {reason}")
            elif bad:
                self.fail(label)
                told = DETAILS
            else:
                self.passed += 1
        return cases

    def add_test(self, test):
        """Take one line of the log."""
        name, result = test["name"].rpartition(" / ")[2], test["result"]
        failed, skipped = len(self.failed), len(self.skipped)
        cases = self.add_tap(name, test.get("stdout", ""))
        if len(self.failed) > failed:
            return
        if result in ("OK", "EXPECTEDFAIL"):
            self.passed += cases == 0
        elif result == "SKIP":
            if cases == 0:
                self.skipped.append(name)
        elif not (result == "FAIL" and test.get("returncode") == 0
                  and len(self.skipped) > skipped):
            code = test.get("returncode")
            self.fail(f"{name}: {result.lower()}, exit status {code}")
            said = (test.get("stderr") or test.get("stdout", "")).splitlines()
            self.details[-1] = said[:DETAILS]


def main():
    parser = argparse.ArgumentParser(
        description="Print 'PASSED FAILED SKIPPED' of meson test logs, then a line 'failed NAME' or "
        "'skipped NAME: REASON' for each case that did not pass, with what it said.",
        epilog="example: devtools/count-tests.py build/meson-logs/testlog.json")
    parser.add_argument("log", nargs="+", help="a testlog.json")
    count = Count()
    for path in parser.parse_args().log:
        with open(path, encoding="utf-8") as log:
            for line in log:
                count.add_test(json.loads(line))
    print(count.passed, len(count.failed), len(count.skipped))
    for label, details in zip(count.failed, count.details):
        print("failed", label)
        for line in details:
            print("   ", line)
    for label in count.skipped:
        print("skipped", label)
    return 0


if __name__ == "__main__":
    sys.exit(main())
