# SPDX-License-Identifier: BSD-3-Clause
"""Linux' rxe, on mlx5_core's netdev on a function of softrnicd, and our driver on the function at the other end of its cable."""

import re

import pytest

from guest import rxe_cases
from guest.rxe import pair_rig

WAYS = {"rxe-asks": ("verbs", "rnic"), "ours-asks": ("rnic", "verbs")}


@pytest.fixture(name="rig", scope="module")
def fixture_rig():
    with pair_rig() as rig:
        yield rig


def both(way, rig):
    return [getattr(rig, name) for name in WAYS[way]]


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", rxe_cases.SMOKE, ids=lambda case: case.__name__)
def test_rxe_and_ours_agree(case, way, family, rig):
    case(*both(way, rig), family)


@pytest.mark.long
@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", rxe_cases.ALL, ids=lambda case: case.__name__)
def test_rxe_and_ours_agree_on(case, way, family, rig):
    case(*both(way, rig), family)


def test_both_end_well(rig):
    """And our device has found nothing wrong with rxe's packets but what these tests made wrong."""
    heard = rig.verbs.counters()["qkey_viol_cntr"]
    rig.end()
    said = "\n".join(line for line in rig.daemon.text().splitlines() if "d1:" in line)
    found = dict(re.findall(r"\b(roce_[a-z_]+)=(\d+)", said))
    assert "roce_icrc_errors" not in found and "roce_malformed" not in found and "roce_source_errors" not in found, said
    # The same tests each way.
    assert int(found.get("roce_qkey_errors", 0)) == heard, said
