# SPDX-License-Identifier: BSD-3-Clause
"""A health counter that stands still is noticed by our driver on vfio-pci as by Linux's (test_link.py), and ours recovers."""

from guest.functions import COMMON, machine
from guest.machine import devices, slot

# After the driver is up: late enough for it to be in use.
STOP_MS = 8000
ILL = f"wire=loop,health={STOP_MS}"
# testpmd closes a lost port, and is told to take the device again.
OURS = f"""
export RNIC_HEALTH_PERIOD_MS=300
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


def test_ours_notices_and_recovers():
    with devices(ILL) as daemon:
        result = machine(daemon.sockets).run(COMMON + OURS, 300)
        daemon.stop()
    said = result.console
    assert result.status == 0 and said.count("its health counter stands still") == 1, said[-4000:]
    after = said.rpartition("Port 0 is attached")[2]
    assert "Error" not in after and "lost" not in after, after
    received = [int(line.split()[1]) for line in after.splitlines() if line.strip().startswith("RX-packets:")]
    assert received and received[-1] > 1000, after
