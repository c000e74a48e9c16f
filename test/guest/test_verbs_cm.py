# SPDX-License-Identifier: BSD-3-Clause
"""Connections that librdmacm makes over stock mlx5_ib, between two functions: its own programs, and what they leave."""

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE
from guest.verbs import ADDRESSES, APART, PAIR, TOGETHER, run_on, went_well

COUNT = 100
GROUP = "239.1.1.1"
LEFT, RIGHT = ADDRESSES[4]

RUNS = {
    "rping4": (f"rping -s -a {LEFT} -C {COUNT} -v -V", f"rping -c -a {LEFT} -C {COUNT} -v -V"),
    "rping6": (f"rping -s -a {ADDRESSES[6][0]} -C {COUNT} -v -V", f"rping -c -a {ADDRESSES[6][0]} -C {COUNT} -v -V"),
    "ucmatose": ("ucmatose -c 4", f"ucmatose -c 4 -s {LEFT}"),
    "udaddy": ("udaddy -c 4", f"udaddy -c 4 -s {LEFT}"),
    "rc": ("rdma_server", f"rdma_client -s {LEFT}"),
    "xrc": ("rdma_xserver -c x", f"rdma_xclient -s {LEFT} -c x"),
    "cmtime": ("cmtime -c 5", f"cmtime -c 5 -s {LEFT}"),
    "rstream": ("rstream -S 4096 -I 20 -C 5 -T v", f"rstream -S 4096 -I 20 -C 5 -T v -s {LEFT}"),
    "mckey": (f"mckey -m {GROUP} -b {LEFT}", f"mckey_senders -m {GROUP} -b {RIGHT} -s"),
}
HELPERS = f"""
by_cm() {{ # or has ended already
	rdma resource show cm_id | grep -q LISTEN || ended
}}
joined() {{ # GROUP's address, as the kernel prints it
	grep -q 010101EF /proc/net/igmp || ended
}}
# Nothing says when the receiver's queue pair is in the group that it has joined: it gets datagrams for as long as it waits.
export server
cat >/bin/mckey_senders <<'END'
#!/bin/sh
while
	mckey "$@" || exit
	kill -0 $server 2>/dev/null
do
	sleep 0.1
done
END
chmod 755 /bin/mckey_senders
resources() {{
	rdma resource
	$peer rdma resource
}}
no_ids() {{
	! resources | grep -qv ' cm_id 0 '
}}
# Behind the first program: Linux 6.12 makes a queue pair of its own when it first registers memory.
before=
as_before() {{
	no_ids || return
	: "${{before:=$(resources)}}"
	[ "$(resources)" = "$before" ]
}}
"""


# What both ends must have printed, in any order: lines, or their begins.
ENDED = ("data transfers complete", "test complete", "return status 0")
TOLD = {
    "ucmatose": ENDED,
    "udaddy": ENDED,
    "mckey": ENDED,
    "cmtime": (),
    "rstream": ("custom    4k      5       20      800k ",),
}
STEPS = ("create id", "resolve addr", "resolve route", "create qp", "connect", "disconnect", "destroy")
# The server waits for more.
ENDLESS = ("cmtime",)


def told(name, side):
    """What the program at this end must have printed."""
    if name.startswith("rping"):
        return [f"{'server ' if side == 'server' else ''}ping data: rdma-ping-{number}: " for number in range(COUNT)]
    if name in ("rc", "xrc"):
        return [f"{RUNS[name][side == 'client'].split()[0]}: end 0"]
    if name == "cmtime" and side == "client":
        return [f"{step:13}:" for step in STEPS]
    return TOLD[name]


def script(name, server, client):
    listens = "joined" if name == "mckey" else "by_cm"
    endless = "yes" if name in ENDLESS else ""
    return f'endless={endless}\nboth {name} {listens} "{server}" "{client}"\nuntil_there as_before\n'


def faults(console, name, run=None):
    """What is wrong with the run of this name, or nothing. run: what its lines begin with, if not by the name."""
    wrong, both = [], []
    for side in ("server", "client"):
        status, *said = values(console, f"{run or name} {side}")
        both += [f"---- {side}", *said]
        # It is killed.
        expected = "status 143" if side == "server" and name in ENDLESS else "status 0"
        if status != expected:
            wrong.append(f"the {side} ended with {status}")
        lines = [line.removeprefix("/bin/") for line in said]
        missing = [text for text in told(name, side) if not any(line.startswith(text) for line in lines)]
        if missing:
            wrong.append(f"the {side} has not said {missing}")
    return ["\n".join([f"{name}: {', '.join(wrong)}", *both])] if wrong else []


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_each_program_connects(kernel):
    text = APART + HELPERS + "".join(script(name, *ends) for name, ends in RUNS.items()) + TOGETHER
    programs = {end.split()[0] for ends in RUNS.values() for end in ends} - {"mckey_senders"}
    result, said = run_on(kernel, text, *PAIR, timeout=1500, verbs=sorted(programs))
    wrong = [fault for name in RUNS for fault in faults(result.console, name)]
    assert wrong == [], "\n\n".join(wrong)
    went_well(result, said)
