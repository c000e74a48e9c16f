# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd with the plugin, driven through its prompt as a user would."""

import glob
import json
import os
import pty
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from size import DEFAULT

PROMPT = "testpmd> "
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\r")
SANITIZED = os.environ.get("RDMAPMD_SANITIZER", "none") != "none"
# What the driver and the device say at level ERR and above starts so.
OURS = re.compile(r"^(?:net_rnic|softrnic): .*$", re.M)
# Seconds for what comes: a busy machine may be slow, and what does not come by then never does.
PATIENCE = 300 if SANITIZED else 100
# testpmd locks its memory, and the kernel clears it: half a second for each 512 MiB.
NO_HUGE = ("--no-huge", "-m", "128")


def plugin():
    """librte_net_rnic.so under test."""
    path = os.environ.get("RDMAPMD_PLUGIN")
    if not path:
        here = os.path.dirname(os.path.abspath(__file__))
        path = os.path.join(here, "../../build/drivers/net/rnic/librte_net_rnic.so")
    return os.path.realpath(path)


def two_cpus():
    cpus = sorted(os.sched_getaffinity(0))
    return f"{cpus[0]},{cpus[min(1, len(cpus) - 1)]}"


def nobody():
    return pwd.getpwnam("nobody")


class Testpmd:
    """One process, with a run-time folder and a file prefix of its own. Use as a context."""

    __test__ = False
    count = 0

    def __init__(self, vdevs, eal=NO_HUGE, args=(), user=None, mbufs=8192,
                 link_events=False, telemetry=False, within=()):
        Testpmd.count += 1
        self.prefix = f"rnic-e2e-{os.getpid()}-{Testpmd.count}"
        if user is None and not os.access(plugin(), os.R_OK):
            raise FileNotFoundError(plugin())
        self.folder = tempfile.mkdtemp(prefix=self.prefix, dir="/run" if os.geteuid() == 0 else None)
        self.mounted = None
        library = plugin()
        command = []
        if user is not None:
            os.chmod(self.folder, 0o755)
            # The user may not look into the folder of the build.
            library = shutil.copy(library, self.folder)
            for shared in glob.glob(os.path.join(os.path.dirname(plugin()),
                                                 "../../../lib/rdmapmd/librdmapmd.so.?")):
                shutil.copy(shared, self.folder)
            os.mkdir(os.path.join(self.folder, "run"))
            os.chown(os.path.join(self.folder, "run"), user.pw_uid, user.pw_gid)
            command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                       "--clear-groups"]
        if "--no-huge" not in eal and "--in-memory" not in eal:
            eal = [*eal, *self._huge_dir("--legacy-mem" in eal)]
        runtime = os.path.join(self.folder, "run")
        os.makedirs(runtime, exist_ok=True)
        # within: a command that has it run somewhere else, e.g. in a network namespace
        command += [*within, "dpdk-testpmd", "-l", two_cpus(), "-d", library, "--no-pci",
                    "--telemetry" if telemetry else "--no-telemetry", f"--file-prefix={self.prefix}", *eal]
        for vdev in vdevs:
            command += ["--vdev", vdev]
        # Reports of link changes would tear the prompt apart.
        command += ["--", "-i", f"--total-num-mbufs={mbufs}", *args]
        if not link_events:
            command += ["--no-lsc-interrupt"]
        env = dict(os.environ, RUNTIME_DIRECTORY=runtime, HOME=runtime, TERM="dumb")
        if user is not None:
            env["LD_LIBRARY_PATH"] = self.folder
        if os.environ.get("RDMAPMD_PRELOAD"):
            env["LD_PRELOAD"] = os.environ["RDMAPMD_PRELOAD"]
        self.command = command
        self.runtime = runtime
        self.all = ""
        self.lock = threading.Lock()
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env,
                                        close_fds=True, start_new_session=True)
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.reader.join(PATIENCE)
        os.close(self.master)
        if self.mounted:
            # A secondary process that was killed may still be about to leave it.
            subprocess.run(["umount", "--lazy", self.mounted], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        if kind is not None:
            print(" ".join(self.command))
            print(self.text())

    def _huge_dir(self, greedy):
        """A mount of its own for hugepage files: nothing stays behind, whatever happens. In legacy mode EAL takes, for a
        while, all that there is: from the tests that run beside, too."""
        folder = os.path.join(self.folder, "huge")
        os.mkdir(folder)
        limit = ",size=320M" if greedy else ""
        subprocess.run(["mount", "-t", "hugetlbfs", "-o", f"pagesize=2M{limit}", "none", folder],
                       check=True)
        self.mounted = folder
        return [f"--huge-dir={folder}"]

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            with self.lock:
                self.all += data.decode(errors="replace")

    def text(self, since=0):
        with self.lock:
            return ANSI.sub("", self.all[since:])

    def wait(self, condition, what):
        """Until condition() holds; the process must not end before."""
        end = time.monotonic() + PATIENCE
        # Most answers come in a millisecond; a longer wait leaves the CPU to testpmd.
        pause = 0.001
        while not condition():
            assert self.process.poll() is None or condition(), f"testpmd ended before {what}"
            assert time.monotonic() < end, f"no {what} within {PATIENCE} s"
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def prompt(self):
        """Until it waits for the first command."""
        comments = 0
        patience = time.monotonic() + PATIENCE / 3

        def prompted():
            nonlocal comments, patience
            if time.monotonic() > patience:
                # Other threads may have printed in the middle of it: the one behind a comment will be whole.
                comments += 1
                self._say(f"#{comments}")
                patience += 5
            return PROMPT in (self.text().rpartition(f"#{comments}\n")[2] if comments else self.text())

        self.wait(prompted, "prompt")
        return self

    def _say(self, line):
        os.write(self.master, (line + "\n").encode())

    def do(self, line):
        """A command; returns what it says."""
        with self.lock:
            since = len(self.all)
        self._say(line)
        comments = 0
        patience = time.monotonic() + 5

        def answer():
            # Behind the echo of the line; other threads may print behind the prompt.
            return self.text(since).partition("\n")[2]

        def answered():
            nonlocal comments, patience
            if time.monotonic() > patience:
                # ... or in the middle of it: the one behind a comment will be whole. As its echo is waited for,
                # a testpmd that was only slow does not answer the next command with it.
                comments += 1
                self._say(f"#{comments}")
                patience += 5
            return PROMPT in (answer().partition(f"#{comments}\n")[2] if comments else answer())

        self.wait(answered, f"answer to '{line}'")
        return answer().partition(PROMPT)[0]

    def stop_ports(self, which="all"):
        """What it says. Else it would wait nine seconds for links that go with the ports."""
        self.do("set link_check off")
        said = self.do(f"port stop {which}")
        if "--disable-link-check" not in self.command:
            self.do("set link_check on")
        return said

    def quit(self):
        """Leave; the exit code must be 0."""
        if self.process.poll() is None:
            os.write(self.master, b"quit\n")
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as late:
            raise AssertionError("testpmd does not quit") from late
        self.reader.join(PATIENCE)
        assert status == 0, f"exit code {status}"

    def stats(self):
        """Counters of all ports: {port: {"RX-packets": ...}}."""
        text = self.do("show port stats all")
        ports = {}
        for part in re.split(r"#+ NIC statistics for port ", text)[1:]:
            port = int(part.split()[0])
            ports[port] = {key: int(value) for key, value in
                           re.findall(r"([RT]X-\w+|[RT]x-pps):\s+(\d+)", part)}
        return ports

    def counters(self):
        """The same without rates: what stands still when nothing moves."""
        return [{key: value for key, value in port.items() if not key.endswith("pps")}
                for port in self.stats().values()]

    def wait_link(self, port, status):
        """"up" or "down"."""
        self.wait(lambda: f"Link status: {status}" in self.do(f"show port info {port}"),
                  f"link of port {port} that is {status}")

    def _polls(self):
        """Does its forwarding lcore run? One that waits sleeps in a read()."""
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/stat", encoding="utf-8") as stat:
                name, _, fields = stat.read().partition("(")[2].rpartition(")")
            if "worker" in name:
                return fields.split()[0] == "R"
        return False

    def wait_forwards_with(self, ports):
        """Until it forwards again, after it lost a port while it did: a thread of its own stops and starts that, and a
        command that comes in between leaves an lcore running for ever (DPDK 22.11)."""
        self.wait(lambda: f"packet forwarding - ports={ports} " in self.text() and self._polls(),
                  f"forwarding with {ports} ports")

    def complaints(self):
        """Lines of the driver or the device."""
        return OURS.findall(self.text())


def tool(name):
    path = shutil.which(name)
    assert path, f"{name} is part of Debian's packages dpdk and dpdk-dev"
    return path


def environment(testpmd, *preload):
    env = dict(os.environ, RUNTIME_DIRECTORY=testpmd.runtime)
    env["LD_PRELOAD"] = " ".join(p for p in (os.environ.get("RDMAPMD_PRELOAD", ""), *preload) if p)
    return env


def telemetry(testpmd, *commands):
    """The answers, one each. Of Python's interpreter no sanitizer shall say what it leaks."""
    env = dict(os.environ, RUNTIME_DIRECTORY=testpmd.runtime)
    done = subprocess.run([tool("dpdk-telemetry.py"), "-f", testpmd.prefix], env=env, text=True,
                          input="".join(f"{command}\n" for command in (*commands, "quit")), capture_output=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(commands), done.stdout
    return [answer[command.partition(",")[0]] for answer, command in zip(answers, commands)]


def pair(name="e2e", options=""):
    """Two ports joined by a wire."""
    return [f"net_rnic{i},wire=pair:{name}{options}" for i in (0, 1)]


LEAST = 1000
# Packets that go round: rings and 16-bit counters come round several times, and ten times that often with --all.
ROUNDS = (20_000 if SANITIZED else 300_000) * (1 if DEFAULT else 10)


def send_some(testpmd, least=LEAST):
    """Until each port has sent more than so many packets more."""
    before = testpmd.stats()
    testpmd.wait(lambda: all(stats["TX-packets"] > before[port]["TX-packets"] + least
                             for port, stats in testpmd.stats().items()), f"{least} packets")


def take_in(*processes):
    """All that is on its way between the ports of these, or is counted as lost; they do not forward."""
    for testpmd in processes:
        testpmd.do("set fwd rxonly")
        testpmd.do("start")

    def on_the_way():
        ports = [port for testpmd in processes for port in testpmd.counters()]
        return sum(port["TX-packets"] - port["RX-packets"] - port["RX-missed"] for port in ports)

    # What does not arrive is for the caller to find.
    end = time.monotonic() + PATIENCE
    while on_the_way() > 0 and time.monotonic() < end:
        time.sleep(0.05)
    for testpmd in processes:
        testpmd.do("stop")


def forward(testpmd, bursts=4, least=ROUNDS):
    """Let packets go round, then take in what is on its way; returns the counters."""
    testpmd.do(f"start tx_first {bursts}")
    send_some(testpmd, least)
    testpmd.do("stop")
    take_in(testpmd)
    return testpmd.stats()


def check_exact(stats, least=LEAST):
    """What one port sent, the other received; no error, nothing lost."""
    for here, there in ((0, 1), (1, 0)):
        assert stats[here]["TX-packets"] > least
        assert stats[here]["TX-packets"] == stats[there]["RX-packets"], stats
        assert stats[here]["TX-bytes"] == stats[there]["RX-bytes"], stats
        for key in ("RX-missed", "RX-errors", "RX-nombuf", "TX-errors"):
            assert stats[here][key] == 0, stats
