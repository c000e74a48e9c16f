# SPDX-License-Identifier: BSD-3-Clause
"""Verbs in mid-transfer, and one of those that take part is killed: a program, a whole virtual machine, the device, its firmware."""

import contextlib
import os
import re
import time

import pytest

from daemon.softrnicd import descriptors, until
from guest.linux import complaints, nothing_left, values
from guest.machine import BOOT, KERNELS_HERE, devices, guest, slot
from guest.pingpongs import check, script as pingpong
from guest.verbs import ADDRESSES, APART, GIDS, LIMIT, MACS, MODULES, PAIR, PRELUDE, TOGETHER, run_on, went_well
from size import FULL
from wire.veth import Cable

PORT = 18515
QUEUE_PAIRS = 64
# Of each kind of request one. Of ib_send_bw both ends ask: who only receives is never told that the other end has gone.
OPERATIONS = {"write": "ib_write_bw -s 4096", "read": "ib_read_bw -s 4096", "send": "ib_send_bw -s 1024 -b", "atomic": "ib_atomic_bw"}
# They would go on for hours.
ENDLESS = f"-F -q {QUEUE_PAIRS} -t 16 -n 10000000"
PROGRAMS = sorted({command.split()[0] for command in OPERATIONS.values()})
# Each operation with each end killed; as often as was asked for in one kernel.
ALL_KINDS = 8
KILLS = 50 if FULL else ALL_KINDS
POWER_CUTS = 20 if FULL else 2
# Seconds until the other end knows. All retries take half a second, 8 times perftest's 67 ms: the rest is for a busy machine.
NOTICED = 60
# Of a kernel that has found a fault of its own.
CRASHED = r"WARNING:|BUG:|Oops|Call Trace|panic|lockup|blocked for more than"

# A transfer moves the functions' counters of RDMA packets: nothing else does.
MOVES = """
packets() { # DEVICE: sent and received ones
	cd /sys/class/infiniband/$1/ports/1/counters
	echo $(($(cat port_xmit_packets) + $(cat port_rcv_packets)))
}
moved() { # DEVICE BEFORE: by a hundred for each queue pair
	[ $(packets $1) -gt $(($2 + 6400)) ]
}
gone() { # PID
	! kill -0 $1
}
listens() {
	grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6
}
faults() { # FILE: what perftest has said of the other end's end
	grep -aoE 'Failed status [0-9]+|Unable to read to socket' $1
}
""".replace("4853", f"{PORT:04X}")

# At both ends, behind APART.
RESOURCES = """
resources() {
	rdma resource show
	$peer rdma resource show
}
same_as_before() {
	[ "$(resources)" = "$before" ]
}
before=$(resources)
"""


