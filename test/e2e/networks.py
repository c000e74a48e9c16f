# SPDX-License-Identifier: BSD-3-Clause
"""
Two networks of Linux, each in a namespace of its own, and a third one between them that has the other ends of their
cables and nothing that would forward. Anonymous namespaces: whatever happens, they go with their processes.

Run as a program it is what tests start in there: plain IF..., send BYTES, receive, talk, listen, record IF FILE,
inspect IF, cross FROM TO FILE.
"""

import array
import ctypes
import fcntl
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

LEFT, RIGHT = "10.9.9.1", "10.9.9.2"
# Where they also are, in networks that talk of many things
LEFT6, RIGHT6 = "fd09::1", "fd09::2"
PORT = 7
BLOCK = bytes(range(256)) * 256
# Seconds for what comes: a busy machine may be slow.
PATIENCE = 100

# What is not read while a reader has no CPU waits here. Root may ask for more than the system's limit.
SO_RCVBUFFORCE, ROOM = 33, 256 << 20

SIOCETHTOOL = 0x8946
# ETHTOOL_S...: Tx and Rx checksums, scatter-gather, TSO, GSO, GRO
OFFLOADS = (0x17, 0x15, 0x19, 0x1f, 0x24, 0x2c)


class Networks:
    """left's eth0 -- cable0 in middle, cable1 in middle -- right's eth0. Use as a context."""

    def __init__(self, mtu=1500):
        self.mtu = mtu
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "3600"]) for _ in range(3)]
        self.left, self.middle, self.right = (
            ["nsenter", f"--net=/proc/{holder.pid}/ns/net"] for holder in self.holders)

    def __enter__(self):
        try:
            self._join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _join(self):
        own = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + PATIENCE
        for holder in self.holders:
            while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                assert time.monotonic() < end and holder.poll() is None, "no network namespace"
                time.sleep(0.01)
        for cable, side, holder, address in (("cable0", self.left, self.holders[0], LEFT),
                                             ("cable1", self.right, self.holders[2], RIGHT)):
            self.ip(self.middle, "link", "add", cable, "mtu", self.mtu, "type", "veth", "peer",
                    "name", "eth0", "mtu", self.mtu, "netns", holder.pid)
            self.ip(self.middle, "link", "set", cable, "up")
            self.ip(side, "address", "add", f"{address}/24", "dev", "eth0")
            self.ip(side, "link", "set", "eth0", "up")
            self.run(side, "plain", "eth0")
        self.run(self.middle, "plain", "cable0", "cable1")

    def join_middle(self):
        """The two cables are one: what a path through ports is compared with."""
        self.ip(self.middle, "link", "add", "both", "type", "bridge")
        for cable in ("cable0", "cable1"):
            self.ip(self.middle, "link", "set", cable, "master", "both")
        self.ip(self.middle, "link", "set", "both", "up")

    def record(self, path):
        """TCP, UDP, ICMP, IPv6, tags, fragments, as Linux talks; a capture of cable0."""
        self.join_middle()
        for side, address6 in ((self.left, LEFT6), (self.right, RIGHT6)):
            self.ip(side, "address", "add", f"{address6}/64", "dev", "eth0", "nodad")
        with subprocess.Popen(self.command(self.middle, "record", "cable0", path),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder, \
                subprocess.Popen(self.command(self.right, "listen"), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True) as listener:
            assert recorder.stdout.readline() == "records\n"
            assert listener.stdout.readline() == "listens\n"
            self.run(self.left, "talk", timeout=6 * PATIENCE)
            # Each ends when nobody holds its other end.
            listener.communicate(timeout=PATIENCE)
            recorder.communicate(timeout=PATIENCE)
            assert listener.returncode == 0 and recorder.returncode == 0

    def cross(self, into, out_of, path):
        """The frames of a capture, in the middle; returns how many they are."""
        return int(self.run(self.middle, "cross", into, out_of, path, stdout=subprocess.PIPE,
                            text=True, timeout=6 * PATIENCE).stdout)

    @staticmethod
    def ip(where, *args):
        subprocess.run([*where, "ip", *map(str, args)], check=True)

    @staticmethod
    def shell(where, script):
        return subprocess.run([*where, "sh", "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout

    @staticmethod
    def command(where, *args):
        return [*where, sys.executable, os.path.abspath(__file__), *map(str, args)]

    def run(self, where, *args, **kwargs):
        return subprocess.run(self.command(where, *args), check=True, **kwargs)

    def transfer(self, size, timeout):
        """
        So many bytes by TCP from left to right; they arrive as they are. Returns what inspect() saw on right's wire: it
        may miss frames, but not what is wrong with the others.
        """
        with subprocess.Popen(self.command(self.right, "inspect", "eth0"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as inspector:
            try:
                assert inspector.stdout.readline() == "inspects\n"
                self._transfer(size, timeout)
                return json.loads(inspector.communicate(timeout=PATIENCE)[0])
            finally:
                inspector.kill()

    def _transfer(self, size, timeout):
        wanted = hashlib.sha256()
        for at in range(0, size, len(BLOCK)):
            wanted.update(BLOCK[:min(len(BLOCK), size - at)])
        with subprocess.Popen(self.command(self.right, "receive"), stdout=subprocess.PIPE,
                              text=True) as receiver:
            try:
                assert receiver.stdout.readline() == "listens\n"
                sent = self.run(self.left, "send", size, capture_output=True, text=True,
                                timeout=timeout)
                assert receiver.wait(PATIENCE) == 0
            finally:
                receiver.kill()
        assert sent.stdout == wanted.hexdigest()

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.wait()


# ---- In there ----

def plain(*interfaces):
    """Checksums are made and segments cut in the kernel."""
    with socket.socket() as any_socket:
        for interface in interfaces:
            for command in OFFLOADS:
                value = array.array("B", struct.pack("II", command, 0))
                request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def send(size):
    left = int(size)
    with socket.create_connection((RIGHT, PORT), timeout=600) as connection:
        while left:
            count = min(left, len(BLOCK))
            connection.sendall(BLOCK[:count])
            left -= count
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("r") as answer:
            print(answer.read(), end="")


def receive():
    digest = hashlib.sha256()
    # Not without whoever waits for it.
    ctypes.CDLL(None).prctl(1, 9)
    with socket.create_server((RIGHT, PORT)) as listener:
        print("listens", flush=True)
        connection, _ = listener.accept()
    with connection:
        while data := connection.recv(65536):
            digest.update(data)
        connection.sendall(digest.hexdigest().encode())


# What goes each way, over IPv4 and IPv6: a stream, small datagrams and one that is cut into fragments.
STREAM, DATAGRAMS, LARGE = 300_000, 50, 5000


def with_sum(data, at):
    """Its Internet checksum goes there."""
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    return data[:at] + struct.pack(">H", ~total & 0xffff) + data[at + 2:]


def echo_request(number):
    """ICMP: the other kernel answers."""
    return with_sum(struct.pack(">BBHHH", 8, 0, 0, 1, number) + bytes(range(number % 200)), 2)


def tagged(number):
    """A datagram in a VLAN. Not every kernel has such interfaces: so it is sent as a frame."""
    payload = bytes(range(number))
    udp = struct.pack(">HHHH", PORT, PORT, 8 + len(payload), 0) + payload
    ip = with_sum(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0,
                              socket.inet_aton(LEFT), socket.inet_aton(RIGHT)), 10)
    with open("/sys/class/net/eth0/address", encoding="ascii") as file:
        source = bytes.fromhex(file.read().strip().replace(":", ""))
    return b"\xff" * 6 + source + struct.pack(">HHH", 0x8100, number << 13 & 0xe000 | 7, 0x0800) + ip + udp


def talk():
    for address in (RIGHT, RIGHT6):
        with socket.create_connection((address, PORT), timeout=PATIENCE) as connection:
            connection.sendall(bytes(STREAM))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(1)
            for size in [*range(DATAGRAMS), LARGE]:
                datagrams.sendto(bytes(size), (address, PORT))
                try:
                    datagrams.recv(65536)
                except TimeoutError:
                    pass
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as pings:
        for number in range(DATAGRAMS):
            pings.sendto(echo_request(number), (RIGHT, 0))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as frames:
        for number in range(DATAGRAMS):
            frames.sendto(tagged(number), ("eth0", 0))


def listen():
    """Bring back what comes, until the input ends."""
    with socket.create_server(("", PORT), family=socket.AF_INET6, dualstack_ipv6=True) as listener, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("", PORT))
        connections = []
        print("listens", flush=True)
        while True:
            ready, _, _ = select.select([sys.stdin, listener, datagrams, *connections], [], [])
            if sys.stdin in ready:
                return
            if listener in ready:
                connections.append(listener.accept()[0])
            if datagrams in ready:
                data, sender = datagrams.recvfrom(65536)
                datagrams.sendto(data, sender)
            for connection in [one for one in connections if one in ready]:
                if data := connection.recv(65536):
                    connection.sendall(data)
                else:
                    connections.remove(connection)
                    connection.close()


ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6


def whole_frame(packets):
    """The next one of a socket, with the tag that the kernel has taken out."""
    frame, control, _, _ = packets.recvmsg(65536, 256)
    for level, kind, data in control:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tag, tpid = struct.unpack_from("=IIIHHHH", data)
            if status & TP_STATUS_VLAN_VALID:
                if not status & TP_STATUS_VLAN_TPID_VALID:
                    tpid = 0x8100
                frame = frame[:12] + struct.pack(">HH", tpid, tag) + frame[12:]
    return frame


def record(interface, path):
    """All frames of an interface until the input ends, as a capture with nanoseconds."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as packets, \
            open(path, "wb") as file:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        packets.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        packets.bind((interface, 0))
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        # Of a clock that nobody sets meanwhile.
        begin = time.time_ns() - time.monotonic_ns()
        print("records", flush=True)
        while True:
            ready, _, _ = select.select([packets, sys.stdin], [], [])
            # What came before the end is in it.
            if packets not in ready:
                return
            frame = whole_frame(packets)
            seconds, ns = divmod(begin + time.monotonic_ns(), 10**9)
            file.write(struct.pack("<IIII", seconds, ns, len(frame), len(frame)) + frame)


def is_right(frame):
    """The checksums of a TCP segment over IPv4, both: 0 over what has a right one."""
    ip = frame[14:]
    header, total = ip[0] % 16 * 4, int.from_bytes(ip[2:4], "big")
    segment = ip[header:total]
    pseudo = ip[12:20] + struct.pack(">HH", 6, len(segment))
    return with_sum(ip[:header], 0)[:2] == b"\0\0" and with_sum(pseudo + segment, 0)[:2] == b"\0\0"


def inspect(interface):
    """Segments of TCP over IPv4 that come in until the input ends: how many, of how many bytes, and what is wrong."""
    frames = longest = wrong = 0
    # One for all: to make one of that size for each frame costs more than all the rest.
    room = memoryview(bytearray(1 << 17))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        packets.bind((interface, 0))
        print("inspects", flush=True)
        while True:
            ready, _, _ = select.select([packets, sys.stdin], [], [])
            if packets not in ready:
                break
            length, (_, _, kind, *_) = packets.recvfrom_into(room)
            frame = bytes(room[:length])
            if kind == socket.PACKET_OUTGOING or frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            frames += 1
            longest = max(longest, len(frame))
            wrong += not is_right(frame)
    print(json.dumps({"frames": frames, "longest": longest, "wrong": wrong}))


def cross(into, out_of, path):
    """The frames of a capture go into one interface, and come out of another one as they are, in order."""
    with open(path, "rb") as file:
        data = file.read()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as receiver:
        receiver.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        receiver.bind((out_of, 0))
        receiver.settimeout(PATIENCE)
        at, count = 24, 0
        while at < len(data):
            length = struct.unpack_from("<I", data, at + 12)[0]
            frame = data[at + 16:at + 16 + length]
            at += 16 + length
            count += 1
            sender.sendto(frame, (into, 0))
            # The kernels have something to say themselves.
            while (got := whole_frame(receiver))[6:12] != frame[6:12]:
                pass
            assert got == frame, f"frame {count}: {frame.hex()} became {got.hex()}"
    print(count)


if __name__ == "__main__":
    {one.__name__: one for one in (plain, send, receive, talk, listen, record, inspect, cross)}[
        sys.argv[1]](*sys.argv[2:])
