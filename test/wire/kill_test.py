# SPDX-License-Identifier: BSD-3-Clause
"""
Either end of a cable is killed, the cable is removed, softrnicd is restarted at either end: always under traffic. Who is left
gets errors in time and goes on (rdma_survivor checks that), and nothing stays behind. Nobody here has hugepages.
"""

import os
import re
import subprocess

import pytest

from daemon.softrnicd import Softrnicd
from size import DEFAULT, FULL
from wire.veth import PATIENCE, Cable

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "daemon", "daemon_rdma_survivor")
EMBEDDED = [f"mac=02:00:00:00:00:0{end},wire=port:net_af_packet0|net_af_packet0,iface={interface}"
            for end, interface in (("a", "va"), ("b", "vb"))]

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


def test_whoever_dies_between_two_softrnicds():
    with Cable() as cable, softrnicd(cable, "a") as near, softrnicd(cable, "b") as far:
        listed = names(near), names(far)
        with survivor(cable, near.sockets[0], far.sockets[0], "cable") as process:
            said, asked, cut = "", {"softrnicd?": 0, "far?": 0}, False
            for line in process.stdout:
                said += line
                question = line.strip()
                if question == "cut?":
                    cable.cut()
                    cut = True
                    answer = 0
                elif question in asked:
                    daemon = near if question == "softrnicd?" else far
                    if cut:
                        cable.lay()
                        restart(near, far)
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


def test_the_end_with_requests_under_way_dies():
    """The other end hears nothing more of it; told to, it closes everything and ends well."""
    for _ in range(20 if FULL else 1 if DEFAULT else 3):
        with Cable() as cable:
            with survivor(cable, *EMBEDDED, "dies") as process:
                said = ""
                for line in process.stdout:
                    said += line
                    if line == "kill!\n":
                        process.kill()
                        break
                process.stdout.read()
            assert "kill!" in said, said
            cable.check_nothing_left()
