# SPDX-License-Identifier: BSD-3-Clause
"""Our driver on functions that are bound to vfio-pci, behind an IOMMU, under stock dpdk-testpmd and dpdk-test-rdma-perf."""

import re

import pytest

from e2e.perf import PROGRAM as PERF, ROWS
from guest import functions
from guest.machine import slot
from size import FULL

LEFT, RIGHT, LOOP = slot(0), slot(1), slot(2)
DEVICES = ("wire=pair:cable,mac=02:00:00:00:00:0a", "wire=pair:cable,mac=02:00:00:00:00:0b", "wire=loop")
KILLS = 20 if FULL else 3
# Seconds for a script: the guest is emulated.
PATIENCE = 900

# What all scripts begin with, behind functions.COMMON.
COMMON = f"""
# A line of its own: what was shown before may have been killed in the middle of one.
part() {{
	echo
	echo "part $1"
}}
ended() {{
	for i in $(seq 600); do
		[ -d /proc/$1 ] || return 0
		sleep 0.1
	done
	echo "still there: $1"; cat /tmp/log; exit 1
}}
# Of an interactive testpmd: each command when the one before is done.
start() {{
	mkfifo /tmp/in
	_STDBUF_O=L LD_PRELOAD={functions.STDBUF} dpdk-testpmd $eal "$@" </tmp/in >>/tmp/log 2>&1 &
	exec 9>/tmp/in
	prompts=1
	prompted
}}
prompted() {{
	for i in $(seq 600); do
		[ $(grep -o "testpmd> " /tmp/log | wc -l) -ge $prompts ] && return
		[ $i -lt 50 ] || pidof dpdk-testpmd >/dev/null || break
		sleep 0.1
	done
	echo "no prompt"; cat /tmp/log; exit 1
}}
ask() {{
	echo "$1" >&9
	prompts=$((prompts + 1))
	prompted
}}
faults() {{
	dmesg | grep -iE "DMAR.*fault|WARNING:|BUG:" && exit 1
}}
eal="$eal --log-level=pmd.net.rnic.driver:debug"
forward="--auto-start --tx-first --stats-period=1 --forward-mode=io --total-num-mbufs=4096"
"""


def run(script, programs=(), **kwargs):
    """The console of a guest whose script has ended well."""
    return functions.run(COMMON + script, PATIENCE, *DEVICES, programs=["dpdk-testpmd", *programs],
                         libraries=[functions.STDBUF], **kwargs)


def part(console, name):
    """What was said after `part NAME`, up to the next one."""
    return re.search(rf"^part {name}\n(.*?)(?=^part |\Z)", console, re.M | re.S)[1]


def check_forwarded(said, ports=2):
    """By testpmd's statistics of each port at the end."""
    found = re.findall(r"Forward statistics for port \d+ .*?RX-packets: (\d+).*?TX-packets: (\d+)", said, re.S)
    assert len(found) == ports and all(int(number) > 32 for one in found for number in one), said[-4000:]


