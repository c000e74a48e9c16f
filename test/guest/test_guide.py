# SPDX-License-Identifier: BSD-3-Clause
"""What doc/guides/guests.md says, done: its lines as they stand, but for the folder of the build and that of the sockets."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from guest.machine import Unavailable, prepare

SOURCE = os.environ["RDMAPMD_SOURCE"]
GUIDE = os.path.join(SOURCE, "doc", "guides", "guests.md")
# Seconds; run.py's own limit comes before.
LIMIT = 300


def lines(folder):
    with open(GUIDE, encoding="utf-8") as file:
        text, = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
    assert text.count("build/app/") == 1 and text.count("/tmp/rnic") == 4
    return text.replace("build/", os.environ["RDMAPMD_BUILD"] + "/").replace("/tmp/rnic", folder)


def run(folder, log):
    """The exit code, and what was printed; nothing of it goes on."""
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(["bash", "-e", "-c", lines(folder)], cwd=SOURCE, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=file, start_new_session=True)
    try:
        code = process.wait(LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        return code, file.read()


def test_the_lines_of_the_guide(tmp_path):
    try:
        prepare("qemu", "6.1", "verbs")
    except Unavailable as error:
        pytest.skip(f"no guest here: {error}")
    # Short enough for a socket's path, and not below a folder that others may write to.
    folder = tempfile.mkdtemp(prefix="rnic-", dir="/run" if os.geteuid() == 0 else None)
    try:
        code, said = run(f"{folder}/s", tmp_path / "log")
        left = os.listdir(f"{folder}/s")
    finally:
        shutil.rmtree(folder)
    print(said)
    assert code == 0 and re.search(r"^guest: status 0 after", said, re.M) and "invalid data" not in said
    for pattern in (r"^link (\w+)/1 state ACTIVE ", r"^hca_id:\t(\w+)$"):
        assert re.findall(pattern, said, re.M) == ["mlx5_0", "mlx5_1"]
    assert len(re.findall(r"^819200 bytes in [0-9.]+ seconds", said, re.M)) == 2
    assert len(re.findall(r"^100 iters in ", said, re.M)) == 2
    assert left == []
