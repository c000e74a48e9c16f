# SPDX-License-Identifier: BSD-3-Clause
"""Who has something open, and whether somebody holds a lock."""

import errno
import fcntl
import os
import re
import socket
import struct


def pids(host):
    return sorted(int(name) for name in host.names("/proc") if name.isdigit())


def of_user(host, uid):
    """The folder of a process is its effective user's."""
    owners = ((pid, host.stat(f"/proc/{pid}")) for pid in pids(host))
    return [pid for pid, status in owners if status is not None and status.st_uid == uid]


def name_of(host, pid):
    return host.read(f"/proc/{pid}/comm") or "?"


def said(host, pid):
    return f"{pid} ({name_of(host, pid)})"


def holders(host, paths):
    """Processes that have one of the paths open, as far as we may look; [] may mean that we may not."""
    wanted = set(paths)
    return [pid for pid in pids(host)
            if any(host.target(f"/proc/{pid}/fd/{fd}") in wanted for fd in host.names(f"/proc/{pid}/fd"))]


def mapped_below(host, folders):
    """Files below the folders that a process has mapped or open, whether it locks them or not."""
    found = set()
    starts = tuple(folder.rstrip("/") + "/" for folder in folders)
    for pid in pids(host):
        for fd in host.names(f"/proc/{pid}/fd"):
            target = host.target(f"/proc/{pid}/fd/{fd}") or ""
            if target.startswith(starts):
                found.add(target)
        for line in (host.read(f"/proc/{pid}/maps") or "").splitlines():
            words = line.split(None, 5)
            if len(words) == 6 and words[5].startswith(starts):
                found.add(words[5])
    return found


# "1: FLOCK  ADVISORY  WRITE 7358 fe:00:5310684 0 EOF": device and inode. The device is not always the one that stat() says.
FLOCK = re.compile(r" FLOCK .*:(\d+) ")
FIRST_PID_NAMESPACE = "pid:[4026531836]"


def flocked_inodes():
    """As the kernel shows them: None if it hides those of processes that have no number here."""
    try:
        if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
            return None
        inodes = set()
        # Twice, as a lock that goes while the list is read moves others out of sight.
        for _ in range(2):
            with open("/proc/locks", encoding="ascii") as file:
                inodes.update(map(int, FLOCK.findall(file.read())))
        return inodes
    except OSError:
        return None


def is_flocked(path):
    """
    Somebody holds a flock, as EAL does on memory and softrnicd on its sockets' lock files. It is looked up, as to try it would
    be to hold it for a moment, in which who wants it is refused; only where it cannot be looked up it is tried.
    """
    def ask(fd):
        inodes = flocked_inodes()
        if inodes is not None:
            return os.fstat(fd).st_ino in inodes
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False

    return says(path, ask)


def is_record_locked(path):
    """Somebody holds a record lock, as EAL's primary process does on its configuration. Asks, and takes none."""
    def ask(fd):
        # struct flock of a 64-bit machine: type, whence, start, length, pid.
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        return struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK

    return says(path, ask)


def says(path, ask):
    """What is answered of the open file; True if nobody can tell. Whatever has come in its place is not waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return error.errno != errno.ENOENT
    try:
        return ask(fd)
    except OSError:
        return True
    finally:
        os.close(fd)


def is_listening(path):
    """
    Somebody has the socket. A datagram socket reaches no server of another kind, so none takes us for a client: that there is
    one shows in the error.
    """
    try:
        folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return error.errno != errno.ENOENT
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            # By the folder's descriptor: paths may be longer than an address.
            probe.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    except OSError as error:
        return error.errno not in (errno.ECONNREFUSED, errno.ENOENT)
    finally:
        os.close(folder)
    return True
