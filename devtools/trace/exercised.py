#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Who had which command executed: the table of that in doc/design/foreign_drivers.md, its columns from logs.

A log has the commands of a driver with the software RNIC (see commands.py): the driver's own, Linux's, or the device's, e.g.
of softrnicd with --log-level debug. A command counts where the device has executed it: one that it refused does not. A column
is filled from all logs that are named for it, and only by --write:

    exercised.py --write "Linux 6.1=run1.log" "Linux 6.1=run2.log"    a column from logs
    exercised.py --write --run "unit, device=unit device"      a column from what the programs of test suites do
    exercised.py --write --add "our driver=run.log"            a log of one program more: it adds to its column
    exercised.py                                                      check the table

--run has the embedded device of each test program say what it executes (devtools/trace/say.c). The check wants a row for each
command of lib/softrnic/hca/cmd_table.c, in its order, and nothing else; yes, no, or ? for a column that nobody has filled; and in
the column of the recording what test/layout/data/connectx4lx.cmds has.

exit code: 0 the table is as it should be; 1 not; 2 usage
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import commands  # noqa: E402  pylint: disable=wrong-import-position
from fields import ROOT, Fail  # noqa: E402  pylint: disable=wrong-import-position
from table import Table, judge, parser_of  # noqa: E402  pylint: disable=wrong-import-position

CMD_TABLE = os.path.join(ROOT, "lib", "softrnic", "hca", "cmd_table.c")
RECORDING = os.path.join(ROOT, "test", "layout", "data", "connectx4lx.cmds")
COLUMNS = ["command", "unit, device", "our driver", "Linux 6.1", "Linux 6.12", "mlx5_ib 6.1", "recording"]
TITLE = re.compile(r"dump command (data )?(?:MLX5_CMD_OP_)?(\w+)\(0x[0-9a-f]+\) OUTPUT")
ROW = re.compile(r"([0-9a-f]{3,}): ([0-9a-f]{2})[0-9a-f]{6} ")
PATIENCE = 1800


def known():
    """The commands that the device executes."""
    with open(CMD_TABLE, encoding="utf-8") as file:
        names = re.findall(r"^\t(?:CMD|BRINGUP|BOOTED|READY|FUNCTION)\((\w+),", file.read(), re.M)
    if not names:
        raise Fail(f"{CMD_TABLE}: no row of a command found: has its form changed?")
    return names


def executed(lines):
    """Names of commands that were answered, and not with an error."""
    found, name, status_at = set(), None, ""
    for line in lines:
        if match := TITLE.search(line):
            name = match[2]
            # Of an entry of the command queue the output begins at 0x20.
            status_at = "000" if match[1] else "020"
        elif name and (match := ROW.search(line)) and match[1] == status_at:
            if match[2] == "00":
                found.add(name)
            name = None
    return found


def programs(build, suites):
    """Command lines of the test programs of suites; what a script runs is not among them."""
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout)
    for test in tests:
        if any(suite.rpartition(":")[2] in suites for suite in test["suite"]) and not test["cmd"][0].endswith((".py", ".sh")):
            yield test["name"], test["cmd"]


def run(build, suites):
    """What the device executes in the programs of these suites."""
    say = os.path.join(build, "devtools", "trace", "trace-say.so")
    if not os.path.exists(say):
        raise Fail(f"{say} is missing: build with -Dtests=true, or name the build with --build")
    env = dict(os.environ, LD_PRELOAD=say, RDMAPMD_SOURCE=ROOT, RDMAPMD_BUILD=build,
               RDMAPMD_PLUGIN=os.path.join(build, "drivers", "net", "rnic", "librte_net_rnic.so"))
    found = set()
    for name, command in programs(build, suites):
        with tempfile.TemporaryDirectory() as runtime, \
             subprocess.Popen(command, env=dict(env, RUNTIME_DIRECTORY=runtime), cwd=build, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            seen = executed(process.stdout)
            code = process.wait(PATIENCE)
        print(f"{name}: {len(seen)} commands, exit code {code}", flush=True)
        found |= seen
    return found


def in_recording():
    """All of it was answered well."""
    return {command.name for command in commands.read(RECORDING)}


def fill(table, column, found, add=False):
    for row in table.rows:
        row[column] = "yes" if row["command"] in found or (add and row[column] == "yes") else "no"


def compare(table, names):
    """What is wrong, a line each."""
    rows = [row["command"] for row in table.rows]
    for name in names:
        if name not in rows:
            yield f"{name}: the device executes it, and the table has no row of it"
    for name in rows:
        if name not in names:
            yield f"{name}: a row of a command that the device does not execute"
    if sorted(rows) == sorted(names) and rows != names:
        yield "the rows are in another order than in cmd_table.c"
    recorded = in_recording()
    for row in table.rows:
        for column in COLUMNS[1:]:
            if row[column] not in ("yes", "no", "?"):
                yield f"{row['command']}: neither yes nor no nor ? in the column {column}"
        if row["recording"] != ("yes" if row["command"] in recorded else "no"):
            yield f"{row['command']}: the recording has it the other way round"
    for column in COLUMNS[1:]:
        if len({row[column] == "?" for row in table.rows}) == 2:
            yield f"the column {column} is filled in part"


def new_rows(table, names):
    """As the device has them; columns that are filled say of a new one that nobody had it executed."""
    old = {row["command"]: row for row in table.rows}
    filled = {column for column in COLUMNS[1:] for row in table.rows if row[column] != "?"}
    return [old.get(name, dict({column: "no" if column in filled else "?" for column in COLUMNS}, command=name))
            for name in names]


def columns_of(words):
    """{column: what is named for it}"""
    named = {}
    for word in words:
        column, equals, what = word.partition("=")
        if not equals or column not in COLUMNS[1:-1]:
            raise Fail(f"'{word}': not COLUMN=..., with a column of {', '.join(COLUMNS[1:-1])}")
        named.setdefault(column, []).append(what)
    return named


def write(table, names, args):
    table.rows = new_rows(table, names)
    fill(table, "recording", in_recording())
    found = {column: run(os.path.abspath(args.build), " ".join(suites).split())
             for column, suites in columns_of(args.run).items()}
    for column, logs in columns_of(args.logs).items():
        for log in logs:
            with open(log, encoding="utf-8", errors="replace") as lines:
                seen = executed(lines)
            if not seen:
                raise Fail(f"{log}: no dumps of commands there")
            found.setdefault(column, set()).update(seen)
    for column, seen in found.items():
        fill(table, column, seen, args.add)
    table.write()


def check(args):
    names, table = known(), Table(args.document, COLUMNS)
    if args.write:
        write(table, names, args)
    return table, list(compare(table, names))


def main():
    parser = parser_of("exercised.py [--write] [--add] [--document FILE] [--build DIR] [--run COLUMN=SUITES] [COLUMN=LOG...]", __doc__)
    parser.add_argument("logs", metavar="COLUMN=LOG", nargs="*")
    parser.add_argument("--run", metavar="COLUMN=SUITES", action="append", default=[], help="test suites to run for a column")
    parser.add_argument("--add", action="store_true", help="what a column has stays, and no command goes from it")
    parser.add_argument("--write", action="store_true", help="write what was found into the table")
    args = parser.parse_args()
    if (args.logs or args.run or args.add) and not args.write:
        parser.error("logs are for --write")
    return judge("exercised.py", "commands", lambda: check(args))


if __name__ == "__main__":
    sys.exit(main())
