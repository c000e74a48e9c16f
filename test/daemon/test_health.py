# SPDX-License-Identifier: BSD-3-Clause
"""A health counter that stands still, as softrnicd does on request: the driver notices, and a new start makes all well."""

import os
import time

from daemon.softrnicd import Softrnicd
from e2e.testpmd import NO_HUGE, Testpmd, check_exact, forward

# No thread for other processes: EAL cancels it where ThreadSanitizer has been told to look away.
EAL = (*NO_HUGE, "--no-shconf")
STOP_MS = 3000
# Ten looks at a counter in vain, and one more: it looks as often as the environment says.
NOTICE_S = 11 * int(os.environ.get("RNIC_HEALTH_PERIOD_MS", "1000")) / 1000
DEVICES = (f"name=a,wire=pair:cable,health={STOP_MS}", "name=b,wire=pair:cable")
STILL = "net_rnic0: device lost: its health counter stands still"


def wait_for_its_end(testpmd):
    """It closes and detaches a lost port in a thread of its own: who asks for the port meanwhile may meet freed memory (22.11)."""
    testpmd.wait(lambda: "Now total ports is 1" in testpmd.text(), "end of the port")


def test_the_driver_notices_and_recovers():
    with Softrnicd(DEVICES) as daemon, Testpmd(daemon.vdevs(), eal=EAL, link_events=True) as testpmd:
        testpmd.prompt()
        testpmd.wait(lambda: STILL in testpmd.text(), "report of the counter")
        # The other end sees that nobody is there.
        wait_for_its_end(testpmd)
        testpmd.wait_link(1, "down")
        assert "is attached" in testpmd.do(f"port attach {daemon.vdevs()[0]}")
        testpmd.do("port start all")
        testpmd.do("set fwd io")
        for port in (0, 1):
            testpmd.wait_link(port, "up")
        # What was ill once would be found so again by then.
        time.sleep(STOP_MS / 1000 + NOTICE_S)
        check_exact(forward(testpmd))
        assert testpmd.text().count(STILL) == 1
        testpmd.quit()
        daemon.stop()


def test_queues_are_not_taken_from_under_a_lost_device():
    """Ill as it is, it sends and receives still, until it is reset."""
    with Softrnicd(DEVICES) as daemon, Testpmd(daemon.vdevs(), eal=EAL) as testpmd:
        testpmd.prompt()
        testpmd.wait_link(0, "up")
        testpmd.do("set fwd io")
        testpmd.do("start tx_first")
        testpmd.wait(lambda: STILL in testpmd.text(), "report of the counter")
        wait_for_its_end(testpmd)
        testpmd.wait_forwards_with(1)
        testpmd.quit()
        daemon.stop()
        assert "access error" not in daemon.text() + testpmd.text()


# testpmd that loses a port while it forwards asks for its statistics in two threads, into the same memory.
if os.environ.get("RDMAPMD_SANITIZER") == "thread":
    del test_queues_are_not_taken_from_under_a_lost_device
