# SPDX-License-Identifier: BSD-3-Clause
"""What rdmo.py reads of the programs that it runs, which ratios it makes of that, and when it says that they mean nothing."""

import argparse
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "bench"))

import rdma  # pylint: disable=wrong-import-position
import rdmo  # pylint: disable=wrong-import-position
from turns import Failed  # pylint: disable=wrong-import-position

TESTS = {t.key: t for t in rdmo.TESTS}
FAIR = {"fw1_1": [2.0, 2.0], "fw1_4": [2.4, 2.6], "fw1_8": [2.1, 2.1], "add8": [5.0, 5.0], "write64": [5.0, 5.0],
        "queue64": [5.0, 7.5]}


def bench_of(figures, packets=()):
    """A run that has found these: by row, by test."""
    args = argparse.Namespace(repeat=2, seconds=1, rows=None, tests=None, cpus=(0, 1), softrnicd="d", ucx="u",
                              root=os.environ["RDMAPMD_SOURCE"])
    bench = rdma.Bench(args, None, "rdmo", rdmo.all_rows(args), rdmo.TESTS)
    for row in bench.rows:
        row.figures = figures.get(row.key, {})
        if hasattr(row, "packets"):
            row.packets = dict(packets).get(row.key, {})
    return bench


def report_of(figures, packets=()):
    return rdmo.make_report(bench_of(figures, packets))


def row_of(key):
    return next(r for r in bench_of({}).rows if r.key == key)


def test_appends_are_compared_with_the_best_baseline():
    report, unfair = report_of({"rnic": FAIR})
    assert unfair is None and report.data["fair"]
    assert report.ratios["queue64_vs_fw1"] == pytest.approx(6.25 / 2.5)
    assert report.spreads["queue64_vs_fw1"] == f"{5 / 2.4:.3f} .. {7.5 / 2.6:.3f}"
    assert report.ratios["fw1_vs_parts"] == pytest.approx(1.0)


@pytest.mark.parametrize("best, invalid", ((2.24, True), (2.26, False)))
def test_a_slow_baseline_makes_a_run_invalid(best, invalid):
    report, unfair = report_of({"rnic": {**FAIR, "fw1_4": [best, best]}})
    assert bool(unfair) == invalid == ("INVALID" in report.text()) != report.data["fair"]


@pytest.mark.parametrize("missing", ("add8", "write64"))
def test_a_baseline_without_its_parts_is_not_believed(missing):
    report, unfair = report_of({"rnic": {k: v for k, v in FAIR.items() if k != missing}})
    assert "does not show" in unfair and "INVALID" not in unfair and "fw1_vs_parts" not in report.ratios


def test_each_row_has_its_own_baseline():
    report, _ = report_of({"delay10": {"queue64": [6.0], "fw1_1": [1.0], "queue64_lat": [20.0], "fw1_lat": [40.0]},
                           "rnic": {**FAIR, "queue64_one": [0.9], "echo64": [1.0], "queue64_1000": [5.0]},
                           "tcp_put": {"fw1_1": [0.1]}, "shm_am": {"queue64": [12.5], "packed64": [25.0]}})
    wanted = {"queue64_delay10_vs_fw1": 6, "queue64_lat_delay10_vs_fw1_lat": 0.5, "queue64_one_vs_echo": 0.9,
              "queue64_1000_vs_one": 0.8, "queue64_vs_tcp_put": 62.5, "queue64_vs_shm_am": 0.5,
              "queue64_vs_shm_am_packed": 0.25}
    assert {k: report.ratios[k] for k in wanted} == pytest.approx(wanted)
    assert not any("softrnicd" in name for name in report.ratios)


def test_figures_and_packets_are_read_of_what_the_programs_print():
    said = "EAL: noise\nresult fw1 bytes 2048 qps 1 rate 100000.0 packets 6.4000\n"
    row = row_of("rnic")
    row.read_more(TESTS["fw1_32"], said)
    assert TESTS["fw1_32"].value(rdma.result(said)) == pytest.approx(3.2) and row.packets == {"fw1_32": [6.4]}
    assert TESTS["queue64_lat"].value(rdma.result("result queue-lat bytes 64 qps 1 lat 2.500 9.000")) == 2.5
    assert TESTS["write64"].value(rdma.result("result write bytes 64 qps 1 active 1 rate 5000000.0")) == 5.0
    with pytest.raises(Failed):
        rdma.result("EAL: no device")


def test_packets_are_those_of_one_append():
    report, _ = report_of({"rnic": {**FAIR, "fw1_32": [3.0]}},
                          {"rnic": {"queue64": [0.2, 0.24], "fw1_32": [6.4]}, "delay10": {"queue64": [0.3]}})
    assert report.ratios["queue64_packets"] == pytest.approx(0.22)
    assert report.ratios["queue64_delay10_packets"] == pytest.approx(0.3)
    table = next(t for t in report.tables if t.title.startswith("Packets"))
    assert [TESTS["fw1_32"].name, "0.200", "-"] in table.rows


def test_instructions_of_an_append_are_the_sum_of_its_calls(monkeypatch):
    monkeypatch.setattr(rdmo.instr, "instructions", lambda program, vdevs, plan, cpu: {
        (call, int(burst), 64): 10.0 * (1 + i) if burst == "32" else 100.0
        for i, call in enumerate(plan[0].split(",")) for burst in plan[1].split(",")})
    report, _ = report_of({"rnic": FAIR})
    rdmo.instruction_table(report, argparse.Namespace(instr="it", cpus=(0, 1)))
    assert report.ratios["queue64_instr"] == 60.0
    assert ["queue-serve", "100.0", "20.0"] in report.tables[-1].rows


def test_a_slow_wire_is_measured_with_one_queue_pair():
    row = row_of("delay10")
    assert "delay=10" in row.wire
    assert [t.key for t in rdmo.TESTS if row.can(t)] == ["queue64", "queue64_lat", "fw1_1", "fw1_lat"]


def test_each_test_of_ours_can_be_measured_somewhere():
    rows = bench_of({}).rows
    assert not [t.key for t in rdmo.TESTS if not any(r.can(t) for r in rows)]


def test_ucx_measures_appends_alone():
    rows = {key: row_of(key) for key in ("tcp_put", "shm_am")}
    assert {key: [t.key for t in rdmo.TESTS if row.can(t)] for key, row in rows.items()} == {
        "tcp_put": ["fw1_1", "fw1_lat", "fw1_32"], "shm_am": ["queue64", "queue64_lat", "packed64"]}
