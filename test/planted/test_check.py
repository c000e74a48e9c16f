#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/check.sh sees what is wrong in a small house, in each of its corners."""

import os
import re
import shutil
import subprocess

DEVTOOLS = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools")
# git's list of files, which is all that the script asks of it, dozens of times: * goes over folders there, too.
GIT = """#!/bin/bash
while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
shift || true
[ $# -gt 0 ] || set -- "*"
for pattern; do
	where+=(-o -path "./$pattern")
done
find . -type f "(" "${where[@]:1}" ")" -printf "%P\\n"
"""

EVERYWHERE = ("", "app/", "devtools/", "drivers/", "examples/", "lib/prm/", "lib/softrnic/", "lib/softrnic/engine/", "test/",
              "test/device/")


def look(root, check, files):
    """(exit code, what check.sh said) of a house of these files: {name: text}."""
    for name in ("check.sh", "lib.sh", "docstrings.py"):
        os.makedirs(root / "devtools", exist_ok=True)
        shutil.copy(os.path.join(DEVTOOLS, name), root / "devtools" / name)
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin" / "git").write_text(GIT)
    (root / "bin" / "git").chmod(0o755)
    for name, text in files.items():
        os.makedirs(root / os.path.dirname(name), exist_ok=True)
        (root / name).write_text(text)
    done = subprocess.run([root / "devtools" / "check.sh", check], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False,
                          env={**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}"})
    print(done.stdout)
    return done.returncode, done.stdout


def function(lines):
    return "void\nplanted(void)\n{\n" + "\t;\n" * lines + "}\n"


def test_a_function_of_more_than_60_lines_is_an_error_everywhere(tmp_path):
    code, _ = look(tmp_path, "size", {folder + "x.c": function(60) for folder in EVERYWHERE})
    assert code == 0
    code, said = look(tmp_path, "size", {folder + "x.c": function(61) for folder in EVERYWHERE})
    assert code == 1
    for folder in EVERYWHERE:
        assert f"  {folder}x.c:3: a function of 61 lines\n" in said


def test_a_file_of_more_than_800_lines_is_an_error_everywhere(tmp_path):
    names = [f"{folder}x.{kind}" for folder in EVERYWHERE for kind in ("c", "h", "py", "sh")]
    code, _ = look(tmp_path, "size", {name: "\n" * 800 for name in names})
    assert code == 0
    code, said = look(tmp_path, "size", {name: "\n" * 801 for name in names})
    assert code == 1
    for name in names:
        assert f"  {name}: 801 lines; look for the second object in it\n" in said


def test_tests_that_look_behind_the_door_of_the_software_rnic_are_counted(tmp_path):
    with open(os.path.join(DEVTOOLS, "check.sh"), encoding="utf-8") as file:
        listed = re.search(r"^declare -A behind_the_door=\((.*)\)$", file.read(), re.MULTILINE)[1]
    behind, door = '#include "softrnic/base/device.h"\n', '#include "softrnic/softrnic.h"\n'
    files = {"test/unit/x.c": door, "lib/softrnic/base/device.h": "", "drivers/net/rnic/x.h": ""}
    for folder, most in re.findall(r"\[([^]]*)\]=(\d+)", listed):
        files |= {f"{folder}/{n}.c": behind for n in range(int(most))}
    code, _ = look(tmp_path, "includes", files)
    assert code == 0
    for name, text, said in (("test/unit/x.c", behind, "test/unit: 1 files include headers of lib/softrnic beside softrnic.h, and 0 may"),
                             ("test/device/more.h", behind, "test/device: "), ("test/driver/0.c", door, "test/driver: 0 files")):
        code, printed = look(tmp_path, "includes", files | {name: text})
        assert code == 1
        assert said in printed
        (tmp_path / name).unlink()


def test_what_documents_say_of_the_house(tmp_path):
    """READMEs are short and name the files of their folder, public headers have a source, the first pages are narrow."""
    with open(os.path.join(DEVTOOLS, "check.sh"), encoding="utf-8") as file:
        listed = re.search(r"^declare -A long_readmes=\((.*)\)$", file.read(), re.MULTILINE)[1]
    house = {"README.md": "\u00e4" * 120 + "\n", "doc/verified.md": "\u00e4" * 120 + "\n",
             "lib/softrnic/softrnic.h": '/**\n * @file\n * Source: "Section".\n */\n',
             "lib/softrnic/README.md": "`softrnic.h`, `x.c`\n" + "\n" * 149, "lib/softrnic/x.c": "",
             "lib/softrnic/deep/x_private.h": ""}
    house |= {name: "\n" * int(most) for name, most in re.findall(r"\[([^]]*)\]=(\d+)", listed)}
    code, _ = look(tmp_path, "docs", house)
    assert code == 0
    code, said = look(tmp_path, "docs", house | {
        "README.md": "\n" + "\u00e4" * 121 + "\n", "doc/verified.md": "\u00e4" * 121 + "\n", "lib/softrnic/softrnic.h": "",
        "lib/softrnic/README.md": "softrnic, xy, x_y\n" + "\n" * 150, "lib/prm/cq.h": "", "app/none/main.c": ""})
    assert code == 1
    assert sorted(line for line in said.splitlines() if line.startswith("  ") and not line.endswith("not said")) == [
        "  README.md:2: 121 columns, and 120 are allowed",
        "  app/none/main.c: is not named in app/none/README.md",
        "  doc/verified.md:1: 121 columns, and 120 are allowed",
        "  lib/prm/cq.h: is not named in lib/prm/README.md",
        "  lib/softrnic/README.md: 151 lines, and 150 are allowed: move depth to doc/",
        "  lib/softrnic/deep/x_private.h: is not named in lib/softrnic/README.md",
        '  lib/softrnic/softrnic.h: no "Source:", a specification by section',
        "  lib/softrnic/x.c: is not named in lib/softrnic/README.md"]


def test_a_static_function_has_two_words(tmp_path):
    code, _ = look(tmp_path, "tokens", {"lib/prm/x.c": "static int\nx_find(void)\n{\n}\nint\nfind(void)\n{\n}\n"})
    assert code == 0
    names = ("lib/prm/x.c", "drivers/net/rnic/x.h")
    code, said = look(tmp_path, "tokens", {name: "\nstatic inline int\nfind16(void)\n{\n}\n" for name in names})
    assert code == 1
    for name in names:
        assert f"  {name}:3: find16(void): a static function of one word: object and verb\n" in said


PAGES = ("app/rdmo-worker/options.c", "app/softrnicd/options.c", "app/test-rdma-perf/options.c", "app/test-rdma-perf/options_help.c",
         "doc/man/dpdk-test-rdma-perf.1", "doc/man/net_rnic.7", "doc/man/rdmo-worker.8", "doc/man/softrnicd.8",
         "drivers/net/rnic/base/devargs.c", "drivers/net/rnic/telemetry.c")


def test_options_that_the_page_or_help_lacks_are_found(tmp_path):
    files = {}
    for name in PAGES:
        with open(os.path.join(DEVTOOLS, "..", name), encoding="utf-8") as file:
            files[name] = file.read()
    code, _ = look(tmp_path, "pages", files)
    assert code == 0
    page, text = "doc/man/dpdk-test-rdma-perf.1", "app/test-rdma-perf/options_help.c"
    for name, old, new in ((page, ".BI \\-\\-plot=", ".BI \\-\\-drawing="), (page, ".BR \\-e ,\\ ", ".BR "),
                           (text, "  -Q, --cq-mod=N", "      --cq-mod=N"), (text, "--use-srq  ", "--use_srq  ")):
        assert files[name].count(old) == 1
        files[name] = files[name].replace(old, new)
    code, said = look(tmp_path, "pages", files)
    assert code == 1 and said.count("has other options than there are") == 2
    assert all(f"\n{line}\n" in said for line in ("> --drawing", "< --plot", "< -e", "< -Q", "> --use_srq", "< --use-srq"))
