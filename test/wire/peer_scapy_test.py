# SPDX-License-Identifier: BSD-3-Clause
"""
Scapy and our end, over a cable of Linux: every request of a connection is answered as it must be, what needs no answer is
delivered; of what is wrong, each row of the table of checks (doc/design/wire_format.md) is dropped and counted in its place, and
nothing else changes.
"""

import struct
import time

import pytest

from e2e.testpmd import PATIENCE
from wire import judges_frames
from wire.peer_scapy import (ALSO_OURS, GROUP_QPN, QKEY, VLAN, AtomicETH, DETH, End, IETH, ImmDt, Peer, RETH, UD_SEND,
                             bad_ipv4_checksum, frames_of, told, with_icrc)

SEND, SEND_IMM, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD = 0x04, 0x05, 0x0a, 0x0b, 0x0c, 0x13, 0x14
SEND_LAST_INVALIDATE, SEND_INVALIDATE = 0x16, 0x17
UC, UC_SEND, CNP = 0x20, 0x24, 0x81
ACK, ATOMIC_ACK = 0x11, 0x12
RECEIVED_SEND, RECEIVED_WRITE = "128", "129"  # opcodes of completions
GRH = 40  # bytes before the payload of a datagram
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


def message(peer, base, data, first=(), last=(), ends=None):
    """
    FIRST, MIDDLE, LAST or ONLY from an opcode on; `ends`: the opcodes of LAST and ONLY if they are others. The answer of a
    reliable connection to the last one.
    """
    pieces = frames_of(data, peer.mtu)
    # WRITEs with immediate number theirs as SENDs do.
    ends = ends or (base + 2 + bool(last), base + 4 + bool(last))
    for i, piece in enumerate(pieces):
        is_first, is_last = i == 0, i == len(pieces) - 1
        opcode = ends[is_first] if is_last else base + (not is_first)
        headers = [*(first if is_first else ()), *(last if is_last else ())]
        if is_last and base < UC:
            answer = peer.ask(opcode, *headers, payload=piece)
            assert (answer.opcode, answer.syndrome) == (ACK, GOOD)
            return answer
        peer.send(peer.build(opcode, *headers, payload=piece, ackreq=0))
        peer.psn = (peer.psn + 1) % judges_frames.PSNS
    return None


@pytest.mark.parametrize("immediate", [False, True])
def test_sends_are_received_and_acknowledged(end, peer, immediate):
    for msn, length in enumerate(LENGTHS, 1):
        end.do(f"put {RECEIVED} {'a5' * (length + 8)}")
        end.do(f"receive {3 * MTU}")
        answer = message(peer, 0x00, DATA[:length], last=[ImmDt(immediate=0x01020304)] if immediate else ())
        assert answer.msn == msn
        assert end.do("poll").split() == ["success", RECEIVED_SEND, str(length), str(0x01020304 if immediate else 0)]
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


def test_sends_invalidate_windows(end, peer):
    """The key is named in the completion, and leads nowhere from then on."""
    for length in (0, 3, MTU, 2 * MTU + 3):
        rkey = int(end.do("window 64 16").split()[1])
        write = RETH(va=end.address + 64, rkey=rkey, length=1)
        assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD
        end.do(f"receive {3 * MTU}")
        message(peer, 0x00, DATA[:length], last=[IETH(rkey=rkey)], ends=(SEND_LAST_INVALIDATE, SEND_INVALIDATE))
        assert end.do("poll").split() == ["success", RECEIVED_SEND, str(length), str(rkey)]
        assert bytes.fromhex(end.do(f"get {RECEIVED} {length}")) == DATA[:length]
        assert peer.ask(WRITE, write, payload=b"x").syndrome == 0x62
        peer.meet()


