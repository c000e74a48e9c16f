# SPDX-License-Identifier: BSD-3-Clause
"""Frames of RoCEv2 out of captures, read as IBTA vol. 1 (9.2 to 9.7, annexes A14 and A17) says, and their ICRC by zlib."""

import dataclasses
import struct
import zlib

PORT = 4791
PSNS = 1 << 24

# BTH opcode: name, bytes of each header behind the BTH
RETH, ATOMIC_ETH, AETH, ATOMIC_ACK, IMM, IETH, DETH = "reth", "atomiceth", "aeth", "atomicacketh", "immdt", "ieth", "deth"
XRCETH = "xrceth"
CNP_RESERVED = "reserved"  # of a congestion notification
BYTES = {XRCETH: 4, RETH: 16, ATOMIC_ETH: 28, AETH: 4, ATOMIC_ACK: 8, IMM: 4, IETH: 4, DETH: 8, CNP_RESERVED: 16}
RC = {
    0x00: ("SEND_FIRST",), 0x01: ("SEND_MIDDLE",), 0x02: ("SEND_LAST",), 0x03: ("SEND_LAST_IMM", IMM),
    0x04: ("SEND_ONLY",), 0x05: ("SEND_ONLY_IMM", IMM),
    0x06: ("WRITE_FIRST", RETH), 0x07: ("WRITE_MIDDLE",), 0x08: ("WRITE_LAST",), 0x09: ("WRITE_LAST_IMM", IMM),
    0x0a: ("WRITE_ONLY", RETH), 0x0b: ("WRITE_ONLY_IMM", RETH, IMM),
    0x0c: ("READ_REQUEST", RETH), 0x0d: ("READ_RESPONSE_FIRST", AETH), 0x0e: ("READ_RESPONSE_MIDDLE",),
    0x0f: ("READ_RESPONSE_LAST", AETH), 0x10: ("READ_RESPONSE_ONLY", AETH), 0x11: ("ACKNOWLEDGE", AETH),
    0x12: ("ATOMIC_ACKNOWLEDGE", AETH, ATOMIC_ACK), 0x13: ("COMPARE_SWAP", ATOMIC_ETH), 0x14: ("FETCH_ADD", ATOMIC_ETH),
    0x16: ("SEND_LAST_INVALIDATE", IETH), 0x17: ("SEND_ONLY_INVALIDATE", IETH),
}
# Unreliable connections have the SENDs and WRITEs of reliable ones.
UC = {0x20 | opcode: ("UC_" + name, *headers) for opcode, (name, *headers) in RC.items() if opcode < 0x0c}
UD = {0x64: ("UD_SEND_ONLY", DETH), 0x65: ("UD_SEND_ONLY_IMM", DETH, IMM)}
SENT = RC | UC | UD  # by our devices
RESPONSES = range(0x0d, 0x13)
# Extended reliable connections have all of the reliable ones', and requests the number of a shared receive queue in front.
XRC = {0xa0 | opcode: ("XRC_" + name, *(() if opcode in RESPONSES else (XRCETH,)), *headers)
       for opcode, (name, *headers) in RC.items()}
CNP = 0x81
KINDS = SENT | XRC | {CNP: ("CNP", CNP_RESERVED)}

# AETH's syndrome: its kind in bits 7:5, a value in the others.
ACK, RNR, NAK = 0, 1, 3
NAKS = {0: "PSN sequence error", 1: "invalid request", 2: "remote access error", 3: "remote operational error"}


@dataclasses.dataclass
class Packet:
    """One that is whole; its numbers are as in the frame."""

    time: int
    vlan: int
    source: bytes
    destination: bytes
    opcode: int
    solicited: bool
    padding: int
    qpn: int
    ack_request: bool
    psn: int
    headers: dict
    payload: bytes
    icrc_good: bool
    sent: bool = False
    ip: int = 4

    @property
    def name(self):
        return KINDS[self.opcode][0]

    @property
    def syndrome(self):
        return self.headers[AETH] >> 24

    @property
    def kind(self):
        return self.syndrome >> 5

    @property
    def value(self):
        return self.syndrome & 0x1f

    @property
    def is_response(self):
        return self.opcode in RESPONSES or (self.opcode in XRC and self.opcode & 0x1f in RESPONSES)


def icrc(ip):
    """Of a datagram from its IP header on, whose last four bytes are not looked at: as they would be."""
    covered = bytearray(ip[:-4])
    if covered[0] >> 4 == 4:
        udp = 20
        covered[1] = covered[8] = 0xff
        covered[10:12] = b"\xff\xff"
    else:
        udp = 40
        covered[0] |= 0x0f
        covered[1:4] = b"\xff\xff\xff"
        covered[7] = 0xff
    covered[udp + 6:udp + 8] = b"\xff\xff"
    covered[udp + 12] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + covered))


def datagram(frame):
    """(VLAN or None, its IP datagram without Ethernet's padding) of a frame that has one, else None."""
    at, vlan = 14, None
    if frame[12:14] == b"\x81\x00":
        vlan = int.from_bytes(frame[14:16], "big") & 0xfff
        at = 18
    kind = frame[at - 2:at]
    if kind == b"\x08\x00":
        return vlan, frame[at:at + int.from_bytes(frame[at + 2:at + 4], "big")]
    if kind == b"\x86\xdd":
        return vlan, frame[at:at + 40 + int.from_bytes(frame[at + 4:at + 6], "big")]
    return None


def _numbers(headers, data):
    """{name: number} of the headers that stand there."""
    values, at = {}, 0
    for header in headers:
        values[header] = int.from_bytes(data[at:at + BYTES[header]], "big")
        at += BYTES[header]
    return values, at


def parse(frame, time=0):
    """The packet of a frame, or None if it is none."""
    found = datagram(frame)
    if found is None:
        return None
    vlan, ip = found
    version = ip[0] >> 4
    udp = 20 if version == 4 else 40
    if ip[9 if version == 4 else 6] != 17 or ip[udp + 2:udp + 4] != struct.pack(">H", PORT):
        return None
    bth = ip[udp + 8:udp + 20]
    if len(ip) < udp + 24 or bth[0] not in KINDS:
        return None
    addresses = ip[12:20] if version == 4 else ip[8:40]
    half = len(addresses) // 2
    headers, used = _numbers(KINDS[bth[0]][1:], ip[udp + 20:])
    padding = bth[1] >> 4 & 3
    return Packet(time=time, vlan=vlan, source=addresses[:half], destination=addresses[half:], opcode=bth[0],
                  solicited=bool(bth[1] & 0x80), padding=padding, qpn=int.from_bytes(bth[5:8], "big"),
                  ack_request=bool(bth[8] & 0x80), psn=int.from_bytes(bth[9:12], "big"), headers=headers,
                  payload=ip[udp + 20 + used:len(ip) - 4 - padding], icrc_good=icrc(ip) == ip[-4:], ip=version)


def dma_length(packet):
    """Bytes that a RETH announces."""
    return packet.headers[RETH] & 0xffffffff


def ahead(psn, of):
    """How far behind another PSN this one comes; less than 0: it is before it."""
    return (psn - of + PSNS // 2) % PSNS - PSNS // 2
