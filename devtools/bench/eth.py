#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packet rates of stock dpdk-testpmd over net_rnic and over its peers, in turn. Run it by eth.sh."""

import argparse
import ctypes
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from report import (Progress, Report, Table, add_output_options, cpu_flags, need_plot,
                    publish)

START_TIMEOUT = 60
LINK_TIMEOUT = 15
COMMAND_TIMEOUT = 10
MBUFS = 16384
RING = 1024
PEERS = ("memif_zc", "memif_copy", "memif_single", "virtio_split", "virtio_split_vec",
         "virtio_packed")
QUIET = 0.05  # share of the machine that others may use during a window


class Failed(Exception):
    """A row could not be measured; the text says why."""


def prepare_child(cpu=None):
    """In the child: no process of ours outlives us, however we end; all its threads on one CPU."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


class Child:
    """A process of a row: what it says, what it costs."""

    def __init__(self, command, log, cpu=None):
        self.log = log
        self.name = os.path.basename(command[0])
        self.text = ""
        self.more = threading.Condition()
        self.child = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=lambda: prepare_child(cpu))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        fd = self.child.stdout.fileno()
        with open(self.log, "wb") as log:
            while data := os.read(fd, 65536):
                log.write(data)
                with self.more:
                    self.text += data.decode(errors="replace")
                    self.more.notify_all()
        with self.more:
            self.more.notify_all()

    def tail(self):
        """What it said went wrong, or its last words."""
        lines = [x.strip() for x in self.text.splitlines() if x.strip()]
        bad = [x for x in lines if re.search(r"error(?!s:)|cannot|fail|refus|invalid", x, re.I)]
        return " | ".join(bad[:3] or lines[-3:])

    def wait(self, pattern, seconds, what, start=0):
        """Until it has said so, after position start of its output."""
        deadline = time.monotonic() + seconds
        with self.more:
            while not (m := re.search(pattern, self.text[start:], re.S)):
                left = deadline - time.monotonic()
                if left <= 0 or not self.reader.is_alive():
                    raise Failed(f"{what}: {self.tail()}")
                self.more.wait(min(left, 0.2))
            return m

    def jiffies(self):
        """Its processor time, all threads."""
        try:
            with open(f"/proc/{self.child.pid}/stat", encoding="utf-8") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])

    def join(self):
        """It was told to end; end it when it does not."""
        try:
            self.child.wait(COMMAND_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def check_end(self):
        """Whether it lived until it was told to end, and ended as it should."""
        if self.child.returncode != 0:
            raise Failed(f"{self.name} ended with {self.child.returncode}: {self.tail()}")


class Softrnicd(Child):
    """One softrnicd with its sockets in a folder of its own."""

    def __init__(self, program, folder, devices, cpu):
        command = [program, "--dir", os.path.join(folder, "softrnicd")]
        for device in devices:
            command += ["--device", device]
        super().__init__(command, os.path.join(folder, "softrnicd.log"), cpu)
        self.devices = len(devices)

    def wait_ready(self):
        """A line for each device."""
        self.wait(r"(?m)(^ready [^\n]*\n.*?){%d}" % self.devices, START_TIMEOUT,
                  "softrnicd did not start")

    def quit(self):
        """By the signal that it is made to end by."""
        self.child.stdin.close()
        self.child.terminate()
        self.join()


class Testpmd(Child):
    """One interactive dpdk-testpmd, with a file prefix of its own."""

    count = 0

    def __init__(self, folder, cpus, vdevs, size, plugin=None, eal=()):
        Testpmd.count += 1
        self.prefix = f"rdmapmd-bench-{os.getpid()}-{Testpmd.count}"
        self.ports = len(vdevs)
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", f"0@{cpus[0]},1@{cpus[1]}",
                   "--in-memory", "--no-pci", "--no-telemetry", "--iova-mode=va",
                   f"--file-prefix={self.prefix}", *eal]
        if plugin:
            command += ["-d", plugin]
        command += [f"--vdev={v}" for v in vdevs]
        command += ["--", "-i", "--nb-cores=1", "--forward-mode=io", f"--txpkts={size}",
                    f"--total-num-mbufs={MBUFS}", f"--txd={RING}", f"--rxd={RING}",
                    "--no-lsc-interrupt"]
        if len(vdevs) == 1:
            command += ["--port-topology=loop"]
        super().__init__(command, os.path.join(folder, self.prefix + ".log"))
        self.name = "testpmd"

    def say(self, line):
        """Type a command; returns where its answer starts."""
        start = len(self.text)
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError as e:
            raise Failed(f"testpmd is gone: {self.tail()}") from e
        return start

    def wait_ready(self):
        """Its prompt, all its ports, and their links."""
        self.wait("testpmd> ", START_TIMEOUT, "testpmd did not start")
        deadline = time.monotonic() + LINK_TIMEOUT
        while True:
            start = self.say("show port summary all")
            m = self.wait(r"Number of available ports: (\d+)(.*?)testpmd> ", COMMAND_TIMEOUT,
                          "no port summary", start)
            if int(m.group(1)) != self.ports:
                raise Failed(f"{m.group(1)} ports, not {self.ports}: {self.tail()}")
            if len(re.findall(r"^\d+ .* up ", m.group(2), re.M)) == self.ports:
                return
            if time.monotonic() > deadline:
                raise Failed("a port's link stays down")
            time.sleep(0.1)

    def stats(self):
        """Of each port: packets and bytes received so far, rate since the last call, errors."""
        start = self.say("show port stats all")
        self.wait(r"(Tx-pps:[^\n]*\n.*?){%d}testpmd> " % self.ports, COMMAND_TIMEOUT,
                  "no port statistics", start)
        text = self.text[start:]

        def every(name):
            return [int(x) for x in re.findall(re.escape(name) + r":\s+(\d+)", text)]

        return {"packets": sum(every("RX-packets")), "bytes": sum(every("RX-bytes")),
                "rate": sum(every("Rx-pps")),
                "errors": sum(every("RX-errors") + every("TX-errors") + every("RX-missed"))}

    def stop(self):
        """Stop forwarding; returns how many packets it dropped."""
        start = self.say("stop")
        m = self.wait(r"Accumulated forward statistics.*?RX-dropped: (\d+).*?TX-dropped: (\d+)",
                      COMMAND_TIMEOUT, "testpmd did not stop", start)
        return int(m.group(1)) + int(m.group(2))

    def quit(self):
        """By its own command. Leaves nothing behind."""
        try:
            self.child.stdin.write(b"quit\n")
            self.child.stdin.close()
        except OSError:
            pass
        self.join()
        for base in ("/var/run/dpdk", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/tmp"), "dpdk")):
            shutil.rmtree(os.path.join(base, self.prefix), ignore_errors=True)


class Row:
    """One thing to measure: which processes, and what must be said beside its figure."""

    def __init__(self, key, name, topology, copies, processes, eal=()):
        self.key = key
        self.name = name
        self.topology = topology
        self.copies = copies
        self.processes = processes  # a list of vdevs each; SIZE and DIR stand for the run's
        self.eal = eal
        self.plugin = None
        self.devices = ()  # of a softrnicd, which then runs on the first CPU
        self.must_say = None  # a pattern in what testpmd prints, or the row is not what it says
        self.rates = {}  # size -> Mpps of each repetition
        self.why = {}  # size -> why it failed


PAIR = "one process: one lcore + device thread"
DAEMON = "two processes: testpmd with one lcore, softrnicd with one thread"
TWO = "two processes, one lcore each"
ALONE = "one process, one lcore does both sides"


def our_rows(args):
    """The device in the same process, and in one of its own."""
    pin = f",poll={args.device_cpu}" if args.device_cpu is not None else ""
    copies = "device copies each frame once"
    embedded = Row("rnic", "net_rnic embedded", PAIR, copies,
                   [[f"net_rnic0,wire=pair:bench{pin}", f"net_rnic1,wire=pair:bench{pin}"]])
    daemon = Row("softrnicd", "net_rnic over softrnicd", DAEMON, copies,
                 [["net_rnic0,socket=DIR/softrnicd/a.sock",
                   "net_rnic1,socket=DIR/softrnicd/b.sock"]], ("--single-file-segments",))
    daemon.devices = ("name=a,wire=pair:bench", "name=b,wire=pair:bench")
    embedded.plugin = daemon.plugin = args.plugin
    return [embedded, daemon]


def memif_rows():
    """Two drivers with a ring between them."""
    memif = "id=0,socket=DIR/memif.sock,rsize=10,bsize=2048"
    return [
        Row("memif_zc", "net_memif zero-copy", TWO, "server copies in and out, client does not",
            [[f"net_memif0,role=server,{memif}"],
             [f"net_memif0,role=client,zero-copy=yes,{memif}"]], ("--single-file-segments",)),
        Row("memif_copy", "net_memif copy", TWO, "each frame twice a hop: in and out",
            [[f"net_memif0,role=server,{memif}"], [f"net_memif0,role=client,{memif}"]]),
        Row("memif_single", "net_memif copy", ALONE, "each frame twice: in and out",
            [[f"net_memif0,role=server,{memif}", f"net_memif1,role=client,{memif}"]]),
    ]


def virtio_rows():
    """net_vhost in the first process does the device's work, net_virtio_user in the second."""
    copies = "vhost copies in and out, virtio_user does not"
    host = ["net_vhost0,iface=DIR/vhost.sock,queues=1"]
    guest = f"net_virtio_user0,path=DIR/vhost.sock,queues=1,queue_size={RING}"
    eal = ("--single-file-segments",)
    log = "--log-level=pmd.net.virtio.init:info"
    split = Row("virtio_split", "net_vhost, net_virtio_user split", TWO, copies,
                [host, [guest]], eal)
    vector = Row("virtio_split_vec", "net_vhost, net_virtio_user split vectorized", TWO, copies,
                 [host, [f"{guest},mrg_rxbuf=0,in_order=0,vectorized=1"]], (*eal, log))
    vector.must_say = "using vectorized Rx path"
    packed = Row("virtio_packed", "net_vhost, net_virtio_user packed", TWO, copies,
                 [host, [f"{guest},packed_vq=1,mrg_rxbuf=0,in_order=1"]], eal)
    if "avx512f" in cpu_flags():
        # Its vector functions want AVX-512, which EAL does not give by itself.
        packed.name += " vectorized"
        packed.processes[1] = [packed.processes[1][0] + ",vectorized=1"]
        packed.eal += ("--force-max-simd-bitwidth=512", log)
        packed.must_say = "using packed ring vectorized Rx path"
    return [split, vector, packed]


