# SPDX-License-Identifier: BSD-3-Clause
"""
mlx5_core on personalities of the device (`like=`) as on the device by itself: what an administrator does to an interface,
traffic both ways, a driver that goes and comes, and the machine's end. What is otherwise on a personality stands in a table,
with the reason.

One guest of each kernel for all: a pair of functions on a cable for each personality, which have their turn one after the other.
"""

import dataclasses
import re

import pytest

from guest.linux import complaints, nothing_left, run_on, values
from guest.machine import slot

KERNELS = ("6.1", "6.12")
DEFAULT = "default"
# PCI device of each; of a pair of virtual functions the second one has no address from an administrator.
PERSONALITIES = {
    DEFAULT: "0x1017",
    "cx4lx": "0x1015",
    "cx5": "0x1017",
    "cx6dx": "0x101d",
    "cx7": "0x1021",
    "cx6dx-vf": "0x101e",
    "cx6dx-vf-trusted": "0x101e",
}
# Seconds: a boot, and a turn for each personality.
LIMIT = 1500

PHYSICAL = tuple(name for name in PERSONALITIES if name != DEFAULT and "vf" not in name)
COMPLAINT, FEATURE, ANSWER, COUNTER = "complaint", "feature", "said", "counter"
NO_CHAINS = "flow_modify_en, identified_miss_table_mode and flow_table_modify are 0, as recorded: "
# What is otherwise on a personality than on the device by itself: what Linux says at level warning and above, what `ethtool -k`
# has, what only one of them is answered when an order is given, which counter only one of them has; by which kernels.
DIFFERENCES = (
    ((DEFAULT,), KERNELS, COMPLAINT, "S-tagged traffic will be dropped while C-tag vlan stripping is enabled",
     "of each card that is promiscuous; mlx5e says it once, and this one is the first"),
    (("cx4lx",), KERNELS, COMPLAINT, "invalid device_frequency_khz, aborting HW clock init",
     "device_frequency_khz is 0, as recorded: mlx5_init_clock() makes no clock"),
    (("cx4lx",), KERNELS, COMPLAINT, "Self loop back prevention is not supported",
     "self_lb_en_modifiable is 0, as recorded: mlx5_eth_supported() says so, and takes the card"),
    (("cx4lx",), ("6.1",), COMPLAINT, "firmware level support is missing",
     "ignore_flow_level is 0, as recorded: mlx5e_tc_post_act_init() leaves out what tc could not do"),
    (("cx4lx",), KERNELS, FEATURE, "ntuple-filters: off [fixed]", NO_CHAINS + "mlx5e has no aRFS"),
    (("cx4lx",), ("6.1",), FEATURE, "hw-tc-offload: off [fixed]", NO_CHAINS + "mlx5e offers no offload of tc"),
    (("cx4lx",), KERNELS, ANSWER, "-N rmgr: Cannot insert RX class rule: Operation not supported",
     NO_CHAINS + "fs_core.c makes no tables for such rules"),
    (("cx4lx",), KERNELS, ANSWER, "-N Added rule with ID 1023", "there is none"),
    (("cx4lx",), KERNELS, ANSWER, "-N rmgr: Cannot delete RX class rule: No such file or directory", "there is none"),
    (("cx4lx",), KERNELS, ANSWER, "-N Cannot delete classification rule", "there is none"),
    (PHYSICAL, KERNELS, ANSWER, "-A netlink error: Operation not supported",
     "vport_group_manager is 1: mlx5e_ethtool_set_pauseparam() lets a PF alone change what is the port's"),
    *((PHYSICAL, KERNELS, COUNTER, counter, "pauses are on, as a PF may have them: mlx5e_query_global_pause_combined()")
      for counter in ("rx_global_pause", "rx_global_pause_duration", "rx_global_pause_transition",
                      "tx_global_pause", "tx_global_pause_duration")),
)
# A clock on the machine is slow, and not a device.
NOT_OURS = re.compile(r"reboot: |(hrtimer|perf): interrupt took|clocksource:|tsc: |workqueue: .* hogged CPU")

