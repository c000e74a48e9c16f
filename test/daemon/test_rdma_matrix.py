# SPDX-License-Identifier: BSD-3-Clause
"""All that may be asked of RDMA and all that may not: between two processes, on one softrnicd. And the document of it."""

import os
import subprocess

import pytest

from daemon.softrnicd import PAIR, THREADS, Softrnicd

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e", "e2e_rdma_matrix")
DOCUMENT = os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "features", "rdma_operations.md")


@pytest.mark.parametrize("devices,count", [
    pytest.param(PAIR, 2, id="pair"),
    pytest.param(THREADS, 2, id="threads", marks=pytest.mark.long),
    pytest.param(("name=f,count=3,wire=switch:hub",), 3, id="switch", marks=pytest.mark.long),
])
def test_two_processes(devices, count):
    with Softrnicd(devices, count=count) as daemon:
        first, second = daemon.sockets[:2]
        done = subprocess.run([PROGRAM, f"socket={first}", f"peer:socket={second}"], text=True,
                              timeout=900, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + daemon.text()
        daemon.stop()


def test_the_document_has_the_list():
    listed = subprocess.run([PROGRAM, "--list"], text=True, capture_output=True, check=True).stdout
    with open(DOCUMENT, encoding="utf-8") as document:
        text = document.read()
    for table in listed.split("\n\n"):
        assert table.strip() in text, f"print it anew: {PROGRAM} --list"
