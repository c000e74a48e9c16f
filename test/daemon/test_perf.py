# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-rdma-perf as two processes on devices of softrnicd: what they measure, and what each says when the other one is gone, is
another program or runs something else."""

import contextlib
import json
import re
import signal
import socket
import time
from xml.etree import ElementTree

import pytest

from daemon.softrnicd import PAIR, Softrnicd, least_ticks
from e2e.perf import PATIENT, Running, leave_nothing, run
from e2e.tcp_port import free_port

SWITCH = tuple(f"name={name},wire=switch:hub" for name in "ab")
FEW = ("-n", "20")
LONG = pytest.mark.long


@contextlib.contextmanager
def both(*args, client=(), server=(), devices=PAIR, devargs=("", ""), terminal=False, **how):
    """Two ends that have met: they run `args`, and each its own; devargs: of the server's port and the client's. The client's stderr may
    be a terminal; how: what command() knows."""
    port = ("-p", str(free_port()))
    with Softrnicd(devices) as daemon:
        vdevs = [vdev + more for vdev, more in zip(daemon.vdevs(), devargs)]
        with Running(*port, *PATIENT, *args, *server, vdevs=vdevs[:1], **how) as answers:
            answers.wait_for("Waiting for client")
            with Running(*port, *PATIENT, *args, *client, "localhost", vdevs=vdevs[1:], terminal=terminal, **how) as asks:
                yield answers, asks, daemon
        daemon.stop()


def ends(*args, **own):
    with both(*args, **own) as (answers, asks, _):
        client, server = asks.end(), answers.end()
    return client, server


def check(client, server, rows, kind="bw", answers=True):
    """Both have the rows, but for a server that does not answer: those of READs and atomics print no latency."""
    for done in (client, server):
        assert done.code == 0 and done.messages() == [], done
    assert client.rows(kind) == rows, client
    assert server.rows(kind) == (rows if answers else []), server


@pytest.mark.parametrize("op, size", [
    ("send", 5000),
    *(pytest.param(op, size, marks=LONG) for op, size in (("write", 100000), ("write_imm", 700), ("read", 9000), ("fetch_add", 8), ("cmp_swap", 8)))])
@pytest.mark.parametrize("mode", [pytest.param("bw", marks=LONG), "lat"])
def test_each_operation_between_two_processes(op, size, mode):
    client, server = ends("--op", op, f"--mode={mode}", "-s", str(size), *FEW)
    check(client, server, [(size, 20)], mode, answers=mode == "bw" or op in ("send", "write_imm", "write"))
    # Each tells the other what it is.
    local = re.search(r"^ local address: (.*)$", client.out, re.M)[1]
    assert f" remote address: {local}" in server.out, client.out + server.out


@LONG
@pytest.mark.parametrize("transport, op", [("RC", "send"), ("RC", "write"), ("RC", "read"), ("UC", "send"), ("UD", "send")])
@pytest.mark.parametrize("mode", ["bw", "lat"])
def test_transports_over_a_switch(transport, op, mode):
    client, server = ends("-c", transport, "--op", op, f"--mode={mode}", "-s", "1000", *FEW, devices=SWITCH)
    check(client, server, [(1000, 20)], mode, answers=mode == "bw" or op != "read")


@LONG
def test_both_ways_with_several_queue_pairs():
    client, server = ends("--op=write", "-b", "-q", "4", "-s", "3000", *FEW)
    check(client, server, [(3000, 80)])
    # The average and the messages a second are those of both ways together, at either end.
    rows = [re.search(r"^ 3000 .*$", done.out, re.M)[0].split()[-2:] for done in (client, server)]
    assert rows[0] == rows[1], rows


@LONG
def test_ends_that_wait_for_events_sleep():
    """Nothing arrives: one waits for an acknowledgement, the other one for a message. Who polls for them has a CPU's time."""
    with both("--op=send", "-s", "64", "-e", "-u", "22", devices=[f"{device},drop=1000000" for device in PAIR]) as (answers, asks, _):
        asks.wait_for("#bytes")
        for end in (asks, answers):
            assert least_ticks(end.process.pid, 5) <= 5
        asks.interrupt()
        assert asks.end(60).code == 130


