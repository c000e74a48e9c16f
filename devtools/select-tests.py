#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What of a build's tests is meant by names of suites and tests, and what has to be built for it."""

import argparse
import json
import os
import subprocess
import sys


def introspect(build):
    """(tests, targets), as meson knows them."""
    done = subprocess.run(["meson", "introspect", "--tests", "--targets", build], stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return found["tests"], found["targets"]


def suites(test):
    return {suite.partition(":")[2] for suite in test["suite"]}


def main():
    parser = argparse.ArgumentParser(
        description="Print the names of tests in a build folder, one a line: those of suites, and single ones. "
        "Exit code 3: one of the names is of nothing.",
        epilog="example: devtools/select-tests.py --short build-asan unit device e2e-rdma")
    parser.add_argument("--short", action="store_true", help="without those of the suite `long`")
    parser.add_argument("--targets", action="store_true", help="print what ninja is to build for them instead")
    parser.add_argument("build", help="a folder that meson has configured")
    parser.add_argument("word", nargs="+", help="a suite or a test")
    args = parser.parse_args()
    tests, targets = introspect(args.build)
    words = set(args.word)
    unknown = words.difference(*({test["name"]} | suites(test) for test in tests))
    if unknown:
        print(f"{parser.prog}: {args.build} has no suite and no test {', '.join(sorted(unknown))}", file=sys.stderr)
        return 3
    chosen = [test for test in tests if words & (suites(test) | {test["name"]})
              and not (args.short and "long" in suites(test))]
    if args.targets:
        needed = {target for test in chosen for target in test["depends"]}
        for target in targets:
            if target["id"] in needed:
                for name in target["filename"]:
                    print(os.path.relpath(name, os.path.realpath(args.build)))
    else:
        for test in chosen:
            print(test["name"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
