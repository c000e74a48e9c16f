# SPDX-License-Identifier: BSD-3-Clause
"""
Two processes and a cable of Linux between them that is written down in its middle: what passes is judged as what two devices in
one process say to each other is (judges_test.py), also where packets that are named do not arrive.
"""

import collections
import dataclasses
import select
import socket
import subprocess
import threading

import pytest

from e2e import captures
from wire import judges_flow, judges_frames
from wire.judges_test import check_counters, check_dissected, dissected
from wire.peer_scapy import End, gid_of

PSN, MTU = 0xfffff0, 1024
TIMEOUT = 20  # 4.3 s: so late that only what is lost and not told of waits for it, also on a busy machine
MESSAGES, SLOT = 12, 2500  # of each end, of so many bytes: three packets
WRITE, SEND, READ = 0, 2, 4  # enum rdmapmd_wr_opcode
ADDRESSES = {"ipv4": ("10.77.1.1", "10.77.1.2"), "ipv6": ("fd77:1::1", "fd77:1::2")}
RTS = 3


@dataclasses.dataclass
class Fault:
    """What befalls the nth packet of one end that has these fields, of psn, qpn and opcode."""

    end: int
    nth: int
    fields: dict
    corrupt: bool = False
    seen: int = 0

    def meets(self, end, packet):
        if end != self.end or any(getattr(packet, field) != value for field, value in self.fields.items()):
            return False
        self.seen += 1
        return self.seen == self.nth


class Middle(threading.Thread):
    """Of the cable: takes frames at vb and vc, and hands them over to the other, but for those that a fault meets."""

    def __init__(self):
        super().__init__()
        self.sockets = []
        for name in ("vb", "vc"):
            self.sockets.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
            self.sockets[-1].bind((name, 3))
        self.own, self.stopper = socket.socketpair()
        self.forget()

    def forget(self, faults=()):
        """All before now is not of what is judged."""
        self.events, self.frames, self.faults, self.lost = [], [], faults, 0

    def run(self):
        while True:
            ready, _, _ = select.select([*self.sockets, self.own], [], [])
            if self.own in ready:
                return
            for end, each in enumerate(self.sockets):
                if each in ready:
                    self._pass(end, *each.recvfrom(65536))

    def _pass(self, end, frame, about):
        if about[2] == socket.PACKET_OUTGOING:
            return
        packet = judges_frames.parse(frame)
        if packet is not None:
            self.frames.append(frame)
            self.events.append(dataclasses.replace(packet, sent=True))
            met = [fault for fault in self.faults if fault.meets(end, packet)]
            self.lost += bool(met)
            if met and not met[0].corrupt:
                return
            if met:
                frame = frame[:-1] + bytes([frame[-1] ^ 1])
            self.events.append(dataclasses.replace(judges_frames.parse(frame), sent=False))
        self.sockets[1 - end].send(frame)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopper.send(b"x")
        self.join()
        for each in (*self.sockets, self.own, self.stopper):
            each.close()


@pytest.fixture(name="cable", scope="module")
def fixture_cable():
    """(the middle, the two ends): va and vb are there, and a second piece goes on from vc to vd, where libpcap is the wire."""
    subprocess.run("ip link add name vc type veth peer name vd && for i in vc vd; do"
                   " echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; ip link set $i up; done", shell=True, check=True)
    vdevs = (("mac=02:00:00:00:01:01,wire=port:net_af_packet0", "net_af_packet0,iface=va"),
             ("mac=02:00:00:00:01:02,wire=pcap,iface=vd",))
    with Middle() as middle, End(vdevs[0], addresses=False) as one, End(vdevs[1], addresses=False) as two:
        for i, end in enumerate((one, two)):
            for pair in ADDRESSES.values():
                end.do(f"address {gid_of(pair[i]).hex()} 0")
        yield middle, (one, two)


def connect(ends, addresses):
    """Their queue pairs' numbers."""
    qpns = [end.create("rc") for end in ends]
    for i, end in enumerate(ends):
        other = ends[1 - i]
        end.do(f"connect {qpns[1 - i]} {PSN} {gid_of(addresses[1 - i]).hex()} {other.mac.replace(':', '')} {MTU} {TIMEOUT}")
    return qpns


