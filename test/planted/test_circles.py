#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/circles.py sees a call, an #include and a declaration put back, in a small house compiled on the spot."""

import json
import os
import subprocess
import zlib

CIRCLES = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "circles.py")

FLOORS = """
[.]
held = yes
floors =
    app/program
    lib/house lib/other

[lib/house]
held = {held}
public = door.h
shared = {shared}
floors =
    .
    upper
    ground left

[lib/other]
held = no
"""

# Three floors, each calls the one below; two folders side by side on the ground.
HOUSE = {
    "lib/house/door.h": "void top(void);\n",
    "lib/house/door.c": '#include "upper/upper.h"\n#include "door.h"\nvoid top(void) { upper(); }\n',
    "lib/house/upper/upper.h": "void upper(void);\n",
    "lib/house/upper/upper.c": '#include "ground/ground.h"\n#include "upper.h"\nvoid upper(void) { ground(); }\n',
    "lib/house/ground/ground.h": "void ground(void);\n",
    "lib/house/ground/ground.c": '#include "ground.h"\nvoid ground(void) { }\n',
    "lib/house/left/left.c": "void left(void); void left(void) { }\n",
    "lib/house/left/right.c": "void right(void); void right(void) { }\n",
    "lib/other/other.c": "void other(void); void other(void) { }\n",
    "app/program/main.c": "void top(void); int main(void) { top(); return 0; }\n",
}


def compiled(root, name, text):
    """An object of a source, in a folder that all tests share: most of their sources are the same."""
    output = os.path.join(root.parent, f"{name.replace('/', '_')}-{zlib.crc32(text.encode()):08x}.o")
    if not os.path.exists(output):
        subprocess.run(["gcc", "-I../lib/house", "-c", "../" + name, "-o", output], cwd=root / "build", check=True,
                       timeout=60)
    return output


