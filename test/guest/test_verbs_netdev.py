# SPDX-License-Identifier: BSD-3-Clause
"""Stock mlx5_ib and the network interface beside it: its link, its name, its address, and interfaces that stand upon it."""

import pytest

from guest.linux import values
from guest.machine import KERNELS_HERE
from guest.pingpongs import ARGUMENTS, PORT, check
from guest.verbs import APART, PAIR, TOGETHER, run_on, went_well

EXTRA = ("8021q", "macvlan")
OTHER_MAC, MACVLAN_MACS = "02:00:00:00:01:11", ("02:00:00:00:01:21", "02:00:00:00:01:22")
# Of the interface itself, whatever addresses it has.
OTHER_OWN = "fe80:0000:0000:0000:0000:00ff:fe00:0111"
# Third digit of addresses: 10.N.0.1 and 10.N.0.2 on a VLAN, on a macvlan.
VLAN, MACVLAN = 2, 3

FOLLOW = f"""
load_verbs
up $eth0 $eth1
until_there state_is $ib0 ACTIVE
beside() {{ # GID: the interfaces that Linux names beside it
	for index in $(gid_index $ib0 $1); do
		cat /sys/class/infiniband/$ib0/ports/1/gid_attrs/ndevs/$index
	done
}}
watch_begin() {{
	ibv_asyncwatch -d $ib0 >/tmp/watch 2>&1 &
	watch=$!
	until_there grep -q "async event FD" /tmp/watch
}}
watch_end() {{
	kill $watch
	wait $watch
}}

# Interfaces upon it come and go.
/bin/ip link add link $eth0 name vlan7 type vlan id 7
/bin/ip link add link $eth0 name mac0 address {MACVLAN_MACS[0]} type macvlan mode bridge
number={VLAN}
for eth in vlan7 mac0; do
	/bin/ip link set $eth up
	/bin/ip address add 10.$number.0.1/24 dev $eth
	until_there has_gid $ib0 ffff:0a0$number:0001
	beside ffff:0a0$number:0001 | each upon
	/bin/ip link delete $eth
	until_there has_no_gid $ib0 ffff:0a0$number:0001
	number=$(($number + 1))
done

# Its own address changes, and back.
own=$(cat /sys/class/net/$eth0/address)
/bin/ip link set $eth0 address {OTHER_MAC}
until_there has_gid $ib0 {OTHER_OWN}
/bin/ip link set $eth0 address $own
until_there has_no_gid $ib0 {OTHER_OWN}

# Programs are told of its link.
watch_begin
/bin/ip link set $eth0 down
until_there grep -q IBV_EVENT_PORT_ERR /tmp/watch
until_there state_is $ib0 DOWN
/bin/ip link set $eth0 name other0
/bin/ip link set other0 up
until_there grep -q IBV_EVENT_PORT_ACTIVE /tmp/watch
until_there state_is $ib0 ACTIVE
rdma link show $ib0/1 | each named
watch_end

# So they are when it is the other end's that goes.
watch_begin
/bin/ip link set $eth1 down
until_there grep -q IBV_EVENT_PORT_ERR /tmp/watch
/bin/ip link set $eth1 up
until_there grep -q IBV_EVENT_PORT_ACTIVE /tmp/watch
watch_end
unload_verbs
"""
RESETS = 10
RESET = f"""
load_verbs
up $eth0 $eth1
for round in $(seq {RESETS}); do
	echo $SLOT0 >/sys/bus/pci/drivers/mlx5_core/unbind
	echo 1 >/sys/bus/pci/devices/$SLOT0/reset || exit 1
	echo $SLOT0 >/sys/bus/pci/drivers/mlx5_core/bind
	until_there netdev $SLOT0
	until_there rdma_there $SLOT0
	up $(netdev $SLOT0)
	until_there state_is $(rdma_device $SLOT0) ACTIVE
	echo "round $round"
done
unload_verbs
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_the_device_follows_its_interface(kernel):
    result, said = run_on(kernel, FOLLOW, *PAIR, verbs=["ibv_asyncwatch"], extra=EXTRA)
    went_well(result, said)
    assert values(result.console, "upon") == ["vlan7", "mac0"]
    assert values(result.console, "named") == ["link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev other0 "]


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_it_comes_back_from_resets(kernel):
    """By sysfs, between two drivers."""
    result, said = run_on(kernel, RESET, *PAIR)
    went_well(result, said)
    assert values(result.console, "round") == [str(n) for n in range(1, RESETS + 1)]


UPON = f"""
upon() {{ # NUMBER END WHERE INTERFACE: has that address, and is up
	$3 /bin/ip address add 10.$1.0.$2/24 dev $4
	$3 /bin/ip link set $4 up
}}
/bin/ip link add link $eth0 name vlan7 type vlan id 7
$peer /bin/ip link add link $eth1 name vlan7 type vlan id 7
/bin/ip link add link $eth0 name mac0 address {MACVLAN_MACS[0]} type macvlan mode bridge
$peer /bin/ip link add link $eth1 name mac0 address {MACVLAN_MACS[1]} type macvlan mode bridge
upon {VLAN} 1 "" vlan7
upon {VLAN} 2 "$peer" vlan7
upon {MACVLAN} 1 "" mac0
upon {MACVLAN} 2 "$peer" mac0
"""
# $left and $right are GIDs of both ends by then.
RUN = """
indexes ffff:0a0{number}:0001 ffff:0a0{number}:0002
until_there ping -c 1 -W 1 10.{number}.0.2
both {name} "by_tcp {port:04X}" "ibv_{kind}_pingpong -n 100 {arguments} -d $ib0 -g $left" \
	"ibv_{kind}_pingpong -n 100 {arguments} -d $ib1 -g $right 10.1.0.1"
"""
CHANGE = f"""
/bin/ip link set $eth0 address {OTHER_MAC}
"""
RUNS = {"vlan_rc": ("rc", VLAN), "vlan_ud": ("ud", VLAN), "mac_rc": ("rc", MACVLAN), "mac_ud": ("ud", MACVLAN)}
CHANGED = {"changed_rc": ("rc", 1), "changed_ud": ("ud", 1), "changed_vlan": ("rc", VLAN)}


def runs(rows):
    return "".join(RUN.format(name=name, kind=kind, number=number, port=PORT, arguments=ARGUMENTS[kind])
                   for name, (kind, number) in rows.items())


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_pingpongs_upon_it(kernel):
    """From a VLAN, from a macvlan, and when the interface has got another address."""
    script = APART + UPON + runs(RUNS) + CHANGE + runs(CHANGED) + TOGETHER
    result, said = run_on(kernel, script, *PAIR, verbs=["ibv_rc_pingpong", "ibv_ud_pingpong"], extra=EXTRA, timeout=900)
    for name, (kind, _) in (RUNS | CHANGED).items():
        check(result.console, name, kind, 100)
    went_well(result, said)