# The driver uses none of EAL's IOVAs, whatever they are.
@pytest.mark.parametrize("iommu, mode", ((48, "va"), pytest.param(39, "pa", marks=pytest.mark.long)))
def test_testpmd_forwards_between_two_functions(iommu, mode):
    console = run(f"""
part forward
behind /tmp/log dpdk-testpmd $eal --iova-mode={mode} -a {LEFT} -a {RIGHT} -- $forward
said /tmp/log "RX-packets: [1-9]"
pid=$(pidof dpdk-testpmd)
part descriptors
ls -l /proc/$pid/fd
part mapped
grep vfio-device /proc/$pid/maps
part interrupts
grep vfio-msix.0 /proc/interrupts
sleep 3
kill -INT $pid
ended $pid
part log
cat /tmp/log
part memory
rdma_write $eal -a {LOOP} -- {LOOP} 300008 malloc || exit 1
for bdf in {LEFT} {RIGHT} {LOOP}; do
	echo $bdf >/sys/bus/pci/drivers/vfio-pci/unbind || exit 1
done
faults
exit 0
""", ["rdma_write"], iommu=iommu)
    log = part(console, "log")
    check_forwarded(log)
    # Each its own container beside EAL's, which nothing is in; a group each, the functions.
    held = part(console, "descriptors")
    assert len(re.findall(r"-> /dev/vfio/vfio$", held, re.M)) == 3, held
    assert len(re.findall(r"-> /dev/vfio/\d+$", held, re.M)) == 2, held
    assert len(re.findall(r"-> anon_inode:\[vfio-device\]", held)) == 2, held
    # Registers are loads and stores: BAR0 of each is mapped, to be read and written.
    mapped = part(console, "mapped")
    assert len(re.findall(r"^[0-9a-f]+-[0-9a-f]+ rw-s ", mapped, re.M)) >= 2, mapped
    # Commands and links are told by interrupts.
    raised = re.findall(r"^ *\d+: +(\d+) +(\d+) .*vfio-msix", part(console, "interrupts"), re.M)
    assert len(raised) == 2 and all(int(one) + int(other) > 0 for one, other in raised), raised
    spaces = re.findall(r"IOMMU group \d+: addresses from (0x\w+) to (0x\w+), (\d+) maps", log)
    assert len(spaces) == 2
    for start, end, maps in spaces:
        assert 1 << 20 <= int(start, 16) < int(end, 16) <= 1 << min(iommu, 46) and int(maps) > 1000
    assert f"Selected IOVA mode '{mode.upper()}'" in log
    memory = part(console, "memory")
    assert "WRITE of 300008 bytes" in memory and "the counter was 42 and is 84" in memory


@pytest.mark.long
def test_a_killed_testpmd_starts_again():
    console = run(f"""
for round in $(seq {KILLS}); do
	behind /tmp/log dpdk-testpmd $eal -a {LEFT} -a {RIGHT} -- $forward
	said /tmp/log "RX-packets: [1-9]"
	pid=$(pidof dpdk-testpmd)
	kill -9 $pid
	ended $pid
	echo "killed $round"
done
behind /tmp/log dpdk-testpmd $eal -a {LEFT} -a {RIGHT} -- $forward
said /tmp/log "RX-packets: [1-9]"
pid=$(pidof dpdk-testpmd)
sleep 2
kill -INT $pid
ended $pid
part last
cat /tmp/log
faults
exit 0
""")
    assert f"killed {KILLS}" in console
    check_forwarded(part(console, "last"))
    assert "were not taken back" not in console


@pytest.mark.long
def test_resets_and_removal():
    """The application's own, somebody else's under it, and a function that is unbound while it is in use."""
    console = run(f"""
start -a {LEFT} -a {RIGHT} -- -i --forward-mode=io --total-num-mbufs=4096
forwards() {{
	ask "start tx_first"
	sleep 2
	ask stop
}}
forwards
part first; cat /tmp/log; : >/tmp/log; prompts=0
ask "port stop all"
ask "port reset all"
ask "port start all"
forwards
part reset; cat /tmp/log; : >/tmp/log; prompts=0
echo 1 >/sys/bus/pci/devices/{LEFT}/reset
said /tmp/log "device lost"
said /tmp/log "Port 0 is closed"
ask "port attach {LEFT}"
ask "port start all"
forwards
part flr; cat /tmp/log; : >/tmp/log; prompts=0
echo {RIGHT} >/sys/bus/pci/drivers/vfio-pci/unbind &
unbind=$!
said /tmp/log "the kernel wants the function back"
said /tmp/log "Port 1 is closed"
wait $unbind || exit 1
[ ! -e /sys/bus/pci/devices/{RIGHT}/driver ] || exit 1
echo {RIGHT} >/sys/bus/pci/drivers_probe
ask "port attach {RIGHT}"
ask "port start all"
forwards
part unbind; cat /tmp/log; : >/tmp/log; prompts=0
pid=$(pidof dpdk-testpmd)
echo quit >&9
ended $pid
part end; cat /tmp/log
faults
exit 0
""")
    for name in ("first", "reset", "flr", "unbind"):
        check_forwarded(part(console, name))
    assert "Bye" in part(console, "end")