def look(root, held="yes", shared="", uncompiled=(), **changed):
    """(exit code, what it printed) of a house of which some files differ; / and . are _ in their names."""
    files = {name: changed.get(name.replace("/", "_").replace(".", "_"), text) for name, text in HOUSE.items()}
    commands = []
    os.makedirs(root / "build", exist_ok=True)
    for name, text in files.items():
        os.makedirs((root / name).parent, exist_ok=True)
        (root / name).write_text(text)
    for name in files:
        if name.endswith(".c") and name not in uncompiled:
            commands.append({"directory": str(root / "build"), "command": "gcc -I../lib/house", "file": "../" + name,
                             "output": compiled(root, name, files[name])})
    (root / "build" / "compile_commands.json").write_text(json.dumps(commands))
    (root / "floors.ini").write_text(FLOORS.format(held=held, shared=shared))
    done = subprocess.run([CIRCLES, "--root", root, "--floors", root / "floors.ini", root / "build"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    print(done.stdout)
    return done.returncode, done.stdout


def test_a_house_in_order_has_nothing(tmp_path):
    code, said = look(tmp_path)
    assert code == 0
    assert said == ("  7 objects, 3 calls, 4 includes; circles: 0 of objects, 0 of rooms, 0 of folders; "
                    "0 edges go up; 0 headers declare for several files\n")


BACK = "void right(void); void left(void); void {0}(void) {{ {1}(); }}\n"


def test_two_objects_that_call_each_other_are_a_circle(tmp_path):
    code, said = look(tmp_path, lib_house_left_left_c=BACK.format("left", "right"),
                      lib_house_left_right_c=BACK.format("right", "left"))
    assert code == 1
    assert "  error: a circle of 2 objects of lib/house: left/left.c left/right.c\n" in said
    assert "left/left.c -> left/right.c (right) -> left/left.c (left)" in said


def test_a_weak_reference_is_a_call(tmp_path):
    weak = "void {1}(void) __attribute__((weak)); void {0}(void); void {0}(void) {{ if ({1}) {1}(); }}\n"
    code, said = look(tmp_path, lib_house_left_left_c=weak.format("left", "right"),
                      lib_house_left_right_c=weak.format("right", "left"))
    assert code == 1
    assert "a circle of 2 objects of lib/house" in said


def test_a_pointer_in_a_table_is_a_call(tmp_path):
    table = "void left(void); void right(void); void (*const table[])(void) = { left }; void right(void) { }\n"
    code, said = look(tmp_path, lib_house_left_left_c=BACK.format("left", "right"), lib_house_left_right_c=table)
    assert code == 1
    assert "a circle of 2 objects of lib/house" in said


def test_a_library_that_is_not_held_is_warned(tmp_path):
    code, said = look(tmp_path, held="no", lib_house_left_left_c=BACK.format("left", "right"),
                      lib_house_left_right_c=BACK.format("right", "left"))
    assert code == 0
    assert "  warning: a circle of 2 objects of lib/house" in said


def test_folders_that_call_each_other_by_different_files_are_a_circle(tmp_path):
    code, said = look(tmp_path, lib_house_ground_ground_c='#include "ground.h"\nvoid left(void);\n'
                      "void ground(void) { left(); }\n",
                      lib_house_left_right_c="void ground(void); void right(void); void right(void) { ground(); }\n")
    assert code == 1
    assert "a circle of 2 folders of lib/house: ground left\n" in said
    assert "0 of objects" in said


def test_headers_that_include_each_other_are_a_circle(tmp_path):
    header = '#pragma once\n#include "{0}/{0}.h"\nvoid {1}(void);\n'
    code, said = look(tmp_path, lib_house_ground_ground_h=header.format("upper", "ground"),
                      lib_house_upper_upper_h=header.format("ground", "upper"))
    assert code == 1
    assert "a circle of 2 rooms by #include of lib/house: ground/ground upper/upper\n" in said
    assert "lib/house/ground/ground.h includes up, to lib/house/upper/upper.h: upper/upper.h\n" in said


def test_a_call_that_goes_up_is_seen_without_a_circle(tmp_path):
    code, said = look(tmp_path, lib_house_left_left_c="void upper(void); " + BACK.format("left", "upper"))
    assert code == 1
    assert "  error: lib/house/left/left.c calls up, to lib/house/upper/upper.c: upper\n" in said
    assert "0 of objects, 0 of rooms, 0 of folders; 1 edges go up" in said


def test_the_own_door_may_be_included_from_any_floor(tmp_path):
    code, _ = look(tmp_path, lib_house_ground_ground_c='#include "ground.h"\n#include "door.h"\n'
                   "void ground(void) { }\n")
    assert code == 0


def test_a_header_that_declares_for_another_file_is_seen(tmp_path):
    header = ('struct left; /* right() */\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
              "void ground(void);\nvoid {}(void);\n")
    code, said = look(tmp_path, lib_house_ground_ground_h=header.format("left"))
    assert code == 1
    assert "  error: lib/house/ground/ground.h declares for 2 files: ground/ground.c left/left.c\n" in said
    code, _ = look(tmp_path, lib_house_ground_ground_h=header.format("other"))
    assert code == 0


def test_a_header_that_is_listed_declares_for_so_many_files(tmp_path):
    ground = "ground/ground.h"
    header = "void ground(void);\nvoid left(void);\n"
    code, _ = look(tmp_path, shared=f"{ground}:2", lib_house_ground_ground_h=header)
    assert code == 0
    code, said = look(tmp_path, shared=f"{ground}:2", lib_house_ground_ground_h=header + "void right(void);\n")
    assert code == 1
    assert f"  error: lib/house/{ground} declares for 3 files: ground/ground.c left/left.c left/right.c\n" in said
    code, said = look(tmp_path, shared=f"{ground}:3", lib_house_ground_ground_h=header)
    assert code == 1
    assert f"  error: lib/house/{ground} declares for 2 files only: floors.ini allows 3\n" in said
    code, said = look(tmp_path, shared=f"{ground}:2 ground/gone.h:2", lib_house_ground_ground_h=header)
    assert code == 1
    assert "  error: lib/house/ground/gone.h: floors.ini has it, and it is not there\n" in said
    code, said = look(tmp_path, shared=ground, lib_house_ground_ground_h=header)
    assert code == 2


def test_a_private_header_is_of_four_files_at_most(tmp_path):
    parts = "".join(f"void part{n}(void);\n" for n in range(5))
    halves = {f"lib_house_{name.replace('/', '_')}_c": f"void part{n}(void); void part{n}(void) {{ }}\n"
              for n, name in enumerate(("ground/ground", "left/left", "left/right", "upper/upper"))}
    header = tmp_path / "lib" / "house" / "upper" / "upper_private.h"
    header.parent.mkdir(parents=True)
    header.write_text(parts)
    _, said = look(tmp_path, **halves)
    assert "upper_private.h" not in said
    code, said = look(tmp_path, **halves, lib_house_door_c="void part4(void); void part4(void) { }\n")
    assert code == 1
    assert "  error: lib/house/upper/upper_private.h declares for 5 files: door.c ground/ground.c " in said


def test_a_library_that_uses_a_program_is_seen(tmp_path):
    code, said = look(tmp_path, lib_other_other_c="int main(void); void other(void); void other(void) { main(); }\n")
    assert code == 1
    assert "  error: lib/other/other.c calls up, to app/program/main.c: main\n" in said


def test_what_was_not_built_is_an_error_in_any_library(tmp_path):
    code, said = look(tmp_path, held="no", uncompiled=["lib/house/left/left.c"])
    assert code == 1
    assert "  error: lib/house/left/left.c: no object in the build\n" in said


def test_a_build_of_nothing_is_an_error(tmp_path):
    code, said = look(tmp_path, uncompiled=list(HOUSE))
    assert code == 1
    assert said.count("no object in the build") == 7


def test_a_folder_without_a_floor_is_named(tmp_path):
    (tmp_path / "lib" / "house" / "attic").mkdir(parents=True)
    (tmp_path / "lib" / "house" / "attic" / "attic.h").write_text("void attic(void);\n")
    code, said = look(tmp_path)
    assert code == 1
    assert "  error: lib/house: folder attic has no floor\n" in said
