# SPDX-License-Identifier: BSD-3-Clause
"""Linux's netdev in a guest, up and with an address, that does what the host asks for."""

from e2e.networks import RIGHT
from guest.machine import slot

# Seconds for one order: the guest is emulated.
ORDER = 600

# Shell: an interface says nothing by itself, is up and has found its link.
UP = """
dmesg -n 1
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
come_up()
{
	eth=$(ls /sys/bus/pci/devices/$1/net)
	echo 1 >/proc/sys/net/ipv6/conf/$eth/disable_ipv6
	/bin/ip link set $eth mtu $2 up
	for i in $(seq 300); do
		[ "$(cat /sys/class/net/$eth/carrier)" != 1 ] || return 0
		sleep 0.1
	done
	echo "$eth has no carrier"
	return 1
}
"""
# ... what the host asks for, a line each, until it asks for the end.
ORDERS = """
while order=$(await) && [ "$order" != end ]; do
	eval "$order"
	tell done $result
done
"""
# ... and nothing was wrong.
QUIET = """
if dmesg | grep -iE 'WARNING:|BUG:|time.?out|compromised|syndrome|mlx5.*(error|fail)'; then
	exit 1
fi
exit 0
"""


def script(mtu):
    """For the guest's first device, whose counters it says at the end."""
    return f"""
set -e
{UP}
come_up {slot(0)} {mtu}
/bin/ip address add {RIGHT}/24 dev $eth
ethtool -k $eth | grep -v fixed | sed 's/^[[:space:]]*/feature /'
tell address $(cat /sys/class/net/$eth/address)
{ORDERS}
ethtool -S $eth
{QUIET}
"""


def order(one, what):
    """A line of shell in the guest; what it leaves in $result."""
    one.tell(what)
    return one.expect("done", ORDER)
