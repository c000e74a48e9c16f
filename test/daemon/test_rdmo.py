# SPDX-License-Identifier: BSD-3-Clause
"""
Remote direct memory operations between processes, each on a device of its own: a worker, targets whose memory it reaches by a queue
pair, initiators. Any of them is killed, over and over: within five seconds the others go on, or know, and what was acknowledged is there
once.
"""

import re
import time

import pytest

from daemon.rdmo_peer import SOON, Peer
from daemon.softrnicd import Softrnicd, until
from e2e.tcp_port import free_port
from size import FULL

PROGRAM = "daemon_rdmo_peer"
DEVICES = ("name=w,count=5,wire=switch:hub",)
RECORDS = 4_000_000
KILLS = 200 if FULL else 20


class Worker(Peer):
    def __init__(self, daemon, address="127.0.0.1:0", receives=1024):
        super().__init__(PROGRAM, "worker", daemon.sockets[0], address, receives)
        self.address = self.wait_for("listening (.*)")[1]

    def connections(self):
        return int(re.match(r"connections (\d+)", self.ask("connections")[-1])[1])


class Target(Peer):
    def __init__(self, daemon, worker, device=1, records=RECORDS):
        super().__init__(PROGRAM, "target", daemon.sockets[device], worker.address, records)
        self.ticket = self.wait_for("ticket (.*)")[1]

    def counts(self):
        """{who: records}; none is wrong."""
        *lines, last = self.ask("looked")
        assert last == "looked" and not [line for line in lines if "wrong" in line], lines
        return {int(who): int(count) for who, count in (line.split(": ") for line in lines)}


class Initiator(Peer):
    def __init__(self, daemon, device, who, target, connections=1):
        super().__init__(PROGRAM, "initiator", daemon.sockets[device], who, connections, target.ticket)
        self.who = who
        self.wait_for("connected")

    def outcome(self, line):
        """(appended, lost, unknown, other) of its last line."""
        return tuple(map(int, re.fullmatch(r"ended (\d+) lost (\d+) unknown (\d+) other (\d+)", line).groups()))


@pytest.fixture(name="daemon")
def fixture_daemon():
    with Softrnicd(DEVICES, count=5) as running:
        yield running
        running.stop()


def test_four_processes_on_a_switch(daemon):
    with Worker(daemon) as worker, Target(daemon, worker) as target, Initiator(daemon, 2, 1, target) as one, \
            Initiator(daemon, 3, 2, target, connections=3) as others:
        one.wait_for(r"appended [1-9]\d{3}")
        others.wait_for(r"appended [1-9]\d{3}")
        found = {1: one.outcome(one.end()), 2: others.outcome(others.end())}
        assert all(count > 1000 and lost == unknown == other == 0 for count, lost, unknown, other in found.values()), found
        counts = target.counts()
        assert counts[1] == found[1][0] and counts[2] + counts[3] + counts[4] == found[2][0], (counts, found)
        until(lambda: worker.connections() == 0, "end of its connections")
        target.end()
        worker.end()


@pytest.mark.long
def test_initiators_are_killed(daemon):
    """The one beside them goes on; what the killed one had heard of is there, in order, and its connection goes."""
    with Worker(daemon) as worker, Target(daemon, worker) as target, Initiator(daemon, 2, 1, target) as survivor:
        for who in range(2, 2 + KILLS):
            with Initiator(daemon, 3, who, target) as victim:
                victim.wait_for("appended [1-9]")
                victim.kill()
                survivor.goes_on()
                end = time.monotonic() + SOON
                while worker.connections() != 1:
                    assert time.monotonic() < end
                assert target.counts()[who] >= victim.appended() > 0
        count, *wrong = survivor.outcome(survivor.end())
        assert wrong == [0, 0, 0] and target.counts()[1] == count


@pytest.mark.long
def test_targets_are_killed(daemon):
    """Their initiators know; those of another one go on, and so does the worker."""
    with Worker(daemon) as worker, Target(daemon, worker) as target, Initiator(daemon, 2, 1, target) as survivor:
        for who in range(2, 2 + KILLS):
            with Target(daemon, worker, device=3) as victim, Initiator(daemon, 4, who, victim) as orphan:
                orphan.wait_for("appended [1-9]")
                start = time.monotonic()
                victim.kill()
                survivor.goes_on()
                _, lost, unknown, other = orphan.outcome(orphan.wait_for("ended .*")[0])
                assert lost > 0 and unknown == other == 0, orphan.lines[-3:]
                assert time.monotonic() - start < SOON
                orphan.end()
        count, *wrong = survivor.outcome(survivor.end())
        assert wrong == [0, 0, 0] and target.counts()[1] == count


@pytest.mark.long
def test_workers_are_killed(daemon):
    """Initiators know that; the target has what was acknowledged, and the next worker serves it as the first one did."""
    address = f"127.0.0.1:{free_port()}"
    for who in range(1, 1 + KILLS):
        with Worker(daemon, address) as worker, Target(daemon, worker) as target, Initiator(daemon, 2, who, target) as orphan:
            orphan.wait_for("appended [1-9]")
            start = time.monotonic()
            worker.kill()
            count, lost, unknown, other = orphan.outcome(orphan.wait_for("ended .*")[0])
            assert time.monotonic() - start < SOON
            # Those that were not answered are done or not.
            assert lost == other == 0 and count <= target.counts()[who] <= count + unknown, (count, unknown)
            orphan.end()


@pytest.mark.long
def test_a_thousand_connections_of_two_processes(daemon):
    """One of both is killed: the other one's go on, and there is room for as many again."""
    half = 500
    with Worker(daemon, receives=16 * half) as worker, Target(daemon, worker) as target, \
            Initiator(daemon, 2, 1, target, half) as survivor:
        for who in (1001, 2001):
            with Initiator(daemon, 3, who, target, half) as victim:
                victim.goes_on()
                assert worker.connections() == 2 * half
                victim.kill()
                survivor.goes_on()
                until(lambda: worker.connections() == half, "end of its connections")
                counts = target.counts()
                assert sum(count for one, count in counts.items() if one in range(who, who + half)) >= victim.appended()
        count, *wrong = survivor.outcome(survivor.end())
        counts = target.counts()
        assert wrong == [0, 0, 0] and sum(counts[1 + i] for i in range(half)) == count
