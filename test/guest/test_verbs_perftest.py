# SPDX-License-Identifier: BSD-3-Clause
"""perftest by stock mlx5_ib and libmlx5, from one function to the other: every program, transport and kind of request."""

import os
import re

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE
from guest.pingpongs import check, script as pingpong
from guest.verbs import ADDRESSES, APART, PAIR, TOGETHER, run_on, went_well

PORT = 18515
# With -a: a row for each size.
ALL = tuple(1 << n for n in range(1, 24))
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
    ("ib_send_bw", "-s 512 -n 50 -I 512", 512, 50),
    ("ib_send_bw", "-s 912 -n 50 -I 912", 912, 50),
    ("ib_send_bw", "-a -n 5", ALL, 5),
    ("ib_send_bw", "-s 1024 -n 50 -R", 1024, 50),
    ("ib_send_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_send_bw", "-s 4096 -n 50 -m 1024", 4096, 50),
    ("ib_write_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_write_bw", "-s 4096 -n 50 -q 4", 4096, 200),
    ("ib_write_bw", "-s 1048576 -n 20", 1048576, 20),
    ("ib_write_bw", "-a -n 5", ALL, 5),
    ("ib_write_bw", "-s 4096 -n 50 -c UC", 4096, 50),
    ("ib_write_bw", "-s 4096 -n 50 -c XRC", 4096, 50),
    ("ib_write_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_read_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_read_bw", "-a -n 5", ALL, 5),
    ("ib_read_bw", "-s 4096 -n 50 -c XRC", 4096, 50),
    ("ib_read_bw", "-s 4096 -n 50 -e", 4096, 50),
    ("ib_read_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_atomic_bw", "-n 50 -A FETCH_AND_ADD", 8, 50),
    ("ib_atomic_bw", "-n 50 -A CMP_AND_SWAP", 8, 50),
    ("ib_atomic_bw", "-n 50 -c XRC", 8, 50),
    ("ib_send_lat", "-s 64 -n 50", 64, 50),
    ("ib_send_lat", "-s 64 -n 50 -c UD", 64, 50),
    ("ib_send_lat", "-s 64 -n 50 -c UC", 64, 50),
    ("ib_send_lat", "-s 64 -n 50 -c XRC", 64, 50),
    ("ib_write_lat", "-s 64 -n 50 -I 64", 64, 50),
    ("ib_write_lat", "-s 64 -n 50 -c UC", 64, 50),
    ("ib_write_lat", "-s 64 -n 50 -c XRC", 64, 50),
    ("ib_read_lat", "-s 64 -n 50", 64, 50),
    ("ib_read_lat", "-s 64 -n 50 -c XRC", 64, 50),
    ("ib_atomic_lat", "-n 50", 8, 50),
    ("ib_atomic_lat", "-n 50 -c XRC", 8, 50),
)
# Over interfaces whose MTU leaves room for the longest packets: one that fits is what both ends have by default then.
JUMBO = (
    ("ib_send_bw", "-s 8192 -n 50 -m 512", 8192, 50),
    ("ib_send_bw", "-s 8192 -n 50 -m 2048", 8192, 50),
    ("ib_send_bw", "-s 8192 -n 50 -m 4096", 8192, 50),
    ("ib_send_bw", "-s 4096 -n 50 -c UD", 4096, 50),
    ("ib_write_bw", "-s 65536 -n 20 -m 4096 -q 8", 65536, 160),
    ("ib_write_bw", "-s 65536 -n 20 -c UC", 65536, 20),
    ("ib_read_bw", "-s 65536 -n 20 -m 4096 -q 8", 65536, 160),
    ("ib_read_bw", "-s 65536 -n 20 -m 2048", 65536, 20),
)
LONG_FRAMES = f"""
/bin/ip link set $eth0 mtu 9000
$peer /bin/ip link set $eth1 mtu 9000
until_there ping -c 1 -W 1 {ADDRESSES[4][1]}
until_there $peer grep -q ACTIVE /sys/class/infiniband/$ib1/ports/1/state
"""
# The server has nothing to measure.
SILENT = ("ib_read_lat", "ib_atomic_lat")
# Over IPv6, too: of each kind of address handle one.
IPV6 = (("ib_send_bw", "-s 1024 -n 50"), ("ib_send_bw", "-s 1024 -n 50 -c UD"), ("ib_write_bw", "-s 65536 -n 50"),
        ("ib_read_bw", "-s 65536 -n 50"), ("ib_atomic_bw", "-n 50 -A FETCH_AND_ADD"))
