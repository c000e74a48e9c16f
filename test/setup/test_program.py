# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup as a program: its command line, exit codes, and what it says to whom."""

import json
import os
import pty
import re
import subprocess

import pytest

from machine import NIC, PROGRAM, Kernel, Machine

COMMANDS = ("doctor", "status", "bind", "unbind", "hugepages", "cleanup", "report")


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.pool(2048, 0, 0)
    return made


def run(machine, *words, more=None, **how):
    env = {"PATH": os.environ["PATH"], "RDMAPMD_SETUP_ROOT": machine.root, **(more or {})}
    done = subprocess.run([PROGRAM, *words], text=True, capture_output=True, check=False, timeout=100, env=env, **how)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(machine, command):
    code, said, errors = run(machine, command, "--help")
    assert code == 0 and not errors and f"examples:\n  rdmapmd-setup {command}" in said and "--json" in said


def test_help_names_all_commands(machine):
    code, said, _ = run(machine, "--help")
    assert code == 0 and all(f"\n    {command}" in said for command in COMMANDS), said


@pytest.mark.parametrize("words", [
    (), ("frobnicate",), ("bind",), ("unbind",), ("unbind", "--all", NIC), ("hugepages",), ("hugepages", "--size", "much"),
    ("hugepages", "--size", "0"), ("hugepages", "--size", "1G", "--undo"), ("bind", NIC, "--owner", "nobody-of-that-name"),
    ("bind", NIC, "--owner", "root:nobody-of-that-name"), ("bind", NIC, "--app"),
    ("report",), ("report", NIC, "--log", "a", "--probe-only")])
def test_a_wrong_command_line_is_exit_code_2(machine, words):
    code, said, errors = run(machine, *words)
    assert code == 2 and not said and "usage: rdmapmd-setup" in errors and "Traceback" not in errors


def test_the_manual_page_has_all_findings():
    source = os.environ["RDMAPMD_SOURCE"]
    with open(os.path.join(os.path.dirname(PROGRAM), "rdmapmd_setup", "doctor.py"), encoding="utf-8") as file:
        found = set(re.findall(r'self\.find\("([^"]+)"', file.read())) | {"no-such-function", "not-of-the-class"}
    with open(os.path.join(source, "doc", "man", "rdmapmd-setup.1"), encoding="utf-8") as file:
        table = re.search(r"(?s)\n\.TS\n(.*)\.TE\n", file.read())[1].replace("\\-", "-")
    rows = [line.split("|")[0] for line in table.splitlines()[2:]]
    assert len(found) > 20 and {ident for row in rows for ident in row.split(", ")} == found


def test_lines_in_a_pipe_are_plain(machine):
    code, said, errors = run(machine, "doctor")
    assert code == 1 and not errors and "\033" not in said
    assert said.splitlines() == ["error: hugepages: none are reserved [hugepages-none]",
                                 "  fix: rdmapmd-setup hugepages --size 256M --apply", "1 error"]


def on_a_terminal(machine, **env):
    master, slave = pty.openpty()
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "RDMAPMD_SETUP_ROOT": machine.root, **env}
    subprocess.run([PROGRAM, "doctor"], stdout=slave, check=False, timeout=100, env=env)
    os.close(slave)
    said = os.read(master, 65536).decode()
    os.close(master)
    return said


def test_lines_on_a_terminal_have_colours(machine):
    assert on_a_terminal(machine).startswith("\033[31merror\033[0m: hugepages")
    assert on_a_terminal(machine, NO_COLOR="1").startswith("error: hugepages")


def test_json_is_one_object_also_of_a_failure(machine):
    code, said, errors = run(machine, "bind", "0000:09:00.0", "--json")
    data = json.loads(said)
    assert code == 1 and not errors
    assert data["error"] == "0000:09:00.0: no such function" and data["fix"][0] == "rdmapmd-setup status"


# Anybody may make these in /tmp.
NAMES = [b"\xff7", b"a\nrm -rf b", b"\033[2Jc", b"d'\\e", "\u00e9\u202ef".encode(), b"g h"]


def leave(machine):
    """Of ended processes, by all these names; returns what cleanup removes."""
    left = []
    for name in NAMES:
        folder = os.fsencode(machine.at("/tmp/dpdk/")) + name
        os.makedirs(folder)
        with open(folder + b"/config", "wb"):
            os.utime(folder + b"/config", (0, 0))
        left += [b"/tmp/dpdk/" + name, b"/tmp/dpdk/" + name + b"/config"]
    machine.process(4711, "x\033[2J", "/dev/vfio/7")
    return sorted(left)


def pasted(lines):
    """The paths that a shell has removed by them."""
    script = "rm() { printf '%s\\0' \"$@\"; }\nrmdir() { rm \"$@\"; }\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, check=True, timeout=100)
    return sorted(done.stdout.split(b"\0")[:-1])


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_that_no_terminal_should_see(machine, encoding):
    left = leave(machine)
    env = {"PYTHONIOENCODING": f"{encoding}:strict"}
    code, said, errors = run(machine, "doctor", more=env)
    lines = said.splitlines()
    assert code == 1 and not errors and "\033" not in said and lines[-1] == "2 errors", said + errors
    assert all(re.match("error: |note: |  fix: ", line) for line in lines[:-1]) and "4711 (x\\x1b[2J)" in said

    code, said, errors = run(machine, "cleanup", more=env)
    assert code == 0 and not errors and said.replace("\n", "").isprintable() and "rm $'/tmp/dpdk/\\3777/config'\n" in said
    assert pasted(said.splitlines()) == left
    assert pasted(json.loads(run(machine, "cleanup", "--json", more=env)[1])["steps"]) == left

    assert run(machine, "cleanup", "--apply", more=env)[0] == 0 and os.listdir(machine.at("/tmp/dpdk")) == []


def test_a_failure_says_no_such_name_either(machine):
    machine.process(4711, "x\033[2J", "/dev/vfio/7")
    code, said, errors = run(machine, "unbind", NIC, "--apply", "--state", machine.at("/state"))
    assert code == 1 and not said and "in use by 4711 (x\\x1b[2J)" in errors and "\033" not in errors


def test_nothing_is_written_beside_the_modules(machine):
    run(machine, "status")
    assert not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "rdmapmd_setup", "__pycache__"))


def test_commands_do_not_leave_another_root(machine):
    """modprobe would load into the kernel that runs."""
    machine.driver(NIC, "mlx5_core")
    os.rmdir(machine.at("/sys/bus/pci/drivers/vfio-pci"))
    code, said, errors = run(machine, "bind", NIC, "--apply")
    assert code == 1 and said.startswith("modprobe vfio-pci\n") and f"not below {machine.root}: modprobe vfio-pci" in errors


@pytest.mark.parametrize("words", [("bind", NIC), ("unbind", NIC), ("hugepages", "--size", "1G")])
def test_an_ordinary_user_is_told_that_root_is_needed(machine, monkeypatch, words):
    monkeypatch.setattr(Kernel, "real", True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, said, errors = machine.run(*words, "--apply")
    assert (code, said) == (1, "") and f"only root can do that\n  fix: sudo rdmapmd-setup {words[0]}" in errors
    # To look needs nobody.
    assert machine.run(*words)[0] == 0
