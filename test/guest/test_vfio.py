# SPDX-License-Identifier: BSD-3-Clause
"""Our driver on functions that are bound to vfio-pci, behind an IOMMU, under stock dpdk-testpmd."""

import os
import re

import pytest

from guest.machine import FULL, devices, guest, slot

LEFT, RIGHT, LOOP = slot(0), slot(1), slot(2)
DEVICES = ("wire=pair:cable,mac=02:00:00:00:00:0a", "wire=pair:cable,mac=02:00:00:00:00:0b", "wire=loop")
PLUGIN = os.path.realpath(os.environ["RDMAPMD_PLUGIN"])
LIBRARY = os.path.join(os.environ["RDMAPMD_BUILD"], "lib", "rdmapmd", "librdmapmd.so.0")
RDMA_WRITE = os.path.join(os.environ["RDMAPMD_BUILD"], "examples", "rdma_write")
# What a thread needs to be cancelled; no program names it.
LIBGCC = "/lib/x86_64-linux-gnu/libgcc_s.so.1"
KILLS = 20 if FULL else 3
# Seconds for a script: the guest is emulated.
PATIENCE = 900

# What all scripts begin with. `said FILE TEXT` waits a minute for it, or until nobody is left who could say it.
COMMON = f"""
dmesg -n 1
# Where programs that were copied find it.
export LD_LIBRARY_PATH={os.path.dirname(LIBRARY)}:$(echo /usr/lib/*/dpdk/pmds-*)
# EAL takes no plugin from below a folder that everybody may write to.
chmod 755 /
for bdf in {LEFT} {RIGHT} {LOOP}; do
	echo vfio-pci >/sys/bus/pci/devices/$bdf/driver_override
	echo $bdf >/sys/bus/pci/drivers_probe
done
said() {{
	for i in $(seq 600); do
		grep -q "$2" $1 && return
		[ $i -lt 50 ] || pidof dpdk-testpmd >/dev/null || break
		sleep 0.1
	done
	echo "not said: $2"; cat $1; exit 1
}}
ended() {{
	for i in $(seq 600); do
		[ -d /proc/$1 ] || return 0
		sleep 0.1
	done
	echo "still there: $1"; cat /tmp/log; exit 1
}}
faults() {{
	dmesg | grep -iE "DMAR.*fault|WARNING:|BUG:" && exit 1
}}
eal="-l 0,1 -d {PLUGIN} --no-telemetry --log-level=pmd.net.rnic.driver:debug"
forward="--auto-start --tx-first --stats-period=1 --forward-mode=io --total-num-mbufs=4096"
"""


def machine(daemon, iommu=48, programs=(), **kwargs):
    return guest("6.1", daemon.sockets, ["/usr/bin/dpdk-testpmd", *programs], libraries=[PLUGIN, LIBGCC],
                 modules=["vfio-pci", "vfio_iommu_type1"], iommu=iommu, hugepages=160, memory=1024, cpus=2, **kwargs)


def run(script, iommu=48, programs=()):
    """The console of a guest whose script has ended well, and what softrnicd has said."""
    with devices(*DEVICES) as daemon:
        result = machine(daemon, iommu, programs).run(COMMON + script, PATIENCE)
        daemon.stop()
        log = daemon.text()
    assert result.status == 0, result.console[-4000:]
    return result.console, log


def part(console, name):
    """What was said after `echo part NAME`, up to the next one."""
    return re.search(rf"^part {name}\n(.*?)(?=^part |\Z)", console, re.M | re.S)[1]


def counts(said):
    """testpmd's last statistics: (received, sent) of each port."""
    received = [int(n) for n in re.findall(r"RX-packets: (\d+)", said)][-2:]
    sent = [int(n) for n in re.findall(r"TX-packets: (\d+)", said)][-2:]
    return list(zip(received, sent))


# The driver uses none of EAL's IOVAs, whatever they are.
@pytest.mark.parametrize("iommu, mode", ((48, "va"), (39, "pa")))
def test_testpmd_forwards_between_two_functions(iommu, mode):
    console, _ = run(f"""
echo part forward
dpdk-testpmd $eal --iova-mode={mode} -a {LEFT} -a {RIGHT} -- $forward >/tmp/log 2>&1 &
said /tmp/log "RX-packets: [1-9]"
pid=$(pidof dpdk-testpmd)
echo part descriptors
ls -l /proc/$pid/fd
echo part interrupts
grep vfio-msix.0 /proc/interrupts
sleep 3
kill -INT $pid
ended $pid
echo part log
cat /tmp/log
echo part memory
rdma_write $eal -a {LOOP} -- {LOOP} 300008 malloc || exit 1
for bdf in {LEFT} {RIGHT} {LOOP}; do
	echo $bdf >/sys/bus/pci/drivers/vfio-pci/unbind || exit 1
done
faults
exit 0
""", iommu, [RDMA_WRITE])
    log = part(console, "log")
    for received, sent in counts(log):
        assert received > 32 and sent > 32
    # Each its own container beside EAL's, which nothing is in; a group each, the functions.
    held = part(console, "descriptors")
    assert len(re.findall(r"-> /dev/vfio/vfio$", held, re.M)) == 3, held
    assert len(re.findall(r"-> /dev/vfio/\d+$", held, re.M)) == 2, held
    assert len(re.findall(r"-> anon_inode:\[vfio-device\]", held)) == 2, held
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


def check_forwarded(said):
    for received, sent in counts(said):
        assert received > 32 and sent > 32, said[-4000:]


def test_a_killed_testpmd_starts_again():
    console, log = run(f"""
for round in $(seq {KILLS}); do
	dpdk-testpmd $eal -a {LEFT} -a {RIGHT} -- $forward >/tmp/log 2>&1 &
	said /tmp/log "RX-packets: [1-9]"
	pid=$(pidof dpdk-testpmd)
	kill -9 $pid
	ended $pid
	echo "killed $round"
done
dpdk-testpmd $eal -a {LEFT} -a {RIGHT} -- $forward >/tmp/log 2>&1 &
said /tmp/log "RX-packets: [1-9]"
sleep 2
kill -INT $(pidof dpdk-testpmd)
ended $pid
said /tmp/log "Bye" || exit 1
echo part last
cat /tmp/log
faults
exit 0
""")
    assert f"killed {KILLS}" in console
    check_forwarded(part(console, "last"))
    assert "were not taken back" not in console
