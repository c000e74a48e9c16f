# SPDX-License-Identifier: BSD-3-Clause
"""The state of the machine during a measurement: what the program crossing says, and what is made of it."""

import argparse
import os
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "bench"))

import states  # pylint: disable=wrong-import-position
from report import Report  # pylint: disable=wrong-import-position
from turns import Crossing, Row, Turns  # pylint: disable=wrong-import-position

SAID = "".join(f"crossing {10 + i / 10:.3f} {ns}\n" for i, ns in enumerate([60.0, 61.0, 62.0, 260.0, 262.0]))


def figures(*crossings, values=None):
    """Figures that were found in such states."""
    made = [states.Figure(v) for v in values or [1.0] * len(crossings)]
    for figure, crossing in zip(made, crossings):
        figure.crossing = crossing
    return made


@pytest.fixture(scope="module")
def crossing(tmp_path_factory):
    """The program, built as common.sh builds it."""
    program = str(tmp_path_factory.mktemp("crossing") / "crossing")
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program,
                    os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools/bench/crossing.c")], check=True)
    return program


def two_cpus():
    return sorted(os.sched_getaffinity(0))[:2]


def test_what_is_seen_in_the_time_of_a_measurement_counts():
    assert states.seen(SAID, 10.05, 10.35) == [61.0, 62.0, 260.0]


def test_a_state_is_the_median_of_what_was_seen():
    assert states.judge([60.0, 62.0, 61.0]) == (61.0, False)


def test_few_looks_tell_no_state():
    assert states.judge([60.0, 61.0]) == (None, False)


def test_a_change_of_state_is_seen():
    assert states.judge([60.0] * 10 + [260.0] * 10) == (None, True)


def test_one_look_that_was_interrupted_is_no_change():
    assert states.judge([60.0] * 19 + [900.0]) == (60.0, False)


def test_states_lie_apart():
    found = figures(262.0, 60.0, 80.0, None, 258.0)
    assert states.name_states(found) == ["70ns", "260ns"]
    assert [f.state for f in found] == ["260ns", "70ns", "70ns", None, "260ns"]


def test_ratios_are_made_of_figures_of_the_same_state():
    ours = figures(60.0, 260.0, 60.0, 260.0, values=[4.0, 1.0, 6.0, 3.0])
    peer = figures(60.0, 260.0, 260.0, 260.0, values=[2.0, 2.0, 9.0, 4.0])
    states.name_states(ours + peer)
    report = Report(".", "it")
    report.ratio("it", 3.5, 3.0, zip(ours, peer))
    assert report.ratios == {"it": pytest.approx(3.5 / 3), "it@60ns": pytest.approx(2.0), "it@260ns": pytest.approx(2 / 3)}
    assert report.spreads["it@260ns"] == "0.500 .. 0.750"


def test_one_state_needs_no_ratio_of_its_own():
    ours, peer = figures(60.0, 61.0), figures(60.0, 62.0)
    states.name_states(ours + peer)
    report = Report(".", "it")
    report.ratio("it", 1.0, 1.0, zip(ours, peer))
    assert list(report.ratios) == ["it"]


class Changing(Turns):
    """A run in which the state changes during the first measurements."""

    def __init__(self, patience, changes):
        args = argparse.Namespace(rows=None, repeat=4, patience=patience, seconds=1, crossing=None)
        super().__init__("changing", args, None, [Row("row", "row", "")])
        self.turns = [(self.rows[0], "it")]
        self.crossing = self
        self.changes = changes
        self.measured = 0

    def label(self, row, what):
        return what

    def measure(self, row, what):
        self.measured += 1
        return float(self.measured), 0.0

    def during(self, _start, _end):
        """As Crossing says it."""
        self.changes -= 1
        return (None, True) if self.changes >= 0 else (60.0, False)


class Silent:
    """No terminal."""

    def say(self, text):
        """Nothing."""

    clear = __init__ = lambda self: None


@pytest.mark.parametrize("patience, changes, figures_found, changed",
                         ((1, 1, [2.0, 3.0, 4.0, 5.0], 0), (0, 1, [1.0, 2.0, 3.0, 4.0], 1), (2, 9, [1.0, 4.0, 5.0, 6.0], 4)))
def test_a_measurement_is_made_again_when_the_state_changed(patience, changes, figures_found, changed):
    run = Changing(patience, changes)
    run.run_turns(Silent())
    assert run.rows[0].figures["it"] == figures_found and run.changed == changed
    assert bool(run.disturbed()) == bool(changed)


def test_the_program_says_how_long_a_line_takes_or_why_not(crossing, tmp_path):
    began = time.monotonic()
    looking = Crossing(crossing, str(tmp_path), two_cpus())
    looking.wait("(crossing [0-9.]+ [0-9.]+\n){3}|not permitted\n", 30, "nothing seen")
    seen = states.seen(looking.text, began, time.monotonic())
    assert bool(seen) == (looking.why_not() is None) == (os.getuid() == 0)
    assert all(1 < ns < 1000000 for ns in seen)
    looking.quit()
    assert looking.child.returncode == (0 if seen else 1)


def test_a_cpu_that_is_not_there_is_said(crossing, tmp_path):
    looking = Crossing(crossing, str(tmp_path), (0, 1023))
    looking.child.wait(10)
    looking.reader.join(10)
    assert looking.child.returncode == 1 and "CPUs 0 and 1023: Invalid argument" in looking.why_not()


@pytest.mark.parametrize("words", (("0", "0", "100"), ("0", "1", "0"), ("0", "1"), ("0", "-1", "100")))
def test_what_makes_no_sense_is_refused(crossing, words):
    done = subprocess.run([crossing, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 2 and "usage" in done.stderr
