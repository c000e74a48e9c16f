# SPDX-License-Identifier: BSD-3-Clause
"""The pools of hugepages, where they are mounted, and how to have more of them."""

import os
import re

from . import plan
from .host import Failed

POOLS = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MOUNT = "/dev/hugepages"
HUGEADM = "hugeadm"
HUGEADM_MOUNTS = "/var/lib/hugetlbfs"  # a folder in it for each size of pages
CONTAINERS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")


def size_bytes(text):
    """512M, 1G, 2048k, or bytes."""
    match = re.fullmatch(r"(\d+)([kmgt]?)(i?b)?", text.lower())
    if match is None:
        raise ValueError(f"{text}: not a size such as 512M or 1G")
    return int(match[1]) * UNITS[match[2]]


def said(size):
    """Bytes as people say them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size} bytes"


class Pool:
    """Pages of one size, of the machine or of one NUMA node."""

    def __init__(self, host, page, node=None):
        self.host, self.page, self.node = host, page, node
        above = POOLS if node is None else f"{NODES}/node{node}/hugepages"
        self.folder = f"{above}/hugepages-{page >> 10}kB"
        self.path = f"{self.folder}/nr_hugepages"
        self.more = f"{self.folder}/nr_overcommit_hugepages"

    @property
    def total(self):
        return self.host.number(self.path) or 0

    @property
    def free(self):
        reserved = self.host.number(f"{self.folder}/resv_hugepages") or 0
        return max((self.host.number(f"{self.folder}/free_hugepages") or 0) - reserved, 0)

    @property
    def mounts(self):
        return mounts(self.host).get(self.page, [])


def pools(host):
    found = [re.fullmatch(r"hugepages-(\d+)kB", name) for name in host.names(POOLS)]
    return [Pool(host, page) for page in sorted(int(match[1]) << 10 for match in found if match)]


def default_page(host):
    match = re.search(r"(?m)^Hugepagesize:\s+(\d+) kB", host.read("/proc/meminfo") or "")
    return int(match[1]) << 10 if match else 2 << 20


def mounts(host):
    """Page size -> folders."""
    found = {}
    for line in (host.read("/proc/mounts") or "").splitlines():
        words = line.split()
        if len(words) > 3 and words[2] == "hugetlbfs":
            match = re.search(r"(?:^|,)pagesize=(\w+)", words[3])
            page = size_bytes(match[1]) if match else default_page(host)
            # Blanks in paths are written as octal numbers.
            folder = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[1])
            found.setdefault(page, []).append(folder)
    return found


def mount_folder(host, page):
    return MOUNT if page == default_page(host) else f"{MOUNT}-{said(page).replace(' ', '').replace('iB', '')}"


def mount_command(page, folder, owner=None):
    options = f"pagesize={page >> 10}k"
    if owner is not None:
        options += f",uid={owner[0]},gid={owner[1]},mode=0770"
    return ["mount", "-t", "hugetlbfs", "-o", options, "nodev", folder]


def by_hugeadm(host):
    """Whether libhugetlbfs' program does the writing. A container's root has neither the pools nor mounts to himself."""
    return host.is_root and host.has_program(HUGEADM) and not any(map(host.exists, CONTAINERS))


def hugeadm_size(page):
    """As hugeadm reads it."""
    return f"{page >> 20}MB" if page >= 1 << 20 else f"{page >> 10}KB"


class Hugeadm:
    """It ends with 0 when it got less, and says what it has to say: what came is for the caller to read."""

    def __init__(self, *words):
        self.argv, self.said = [HUGEADM, *words], ""

    def __str__(self):
        return " ".join(self.argv)

    def make(self, host):
        try:
            host.run(self.argv)
        except Failed as failure:
            self.said = str(failure)

    def check(self, good, failure):
        """failure makes what to say if it is not good."""
        if not good:
            raise failure if not self.said else Failed(f"{failure}; {self.said}", failure.fix)


class Unmount:
    """Whatever hugeadm has mounted, and the folders if they are new."""

    def __init__(self, host, new):
        self.host, self.new = host, new

    def steps(self, folder=HUGEADM_MOUNTS):
        found = mounted_at(self.host, folder)
        made = [plan.Command(["umount", path]) for path in found]
        return made + [plan.RemoveFolder(path) for path in dict.fromkeys([*found, folder]) if self.new]

    def make(self, host):
        for step in self.steps():
            step.make(host)


def mounted_at(host, folder):
    """Mounts at a folder that we mounted, or that we had hugeadm mount in it."""
    return [path for paths in mounts(host).values() for path in paths if folder in (path, os.path.dirname(path))]


def reserve(host, state, args, owner):
    """The plan that makes a pool have at least args.size bytes, and mounts it."""
    page = args.page or default_page(host)
    pool = Pool(host, page, args.node)
    if not host.exists(pool.path):
        have = ", ".join(said(pool.page) for pool in pools(host)) or "none"
        raise Failed(f"no hugepages of {said(page)}" + (f" on NUMA node {args.node}" if args.node is not None else "") +
                     f" here; there are: {have}")
    wanted = -(-args.size // page)
    made = plan.Plan(host)
    hugeadm = by_hugeadm(host)
    # hugeadm takes no NUMA node.
    if wanted > pool.total:
        (reserve_by_hugeadm if hugeadm and args.node is None else reserve_by_hand)(made, state, pool, wanted)
    if hugeadm and not (args.no_mount or args.mount or owner or mounts(host)):
        mount_by_hugeadm(made, state, pool)
        return made
    if not args.no_mount and not pool.mounts:
        folder = args.mount or mount_folder(host, page)
        new = not host.exists(folder)
        if new:
            made.add(plan.MakeFolder(folder), undo=plan.RemoveFolder(folder))
        made.then(lambda: state.remember_mount(folder, new))
        made.add(plan.Command(mount_command(page, folder, owner)))
    elif owner is not None and pool.mounts:
        folder = pool.mounts[0]
        status = host.stat(folder)
        if status is not None and (status.st_uid, status.st_gid) != owner:
            made.then(lambda: state.remember_owner(folder, [status.st_uid, status.st_gid], list(owner)))
            made.add(plan.Chown(folder, *owner))
    return made


def reserve_by_hand(made, state, pool, wanted):
    old = pool.total
    made.then(lambda: state.remember_pool(pool.path, old, wanted))
    made.add(plan.Write(pool.path, str(wanted)), undo=plan.Write(pool.path, str(old)), check=lambda: check_pool(pool, wanted))


def reserve_by_hugeadm(made, state, pool, wanted):
    """Which may change how many more the kernel would give beyond the pool, too."""
    host, old, more = pool.host, pool.total, pool.host.number(pool.more)
    step = Hugeadm("--pool-pages-min", f"{hugeadm_size(pool.page)}:+{wanted - old}")
    made.then(lambda: state.remember_pool(pool.path, old, wanted))
    if more is not None:
        made.then(lambda: state.remember_pool(pool.more, more, None))
        made.add(None, undo=plan.Write(pool.more, str(more)))
    made.add(step, undo=plan.Write(pool.path, str(old)), check=lambda: check_pool(pool, wanted, step))
    if more is not None:
        made.then(lambda: state.remember_pool(pool.more, more, host.number(pool.more)))


def mount_by_hugeadm(made, state, pool):
    host, new = pool.host, not pool.host.exists(HUGEADM_MOUNTS)
    step = Hugeadm("--create-mounts")
    made.then(lambda: state.remember_mount(HUGEADM_MOUNTS, new))
    made.add(None, undo=Unmount(host, new))
    made.add(step, check=lambda: step.check(pool.mounts, Failed(f"pages of {said(pool.page)} are not mounted")))


def check_pool(pool, wanted, step=None):
    if pool.total >= wanted:
        return
    failure = Failed(f"the kernel found {pool.total} of {wanted} pages of {said(pool.page)}: memory is short, or fragmented",
                     [f"reserve them at boot: default_hugepagesz={pool.page >> 20}M hugepages={wanted} "
                      "on the kernel's command line"])
    if step is not None:
        step.check(False, failure)
    raise failure


def undo(host, state):
    """The plan that takes back what reserve() did, but not what others have changed since."""
    made = plan.Plan(host)
    for folder, new in state.mounts.items():
        for step in Unmount(host, new).steps(folder):
            made.add(step)
        made.then(lambda folder=folder: state.forget_mount(folder))
    for folder, (old, new) in state.owners.items():
        status = host.stat(folder)
        if status is not None and [status.st_uid, status.st_gid] == new:
            made.add(plan.Chown(folder, *old))
        made.then(lambda folder=folder: state.forget_owner(folder))
    for path, (old, new) in state.pools.items():
        now = host.number(path)
        if new in (now, None):
            made.add(plan.Write(path, str(old)))
        elif now is not None:
            made.notes.append(f"{path} is {now}, and {new} was left: another program has changed it, so it stays")
        made.then(lambda path=path: state.forget_pool(path))
    return made
