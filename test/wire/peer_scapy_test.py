# SPDX-License-Identifier: BSD-3-Clause
"""
Scapy and our end of a connection, over a cable of Linux: every request is answered as it must be; of what is wrong, each row of
the table of checks (doc/design/wire_format.md) is dropped and counted in its place, and nothing else changes.
"""

import struct
import time

import pytest

from e2e.testpmd import PATIENCE
from wire import judges_frames
from wire.peer_scapy import AtomicETH, DETH, End, ImmDt, Peer, RETH, bad_ipv4_checksum, frames_of, told, with_icrc

SEND, SEND_IMM, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD = 0x04, 0x05, 0x0a, 0x0b, 0x0c, 0x13, 0x14
UC_SEND, UD_SEND, CNP = 0x24, 0x64, 0x81
ACK, ATOMIC_ACK = 0x11, 0x12
GOOD = 0x1f
MTU = 1024
RECEIVED = 32 << 10  # where receives go, in our end's memory
DATA = bytes((i * 7 + (i >> 8)) & 0xff for i in range(3 * MTU))
LENGTHS = (0, 1, 2, 3, 64, MTU - 1, MTU, MTU + 1, 2 * MTU, 2 * MTU + 3)


@pytest.fixture(name="end", scope="module")
def fixture_end():
    with End() as end:
        yield end


@pytest.fixture(name="peer", params=[False, True], ids=["ipv4", "ipv6"])
def fixture_peer(request, end):
    peer = Peer(end, request.param)
    yield peer
    peer.close()


def message(peer, base, data, first=(), last=()):
    """FIRST, MIDDLE, LAST or ONLY from an opcode on; the last one is answered."""
    pieces = frames_of(data, peer.mtu)
    immediate = bool(last)
    for i, piece in enumerate(pieces):
        begins, ends = i == 0, i == len(pieces) - 1
        opcode = base + (4 if begins else 2) + immediate if ends else base + (not begins)
        # WRITEs with immediate number theirs as SENDs do.
        headers = [*(first if begins else ()), *(last if ends else ())]
        if not ends:
            peer.send(peer.build(opcode, *headers, payload=piece, ackreq=0))
            peer.psn = (peer.psn + 1) % judges_frames.PSNS
        else:
            answer = peer.ask(opcode, *headers, payload=piece)
            assert (answer.opcode, answer.syndrome) == (ACK, GOOD)
            return answer
    return None


@pytest.mark.parametrize("immediate", [False, True])
def test_sends_are_received_and_acknowledged(end, peer, immediate):
    for msn, length in enumerate(LENGTHS, 1):
        end.do(f"put {RECEIVED} {'a5' * (length + 8)}")
        end.do(f"receive {3 * MTU}")
        answer = message(peer, 0x00, DATA[:length], last=[ImmDt(immediate=0x01020304)] if immediate else ())
        assert answer.msn == msn
        assert end.do("poll").split() == ["success", "128", str(length), str(0x01020304 if immediate else 0)]
        assert bytes.fromhex(end.do(f"get {RECEIVED} {length + 8}")) == DATA[:length] + b"\xa5" * 8


@pytest.mark.parametrize("immediate", [False, True])
def test_writes_are_written_and_acknowledged(end, peer, immediate):
    for msn, length in enumerate(LENGTHS, 1):
        end.do(f"put 64 {'a5' * (length + 8)}")
        if immediate:
            end.do("receive 0")
        answer = message(peer, 0x06, DATA[:length], first=[RETH(va=end.address + 64, rkey=end.rkey, length=length)],
                         last=[ImmDt(immediate=0x01020304)] if immediate else ())
        assert answer.msn == msn
        assert bytes.fromhex(end.do(f"get 64 {length + 8}")) == DATA[:length] + b"\xa5" * 8
        if immediate:
            assert end.do("poll").split() == ["success", "129", str(length), str(0x01020304)]
    assert end.do("quiet") == "yes"


