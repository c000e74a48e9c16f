# SPDX-License-Identifier: BSD-3-Clause
"""What a port says of recorded traffic: queue, RSS hash, packet type, checksums, time. Each against our own computation."""

import os
import struct
import subprocess

import pytest

from e2e import captures
from e2e.networks import Networks

ROOT = os.geteuid() == 0
PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e", "e2e_replay")
QUEUES = 4

# The key that the vendors of RSS publish with their examples.
KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")

# Packet types of DPDK, rte_mbuf_ptype.h
L2_ETHER, L3_IPV4, L3_IPV4_EXT, L3_IPV6_EXT_UNKNOWN = 0x1, 0x10, 0x30, 0xe0
L4_TCP, L4_UDP, L4_FRAG = 0x100, 0x200, 0x300
TCP, UDP, FRAGMENT = 6, 17, 44


def toeplitz(data):
    """For each bit of the input, the 32 bits of the key that begin where it stands."""
    key, bits = int.from_bytes(KEY, "big"), len(KEY) * 8
    result = 0
    for i, byte in enumerate(data):
        for bit in range(8):
            if byte & 0x80 >> bit:
                result ^= key >> (bits - 32 - i * 8 - bit)
    return result & 0xffffffff


def fnv(data):
    value = 0x811c9dc5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return value


def total(data):
    """RFC 1071, not complemented."""
    value = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while value > 0xffff:
        value = (value & 0xffff) + (value >> 16)
    return value


def l4_said(protocol, addresses, segment):
    """What is to be said of the checksum of a whole TCP segment or UDP datagram."""
    if protocol == UDP and segment[6:8] == b"\0\0" and len(addresses) == 8:
        return None
    return "good" if total(addresses + struct.pack(">II", len(segment), protocol) + segment) == 0xffff else "bad"


def expected(frame):
    """(hash or None, packet type, IP checksum, L4 checksum or None where either is right)"""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = frame[at:at + 2], frame[at + 2:]
    if kind == b"\x08\x00":
        header = ip[0] % 16 * 4
        ptype = L2_ETHER | (L3_IPV4 if header == 20 else L3_IPV4_EXT)
        addresses, protocol = ip[12:20], ip[9]
        segment = ip[header:int.from_bytes(ip[2:4], "big")]
        fragment = int.from_bytes(ip[6:8], "big") & 0x3fff != 0
        ip_said = "good" if total(ip[:header]) == 0xffff else "bad"
    elif kind == b"\x86\xdd":
        ptype = L2_ETHER | L3_IPV6_EXT_UNKNOWN
        header, addresses, protocol = 40, ip[8:40], ip[6]
        segment = ip[40:40 + int.from_bytes(ip[4:6], "big")]
        fragment = protocol == FRAGMENT
        ip_said = None
    else:
        return None, L2_ETHER, "unknown", "unknown"
    if fragment:
        return toeplitz(addresses), ptype | L4_FRAG, ip_said, "unknown"
    if protocol in (TCP, UDP):
        rss = toeplitz(addresses + segment[:4])
        # By what is in the frame: padding may complete a header that the packet has not all of.
        if protocol == TCP and len(ip) - header < 20:
            return rss, ptype, ip_said, "unknown"
        ptype |= L4_TCP if protocol == TCP else L4_UDP
        # Nothing is said of what is behind a header that is not to be trusted.
        return rss, ptype, ip_said, "unknown" if ip_said == "bad" else l4_said(protocol, addresses, segment)
    return toeplitz(addresses), ptype, ip_said, "unknown"


def received(path):
    done = subprocess.run([PROGRAM, f"net_rnic0,wire=pcap,rx_pcap={path}"], stdout=subprocess.PIPE, text=True,
                          timeout=300, check=True)
    return [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("packet ")]


def check(path):
    """Of each queue's packets, in order, as it has them."""
    frames, times = captures.read(path)
    queues = [[] for _ in range(QUEUES)]
    for frame, time in zip(frames, times):
        rss, *said = expected(frame)
        # The redirection table goes round; without a hash there is the first queue.
        queues[(rss or 0) % QUEUES].append((rss, *said, time, frame))
    seen = received(path)
    assert len(seen) == len(frames)
    begin = min(int(words[5]) for words in seen)
    for words in seen:
        rss, ptype, ip_said, l4, time, frame = queues[int(words[0])].pop(0)
        context = (words, frame.hex())
        assert (int(words[6]), int(words[7], 16)) == (len(frame), fnv(frame)), context
        assert words[1] == ("-" if rss is None else f"{rss:08x}"), context
        assert int(words[2], 16) == ptype, context
        assert ip_said is None or words[3] == ip_said, context
        assert l4 is None or words[4] == l4, context
        # As far behind the first one as they were recorded.
        assert int(words[5]) - begin == time - times[0], context
    return frames


@pytest.mark.skipif(not ROOT, reason="only root makes network namespaces")
def test_recorded_traffic_is_told_right(tmp_path):
    path = tmp_path / "recorded.pcap"
    with Networks() as nets:
        nets.record(path)
    kinds = captures.kinds(check(path))
    for kind in ("arp", "ipv4/6", "ipv4/17", "ipv4/1", "ipv4/17 fragment", "ipv6/6", "ipv6/17", "ipv6/58", "ipv6/44",
                 "vlan ipv4/17"):
        assert kinds[kind] > 0, kinds


def test_frames_of_many_kinds_are_told_right(tmp_path):
    """Flows without number, checksums that are wrong for the most part."""
    captures.write(tmp_path / "mixed.pcap", captures.mixed(1500, 3))
    check(tmp_path / "mixed.pcap")
