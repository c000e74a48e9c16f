# SPDX-License-Identifier: BSD-3-Clause
"""What two of our devices say to each other, judged by others: tshark, zlib, and a judge of the protocol."""

import collections
import dataclasses
import json
import struct
import subprocess

import pytest

from e2e import captures
from size import DEFAULT, FULL
from wire import capture_text, judges_flow, judges_frames, peer_scapy
from wire.capture_text import CHECKS, PROGRAM
from wire.judges_frames import AETH, ATOMIC_ACK, ATOMIC_ETH, CNP, DETH, IETH, IMM, RETH, XRCETH

SEEDS = 1000 if FULL else 12 if DEFAULT else 50
FIELDS = ("_ws.malformed", "_ws.expert.message", "frame.protocols", "vlan.id", "ip.dsfield.ecn", "infiniband.bth.opcode",
          "infiniband.bth.se", "infiniband.bth.padcnt", "infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.psn",
          "infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen", "infiniband.aeth.syndrome",
          "infiniband.aeth.msn", "infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt",
          "infiniband.atomicacketh.origremdt", "infiniband.immdt", "infiniband.ieth", "infiniband.deth.q_key",
          "infiniband.deth.srcqp", "infiniband.invariant.crc")


def run(**options):
    """What wire_capture says."""
    done = subprocess.run([PROGRAM, *(f"{key}={value}" for key, value in options.items())], stdout=subprocess.PIPE, text=True,
                          timeout=300, check=True)
    return json.loads(done.stdout)


# What wire_capture puts into each of its messages, and its datagrams' key.
IMMEDIATE, QKEY = 0x01020304, 0x11223344
WAYS = {"ipv4": {}, "ipv6": {"ipv6": 1}, "ipv4-vlan": {"vlan": 5}, "ipv6-vlan": {"ipv6": 1, "vlan": 4094}}


@pytest.fixture(name="kinds", scope="module", params=WAYS)
def fixture_kinds(request, tmp_path_factory):
    """(the way, the capture) of every kind of packet, over each kind of address."""
    way = WAYS[request.param]
    path = tmp_path_factory.mktemp("kinds") / f"{request.param}.pcap"
    run(kinds=1, arrived=path, **way)
    return way, path


def test_every_kind_is_in_the_capture(kinds):
    way, path = kinds
    seen, naks, padding = set(), set(), set()
    for frame in captures.read(path)[0]:
        packet = judges_frames.parse(frame)
        assert packet is not None, frame.hex()
        assert packet.vlan == way.get("vlan") and packet.ip == (6 if "ipv6" in way else 4)
        seen.add(packet.opcode)
        padding.add(packet.padding)
        assert packet.headers.get(IMM, IMMEDIATE) == IMMEDIATE
        assert packet.headers.get(DETH, QKEY << 32) >> 32 == QKEY
        if packet.name == "ACKNOWLEDGE":
            naks.add((packet.kind, packet.value if packet.kind == judges_frames.NAK else None))
    assert seen == set(judges_frames.SENT)
    assert naks == {(0, None), (1, None), (3, 0), (3, 1), (3, 2), (3, 3)}
    assert padding == {0, 1, 2, 3}


@pytest.mark.parametrize("way", ("ipv4", "ipv6-vlan"))
def test_a_congestion_notification_of_somebody_else(tmp_path, way):
    """Our devices send none (doc/guides/rdma.md): one by scapy is what it is to all judges, and taken."""
    addresses = peer_scapy.Addresses("02:00:00:00:00:99", "02:00:00:00:00:02", *(
        ("fd00:1::1", "fd00:1::2") if "ipv6" in way else ("10.0.0.1", "10.0.0.2")))
    frame = peer_scapy.frame_of(addresses, CNP, payload=b"\0" * 16, vlan=WAYS[way].get("vlan"), dqpn=9, becn=1, ackreq=0)
    told = run(kinds=1, arrived=tmp_path / "cnp.pcap", foreign=frame.hex(), **WAYS[way])
    assert [end["roce_cnps"] for end in told["ends"]] == [0, 1]
    assert captures.read(tmp_path / "cnp.pcap")[0][-1] == frame
    packet = judges_frames.parse(frame)
    assert (packet.name, packet.icrc_good) == ("CNP", True)
    check_dissected(dissected(tmp_path / "cnp.pcap")[-1], frame, WAYS[way])


