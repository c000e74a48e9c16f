# SPDX-License-Identifier: BSD-3-Clause
"""What works on each card that the device can be like, and what is refused with which words: all that is not in the table works,
and nothing is said of it.

Ports of the embedded device do it subject by subject (test/e2e/card_test.c); what takes processes that come, die and come again is
for stock dpdk-testpmd on devices of softrnicd, with a peer that checks each byte that testpmd sends back.
"""

import errno
import functools
import os
import re
import subprocess

import pytest

from daemon.softrnicd import PATIENCE, SANITIZED, Softrnicd, until
from e2e.testpmd import Testpmd

BUILD = os.environ["RDMAPMD_BUILD"]
PROGRAM = os.path.join(BUILD, "test", "e2e", "e2e_card")
PEER = os.path.join(BUILD, "test", "daemon", "daemon_frames_peer")
FLR = os.path.join(BUILD, "test", "daemon", "daemon_flr")
MAC = "02:00:00:00:00:01"  # of both ends, so that a frame that is sent back is the peer's: it has no other port's to take
FRAMES = 1000 if SANITIZED else 5000

SUBJECTS = ("bring_up", "frames", "offloads_of_tx", "offloads_of_rx", "timestamps", "rss", "vlans", "mtu", "promiscuous",
            "all_multicast", "addresses", "rc_write_and_read", "atomics", "send_queue_drained", "raw_packets", "raw_address",
            "raw_multicast", "stop_and_start", "reset", "come_and_close")

# ---- The table: by subject what is not done, the errno (0: it is said to be done), and what is said instead ----

SILENT = 0
OPENS = ("bring_up", "reset", "come_and_close")  # each begins with a device's bring-up


def said_by(subjects, *words):
    """It says so, and works."""
    return {subject: [(None, None, word) for word in words] for subject in subjects}


# No other driver sends the command: of no firmware is it known that it takes it.
CARD = {"send_queue_drained": [("SQD", errno.ENOTSUP, "firmware has no state SQD: stop posting"),
                               (None, None, r"RTS2SQD_QP .* failed: bad operation")]}
CX4LX = {
    "atomics": [("atomics", errno.ENOTSUP, "the device does not support remote atomics")],
    "raw_multicast": [("multicast beside the ethdev", errno.ENOTSUP, "forwards a multicast frame to one place: attach")],
}
VF = said_by(OPENS, "no MAC address of its own: .* `ip link set PF vf N mac")
# The function cannot know.
UNTRUSTED = {
    "promiscuous": [("promiscuous", SILENT, None)],
    "all_multicast": [("all multicast", SILENT, None)],
}
HOST_SAYS = ("how large an MTU the port can have: it is taken to be the vport's", "list of unicast addresses: frames to others",
             "list of multicast addresses: such frames may not come", "an MTU for the port, which keeps its own",
             "an MTU for the vport, which keeps its own", "to change the port's state, which stays as it is")
TO_TAKE_ALL = "to take all frames, or all multicast: the vport goes on as it is"
HOST = {
    **said_by(OPENS, *HOST_SAYS),
    "mtu": [("MTU 9000", errno.EINVAL, r"MTU \(9000\) > device max MTU \(1500\)")],
    "promiscuous": [("promiscuous", SILENT, TO_TAKE_ALL)],
    # These have been said before.
    "all_multicast": [("all multicast", SILENT, None)],
    "addresses": [("another address", SILENT, None), ("a multicast address", SILENT, None)],
    "raw_address": [("frames to its own address", SILENT, None)],
    "raw_multicast": [("multicast beside the ethdev", SILENT, None)],
    "testpmd": [(None, None, word) for word in (*HOST_SAYS, TO_TAKE_ALL)],
}
TABLE = {
    "cx4lx": (CARD, CX4LX),
    "cx4lx-vf": (CARD, CX4LX, VF, UNTRUSTED),
    "cx4lx-vf-trusted": (CARD, CX4LX, VF),
    "cx5": (CARD,),
    "cx5-vf": (CARD, VF, UNTRUSTED),
    "cx5-vf-trusted": (CARD, VF),
    "cx6dx": (CARD,),
    "cx6dx-vf": (CARD, VF, UNTRUSTED),
    "cx6dx-vf-trusted": (CARD, VF),
    "cx7": (CARD,),
    "cx7-vf": (CARD, VF, UNTRUSTED),
    "cx7-vf-trusted": (CARD, VF),
    "bluefield-host": (CARD, HOST),
    "realtime": (CARD,),
    "oldfw": (CARD,),
    "busyfw": (CARD,),
}
DEFAULT_CARDS = ("cx4lx", "cx6dx", "cx7-vf")
CARDS = [pytest.param(card, marks=() if card in DEFAULT_CARDS else pytest.mark.long) for card in TABLE]