@pytest.mark.parametrize("immediate", [False, True])
def test_unreliable_messages_arrive_and_nothing_is_said(end, peer, immediate):
    """SENDs, and WRITEs: a SEND behind one tells that it has been executed."""
    last = [ImmDt(immediate=0x01020304)] if immediate else ()
    word = str(0x01020304 if immediate else 0)
    peer.meet("uc")
    for length in LENGTHS:
        end.do(f"put {RECEIVED} {'a5' * (length + 8)}")
        end.do(f"receive {3 * MTU}")
        message(peer, UC, DATA[:length], last=last)
        assert end.do("poll").split() == ["success", RECEIVED_SEND, str(length), word]
        assert bytes.fromhex(end.do(f"get {RECEIVED} {length + 8}")) == DATA[:length] + b"\xa5" * 8
        end.do(f"put 64 {'a5' * (length + 8)}")
        end.do("receive 0")
        message(peer, UC + 6, DATA[:length], [RETH(va=end.address + 64, rkey=end.rkey, length=length)], last)
        if immediate:
            assert end.do("poll").split() == ["success", RECEIVED_WRITE, str(length), word]
        else:
            message(peer, UC, b"")
            assert end.do("poll").split() == ["success", RECEIVED_SEND, "0", "0"]
        assert bytes.fromhex(end.do(f"get 64 {length + 8}")) == DATA[:length] + b"\xa5" * 8
    assert peer.is_silent()


def test_an_unreliable_message_with_a_gap_is_dropped(end, peer):
    """The receive is there for the next one."""
    peer.meet("uc")
    end.do(f"receive {3 * MTU}")
    peer.send(peer.build(UC, payload=DATA[:MTU]))
    peer.send(peer.build(UC + 2, payload=b"last", psn=(peer.psn + 2) % judges_frames.PSNS))
    peer.psn = (peer.psn + 3) % judges_frames.PSNS
    message(peer, UC, b"whole")
    assert end.do("poll").split() == ["success", RECEIVED_SEND, "5", "0"]
    assert end.do("quiet") == "yes" and peer.is_silent()


def test_datagrams_arrive_behind_their_headers(end, peer):
    """From one to one, and to a group; their IP header is what was sent."""
    peer.listen()
    room = 40 - (40 if peer.ipv6 else 20)
    for length in (0, 1, 2, 3, 64, MTU):
        for build in (peer.datagram, peer.to_group):
            frame = build(payload=DATA[:length])
            end.do(f"receive ud {GRH + MTU}")
            peer.send(frame)
            assert end.do("poll").split() == ["success", RECEIVED_SEND, str(GRH + length), "0"]
            got = bytes.fromhex(end.do(f"get {RECEIVED} {GRH + length}"))
            assert got == b"\0" * room + frame[14:14 + GRH - room] + DATA[:length]
    end.do(f"receive ud {GRH + MTU}")
    peer.send(peer.datagram(ImmDt(immediate=0x01020304), payload=b"word"))
    assert end.do("poll").split() == ["success", RECEIVED_SEND, str(GRH + 4), str(0x01020304)]
    assert peer.is_silent()


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

ETHERNET, MALFORMED, ICRC, UNKNOWN, DROPPED, SOURCE, PKEY, QKEYS, CNPS = (
    "rx_unmatched", "roce_malformed", "roce_icrc_errors", "roce_unknown_qp", "roce_dropped", "roce_source_errors",
    "roce_pkey_errors", "roce_qkey_errors", "roce_cnps")


def changed(frame, at, data, icrc=True):
    """Other bytes there, and the ICRC of that, or of what was."""
    frame = frame[:at] + data + frame[at + len(data):]
    return with_icrc(frame) if icrc else frame


def wrong_paths(peer, good):
    """(what is wrong, the frame, the counter) of a connection's packets, each otherwise a good one."""
    other = "fd77::3" if peer.ipv6 else "10.77.0.3"
    return [
        ("from another address", good(source=other), SOURCE),
        ("to another address of ours", good(destination=ALSO_OURS[peer.ipv6]), SOURCE),
        ("to our address in another VLAN", good(vlan=VLAN), SOURCE),
        ("P_Key", good(pkey=0x8001), PKEY),
        ("P_Key, from another address", good(source=other, pkey=0x8001), SOURCE),
        ("P_Key, and no PSN of now", good(pkey=0x8001, psn=(peer.psn + 1) % judges_frames.PSNS), PKEY),
    ]


