# SPDX-License-Identifier: BSD-3-Clause
"""What was changed, so that it can be undone. In /run, as the changes themselves go with the next boot."""

import contextlib
import errno
import fcntl
import json
import os
import stat

from .host import Failed

DEFAULT = "/run/rdmapmd-setup/state.json"


class State:
    """Read at once; written whenever something is remembered or forgotten."""

    def __init__(self, host, path=None):
        self.host, self.path = host, os.path.abspath(path or DEFAULT)
        self.lock_fd = None
        self.functions, self.pools, self.owners, self.mounts = {}, {}, {}, {}
        self.load()

    def load(self):
        text = self.read()
        try:
            self.take(json.loads(text) if text else {})
        except (ValueError, TypeError, AttributeError):
            raise Failed(f"{self.path} is malformed", f"rm {self.path}") from None

    def read(self):
        """What others may write could have us undo what nobody has done: give away their choice of files, and unmount."""
        try:
            fd = os.open(self.host.at(self.path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Failed(f"{self.path} is a link", "name another file with --state FILE") from None
            return None
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
                raise Failed(f"{self.path} is not trusted: it must belong to root, and only root may write to it",
                             [f"ls -ld {self.path}", "name another file with --state FILE"])
            with os.fdopen(fd, encoding="utf-8", errors="replace", closefd=False) as file:
                return file.read()
        finally:
            os.close(fd)

    def take(self, data):
        self.functions = dict(data.get("functions", {}))
        self.pools = dict(data.get("pools", {}))
        self.owners = dict(data.get("owners", {}))
        self.mounts = dict(data.get("mounts", {}))

    def data(self):
        return {"functions": self.functions, "pools": self.pools, "owners": self.owners, "mounts": self.mounts}

    def copy(self):
        return json.loads(json.dumps(self.data()))

    def put_back(self, data):
        self.take(data)
        self.save()

    def hold(self):
        """One change at a time: another process that changes something waits until this one ends."""
        while self.lock_fd is None:
            self.lock_fd = self.lock(self.host.at(self.path))
        self.load()

    def lock(self, place):
        """None if the file went while we waited: whoever had it left nothing to remember."""
        try:
            os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
            fd = os.open(place + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Failed(f"{self.path}: {error.strerror}", "name another file with --state FILE") from None
        # Who may open it may hold it for ever.
        status = os.fstat(fd)
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o077:
            os.close(fd)
            raise Failed(f"{self.path}.lock is not trusted: it must belong to root, and only root may open it",
                         [f"ls -l {self.path}.lock", "name another file with --state FILE"])
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(fd), os.stat(place + ".lock")):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)
        return None

    def release(self):
        """Files that say nothing do not stay."""
        place = self.host.at(self.path)
        if not (self.functions or self.pools or self.owners or self.mounts):
            for path in (place, place + ".lock"):
                if os.path.exists(path):
                    os.unlink(path)
            if self.path == DEFAULT:
                try:
                    os.rmdir(os.path.dirname(place))
                except OSError:
                    pass
        os.close(self.lock_fd)
        self.lock_fd = None

    def save(self):
        place = self.host.at(self.path)
        try:
            # One that is there may be somebody else's, or a second name of something.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place + ".new")
            fd = os.open(place + ".new", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(self.data(), file, indent=2, sort_keys=True)
                file.write("\n")
            os.rename(place + ".new", place)
        except OSError as error:
            raise Failed(f"{self.path}: {error.strerror}", "name another file with --state FILE") from None

    def remember_function(self, address, driver, override):
        """The first driver stays: binding again does not make vfio-pci the one to go back to."""
        self.functions.setdefault(address, {"driver": driver, "override": override})
        self.save()

    def forget_function(self, address):
        if self.functions.pop(address, None) is not None:
            self.save()

    def remember_pool(self, path, old, new):
        self.pools[path] = [self.pools.get(path, [old])[0], new]
        self.save()

    def forget_pool(self, path):
        del self.pools[path]
        self.save()

    def remember_owner(self, path, old, new):
        self.owners[path] = [self.owners.get(path, [old])[0], new]
        self.save()

    def forget_owner(self, path):
        del self.owners[path]
        self.save()

    def remember_mount(self, folder, new):
        """new: the folder was made for it"""
        self.mounts[folder] = new
        self.save()

    def forget_mount(self, folder):
        del self.mounts[folder]
        self.save()
