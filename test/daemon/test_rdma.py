# SPDX-License-Identifier: BSD-3-Clause
"""RDMA on a device of softrnicd: the checking programs of e2e, with the device at the other end of a socket."""

import os
import subprocess

import pytest

from daemon.softrnicd import Softrnicd

PROGRAMS = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e")


@pytest.mark.parametrize("program", ["e2e_rdma", "e2e_rdma_doorbells", "e2e_rdma_time"])
def test_everything_over_a_socket(program):
    with Softrnicd(("name=a,wire=loop",)) as daemon:
        command = [os.path.join(PROGRAMS, program), f"socket={daemon.sockets[0]}"]
        done = subprocess.run(command, text=True, timeout=900, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + daemon.text()
        daemon.stop()