@pytest.mark.parametrize("opcode, name, headers, payload", [
    (0xa4, "XRC_SEND_ONLY", {XRCETH: 0x987654}, b"\0\x98\x76\x54hello"),
    (0xab, "XRC_WRITE_ONLY_IMM", {XRCETH: 0x987654, RETH: 1 << 64 | 2 << 32 | 5, IMM: IMMEDIATE},
     b"\0\x98\x76\x54" + struct.pack(">QIII", 1, 2, 5, IMMEDIATE) + b"hello"),
    (0xb0, "XRC_READ_RESPONSE_ONLY", {AETH: 0x1f000007}, b"\x1f\0\0\7hello"),
])
def test_the_judge_reads_packets_of_xrc(opcode, name, headers, payload):
    """Which tshark 4.0 does not: it has no XRCETH."""
    addresses = peer_scapy.Addresses("02:00:00:00:00:01", "02:00:00:00:00:02", "10.0.0.1", "10.0.0.2")
    packet = judges_frames.parse(peer_scapy.frame_of(addresses, opcode, payload=payload))
    assert (packet.name, packet.headers, packet.payload, packet.icrc_good) == (name, headers, b"hello", True)
    assert packet.is_response == (opcode == 0xb0)


def test_the_icrc_of_each_is_zlibs(kinds):
    for frame in captures.read(kinds[1])[0]:
        _, ip = judges_frames.datagram(frame)
        assert judges_frames.icrc(ip) == ip[-4:], frame.hex()


def dissected(path):
    """What tshark says of each frame: {field: text}."""
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=f", *CHECKS]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    lines = done.stdout.splitlines()
    return [dict(zip(FIELDS, line.split("\t"))) for line in lines]


def expected(packet):
    """Those numbers of a frame that tshark has fields for."""
    said = {"opcode": packet.opcode, "se": packet.solicited, "padcnt": packet.padding, "destqp": packet.qpn,
            "a": packet.ack_request, "psn": packet.psn}
    said = {f"bth.{key}": int(value) for key, value in said.items()}
    headers = packet.headers
    if RETH in headers:
        said |= {"reth.va": headers[RETH] >> 64, "reth.r_key": headers[RETH] >> 32 & 0xffffffff,
                 "reth.dmalen": headers[RETH] & 0xffffffff}
    if ATOMIC_ETH in headers:
        said |= {"reth.va": headers[ATOMIC_ETH] >> 160, "reth.r_key": headers[ATOMIC_ETH] >> 128 & 0xffffffff,
                 "atomiceth.swapdt": headers[ATOMIC_ETH] >> 64 & (1 << 64) - 1,
                 "atomiceth.cmpdt": headers[ATOMIC_ETH] & (1 << 64) - 1}
    if AETH in headers:
        said |= {"aeth.syndrome": headers[AETH] >> 24, "aeth.msn": headers[AETH] & 0xffffff}
    if ATOMIC_ACK in headers:
        said["atomicacketh.origremdt"] = headers[ATOMIC_ACK]
    for name in (IMM, IETH):
        if name in headers:
            said[name] = headers[name]
    if DETH in headers:
        said |= {"deth.q_key": headers[DETH] >> 32, "deth.srcqp": headers[DETH] & 0xffffff}
    return said


