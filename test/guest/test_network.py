# SPDX-License-Identifier: BSD-3-Clause
"""Linux's netdev on a device whose wire is a cable to a namespace of the host: ping, TCP, and what was counted."""

import contextlib
import json
import os
import random
import subprocess

import pytest

from e2e.networks import LEFT, RIGHT, Networks
from guest.machine import BOOT, FULL, KERNELS_HERE, devices, guest, slot
from guest.traffic import Helper, ping, statistics

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")

PORT = 7
BLOCK = 1 << 20
COUNT = 64 if FULL else 4
# Seconds for one transfer: the guest is emulated.
TRANSFER = 600

# The interface of the function comes up; then what the host asks for, a line each, until there is no more.
SCRIPT = f"""
set -e
dmesg -n 1
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
eth=$(ls /sys/bus/pci/devices/{slot(0)}/net)
echo 1 >/proc/sys/net/ipv6/conf/$eth/disable_ipv6
/bin/ip link set $eth mtu {{mtu}} up
for i in $(seq 300); do
	[ "$(cat /sys/class/net/$eth/carrier)" != 1 ] || break
	sleep 0.1
done
/bin/ip address add {RIGHT}/24 dev $eth
ethtool -k $eth | grep -v fixed | sed 's/^[[:space:]]*/feature /'
tell address $(cat /sys/class/net/$eth/address)
while order=$(await) && [ "$order" != end ]; do
	eval "$order"
	tell done $result
done
ethtool -S $eth
tell counted
await
dmesg | grep -iE 'WARNING:|BUG:|time.?out|compromised|syndrome|mlx5.*(error|fail)' && exit 1
exit 0
"""

# Each is on when the driver has loaded.
FEATURES = ("rx-checksumming", "tx-checksum-ip-generic", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "receive-hashing", "rx-vlan-offload", "tx-vlan-offload")


@pytest.fixture(name="block")
def fixture_block(tmp_path):
    path = tmp_path / "block"
    path.write_bytes(random.Random(1).randbytes(BLOCK))
    return path


def silence(nets):
    """Neither the host's end nor what the device holds says anything by itself."""
    for where, interface in ((nets.left, "eth0"), (nets.middle, "cable0")):
        subprocess.run([*where, "sh", "-c", f"echo 1 >/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"], check=True)


def order(one, what):
    one.tell(what)
    return one.expect("done", TRANSFER)


def check_counters(found, seen):
    """The guest's `ethtool -S` and the tally of the host's end, whose "in" is what the guest has sent."""
    for ours, theirs in (("tx", "in"), ("rx", "out")):
        packets, size = seen[f"{theirs}_packets"], seen[f"{theirs}_bytes"]
        assert packets > 0
        # Linux counts what it sends as no shorter than Ethernet's least; nobody pads here.
        said = seen["in_padded_bytes"] if ours == "tx" else size
        assert (found[f"{ours}_packets"], found[f"{ours}_bytes"]) == (packets, said)
        # With the check sequence of each frame.
        assert (found[f"{ours}_packets_phy"], found[f"{ours}_bytes_phy"]) == (packets, size + 4 * packets)
        for cast in ("unicast", "multicast", "broadcast"):
            assert found[f"{ours}_vport_{cast}_packets"] == seen.get(f"{theirs}_{cast}_packets", 0)
            assert found[f"{ours}_vport_{cast}_bytes"] == seen.get(f"{theirs}_{cast}_bytes", 0)
        assert found[f"{ours}_broadcast_phy"] == seen.get(f"{theirs}_broadcast_packets", 0)
    assert found["rx_out_of_buffer"] == 0 and found["rx_discards_phy"] == 0
    assert found["rx_crc_errors_phy"] == 0 and found["rx_wqe_err"] == 0 and found["tx_cqe_err"] == 0


@pytest.mark.parametrize("mtu", (1500, 9000))
@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_linux_netdev_talks_with_a_namespace(kernel, mtu, block):
    room = "framesz=2048,framecnt=8192" if mtu == 1500 else "framesz=16384,blocksz=16384,framecnt=2048"
    eal = ["--no-huge", "--no-pci", f"--vdev=net_af_packet0,iface=cable0,{room}"]
    with contextlib.ExitStack() as stack:
        nets = stack.enter_context(Networks(mtu))
        silence(nets)
        daemon = stack.enter_context(devices("wire=port:net_af_packet0", eal=eal, within=nets.middle))
        one = stack.enter_context(guest(kernel, daemon.sockets, ["/usr/sbin/ethtool", "/bin/ip"], modules=["mlx5_core"], cpus=2,
                                        files={"/data/block": block}))
        tally = stack.enter_context(Helper(nets.left, "tally", "eth0"))
        one.start(SCRIPT.format(mtu=mtu))
        address = one.expect("address", BOOT)
        nets.ip(nets.left, "neighbour", "replace", RIGHT, "lladdr", address, "dev", "eth0", "nud", "permanent")
        order(one, f"ping -c 3 -W 30 {LEFT} >/dev/null")
        # As long as goes without fragments: net_af_packet has its socket put them together, which then do not fit.
        order(one, f"ping -c 3 -W 30 -s {mtu - 28} {LEFT} >/dev/null")
        ping(nets.left, RIGHT)
        ping(nets.left, RIGHT, mtu - 28)
        with Helper(nets.left, "take", PORT) as taker:
            mine = order(one, f"result=$(for i in $(seq {COUNT}); do cat /data/block; done | "
                              f"nc {LEFT} {PORT})")
            assert mine == ""
            taken = taker.end().strip()
        with Helper(nets.left, "give", RIGHT, PORT, block, COUNT) as giver:
            got = order(one, f"result=$(nc -l -p {PORT} </dev/null | sha256sum)")
            assert got.split()[0] == giver.end().strip() == taken
        one.tell("end")
        one.expect("counted", BOOT)
        seen = json.loads(tally.end())
        one.tell("bye")
        result = one.wait(BOOT)
        daemon.stop()
    assert result.status == 0, "the script failed"
    found = statistics(result.console)
    for feature in FEATURES:
        assert f"feature {feature}: on" in result.console
    check_counters(found, seen)
    # As the guest's kernel left it to the device.
    assert found["tx_tso_packets"] > 0 and found["tx_csum_partial"] > 0
    assert found["rx_csum_complete"] + found["rx_csum_unnecessary"] > 0
    assert found["rx_csum_none"] == seen["out_arp"]
    assert seen["in_longest"] == seen["out_longest"] == mtu + 14
