# SPDX-License-Identifier: BSD-3-Clause
"""Our driver's commands beside those that Linux's mlx5_core sent to a card, by devtools/trace-diff."""

import os
import re
import subprocess
import sys

import pytest

from e2e.testpmd import PATIENCE, Testpmd

SOURCE = os.environ["RDMAPMD_SOURCE"]
TRACE = os.path.join(SOURCE, "test", "layout", "data", "connectx4lx.cmds")
EXPLAINED = os.path.join(SOURCE, "doc", "design", "trace_differences.md")


def trace_diff(*args):
    """Exit code, and what it says."""
    done = subprocess.run([os.path.join(SOURCE, "devtools", "trace-diff"), *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The commands of a testpmd from its start to its end, in the compact form."""
    log = tmp_path_factory.mktemp("trace") / "log"
    with Testpmd(["net_rnic0,wire=loop"], eal=("--no-huge", "-m", "256", "--log-level=pmd.net.rnic.dump:debug"),
                 args=["--disable-link-check"]) as testpmd:
        testpmd.prompt()
        testpmd.quit()
    log.write_text(testpmd.text(), encoding="utf-8")
    commands = subprocess.run([sys.executable, os.path.join(SOURCE, "devtools", "trace", "commands.py"), log], text=True,
                              capture_output=True, timeout=PATIENCE, check=True).stdout
    assert commands.count("\ncommand ") > 100
    return commands


@pytest.fixture
def compare(ours, tmp_path):
    """trace-diff of the recording and of ours with some lines changed."""
    def run(changes=(), explained=EXPLAINED):
        text = ours
        for old, new in changes:
            assert text.count(f"\n{old}\n") >= 1, f"{old}\n{text}"
            text = text.replace(f"\n{old}\n", f"\n{new}\n", 1)
        path = tmp_path / "ours.cmds"
        path.write_text(text, encoding="utf-8")
        return trace_diff("--explained", explained, TRACE, str(path))
    return run


def test_every_difference_to_linux_on_a_card_is_explained(compare):
    code, said = compare()
    assert code == 0 and "only theirs: none\n" in said and " 0 not explained, 0 explanations of no use\n" in said, said


@pytest.mark.parametrize("changes, said", [
    # Another size of an EQ, a bit that no layout names, a command for another function.
    ([("18 00000000 0c000010", "18 00000000 0b000010")], "CREATE_EQ eqc.log_eq_size: ours 0x8 0xb 0xd, theirs 0x8 0x9 0xb"),
    ([("18 00000000 0c000010", "18 00000001 0c000010")], "CREATE_EQ (bits without a name at 0x018): ours 0x0 0x1, theirs 0x0"),
    ([("0 01020000 00000000", "0 01020000 00000000\n8 00000001 00000000")], "INIT_HCA (bits without a name at 0x008)"),
    # ISSI 2 instead of 1, a write of the host's order of bytes that says big-endian.
    ([("8 00000001 00000000", "8 00000002 00000000")], "SET_ISSI current_issi: ours 0x2, theirs 0x1"),
    ([("8 00007004 00000000", "8 00007004 00000000\n10 80000000 00000000")], "ACCESS_REG/0x0/0x7004 register_data.he"),
    # Less room for an answer than it needs, and a question in another mode.
    ([("out 1010 1010", "out 110 110")], "QUERY_HCA_CAP output_length: ours 0x110, theirs 0x1010"),
    ([("0 01000000 00000003", "0 01000000 00000005")], "QUERY_HCA_CAP/0x5 (sent): ours yes, theirs no"),
    # A command that is not sent, a question that is not asked.
    ([("command 101 QUERY_ADAPTER", "command 102 INIT_HCA"), ("0 01010000 00000000", "0 01020000 00000000")],
     "QUERY_ADAPTER (sent): ours no, theirs yes"),
    ([("command 107 QUERY_PAGES\nin 10 10\n0 01070000 00000001", "command 104 ENABLE_HCA\nin 10 10\n0 01040000 00000000")],
     "QUERY_PAGES/0x1 (sent): ours no, theirs yes"),
    # INIT_HCA before the pages.
    ([("command 107 QUERY_PAGES\nin 10 10\n0 01070000 00000002", "command 102 INIT_HCA\nin 10 10\n0 01020000 00000000"),
      ("command 102 INIT_HCA\nin 10 10\n0 01020000 00000000\nout 10 10\n\ncommand 101 QUERY_ADAPTER",
       "command 107 QUERY_PAGES\nin 10 10\n0 01070000 00000002\nout 10 10\n\ncommand 101 QUERY_ADAPTER")],
     "INIT_HCA (order)"),
], ids=["value", "bit without a name", "reserved bit", "version", "register", "length of an answer", "question", "no command",
        "no choice", "order"])
def test_a_command_that_changes_is_found(compare, changes, said):
    code, text = compare(changes)
    assert code == 1 and re.search(rf"(?m)^{re.escape(said)}.*\n    NOT EXPLAINED", text), text


def test_a_capability_is_compared_with_what_it_was_before(compare, ours):
    """Asked for as it was read it is no difference, whatever its value is."""
    asked = ours[ours.index("command 109 SET_HCA_CAP"):].partition("\n\n")[0]
    row = re.search(r"(?m)^(40 \S+ )(\S{8})$", asked)
    other = asked.replace(row[0], f"{row[1]}{int(row[2], 16) ^ 0x80:08x}")
    code, said = compare([(asked, other)])
    assert code == 1 and re.search(r"SET_HCA_CAP capability.num_ports: ours 0x\w+, theirs as read\n    NOT EXPLAINED", said), said


def test_an_explanation_of_nothing_is_found(compare, tmp_path):
    with open(EXPLAINED, encoding="utf-8") as file:
        text = file.read()
    path = tmp_path / "explained.md"
    path.write_text(f"{text}| CREATE_EQ | eqc.oi | 0x1 | 0x0 | overrun is ignored | PRM EQ context |\n", encoding="utf-8")
    code, said = compare(explained=str(path))
    assert code == 1 and f"{path}:{text.count(chr(10)) + 1}: explains CREATE_EQ eqc.oi, where there is no such" in said, said


@pytest.mark.parametrize("row, said", [
    ("| CREATE_EQ | eqc.oi | 0x1 | 0x0 | overrun is ignored | somebody said so |", "neither PRM nor Linux"),
    ("| CREATE_EQ | eqc.oi | 0x1 | 0x0 | | PRM EQ context |", "not 6 cells"),
], ids=["no source", "no reason"])
def test_an_explanation_without_reason_or_source_is_refused(compare, tmp_path, row, said):
    path = tmp_path / "explained.md"
    path.write_text(f"| command | field | ours | theirs | why | source |\n|---|---|---|---|---|---|\n{row}\n", encoding="utf-8")
    code, text = compare(explained=str(path))
    assert code == 2 and said in text, text


def test_what_is_no_log_is_refused(tmp_path):
    path = tmp_path / "log"
    path.write_text("no command here\n", encoding="utf-8")
    code, said = trace_diff(TRACE, str(path))
    assert code == 2 and "no dumps of commands there" in said
    assert trace_diff(TRACE)[0] == 2
    assert trace_diff(TRACE, str(tmp_path / "nothing"))[0] == 2


def test_a_log_is_equal_to_itself():
    code, said = trace_diff(TRACE, TRACE)
    assert code == 0 and said == "only ours: none\nonly theirs: none\n0 differences, 0 not explained, 0 explanations of no use\n"
