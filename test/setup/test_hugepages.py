# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup hugepages: has them, mounts them, and gives them back."""

import os

import pytest

from machine import Machine, host

POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.pool(2048, 0, 0)
    made.file("/proc/mounts", "proc /proc proc rw 0 0")
    os.rmdir(made.at("/dev/hugepages"))
    return made


def test_without_apply_the_commands_are_said(machine):
    code, said, _ = machine.run("hugepages", "--size", "1G")
    assert code == 0 and said.splitlines() == [
        f"echo 512 > {POOL}", "mkdir -p /dev/hugepages", "mount -t hugetlbfs -o pagesize=2048k nodev /dev/hugepages",
        "# nothing is changed: --apply does it"]
    assert machine.text(POOL) == "0" and not os.path.exists(machine.at("/dev/hugepages"))


def test_reserve_mount_and_give_back(machine):
    assert machine.run("hugepages", "--size", "1G", "--apply")[0] == 0
    assert machine.text(POOL) == "512"
    assert machine.text("/proc/mounts").endswith("nodev /dev/hugepages hugetlbfs rw,pagesize=2048k 0 0")
    assert machine.run("hugepages", "--undo", "--apply")[0] == 0
    assert machine.text(POOL) == "0" and machine.text("/proc/mounts") == "proc /proc proc rw 0 0"
    assert not os.path.exists(machine.at("/dev/hugepages")) and not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_a_part_of_a_page_takes_a_page(machine):
    assert machine.json("hugepages", "--size", "3M", "--no-mount")["steps"] == [f"echo 2 > {POOL}"]


def test_what_is_there_is_enough(machine):
    machine.pool(2048, 600, 0)
    machine.file("/proc/mounts", "nodev /mnt/huge hugetlbfs rw,pagesize=2M 0 0")
    code, said, _ = machine.run("hugepages", "--size", "1G", "--apply")
    assert code == 0 and said == "nothing to do\n" and machine.text(POOL) == "600"


def test_more_twice_is_undone_to_the_first(machine):
    machine.pool(2048, 10, 10)
    machine.run("hugepages", "--size", "256M", "--apply")
    machine.run("hugepages", "--size", "512M", "--apply")
    assert machine.text(POOL) == "256"
    machine.run("hugepages", "--undo", "--apply")
    assert machine.text(POOL) == "10"


def test_what_others_have_changed_since_stays(machine):
    machine.run("hugepages", "--size", "256M", "--apply")
    machine.file(POOL, "300")
    code, said, _ = machine.run("hugepages", "--undo", "--apply")
    assert code == 0 and "another program has changed it" in said and machine.text(POOL) == "300"
    assert not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_fewer_than_asked_for_is_a_failure_that_leaves_nothing(machine):
    code, _, errors = machine.run("hugepages", "--size", "4G", "--apply")
    assert code == 1 and "found 1000 of 2048 pages of 2 MiB" in errors and "hugepages=2048" in errors
    assert machine.text(POOL) == "0" and not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_a_mount_that_fails_gives_the_pages_back(machine):
    machine.file("/mnt/file", "")
    code, _, errors = machine.run("hugepages", "--size", "1G", "--mount", "/mnt/file/below", "--apply")
    assert code == 1 and "mkdir -p /mnt/file/below: Not a directory; the earlier steps are undone" in errors
    assert machine.text(POOL) == "0"


def test_large_pages_get_a_mount_of_their_own(machine):
    steps = machine.json("hugepages", "--size", "2G", "--page", "1G")["steps"]
    assert steps == ["echo 2 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "mkdir -p /dev/hugepages-1G",
                     "mount -t hugetlbfs -o pagesize=1048576k nodev /dev/hugepages-1G"]


def test_a_page_size_that_is_not_there(machine):
    code, _, errors = machine.run("hugepages", "--size", "1G", "--page", "64K")
    assert code == 1 and "no hugepages of 64 KiB here; there are: 2 MiB, 1 GiB" in errors


def test_of_one_numa_node(machine):
    path = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
    machine.file(path, "0")
    assert machine.json("hugepages", "--size", "4M", "--node", "1", "--no-mount")["steps"] == [f"echo 2 > {path}"]
    code, _, errors = machine.run("hugepages", "--size", "4M", "--node", "2")
    assert code == 1 and "on NUMA node 2" in errors


def test_an_owner_mounts_for_one_user(machine):
    steps = machine.json("hugepages", "--size", "4M", "--owner", "1234:5678")["steps"]
    assert steps[-1] == "mount -t hugetlbfs -o pagesize=2048k,uid=1234,gid=5678,mode=0770 nodev /dev/hugepages"