def test_reads_are_answered_with_the_data(end, peer):
    end.do(f"put 100 {DATA.hex()}")
    for length in LENGTHS:
        pieces = frames_of(DATA[:length], MTU)
        psn = peer.psn
        got = [peer.ask(READ, RETH(va=end.address + 100, rkey=end.rkey, length=length), psns=len(pieces))]
        got += [told(peer.answer()) for _ in pieces[1:]]
        assert [answer.psn for answer in got] == [(psn + i) % judges_frames.PSNS for i in range(len(pieces))]
        assert [answer.payload for answer in got] == pieces
        assert [answer.opcode for answer in got] == ([0x10] if len(got) == 1 else [0x0d] + [0x0e] * (len(got) - 2) + [0x0f])
        assert all(answer.syndrome == GOOD for answer in got if answer.opcode != 0x0e)


def test_atomics_are_executed_once(end, peer):
    """And answered with what was there, a second time too."""
    end.do(f"put 8 {struct.pack('=Q', 40).hex()}")
    eth = {"va": end.address + 8, "rkey": end.rkey}

    def value():
        return struct.unpack("=Q", bytes.fromhex(end.do("get 8 8")))[0]

    answer = peer.ask(FETCH_ADD, AtomicETH(swap_add=2, **eth))
    assert (answer.opcode, answer.syndrome, answer.original) == (ATOMIC_ACK, GOOD, 40)
    peer.psn = (peer.psn - 1) % judges_frames.PSNS
    assert peer.ask(FETCH_ADD, AtomicETH(swap_add=2, **eth)).original == 40
    assert value() == 42
    assert peer.ask(COMPARE_SWAP, AtomicETH(swap_add=7, compare=41, **eth)).original == 42
    assert value() == 42
    assert peer.ask(COMPARE_SWAP, AtomicETH(swap_add=7, compare=42, **eth)).original == 42
    assert value() == 7


def test_a_gap_gets_one_nak(end, peer):
    """Whatever comes behind it; and what is missing ends it."""
    write = RETH(va=end.address, rkey=end.rkey, length=1)
    for behind in (1, 2, 5):
        peer.send(peer.build(WRITE, write, payload=b"x", psn=(peer.psn + behind) % judges_frames.PSNS))
    nak = told(peer.answer())
    assert (nak.opcode, nak.syndrome, nak.psn) == (ACK, 0x60, peer.psn)
    assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD


def test_what_is_refused_says_why(end, peer):
    """NAKs of invalid requests and of access errors; a SEND without a receive is to come again."""
    answer = peer.ask(SEND, payload=b"early", psns=0)
    assert answer.syndrome >> 5 == 1
    end.do("receive 8")
    assert peer.ask(SEND, payload=b"again").syndrome == GOOD
    assert end.do("poll").split()[0] == "success"
    for syndrome, opcode, header, payload in (
            (0x61, FETCH_ADD, AtomicETH(va=end.address + 4, rkey=end.rkey), b""),
            (0x61, WRITE, RETH(va=end.address, rkey=end.rkey, length=2), b"x"),
            (0x61, 0x07, RETH(), b""),
            (0x62, WRITE, RETH(va=end.address, rkey=end.rkey ^ 0x5a, length=1), b"x"),
            (0x62, WRITE, RETH(va=end.address + end.bytes, rkey=end.rkey, length=1), b"x"),
            (0x62, READ, RETH(va=2**64 - 4, rkey=end.rkey, length=8), b"")):
        peer.meet()
        assert peer.ask(opcode, header, payload=payload).syndrome == syndrome
        assert end.do("state") == "ERR"


# ---- What is wrong ----

ETHERNET, MALFORMED, ICRC, UNKNOWN, DROPPED, SOURCE, PKEY, CNPS = (
    "rx_unmatched", "roce_malformed", "roce_icrc_errors", "roce_unknown_qp", "roce_dropped", "roce_source_errors",
    "roce_pkey_errors", "roce_cnps")


def changed(frame, at, data, icrc=True):
    """Other bytes there, and the ICRC of that, or of what was."""
    frame = frame[:at] + data + frame[at + len(data):]
    return with_icrc(frame) if icrc else frame


