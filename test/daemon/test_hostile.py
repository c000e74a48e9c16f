# SPDX-License-Identifier: BSD-3-Clause
"""Clients that want the whole daemon to stop, from outside and with the jail on."""

import os
import resource
import socket
import struct
import time

from softrnicd import Softrnicd, descriptors

DEVICES = ("name=a", "name=b")
VERSION, GET_INFO = 1, 4


def message(command, payload, number=1):
    return struct.pack("<HHIII", number, command, 16 + len(payload), 0, 0) + payload


def ask_info(client):
    client.sendall(message(GET_INFO, struct.pack("<4I", 16, 0, 0, 0)))
    return len(client.recv(4096)) == 32


def connect(path, negotiate=True):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(path)
    if negotiate:
        client.sendall(message(VERSION, b"\0\0\1\0{}\0"))
        assert len(client.recv(4096)) > 16
    return client


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))


def test_without_descriptors_it_neither_spins_nor_babbles():
    """It could not make a new spare descriptor in the jail, and went round in a circle from the second client on."""
    with Softrnicd(DEVICES) as daemon:
        pid = daemon.process.pid
        innocent = connect(daemon.sockets[1])
        open_files = descriptors(pid)
        old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files, old[1]))
        turned_away = [connect(daemon.sockets[0], negotiate=False) for _ in range(8)]
        for client in turned_away:
            assert client.recv(1) == b""
        spent = ticks(pid)
        time.sleep(0.5)
        assert ticks(pid) - spent < 20
        assert daemon.text().count("no descriptors left") == 1
        assert ask_info(innocent)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, old)
        assert ask_info(connect(daemon.sockets[0]))
        daemon.stop()
