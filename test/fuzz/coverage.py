#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of a target's subjects its kept corpus reaches, of those that an input can reach.

Reads `llvm-cov export -format=lcov` from stdin, and which lines no input reaches from unreachable.txt, whose rows are

    TARGET... | FILE | WHICH | WHY

WHICH names lines by what is in the source:

    function NAME   all of a function
    line TEXT       each line that is TEXT, but for the space around it
    under TEXT      what is indented deeper behind such a line, up to the next one that is not
    both TEXT       the line and what is under it

It fails if a row is about no line that has code, if rows take more than 8 % of a target, or, with --least, if the
corpus reaches less. Rows of other targets are not looked at.

    coverage.py --rows unreachable.txt

looks at all rows, without any build: each must name lines that are in its file.
"""

import argparse
import re
import sys
from pathlib import Path

MOST_UNREACHABLE = 8  # percent


def read_lcov(stream):
    """{path: ({line: count}, {function: first line})} of C files."""
    files, lines, functions = {}, {}, {}
    for row in stream:
        key, _, value = row.strip().partition(":")
        if key == "SF":
            lines, functions = {}, {}
            files[value] = (lines, functions)
        elif key == "FN":
            line, name = value.split(",", 1)
            # Those that are static have their file in front.
            functions[name.rpartition(":")[2]] = int(line)
        elif key == "DA":
            number, count = value.split(",")[:2]
            lines[int(number)] = lines.get(int(number), 0) + int(count)
    return {path: both for path, both in files.items() if path.endswith(".c")}


def read_rows(path, target=None):
    for number, row in enumerate(Path(path).read_text().splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        parts = [part.strip() for part in row.split(" | ")]
        if len(parts) != 4 or not all(parts):
            sys.exit(f"# {path}:{number}: wanted is TARGET... | FILE | WHICH | WHY")
        if target is None or target in parts[0].split():
            yield number, parts[1], parts[2]


def indent(line):
    return len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())


def under(source, at):
    """Numbers of the lines behind line `at` that are indented deeper."""
    depth = indent(source[at - 1])
    for number in range(at + 1, len(source) + 1):
        line = source[number - 1]
        if line.strip() and indent(line) <= depth and not re.match(r"\s*\{$", line):
            return
        yield number


def function_lines(functions, name, count):
    if name not in functions:
        return
    later = [line for line in functions.values() if line > functions[name]]
    yield from range(functions[name], min(later, default=count + 1))


def lines_of(which, source, functions):
    kind, _, text = which.partition(" ")
    if kind == "function":
        yield from function_lines(functions, text, len(source))
        return
    if kind not in ("line", "under", "both"):
        sys.exit(f"# unreachable.txt: {which!r}: neither function, line, under nor both")
    for number, line in enumerate(source, 1):
        if line.strip() != text:
            continue
        if kind != "under":
            yield number
        if kind != "line":
            yield from under(source, number)


def check_rows(path):
    """What is wrong with rows, by the sources alone."""
    root = Path(path).resolve().parents[2]
    for number, file, which in read_rows(path):
        text = (root / file).read_text() if (root / file).is_file() else ""
        # A function's name begins the line in the house's form; that of a command is in a macro.
        text = re.sub(r"^SOFTRNIC_CMD\((\w+)\)", r"softrnic_cmd_\1(", text, flags=re.MULTILINE)
        functions = {m[1]: text.count("\n", 0, m.start()) + 1 for m in re.finditer(r"^(\w+)\(", text, re.MULTILINE)}
        if not any(lines_of(which, text.splitlines(), functions)):
            yield f"{path}:{number}: {which!r} is not in {file}"


def ranges(numbers):
    text, first, last = [], None, None
    for number in sorted(numbers) + [None]:
        if first is not None and number != last + 1:
            text.append(f"{first}" if first == last else f"{first}-{last}")
            first = None
        first = number if first is None else first
        last = number
    return " ".join(text)


def main():
    if sys.argv[1:2] == ["--rows"] and len(sys.argv) == 3:
        faults = list(check_rows(sys.argv[2]))
        print("".join(f"{fault}\n" for fault in faults), end="")
        sys.exit(1 if faults else 0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, default=0, help="percent that must be reached")
    parser.add_argument("--list", help="a file for the lines that are not")
    parser.add_argument("target")
    parser.add_argument("unreachable")
    parser.add_argument("subjects", nargs="+", help="files, or folders that end with /")
    args = parser.parse_args()

    rows = list(read_rows(args.unreachable, args.target))
    used, missed, faults = set(), [], []
    total = {"lines": 0, "reached": 0, "exempt": 0}
    for path, (counts, functions) in sorted(read_lcov(sys.stdin).items()):
        subject = next((path[path.rfind("/" + s) + 1 :] for s in args.subjects if "/" + s in path), None)
        if subject is None:
            continue
        source, exempt = Path(path).read_text().splitlines(), set()
        # A macro's definition has a count where its use has one.
        counts = {line: count for line, count in counts.items() if not source[line - 1].lstrip().startswith("#")}
        for number, file, which in rows:
            if file == subject:
                found = {line for line in lines_of(which, source, functions) if line in counts}
                exempt |= found
                if found:
                    used.add(number)
        reached = {line for line, count in counts.items() if count > 0}
        exempt -= reached
        left = set(counts) - reached - exempt
        if left:
            missed.append(f"{subject}: {ranges(left)}")
        can = len(counts) - len(exempt)
        print(f"# {subject:<40} {len(reached):5} of {can:5} lines {100 * len(reached) / max(can, 1):5.1f} %")
        total["lines"] += len(counts)
        total["reached"] += len(reached)
        total["exempt"] += len(exempt)

    can = total["lines"] - total["exempt"]
    percent, spared = 100 * total["reached"] / max(can, 1), 100 * total["exempt"] / max(total["lines"], 1)
    print(f"# {'together':<40} {total['reached']:5} of {can:5} lines {percent:5.1f} %, {spared:.1f} % out of reach")
    if args.list:
        Path(args.list).write_text("".join(line + "\n" for line in missed))
    faults += [f"{args.unreachable}:{n}: {w!r} is no code of {f}" for n, f, w in rows if n not in used]
    if total["lines"] == 0:
        faults.append("no line of the subjects is in the program")
    if spared > MOST_UNREACHABLE:
        faults.append(f"{spared:.1f} % of the lines are said to be out of reach: at most {MOST_UNREACHABLE} %")
    if percent < args.least:
        faults.append(f"{percent:.1f} % is less than {args.least:g} %; the rest: {args.list}")
    for fault in faults:
        print(f"# FAULT: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
