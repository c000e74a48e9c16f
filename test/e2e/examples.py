# SPDX-License-Identifier: BSD-3-Clause
"""The programs in examples/ as their README.md say to run them, with what a test has to add."""

import os
import re
import shlex
import subprocess

SOURCE, BUILD = os.environ["RDMAPMD_SOURCE"], os.environ["RDMAPMD_BUILD"]
FOLDER = os.path.join(SOURCE, "examples")
PLUGIN = os.environ["RDMAPMD_PLUGIN"]
NAMES = sorted(name for name in os.listdir(FOLDER) if os.path.exists(os.path.join(FOLDER, name, "Makefile")))
# A busy machine may be slow, and what has not come by then never does.
PATIENCE = 600


class Place:
    """
    Where programs are, and how they are started.

    suffix: behind their names; eal: what they need beside a README's words; before: a command that has them run as somebody else;
    env: their environment; owner: who has the sockets of softrnicd's devices, by uid and gid
    """

    def __init__(self, folder, suffix="", eal=(), before=(), env=None, owner=None):
        self.folder, self.suffix, self.eal, self.before, self.env, self.owner = folder, suffix, eal, before, env, owner


BUILT = Place(os.path.join(BUILD, "examples"), eal=("-d", PLUGIN))


def readme(name, at=0):
    """The commands of its first block, or of that one, `$ COMMAND`, each with the lines that it prints."""
    with open(os.path.join(FOLDER, name, "README.md"), encoding="utf-8") as text:
        block = re.findall(r"^```\n(.*?)^```", text.read(), re.M | re.S)[at]
    commands = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            commands.append((shlex.split(line[2:]), []))
        else:
            commands[-1][1].append(line)
    if at == 0:
        assert commands.pop(0) == (["make"], []), block
    return commands


def command(argv, unique="", place=BUILT):
    """A command of a README with the program that is in that place; `unique` tells processes of a test apart that run side by side."""
    argv = [arg for arg in argv if not arg.startswith("--file-prefix")]
    at = argv.index("--")
    lcores = [] if any(arg.startswith("--lcores") for arg in argv) else ["--lcores=0@(0-1)"]
    return [*place.before, os.path.join(place.folder, os.path.basename(argv[0]) + place.suffix), *place.eal, *argv[1:at], *lcores,
            "--no-telemetry", f"--file-prefix=rnic-example{unique}-{os.getpid()}", *argv[at:]]


def in_place(argv, folder):
    """A command whose folder `wires` is another one."""
    return [re.sub(r"(^|=)wires(?=/|$)", rf"\1{folder}", arg) for arg in argv]


def execute(argv, place=BUILT):
    """Exit code and output of a command as a README has it."""
    done = subprocess.run(command(argv, place=place), env=place.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


def start(argv, unique="", place=BUILT):
    """Behind it wait_for(), then finish()."""
    return subprocess.Popen(command(argv, unique, place), env=place.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(process, pattern):
    """All that it says, up to a line that has that."""
    said = ""
    for line in process.stdout:
        said += line
        if re.search(pattern, line):
            return said
    raise AssertionError(f"it ended without {pattern}:\n{said}")


def finish(process, signal=None):
    """Exit code and the rest of what it says."""
    if signal is not None:
        process.send_signal(signal)
    said, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def says(lines, output):
    """Whether those lines are there, whatever the numbers in them are; who is heard first may differ."""
    patterns = (re.sub(r"\d+(\\\.\d+)?", r"\\d+(\\.\\d+)?", re.escape(line)) for line in lines)
    return all(re.search(f"^{pattern}$", output, re.M) for pattern in patterns)


def run_readme(name, place=BUILT):
    """Of a README whose first block has one command: what it says when that has run."""
    (argv, lines), = readme(name)
    code, output = execute(argv, place)
    assert code == 0 and says(lines, output), output
    return output