def wrong_datagrams(peer):
    """(what is wrong, the frame, the counter), each otherwise a datagram that would be taken."""
    good, group = peer.datagram, peer.to_group
    nobodys = "ff0e::78" if peer.ipv6 else "239.77.0.2"
    return [
        ("P_Key of a datagram", good(pkey=0x8001), PKEY),
        ("Q_Key", good(qkey=QKEY ^ 1), QKEYS),
        ("P_Key of one to a group", group(pkey=0x8001), PKEY),
        ("Q_Key of one to a group", group(qkey=QKEY ^ 1), QKEYS),
        ("QPN of groups, to one address", good(dqpn=GROUP_QPN), UNKNOWN),
        ("another QPN, to a group", group(dqpn=peer.datagrams), UNKNOWN),
        ("a group that nobody is in", group(group=nobodys), ETHERNET),
        ("a group, in a VLAN of nobody", group(vlan=7), ETHERNET),
        ("a connection's packet, to a group", group(UC_SEND), DROPPED),
        ("a connection's packet, to datagrams", peer.build(SEND, dqpn=peer.datagrams), DROPPED),
    ]


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
        *wrong_paths(peer, good),
        ("CNP", peer.build(CNP, payload=b"\0" * 16, becn=1), CNPS),
    ]
    if not peer.ipv6:
        rows += [
            ("header checksum", bad_ipv4_checksum(frame), MALFORMED),
            # Fragments are below: the socket of net_af_packet puts them together, and those of libpcap do not.
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
    peer.listen()
    end.do(f"receive ud {GRH + 8}")
    assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD
    before = end.counters()
    for what, frame, counter in wrong_frames(peer) + wrong_datagrams(peer):
        peer.send(frame)
        assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD, what
        after = end.counters()
        moved = {name: after[name] - before[name] for name in after if after[name] != before[name] and name not in ALWAYS | own}
        assert moved == {counter: 1}, what
        assert after["tx_packets"] - before["tx_packets"] == 1, what
        assert end.do("get 0 1") == "00", what
        before = after
    assert end.do("state") == "RTS"
    assert end.do("quiet") == "yes"
    peer.send(peer.datagram(payload=b"right"))
    assert end.do("poll").split()[:3] == ["success", RECEIVED_SEND, str(GRH + 5)]


def counted(peer, frame, counter):
    """How often a frame that nothing answers is counted: one behind it, to nobody, is counted when it has been looked at."""
    before = peer.end.counters()
    peer.send(frame)
    peer.send(peer.build(WRITE, RETH(), dqpn=0))
    late = time.monotonic() + PATIENCE
    while (after := peer.end.counters())[UNKNOWN] == before[UNKNOWN]:
        assert time.monotonic() < late
    return after[counter] - before[counter]


def test_the_same_of_an_unreliable_connection(end, peer):
    """A receive that is there is not taken by any of them."""
    peer.meet("uc")
    end.do("receive 8")

    def good(**more):
        return peer.build(UC_SEND, payload=b"!", **more)

    for what, frame, counter in wrong_paths(peer, good) + [("another transport", peer.build(SEND, payload=b"!"), DROPPED)]:
        assert counted(peer, frame, counter) == 1, what
        assert end.do("quiet") == "yes", what
    peer.send(good())
    assert end.do("poll").split() == ["success", RECEIVED_SEND, "1", "0"]


def test_a_queue_pair_that_does_not_receive_counts_what_comes(end, peer):
    """In INIT, of connections and of datagrams, and in ERR."""
    write = RETH(va=end.address, rkey=end.rkey, length=1)
    bad = RETH(va=end.address, rkey=end.rkey ^ 0x5a, length=1)
    assert peer.ask(WRITE, bad, payload=b"x").syndrome == 0x62
    assert end.do("state") == "ERR"
    assert counted(peer, peer.build(WRITE, write, payload=b"x"), DROPPED) == 1
    peer.qpn, peer.datagrams = end.create("rc"), end.create("ud")
    assert end.do("state") == "INIT"
    assert counted(peer, peer.build(WRITE, write, payload=b"x"), DROPPED) == 1
    assert counted(peer, peer.datagram(payload=b"x"), DROPPED) == 1


def test_fragments_are_ethernets():
    """The first of them, and one whose bytes are like a packet's; through libpcap, which puts none together."""
    with End(("wire=pcap,iface=va,mac=02:00:00:00:00:98",)) as end:
        peer = Peer(end)
        write = RETH(va=end.address, rkey=end.rkey, length=1)
        end.do("put 0 00")
        for fragment in (b"\x20\x00", b"\x20\x01", b"\x00\x01"):
            frame = peer.build(WRITE, write, payload=b"x")
            frame = with_icrc(with_checksum(changed(frame, 14 + 6, fragment, icrc=False)))
            assert counted(peer, frame, ETHERNET) == 1
            assert end.do("get 0 1") == "00"
        assert peer.ask(WRITE, write, payload=b"x").syndrome == GOOD
        assert end.do("get 0 1") == "78"
        peer.close()


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
