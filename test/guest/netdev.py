# SPDX-License-Identifier: BSD-3-Clause
"""Linux's netdev in a guest, up and with an address, that does what the host asks for."""

import random

from e2e.networks import LEFT, RIGHT
from guest.machine import slot
from guest.traffic import Helper
from size import FULL

# Seconds for one order: the guest is emulated.
ORDER = 600
# What goes each way by TCP: a file, so many times.
PORT = 7
BLOCK = 1 << 20
COUNT = 64 if FULL else 4

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


def script(mtu, counted=""):
    """For the guest's first device, whose counters it says at the end; counted: what it does then."""
    return f"""
set -e
{UP}
come_up {slot(0)} {mtu}
/bin/ip address add {RIGHT}/24 dev $eth
ethtool -k $eth | grep -v fixed | sed 's/^[[:space:]]*/feature /'
tell address $(cat /sys/class/net/$eth/address)
{ORDERS}
ethtool -S $eth
{counted}
{QUIET}
"""


def order(one, what):
    """A line of shell in the guest; what it leaves in $result."""
    one.tell(what)
    return one.expect("done", ORDER)


def random_block(folder):
    """A file for the host and, as /data/block, for the guest."""
    path = folder / "block"
    path.write_bytes(random.Random(1).randbytes(BLOCK))
    return path


def transfer(one, nets, block):
    """TCP both ways; digests at both ends are one."""
    with Helper(nets.left, "take", PORT) as taker:
        said = order(one, f"result=$(for i in $(seq {COUNT}); do cat /data/block; done | nc {LEFT} {PORT})")
        assert said == ""
        taken = taker.end().strip()
    with Helper(nets.left, "give", RIGHT, PORT, block, COUNT) as giver:
        got = order(one, f"result=$(nc -l -p {PORT} </dev/null | sha256sum)")
        assert got.split()[0] == giver.end().strip() == taken
