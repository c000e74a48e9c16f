#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packet rates of stock dpdk-testpmd over net_rnic and over its peers, in turn. Run it by eth.sh."""

import os
import re
import shutil
import statistics
import sys
import tempfile
import time

import turns
from report import Report, Table, cpu_flags, need_plot, publish
from turns import (COMMAND_TIMEOUT, START_TIMEOUT, Child, Failed, Softrnicd, Turns, check_args,
                   cpu_times, numbers, run_turns, turns_parser)

LINK_TIMEOUT = 15
MBUFS = 16384
RING = 1024
PEERS = ("memif_zc", "memif_copy", "memif_single", "virtio_split", "virtio_split_vec",
         "virtio_packed")


class Testpmd(Child):
    """One interactive dpdk-testpmd, with a file prefix of its own: its main lcore on the first CPU, forwarding ones on the others."""

    count = 0

    def __init__(self, folder, cpus, vdevs, size, plugin=None, eal=(), mode="io"):
        Testpmd.count += 1
        self.prefix = f"rdmapmd-bench-{os.getpid()}-{Testpmd.count}"
        self.ports = len(vdevs)
        lcores = ",".join(f"{lcore}@{cpu}" for lcore, cpu in enumerate(cpus))
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", lcores,
                   "--in-memory", "--no-pci", "--no-telemetry", "--iova-mode=va",
                   f"--file-prefix={self.prefix}", *eal]
        if plugin:
            command += ["-d", plugin]
        command += [f"--vdev={v}" for v in vdevs]
        self.mode = mode
        command += ["--", "-i", f"--nb-cores={len(cpus) - 1}", f"--forward-mode={mode}", f"--txpkts={size}",
                    f"--total-num-mbufs={MBUFS * max(1, self.ports // 2)}", f"--txd={RING}", f"--rxd={RING}",
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

    def start(self, bursts):
        """Have it forward; where nothing comes by itself, it sends so many bursts first."""
        start = self.say(f"start tx_first {bursts}" if bursts and self.mode == "io" else "start")
        self.wait(f"{self.mode} packet forwarding", COMMAND_TIMEOUT, "no forwarding", start)

    def stats(self):
        """Of all ports: packets and bytes so far, rate since the last call, errors; sent ones where it only sends, else received ones."""
        start = self.say("show port stats all")
        self.wait(r"(Tx-pps:[^\n]*\n.*?){%d}testpmd> " % self.ports, COMMAND_TIMEOUT,
                  "no port statistics", start)
        text = self.text[start:]

        def every(name):
            return [int(x) for x in re.findall(re.escape(name) + r":\s+(\d+)", text)]

        way = "TX" if self.mode == "txonly" else "RX"
        return {"packets": sum(every(f"{way}-packets")), "bytes": sum(every(f"{way}-bytes")),
                "rate": sum(every(f"{way[0]}x-pps")),
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


class Row(turns.Row):
    """One thing to measure: which processes, and what must be said beside its figure."""

    def __init__(self, key, name, topology, copies, processes, eal=()):
        super().__init__(key, name, topology)
        self.copies = copies
        self.processes = processes  # a list of vdevs each; SIZE and DIR stand for the run's
        self.eal = eal
        self.plugin = None
        self.devices = ()  # of a softrnicd, which then runs on the first CPU
        self.threads = 1  # ... and has so many
        self.must_say = None  # a pattern in what testpmd prints, or the row is not what it says
        self.modes = ["io"] * len(processes)

    def one_way(self, mode):
        """The last process has that mode, alone counts, and has one port; the others do the reverse."""
        reverse = {"txonly": "rxonly", "rxonly": "txonly"}[mode]
        self.modes = [reverse] * (len(self.processes) - 1) + [mode]


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


def one_way_rows(args):
    """The same, of one direction: our device takes all that is sent, or has something for whoever receives; a peer's other end does that."""
    wire = {"txonly": "null", "rxonly": "source:SIZE"}[args.mode]
    ours = our_rows(args)
    for row in ours:
        row.processes = [[re.sub("wire=pair:bench", f"wire={wire}", row.processes[0][0])]]
        row.devices = tuple(f"name=a,wire={wire}" for _ in row.devices[:1])
        row.copies = "device drops each frame" if args.mode == "txonly" else "device copies each frame once"
    two = [r for r in memif_rows() + virtio_rows() if len(r.processes) == 2]
    for row in ours + two:
        row.one_way(args.mode)
    return ours, two


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
    if args.mode == "io":
        ours, peers = our_rows(args), memif_rows() + virtio_rows() + floor_rows()
    else:
        ours, peers = one_way_rows(args)
    return [r for r in ours if args.plugin and (args.softrnicd or not r.devices)] + peers


class Bench(Turns):
    """One run."""

    def __init__(self, args, folder, name="eth", rows=None):
        super().__init__(name, args, folder, all_rows(args) if rows is None else rows)
        self.turns = [(row, size) for size in args.sizes for row in self.rows]
        self.dropped = []

    def label(self, row, what):
        return f"{row.name} ({row.topology}), {what} bytes"

    def device_cpus(self, _row):
        """Those of softrnicd's threads."""
        return {self.args.device_cpu if self.args.device_cpu is not None else self.args.cpus[0]}

    def testpmd_cpus(self, row, i):
        """Of the row's testpmd i. Alone: the forwarding lcore on the second CPU, everything else on the first."""
        cpus = self.args.cpus
        return cpus if len(row.processes) == 1 else (cpus[i], cpus[i])

    def start_all(self, row, size, folder, running):
        """Put the row's processes into the list and wait until they are ready."""
        if row.devices:
            devices = [d.replace("SIZE", str(size)) for d in row.devices]
            running.append(Softrnicd(self.args.softrnicd, folder, devices, self.device_cpus(row), row.threads))
            running[-1].wait_ready()
        for i, vdevs in enumerate(row.processes):
            vdevs = [v.replace("SIZE", str(size)).replace("DIR", folder) for v in vdevs]
            running.append(Testpmd(folder, self.testpmd_cpus(row, i), vdevs, size, row.plugin, row.eal, row.modes[i]))
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

    def measure(self, row, what):
        """One repetition: the rate in Mpps, and the others' share."""
        size = what
        running = []
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            try:
                self.start_all(row, size, folder, running)
                testpmds = [p for p in running if isinstance(p, Testpmd)]
                for t in testpmds:
                    t.start(self.args.bursts)
                time.sleep(0.3)
                began = time.monotonic()
                counted = testpmds if row.modes[-1] == "io" else testpmds[-1:]
                before, after, others = self.window(running, counted)
                row.window = (began, time.monotonic())
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
        # Who only sends drops what finds no room, at whatever rate.
        if dropped and row.modes[-1] == "io":
            self.dropped.append(f"{row.name}, {size} bytes: {dropped} packets dropped by testpmd")
        return statistics.mean(b["rate"] for b in after) / 1e6, others


def add_ratios(report, rows, size, mode):
    """Ours by each peer's, then our two by each other: of the medians, and of each repetition."""
    def add(name, ours, peer):
        a, b = rows.get(ours), rows.get(peer)
        if a is not None and b is not None:
            report.ratio(name, a.median(size), b.median(size),
                         zip(a.figures.get(size, []), b.figures.get(size, [])))

    prefix = f"eth{size}" if mode == "io" else f"eth{size}_{mode}"
    for name, ours in ((prefix, "rnic"), (f"{prefix}_softrnicd", "softrnicd")):
        for peer in PEERS:
            add(f"{name}_vs_{peer}", ours, peer)
    add(f"{prefix}_softrnicd_vs_embedded", "softrnicd", "rnic")


def make_report(bench, what):
    """Tables, ratios, notes."""
    args = bench.args
    report = Report(args.root, what)
    by_key = {r.key: r for r in bench.rows}
    for size in args.sizes:
        table = Table(f"{size}-byte frames, median of {args.repeat} x {args.seconds:g} s",
                      ["what", "Mpps", "min .. max", "Gb/s", "topology", "copies"])
        for row in bench.rows:
            m = row.median(size)
            if m is None:
                cells = ["failed", "-", "-"]
            else:
                r = row.figures[size]
                gbps = f"{m * size * 8 / 1000:.1f}" if row.key != "ring" else "-"
                cells = [f"{m:.2f}", f"{min(r):.2f} .. {max(r):.2f}", gbps]
            table.rows.append([row.name, *cells, row.topology, row.copies])
        report.tables.append(table)
        add_ratios(report, by_key, size, args.mode)
    in_flight = args.bursts * 32 * 2
    counted = {
        "io": ["counted: packets that one forwarding lcore receives a second (testpmd's Rx-pps; both ports"
               " of a single process added, the mean of the two processes). Each of them is received once"
               " and sent again once by that lcore; the other core is the device, or the other testpmd,"
               " which receives and sends the same packets once more and is not added.",
               f"io forwarding, bursts of 32, rings of {RING}, {in_flight} packets in flight in every row,"
               " frames without FCS"],
        "txonly": ["counted: packets that one lcore sends a second (testpmd's Tx-pps in txonly); the other core is the"
                   " device, which drops them, or the other testpmd in rxonly",
                   f"bursts of 32, rings of {RING}, frames without FCS"],
        "rxonly": ["counted: packets that one lcore receives a second (testpmd's Rx-pps in rxonly); the other core is the"
                   " device, which makes them, or the other testpmd in txonly",
                   f"bursts of 32, rings of {RING}, frames without FCS"],
    }
    report.notes += [
        *counted[args.mode],
        f"CPUs {args.cpus[0]} (device thread, softrnicd, first of two testpmd) and {args.cpus[1]}"
        " (forwarding lcore, second testpmd)"
        + (f"; device thread and softrnicd on CPU {args.device_cpu}"
           if args.device_cpu is not None else ""),
        *bench.notes(), *bench.dropped,
    ]
    report.data = {**bench.data(), "rows": [
        {"key": r.key, "name": r.name, "topology": r.topology, "copies": r.copies,
         "mpps": {str(s): v for s, v in r.figures.items()}, "failed": r.why} for r in bench.rows]}
    return report


def draw(pyplot, bench, path):
    """A bar for each row, sizes side by side."""
    sizes = bench.args.sizes
    figure, axes = pyplot.subplots(1, len(sizes), squeeze=False, figsize=(6 * len(sizes), 3.5))
    for ax, size in zip(axes[0], sizes):
        rows = [r for r in bench.rows if not r.name.startswith("floor") and r.median(size)]
        ax.barh([f"{r.name}\n{r.topology}" for r in rows], [r.median(size) for r in rows])
        ax.invert_yaxis()
        ax.set_xlabel(f"Mpps, {size}-byte frames")
    figure.tight_layout()
    figure.savefig(path)


def main():
    """See eth.sh --help."""
    p = turns_parser("eth.py")
    p.add_argument("--sizes", type=numbers, default=[64, 1514])
    p.add_argument("--device-cpu", type=int)
    p.add_argument("--bursts", type=int, default=8)
    p.add_argument("--mode", choices=("io", "txonly", "rxonly"), default="io")
    args = p.parse_args()
    check_args(p, args, (args.rows, [r.key for r in all_rows(args)], "row"))
    pyplot = need_plot(args.plot)
    bench = run_turns(Bench, args)
    publish(make_report(bench, "devtools/bench/eth.sh"), args)
    if pyplot:
        draw(pyplot, bench, args.plot)
    return 1 if bench.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
