# SPDX-License-Identifier: BSD-3-Clause
"""
Stock mlx5_ib and libmlx5 in one guest, and Linux' rxe in another one, at the ends of one cable: rdma-core's pingpongs, perftest, and
programs of librdmacm, each with either of both as the server. rxe is on mlx5_core's netdev: its guest has no mlx5_ib, with which the
device would keep RoCE to itself.
"""

import contextlib
import glob
import os
import re

import pytest

from guest import test_verbs_cm as cm
from guest.linux import complaints, nothing_left, values
from guest.machine import BOOT, KERNELS_HERE, devices, guest, prepare
from guest.pingpongs import ARGUMENTS, PORT, check
from guest.rxe import SHELL, Verbs
from guest.test_verbs_perftest import faults, listens
from guest.verbs import ADDRESSES, GIDS, LIMIT, MODULES, PAIR, PRELUDE

WAYS = {"mlx5-serves": ("mlx5", "rxe"), "rxe-serves": ("rxe", "mlx5")}
ITERS = 50
# rxe has no XRC.
PINGPONGS = {kind: arguments for kind, arguments in ARGUMENTS.items() if kind != "xsrq"}
# Otherwise perftest asks its own device for as many READs at once as the other one takes: rxe 128, of which mlx5_ib lets it have 16.
READS = "-o 16"
# The timeout is for a busy machine, on which rxe is longer in coming than perftest's own, eight times 67 ms.
PATIENT = "-u 18"
# Program, its arguments, and what of them stands in the rows that it prints: bytes and iterations. In all they are fewer packets than
# a ring of rxe's netdev has buffers: what is sent unreliably must not be lost there.
ROWS = (
    ("ib_send_bw", "-s 1024 -n 50", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 -c UC", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 -c UD", 1024, 50),
    ("ib_send_bw", "-s 512 -n 50 -e", 512, 50),
    ("ib_send_bw", "-s 1024 -n 50 -b", 1024, 50),
    ("ib_send_bw", "-s 1024 -n 50 --use-srq -q 2", 1024, 100),
    ("ib_send_bw", "-s 1024 -n 50 -R", 1024, 50),
    ("ib_write_bw", "-s 65536 -n 10", 65536, 10),
    ("ib_write_bw", "-s 4096 -n 50 -q 4", 4096, 200),
    ("ib_write_bw", "-s 4096 -n 50 -c UC", 4096, 50),
    ("ib_write_bw", "-s 4096 -n 50 -m 256", 4096, 50),
    ("ib_read_bw", f"-s 65536 -n 10 {READS}", 65536, 10),
    ("ib_read_bw", f"-s 4096 -n 50 -m 256 {READS}", 4096, 50),
    ("ib_atomic_bw", f"-n 50 -A FETCH_AND_ADD {READS}", 8, 50),
    ("ib_atomic_bw", f"-n 50 -A CMP_AND_SWAP {READS}", 8, 50),
    ("ib_send_lat", "-s 64 -n 50", 64, 50),
    ("ib_send_lat", "-s 64 -n 50 -c UD", 64, 50),
    ("ib_write_lat", "-s 64 -n 50 -I 64", 64, 50),
    ("ib_read_lat", f"-s 64 -n 50 {READS}", 64, 50),
    ("ib_atomic_lat", f"-n 50 {READS}", 8, 50),
)
# Of those that test_verbs_cm.py runs between two functions.
CM = ("ucmatose", "udaddy", "rc", "rstream")
CM_PROGRAMS = sorted({end.split()[0] for name in CM for end in cm.RUNS[name]})
PROGRAMS = ("ip", "rdma", "rping", *CM_PROGRAMS, *(f"ibv_{kind}_pingpong" for kind in PINGPONGS), *sorted({row[0] for row in ROWS}))
PROVIDER = "usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so"

# The other guest has loaded its modules when it is told to go on; without it there is no carrier.
BEGIN = f"""
{PRELUDE}
ended() {{
	! kill -0 $server
}}
by_tcp() {{ # PORT in hexadecimal digits: the server listens, or has ended already
	grep -q ":$1 .* 0A " /proc/net/tcp /proc/net/tcp6 || ended
}}
by_cm() {{
	rdma resource show cm_id | grep -q LISTEN || ended
}}
# By default a queue drops packets, of rxe's as well, that have waited in it for some milliseconds.
echo pfifo_fast >/proc/sys/net/core/default_qdisc
load
until_there netdev $SLOT0
eth=$(netdev $SLOT0)
/bin/ip link set $eth txqueuelen 10000
/bin/ip link set $eth up
tell there
await >/dev/null
until_there carrier_is $eth 1
"""
# $ib is an RDMA device with both addresses' GIDs, $gid4 and $gid6.
READY = """
until_there state_is $ib ACTIVE
/bin/ip address add {address4}/24 dev $eth
/bin/ip address add {address6}/64 dev $eth nodad
until_there has_gid $ib {gid4}
until_there has_gid $ib {gid6}
gid4=$(gid_index $ib {gid4}) gid6=$(gid_index $ib {gid6})
tell ready
"""
MLX5 = """
until_there rdma_there $SLOT0
ib=$(rdma_device $SLOT0)
"""
RXE = """
ib=rxe0
rdma link add $ib type rxe netdev $eth || exit 30
"""
END = {"mlx5": "unload_verbs\n", "rxe": "rdma link delete $ib || exit 31\nunload_verbs\n"}


