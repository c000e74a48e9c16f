# SPDX-License-Identifier: BSD-3-Clause
"""
A worker is killed at each step of an append to a log, of its own process and of another one: the next worker goes on within five seconds,
and each record is there once, whole and in its order, whatever became of the one before.
"""

import itertools
import re

import pytest

from daemon.rdmo_peer import SOON, Peer
from daemon.softrnicd import Softrnicd, until
from e2e.tcp_port import free_port

PROGRAM = "daemon_rdmo_step"
DEVICES = ("name=w,count=3,wire=switch:hub",)
BOTH = ("before an operation", "behind an operation", "with a word in its slot", "before an answer", "behind an answer")
HERE = BOTH + ("with a payload", "with a header", "with a tail")
ELSEWHERE = BOTH + ("with requests under way", "with a tail that was moved")
# Of a burst of four operations some come four times, others once.
TIMES = (1, 2, 3, 4)
NOWHERE = ("-", 0)


@pytest.fixture(name="daemon")
def fixture_daemon():
    with Softrnicd(DEVICES, count=3) as running:
        yield running
        running.stop()


def wait_dead(worker, where):
    """At that step; the process has ended then."""
    assert worker.wait_for("dies (.*)")[1] == where
    assert worker.process.wait(SOON) == -9


def records_of(*readers):
    """(position, number) of each record that was read, by all of them together. What a reader was killed at is read again."""
    lines = [line for reader in readers for line in reader.lines]
    assert not [line for line in lines if line.startswith("damaged")], lines[-5:]
    found = {}
    for line in lines:
        if match := re.fullmatch(r"record (\d+) 1 (\d+)", line):
            position, number = map(int, match.groups())
            assert found.setdefault(position, number) == number
    return sorted(found.items())


def check(records, appended):
    """All that was acknowledged, and nothing twice: at most one burst more."""
    numbers = [number for _, number in records]
    assert numbers == list(range(1, len(numbers) + 1)), numbers
    assert appended <= len(numbers) <= appended + 4


def test_a_worker_dies_at_each_step_with_its_log(daemon, tmp_path):
    """The log is in a file, which the next one takes up."""
    def keeper(step):
        peer = Peer(PROGRAM, "keeper", daemon.sockets[0], address, ticket, *step, tmp_path / "log")
        peers.append(peer)
        return peer

    address, ticket, peers = f"127.0.0.1:{free_port()}", "-", []
    with keeper(NOWHERE) as first:
        ticket = first.wait_for("ticket (.*)")[1]
        with Peer(PROGRAM, "producer", daemon.sockets[1], 1, ticket) as producer:
            producer.wait_for("appended")
            first.kill()
            for step in itertools.product(HERE, TIMES):
                with keeper(step) as victim:
                    wait_dead(victim, step[0])
                with keeper(NOWHERE) as next_one:
                    next_one.wait_for("ticket")
                    producer.goes_on()
                    next_one.kill()
            with keeper(NOWHERE) as last:
                last.wait_for("ticket")
                producer.goes_on()
                producer.end()
                until(lambda: len(records_of(*peers)) >= producer.appended(), "the last records")
                last.end()
        check(records_of(*peers), producer.appended())


def test_a_worker_dies_at_each_step_with_a_log_elsewhere(daemon):
    """The log is another process's, which connects to the next one."""
    address = f"127.0.0.1:{free_port()}"
    with Peer(PROGRAM, "log", daemon.sockets[1], address, "-") as log:
        with Peer(PROGRAM, "worker", daemon.sockets[0], address, *NOWHERE) as first:
            ticket = log.wait_for("ticket (.*)")[1]
            producer = Peer(PROGRAM, "producer", daemon.sockets[2], 1, ticket)
            producer.wait_for("appended")
            first.kill()
        with producer:
            for step in itertools.product(ELSEWHERE, TIMES):
                with Peer(PROGRAM, "worker", daemon.sockets[0], address, *step) as victim:
                    wait_dead(victim, step[0])
                with Peer(PROGRAM, "worker", daemon.sockets[0], address, *NOWHERE) as next_one:
                    next_one.wait_for("listening")
                    producer.goes_on()
                    next_one.kill()
            with Peer(PROGRAM, "worker", daemon.sockets[0], address, *NOWHERE) as last:
                last.wait_for("listening")
                producer.goes_on()
                producer.end()
                until(lambda: len(records_of(log)) >= producer.appended(), "the last records")
                log.end()
                last.end()
        check(records_of(log), producer.appended())
