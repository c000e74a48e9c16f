# SPDX-License-Identifier: BSD-3-Clause
"""
Stock mlx5_ib and libmlx5 in a guest with perftest and rdma-core's pingpongs, and dpdk-test-rdma-perf on the host, each with either of both
as the server. They tell each other their queue pairs by TCP, for which there is a tap beside.
"""

import contextlib
import os
import re

import pytest

from e2e.perf import ROWS as TABLES, Running
from guest.linux import complaints, nothing_left, values
from guest.machine import BOOT, KERNELS_HERE, devices, guest
from guest.pingpongs import ARGUMENTS as PINGPONGS, PORT
from guest.rxe import SHELL, Tap, Verbs
from guest.verbs import ADDRESSES, GIDS, LIMIT, MODULES, PRELUDE

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun"),
]
MACS = ("02:00:00:00:01:01", "02:00:00:00:01:03", "02:00:00:00:01:02")
# Two are the guest's, so that its link does not come and go with our process; the last one is ours.
SWITCH = [f"wire=switch:s,id=15b3:1018,mac={mac}" for mac in MACS]
HOST, GUEST, TAP_MAC = "10.79.0.1", "10.79.0.2", "02:00:00:00:02:01"
OURS = f"ip={ADDRESSES[4][1]}/24+{ADDRESSES[6][1]}/64"
GID_INDEX = {4: "1", 6: "2"}
# Program, and its arguments.
RUNS = (
    ("ib_send_bw", "-s 1024 -n 50"),
    ("ib_send_bw", "-s 512 -n 50 -q 4"),
    ("ib_send_bw", "-s 1024 -n 50 -c UC"),
    ("ib_send_bw", "-s 1024 -n 50 -c UD"),
    ("ib_write_bw", "-s 65536 -n 20"),
    ("ib_write_bw", "-s 4096 -n 50 -c UC"),
    ("ib_write_bw", "-s 4096 -n 50 -m 256 -q 4"),
    ("ib_read_bw", "-s 65536 -n 20"),
    ("ib_read_bw", "-s 4096 -n 50 -m 256"),
    ("ib_atomic_bw", "-n 50 -A FETCH_AND_ADD"),
    ("ib_atomic_bw", "-n 50 -A CMP_AND_SWAP"),
    ("ib_send_lat", "-s 64 -n 50"),
    ("ib_send_lat", "-s 64 -n 50 -c UD"),
    ("ib_write_lat", "-s 64 -n 50"),
    ("ib_read_lat", "-s 64 -n 50"),
    ("ib_atomic_lat", "-n 50 -A FETCH_AND_ADD"),
)
IPV6 = (("ib_send_bw", "-s 1024 -n 50 -c UD"), ("ib_write_bw", "-s 65536 -n 20"))
CASES = [(*run, 4) for run in RUNS] + [(*run, 6) for run in IPV6]
OPS = {"-A FETCH_AND_ADD": "fetch_add", "-A CMP_AND_SWAP": "cmp_swap"}
KINDS = {"rc": (), "uc": ("-c", "UC"), "ud": ("-c", "UD", "-s", "1024"), "srq": ("--use-srq",)}
PROGRAMS = ("ip", *(f"ibv_{kind}_pingpong" for kind in KINDS), *sorted({program for program, _ in RUNS}))

SCRIPT = f"""{PRELUDE}
load_verbs
for path in /sys/bus/pci/devices/*/virtio*/net/*; do
	tap=${{path##*/}}
done
/bin/ip address add {GUEST}/24 dev $tap
/bin/ip link set $tap up
up $eth0 $eth1
# The other one would answer for the first one's address, with its own MAC.
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
ib=$ib0
until_there state_is $ib ACTIVE
/bin/ip address add {ADDRESSES[4][0]}/24 dev $eth0
/bin/ip address add {ADDRESSES[6][0]}/64 dev $eth0 nodad
until_there has_gid $ib {GIDS[4].format(1)}
until_there has_gid $ib {GIDS[6].format(1)}
gid4=$(gid_index $ib {GIDS[4].format(1)}) gid6=$(gid_index $ib {GIDS[6].format(1)})
tell ready
{SHELL}
unload_verbs
"""


