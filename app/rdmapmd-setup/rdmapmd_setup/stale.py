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
            for prefix in self.host.names(base):
                folder = f"{base}/{prefix}"
                if os.path.isdir(self.host.at(folder)) and not os.path.islink(self.host.at(folder)):
                    self.look_at_runtime_folder(folder, prefix)

    def look_at_runtime_folder(self, folder, prefix):
        ours = [name for name in self.host.names(folder) if RUNTIME_FILE.fullmatch(name)]
        if any(is_used(self.host.at(f"{folder}/{name}")) for name in ours):
            self.alive.add(prefix)
            self.in_use.append(folder)
        elif ours: # an empty one may be of a process without shared files
            self.runtime_files += [f"{folder}/{name}" for name in ours]
            self.runtime_folders.append(folder)

    def look_at_hugepages(self):
        folders = [folder for paths in hugepages.mounts(self.host).values() for folder in paths]
        mapped = processes.mapped_below(self.host, folders) if folders else set()
        for folder in folders:
            for name in self.host.names(folder):
                path = f"{folder.rstrip('/')}/{name}"
                match = HUGEPAGE_FILE.fullmatch(name)
                if match is None or not os.path.isfile(self.host.at(path)):
                    continue
                # One that a process is about to lock belongs to a prefix that is alive.
                if match[1] in self.alive or path in mapped or is_used(self.host.at(path)):
                    self.in_use.append(path)
                else:
                    self.hugepage_files.append(path)
                    self.hugepage_bytes += os.stat(self.host.at(path)).st_size

    def look_at_sockets(self):
        for folder in self.bases("softrnic") + self.dirs:
            for name in self.host.names(folder):
                path = f"{folder.rstrip('/')}/{name}"
                socket = path[:-len(".lock")] if name.endswith(".lock") else path
                if not name.endswith((".sock", ".sock.lock")):
                    continue
                if is_used(self.host.at(path)) or self.host.exists(socket) and is_used(self.host.at(socket)) or \
                        self.host.exists(socket + ".lock") and is_used(self.host.at(socket + ".lock")):
                    self.in_use.append(path)
                else:
                    self.sockets.append(path)

    def plan(self):
        made = plan.Plan(self.host)
        for path in self.hugepage_files + self.runtime_files + self.sockets:
            made.add(plan.Remove(path, is_used))
        for folder in self.runtime_folders:
            made.add(plan.RemoveFolder(folder))
        return made


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