@LONG
def test_all_sizes():
    client, server = ends("--op=read", "-a", "-n", "5")
    check(client, server, [(1 << power, 5) for power in range(1, 24)])


@LONG
def test_a_wrong_byte_is_told_to_both():
    client, server = ends("--op=write", "-s", "64", *FEW, client=("--damage=9",))
    assert (client.code, server.code) == (1, 1), f"{client}\n{server}"
    assert "is wrong at offset 9" in server.err and "has found wrong data at this end" in server.err, server
    assert "has found wrong data at the other end" in client.err, client


@pytest.mark.parametrize("dies", ["server", pytest.param("client", marks=LONG)])
@pytest.mark.parametrize("args", [
    ("--op=write", "-s", "64"),
    *(pytest.param(args, marks=LONG) for args in (
        ("--op=send", "-s", "64"), ("--op=fetch_add",), ("--op=read", "-s", "64", "--mode=lat"), ("--op=send", "-s", "64", "--mode=lat"),
        ("--op=write", "-s", "64", "--mode=lat"), ("--op=send", "-s", "64", "-c", "UD", "-b"), ("--op=write", "-s", "64", "-c", "UC")))],
    ids=" ".join)
def test_the_other_end_is_killed(args, dies):
    with both(*args, "-D", "600") as (answers, asks, _):
        asks.wait_for("#bytes")
        time.sleep(0.3)
        victim, survivor = (answers, asks) if dies == "server" else (asks, answers)
        victim.process.kill()
        start = time.monotonic()
        done = survivor.end(60)
        took = time.monotonic() - start
    assert done.code == 1 and len(done.messages()) == 1, done
    assert "gone" in done.err and took < 5, f"{took} s\n{done}"


@LONG
def test_the_device_s_other_half_is_killed():
    with both("--op=write", "-s", "64", "-D", "600") as (answers, asks, daemon):
        asks.wait_for("#bytes")
        time.sleep(0.3)
        daemon.kill()
        client, server = asks.end(60), answers.end(60)
        daemon.start()
    assert client.code == 1 and server.code == 1, f"{client}\n{server}"
    assert "has gone" in client.err and client.messages(), client


@pytest.mark.parametrize("mode", ["bw", pytest.param("lat", marks=LONG)])
def test_ctrl_c_prints_what_was_measured(mode, tmp_path):
    files = ("--out_json_file", f"{tmp_path}/out.json", "--plot", f"{tmp_path}/out.svg")
    with both("--op=send", f"--mode={mode}", "-s", "64", "-D", "600", client=files, terminal=True) as (answers, asks, _):
        asks.wait_until_it_measures()
        asks.interrupt()
        client, server = asks.end(60), answers.end(60)
    kind = "lat -D" if mode == "lat" else "bw"
    assert client.code == 130 and len(client.rows(kind)) == 1 and client.rows(kind)[0][1] > 0, client
    assert server.code == 1 and "the other end was interrupted" in server.err, server
    assert len(server.rows(kind)) == 1, server
    # The files have it, too.
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (report["results"]["MsgSize"], report["results"]["n_iterations"]) == client.rows(kind)[0], report
    assert ElementTree.parse(tmp_path / "out.svg").getroot().tag.endswith("svg")
    leave_nothing(asks, answers)


