# SPDX-License-Identifier: BSD-3-Clause
"""
What somebody who has never seen the machine needs to know of a function on which something went wrong, in one archive.

Nothing is written to the function: sysfs alone is asked for it, and there only for files whose reading writes nothing (of the
VPD, which is read by writing to the configuration space, and has serial numbers, nothing). What firmware and driver say to
each other is taken from a log; or the driver brings the function up and closes it, if that is asked for.
"""

import gzip
import io
import json
import os
import re
import tarfile

from . import config_space, dumps, hide, hugepages, pci, processes, status, vfio
from .doctor import Doctor
from .host import Failed, User

FOLDER = "rdmapmd-report"
FORMAT = 1
PROBE_SECONDS = 180
LOG_BYTES = 256 << 20

# Of the function's folder; each says something of the kind of card, slot or kernel.
ATTRIBUTES = (
    "vendor", "device", "subsystem_vendor", "subsystem_device", "revision", "class", "current_link_speed", "current_link_width",
    "max_link_speed", "max_link_width", "sriov_totalvfs", "sriov_numvfs", "numa_node", "power_state", "reset_method", "enable",
    "ari_enabled", "dma_mask_bits", "driver_override",
)
CMDLINE = re.compile(r"(?:(?:intel_|amd_)?iommu|iommu\.\w+|vfio[\w.]*|pcie?[\w.]*|default_hugepagesz|hugepagesz|hugepages|"
                     r"mlx5_core[\w.]*|isolcpus|nohz_full|mitigations|numa\w*|maxcpus|kexec\w*)(?:=.*)?")
OS = ("ID", "VERSION_ID", "PRETTY_NAME")
BOARD = ("sys_vendor", "product_name", "board_vendor", "board_name", "bios_vendor", "bios_version", "bios_date")
SERIALS = ("product_serial", "product_uuid", "board_serial", "board_asset_tag", "chassis_serial", "chassis_asset_tag")
# Lines of ours and of EAL's, behind what a system's log puts there.
LINE = re.compile(r"(?:^|\s)((?:net_rnic|rdmapmd|softrnic|EAL|ETHDEV|PCI_BUS): .*\S)")
NAME = re.compile(r"[A-Z0-9][A-Z0-9_]{2,40}")
EMPTY = re.compile(r"net_rnic: \S+:$")  # above each dump
FIRMWARE = re.compile(r"net_rnic: \S+: firmware ([\d.]+), board (\S+?),")
RECORD = re.compile(r"\d+,\d+,(\d+),[^;]*;(.*)")  # of /dev/kmsg
KERNEL = re.compile(r"(?i)dmar|amd-vi|iommu|\bvfio|smmu")

README = """\
What `rdmapmd-setup report` has found on a machine; see rdmapmd-setup(1).

report.json     the function, its place, IOMMU, kernel, memory, what `doctor` finds
config.txt      the function's configuration space in words
commands.cmds   commands that the driver had executed, with the answers, as devtools/trace/commands.py writes them
log.txt         lines of the driver and of EAL
kernel.txt      lines of the kernel that are about the function or the IOMMU

"""
HIDDEN = """\
Addresses, GUIDs, serial numbers and names of the machine are not in it: equal ones are the same <word> everywhere. In
commands they are zero, and a line says where ("# hidden in OFFSET+LENGTH"); of commands and registers that are not known
only the first 16 bytes are here.
"""
SHOWN = "ADDRESSES, GUIDS AND SERIAL NUMBERS OF THE SITE ARE IN IT, as --with-addresses was given.\n"


# ---- the site ----

def learn_site(host, site, function):
    """What of the machine must not be told."""
    for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname"):
        name = host.read(path) or ""
        for word in (name, name.partition(".")[0]):
            site.add_word("host", word)
    site.add_word("id", host.read("/etc/machine-id") or "")
    for name in SERIALS:
        text = host.read(f"/sys/class/dmi/id/{name}") or ""
        if any(c.isdigit() for c in text):
            site.add_word("serial", text)
    for name in host.names("/sys/class/net"):
        site.hide(host.read(f"/sys/class/net/{name}/address") or "")
    for device in host.names("/sys/class/infiniband"):
        for name in ("node_guid", "sys_image_guid"):
            site.hide(host.read(f"/sys/class/infiniband/{device}/{name}") or "")
    site.hide(host.read("/proc/net/fib_trie") or "")
    for line in (host.read("/proc/net/if_inet6") or "").splitlines():
        if re.match(r"[0-9a-f]{32} ", line):
            site.add("ip", bytes.fromhex(line[:32]))
    serial = config_space.serial_number(host.read_bytes(f"{function.path}/config") or b"")
    if serial is not None:
        site.add("guid", serial)


# ---- what is found ----

