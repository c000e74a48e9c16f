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

# What is shown: a name, what tshark says of such a packet, how many of them, and how the devices are addressed.
IPV4, IPV6_VLAN = {}, {"ipv6": 1, "vlan": 5}
SHOWN = (
    ("SEND with immediate, three bytes", ("(RC) - SEND Only with Immediate", "Pad Count: 1"), 1, IPV4),
    ("SEND that invalidates a key", ("(RC) - SEND Only with Invalidate", "Pad Count: 0"), 1, IPV4),
    ("the first packet of a WRITE", ("(RC) - RDMA WRITE First",), 1, IPV4),
    ("READ, over IPv6 in VLAN 5", ("(RC) - RDMA READ Request",), 1, IPV6_VLAN),
    ("its answer, of one byte", ("(RC) - RDMA READ response Only", "Pad Count: 3"), 1, IPV4),
    ("an atomic, and its answer", ("AtomicETH|ATOMICACKETH",), 2, IPV4),
    ("ACK", ("(RC) - Acknowledge", "Syndrome: 31, Ack"), 1, IPV4),
    ("NAK of a gap", ("PSN Sequence Error",), 1, IPV4),
    ("NAK for want of a receive", ("RNR Nak",), 1, IPV4),
    ("WRITE with immediate of an unreliable connection", ("(UC) - RDMA WRITE Only with Immediate", "Pad Count: 2"), 1, IPV4),
    ("a datagram", ("(UD) - SEND only (", "Pad Count: 1"), 1, IPV4),
    ("a datagram with immediate, over IPv6 in VLAN 5", ("(UD) - SEND only with Immediate", "Pad Count: 3"), 1, IPV6_VLAN),
)
# Lines of other layers that matter, and all of the packet's own.
LAYERS = re.compile(r"^(?:Ethernet|802\.1Q|Internet Protocol|User Datagram|InfiniBand)")
INSIDE = re.compile(r"^ +(?:ID:|\S.* = ID: |Total Length:|Payload Length:|Identification:|010\. .*Flags|Time to Live:"
                    r"|Hop Limit:|Differentiated|\.\.\.\. 0000 0000 .* = Traffic Class|.* = Flow Label|Checksum:|Length: )")
DRAWN = re.compile(r"(Destination Queue Pair: |Source Queue Pair: |Remote Key: |RKey: |Virtual Address: |Invariant CRC: "
                   r"|Packet Sequence Number: )\S+")


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


def dissected(options):
    """tshark's text of each packet of two devices that are addressed so."""
    with tempfile.TemporaryDirectory(prefix="rnic-capture-") as folder:
        path = os.path.join(folder, "kinds.pcap")
        subprocess.run([PROGRAM, "kinds=1", f"arrived={path}", *(f"{key}={value}" for key, value in options.items())],
                       stdout=subprocess.DEVNULL, check=True, timeout=100)
        said = subprocess.run(["tshark", "-n", "-V", "-r", path, *CHECKS], capture_output=True, text=True, check=True,
                              timeout=100).stdout
    return re.split(r"^Frame \d+: .*\n", said, flags=re.M)[1:]


def fits(packet, wanted):
    """Whether its text has each of them, or one of those with | between them."""
    return all(any(text in packet for text in texts.split("|")) for texts in wanted)


def shown():
    """The text between the marks."""
    packets = [(options, dissected(options)) for options in (IPV4, IPV6_VLAN)]
    text = ""
    for name, wanted, count, options in SHOWN:
        found = [packet for of, each in packets if of == options for packet in each if fits(packet, wanted)]
        text += f"\n{name[0].upper()}{name[1:]}:\n```\n" + "".join(cut(packet) for packet in found[:count]) + "```\n"
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