TURN = """
say() { # NAME WORD: each line of the input behind them
	sed "s/^/$1 $2 /"
}
driver=/sys/bus/pci/drivers/mlx5_core
peer="/bin/ip netns exec peer"
turn() { # NAME SLOT SLOT
	until_there netdev $2
	until_there netdev $3
	a=$(netdev $2) b=$(netdev $3)
	for slot in $2 $3; do
		eth=$(netdev $slot)
		echo "$1 fresh $(cat /sys/bus/pci/devices/$slot/device) $(cat /sys/class/net/$eth/address)" \\
			"$(cat /sys/class/net/$eth/mtu) $(cat /sys/class/net/$eth/operstate)"
		ethtool -i $eth | say $1 about
	done
	dmesg | grep -o "$2: E-Switch: Total vports.*" | say $1 switch
	up $a $b
	ethtool $a | say $1 settings
	ethtool -k $a | grep '^.*: o' | sed 's/^[[:space:]]*//' | say $1 feature
	apart $a $b
	pings $1 1000
	$peer ping -A -c 3 -s 1000 10.1.0.1 | grep 'packets received' | say $1 ping
	send 10.1.0.2 "$peer" "" | say $1 sent
	send 10.1.0.1 "" "$peer" | say $1 sent
	tagged $1
	administer $1
	pings $1 1000
	ethtool -t $a | say $1 test
	ethtool -S $a | sed 's/^ *//' | say $1 counter
	echo $2 >$driver/unbind
	[ -z "$(netdev $2)" ] || exit 1
	echo $2 >$driver/bind
	until_there netdev $2
	a=$(netdev $2)
	/bin/ip address add 10.1.0.1/24 dev $a
	/bin/ip link set $a up
	until_there ping -c 1 -W 1 10.1.0.2
	pings $1 1000
	/bin/ip address flush dev $a
	/bin/ip netns del peer
	until_there netdev $3
	echo "$1 done"
}
pings() { # NAME BYTES
	ping -A -c 3 -s $2 10.1.0.2 | grep 'packets received' | say $1 ping
}
send() { # ADDRESS RECEIVER SENDER: by TCP; what arrives
	# At the end of its input it would end the other direction, too.
	$2 nc -l -p 7 <&9 >/taken &
	until_there $2 sh -c 'netstat -ltn | grep -q :7'
	$3 nc $1 7 </given || echo "status $?"
	wait $!
	cmp /given /taken && echo "whole"
}
tagged() { # NAME
	/bin/ip link add link $a name a.7 type vlan id 7
	$peer /bin/ip link add link $b name b.7 type vlan id 7
	/bin/ip address add 10.1.7.1/24 dev a.7
	$peer /bin/ip address add 10.1.7.2/24 dev b.7
	/bin/ip link set a.7 up
	$peer /bin/ip link set b.7 up
	until_there ping -c 1 -W 1 10.1.7.2
	send 10.1.7.2 "$peer" "" | say $1 sent
	send 10.1.7.1 "" "$peer" | say $1 sent
	/bin/ip link del a.7
	$peer /bin/ip link del b.7
}
order() { # NAME COMMAND...: what it says; ethtool's status does not tell
	name=$1
	shift
	"$@" 2>&1 | say $name "said $2"
}
administer() { # NAME
	$peer /bin/ip link set $b mtu 9000
	order $1 /bin/ip link set $a mtu 9000
	up $a
	until_there ping -c 1 -W 1 10.1.0.2
	pings $1 8000
	for mode in promisc allmulticast; do
		order $1 /bin/ip link set $a $mode on
		# Linux does it later, in a thread of its own, and not at all once it is off again.
		sleep 2
		order $1 /bin/ip link set $a $mode off
	done
	order $1 /bin/ip maddress add 33:33:00:00:12:34 dev $a
	order $1 ethtool -L $a combined 1
	order $1 ethtool -G $a rx 512 tx 512
	order $1 ethtool -C $a rx-usecs 16
	for switch in off on; do
		order $1 ethtool -A $a rx $switch tx $switch
		order $1 ethtool -K $a rx $switch
		order $1 ethtool -K $a rxvlan $switch
		order $1 ethtool -K $a txvlan $switch
	done
	order $1 ethtool -L $a combined 2
	order $1 ethtool -X $a equal 1
	order $1 ethtool -N $a flow-type tcp4 dst-port 5201 action 0
	order $1 ethtool -N $a delete 1023
	order $1 /bin/ip link set $a address 02:00:00:00:00:77
	until_there ping -c 1 -W 1 10.1.0.2
}
mkfifo /never
exec 9<>/never
dd if=/dev/urandom of=/given bs=1M count=2 2>/dev/null
load
"""
END = """
complaints
# What comes from here on is shown as it is said.
dmesg -n 5
echo "the end"
"""


def turns():
    """One after the other; what goes wrong in one leaves the others their turn."""
    for at, name in enumerate(PERSONALITIES):
        yield f"(turn {name} {slot(2 * at)} {slot(2 * at + 1)})\n"


def devices():
    for at, name in enumerate(PERSONALITIES):
        for end in range(2):
            mac = "" if "vf" in name and end == 1 else f",mac=02:00:00:00:{at:02x}:0{end + 1}"
            yield f"name={name}-{end},like={name},wire=pair:{name}{mac}"


