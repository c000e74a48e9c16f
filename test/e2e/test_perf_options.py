# SPDX-License-Identifier: BSD-3-Clause
"""
dpdk-test-rdma-perf: that options do what they say, as the driver sees it: its commands, the requests posted and the completions polled
are in its log. Not here: -a, -c, -n, -s (rows of the table), -d, -F, -p, -u (test_perf.py), -e, -D (daemon/test_perf.py); -x, as a port has one
address until a program adds some: the index that it has not is refused.
"""

import os
import re
import sys

import pytest

from e2e.perf import loopback

sys.path.insert(0, os.path.join(os.environ["RDMAPMD_SOURCE"], "app", "rdmapmd-setup"))

from rdmapmd_setup import dumps  # noqa: E402  pylint: disable=wrong-import-position

ITERS, WARM_UP = 20, 16  # messages of a queue pair, of 64 KiB
ALLOC_PD, CREATE_MKEY, CREATE_CQ, CREATE_QP, INIT2RTR, RTR2RTS, CREATE_RMP = 0x800, 0x200, 0x400, 0x500, 0x503, 0x504, 0x90c
QPC = 0x18  # where it is in what these commands are given
ENTRY = re.compile(r"^(softrnic: .*\n)?dump ([wc]qe) .*\n(?:[0-9a-f]{8} .*\n)+((?:  .*\n)+)", re.M)


class Logged:
    """A run of which everything is in the log."""

    def __init__(self, *args, types=("pmd.net.rnic.dump",), **how):
        self.done = loopback(*args, eal=[f"--log-level={name}:debug" for name in types], **how)
        self.commands = dumps.read_lines(self.done.err.splitlines())
        # The driver's own, in their order, each as its decoded lines; and the device's.
        self.entries = [(kind, text) for by, kind, text in ENTRY.findall(self.done.err) if not by]
        self.executed = [bool(by) for by, kind, _ in ENTRY.findall(self.done.err) if kind == "wqe"]
        self.posted = [text for kind, text in self.entries if kind == "wqe"]
        self.completed = [text for kind, text in self.entries if kind == "cqe" and text.startswith("  requester(")]

    def count(self, opcode):
        return sum(command.opcode == opcode for command in self.commands)

    def fields(self, opcode, at, high, low):
        """What those commands have in some bits of the 32 at a byte of theirs."""
        words = (int.from_bytes(command.input.bytes[at:at + 4], "big") for command in self.commands if command.opcode == opcode)
        return sorted(word >> low & (1 << high - low + 1) - 1 for word in words)

    def queues(self):
        """Those that requests were posted to."""
        return {re.search(r" qpn (0x\w+) ", text)[1] for text in self.posted}

    def under_way(self):
        """How many requests there were at most that had not completed; each completion is one's."""
        most = now = 0
        for kind, text in self.entries:
            now += 1 if kind == "wqe" else -text.startswith("  requester(")
            most = max(most, now)
        return most


@pytest.fixture(name="plain", scope="module")
def fixture_plain():
    """A run with none of these options."""
    return run()


def run(*args, **how):
    logged = Logged("-n", str(ITERS), *args, **how)
    assert logged.done.code == 0 and len(logged.done.rows()) == 1, logged.done
    return logged


def test_without_options_each_message_is_posted_once_and_completes(plain):
    assert len(plain.posted) == len(plain.completed) == WARM_UP + ITERS
    # An end each.
    assert plain.count(CREATE_QP) == plain.count(CREATE_CQ) == 2 and len(plain.queues()) == 1
    assert plain.under_way() == ITERS


@pytest.mark.long
def test_qp_and_bidirectional(plain):
    logged = run("-q", "3")
    assert len(logged.posted) == 3 * len(plain.posted) and len(logged.queues()) == 3 and logged.count(CREATE_QP) == 6
    assert logged.count(CREATE_CQ) == plain.count(CREATE_CQ)
    logged = run("-b")
    assert len(logged.posted) == 2 * len(plain.posted) and len(logged.queues()) == logged.count(CREATE_QP) == 2


@pytest.mark.long
def test_lcores():
    """A CQ each."""
    logged = run("-q", "4", "--lcores=2", lcores="(0-3)@(0-1)")
    assert (logged.count(CREATE_QP), logged.count(CREATE_CQ)) == (8, 4)


