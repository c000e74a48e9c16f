# SPDX-License-Identifier: BSD-3-Clause
"""What mlx5_core leaves to the device, by traffic of two functions on a cable, each in a namespace of the guest."""

import pytest

from guest.linux import complaints, nothing_left, run_on, values
from guest.machine import KERNELS_HERE

# a sends, b receives; both have a queue for each of the two processors.
BEGIN = """
load
until_there netdev $SLOT1
a=$(netdev $SLOT0) b=$(netdev $SLOT1)
for each in "A $a 1" "B $b 2"; do
	set -- $each
	/bin/ip netns add $1
	/bin/ip netns exec $1 sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
	/bin/ip link set $2 netns $1
	/bin/ip netns exec $1 /bin/ip link set lo up
	/bin/ip netns exec $1 /bin/ip address add 10.1.0.$3/24 dev $2
done
A="/bin/ip netns exec A" B="/bin/ip netns exec B"
mkfifo /never
exec 9<>/never
datagrams() { # PORT COUNT: by UDP from a to b, each from a port of its own
	$A bash -c "for n in \\$(seq $2); do echo x >/dev/udp/10.1.0.2/$1; done"
}
both_up() {
	$A /bin/ip link set $a up
	$B /bin/ip link set $b up
	until_there $A ping -c 1 -W 1 10.1.0.2
	known 10.1.0 $a $b
}
known() { # NET A B: Linux asks for a neighbour again 5 s later, and that frame would be counted
	$A /bin/ip neighbour replace $1.2 lladdr 02:00:00:00:01:02 dev $2 nud permanent
	$B /bin/ip neighbour replace $1.1 lladdr 02:00:00:00:01:01 dev $3 nud permanent
}
counter() { # NAMESPACE IF NAME
	$1 ethtool -S $2 | awk -v name=$3: '$1 == name { print $2 }'
}
send() { # MIB ADDRESS: by TCP from a to b; what comes is what was sent
	# At the end of its input it would end the other direction, too.
	$B nc -l -p 7 <&9 >/taken &
	until_there $B sh -c 'netstat -ltn | grep -q :7'
	dd if=/dev/urandom bs=1M count=$1 2>/dev/null >/given
	$A nc $2 7 </given || exit 30
	wait $!
	cmp /given /taken || exit 31
}
"""
END = """
$A ethtool -S $a | sed 's/^ */a /'
$B ethtool -S $b | sed 's/^ */b /'
rmmod mlx5_core || exit 1
complaints
"""
PAIR = ("wire=pair:cable,mac=02:00:00:00:01:01", "wire=pair:cable,mac=02:00:00:00:01:02")


def run(kernel, script, *, modules=("mlx5_core",), says=()):
    """says: what Linux has to say of it."""
    result, said = run_on(kernel, BEGIN + script + END, *PAIR, timeout=200, cpus=2, memory=768, extra_modules=modules)
    assert result.status == 0
    left = list(complaints(result.console))
    for one in says:
        assert [one in line for line in left].count(True) == 1
        left = [line for line in left if one not in line]
    assert left == []
    nothing_left(said, 2)
    return result.console


def counters(console, side):
    """The last `ethtool -S` of a side."""
    return {name.rstrip(":"): int(value) for name, value in
            (line.split() for line in values(console, side) if line.split()[-1].isdigit())}


