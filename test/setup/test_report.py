# SPDX-License-Identifier: BSD-3-Clause
"""rdmapmd-setup report: what is in the archive, and what of the site is not."""

import gzip
import json
import os
import re
import struct
import sys
import tarfile

import pytest

from machine import NIC, Machine

from rdmapmd_setup import dumps  # pylint: disable=wrong-import-order
from rdmapmd_setup.host import Failed, Host  # pylint: disable=wrong-import-order

FOLDER = f"/sys/bus/pci/devices/{NIC}"

# Of the site. Each is planted in more than one place, in more than one form.
MAC, VF_MAC, PEER_MAC = "b8599f3ad964", "0242ac1100f7", "0c42a1778899"
GUID, SWITCH_GUID = "b8599f03003ad964", "ec0d9a0300112233"
HOST, DOMAIN = "wolke7", "rz.example.org"
IPS = ("192.168.77.5", "10.20.30.40", "2001:db8:77::5", "fe80::ba59:9fff:fe3a:d964")
SERIALS = ("MT2024X12345", "CZJ94507XX", "9e1bd5c5-6a4c-4f02-9d0b-52a3e3a0b7c1", "7c5f0e8a-11d2-4b5c-8f00-93b6d1c2e3f4", "a1b2c3d4e5f60718293a4b5c6d7e8f90")


def colons(digits):
    return ":".join(re.findall("..", digits))


def packed_ip(text):
    import ipaddress  # pylint: disable=import-outside-toplevel
    return ipaddress.ip_address(text).packed


# ---- a log with dumps ----

def dumped(data):
    return [f"{at:03x}: {' '.join(word.hex() for word in struct.unpack('4s4s4s4s', data[at:at + 16]))}" for at in range(0, len(data), 16)]


def blocks(data):
    lines = []
    for at in range(16, len(data), 0x200):
        block = data[at:at + 0x200]
        lines += ["", "command block:", *dumped(block + bytes(0x240 - len(block)))]
    return lines


def command(opcode, name, question, answer):
    """Lines of the driver's dump; the answer may be missing."""
    question = struct.pack(">HHI", opcode, 0, question[0]) + question[1]
    entry = struct.pack(">IIQ", 0x07000000, len(question), 0) + question[:16].ljust(16, b"\0")
    both = []
    for way, data in (("INPUT", question), ("OUTPUT", answer)):
        if data is not None:
            whole = entry + (answer or b"")[:16].ljust(16, b"\0") + struct.pack(">QII", 0, len(answer or b""), 0)
            both += ["net_rnic: 0000:01:00.0:", f"dump command {name}({opcode:#x}) {way}", *dumped(whole), *blocks(data), ""]
    return both


def filled(size, **at):
    """Zeros but for bytes at offsets: at_10=b"..."."""
    data = bytearray(size)
    for name, value in at.items():
        offset = int(name.removeprefix("at_"), 16)
        data[offset:offset + len(value)] = value
    return bytes(data)


H = bytes.fromhex
GENERAL = bytes(16) + bytes(range(256)) * 16
VPORT = filled(0x110, at_34=b"\x05\xf2", at_38=H(SWITCH_GUID), at_40=H(GUID), at_48=H(GUID), at_106=H(MAC))


