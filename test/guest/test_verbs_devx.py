# SPDX-License-Identifier: BSD-3-Clause
"""
Commands that a user writes: Linux' DevX, by libmlx5, with devx.c's objects in memory of its own. All that it tries, it says in lines.
"""

import collections
import glob
import os
import re

import pytest

from guest.linux import complaints, nothing_left, values
from guest.machine import KERNELS_HERE, devices, guest
from guest.verbs import MODULES, PAIR, PRELUDE

FOREIGN = os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "design", "foreign_drivers.md")
DEVX = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "guest", "devx")
# What each run has the device refuse: what is another user's, by who names it; and what is leaned on, by how it would go.
NOT_THERE = {"CREATE_CQ": 2, "MODIFY_CQ": 2, "CREATE_QP": 7, "CREATE_SQ": 5, "CREATE_RQ": 4, "CREATE_RMP": 2, "CREATE_MKEY": 1,
             "CREATE_TIS": 1, "CREATE_TIR": 3, "CREATE_RQT": 1, "CREATE_FLOW_TABLE": 1, "CREATE_FLOW_GROUP": 1,
             "SET_FLOW_TABLE_ENTRY": 3}
LEANED_ON = {"DEALLOC_PD", "DEALLOC_TRANSPORT_DOMAIN", "DEALLOC_XRCD", "DEALLOC_FLOW_COUNTER", "DESTROY_CQ", "DESTROY_RMP",
             "DESTROY_RQ", "DESTROY_RQT", "DESTROY_TIR", "DESTROY_TIS", "DESTROY_UMEM", "DESTROY_FLOW_TABLE", "DESTROY_FLOW_GROUP"}
# What each run says of its traffic, and how often.
SAID = {"SENDs to receives of an RMP": 1, "SENDs to receives of its own": 1, "48 receives of an RMP are taken": 1,
        "88 receives of an RMP are taken": 1, "a CQ's old ring ends": 2, "frames to RQ 0x11": 2, "frames to RQ 0x22": 1,
        "40 frames of 8000 bytes are counted": 2, "80 frames of 16000 bytes are counted": 1, "one of a bulk has counted": 1,
        "the end": 1}
SCRIPT = f"""
load_verbs
up $eth0 $eth1
until_there state_is $ib0 ACTIVE
timeout 200 devx $ib0 $ib1
echo "status $?"
timeout 200 devx $ib0 $ib1
echo "status $?"
unload_verbs
"""


def refused(said, status):
    """Commands that the device has refused with that status, and how often."""
    return collections.Counter(re.findall(rf"(\w+)\(0x\w+\) op_mod 0x\w+ refused: status {status}\(", said))


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_objects_in_a_user_s_memory(kernel):
    libmlx5 = glob.glob("/usr/lib/*/libibverbs/libmlx5-rdmav*.so")
    if not libmlx5 or not os.path.exists(DEVX):
        pytest.skip("no libmlx5 to build with: libibverbs-dev, ibverbs-providers")
    with devices(*PAIR) as daemon:
        one = guest(kernel, daemon.sockets, ["/bin/ip", DEVX], libraries=libmlx5, extra_modules=MODULES, cpus=2,
                    files={"/etc/libibverbs.d/mlx5.driver": b"driver mlx5\n"})
        result = one.run(PRELUDE + SCRIPT, 600)
        daemon.stop()
        said = daemon.text()
        print(said)
    assert values(result.console, "bad") == [], result.console[-6000:]
    # Twice: the first one has left half of what it made to Linux.
    assert values(result.console, "status") == ["0", "0"], result.console[-6000:]
    good = collections.Counter(values(result.console, "good"))
    assert {line: good[line] for line in SAID} == {line: 2 * count for line, count in SAID.items()}
    assert result.status == 0 and complaints(result.console) == [], result.console[-6000:]
    # Commands that the device does not know, as the document has them.
    with open(FOREIGN, encoding="utf-8") as file:
        unknown = re.findall(r"^\| (\w+) by DevX \| bad operation \|", file.read(), re.MULTILINE)
    assert sorted(unknown * 2) == sorted(line.removesuffix(": bad operation") for line in values(result.console, "good")
                                         if line.endswith(": bad operation"))
    # The device has refused what it is asked to refuse, and has nothing left.
    assert refused(said, "bad resource") == {command: 2 * count for command, count in NOT_THERE.items()}
    assert set(refused(said, "resource busy")) == LEANED_ON
    nothing_left(said.replace("refused: status", "refused, as it should:"), 2)
