# SPDX-License-Identifier: BSD-3-Clause
"""Linux's mlx5_ib and libmlx5 on functions of softrnicd: what their tests share."""

from guest import linux
from guest.machine import devices, guest

MODULES = ("mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_ucm", "ib_umad")
MACS = ("02:00:00:00:01:01", "02:00:00:00:01:02")
# Two functions, and a cable between them.
PAIR = tuple(f"wire=pair:cable,id=15b3:1018,mac={mac}" for mac in MACS)
# Seconds for a program of the guest, of which an idle machine needs two.
LIMIT = 100
ADDRESSES = {4: ("10.1.0.1", "10.1.0.2"), 6: ("fd00::1", "fd00::2")}
GIDS = {4: "0000:0000:0000:0000:0000:ffff:0a01:000{}", 6: "fd00:0000:0000:0000:0000:0000:0000:000{}"}

# Functions of the script's shell, beside those of guest.linux.
PRELUDE = f"""{linux.PRELUDE}
rdma_device() {{ # SLOT: its name
	ls /sys/bus/pci/devices/$1/infiniband 2>/dev/null
}}
rdma_there() {{ # also its port is there: the name comes first
	cat "/sys/class/infiniband/$(rdma_device $1)/ports/1/state"
}}
load_verbs() {{ # $eth0 $ib0 $eth1 $ib1: names of the functions' interfaces and RDMA devices
	load
	for slot in $SLOT0 $SLOT1; do
		until_there netdev $slot
		until_there rdma_there $slot
	done
	eth0=$(netdev $SLOT0) ib0=$(rdma_device $SLOT0)
	eth1=$(netdev $SLOT1) ib1=$(rdma_device $SLOT1)
}}
state_is() {{ # DEVICE STATE
	grep -q ": $2" /sys/class/infiniband/$1/ports/1/state
}}
# All that was loaded, and what Linux has said: not only what is a complaint.
unload_verbs() {{
	last_first=
	for module in $(cat /extra.order); do
		last_first="$(basename $module .ko) $last_first"
	done
	for module in $last_first; do
		rmmod $module || exit 22
	done
	complaints
	dmesg | grep -E 'infiniband|mlx5_ib|ib_core|uverbs|rdma' | sed 's/^/word: /'
}}
gids() {{ # DEVICE: digits and type of each
	for path in /sys/class/infiniband/$1/ports/1/gids/*; do
		gid=$(cat $path)
		[ "$gid" = 0000:0000:0000:0000:0000:0000:0000:0000 ] ||
			echo "$gid $(cat /sys/class/infiniband/$1/ports/1/gid_attrs/types/${{path##*/}})"
	done
}}
gid_index() {{ # DEVICE GID
	grep -l $2 /sys/class/infiniband/$1/ports/1/gids/* | sed 's/.*[/]//'
}}
has_gid() {{ # DEVICE GID
	[ -n "$(gid_index $1 $2)" ]
}}
has_no_gid() {{
	! has_gid $1 $2
}}
each() {{ # WORD...: each line of the input behind them
	sed "s/^/$* /"
}}
"""

# The second function in the namespace `peer`, and programs at both ends: servers here, clients there.
APART = f"""
load_verbs
up $eth0 $eth1
until_there state_is $ib0 ACTIVE
until_there state_is $ib1 ACTIVE
rdma system set netns exclusive
apart $eth0 $eth1
rdma dev set $ib1 netns peer || exit 1
peer="/bin/ip netns exec peer"
/bin/ip address add {ADDRESSES[6][0]}/64 dev $eth0 nodad
$peer /bin/ip address add {ADDRESSES[6][1]}/64 dev $eth1 nodad
[ "$(ls /sys/class/infiniband)" = $ib0 ] && [ "$($peer ls /sys/class/infiniband)" = $ib1 ] || exit 1

# In the namespace, too.
cat >/bin/gid_index <<'END'
#!/bin/sh
grep -l $2 /sys/class/infiniband/$1/ports/1/gids/* | sed 's/.*[/]//'
END
chmod 755 /bin/gid_index
there() {{ # whose output is not empty
	[ -n "$("$@")" ]
}}
indexes() {{ # SERVER'S-GID CLIENT'S-GID: $left and $right
	until_there there /bin/gid_index $ib0 $1
	until_there there $peer /bin/gid_index $ib1 $2
	left=$(/bin/gid_index $ib0 $1) right=$($peer /bin/gid_index $ib1 $2)
}}
indexes {GIDS[4].format(1)} {GIDS[4].format(2)}
left4=$left right4=$right
indexes {GIDS[6].format(1)} {GIDS[6].format(2)}
left6=$left right6=$right
ended() {{
	! kill -0 $server
}}
by_tcp() {{ # PORT in hexadecimal digits: the server listens, or has ended already
	grep -q ":$1 .* 0A " /proc/net/tcp /proc/net/tcp6 || ended
}}
endless= # not empty: the server does not end by itself
both() {{ # NAME LISTENS SERVER CLIENT: each but the first a command. What the ends say, and how they end
	timeout {LIMIT} $3 >/tmp/server 2>&1 &
	server=$!
	until_there $2
	timeout {LIMIT} $peer $4 >/tmp/client 2>&1
	status=$?
	echo "$1 client status $status"
	# It may wait for a client that has gone, or for the next one.
	[ $status = 0 ] && [ -z "$endless" ] || kill $server
	wait $server
	echo "$1 server status $?"
	each $1 client </tmp/client
	each $1 server </tmp/server
}}
"""
# It comes back with the end of its namespace.
TOGETHER = """
/bin/ip netns delete peer
until_there rdma_there $SLOT1
unload_verbs
"""


def run_on(kernel, script, *options, verbs=(), extra=(), timeout=600, **kwargs):
    """As guest.linux' run_on(), with mlx5_ib, extra modules, and programs of RDMA's user space."""
    with devices(*options) as daemon:
        modules = (*MODULES, *extra)
        one = guest(kernel, daemon.sockets, verbs=["ip", "rdma", *verbs], extra_modules=modules, cpus=2, **kwargs)
        result = one.run(PRELUDE + script, timeout)
        daemon.stop()
        return result, daemon.text()


def went_well(result, said, words=()):
    """The script has ended well, Linux had no other words to say about RDMA, and the device has nothing left."""
    console = result.console
    assert result.status == 0 and linux.complaints(console) == [], console[-4000:]
    assert [word.partition("] ")[2] for word in linux.values(console, "word:")] == list(words)
    linux.nothing_left(said, 2)