def rounds(count):
    """(operation, end that is killed): alternating, and after eight each with each."""
    names = list(OPERATIONS)
    return [(names[number % 4], ("server", "client")[(number + number // 4) % 2]) for number in range(count)]


def heard(operation):
    """What an end that asks may say: no answer to any retry. Of ib_send_bw it may look at its flushed receives before."""
    return (["Failed status 12"], ["Failed status 5"])[:1 + (operation == "send")]


# ---- A program ----

KILL = f"""
round() {{ # NUMBER KILLED COMMAND
	$3 -d $ib0 -x $left4 >/tmp/server 2>&1 &
	server=$!
	until_there listens
	had=$(packets $ib0)
	$peer $3 -d $ib1 -x $right4 {ADDRESSES[4][0]} >/tmp/client 2>&1 &
	client=$!
	until_there moved $ib0 $had
	echo "held$1 $(resources | grep -o 'qp [0-9]*' | tr '\\n' ' ')"
	if [ $2 = server ]; then
		killed=$server other=$client left=client
	else
		killed=$client other=$server left=server
	fi
	start=$(now)
	kill -9 $killed
	wait $killed
	echo "killed$1 $?"
	until_there gone $other
	took=$(($(now) - start))
	wait $other
	echo "status$1 $?"
	echo "took$1 $took"
	faults /tmp/$left | each fault$1
	until_there same_as_before
	echo "same$1 as before"
}}
echo "$before" | each before
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_a_killed_program_leaves_nothing(kernel):
    count = KILLS if kernel == KERNELS_HERE[0] else ALL_KINDS
    calls = "".join(f'round {number} {killed} "{OPERATIONS[operation]} {ENDLESS}"\n'
                    for number, (operation, killed) in enumerate(rounds(count)))
    text = APART + MOVES + RESOURCES + KILL + calls + pingpong("rc4", "rc", 4, 100) + TOGETHER
    result, said = run_on(kernel, text, *PAIR, timeout=BOOT + 30 * count, memory=1024, verbs=[*PROGRAMS, "ibv_rc_pingpong"])
    console = result.console
    own = [int(found) for found in re.findall(r" qp (\d+)", "\n".join(values(console, "before")))]
    assert len(own) == 2, console[-4000:]
    for number, (operation, killed) in enumerate(rounds(count)):
        found = {name: values(console, f"{name}{number}") for name in ("held", "killed", "status", "took", "fault", "same")}
        what = f"{number}: {operation}, {killed} killed: {found}\n{console[-4000:]}"
        assert all(found.values()), what
        # Of both programs: none had ended by itself.
        assert found["held"] == ["".join(f"qp {each + QUEUE_PAIRS} " for each in own)] and found["killed"] == ["137"], what
        assert int(found["status"][0]) not in (0, 137) and int(found["took"][0]) < NOTICED * 100, what
        # Who asks for nothing waits for the other one's result, by TCP.
        asks = killed == "server" or operation == "send"
        assert found["fault"] in (heard(operation) if asks else (["Unable to read to socket"],)), what
    check(console, "rc4", "rc", 100)
    went_well(result, said)


# ---- A virtual machine ----

# Each of both ends in one of its own: $own and $gid are its addresses.
ALONE = f"""{MOVES}
load
until_there netdev $SLOT0
until_there rdma_there $SLOT0
eth=$(netdev $SLOT0) ib=$(rdma_device $SLOT0)
/bin/ip link set $eth up
/bin/ip address add $own/24 dev $eth
ready() {{
	until_there carrier_is $eth 1
	until_there state_is $ib ACTIVE
	until_there has_gid $ib $gid
	index=$(gid_index $ib $gid)
}}
"""
SERVER = """
ready
$program $index -d $ib >/tmp/server 2>&1 &
server=$!
until_there listens
tell listens
until_there gone $server
wait $server || exit 1
unload_verbs
"""
# It says `ended` with the status of a client whose server's machine was killed.
CLIENT = f"""
before=$(rdma resource show)
same_as_before() {{
	[ "$(rdma resource show)" = "$before" ]
}}
reaches() {{
	ready
	until_there ping -c 1 -W 1 {ADDRESSES[4][0]}
}}
tell up
while order=$(await) && [ "$order" != last ]; do
	number=${{order%% *}}
	reaches
	had=$(packets $ib)
	${{order#* }} -d $ib -x $index {ADDRESSES[4][0]} >/tmp/client 2>&1 &
	client=$!
	until_there moved $ib $had
	gone $client || tell moving
	until_there gone $client
	wait $client
	tell ended $?
	faults /tmp/client | each fault$number
	until_there same_as_before
	tell same
done
reaches
ibv_rc_pingpong -c -n 100 -d $ib -g $index {ADDRESSES[4][0]} || exit 1
unload_verbs
"""


@contextlib.contextmanager
def alone(kernel, socket, number, script):
    """A guest with the function of that number."""
    text = f"own={ADDRESSES[4][number]} gid={GIDS[4].format(number + 1)}\n{ALONE}"
    with guest(kernel, [socket], verbs=["ip", "rdma", *PROGRAMS, "ibv_rc_pingpong"], extra_modules=MODULES, memory=1024) as one:
        one.start(PRELUDE + text + script)
        yield one


def held(daemon):
    """Descriptors, and mappings of guests' memory."""
    with open(f"/proc/{daemon.process.pid}/maps", encoding="ascii") as maps:
        return descriptors(daemon.process.pid), sum("memory-backend-memfd" in line for line in maps)


def test_a_killed_virtual_machine_leaves_nothing():
    """The server's, as it is the client that asks: by TCP nothing is heard of a machine that has no kernel any more."""
    kernel = KERNELS_HERE[0]
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(devices(*PAIR))
        client = stack.enter_context(alone(kernel, daemon.sockets[1], 1, CLIENT))
        client.expect("up", BOOT)
        before = held(daemon)
        for number in range(POWER_CUTS):
            operation = list(OPERATIONS)[number % len(OPERATIONS)]
            command = f"{OPERATIONS[operation]} {ENDLESS}"
            with alone(kernel, daemon.sockets[0], 0, f'program="{command} -x"\n{SERVER}') as server:
                server.expect("listens", BOOT)
                client.tell(f"{number} {command}")
                client.expect("moving", 3 * LIMIT)
                assert held(daemon) > before
                start = time.monotonic()
                server.process.kill()
                status = client.expect("ended", LIMIT)
                took = time.monotonic() - start
            assert status not in ("0", "137") and took < NOTICED, f"{operation}: {status} after {took:.1f} s"
            client.expect("same", LIMIT)
            assert values(client.console, f"fault{number}") in heard(operation), client.console[-4000:]
            until(lambda: held(daemon) == before, f"device without the dead client: {before} before")
        # Sessions of those that were killed end with objects, of course.
        ended = len(daemon.text())
        last = stack.enter_context(alone(kernel, daemon.sockets[0], 0, f'program="ibv_rc_pingpong -c -n 100 -g"\n{SERVER}'))
        last.expect("listens", BOOT)
        client.tell("last")
        results = client.wait(BOOT), last.wait(BOOT)
        daemon.stop()
        said = daemon.text()[ended:]
    for result in results:
        assert result.status == 0 and complaints(result.console) == [], result.console[-4000:]
    nothing_left(said, 2)


# ---- The device ----

# A program that only polls is told nothing: there is no device that could write a completion. One that asks for events is
# told, one that begins is refused, and all that are there can be ended.
WATCHED = f"""
ibv_asyncwatch -d $ib0 >/tmp/watch 2>&1 &
watch=$!
{OPERATIONS["write"]} {ENDLESS} -d $ib0 -x $left4 >/tmp/server 2>&1 &
server=$!
until_there listens
had=$(packets $ib0)
$peer {OPERATIONS["write"]} {ENDLESS} -d $ib1 -x $right4 {ADDRESSES[4][0]} >/tmp/client 2>&1 &
client=$!
until_there moved $ib0 $had
"""
LOST = f"""{WATCHED}
tell moving
[ "$(await)" = killed ] || exit 1
start=$(now)
until_there grep -q IBV_EVENT_DEVICE_FATAL /tmp/watch
echo "took $(($(now) - start))"
timeout {NOTICED} {OPERATIONS["write"]} -d $ib0 -x $left4
echo "new $?"
for pid in $watch $client $server; do
	kill -9 $pid
	until_there gone $pid
done
until_there same_as_before
{TOGETHER.replace("until_there rdma_there $SLOT1", "")}
"""


def test_a_killed_device_is_a_lost_one():
    """QEMU goes on without it: all ones are read, as of a function that was pulled out, and Linux leaves it alone until it is unloaded."""
    with devices(*PAIR) as daemon:
        one = guest(KERNELS_HERE[0], daemon.sockets, verbs=["ip", "rdma", "ibv_asyncwatch", *PROGRAMS], extra_modules=MODULES, cpus=2,
                    memory=1024)
        with one:
            one.start(PRELUDE + APART + MOVES + RESOURCES + LOST)
            one.expect("moving", BOOT)
            daemon.kill()
            one.tell("killed")
            result = one.wait(2 * BOOT)
    console = result.console
    assert result.status == 0 and one.process.returncode == 0, console[-4000:]
    took, new = values(console, "took"), values(console, "new")
    assert len(took) == 1 and int(took[0]) < NOTICED * 100 and new == ["1"], (took, new)
    # That a device is lost has many words, of which each function has these.
    words = complaints(console)
    for number in (0, 1):
        assert any(re.search(rf"{slot(number)}: poll_health:.*Fatal error", word) for word in words), words
    assert not re.search(CRASHED, console), words


# ---- One of two devices, each of a softrnicd of its own ----

HALF_LOST = f"""{WATCHED}
tell moving
[ "$(await)" = killed ] || exit 1
start=$(now)
until_there gone $client
echo "took $(($(now) - start))"
wait $client
echo "client $?"
faults /tmp/client | each heard
until_there grep -q IBV_EVENT_DEVICE_FATAL /tmp/watch
for pid in $watch $server; do
	kill -9 $pid
	until_there gone $pid
done
until_there same_as_before
# What is left of the two serves the next ones, by its own address.
$peer /bin/ip link set lo up
$peer ibv_rc_pingpong -c -n 100 -d $ib1 -g $right4 >/tmp/server 2>&1 &
server=$!
until_there $peer grep -q ":{PORT:04X} .* 0A " /proc/net/tcp /proc/net/tcp6
$peer ibv_rc_pingpong -c -n 100 -d $ib1 -g $right4 {ADDRESSES[4][1]}
echo "left $?"
until_there gone $server
{TOGETHER.replace("until_there rdma_there $SLOT1", "")}
"""


def at_an_end(cable, number):
    """A softrnicd with the function of that number."""
    side, interface = ((cable.left, "va"), (cable.right, "vb"))[number]
    return devices(f"name=d{number},wire=port:net_af_packet0,id=15b3:1018,mac={MACS[number]}",
                   eal=("--no-huge", "--no-pci", f"--vdev=net_af_packet0,iface={interface}"), within=side)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
def test_a_killed_device_is_a_silent_peer():
    """The other one's requests fail when their retries have, it goes on, and the killed one's heir is met by the next machine."""
    with Cable() as cable, at_an_end(cable, 0) as first, at_an_end(cable, 1) as second:
        sockets = [*first.sockets, *second.sockets]
        one = guest(KERNELS_HERE[0], sockets, verbs=["ip", "rdma", "ibv_asyncwatch", "ibv_rc_pingpong", *PROGRAMS],
                    extra_modules=MODULES, cpus=2, memory=1024)
        with one:
            one.start(PRELUDE + APART + MOVES + RESOURCES + HALF_LOST)
            one.expect("moving", BOOT)
            first.kill()
            one.tell("killed")
            result = one.wait(2 * BOOT)
        first.start()
        ended = len(second.text())
        next_one = guest(KERNELS_HERE[0], sockets, verbs=["ip", "rdma", "ibv_rc_pingpong"], extra_modules=MODULES, cpus=2)
        heir = next_one.run(PRELUDE + APART + pingpong("rc4", "rc", 4, 100) + TOGETHER, 2 * BOOT)
        first.stop()
        second.stop()
        said = second.text()
        cable.check_nothing_left()
    console = result.console
    assert result.status == 0 and not re.search(CRASHED, "\n".join(complaints(console))), console[-4000:]
    assert int(values(console, "took")[0]) < NOTICED * 100 and values(console, "client") not in (["0"], ["137"]), console[-4000:]
    assert values(console, "heard") in heard("write") and values(console, "left") == ["0"], console[-4000:]
    check(heir.console, "rc4", "rc", 100)
    assert heir.status == 0 and complaints(heir.console) == [], heir.console[-4000:]
    nothing_left(said[:ended], 1)
    nothing_left(said[ended:], 1)


# ---- Its firmware ----

# Behind the load of the driver, and late enough for a transfer; half of what a wait may take.
FATAL_MS = 50000
# Linux resets it, and makes all anew: other interfaces and devices of the same function, whose programs are told.
FATAL = f"""{WATCHED}
! grep -q IBV_EVENT_DEVICE_FATAL /tmp/watch || exit 1
until_there grep -q IBV_EVENT_DEVICE_FATAL /tmp/watch
recovered() {{
	dmesg | grep -q 'health recovery succeeded'
}}
until_there recovered
until_there gone $client
wait $client
echo "client $?"
faults /tmp/client | each heard
for pid in $watch $server; do
	kill -9 $pid
	until_there gone $pid
done
until_there netdev $SLOT0
until_there rdma_there $SLOT0
eth0=$(netdev $SLOT0) ib0=$(rdma_device $SLOT0)
/bin/ip link set $eth0 up
/bin/ip address add {ADDRESSES[4][0]}/24 dev $eth0
until_there state_is $ib0 ACTIVE
until_there ping -c 1 -W 1 {ADDRESSES[4][1]}
indexes {GIDS[4].format(1)} {GIDS[4].format(2)}
left4=$left right4=$right
"""


def test_a_dead_firmware_is_reset():
    kind = f"wire=pair:cable,id=15b3:1017,mac={MACS[0]},fatal={FATAL_MS}"
    script = APART + MOVES + FATAL + pingpong("after4", "rc", 4, 100) + TOGETHER
    result, said = run_on(KERNELS_HERE[0], script, kind, PAIR[1], verbs=["ibv_asyncwatch", *PROGRAMS, "ibv_rc_pingpong"],
                          memory=1024, timeout=BOOT + 300)
    console = result.console
    assert result.status == 0, console[-4000:]
    check(console, "after4", "rc", 100)
    assert values(console, "client") not in (["0"], ["137"]) and values(console, "heard") in heard("write"), console[-4000:]
    words = complaints(console)
    assert any(re.search(rf"{slot(0)}: .*firmware internal error", word) for word in words), words
    assert not re.search(CRASHED, console), words
    nothing_left(said, 2)
