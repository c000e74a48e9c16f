# SPDX-License-Identifier: BSD-3-Clause
"""The same scripted run over both accesses: the same commands, WQEs and CQEs, to the last bit that can be the same."""

import os
import re
import subprocess

BUILD = os.environ["RDMAPMD_BUILD"]
RUN = os.path.join(BUILD, "test", "access", "access_run")
SAME_ADDRESSES = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "no-aslr.sh")
DAEMON = os.path.join(BUILD, "app", "softrnicd", "softrnicd")
DEVICE = "seed=1,mac=02:00:00:00:00:0a"
# What the control thread asks when the link changes: when that is, and how often, is a matter of timing. What an event queue's
# indices are is one, too.
ASKED_AT_ANY_TIME = {"ACCESS_REG", "QUERY_EQ", "QUERY_VPORT_STATE"}
BLOCK_BYTES = 0x240
# The upper half of all device addresses of these runs.
IOVA_HIGH = "0000105a"


def run(devargs, dump):
    # Process addresses stand in keys and WQEs. EAL has its memory at one place, unless a sanitizer has its own there.
    subprocess.run([SAME_ADDRESSES, RUN, devargs, dump], check=True, timeout=200)
    with open(dump, encoding="utf-8") as text:
        return Dump(text.read())


def without_what_differs(offset, words):
    """Tokens, signatures and addresses of mailboxes depend on which commands crossed each other."""
    if offset == 0x00:
        words[2:4] = ["mailbox", "mailbox"]
    elif offset == 0x30:
        words[0:2], words[3] = ["mailbox", "mailbox"], "token"
    elif offset >= 0x40 and (offset - 0x40) % BLOCK_BYTES == 0x230:
        words[0:2], words[3] = ["next", "next"], "token"
    return words


class Dump:
    """Commands with their direction, WQEs, and CQEs by queue, each a list of normalised texts."""

    def __init__(self, text):
        self.commands = []
        self.iovas = {}
        self.pages = {}
        self.asked = set()
        self.wqes = []
        self.cqes = {}
        for part in re.split(r"^(?=dump )", text, flags=re.M)[1:]:
            lines = [line for line in part.splitlines() if line and "net_rnic" not in line]
            head = lines[0].split()
            if head[1] == "command":
                self.command(head[2].split("(")[0], head[3], lines[1:])
            elif head[1] == "wqe":
                self.wqes.append(self.wqe(lines[1:]))
            elif head[1] == "cqe":
                self.cqes.setdefault(head[4], []).append(self.cqe(lines[1:]))

    def command(self, name, direction, lines):
        words = []
        for line in lines:
            if ": " in line:
                offset, row = line.split(": ")
                words += without_what_differs(int(offset, 16), row.split())
        if name not in ASKED_AT_ANY_TIME:
            self.commands.append((name, direction, self.without_addresses(name, words)))
        elif direction == "INPUT":
            self.asked.add((name, *words))

    def without_addresses(self, name, words):
        """Where memory is mapped depends on what was mapped before: each address becomes its number. Pages of a key are large,
        and may begin with memory of others: whose, depends too."""
        iovas = self.pages if name == "CREATE_MKEY" else self.iovas
        for i, word in enumerate(words[:-1]):
            if word == IOVA_HIGH:
                number = iovas.setdefault(words[i + 1], len(iovas))
                words[i:i + 2] = ["iova", number]
        return words

    @staticmethod
    def wqe(lines):
        """Which mbuf is the next free one depends on when the last one came back."""
        raw = [line.split() for line in lines if not line.startswith(" ")]
        raw[2][2:4] = ["address", "address"]
        return raw, [re.sub(r"address 0x\w+", "address", line) for line in lines
                     if line.startswith(" ")]

    @staticmethod
    def cqe(lines):
        raw = [line.split() for line in lines if not line.startswith(" ")]
        raw[3][0:2] = ["time", "stamp"]
        return raw, [re.sub(r"timestamp 0x\w+", "timestamp", line) for line in lines
                     if line.startswith(" ")]


def test_both_accesses_see_the_same(tmp_path):
    direct = run(DEVICE, tmp_path / "direct")
    folder = tmp_path / "s"
    daemon = subprocess.Popen([DAEMON, "--dir", folder, "--device", f"name=a,{DEVICE}"],
                              stdout=subprocess.PIPE, text=True)
    try:
        path = daemon.stdout.readline().split()[1]
        remote = run(f"socket={path}", tmp_path / "remote")
    finally:
        daemon.terminate()
        assert daemon.wait(60) == 0

    # Command queue, mailboxes, pages, rings, records, the pool.
    assert len(direct.iovas) > 30
    assert len(direct.commands) > 100 and len(direct.wqes) == 100
    # One of each 32 frames sent and of the NOP that ends them; each one received.
    assert sorted(map(len, direct.cqes.values())) == [4, 100]
    for mine, theirs in zip(direct.commands, remote.commands):
        assert mine == theirs
    assert len(direct.commands) == len(remote.commands)
    assert direct.asked == remote.asked
    assert direct.wqes == remote.wqes
    assert direct.cqes == remote.cqes


def test_the_comparison_can_fail(tmp_path):
    """A device that offers more is another run."""
    direct = run(DEVICE, tmp_path / "one")
    other = run(DEVICE + ",bf=1", tmp_path / "two")
    assert direct.commands != other.commands
