# SPDX-License-Identifier: BSD-3-Clause
"""The one table of a Markdown file that has certain columns, and what programs that check one have in common."""

import argparse
import os
import sys

from fields import BUILD, ROOT, Fail

DOCUMENT = os.path.join(ROOT, "doc", "design", "foreign_drivers.md")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


class Table:
    """Its rows, each by column, in the order of the file; `number` is the row's line."""

    def __init__(self, path, columns):
        self.path = path
        self.columns = columns
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        heads = [i for i, line in enumerate(self.lines) if line.startswith("|") and cells(line) == columns]
        if len(heads) != 1:
            raise Fail(f"{path}: {len(heads)} tables with the columns {', '.join(columns)}")
        # A line of dashes is between the columns' names and the rows.
        self.first = self.last = heads[0] + 2
        while self.last < len(self.lines) and self.lines[self.last].startswith("|"):
            self.last += 1
        self.rows = []
        for number, line in enumerate(self.lines[self.first:self.last], self.first + 1):
            row = cells(line)
            if len(row) != len(columns):
                raise Fail(f"{path}:{number}: {len(row)} cells, not {len(columns)}")
            self.rows.append(dict(zip(columns, row), number=number))

    def write(self):
        rows = ["| " + " | ".join(row[column] for column in self.columns) + " |" for row in self.rows]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self.lines[:self.first], *rows, *self.lines[self.last:]]) + "\n")


def parser_of(usage, description):
    parser = argparse.ArgumentParser(usage=usage, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", metavar="FILE", default=DOCUMENT, help="where the table is")
    parser.add_argument("--build", metavar="DIR", default=BUILD, help="the build folder (default $RDMAPMD_BUILD, else build/)")
    return parser


def judge(program, things, check):
    """The exit code, once all is said. check: returns the table, whose rows are such things, and what is wrong, a line each."""
    try:
        table, wrong = check()
    except (Fail, OSError) as why:
        print(f"{program}: {why}", file=sys.stderr)
        return 2
    for line in wrong:
        print(line)
    print(f"{len(table.rows)} {things}, {len(wrong)} lines wrong")
    return 1 if wrong else 0
