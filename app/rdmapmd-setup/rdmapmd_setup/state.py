# SPDX-License-Identifier: BSD-3-Clause
"""What was changed, so that it can be undone. In /run, as the changes themselves go with the next boot."""

import fcntl
import json
import os

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
        text = self.host.read(self.path)
        try:
            self.take(json.loads(text) if text else {})
        except (ValueError, TypeError, AttributeError):
            raise Failed(f"{self.path} cannot be understood", f"rm {self.path}") from None

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
            raise Failed(f"{self.path}: {error.strerror}", "name another place with --state FILE") from None
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
            fd = os.open(place + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(self.data(), file, indent=2, sort_keys=True)
                file.write("\n")
            os.rename(place + ".new", place)
        except OSError as error:
            raise Failed(f"{self.path}: {error.strerror}", "name another place with --state FILE") from None

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
