#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Compare the software RNIC's capabilities with the table of them in doc/design/foreign_drivers.md.

LOG has the commands of any driver with the device: our driver's, Linux's or the device's own at debug level (see commands.py).
The table has a row for each capability that a foreign driver reads, and for each that is not 0:

    | capability | answer | read in | why |

Who reads which stands in the rows; capabilities.txt has the names of those that are read, so that no row goes with its bit.

An answer of 0 has a reason. Wrong are a row with another answer than the log's, a 0 without a reason, a capability that is
not 0 or is listed and has no row, one that is read and not listed or listed and not read, and bits without a name. --write
mends what it can in the table: answers, and rows that are missing, with a ? for what a person has to fill in.

exit code: 0 as the table says; 1 not; 2 usage
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import commands  # noqa: E402  pylint: disable=wrong-import-position
from fields import Fail, decode  # noqa: E402  pylint: disable=wrong-import-position
from table import Table, judge, parser_of  # noqa: E402  pylint: disable=wrong-import-position

COLUMNS = ["capability", "answer", "read in", "why"]
LISTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "capabilities.txt")
TYPES = {0: "general", 1: "ethernet", 2: "odp", 3: "atomic", 4: "roce", 7: "flow_table"}


def answers(build, path):
    """{capability: value} of what the device says first of each type, before a driver has set anything."""
    log = commands.read(path)
    found, seen = {}, set()
    for command, (question, answer) in zip(log, decode(build, log)):
        kind = int(min(question.get("op_mod", {"0x0"})), 16) >> 1
        if command.name != "QUERY_HCA_CAP" or "status" in answer or kind in seen:
            continue
        seen.add(kind)
        for name, values in answer.items():
            of_type = TYPES.get(kind, f"type 0x{kind:x}")
            found[f"{of_type}.{name.removeprefix('capability.')}"] = min(values)
    for kind in (0, 1, 7):
        if kind not in seen:
            raise Fail(f"{path}: no QUERY_HCA_CAP of {TYPES[kind]} capabilities there")
    return found


def names_listed():
    """What a foreign driver reads."""
    with open(LISTED, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def compare(table, found, listed):
    """What is wrong, a line each; rows get their answers."""
    for row in table.rows:
        name = row["capability"]
        is_now = found.get(name, "0")
        if row["answer"] != is_now:
            yield f"{name}: the device says {is_now}, the table {row['answer']}"
            row.update(answer=is_now, why="-")
        if is_now == "0" and row["why"] in ("", "-", "?"):
            yield f"{name}: 0 without a reason"
            row["why"] = "?"
        if not name.partition(".")[0] in TYPES.values() or not name.replace(".", "").replace("_", "").isalnum():
            yield f"{name}: no capability's name"
        if (row["read in"] not in ("", "-", "?")) != (name in listed):
            yield f"{name}: read in {row['read in']}, and {'' if name in listed else 'not '}listed in {os.path.basename(LISTED)}"
    rows = [row["capability"] for row in table.rows]
    if len(set(rows)) != len(rows):
        yield "a capability stands there twice"
    # What is 0 is not among what was found: a bit that goes back to 0 is missed by its name in the list.
    for name in dict.fromkeys([*found, *listed]):
        if name not in rows:
            is_now = found.get(name, "0")
            yield f"{name}: the device says {is_now}, the table nothing"
            table.rows.append({"capability": name, "answer": is_now, "read in": "?" if name in listed else "-",
                               "why": "?" if is_now == "0" else "-"})


def check(args):
    table = Table(args.document, COLUMNS)
    wrong = list(compare(table, answers(args.build, args.log), names_listed()))
    if args.write:
        table.rows.sort(key=lambda row: row["capability"])
        table.write()
    return table, wrong


def main():
    parser = parser_of("capabilities.py [--write] [--document FILE] [--build DIR] LOG", __doc__)
    parser.add_argument("log", metavar="LOG")
    parser.add_argument("--write", action="store_true", help="mend the table")
    args = parser.parse_args()
    return judge("capabilities.py", "capabilities", lambda: check(args))


if __name__ == "__main__":
    sys.exit(main())