@LONG
def test_ctrl_c_among_the_sizes(tmp_path):
    """Those before are told whole."""
    with both("--op=send", "-a", "-n", "2000", client=("--out_json_file", f"{tmp_path}/out.json")) as (answers, asks, _):
        asks.wait_for("\n 8 ")
        asks.interrupt()
        client, server = asks.end(60), answers.end(60)
    rows = client.rows()
    assert client.code == 130 and 3 <= len(rows) < 23 and rows[:-1] == [(2 << i, 2000) for i in range(len(rows) - 1)], client
    assert rows[-1][0] == 1 << len(rows) and rows[-1][1] <= 2000, client
    assert server.code == 1 and "the other end was interrupted" in server.err and server.rows()[:len(rows) - 1] == rows[:-1], server
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [(result["MsgSize"], result["n_iterations"]) for result in report["results"]] == rows, report
    leave_nothing(asks, answers)


@LONG
def test_ctrl_c_with_several_lcores():
    with both("--op=send", "-s", "64", "-q", "2", "--lcores=2", "-D", "600", terminal=True, lcores="(0-1)@(0-1)") as (answers, asks, _):
        asks.wait_until_it_measures()
        asks.interrupt()
        client, server = asks.end(60), answers.end(60)
    assert client.code == 130 and len(client.rows()) == 1 and client.rows()[0][1] > 0, client
    assert server.code == 1 and "the other end was interrupted" in server.err and len(server.rows()) == 1, server
    leave_nothing(asks, answers)


@pytest.mark.parametrize("op", ["write", *(pytest.param(op, marks=LONG) for op in ("read", "fetch_add", "send"))])
def test_ctrl_c_at_the_server(op):
    """Who only waits for the other end shows what that one has measured so far, as at the end of any run."""
    with both(f"--op={op}", *(() if op == "fetch_add" else ("-s", "64")), "-D", "600", terminal=True) as (answers, asks, _):
        asks.wait_until_it_measures()
        answers.interrupt()
        client, server = asks.end(60), answers.end(60)
    assert server.code == 130 and client.code == 1 and "the other end was interrupted" in client.err, f"{client}\n{server}"
    assert len(client.rows()) == len(server.rows()) == 1 and client.rows()[0][1] > 0, f"{client}\n{server}"
    assert op == "send" or client.rows() == server.rows(), f"{client}\n{server}"
    leave_nothing(asks, answers)


@LONG
def test_sigterm_is_as_ctrl_c_and_a_second_one_kills():
    with both("--op=send", "-s", "64", "-D", "600", terminal=True) as (answers, asks, _):
        asks.wait_until_it_measures()
        asks.process.send_signal(signal.SIGTERM)
        client, server = asks.end(60), answers.end(60)
    assert client.code == 130 and len(client.rows()) == 1 and server.code == 1, f"{client}\n{server}"
    # Nothing is acknowledged: it takes its time to leave.
    with both("--op=send", "-s", "64", "-e", "-u", "22", devices=[f"{device},drop=1000000" for device in PAIR]) as (answers, asks, _):
        asks.wait_for("#bytes")
        asks.interrupt()
        time.sleep(0.1)
        asks.process.send_signal(signal.SIGINT)
        client, server = asks.end(60), answers.end(60)
    assert client.code == -signal.SIGINT and client.rows() == [] and server.code == 1, f"{client}\n{server}"


@LONG
def test_ctrl_c_before_there_is_a_client():
    with Running("-p", str(free_port())) as alone:
        alone.wait_for("Waiting for client")
        alone.interrupt()
        done = alone.end(60)
    assert done.code == 130 and done.messages() == [], done


def test_ends_that_run_something_else_name_it():
    client, server = ends("--op=write", *FEW, client=("-s", "64"), server=("-s", "128"))
    assert (client.code, server.code) == (1, 1), f"{client}\n{server}"
    assert 'the other end has "--size 128" and this one "--size 64": give both ends the same options' in client.err, client
    assert 'the other end has "--size 64" and this one "--size 128"' in server.err, server