def wrong_frames(peer):
    """(what is wrong, the frame, the counter), each otherwise a WRITE of one byte that would be taken."""
    end = peer.end
    write = RETH(va=end.address, rkey=end.rkey, length=1)

    def good(**more):
        return peer.build(WRITE, write, payload=b"!", **more)

    ip = 14
    udp = ip + (40 if peer.ipv6 else 20)
    bth = udp + 8
    frame = good()
    other = "fd77::3" if peer.ipv6 else "10.77.0.3"
    rows = [
        ("MAC of another", changed(frame, 0, b"\x02\0\0\0\0\x77"), ETHERNET),
        ("address of another", good(destination=other), ETHERNET),
        ("VLAN that the address is not in", good(vlan=7), ETHERNET),
        ("another port", good(port=4792), ETHERNET),
        ("not UDP", changed(frame, ip + (6 if peer.ipv6 else 9), b"\x06"), ETHERNET),
        ("IP longer than the frame", changed(frame, *length_of(peer, frame, ip, 1), icrc=False), MALFORMED),
        ("UDP not all of IP", changed(frame, udp + 4, struct.pack(">H", len(frame) - udp - 1)), MALFORMED),
        ("no room for the BTH", cut(peer, frame, bth + 15), MALFORMED),
        ("version", changed(frame, bth + 1, bytes([frame[bth + 1] | 1])), MALFORMED),
        ("no opcode", changed(frame, bth, b"\x1f"), MALFORMED),
        ("no opcode, and no ICRC either", changed(frame, bth, b"\xff", icrc=False), MALFORMED),
        ("shorter than its headers", cut(peer, frame, bth + 12 + 12 + 4), MALFORMED),
        ("padding longer than what is there", changed(cut(peer, frame, bth + 12 + 16 + 4), bth + 1, b"\x70"), MALFORMED),
        ("padding where none may be", changed(peer.build(0x06, write, payload=b"12345678"), bth + 1, b"\x70"), MALFORMED),
        ("not a multiple of four", changed(cut(peer, frame, len(frame) - 1), bth + 1, b"\x40"), MALFORMED),
        ("ICRC", frame[:-1] + bytes([frame[-1] ^ 1]), ICRC),
        ("a byte of the payload", changed(frame, len(frame) - 8, b"?", icrc=False), ICRC),
        ("QPN of nobody", good(dqpn=peer.qpn ^ 0x800000), UNKNOWN),
        ("QPN 0", good(dqpn=0), UNKNOWN),
        ("QPN of groups, to one address", good(dqpn=0xffffff), UNKNOWN),
        ("another transport", peer.build(UC_SEND, payload=b"!"), DROPPED),
        ("a datagram", peer.build(UD_SEND, DETH(qkey=1, source_qpn=9), payload=b"!"), DROPPED),
        ("from another address", good(source=other), SOURCE),
        ("P_Key", good(pkey=0x8001), PKEY),
        ("CNP", peer.build(CNP, payload=b"\0" * 16, becn=1), CNPS),
    ]
    if not peer.ipv6:
        rows += [
            ("header checksum", bad_ipv4_checksum(frame), MALFORMED),
            # Fragments do not get this far: the socket of net_af_packet puts them together.
            ("IP options", options(frame), ETHERNET),
        ]
    return rows


def length_of(peer, frame, ip, more):
    """(where, what): IP's length, so much longer."""
    if peer.ipv6:
        return ip + 4, struct.pack(">H", len(frame) - ip - 40 + more)
    return ip + 2, struct.pack(">H", len(frame) - ip + more)


def cut(peer, frame, length):
    """So many bytes of it; IP and UDP say so, and its ICRC is good, if it has room for one."""
    ip, udp = 14, 14 + (40 if peer.ipv6 else 20)
    frame = frame[:length]
    at, data = length_of(peer, frame, ip, 0)
    frame = frame[:at] + data + frame[at + 2:]
    frame = frame[:udp + 4] + struct.pack(">H", length - udp) + frame[udp + 6:]
    if not peer.ipv6:
        frame = with_checksum(frame)
    return with_icrc(frame)


