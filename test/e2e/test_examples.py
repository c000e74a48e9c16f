# SPDX-License-Identifier: BSD-3-Clause
"""The programs in examples/, as their README.md and their first lines say to run them."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

import pytest

from daemon.softrnicd import Softrnicd, ticks, until
from e2e import captures, example_readmes, examples

EAL = ("--no-huge", "-m256", "--no-pci")


def run(name, *args, vdevs=("net_rnic0",), eal=()):
    """Exit code and output. Rounds are few: two busy threads share what CPUs there are."""
    return examples.execute([name, *(f"--vdev={vdev}" for vdev in vdevs), *EAL, *eal, "--", *args])


@pytest.mark.parametrize("name", ["rdma_pingpong", "rdma_write", "rdma_events", "rdma_srq", "kv_read"])
def test_as_its_readme_says(name):
    examples.run_readme(name)


def test_pingpong_between_two_queue_pairs():
    code, output = run("rdma_pingpong", "net_rnic0", "200")
    assert code == 0, output
    assert re.search(r"^200 round trips of 64 bytes, [0-9.]+ us each", output, re.M), output
    assert "the last message: pong 199" in output, output


def test_pingpong_between_two_devices():
    pair = [f"net_rnic{i},wire=pair:cable" for i in range(2)]
    code, output = run("rdma_pingpong", "net_rnic0", "200", "net_rnic1", vdevs=pair)
    assert code == 0, output
    assert "the last message: pong 199" in output, output


def test_pingpong_on_the_first_port():
    code, output = run("rdma_pingpong")
    assert code == 0, output
    assert "the last message: pong 9999" in output, output


def test_write_read_and_count_in_the_memory_of_a_peer():
    code, output = run("rdma_write")
    assert code == 0, output
    assert "WRITE of 1048576 bytes" in output, output
    assert "READ of 1048576 bytes" in output, output
    assert "the counter was 0 and is 42" in output, output
    assert "the counter was 42 and is 84" in output, output


def test_write_in_memory_of_the_c_library():
    code, output = run("rdma_write", "net_rnic0", "300000", "malloc")
    assert code == 0, output
    assert "WRITE of 300000 bytes" in output, output
    assert "the counter was 42 and is 84" in output, output


def test_write_of_a_length_that_is_no_multiple_of_a_packet():
    code, output = run("rdma_write", "net_rnic0", "100008")
    assert code == 0, output
    assert "WRITE of 100008 bytes" in output, output


def test_write_between_two_devices():
    pair = [f"net_rnic{i},wire=pair:cable" for i in range(2)]
    code, output = run("rdma_write", "net_rnic0", "100008", "net_rnic1", vdevs=pair)
    assert code == 0, output
    assert "WRITE of 100008 bytes" in output and "the counter was 42 and is 84" in output, output


def sleeps(process):
    """Whether its first thread is asleep, rather than running or waiting for a CPU."""
    with open(f"/proc/{process.pid}/task/{process.pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def test_events_sleeps_until_there_is_something_to_do():
    code, output = run("rdma_events", "net_rnic0", "20")
    assert code == 0, output
    assert re.search(r"^20 messages received; woken \d+ times$", output, re.M), output
    # For each message by the timer and by two completions, at most twice each; then by what the WRITE at the end does.
    assert int(re.search(r"woken (\d+)", output)[1]) < 150, output


@pytest.mark.long
def test_events_between_two_devices():
    code, output = run("rdma_events", "net_rnic0", "5", "net_rnic1", vdevs=[f"net_rnic{i},wire=pair:cable" for i in range(2)])
    assert code == 0 and "5 messages received" in output, output


def test_events_ends_on_an_interrupt():
    process = examples.start(["rdma_events", "--vdev=net_rnic0,wire=loop", *EAL, "--", "net_rnic0", "0"])
    examples.wait_for(process, "^waiting")
    until(lambda: sleeps(process), "sleep")
    code, output = examples.finish(process, signal.SIGINT)
    assert code == 0 and "messages received" in output, output


def test_events_of_a_device_that_is_lost():
    with Softrnicd(("name=a,wire=loop",)) as daemon:
        process = examples.start(["rdma_events", f"--vdev={daemon.vdevs()[0]}", *EAL, "--", "net_rnic0", "0"])
        examples.wait_for(process, "^waiting")
        daemon.kill()
        code, output = examples.finish(process)
    assert code == 1, output
    assert "event: local catastrophic error" in output and "the device is lost" in output, output


@pytest.mark.long
def test_srq_returns_its_buffers():
    """They are taken many times over, and no message is lost, doubled or out of order: else the program says so."""
    code, output = run("rdma_srq", "net_rnic0", "3000", "net_rnic1", vdevs=[f"net_rnic{i},wire=pair:cable" for i in range(2)])
    assert code == 0, output
    found = re.search(r"^(\d+) messages of 64 clients, (\d+) of the busiest; 256 buffers, returned (\d+) times$", output, re.M)
    # A buffer was taken ten times or more: they came back in at least as many turns as the whole pool has in it.
    assert found and int(found[1]) == 3000 and int(found[2]) > 3000 // 64 and int(found[3]) >= 3000 // 256, output


@pytest.fixture(name="folder")
def fixture_folder():
    with tempfile.TemporaryDirectory(prefix="rnic-examples-") as folder:
        yield folder


def frames_for(*addresses):
    """One each in turn, of all lengths, and others between them."""
    payload = bytes(range(256)) * 6
    return [(address + b"\2\0\0\0\0\x99\x88\xb5" + payload[:46 + 11 * i])
            for i in range(100) for address in (addresses[i % len(addresses)], b"\2\0\0\0\0\x77")]


def capture(folder, frames, *args):
    """What raw_capture writes of those frames, and what it says."""
    captures.write(f"{folder}/in.pcap", frames)
    code, output = run("raw_capture", f"{folder}/out.pcap", *args,
                       vdevs=[f"net_rnic0,wire=pcap,rx_pcap={folder}/in.pcap,mac=02:00:00:00:00:01"])
    assert code == 0, output
    assert captures.read(f"{folder}/out.pcap")[1] == sorted(captures.read(f"{folder}/out.pcap")[1])
    return captures.read(f"{folder}/out.pcap")[0], output


def test_raw_capture_has_the_frames_for_the_port(folder):
    """As its README says."""
    frames = frames_for(b"\2\0\0\0\0\1", b"\xff" * 6)
    example_readmes.raw_capture(examples.BUILT, folder, frames, frames[::2])


@pytest.mark.long
def test_raw_capture_has_the_frames_for_other_addresses(folder):
    frames = frames_for(b"\2\0\0\0\0\1", b"\2\0\0\0\0\x55")
    written, output = capture(folder, frames, "150", "02:00:00:00:00:55", "02:00:00:00:00:77")
    assert written == [frame for frame in frames if frame[5] != 1], output


@pytest.mark.long
def test_raw_capture_ends_on_an_interrupt(folder):
    process = examples.start(["raw_capture", "--vdev=net_rnic0", *EAL, "--", f"{folder}/out.pcap"])
    examples.wait_for(process, "^receiving")
    code, output = examples.finish(process, signal.SIGINT)
    assert code == 0 and "0 frames in" in output, output
    assert captures.read(f"{folder}/out.pcap") == ([], [])


def kv_read(*args, **how):
    """What it has counted, and its exit code."""
    code, output = run("kv_read", "net_rnic0", *args, **how)
    found = re.search(r"^(\d+) found, (\d+) not there; (\d+) updates; (\d+) torn reads, repeated; (\d+) wrong$", output, re.M)
    assert found, output
    return dict(zip(("found", "missing", "updates", "torn", "wrong"), map(int, found.groups()))), code


def test_kv_read_reads_what_is_torn_again():
    """The same reads twice: with versions and checksum no value is wrong, without them as many are as would be torn."""
    counts, code = kv_read("1000")
    assert code == 0 and counts["wrong"] == 0 and counts["found"] + counts["missing"] == 1000, counts
    assert counts["torn"] > 20 and counts["updates"] > 100 and counts["missing"] > 20, counts
    counts, code = kv_read("1000", "unchecked")
    assert code == 1 and counts["torn"] == 0 and counts["wrong"] > 20, counts


# Writer and device race on purpose: nothing for ThreadSanitizer.
if os.environ["RDMAPMD_SANITIZER"] != "thread":

    @pytest.mark.long
    def test_kv_read_beside_a_writer_on_an_lcore_of_its_own():
        counts, code = kv_read("500", "net_rnic1", vdevs=[f"net_rnic{i},wire=pair:cable" for i in range(2)],
                               eal=["--lcores=0@(0-1),1@(0-1)"])
        assert code == 0 and counts["wrong"] == 0 and counts["found"] + counts["missing"] == 500, counts

    @pytest.mark.long
    @pytest.mark.parametrize("turn", range(8))
    def test_kv_read_ends_on_an_interrupt_beside_a_writer(turn):
        """In whichever of its steps the writer is."""
        del turn
        process = examples.start(["kv_read", *(f"--vdev=net_rnic{i},wire=pair:cable" for i in range(2)), *EAL, "--lcores=0@(0-1),1@(0-1)", "--",
                                  "net_rnic0", "1000000000", "net_rnic1"])
        until(lambda: ticks(process.pid) > 30, "work")
        code, output = examples.finish(process, signal.SIGINT)
        assert code == 0, output


@pytest.mark.long
@pytest.mark.parametrize("name", ["rdma_srq", "kv_read", "rdma_pingpong"])
def test_it_ends_on_an_interrupt(name):
    process = examples.start([name, "--vdev=net_rnic0", *EAL, "--", "net_rnic0", "1000000000"])
    # It runs when it is at its work, which takes CPU time; EAL's start takes less.
    until(lambda: ticks(process.pid) > 30, "work")
    code, output = examples.finish(process, signal.SIGINT)
    assert code == 0, output


def test_they_compile_out_of_the_tree():
    """As somebody does who has copied one: with its Makefile, and nothing of ours but headers and the library."""
    build, source = os.environ["RDMAPMD_BUILD"], os.environ["RDMAPMD_SOURCE"]
    paths = [os.path.join(build, "meson-uninstalled"), os.environ.get("PKG_CONFIG_PATH", "")]
    environment = dict(os.environ, PKG_CONFIG_PATH=":".join(p for p in paths if p))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "rdmapmd"], env=environment, text=True,
                           capture_output=True, check=False)
    assert flags.returncode == 0, flags.stderr
    ours = [flag for flag in shlex.split(flags.stdout) if source in flag or build in flag]
    assert "-lrdmapmd" in flags.stdout and all(flag.endswith("lib/rdmapmd") for flag in ours), flags.stdout
    # Who links with a library that has a sanitizer needs the same one.
    link = "" if os.environ["RDMAPMD_SANITIZER"] == "none" else " -fsyntax-only"
    for name in examples.NAMES:
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(os.path.join(examples.FOLDER, name), os.path.join(folder, name))
            done = subprocess.run(["make", f"CFLAGS=-Wall -Wextra -Werror{link}"], cwd=copy, env=environment,
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def test_dumps_of_queue_entries():
    """Both halves', in rdma-core's layout, then in words: queue pairs of RC have no Ethernet segments."""
    dump = ["--log-level=pmd.net.rnic.dump:debug", "--log-level=softrnic.queue:debug"]
    code, output = run("rdma_pingpong", "net_rnic0", "1", eal=dump)
    assert code == 0, output
    wqe = (r"dump wqe at 0x[0-9a-f]+\n([0-9a-f]{8} ){3}[0-9a-f]{8}\n00000040 .*\n"
           r"  ctrl: SEND\(0x0a\) .* ds 2 .*\n  data: byte_count 0x40 lkey 0x[0-9a-f]+ address 0x[0-9a-f]+\n")
    for who, count in (("", 4), ("softrnic: .* executes WQE counter 0x0\n", 2)):
        assert len(re.findall(who + wqe, output)) == count, output
    assert len(re.findall(r"dump cqe for cqn 0x[0-9a-f]+:\n(([0-9a-f]{8} ?){4}\n){4}  ", output)) == 8, output
    assert " eth:" not in output, output
    code, output = run("rdma_write", "net_rnic0", "4096", eal=dump[:1])
    assert code == 0, output
    assert re.search(r"READ.*\n  raddr: address 0x[0-9a-f]+ rkey 0x[0-9a-f]+\n  data: byte_count 0x1000 ", output), output
    assert len(re.findall(r"\n  atomic: swap_add 0x2a compare 0x0\n  data: byte_count 0x8 ", output)) == 2, output


def test_examples_name_what_is_missing():
    for name in ("rdma_pingpong", "rdma_write", "rdma_events", "rdma_srq", "kv_read"):
        code, output = run(name, "net_rnic7")
        assert code == 1, output
        assert "No such device" in output, output
