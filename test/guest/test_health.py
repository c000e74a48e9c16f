# SPDX-License-Identifier: BSD-3-Clause
"""A health counter that stands still is noticed by Linux's driver and by ours alike, and ours recovers."""

import pytest

from guest.functions import COMMON, machine
from guest.machine import KERNELS_HERE, devices, guest, slot

# After the driver is up: late enough for it to be in use.
STOP_MS = 8000
ILL = f"wire=loop,health={STOP_MS}"
# Linux looks each 2 s, and says so when it has looked in vain four times.
LINUX = f"""
for i in $(seq 100); do
	ls /sys/bus/pci/devices/{slot(0)}/net >/dev/null 2>&1 && break
	sleep 0.1
done
echo "netdev $(ls /sys/bus/pci/devices/{slot(0)}/net)"
! dmesg | grep -q "health compromised" || exit 2
for i in $(seq 600); do
	if dmesg | grep "{slot(0)}.*health compromised"; then
		exit 0
	fi
	sleep 0.1
done
dmesg | tail -20
exit 1
"""
# testpmd closes a lost port, and is told to take the device again.
OURS = f"""
mkfifo /tmp/in
dpdk-testpmd $eal --in-memory -m 64 -a {slot(0)} -- -i --total-num-mbufs=4096 </tmp/in >/tmp/log 2>&1 &
exec 3>/tmp/in
echo "start tx_first" >&3
said /tmp/log "health counter stands still"
said /tmp/log "Port 0: device removal event"
# It detaches the device on its own, and says so when it has more to say.
said /tmp/log "Now total ports is 0" "show port summary all"
echo "stop" >&3
echo "port attach {slot(0)}" >&3
said /tmp/log "Port 0 is attached" "show port summary all"
echo "port start all" >&3
echo "start tx_first" >&3
# As long as the first time, and a look more than it took to notice.
sleep {STOP_MS // 1000 + 5}
echo "stop" >&3
echo "quit" >&3
wait
cat /tmp/log
"""


@pytest.mark.parametrize("kernel", KERNELS_HERE)
def test_linux_notices(kernel):
    with devices(ILL) as daemon:
        result = guest(kernel, daemon.sockets, modules=["mlx5_core"]).run(LINUX, 200)
        daemon.stop()
    assert result.status == 0, result.console[-4000:]
    assert "netdev e" in result.console and "reached miss count" in result.console


def test_ours_notices_and_recovers():
    with devices(ILL) as daemon:
        result = machine(daemon).run(COMMON + OURS, 300)
        daemon.stop()
    said = result.console
    assert result.status == 0 and said.count("its health counter stands still") == 1, said[-4000:]
    after = said.rpartition("Port 0 is attached")[2]
    assert "Error" not in after and "lost" not in after, after
    received = [int(line.split()[1]) for line in after.splitlines() if line.strip().startswith("RX-packets:")]
    assert received and received[-1] > 1000, after