class Rig:
    """A shell in the guest, and the namespace that our program runs in."""

    def __init__(self, one, tap, daemon):
        self.theirs, self.tap, self.daemon = Verbs(one), tap, daemon

    def ours(self, *args, family):
        # The timeout is for a busy machine.
        return Running("-u", "18", "-x", GID_INDEX[family], *args, vdevs=(f"net_rnic0,socket={self.daemon.sockets[2]},{OURS}",),
                       within=self.tap.within)

    def ours_serves(self, command, args, family):
        """How both have ended: ours; status and words of theirs."""
        with self.ours(*args, family=family) as server:
            server.wait_for("Waiting for client")
            theirs = self.theirs.shell(f"timeout {LIMIT} {command} {HOST}")
            return server.end(), theirs

    def theirs_serves(self, command, args, family):
        self.theirs.shell(f"timeout {LIMIT} {command} >/tmp/server 2>&1 & listens {PORT}")
        with self.ours(*args, GUEST, family=family) as client:
            ours = client.end()
        if ours.code != 0:
            self.theirs.shell("sleep 1; kill $!")
        return ours, self.theirs.shell("wait $!; status=$?; cat /tmp/server; (exit $status)")


@pytest.fixture(name="rig", scope="module", params=KERNELS_HERE)
def fixture_rig(request):
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*SWITCH))
        tap = stack.enter_context(Tap())
        tap.run("ip", "address", "add", f"{HOST}/24", "dev", "tap0")
        one = stack.enter_context(guest(request.param, daemon.sockets[:2], verbs=PROGRAMS, memory=1024, taps={"tap0": TAP_MAC},
                                        extra_modules=(*MODULES, "virtio_pci", "virtio_net"), within=tap.within))
        one.start(SCRIPT)
        one.expect("ready", BOOT)
        yield Rig(one, tap, daemon)


def options(program, arguments):
    """The same for ours."""
    _, op, mode = program.split("_")
    for text, name in OPS.items():
        if text in arguments:
            op, arguments = name, arguments.replace(text, "")
    return ("--exchange=perftest", f"--op={op}", f"--mode={mode}", *arguments.split())


def messages(arguments):
    """(bytes, messages) of the row."""
    number = {letter: int(value) for letter, value in re.findall(r"-([snq]) (\d+)", arguments)}
    return number.get("s", 8), number["n"] * number.get("q", 1)


@pytest.mark.parametrize("way", ("ours_serves", "theirs_serves"))
@pytest.mark.parametrize("program, arguments, family", CASES)
def test_perftest(program, arguments, family, way, rig):
    ours, (status, said) = getattr(rig, way)(f"{program} -F -d $ib -x $gid{family} {arguments}", options(program, arguments), family)
    both = f"{ours}\nstatus {status}\n{said}"
    assert ours.code == status == 0 and ours.messages() == [], both
    size, count = messages(arguments)
    mode = program.rpartition("_")[2]
    # A server knows nothing of the time that READs and atomics take.
    silent = program in ("ib_read_lat", "ib_atomic_lat")
    assert [(int(each), int(n)) for each, n in TABLES[mode].findall(ours.out)] == [(size, count)] * (not silent or way != "ours_serves"), both
    if not silent or way == "ours_serves":
        assert re.search(rf"^ *{size} +{count} +\S+ +\S+", said, re.MULTILINE), both


@pytest.mark.parametrize("way", ("ours_serves", "theirs_serves"))
@pytest.mark.parametrize("family", GIDS)
@pytest.mark.parametrize("kind", KINDS)
def test_pingpong(kind, family, way, rig):
    command = f"ibv_{kind}_pingpong -n 100 {PINGPONGS[kind]} -d $ib -g $gid{family}"
    ours, (status, said) = getattr(rig, way)(command, ("--exchange=pingpong", "-n", "100", *KINDS[kind]), family)
    both = f"{ours}\nstatus {status}\n{said}"
    assert ours.code == status == 0 and ours.messages() == [] and "invalid data" not in said, both
    for text in (ours.out, said):
        assert re.search(r"^1\d\d iters in [0-9.]+ seconds = [0-9.]+ usec/iter$", text, re.MULTILINE), both


def test_both_end_well(rig):
    result = rig.theirs.end()
    assert result.status == 0 and complaints(result.console) == [] and values(result.console, "word:") == [], result.console[-4000:]
    rig.daemon.stop()
    # Of the guest's functions one session each, of ours one for each run.
    nothing_left(rig.daemon.text(), 2 + 2 * (len(CASES) + len(KINDS) * len(GIDS)))
