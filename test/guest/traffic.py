# SPDX-License-Identifier: BSD-3-Clause
"""
What a host's namespace says and hears while a guest's port is at the other end of its cable.

Run as a program it is what tests start in there: tally IF, take PORT, give ADDRESS PORT FILE COUNT.
"""

import collections
import ctypes
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
ROOM = 256 << 20
# Seconds for what comes: a busy machine may be slow, and a guest is slower.
PATIENCE = 300


class Helper:
    """One of the programs below in a namespace; it says a line when it is ready. Use as a context."""

    def __init__(self, where, *args):
        self.process = subprocess.Popen([*where, sys.executable, os.path.abspath(__file__), *map(str, args)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def end(self):
        """What it says at its end, which is at the end of its input where it has none of its own."""
        said, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return said

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout):
            end.close()


def ping(where, address, size=56, count=3):
    subprocess.run([*where, "busybox", "ping", "-c", str(count), "-s", str(size), "-W", "30", address], check=True,
                   stdout=subprocess.DEVNULL)


def silence(nets, *ends):
    """No interface of these, each with its namespace, says anything by itself."""
    for where, interface in ends:
        nets.shell(where, f"echo 1 >/proc/sys/net/ipv6/conf/{interface}/disable_ipv6")


def statistics(console):
    """The counters of `ethtool -S`, by name."""
    found = {}
    for line in console.splitlines():
        name, colon, value = line.strip().partition(": ")
        if colon and value.isdigit():
            found[name] = int(value)
    return found


# ---- In there ----

def ready():
    # Not without whoever waits for it.
    ctypes.CDLL(None).prctl(1, 9)
    print("ready", flush=True)


def tally(interface):
    """Count frames and bytes, each way and by what they are addressed to, until the input ends."""
    counts = collections.Counter()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        packets.bind((interface, 0))
        ready()
        while True:
            waiting, _, _ = select.select([packets, sys.stdin], [], [])
            if packets not in waiting:
                break
            frame, (_, _, kind, *_) = packets.recvfrom(1 << 17)
            way = "out" if kind == socket.PACKET_OUTGOING else "in"
            cast = "broadcast" if frame[:6] == b"\xff" * 6 else "multicast" if frame[0] & 1 else "unicast"
            for name in (way, f"{way}_{cast}"):
                counts[f"{name}_packets"] += 1
                counts[f"{name}_bytes"] += len(frame)
            # A driver may count a short frame as Ethernet's least.
            counts[f"{way}_padded_bytes"] += max(len(frame), 60)
            counts[f"{way}_arp"] += frame[12:14] == b"\x08\x06"
            counts[f"{way}_longest"] = max(counts[f"{way}_longest"], len(frame))
        seen, lost = struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    assert lost == 0 and seen == counts["in_packets"] + counts["out_packets"]
    print(json.dumps(counts))


def take(port):
    """The digest of what one connection brings."""
    digest = hashlib.sha256()
    with socket.create_server(("", int(port))) as listener:
        ready()
        connection, _ = listener.accept()
    with connection:
        while data := connection.recv(1 << 16):
            digest.update(data)
    print(digest.hexdigest())


def give(address, port, path, count):
    """A file's bytes so many times, to whom listens or will soon; the digest of it all."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        block = file.read()
    end = time.monotonic() + PATIENCE
    ready()
    while True:
        try:
            connection = socket.create_connection((address, int(port)), timeout=PATIENCE)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.1)
    with connection:
        for _ in range(int(count)):
            connection.sendall(block)
            digest.update(block)
        connection.shutdown(socket.SHUT_WR)
        # The guest's end closes when it has all.
        assert connection.recv(1) == b""
    print(digest.hexdigest())


if __name__ == "__main__":
    {one.__name__: one for one in (tally, take, give)}[sys.argv[1]](*sys.argv[2:])
