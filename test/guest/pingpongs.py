# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's pingpongs in a guest, from one function to the other: what is run, and what they must have said."""

import re

from guest.linux import values
from guest.verbs import ADDRESSES, APART, PAIR, TOGETHER, run_on, went_well

# Datagrams of their default size are longer than the path's MTU, which ibv_ud_pingpong refuses. -c has them look at what
# they receive; of ibv_xsrq_pingpong, which always does, it says how many clients there are.
ARGUMENTS = {"rc": "-c", "uc": "-c", "ud": "-c -s 1024", "srq": "-c", "xsrq": "-c 1"}
QUEUE_PAIRS = {"srq": 16}
PORT = 18515


def told(side, lines):
    """Of queue pairs, as a program prints them: numbers, first PSNs, GIDs."""
    connected = rf" +{side} address: +LID 0x0000, QPN 0x(\w+), PSN 0x(\w+)[,:] GID (\S+)"
    shared = rf" +{side}: LID 0000, QPN RECV (\w+) SEND (\w+), PSN (\w+), SRQN (\w+), GID (\S+)"
    matches = (re.fullmatch(connected, line) or re.fullmatch(shared, line) for line in lines)
    return [found.groups() for found in matches if found]


def check(console, name, kind, iters):
    """All messages have gone there and back, and each has connected the queue pairs that the other one has told."""
    server, client = (values(console, f"{name} {side}") for side in ("server", "client"))
    both = "\n".join([*server, "---", *client])
    assert server[0] == client[0] == "status 0" and "invalid data" not in both, both
    count = QUEUE_PAIRS.get(kind, 1)
    for mine, other in ((server, client), (client, server)):
        assert len(told("local", mine)) == count and told("local", mine) == told("remote", other), both
        if kind == "xsrq":
            assert mine[-1] == "success", both
            continue
        size = 2 * iters * (1024 if kind == "ud" else 4096)
        assert re.fullmatch(rf"{size} bytes in [0-9.]+ seconds = [0-9.]+ Mbit/sec", mine[-2]), both
        assert re.fullmatch(rf"{iters} iters in [0-9.]+ seconds = [0-9.]+ usec/iter", mine[-1]), both


def script(name, kind, family, iters):
    """They poll for what is complete, or over IPv6 sleep until they are told."""
    program = f"ibv_{kind}_pingpong -n {iters} {ARGUMENTS[kind]}{' -e' if family == 6 else ''}"
    return (f'both {name} "by_tcp {PORT:04X}" "{program} -d $ib0 -g $left{family}" '
            f'"{program} -d $ib1 -g $right{family} {ADDRESSES[4][0]}"\n')


def run_pingpongs(kernel, kinds, families, iters, **kwargs):
    """Each kind over IP of these versions, in one guest, which must leave nothing behind."""
    runs = {f"{kind}{family}": (kind, family) for kind in kinds for family in families}
    text = APART + "".join(script(name, *each, iters) for name, each in runs.items()) + TOGETHER
    result, said = run_on(kernel, text, *PAIR, verbs=[f"ibv_{kind}_pingpong" for kind in kinds], **kwargs)
    for name, (kind, _) in runs.items():
        check(result.console, name, kind, iters)
    went_well(result, said)