def sizes_of(host, function):
    """Of its BARs, without where they are."""
    found = {}
    for number, line in enumerate((host.read(f"{function.path}/resource") or "").splitlines()):
        words = [int(word, 16) for word in line.split()[:3]]
        if len(words) == 3 and words[1] > words[0]:
            found[number] = {"bytes": words[1] - words[0] + 1, "flags": f"0x{words[2]:x}"}
    return found


def of_function(host, state, function):
    found = status.of_function(host, state, function)
    found.pop("owner", None)
    found["attributes"] = {name: text for name in ATTRIBUTES if (text := host.read(f"{function.path}/{name}")) is not None}
    found["bars"] = sizes_of(host, function)
    found["is_vf"] = host.exists(f"{function.path}/physfn")
    found["siblings"] = [{"address": other.address, "id": other.id, "driver": other.driver} for other in function.siblings]
    return found


def of_kernel_driver(host, function):
    """What mlx5_core shows while it has the function."""
    found = []
    for device in host.names(f"{function.path}/infiniband"):
        folder = f"{function.path}/infiniband/{device}"
        found.append({name: host.read(f"{folder}/{name}") for name in ("fw_ver", "hca_type", "board_id", "hw_rev")})
    return found


def of_iommu(host, function):
    folder = f"{pci.GROUPS}/{function.group}"
    units = {name: {register: host.read(f"/sys/class/iommu/{name}/intel-iommu/{register}") for register in ("cap", "ecap", "version")}
             for name in host.names("/sys/class/iommu")}
    return {
        "on": vfio.Iommu(host).on, "in_firmware": vfio.Iommu(host).in_firmware, "units": units,
        "group_type": host.read(f"{folder}/type"),
        "reserved_regions": (host.read(f"{folder}/reserved_regions") or "").splitlines(),
    }


def of_machine(host):
    text = host.read("/etc/os-release") or ""
    release = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    cpu = dict(re.findall(r"(?m)^(model name|vendor_id|cpu family|model|stepping|microcode)\s*:\s*(.*)", host.read("/proc/cpuinfo") or ""))
    return {
        "release": host.read("/proc/sys/kernel/osrelease"), "version": host.read("/proc/sys/kernel/version"),
        "os": {name: release[name].strip('"') for name in OS if name in release},
        "cmdline": [word for word in vfio.Iommu(host).words if CMDLINE.fullmatch(word)],
        "page_bytes": os.sysconf("SC_PAGE_SIZE") if host.real else None,
        "machine": os.uname().machine if host.real else None,
        "cpu": cpu, "numa_nodes": [name for name in host.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)],
        "memory": (re.search(r"(?m)^MemTotal:\s*(.*)", host.read("/proc/meminfo") or "") or [None, None])[1],
        "board": {name: host.read(f"/sys/class/dmi/id/{name}") for name in BOARD},
        "modules": {name: host.read(f"/sys/module/{name}/version") for name in ("mlx5_core", "vfio", "vfio_pci", "vfio_iommu_type1")
                    if host.exists(f"/sys/module/{name}")},
        "hugepages": [status.of_pool(pool) for pool in hugepages.pools(host)],
    }


def kernel_lines(host, function):
    for line in host.kernel_log():
        match = RECORD.match(line)
        if match and (function.address in match[2] or KERNEL.search(match[2])):
            yield f"[{int(match[1]) / 1e6:12.6f}] {match[2]}"


# ---- the driver's log ----

class Log:
    """Commands, and lines that are not dumps of anything."""

    def __init__(self, lines, where):
        self.where = where
        if any(dumps.COMPACT.fullmatch(line) for line in lines):
            self.commands, self.unanswered = list(dumps.read_compact(lines)), 0
        else:
            pairs = list(dumps.pairs(lines))
            self.commands = [dumps.command_of(first, second) for first, second in pairs]
            self.unanswered = sum(second is None for _, second in pairs)
        for command in self.commands:
            # Of the log's choice.
            command.name = command.name if NAME.fullmatch(command.name) else "UNKNOWN"
        found = (LINE.search(line) for line in lines if not dumps.ROW.match(line))
        self.lines = [match[1] for match in found if match and not EMPTY.fullmatch(match[1])]

    def capabilities(self):
        """op_mod of each that was asked for and answered."""
        return sorted({int.from_bytes(command.input.bytes[6:8], "big") for command in self.commands
                       if command.opcode == 0x100 and command.output.bytes[:1] == b"\0"})

    def firmware(self):
        for line in self.lines:
            if match := FIRMWARE.match(line):
                return {"version": match[1], "board": match[2]}
        return None


