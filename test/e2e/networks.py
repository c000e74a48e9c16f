# SPDX-License-Identifier: BSD-3-Clause
"""
Two networks of Linux, each in a namespace of its own, and a third one between them that has the other ends of their
cables and nothing that would forward. Anonymous namespaces: whatever happens, they go with their processes.

Run as a program it is what tests start in there: plain IF..., send BYTES, receive.
"""

import array
import ctypes
import fcntl
import hashlib
import os
import socket
import struct
import subprocess
import sys
import time

LEFT, RIGHT = "10.9.9.1", "10.9.9.2"
PORT = 7
BLOCK = bytes(range(256)) * 256

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
        end = time.monotonic() + 60
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

    @staticmethod
    def ip(where, *args):
        subprocess.run([*where, "ip", *map(str, args)], check=True)

    @staticmethod
    def command(where, *args):
        return [*where, sys.executable, os.path.abspath(__file__), *map(str, args)]

    def run(self, where, *args, **kwargs):
        return subprocess.run(self.command(where, *args), check=True, **kwargs)

    def transfer(self, size, timeout):
        """So many bytes by TCP from left to right; they arrive as they are."""
        wanted = hashlib.sha256()
        for at in range(0, size, len(BLOCK)):
            wanted.update(BLOCK[:min(len(BLOCK), size - at)])
        with subprocess.Popen(self.command(self.right, "receive"), stdout=subprocess.PIPE,
                              text=True) as receiver:
            try:
                assert receiver.stdout.readline() == "listens\n"
                sent = self.run(self.left, "send", size, capture_output=True, text=True,
                                timeout=timeout)
                assert receiver.wait(60) == 0
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


if __name__ == "__main__":
    {"plain": plain, "send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
