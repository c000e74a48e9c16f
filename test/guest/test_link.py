# SPDX-License-Identifier: BSD-3-Clause
"""What a device tells mlx5_core by itself: its link, and that it is dead; and a virtual function's driver, the same."""

import pytest

from guest.linux import complaints, nothing_left, run_on, values
from guest.machine import KERNELS, KERNELS_HERE

LINK = """
load
until_there netdev $SLOT1
a=$(netdev $SLOT0) b=$(netdev $SLOT1)
up $a $b
counts() {
	cat /sys/class/net/$a/carrier_up_count /sys/class/net/$a/carrier_down_count
}
echo "before" $(counts)
for round in 1 2 3; do
	/bin/ip link set $b down
	until_there carrier_is $a 0
	/bin/ip link set $b up
	until_there carrier_is $a 1
done
echo $SLOT1 >/sys/bus/pci/drivers/mlx5_core/unbind
until_there carrier_is $a 0
echo $SLOT1 >/sys/bus/pci/drivers/mlx5_core/bind
until_there netdev $SLOT1
up $a $(netdev $SLOT1)
echo "after" $(counts)
rmmod mlx5_core || exit 1
complaints
"""

DEAD = """
load
until_there netdev $SLOT0
up $(netdev $SLOT0)
compromised() {
	dmesg | grep -q 'health compromised'
}
! compromised || exit 1
until_there compromised
dmesg | grep -o "device's health compromised.*" | sed 's/^/said /'
[ -d /sys/bus/pci/devices/$SLOT0/driver ] || exit 1
"""

IDENTITY = """
load
until_there netdev $SLOT1
a=$(netdev $SLOT0) b=$(netdev $SLOT1)
up $a $b
for eth in $a $b; do
	echo "identity $(cat /sys/class/net/$eth/device/device) $(cat /sys/class/net/$eth/address)"
done
apart $a $b
rmmod mlx5_core || exit 1
complaints
"""
MACS = ("02:00:00:00:01:01", "02:00:00:00:01:02")


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_the_link_reaches_the_interface(kernel):
    result, said = run_on(kernel, LINK, "wire=pair:cable", "wire=pair:cable", timeout=200)
    assert result.status == 0 and complaints(result.console) == []
    # Up and down: three times by the peer's interface, once by the peer's driver.
    before, after = (list(map(int, values(result.console, word)[0].split())) for word in ("before", "after"))
    assert [late - early for early, late in zip(before, after)] == [4, 4]
    nothing_left(said, 2)


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_a_dead_health_counter_is_noticed(kernel):
    result, _ = run_on(kernel, DEAD, "wire=loop,health=3000")
    assert result.status == 0
    assert values(result.console, "said") == ["device's health compromised - reached miss count"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_virtual_function_has_the_same_driver(kernel):
    result, said = run_on(kernel, IDENTITY, f"wire=pair:cable,id=15b3:1018,mac={MACS[0]}",
                          f"wire=pair:cable,mac={MACS[1]}", timeout=200)
    assert result.status == 0 and complaints(result.console) == []
    assert values(result.console, "identity") == [f"0x1018 {MACS[0]}", f"0x1017 {MACS[1]}"]
    nothing_left(said, 2)