def separate(vport=VPORT):
    """The lines of each command."""
    text = HOST.encode().ljust(16, b"\0")
    path = {"at_38": H("fe80000000000000") + H(GUID), "at_4e": H(PEER_MAC)}
    return [
        command(0x104, "ENABLE_HCA", (0, bytes(8)), bytes(16)),
        command(0x100, "QUERY_HCA_CAP", (0, bytes(8)), GENERAL),
        command(0x100, "QUERY_HCA_CAP", (1, bytes(8)), GENERAL),
        command(0x101, "QUERY_ADAPTER", (0, bytes(8)), filled(0x110, at_30=SERIALS[0].encode(), at_100=b"MT_0000000012")),
        command(0x754, "QUERY_NIC_VPORT_CONTEXT", (0, bytes(8)), vport),
        command(0x755, "MODIFY_NIC_VPORT_CONTEXT", (0, filled(0x208, at_1e8=b"\0\0\0\2", at_1fa=H(MAC), at_202=H(VF_MAC))), bytes(16)),
        command(0x761, "SET_ROCE_ADDRESS", (0, filled(0x28, at_8=bytes(10) + b"\xff\xff" + packed_ip(IPS[0]), at_1a=H(MAC))), bytes(16)),
        command(0x503, "INIT2RTR_QP", (0, filled(0x108, **path)), bytes(16)),
        command(0x936, "SET_FLOW_TABLE_ENTRY", (0, filled(0x348, at_78=H(VF_MAC), at_80=H(MAC), at_a4=packed_ip(IPS[1]))), bytes(16)),
        command(0x805, "ACCESS_REG", (0, filled(0x48, at_0=b"\0\0\x60\1", at_8=text)), filled(0x50, at_10=text)),
        command(0x805, "ACCESS_REG", (1, filled(0x18, at_0=b"\0\0\x50\3", at_8=b"\0\1")), filled(0x20, at_14=b"\x27\x10")),
        # Of no known form, and an address where none belongs.
        command(0xb0b, "SOMETHING_NEW", (0, filled(0x38, at_8=H(PEER_MAC) + SERIALS[1].encode())), filled(0x40, at_12=H(VF_MAC))),
        command(0x200, "CREATE_MKEY", (0, filled(0x108, at_20=H(MAC), at_31=H(GUID))), bytes(16)),
        command(0x903, f"B8 {colons(MAC)}", (0, bytes(8)), bytes(16)),
        command(0x901, "MODIFY_TIR", (0, bytes(8)), None),
    ]


def commands(vport=VPORT):
    return [line for lines in separate(vport) for line in lines]


LINES = [
    "EAL: Detected CPU lcores: 16",
    f"Nov 22 11:00:01 {HOST}.{DOMAIN} testpmd[77]: EAL: Probe PCI driver: net_rnic (15b3:1017) device: {NIC} (socket 0)",
    f"net_rnic: {NIC}: firmware 16.35.2000, board MT_0000000012, {colons(MAC)}",
    f"net_rnic: {NIC}: the peer is {colons(PEER_MAC)}, no, MAC:{PEER_MAC.upper()}, {colons(VF_MAC).replace(':', '-')}",
    f"net_rnic: {NIC}: ip={IPS[0]},ip={IPS[2]}; gateway:{IPS[1]}. addr:{IPS[3]}%eth0 [{IPS[2]}]:4791",
    f"net_rnic: {NIC}: vf_token={SERIALS[3]}, via:{IPS[2]}, on enx{PEER_MAC} and rocex{SWITCH_GUID}.",
    f"net_rnic: {NIC}: node guid {':'.join(re.findall('....', GUID))} 0x{SWITCH_GUID} {colons(GUID)}",
    f"net_rnic: {NIC}: mac 00:00:00:00:00:00, then ff:ff:ff:ff:ff:ff, cable serial number: {SERIALS[0]}, board {SERIALS[1]}, file {SERIALS[4]}.txt",
    "EAL: " + os.path.join("/", "home", "alice", f"{HOST}.log") + f", /run/user/1000/dpdk/{HOST} cannot be opened",
    f"testpmd: nobody asked for this line of {HOST}",
]


def serial_number():
    """A configuration space with one, made of the address."""
    data = bytearray(4096)
    data[0:4], data[6], data[0x34] = H("b3151710"), 0x10, 0x60
    data[0x60:0x62], data[0x100:0x104] = b"\x10\0", struct.pack("<I", 0x3 | 1 << 16 | 0x180 << 20)
    data[0x104:0x10c] = H(GUID)[::-1]
    data[0x180:0x184], data[0x184:0x188] = struct.pack("<I", 0xd | 1 << 16), H("1f000000")
    return bytes(data)


