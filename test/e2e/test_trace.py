# SPDX-License-Identifier: BSD-3-Clause
"""Our driver's commands beside those that Linux's mlx5_core sent to a card, by devtools/trace-diff."""

import os
import re
import subprocess
import sys
import tarfile

import pytest

from e2e.testpmd import PATIENCE, Testpmd

SOURCE = os.environ["RDMAPMD_SOURCE"]
TRACE = os.path.join(SOURCE, "test", "layout", "data", "connectx4lx.cmds")
EXPLAINED = os.path.join(SOURCE, "doc", "design", "trace_differences.md")
FOREIGN = os.path.join(SOURCE, "doc", "design", "foreign_drivers.md")


def run(tool, *args):
    """Exit code, and what it says."""
    done = subprocess.run([os.path.join(SOURCE, "devtools", tool), *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


def trace_diff(*args):
    return run("trace-diff", *args)


@pytest.fixture(scope="module")
def whole_log(tmp_path_factory):
    """What a testpmd says from its start to its end."""
    path = tmp_path_factory.mktemp("trace") / "log"
    with Testpmd(["net_rnic0,wire=loop"], eal=("--no-huge", "-m", "256", "--log-level=pmd.net.rnic.*:debug"),
                 args=["--disable-link-check"]) as testpmd:
        testpmd.prompt()
        testpmd.quit()
    path.write_text(testpmd.text(), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def ours(whole_log):
    """Its commands in the compact form."""
    commands = subprocess.run([sys.executable, os.path.join(SOURCE, "devtools", "trace", "commands.py"), whole_log], text=True,
                              capture_output=True, timeout=PATIENCE, check=True).stdout
    assert commands.count("\ncommand ") > 100
    return commands


def written(path, text, changes=()):
    """A file of the text with some lines changed; its name."""
    for old, new in changes:
        assert f"\n{old}\n" in text, f"{old}\n{text}"
        text = text.replace(f"\n{old}\n", f"\n{new}\n", 1)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def compare(ours, tmp_path):
    """trace-diff of the recording and of ours with some lines changed."""
    def compare_with(changes=(), explained=EXPLAINED):
        path = written(tmp_path / "ours.cmds", ours, changes)
        return trace_diff("--explained", explained, TRACE, path)
    return compare_with


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
    ("| CREATE_EQ | eqc.oi | 0x1 | 0x0 | | PRM EQ context |", "a cell is empty"),
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


# ---- A report, and a personality of what is in it ----

SETUP = os.path.join(SOURCE, "app", "rdmapmd-setup", "rdmapmd-setup")


@pytest.fixture
def archive(whole_log, tmp_path):
    """Of that run, on a machine whose function is there and no more."""
    function = tmp_path / "machine" / "sys" / "bus" / "pci" / "devices" / "0000:01:00.0"
    function.mkdir(parents=True)
    for name, value in (("vendor", "0x15b3"), ("device", "0x1017"), ("class", "0x020000")):
        (function / name).write_text(value, encoding="utf-8")
    path = str(tmp_path / "report.tar.gz")
    subprocess.run([SETUP, "report", "01:00.0", "--root", str(tmp_path / "machine"), "--log", whole_log, "--output", path],
                   timeout=PATIENCE, check=True)
    return path


def test_a_report_of_a_run_has_its_commands_and_not_its_address(whole_log, ours, archive):
    with open(whole_log, encoding="utf-8") as file:
        address = re.search(r"firmware .*, ((?:\w\w:){5}\w\w)\n", file.read())[1]
    with tarfile.open(archive) as packed:
        texts = {os.path.basename(member.name): packed.extractfile(member).read().decode() for member in packed.getmembers()}
    assert re.search(r"firmware .*, <mac-\d+>\n", texts["log.txt"]) and texts["commands.cmds"].count("\ncommand ") == ours.count("\ncommand ")
    digits = address.replace(":", "")
    assert digits in re.sub(r"\s", "", ours) and digits not in re.sub(r"[\s:]", "", "".join(texts.values())).lower()


def test_the_personality_of_our_own_device_is_none(archive):
    assert run("trace/personality.py", archive) == (0, "/* card: as our device is by itself */\n")


def test_a_personality_says_what_card_it_is_of(archive, ours, tmp_path):
    # A bit is not as ours.
    path = tmp_path / "other.cmds"
    row = re.search(r"(?s)command 100 .*?\n(40 \S+ )(\S{8})\n", ours)
    path.write_text(ours.replace(row[1] + row[2], f"{row[1]}{int(row[2], 16) ^ 0x40000000:08x}"), encoding="utf-8")
    code, said = run("trace/personality.py", "--name", "other", "--where", 'a "card"', str(path))
    assert code == 0 and '#define OTHER_KNOWN { SOFTRNIC_KNOWN_TRACE, "a ?card?" }' in said and ".name = \"other\"" in said
    assert len(re.findall(r"\n\t\{ .* OTHER_KNOWN \},", said)) == 1 and "RNIC_CAP_GENERAL" in said, said
    assert run("trace/personality.py", "--name", "Other", archive)[0] == 2
    path.write_text("nothing\n", encoding="utf-8")
    assert run("trace/personality.py", str(path)) == (1, f"personality.py: {path}: trace-personality: no capabilities there\n")


# ---- What the device offers, and who has had it executed ----

def lines_of(path, column):
    """A table's lines: the first that begins with the text and what its cells are."""
    with open(path, encoding="utf-8") as file:
        line = next(line.rstrip("\n") for line in file if line.startswith(f"| {column} |"))
    return line, [cell.strip() for cell in line.strip("|").split("|")]


def test_capabilities_are_as_documented(ours, tmp_path):
    code, said = run("trace/capabilities.py", written(tmp_path / "ours.cmds", ours))
    assert code == 0, said


@pytest.mark.parametrize("name, row, said", [
    # The device says something else than the table: a bit went back to 0, or the table is of another time.
    ("general.roce", "| general.roce | 0 | main.c | somebody took it away |", "general.roce: the device says 0x1, the table 0\n"),
    ("general.striding_rq", "| general.striding_rq | 0x1 | en_main.c | - |", "general.striding_rq: 0 without a reason\n"),
    ("ethernet.lro_cap", "| ethernet.lro_cap | 0 | en_main.c | ? |", "ethernet.lro_cap: 0 without a reason\n"),
    ("general.cq_oi", "", "general.cq_oi: the device says 0x1, the table nothing\n"),
    # A 0 is in no log: that its row is gone with the bit is known by the list of those that are read.
    ("general.dct", "", "general.dct: the device says 0, the table nothing\n"),
    ("general.cq_oi", "| general.cq_oi | 0x1 | cq.c | - |",
     "general.cq_oi: read in cq.c, and not listed in capabilities.txt\n"),
    ("general.roce", "| general.roce | 0x1 | - | - |", "general.roce: read in -, and listed in capabilities.txt\n"),
    ("general.rc", "| general.reliable | 0x1 | - | - |", "general.reliable: the device says 0, the table 0x1\n"),
], ids=["other answer", "gone", "no reason", "no row", "no row of a 0", "not listed", "listed", "other name"])
def test_a_capability_that_is_not_as_documented_is_found(ours, tmp_path, name, row, said):
    with open(FOREIGN, encoding="utf-8") as file:
        document = file.read()
    old = lines_of(FOREIGN, name)[0]
    # A row that is gone leaves no empty line, which would be the table's end.
    text = document.replace(f"{old}\n", f"{row}\n" if row else "")
    path = written(tmp_path / "foreign.md", text)
    log = written(tmp_path / "ours.cmds", ours)
    code, text = run("trace/capabilities.py", "--document", path, log)
    assert code == 1 and said in text, text


def test_new_answers_are_taken_over(ours, tmp_path):
    old = lines_of(FOREIGN, "general.cq_oi")[0]
    with open(FOREIGN, encoding="utf-8") as file:
        path = written(tmp_path / "foreign.md", file.read(), [(old, "| general.cq_oi | 0 | - | it went |")])
    log = written(tmp_path / "ours.cmds", ours)
    assert run("trace/capabilities.py", "--document", path, "--write", log)[0] == 1
    code, said = run("trace/capabilities.py", "--document", path, log)
    assert code == 0 and lines_of(path, "general.cq_oi")[1][:2] == ["general.cq_oi", "0x1"], said


def test_a_row_of_a_0_that_is_put_back_wants_the_rest_filled_in(ours, tmp_path):
    with open(FOREIGN, encoding="utf-8") as file:
        path = written(tmp_path / "foreign.md", file.read().replace(f"{lines_of(FOREIGN, 'general.dct')[0]}\n", ""))
    log = written(tmp_path / "ours.cmds", ours)
    assert run("trace/capabilities.py", "--document", path, "--write", log)[0] == 1
    code, said = run("trace/capabilities.py", "--document", path, log)
    assert code == 1 and said.startswith("general.dct: 0 without a reason\ngeneral.dct: read in ?, and listed in "), said
    assert said.endswith(", 2 lines wrong\n"), said
    assert lines_of(path, "general.dct")[1] == ["general.dct", "0", "?", "?"]


def test_each_command_of_the_device_stands_in_the_table():
    code, said = run("trace/exercised.py")
    assert code == 0, said


@pytest.mark.parametrize("change, said", [
    (lambda cells: ["NO_COMMAND", *cells[1:]], "QUERY_SQ: the device executes it, and the table has no row of it\n"),
    (lambda cells: [*cells[:-1], "yes"], "QUERY_SQ: the recording has it the other way round\n"),
    (lambda cells: [*cells[:1], "perhaps", *cells[2:]], "QUERY_SQ: neither yes nor no nor ? in the column unit, device\n"),
    (lambda cells: [*cells[:1], "?", *cells[2:]], "the column unit, device is filled in part\n"),
], ids=["no row", "recording", "word", "in part"])
def test_a_command_that_is_not_as_documented_is_found(tmp_path, change, said):
    old, cells = lines_of(FOREIGN, "QUERY_SQ")
    with open(FOREIGN, encoding="utf-8") as file:
        path = written(tmp_path / "foreign.md", file.read(), [(old, f"| {' | '.join(change(cells))} |")])
    code, text = run("trace/exercised.py", "--document", path)
    assert code == 1 and said in text, text


def test_a_column_is_filled_from_a_log(tmp_path):
    """From dumps as the device makes them; what it refused does not count, nor what others than the column's have done."""
    def answer(name, status):
        return f"softrnic: a:\ndump command data {name}(0x0) OUTPUT\n000: {status} 00000000 00000000 00000000\n\n"

    with open(FOREIGN, encoding="utf-8") as file:
        path = written(tmp_path / "foreign.md", file.read())
    log = written(tmp_path / "log", answer("QUERY_SQ", "00000000") + answer("QUERY_RQ", "03000000") +
                  "dump command MLX5_CMD_OP_NOP(0x80d) OUTPUT\n" +
                  "".join(f"0{i}0: {'00' if i == 2 else '07'}000000 00000000 00000000 00000000\n" for i in range(4)))
    before = {name: lines_of(path, name)[1] for name in ("QUERY_SQ", "QUERY_RQ", "NOP")}
    assert run("trace/exercised.py", "--document", path, "--write", f"Linux 6.1={log}")[0] == 0
    for name, word in (("QUERY_SQ", "yes"), ("QUERY_RQ", "no"), ("NOP", "yes")):
        cells = lines_of(path, name)[1]
        assert cells == [*before[name][:3], word, *before[name][4:]]
    # One log more takes nothing away.
    more = written(tmp_path / "more", answer("QUERY_RQ", "00000000"))
    assert run("trace/exercised.py", "--document", path, "--write", "--add", f"Linux 6.1={more}")[0] == 0
    assert [lines_of(path, name)[1][3] for name in before] == ["yes", "yes", "yes"]
    assert run("trace/exercised.py", "--document", path, "--write", f"Linux 6.1={more}")[0] == 0
    assert [lines_of(path, name)[1][3] for name in before] == ["no", "yes", "no"]
    nothing = written(tmp_path / "nothing", "no command here\n")
    assert run("trace/exercised.py", "--document", path, "--write", f"Linux 6.1={nothing}")[0] == 2
    assert run("trace/exercised.py", "--document", path, "--write", f"Windows={log}")[0] == 2
