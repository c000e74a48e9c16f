# SPDX-License-Identifier: BSD-3-Clause
"""kill -9, of either side, over and over, always under traffic: the survivor says so within a second and goes on."""

import os
import re
import time

from daemon.softrnicd import FULL, SANITIZED, Softrnicd, descriptors, hugepages_free, until
from e2e.testpmd import Testpmd, check_exact, forward

ROOT = os.geteuid() == 0
ROUNDS = 200 if FULL else 3 if SANITIZED else 20
EAL = ["--in-memory", "-m", "256", "--iova-mode=va"] if ROOT else ["--no-huge", "-m", "512"]
SECOND = 1.0


def children():
    """Processes that this one has started, zombies included."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.add(int(pid))
        except OSError:
            continue
    return found


class Account:
    """What must be as before."""

    def __init__(self, daemon=None):
        self.daemon = daemon
        self.children = children()
        self.hugepages = hugepages_free()

    def check(self):
        until(lambda: children() == self.children, 10, "end of processes")
        if ROOT:
            # Others on the machine may hold some for a while.
            until(lambda: hugepages_free() >= self.hugepages, 60, "return of the hugepages")


def names(daemon):
    return sorted(os.listdir(os.path.dirname(daemon.sockets[0])))


def receiving(testpmd, port):
    """The Rx counter rises, now."""
    before = testpmd.stats()[port]["RX-packets"]
    until(lambda: testpmd.stats()[port]["RX-packets"] > before, 20, "packets")


def event_after(testpmd, action, pattern):
    """How long after the action testpmd says so."""
    since = len(testpmd.text())
    start = time.monotonic()
    action()
    until(lambda: re.search(pattern, testpmd.text()[since:]), 10, pattern)
    return time.monotonic() - start


def attach_both(testpmd, daemon):
    for vdev in daemon.vdevs():
        assert "is attached" in testpmd.do(f"port attach {vdev}")
    testpmd.do("port start all")
    testpmd.do("set fwd io")


def test_softrnicd_is_killed():
    account = Account()
    slowest = 0.0
    with Softrnicd() as daemon:
        listed = names(daemon)
        with Testpmd([], eal=EAL) as testpmd:
            testpmd.prompt()
            attach_both(testpmd, daemon)
            open_with_ports = descriptors(testpmd.process.pid)
            for _ in range(ROUNDS):
                testpmd.do("start tx_first 4")
                receiving(testpmd, 0)
                receiving(testpmd, 1)
                slowest = max(slowest, event_after(
                    testpmd, daemon.kill,
                    r"(?s)(?=.*Port 0: device removal event)(?=.*Port 1: device removal event)"))
                # testpmd closes and detaches lost ports by itself.
                until(lambda: "No valid ports" in testpmd.do("show port summary all") or
                      "Number of available ports: 0" in testpmd.do("show port summary all"),
                      20, "end of the ports")
                testpmd.do("stop")
                daemon.start()
                assert names(daemon) == listed
                attach_both(testpmd, daemon)
                assert descriptors(testpmd.process.pid) == open_with_ports
            check_exact(forward(testpmd))
            testpmd.quit()
        daemon.stop()
    print(f"slowest report after {slowest * 1000:.0f} ms")
    assert slowest < SECOND * (5 if SANITIZED else 1)
    account.check()


def test_testpmd_is_killed():
    account = Account()
    slowest_log = slowest_link = 0.0
    with Softrnicd() as daemon:
        listed = names(daemon)
        idle = descriptors(daemon.process.pid)
        first, second = daemon.vdevs()
        with Testpmd([second], eal=EAL, args=["--forward-mode=io"],
                     link_events=True) as survivor:
            survivor.prompt()
            survivor.do("start")
            served = descriptors(daemon.process.pid)
            assert served > idle
            for round_ in range(ROUNDS):
                with Testpmd([first], eal=EAL, args=["--forward-mode=io"]) as victim:
                    victim.prompt()
                    until(lambda: "Link status: up" in survivor.do("show port info 0"), 20, "link")
                    victim.do("start tx_first 4")
                    receiving(victim, 0)
                    receiving(survivor, 0)
                    logged = daemon.text().count("disconnected")
                    start = time.monotonic()
                    event_after(survivor, victim.process.kill, r"Port 0: link state change event")
                    slowest_link = max(slowest_link, time.monotonic() - start)
                    until(lambda: daemon.text().count("disconnected") > logged, 10, "log")
                    slowest_log = max(slowest_log, time.monotonic() - start)
                    assert "Link status: down" in survivor.do("show port info 0")
                    victim.process.wait()
                until(lambda: descriptors(daemon.process.pid) == served, 10,
                      f"return of the descriptors (round {round_})")
                assert names(daemon) == listed
            survivor.do("stop")
            survivor.quit()
            assert not survivor.complaints()
        until(lambda: descriptors(daemon.process.pid) == idle, 10, "return of the descriptors")
        daemon.stop()
    print(f"slowest link event after {slowest_link * 1000:.0f} ms, log {slowest_log * 1000:.0f} ms")
    assert max(slowest_link, slowest_log) < SECOND * (5 if SANITIZED else 1)
    account.check()


def test_both_ends_in_one_process_and_a_restart():
    """A daemon that is stopped politely is noticed in the same way."""
    with Softrnicd() as daemon, Testpmd(daemon.vdevs(), eal=EAL) as testpmd:
        testpmd.prompt()
        check_exact(forward(testpmd))
        assert event_after(testpmd, daemon.stop, r"Port [01]: device removal event") < \
            SECOND * (5 if SANITIZED else 1)
        until(lambda: "available ports: 0" in testpmd.do("show port summary all"), 20,
              "end of the ports")
        daemon.start()
        attach_both(testpmd, daemon)
        check_exact(forward(testpmd))
        testpmd.quit()