def floor_rows():
    """No peers: what testpmd itself costs."""
    return [
        Row("null_copy", "floor: net_null copy=1", ALONE,
            "from and to one dummy frame; nothing arrives anywhere",
            [["net_null0,size=SIZE,copy=1", "net_null1,size=SIZE,copy=1"]]),
        Row("ring", "floor: net_ring", ALONE, "nothing: hands over pointers",
            [["net_ring0", "net_ring1"]]),
    ]


def all_rows(args):
    """Ours first; then peers, then floors."""
    ours = [r for r in our_rows(args) if args.plugin and (args.softrnicd or not r.devices)]
    return ours + memif_rows() + virtio_rows() + floor_rows()


def cpu_times():
    """Busy, stolen and all jiffies of the machine."""
    with open("/proc/stat", encoding="utf-8") as f:
        t = [int(x) for x in f.readline().split()[1:9]]
    return sum(t) - t[3] - t[4], t[7], sum(t)


class Bench:
    """One run."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.rows = [r for r in all_rows(args) if not args.rows or r.key in args.rows]
        self.sizes = args.sizes
        self.others = 0.0  # greatest share of the machine that was not ours, of figures kept
        self.dropped = []
        self.took = 0.0  # seconds, all of it
        self.total = args.repeat * len(self.sizes) * len(self.rows)
        self.again = self.total // 2  # measurements that may be made again, so that a run ends

    def start_all(self, row, size, folder, running):
        """Put the row's processes into the list and wait until they are ready."""
        cpus = self.args.cpus
        if row.devices:
            cpu = self.args.device_cpu if self.args.device_cpu is not None else cpus[0]
            running.append(Softrnicd(self.args.softrnicd, folder, row.devices, cpu))
            running[-1].wait_ready()
        for i, vdevs in enumerate(row.processes):
            vdevs = [v.replace("SIZE", str(size)).replace("DIR", folder) for v in vdevs]
            # Alone: the forwarding lcore on the second CPU, everything else on the first.
            pair = cpus if len(row.processes) == 1 else (cpus[i], cpus[i])
            running.append(Testpmd(folder, pair, vdevs, size, row.plugin, row.eal))
            running[-1].wait("testpmd> ", START_TIMEOUT, "testpmd did not start")
        for p in running:
            p.wait_ready()
        if row.must_say and not any(re.search(row.must_say, p.text) for p in running):
            raise Failed(f"testpmd does not say \"{row.must_say}\": {running[-1].tail()}")

    def window(self, running, testpmds):
        """Statistics before and after the seconds asked for, and the others' share meanwhile."""
        before = [t.stats() for t in testpmds]
        cpu = cpu_times()
        ours = sum(p.jiffies() for p in running)
        time.sleep(self.args.seconds)
        after = [t.stats() for t in testpmds]
        cpu = [b - a for a, b in zip(cpu, cpu_times())]
        ours = sum(p.jiffies() for p in running) - ours
        return before, after, max(0.0, (cpu[0] - ours) / max(1, cpu[2]))

    def measure(self, row, size):
        """One repetition: the rate in Mpps, and the others' share."""
        running = []
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            try:
                self.start_all(row, size, folder, running)
                testpmds = [p for p in running if isinstance(p, Testpmd)]
                for t in testpmds:
                    start = t.say(f"start tx_first {self.args.bursts}")
                    t.wait("io packet forwarding", COMMAND_TIMEOUT, "no forwarding", start)
                time.sleep(0.3)
                before, after, others = self.window(running, testpmds)
                dropped = sum(t.stop() for t in testpmds)
            except Failed as e:
                gone = [p.name for p in running if p.child.poll() is not None]
                if gone:
                    raise Failed(f"{', '.join(gone)} ended by itself; {e}") from e
                raise
            finally:
                for p in reversed(running):
                    p.quit()
        for p in running:
            p.check_end()
        for a, b in zip(before, after):
            packets, octets = b["packets"] - a["packets"], b["bytes"] - a["bytes"]
            if packets <= 0 or b["rate"] <= 0:
                raise Failed("no packets move")
            # net_ring and net_null count no bytes.
            if octets and abs(octets / packets - size) > 0.5:
                raise Failed(f"frames of {octets / packets:.1f} bytes, not {size}")
            if b["errors"] > a["errors"]:
                raise Failed(f"{b['errors'] - a['errors']} errors or missed packets")
        if dropped:
            self.dropped.append(f"{row.name}, {size} bytes: {dropped} packets dropped by testpmd")
        return statistics.mean(b["rate"] for b in after) / 1e6, others

    def measure_quietly(self, row, size):
        """Again when others disturbed it; the least disturbed one counts, fast or slow."""
        best = self.measure(row, size)
        for _ in range(self.args.patience):
            if best[1] <= QUIET or self.again == 0:
                break
            self.again -= 1
            best = min(best, self.measure(row, size), key=lambda x: x[1])
        self.others = max(self.others, best[1])
        return best[0]

    def run(self, progress):
        """All of it, row by row within each repetition."""
        done = 0
        began = time.monotonic()
        for _ in range(self.args.repeat):
            for size in self.sizes:
                for row in self.rows:
                    done += 1
                    progress.say(f"{done}/{self.total} {row.name}, {row.topology}, {size} bytes")
                    if size in row.why:
                        continue
                    try:
                        row.rates.setdefault(size, []).append(self.measure_quietly(row, size))
                    except Failed as e:
                        row.why[size] = str(e)
                        progress.clear()
                        print(f"eth: {row.name} ({row.topology}), {size} bytes: {e}",
                              file=sys.stderr)
        self.took = time.monotonic() - began
        progress.clear()