def expected(card, subject):
    return [entry for part in TABLE[card] for entry in part.get(subject, [])]


def check(card, subject, not_done, said):
    """Of what the table has all has occurred, and of what has occurred the table has all."""
    entries = expected(card, subject)
    assert sorted(not_done) == sorted((what, code) for what, code, _ in entries if what)
    words = [word for _, _, word in entries if word]
    assert [line for line in said if not any(re.search(word, line) for word in words)] == []
    assert [word for word in words if not any(re.search(word, line) for line in said)] == []


# ---- Subject by subject ----

@functools.lru_cache(maxsize=None)
def outcome(card):
    """Of each subject: whether its checks have passed, what is not done, and what was said in it; and what the program printed."""
    done = subprocess.run([PROGRAM, f"like={card}"], text=True, timeout=6 * PATIENCE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    seen, not_done, said = {}, [], []
    for line in done.stdout.splitlines():
        if ended := re.fullmatch(r"(not ok|ok) \d+ - (\w+)", line):
            seen[ended[2]] = (ended[1] == "ok", not_done, said)
            not_done, said = [], []
        elif refused := re.fullmatch(r"# not done: (.*): (\d+)", line):
            not_done.append((refused[1], int(refused[2])))
        elif not re.match(r"#|1\.\.", line):
            said.append(line)
    # Behind the last of them all is closed, in silence.
    failed = [subject for subject, (passed, _, _) in seen.items() if not passed]
    assert tuple(seen) == SUBJECTS and done.returncode == len(failed) and not said, done.stdout
    return seen, done.stdout


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("card", CARDS)
def test_subject(card, subject):
    seen, printed = outcome(card)
    print(printed)
    passed, not_done, said = seen[subject]
    assert passed
    check(card, subject, not_done, said)


def test_the_table_has_all_subjects():
    for card, parts in TABLE.items():
        assert {subject for part in parts for subject in part} <= {*SUBJECTS, "testpmd"}, card


# ---- Processes ----

class Peer:
    """A program that sends frames to testpmd, and checks what comes back. Use as a context."""

    def __init__(self, path, count=FRAMES):
        self.process = subprocess.Popen([PEER, path, str(count)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.go_from("ready")

    def go_from(self, point):
        assert f"{point}\n" in iter(self.process.stdout.readline, ""), self.process.stderr.read()
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self):
        """All frames have come, each as it should."""
        self.go_from("done")
        assert self.process.wait(PATIENCE) == 0, self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def forwards_on(vdev):
    return Testpmd([vdev], args=["--forward-mode=io", "--port-topology=loop", "--disable-link-check"])


def send_back(testpmd, path):
    testpmd.do("start")
    with Peer(path) as peer:
        peer.end()
    testpmd.do("stop")


@pytest.mark.parametrize("card", CARDS)
def test_testpmd_its_reset_its_death_and_the_next_one(card):
    devices = [f"name={name},wire=pair:cable,mac={MAC},like={card}" for name in "ab"]
    with Softrnicd(devices) as daemon:
        first, path = daemon.vdevs()[0], daemon.sockets[1]
        with forwards_on(first) as testpmd:
            testpmd.prompt()
            send_back(testpmd, path)
            testpmd.stop_ports()
            testpmd.do("port reset all")
            testpmd.do("port start all")
            testpmd.do("set fwd io")
            send_back(testpmd, path)
            check(card, "testpmd", [], testpmd.complaints())
            testpmd.do("start")
            with Peer(path, 1 << 40):
                testpmd.wait(lambda: testpmd.stats()[0]["RX-packets"] > 0, "frames")
                left = daemon.text().count("disconnected")
                testpmd.process.kill()
                testpmd.process.wait()
            until(lambda: daemon.text().count("disconnected") >= left + 2, "end of both")
        subprocess.run([FLR, daemon.sockets[0]], check=True, timeout=PATIENCE)
        assert "function level reset" in daemon.text()
        with forwards_on(first) as testpmd:
            testpmd.prompt()
            send_back(testpmd, path)
            testpmd.quit()
            check(card, "testpmd", [], testpmd.complaints())
        daemon.stop()
