# SPDX-License-Identifier: BSD-3-Clause
"""Linux's mlx5_ib and libmlx5 on functions of softrnicd: what their tests share."""

from guest import linux
from guest.machine import devices, guest

MODULES = ("mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_ucm", "ib_umad")
MACS = ("02:00:00:00:01:01", "02:00:00:00:01:02")
# Seconds for a program of the guest, of which an idle machine needs two.
LIMIT = 100

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


def run_on(kernel, script, *options, verbs=(), timeout=600, **kwargs):
    """As guest.linux' run_on(), with mlx5_ib and programs of RDMA's user space."""
    with devices(*options) as daemon:
        one = guest(kernel, daemon.sockets, verbs=["ip", "rdma", *verbs], extra_modules=MODULES, cpus=2, **kwargs)
        result = one.run(PRELUDE + script, timeout)
        daemon.stop()
        return result, daemon.text()


def went_well(result, said):
    """The script has ended well, Linux had nothing to say about RDMA, and the device has nothing left."""
    console = result.console
    assert result.status == 0 and linux.complaints(console) == [], console[-4000:]
    assert linux.values(console, "word:") == []
    linux.nothing_left(said, 2)