def read_log(path):
    """Of the user's own choice, so not of the machine's tree."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            data = file.read(LOG_BYTES + 1)
    except (OSError, EOFError) as error:
        raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LOG_BYTES:
        raise Failed(f"{path}: more than {LOG_BYTES >> 20} MiB", "log without traffic: the dump has each packet's entries, too")
    return Log(data.decode(errors="replace").splitlines(), "log")


def probe_command(function, program, plugin):
    return [program, *(["-d", plugin] if plugin else []), "-a", function.address, "--in-memory", "--no-telemetry",
            "--log-level=pmd.net.rnic.*:debug", "--", "--disable-device-start", "--total-num-mbufs=2048"]


def probe(host, function, program, plugin):
    """Brings the function up and closes it: two resets, and the commands in between."""
    if function.driver != "vfio-pci":
        raise Failed(f"{function.address}: is on {function.driver or 'no driver'}, and the driver needs it on vfio-pci",
                     f"rdmapmd-setup bind {function.address} --apply")
    held = vfio.group_holders(host, function)
    if held:
        raise Failed(f"{function.address}: in use by {', '.join(processes.said(host, pid) for pid in held)}; "
                     "give that program's log with --log")
    code, text = host.output_of(probe_command(function, program, plugin), PROBE_SECONDS)
    log = Log(text.splitlines(), "probe")
    log.lines.append(f"rdmapmd-setup: {os.path.basename(program)} {f'was killed after {PROBE_SECONDS} s' if code is None else f'ended with {code}'}")
    return log


# ---- the archive ----

def hidden_line(way, spans):
    """Spans of one message, those within others left out."""
    kept = [span for span in spans if not any(other != span and other[0] <= span[0] and sum(span) <= sum(other) for other in spans)]
    return f"# hidden {way} " + " ".join(f"{at:x}+{size:x}" for at, size in kept)


def commands_text(site, log):
    """In the compact form, the last ones of which nobody has heard."""
    if site is not None:
        for command in log.commands:
            hide.learn(site, command)
    for number, command in enumerate(log.commands):
        hidden = hide.hide_command(site, command) if site is not None else ((), ())
        yield from dumps.write_compact(command)
        if number >= len(log.commands) - log.unanswered:
            yield "# no answer"
        for way, spans in zip(("in", "out"), hidden):
            if spans:
                yield hidden_line(way, spans)


def hide_values(site, data):
    if isinstance(data, dict):
        return {key: hide_values(site, value) for key, value in data.items()}
    if isinstance(data, list):
        return [hide_values(site, value) for value in data]
    return site.hide(data) if isinstance(data, str) else data


def collect(host, state, function, log):
    """Everything but the texts."""
    findings = Doctor(host, User(), 256 << 20).examine([function.address])
    return {
        "format": FORMAT,
        "function": of_function(host, state, function),
        "kernel_driver": of_kernel_driver(host, function),
        "firmware": log.firmware() if log else None,
        "capabilities": {"from": log.where, "op_mods": log.capabilities()} if log else None,
        "commands": len(log.commands) if log else 0,
        "iommu": of_iommu(host, function),
        "machine": of_machine(host),
        "findings": [{"id": finding.id, "level": finding.level, "where": finding.where} for finding in findings],
    }


def files(host, state, function, log, with_addresses):
    """{name: text}, and how many of which kind are hidden."""
    site = None if with_addresses else hide.Site()
    if site is not None:
        learn_site(host, site, function)
    made = {"commands.cmds": list(commands_text(site, log)) if log else ["# no log was given"]}
    made["log.txt"] = log.lines if log else []
    made["kernel.txt"] = list(kernel_lines(host, function))
    made["config.txt"] = list(config_space.lines(host.read_bytes(f"{function.path}/config") or b""))
    data = collect(host, state, function, log)
    if site is not None:
        # Twice: what one line shows to be an address stands in lines before it as well.
        for name in ("log.txt", "kernel.txt", "log.txt", "kernel.txt"):
            made[name] = [site.hide(line) for line in made[name]]
        data = hide_values(site, data)
        # The commands' names are a log's words, too.
        made["commands.cmds"] = [site.hide_known(line) if line.startswith("command ") else line for line in made["commands.cmds"]]
    texts = {name: "\n".join(lines) + "\n" for name, lines in made.items()}
    texts["report.json"] = json.dumps(data, indent=2) + "\n"
    texts["README"] = README + (SHOWN if site is None else HIDDEN)
    return dict(sorted(texts.items())), dict(sorted(site.counts.items())) if site is not None else {}


def packed(texts):
    """Nothing of whoever made it: no owner, no time, no name of a file beside it."""
    raw = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, text in texts.items():
            data = text.encode(errors="backslashreplace")
            entry = tarfile.TarInfo(f"{FOLDER}/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


def write(path, data):
    """A new file of the user's alone."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except FileExistsError:
        raise Failed(f"{path} already exists", "name another file with --output FILE") from None
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}", "name another file with --output FILE") from None


def default_name(function):
    return f"rdmapmd-report-{function.address.replace(':', '-')}.tar.gz"
