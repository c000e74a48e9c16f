# SPDX-License-Identifier: BSD-3-Clause
"""Processes that remote direct memory operations are between (rdmo_parts.h)."""

import os
import re
import subprocess
import threading
import time

from daemon.softrnicd import PATIENCE, SANITIZED, until

FOLDER = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "daemon")
# What a sanitizer makes slow is no slower for that to be noticed.
SOON = 50 if SANITIZED else 5


class Peer:
    """A process in a role, and what it has said. Use as a context."""

    def __init__(self, program, role, socket, *args):
        command = [os.path.join(FOLDER, program), role, f"socket={socket}", *map(str, args)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def said(self, pattern, behind=0):
        """The match in the last line that has it, of those behind so many; None."""
        for line in reversed(self.lines[behind:]):
            if found := re.match(pattern, line):
                return found
        return None

    def wait_for(self, pattern, behind=0):
        until(lambda: self.said(pattern, behind) or self.process.poll() is not None, pattern)
        # Its last words may not have been read when it has ended.
        if self.process.poll() is not None:
            self.reader.join()
        found = self.said(pattern, behind)
        assert found, (pattern, self.lines[-20:])
        return found

    def ask(self, pattern):
        behind = len(self.lines)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait_for(pattern, behind)
        return self.lines[behind:]

    def appended(self):
        found = self.said(r"(?:appended|ended) (\d+)")
        return int(found[1]) if found else 0

    def goes_on(self):
        """Within the time, from now on."""
        before, end = self.appended(), time.monotonic() + SOON
        while self.appended() == before:
            assert time.monotonic() < end, self.lines[-5:]
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join()

    def end(self):
        """By itself, when its input has ended; its last line."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0, self.lines[-20:]
        self.reader.join()
        return self.lines[-1]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        self.process.stdout.close()