def median(row, size):
    """In Mpps; None where the row has no figure."""
    if row is None or size in row.why or not row.rates.get(size):
        return None
    return statistics.median(row.rates[size])


def add_ratios(report, rows, size):
    """Ours by each peer's, then our two by each other: of the medians, and of each repetition."""
    def add(name, ours, peer):
        a, b = rows.get(ours), rows.get(peer)
        if a is not None and b is not None:
            report.ratio(name, median(a, size), median(b, size),
                         zip(a.rates.get(size, []), b.rates.get(size, [])))

    for name, ours in ((f"eth{size}", "rnic"), (f"eth{size}_softrnicd", "softrnicd")):
        for peer in PEERS:
            add(f"{name}_vs_{peer}", ours, peer)
    add(f"eth{size}_softrnicd_vs_embedded", "softrnicd", "rnic")


def make_report(bench, what):
    """Tables, ratios, notes."""
    args = bench.args
    report = Report(args.root, what)
    by_key = {r.key: r for r in bench.rows}
    for size in bench.sizes:
        table = Table(f"{size}-byte frames, median of {args.repeat} x {args.seconds:g} s",
                      ["what", "Mpps", "min .. max", "Gb/s", "topology", "copies"])
        for row in bench.rows:
            m = median(row, size)
            if m is None:
                cells = ["failed", "-", "-"]
            else:
                r = row.rates[size]
                gbps = f"{m * size * 8 / 1000:.1f}" if row.key != "ring" else "-"
                cells = [f"{m:.2f}", f"{min(r):.2f} .. {max(r):.2f}", gbps]
            table.rows.append([row.name, *cells, row.topology, row.copies])
        report.tables.append(table)
        add_ratios(report, by_key, size)
    in_flight = args.bursts * 32 * 2
    report.notes += [
        "counted: packets that one forwarding lcore receives a second (testpmd's Rx-pps; both ports"
        " of a single process added, the mean of the two processes). Each of them is received once"
        " and sent again once by that lcore; the other core is the device, or the other testpmd,"
        " which receives and sends the same packets once more and is not added.",
        f"io forwarding, bursts of 32, rings of {RING}, {in_flight} packets in flight in every row,"
        " frames without FCS",
        f"CPUs {args.cpus[0]} (device thread, softrnicd, first of two testpmd) and {args.cpus[1]}"
        " (forwarding lcore, second testpmd)"
        + (f"; device thread and softrnicd on CPU {args.device_cpu}"
           if args.device_cpu is not None else ""),
        f"took {bench.took / 60:.1f} minutes",
        f"others used up to {100 * bench.others:.0f}% of the machine during a window"
        + (": too much, these figures mean nothing" if bench.others > QUIET else ""),
    ] + bench.dropped
    report.data = {"bench": "eth", "seconds": args.seconds, "repeat": args.repeat,
                   "others": round(bench.others, 3), "rows": [
        {"key": r.key, "name": r.name, "topology": r.topology, "copies": r.copies,
         "mpps": {str(s): v for s, v in r.rates.items()}, "failed": r.why} for r in bench.rows]}
    return report


