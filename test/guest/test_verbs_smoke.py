# SPDX-License-Identifier: BSD-3-Clause
"""Stock mlx5_ib and libmlx5 in one boot: devices that come up, three pingpongs between them, and everything that goes."""

from guest.machine import KERNELS
from guest.pingpongs import run_pingpongs


def test_pingpongs_between_two_namespaces():
    # By a connection, by datagrams, and by XRC: each has objects of its own.
    run_pingpongs(KERNELS[0], ("rc", "ud", "xsrq"), (4,), 20)
