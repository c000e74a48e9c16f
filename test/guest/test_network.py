# SPDX-License-Identifier: BSD-3-Clause
"""Linux's netdev on a device whose wire is a cable to a namespace of the host: ping, TCP, and what was counted."""

import contextlib
import json
import os

import pytest

from e2e.networks import LEFT, RIGHT, Networks
from guest.machine import BOOT, KERNELS_HERE, devices, guest
from guest.netdev import order, random_block, script, transfer
from guest.traffic import Helper, ping, silence, statistics

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")

# Each is on when the driver has loaded.
FEATURES = ("rx-checksumming", "tx-checksum-ip-generic", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "receive-hashing", "rx-vlan-offload", "tx-vlan-offload")


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


@pytest.mark.parametrize("mtu", (1500, pytest.param(9000, marks=pytest.mark.long)))
@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_linux_netdev_talks_with_a_namespace(kernel, mtu, tmp_path):
    block = random_block(tmp_path)
    room = "framesz=2048,framecnt=8192" if mtu == 1500 else "framesz=16384,blocksz=16384,framecnt=2048"
    eal = ["--no-huge", "--no-pci", f"--vdev=net_af_packet0,iface=cable0,{room}"]
    with contextlib.ExitStack() as stack:
        nets = stack.enter_context(Networks(mtu))
        # Neither the host's end nor what the device holds.
        silence(nets, (nets.left, "eth0"), (nets.middle, "cable0"))
        daemon = stack.enter_context(devices("wire=port:net_af_packet0", eal=eal, within=nets.middle))
        one = stack.enter_context(guest(kernel, daemon.sockets, ["/usr/sbin/ethtool", "/bin/ip"], modules=["mlx5_core"], cpus=2,
                                        files={"/data/block": block}))
        tally = stack.enter_context(Helper(nets.left, "tally", "eth0"))
        one.start(script(mtu, "tell counted\nawait"))
        address = one.expect("address", BOOT)
        nets.ip(nets.left, "neighbour", "replace", RIGHT, "lladdr", address, "dev", "eth0", "nud", "permanent")
        order(one, f"ping -c 3 -W 30 {LEFT} >/dev/null")
        # As long as goes without fragments: net_af_packet has its socket put them together, which then do not fit.
        order(one, f"ping -c 3 -W 30 -s {mtu - 28} {LEFT} >/dev/null")
        ping(nets.left, RIGHT)
        ping(nets.left, RIGHT, mtu - 28)
        transfer(one, nets, block)
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
