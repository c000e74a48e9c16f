# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd over two ports of the embedded device."""

import os
import re
import shutil
import subprocess

import pytest

from daemon.softrnicd import until
from e2e.testpmd import NO_HUGE, PATIENCE, ROUNDS, Testpmd, check_exact, forward, pair, plugin, two_cpus

ROOT = os.geteuid() == 0
SANITIZER = os.environ.get("RDMAPMD_SANITIZER", "none")


def test_io_forwarding_counts_agree():
    with Testpmd(pair()) as testpmd:
        testpmd.prompt()
        testpmd.do("clear port stats all")
        check_exact(forward(testpmd, least=3 * ROUNDS))
        testpmd.quit()
        assert not testpmd.complaints()


@pytest.mark.parametrize("vdev,mode,served", [("net_rnic0,wire=loop", 1, True), ("net_rnic0,wire=loop", 2, False),
                                             ("net_rnic0,wire=null", 1, False)])
def test_a_loopback_mode_is_what_the_wire_is(vdev, mode, served):
    with Testpmd([vdev]) as testpmd:
        testpmd.prompt()
        testpmd.stop_ports(0)
        testpmd.do(f"port config 0 loopback {mode}")
        started = testpmd.do("port start 0")
        assert ("Fail to configure port 0" not in started) == served, started
        assert any("loopback mode" in line for line in testpmd.complaints()) != served
        testpmd.quit()


@pytest.mark.long
def test_pmd_perf_autotest():
    """
    DPDK's own measurement of a port. Its figure says nothing here: another thread is the device. By default it is over when two
    seconds' worth of the link's frames have come, however long that takes, and frames that were lost are waited for.
    """
    if SANITIZER != "none":
        pytest.skip("minutes")
    command = ["dpdk-test", "-l", two_cpus(), *NO_HUGE, "--no-pci", "--no-telemetry", "--file-prefix=rnic-pmd-perf", "-d", plugin(),
               "--vdev=net_rnic0,wire=loop"]
    script = "set_rxtx_sc poll_after_xmit\npmd_perf_autotest\nquit\n"
    done = subprocess.run(command, input=script, text=True, capture_output=True, timeout=PATIENCE, check=False)
    assert "Test OK" in done.stdout and "\n0 packets lost" in done.stdout and re.search(r"Result: \d+ cycles per packet", done.stdout), done.stdout + done.stderr


def test_one_direction_alone():
    """What is sent into the one is gone; out of the other comes as much as there are buffers."""
    with Testpmd(["net_rnic0,wire=null", "net_rnic1,wire=source:64"]) as testpmd:
        testpmd.prompt()
        testpmd.do("set fwd txonly")
        testpmd.do("start")
        until(lambda: testpmd.stats()[0]["TX-packets"] > ROUNDS, "packets sent")
        testpmd.do("stop")
        testpmd.do("set fwd rxonly")
        testpmd.do("start")
        until(lambda: testpmd.stats()[1]["RX-packets"] > ROUNDS, "packets received")
        testpmd.do("stop")
        stats = testpmd.stats()
        assert stats[0]["RX-packets"] == 0 and stats[0]["TX-errors"] == 0
        assert stats[1]["RX-missed"] == 0 and stats[1]["RX-errors"] == 0
        assert stats[1]["RX-bytes"] == 64 * stats[1]["RX-packets"]
        testpmd.quit()
        assert not testpmd.complaints()


@pytest.mark.parametrize("mode", ["mac", "macswap", "5tswap", "csum"])
def test_forwarding_modes_that_touch_packets(mode):
    with Testpmd(pair(), args=[f"--forward-mode={mode}"]) as testpmd:
        testpmd.prompt()
        check_exact(forward(testpmd))
        testpmd.quit()


@pytest.mark.parametrize("sizes", ["64", "1514", "64,128,256", "100,1,1,1,1,1,1,50"])
def test_packets_of_several_segments(sizes):
    with Testpmd(pair()) as testpmd:
        testpmd.prompt()
        testpmd.do(f"set txpkts {sizes}")
        stats = forward(testpmd)
        check_exact(stats)
        length = sum(map(int, sizes.split(",")))
        assert stats[0]["TX-bytes"] == length * stats[0]["TX-packets"]
        testpmd.quit()


def test_large_frames_over_several_mbufs():
    with Testpmd(pair(), args=["--max-pkt-len=9018", "--enable-scatter"]) as testpmd:
        testpmd.prompt()
        testpmd.do("set txpkts 2000,2000,2000,2000,1000")
        # 64 receive WQEs of 8 segments each: one burst, or some would be missed.
        check_exact(forward(testpmd, bursts=1, least=20_000), 20_000)
        assert "on" in re.findall(r"RX scattered packets: (\w+)", testpmd.do("show rxq info 0 0"))
        testpmd.quit()


