# SPDX-License-Identifier: BSD-3-Clause
"""The ways in which EAL may hold hugepages."""

import pytest

WAYS = {
    "hugepage files": [],
    "in memory": ["--in-memory"],
    "single-file segments": ["--single-file-segments"],
    "in memory, single file": ["--in-memory", "--single-file-segments"],
    "legacy": ["--legacy-mem"],
}


def hugepages(*long):
    """Parameters of a test, one for each way; these are long."""
    return [pytest.param(eal, id=name, marks=[pytest.mark.long] if name in long else [])
            for name, eal in WAYS.items()]
