#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Facts from a kernel log of Linux's mlx5_core with command dumps (dyndbg="module mlx5_core +p").

usage: cmds-from-log.py LOG[.gz]                   all commands, compact, for trace_test
       cmds-from-log.py --dump OPCODE LOG[.gz]     the dumps of the first such command

The compact form, numbers in hexadecimal:

    command OPCODE NAME
    in LENGTH LOGGED         bytes of the input, and how many of them the log has
    OFFSET DWORD...          what is not zero in it
    OFFSET FIRST+STEP*COUNT  64-bit values in arithmetic progression: pages
    out LENGTH LOGGED
    ...
"""
import gzip
import re
import sys

TITLE = re.compile(r'(dump command (.*)\((0x[0-9a-f]+)\) (INPUT|OUTPUT))')
BLOCK = re.compile(r'command block:')
ROW = re.compile(r'^(?:\[[^\]]*\] )?([0-9a-f]{3,}: ((?:[0-9a-f]{8} ?){4}))\s*$')
# Kernels of the time did not know these.
NAMES = {0x10a: 'QUERY_ISSI', 0x10b: 'SET_ISSI'}
ENTRY_BYTES, BLOCK_BYTES, BLOCK_DATA = 0x40, 0x240, 0x200


class Dump:
    """One dump: its title, its lines, and all bytes of them."""

    def __init__(self, match):
        self.title, self.name, opcode, self.way = match.groups()
        self.opcode = int(opcode, 16)
        self.lines = [self.title]
        self.bytes = b''

    def payload(self):
        entry = self.bytes[:ENTRY_BYTES]
        at, length_at = (0x10, 0x04) if self.way == 'INPUT' else (0x20, 0x38)
        length = int.from_bytes(entry[length_at:length_at + 4], 'big')
        data = entry[at:at + 16]
        for i in range(ENTRY_BYTES, len(self.bytes), BLOCK_BYTES):
            data += self.bytes[i:i + BLOCK_DATA]
        return length, data[:length]


def dumps(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as log:
        current = None
        for line in log:
            if match := TITLE.search(line):
                current = Dump(match)
                yield current
            elif current and BLOCK.search(line):
                current.lines.append('command block:')
            elif current and (match := ROW.match(line)):
                current.lines.append(match.group(1).rstrip())
                current.bytes += bytes.fromhex(match.group(2).replace(' ', ''))
            elif current and not line.strip() and current.lines[-1]:
                current.lines.append('')


def compact(data):
    """Lines of what is not zero."""
    at = 0
    while at < len(data):
        values = [int.from_bytes(data[i:i + 8], 'big') for i in range(at, len(data) - 7, 8)]
        count = 1
        while count < len(values) and values[count] - values[count - 1] == 0x1000:
            count += 1
        if count > 2:
            yield f'{at:x} {values[0]:x}+1000*{count:x}'
            at += count * 8
            continue
        row = data[at:at + 8]
        if any(row):
            words = [row[i:i + 4].hex() for i in range(0, len(row), 4)]
            yield f'{at:x} ' + ' '.join(words)
        at += 8


def pairs(path):
    """Input and output of each command."""
    waiting = []
    for dump in list(dumps(path)):
        if dump.way == 'INPUT':
            waiting.append(dump)
        else:
            first = next(d for d in waiting if d.opcode == dump.opcode)
            waiting.remove(first)
            yield first, dump


def main(args):
    if len(args) == 3 and args[0] == '--dump':
        wanted = int(args[1], 0)
        both = next(p for p in pairs(args[2]) if p[0].opcode == wanted)
        print('\n'.join(line for dump in both for line in dump.lines).rstrip())
        return
    if len(args) != 1:
        sys.exit(__doc__)
    for command in pairs(args[0]):
        name = command[0].name.removeprefix('MLX5_CMD_OP_')
        name = NAMES.get(command[0].opcode, name)
        print(f'\ncommand {command[0].opcode:x} {name}')
        for dump in command:
            length, data = dump.payload()
            print('in' if dump.way == 'INPUT' else 'out', f'{length:x} {len(data):x}')
            for line in compact(data):
                print(line)


if __name__ == '__main__':
    main(sys.argv[1:])
