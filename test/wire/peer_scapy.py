# SPDX-License-Identifier: BSD-3-Clause
"""Scapy as the peer of our queue pairs: layers of RoCEv2's headers, and ICRCs by zlib."""

import dataclasses
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from scapy.contrib.roce import AETH, BTH
from scapy.fields import BitField, XIntField, XLongField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from e2e.testpmd import PATIENCE, plugin
from wire import judges_frames

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "wire", "wire_peer_end")
ETH_P_ALL = 3
MAC = "02:00:00:00:00:99"
OURS, PEERS = ("10.77.0.1", "fd77::1"), ("10.77.0.2", "fd77::2")
ALSO_OURS, VLAN = ("10.77.0.5", "fd77::5"), 9  # addresses of our port, which no path begins at; OURS are in that VLAN, too
GROUPS = ("239.77.0.1", "ff0e::77")
GROUP_QPN, QKEY = 0xffffff, 0x11223344
QPN, PSN = 0x99, 0xfffffe
BEFORE = PSN - 1  # of a request that was executed before, as far as our end knows: it is acknowledged, and changes nothing
WRITE_ONLY, READ_MIDDLE, ATOMIC_ACKNOWLEDGE, UD_SEND, UD_SEND_IMM = 0x0a, 0x0e, 0x12, 0x64, 0x65


class RETH(Packet):
    """RDMA extended transport header."""

    name = "RETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), BitField("length", 0, 32)]


class AtomicETH(Packet):
    """What an atomic asks."""

    name = "AtomicETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), XLongField("swap_add", 0), XLongField("compare", 0)]


class AtomicAckETH(Packet):
    """What was there."""

    name = "AtomicAckETH"
    fields_desc = [XLongField("value", 0)]  # scapy has an `original` of its own


class DETH(Packet):
    """Datagram extended transport header."""

    name = "DETH"
    fields_desc = [XIntField("qkey", 0), BitField("reserved", 0, 8), BitField("source_qpn", 0, 24)]


class ImmDt(Packet):
    """Immediate data."""

    name = "ImmDt"
    fields_desc = [XIntField("immediate", 0)]


class IETH(Packet):
    """The key that a SEND invalidates."""

    name = "IETH"
    fields_desc = [XIntField("rkey", 0)]


def with_icrc(frame):
    """A frame's bytes, whose last four are the ICRC's room: with it."""
    _, ip = judges_frames.datagram(frame)
    end = len(frame) - 4
    assert frame.endswith(ip[-4:])
    return frame[:end] + judges_frames.icrc(ip)


@dataclasses.dataclass
class Addresses:
    """Of a frame: who sends it, and to whom; MAC addresses and IP addresses of one family."""

    source_mac: str
    destination_mac: str
    source: str
    destination: str


def frame_of(addresses, opcode, *headers, payload=b"", vlan=None, port=judges_frames.PORT, **bth):
    """The bytes of a frame, with a good ICRC. `bth`: fields of the BTH that are not as usual."""
    padding = -len(payload) % 4
    bth = {"migreq": 1, "pkey": 0xffff, "ackreq": 1, "padcount": padding, **bth}
    layer = UDP(sport=0xc123, dport=port, chksum=0) / BTH(opcode=opcode, icrc=0, **bth)
    for header in headers:
        layer = layer / header
    if payload:
        layer = layer / Raw(payload + b"\0" * padding)
    if ":" in addresses.source:
        ip = IPv6(src=addresses.source, dst=addresses.destination)
    else:
        ip = IP(src=addresses.source, dst=addresses.destination, id=0, flags="DF")
    ether = Ether(src=addresses.source_mac, dst=addresses.destination_mac)
    if vlan is not None:
        ether = ether / Dot1Q(vlan=vlan)
    return with_icrc(bytes(ether / ip / layer))


