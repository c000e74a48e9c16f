# SPDX-License-Identifier: BSD-3-Clause
"""The state that the machine is in: how long a cache line takes between its CPUs. Rates between two threads follow it."""

import re
import statistics

APART = 1.5  # of two states, the longer time by the shorter one
FEWEST = 3  # looks at the machine that tell what state a measurement saw
EVERY_MS = 100


class Figure(float):
    """What one repetition has found, and in what state of the machine."""

    crossing = None  # nanoseconds; None: not known, or it changed
    state = None  # its name (name_states)


def seen(said, start, end):
    """Of what crossing has said: nanoseconds from start to end, by the clock that only goes on."""
    return [float(ns) for t, ns in re.findall(r"^crossing ([\d.]+) ([\d.]+)$", said, re.M)
            if start <= float(t) <= end]


def judge(looks):
    """Of the looks during one measurement: their median, and whether the state changed. (None, False): too few to know."""
    if len(looks) < FEWEST:
        return None, False
    # A look that was interrupted is no state.
    tenths = statistics.quantiles(looks, n=10, method="inclusive")
    if tenths[-1] > APART * tenths[0]:
        return None, True
    return statistics.median(looks), False


def name_states(figures):
    """Give each figure the name of its state. Returns the names, the fastest state first."""
    groups = []
    for figure in sorted((f for f in figures if f.crossing), key=lambda f: f.crossing):
        if not groups or figure.crossing > APART * groups[-1][-1].crossing:
            groups.append([])
        groups[-1].append(figure)
    names = []
    for group in groups:
        names.append(f"{statistics.median(f.crossing for f in group):.0f}ns")
        for figure in group:
            figure.state = names[-1]
    return names


def by_state(runs):
    """Of pairs of figures, those in which both saw the same state: a list of pairs for each state, the fastest first."""
    found = {}
    for a, b in runs:
        state = getattr(a, "state", None)
        if state and state == getattr(b, "state", None):
            found.setdefault(state, []).append((a, b))
    return dict(sorted(found.items(), key=lambda x: int(x[0].removesuffix("ns"))))
