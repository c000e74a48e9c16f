# SPDX-License-Identifier: BSD-3-Clause
"""A cable of Linux between two networks, each in namespaces of its own, for processes that may die: what they leave is seen."""

import os
import subprocess
import time

PATIENCE = 100
# Private to a side: where processes that share memory leave files
SHARED = "/dev/shm"


class Cable:
    """left's va -- right's vb. Use as a context."""

    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c",
                                          f"mount -t tmpfs none {SHARED} && exec sleep 3600"]) for _ in range(2)]
        self.left, self.right = (
            ["nsenter", f"--target={holder.pid}", "--net", "--mount"] for holder in self.holders)
        self.laid = {}

    def __enter__(self):
        try:
            for holder in self.holders:
                self.until(lambda pid=holder.pid: self.command_of(pid).startswith("sleep"), "namespaces")
            self.lay()
            self.laid = {side[1]: self.interfaces(side) for side in (self.left, self.right)}
        except BaseException:
            self.__exit__()
            raise
        return self

    def lay(self):
        self.run(self.left, f"ip link add va type veth peer name vb netns {self.holders[1].pid}")
        for side, end in ((self.left, "va"), (self.right, "vb")):
            # No frames but those of the tests
            self.run(side, f"echo 1 >/proc/sys/net/ipv6/conf/{end}/disable_ipv6; ip link set {end} up")

    def interfaces(self, side):
        """Without what they are joined with: that has another number each time."""
        return {line.split(":")[1].partition("@")[0] for line in self.run(side, "ip -o link").splitlines()}

    def cut(self):
        self.run(self.left, "ip link delete va")

    @staticmethod
    def run(side, script):
        return subprocess.run([*side, "sh", "-ec", script], check=True, stdout=subprocess.PIPE, text=True).stdout

    @staticmethod
    def command_of(pid):
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def until(condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
            time.sleep(0.01)

    def processes(self):
        """Who else lives in there."""
        inside = {os.readlink(f"/proc/{holder.pid}/ns/net") for holder in self.holders}
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) not in [holder.pid for holder in self.holders] and \
                        os.readlink(f"/proc/{pid}/ns/net") in inside:
                    found.append(self.command_of(pid))
            except OSError:
                continue
        return found

    def check_nothing_left(self):
        """No process, no shared memory, no interface but the cable."""
        self.until(lambda: not self.processes(), "end of all processes")
        for side in (self.left, self.right):
            assert self.run(side, f"ls -A {SHARED}") == ""
            assert self.interfaces(side) <= self.laid[side[1]]

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.wait()
