# SPDX-License-Identifier: BSD-3-Clause
"""Guests with devices of a softrnicd, for tests."""

import contextlib
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "guest"))

# pylint: disable=wrong-import-position
import vm  # noqa: E402
from vm import DIED, KERNELS, TIMED_OUT, Guest, Unavailable, prepare, slot  # noqa: E402,F401
from daemon.softrnicd import Softrnicd  # noqa: E402
from size import FULL  # noqa: E402

# Seconds for a guest that boots and does next to nothing: 4 alone, many times that beside others.
BOOT = 300
# Emulated, a minute each: the other kernels are for every count.
KERNELS_HERE = KERNELS if FULL else KERNELS[:1]


def guest(*args, **kwargs):
    """A Guest, whose console goes to the test's output; where its packages cannot be had, the test is skipped."""
    try:
        return Guest(*args, log=sys.stdout, **kwargs)
    except Unavailable as error:
        pytest.skip(f"no guest here: {error}")


@contextlib.contextmanager
def devices(*options, eal=(), within=(), log_level="info"):
    """A softrnicd with these devices, whose log ends in the test's output."""
    named = [option if "name=" in option else f"name=d{number},{option}" for number, option in enumerate(options)]
    with Softrnicd(named, eal, within, log_level) as daemon:
        yield daemon


def run(script, timeout, *options, **kwargs):
    """A guest with such devices, from its start to its end."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*options)) if options else None
        return guest(devices=daemon.sockets if daemon else (), **kwargs).run(script, timeout)
