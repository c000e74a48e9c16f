# SPDX-License-Identifier: BSD-3-Clause
"""How scripts have more hugepages, by hugeadm or by hand, and give them back."""

import os
import subprocess

import pytest

LIB = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "lib.sh")


class Machine:
    """A pool in two files, and hugeadm: it gives so many pages, and takes them from those that the kernel would add."""

    def __init__(self, root):
        self.root = str(root)
        self.set("pages", 10)
        self.set("more", 100)

    def at(self, name):
        return os.path.join(self.root, name)

    def set(self, name, value):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(f"{value}\n")

    def pool(self):
        return [int(open(self.at(name), encoding="utf-8").read()) for name in ("pages", "more")]

    def hugeadm(self, gives):
        with open(self.at("hugeadm"), "w", encoding="utf-8") as file:
            file.write(f'''#!/bin/bash
echo "$*" >>{self.root}/calls
echo $(($(<{self.root}/pages) + {gives})) >{self.root}/pages
echo $(($(<{self.root}/more) - {gives})) >{self.root}/more
''')
        os.chmod(self.at("hugeadm"), 0o755)

    def calls(self):
        path = self.at("calls")
        return open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []

    def run(self, command):
        """With lib.sh, on this machine: (exit code, output). Its pages are all free."""
        script = f'''
set -euo pipefail
me=test root={self.root}
. {LIB}
hugepages={self.root}/pages hugepages_more={self.root}/more
PATH={self.root}:/nowhere
cat() {{ /bin/cat "$@"; }}
hugepages_are_2mib() {{ true; }}
hugepages_free() {{ cat "$hugepages"; }}
id() {{ echo 0; }}
container_marks=({self.root}/nothing {self.root}/container)
{command}
'''
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout.strip()


@pytest.fixture(name="machine")
def a_machine(tmp_path):
    machine = Machine(tmp_path)
    machine.hugeadm(54)
    return machine


def test_hugeadm_does_the_writing(machine):
    assert machine.run("hugepages_reserve 64") == (0, "10 100 64 46")
    assert machine.calls() == ["--pool-pages-min 2MB:+54"]


def test_pages_and_what_the_kernel_would_add_are_given_back(machine):
    machine.run("hugepages_reserve 64")
    assert machine.run("hugepages_give_back 10 100 64 46") == (0, "")
    assert machine.pool() == [10, 100]


def test_enough_free_pages_stay_as_they_are(machine):
    assert machine.run("hugepages_reserve 10") == (0, "")
    assert machine.calls() == []


def test_too_few_are_put_back_though_hugeadm_ends_well(machine):
    machine.hugeadm(53)
    assert machine.run("hugepages_reserve 64") == (1, "")
    assert machine.pool() == [10, 100]


def test_where_hugeadm_fails_they_are_written_by_hand(machine):
    with open(machine.at("hugeadm"), "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\nexit 1\n")
    assert machine.run("hugepages_reserve 64") == (0, "10 100 64 100")


def test_what_hugeadm_has_added_before_it_fails_is_not_added_once_more(machine):
    machine.hugeadm(20)
    with open(machine.at("hugeadm"), "a", encoding="utf-8") as file:
        file.write("exit 1\n")
    assert machine.run("hugepages_reserve 64") == (0, "10 100 64 80")
    assert machine.run("hugepages_give_back 10 100 64 80") == (0, "")
    assert machine.pool() == [10, 100]


def test_the_record_of_an_earlier_version_is_understood(machine):
    machine.set("record", "10 64")
    assert machine.run(f"hugepages_record {machine.at('record')}") == (0, "10 100 64 100")
    machine.set("record", "10 100 64 46")
    assert machine.run(f"hugepages_record {machine.at('record')}") == (0, "10 100 64 46")


@pytest.mark.parametrize("why", ("it is not installed", "this is a container"))
def test_without_hugeadm_they_are_written_by_hand(machine, why):
    if why == "this is a container":
        machine.set("container", "")
    else:
        os.unlink(machine.at("hugeadm"))
    assert machine.run("hugepages_reserve 64") == (0, "10 100 64 100")
    assert machine.calls() == []
    assert machine.run("hugepages_give_back 10 100 64 100") == (0, "")
    assert machine.pool() == [10, 100]


@pytest.mark.parametrize("name", ("pages", "more"))
def test_what_somebody_else_has_changed_is_left(machine, name):
    machine.run("hugepages_reserve 64")
    machine.set(name, 47)
    before = machine.pool()
    assert machine.run("hugepages_give_back 10 100 64 46") == (1, "")
    assert machine.pool() == before
