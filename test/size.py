# SPDX-License-Identifier: BSD-3-Clause
"""How much of the tests runs, as ./test.sh says: RDMAPMD_SIZE is default, all (as without it) or full."""

import os

SIZE = os.environ.get("RDMAPMD_SIZE") or "all"
# Without those cases that stand for more of what another one tests: pytest.mark.long.
DEFAULT = SIZE == "default"
# Every repetition that was asked for, rather than as many as take seconds.
FULL = SIZE == "full"