def test_an_owner_of_what_is_mounted_already(machine):
    machine.pool(2048, 600, 0)
    machine.folder("/mnt/huge")
    machine.file("/proc/mounts", "nodev /mnt/huge hugetlbfs rw,pagesize=2M 0 0")
    assert machine.run("hugepages", "--size", "4M", "--owner", "1234:5678", "--apply")[0] == 0
    assert machine.text("/owner/mnt/huge") == "1234:5678"


# ---- by hugeadm, where it is installed ----

MORE = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages"
PAGES, MOUNTS = "hugeadm --pool-pages-min 2MB:+512", "hugeadm --create-mounts"


@pytest.fixture
def with_hugeadm(machine):
    machine.hugeadm()
    machine.file(MORE, "700")
    return machine


def test_hugeadm_does_the_writing(with_hugeadm):
    machine = with_hugeadm
    assert machine.json("hugepages", "--size", "1G")["steps"] == [PAGES, MOUNTS]
    assert machine.text(POOL) == "0"
    assert machine.run("hugepages", "--size", "1G", "--apply")[0] == 0
    assert machine.text(POOL) == "512" and machine.text(MORE) == "188"
    assert "/var/lib/hugetlbfs/pagesize-2MB hugetlbfs" in machine.text("/proc/mounts")


def test_all_that_hugeadm_did_is_undone(with_hugeadm):
    machine = with_hugeadm
    machine.run("hugepages", "--size", "512M", "--apply")
    machine.run("hugepages", "--size", "1G", "--apply")
    assert machine.run("hugepages", "--undo", "--apply")[0] == 0
    assert machine.text(POOL) == "0" and machine.text(MORE) == "700"
    assert machine.text("/proc/mounts") == "proc /proc proc rw 0 0"
    assert not os.path.exists(machine.at("/var/lib/hugetlbfs")) and not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_a_folder_that_hugeadm_has_found_stays(with_hugeadm):
    machine = with_hugeadm
    machine.folder("/var/lib/hugetlbfs/pagesize-2MB")
    machine.run("hugepages", "--size", "1G", "--apply")
    machine.run("hugepages", "--undo", "--apply")
    assert machine.text("/proc/mounts") == "proc /proc proc rw 0 0"
    assert os.path.exists(machine.at("/var/lib/hugetlbfs/pagesize-2MB"))


def test_hugeadm_ends_well_with_too_few(with_hugeadm):
    machine = with_hugeadm
    code, _, errors = machine.run("hugepages", "--size", "4G", "--apply")
    assert code == 1 and "found 1000 of 2048 pages of 2 MiB" in errors
    assert machine.text(POOL) == "0" and machine.text(MORE) == "700"
    assert machine.text("/proc/mounts") == "proc /proc proc rw 0 0" and not os.path.exists(machine.at("/run/rdmapmd-setup"))


def test_hugeadm_that_mounts_other_pages_is_a_failure(with_hugeadm):
    machine = with_hugeadm
    machine.hugeadm(1048576)
    code, _, errors = machine.run("hugepages", "--size", "1G", "--apply")
    assert code == 1 and "pages of 2 MiB are not mounted" in errors
    assert machine.text(POOL) == "0" and machine.text(MORE) == "700" and machine.text("/proc/mounts") == "proc /proc proc rw 0 0"
    assert not os.path.exists(machine.at("/var/lib/hugetlbfs"))


def test_where_any_pages_are_mounted_hugeadm_mounts_none(with_hugeadm):
    machine = with_hugeadm
    machine.file("/proc/mounts", "nodev /mnt/huge hugetlbfs rw,pagesize=2M 0 0")
    assert machine.json("hugepages", "--size", "1G")["steps"] == [PAGES]


def test_what_hugeadm_cannot_do_is_done_by_hand(with_hugeadm):
    machine = with_hugeadm
    machine.file("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "0")
    steps = machine.json("hugepages", "--size", "1G", "--node", "1", "--no-mount")["steps"]
    assert steps == ["echo 512 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"]
    for words in (["--owner", "1234:5678"], ["--mount", "/mnt/mine"]):
        steps = machine.json("hugepages", "--size", "1G", *words)["steps"]
        assert steps[0] == PAGES and steps[-1].startswith("mount -t hugetlbfs ")


@pytest.mark.parametrize("file", ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"])
def test_in_a_container_hugeadm_is_left_alone(with_hugeadm, file):
    with_hugeadm.file(file, "")
    assert with_hugeadm.json("hugepages", "--size", "1G", "--no-mount")["steps"] == [f"echo 512 > {POOL}"]


def test_who_is_not_root_is_told_what_he_can_paste(with_hugeadm, monkeypatch):
    monkeypatch.setattr(host.Host, "is_root", False)
    assert with_hugeadm.json("hugepages", "--size", "1G", "--no-mount")["steps"] == [f"echo 512 > {POOL}"]