@LONG
@pytest.mark.parametrize("option, values", [("--rx-depth", ("16", "100")), ("--post_list", ("10", "20"))])
def test_ends_whose_warm_ups_differ_name_it(option, values):
    """Both take from it how many messages there are before those that are measured."""
    client, server = ends("--op=send", "-s", "64", "-n", "100", client=(option, values[0]), server=(option, values[1]))
    assert (client.code, server.code) == (1, 1), f"{client}\n{server}"
    assert f'the other end has "{option} {values[1]}" and this one "{option} {values[0]}"' in client.err, client


class Stranger:
    """A client of a server of ours that sends what it likes."""

    def __init__(self, text):
        self.text = text

    def meet(self, *options):
        port = free_port()
        with Running("-p", str(port), *options) as server:
            server.wait_for("Waiting for client")
            with socket.create_connection(("localhost", port)) as stream:
                stream.sendall(self.text)
                return server.end(60)


@pytest.mark.parametrize("text, words", [
    (b"RDMAPERF 005 HELLO    00000002\nxx", "the other end speaks version 005, this one version 004"),
    pytest.param(b"0000:000011:4f2a1c:00000000000000000000ffff0a000001\0", "for ibv_*_pingpong give --exchange=pingpong", marks=LONG),
    pytest.param(b"RDMAPERF 004 NONSENSE 00000000\n", "the other end sends an unknown message", marks=LONG),
    pytest.param(b"RDMAPERF 004 HELLO    ffffffff\n", "the other end sends an invalid message", marks=LONG),
    pytest.param(b"RDMAPERF 004 BEGIN    00000000\n", "the other end sends BEGIN where HELLO is to come", marks=LONG),
], ids=["version", "pingpong", "type", "length", "order"])
def test_an_end_that_speaks_another_language(text, words):
    done = Stranger(text).meet()
    assert done.code == 1 and words in done.err, done


@LONG
@pytest.mark.parametrize("text", [b"", b"RDMAPERF 004 HE"], ids=["nothing", "half"])
def test_a_client_that_says_nothing_does_not_hold_the_server(text):
    start = time.monotonic()
    done = Stranger(text).meet()
    assert done.code == 1 and done.messages() == ["dpdk-test-rdma-perf: the other end does not answer"], done
    # EAL's start is in it.
    assert time.monotonic() - start < 10, done


@LONG
def test_an_end_whose_path_mtu_is_none():
    """All the rest that it says is what the server itself has said. Datagrams are as large as the path's MTU."""
    port = free_port()
    with Running("-p", str(port), "-c", "UD", "--op=send", "-a") as server:
        server.wait_for("Waiting for client")
        with socket.create_connection(("localhost", port)) as stream, stream.makefile("rwb") as words:
            for _ in range(2):
                head = words.readline()
                body = words.read(int(head.split()[3], 16)).replace(b" mtu 1024 ", b" mtu 0000 ")
                words.write(head + body)
                words.flush()
            done = server.end(60)
    assert done.code == 1 and "the other end sends invalid addresses" in done.err, done


@LONG
def test_a_server_that_speaks_another_version():
    with socket.create_server(("localhost", 0)) as listener:
        with Running("-p", str(listener.getsockname()[1]), "localhost") as client:
            stream, _ = listener.accept()
            with stream:
                stream.sendall(b"RDMAPERF 005 HELLO    00000002\nxx")
                start = time.monotonic()
                done = client.end(60)
    assert done.code == 1 and "the other end speaks version 005, this one version 004" in done.err, done
    assert time.monotonic() - start < 5, done


def test_a_port_that_is_taken_is_named():
    with socket.socket(socket.AF_INET6) as holder:
        port = free_port()
        holder.bind(("::", port))
        holder.listen(1)
        done = run("-p", str(port))
    assert done.code == 1 and f"TCP port {port} is taken" in done.err and "--port (-p)" in done.err, done
    assert done.took < 5, done.took


