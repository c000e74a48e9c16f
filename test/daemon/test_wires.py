# SPDX-License-Identifier: BSD-3-Clause
"""softrnicd's wires that lead out of it: captures and ethdevs, opened before the jail closes."""

import os
import re
import subprocess

import pytest

from daemon.softrnicd import PROGRAM, SANITIZED, Softrnicd, least_ticks, until
from e2e import captures
from e2e.networks import Networks
from e2e.testpmd import Testpmd

FRAMES = 3000
THREAD_SANITIZED = os.environ.get("RDMAPMD_SANITIZER") == "thread"
NO_HARDWARE = ("--no-huge", "--no-pci")


@pytest.fixture(name="captured")
def fixture_captured(tmp_path):
    frames = captures.mixed(FRAMES, 3)
    captures.write(tmp_path / "in.pcap", frames)
    return frames, tmp_path


def forward_all(daemon, count):
    """One client's session: all of the capture from one port to the other."""
    # Promiscuous mode is on when the ports start: else frames wait for it, but only for some seconds.
    with Testpmd(daemon.vdevs(), args=["--no-flush-rx", "--disable-device-start"]) as testpmd:
        testpmd.prompt()
        testpmd.do("port start all")
        testpmd.do("set fwd io retry")
        testpmd.do("set burst tx delay 10 retry 1000000")
        testpmd.do("start")
        testpmd.wait(lambda: testpmd.stats()[1]["TX-packets"] >= count, f"{count} frames")
        testpmd.do("stop")
        stats = testpmd.stats()
        assert stats[0]["RX-missed"] == 0 and stats[1]["TX-errors"] == 0, stats
        testpmd.wait_link(0, "down")
        testpmd.quit()


def test_each_client_has_the_capture_from_its_start(captured):
    frames, folder = captured
    with Softrnicd((f"name=a,wire=pcap,rx_pcap={folder}/in.pcap",
                    f"name=b,wire=pcap,tx_pcap={folder}/out.pcap")) as daemon:
        forward_all(daemon, len(frames))
        # What was sent is there before the daemon ends.
        until(lambda: os.path.getsize(folder / "out.pcap") ==
              24 + sum(16 + len(frame) for frame in frames), "whole file")
        forward_all(daemon, len(frames))
        daemon.stop()
    assert captures.read(folder / "out.pcap")[0] == frames + frames


# ---- Ethdevs ----

def threads(pid):
    """What /proc says of each thread: {name: {key: value}}."""
    said = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as status:
            lines = dict(line.rstrip("\n").split(":", 1) for line in status)
        said[thread] = {key: value.strip() for key, value in lines.items()}
    return said


def test_an_ethdev_is_the_wire():
    """net_ring brings back what is sent; a second client finds it as the first one did."""
    with Softrnicd(("wire=port:net_ring0",), [*NO_HARDWARE, "--vdev=net_ring0"]) as daemon:
        for _ in range(2):
            with Testpmd(daemon.vdevs(), args=["--port-topology=loop"]) as testpmd:
                testpmd.prompt()
                testpmd.do("start tx_first 1")
                testpmd.wait(lambda: testpmd.stats()[0]["RX-packets"] > 1000, "packets")
                testpmd.do("stop")
                stats = testpmd.stats()[0]
                assert stats["RX-errors"] == 0 and stats["TX-errors"] == 0, stats
                testpmd.quit()
        daemon.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun")
def test_interfaces_of_net_tap_in_the_jail(tmp_path):
    """What the driver reads and writes them by is permitted."""
    frames = captures.mixed(200, 5)
    captures.write(tmp_path / "in.pcap", frames)
    with Networks() as nets, \
            Softrnicd([f"name={i},wire=port:net_tap{i}" for i in (0, 1)],
                      [*NO_HARDWARE, *(f"--vdev=net_tap{i},iface=tap{i}" for i in (0, 1))],
                      nets.middle) as daemon:
        with Testpmd(daemon.vdevs()) as testpmd:
            testpmd.prompt()
            for port in (0, 1):
                testpmd.wait_link(port, "up")
            testpmd.do("start")
            assert nets.cross("tap0", "tap1", tmp_path / "in.pcap") == len(frames)
            testpmd.do("stop")
            testpmd.quit()
        daemon.stop()


