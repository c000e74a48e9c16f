# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's stock tools on our ports: dpdk-dumpcap, dpdk-proc-info, dpdk-telemetry.py."""

import os
import re
import subprocess
import time

import pytest
from scapy.all import IP, UDP, Ether, PcapWriter, Raw, rdpcap, wrpcap

from e2e.testpmd import PATIENCE, Testpmd, check_exact, environment, forward, pair, plugin, send_some, take_in, telemetry, tool

ROOT = os.geteuid() == 0
BUILD = os.environ["RDMAPMD_BUILD"]


def need_shared_memory():
    """EAL has secondary processes with hugepage files alone, which are root's here."""
    if not ROOT:
        pytest.skip("needs hugepage files, which are root's here")


# testpmd waits for links when a port stops, too, although none will come.
NO_LINK_CHECK = "--disable-link-check"


def primary(vdevs=None, args=(), **more):
    need_shared_memory()
    return Testpmd(pair() if vdevs is None else vdevs, eal=["-m", "256"], args=[NO_LINK_CHECK, *args], **more)


# ---- dpdk-proc-info ----

def proc_info(testpmd, *args):
    command = [tool("dpdk-proc-info"), "-d", plugin(), "--no-pci", "--no-telemetry", f"--file-prefix={testpmd.prefix}", "--",
               *args]
    done = subprocess.run(command, env=environment(testpmd), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def by_port(text, title):
    """What stands behind each port's title: {port: text}."""
    parts = re.split(rf"{title}\s*(\d+).*\n", text)
    return {int(port): part for port, part in zip(parts[1::2], parts[2::2])}


def test_proc_info_has_the_counters_of_the_primary():
    with primary() as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        check_exact(stats)
        for port, text in by_port(proc_info(testpmd, "-p", "3", "--stats"), "NIC statistics for port").items():
            seen = {key: int(value) for key, value in re.findall(r"([RT]X-\w+):\s+(\d+)", text.partition("Stats reg")[0])}
            assert seen.items() <= stats[port].items() and len(seen) >= 7, text
        # The primary process is none the worse for it.
        testpmd.do("set fwd io")
        check_exact(forward(testpmd))
        testpmd.quit()
        assert not testpmd.complaints()


def test_proc_info_has_the_extended_counters_of_the_primary():
    with primary() as testpmd:
        testpmd.prompt()
        forward(testpmd)
        said = testpmd.do("show port xstats all")
        wanted = by_port(said, "NIC extended statistics for port")
        seen = by_port(proc_info(testpmd, "-p", "3", "--xstats"), "NIC extended statistics for port")
        for port in (0, 1):
            counters = dict(re.findall(r"(?m)^(\w+): (\d+)$", wanted[port]))
            assert dict(re.findall(r"(?m)^(\w+): (\d+)$", seen[port])) == counters
            # Of ethdev, of the queues, of the device.
            assert {"rx_good_packets", "rx_q0_packets", "tx_q0_bytes", "rx_write_requests"} <= counters.keys()
        testpmd.quit()


def test_proc_info_has_what_the_device_dropped():
    """While the primary process itself does not ask the device."""
    def missed():
        seen = by_port(proc_info(testpmd, "-p", "3", "--xstats"), "NIC extended statistics for port")
        return [int(re.search(r"rx_missed_errors: (\d+)", seen[port])[1]) for port in (0, 1)]

    with primary(args=["--forward-mode=txonly"]) as testpmd:
        testpmd.prompt()
        testpmd.do("start")
        testpmd.wait(lambda: min(missed()) > 0, "frames that are dropped")
        testpmd.do("stop")
        take_in(testpmd)
        stats = testpmd.stats()
        assert missed() == [stats[port]["RX-missed"] for port in (0, 1)]
        testpmd.quit()


@pytest.mark.parametrize("option", ["--stats-reset", "--xstats-reset"])
def test_proc_info_resets_statistics(option):
    with primary() as testpmd:
        testpmd.prompt()
        before = forward(testpmd)
        proc_info(testpmd, "-p", "1", option)
        after = testpmd.stats()
        assert after[0]["RX-packets"] == after[0]["TX-bytes"] == 0
        assert after[1] == before[1]
        testpmd.do("set fwd io")
        proc_info(testpmd, "-p", "3", option)
        check_exact(forward(testpmd))
        testpmd.quit()


def test_proc_info_shows_ports_and_memory():
    with primary() as testpmd:
        testpmd.prompt()
        for port in (0, 1):
            testpmd.wait_link(port, "up")
        text = proc_info(testpmd, "--show-port")
        ports = by_port(text, "===== Port")
        for port in (0, 1):
            assert f"driver net_rnic device net_rnic{port}" in ports[port]
            assert "Link up at 100 Gbps FDX" in ports[port] and "mtu (1500)" in ports[port]
            assert re.search(r"rx queue\n\s+-- 0 descriptors 512 .*mempool mb_pool_0", ports[port])
            assert re.search(r"tx queue\n\s+-- 0 descriptors 512", ports[port])
        text = proc_info(testpmd, "-m")
        assert "MEMORY_SEGMENTS" in text and "name:<MP_mb_pool_0>" in text
        check_exact(forward(testpmd))
        testpmd.quit()


def test_proc_info_shows_the_ports_that_are_left():
    with primary() as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        testpmd.do("port stop 1")
        testpmd.do("port close 1")
        assert f"RX-packets: {stats[0]['RX-packets']}" in proc_info(testpmd, "-p", "1", "--stats")
        assert "device net_rnic1" not in proc_info(testpmd, "--show-port")
        testpmd.quit()


# ---- A secondary process that stays ----

class Secondary:
    """test/e2e/secondary.c."""

    def __init__(self, testpmd):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "test", "e2e", "e2e_secondary"), "-d", plugin(), "--proc-type=secondary", "--no-pci",
             "--no-telemetry", f"--file-prefix={testpmd.prefix}"],
            env=environment(testpmd), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self.read("ready")[1] == "2"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def read(self, first):
        """The words of the line that starts so; EAL says other things as well."""
        while True:
            line = self.process.stdout.readline()
            assert line, f"the secondary process ended: {self.process.wait()}"
            if line.split()[:1] == [first]:
                return line.split()

    def ask(self, call, port):
        """Return code, and what is named on the line."""
        self.process.stdin.write(f"{call} {port}\n")
        self.process.stdin.flush()
        words = self.read(call)
        return int(words[1]) if call != "control" else None, words