@LONG
def test_a_server_that_is_not_there():
    done = run("-p", str(free_port()), "localhost")
    assert done.code == 1 and "Connection refused (is the server started, with the same --port?)" in done.err, done
    assert done.took < 5, done.took
    done = run("no-such-host.invalid")
    assert done.code == 1 and "no-such-host.invalid: " in done.err, done


@LONG
@pytest.mark.parametrize("args, words", [
    (("-m", "300"), "Invalid MTU - 300; please choose mtu from {256,512,1024,2048,4096}; will run with the port active mtu - 1024"),
    (("-m", "4096"), "Requested mtu is higher than active mtu; changing to active mtu - 1024"),
    (("--op=read", "-o", "100000"), "Number of outstanding reads is above max = "),
    (("--op=read", "-o", "0"), ""),
    (("-s", "4k"), "--size=4k: taken for 4 bytes, as perftest does"),
], ids=" ".join)
def test_numbers_that_perftest_takes_run(args, words):
    done = run("--loopback", *PATIENT, *args, *FEW)
    assert done.code == 0 and words in done.err and (words or done.messages() == []), done
    assert done.rows() == [(4 if "-s" in args else 65536, 20)], done


@LONG
@pytest.mark.parametrize("args", [("-c", "UD"), ("-c", "UC"), ("-c", "UD", "-b")], ids=" ".join)
def test_nothing_comes_any_more(args):
    """Link and TCP are there: the other end is stopped, which looks as a cut behind the next switch does."""
    with both(*args, "--op=send", "-s", "64", "-D", "600") as (answers, asks, _):
        asks.wait_for("#bytes")
        time.sleep(0.5)
        asks.process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        server = answers.end(60)
        took = time.monotonic() - start
        asks.process.send_signal(signal.SIGCONT)
        client = asks.end(60)
    assert server.code == 1 and server.messages() == [
        "dpdk-test-rdma-perf: net_rnic0: nothing has come for 3 s: the way from the other end is cut, or it stands still"], server
    assert 2.5 < took < 5, took
    assert client.code == 1 and ("gone" in client.err or "nothing has come for 3 s" in client.err), client


@LONG
@pytest.mark.parametrize("args", [("-c", "UD"), ("-c", "UC"), ("-c", "UD", "-b", "-q", "2")], ids=" ".join)
def test_nothing_comes_at_all(args):
    """What is lost is counted, and all of it is a failure."""
    done = run("--loopback", "--op=send", *args, "-s", "64", *FEW, vdevs=("net_rnic0,drop=1000000",))
    assert done.code == 1 and "no message has come through" in done.err and re.search("(20|40) of (20|40) messages", done.err), done


@LONG
@pytest.mark.parametrize("args", [("-a",), ("-s", "64", "-q", "2")], ids=" ".join)
def test_receives_of_what_was_lost_are_not_left_for_the_next_size(args):
    """Those of an SRQ stay, whatever becomes of its queue pairs."""
    done = run("--loopback", "--op=send", "-c", "UD", "--use-srq", *args, "-r", "100", "-n", "2000", vdevs=("net_rnic0,drop=100000",))
    assert done.code == 0 and "messages were lost" in done.err, done
    assert {size for size, _ in done.rows("bw")} == ({1 << power for power in range(1, 11)} if "-a" in args else {64}), done


@LONG
@pytest.mark.parametrize("transport", ["UC", "UD"])
def test_no_answer_comes(transport):
    done = run("--loopback", "--op=send", "--mode=lat", "-c", transport, *FEW, vdevs=("net_rnic0,drop=1000000",))
    assert done.code == 1 and "net_rnic0: nothing has come for 3 s: a message was lost" in done.err, done


