# SPDX-License-Identifier: BSD-3-Clause
"""softrnicd's wires that lead out of it: captures, opened before the jail closes."""

import os

import pytest

from daemon.softrnicd import Softrnicd, until
from e2e import captures
from e2e.testpmd import Testpmd

FRAMES = 3000


@pytest.fixture(name="captured")
def fixture_captured(tmp_path):
    frames = captures.mixed(FRAMES, 3)
    captures.write(tmp_path / "in.pcap", frames)
    return frames, tmp_path


def forward_all(daemon, count):
    """One client's session: all of the capture from one port to the other."""
    with Testpmd(daemon.vdevs(), args=["--no-flush-rx"]) as testpmd:
        testpmd.prompt()
        testpmd.do("set fwd io retry")
        testpmd.do("set burst tx delay 10 retry 1000000")
        testpmd.do("start")
        testpmd.wait(lambda: testpmd.stats()[1]["TX-packets"] >= count, 60, f"{count} frames")
        testpmd.do("stop")
        stats = testpmd.stats()
        assert stats[0]["RX-missed"] == 0 and stats[1]["TX-errors"] == 0, stats
        testpmd.wait(lambda: "Link status: down" in testpmd.do("show port info 0"), 10,
                     "end of the link")
        testpmd.quit()


def test_each_client_has_the_capture_from_its_start(captured):
    frames, folder = captured
    with Softrnicd((f"name=a,wire=pcap,rx_pcap={folder}/in.pcap",
                    f"name=b,wire=pcap,tx_pcap={folder}/out.pcap")) as daemon:
        forward_all(daemon, len(frames))
        # What was sent is there before the daemon ends.
        until(lambda: os.path.getsize(folder / "out.pcap") ==
              24 + sum(16 + len(frame) for frame in frames), 10, "whole file")
        forward_all(daemon, len(frames))
        daemon.stop()
    assert captures.read(folder / "out.pcap")[0] == frames + frames