def check_dissected(fields, frame, way):
    """No mark of what is malformed, and each field as Python reads it."""
    assert fields["_ws.malformed"] == "" and fields["_ws.expert.message"] == "", fields
    ip = "ipv6" if "ipv6" in way else "ip"
    tag = "vlan:ethertype:" if "vlan" in way else ""
    assert fields["frame.protocols"].startswith(f"eth:ethertype:{tag}{ip}:udp:infiniband"), fields
    assert fields["vlan.id"] == str(way.get("vlan", ""))
    found = {key.removeprefix("infiniband."): int(text, 16 if key.endswith(("immdt", "ieth")) else 0)
             for key, text in fields.items() if key.startswith("infiniband.") and text != "" and not key.endswith("crc")}
    packet = judges_frames.parse(frame)
    assert found == expected(packet), (found, expected(packet))
    # What is behind the BTH of a congestion notification is data to tshark 4.0, the ICRC too.
    if packet.opcode != CNP:
        assert int(fields["infiniband.invariant.crc"], 0) == int.from_bytes(frame[-4:], "big")


def test_tshark_dissects_them_all(kinds):
    way, path = kinds
    frames = captures.read(path)[0]
    lines = dissected(path)
    assert len(lines) == len(frames)
    for frame, fields in zip(frames, lines):
        check_dissected(fields, frame, way)


def test_the_document_has_these_captures():
    """`test/wire/capture_text.py --write` makes it so."""
    assert capture_text.document() == capture_text.written()


# ---- The protocol ----

FAULTS = {
    "good": {"drop": 0},
    "loss": {"drop": 20000}, "much-loss": {"drop": 80000, "retry": 7}, "duplicates": {"dup": 50000},
    "reordering": {"reorder": 50000}, "corruption": {"corrupt": 30000},
    "everything": {"drop": 10000, "dup": 10000, "reorder": 20000, "corrupt": 10000},
    "one-way": {"drop": 30000, "reorder": 30000, "one": 1}, "late-receives": {"drop": 10000, "late": 1},
    "few-tries": {"drop": 150000, "retry": 1},
}

# What each of them must have led to, over all seeds.
HAPPENS = {"loss": ("naks", "local_ack_timeout_err", "implied_nak_seq_err"), "duplicates": ("duplicate_request",),
           "reordering": ("naks", "closed"), "late-receives": ("out_of_buffer",), "few-tries": ("errors",)}


def recorded(folder, seed, faults, **more):
    """(packets that were sent and that arrived, in the order of time, how many arrived that are none, what is said of it)"""
    paths = {"sent": folder / "sent.pcap", "arrived": folder / "arrived.pcap"}
    # A fault that never strikes, so that what is sent is seen before any could.
    told = run(seed=seed, **paths, **{"drop": 1, **{key: value for key, value in faults.items() if value or key != "drop"}},
               **more)
    events, damaged = [], 0
    for way, path in paths.items():
        for frame, time in zip(*captures.read(path)):
            packet = judges_frames.parse(frame, time)
            damaged += packet is None or not packet.icrc_good
            if packet is not None:
                events.append(dataclasses.replace(packet, sent=way == "sent"))
    return sorted(events, key=lambda packet: packet.time), damaged, told


def ends_of(told):
    gids = [bytes.fromhex(end["gid"]) for end in told["ends"]]
    return [gid[12:] if gid.startswith(b"\0" * 10 + b"\xff\xff") else gid for gid in gids]


COUNTERS = ("rx_write_requests", "rx_read_requests", "rx_atomic_requests", "out_of_buffer", "out_of_sequence",
            "duplicate_request", "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err")


def check_counters(counts, told):
    """What the devices counted is what the packets say."""
    for end, said in zip(ends_of(told), told["ends"]):
        for name in COUNTERS:
            wanted = counts[end][name]
            if said["state"] != 6:
                assert said[name] == wanted, (name, said[name], wanted)
            else:
                # When it gave up is not seen: the last time that no answer came nothing was repeated, and then it was deaf.
                assert said[name] <= wanted + (name == "local_ack_timeout_err"), (name, said[name], wanted)


