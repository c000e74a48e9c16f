# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf with both ends in one process: each operation, option and refusal; that --verify finds what is wrong."""

import itertools
import json
import os
import pty
import re
import subprocess
import tempfile
import time
from xml.etree import ElementTree

import pytest

from e2e.perf import PAIR, PROGRAM, command, loopback, run
from size import FULL

OPS = ("write", "write_imm", "send", "read", "fetch_add", "cmp_swap")
ATOMICS = ("fetch_add", "cmp_swap")
FEW = ("-n", "20")


def check(done, rows, kind="bw"):
    assert done.code == 0, done
    assert done.rows(kind) == rows, done
    assert done.messages() == [], done


def size_of(op, size):
    return () if op in ATOMICS else ("-s", str(size))


@pytest.mark.long
@pytest.mark.parametrize("op", OPS)
def test_bandwidth_of_each_operation(op):
    size = 8 if op in ATOMICS else 10000
    check(loopback("--op", op, *size_of(op, 10000), *FEW), [(size, 20)])


@pytest.mark.long
@pytest.mark.parametrize("op", OPS)
def test_latency_of_each_operation(op):
    size = 8 if op in ATOMICS else 3000
    check(loopback("--op", op, "--mode=lat", *size_of(op, 3000), *FEW), [(size, 20)], "lat")


@pytest.mark.long
def test_two_devices_and_a_cable():
    done = loopback("--loopback=net_rnic1", "--op=send", "-s", "5000", *FEW, vdevs=PAIR)
    check(done, [(5000, 20)])
    assert "Device         : net_rnic0" in done.out, done


@pytest.mark.parametrize("op, args", [
    ("send", ("--use-srq", "-r", "8")),
    *(pytest.param(op, args, marks=pytest.mark.long) for op, args in (("write", ()), ("read", ("-o", "2")), ("fetch_add", ()))),
])
def test_several_queue_pairs_both_ways(op, args):
    check(loopback("--op", op, "-q", "3", "-b", "-t", "7", "-Q", "3", *args, *size_of(op, 700), *FEW), [(8 if op in ATOMICS else 700, 60)])


@pytest.mark.long
@pytest.mark.parametrize("transport", ["UC", "UD"])
@pytest.mark.parametrize("mode", ["bw", "lat"])
def test_transports_that_acknowledge_nothing(transport, mode):
    check(loopback("-c", transport, "--op=send", f"--mode={mode}", "-s", "1000", *FEW), [(1000, 20)], mode)


def test_a_message_there_and_one_back():
    check(loopback("--mode=lat", "-s", "100", *FEW, vdevs=PAIR), [(100, 20)], "lat")


def test_a_wrong_byte_ends_the_run():
    done = loopback("--damage=1", *FEW)
    assert done.code == 1 and "is wrong at offset 1" in done.err, done


def test_lists_inline_and_events():
    check(loopback("--op=send", "-l", "4", "-I", "64", "-s", "64", "-e", *FEW), [(64, 20)])


@pytest.mark.long
@pytest.mark.parametrize("mode", ["bw", "lat"])
def test_all_sizes(mode):
    done = loopback("-a", f"--mode={mode}", "-n", "5")
    check(done, [(1 << power, 5) for power in range(1, 24)], mode)


@pytest.mark.long
def test_a_datagram_is_at_most_an_mtu():
    done = loopback("-a", "-c", "UD", "--op=send", "-n", "5")
    assert done.code == 0, done
    assert done.rows() == [(1 << power, 5) for power in range(1, 11)], done
    assert "Max msg size in UD is MTU 1024; changing to this MTU" in done.err, done


@pytest.mark.parametrize("size", ["5000", pytest.param("40000", marks=pytest.mark.long)])
def test_datagrams_that_were_to_be_longer_lie_in_their_memory(size):
    """More of those that are cut have room in a lap than of what was asked for."""
    done = loopback("-c", "UD", "--op=send", "-s", size, "-q", "3", "-n", "300")
    assert done.code == 0 and done.rows() == [(1024, 900)], done


@pytest.mark.long
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("mode", ["bw", "lat"])
def test_verify_finds_a_wrong_byte(op, mode):
    done = loopback("--op", op, f"--mode={mode}", "--damage=0", *FEW)
    assert done.code == 1, done
    assert "--verify has found wrong data at" in done.err, done
    wrong = {"fetch_add": "atomic", "cmp_swap": "atomic"}.get(op, "is wrong at offset 0")
    assert wrong in done.err, done


@pytest.mark.long
def test_what_was_not_asked_for_is_not_compared():
    check(loopback("--verify=off", "--mode=lat", *FEW), [(2, 20)], "lat")


