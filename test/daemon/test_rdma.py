# SPDX-License-Identifier: BSD-3-Clause
"""RDMA on a device of softrnicd: the checking program of e2e, with the device at the other end of a socket."""

import os
import subprocess

from daemon.softrnicd import Softrnicd

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e", "e2e_rdma")


def test_everything_over_a_socket():
    with Softrnicd(("name=a,wire=loop",)) as daemon:
        done = subprocess.run([PROGRAM, f"socket={daemon.sockets[0]}"], text=True, timeout=900,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + daemon.text()
        daemon.stop()
