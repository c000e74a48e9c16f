# SPDX-License-Identifier: BSD-3-Clause
"""Captures, written and read as the file format says, and frames to put into them."""

import collections
import random
import struct

MAGIC_NS = 0xa1b23c4d
ETHERNET = 1


def write(path, frames, gap_ns=1000):
    """Frames as a capture with nanoseconds."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, 65535, ETHERNET))
        for i, frame in enumerate(frames):
            seconds, ns = divmod(1_700_000_000 * 10**9 + i * gap_ns, 10**9)
            file.write(struct.pack("<IIII", seconds, ns, len(frame), len(frame)) + frame)


def read(path):
    """Frames of a capture with nanoseconds that must be whole, and their times."""
    with open(path, "rb") as file:
        data = file.read()
    magic, major, minor, _, _, _, kind = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, kind) == (MAGIC_NS, 2, 4, ETHERNET)
    frames, times, at = [], [], 24
    while at < len(data):
        seconds, ns, captured, length = struct.unpack_from("<IIII", data, at)
        assert captured == length and ns < 10**9
        frames.append(data[at + 16:at + 16 + length])
        assert len(frames[-1]) == length
        times.append(seconds * 10**9 + ns)
        at += 16 + length
    return frames, times


def mixed(count, seed):
    """Frames as a network has them: tags, fragments, groups, other protocols; all lengths that an MTU of 1500 allows."""
    rand = random.Random(seed)

    def mac(first):
        return bytes([first]) + rand.randbytes(5)

    def ipv4(protocol, payload, fragment=0):
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), rand.randrange(65536),
                             fragment, 64, protocol, 0)
        return b"\x08\x00" + header + rand.randbytes(8) + payload

    def ipv6(protocol, payload):
        header = struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64)
        return b"\x86\xdd" + header + rand.randbytes(32) + payload

    def frame():
        payload = rand.randbytes(rand.choice([18, 40, rand.randrange(26, 1400), 1440]))
        packet = rand.choice([
            lambda: ipv4(6, payload), lambda: ipv4(17, payload), lambda: ipv4(1, payload),
            lambda: ipv4(17, payload, 0x2000), lambda: ipv4(17, payload, 185),
            lambda: ipv6(6, payload), lambda: ipv6(17, payload), lambda: ipv6(58, payload),
            lambda: b"\x08\x06" + rand.randbytes(46), lambda: b"\x88\xb5" + payload,
        ])()
        if rand.random() < 0.2:
            packet = b"\x81\x00" + rand.randbytes(2) + packet
        if rand.random() < 0.1:
            packet = b"\x88\xa8" + rand.randbytes(2) + packet
        first = rand.choice([0x02, 0x02, 0x00, 0x33, 0x01])
        to = b"\xff" * 6 if rand.random() < 0.05 else mac(first)
        return (to + mac(0x02) + packet).ljust(60, b"\0")

    return [frame() for _ in range(count)]


def kinds(frames):
    """How many there are of each kind: arp, ipv4/PROTOCOL, ipv6/NEXT HEADER; "vlan" before it, "fragment" behind."""
    count = collections.Counter()
    for frame in frames:
        at, name = 12, ""
        while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
            at, name = at + 4, "vlan "
        kind = frame[at:at + 2].hex()
        if kind == "0800":
            fragment = struct.unpack_from(">H", frame, at + 8)[0] & 0x3fff
            name += f"ipv4/{frame[at + 11]}" + (" fragment" if fragment else "")
        elif kind == "86dd":
            name += f"ipv6/{frame[at + 8]}"
        else:
            name += {"0806": "arp"}.get(kind, kind)
        count[name] += 1
    return count
