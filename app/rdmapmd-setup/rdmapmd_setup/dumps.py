# SPDX-License-Identifier: BSD-3-Clause
"""
Commands from a log with dumps of them, and the compact form of those: devtools/trace/commands.py says where such logs come
from and how the form reads.
"""

import gzip
import re

TITLE = re.compile(r"(dump command (.*)\((0x[0-9a-f]+)\) (INPUT|OUTPUT))")
BLOCK = re.compile(r"command block:")
ROW = re.compile(r"^(?:\[[^\]]*\] )?([0-9a-f]{3,}: ((?:[0-9a-f]{8} ?){4}))\s*$")
ARITHMETIC = re.compile(r"([0-9a-f]+)\+([0-9a-f]+)\*([0-9a-f]+)")
COMPACT = re.compile(r"command [0-9a-f]+ \w+")
# Kernels of the time did not know these.
NAMES = {0x10a: "QUERY_ISSI", 0x10b: "SET_ISSI"}
ENTRY_BYTES, BLOCK_BYTES, BLOCK_DATA = 0x40, 0x240, 0x200


class Dump:
    """One dump: its title, its lines, and all bytes of them."""

    def __init__(self, match):
        self.title, name, opcode, self.way = match.groups()
        # What lies in one piece, without the entry of a command queue.
        self.data_only = name.startswith("data ")
        self.name = name.removeprefix("data ")
        self.opcode = int(opcode, 16)
        self.lines = [self.title]
        self.bytes = b""

    def payload(self):
        """How long the command says it is, and the bytes that the log has, whole rows where nothing says how long."""
        if self.data_only:
            return None, self.bytes
        entry = self.bytes[:ENTRY_BYTES]
        at, length_at = (0x10, 0x04) if self.way == "INPUT" else (0x20, 0x38)
        length = int.from_bytes(entry[length_at:length_at + 4], "big")
        data = entry[at:at + 16]
        for i in range(ENTRY_BYTES, len(self.bytes), BLOCK_BYTES):
            data += self.bytes[i:i + BLOCK_DATA]
        return length, data[:length]


class Message:
    """An input or an output: its length as the command says (None where it does not), and what of it was logged."""

    def __init__(self, length, data):
        self.length = length
        self.bytes = data


class Command:
    def __init__(self, opcode, name):
        self.opcode = opcode
        self.name = NAMES.get(opcode, name.removeprefix("MLX5_CMD_OP_"))
        self.input = self.output = Message(0, b"")


def lines_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as log:
        yield from log


def dumps(lines):
    current = None
    for line in lines:
        if match := TITLE.search(line):
            current = Dump(match)
            yield current
        elif current and BLOCK.search(line):
            current.lines.append("command block:")
        elif current and (match := ROW.match(line)):
            current.lines.append(match.group(1).rstrip())
            current.bytes += bytes.fromhex(match.group(2).replace(" ", ""))
        elif current and not line.strip() and current.lines[-1]:
            current.lines.append("")


def pairs(lines):
    """Input and output of each command, as they were answered; then those that were not, with None."""
    waiting = []
    for dump in list(dumps(lines)):
        if dump.way == "INPUT":
            waiting.append(dump)
        elif first := next((d for d in waiting if d.opcode == dump.opcode), None):
            waiting.remove(first)
            yield first, dump
    for first in waiting:
        yield first, None


def command_of(first, second):
    command = Command(first.opcode, first.name)
    command.input = Message(*first.payload())
    if second is not None:
        command.output = Message(*second.payload())
    return command


# ---- the compact form ----

def compact(data):
    """Lines of what is not zero."""
    at = 0
    while at < len(data):
        values = [int.from_bytes(data[i:i + 8], "big") for i in range(at, len(data) - 7, 8)]
        count = 1
        while count < len(values) and values[count] - values[count - 1] == 0x1000:
            count += 1
        if count > 2:
            yield f"{at:x} {values[0]:x}+1000*{count:x}"
            at += count * 8
            continue
        row = data[at:at + 8]
        if any(row):
            words = [row[i:i + 4].hex() for i in range(0, len(row), 4)]
            yield f"{at:x} " + " ".join(words)
        at += 8


def write_compact(command):
    """Lines of a command."""
    yield ""
    yield f"command {command.opcode:x} {command.name}"
    for way, message in (("in", command.input), ("out", command.output)):
        length = len(message.bytes) if message.length is None else message.length
        yield f"{way} {length:x} {len(message.bytes):x}"
        yield from compact(message.bytes)


def read_row(data, line):
    """A line of the compact form into the bytes that it is about."""
    at, *values = line.split()
    at = int(at, 16)
    if match := ARITHMETIC.fullmatch(values[0]):
        first, step, count = (int(value, 16) for value in match.groups())
        row = b"".join((first + i * step).to_bytes(8, "big") for i in range(count))
    else:
        row = bytes.fromhex("".join(values))
    assert at + len(row) <= len(data), line
    data[at:at + len(row)] = row


def read_compact(lines):
    """Commands of the compact form."""
    command = message = None
    for line in lines:
        first, *rest = line.split() or ["#"]
        if first == "command":
            if command:
                yield command
            command = Command(int(rest[0], 16), rest[1])
        elif first in ("in", "out"):
            message = Message(int(rest[0], 16), bytearray(int(rest[1], 16)))
            setattr(command, "input" if first == "in" else "output", message)
        elif not first.startswith("#"):
            read_row(message.bytes, line)
    if command:
        yield command


def read_lines(lines):
    """The answered commands of a log, or all of the compact form."""
    if any(COMPACT.fullmatch(line) for line in lines):
        return list(read_compact(lines))
    return [command_of(first, second) for first, second in pairs(lines) if second is not None]


def read(path):
    return read_lines([line.rstrip("\n") for line in lines_of(path)])