def test_a_secondary_process_reads_while_ports_stop_and_start():
    with primary() as testpmd:
        testpmd.prompt()
        with Secondary(testpmd) as secondary:
            for _ in range(3):
                stats = forward(testpmd)
                for port in (0, 1):
                    rc, words = secondary.ask("stats", port)
                    assert rc == 0 and int(words[3]) == stats[port]["RX-packets"] and int(words[5]) == stats[port]["TX-packets"]
                testpmd.do("port stop all")
                assert secondary.ask("info", 0)[0] == secondary.ask("stats", 1)[0] == 0
                testpmd.do("port config all rxd 256")
                testpmd.do("port start all")
                assert secondary.ask("info", 0)[1][6:10] == ["rxq", "0", "nb_desc", "256"]
                testpmd.do("set fwd io")
        testpmd.quit()
        assert not testpmd.complaints()


def test_a_secondary_process_changes_nothing_but_statistics():
    with primary() as testpmd:
        testpmd.prompt()
        with Secondary(testpmd) as secondary:
            words = secondary.ask("control", 0)[1][1:]
            codes = dict(zip(words[::2], map(int, words[1::2])))
            assert codes.pop("received") == 0
            assert len(codes) == 9 and all(code != 0 for code in codes.values()), codes
        info = testpmd.do("show port info 0")
        assert "Promiscuous mode: enabled" in info and "MTU: 1500" in info
        testpmd.wait_link(0, "up")
        check_exact(forward(testpmd))
        testpmd.quit()


def test_a_secondary_process_sees_how_packets_are_spread():
    with primary(args=["--rxq=2", "--txq=2", "--rss-udp"]) as testpmd:
        testpmd.prompt()
        testpmd.do("port config 0 rss reta (0,1),(1,1),(2,0)")
        with Secondary(testpmd) as secondary:
            code, words = secondary.ask("rss", 0)
            assert code == 0
            said = testpmd.do("show port 0 rss-hash key")
            assert f"RSS key:\n{words[3]}" in said.replace("\r", "") and words[3] != "00" * 40
            assert int(words[5], 16) != 0
            assert words[6:8] == ["reta", "0"] and words[8:12] == ["1", "1", "0", "1"]
        testpmd.quit()


def test_a_secondary_process_reads_registers():
    with primary() as testpmd:
        testpmd.prompt()
        with Secondary(testpmd) as secondary:
            code, words = secondary.ask("regs", 0)
            assert code == 0 and int(words[3]) > 100 and words[5] == "4" and words[7] == "0"
            # The firmware's revision, minor and major.
            assert int(words[9], 16) != 0
        testpmd.quit()


