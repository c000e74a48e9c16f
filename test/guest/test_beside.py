# SPDX-License-Identifier: BSD-3-Clause
"""
Debian's testpmd has net_mlx5 linked in, for the functions of the same devices that Linux drives. With our driver beside
it, ours gets the one that is on vfio-pci, and never the other one: that stays a working netdev.
"""

import re

from e2e.networks import LEFT, RIGHT
from guest.functions import LIBRARIES, PLUGIN, machine
from guest.machine import devices, slot
from guest.netdev import QUIET, UP

OURS, MLX5 = "net_rnic", "mlx5_pci"
VFIO, LINUX = slot(0), slot(1)
CABLE = ("wire=pair:cable,mac=02:00:00:00:00:0a", "wire=pair:cable,mac=02:00:00:00:00:0b")

SCRIPT = f"""
set -e
{UP}
{LIBRARIES}
# Linux has both, until one is asked for.
echo {VFIO} >/sys/bus/pci/drivers/mlx5_core/unbind
echo vfio-pci >/sys/bus/pci/devices/{VFIO}/driver_override
echo {VFIO} >/sys/bus/pci/drivers_probe
eth=$(ls /sys/bus/pci/devices/{LINUX}/net)
/bin/ip address add {RIGHT}/24 dev $eth
said()
{{
	for i in $(seq 600); do
		! grep -q "$1" /tmp/log || return 0
		[ -d /proc/$pid ] || break
		sleep 0.1
	done
	echo "not said: $1"
	cat /tmp/log
	return 1
}}
# What it is about, and EAL's options.
testpmd()
{{
	echo "part $1"
	shift
	dpdk-testpmd -l 0,1 --no-telemetry --log-level=lib.eal:debug --log-level=bus.pci:debug \\
		--log-level=pmd.net.rnic.driver:debug "$@" \\
		-- --auto-start --forward-mode=icmpecho --stats-period=1 --total-num-mbufs=4096 >/tmp/log 2>&1 &
	pid=$!
}}
# Of the testpmd that runs.
ended()
{{
	kill -INT $pid
	wait $pid || true
	cat /tmp/log
}}
answers()
{{
	said "RX-packets:"
	come_up {LINUX} 1500
	ping -c 3 -W 30 {LEFT} | grep received
	# Its port's address, not that of a netdev.
	grep "{LEFT} .*02:00:00:00:00:0a" /proc/net/arp
	ls -l /proc/$pid/fd
	ended
	/bin/ip neighbour flush dev $eth
	echo "driver $(basename $(readlink /sys/bus/pci/devices/{LINUX}/driver)) $(ls /sys/bus/pci/devices/{LINUX}/net)"
}}
testpmd alone -a {VFIO} -a {LINUX}
said "No probed ethernet devices"
ended
testpmd plugin -d {PLUGIN} -a {VFIO} -a {LINUX}
answers
testpmd all -d {PLUGIN}
answers
testpmd theirs -d {PLUGIN} -a {LINUX}
said "No probed ethernet devices"
ended
mv {PLUGIN} $pmds/
testpmd installed -a {LINUX} -a {VFIO}
answers
echo part end
{QUIET}
"""


def part(console, name):
    """What was said after `part NAME`, up to the next one."""
    return re.search(rf"^part {name}\n(.*?)(?=^part )", console, re.M | re.S)[1]


def asked(said):
    """The drivers that the bus has asked for each function, in order."""
    found = {}
    for bdf, driver in re.findall(r"EAL: PCI device (\S+) on .*\nEAL:\s+probe driver: 15b3:\w+ (\w+)", said):
        found.setdefault(bdf, []).append(driver)
    return found


def check_answered(said):
    """One port, on the function of vfio-pci's; the other one is Linux' as before."""
    assert "3 packets transmitted, 3 packets received, 0% packet loss" in said
    assert asked(said) == {VFIO: [OURS], LINUX: [OURS, MLX5]}
    assert f"net_rnic: {LINUX}: not bound to vfio-pci: left to other drivers" in said
    assert set(re.findall(r"NIC statistics for port (\d+)", said)) == {"0"}
    assert len(re.findall(r"-> /dev/vfio/\d+$", said, re.M)) == 1
    assert re.search(r"^driver mlx5_core eth\d$", said, re.M)


def test_each_of_two_drivers_has_its_function():
    with devices(*CABLE) as daemon:
        one = machine(daemon.sockets, ["dpdk-testpmd", "/bin/ip"], modules=["mlx5_core"])
        result = one.run(SCRIPT, 900)
        daemon.stop()
    console = result.console
    assert result.status == 0, console[-4000:]
    # What there would be without us: nobody for either.
    assert asked(part(console, "alone")) == {VFIO: [MLX5], LINUX: [MLX5]}
    for name in ("plugin", "all", "installed"):
        check_answered(part(console, name))
    assert asked(part(console, "theirs")) == {LINUX: [OURS, MLX5]}
