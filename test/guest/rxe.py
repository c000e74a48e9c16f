# SPDX-License-Identifier: BSD-3-Clause
"""
Linux' rxe in a guest, and our driver at the other end of its cable: two programs that take the same orders (peer.h).

Cables: a pair of softrnicd's, with mlx5_core's netdev in the guest; or a tap, with virtio_net's. Neither end knows the
other one's MAC before it has asked for it.
"""

import base64
import contextlib
import glob
import ipaddress
import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from daemon.softrnicd import until
from e2e.testpmd import plugin
from guest.machine import BOOT, devices, guest, slot

HERE = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "guest")
VERBS, RNIC = (os.path.join(HERE, name) for name in ("verbs_peer", "rnic_peer"))
# Seconds for an answer: longer than a peer waits itself.
ANSWER = 200
MACS = ("02:00:00:00:00:0a", "02:00:00:00:00:0b")
OURS, THEIRS = {4: "10.78.0.1", 6: "fd78::1"}, {4: "10.78.0.2", 6: "fd78::2"}
GROUPS = {4: "239.7.8.9", 6: "ff05::7:8:9"}
TOOLS = ("/bin/ip", "/usr/bin/rdma")
# What librxe is asked for by; it is loaded by its name.
DRIVER = {"/etc/libibverbs.d/rxe.driver": b"driver rxe\n"}
MODULES = ("crc32_generic", "rdma_rxe", "ib_uverbs")

# Shell of a guest: $eth has its carrier, then its addresses. As long as its link-local address is tentative, Linux solicits no neighbour.
LINK_UP = f"""echo 0 >/proc/sys/net/ipv6/conf/$eth/accept_dad
/bin/ip link set $eth up
for i in $(seq 600); do
	[ "$(cat /sys/class/net/$eth/carrier)" != 1 ] || break
	sleep 0.1
done
/bin/ip address add {THEIRS[4]}/24 dev $eth
/bin/ip address add {THEIRS[6]}/64 dev $eth nodad"""

SCRIPT = """
dmesg -n 1
for path in /sys/bus/pci/devices/{slot}/net/* /sys/bus/pci/devices/{slot}/virtio*/net/*; do
	[ ! -d $path ] || eth=${{path##*/}}
done
{link_up}
rdma link add rxe0 type rxe netdev $eth || exit 1
tell ready
{serve}
if dmesg | grep -iE 'WARNING:|BUG:|Oops'; then
	exit 3
fi
exit 0
"""
# What the guest does then. As one of both ends:
PEER = "verbs_peer rxe0 $eth <&8 >/dev/ttyS1 || exit 2"
# As a shell whose orders are lines for it; the answer is a status and, in base64, what was said on both streams.
SHELL = """
listens() { # PORT, of TCP; false when the job in the background has ended before
	port=$(printf ':%04X .* 0A ' $1)
	until grep -q "$port" /proc/net/tcp /proc/net/tcp6; do
		kill -0 $! || return 1
		sleep 0.1
	done
}
while order=$(await) && [ "$order" != quit ]; do
	eval "$order" >/tmp/said 2>&1
	tell answer $? $(base64 -w 0 /tmp/said)
done
"""


def gid_of(address):
    """As orders have it."""
    parsed = ipaddress.ip_address(address)
    return ("0" * 20 + "ffff" if parsed.version == 4 else "") + parsed.packed.hex()


def words(answer):
    """KEY=VALUE of an answer; numbers where they are some."""
    found = {}
    key = None
    for word in answer.split(" "):
        if "=" in word:
            key, _, value = word.partition("=")
            found[key] = value
        elif key is not None:
            found[key] += " " + word
    return {key: int(value) if value.strip().isdigit() else value.strip() for key, value in found.items()}


class Peer:
    """One of both ends. Those who know how orders get there and answers come back are below."""

    name = None
    addresses = None

    def __init__(self):
        self.memory = {}

    def order(self, line):
        raise NotImplementedError

    def ask(self, word, **values):
        line = " ".join([word, *(f"{key}={value}" for key, value in values.items())])
        answer = self.order(line)
        assert not answer.startswith("failed"), f"{self.name}: {line}: {answer}"
        return answer

    def get(self, word, **values):
        return words(self.ask(word, **values))

    def counters(self):
        return self.get("counters")


class Verbs(Peer):
    """In the guest."""

    name = "rxe"
    addresses = THEIRS

    def __init__(self, one):
        super().__init__()
        self.one = one

    def order(self, line):
        self.one.tell(line)
        return self.one.expect("answer", ANSWER)

    def shell(self, line):
        """What a guest with SHELL does: its status, and what it has said."""
        status, _, said = self.order(line).partition(" ")
        return int(status), base64.b64decode(said).decode()

    def gid_index(self, gid):
        """Where rxe has it."""
        _, said = self.shell("cd /sys/class/infiniband/rxe0/ports/1/gids && grep . *")
        rows = (line.split(":", 1) for line in said.splitlines())
        return next(int(index) for index, digits in rows if digits.replace(":", "") == gid)

    def end(self):
        """How the guest's script has ended."""
        self.one.tell("quit")
        return self.one.wait(BOOT)