@pytest.mark.long
def test_tx_depth():
    assert run("-t", "5").under_way() == 5


@pytest.mark.long
def test_cq_mod():
    logged = run("-Q", "4")
    assert len(logged.posted) == WARM_UP + ITERS and len(logged.completed) == (WARM_UP + ITERS) // 4


@pytest.mark.long
def test_post_list():
    """The device learns of a list when all of it is there, and executes none of it before. One by one it would, some of so many."""
    logged = run("-l", "64", "-t", "64", "-n", "640", types=("pmd.net.rnic.dump", "softrnic.queue"))
    posted = executed = 0
    for by_device in logged.executed:
        if by_device:
            executed += 1
            assert posted >= (executed + 63) // 64 * 64, f"{executed} executed, {posted} posted"
        else:
            posted += 1
    # The warm-up is a list as well. A completion for each.
    assert posted == executed == 64 + 640 and len(logged.completed) == posted // 64


@pytest.mark.long
def test_inline_size(plain):
    assert all("  data: byte_count 0x10000 " in text and "inline" not in text for text in plain.posted)
    small = run("-s", "64", "-I", "64")
    assert small.posted and all("  inline: byte_count 0x40\n" in text for text in small.posted)
    small = run("-s", "64", "-I", "63")
    assert small.posted and all("  data: byte_count 0x40 " in text for text in small.posted)
    # perftest's words, and its number.
    datagrams = run("--op=send", "-c", "UD", "-s", "64", "-I", "900")
    assert "Setting inline size to 884 (Max inline size in UD)" in datagrams.done.err, datagrams.done


@pytest.mark.long
def test_outs():
    """Of READs: what both ends' queue pairs ask for and answer, as powers of two."""
    for args, power in ((("-o", "4"), 2), (("-o", "1"), 0)):
        logged = run("--op=read", *args)
        assert logged.fields(RTR2RTS, QPC + 0x70, 23, 21) == logged.fields(INIT2RTR, QPC + 0x90, 23, 21) == [power] * 2


@pytest.mark.long
def test_rx_depth_and_use_srq():
    """Of SENDs: queue pairs with room for so many; an SRQ instead, at the end that receives."""
    logged = run("--op=send", "-r", "8")
    assert logged.fields(CREATE_QP, QPC + 0x08, 22, 19) == [0, 3] and logged.count(CREATE_RMP) == 0
    logged = run("--op=send", "-r", "8", "--use-srq")
    assert logged.fields(CREATE_QP, QPC + 0x08, 22, 19) == [0, 0] and logged.count(CREATE_RMP) == 1


@pytest.mark.long
def test_mtu(plain):
    """As the manual counts: 1 are 256 bytes, 3 are 1024."""
    assert plain.fields(INIT2RTR, QPC + 0x08, 31, 29) == [3, 3]
    assert run("-m", "256").fields(INIT2RTR, QPC + 0x08, 31, 29) == [1, 1]


# Each asks for more memory than there is, too: whoever takes that first says something else.
LARGE = ("-s", "200M")
REFUSED = [
    ((*LARGE, "-I", "900", "-t", "15000"), "bytes of inline data in such a send queue"),
    (("-s", "1600M", "-m", "1024"), "bytes in a message"),
    ((*LARGE, "-x", "60"), "--gid-index=60: the port has no such address"),
    ((*LARGE, "-q", "4000", "--op=send", "-r", "16384", "-n", "20000"), "entries in a completion queue"),
    ((*LARGE, "-q", "16384"), "queue pairs"),
]


@pytest.mark.long
@pytest.mark.parametrize("args, words", REFUSED, ids=[words for _, words in REFUSED])
def test_what_the_device_cannot_is_refused_before_anything_is_made(args, words, plain):
    refused = Logged(*args)
    assert refused.done.code == 1 and words in refused.done.err and "taken for" not in refused.done.err, refused.done
    # The driver has a protection domain of its own; a run that goes on makes one of each for each end.
    made = (ALLOC_PD, CREATE_MKEY, CREATE_CQ, CREATE_QP)
    assert [refused.count(opcode) for opcode in made] == [1, 0, 0, 0], refused.done
    assert [plain.count(opcode) for opcode in made] == [3, 2, 2, 2]
