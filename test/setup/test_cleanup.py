# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup cleanup: what ended processes left, and nothing of living ones."""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

from machine import Kernel, Machine, bind_at
from rdmapmd_setup import processes


@pytest.fixture
def machine(tmp_path, monkeypatch):
    for name in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    return Machine(tmp_path)


def runtime(machine, prefix, base="/run/dpdk"):
    """What EAL makes."""
    paths = [f"{base}/{prefix}/{name}" for name in ("config", "hugepage_info", "fbarray_memzone")]
    for path in paths:
        machine.age(machine.file(path, "x"))
    return paths


def clean(machine, *words):
    code, said, errors = machine.run("cleanup", *words, "--apply")
    assert code == 0, errors
    return said


def exists(machine, *paths):
    return [os.path.exists(machine.at(path)) for path in paths]


def test_without_apply_all_stays(machine):
    paths = runtime(machine, "rte")
    code, said, _ = machine.run("cleanup")
    assert code == 0 and [f"rm {path}" in said for path in paths] == [True] * 3 and "rmdir /run/dpdk/rte\n" in said
    assert all(exists(machine, *paths))


def test_files_of_ended_processes_go(machine):
    paths = runtime(machine, "rte") + [machine.age(machine.file("/dev/hugepages/rtemap_0", ""))]
    machine.socket("/run/softrnic/rnic0.sock")
    machine.age(machine.file("/run/softrnic/rnic0.sock.lock", "x"))
    clean(machine)
    assert not any(exists(machine, *paths, "/run/dpdk/rte", "/run/softrnic/rnic0.sock", "/run/softrnic/rnic0.sock.lock"))
    assert clean(machine) == "nothing to do\n"


