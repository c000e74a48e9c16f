# SPDX-License-Identifier: BSD-3-Clause
"""
What dpdk-test-rdma-perf prints, at both ends, is what perftest's programs have printed when they were recorded over Linux' rxe:
line by line, but for the device's name and for numbers that options do not determine. Of those the digits behind the point are
compared. How wide the columns of rows are, unit-perf-result compares.
"""

import json
import re

import pytest

from daemon.recorded import transcript
from daemon.test_perf import ends

PROGRAMS = {"ib_write_bw": "write", "ib_send_bw": "send", "ib_read_bw": "read", "ib_atomic_bw": "fetch_add",
            "ib_write_lat": "write", "ib_send_lat": "send", "ib_read_lat": "read", "ib_atomic_lat": "fetch_add"}
DEVICE = re.compile(r"(?<![a-z0-9])(rxe0|net_rnic[01])(?![a-z0-9])")
HOST = re.compile(r"\d+\.\d+\.\d+\.\d+")
NUMBER = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")
# " TX depth        : 128", and "TX_depth: 128" as in the JSON.
NAMED = re.compile(r" ?([A-Z][A-Za-z_ ]*?) *: (?=\d)")
# What follows from options, given or not, and from networks with the same MTU.
DETERMINED = {"Number_of_qps", "TX_depth", "Post_List", "RX_depth", "CQ_Moderation", "Mtu", "MsgSize", "n_iterations"}
# What does if it was given.
DETERMINED_BY = {"-x": "GID_index", "-o": "Outstand_reads"}
ROW = re.compile(r" \d")
RESULTS = "perftest_out.json"
# Beside link-local ones, for -x 1.
ADDRESSES = (",ip=10.78.0.1", ",ip=10.78.0.2")


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


def shape(number):
    """N, and an n for each digit behind the point."""
    return "N" + "." * bool(number[1]) + "n" * (len(number[1] or ".") - 1)


def determined(words):
    """Names of numbers that follow from the options."""
    names = DETERMINED | {name for option, name in DETERMINED_BY.items() if option in words}
    # Of devices that it does not know perftest uses none, whatever -I says; in lat ours uses some without it, as on mlx5.
    if words[0].endswith("_bw") and "-I" not in words:
        names.add("Max_inline_data")
    if "-D" in words:
        names.discard("n_iterations")
    # All queue pairs take from it: ours has not fewer for fewer messages of one of them.
    if "--use-srq" in words:
        names.discard("RX_depth")
    return names


def comparable(line, names):
    line = DEVICE.sub("DEVICE", line)
    if ROW.match(line):
        # Where columns are, depends on the numbers.
        size, iters, rest = line.split(maxsplit=2)
        # A deviation of its few numbers that perftest takes the root of may be less than none.
        return " ".join([size, iters if "n_iterations" in names else "N", *NUMBER.sub(shape, rest.replace("-nan", "0.00")).split()])
    named = NAMED.match(line)
    if named and named[1].replace(" ", "_") in names:
        end = NUMBER.match(line, named.end()).end()
        return line[:end] + NUMBER.sub(shape, line[end:])
    return NUMBER.sub(shape, line)


def all_comparable(words, lines):
    found = [comparable(line, determined(words)) for line in lines]
    # Less than 0.1 Gb/s has six digits behind the point.
    return [line.replace("N.nnnnnn", "N.nn") for line in found] if "--report_gbits" in words else found


def expected(words, recorded):
    """But for what doc/features/rdma_perf.md says of differences."""
    return all_comparable(words, [line.replace("PCIe relax order: ON", "PCIe relax order: OFF") for line in recorded])


def expected_of(program, words, recorded):
    """
    Of a program that has no use for inline data perftest sets their size to 0. Where it is set it warns of each device that it does
    not know, rxe among them: a line on stdout above "Device not recognized to implement inline feature" on stderr. It knows mlx5
    functions, as ours are.
    """
    if PROGRAMS[program] in ("read", "fetch_add") or "-I" in words:
        assert recorded[0].startswith("---") and recorded[1] in ("", recorded[0])
        recorded = recorded[1:]
    return expected(words, recorded)


@pytest.mark.parametrize("program, words, server, client, results", [
    pytest.param(*case, marks=() if number == 0 else pytest.mark.long, id=" ".join(case[1][:1] + case[1][4:]))
    for number, case in enumerate(CASES)])
def test_both_ends_print_perftest_s_lines(program, words, server, client, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Both are in one folder here.
    other = (f"--out_json_file={tmp_path}/server.json",) if results else ()
    asks, answers = ends(*ours(program, words), server=other, devargs=ADDRESSES)
    assert (asks.code, answers.code) == (0, 0), f"{asks}\n{answers}"
    assert all_comparable(words, asks.out.splitlines()) == expected_of(program, words, client)
    assert all_comparable(words, answers_lines(program, words, answers)) == expected_of(program, words, server)
    if results:
        compare_json(words, results, tmp_path / RESULTS)


def answers_lines(program, words, answers):
    """perftest's server that has nothing to post tells the last size of -a alone; ours has a row for each."""
    lines = answers.out.splitlines()
    rows = [line for line in lines if ROW.match(line)]
    posts = program.endswith("_lat") or PROGRAMS[program] == "send" or "-b" in words
    return lines if posts else [line for line in lines if line not in rows[:-1]]


def compare_json(words, recorded, path):
    """Keys in their order, words, and numbers that are determined; perftest's is no valid JSON, and rounds more."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    ours = [(key, value) for part in found.values() for key, value in part.items()]
    lines = [line.rstrip(",").replace('"', "").split(":") for line in recorded]
    theirs = [(pair[0].strip(), pair[1].strip()) for pair in lines if len(pair) == 2 and pair[1].strip() != "{"]
    assert [plain(words, pair) for pair in ours] == [plain(words, (key, "OFF" if key == "PCIe_relax_order" else value))
                                                for key, value in theirs]


def plain(words, pair):
    """A key, and what of its value is to be compared."""
    key, value = pair[0], DEVICE.sub("DEVICE", str(pair[1]))
    return key, value if key in determined(words) or not NUMBER.fullmatch(value) else "N"