class End(Verbs):
    """A guest with SHELL: programs in it, each bounded in time."""

    def __init__(self, name, number, one):
        super().__init__(one)
        self.name = name
        self.addresses = {family: both[number] for family, both in ADDRESSES.items()}
        gids = {f"gid{family}": gid.format(number + 1) for family, gid in GIDS.items()}
        ready = READY.format(address4=self.addresses[4], address6=self.addresses[6], **gids)
        one.start(BEGIN + {"mlx5": MLX5, "rxe": RXE}[name] + ready + SHELL + END[name])

    def serve(self, command, listens):
        """Begin, and come back when it listens, or has ended already."""
        self.shell(f"timeout {LIMIT} {command} >/tmp/server 2>&1 & server=$!")
        # In a shell of its own, which alone ends when it has taken too long.
        status, said = self.shell(f"(until_there {listens})")
        assert status == 0, said

    def served(self, stop):
        """Its status and what it has said."""
        if stop:
            self.shell("kill $server")
        return self.shell("wait $server; status=$?; cat /tmp/server; (exit $status)")


@pytest.fixture(name="rig", scope="module", params=KERNELS_HERE)
def fixture_rig(request):
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*PAIR))
        mlx5 = guest(request.param, daemon.sockets[:1], verbs=PROGRAMS, extra_modules=MODULES)
        # It was there for the other guest.
        root = prepare("verbs")["verbs"][1]
        provider, = glob.glob(os.path.join(root, PROVIDER))
        files = {os.path.join("/", os.path.relpath(provider, root)): provider, "/etc/libibverbs.d/rxe.driver": b"driver rxe\n"}
        rxe = guest("6.1", daemon.sockets[1:], verbs=PROGRAMS, files=files,
                    extra_modules=("mlx5_core", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"))
        ends = [End(name, number, stack.enter_context(one)) for number, (name, one) in enumerate((("mlx5", mlx5), ("rxe", rxe)))]
        for end in ends:
            end.one.expect("there", BOOT)
        for end in ends:
            end.one.tell("on")
        for end in ends:
            end.one.expect("ready", BOOT)
        yield Rig(*ends, daemon)


class Rig:
    """Both guests, and the daemon that has their functions."""

    def __init__(self, mlx5, rxe, daemon):
        self.mlx5, self.rxe, self.daemon = mlx5, rxe, daemon

    def both(self, way, listens, server, client):
        """A command at either end, the client's when the server listens: what they have said, and how they have ended."""
        serving, asking = (getattr(self, name) for name in WAYS[way])
        serving.serve(server, listens)
        done = {"client": asking.shell(f"timeout {LIMIT} {client}")}
        done["server"] = serving.served(done["client"][0] != 0)
        return "".join(f"run {side} {line}\n" for side, (status, said) in done.items()
                       for line in [f"status {status}", *said.splitlines()])

    def server(self, way, family):
        """The address that the server has."""
        return getattr(self, WAYS[way][0]).addresses[family]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", GIDS, ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("kind", PINGPONGS)
def test_pingpong(kind, family, way, rig):
    program = f"ibv_{kind}_pingpong -n {ITERS} {PINGPONGS[kind]} -d $ib -g $gid{family}"
    check(rig.both(way, f"by_tcp {PORT:04X}", program, f"{program} {rig.server(way, 4)}"), "run", kind, ITERS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:2]))
def test_perftest(row, way, rig):
    program, arguments, *_ = row
    command = f"{program} -F -d $ib -x $gid4 {PATIENT} {arguments}"
    wrong = faults(rig.both(way, listens(arguments), command, f"{command} {rig.server(way, 4)}"), "run", (*row, 4))
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", ADDRESSES, ids=("ipv4", "ipv6"))
def test_rping(family, way, rig):
    common = f"-a {rig.server(way, family)} -C {ITERS} -v -V"
    console = rig.both(way, "by_cm", f"rping -s {common}", f"rping -c {common}")
    for side, begin in (("server", "server ping data"), ("client", "ping data")):
        status, *said = values(console, f"run {side}")
        assert status == "status 0", console
        found = [line for line in said if line.startswith(begin)]
        assert len(found) == ITERS and all(f": rdma-ping-{number}: " in line for number, line in enumerate(found)), console


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CM)
def test_librdmacm(name, way, rig):
    server, client = cm.RUNS[name]
    wrong = cm.faults(rig.both(way, "by_cm", server, client.replace(cm.LEFT, rig.server(way, 4))), name, "run")
    assert wrong == [], "\n".join(wrong)


def test_both_end_well(rig):
    """Nothing is left, Linux has no complaint, and the device has found nothing wrong with what rxe has sent."""
    # rxe first: when the other end of its cable goes, Linux complains of a speed that it does not know.
    for end in (rig.rxe, rig.mlx5):
        result = end.end()
        assert result.status == 0 and complaints(result.console) == [], f"{end.name}: {result.console[-4000:]}"
    assert values(result.console, "word:") == [], result.console[-4000:]
    rig.daemon.stop()
    said = rig.daemon.text()
    nothing_left(said, 2)
    wrong = re.findall(r"d0:.*\b(roce_(?:icrc_errors|malformed|source_errors)=\d+)", said)
    assert wrong == [], said
