# SPDX-License-Identifier: BSD-3-Clause
"""
Stock mlx5_ib and libmlx5: a device that comes up, says what it can do and who it is, and goes; and rdma-core's pingpongs from one
function to the other.
"""

import ipaddress
import os
import re

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE, slot
from guest.pingpongs import ARGUMENTS, check, run_pingpongs, script as pingpong
from guest.test_network import FEATURES
from guest.verbs import APART, GIDS, MACS, PAIR, TOGETHER, run_on, went_well

FOREIGN = os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "design", "foreign_drivers.md")
# What `ibv_devinfo -v` says of a function, with @NAMES@ for what it has of its own.
DEVINFO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs_devinfo.txt")
# With BlueFlame, which Linux tries out with queues of its own when it starts; and without.
KINDS = {"15b3:1017,bf=1": 4119, "15b3:1018": 4120}
# Of one log_max_qp_sz: they count differently.
MAX_QP_WR = {"6.1": 32768, "6.1-cloud": 32768, "6.12": 8192}
RELOADS = 10

UP = f"""
load_verbs
state_is $ib0 DOWN || exit 1
up $eth0 $eth1
for ib in $ib0 $ib1; do
	until_there state_is $ib ACTIVE
	until_there has_gid $ib fe80
done
rdma link | each link
rdma dev | each dev
rdma statistic show | each statistic
ethtool -k $eth0 | sed 's/^[[:space:]]*//' | each feature
ibv_devinfo -v | each devinfo
for ib in $ib0 $ib1; do
	gids $ib | each gid $ib
	for name in state phys_state rate link_layer pkeys/0; do
		echo "port $ib $name $(cat /sys/class/infiniband/$ib/ports/1/$name)"
	done
	# Whatever they count: each can be read.
	cat /sys/class/infiniband/$ib/ports/1/counters/* /sys/class/infiniband/$ib/ports/1/hw_counters/* >/dev/null || exit 1
done

# Addresses come and go, and with them GIDs.
/bin/ip address add 10.1.0.1/24 dev $eth0
/bin/ip address add fd00::1/64 dev $eth0 nodad
until_there has_gid $ib0 ffff:0a01:0001
until_there has_gid $ib0 fd00:
gids $ib0 | each with
/bin/ip address delete 10.1.0.1/24 dev $eth0
/bin/ip address delete fd00::1/64 dev $eth0
until_there has_no_gid $ib0 ffff:0a01:0001
until_there has_no_gid $ib0 fd00:
gids $ib0 | each without
/bin/ip link set $eth0 down
until_there state_is $ib0 DOWN
/bin/ip link set $eth0 up
until_there state_is $ib0 ACTIVE

for round in $(seq {RELOADS}); do
	rmmod mlx5_ib || exit 1
	[ -z "$(ls /sys/class/infiniband)" ] || exit 1
	insmod /lib.modules/mlx5_ib.ko || exit 1
	until_there rdma_there $SLOT0
	until_there rdma_there $SLOT1
	until_there state_is $(rdma_device $SLOT0) ACTIVE
	ibv_devinfo >/dev/null || exit 1
	echo "round $round"
done
unload_verbs
"""


def guid(mac):
    digits = mac.replace(":", "")
    return f"{digits[:4]}:{digits[4:6]}ff:fe{digits[6:8]}:{digits[8:]}"


def link_local(mac):
    """The address of an interface that has got no other one."""
    return ipaddress.ip_address(f"fe80::{int(mac[:2], 16) ^ 2:02x}{guid(mac)[2:]}")


def devinfo(kernel, number, kind):
    with open(DEVINFO, encoding="utf-8") as file:
        text = file.read()
    own = {"NAME": f"mlx5_{number}", "PART": KINDS[kind], "GUID": guid(MACS[number]), "GID": link_local(MACS[number]),
           "MAX_QP_WR": MAX_QP_WR[kernel]}
    for name, value in own.items():
        text = text.replace(f"@{name}@", str(value))
    return text.splitlines()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_the_device_comes_up_and_goes(kernel, kind):
    result, said = run_on(kernel, UP, *(f"wire=pair:cable,id={kind},mac={mac}" for mac in MACS), verbs=["ibv_devinfo"],
                          programs=["/usr/sbin/ethtool"])
    console = result.console
    went_well(result, said)
    assert values(console, "link") == [f"link mlx5_{n}/1 state ACTIVE physical_state LINK_UP netdev eth{n} " for n in (0, 1)]
    assert [line.split()[1:4] for line in values(console, "dev")] == [[f"mlx5_{n}:", "node_type", "ca"] for n in (0, 1)]
    # Nothing has gone wrong, and nobody has asked for anything.
    statistics = values(console, "statistic")
    assert len(statistics) == 2
    for number, line in enumerate(statistics):
        assert line.startswith(f"link mlx5_{number}/1 ")
        counted = dict(zip(line.split()[2::2], line.split()[3::2]))
        assert {"rx_write_requests", "out_of_sequence", "packet_seq_err", "resp_cqe_error"} <= set(counted), line
        assert set(counted.values()) <= {"0", "10"}, line
    assert {f"{feature}: on" for feature in FEATURES} <= set(values(console, "feature"))
    # An empty line behind each.
    assert values(console, "devinfo") == [*devinfo(kernel, 0, kind), "", *devinfo(kernel, 1, kind), ""]
    own = [f"{link_local(mac).exploded} RoCE v2" for mac in MACS]
    assert values(console, "gid") == [f"mlx5_{n} {gid}" for n, gid in enumerate(own)]
    assert sorted(values(console, "with")) == sorted([own[0], "0000:0000:0000:0000:0000:ffff:0a01:0001 RoCE v2",
                                                      "fd00:0000:0000:0000:0000:0000:0000:0001 RoCE v2"])
    assert values(console, "without") == own[:1]
    for name, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "100 Gb/sec (4X EDR)"),
                       ("link_layer", "Ethernet"), ("pkeys/0", "0xffff")):
        said_of_it = [line for line in values(console, "port") if line.split()[1] == name]
        assert said_of_it == [f"mlx5_{n} {name} {text}" for n in (0, 1)]
    assert values(console, "round") == [str(n) for n in range(1, RELOADS + 1)]


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_pingpongs(kernel):
    run_pingpongs(kernel, ARGUMENTS, GIDS, 100, timeout=1200)


