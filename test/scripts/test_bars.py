# SPDX-License-Identifier: BSD-3-Clause
"""What bars.py says of figures, and that each bar is of something that a script prints."""

import json
import os
import re
import subprocess
import sys

import pytest

BENCH = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "bench")
sys.path.insert(0, BENCH)

import bars  # pylint: disable=wrong-import-position

INI = os.path.join(BENCH, "bars.ini")


def judge(tmp_path, text, found, part="eth"):
    """{name: verdict} of one part's bars; found: what its script has written, or None."""
    (tmp_path / "bars.ini").write_text(f"[{part}]\n{text}\n")
    if found is not None:
        (tmp_path / f"{part}.json").write_text(json.dumps(found))
    lines = bars.judge(bars.read_bars(tmp_path / "bars.ini"), tmp_path)
    return {line["name"]: line["verdict"] for line in lines}, bars.exit_code(lines)


@pytest.mark.parametrize("bar,value,holds", (
    (">= 1.1", 1.1, True), (">= 1.1", 1.0996, True), (">= 1.1", 1.099, False), ("<= 300", 300.0, True), ("<= 300", 315.3, False),
    ("0.9 .. 1.1", 0.9, True), ("0.9 .. 1.1", 1.1, True), ("0.9 .. 1.1", 1.101, False), ("0.9 .. 1.1", 0.89, False),
))
def test_a_bar_holds_or_not(tmp_path, bar, value, holds):
    assert judge(tmp_path, f"a = {bar}", {"ratios": {"a": value}}) == ({"a": bars.PASS if holds else bars.FAIL}, 0 if holds else 1)


@pytest.mark.parametrize("bar", ("1.1", "> 1", ">=", "1 ..", "fast", ">= 1 ..2"))
def test_what_is_no_bar_is_said(tmp_path, bar):
    (tmp_path / "bars.ini").write_text(f"[eth]\na = {bar}\n")
    with pytest.raises(ValueError, match="is no bar"):
        bars.read_bars(tmp_path / "bars.ini")


def test_what_was_not_measured_is_missing(tmp_path):
    assert judge(tmp_path, "a = >= 1", {"ratios": {"b": 2}}) == ({"a": bars.MISSING}, 1)
    assert judge(tmp_path, "a = >= 1", None, part="rdma") == ({"a": bars.MISSING}, 1)


def test_each_state_counts_by_itself(tmp_path):
    found = {"ratios": {"a": 1.2, "a@74ns": 1.3, "a@282ns": 0.8, "ab@74ns": 0.1}}
    assert judge(tmp_path, "a = >= 1", found) == ({"a@74ns": bars.PASS, "a@282ns": bars.FAIL}, 1)


def test_values_have_bars_too(tmp_path):
    assert judge(tmp_path, "empty = <= 25", {"ratios": {}, "values": {"empty": 20.0}}, part="instr") == ({"empty": bars.PASS}, 0)


@pytest.mark.parametrize("why", ({"others": 0.04}, {"changed": 1}))
def test_a_run_that_was_disturbed_gives_no_verdict(tmp_path, why):
    assert judge(tmp_path, "a = >= 1", {"ratios": {"a": 2}, **why}) == ({"a": bars.NO_VERDICT}, 3)
    assert judge(tmp_path, "a = >= 1", {"ratios": {"a": 2}, "others": 0.03, "changed": 0}) == ({"a": bars.PASS}, 0)


def test_the_bars_that_there_are_can_be_read_and_have_parts():
    named = bars.read_bars(INI)
    with open(os.path.join(BENCH, "all.sh"), encoding="utf-8") as script:
        parts = re.search(r"(?m)^parts=\((.*)\)$", script.read()).group(1).split()
    assert set(named) == set(parts) and all(named.values())


def test_all_judges_what_is_there(tmp_path):
    (tmp_path / "eth.json").write_text(json.dumps({"ratios": {name: 9.0 for name in bars.read_bars(INI)["eth"]}}))
    done = subprocess.run([os.path.join(BENCH, "all.sh"), "--judge", "--dir", tmp_path, "--only", "eth", "--json", tmp_path / "out"],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"PASS +eth64_vs_memif_zc +9\.000 +>= 1\.1\n", done.stdout)
    assert [line["verdict"] for line in json.loads((tmp_path / "out").read_text())["bars"]] == ["PASS"] * len(done.stdout.splitlines())
    for args, code in ((["--only", "ucx"], 2), (["--judge"], 2), (["--repeat", "0"], 2), (["--bars", tmp_path / "none"], 2)):
        assert subprocess.run([os.path.join(BENCH, "all.sh"), *args], text=True, capture_output=True, check=False).returncode == code
