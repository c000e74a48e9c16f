# SPDX-License-Identifier: BSD-3-Clause
"""Clients that want the whole daemon to stop, from outside and with the jail on."""

import array
import contextlib
import ctypes
import os
import resource
import socket
import struct
import tempfile
import threading

import pytest

from daemon.softrnicd import PATIENCE, SANITIZED, Softrnicd, descriptors, least_ticks, until

DEVICES = ("name=a", "name=b")
VERSION, DMA_MAP, GET_INFO = 1, 2, 4


def message(command, payload, number=1):
    return struct.pack("<HHIII", number, command, 16 + len(payload), 0, 0) + payload


def ask_info(client):
    client.sendall(message(GET_INFO, struct.pack("<4I", 16, 0, 0, 0)))
    return len(client.recv(4096)) == 32


def connect(path, negotiate=True):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(path)
    if negotiate:
        client.sendall(message(VERSION, b"\0\0\1\0{}\0"))
        assert len(client.recv(4096)) > 16
    return client


def test_without_descriptors_it_neither_spins_nor_babbles():
    """It could not make a new spare descriptor in the jail, and went round in a circle from the second client on."""
    # To set the limits of another user's process takes a capability that root may lack in a container.
    with Softrnicd(DEVICES, user="root" if os.geteuid() == 0 else None) as daemon:
        pid = daemon.process.pid
        innocent = connect(daemon.sockets[1])
        open_files = descriptors(pid)
        old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files, old[1]))
        turned_away = [connect(daemon.sockets[0], negotiate=False) for _ in range(8)]
        for client in turned_away:
            assert client.recv(1) == b""
        assert least_ticks(pid, 40) <= 40
        assert daemon.text().count("no descriptors left") == 1
        assert ask_info(innocent)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, old)
        assert ask_info(connect(daemon.sockets[0]))
        daemon.stop()


class Fuse:
    """A file system of one file, x, whose program answers what open() needs and nothing else. Use as a context."""

    LOOKUP, FORGET, GETATTR, OPEN, INIT = 1, 2, 3, 14, 26

    def __init__(self, attributes_last):
        self.seconds = 1000 if attributes_last else 0
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.held = []
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            pytest.skip("no /dev/fuse")
        self.folder = tempfile.mkdtemp(prefix="fuse-")
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0".encode()
        if self.libc.mount(b"x", self.folder.encode(), b"fuse", 0, options) != 0:
            os.close(self.device)
            os.rmdir(self.folder)
            pytest.skip("no right to mount a file system")
        threading.Thread(target=self.serve, daemon=True).start()

    def reply(self, unique, payload):
        os.write(self.device, struct.pack("<IiQ", 16 + len(payload), 0, unique) + payload)

    @staticmethod
    def attributes(inode, mode, size):
        return struct.pack("<6Q10I", inode, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError:
                return
            _, operation, unique, node = struct.unpack("<IIQQ", request[:24])
            if operation == self.INIT:
                self.reply(unique, struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 16, 12, 65536, 1, 32,
                                               0, 0, *[0] * 7))
            elif operation == self.LOOKUP:
                self.reply(unique, struct.pack("<QQQQII", 2, 1, 1000, self.seconds, 0, 0) +
                           self.attributes(2, 0o100644, 1 << 20))
            elif operation == self.GETATTR and node == 1:
                self.reply(unique, struct.pack("<QII", 1000, 0, 0) + self.attributes(1, 0o40755, 0))
            elif operation == self.OPEN:
                self.reply(unique, struct.pack("<QII", 1, 0, 0))
            elif operation != self.FORGET:
                self.held.append(operation)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # With MNT_FORCE who waits for an answer is told that there will be none.
        self.libc.umount2(self.folder.encode(), 1 | 2)
        os.rmdir(self.folder)


MEMORY = struct.pack("<IIQQQ", 32, 3, 0, 0, 4096)
INFO = struct.pack("<4I", 16, 0, 0, 0)


@pytest.mark.parametrize("attributes_last,command,payload", [
    (False, DMA_MAP, MEMORY),  # it asked the file what it is
    (True, GET_INFO, INFO),    # it only closed the descriptor
], ids=("memory", "unwanted"))
def test_a_file_that_never_answers_stops_nobody(attributes_last, command, payload):
    """A request to the file's own program, which was the client: the whole daemon waited, SIGTERM included."""
    with Softrnicd(DEVICES) as daemon, Fuse(attributes_last) as fuse:
        innocent = connect(daemon.sockets[1])
        guilty = connect(daemon.sockets[0])
        strange = os.open(f"{fuse.folder}/x", os.O_RDWR)
        guilty.sendmsg([message(command, payload)],
                       [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [strange]))])
        assert len(guilty.recv(4096)) == 16  # refused
        assert ask_info(innocent)
        assert ask_info(guilty)
        until(lambda: fuse.held, "request to the file system")
        guilty.close()
        assert ask_info(innocent)
        assert ask_info(connect(daemon.sockets[0]))
        if not SANITIZED:
            for task in os.listdir(f"/proc/{daemon.process.pid}/task"):
                with open(f"/proc/{daemon.process.pid}/task/{task}/status", encoding="ascii") as status:
                    lines = dict(line.split(":", 1) for line in status)
                assert int(lines["Seccomp"]) == 2 and int(lines["NoNewPrivs"]) == 1
                assert not any(int(lines[key], 16) for key in ("CapEff", "CapPrm", "CapBnd"))
        # The process is there until its last close() returns; its sockets are not.
        daemon.process.terminate()
        until(lambda: not os.path.exists(daemon.sockets[0]), "end")
        fuse.libc.umount2(fuse.folder.encode(), 1 | 2)
        assert daemon.process.wait(PATIENCE) == 0
        with contextlib.suppress(OSError):
            os.close(strange)