def test_usage_is_checked_before_eal_starts():
    for args, words in ((("-c", "UD", "--op=read"), "UD connection only possible in SEND verb"), (("--use_cuda=0",), "--use_cuda is not supported")):
        done = run(*args)
        assert done.code == 2 and words in done.err and "EAL" not in done.err, done


def test_a_line_without_separator_is_refused():
    """Its letters would mean something else to EAL."""
    bare = subprocess.run([PROGRAM, "-s", "64", "-n", "5"], capture_output=True, text=True, timeout=60, check=False)
    assert bare.returncode == 2, bare.stderr
    assert 'there is no "--"' in bare.stderr and "EAL:" not in bare.stderr, bare.stderr
    bare = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert bare.returncode == 0 and bare.stdout.startswith("Usage: "), bare


BUSY = "the machine was busy: the thread that polls has had"


@pytest.mark.long
def test_the_run_says_when_the_machine_was_busy():
    """Both ends and the device are on one CPU; a thread that sleeps needs none."""
    alone = {"within": ("taskset", "-c", "0"), "lcores": "0@0"}
    done = loopback("-D", "1", "--op=send", "-s", "64", **alone)
    assert done.code == 0 and re.search(rf"{BUSY} \d+ % of its CPU", done.err), done
    done = loopback("-e", "--op=send", "-s", "64", "-n", "1000", **alone)
    assert done.code == 0 and BUSY not in done.err, done


@pytest.mark.long
def test_the_timeout_is_that_of_a_packet():
    """Nothing arrives. A packet is sent eight times, 4.096 us * 2^17 apart, before the queue pair gives up; a busy machine takes longer,
    and never less."""
    start = time.monotonic()
    done = run("--loopback", "-u", "17", *FEW, vdevs=("net_rnic0,drop=1000000",))
    took = time.monotonic() - start
    assert done.code == 1 and "transport retry counter exceeded" in done.err, done
    assert took > 7 * 4.096e-6 * 2 ** 17, took


@pytest.mark.long
def test_devices_that_are_not_there():
    # A port has 16 bits: the second is not the first one.
    for name in ("net_rnic9", "65536"):
        done = loopback("-d", name)
        assert done.code == 1 and f"{name}: no device and no port has this name" in done.err, done
        assert done.took < 5, done.took
    # The end that is there learns of it.
    done = loopback("--loopback=net_rnic9")
    assert done.code == 1 and "net_rnic9: no device and no port has this name" in done.err and "the other end has gone" in done.err, done
    done = loopback(vdevs=())
    assert done.code == 1 and "no device: give EAL one" in done.err, done


@pytest.mark.long
def test_a_port_s_number_names_its_device():
    done = loopback("-d", "1", "--loopback=0", *FEW, vdevs=PAIR)
    check(done, [(65536, 20)])
    assert "Device         : net_rnic1" in done.out, done


@pytest.mark.long
def test_lcores_have_queue_pairs_of_their_own():
    for more in ((), ("--use-srq",)):
        check(loopback("--lcores=2", "-q", "4", "--op=send", "-s", "300", *more, *FEW, lcores="(0-3)@(0-1)"), [(300, 80)])
    done = loopback("--lcores=2", "-q", "4", *FEW)
    assert done.code == 2 and "wants 4 lcores, and EAL has 1" in done.err, done


INFO = {"test", "Dual_port", "Device", "Number_of_qps", "Transport_type", "Connection_type", "Using_SRQ", "PCIe_relax_order",
        "ibv_wr_API", "TX_depth", "Mtu", "Link_type", "GID_index", "rdma_cm_QPs", "Data_ex_method"}


