# SPDX-License-Identifier: BSD-3-Clause
"""A guest of QEMU under emulation, with devices of softrnicd attached by vfio-user."""

import ctypes
import dataclasses
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from initramfs import DPDK_PMDS, Initramfs

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = ("6.1", "6.1-cloud", "6.12")
# As timeout(1) has it; no status came from a guest that died.
TIMED_OUT = 124
DIED = 125
# Milliseconds that QEMU waits for a reply: the device shares its processors with the emulation.
REPLY_MS = 60000
# Seconds that a process waits for packages in all, before it does without guests: a mirror may be slow, or never answer.
PATIENCE = 900
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Unavailable(Exception):
    """QEMU or the kernel cannot be had."""


class Died(Exception):
    """The guest ended, or its time, before what was waited for came."""


@dataclasses.dataclass
class Result:
    """How a guest's script ended."""
    status: int
    console: str
    seconds: float


def cache():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rdmapmd/guest")


class Waits:
    """What could not be had is not asked for again."""
    spent = 0.0
    why = {}


def run_prepare(things):
    """The process itself; with it go those that it has started."""
    limit = max(PATIENCE - Waits.spent, 5)
    start = time.monotonic()
    done = subprocess.run(["timeout", "-k", "10", str(limit), os.path.join(HERE, "prepare.sh"), *things],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        Waits.spent += time.monotonic() - start
    if done.returncode == TIMED_OUT:
        done.stderr += f"prepare.sh was not done within {limit:.0f} s"
    return done


def prepare(*things):
    """Folders of what prepare.sh has, which fetches what is missing: {thing: (version, folder)}."""
    key = (cache(), things)
    if key not in Waits.why:
        done = run_prepare(things)
        if done.returncode != 0:
            Waits.why[key] = done.stderr.strip() or f"prepare.sh ended with {done.returncode}"
    if key in Waits.why:
        raise Unavailable(Waits.why[key])
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in things:
            found[words[0]] = (words[1], words[2])
    return found


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def slot(number):
    """The address in the guest of its device of that number."""
    return f"0000:00:{0x10 + number:02x}.0"


class Guest:
    """
    devices    sockets of softrnicd (each listens already); device N of the guest is at slot(N)
    programs   copied to /bin with their libraries; where one is DPDK's, the drivers named by pmds come along
    verbs      programs of prepare.sh's verbs, by their names, with libmlx5
    libraries  copied to their own paths with what they need, e.g. a plugin
    modules    loaded before the script, with what they depend on; those of extra_modules lie in /lib.modules, in order
               of the list /extra.order, for the script to load
    files      {path in the guest: path on the host, or bytes}
    iommu      None, or the width of addresses: 39 or 48
    taps       {interface of the host: MAC address}: each is a virtio-net's cable, behind the devices
    within     a command that has QEMU run somewhere else, e.g. in a network namespace
    """

    def __init__(self, kernel="6.1", devices=(), programs=(), libraries=(), modules=(), extra_modules=(), files=None,
                 iommu=None, hugepages=0, memory=512, cpus=1, pmds=DPDK_PMDS, append="", log=None, taps=None, within=(),
                 verbs=()):
        self.kernel = kernel
        self.devices = list(devices)
        self.iommu = iommu
        self.taps = dict(taps or {})
        self.within = list(within)
        self.memory = memory
        self.cpus = cpus
        self.append = append + (f" hugepages={hugepages}" if hugepages else "")
        self.log = log
        if not os.path.exists("/bin/busybox"):
            raise Unavailable("busybox-static is not installed")
        things = prepare("qemu", kernel, *(["verbs"] if verbs else []))
        self.qemu_version, self.qemu = things["qemu"]
        self.kernel_version, self.kernel_folder = things[kernel]
        self.root = Initramfs()
        for program in programs:
            self.root.program(program)
        if verbs:
            self.root.verbs(things["verbs"][1], verbs)
        for library in libraries:
            self.root.with_target(library, library)
            self.root.libraries(library)
        for path, source in (files or {}).items():
            if isinstance(source, bytes):
                self.root.text(path, source)
            else:
                self.root.file(source, path)
        self.root.text("/modules.order", "\n".join(self.root.modules(self.kernel_folder, modules)))
        self.root.text("/extra.order", "\n".join(self.root.modules(self.kernel_folder, extra_modules)))
        self.root.dpdk_drivers(pmds)
        self.process = None
        self.folder = None
        self.started = 0.0
        self.lines = queue.Queue()
        self.said = []
        self.threads = []
        self.channel = None

    def versions(self):
        return f"QEMU {self.qemu_version}, Linux {self.kernel_version} ({self.kernel})"

    # ---- Life ----

    def run(self, script, timeout):
        """Boot, run the script by busybox' sh as root, and end."""
        try:
            self.start(script)
            return self.wait(timeout)
        finally:
            self.stop()

    def start(self, script):
        """What follows is expect(), tell(), and in any case wait() or stop()."""
        self.root.text("/script", script)
        self.folder = tempfile.mkdtemp(prefix="guest-")
        initrd = os.path.join(self.folder, "initrd")
        self.root.write(initrd)
        ours, theirs = socket.socketpair()
        self.channel = ours
        self._say(f"guest: {self.versions()}\n")
        self.started = time.monotonic()
        with theirs:
            self.process = subprocess.Popen(self._command(initrd, theirs.fileno()), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                            pass_fds=[theirs.fileno()], preexec_fn=die_with_parent)
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self._console, self._words)]
        for thread in self.threads:
            thread.start()

    def _command(self, initrd, channel):
        libraries = os.path.join(self.qemu, "usr/lib/x86_64-linux-gnu")
        # The kernel tries the board's timer for some milliseconds of its own, which are none on a busy host.
        cmdline = "console=ttyS0 quiet panic=-1 no_timer_check " + ("intel_iommu=on " if self.iommu else "") + self.append
        # By its own loader: it needs a newer C library than the host may have.
        command = [os.path.join(self.qemu, "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", libraries,
                   os.path.join(self.qemu, "usr/bin/qemu-system-x86_64"), "-L", os.path.join(self.qemu, "usr/share/qemu"),
                   "-L", os.path.join(self.qemu, "usr/share/seabios"), "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-serial", "stdio", "-chardev", f"socket,id=words,fd={channel}",
                   "-serial", "chardev:words", "-kernel", os.path.join(self.kernel_folder, "vmlinux"),
                   "-initrd", initrd, "-append", cmdline, "-accel", "tcg,thread=multi", "-cpu", "max",
                   "-m", f"{self.memory}M", "-smp", str(self.cpus),
                   # The device maps the guest's memory by its descriptor.
                   "-object", f"memory-backend-memfd,id=memory,size={self.memory}M,share=on",
                   "-machine", "q35,memory-backend=memory"]
        if self.iommu:
            command += ["-device", f"intel-iommu,intremap=on,caching-mode=on,aw-bits={self.iommu}"]
        for number, path in enumerate(self.devices):
            device = {"driver": "vfio-user-pci", "id": f"device{number}", "addr": slot(number)[8:],
                      "x-msg-timeout": REPLY_MS, "socket": {"type": "unix", "path": os.path.abspath(path)}}
            command += ["-device", json.dumps(device)]
        for number, (tap, mac) in enumerate(self.taps.items()):
            command += ["-netdev", f"tap,id=tap{number},ifname={tap},script=no,downscript=no",
                        "-device", f"virtio-net-pci,netdev=tap{number},mac={mac},romfile=,"
                                   f"addr={slot(len(self.devices) + number)[8:]}"]
        return [*self.within, *command]

    def _say(self, text):
        self.said.append(text)
        if self.log is not None:
            self.log.write(text)
            self.log.flush()

    def _console(self):
        """Bytes as they come: a line may be long in coming, and a script's last one need not end."""
        while data := os.read(self.process.stdout.fileno(), 65536):
            self._say(data.decode(errors="replace").replace("\r", ""))

    def _words(self):
        with self.channel.makefile("r", encoding="ascii", errors="replace", newline="\n") as file:
            try:
                for line in file:
                    self.lines.put(line.rstrip("\r\n"))
            except OSError:
                pass
        self.lines.put(None)

    @property
    def console(self):
        return "".join(self.said)

    # ---- Words between the script and the host ----

    def tell(self, line):
        """For the script's `await`, which prints it."""
        self.channel.sendall(line.encode() + b"\n")

    def _word(self, timeout):
        """The next line of the guest, None once it has ended; queue.Empty."""
        return self.lines.get(timeout=max(timeout, 0))

    def expect(self, word, timeout):
        """Until the script says `tell word`: what it says behind the word."""
        end = time.monotonic() + timeout
        while True:
            try:
                line = self._word(end - time.monotonic())
            except queue.Empty:
                raise Died(f"the guest did not tell {word} within {timeout} s:\n{self.console[-4000:]}") from None
            if line is None or not line.startswith("told "):
                self.lines.put(line)
                raise Died(f"the guest ended without telling {word}:\n{self.console[-4000:]}")
            if line.split()[1:2] == [word]:
                return line[len("told ") + len(word):].strip()

    # ---- The end ----

    def wait(self, timeout):
        """The end of the script, with its own exit status; or TIMED_OUT or DIED, and the console says why."""
        end = time.monotonic() + timeout
        status, line = DIED, ""
        while line is not None:
            try:
                line = self._word(end - time.monotonic())
            except queue.Empty:
                self._say(f"\nguest: not done within {timeout} s\n")
                status = TIMED_OUT
                break
            if line is not None and line.startswith("wrong "):
                self._say(f"\nguest: {line}\n")
            elif line is not None and (found := re.fullmatch(r"exit (\d+)", line)):
                status = int(found[1])
        seconds = time.monotonic() - self.started
        if line is None:
            self._ended()
        self.stop()
        if status == DIED:
            self._say(f"\nguest: it ended without a status (QEMU: {self.process.returncode})\n")
        return Result(status, self.console, seconds)

    def _ended(self):
        """Its channel is closed: QEMU is about to leave."""
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self._say("\nguest: QEMU does not end\n")

    def stop(self):
        """Kill what runs still, and clean up."""
        if self.process is None or self.folder is None:
            return
        self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.channel.close()
        shutil.rmtree(self.folder)
        self.folder = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if kind is not None and self.log is None:
            sys.stderr.write(self.console)
