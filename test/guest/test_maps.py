# SPDX-License-Identifier: BSD-3-Clause
"""Behind an IOMMU the device reaches what a table written by hand says, to the page of 4 KiB, and nothing else."""

from daemon.maps import DEVICE, QUEUES, RECORDS, Maps, expected
from daemon.softrnicd import Softrnicd, until
from guest.functions import COMMON, machine
from guest.machine import slot

# Without hugepages an mbuf crosses no page, and two do not fit into one; the pool's memory begins within a page.
MBUFS = 2048
POOL = (("mempool", (MBUFS + 1) * 4096, "rw"),)
TABLE = DEVICE + RECORDS + QUEUES + POOL
# A function that is bound to vfio-pci, and nobody has opened, reaches nothing.
SCRIPT = f"""
tell bound
await
dpdk-testpmd $eal --no-huge -m 128 -a {slot(0)} -- --auto-start --tx-first --stats-period=1 \
	--total-num-mbufs={MBUFS} --rxd=512 --txd=512 >/tmp/log 2>&1 &
said /tmp/log "RX-packets: [1-9]"
tell forwards
await
kill -INT $(pidof dpdk-testpmd)
wait
tell ended
await
exit 0
"""


def reached(daemon):
    """Rows are pages that lie together, as a message came for each: between two rows there is a page of nobody's."""
    return sorted((length, rights) for _, length, rights in Maps(daemon.text(), "a").merged())


def test_the_table_is_as_written_by_hand():
    with Softrnicd(("name=a,wire=loop",), log_level="debug") as daemon, machine(daemon.sockets) as one:
        one.start(COMMON + SCRIPT)
        one.expect("bound", 100)
        assert not reached(daemon)
        one.tell("go")
        one.expect("forwards", 200)
        assert reached(daemon) == expected(TABLE)
        one.tell("go")
        one.expect("ended", 100)
        until(lambda: not reached(daemon), "end of the maps")
        one.tell("go")
        assert one.wait(100).status == 0
