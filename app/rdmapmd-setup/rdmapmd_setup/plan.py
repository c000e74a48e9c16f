# SPDX-License-Identifier: BSD-3-Clause
"""Changes as a list that can be printed, made, and taken back when one of them fails."""

import os
import shlex

from .host import Failed


def quoted(word):
    """For a shell, in characters that every terminal shows as they are: a step that is pasted does what it says."""
    if all(" " <= c <= "~" for c in word):
        return shlex.quote(word)
    return "$'" + "".join(chr(byte) if 0x20 <= byte < 0x7f and byte not in b"\\'" else f"\\{byte:03o}"
                          for byte in os.fsencode(word)) + "'"


class Write:
    """A value into a file of the kernel's."""

    def __init__(self, path, value):
        self.path, self.value = path, value

    def __str__(self):
        return f"echo {quoted(self.value) if self.value else ''} > {quoted(self.path)}".replace("echo  >", "echo >")

    def make(self, host):
        host.write(self.path, self.value)


class Command:
    """A program."""

    def __init__(self, argv):
        self.argv = argv

    def __str__(self):
        return " ".join(map(quoted, self.argv))

    def make(self, host):
        host.run(self.argv)


class Chown:
    """An owner by numbers."""

    def __init__(self, path, uid, gid):
        self.path, self.uid, self.gid = path, uid, gid

    def __str__(self):
        return f"chown {self.uid}:{self.gid} {quoted(self.path)}"

    def make(self, host):
        host.chown(self.path, self.uid, self.gid)


class MakeFolder:
    """And those above it."""

    def __init__(self, path):
        self.path = path

    def __str__(self):
        return f"mkdir -p {quoted(self.path)}"

    def make(self, host):
        host.make_folder(self.path)


class Remove:
    """A file that nobody uses, which is asked again at the last moment. own: see Host.inside()."""

    def __init__(self, path, is_used, own):
        self.path, self.is_used, self.own = path, is_used, own

    def __str__(self):
        return f"rm {quoted(self.path)}"

    def make(self, host):
        folder, name = os.path.split(self.path)
        try:
            with host.inside(folder, self.own) as here:
                if not self.is_used(f"{here}/{name}"):
                    os.unlink(f"{here}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            pass


class RemoveFolder:
    """Unless something is in it. own: of the folder that it is in."""

    def __init__(self, path, own=0):
        self.path, self.own = path, own

    def __str__(self):
        return f"rmdir {quoted(self.path)}"

    def make(self, host):
        folder, name = os.path.split(self.path)
        try:
            with host.inside(folder, self.own) as here:
                os.rmdir(f"{here}/{name}")
        except OSError:
            pass


class Plan:
    """Steps in order, and between them what is to be remembered: an undo is written down before there is something to undo."""

    def __init__(self, host):
        self.host = host
        self.rows = []
        self.notes = []

    def add(self, step, undo=None, check=None):
        """
        check says Failed when the step did not do what it should have; undo takes it back when that or a later one fails.
        Without a step (None) undo is for what a later one may have done in part.
        """
        self.rows.append([step, undo, check, []])

    def then(self, remember):
        """Once all steps until here are made, and before the next one is."""
        if not self.rows:
            self.rows.append([None, None, None, []])
        self.rows[-1][3].append(remember)

    @property
    def steps(self):
        return [str(row[0]) for row in self.rows if row[0] is not None]

    def make(self, state=None):
        """All steps, or none: what was made until one fails is taken back, and what the state remembered of it."""
        before = state.copy() if state is not None else None
        undone = []
        try:
            for step, undo, check, remember in self.rows:
                if step is not None:
                    self.make_one(step)
                undone.append(undo)
                if check is not None:
                    check()
                for note in remember:
                    note()
        except Failed as failure:
            left = self.take_back(undone)
            if left:
                raise Failed(f"{failure}; undoing the earlier steps failed, too: {'; '.join(left)}", failure.fix) from None
            if state is not None:
                try:
                    state.put_back(before)
                except Failed as also:
                    left = f"; {also}"
            back = "; the earlier steps are undone" if any(undone) else ""
            raise Failed(f"{failure}{back}{left or ''}", failure.fix) from None

    def make_one(self, step):
        try:
            step.make(self.host)
        except OSError as error:
            raise Failed(f"{step}: {error.strerror}") from None

    def take_back(self, undone):
        """In reverse. Returns what could not be."""
        left = []
        for step in reversed(undone):
            try:
                if step is not None:
                    step.make(self.host)
            except (OSError, Failed):
                left.append(str(step))
        return left
