# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of an RDMA peer and of softrnicd, over and over, always under traffic: rdma_survivor, and the daemon that it wants."""

import os
import subprocess

import pytest

from daemon.softrnicd import PAIR, THREADS, Softrnicd

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "daemon", "daemon_rdma_survivor")


@pytest.mark.parametrize("devices", [pytest.param(PAIR, id="pair"),
                                     pytest.param(THREADS, id="threads", marks=pytest.mark.long)])
def test_all_that_can_die(devices):
    said = ""
    with Softrnicd(devices) as daemon:
        with subprocess.Popen([PROGRAM, *daemon.sockets], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as survivor:
            for line in survivor.stdout:
                said += line
                if line != "softrnicd?\n":
                    continue
                # Dead only if the survivor has asked before.
                if said.count(line) > 1:
                    daemon.kill()
                    daemon.start()
                survivor.stdin.write(f"{daemon.process.pid}\n")
                survivor.stdin.flush()
        assert survivor.returncode == 0, said + daemon.text()
        daemon.stop()
    print("\n".join(line for line in said.splitlines() if line.startswith("#")))