class Rnic(Peer):
    """A process of its own, whose device these EAL options say."""

    name = "rnic"
    addresses = OURS
    count = 0

    def __init__(self, *eal, within=()):
        super().__init__()
        Rnic.count += 1
        lcores = "--lcores=0@(0-1)" if os.cpu_count() > 1 else "--lcores=0@0"
        self.folder = tempfile.mkdtemp(prefix="rnic-rxe-", dir="/run" if os.geteuid() == 0 else None)
        command = [*within, RNIC, "-d", plugin(), lcores, "--no-pci", "--no-huge", "-m128", "--log-level=lib.*:4",
                   f"--file-prefix=rnic-rxe-{os.getpid()}-{Rnic.count}", *eal]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=dict(os.environ, RUNTIME_DIRECTORY=self.folder))
        self.said = b""

    def order(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + ANSWER
        while b"\n" not in self.said:
            ready = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"no answer to {line}"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, f"it ended after {line}"
            self.said += data
        answer, _, self.said = self.said.partition(b"\n")
        return answer.decode().removeprefix("told answer").strip()

    def device(self):
        """What an embedded device counts of itself, by dpdk-telemetry."""
        path = next(os.path.join(folder, "dpdk_telemetry.v2") for folder, _, files in os.walk(self.folder)
                    if "dpdk_telemetry.v2" in files)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
            asked.connect(path)
            asked.recv(65536)
            asked.send(b"/rnic/softrnic,net_rnic0")
            return json.loads(asked.recv(1 << 20))["/rnic/softrnic"]

    def end(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.flush()
        assert self.process.wait(ANSWER) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout):
            end.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def addresses(mine):
    """As a port has them by devargs."""
    return f"ip={mine[4]}/24+{mine[6]}/64"


def librxe():
    """rxe's provider for libibverbs."""
    found = glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
    if not found or not os.path.exists(VERBS):
        pytest.skip("no libibverbs-dev when the tests were built, or no ibverbs-providers")
    return found


@contextlib.contextmanager
def machine(sockets=(), modules=(), programs=(VERBS,), serve=PEER, **kwargs):
    """A guest whose rxe waits for orders, by default those of verbs_peer."""
    one = guest("6.1", sockets, [*TOOLS, *programs], libraries=librxe(), modules=[*modules, *MODULES], files=DRIVER,
                cpus=1, **kwargs)
    with one:
        one.start(SCRIPT.format(slot=slot(0), link_up=LINK_UP, serve=serve))
        one.expect("ready", BOOT)
        yield Verbs(one)


class Rig:
    """Both ends, and the daemon that one of them is on, or None."""

    def __init__(self, verbs, rnic, daemon=None):
        self.verbs, self.rnic, self.daemon = verbs, rnic, daemon
        self.tap = None
        for peer in (verbs, rnic):
            peer.memory = peer.get("who")

    def end(self):
        """Both end well; what the guest's console and the daemon's log have."""
        result = self.verbs.end()
        assert result.status == 0, result.console[-4000:]
        self.rnic.end()
        if self.daemon is not None:
            self.daemon.stop()
        return result.console


@contextlib.contextmanager
def pair_rig(ours="", theirs=""):
    """
    Two functions of a softrnicd with a cable between them: mlx5_core has one, our driver the other one. Faults of what each
    of both sends.
    """
    own = f"wire=pair:cable,mac={MACS[0]}{theirs}", f"wire=pair:cable,mac={MACS[1]}{ours}"
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*own))
        # First: without it the guest's end has no link.
        rnic = stack.enter_context(Rnic(f"--vdev=net_rnic0,socket={daemon.sockets[1]},{addresses(OURS)}"))
        verbs = stack.enter_context(machine(daemon.sockets[:1], ["mlx5_core"]))
        yield Rig(verbs, rnic, daemon)


class Tap:
    """The interface tap0, in a network namespace of its own. Use as a context."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
        self.within = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]

    def __enter__(self):
        try:
            until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "namespace")
            self.run("sh", "-ec", "ip tuntap add dev tap0 mode tap; "
                     "echo 1 >/proc/sys/net/ipv6/conf/tap0/disable_ipv6; ip link set tap0 up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def run(self, *command):
        subprocess.run([*self.within, *command], check=True)

    def send(self, frame):
        """A frame that both ends see."""
        self.run("/usr/bin/python3", "-c", SEND, frame.hex())

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()


# In the namespace.
SEND = "import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('tap0', 0)); " \
    "s.send(bytes.fromhex(sys.argv[1]))"


@contextlib.contextmanager
def tap_rig():
    """A tap of Linux: virtio_net in the guest, and our driver's embedded device upon net_af_packet."""
    with contextlib.ExitStack() as stack:
        tap = stack.enter_context(Tap())
        verbs = stack.enter_context(machine((), ["virtio_pci", "virtio_net"], taps={"tap0": MACS[0]}, within=tap.within))
        rnic = stack.enter_context(Rnic(f"--vdev=net_rnic0,wire=port:net_af_packet0,mac={MACS[1]},{addresses(OURS)}",
                                        "--vdev=net_af_packet0,iface=tap0", within=tap.within))
        rig = Rig(verbs, rnic)
        rig.tap = tap
        yield rig
