# SPDX-License-Identifier: BSD-3-Clause
"""Rx interrupts of devices of softrnicd: armed by a page that is mapped and by messages, told of by eventfds of its."""

import os
import subprocess

from daemon.softrnicd import Softrnicd

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e", "e2e_interrupt")


def test_who_sleeps_on_a_socket_is_woken():
    with Softrnicd() as daemon:
        done = subprocess.run([PROGRAM, str(daemon.process.pid), *daemon.vdevs()], text=True, timeout=900,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + daemon.text()
        daemon.stop()
