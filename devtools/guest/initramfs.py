# SPDX-License-Identifier: BSD-3-Clause
"""A guest's root folder as an uncompressed cpio archive: busybox, an init, programs with their libraries, modules."""

import glob
import lzma
import os
import re
import stat
import subprocess

DPDK_PMDS = ("bus_pci", "bus_vdev", "mempool_ring", "net_null", "net_ring", "net_af_packet")
# tell: a word for the host, by the channel that is not the console; await: what the host says; both end at a newline.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
# An initramfs has it for everybody to write to, and EAL takes no plugin from below such a folder.
chmod 755 /
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root TERM=dumb PYTHONDONTWRITEBYTECODE=1
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
# Held open: what the host says while nobody reads would be lost.
exec 8<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
stty -F /dev/ttyS0 -opost
ip link set lo up
mkdir -p /dev/hugepages
mount -t hugetlbfs -o pagesize=2M none /dev/hugepages
wrong=""
for module in $(cat /modules.order); do
	insmod $module || wrong="module $module"
done
if [ -n "$wrong" ]; then
	echo "wrong $wrong" >/dev/ttyS1
else
	/bin/sh /script </dev/null
	echo "exit $?" >/dev/ttyS1
fi
# Until all is written.
stty -F /dev/ttyS1 raw -echo
stty -F /dev/ttyS0 -opost
reboot -f
"""
# Where programs of another system's root folder are, by their loader and with their libraries.
FOREIGN = """#!/bin/sh
exec {root}/lib/{loader} --library-path {root}/lib --argv0 "$0" {root}/bin/{name} "$@"
"""
LOADER = "ld-linux-x86-64.so.2"
LIBGCC = "libgcc_s.so.1"
TELL = '#!/bin/sh\necho "told $*" >/dev/ttyS1\n'
AWAIT = '#!/bin/sh\nIFS= read -r line </dev/ttyS1\necho "$line"\n'


class Initramfs:
    """Files by their path in the guest. Symbolic links stay links, and what they lead to comes along."""

    def __init__(self):
        self.entries = {}
        for folder in ("bin", "dev", "proc", "sys", "tmp", "run", "root", "etc", "mnt"):
            self.folder("/" + folder)
        for link in ("/lib", "/lib64"):
            if os.path.islink(link):
                self.entries[link] = (stat.S_IFLNK | 0o777, os.path.realpath(link).encode(), (0, 0))
        self.folder("/var")
        self.entries["/var/run"] = (stat.S_IFLNK | 0o777, b"/run", (0, 0))
        self.entries["/dev/console"] = (stat.S_IFCHR | 0o600, b"", (5, 1))
        self.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n")
        self.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
        self.text("/init", INIT, 0o755)
        self.text("/bin/tell", TELL, 0o755)
        self.text("/bin/await", AWAIT, 0o755)
        self.text("/modules.order", "")
        self.program("/bin/busybox")

    def folder(self, path):
        while path not in ("/", "") and path not in self.entries:
            self.entries[path] = (stat.S_IFDIR | 0o755, b"", (0, 0))
            path = os.path.dirname(path)

    def text(self, path, text, mode=0o644):
        path = self._place(path)
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, text if isinstance(text, bytes) else text.encode(), (0, 0))

    def link(self, target, path):
        path = self._place(path)
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode(), (0, 0))

    def file(self, source, path):
        """A file, or all that a folder has below it."""
        source = os.path.abspath(source)
        if os.path.isdir(source):
            self.folder(path)
            for name in sorted(os.listdir(source)):
                if os.path.isdir(os.path.join(source, name)):
                    self.file(os.path.join(source, name), os.path.join(path, name))
                else:
                    self.with_target(os.path.join(source, name), os.path.join(path, name))
            return
        with open(source, "rb") as file:
            self.text(path, file.read(), stat.S_IMODE(os.stat(source).st_mode) | 0o400)

    def with_target(self, source, path):
        """As it is on the host; the target of a link at its own path, so that nothing is there twice."""
        path = self._place(path)
        if path in self.entries:
            return
        if os.path.islink(source):
            target = os.path.realpath(source)
            self.with_target(target, target)
            if self._place(target) != path:
                self.link(self._place(target), path)
        else:
            self.file(source, path)

    @staticmethod
    def _place(path):
        """Where /lib is a link, files are where it leads to."""
        first = "/" + path.split("/")[1]
        if first in ("/lib", "/lib64") and os.path.islink(first):
            path = os.path.join(os.path.realpath(first), *path.split("/")[2:])
        return path

    def program(self, source, path=None):
        """With the libraries that it is linked with; of DPDK's, also the drivers that are loaded when it starts."""
        source = os.path.abspath(source)
        self.file(source, path or "/bin/" + os.path.basename(source))
        self.libraries(source)

    def libraries(self, source):
        said = subprocess.run(["ldd", source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if "not found" in said.stdout:
            raise FileNotFoundError(f"{source}: {said.stdout}")
        for line in said.stdout.splitlines():
            found = re.search(r"(?:=> )?(/\S+) \(0x", line)
            if found:
                library = os.path.normpath(found[1])
                self.with_target(library, library)

    def dpdk_drivers(self, names=DPDK_PMDS):
        """In the folder that EAL looks into: beside it, by its version."""
        eal = [path for path in self.entries if re.fullmatch(r"librte_eal\.so\.\d+", os.path.basename(path))]
        if not eal:
            return
        folder, = glob.glob(os.path.join(os.path.dirname(eal[0]), f"dpdk/pmds-{eal[0].rpartition('.')[2]}.*"))
        for name in sorted(os.listdir(folder)):
            if name.startswith("librte_") and name.split(".")[0][len("librte_"):] in names:
                self.with_target(os.path.join(folder, name), os.path.join(folder, name))
                self.libraries(os.path.join(folder, name))

    def foreign(self, source, root, names):
        """
        Programs of another system, whose root folder is source, with its own loader and libraries: in the guest they are below
        root, and scripts in /bin start them. Those of the host may have other libraries of the same names.
        """
        for name in names:
            found = [path for path in (os.path.join(source, each, name) for each in ("usr/bin", "usr/sbin", "bin", "sbin"))
                     if os.path.isfile(path) and not os.path.islink(path)]
            if not found:
                raise FileNotFoundError(f"{source} has no program {name}")
            self.file(found[0], f"{root}/bin/{name}")
            self.text(f"/bin/{name}", FOREIGN.format(root=root, loader=LOADER, name=name), 0o755)
            self.foreign_libraries(source, root, found[0])

    def foreign_libraries(self, source, root, path):
        """What it is linked with, by the names that it has for them."""
        loader = os.path.join(source, "lib/x86_64-linux-gnu", LOADER)
        folders = [os.path.join(source, each, "x86_64-linux-gnu") for each in ("lib", "usr/lib")]
        said = subprocess.run([loader, "--library-path", ":".join(folders), "--list", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        libraries = re.findall(r"^\s*(\S+) => (/\S+) \(0x", said.stdout, re.M)
        # What is not in its folders is looked for in the host's.
        if said.returncode != 0 or not all(library.startswith(source + "/") for _, library in libraries):
            raise FileNotFoundError(f"{path}: {said.stdout}")
        # What a thread needs to be cancelled or to end itself; no program names it.
        libgcc = os.path.join(folders[0], LIBGCC)
        for name, library in [*libraries, (LOADER, loader), (LIBGCC, libgcc)]:
            self.file(library, f"{root}/lib/{os.path.basename(name)}")

    def verbs(self, source, names):
        """Programs of prepare.sh's thing of that name, and libmlx5, which libibverbs loads from a path that it was built with."""
        root, folder = "/verbs", "usr/lib/x86_64-linux-gnu/libibverbs"
        self.foreign(source, root, names)
        plugin, = glob.glob(os.path.join(source, folder, "libmlx5-rdmav*.so"))
        self.foreign_libraries(source, root, plugin)
        # A link: who is linked with it as well has it once.
        library = f"{root}/lib/libmlx5.so.1"
        self.file(plugin, library)
        self.link(library, os.path.join("/", folder, os.path.basename(plugin)))
        self.file(os.path.join(source, "etc/libibverbs.d/mlx5.driver"), "/etc/libibverbs.d/mlx5.driver")

    def modules(self, kernel, names):
        """Modules of a kernel's folder with what they depend on; init loads them in this order."""
        with open(os.path.join(kernel, "release"), encoding="ascii") as file:
            root = os.path.join(kernel, "lib/modules", file.read().strip())
        needs = {}
        with open(os.path.join(root, "modules.dep"), encoding="ascii") as file:
            for line in file:
                path, _, others = line.partition(":")
                needs[path] = others.split()
        by_name = {os.path.basename(path).split(".")[0].replace("-", "_"): path for path in needs}
        order = []
        for name in names:
            if name.replace("-", "_") not in by_name:
                raise FileNotFoundError(f"{os.path.basename(kernel)} has no module {name}")
            path = by_name[name.replace("-", "_")]
            # The list has the deepest last.
            order += [each for each in [*reversed(needs[path]), path] if each not in order]
        placed = []
        for path in order:
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
            if path.endswith(".xz"):
                data, path = lzma.decompress(data), path[:-len(".xz")]
            placed.append("/lib.modules/" + os.path.basename(path))
            self.text(placed[-1], data)
        return placed

    def write(self, path):
        with open(path, "wb") as file:
            for number, name in enumerate(sorted(self.entries)):
                mode, data, device = self.entries[name]
                self._entry(file, number + 1, name[1:], mode, data, device)
            self._entry(file, 0, "TRAILER!!!", 0, b"", (0, 0))

    @staticmethod
    def _entry(file, number, name, mode, data, device):
        """Of the "newc" format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst."""
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        file.write(header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4))