def exchange(ends, messages):
    """WRITEs, READs and SENDs of both at once, of what is in the first slot: all must complete, and the data be there."""
    data = [bytes((i * 7 + end * 3) & 0xff for i in range(SLOT)).hex() for end in (0, 1)]
    for end, own in zip(ends, data):
        end.do(f"put 0 {own}")
        for _ in range(messages // 3):
            end.do(f"receive {SLOT}")
    for i in range(messages):
        for k, end in enumerate(ends):
            there = ends[1 - k]
            opcode = (WRITE, READ, SEND)[i % 3]
            own, remote = {WRITE: (0, 2 * SLOT), READ: (4 * SLOT, 0), SEND: (0, 0)}[opcode]
            end.do(f"post {opcode} {own} {SLOT} {there.address + remote} {there.rkey}")
    for end in ends:
        for _ in range(messages + messages // 3):
            assert end.do("poll").split()[0] == "success"
    for k, end in enumerate(ends):
        for at in (2 * SLOT, 4 * SLOT, 32 << 10):
            assert end.do(f"get {at} {SLOT}") == data[1 - k], at


FIRST, MIDDLE_OF_SEND, ACKNOWLEDGE, READ_LAST = 0x06, 0x01, 0x11, 0x0f
# A function of the queue pairs' numbers each.
FAULTS = {
    "good": lambda _: (),
    "a-psn": lambda _: (Fault(0, 1, {"psn": (PSN + 4) % judges_frames.PSNS}),),
    "a-psn-twice": lambda _: (Fault(1, 1, {"psn": PSN + 1}), Fault(1, 2, {"psn": PSN + 1}, corrupt=True)),
    "a-qpn": lambda qpns: (Fault(0, 3, {"qpn": qpns[1]}), Fault(1, 5, {"qpn": qpns[0]}, corrupt=True)),
    "another-qpn": lambda qpns: (Fault(0, 1, {"qpn": qpns[1] + 1}),),
    "opcodes": lambda _: (Fault(0, 2, {"opcode": FIRST}), Fault(1, 1, {"opcode": MIDDLE_OF_SEND}, corrupt=True),
                          Fault(0, 1, {"opcode": READ_LAST}), Fault(1, 1, {"opcode": ACKNOWLEDGE})),
}


# The others are left to ./test.sh --all.
DEFAULT = (("a-qpn", "ipv4"), ("opcodes", "ipv6"))
CASES = [pytest.param(name, family, marks=() if (name, family) in DEFAULT else pytest.mark.long)
         for name in FAULTS for family in ADDRESSES]


@pytest.mark.parametrize("name, family", CASES)
def test_what_is_on_the_cable_is_as_the_protocol_says(tmp_path, cable, name, family):
    """Each gap one NAK, go-back-N, tries; the ends count what the capture holds; tshark marks nothing."""
    middle, ends = cable
    # What comes before both hear is lost on no cable.
    connect(ends, ADDRESSES[family])
    exchange(ends, 3)
    before = [end.counters() for end in ends]
    qpns = connect(ends, ADDRESSES[family])
    middle.forget(FAULTS[name](qpns))
    exchange(ends, MESSAGES)
    events, frames = list(middle.events), list(middle.frames)
    counted = [{key: value - old[key] for key, value in end.counters().items()} for end, old in zip(ends, before)]
    told = {"psn": PSN, "mtu": MTU, "retry": 7,
            "ends": [{**count, "state": RTS, "gid": gid_of(address).hex()} for count, address in zip(counted, ADDRESSES[family])]}
    check_counters(judges_flow.judge(events, *addresses_of(family), told, late=True), told)
    assert middle.lost == (0 if name in ("good", "another-qpn") else len(middle.faults))
    damaged = collections.Counter(packet.source for packet in events if not packet.icrc_good)
    sent = collections.Counter(packet.source for packet in events if packet.sent)
    for i, address in enumerate(addresses_of(family)):
        assert counted[i]["tx_packets"] == sent[address]
        assert counted[1 - i]["roce_icrc_errors"] == damaged[address]
    captures.write(tmp_path / "cable.pcap", frames)
    for frame, fields in zip(frames, dissected(tmp_path / "cable.pcap")):
        check_dissected(fields, frame, {"ipv6": 1} if family == "ipv6" else {})


def addresses_of(family):
    """As frames have them."""
    gids = [gid_of(address) for address in ADDRESSES[family]]
    return [gid if family == "ipv6" else gid[12:] for gid in gids]
