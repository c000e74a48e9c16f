# SPDX-License-Identifier: BSD-3-Clause
"""
Either end of a cable is killed, the cable is removed, softrnicd is restarted at either end: always under traffic. Who is left
gets errors in time and goes on (rdma_survivor checks that), and nothing stays behind: no process, file, interface; in a softrnicd
that goes on, no descriptor, no client's memory, no object. Nobody here has hugepages.
"""

import ctypes
import os
import re
import subprocess

import pytest

from daemon.softrnicd import SANITIZED, Softrnicd, descriptors
from size import DEFAULT, FULL
from wire.veth import PATIENCE, Cable

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "daemon", "daemon_rdma_survivor")
EMBEDDED = [f"mac=02:00:00:00:00:0{end},wire=port:net_af_packet0|net_af_packet0,iface={interface}"
            for end, interface in (("a", "va"), ("b", "vb"))]

PR_SET_CHILD_SUBREAPER = 36
# As often as rdma_survivor does it
ROUNDS = 1 if DEFAULT else 3 if SANITIZED and not FULL else 20
# Of a softrnicd's own memory, in all rounds: what it keeps to use again, and pages that it had not touched before
GROWTH_KIB = 4096

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")


def softrnicd(cable, end):
    return Softrnicd([f"name={end},mac=02:00:00:00:00:0{end},wire=port:net_af_packet0"],
                     ["--no-huge", "--no-pci", f"--vdev=net_af_packet0,iface=v{end}"], {"a": cable.left, "b": cable.right}[end])


def survivor(cable, *args):
    """In the left one, its peer in the right one."""
    return subprocess.Popen([*cable.left, PROGRAM, *args], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            env={**os.environ, "RDMA_PEER_NETNS": f"/proc/{cable.holders[1].pid}/ns/net"})


def report(said):
    print("\n".join(line for line in said.splitlines() if line.startswith("#")))


def softrnicd_pid(daemon):
    """nsenter becomes the program that it runs."""
    return daemon.process.pid


def names(daemon):
    return sorted(os.listdir(os.path.dirname(daemon.sockets[0])))


def restart(*daemons):
    for daemon in daemons:
        daemon.kill()
        daemon.start()


class Leaks:
    """What a softrnicd holds behind each round: the same as behind its first one. Each process counts anew."""

    def __init__(self):
        self.held = {}
        self.grown = 0

    @staticmethod
    def of(pid):
        """Its descriptors, and what is mapped of files and of clients' memory."""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return descriptors(pid), sum(len(line.split()) > 5 and "[" not in line for line in maps)

    @staticmethod
    def anonymous(pid):
        """KiB of its own memory."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return int(re.search(r"RssAnon:\s*(\d+)", status.read())[1])

    def look(self, daemon):
        pid = daemon.process.pid
        # Whoever was killed is gone when the daemon has noticed.
        Cable.until(lambda: self.held.get(pid, (self.of(pid),))[0] == self.of(pid), f"end to what a client held: {self.held}")
        held, first = self.held.setdefault(pid, (self.of(pid), self.anonymous(pid)))
        assert held == self.of(pid)
        # A sanitizer keeps what was freed for a while; leaks it finds by itself.
        if not SANITIZED:
            self.grown = max(self.grown, self.anonymous(pid) - first)
        assert self.grown < GROWTH_KIB


def check_left_clean(daemon):
    """The last client has closed everything: softrnicd says what was there when it left."""
    said = daemon.text().rpartition(" frames sent, ")[2]
    assert said and "objects=" not in said and "pages_held=" not in said, said


def test_whoever_dies_between_two_softrnicds():
    with Cable() as cable, softrnicd(cable, "a") as near, softrnicd(cable, "b") as far:
        listed = names(near), names(far)
        with survivor(cable, near.sockets[0], far.sockets[0], "cable") as process:
            said, asked, cut, leaks = "", {"softrnicd?": 0, "far?": 0}, False, Leaks()
            for line in process.stdout:
                said += line
                question = line.strip()
                if question == "cut?":
                    cable.cut()
                    cut = True
                    answer = 0
                elif question == "round?":
                    leaks.look(near)
                    leaks.look(far)
                    answer = 0
                elif question in asked:
                    daemon = near if question == "softrnicd?" else far
                    if cut:
                        # Both clients have gone. Nothing of theirs is left where the wire is.
                        for each in (near, far):
                            each.stop()
                            check_left_clean(each)
                        cable.lay()
                        near.start()
                        far.start()
                        cut = False
                    # Dead only if the survivor has asked before.
                    elif asked[question] > 0:
                        restart(daemon)
                    asked[question] += 1
                    answer = softrnicd_pid(daemon)
                else:
                    continue
                process.stdin.write(f"{answer}\n")
                process.stdin.flush()
        assert process.returncode == 0, said + near.text() + far.text()
        assert (names(near), names(far)) == listed
        near.stop()
        far.stop()
        check_left_clean(near)
        check_left_clean(far)
        cable.check_nothing_left()
    assert len(re.findall(r"^ok ", said, re.MULTILINE)) == 4, said
    report(said)


def test_the_peer_of_an_embedded_device_dies():
    with Cable() as cable:
        with survivor(cable, *EMBEDDED, "cable") as process:
            said = process.communicate(timeout=9 * PATIENCE)[0]
        assert process.returncode == 0, said
        cable.check_nothing_left()
    report(said)


def die(cable, *ends):
    """An end is killed. The other one hears nothing more of it; told to, it closes everything and ends well."""
    with survivor(cable, *ends, "dies") as process:
        said, peer = "", None
        for line in process.stdout:
            said += line
            peer = re.match(r"kill! (\d+)\n", line)
            if peer:
                process.kill()
                break
        # To the end of the other one.
        said += process.stdout.read()
    assert peer, said
    assert os.waitpid(int(peer[1]), 0)[1] == 0, said


@pytest.fixture
def heir():
    """Who has lost his parent becomes a child of ours, so that it can be seen how it ends."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


@pytest.mark.long
@pytest.mark.usefixtures("heir")
def test_the_end_with_requests_under_way_dies():
    for _ in range(ROUNDS):
        with Cable() as cable:
            die(cable, *EMBEDDED)
            cable.check_nothing_left()


@pytest.mark.usefixtures("heir")
def test_a_client_of_softrnicd_with_requests_under_way_dies():
    """softrnicd serves the next one, to be killed again or not; the last one closes everything where others were killed."""
    with Cable() as cable, softrnicd(cable, "a") as near, softrnicd(cable, "b") as far:
        listed, leaks = (names(near), names(far)), Leaks()
        for left in range(ROUNDS, -1, -1):
            dying, living = (near, far) if left % 2 else (far, near)
            die(cable, dying.sockets[0], living.sockets[0])
            leaks.look(near)
            leaks.look(far)
        assert (names(near), names(far)) == listed
        near.stop()
        far.stop()
        check_left_clean(near)
        cable.check_nothing_left()
    print(f"# grown by {leaks.grown} KiB at most")