def hold(machine, path):
    """A process that holds the record lock which EAL's primary process does."""
    holder = subprocess.Popen([sys.executable, "-c", "import fcntl, sys\nfile = open(sys.argv[1], 'r+')\n"
                               "fcntl.lockf(file, fcntl.LOCK_EX, 8, 4)\nprint('held', flush=True)\nsys.stdin.read()",
                               machine.at(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def end(holder):
    holder.communicate()
    assert holder.returncode == 0


def test_a_living_primary_keeps_everything_of_its_prefix(machine):
    paths = runtime(machine, "rte") + [machine.age(machine.file("/dev/hugepages/rtemap_0", ""))]
    others = runtime(machine, "other") + [machine.age(machine.file("/dev/hugepages/othermap_0", ""))]
    holder = hold(machine, "/run/dpdk/rte/config")
    said = clean(machine)
    assert all(exists(machine, *paths)) and not any(exists(machine, *others)) and "are in use, and stay" in said
    end(holder)
    clean(machine)
    assert not any(exists(machine, *paths))


def test_a_living_secondary_keeps_it_as_well(machine):
    paths = runtime(machine, "rte")
    with open(machine.at("/run/dpdk/rte/fbarray_memzone"), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        clean(machine)
        assert all(exists(machine, *paths))


def test_a_telemetry_socket_that_is_served_keeps_the_folder(machine):
    """As with --in-memory, where there is nothing else."""
    path = "/run/dpdk/rte/dpdk_telemetry.v2"
    machine.folder("/run/dpdk/rte")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        bind_at(server, machine.at(path))
        server.listen()
        server.settimeout(0)
        clean(machine)
        assert exists(machine, path) == [True]
        # And nobody was disturbed.
        with pytest.raises(BlockingIOError):
            server.accept()
    clean(machine)
    assert exists(machine, path, "/run/dpdk/rte") == [False, False]


def test_the_socket_of_a_living_softrnicd_stays_and_is_not_touched(machine):
    path = "/run/softrnic/rnic0.sock"
    machine.folder("/run/softrnic")
    lock = machine.age(machine.file(path + ".lock", "x"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        bind_at(server, machine.at(path))
        server.listen()
        server.settimeout(0)
        clean(machine)
        assert exists(machine, path, lock) == [True, True]
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_lock_that_is_held_keeps_its_socket(machine):
    """softrnicd has the lock before it listens."""
    path = "/run/softrnic/rnic0.sock"
    machine.socket(path)
    lock = machine.age(machine.file(path + ".lock", "x"))
    with open(machine.at(lock), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        clean(machine)
        assert exists(machine, path, lock) == [True, True]


def test_whoever_wants_a_lock_while_it_is_asked_for_has_it(machine, monkeypatch):
    """A softrnicd, or an EAL, that started in this moment found its lock taken and ended."""
    if processes.flocked_inodes() is None:
        pytest.skip("the kernel does not show all locks here")
    lock = machine.at(machine.age(machine.file("/run/softrnic/rnic0.sock.lock", "x")))
    refused, close = [], os.close

    def start_now(fd):
        """The last moment in which the question may hold something."""
        with open(lock, "rb") as started:
            try:
                fcntl.flock(started, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                refused.append(error.strerror)
        close(fd)

    monkeypatch.setattr(processes.os, "close", start_now)
    assert not processes.is_flocked(lock)
    monkeypatch.undo()
    assert not refused, f"a softrnicd that starts is refused: {refused}"
    for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        with open(lock, "rb") as held:
            fcntl.flock(held, kind)
            assert processes.is_flocked(lock)


def test_a_file_that_is_just_made_stays(machine):
    """Whoever makes it may not have locked it yet."""
    machine.file("/dev/hugepages/rtemap_0", "")
    machine.file("/run/dpdk/rte/config", "x")
    clean(machine)
    assert exists(machine, "/dev/hugepages/rtemap_0", "/run/dpdk/rte/config") == [True, True]


def test_a_file_that_a_process_has_mapped_stays(machine):
    """By a program that locks nothing."""
    path = machine.age(machine.file("/dev/hugepages/rtemap_0", ""))
    machine.file("/proc/4711/maps", "100000000-100200000 rw-s 00000000 00:2a 123                       /dev/hugepages/rtemap_0")
    clean(machine)
    assert exists(machine, path) == [True]


def test_files_of_other_programs_stay(machine):
    paths = [machine.age(machine.file(path, "x")) for path in
             ("/dev/hugepages/libhugetlbfs.tmp.1", "/dev/hugepages/qemu_back_mem.x", "/run/dpdk/rte/notes", "/run/softrnic/log",
              "/run/dpdk/file")]
    runtime(machine, "rte")
    clean(machine)
    assert all(exists(machine, *paths)) and exists(machine, "/run/dpdk/rte/config") == [False]


def test_a_link_is_not_followed(machine):
    runtime(machine, "victim", base="/elsewhere")
    machine.folder("/run/dpdk")
    os.symlink(machine.at("/elsewhere/victim"), machine.at("/run/dpdk/rte"))
    os.symlink(machine.at("/elsewhere/victim/config"), machine.at("/dev/hugepages/rtemap_1"))
    clean(machine)
    assert exists(machine, "/elsewhere/victim/config", "/dev/hugepages/rtemap_1") == [True, True]


def test_an_ordinary_user_cleans_up_what_is_his(machine, monkeypatch):
    """Without the state of others' changes, which is root's."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Kernel, "real", True)
    machine.file("/run/rdmapmd-setup", "no folder")
    paths = runtime(machine, "rte", base="/run/user/1000/dpdk")
    clean(machine)
    assert not any(exists(machine, *paths))


@pytest.fixture
def shared_machine():
    """Where an ordinary user may go, too."""
    root = tempfile.mkdtemp(prefix="rnic-setup-")
    os.chmod(root, 0o755)
    yield Machine(root)
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o755)
    shutil.rmtree(root)


@contextlib.contextmanager
def ordinary_user():
    """Of root's tests; others' are of one."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def of_others(machine, mode):
    """A link and a socket, which are no files that one may not look into."""
    machine.folder("/run/dpdk/rte")
    os.symlink("dpdk_telemetry.v2", machine.at("/run/dpdk/rte/telemetry"))
    paths = ["/run/dpdk/rte", "/run/dpdk/rte/telemetry", machine.socket("/run/softrnic/a.sock")]
    os.chmod(machine.at(paths[-1]), 0o777)
    for folder in ("/run/dpdk", "/run/dpdk/rte", "/run/softrnic"):
        os.chmod(machine.at(folder), mode)
    return paths


def test_what_is_of_others_stays_and_keeps_nothing_else(shared_machine, monkeypatch):
    machine = shared_machine
    for name in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    others = of_others(machine, 0o555)
    own = machine.socket("/run/user/65534/softrnic/b.sock")
    os.chmod(machine.at(own), 0o777)
    os.chmod(machine.at(os.path.dirname(own)), 0o777)
    with ordinary_user():
        assert machine.findings()["stale-sockets"]["fix"] == ["sudo rdmapmd-setup cleanup --apply"]
        said = clean(machine)
    assert said == f"# 3 are of others, and stay, such as /run/dpdk/rte\nrm {own}\n"
    assert [os.path.lexists(machine.at(path)) for path in others + [own]] == [True] * 3 + [False]


def test_what_is_of_others_in_a_folder_of_all_stays(machine, monkeypatch):
    """As in /tmp: who may write there may only remove what is his."""
    others, user = of_others(machine, 0o1777), os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert clean(machine) == "# 3 are of others, and stay, such as /run/dpdk/rte\nnothing to do\n"
    monkeypatch.undo()
    clean(machine)
    assert not any(os.path.lexists(machine.at(path)) for path in others)


def test_a_link_for_the_folder_of_all_leads_nowhere(machine):
    """Anybody may make one in /tmp, and is not to have root remove what he could not."""
    paths = runtime(machine, ".git", base="/elsewhere/alice")
    machine.socket("/elsewhere/alice/a.sock")
    machine.folder("/tmp")
    for name in ("dpdk", "softrnic"):
        os.symlink(machine.at("/elsewhere/alice"), machine.at(f"/tmp/{name}"))
    assert clean(machine) == "nothing to do\n"
    assert all(exists(machine, *paths, "/elsewhere/alice/a.sock"))


def test_a_folder_that_becomes_a_link_after_the_look_leads_nowhere(machine):
    from rdmapmd_setup import host, stale # pylint: disable=import-outside-toplevel

    victims = runtime(machine, "rte", base="/elsewhere/alice") + [machine.socket("/elsewhere/alice/a.sock")]
    runtime(machine, "rte", base="/tmp/dpdk")
    machine.socket("/tmp/softrnic/a.sock")
    made = stale.Leftovers(host.Host(machine.root)).plan()
    assert len(made.steps) == 5
    for name in ("dpdk", "softrnic"):
        os.rename(machine.at(f"/tmp/{name}"), machine.at(f"/tmp/{name}.old"))
        os.symlink(machine.at("/elsewhere/alice"), machine.at(f"/tmp/{name}"))
    made.make()
    assert all(exists(machine, *victims))


def test_a_named_folder_may_be_a_link(machine):
    machine.socket("/mine/a.sock")
    os.symlink(machine.at("/mine"), machine.at("/linked"))
    clean(machine, "--dir", "/linked")
    assert exists(machine, "/mine/a.sock") == [False]


def test_folders_of_users_are_looked_at(machine, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/somewhere")
    bases = ["/run/user/1000/dpdk", "/tmp/dpdk", "/somewhere/dpdk"]
    paths = [path for base in bases for path in runtime(machine, "rte", base)]
    machine.socket("/run/user/1000/softrnic/a.sock")
    clean(machine)
    assert not any(exists(machine, *paths, "/run/user/1000/softrnic/a.sock"))


def test_a_folder_that_is_named_is_looked_at(machine):
    machine.socket("/mine/a.sock")
    clean(machine)
    assert exists(machine, "/mine/a.sock") == [True]
    clean(machine, "--dir", "/mine")
    assert exists(machine, "/mine/a.sock") == [False]


def test_what_comes_alive_after_the_look_stays(machine):
    """It is asked again before each is removed."""
    from rdmapmd_setup import host, stale # pylint: disable=import-outside-toplevel

    path = machine.age(machine.file("/dev/hugepages/rtemap_0", ""))
    made = stale.Leftovers(host.Host(machine.root)).plan()
    assert made.steps == [f"rm {path}"]
    with open(machine.at(path), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        made.make()
        assert exists(machine, path) == [True]
