# SPDX-License-Identifier: BSD-3-Clause
"""How agree.py reads dpdk-test-rdma-perf's JSON, and what it then says of the two programs."""

import argparse
import json
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "bench"))

import agree  # pylint: disable=wrong-import-position
from turns import Failed  # pylint: disable=wrong-import-position

TESTS = {t.key: t for t in agree.all_tests()}


def result(**keys):
    return json.dumps({"test_info": {}, "results": keys})


def disturbed(others=0.0, changed=0):
    """What a run says that others disturbed so much, and whose state changed so often."""
    bench, _ = made_of([1.0], [1.0])
    bench.others, bench.changed = others, changed
    return bench.disturbed()


def made_of(own, reference):
    """The report of a run that has found these rates of write8, each list by one program."""
    args = argparse.Namespace(repeat=len(own), seconds=1, rows=None, tests=["write8"], cpus=(0, 1),
                              root=os.environ["RDMAPMD_SOURCE"])
    bench = agree.Bench(args, None, "agree", agree.all_rows(), agree.all_tests())
    bench.rows[0].figures["write8"], bench.rows[1].figures["write8"] = reference, own
    return bench, agree.make_report(bench)


def test_values_have_the_units_of_the_reference():
    assert agree.value_of(result(MsgSize=8, MsgRate=14.5), TESTS["write8"]) == 14.5
    assert agree.value_of(result(MsgSize=65536, MsgRate=0.25), TESTS["write64k"]) == pytest.approx(16.384)
    assert agree.value_of(result(MsgSize=8, t_min=0.5, t_typical=0.93), TESTS["add8_lat"]) == 0.93


@pytest.mark.parametrize("text", ("", "{}", "[]", result(MsgSize=8), result(MsgSize=8, MsgRate="fast"),
                                  result(MsgSize=64, MsgRate=14.5), result(MsgSize=8, MsgRate=0)))
def test_what_is_no_result_fails_the_row(text):
    with pytest.raises(Failed):
        agree.value_of(text, TESTS["write8"])


def test_each_test_has_its_reference():
    assert set(TESTS) == set(agree.ALIKE) and not any(how.startswith("--op=send") for how in agree.ALIKE.values())


def test_medians_are_compared():
    bench, report = made_of(own=[10.0, 11.0, 90.0], reference=[10.0, 10.0, 1.0])
    assert [r.key for r in bench.rows] == ["bench", "perf"]
    assert report.ratios == {"write8_perf_vs_bench": pytest.approx(1.1)}
    assert report.spreads == {"write8_perf_vs_bench": "1.000 .. 90.000"}


@pytest.mark.parametrize("value, code", ((0.89, 1), (0.91, 0), (1.0, 0), (1.09, 0), (1.11, 1)))
def test_ten_percent_may_lie_between(value, code):
    got, said = agree.verdict({"near": 1.0, "it": value}, None)
    assert got == code and (f"it={value:.3f}" in said) == bool(code) and "near" not in said


@pytest.mark.parametrize("value", (0.5, 1.0))
def test_there_is_no_verdict_where_others_used_the_machine(value):
    assert agree.verdict({"it": value}, disturbed(others=0.04)) == (3, "no verdict: others used 4% of the machine")
    assert agree.verdict({"it": 1.0}, disturbed(others=0.03))[0] == 0


@pytest.mark.parametrize("value", (0.5, 1.0))
def test_there_is_no_verdict_where_the_machine_changed(value):
    assert agree.verdict({"it": value}, disturbed(changed=1)) == (
        3, "no verdict: the machine's state changed during 1 measurement")


def test_a_ratio_counts_by_state_where_there_are_two():
    both = {"it": 0.8, "it@61ns": 1.0, "it@262ns": 0.95, "near": 1.0}
    assert agree.verdict(both, None) == (0, "all within 10%")
    assert agree.verdict({**both, "it": 1.0, "it@262ns": 0.85}, None) == (1, "more than 10% apart: it@262ns=0.850")
