# SPDX-License-Identifier: BSD-3-Clause
"""
Commands that a user writes: Linux' DevX, by libmlx5, with devx.c's objects in memory of its own. All that it tries, it says in lines.
"""

import glob
import os
import re

import pytest

from guest.linux import complaints, nothing_left, values
from guest.machine import KERNELS_HERE, devices, guest
from guest.verbs import MODULES, PAIR, PRELUDE

FOREIGN = os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "design", "foreign_drivers.md")
DEVX = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "guest", "devx")
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
    assert values(result.console, "good").count("40 frames of 8000 bytes are counted") == 2
    assert values(result.console, "good").count("the end") == 2
    assert result.status == 0 and complaints(result.console) == [], result.console[-6000:]
    # Commands that the device does not know, as the document has them.
    with open(FOREIGN, encoding="utf-8") as file:
        unknown = re.findall(r"^\| (\w+) by DevX \| bad operation \|", file.read(), re.MULTILINE)
    assert sorted(unknown * 2) == sorted(line.removesuffix(": bad operation") for line in values(result.console, "good")
                                         if line.endswith(": bad operation"))
    # The device has refused what it is asked to refuse, and has nothing left.
    assert said.count("CREATE_QP(0x500) op_mod 0x0 refused: status bad resource") == 6
    nothing_left(said.replace("refused: status", "refused, as it should:"), 2)
