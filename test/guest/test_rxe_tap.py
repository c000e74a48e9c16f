# SPDX-License-Identifier: BSD-3-Clause
"""Linux' rxe, on virtio_net, and our driver upon net_af_packet, with a tap between them."""

import os

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from daemon.softrnicd import until
from guest import rxe_cases
from guest.rxe import MACS, tap_rig
from guest.test_rxe_pair import WAYS, both
from wire import judges_frames
from wire.peer_scapy import with_icrc

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="no /dev/net/tun"),
]
SEND_ONLY, SENDS_PKEY = 0x04, 0x8001
FIRST_PSN = 0xfffffd  # of rxe_cases.Link's requesters


@pytest.fixture(name="rig", scope="module")
def fixture_rig():
    with tap_rig() as rig:
        yield rig


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", rxe_cases.SMOKE + rxe_cases.ALL, ids=lambda case: case.__name__)
def test_rxe_and_ours_agree_over_a_tap(case, way, family, rig):
    case(*both(way, rig), family)


def frame_of(link, pkey=0xffff, psn=FIRST_PSN):
    """A SEND of the requester's; the first one of the connection, unless another PSN is said."""
    here, there = link.requester, link.responder
    names = ("rxe", "rnic")
    ether = Ether(src=MACS[names.index(here.name)], dst=MACS[names.index(there.name)])
    addresses = {"src": here.addresses[link.family], "dst": there.addresses[link.family]}
    ip = IP(flags="DF", **addresses) if link.family == 4 else IPv6(**addresses)
    bth = BTH(opcode=SEND_ONLY, migreq=1, pkey=pkey, dqpn=link.qpn[there], psn=psn, ackreq=1, icrc=0)
    return with_icrc(bytes(ether / ip / UDP(sport=0xc123, dport=judges_frames.PORT, chksum=0) / bth))


def wrong_pkeys(peer):
    return peer.counters()["bad_pkey_cntr"] if peer.name == "rxe" else peer.device()["roce_pkey_errors"]


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
def test_another_partition_is_not_heard(way, family, rig):
    """No implementation sends one: it is told to the responder on the cable. It is counted, and the connection goes on."""
    link = rxe_cases.Link(*both(way, rig), family)
    before = wrong_pkeys(link.responder)
    link.responder.ask("receive", length=100)
    rig.tap.send(frame_of(link, SENDS_PKEY))
    until(lambda: wrong_pkeys(link.responder) == before + 1, "packet that is counted")
    assert link.responder.ask("quiet") == "yes"
    link.post("SEND", length=100)
    link.done(rxe_cases.SENT)
    link.arrived(rxe_cases.RECEIVED, 100)
    assert wrong_pkeys(link.responder) == before + 1


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
def test_one_packet_too_many_is_counted_once(way, family, rig):
    """A SEND that came before, and one that is ahead of what is expected, told to the responder on the cable."""
    link = rxe_cases.Link(*both(way, rig), family)
    rxe_cases.send(link, 100, False)
    counted = rxe_cases.Counted(link.responder)
    link.responder.ask("receive", length=100)
    for psn, name in ((FIRST_PSN, "duplicate_request"), (FIRST_PSN + 2, "out_of_seq_request")):
        rig.tap.send(frame_of(link, psn=psn))
        until(lambda name=name: counted.of(link.responder)[name] == 1, name)
    assert link.responder.ask("quiet") == "yes"
    link.post("SEND", length=100)
    link.done(rxe_cases.SENT)
    link.arrived(rxe_cases.RECEIVED, 100)
    found = counted.of(link.responder)
    assert found["duplicate_request"] == found["out_of_seq_request"] == 1, found


def test_both_end_well(rig):
    """And what these tests made wrong is counted, as often each way, and nothing else is."""
    counts, heard = rig.rnic.device(), rig.verbs.counters()
    rig.end()
    assert counts["roce_qkey_errors"] == heard["qkey_viol_cntr"]
    assert counts["roce_pkey_errors"] == heard["bad_pkey_cntr"]
    assert counts["roce_icrc_errors"] == counts["roce_malformed"] == counts["roce_source_errors"] == 0
