# SPDX-License-Identifier: BSD-3-Clause
"""Linux TCP between two namespaces of the host whose only path is testpmd in a guest, on two functions of vfio-pci."""

import contextlib
import json
import os
import re

import pytest

from e2e import tcp
from e2e.networks import LEFT, RIGHT, Networks
from guest.functions import COMMON, STDBUF, machine
from guest.machine import BOOT, devices, slot
from guest.traffic import Helper, ping, silence
from size import FULL

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")

SIZE = (64 if FULL else 4) << 20
# Seconds until testpmd has its ports, and for one transfer: the guest is emulated.
START, TRANSFER = 200, 600

# testpmd obeys line by line what the host tells, each when the one before is done; its log is the console's.
SCRIPT = f"""
{COMMON}
# What is new in its log.
news() {{
	tail -c +$((shown + 1)) /tmp/log | tee /tmp/new
	shown=$((shown + $(wc -c </tmp/new)))
}}
# Until it waits for the next line.
prompted() {{
	for i in $(seq 1200); do
		[ $(grep -o "testpmd> " /tmp/log | wc -l) -ge $prompts ] && break
		[ -d /proc/$pid ] || break
		sleep 0.1
	done
	news
	[ $(grep -o "testpmd> " /tmp/log | wc -l) -ge $prompts ] || exit 1
}}
shown=0
mkfifo /tmp/in
LD_PRELOAD={STDBUF} _STDBUF_O=L dpdk-testpmd $eal -a {slot(0)} -a {slot(1)} \\
	-- -i --no-lsc-interrupt --mbuf-size=$buffer --total-num-mbufs=6144 --rxd=2048 --txd=1024 </tmp/in >>/tmp/log 2>&1 &
pid=$!
exec 9>/tmp/in
prompts=1
prompted
tell ready
while line=$(await) && [ "$line" != quit ]; do
	echo "$line" >&9
	prompts=$((prompts + 1))
	prompted
	tell done
done
echo quit >&9
wait $pid
status=$?
news
[ $status = 0 ] || exit 1
dmesg | grep -iE "DMAR.*fault|WARNING:|BUG:" && exit 1
exit 0
"""


def settle(nets):
    """Nobody says anything by himself, nor asks who the other is."""
    silence(nets, (nets.left, "eth0"), (nets.middle, "cable0"), (nets.middle, "cable1"), (nets.right, "eth0"))
    addresses = [re.search(r"link/ether (\S+)", nets.shell(where, "ip link show eth0"))[1]
                 for where in (nets.left, nets.right)]
    for where, other, address in ((nets.left, RIGHT, addresses[1]), (nets.right, LEFT, addresses[0])):
        nets.ip(where, "neighbour", "replace", other, "lladdr", address, "dev", "eth0", "nud", "permanent")


def order(one, *lines):
    for line in lines:
        one.tell(line)
        one.expect("done", BOOT)


def each_port(lines, **values):
    return [line.format(port=port, **values) for line in lines for port in (0, 1)]


def forwarded(nets, one, forwarding):
    """A connection through testpmd; what both ends of it have seen on their wires: tallies, and inspect()'s."""
    order(one, "port stop all", *each_port(["port config mtu {port} {mtu}", *forwarding.commands], mtu=nets.mtu,
                                           segment=nets.mtu // 2),
          "port start all", "clear port xstats all", "clear port stats all", f"set fwd {forwarding.name} retry",
          "start")
    with Helper(nets.left, "tally", "eth0") as left, Helper(nets.right, "tally", "eth0") as right:
        seen = nets.transfer(SIZE, TRANSFER)
        # It goes behind all that was sent before, both ways.
        ping(nets.left, RIGHT, count=1)
        tallies = [json.loads(tally.end()) for tally in (left, right)]
    order(one, "stop", f"# of {forwarding.name}", "show port xstats all")
    return tallies, seen


def statistics(console, name):
    """What `show port xstats all` has said behind the comment, of each port."""
    said = console[console.index(f"# of {name}"):].partition("testpmd> ")[2].partition("testpmd> ")[0]
    parts = re.split(r"#+ NIC extended statistics for port \d+", said)[1:]
    found = [{key: int(value) for key, value in re.findall(r"^(\w+): (\d+)$", part, re.M)} for part in parts]
    assert len(found) == 2
    return found


def check_port(found, tally, cuts):
    """A port's statistics and the capture at the other end of its cable. cuts: it sends data in smaller segments."""
    assert found["rx_good_packets"] + found["rx_missed_errors"] == tally["out_packets"]
    # What an emulated port is too slow for, TCP says once more.
    assert found["rx_missed_errors"] < tally["out_packets"] // 10
    if found["rx_missed_errors"] == 0:
        assert found["rx_good_bytes"] == tally["out_bytes"]
    # A large send is one packet of the port's, and some of the wire's.
    if cuts:
        assert found["tx_good_packets"] * 3 // 2 < tally["in_packets"]
    else:
        assert (found["tx_good_packets"], found["tx_good_bytes"]) == (tally["in_packets"], tally["in_bytes"])
    for ours, theirs in (("tx", "in"), ("rx", "out")):
        assert tally[f"{theirs}_packets"] > 1
        for cast in ("unicast", "multicast", "broadcast"):
            for unit in ("packets", "bytes"):
                assert found[f"{ours}_vport_{cast}_{unit}"] == tally.get(f"{theirs}_{cast}_{unit}", 0)
    assert found["rx_errors"] == found["tx_errors"] == found["rx_mbuf_allocation_errors"] == 0


@pytest.mark.parametrize("mtu", tcp.MTUS)
def test_tcp_between_two_namespaces_through_vfio(mtu):
    room, buffer = ("framesz=2048,framecnt=8192", 2176) if mtu == 1500 else \
        ("framesz=16384,blocksz=16384,framecnt=2048", 10240)
    eal = ["--no-huge", "--no-pci", *(f"--vdev=net_af_packet{i},iface=cable{i},{room}" for i in (0, 1))]
    with contextlib.ExitStack() as stack:
        nets = stack.enter_context(Networks(mtu))
        settle(nets)
        daemon = stack.enter_context(devices(*(f"name={i},wire=port:net_af_packet{i}" for i in (0, 1)), eal=eal,
                                             within=nets.middle))
        one = stack.enter_context(machine(daemon.sockets, libraries=[STDBUF]))
        one.start(f"buffer={buffer}\n{SCRIPT}")
        one.expect("ready", START)
        seen = [forwarded(nets, one, forwarding) for forwarding in tcp.FORWARDINGS]
        one.tell("quit")
        result = one.wait(BOOT)
        daemon.stop()
    assert result.status == 0, "the script failed"
    for forwarding, (tallies, inspected) in zip(tcp.FORWARDINGS, seen):
        found = statistics(result.console, forwarding.name)
        for number, (port, tally) in enumerate(zip(found, tallies)):
            # Data go from left to right.
            check_port(port, tally, bool(forwarding.commands) and number == 1)
        tcp.check_frames(forwarding, mtu, SIZE, inspected)