# net_tap lives on signals, which ThreadSanitizer puts off.
if THREAD_SANITIZED:
    del test_interfaces_of_net_tap_in_the_jail


def is_bound(thread):
    """It has no privileges, and no way to some."""
    caps = ["CapInh", "CapPrm", "CapEff", "CapAmb"] + ["CapBnd"] * (os.geteuid() == 0)
    return (all(int(thread[cap], 16) == 0 for cap in caps) and thread["NoNewPrivs"] == "1" and
            (SANITIZED or thread["Seccomp"] == "2" and "0" not in thread["Uid"].split()))


def test_no_thread_keeps_privileges():
    """EAL's threads were made before the process gave them up."""
    with Softrnicd(("wire=port:net_ring0",), [*NO_HARDWARE, "--vdev=net_ring0"]) as daemon:
        found = threads(daemon.process.pid)
        assert "eal-intr-thread" in [thread["Name"] for thread in found.values()]
        # The main one, EAL's, one that closes descriptors, one that unmaps memory.
        free = [thread for thread in found.values() if not is_bound(thread)]
        # ThreadSanitizer has one of its own.
        assert len(free) == THREAD_SANITIZED and len(found) == 4 + THREAD_SANITIZED, free
        assert is_bound(found[str(daemon.process.pid)])
        assert "eal-intr-thread" not in [thread["Name"] for thread in free]
        daemon.stop()


def test_the_jail_grows_by_what_the_ethdevs_need_and_no_more(tmp_path):
    """Their driver's system calls are permitted only where there is one; what the jail denies is denied all the same."""
    precious = tmp_path / "precious"
    precious.write_text("")
    calls = []
    for device, eal in (("wire=loop", ()), ("wire=port:net_null0", (*NO_HARDWARE, "--vdev=net_null0")),
                        ("wire=port:net_pcap0",
                         (*NO_HARDWARE, f"--vdev=net_pcap0,tx_pcap={tmp_path}/out.pcap"))):
        done = subprocess.run([PROGRAM, "--dir", tmp_path / "s", "--device", device,
                               "--probe-jail", precious, *(["--", *eal] if eal else [])],
                              capture_output=True, text=True, timeout=300)
        if SANITIZED:
            assert done.returncode == 1 and "no jail" in done.stderr
            continue
        assert done.returncode == 0, done
        assert "ALLOWED" not in done.stdout and "denied socket" in done.stdout
        calls.append(int(re.search(r"(\d+) system calls allowed", done.stderr).group(1)))
    if not SANITIZED:
        assert calls[1:] == [calls[0] + 2, calls[0] + 2]
        assert precious.exists()


def test_an_ethdev_that_is_not_there_is_an_error(tmp_path):
    """None can come later."""
    for eal in ((), ("--", *NO_HARDWARE, "--vdev=net_null1")):
        done = subprocess.run([PROGRAM, "--dir", tmp_path / "s", "--device", "wire=port:net_null0",
                               *(eal or ["--", *NO_HARDWARE])],
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 1
        assert "there is no ethdev net_null0" in done.stderr
        assert "ready" not in done.stdout


def test_eal_says_no_more_than_is_asked_for(tmp_path):
    command = [PROGRAM, "--dir", tmp_path / "s", "--log-level", "error", "--probe-jail", tmp_path,
               "--device", "wire=port:net_null0", "--", *NO_HARDWARE, "--vdev=net_null0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    command[4] = "debug"
    assert "EAL: " in subprocess.run(command, capture_output=True, text=True, timeout=300).stderr


def test_options_that_eal_refuses_end_it(tmp_path):
    done = subprocess.run([PROGRAM, "--dir", tmp_path / "s", "--", *NO_HARDWARE, "--no-such-option"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and 'the options behind "--"' in done.stderr


def test_eal_does_not_keep_an_idle_daemon_awake():
    with Softrnicd(("wire=port:net_null0",), [*NO_HARDWARE, "--vdev=net_null0"]) as daemon:
        assert least_ticks(daemon.process.pid, 5) <= 5
        daemon.stop()