# With -R, addresses are exchanged by librdmacm, which has no socket of TCP.
BY_CM = """
by_cm() { # or has ended already
	rdma resource show cm_id | grep -q LISTEN || ended
}
"""


# One frame in a hundred is lost, and one comes behind the next one: reliable connections alone go on.
FAULTS = ",drop=10000,reorder=10000,seed=1"
LOSSY = (
    ("ib_send_bw", "-s 4096 -n 200", 4096, 200),
    ("ib_send_bw", "-s 1024 -n 200 -c XRC", 1024, 200),
    ("ib_write_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_read_bw", "-s 65536 -n 50", 65536, 50),
    ("ib_atomic_bw", "-n 200 -A FETCH_AND_ADD", 8, 200),
)


def named(rows):
    """{name: row}"""
    return {f"row{number}": row for number, row in enumerate(rows)}


def runs():
    """{name: (program, arguments, bytes, iterations, IP's version)}"""
    return named([(*row, 4) for row in ROWS] + [(*row, 6) for row in ROWS if row[:2] in IPV6])


def listens(arguments):
    """What tells that the server does."""
    return "by_cm" if "-R" in arguments.split() else f"by_tcp {PORT:04X}"


def script(name, program, arguments, family):
    ends = [f"{program} -F -d $ib{side} -x ${index}{family} {arguments}" for side, index in enumerate(("left", "right"))]
    return f'both {name} "{listens(arguments)}" "{ends[0]}" "{ends[1]} {ADDRESSES[4][0]}"\n'


def sizes_told(program, side, sizes):
    """By this end, in its rows. A server that posts nothing has one for the last size."""
    if side == "client" or program.startswith("ib_send"):
        return sizes
    return () if program in SILENT else sizes[-1:]


def faults(console, name, row):
    """What is wrong with the run of this name, or nothing."""
    program, arguments, size, iters, family = row
    sizes = size if size is ALL else (size,)
    wrong = []
    for side in ("server", "client"):
        status, *said = values(console, f"{name} {side}")
        if status != "status 0":
            wrong.append(f"the {side} ended with {status}")
        # What it has measured stands behind, no number where it has found an emulated clock too unsteady.
        rows = [int(line.split()[0]) for line in said if re.match(rf" *\d+ +{iters} +\S+ +\S+", line)]
        expected = sizes_told(program, side, sizes)
        if tuple(rows) != expected:
            wrong.append(f"the {side} has printed rows of {rows} bytes and {iters} iterations, not of {expected}")
        if wrong:
            wrong += said
    return [f"{program} {arguments} over IPv{family}: " + "\n".join(wrong)] if wrong else []


def run_rows(kernel, rows, options, before="", more="", programs=()):
    """All rows in one guest, whose console is returned; shell before them, and more behind."""
    lines = "".join(script(name, row[0], row[1], row[4]) for name, row in rows.items())
    text = APART + BY_CM + before + lines + more + TOGETHER
    result, said = run_on(kernel, text, *options, timeout=1500, memory=1024,
                          verbs=sorted({row[0] for row in rows.values()} | set(programs)))
    wrong = [fault for name, row in rows.items() for fault in faults(result.console, name, row)]
    assert wrong == [], "\n\n".join(wrong)
    went_well(result, said)
    return result.console


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_every_program_has_its_row(kernel):
    run_rows(kernel, runs(), PAIR)


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_loss_and_reordering(kernel):
    """What arrives is looked at by the pingpongs."""
    kinds = ("rc", "srq", "xsrq")
    console = run_rows(kernel, named((*row, 4) for row in LOSSY), [option + FAULTS for option in PAIR],
                       more="".join(pingpong(kind, kind, 4, 100) for kind in kinds),
                       programs=[f"ibv_{kind}_pingpong" for kind in kinds])
    for kind in kinds:
        check(console, kind, kind, 100)


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_packets_of_any_length(kernel):
    run_rows(kernel, named((*row, 4) for row in JUMBO), PAIR, before=LONG_FRAMES)


def test_the_document_has_these_rows():
    found = {}
    with open(os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "features", "perftest.md"), encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"\| `(\w+) (.*)` \| ([\w, ]+) \|", line):
                found[match[1], match[2]] = match[3]
    usual = {row[:2]: "IPv4, IPv6" if row[:2] in IPV6 else "IPv4" for row in ROWS}
    assert found == usual | {row[:2]: "IPv4, MTU 9000" for row in JUMBO}
