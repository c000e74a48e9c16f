# SPDX-License-Identifier: BSD-3-Clause
"""RDMA on devices of softrnicd, and RDMO: the checking programs of e2e, with each device at the other end of a socket."""

import os
import subprocess

import pytest

from daemon.softrnicd import Softrnicd

PROGRAMS = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e")


def run(daemon, program):
    command = [os.path.join(PROGRAMS, program), *(f"socket={path}" for path in daemon.sockets)]
    done = subprocess.run(command, text=True, timeout=900, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + daemon.text()
    daemon.stop()


@pytest.mark.parametrize("program", ["e2e_rdma", "e2e_rdma_doorbells", "e2e_rdma_time"])
def test_everything_over_a_socket(program):
    with Softrnicd(("name=a,wire=loop",)) as daemon:
        run(daemon, program)


def test_remote_operations_over_two_sockets():
    with Softrnicd(("name=a,count=2,wire=switch:hub",), count=2) as daemon:
        run(daemon, "e2e_rdmo_matrix")
