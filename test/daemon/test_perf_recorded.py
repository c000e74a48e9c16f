# SPDX-License-Identifier: BSD-3-Clause
"""
What dpdk-test-rdma-perf prints, at both ends, is what perftest's programs have printed when they were recorded over Linux' rxe:
line by line, but for numbers and the device's name. How wide the columns of rows are, unit-perf-result compares.
"""

import json
import re

import pytest

from daemon.recorded import transcript
from daemon.test_perf import ends

PROGRAMS = {"ib_write_bw": "write", "ib_send_bw": "send", "ib_read_bw": "read", "ib_atomic_bw": "fetch_add",
            "ib_write_lat": "write", "ib_send_lat": "send", "ib_read_lat": "read", "ib_atomic_lat": "fetch_add"}
DEVICE = re.compile(r"\b(rxe0|net_rnic[01])(?![a-z0-9])")
HOST = re.compile(r"\d+\.\d+\.\d+\.\d+")
NUMBER = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")
ROW = re.compile(r" \d")
RELAXED = re.compile("(?<=PCIe relax order: |PCIe_relax_order: )ON")
RESULTS = "perftest_out.json"


def runs(program):
    """[(options, server's lines, client's lines, file's lines)]"""
    said = [(words, lines) for words, lines in transcript(program) if "--help" not in words]
    found = []
    for words, lines in said:
        if words[0] == "cat":
            found[-1][3].extend(lines)
        elif HOST.fullmatch(words[-1]):
            assert words[:-1] == found[-1][0]
            found[-1][2].extend(lines)
        else:
            found.append((words, lines, [], []))
    return found


CASES = [(program, *run) for program in PROGRAMS for run in runs(program)]


def ours(program, words):
    """The same options."""
    mode, op = program.rpartition("_")[2], PROGRAMS[program]
    options = words[1:]
    for option, value in (("-d", "rxe0"), ("-A", "CMP_AND_SWAP")):
        if option in options:
            at = options.index(option)
            assert options[at + 1] == value
            del options[at:at + 2]
            op = "cmp_swap" if option == "-A" else op
    return ["--op", op, "--mode", mode, *options]


def numberless(lines):
    """A number is N; where a row's columns are, depends on them."""
    named = [DEVICE.sub("DEVICE", line) for line in lines]
    return [NUMBER.sub("N", " ".join(line.split()) if ROW.match(line) else line) for line in named]


def expected(recorded):
    """But for what doc/features/rdma_perf.md says of differences."""
    return numberless([RELAXED.sub("OFF", line) for line in recorded])


def expected_of(program, recorded):
    """
    Of a program that has no use for inline data perftest sets their size to 0, and then warns of each device that it does not
    know, rxe among them: a line on stdout above "Device not recognized to implement inline feature" on stderr. It knows mlx5
    functions, as ours are.
    """
    if PROGRAMS[program] in ("read", "fetch_add"):
        assert recorded[0].startswith("---") and recorded[1] in ("", recorded[0])
        recorded = recorded[1:]
    return expected(recorded)


@pytest.mark.parametrize("program, words, server, client, results", [
    pytest.param(*case, marks=() if number == 0 else pytest.mark.long, id=" ".join(case[1][:1] + case[1][4:]))
    for number, case in enumerate(CASES)])
def test_both_ends_print_perftest_s_lines(program, words, server, client, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Both are in one folder here.
    other = (f"--out_json_file={tmp_path}/server.json",) if results else ()
    asks, answers = ends(*ours(program, words), server=other)
    assert (asks.code, answers.code) == (0, 0), f"{asks}\n{answers}"
    assert numberless(asks.out.splitlines()) == expected_of(program, client)
    assert numberless(answers.out.splitlines()) == expected_of(program, server)
    if results:
        compare_json(results, tmp_path / RESULTS)


def compare_json(recorded, path):
    """Keys in their order, and words; perftest's is no valid JSON."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    pairs = [(key, value) for part in found.values() for key, value in part.items()]
    words = [line.rstrip(",").replace('"', "").split(":") for line in expected(recorded)]
    theirs = [(pair[0].strip(), pair[1].strip()) for pair in words if len(pair) == 2 and pair[1].strip() != "{"]
    assert numberless(f"{key}: {value}" for key, value in pairs) == [f"{key}: {value}" for key, value in theirs]