class End:
    """
    Our end, as a process of its own. Use as a context. `devices`: what the vdev net_rnic0 has, and other vdevs; `addresses`: it
    has the ones above.
    """

    def __init__(self, devices=("wire=port:net_af_packet0", "net_af_packet0,iface=va"), addresses=True):
        self.addresses = addresses
        self.folder = tempfile.mkdtemp(prefix="rnic-peer-")
        prefix = os.path.basename(self.folder)
        lcores = "--lcores=0@(0-1)" if os.cpu_count() > 1 else "--lcores=0@0"
        command = [PROGRAM, "-d", plugin(), lcores, "--no-pci", "--no-huge", "-m128", "--log-level=lib.*:4",
                   f"--file-prefix={prefix}", f"--vdev=net_rnic0,{devices[0]}", *(f"--vdev={more}" for more in devices[1:])]
        env = dict(os.environ, RUNTIME_DIRECTORY=self.folder)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.said = b""
        self.telemetry = None
        self.mac = self.address = self.rkey = self.bytes = None

    def __enter__(self):
        try:
            words = self.do("who").split()
            self.mac = ":".join(words[1][i:i + 2] for i in range(0, 12, 2))
            self.address, self.bytes, self.rkey = (int(words[i]) for i in (3, 5, 7))
            path = next(os.path.join(folder, "dpdk_telemetry.v2") for folder, _, files in os.walk(self.folder)
                        if "dpdk_telemetry.v2" in files)
            for address, vlan in [(each, 0) for each in OURS + ALSO_OURS] + [(each, VLAN) for each in OURS]:
                if self.addresses:
                    self.do(f"address {gid_of(address).hex()} {vlan}")
            self.telemetry = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.telemetry.connect(path)
            self.telemetry.recv(65536)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *error):
        if self.telemetry is not None:
            self.telemetry.close()
        if self.process.poll() is None:
            try:
                self.process.stdin.write(b"quit\n")
                self.process.stdin.flush()
                self.process.wait(PATIENCE)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, order):
        """The answer to an order."""
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.said:
            assert select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0], f"no answer to {order}"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, f"it ended after {order}"
            self.said += data
        line, _, self.said = self.said.partition(b"\n")
        answer = line.decode()
        assert not answer.startswith("failed"), answer
        return answer

    def create(self, kind):
        """The number of another queue pair, rc, uc or ud, in INIT."""
        return int(self.do(f"create {kind}").split()[1])

    def counters(self):
        """All that the device counts: of itself, and of queue pairs."""
        both = {}
        for name in ("softrnic", "counters"):
            self.telemetry.send(f"/rnic/{name},net_rnic0".encode())
            both |= json.loads(self.telemetry.recv(1 << 20))[f"/rnic/{name}"]
        return both


def gid_of(address):
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address)
    return b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address)


def mac_of_group(address):
    if ":" in address:
        return bytes([0x33, 0x33]) + gid_of(address)[12:]
    return b"\x01\x00\x5e" + bytes([gid_of(address)[13] & 0x7f]) + gid_of(address)[14:]


