# SPDX-License-Identifier: BSD-3-Clause
"""Linux's mlx5_core on functions of softrnicd: what scripts in the guest share, and what is asked of their ends."""

import re

from guest.machine import BOOT, devices, guest, slot

PROGRAMS = ("/usr/sbin/ethtool", "/bin/ip", "/bin/bash")

# Functions of the script's shell. Modules are loaded by the script, so that what was said before does not count.
PRELUDE = f"""
SLOT0={slot(0)}
SLOT1={slot(1)}
load() {{
	dmesg -c >/dev/null
	for module in $(cat /extra.order); do
		insmod $module || exit 20
	done
}}
until_there() {{ # COMMAND...: true within 100 s, of which an idle machine needs two
	for tick in $(seq 1000); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "not within 100 s: $*"
	exit 21
}}
netdev() {{ # SLOT: its interface
	ls /sys/bus/pci/devices/$1/net 2>/dev/null
}}
carrier_is() {{ # IF 0|1
	[ "$(cat /sys/class/net/$1/carrier)" = $2 ]
}}
up() {{ # IF...: both ends of a cable have to be
	for eth in "$@"; do
		/bin/ip link set $eth up
	done
	for eth in "$@"; do
		until_there carrier_is $eth 1
	done
}}
apart() {{ # IF IF: the second one goes to the namespace `peer`; each has an address there, and reaches the other
	/bin/ip netns add peer
	/bin/ip link set $2 netns peer
	/bin/ip netns exec peer /bin/ip address add 10.1.0.2/24 dev $2
	/bin/ip netns exec peer /bin/ip link set $2 up
	/bin/ip address add 10.1.0.1/24 dev $1
	until_there ping -c 1 -W 1 10.1.0.2
}}
now() {{ # in centiseconds
	cut -d' ' -f1 /proc/uptime | tr -d .
}}
# All that Linux says at level warning and above, since load, but for what a slow machine does to its clocks.
complaints() {{
	dmesg -r | grep '^<[0-4]>' | grep -vE '(hrtimer|perf): interrupt took|clocksource:|tsc: |workqueue: .* hogged CPU' | sed 's/^/complaint: /'
}}
"""


def run_on(kernel, script, *options, timeout=BOOT, **kwargs):
    """The result of the script in a guest with such devices, and what softrnicd has said, to its end."""
    kwargs.setdefault("extra_modules", ["mlx5_core"])
    with devices(*options) as daemon:
        result = guest(kernel, daemon.sockets, PROGRAMS, **kwargs).run(PRELUDE + script, timeout)
        daemon.stop()
        return result, daemon.text()


def complaints(console):
    """Lines of level warning and above, without their times."""
    return [re.sub(r"^<\d+>\[ *[\d.]+\] *", "", line.partition("complaint: ")[2])
            for line in console.splitlines() if "complaint: " in line]


def values(console, word):
    """What follows the word at the begin of lines."""
    return [line[len(word) + 1:] for line in console.splitlines() if line.startswith(word + " ")]


def nothing_left(said, functions):
    """The last words about each session of softrnicd: nothing refused, no page or object is held."""
    assert "refused: status" not in said, said
    totals = [line for line in said.splitlines() if re.search(r": commands=\d+", line)]
    assert len(totals) == functions, said
    assert "pages_held=" not in said and "objects=" not in said, said