def check_frames(events, damaged, told):
    sent, arrived = (collections.Counter(packet.source for packet in events if packet.sent == way) for way in (True, False))
    total = collections.Counter()
    for end, said in zip(ends_of(told), told["ends"]):
        assert said["tx_packets"] == sent[end]
        for name in ("rx_packets", "wire_dropped", "wire_duplicated", "wire_corrupted", "roce_icrc_errors", "roce_malformed"):
            total[name] += said[name]
    assert total["wire_corrupted"] == total["roce_icrc_errors"] + total["roce_malformed"] == damaged
    assert total["rx_packets"] == sum(sent.values()) - total["wire_dropped"] + total["wire_duplicated"]
    # Those that are no packets are not among the events.
    assert 0 <= total["rx_packets"] - sum(arrived.values()) <= damaged


@pytest.mark.parametrize("name", FAULTS)
def test_gaps_answers_and_repetitions_are_as_the_protocol_says(tmp_path, name):
    """Each gap one NAK, from whose PSN the requester goes on; no more tries than allowed; the devices count what happened."""
    happened = collections.Counter()
    for seed in range(1, SEEDS + 1):
        events, damaged, told = recorded(tmp_path, seed, FAULTS[name])
        counts = judges_flow.judge(events, *ends_of(told), told)
        check_counters(counts, told)
        check_frames(events, damaged, told)
        happened.update(sum(counts.values(), collections.Counter()))
        happened["errors"] += sum(end["state"] == 6 for end in told["ends"])
    assert all(happened[counter] > 0 for counter in HAPPENS.get(name, ())), happened


# ---- Faults of packets that are named ----

@dataclasses.dataclass
class Rules:
    """Packets of one end that a fault meets: those that have these fields, of them the first, the second, as `nths` says."""

    nths: tuple
    end: int = 0
    fields: tuple = ()  # of psn, qpn, opcode
    other_qpn: bool = False  # that nobody has

    def text(self, action, values):
        """As the devarg rule= has it."""
        named = "".join(f"/{field}:{values[field] + (field == 'qpn' and self.other_qpn)}" for field in self.fields)
        return "+".join(f"{action}{named}/nth:{nth}" for nth in self.nths)

    def victims(self, events, source, values):
        """Of what was sent, what they meet."""
        fit = [packet for packet in events if packet.sent and packet.source == source and
               all(getattr(packet, field) == values[field] for field in self.fields)]
        return [fit[nth - 1] for nth in self.nths] if not self.other_qpn else []


READ_RESPONSE_FIRST, ACKNOWLEDGE, WRITE_FIRST = 0x0d, 0x11, 0x06
RULES = {
    "a-psn": Rules((1,), fields=("psn",)), "a-psn-three-times": Rules((1, 2, 3), fields=("psn",)),
    "a-qpn": Rules((2, 9, 10, 30), fields=("qpn",)), "a-psn-of-a-qpn": Rules((1,), fields=("qpn", "psn")),
    "another-qpn": Rules((1, 2), fields=("qpn",), other_qpn=True), "any": Rules((1,)),
    "an-opcode": Rules((1, 3), fields=("opcode",)), "answers": Rules((1, 4), 1, ("opcode",)),
    "data-of-reads": Rules((1,), 1, ("opcode",)),
}
OPCODES = {"an-opcode": WRITE_FIRST, "answers": ACKNOWLEDGE, "data-of-reads": READ_RESPONSE_FIRST}


RULED_SEED = 3


def identity(packet):
    return packet.source, packet.opcode, packet.psn


@pytest.fixture(name="named", scope="module")
def fixture_named(tmp_path_factory):
    """(a request of the first end somewhere in the midst, what is said) where no rule is."""
    events, _, told = recorded(tmp_path_factory.mktemp("named"), RULED_SEED, {})
    return [packet for packet in events if packet.sent and packet.source == ends_of(told)[0] and not packet.is_response][9], told