@pytest.mark.parametrize("rings", [("64", "64"), ("100", "1000"), ("4096", "129")])
def test_ring_sizes(rings):
    with Testpmd(pair(), args=[f"--rxd={rings[0]}", f"--txd={rings[1]}"],
                 mbufs=16384) as testpmd:
        testpmd.prompt()
        check_exact(forward(testpmd, bursts=1))
        testpmd.quit()


@pytest.mark.parametrize("options, why", (("", None), (",cqe_comp=0", None), (",cqe_comp=1", None),
                                          (",cqe_comp=1", "tells when frames come")))
def test_compressed_completions_that_cannot_be_are_said(options, why):
    with Testpmd(pair(options=options), args=["--enable-rx-timestamp"] if why else []) as testpmd:
        testpmd.prompt()
        check_exact(forward(testpmd))
        mode = testpmd.do("show rxq info 0 0")
        assert ("compressed completions" in mode) == (why is None and options != ",cqe_comp=0")
        testpmd.quit()
        said = [line for line in testpmd.complaints() if "cqe_comp=1" in line]
        assert bool(said) == bool(why) and all(why in line for line in said)


def test_one_port_whose_frames_come_back():
    with Testpmd(["net_rnic0,wire=loop"], args=["--port-topology=loop"]) as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        assert stats[0]["TX-packets"] > 1000
        assert stats[0]["TX-packets"] == stats[0]["RX-packets"]
        testpmd.quit()


def test_a_sender_without_a_receiver_loses_and_counts():
    """Frames that nobody takes out of the ring are missed, to the last one."""
    with Testpmd(pair(), args=["--forward-mode=txonly"]) as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        for here, there in ((0, 1), (1, 0)):
            assert stats[here]["TX-packets"] > 1000
            assert stats[here]["TX-packets"] == \
                stats[there]["RX-packets"] + stats[there]["RX-missed"]
            assert stats[there]["RX-missed"] > 0
        testpmd.quit()


def test_ports_stop_and_start_again():
    with Testpmd(pair()) as testpmd:
        testpmd.prompt()
        for _ in range(3):
            check_exact(forward(testpmd))
            testpmd.stop_ports()
            testpmd.do("port start all")
            testpmd.do("set fwd io")
        testpmd.quit()
        assert not testpmd.complaints()


def test_link_goes_down_with_the_peer():
    with Testpmd(pair()) as testpmd:
        testpmd.prompt()
        testpmd.wait_link(1, "up")
        # A port that stops leaves its link to the peer.
        testpmd.stop_ports(0)
        assert "Link status: up" in testpmd.do("show port info 1")
        testpmd.do("set link-down port 0")
        testpmd.wait_link(1, "down")
        testpmd.do("port start 0")
        testpmd.wait_link(1, "up")
        testpmd.quit()


def test_port_info():
    with Testpmd(pair()) as testpmd:
        testpmd.prompt()
        info = testpmd.do("show port info 0")
        assert "Driver name: net_rnic" in info
        assert re.search(r"Firmware-version: \S+", info)
        assert "MTU: 1500" in info
        testpmd.quit()


@pytest.mark.parametrize("devargs,word", [("colour=blue", "colour"), ("wire=nowhere", "nowhere"),
                                          ("wire=loop,wire=loop", "twice")])
def test_bad_devargs_are_named_with_the_valid_ones(devargs, word):
    with Testpmd([f"net_rnic0,{devargs}"]) as testpmd:
        testpmd.prompt()
        said = " ".join(testpmd.complaints())
        assert word in said
        for key in ("wire", "drop", "dup", "reorder", "corrupt", "seed", "poll", "bf", "mac"):
            assert key in said.split("valid")[1]
        testpmd.quit()


def test_physical_addresses_are_refused_with_the_remedy():
    if not ROOT:
        pytest.skip("only root can have physical addresses")
    with Testpmd(pair()[:1], eal=["-m", "256", "--iova-mode=pa"]) as testpmd:
        testpmd.prompt()
        assert "--iova-mode=va" in " ".join(testpmd.complaints())
        testpmd.quit()


def test_physical_addresses_are_refused_at_hotplug():
    if not ROOT:
        pytest.skip("only root can have physical addresses")
    with Testpmd([], eal=["-m", "256", "--iova-mode=pa"]) as testpmd:
        testpmd.prompt()
        assert "--iova-mode=va" in testpmd.do("port attach net_rnic0,wire=loop")
        testpmd.quit()


