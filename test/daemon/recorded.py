# SPDX-License-Identifier: BSD-3-Clause
"""What perftest and ibv_*_pingpong have printed: the recordings of perftest/, which devtools/guest/record_perftest.py makes."""

import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perftest")


def transcript(program):
    """[(words of a command, lines that it has printed)]"""
    found = []
    with open(os.path.join(FOLDER, program + ".txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                found.append((line[2:].split(), []))
            else:
                found[-1][1].append(line)
    return found