@pytest.mark.long
def test_an_ordinary_user():
    """The message for one without rights on the group, for one with too little memory to lock, and a port for whom has both."""
    console = run(f"""
group=$(basename $(readlink /sys/bus/pci/devices/{LOOP}/iommu_group))
pmd() {{
	behind /tmp/log /bin/setpriv --reuid=65534 --regid=65534 --clear-groups \\
		dpdk-testpmd $eal --no-huge -m 128 -a {LOOP} -- $forward
	pid=$!
}}
refused() {{
	pmd
	# It goes on without ports.
	said /tmp/log "cannot be used"
	kill -9 $(pidof dpdk-testpmd)
	ended $pid
}}
refused
part refused; cat /tmp/log
chown 65534 /dev/vfio/$group
ulimit -l 64
refused
part limited; cat /tmp/log
ulimit -l unlimited
pmd
said /tmp/log "RX-packets: [1-9]"
kill -INT $(pidof dpdk-testpmd)
ended $pid
part works; cat /tmp/log
faults
exit 0
""", programs=["/usr/bin/setpriv"])
    refused = part(console, "refused")
    assert re.search(rf"net_rnic: {LOOP}: (/dev/vfio/\d+): permission denied: run rdmapmd-setup bind {LOOP} --owner USER "
                     r"--apply as root, or chown USER \1", refused), refused
    assert re.search(r"does not lock \d+ bytes beside .*: the limit is 65536 bytes; raise it \(ulimit -l", part(console, "limited"))
    check_forwarded(part(console, "works"), 1)


PERF_RUNS = {
    "write": ("--op=write -s 300008 -n 20", "bw", [(300008, 20)]),
    "read": ("--op=read -s 9000 -n 20 -q 2", "bw", [(9000, 40)]),
    "send": ("--op=send -c UD -s 1000 -n 20 -e", "bw", [(1000, 20)]),
    "latency": ("--op=send --mode=lat -s 64 -n 20", "lat", [(64, 20)]),
}


@pytest.mark.long
def test_rdma_perf_between_two_functions_and_on_one():
    """A process each; Ctrl-C ends one, and no hugepage is held behind them that an ordinary run does not hold."""
    runs = "\n".join(f"part {name}\nboth {args}" for name, (args, _, _) in PERF_RUNS.items())
    console = run(f"""
perf() {{ # PREFIX BDF OPTIONS...
	prefix=$1 bdf=$2
	shift 2
	dpdk-test-rdma-perf $eal -m 128 --file-prefix=$prefix -a $bdf -- -u 18 "$@"
}}
both() {{
	behind /tmp/server perf server {LEFT} "$@"
	said /tmp/server "Waiting for client"
	perf client {RIGHT} "$@" 127.0.0.1 >/tmp/client 2>&1
	status=$?
	# It would wait for another one.
	[ $status = 0 ] || kill $(pidof dpdk-test-rdma-perf)
	wait $! && [ $status = 0 ]
	status=$?
	cat /tmp/client /tmp/server
	[ $status = 0 ] || exit 1
}}
free_pages() {{
	echo "$1: $(grep -E 'HugePages_(Free|Total)' /proc/meminfo | tr -s ' \\n' ' ')"
}}
{runs}
part loopback
perf loop {LOOP} --loopback --op=write -s 64 -n 20 >/tmp/log 2>&1
status=$?
cat /tmp/log
[ $status = 0 ] || exit 1
free_pages "after an ordinary run"
behind /tmp/log perf loop {LOOP} --loopback --op=write -s 64 -D 600
said /tmp/log "#bytes"
sleep 2
kill -INT $(pidof dpdk-test-rdma-perf)
wait $!
echo "status $?"
cat /tmp/log
free_pages "after Ctrl-C"
faults
exit 0
""", [PERF])
    for name, (_, kind, rows) in PERF_RUNS.items():
        said = part(console, name)
        found = [(int(size), int(iters)) for size, iters in ROWS[kind].findall(said)]
        # A READ's server prints what the client has measured.
        assert found == 2 * rows, f"{name}\n{said}"
    said = part(console, "loopback")
    assert "status 130" in said and len(ROWS["bw"].findall(said)) == 2, said
    held = re.findall(r"^after .*: (.*)$", said, re.M)
    assert len(held) == 2 and held[0] == held[1], said
