# SPDX-License-Identifier: BSD-3-Clause
"""Linux TCP through testpmd and two ports on softrnicd, which has the ethdevs."""

import collections
import os
import re

import pytest

from daemon.softrnicd import Softrnicd
from e2e import tcp
from e2e.networks import Networks

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")


@pytest.mark.parametrize("forwarding, mtu", tcp.CASES)
def test_tcp_between_two_networks_through_the_daemon(forwarding, mtu):
    """testpmd is somewhere else: only the daemon reaches the cables."""
    eal = ["--no-huge", "--no-pci", *(f"--vdev={ethdev}" for ethdev in tcp.af_packet(mtu))]
    with Networks(mtu) as nets, \
            Softrnicd([f"name={i},wire=port:net_af_packet{i}" for i in (0, 1)], eal,
                      nets.middle) as daemon:
        tcp.check(nets, forwarding, daemon.vdevs(), embedded=False)
        daemon.stop()
        # Each device says what it has counted when its client leaves.
        counted = collections.Counter(), collections.Counter()
        for device, line in re.findall(r"\b([01]):((?: [a-z_]+=\d+)+)$", daemon.text(), re.MULTILINE):
            for name, value in re.findall(r"([a-z_]+)=(\d+)", line):
                counted[int(device)][name] += int(value)
        tcp.check_counters(forwarding, counted)
