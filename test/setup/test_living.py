# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup cleanup beside real processes: what dpdk-testpmd and softrnicd hold, and what they leave when they are killed."""

import os
import shutil
import subprocess
import tempfile

import pytest

from machine import Machine

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "app", "softrnicd", "softrnicd")
TESTPMD = ["dpdk-testpmd", "--no-pci", "--no-huge", "-m", "64", "--lcores=0@(0-1),1@(0-1)", "--vdev=net_null0", "--", "-i",
           "--total-num-mbufs=2048"]


@pytest.fixture
def machine():
    """Short enough for the paths of sockets."""
    root = tempfile.mkdtemp(prefix="rnic-setup-", dir="/run" if os.geteuid() == 0 else None)
    yield Machine(root)
    shutil.rmtree(root)


def start(command, word, **env):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=dict(os.environ, **env))
    said = b""
    while word not in said:
        byte = process.stdout.read(1)
        assert byte, said.decode()
        said += byte
    return process


def kill(process):
    process.kill()
    process.communicate()


def files(machine, folder):
    return sorted(os.path.join(at, name)[len(machine.root):] for at, _, names in os.walk(machine.at(folder)) for name in names)


def clean(machine):
    """An hour later."""
    for path in files(machine, "/run"):
        machine.age(path)
    code, said, errors = machine.run("cleanup", "--apply")
    assert code == 0, errors
    return said


@pytest.mark.parametrize("more", [[], ["--no-shconf"]])
def test_testpmd_keeps_its_folder_until_it_is_killed(machine, more):
    process = start(TESTPMD[:1] + more + TESTPMD[1:], b"testpmd> ", RUNTIME_DIRECTORY=machine.at("/run"))
    try:
        before = files(machine, "/run")
        assert before and "are in use, and stay" in clean(machine) and files(machine, "/run") == before
        # And it was not disturbed.
        process.stdin.write(b"show port summary all\n")
        process.stdin.flush()
        assert process.poll() is None
    finally:
        kill(process)
    clean(machine)
    assert files(machine, "/run") == [] and os.listdir(machine.at("/run/dpdk")) == []


def test_softrnicd_keeps_its_sockets_until_it_is_killed(machine):
    process = start([PROGRAM, "--dir", machine.at("/run/softrnic")], b"ready")
    try:
        before = files(machine, "/run")
        assert before == ["/run/softrnic/rnic0.sock", "/run/softrnic/rnic0.sock.lock"]
        clean(machine)
        assert files(machine, "/run") == before and process.poll() is None
    finally:
        kill(process)
    clean(machine)
    assert files(machine, "/run") == []