def written(name, *args, long=FEW):
    """A run that ended well, and what it has written into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        done = loopback(*args, f"{path}", *long)
        assert done.code == 0, done
        with open(path, encoding="utf-8") as file:
            return done, file.read()


def test_json_has_perftest_s_keys():
    done, text = written("out.json", "-s", "640", "--op=send", "-l", "2", "-e", "--out_json", "--out_json_file")
    report = json.loads(text)
    assert set(report["test_info"]) == INFO | {"Post_List", "CQ_Moderation", "Max_inline_data", "Test with events"}, text
    assert report["test_info"]["test"] == "Send_Post_List_BW_Test" and report["test_info"]["Device"] == "net_rnic0", text
    assert set(report["results"]) == {"MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate"}, text
    assert (report["results"]["MsgSize"], report["results"]["n_iterations"]) == (640, 20), text
    # The same numbers as in the table.
    assert f"{report['results']['BW_average']:.2f}" in done.out, f"{done}\n{text}"


@pytest.mark.long
@pytest.mark.parametrize("args, kind, rate, least", [
    (("--op=send", "-s", "64", "-r", "500"), "bw", lambda result: result["MsgRate"] * 1e6, 2.999),
    # What lies between two rounds is in neither.
    (("--op=read", "--mode=lat"), "lat -D", lambda result: result["tps_average"], 0),
], ids=["bw", "lat"])
def test_seconds_instead_of_iterations(args, kind, rate, least):
    """Never less, and on a busy machine not much more, by a clock outside; the same by what is measured, but for what numbers are
    rounded to."""
    start = time.monotonic()
    done, text = written("out.json", *args, "--out_json_file", long=("-D", "3"))
    took = time.monotonic() - start
    result = json.loads(text)["results"]
    assert done.rows(kind) == [(result["MsgSize"], result["n_iterations"])], f"{done}\n{text}"
    assert 3 <= took < 60 and least <= result["n_iterations"] / rate(result) <= took, f"{took} s\n{done}\n{text}"


@pytest.mark.long
@pytest.mark.parametrize("args, unit", [((), 2 ** 20), (("--report_gbits",), 1e9 / 8)], ids=["MB", "Gb"])
def test_the_unit_of_bandwidth(args, unit):
    _, text = written("out.json", *args, "--out_json_file")
    result = json.loads(text)["results"]
    assert result["BW_average"] == pytest.approx(result["MsgRate"] * 1e6 * result["MsgSize"] / unit, rel=1e-3), text


@pytest.mark.long
def test_json_of_latency_and_of_all_sizes():
    _, text = written("out.json", "--op=fetch_add", "--mode=lat", "--out_json_file")
    report = json.loads(text)
    assert set(report["test_info"]) == INFO | {"Outstand_reads"}, text
    assert set(report["results"]) == {"MsgSize", "n_iterations", "t_min", "t_max", "t_typical", "t_avg", "t_stdev", "percentile_99",
                                      "percentile_99.9"}, text
    _, text = written("out.json", "-a", "--out_json_file")
    assert [result["MsgSize"] for result in json.loads(text)["results"]] == [1 << power for power in range(1, 24)], text


@pytest.mark.long
@pytest.mark.parametrize("args, unit, curves", [
    (("-a",), "bandwidth [MB/s]", 2), (("-a", "--report_gbits"), "bandwidth [Gb/s]", 2),
    (("-s", "64", "-n", "20001"), "bandwidth [MB/s]", 1),
    (("--mode=lat",), "latency [\u00b5s]", 3), (("-a", "--mode=lat", "--op=read"), "latency [\u00b5s]", 3)])
def test_the_plot_is_svg_that_names_its_axes(args, unit, curves):
    done, text = written("out.svg", *args, "--plot", long=() if "-n" in args else FEW)
    name = "{http://www.w3.org/2000/svg}"
    picture = ElementTree.fromstring(text)
    assert picture.tag == f"{name}svg"
    words = [each.text for each in picture.iter(f"{name}text")]
    assert unit in words and "size of a message [bytes]" in words, words
    lines = list(picture.iter(f"{name}polyline"))
    assert len(lines) == curves, text
    # A point for each row, inside the picture.
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        assert len(points) == len(done.rows("lat" if "--mode=lat" in args else "bw")), text
        assert all(0 <= x <= float(picture.get("width")) and 0 <= y <= float(picture.get("height")) for x, y in points), points


@pytest.mark.long
def test_a_file_that_cannot_be_written_is_named():
    done = loopback("--plot=/nonexistent/a.svg", *FEW)
    assert done.code == 1 and "cannot write /nonexistent/a.svg: No such file or directory" in done.err, done


@pytest.mark.long
def test_a_table_that_cannot_be_written_is_said():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command("--loopback", *FEW), stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 1 and "cannot write the table: No space left on device" in done.stderr, done


@pytest.mark.long
@pytest.mark.parametrize("args", [("-c", "UC", "--op=write"), ("-c", "UC", "--op=send"), ("-c", "UD", "--op=send")])
def test_a_warm_up_of_which_nothing_comes_is_the_end(args):
    """Of UC's WRITEs nothing else would tell, until all of its time was over."""
    start = time.monotonic()
    done = loopback(*args, "-s", "64", "-D", "600", vdevs=("net_rnic0,drop=1000000",))
    took = time.monotonic() - start
    assert done.code == 1 and "no message has come through" in done.err and took < 60, f"{took} s\n{done}"


