# SPDX-License-Identifier: BSD-3-Clause
"""
Reliable connections between rxe and our driver over a cable that loses one frame in a hundred: all arrives, once. And over one that
loses one packet, which is counted once.
"""

import pytest

from guest import rxe_cases
from guest.rxe import pair_rig
from guest.test_rxe_pair import WAYS, both

LOSS = ",drop=10000,seed="
ROUNDS = 40
WHO = {"ours-is-lost": (LOSS + "17", ""), "rxe-s-is-lost": ("", LOSS + "18"), "both-are": (LOSS + "19", LOSS + "20")}


@pytest.fixture(name="rig", scope="module", params=WHO)
def fixture_rig(request):
    with pair_rig(*WHO[request.param]) as rig:
        rig.lost = request.param
        yield rig


def naks_heard(peer, counters):
    """NAKs of a wrong PSN: they came to the requester."""
    return counters["rcvd_seq_err"] if peer.name == "rxe" else counters.get("packet_seq_err", 0)


def exchange(requester, responder, family):
    """What both have counted meanwhile, and the NAKs that the requester has heard."""
    link = rxe_cases.Link(requester, responder, family, timeout=15)
    counted = rxe_cases.Counted(requester, responder)
    for _ in range(ROUNDS):
        rxe_cases.send(link, 5000, True)
        rxe_cases.write(link, 5000, False)
        rxe_cases.read(link, 5000)
        rxe_cases.add(link)
    heard = naks_heard(requester, requester.counters()) - naks_heard(requester, counted.before[requester])
    return {peer.name: counted.of(peer) for peer in (requester, responder)}, heard


@pytest.mark.parametrize("family", (4, 6), ids=("ipv4", "ipv6"))
@pytest.mark.parametrize("way", WAYS)
def test_what_is_lost_is_sent_again(way, family, rig):
    requester, responder = both(way, rig)
    found, heard = exchange(requester, responder, family)
    print(found, heard)
    asked, answered = found[requester.name], found[responder.name]
    assert asked["retry_exceeded_err"] == answered["retry_exceeded_err"] == 0
    if rig.lost == "both-are":
        return
    loses = "rnic" if rig.lost == "ours-is-lost" else "rxe"
    sure = {"rnic": "rxe", "rxe": "rnic"}[loses]
    # What is sent the way that loses nothing is there; the other way some was lost.
    assert found[sure]["sent_pkts"] == found[loses]["rcvd_pkts"], found
    assert found[loses]["sent_pkts"] > found[sure]["rcvd_pkts"], found
    if loses == requester.name:
        # Each NAK arrives. rxe counts one for each gap; ours each packet that is behind one.
        ahead = answered["out_of_seq_request"]
        assert ahead == heard > 0 if responder.name == "rxe" else ahead >= heard > 0, found
    else:
        # Requests all arrive: there is no gap, and some come again.
        assert answered["out_of_seq_request"] == heard == 0 < answered["duplicate_request"], found


def test_both_end_well(rig):
    rig.end()


# ---- One packet, by a rule. Packets of rxe's are frames like others to the device that sends them, so it is ours ----

# The first packet of a WRITE that has several; the first answer to a request.
ONE_EACH = ",rule=drop/opcode:0x06/nth:1+drop/opcode:0x11/nth:1"


@pytest.fixture(name="ruled", scope="module")
def fixture_ruled():
    with pair_rig(ONE_EACH) as rig:
        yield rig


def write(requester, responder, length):
    """Of so many bytes, over IPv4: what both have counted, and the NAKs that the requester has heard."""
    link = rxe_cases.Link(requester, responder, 4)
    before = requester.counters()
    counted = rxe_cases.Counted(requester, responder)
    rxe_cases.write(link, length, False)
    found = counted.of(requester), counted.of(responder)
    print(found)
    assert found[0]["retry_exceeded_err"] == 0
    return *found, naks_heard(requester, requester.counters()) - naks_heard(requester, before)


def test_a_request_that_is_lost_is_one_gap(ruled):
    """What is behind it opens the gap; one NAK says so."""
    asked, answered, heard = write(ruled.rnic, ruled.verbs, rxe_cases.MTU + 100)
    assert answered["out_of_seq_request"] == heard == 1
    assert answered["duplicate_request"] == 0
    assert answered["rcvd_pkts"] == asked["sent_pkts"] - 1
    assert asked["rcvd_pkts"] == answered["sent_pkts"]


def test_a_request_whose_answer_is_lost_comes_twice(ruled):
    asked, answered, heard = write(ruled.verbs, ruled.rnic, 100)
    assert answered["duplicate_request"] == 1
    assert answered["out_of_seq_request"] == heard == 0
    assert answered["rcvd_pkts"] == asked["sent_pkts"]
    assert asked["rcvd_pkts"] == answered["sent_pkts"] - 1


def test_both_end_well_then(ruled):
    ruled.end()