@dataclasses.dataclass
class Ran:
    """What a guest and softrnicd have said."""
    kernel: str
    status: int
    console: str
    said: str

    def values(self, name, word):
        return values(self.console, f"{name} {word}")

    def explained(self, name, word):
        """What may differ there, by the table."""
        return {what for names, kernels, kind, what, _ in DIFFERENCES
                if name in names and kind == word and self.kernel in kernels}

    def complaints(self, name=None):
        """Of functions of that name, without what differs from one to the other; without a name, of none of them."""
        found = set()
        for line in complaints(self.console):
            driver = re.match(r"mlx5_core 0000:00:(1.)\.0:?( eth\d+:?)? (\w+:\d+:\(pid \d+\): )?(.*)", line)
            of = driver and list(PERSONALITIES)[(int(driver[1], 16) - 0x10) // 2]
            if of == name:
                found.add(driver[4] if driver else line)
        return found

    def counters(self, name):
        return dict(line.split(": ") for line in self.values(name, COUNTER) if ": " in line)

    def refused(self, name):
        """Commands that the device has refused one of the two: those that it names, and how many there were."""
        return [line for line in self.said.splitlines() if re.match(rf"softrnicd?: {name}-[01]: ", line) and
                ("refused: status" in line or "refused as by" in line or "commands_failed=" in line)]


@pytest.fixture(name="ran", scope="module", params=KERNELS)
def fixture_ran(request):
    result, said = run_on(request.param, TURN + "".join(turns()) + END, *devices(), timeout=LIMIT, cpus=2, memory=1536,
                          extra_modules=["mlx5_core", "8021q"])
    print(f"{request.param}: {result.seconds:.0f} s")
    # Each device is offered the registers of each other one.
    said = "\n".join(line for line in said.splitlines() if "without a file descriptor" not in line and "DMA_MAP" not in line)
    return Ran(request.param, result.status, result.console, said)


@pytest.mark.parametrize("name", PERSONALITIES)
def test_an_interface_works(ran, name):
    fresh = [value.split() for value in ran.values(name, "fresh")]
    assert [(card, mtu, state) for card, _, mtu, state in fresh] == [(PERSONALITIES[name], "1500", "down")] * 2
    given = f"02:00:00:00:{list(PERSONALITIES).index(name):02x}:0"
    assert [address.startswith(given) for _, address, _, _ in fresh] == [True, "vf" not in name]
    about = ran.values(name, "about")
    assert about.count("driver: mlx5_core") == 2
    assert about.count("firmware-version: 14.12.0001 (SOFTRNIC00000001)") == 2
    assert len(ran.values(name, "ping")) == 5 and all(" 3 packets received" in line for line in ran.values(name, "ping"))
    assert ran.values(name, "sent") == ["whole"] * 4
    assert "The test result is PASS" in ran.values(name, "test")
    counters = ran.counters(name)
    for counter in ("rx_wqe_err", "tx_cqe_err", "tx_recover", "rx_crc_errors_phy"):
        assert counters[counter] == "0"
    assert f"\n{name} done\n" in ran.console


@pytest.mark.parametrize("name", PERSONALITIES)
def test_linux_complains_of_what_is_explained(ran, name):
    here = ran.complaints(DEFAULT) if name != DEFAULT else set()
    assert ran.complaints(name) - here == ran.explained(name, COMPLAINT)
    # What names no function may be of any.
    assert ran.complaints() == set()


@pytest.mark.parametrize("name", PERSONALITIES)
def test_the_device_refuses_no_command(ran, name):
    assert ran.refused(name) == []


@pytest.mark.parametrize("name", PERSONALITIES)
def test_what_an_administrator_can_do_is_the_same(ran, name):
    assert set(ran.values(name, FEATURE)) - set(ran.values(DEFAULT, FEATURE)) == ran.explained(name, FEATURE)
    assert set(ran.values(name, ANSWER)) ^ set(ran.values(DEFAULT, ANSWER)) == ran.explained(name, ANSWER)
    assert ran.values(name, "settings")[1:] == ran.values(DEFAULT, "settings")[1:]
    assert ran.counters(name).keys() ^ ran.counters(DEFAULT).keys() == ran.explained(name, COUNTER)


@pytest.mark.parametrize("name", PERSONALITIES)
def test_physical_functions_alone_manage_the_switch(ran, name):
    address = slot(2 * list(PERSONALITIES).index(name))
    wanted = [f"{address}: E-Switch: Total vports 2, per vport: max uc(128) max mc(128)"]
    assert ran.values(name, "switch") == (wanted if name in PHYSICAL else [])


def test_the_machine_goes_down_with_the_drivers_on_it(ran):
    assert ran.status == 0
    rest = ran.console.partition("\nthe end\n")[2]
    assert [line for line in rest.splitlines() if line.startswith("[") and not NOT_OURS.search(line)] == []
    nothing_left(ran.said, 2 * len(PERSONALITIES))
