# SPDX-License-Identifier: BSD-3-Clause
"""Linux TCP through testpmd and two ports with devices of their own in it."""

import os

import pytest

from e2e import tcp
from e2e.networks import Networks

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")


@pytest.mark.parametrize("forwarding, mtu", tcp.CASES)
def test_tcp_between_two_networks_through_two_ports(forwarding, mtu):
    with Networks(mtu) as nets:
        tcp.check(nets, forwarding,
                  [*tcp.af_packet(mtu), *(f"net_rnic{i},wire=port:net_af_packet{i}" for i in (0, 1))],
                  within=nets.middle)


def test_tcp_through_interfaces_by_libpcap():
    """wire=pcap with iface=: for a look, not for rates."""
    with Networks() as nets:
        tcp.check(nets, tcp.FORWARDINGS[0],
                  [f"net_rnic{i},wire=pcap,iface=cable{i}" for i in (0, 1)], within=nets.middle,
                  size=4 << 20)
