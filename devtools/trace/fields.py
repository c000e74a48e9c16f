# SPDX-License-Identifier: BSD-3-Clause
"""The fields of commands, by the layouts of lib/prm: what the program trace-fields prints."""

import os
import re
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("RDMAPMD_BUILD", os.path.join(ROOT, "build"))
FIELD = re.compile(r"  [0-9a-f]{3}\[ *\d+: *\d+\] (\S+) = (0x[0-9a-f]+)")
UNNAMED = re.compile(r"  ([0-9a-f]{3}) no name for (0x[0-9a-f]+)")


class Fail(Exception):
    pass


def parse(text):
    """{field: values}; what is 0 is not there."""
    found = {}
    for line in text.splitlines():
        if match := FIELD.fullmatch(line):
            # One name for all elements of a list.
            name, value = re.sub(r"\[\d+\]", "[]", match[1]), match[2]
        elif match := UNNAMED.fullmatch(line):
            name, value = f"(bits without a name at 0x{match[1]})", f"0x{int(match[2], 16):x}"
        else:
            continue
        found.setdefault(name, set()).add(value)
    return found


def decode(build, log):
    """(fields of the input, fields of the output) for each command."""
    program = os.path.join(build, "devtools", "trace", "trace-fields")
    if not os.path.exists(program):
        raise Fail(f"{program} is missing: build with -Dtests=true, or name the build with --build")
    lines = "".join(f"in {command.input.bytes.hex()}\nout {command.output.bytes.hex()}\n" for command in log)
    done = subprocess.run([program], input=lines, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Fail(done.stderr.strip())
    parts = [parse(part) for part in done.stdout.split("end\n")]
    return list(zip(parts[0:-1:2], parts[1::2]))
