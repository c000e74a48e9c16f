# SPDX-License-Identifier: BSD-3-Clause
"""What processes that have ended left behind: hugepage files, EAL's runtime folders, sockets of softrnicd."""

import os
import re
import stat
import time

from . import hugepages, plan, processes

# EAL's names in the folder of a process: see "DPDK's file prefix" in its manual.
RUNTIME_FILE = re.compile(r"config|hugepage_info|hugepage_data|fbarray_.*|mp_socket.*|dpdk_telemetry\..*|telemetry")
# Seconds in which a process that makes a file has surely locked it.
YOUNG = 10
HUGEPAGE_FILE = re.compile(r"(.+)map_\d+")
# Host.inside(): the folder that is in /run, /tmp, or a user's.
BASE = 1


class Leftovers:
    """Looks once. A path is in one of the lists if nobody uses it any more."""

    def __init__(self, host, dirs=()):
        self.host = host
        self.dirs = list(dirs)
        self.hugepage_files = []
        self.hugepage_bytes = 0
        self.runtime_files = []
        self.runtime_folders = []
        self.sockets = []
        self.in_use = []
        self.of_others = set() # of what nobody uses, what only somebody else or root may remove
        self.alive = set()
        self.look_at_runtime_folders()
        self.look_at_hugepages()
        self.look_at_sockets()

    def bases(self, name):
        """Folders that DPDK, or softrnicd, makes its own in: root's, those of users, this environment's."""
        found = [f"/run/{name}", f"/tmp/{name}"]
        found += [f"/run/user/{user}/{name}" for user in self.host.names("/run/user")]
        for variable in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
            value = os.environ.get(variable, "")
            if value.startswith("/"):
                found.append(f"{value.rstrip('/')}/{name}")
        return list(dict.fromkeys(found))

    def look_at_runtime_folders(self):
        for base in self.bases("dpdk"):
            for prefix in self.host.names_inside(base, BASE):
                try:
                    with self.host.inside(f"{base}/{prefix}", BASE + 1) as here:
                        self.look_at_runtime_folder(here, f"{base}/{prefix}", prefix)
                except OSError:
                    pass # no folder, or gone

    def look_at_runtime_folder(self, here, folder, prefix):
        ours = [name for name in sorted(os.listdir(here)) if RUNTIME_FILE.fullmatch(name)]
        if any(is_used(f"{here}/{name}") for name in ours):
            self.alive.add(prefix)
            self.in_use.append(folder)
        elif ours: # an empty one may be of a process without shared files
            self.runtime_files += [f"{folder}/{name}" for name in ours]
            self.runtime_folders.append(folder)
            for name in ours:
                self.ask_whose(here, f"{folder}/{name}")
            with self.host.inside(os.path.dirname(folder), BASE) as above:
                self.ask_whose(above, folder)

    def look_at_hugepages(self):
        folders = [folder for paths in hugepages.mounts(self.host).values() for folder in paths]
        mapped = processes.mapped_below(self.host, folders) if folders else set()
        for folder in folders:
            for name in self.host.names(folder):
                path = f"{folder.rstrip('/')}/{name}"
                match = HUGEPAGE_FILE.fullmatch(name)
                status = self.host.stat(path)
                if match is None or status is None or not stat.S_ISREG(status.st_mode):
                    continue
                # One that a process is about to lock belongs to a prefix that is alive.
                if match[1] in self.alive or path in mapped or is_used(self.host.at(path)):
                    self.in_use.append(path)
                else:
                    self.hugepage_files.append(path)
                    self.hugepage_bytes += status.st_size
                    self.ask_whose(self.host.at(folder), path)

    def look_at_sockets(self):
        for folder in self.bases("softrnic") + self.dirs:
            try:
                with self.host.inside(folder, self.own(folder)) as here:
                    self.look_at_sockets_of(here, folder)
            except OSError:
                pass

    def own(self, folder):
        """One that was named may be a link."""
        return 0 if folder in self.dirs else BASE

    def look_at_sockets_of(self, here, folder):
        for name in sorted(os.listdir(here)):
            socket = name[:-len(".lock")] if name.endswith(".lock") else name
            if not socket.endswith(".sock"):
                continue
            path = f"{folder.rstrip('/')}/{name}"
            # What is not there is not used.
            if is_used(f"{here}/{socket}") or is_used(f"{here}/{socket}.lock"):
                self.in_use.append(path)
            else:
                self.sockets.append(path)
                self.ask_whose(here, path)

    def ask_whose(self, here, path):
        if not self.host.may_unlink(here, os.path.basename(path)):
            self.of_others.add(path)

    def plan(self):
        made = plan.Plan(self.host)
        for path in self.ours(self.hugepage_files):
            made.add(plan.Remove(path, is_used, BASE))
        for path in self.ours(self.runtime_files):
            made.add(plan.Remove(path, is_used, BASE + 1))
        for path in self.ours(self.sockets):
            made.add(plan.Remove(path, is_used, self.own(os.path.dirname(path))))
        for folder in self.ours(self.runtime_folders):
            made.add(plan.RemoveFolder(folder, BASE))
        if self.of_others:
            made.notes.append(f"{len(self.of_others)} are of others, and stay, such as {min(self.of_others)}")
        return made

    def ours(self, paths):
        return [path for path in paths if path not in self.of_others]


def is_used(path):
    """By the lock that its kind of file is held by, or by who listens."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        # EAL's second name of its telemetry's socket; nobody else's are touched.
        return os.path.basename(path) != "telemetry"
    if stat.S_ISSOCK(status.st_mode):
        return processes.is_listening(path)
    if not stat.S_ISREG(status.st_mode) or 0 <= time.time() - status.st_mtime < YOUNG:
        return True
    return processes.is_flocked(path) or processes.is_record_locked(path)
