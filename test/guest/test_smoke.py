# SPDX-License-Identifier: BSD-3-Clause
"""Stock mlx5_core: an interface that comes up, says who it is, sends to itself and to its peer, and goes."""

import pytest

from guest.linux import complaints, nothing_left, run_on, values
from guest.machine import KERNELS

SCRIPT = """
load
until_there netdev $SLOT0
until_there netdev $SLOT1
a=$(netdev $SLOT0) b=$(netdev $SLOT1)
for eth in $a $b; do
	echo "fresh $(cat /sys/class/net/$eth/address) $(cat /sys/class/net/$eth/mtu) $(cat /sys/class/net/$eth/operstate)"
	/bin/ip -d link show $eth | grep -o 'maxmtu [0-9]*'
	ethtool -i $eth
done
up $a $b
echo "speed $(cat /sys/class/net/$a/speed)"
apart $a $b
ping -c 3 10.1.0.2 | grep 'packets received'
ethtool -t $a
rmmod mlx5_core || exit 1
complaints
"""
MACS = ("02:00:00:00:01:01", "02:00:00:00:01:02")


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_driver_loads_and_goes(kernel):
    result, said = run_on(kernel, SCRIPT, *(f"wire=pair:cable,mac={mac}" for mac in MACS), cpus=2)
    console = result.console
    assert result.status == 0 and complaints(console) == []
    assert values(console, "fresh") == [f"{mac} 1500 down" for mac in MACS]
    # 10000 bytes on the wire, without the addresses and type, the check sequence, and a tag.
    assert values(console, "maxmtu") == ["9978", "9978"]
    assert values(console, "driver:") == ["mlx5_core"] * 2
    assert values(console, "bus-info:") == ["0000:00:10.0", "0000:00:11.0"]
    assert values(console, "firmware-version:") == ["14.12.0001 (SOFTRNIC00000001)"] * 2
    assert values(console, "speed") == ["100000"]
    assert "3 packets transmitted, 3 packets received" in console
    assert "The test result is PASS" in console and "Loopback Test\t 0" in console
    # Of a page that does not come back the driver warns, after 5 s.
    nothing_left(said, 2)