@pytest.mark.long
def test_progress_is_for_terminals():
    """On stderr, and taken away again."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command("--loopback", "-D", "2", "-s", "64"), stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        if not more:
            break
        shown += more
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0 and b" 64 bytes: " in shown, shown
    assert shown.rpartition(b" messages")[2].startswith(b"\r\033[K") and b" messages" not in out, shown
    done = loopback("-D", "1", "-s", "64")
    assert done.code == 0 and "messages" not in done.err, done


def combinations():
    """What perftest allows, by its rules: each is to run."""
    for op, mode, transport in itertools.product(OPS, ("bw", "lat"), ("RC", "UC", "UD")):
        if transport == "UD" and op != "send" or transport == "UC" and op in (*ATOMICS, "read"):
            continue
        for size, qps, inline, events, mtu in itertools.product((1, 64, 1024, 65537), (1, 2), (None, 64), (False, True), (None, 256)):
            # In lat there is no -q at all.
            if op in ATOMICS and size != 1 or op == "write" and events or mode == "lat" and qps > 1:
                continue
            if inline is not None and op in (*ATOMICS, "read"):
                continue
            args = ["--op", op, f"--mode={mode}", "-c", transport, *(["-q", str(qps)] if mode == "bw" else []), *size_of(op, size), *(["-I", str(inline)] if inline else []),
                    *(["-e"] if events else []), *(["-m", str(mtu)] if mtu else [])]
            iters = 10 * qps
            yield args, mode, 8 if op in ATOMICS else min(size, mtu or 1024) if transport == "UD" else size, iters


def some_of(every):
    """With --full all of them; else each eleventh, and the first one of each --op, --mode and -c that is not among these."""
    tried = every if FULL else every[::11]
    kinds = {(args[1], args[2], args[4]) for args, *_ in tried}
    for case in every:
        kind = case[0][1], case[0][2], case[0][4]
        if kind not in kinds:
            kinds.add(kind)
            tried.append(case)
    return tried


@pytest.mark.long
@pytest.mark.tells
def test_every_combination_that_perftest_allows_runs():
    """A process each, one after the other."""
    every = list(combinations())
    tried = some_of(every)
    assert len(every) == 648
    for args, mode, size, iters in tried:
        done = loopback(*args, "-n", "10")
        assert done.code == 0, f"{args}\n{done}"
        assert done.rows(mode) == [(size, iters)], f"{args}\n{done}"
    print(f"{combinations.__name__}() in {os.path.basename(__file__)}: {len(tried)} of {len(every)} have run")


def reasons(op, mode, transport, size, qps, inline, events):
    """perftest's words for what it does not allow of it."""
    fetches = op in (*ATOMICS, "read")
    return [words for words, wrong in (
        ("UD connection only possible in SEND verb", transport == "UD" and op != "send"),
        ("UC connection not possible in READ/ATOMIC verbs", transport == "UC" and fetches),
        ("Message size cannot be changed for Atomic tests", op in ATOMICS and size != 8),
        ("Inline feature not available on READ/Atomic verbs", fetches and inline is not None),
        ("Events feature not available on WRITE verb", op == "write" and events),
        ("Multiple QPs only available on bw tests", mode == "lat" and qps is not None)) if wrong]


def refusals():
    """All other combinations of these options, each with what may be said of it."""
    for op, mode, transport in itertools.product(OPS, ("bw", "lat"), ("RC", "UC", "UD")):
        for size, qps, inline, events, mtu in itertools.product((1, 8, 1024, 65537), (1, 2), (None, 64), (False, True), (None, 256)):
            qps = qps if mode == "bw" or qps > 1 else None
            words = reasons(op, mode, transport, size, qps, inline, events)
            args = ["--op", op, f"--mode={mode}", "-c", transport, *(["-q", str(qps)] if qps else []), "-s", str(size), *(["-I", str(inline)] if inline else []),
                    *(["-e"] if events else []), *(["-m", str(mtu)] if mtu else [])]
            if words:
                yield args, words


@pytest.mark.long
@pytest.mark.tells
def test_every_combination_that_perftest_refuses_is_refused():
    """Before EAL starts, as bad usage, in perftest's words."""
    every = list(refusals())
    tried = some_of(every)
    assert len(every) > 1000
    for args, words in tried:
        done = loopback(*args)
        assert done.code == 2 and done.out == "" and len(done.messages()) == 1, f"{args}\n{done}"
        assert any(each in done.err for each in words), f"{args}: {words}\n{done}"
    print(f"{refusals.__name__}() in {os.path.basename(__file__)}: {len(tried)} of {len(every)} have been refused")
