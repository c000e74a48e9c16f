#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The sanitizer builds see an overrun in a ring and a race with the device thread."""

import os
import subprocess

SANITIZER = os.environ["RDMAPMD_SANITIZER"]
PLANTED = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "planted", "planted")
NO_ASLR = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "no-aslr.sh")


def run(what):
    command = [PLANTED, what]
    if SANITIZER == "thread":
        command.insert(0, NO_ASLR)
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
    )


def test_without_an_error_nothing_is_reported():
    result = run("none")
    assert result.returncode == 0, result.stdout
    assert "Sanitizer" not in result.stdout


if SANITIZER == "address":

    def test_an_overrun_of_a_ring_is_seen():
        result = run("overrun")
        assert result.returncode == 86, result.stdout
        assert "use-after-poison" in result.stdout
        assert "overrun" in result.stdout


if SANITIZER == "thread":

    def test_a_race_with_the_device_thread_is_seen():
        result = run("race")
        assert result.returncode == 66, result.stdout
        assert "WARNING: ThreadSanitizer: data race" in result.stdout
        assert "race" in result.stdout
