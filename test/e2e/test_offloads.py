# SPDX-License-Identifier: BSD-3-Clause
"""Offloads as stock dpdk-testpmd asks for them: its checksum forwarding, with checksums and segments made by the device.

Packets come from a capture, go out at one port, and wait in the other's ring. What is in there is then forwarded as it
is, to another capture.
"""

import random
import re
import struct

from e2e.testpmd import Testpmd

TCP, UDP = 6, 17
SEGMENT = 1000


def checksum(data):
    """RFC 1071: 0 over what has a right one."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def packet(version, proto, payload, flow):
    """With nonsense in place of checksums."""
    if proto == TCP:
        l4 = struct.pack(">HHIIBBHHH", 1000 + flow, 80, 0xffff0000, 7, 5 << 4, 0x18, 100, 0xdead, 0)
    else:
        l4 = struct.pack(">HHHH", 1000 + flow, 80, 8 + len(payload), 0xdead)
    l4 += payload
    if version == 4:
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(l4), 5, 0x4000, 64, proto, 0xbeef,
                         bytes([10, 0, 0, 1]), bytes([10, 0, 0, flow]))
        kind = b"\x08\x00"
    else:
        ip = struct.pack(">IHBB16s16s", 6 << 28, len(l4), proto, 64, b"\x20" + bytes(14) + b"\1",
                         b"\x20" + bytes(14) + bytes([flow]))
        kind = b"\x86\xdd"
    return b"\2" * 6 + b"\4" * 6 + kind + ip + l4


def write_capture(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for data in packets:
            f.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def read_capture(path):
    with open(path, "rb") as f:
        data = f.read()
    at, packets = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packets.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return packets


def dissect(frame):
    """(version, protocol, flow), TCP's sequence number or 0, payload; all that must be right is."""
    ip = frame[14:]
    version = ip[0] >> 4
    if version == 4:
        assert checksum(ip[:20]) == 0
        header, proto, addresses = 20, ip[9], ip[12:20]
        ip = ip[:struct.unpack_from(">H", ip, 2)[0]]
    else:
        header, proto, addresses = 40, ip[6], ip[8:40]
        ip = ip[:40 + struct.unpack_from(">H", ip, 4)[0]]
    l4 = ip[header:]
    assert checksum(addresses + struct.pack(">II", len(l4), proto) + l4) == 0, frame.hex()
    flow = (version, proto, addresses[-1])
    if proto == TCP:
        return flow, struct.unpack_from(">I", l4, 4)[0], l4[20:]
    return flow, 0, l4[8:]


def run(folder, packets, commands, frames):
    """What comes out of checksum forwarding that was set up so: so many frames."""
    sent, seen = folder / "sent.pcap", folder / "seen.pcap"
    write_capture(sent, packets)
    vdevs = [f"net_pcap0,rx_pcap={sent},tx_pcap={folder / 'none.pcap'}",
             "net_rnic0,wire=pair:csum", "net_rnic1,wire=pair:csum",
             f"net_pcap1,rx_pcap={folder / 'empty.pcap'},tx_pcap={seen}"]
    write_capture(folder / "empty.pcap", [])
    with Testpmd(vdevs, args=["--forward-mode=csum", "--no-flush-rx", "--rxd=1024"], mbufs=16384) as testpmd:
        testpmd.prompt()
        testpmd.stop_ports(1)
        for command in commands:
            assert "not supported" not in testpmd.do(command)
        testpmd.do("port start 1")
        testpmd.do("set portlist 0,1")
        testpmd.do("start")
        testpmd.wait(lambda: testpmd.stats()[1]["TX-packets"] >= len(packets), "packets that are sent")
        testpmd.do("stop")
        assert testpmd.stats()[1]["TX-errors"] == 0
        testpmd.do("set portlist 2,3")
        testpmd.do("set fwd io")
        testpmd.do("start")
        testpmd.wait(lambda: testpmd.stats()[3]["TX-packets"] >= frames, "packets that are received")
        testpmd.do("stop")
        bad = re.findall(r"RX-missed: +([1-9]\d*)", testpmd.do("show port stats 2"))
        assert not bad
        testpmd.quit()
    return read_capture(seen)


CHECKSUMS = ["csum set ip hw 1", "csum set tcp hw 1", "csum set udp hw 1"]


def mixed(rng, sizes):
    """Packets of every kind, flows told apart by an address."""
    return [packet(version, proto, rng.randbytes(size), 10 + i)
            for i, size in enumerate(sizes) for version in (4, 6) for proto in (TCP, UDP)]


def test_checksums_are_the_device_s(tmp_path):
    packets = mixed(random.Random(1), [1, 18, 100, 101, 999, 1400])
    seen = run(tmp_path, packets, CHECKSUMS, len(packets))
    assert len(seen) == len(packets)
    for before, after in zip(packets, seen):
        payload = dissect(after)[2]
        assert before.endswith(payload) and len(after) == len(before)


def test_large_sends_are_cut_by_the_device(tmp_path):
    sizes = [500, 1000, 1001, 5000, 8900]
    packets = [p for p in mixed(random.Random(2), sizes) if p[23 if p[12] == 8 else 20] == TCP]
    frames = sum(2 * -(-size // SEGMENT) for size in sizes)
    seen = run(tmp_path, packets, CHECKSUMS + [f"tso set {SEGMENT} 1"], frames)
    flows = {}
    for frame in seen:
        flow, sequence, payload = dissect(frame)
        assert len(payload) <= SEGMENT
        flows.setdefault(flow, []).append((sequence, payload))
    assert len(seen) == frames
    assert len(flows) == len(packets)
    for before in packets:
        version = 4 if before[12] == 8 else 6
        parts = flows[(version, TCP, before[33] if version == 4 else before[53])]
        whole = b""
        for sequence, payload in parts:
            assert sequence == (0xffff0000 + len(whole)) & 0xffffffff
            whole += payload
        assert before.endswith(whole) and len(whole) in sizes
