# SPDX-License-Identifier: BSD-3-Clause
"""perftest by stock mlx5_ib and libmlx5, from one function to the other: every program, transport and kind of request."""

import re

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE
from guest.verbs import ADDRESSES, APART, PAIR, TOGETHER, run_on, went_well

PORT = 18515
# Program, its arguments, and what of them stands in the rows that it prints: bytes and iterations.
ROWS = (
    ("ib_send_bw", "-s 1024 -n 50", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 -c UC", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 -c UD", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 -c XRC", 1024, 50),
    ("ib_send_bw", "-s 512 -n 50 -e", 512, 50),
    ("ib_send_bw", "-s 1024 -n 50 -b", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 --use-srq -q 2", 1024, 100),
    ("ib_send_bw", "-s 64 -n 50 -I 64", 64, 50),
    ("ib_send_bw", "-s 1024 -n 50 -R", 1024, 50),
    ("ib_send_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_send_bw", "-s 4096 -n 50 -m 1024", 4096, 50),
    ("ib_write_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_write_bw", "-s 4096 -n 50 -q 4", 4096, 200),
    ("ib_write_bw", "-s 1048576 -n 20", 1048576, 20),
    ("ib_write_bw", "-s 4096 -n 50 -c UC", 4096, 50),
    ("ib_write_bw", "-s 4096 -n 50 -c XRC", 4096, 50),
    ("ib_write_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_read_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_read_bw", "-s 4096 -n 50 -c XRC", 4096, 50),
    ("ib_read_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_atomic_bw", "-n 50 -A FETCH_AND_ADD", 8, 50),
    ("ib_atomic_bw", "-n 50 -A CMP_AND_SWAP", 8, 50),
    ("ib_send_lat", "-s 64 -n 50", 64, 50),
    ("ib_send_lat", "-s 64 -n 50 -c UD", 64, 50),
    ("ib_write_lat", "-s 64 -n 50 -I 64", 64, 50),
    ("ib_read_lat", "-s 64 -n 50", 64, 50),
    ("ib_atomic_lat", "-n 50", 8, 50),
)
# The server has nothing to measure.
SILENT = ("ib_read_lat", "ib_atomic_lat")
# Over IPv6, too: of each kind of address handle one.
IPV6 = (("ib_send_bw", "-s 1024 -n 50"), ("ib_send_bw", "-s 1024 -n 50 -c UD"), ("ib_write_bw", "-s 65536 -n 50"))
# With -R, addresses are exchanged by librdmacm, which has no socket of TCP.
BY_CM = """
by_cm() { # or has ended already
	rdma resource show cm_id | grep -q LISTEN || ended
}
"""


def runs():
    """{name: (program, arguments, bytes, iterations, IP's version)}"""
    all_of_them = [(*row, 4) for row in ROWS] + [(*row, 6) for row in ROWS if row[:2] in IPV6]
    return {f"row{number}": row for number, row in enumerate(all_of_them)}


def script(name, program, arguments, family):
    listens = "by_cm" if "-R" in arguments.split() else f"by_tcp {PORT:04X}"
    ends = [f"{program} -F -d $ib{side} -x ${index}{family} {arguments}" for side, index in enumerate(("left", "right"))]
    return f'both {name} "{listens}" "{ends[0]}" "{ends[1]} {ADDRESSES[4][0]}"\n'


def faults(console, name, row):
    """What is wrong with the run of this name, or nothing."""
    program, arguments, size, iters, family = row
    wrong = []
    for side in ("server", "client"):
        status, *said = values(console, f"{name} {side}")
        if status != "status 0":
            wrong.append(f"the {side} ended with {status}")
        # What it has measured stands behind, no number where it has found an emulated clock too unsteady.
        rows = [line for line in said if re.match(rf" *{size} +{iters} +\S+ +\S+", line)]
        if len(rows) != (side == "client" or program not in SILENT):
            wrong.append(f"the {side} has printed {len(rows)} rows of {size} bytes and {iters} iterations")
        if wrong:
            wrong += said
    return [f"{program} {arguments} over IPv{family}: " + "\n".join(wrong)] if wrong else []


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_every_program_has_its_row(kernel):
    text = APART + BY_CM + "".join(script(name, row[0], row[1], row[4]) for name, row in runs().items()) + TOGETHER
    result, said = run_on(kernel, text, *PAIR, timeout=1500, memory=1024, verbs=sorted({row[0] for row in ROWS}))
    wrong = [fault for name, row in runs().items() for fault in faults(result.console, name, row)]
    assert wrong == [], "\n\n".join(wrong)
    went_well(result, said)