class Peer:
    """The other end, on the interface vb: frames out and in, and a queue pair's PSN."""

    def __init__(self, end, ipv6=False, mtu=1024):
        self.end, self.ipv6, self.mtu = end, ipv6, mtu
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind(("vb", ETH_P_ALL))
        self.psn = self.qpn = self.datagrams = None
        self.meet()

    def close(self):
        self.socket.close()

    def meet(self, kind="rc"):
        """A new connection."""
        self.qpn, self.psn = self.end.create(kind), PSN
        self.end.do(f"connect {QPN} {PSN} {gid_of(PEERS[self.ipv6]).hex()} {MAC.replace(':', '')} {self.mtu} 0")
        if kind == "rc":
            self._wait()

    def _wait(self):
        """For our end to hear us: without a queue pair it does not listen, and what comes early is lost."""
        old = self.build(WRITE_ONLY, RETH(), psn=BEFORE)
        end = time.monotonic() + PATIENCE
        while True:
            self.send(old)
            if self._next(0.2) is not None:
                return
            assert time.monotonic() < end, "our end does not hear"

    def listen(self):
        """A new queue pair of our end for datagrams, which is in a group, too."""
        self.datagrams = self.end.create("ud")
        self.end.do(f"listen {gid_of(GROUPS[self.ipv6]).hex()}")

    def build(self, opcode, *headers, source=None, destination=None, mac=None, **more):
        """As frame_of(), to our end's queue pair."""
        addresses = Addresses(MAC, mac or self.end.mac, source or PEERS[self.ipv6], destination or OURS[self.ipv6])
        return frame_of(addresses, opcode, *headers, **{"dqpn": self.qpn, "psn": self.psn, **more})

    def datagram(self, *headers, qkey=QKEY, **more):
        """A frame to our end's queue pair of datagrams."""
        opcode = UD_SEND_IMM if headers else UD_SEND
        return self.build(opcode, DETH(qkey=qkey, source_qpn=QPN), *headers, **{"dqpn": self.datagrams, "ackreq": 0, **more})

    def to_group(self, opcode=None, *headers, group=None, **more):
        """A frame to a group, the one that our end has joined unless named: a datagram, or another packet."""
        group = group or GROUPS[self.ipv6]
        build = self.datagram if opcode is None else lambda **to: self.build(opcode, *headers, **to)
        return build(**{"mac": mac_of_group(group).hex(":"), "destination": group, "dqpn": GROUP_QPN, **more})

    def send(self, frame):
        self.socket.send(frame)

    def is_silent(self):
        """Whether our end sends nothing for a while."""
        while (frame := self._next(0.05)) is not None:
            if judges_frames.parse(frame).psn != BEFORE:
                return False
        return True

    def answer(self):
        """The next frame that our end sends, whose ICRC must be right."""
        end = time.monotonic() + PATIENCE
        while True:
            frame = self._next(end - time.monotonic())
            assert frame is not None, "no answer"
            # To what meet() asks.
            if judges_frames.parse(frame).psn != BEFORE:
                return frame

    def _next(self, seconds):
        """The next frame that our end sends, or None if none comes."""
        end = time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            frame, about = self.socket.recvfrom(65536)
            # Our own, and announcements of addresses, which go to groups.
            if about[2] == socket.PACKET_OUTGOING or frame[0] & 1:
                continue
            packet = judges_frames.parse(frame)
            assert packet is not None and packet.icrc_good and packet.qpn == QPN, frame.hex()
            assert frame[:6].hex() == MAC.replace(":", "")
            return frame
        return None

    def ask(self, opcode, *headers, psns=1, **more):
        """The answer to a request, which has its first PSN."""
        self.send(self.build(opcode, *headers, **more))
        answer = told(self.answer())
        assert answer.psn == self.psn
        self.psn = (self.psn + psns) % judges_frames.PSNS
        return answer


@dataclasses.dataclass
class Answer:
    """What a frame of our end says, by scapy's layers."""

    opcode: int
    psn: int
    syndrome: int = None
    msn: int = None
    original: int = None
    payload: bytes = b""


def told(frame):
    _, ip = judges_frames.datagram(frame)
    bth = Ether(frame)[UDP][BTH]
    rest = ip[(20 if ip[0] >> 4 == 4 else 40) + 8 + 12:-4]
    answer = Answer(bth.opcode, bth.psn)
    if bth.opcode != READ_MIDDLE:
        aeth = AETH(rest[:4])
        answer.syndrome, answer.msn, rest = aeth.syndrome, aeth.msn, rest[4:]
    if bth.opcode == ATOMIC_ACKNOWLEDGE:
        answer.original, rest = AtomicAckETH(rest[:8]).value, rest[8:]
    answer.payload = rest[:len(rest) - bth.padcount]
    return answer


def frames_of(data, mtu):
    """A message's pieces."""
    return [data[at:at + mtu] for at in range(0, len(data), mtu)] or [b""]


def bad_ipv4_checksum(frame):
    """The same with another header checksum; the ICRC does not cover it."""
    return frame[:24] + struct.pack(">H", struct.unpack(">H", frame[24:26])[0] ^ 1) + frame[26:]