@pytest.fixture
def machine(tmp_path):
    """With addresses wherever a machine has them."""
    made = Machine(tmp_path / "machine")
    for path, text in {
            "/proc/sys/kernel/hostname": HOST, "/proc/sys/kernel/domainname": DOMAIN, "/etc/hostname": f"{HOST}.{DOMAIN}",
            "/etc/machine-id": SERIALS[4], "/sys/class/dmi/id/product_serial": SERIALS[1], "/sys/class/dmi/id/product_uuid": SERIALS[2],
            "/sys/class/dmi/id/product_name": f"Server 9000 of {HOST}", "/sys/class/net/eth0/address": colons(VF_MAC),
            "/sys/class/infiniband/mlx5_0/node_guid": ":".join(re.findall("....", SWITCH_GUID)),
            "/proc/net/fib_trie": f"Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- {IPS[1]}\n        /32 host LOCAL",
            "/proc/net/if_inet6": f"{packed_ip(IPS[2]).hex()} 02 40 00 80 eth0",
            "/proc/cmdline": f"root=UUID={SERIALS[2]} ip={IPS[0]}::{IPS[1]}:255.255.255.0:{HOST} intel_iommu=on",
            "/proc/mounts": f"hugetlbfs /mnt/{HOST} hugetlbfs rw,pagesize=2M 0 0",
            "/proc/sys/kernel/osrelease": "6.1.0-26-amd64", "/proc/sys/kernel/version": f"#1 SMP root@{HOST}",
            "/etc/os-release": f'ID=debian\nPRETTY_NAME="Debian of {HOST}"',
            "/dev/kmsg": f"6,1,5140900,-;mlx5_core {NIC}: firmware version: 16.35.2000\n SUBSYSTEM=pci\n"
                         f"6,2,5140901,-;mlx5_core {NIC} eth0: {colons(PEER_MAC)} S/N {SERIALS[1]} at {IPS[3]}\n"
                         f"6,3,5140902,-;usb 1-1: SerialNumber: 1234\n6,4,5140903,-;DMAR: on {HOST}: IOMMU enabled",
            f"{FOLDER}/vpd": SERIALS[0], f"{FOLDER}/resource": "0x0 0x0 0x0\n0xe0000000 0xe1ffffff 0x14220c",
            f"{FOLDER}/max_link_width": "16", f"{FOLDER}/infiniband/mlx5_0/fw_ver": "16.35.2000"}.items():
        made.file(path, text)
    with open(made.at(f"{FOLDER}/config"), "wb") as file:
        file.write(serial_number())
    made.process(4711, f"on-{HOST}", "/dev/vfio/7")
    return made


def log_of(tmp_path, lines=None, name="run.log"):
    path = str(tmp_path / name)
    with (gzip.open if name.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(LINES[:2] + commands() + LINES[2:] if lines is None else lines) + "\n")
    return path


def unpacked(path):
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (0, 0, "", "", 0)
        return {os.path.basename(member.name): archive.extractfile(member).read().decode() for member in archive.getmembers()}


def report(machine, tmp_path, *words):
    output = str(tmp_path / "report.tar.gz")
    code, said, errors = machine.run("report", NIC, "--output", output, *words)
    assert code == 0 and not errors, said + errors
    return unpacked(output), said


def whole(files):
    """Text, text without anything between digits, and the bytes of commands."""
    text = "\n".join(files.values()).lower()
    payload = b"\n".join(message.bytes for command in dumps.read_lines(files["commands.cmds"].splitlines())
                         for message in (command.input, command.output))
    return text, re.sub(r"[\s:.-]", "", text), payload