@pytest.mark.parametrize("action", ("drop", "corrupt"))
@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_names_is_what_the_protocol_repairs(tmp_path, named, name, action):
    """By QPN, PSN, opcode, and how often such a one has come: these packets do not arrive, all others do."""
    rules, (request, before) = RULES[name], named
    values = {"psn": request.psn, "qpn": before["ends"][1 - rules.end]["qpn"], "opcode": OPCODES.get(name)}
    events, damaged, told = recorded(tmp_path, RULED_SEED, {},
                                     **{("rule", "second_rule")[rules.end]: rules.text(action, values)})
    check_counters(judges_flow.judge(events, *ends_of(told), told), told)
    check_frames(events, damaged, told)
    victims = rules.victims(events, ends_of(told)[rules.end], values)
    lost = collections.Counter(identity(packet) for packet in events if packet.sent)
    lost.subtract(identity(packet) for packet in events if not packet.sent and packet.icrc_good)
    assert +lost == collections.Counter(map(identity, victims))
    assert told["ends"][rules.end]["wire_dropped" if action == "drop" else "wire_corrupted"] == len(victims)
    assert [end["state"] for end in told["ends"]] == [3, 3]


@pytest.mark.parametrize("retry", (0, 1, 3, 7))
def test_a_packet_that_never_arrives_is_sent_as_often_as_is_allowed(tmp_path, named, retry):
    """Once, and each retry; then its queue pair is in error."""
    request, _ = named
    rule = f"drop/psn:{request.psn}/opcode:{request.opcode}"
    events, damaged, told = recorded(tmp_path, RULED_SEED, {}, retry=retry, rule=rule)
    check_counters(judges_flow.judge(events, *ends_of(told), told), told)
    check_frames(events, damaged, told)
    assert sum(packet.sent and identity(packet) == identity(request) for packet in events) == 1 + retry
    assert told["ends"][0]["wire_dropped"] == 1 + retry
    assert told["ends"][0]["state"] == 6


@pytest.mark.parametrize("late", (False, True))
def test_the_judge_sees_what_is_wrong(tmp_path, late):
    """Each rule, broken by hand in a capture that keeps them all; also where the ends might have looked later."""
    def broken(events, told):
        judges_flow.judge(events, *ends_of(told), told, late)

    seed = 1
    while True:
        events, _, told = recorded(tmp_path, seed, FAULTS["loss"])
        naks = [packet for packet in events if packet.sent and packet.name == "ACKNOWLEDGE" and packet.syndrome == 0x60]
        if naks:
            break
        seed += 1
    broken(events, told)
    nak = events.index(naks[0])
    requests = [i for i, packet in enumerate(events) if packet.sent and not packet.is_response]
    acks = [i for i, packet in enumerate(events) if packet.sent and packet.name == "ACKNOWLEDGE" and packet.kind == 0]
    again = next(i for i in requests if i > nak and events[i].source == naks[0].destination and
                 events[i].psn == naks[0].psn)

    def changed(i, **fields):
        return events[:i] + [dataclasses.replace(events[i], **fields)] + events[i + 1:]

    msn = {AETH: events[acks[0]].headers[AETH] ^ 1}
    for what, wrong in {
            "a gap that nobody tells of": events[:nak] + events[nak + 1:],
            "told of twice": events[:nak + 1] + events[nak:],
            "told of as another": changed(nak, psn=(naks[0].psn + 1) % judges_frames.PSNS),
            "repeated from elsewhere": changed(again, psn=(naks[0].psn + 1) % judges_frames.PSNS),
            "a PSN left out": changed(requests[3], psn=(events[requests[3]].psn + 5) % judges_frames.PSNS),
            "an ACK of what did not come": changed(acks[0], psn=(events[acks[0]].psn + 1) % judges_frames.PSNS),
            "another number of messages": changed(acks[0], headers=msn)}.items():
        with pytest.raises(judges_flow.Verdict):
            broken(wrong, told)
            pytest.fail(what)
    with pytest.raises(judges_flow.Verdict):
        broken(events, {**told, "retry": 0})
