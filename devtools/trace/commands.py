#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Commands from a log with dumps of them: a kernel's, of Linux's mlx5_core (dyndbg="module mlx5_core +p"), our driver's (log
type pmd.net.rnic.dump) or the software RNIC's (softrnic.cmd), both at debug level.

usage: commands.py LOG[.gz]                   all commands, compact, for trace_test
       commands.py --dump OPCODE LOG[.gz]     the dumps of the first such command

The compact form, numbers in hexadecimal:

    command OPCODE NAME
    in LENGTH LOGGED         bytes of the input, and how many of them the log has
    OFFSET DWORD...          what is not zero in it
    OFFSET FIRST+STEP*COUNT  64-bit values in arithmetic progression: pages
    out LENGTH LOGGED
    ...
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'app', 'rdmapmd-setup'))
from rdmapmd_setup.dumps import lines_of, pairs, read, write_compact  # noqa: E402  pylint: disable=wrong-import-position


def main(args):
    if len(args) == 3 and args[0] == '--dump':
        wanted = int(args[1], 0)
        both = next(p for p in pairs(lines_of(args[2])) if p[0].opcode == wanted and p[1] is not None)
        print('\n'.join(line for dump in both for line in dump.lines).rstrip())
        return
    if len(args) != 1:
        sys.exit(__doc__)
    for command in read(args[0]):
        print('\n'.join(write_compact(command)))


if __name__ == '__main__':
    main(sys.argv[1:])