def told(files):
    """Whatever of the site is there."""
    text, dense, payload = whole(files)
    addresses = [MAC, VF_MAC, PEER_MAC, GUID, SWITCH_GUID, *(packed_ip(ip).hex() for ip in IPS if ":" in ip)]
    return ([digits for digits in addresses if digits in dense or colons(digits) in text or H(digits) in payload] +
            [ip for ip in IPS if ip in text or packed_ip(ip) in payload] +
            [word for word in (HOST, DOMAIN, "alice", *SERIALS) if word.lower() in text or word.encode() in payload])


def test_no_address_of_the_site_is_in_the_archive(machine, tmp_path):
    files, said = report(machine, tmp_path, "--log", log_of(tmp_path))
    assert told(files) == [] and "hidden: " in said and said.count("mac") == 1, said
    with gzip.open(str(tmp_path / "report.tar.gz")) as raw:
        assert HOST.encode() not in raw.read()


def test_with_addresses_they_are(machine, tmp_path):
    """So the test above looks where something is."""
    files, said = report(machine, tmp_path, "--log", log_of(tmp_path), "--with-addresses")
    found = told(files)
    assert {MAC, VF_MAC, PEER_MAC, GUID, SWITCH_GUID, HOST, "alice", SERIALS[0], SERIALS[1], *IPS} <= set(found), found
    assert "nothing is hidden" in said and "ADDRESSES" in files["README"]


@pytest.mark.long
def test_each_place_hides_what_is_known_from_nowhere_else(machine, tmp_path):
    machine.remove("/sys/class/net/eth0/address")
    os.unlink(machine.at(f"{FOLDER}/config"))
    # A memory key has no address of the site: one is hidden there only as it is known.
    alone = [lines for lines in separate() if "CREATE_MKEY" not in lines[1]] + [[line] for line in LINES]
    assert len(alone) == 14 + len(LINES)
    for number, lines in enumerate(alone):
        output = tmp_path / f"{number}.tar.gz"
        code, _, errors = machine.run("report", NIC, "--log", log_of(tmp_path, lines), "--output", str(output))
        assert code == 0, errors
        assert told(unpacked(output)) == [], lines[:2]


def test_what_a_command_says_is_known_in_text(machine, tmp_path):
    """Where nothing shows that it is an address."""
    digits = "0c42a1010203"
    vport = filled(0x110, at_106=H(digits))
    log = log_of(tmp_path, command(0x754, "QUERY_NIC_VPORT_CONTEXT", (0, bytes(8)), vport) + [f"net_rnic: {NIC}: 0x0000{digits.upper()}"])
    files, _ = report(machine, tmp_path, "--log", log)
    assert digits not in whole(files)[1] and re.search(r": 0x0000<mac-\d+>\n", files["log.txt"]), files["log.txt"]


def test_equal_addresses_are_the_same_word_and_nobodys_stay(machine, tmp_path):
    files, _ = report(machine, tmp_path, "--log", log_of(tmp_path))
    log = files["log.txt"]
    own = re.search(r"board MT_0000000012, (<mac-\d+>)", log)[1]
    peer = re.search(r"the peer is (<mac-\d+>), no, MAC:(<mac-\d+>)", log)
    assert peer[1] == peer[2] != own and peer[1] in files["kernel.txt"]
    assert "mac 00:00:00:00:00:00, then ff:ff:ff:ff:ff:ff" in log and "nobody asked" not in log and "dump command" not in log


def test_a_zero_address_is_seen_to_be_zero(machine, tmp_path):
    """What a virtual function without an address shows must not look like one with."""
    zero, one = (log_of(tmp_path, commands(vport), name) for vport, name in ((filled(0x110, at_34=b"\x05\xf2"), "zero"), (VPORT, "one")))
    texts = []
    for log in (zero, one):
        files, _ = report(machine, tmp_path, "--log", log)
        os.unlink(tmp_path / "report.tar.gz")
        texts.append(re.search(r"(?s)command 754 .*?\n\n", files["commands.cmds"])[0])
    assert "# hidden out 38+18 104+8" in texts[1] and "# hidden" not in texts[0] and "30 00000000 05f20000" in texts[0]


