# SPDX-License-Identifier: BSD-3-Clause
"""The machine: the one way to its sysfs, proc and dev, which may lie below another root, as those of tests do."""

import contextlib
import os
import pwd
import stat
import subprocess


class Failed(Exception):
    """What was asked for cannot be had: exit code 1."""

    def __init__(self, text, fix=()):
        super().__init__(text)
        self.fix = [fix] if isinstance(fix, str) else list(fix)


class User:
    """Who is to use the function: by default who runs this."""

    def __init__(self, name=None):
        if name is None:
            self.uid, self.gids = os.geteuid(), {os.getegid(), *os.getgroups()}
            self.own = True
            try:
                self.name = pwd.getpwuid(self.uid).pw_name
            except KeyError:
                self.name = str(self.uid)
        else:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                raise Failed(f"no such user: {name}") from None
            self.name, self.uid = name, entry.pw_uid
            self.gids = set(os.getgrouplist(name, entry.pw_gid))
            self.own = self.uid == os.geteuid()


class Host:
    """Paths are those of the machine, with their leading slash."""

    def __init__(self, root="/"):
        self.root = os.path.normpath(root)

    @property
    def real(self):
        """Not a tree of files."""
        return self.root == "/"

    @property
    def is_root(self):
        """A tree belongs to whoever made it."""
        return os.geteuid() == 0 or not self.real

    def at(self, path):
        """Where a path of the machine is found by this process."""
        return path if self.root == "/" else self.root + path

    def read(self, path):
        """A file's text without white space around it; None where there is none to be read."""
        try:
            with open(self.at(path), encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return None

    def read_bytes(self, path):
        try:
            with open(self.at(path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def kernel_log(self):
        """Records of the kernel as /dev/kmsg has them, or as much as we may see."""
        try:
            fd = os.open(self.at("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        data = b""
        try:
            while True:
                try:
                    more = os.read(fd, 1 << 16)
                except BrokenPipeError:
                    continue  # a record that was overwritten meanwhile
                if not more:
                    break
                data += more
        except OSError:
            pass  # that was the last one
        finally:
            os.close(fd)
        return data.decode(errors="replace").splitlines()

    def number(self, path):
        try:
            return int(self.read(path) or "", 0)
        except ValueError:
            return None

    def names(self, path):
        try:
            return sorted(os.listdir(self.at(path)))
        except OSError:
            return []

    @contextlib.contextmanager
    def inside(self, path, own):
        """
        A name for a folder that stays with this one, whatever becomes of its path. The last `own` parts of that may be
        no links: anybody may write what is above them, as in /tmp, and could lead root to where he may not go himself.
        """
        above, *parts = path.rsplit("/", own)
        fd = os.open(self.at(above) or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)

    def names_inside(self, path, own):
        try:
            with self.inside(path, own) as here:
                return sorted(os.listdir(here))
        except OSError:
            return []

    def exists(self, path):
        return os.path.lexists(self.at(path))

    def target(self, path):
        """What a symbolic link says, else None."""
        try:
            return os.readlink(self.at(path))
        except OSError:
            return None

    def link_name(self, path):
        """The last part of what a symbolic link says: how sysfs names drivers and groups."""
        target = self.target(path)
        return None if target is None else os.path.basename(target)

    def stat(self, path):
        try:
            return os.stat(self.at(path))
        except OSError:
            return None

    def has_program(self, name):
        """Where a system's administrator has his."""
        return any(os.access(self.at(f"{folder}/{name}"), os.X_OK) for folder in ("/usr/sbin", "/usr/bin", "/sbin", "/bin"))

    def may_write(self, path, user):
        """Reading and writing, both."""
        if user.own:
            return os.access(self.at(path), os.R_OK | os.W_OK, effective_ids=True)
        status = self.stat(path)
        if status is None:
            return False
        if user.uid == 0:
            return True
        shift = 6 if status.st_uid == user.uid else 3 if status.st_gid in user.gids else 0
        return (status.st_mode >> shift) & 6 == 6

    @staticmethod
    def may_unlink(folder, name):
        """Who runs this; folder is this process's name for it. In one as /tmp only what is his, whatever its kind."""
        user = os.geteuid()
        if user == 0:
            return True
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            return False
        try:
            above = os.stat(folder)
            return not above.st_mode & stat.S_ISVTX or user in (above.st_uid, os.lstat(f"{folder}/{name}").st_uid)
        except OSError:
            return False

    # What changes it. Each says OSError or Failed when it cannot.

    def write(self, path, text):
        # One write: sysfs takes the whole of a value at once.
        fd = os.open(self.at(path), os.O_WRONLY | (0 if self.real else os.O_TRUNC))
        try:
            os.write(fd, (text + "\n").encode())
        finally:
            os.close(fd)

    def run(self, argv):
        if not self.real:
            raise Failed(f"not below {self.root}: {' '.join(argv)}")
        try:
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        except OSError as error:
            raise Failed(f"{argv[0]}: {error.strerror}") from None
        if done.returncode != 0:
            raise Failed(f"{' '.join(argv)} fails: {done.stdout.strip() or done.returncode}")

    def output_of(self, argv, seconds):
        """Exit code, None if it had to be killed, and what a program says on its standard error, as it logs there."""
        if not self.real:
            raise Failed(f"not below {self.root}: {' '.join(argv)}")
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                                  timeout=seconds)
        except subprocess.TimeoutExpired as late:
            return None, (late.stderr or b"").decode(errors="replace")
        except OSError as error:
            raise Failed(f"{argv[0]}: {error.strerror}") from None
        return done.returncode, done.stderr.decode(errors="replace")

    def chown(self, path, uid, gid):
        os.chown(self.at(path), uid, gid)

    def make_folder(self, path):
        os.makedirs(self.at(path), exist_ok=True)