# For `both`: the client is here, too.
OWN = """
peer= ib1=$ib0 right4=$left4 right6=$left6
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_two_programs_on_one_function(kernel):
    """By its own address: nothing goes out. Over IPv4, and IPv6 with completions of 128 bytes."""
    names = {family: {f"{kind}{family}": kind for kind in ARGUMENTS} for family in GIDS}
    runs = {family: "".join(pingpong(name, kind, family, 100) for name, kind in names[family].items()) for family in GIDS}
    script = APART + OWN + runs[4] + "export MLX5_CQE_SIZE=128\n" + runs[6] + TOGETHER
    result, said = run_on(kernel, script, *PAIR, verbs=[f"ibv_{kind}_pingpong" for kind in ARGUMENTS], timeout=1200)
    for name, kind in (names[4] | names[6]).items():
        check(result.console, name, kind, 100)
    went_well(result, said)


# What a program's memory takes and gives back: Linux makes twice as many keys as it wants to have left, of each size.
FILLED = """
mount -t debugfs none /sys/kernel/debug || exit 1
keys() { # SLOT FILE
	cat /sys/kernel/debug/mlx5/$1/mr_cache/*/$2
}
filled() { # SLOT
	for entry in /sys/kernel/debug/mlx5/$1/mr_cache/*; do
		[ "$(cat $entry/cur)" -ge $((2 * $(cat $entry/limit))) ] || return 1
	done
}
for slot in $SLOT0 $SLOT1; do
	until_there filled $slot
	keys $slot cur | each keys $slot
done
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_keys_that_a_pf_has_ahead(kernel):
    """Of a VF Linux makes none. They are all given back."""
    functions = [f"wire=pair:cable,id=15b3:1017,mac={mac}" for mac in MACS]
    script = APART + FILLED + pingpong("rc4", "rc", 4, 100) + TOGETHER
    result, said = run_on(kernel, script, *functions, verbs=["ibv_rc_pingpong"], timeout=1200)
    for number in (0, 1):
        assert sum(int(count) for count in values(result.console, f"keys {slot(number)}")) > 4000, result.console[-4000:]
    check(result.console, "rc4", "rc", 100)
    went_well(result, said)


def refused():
    """[(program with its options, what it says)] of the document's table."""
    with open(FOREIGN, encoding="utf-8") as file:
        return re.findall(r"^\| `(ib\w+ [^`]+)` \| `([^`]+)` \|", file.read(), re.MULTILINE)


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_what_the_device_denies_is_refused(kernel):
    """By the programs, in the words that the document has. Time in completions, which it has, is told."""
    asked = refused()
    assert asked
    script = APART + "".join(f"timeout 20 {command} -d $ib0 >/tmp/said 2>&1\n"
                             f"echo \"ended {number} $?\"\neach said {number} </tmp/said\n"
                             for number, (command, _) in enumerate(asked))
    script += pingpong("times", "rc", 4, "100 -t") + TOGETHER
    programs = {command.split()[0] for command, _ in asked} | {"ibv_rc_pingpong"}
    result, said = run_on(kernel, script, *PAIR, verbs=sorted(programs), timeout=1200)
    for number, (command, words) in enumerate(asked):
        lines = [line.strip() for line in values(result.console, f"said {number}")]
        assert words in lines and values(result.console, f"ended {number}") not in (["0"], ["124"]), (command, lines)
    for side in ("server", "client"):
        cycles = [float(line.rpartition(" = ")[2]) for line in values(result.console, f"times {side}") if "clock cycles" in line]
        most, least, average = cycles
        assert 0 < least <= average <= most, cycles
    went_well(result, said)