def test_attach_and_detach():
    with Testpmd([]) as testpmd:
        testpmd.prompt()
        for _ in range(3):
            assert "is attached" in testpmd.do("port attach net_rnic0,wire=loop")
            testpmd.do("port start 0")
            testpmd.wait_link(0, "up")
            testpmd.stop_ports(0)
            testpmd.do("port close 0")
            testpmd.do("device detach net_rnic0")
        testpmd.quit()
        assert not testpmd.complaints()


# A command as Linux's mlx5_core logged it on a ConnectX-4 Lx: what our dumps are to be laid out like.
RECORDED = """\
[  +0.074963] mlx5_core 0000:02:00.0: 0000:02:00.0:dump_command:587:(pid 87): dump command MLX5_CMD_OP_ENABLE_HCA(0x104) INPUT
[  +0.000004] 000: 07000000 00000010 00000000 00000000
[  +0.000001] 010: 01040000 00000000 00000000 00000000
[  +0.000002] 020: 00000000 00000000 00000000 00000000
[  +0.000001] 030: 00000000 00000000 00000010 01fd0001

"""
ROW = r"[0-9a-f]{3,4}:(?: [0-9a-f]{8}){4}\n"
TITLE = r"dump command %s([A-Z0-9_]+)\((0x[0-9a-f]+)\) (INPUT|OUTPUT)\n"
# The entry, then mailbox blocks, an empty line behind each; the device dumps what it has gathered from them.
DRIVERS = re.compile(TITLE % "" + rf"((?:{ROW}){{4}}\n)((?:command block:\n(?:{ROW}){{36}}\n)*)")
DEVICES = re.compile(TITLE % "data " + rf"((?:{ROW})+)")
NAME = {"net_rnic: net_rnic0:\n": DRIVERS, "softrnic: net_rnic0:\n": DEVICES}
WQE_ROWS = r"((?:[0-9a-f]{8}(?: [0-9a-f]{8}){3}\n)+)"


def row_bytes(text):
    """Bytes of rows whose offsets must go on from one to the next."""
    rows = [line.split(":") for line in text.split("\n") if re.match(r"[0-9a-f]+: ", line)]
    assert [int(at, 16) for at, _ in rows] == [int(rows[0][0], 16) + 16 * i for i in range(len(rows))]
    return bytes.fromhex("".join(data.replace(" ", "") for _, data in rows))


def dumped_commands(text):
    """Line by line, nothing left out: (half, opcode, direction, bytes of input or output)."""
    while text:
        name = text[:text.index("\n") + 1]
        assert name in NAME, f"not a line of a dump: {name}"
        text = text[len(name):]
        dump = NAME[name].match(text)
        assert dump, f"not laid out as it should be: {text[:400]}"
        text = text[dump.end():]
        if NAME[name] is DEVICES:
            yield "device", dump[2], dump[3], row_bytes(dump[4])
            continue
        whole = row_bytes(dump[4] + dump[5])
        # Input and output inline in the entry, the rest in the first 512 bytes of each block.
        entry, blocks = whole[:64], whole[64:]
        assert entry[0] == 7 and entry[63] & 1 == (dump[3] == "INPUT")
        at = 16 if dump[3] == "INPUT" else 32
        length = int.from_bytes(entry[4:8] if dump[3] == "INPUT" else entry[56:60], "big")
        data = entry[at:at + 16] + b"".join(blocks[i:i + 512] for i in range(0, len(blocks), 576))
        yield "driver", dump[2], dump[3], data[:length]


def device_threads(pid):
    """The CPUs that each device thread of a process may run on."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as name:
            if name.read().strip() == "softrnic":
                yield os.sched_getaffinity(int(task))


def test_a_device_thread_without_a_cpu_of_its_own_may_use_any_lcores():
    """Else it would be the main lcore's, and an application that polls there would wait for it."""
    all_cpus = os.sched_getaffinity(0)
    lcores = {int(cpu) for cpu in two_cpus().split(",")}
    os.sched_setaffinity(0, lcores)
    try:
        with Testpmd(["net_rnic0"]) as testpmd:
            testpmd.prompt()
            assert list(device_threads(testpmd.process.pid)) == [lcores]
            testpmd.quit()
    finally:
        os.sched_setaffinity(0, all_cpus)


def test_ports_whose_devices_have_a_thread_each():
    first = int(two_cpus().split(",")[0])
    with Testpmd([f"{vdev},poll={poll}" for vdev, poll in zip(pair(), ("thread", first))]) as testpmd:
        testpmd.prompt()
        threads = list(device_threads(testpmd.process.pid))
        assert len(threads) == 2 and {first} in threads
        check_exact(forward(testpmd))
        testpmd.quit()
        assert not testpmd.complaints()


