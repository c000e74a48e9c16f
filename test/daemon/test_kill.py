# SPDX-License-Identifier: BSD-3-Clause
"""kill -9, of either side, over and over, always under traffic: the survivor says so within a second and goes on."""

import os
import re
import statistics
import time

import pytest

from daemon.softrnicd import PAIR, SANITIZED, THREADS, Softrnicd, descriptors, until
from e2e.testpmd import NO_HUGE, Testpmd, check_exact, forward
from size import DEFAULT, FULL

ROOT = os.geteuid() == 0
ROUNDS = 200 if FULL else 3 if SANITIZED else 6 if DEFAULT else 20
EAL = ["--in-memory", "-m", "256", "--iova-mode=va"] if ROOT else NO_HUGE
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


def shared_maps(pid):
    """How many files a process has mapped that may be another's memory: hugepages and memfds."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return sum("huge" in line or "memfd" in line for line in maps)


def names(daemon):
    return sorted(os.listdir(os.path.dirname(daemon.sockets[0])))


def receiving(testpmd, port):
    """The Rx counter rises, now."""
    before = testpmd.stats()[port]["RX-packets"]
    until(lambda: testpmd.stats()[port]["RX-packets"] > before, "packets")


def event_after(testpmd, action, pattern):
    """How long after the action testpmd says so."""
    since = len(testpmd.text())
    start = time.monotonic()
    action()
    until(lambda: re.search(pattern, testpmd.text()[since:]), pattern)
    return time.monotonic() - start


def check_soon(took, what):
    """In half of the rounds: in any of them the machine may have stood still."""
    usual = statistics.median_low(took)
    print(f"{what}: usually after {usual * 1000:.0f} ms, at worst {max(took) * 1000:.0f} ms")
    assert usual < SECOND * (5 if SANITIZED else 1), took


def attach_both(testpmd, daemon):
    for vdev in daemon.vdevs():
        assert "is attached" in testpmd.do(f"port attach {vdev}")
    testpmd.do("port start all")
    testpmd.do("set fwd io")


def test_softrnicd_is_killed():
    started = children()
    took = []
    with Softrnicd() as daemon:
        listed = names(daemon)
        with Testpmd([], eal=EAL) as testpmd:
            testpmd.prompt()
            attach_both(testpmd, daemon)
            open_with_ports = descriptors(testpmd.process.pid)
            mapped_with_ports = shared_maps(testpmd.process.pid)
            for _ in range(ROUNDS):
                testpmd.do("start tx_first 4")
                receiving(testpmd, 0)
                receiving(testpmd, 1)
                took.append(event_after(
                    testpmd, daemon.kill,
                    r"(?s)(?=.*Port 0: device removal event)(?=.*Port 1: device removal event)"))
                # testpmd closes and detaches lost ports by itself.
                until(lambda: "No valid ports" in testpmd.do("show port summary all") or
                      "Number of available ports: 0" in testpmd.do("show port summary all"),
                      "end of the ports")
                testpmd.do("stop")
                daemon.start()
                assert names(daemon) == listed
                attach_both(testpmd, daemon)
                until(lambda: descriptors(testpmd.process.pid) == open_with_ports, "end of the old descriptors")
                until(lambda: shared_maps(testpmd.process.pid) == mapped_with_ports, "end of the old maps")
            check_exact(forward(testpmd))
            testpmd.quit()
        daemon.stop()
    check_soon(took, "reports")
    until(lambda: children() == started, "end of processes")


@pytest.mark.parametrize("devices", [pytest.param(PAIR, id="pair"),
                                     pytest.param(THREADS, id="threads", marks=pytest.mark.long)])
def test_testpmd_is_killed(devices):
    started = children()
    took_log, took_link = [], []
    with Softrnicd(devices) as daemon:
        listed = names(daemon)
        idle = descriptors(daemon.process.pid)
        mapped = shared_maps(daemon.process.pid)
        first, second = daemon.vdevs()
        with Testpmd([second], eal=EAL, args=["--forward-mode=io"],
                     link_events=True) as survivor:
            survivor.prompt()
            survivor.do("start")
            served = descriptors(daemon.process.pid)
            mapped_serving = shared_maps(daemon.process.pid)
            assert served > idle and mapped_serving > mapped
            for round_ in range(ROUNDS):
                with Testpmd([first], eal=EAL, args=["--forward-mode=io"]) as victim:
                    victim.prompt()
                    survivor.wait_link(0, "up")
                    victim.do("start tx_first 4")
                    receiving(victim, 0)
                    receiving(survivor, 0)
                    logged = daemon.text().count("disconnected")
                    start = time.monotonic()
                    event_after(survivor, victim.process.kill, r"Port 0: link state change event")
                    took_link.append(time.monotonic() - start)
                    until(lambda: daemon.text().count("disconnected") > logged, "log")
                    took_log.append(time.monotonic() - start)
                    survivor.wait_link(0, "down")
                    victim.process.wait()
                until(lambda: descriptors(daemon.process.pid) == served,
                      f"return of the descriptors (round {round_})")
                until(lambda: shared_maps(daemon.process.pid) == mapped_serving,
                      f"end of the victim's memory (round {round_})")
                assert names(daemon) == listed
            survivor.do("stop")
            survivor.quit()
            assert not survivor.complaints()
        until(lambda: descriptors(daemon.process.pid) == idle, "return of the descriptors")
        until(lambda: shared_maps(daemon.process.pid) == mapped, "end of the survivor's memory")
        daemon.stop()
    check_soon(took_link, "link events")
    check_soon(took_log, "logs")
    until(lambda: children() == started, "end of processes")


def test_both_ends_in_one_process_and_a_restart():
    """A daemon that is stopped politely is noticed in the same way."""
    took = []
    with Softrnicd() as daemon, Testpmd(daemon.vdevs(), eal=EAL) as testpmd:
        testpmd.prompt()
        for _ in range(3):
            check_exact(forward(testpmd))
            took.append(event_after(testpmd, daemon.stop, r"Port [01]: device removal event"))
            until(lambda: "available ports: 0" in testpmd.do("show port summary all"), "end of the ports")
            daemon.start()
            attach_both(testpmd, daemon)
        check_exact(forward(testpmd))
        testpmd.quit()
    check_soon(took, "reports")