def test_a_port_that_the_primary_closes_is_gone_for_the_secondary():
    with primary() as testpmd:
        testpmd.prompt()
        with Secondary(testpmd) as secondary:
            assert secondary.ask("stats", 1)[0] == 0
            testpmd.do("port stop 1")
            testpmd.do("port close 1")
            for call in ("stats", "xstats", "reset", "xreset", "info"):
                assert secondary.ask(call, 1)[0] < 0
            assert secondary.ask("info", 1)[1][-2:] == ["removed", "1"]
            assert secondary.ask("stats", 0)[0] == 0
        testpmd.quit()


def test_a_secondary_process_survives_the_primary():
    with primary() as testpmd:
        testpmd.prompt()
        with Secondary(testpmd) as secondary:
            assert secondary.ask("stats", 0)[0] == 0
            testpmd.process.kill()
            testpmd.process.wait()
            for call in ("stats", "xstats", "reset", "xreset", "info"):
                assert secondary.ask(call, 0)[0] < 0
            # A line that is no call: it ends.
            secondary.process.communicate("end\n", timeout=PATIENCE)
            assert secondary.process.returncode == 0


def test_the_primary_survives_secondary_processes_that_are_killed():
    with primary() as testpmd:
        testpmd.prompt()
        for delay in (0, 0.001, 0.01):
            with Secondary(testpmd) as secondary:
                for _ in range(200):
                    secondary.process.stdin.write("stats 0\nxstats 1\ninfo 0\n")
                secondary.process.stdin.flush()
                time.sleep(delay)
                secondary.process.kill()
        check_exact(forward(testpmd))
        assert re.search(r"RX-packets:\s+[1-9]", proc_info(testpmd, "-p", "1", "--stats"))
        testpmd.quit()


# ---- dpdk-dumpcap ----