def test_dumps_of_commands_are_laid_out_as_mlx5_core_does():
    """Both halves' dumps of one bring-up, up to the first event queue: then threads may print at once."""
    recorded = re.sub(r"(?m)^\[ *\+\d+\.\d+\] (mlx5_core \S+ \S+:dump_command:\d+:\(pid \d+\): )?",
                      "", RECORDED)
    model = DRIVERS.fullmatch(recorded)
    assert model
    with Testpmd(["net_rnic0,wire=loop"],
                 eal=[*NO_HUGE, "--log-level=pmd.net.rnic.dump:debug",
                      "--log-level=softrnic.cmd:debug"]) as testpmd:
        testpmd.prompt()
        text = testpmd.text()
        testpmd.quit()
    start = text.index("net_rnic: net_rnic0:\ndump command ENABLE_HCA")
    end = text.index("net_rnic: net_rnic0:\ndump command CREATE_EQ")
    # Up to token and signature, what was recorded.
    first = DRIVERS.search(text, start)
    assert first.group(2, 3) == model.group(2, 3)
    assert row_bytes(first[4])[:60] == row_bytes(model[4])[:60]
    seen = {"driver": [], "device": []}
    for half, *command in dumped_commands(text[start:end]):
        seen[half].append(command)
    assert len(seen["driver"]) > 30
    assert {direction for _, direction, _ in seen["driver"]} == {"INPUT", "OUTPUT"}
    # The same commands with the same bytes, as far as the driver wants to know the output.
    assert seen["driver"] == seen["device"]


def dumps(text):
    """The device's of a WQE, the driver's of the same; the driver's of a CQE, the device's of one."""
    return [re.search(pattern, text, re.M) for pattern in (
        r"softrnic: net_rnic0: SQ 0x[0-9a-f]+ executes WQE counter 0x0\n"
        r"dump wqe at 0x0\n" + WQE_ROWS + r"  ctrl: .*\(0x29\).* index 0x0 .*\n"
        r"  eth: .*\n(?:  data: byte_count 0x40 lkey 0x[0-9a-f]+ address 0x[0-9a-f]+\n)+",
        r"dump wqe at 0x[0-9a-f]+\n" + WQE_ROWS + r"  ctrl: .*\(0x29\).*\n",
        r"^dump cqe for cqn 0x[0-9a-f]+:$",
        r"^softrnic: net_rnic0: CQ 0x[0-9a-f]+, entry of index 0x[0-9a-f]+$")]


def test_dumps_of_queue_entries():
    # One port alone: nobody else prints while a WQE is dumped.
    with Testpmd(["net_rnic0,wire=loop"],
                 eal=[*NO_HUGE, "--log-level=pmd.net.rnic.dump:debug",
                      "--log-level=softrnic.queue:debug"],
                 args=["--forward-mode=rxonly"]) as testpmd:
        testpmd.prompt()
        testpmd.do("start tx_first 1")
        testpmd.wait(lambda: all(dumps(testpmd.text())), "dumps")
        testpmd.do("stop")
        device, driver, *_ = dumps(testpmd.text())
        assert "dumping" in testpmd.do("show txq info 0 0")
        testpmd.quit()
    assert driver.start() < device.start()
    assert driver[1] == device[1]


def test_a_secondary_process_reads_the_counters():
    """dpdk-proc-info attaches to the ports of a running testpmd."""
    tool = shutil.which("dpdk-proc-info")
    assert tool, "dpdk-proc-info is part of the package dpdk"
    if not ROOT:
        pytest.skip("needs hugepage files, which are root's here")
    # EAL's usual address lies in AddressSanitizer's shadow; both processes need the same one.
    base = ["--base-virtaddr=0x200000000000"] if SANITIZER == "address" else []
    with Testpmd(pair(), eal=["-m", "256", *base]) as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        env = dict(os.environ, RUNTIME_DIRECTORY=testpmd.runtime)
        if os.environ.get("RDMAPMD_PRELOAD"):
            env["LD_PRELOAD"] = os.environ["RDMAPMD_PRELOAD"]
        seen = subprocess.run([tool, "-d", plugin(), "--no-pci", "--no-telemetry",
                               *base, f"--file-prefix={testpmd.prefix}", "--", "-p", "0x3", "--stats"],
                              env=env, text=True, capture_output=True, timeout=PATIENCE, check=False)
        print(seen.stdout, seen.stderr)
        for port in (0, 1):
            assert re.search(rf"RX-packets:\s+{stats[port]['RX-packets']}\b", seen.stdout)
            assert re.search(rf"TX-packets:\s+{stats[port]['TX-packets']}\b", seen.stdout)
        # The primary process is none the worse for it.
        testpmd.do("set fwd io")
        check_exact(forward(testpmd))
        testpmd.quit()
