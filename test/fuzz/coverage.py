#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turn `llvm-cov export -summary-only` into a table of TAP comments: lines reached of the files and folders named."""

import json
import sys


def row(name, covered, count):
    print(f"# {name:<40} {covered:5} of {count:5} lines {100 * covered / max(count, 1):5.1f} %")


def main():
    total = [0, 0]
    for data in json.load(sys.stdin)["data"]:
        for file in data["files"]:
            lines, name = file["summary"]["lines"], file["filename"]
            for subject in sys.argv[1:]:
                at = name.rfind("/" + subject)
                if at >= 0 and name.endswith(".c"):
                    row(name[at + 1 :], lines["covered"], lines["count"])
                    total[0] += lines["covered"]
                    total[1] += lines["count"]
    row("together", *total)


if __name__ == "__main__":
    main()