class Dumpcap:
    """
    It takes no -d: the plugin is loaded as if it were installed. Pools are known to other processes by numbers, which each
    process gives in the order in which it loads the drivers of pools; dpdk-testpmd is linked with some, so they come first here.
    """

    def __init__(self, testpmd, *args):
        linked = subprocess.run(["ldd", tool("dpdk-testpmd")], text=True, capture_output=True, check=True).stdout
        pools = re.findall(r"=> (\S*/librte_mempool_\w+\.so\S*)", linked)
        self.said = ""
        self.process = subprocess.Popen([tool("dpdk-dumpcap"), f"--file-prefix={testpmd.prefix}", *args],
                                        env=environment(testpmd, *pools, plugin()), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def wait(self):
        """Until it captures."""
        while "Packets captured" not in self.said:
            data = os.read(self.process.stdout.fileno(), 4096)
            assert data, f"ended before: {self.said}"
            self.said += data.decode(errors="replace")

    def end(self):
        self.said += self.process.communicate(timeout=PATIENCE)[0].decode(errors="replace")
        return self.process.returncode


def mixed_frames(count):
    """No two alike, lengths from 60 to 1,514 bytes."""
    return [Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2", id=i) /
            UDP(sport=1000 + i, dport=9) / Raw(bytes((i + j) & 0xff for j in range(18 + i * 37 % 1455)))
            for i in range(count)]


@pytest.mark.parametrize("device", ["net_rnic0", "net_rnic1"])
def test_dumpcap_captures_every_frame_as_it_was_sent(device, tmp_path):
    """From a file through one port into the other: what leaves the first, or reaches the second."""
    frames = mixed_frames(300)
    given, nothing = tmp_path / "given.pcap", tmp_path / "nothing.pcap"
    wrpcap(str(given), frames)
    with PcapWriter(str(nothing), linktype=1) as empty:
        empty.write_header(None)
    vdevs = [f"net_pcap0,rx_pcap={given},tx_pcap={tmp_path}/back.pcap", *pair(),
             f"net_pcap1,rx_pcap={nothing},tx_pcap={tmp_path}/taken.pcap"]
    # Else testpmd drops what it finds before it starts, the file for one.
    with primary(vdevs, args=["--no-flush-rx"]) as testpmd:
        testpmd.prompt()
        with Dumpcap(testpmd, "-i", device, "-c", str(len(frames)), "-w", str(tmp_path / "seen.pcapng")) as capture:
            capture.wait()
            testpmd.do("start")
            assert capture.end() == 0, capture.said
        testpmd.do("stop")
        testpmd.quit()
    assert [bytes(frame) for frame in rdpcap(str(tmp_path / "seen.pcapng"))] == [bytes(frame) for frame in frames]


def test_dumpcap_lists_our_ports():
    with primary() as testpmd:
        testpmd.prompt()
        with Dumpcap(testpmd, "-D") as capture:
            assert capture.end() == 0 and "0. net_rnic0" in capture.said and "1. net_rnic1" in capture.said, capture.said
        testpmd.quit()


def test_ports_go_on_without_a_dumpcap_that_was_killed(tmp_path):
    with primary() as testpmd:
        testpmd.prompt()
        with Dumpcap(testpmd, "-i", "net_rnic0", "-w", str(tmp_path / "seen.pcapng")) as capture:
            capture.wait()
            testpmd.do("start tx_first 1")
            send_some(testpmd)
            capture.process.kill()
            capture.process.wait()
        send_some(testpmd)
        testpmd.do("stop")
        check_exact(forward(testpmd))
        testpmd.quit()


def test_dumpcap_ends_with_the_primary(tmp_path):
    with primary() as testpmd:
        testpmd.prompt()
        with Dumpcap(testpmd, "-i", "net_rnic1", "-w", str(tmp_path / "seen.pcapng")) as capture:
            capture.wait()
            testpmd.process.kill()
            testpmd.process.wait()
            assert capture.end() == 0 and "Primary process is no longer active" in capture.said, capture.said


# ---- dpdk-telemetry.py ----

def test_telemetry_has_what_testpmd_shows():
    with Testpmd(pair(), telemetry=True, args=[NO_LINK_CHECK]) as testpmd:
        testpmd.prompt()
        stats = forward(testpmd)
        ports, basic, extended, info, link = telemetry(testpmd, "/ethdev/list", "/ethdev/stats,1", "/ethdev/xstats,1",
                                                       "/ethdev/info,1", "/ethdev/link_status,1")
        assert ports == [0, 1]
        assert basic["ipackets"] == stats[1]["RX-packets"] and basic["obytes"] == stats[1]["TX-bytes"]
        assert basic["q_ipackets"][0] == stats[1]["RX-packets"] and basic["imissed"] == 0
        assert extended["rx_good_packets"] == stats[1]["RX-packets"] and extended["tx_q0_bytes"] == stats[1]["TX-bytes"]
        assert extended["rx_write_requests"] == 0
        assert info["name"] == "net_rnic1" and info["nb_rx_queues"] == 1 and info["mtu"] == 1500 and info["dev_started"] == 1
        assert link == {"status": "UP", "speed": 100000, "duplex": "full-duplex"}
        testpmd.quit()


def test_telemetry_has_our_own_commands():
    with Testpmd(pair(options=",ip=10.1.2.3"), telemetry=True, args=[NO_LINK_CHECK]) as testpmd:
        testpmd.prompt()
        testpmd.do("port stop 1")
        names, info, gids, counters, doorbells, unknown = telemetry(
            testpmd, "/rnic/list", "/rnic/info,net_rnic0", "/rnic/gids,net_rnic0", "/rnic/counters,net_rnic0",
            "/rnic/doorbells,net_rnic0", "/rnic/info,net_rnic7")
        assert names == ["net_rnic0", "net_rnic1"]
        assert info["name"] == "net_rnic0" and info["rdma"] == "yes"
        shown = re.search(r"MAC address: (\S+)", testpmd.do("show port info 0"))[1]
        assert info["mac"].lower() == shown.lower()
        assert gids["0"].startswith("fe80::") and "10.1.2.3" in gids.values()
        assert set(counters.values()) == {0} and "out_of_sequence" in counters
        # A Tx queue of the port has the first register.
        assert doorbells["low_latency"] == 1
        assert unknown is None
        testpmd.quit()


def test_telemetry_brings_no_link_up():
    """Of a port that was switched off: the other end of the wire would see it."""
    looks = ["/rnic/list", *(f"/rnic/{what},net_rnic0" for what in ("info", "gids", "counters", "softrnic", "doorbells"))]
    with Testpmd(pair(), telemetry=True, args=[NO_LINK_CHECK]) as testpmd:
        testpmd.prompt()
        testpmd.wait_link(1, "up")
        testpmd.do("set link-down port 0")
        testpmd.wait_link(1, "down")
        assert telemetry(testpmd, *looks)[1]["state"] == "DOWN"
        assert telemetry(testpmd, *looks)[1]["state"] == "DOWN"
        assert "Link status: down" in testpmd.do("show port info 1")
        testpmd.do("set link-up port 0")
        testpmd.wait_link(1, "up")
        testpmd.quit()


def test_telemetry_of_a_port_that_is_closed():
    with Testpmd(pair(), telemetry=True, args=[NO_LINK_CHECK]) as testpmd:
        testpmd.prompt()
        testpmd.do("port stop 1")
        testpmd.do("port close 1")
        assert telemetry(testpmd, "/ethdev/list", "/ethdev/stats,1", "/rnic/list", "/rnic/counters,net_rnic1") == \
            [[0], None, ["net_rnic0"], None]
        testpmd.do("port attach net_rnic2,wire=loop")
        assert telemetry(testpmd, "/rnic/list") == [["net_rnic0", "net_rnic2"]]
        testpmd.quit()