def with_checksum(frame):
    """IPv4's."""
    header = frame[14:24] + b"\0\0" + frame[26:34]
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    return frame[:24] + struct.pack(">H", 0xffff - total) + frame[26:]


def options(frame):
    """A header of six words, the sixth of them no operation."""
    length = struct.pack(">H", len(frame) - 14 + 4)
    frame = frame[:14] + b"\x46" + frame[15:16] + length + frame[18:34] + b"\1\1\1\1" + frame[34:]
    header = frame[14:24] + b"\0\0" + frame[26:38]
    total = sum(struct.unpack(">12H", header))
    total = (total & 0xffff) + (total >> 16)
    return frame[:24] + struct.pack(">H", 0xffff - (total & 0xffff) - (total >> 16)) + frame[26:]


# What any frame changes, and what goes on beside.
ALWAYS = {"rx_packets", "rx_bytes", "doorbells", "commands", "eqes", "interrupts", "shares_cut"}


def test_each_thing_that_is_wrong_is_counted_in_its_place(end, peer):
    """A good request behind each tells that it has been looked at; it moves its own counters alone."""
    write = RETH(va=end.address + 1, rkey=end.rkey, length=1)
    own = {"tx_packets", "tx_bytes", "rx_write_requests"}
    end.do("put 0 0000")
    assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD
    before = end.counters()
    for what, frame, counter in wrong_frames(peer):
        peer.send(frame)
        assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD, what
        after = end.counters()
        moved = {name: after[name] - before[name] for name in after if after[name] != before[name] and name not in ALWAYS | own}
        assert moved == {counter: 1}, what
        assert after["tx_packets"] - before["tx_packets"] == 1, what
        assert end.do("get 0 1") == "00", what
        before = after
    assert end.do("state") == "RTS"


def test_a_queue_pair_that_does_not_receive_counts_what_comes(end, peer):
    """In ERR; and before it there was none."""
    bad = RETH(va=end.address, rkey=end.rkey ^ 0x5a, length=1)
    assert peer.ask(WRITE, bad, payload=b"x").syndrome == 0x62
    before = end.counters()
    peer.send(peer.build(WRITE, RETH(va=end.address, rkey=end.rkey, length=1), payload=b"x"))
    # Nothing answers: one behind it, to nobody, is counted when it has been looked at.
    peer.send(peer.build(WRITE, bad, payload=b"x", dqpn=0))
    late = time.monotonic() + PATIENCE
    while end.counters()[UNKNOWN] == before[UNKNOWN]:
        assert time.monotonic() < late
    assert end.counters()[DROPPED] - before[DROPPED] == 1


def test_reserved_bits_and_what_is_behind_the_packet_do_not_matter(end, peer):
    """Nor does UDP's checksum, MigReq, ECN, a limited P_Key, a tag of VLAN 0, or Ethernet's padding."""
    write = RETH(va=end.address, rkey=end.rkey, length=1)
    bth = 14 + (40 if peer.ipv6 else 20) + 8
    for make in (lambda frame: changed(frame, bth + 4, b"\x3f"), lambda frame: changed(frame, bth + 8, b"\xff"),
                 lambda frame: changed(frame, bth - 2, b"\x12\x34"), lambda frame: changed(frame, bth + 4, b"\xc0", icrc=False),
                 lambda frame: frame + b"\0" * 20):
        peer.send(make(peer.build(WRITE, write, payload=b"x")))
        answer = told(peer.answer())
        assert (answer.psn, answer.syndrome) == (peer.psn, GOOD)
        peer.psn = (peer.psn + 1) % judges_frames.PSNS
    for bth in ({"migreq": 0}, {"pkey": 0x7fff}):
        assert peer.ask(WRITE, write, payload=b"x", **bth).syndrome == GOOD
    assert peer.ask(WRITE, write, payload=b"x", vlan=0).syndrome == GOOD