def test_what_is_needed_is_there(machine, tmp_path):
    files, said = report(machine, tmp_path, "--log", log_of(tmp_path))
    data = json.loads(files["report.json"])
    assert sorted(files) == ["README", "commands.cmds", "config.txt", "kernel.txt", "log.txt", "report.json"]
    assert data["function"]["attributes"]["max_link_width"] == "16" and data["function"]["bars"]["1"]["bytes"] == 32 << 20
    assert data["firmware"] == {"version": "16.35.2000", "board": "MT_0000000012"}
    assert data["kernel_driver"][0]["fw_ver"] == "16.35.2000" and data["machine"]["cmdline"] == ["intel_iommu=on"]
    assert data["capabilities"] == {"from": "log", "op_mods": [0, 1]} and data["commands"] == 15
    assert data["iommu"]["on"] and "group-busy" in [finding["id"] for finding in data["findings"]]
    assert files["kernel.txt"].count("\n") == 3 and "usb" not in files["kernel.txt"]
    assert "060: 0x10 PCI Express: " in files["config.txt"] and "180: extended 0x0d ACS: 0001000d 0000001f\n" in files["config.txt"]
    assert "100: extended 0x03 serial number\n" in files["config.txt"]
    assert "command 901 MODIFY_TIR" in files["commands.cmds"] and files["commands.cmds"].count("# no answer") == 1
    assert "# no" not in said


def test_capabilities_and_known_registers_are_as_the_card_said(machine, tmp_path):
    files, _ = report(machine, tmp_path, "--log", log_of(tmp_path, name="run.log.gz"))
    path = tmp_path / "commands.cmds"
    path.write_text(files["commands.cmds"], encoding="utf-8")
    found = {(command.opcode, bytes(command.input.bytes[:16])): command for command in dumps.read(str(path))}
    assert len(found) == 15
    assert found[0x100, H("01000000000000010000000000000000")].output.bytes == GENERAL
    assert found[0x805, H("08050000000000010000500300000000")].output.bytes[0x14:0x16] == b"\x27\x10"
    assert found[0x101, H("01010000000000000000000000000000")].output.bytes[0x100:0x10d] == b"MT_0000000012"
    # Of the address in a place of its own the rest is there.
    assert found[0x200, H("02000000000000000000000000000000")].input.length == 0x110


def test_the_archive_of_a_report_is_a_log_too(machine, tmp_path):
    files, _ = report(machine, tmp_path, "--log", log_of(tmp_path))
    os.unlink(tmp_path / "report.tar.gz")
    path = tmp_path / "again.cmds"
    path.write_text(files["commands.cmds"], encoding="utf-8")
    again, _ = report(machine, tmp_path, "--log", str(path))
    assert json.loads(again["report.json"])["capabilities"]["op_mods"] == [0, 1]


def test_without_a_log_it_says_what_is_missing(machine, tmp_path):
    files, said = report(machine, tmp_path)
    assert told(files) == [] and "# no log" in said and "--probe-only" in said
    assert json.loads(files["report.json"])["capabilities"] is None
    os.unlink(tmp_path / "report.tar.gz")
    assert "was the dump of commands on" in report(machine, tmp_path, "--log", log_of(tmp_path, LINES))[1]


def test_an_empty_and_a_broken_machine_have_a_report(tmp_path):
    machine = Machine(tmp_path / "machine")
    for config in (b"", bytes(64), b"\xff" * 4096, os.urandom(256), bytes(0x34) + b"\x40" + bytes(11) + b"\1\x40" + bytes(30)):
        with open(machine.at(f"{FOLDER}/config"), "wb") as file:
            file.write(config)
        log = log_of(tmp_path, ["dump command X(0x100) INPUT", "000: 07000000", "dump command X(0x100) OUTPUT", "\x00\xff", "command block:"])
        report(machine, tmp_path, "--log", log)
        os.unlink(tmp_path / "report.tar.gz")