@pytest.mark.parametrize("mtu", (1500, 9000))
@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_checksums_and_large_sends(kernel, mtu):
    console = run(kernel, f"""
$A /bin/ip link set $a mtu {mtu}
$B /bin/ip link set $b mtu {mtu}
both_up
$A ping -c 2 -s {mtu - 28} 10.1.0.2 >/dev/null || exit 1
send 8 10.1.0.2
""")
    sent, got = counters(console, "a"), counters(console, "b")
    assert sent["tx_packets"] == got["rx_packets_phy"] and sent["tx_bytes"] <= got["rx_bytes_phy"]
    assert sent["tx_tso_packets"] > 0 and sent["tx_tso_bytes"] > 4 << 20 and sent["tx_csum_partial"] > 0
    # All that is IP has a sum of the device's; ARP has none.
    assert got["rx_csum_complete"] + got["rx_csum_unnecessary"] >= got["rx_packets"] - 4
    assert got["rx_csum_none"] <= 4 and got["rx_out_of_buffer"] == 0
    longest = "rx_8192_to_10239_bytes_phy" if mtu == 9000 else "rx_1024_to_1518_bytes_phy"
    # Each large send is cut into as many of the longest frames as it has bytes for: of a last one there may be less. How large they are is
    # a matter of when Linux sends. Headers are those of IPv4, and of TCP with its option.
    mss = mtu - 20 - 32
    assert got[longest] >= sent["tx_tso_bytes"] // mss - sent["tx_tso_packets"] > 0


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_compressed_completions(kernel):
    console = run(kernel, """
both_up
$B ethtool --set-priv-flags $b rx_cqe_compress on || exit 2
until_there $A ping -c 1 -W 1 10.1.0.2
send 8 10.1.0.2
both=$(counter "$B" $b rx_cqe_compress_pkts)
$B ethtool --set-priv-flags $b rx_cqe_compress off || exit 3
until_there $A ping -c 1 -W 1 10.1.0.2
send 2 10.1.0.2
echo "more $(($(counter "$B" $b rx_cqe_compress_pkts) - both))"
""", says=["Disabling rxhash, not supported when CQE compress is active"])
    got = counters(console, "b")
    # What comes has the sums that lists tell: Linux says of one that is wrong, and that is a complaint.
    assert got["rx_cqe_compress_pkts"] >= 2 * got["rx_cqe_compress_blks"] > 100
    assert got["rx_csum_complete"] + got["rx_csum_unnecessary"] >= got["rx_packets"] - 4
    assert got["rx_wqe_err"] == 0 and values(console, "more") == ["0"]


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_flows_are_spread_over_channels(kernel):
    console = run(kernel, """
both_up
datagrams 9 64
# One table of flows for all: to the second channel alone.
$B ethtool -X $b weight 0 1 || exit 2
first=$(counter "$B" $b rx0_packets)
$A ping -c 5 -i 0.2 10.1.0.2 >/dev/null
datagrams 9 64
echo "first $(($(counter "$B" $b rx0_packets) - first))"
$B ethtool -X $b default
$B ethtool -L $b combined 1 || exit 3
until_there $A ping -c 1 -W 1 10.1.0.2
$B ethtool -L $b combined 2 || exit 4
$B ethtool -G $b rx 256 tx 256 || exit 5
until_there $A ping -c 1 -W 1 10.1.0.2
""")
    got = counters(console, "b")
    assert got["rx0_packets"] > 8 and got["rx1_packets"] > 8
    # Broadcast and what has no hash may go to the first channel still.
    assert int(values(console, "first")[0]) <= 4


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_tags_go_in_and_out(kernel):
    console = run(kernel, """
both_up
for each in "A $a 1" "B $b 2"; do
	set -- $each
	/bin/ip netns exec $1 /bin/ip link add link $2 name tagged type vlan id 77
	/bin/ip netns exec $1 /bin/ip address add 10.77.0.$3/24 dev tagged
	/bin/ip netns exec $1 /bin/ip link set tagged up
done
until_there $A ping -c 1 -W 1 10.77.0.2
known 10.77.0 tagged tagged
send 2 10.77.0.2
# A tag that nobody has is kept out, until the filter is off.
$A /bin/ip link add link $a name other type vlan id 78
$A /bin/ip link set other up
$A /bin/ip address add 10.78.0.1/24 dev other
stray() {
	before=$(counter "$B" $b rx_packets)
	$A arping -c 2 -w 2 -I other 10.78.0.2 >/dev/null
	echo "$1 $(($(counter "$B" $b rx_packets) - before))"
}
stray kept
for switch in "rxvlan off" "txvlan off" "rx-vlan-filter off"; do
	$A ethtool -K $a $switch || exit 2
	$B ethtool -K $b $switch || exit 2
	until_there $A ping -c 1 -W 1 10.77.0.2
done
stray passed
$A /bin/ip link delete tagged
""", modules=("mlx5_core", "8021q"))
    sent, got = counters(console, "a"), counters(console, "b")
    assert values(console, "kept") == ["0"] and int(values(console, "passed")[0]) > 0
    assert sent["tx_added_vlan_packets"] > 10 and got["rx_removed_vlan_packets"] > 1000


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_addresses_that_are_taken(kernel):
    console = run(kernel, """
both_up
seen() { # what b takes of three frames to the address
	# Linux changes its lists in a work of its own.
	sleep 0.5
	before=$(counter "$B" $b rx_packets)
	$A /bin/ip neighbour replace 10.1.0.9 lladdr $1 dev $a nud permanent
	$A ping -c 3 -i 0.2 -W 1 10.1.0.9 >/dev/null
	echo "$2 $(($(counter "$B" $b rx_packets) - before))"
}
$B /bin/ip address add 10.1.0.9/24 dev $b
# With stripping, Linux warns of promiscuous mode.
$B ethtool -K $b rxvlan off
$B sysctl -q -w net.ipv4.icmp_echo_ignore_all=1
seen 02:00:00:00:01:02 own
seen 02:00:00:00:99:99 foreign
$B /bin/ip link set $b promisc on
seen 02:00:00:00:99:99 promiscuous
$B /bin/ip link set $b promisc off
seen 02:00:00:00:99:99 again
seen 01:00:5e:7f:00:01 stranger
$B /bin/ip maddress add 01:00:5e:7f:00:01 dev $b
seen 01:00:5e:7f:00:01 group
$B /bin/ip maddress delete 01:00:5e:7f:00:01 dev $b
$B /bin/ip link set $b allmulticast on
seen 01:00:5e:7f:00:02 all
$B /bin/ip link set $b allmulticast off
seen 01:00:5e:7f:00:02 none
$B /bin/ip link set $b address 02:00:00:00:01:0a
seen 02:00:00:00:01:0a changed
seen 02:00:00:00:01:02 old
""")
    taken = ("own", "promiscuous", "group", "all", "changed")
    for word in (*taken, "foreign", "again", "stranger", "none", "old"):
        assert values(console, word) == ["3" if word in taken else "0"], word


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_flows_of_ethtool(kernel):
    console = run(kernel, """
both_up
$B ethtool -N $b flow-type udp4 dst-port 9 action 1 loc 1 || exit 2
$B ethtool -N $b flow-type udp4 dst-port 10 action -1 loc 2 || exit 3
for port in 9 10; do
	before0=$(counter "$B" $b rx0_packets) before1=$(counter "$B" $b rx1_packets)
	datagrams $port 20
	echo "port$port $(($(counter "$B" $b rx0_packets) - before0)) $(($(counter "$B" $b rx1_packets) - before1))"
done
$B ethtool -N $b delete 1 || exit 4
$B ethtool -N $b delete 2 || exit 5
""")
    to_first, to_second = map(int, values(console, "port9")[0].split())
    # A request by ARP may be among them.
    assert to_first <= 2 and 20 <= to_second <= 22
    assert max(map(int, values(console, "port10")[0].split())) <= 2
