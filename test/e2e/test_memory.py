# SPDX-License-Identifier: BSD-3-Clause
"""All the ways in which EAL may hold its memory."""

import os

import pytest

from e2e.hugepages import hugepages
from e2e.testpmd import NO_HUGE, Testpmd, check_exact, forward, nobody, pair

ROOT = os.geteuid() == 0


def run(eal, user=None):
    with Testpmd(pair(), eal=eal, user=user) as testpmd:
        testpmd.prompt()
        check_exact(forward(testpmd))
        testpmd.stop_ports()
        testpmd.do("port start all")
        testpmd.do("set fwd io")
        check_exact(forward(testpmd))
        testpmd.quit()
        assert not testpmd.complaints()


@pytest.mark.parametrize("eal", hugepages("legacy"))
def test_hugepages(eal):
    if not ROOT:
        pytest.skip("needs hugepages, which are root's here")
    run(["-m", "256", *eal])


def test_no_huge():
    run(NO_HUGE)


def test_no_huge_as_an_ordinary_user():
    """Runs as nobody; already an ordinary user, as that."""
    run(NO_HUGE, nobody() if ROOT else None)