# ---- nothing is written to the function ----

OPENED = []


def watch(event, args):
    if event == "open" and OPENED:
        OPENED.append((str(args[0]), args[2]))


sys.addaudithook(watch)


def test_nothing_is_written_and_the_vpd_is_not_read(machine, tmp_path):
    log = log_of(tmp_path)
    OPENED.append(("", 0))
    try:
        report(machine, tmp_path, "--log", log)
        opened = OPENED[1:]
    finally:
        OPENED.clear()
    below = [(path, flags) for path, flags in opened if path.startswith(machine.root)]
    assert f"{machine.root}{FOLDER}/config" in [path for path, _ in below]
    assert [path for path, flags in below if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or path.endswith(("vpd", "resource0"))] == []
    assert machine.programs == []


def test_probe_only_runs_the_driver_once(machine, tmp_path):
    machine.remove("/proc/4711/fd/0")
    machine.says = (1, "\n".join(LINES[:2] + commands() + LINES[2:]))
    files, _ = report(machine, tmp_path, "--probe-only", "--plugin", "/opt/librte_net_rnic.so")
    assert told(files) == [] and "rdmapmd-setup: dpdk-testpmd ended with 1\n" in files["log.txt"]
    assert json.loads(files["report.json"])["capabilities"] == {"from": "probe", "op_mods": [0, 1]}
    assert len(machine.programs) == 1 and machine.programs[0][:5] == ["dpdk-testpmd", "-d", "/opt/librte_net_rnic.so", "-a", NIC]
    assert "--disable-device-start" in machine.programs[0]


@pytest.mark.parametrize("driver, holder, said", [("mlx5_core", False, "is on mlx5_core"), (None, False, "is on no driver"),
                                                  ("vfio-pci", True, "in use by 4711 (on-wolke7)")])
def test_probe_only_takes_the_function_from_nobody(machine, tmp_path, driver, holder, said):
    machine.driver(NIC, driver)
    if not holder:
        machine.remove("/proc/4711/fd/0")
    code, _, errors = machine.run("report", NIC, "--probe-only", "--output", str(tmp_path / "r.tar.gz"))
    assert code == 1 and said in errors and machine.programs == [] and not (tmp_path / "r.tar.gz").exists()


def test_a_program_that_does_not_end_is_killed(machine):
    assert Host().output_of(["sh", "-c", "echo not this; echo said >&2; exit 3"], 60) == (3, "said\n")
    # A busy machine may not come to say it.
    code, said = Host().output_of(["sh", "-c", "echo said >&2; exec sleep 600"], 0.2)
    assert code is None and said in ("", "said\n")
    with pytest.raises(Failed, match="no-such-program: No such file"):
        Host().output_of(["no-such-program"], 60)
    with pytest.raises(Failed, match="not below"):
        Host(machine.root).output_of(["true"], 60)


@pytest.mark.parametrize("words, said", [
    (("0000:09:00.0",), "no such function"), ((NIC, "--log", "/nowhere/log"), "/nowhere/log: No such file"),
    ((NIC, "--output", "/nowhere/r.tar.gz"), "/nowhere/r.tar.gz: No such file"), ((NIC, "--output", "there"), "there already exists")])
def test_failures_leave_nothing(machine, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("mine", encoding="utf-8")
    code, out, errors = machine.run("report", *words)
    assert code == 1 and not out and said in errors, errors
    assert (tmp_path / "there").read_text(encoding="utf-8") == "mine" and sorted(os.listdir(tmp_path)) == ["machine", "there"]


def test_the_default_name_and_json(machine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = machine.json("report", "01:00.0", "--log", log_of(tmp_path))
    assert data["archive"] == "rdmapmd-report-0000-01-00.0.tar.gz" and data["commands"] == 15
    assert data["hidden"]["host"] > 0 and os.stat(data["archive"]).st_mode & 0o777 == 0o600
