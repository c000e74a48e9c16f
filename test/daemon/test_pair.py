# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd over two devices of one softrnicd, in one process and in two."""

import os
import re
import shutil
import subprocess
import tempfile

import pytest

from daemon.softrnicd import PAIR, PATIENCE, PROGRAM, SANITIZED, THREADS, Softrnicd, hand_over
from e2e.hugepages import hugepages
from e2e.testpmd import NO_HUGE, Testpmd, check_exact, forward, nobody, send_some, take_in
from size import FULL

ROOT = os.geteuid() == 0
PEER = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "daemon", "daemon_frames_peer")


def run(eal, user=None, devices=PAIR):
    with Softrnicd(devices) as daemon:
        if user is not None:
            hand_over(daemon, user.pw_uid, user.pw_gid)
        with Testpmd(daemon.vdevs(), eal=eal, user=user) as testpmd:
            testpmd.prompt()
            check_exact(forward(testpmd))
            testpmd.stop_ports()
            testpmd.do("port start all")
            testpmd.do("set fwd io")
            check_exact(forward(testpmd))
            testpmd.quit()
            assert not testpmd.complaints()
        if user is None:
            daemon.stop()


@pytest.mark.parametrize("eal", hugepages("in memory", "single-file segments", "legacy"))
def test_hugepages(eal):
    if not ROOT:
        pytest.skip("needs hugepages, which are root's here")
    run(["-m", "256", *eal])


def test_no_huge():
    run(NO_HUGE)


def test_no_huge_as_an_ordinary_user():
    run(NO_HUGE, nobody() if ROOT else None)


def test_ends_of_two_threads():
    run(NO_HUGE, devices=THREADS)


@pytest.fixture(name="strangers")
def fixture_strangers():
    """Sockets of a softrnicd that another user has started."""
    if not ROOT:
        pytest.skip("only root can be somebody else")
    user = nobody()
    folder = tempfile.mkdtemp(prefix="rnicd-", dir="/run")
    os.chown(folder, user.pw_uid, user.pw_gid)
    # The user may not look into the folder of the build.
    command = [shutil.copy(PROGRAM, folder), "--dir", f"{folder}/s", "--device", "name=a", "--device", "name=b"]
    with subprocess.Popen(command, text=True, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield [process.stdout.readline().split()[1] for _ in range(2)]
        process.kill()
    shutil.rmtree(folder)


def test_another_users_server_is_taken_only_where_that_is_said(strangers):
    """Whoever had a name first in a folder like /tmp was given the memory of all who came."""
    first, second = strangers
    with Testpmd([f"net_rnic0,socket={first}", f"net_rnic1,socket={second},peer=any"]) as testpmd:
        testpmd.prompt()
        said = " ".join(testpmd.complaints())
        ports = testpmd.do("show port summary all")
        assert "net_rnic0" not in ports, "it was given the memory"
        assert f"of user {nobody().pw_uid}," in said and "peer=any" in said and "net_rnic1" in ports
        testpmd.quit()


def test_the_address_is_the_devices():
    with Softrnicd() as daemon, Testpmd(daemon.vdevs()) as testpmd:
        testpmd.prompt()
        for port, last in ((0, "0A"), (1, "0B")):
            assert f"02:00:00:00:00:{last}" in testpmd.do(f"show port info {port}")
            testpmd.wait_link(port, "up")
        testpmd.quit()


@pytest.mark.parametrize("threads", [1, 3])
def test_functions_of_one_count_reach_each_other_by_a_switch(threads):
    with Softrnicd(("name=f,count=3,wire=switch:hub,mac=02:00:00:00:00:fe",), count=3, threads=threads) as daemon:
        with Testpmd(daemon.vdevs()[1:]) as testpmd:
            testpmd.prompt()
            for port, tail in ((0, "00:FF"), (1, "01:00")):
                assert f"02:00:00:00:{tail}" in testpmd.do(f"show port info {port}")
                testpmd.wait_link(port, "up")
            check_exact(forward(testpmd))
            testpmd.quit()
            assert not testpmd.complaints()
        daemon.stop()


def test_devargs_of_the_embedded_device_are_refused():
    with Softrnicd() as daemon, Testpmd(daemon.vdevs(",wire=loop")) as testpmd:
        testpmd.prompt()
        said = " ".join(testpmd.complaints())
        assert "'wire'" in said and "softrnicd --device wire=" in said
        testpmd.quit()


def test_a_second_client_is_told_who_holds_the_device():
    with Softrnicd() as daemon, Testpmd(daemon.vdevs()) as first:
        first.prompt()
        with Testpmd(daemon.vdevs()[:1]) as second:
            second.prompt()
            assert f"in use by process {first.process.pid} (" in " ".join(second.complaints())
            second.quit()
        check_exact(forward(first))
        first.quit()


def test_two_processes_on_two_devices():
    """One sends, the other sends back: what the one counts, the other counts."""
    with Softrnicd() as daemon:
        first, second = daemon.vdevs()
        with Testpmd([first]) as one, Testpmd([second]) as two:
            for testpmd in (one, two):
                testpmd.prompt()
                testpmd.do("set fwd io")
            two.do("start")
            one.do("start tx_first 4")
            for testpmd in (one, two):
                send_some(testpmd)
            for testpmd in (one, two):
                testpmd.do("stop")
            take_in(one, two)
            check_exact({0: one.stats()[0], 1: two.stats()[0]})
            one.quit()
            two.quit()
            assert not one.complaints() and not two.complaints()
        daemon.stop()


@pytest.mark.parametrize("devices", [pytest.param(PAIR, id="pair"), pytest.param(THREADS, id="threads")])
def test_two_processes_check_every_byte(devices):
    count = 1000000 if FULL else 20000 if SANITIZED else 100000
    with Softrnicd(devices) as daemon:
        peers = [subprocess.Popen([PEER, path, str(count)], text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for path in daemon.sockets]
        try:
            for point in ("ready\n", "done\n"):
                for peer in peers:
                    assert point in iter(peer.stdout.readline, ""), peer.stderr.read()
                for peer in peers:
                    peer.stdin.write("go\n")
                    peer.stdin.flush()
            said = [peer.communicate(timeout=3 * PATIENCE)[1] for peer in peers]
            assert [peer.returncode for peer in peers] == [0, 0], said
        finally:
            for peer in peers:
                if peer.poll() is None:
                    peer.kill()
                    peer.wait()
        daemon.stop()