def draw(pyplot, bench, path):
    """A bar for each row, sizes side by side."""
    figure, axes = pyplot.subplots(1, len(bench.sizes), squeeze=False,
                                   figsize=(6 * len(bench.sizes), 3.5))
    for ax, size in zip(axes[0], bench.sizes):
        rows = [r for r in bench.rows if not r.name.startswith("floor") and median(r, size)]
        ax.barh([f"{r.name}\n{r.topology}" for r in rows], [median(r, size) for r in rows])
        ax.invert_yaxis()
        ax.set_xlabel(f"Mpps, {size}-byte frames")
    figure.tight_layout()
    figure.savefig(path)


def two_cpus():
    """Two CPUs that we may use, of different cores where there are any."""
    cpus = sorted(os.sched_getaffinity(0))
    first = cpus[0]
    try:
        path = f"/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list"
        with open(path, encoding="utf-8") as f:
            siblings = {int(x) for part in f.read().strip().split(",")
                        for x in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
    except (OSError, ValueError):
        siblings = {first}
    others = [c for c in cpus if c not in siblings] or cpus[1:]
    if not others:
        sys.exit("eth: two CPUs are needed")
    return (first, others[0])


def numbers(text):
    """A comma-separated list of numbers."""
    return [int(x) for x in text.split(",")]


def main():
    """See eth.sh --help."""
    p = argparse.ArgumentParser(prog="eth.py")
    p.add_argument("--plugin")
    p.add_argument("--softrnicd")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--sizes", type=numbers, default=[64, 1514])
    p.add_argument("--rows", type=lambda t: t.split(","))
    p.add_argument("--cpus", type=numbers)
    p.add_argument("--device-cpu", type=int)
    p.add_argument("--bursts", type=int, default=8)
    p.add_argument("--patience", type=int, default=2)
    add_output_options(p)
    args = p.parse_args()
    keys = [r.key for r in all_rows(args)]
    for key in args.rows or []:
        if key not in keys:
            p.error(f"no row {key} in this run; there are {' '.join(keys)}")
    args.cpus = args.cpus or two_cpus()
    if len(args.cpus) != 2:
        p.error("--cpus needs two numbers")
    pyplot = need_plot(args.plot)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    folder = tempfile.mkdtemp(prefix="rdmapmd-bench.")
    try:
        bench = Bench(args, folder)
        bench.run(Progress())
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    publish(make_report(bench, "devtools/bench/eth.sh"), args)
    if pyplot:
        draw(pyplot, bench, args.plot)
    return 1 if any(r.why for r in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