@LONG
@pytest.mark.parametrize("args", [("-c", "UD"), ("-c", "UC"), ("-c", "UD", "--mode=lat")], ids=" ".join)
def test_the_device_of_datagrams_is_killed(args):
    with both(*args, "--op=send", "-s", "64", "-D", "600") as (answers, asks, daemon):
        asks.wait_for("#bytes")
        time.sleep(0.3)
        daemon.kill()
        start = time.monotonic()
        client, server = asks.end(60), answers.end(60)
        took = time.monotonic() - start
        daemon.start()
    assert client.code == 1 and server.code == 1 and "gone" in client.err and "gone" in server.err, f"{client}\n{server}"
    assert took < 5, took


def test_a_byte_that_was_sent_wrong_is_found():
    """In the last one of many messages that a slot has had."""
    done = run("--loopback", *PATIENT, "--op=write", "-n", "100", "--damage=70")
    assert done.code == 1 and "message 99 of 65536 bytes is wrong at offset 70" in done.err, done


@LONG
@pytest.mark.parametrize("args, words", [
    (("--op=send", "-c", "UC", "-s", "3000"), "message 99 of 3000 bytes"), (("--op=send", "-c", "UD", "-s", "500"), "message 99 of 500 bytes"),
    (("--op=write", "-c", "UC", "-s", "40000"), "message 99 of 40000 bytes"), (("--op=write_imm", "-c", "UC"), "message 99 of 65536 bytes"),
    (("--op=read", "-s", "9000"), "message 99 of 9000 bytes"), (("--op=send", "-b", "-s", "3000"), "message 99 of 3000 bytes"),
    (("--op=write", "-q", "2", "-s", "3000"), "message 99 of 3000 bytes"), (("--op=send", "-l", "4", "-Q", "2", "-s", "100"), "message 99 of 100 bytes"),
    (("--op=send", "--use-srq", "-q", "3"), "of 65536 bytes"), (("--op=send", "--use-srq", "-q", "3", "-c", "UD", "-s", "500", "-r", "300"), "of 500 bytes"),
    (("--op=write", "-D", "1", "-s", "3000"), "of 3000 bytes"), (("--op=read", "-D", "1", "-b", "-s", "3000"), "of 3000 bytes"),
    (("--op=send", "--mode=lat", "-c", "UD", "-s", "100"), "message 0 of 100 bytes"), (("--op=write", "--mode=lat", "-s", "100"), "message 0 of 100 bytes"),
    (("--op=write", "-a"), "message 99 of 128 bytes"), (("--op=read", "--mode=lat", "-a"), "message 0 of 128 bytes"),
    (("--op=fetch_add",), "after 100 atomics the counter is 99"), (("--op=cmp_swap", "--mode=lat"), "atomic 1 has fetched 0"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_each_kind_of_message_that_was_sent_wrong_is_found(args, words):
    offset = 0 if "fetch_add" in args[0] or "cmp_swap" in args[0] else 70
    done = run("--loopback", *PATIENT, *args, *(() if "-D" in args else ("-n", "100")), f"--damage={offset}")
    assert done.code == 1 and "--verify has found wrong data at" in done.err, done
    assert f"{words} is wrong at offset 70" in done.err or offset == 0 and words in done.err, done
    # The sizes before it are right.
    assert [size for size, _ in done.rows("lat" if "--mode=lat" in args else "bw")][:6] == [2, 4, 8, 16, 32, 64] or "-a" not in args, done


@LONG
def test_damage_at_an_end_that_sends_nothing_is_told():
    client, server = ends("--op=write", "-s", "64", *FEW, server=("--damage=9",))
    assert client.code == 0 and client.messages() == [], client
    assert server.code == 1 and "--damage=9: no wrong byte was found: was it given to the end that sends, and has a message so many?" in server.err, server


@LONG
def test_writes_that_are_lost_are_no_wrong_data():
    """UC has no completion where they arrive."""
    done = run("--loopback", "--op=write", "-c", "UC", "-s", "30000", *FEW, vdevs=("net_rnic0,drop=1000000",))
    assert done.code == 1 and "2 of the last messages were lost" in done.err and "no message has come through" in done.err, done
    assert "wrong" not in done.err, done
