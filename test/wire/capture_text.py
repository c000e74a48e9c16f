#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
The captures of doc/design/wire_format.md: packets of two of our devices, as tshark has them, cut to what is RoCEv2's.

Usage: test/wire/capture_text.py [--write]

Prints them, or puts them into the document between its marks. RDMAPMD_BUILD names the build folder; it has wire_capture.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.path.join(os.environ.get("RDMAPMD_BUILD", os.path.join(ROOT, "build")), "test", "wire", "wire_capture")
DOCUMENT = os.path.join(ROOT, "doc", "design", "wire_format.md")
BEGIN, END = "<!-- captures: test/wire/capture_text.py --write -->\n", "<!-- end of captures -->\n"
# UDP's checksum is 0 over IPv6 too (annex A17); IPv4's is looked at. What an application might have put into a payload is not
# asked for.
CHECKS = ["-o", "udp.ignore_ipv6_zero_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
for heuristic in ("smcr_infiniband", "smb_direct_infiniband", "rpcrdma_infiniband", "nvme_rdma", "lnet_ib", "iser_infiniband",
                  "eth_over_ib", "mellanox_eoib", "sdp_infiniband", "fc_infiniband", "drbd_rdma"):
    CHECKS += ["--disable-heuristic", heuristic]

# What is shown: a name, tshark's filter, and how the devices are addressed.
SHOWN = (
    ("SEND with immediate, three bytes", "infiniband.bth.opcode == 5 && infiniband.bth.padcnt == 1", {}),
    ("the first packet of a WRITE", "infiniband.bth.opcode == 6", {}),
    ("READ, over IPv6 in VLAN 5", "infiniband.bth.opcode == 12", {"ipv6": 1, "vlan": 5}),
    ("its answer, of one byte", "infiniband.bth.opcode == 16 && infiniband.bth.padcnt == 3", {}),
    ("an atomic, and its answer", "infiniband.bth.opcode == 19 || infiniband.bth.opcode == 18", {}),
    ("ACK", "infiniband.aeth.syndrome == 0x1f && infiniband.bth.opcode == 17", {}),
    ("NAK of a gap", "infiniband.aeth.syndrome == 0x60", {}),
    ("NAK for want of a receive", "infiniband.aeth.syndrome.opcode == 1", {}),
)
# Lines of other layers that matter, and all of the packet's own.
LAYERS = re.compile(r"^(?:Ethernet|802\.1Q|Internet Protocol|User Datagram|InfiniBand)")
INSIDE = re.compile(r"^ +(?:ID:|\S.* = ID: |Total Length:|Payload Length:|Identification:|010\. .*Flags|Time to Live:"
                    r"|Hop Limit:|Differentiated|\.\.\.\. 0000 0000 .* = Traffic Class|.* = Flow Label|Checksum:|Length: )")
DRAWN = re.compile(r"(Destination Queue Pair: |Remote Key: |Virtual Address: |Invariant CRC: |Packet Sequence Number: )\S+")


def cut(text):
    """The lines of one packet that are shown, with what is drawn anew each time left open."""
    lines, layer = [], None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            layer = line.split(",")[0] if LAYERS.match(line) else None
            if layer is not None:
                lines.append(line)
        elif layer == "InfiniBand" or (layer is not None and INSIDE.match(line)):
            if line.strip() and "Reserved" not in line:
                lines.append(DRAWN.sub(r"\1...", line))
    return "\n".join(lines) + "\n"


def shown():
    """The text between the marks."""
    text = ""
    with tempfile.TemporaryDirectory(prefix="rnic-capture-") as folder:
        for name, wanted, options in SHOWN:
            path = os.path.join(folder, "kinds.pcap")
            subprocess.run([PROGRAM, "kinds=1", f"arrived={path}", *(f"{key}={value}" for key, value in options.items())],
                           stdout=subprocess.DEVNULL, check=True, timeout=100)
            said = subprocess.run(["tshark", "-n", "-V", "-r", path, "-Y", wanted, *CHECKS], capture_output=True, text=True,
                                  check=True, timeout=100).stdout
            packets = re.split(r"^Frame \d+: .*\n", said, flags=re.M)[1:]
            count = 2 if "its answer" in name and "atomic" in name else 1
            text += f"\n{name[0].upper()}{name[1:]}:\n```\n" + "".join(cut(packet) for packet in packets[:count]) + "```\n"
    return text + "\n"


def document():
    with open(DOCUMENT, encoding="utf-8") as file:
        return file.read()


def written():
    """The document with the captures as they are now."""
    before, _, rest = document().partition(BEGIN)
    return before + BEGIN + shown() + END + rest.partition(END)[2]


def main():
    if sys.argv[1:] == ["--write"]:
        text = written()
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    elif sys.argv[1:]:
        print(__doc__.strip())
        return 0 if sys.argv[1] in ("--help", "-h") else 2
    else:
        print(shown(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
