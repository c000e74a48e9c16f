# SPDX-License-Identifier: BSD-3-Clause
"""A function's configuration space as sysfs shows it, in words: no more of it than is known to be of no site."""

NAMES = {0x01: "power management", 0x03: "VPD", 0x05: "MSI", 0x09: "vendor specific", 0x10: "PCI Express", 0x11: "MSI-X"}
EXTENDED = {0x01: "AER", 0x03: "serial number", 0x0b: "vendor specific", 0x0d: "ACS", 0x0e: "ARI", 0x0f: "ATS", 0x10: "SR-IOV",
            0x13: "PRI", 0x15: "resizable BAR", 0x17: "TPH", 0x18: "LTR", 0x19: "secondary PCI Express", 0x1b: "PASID",
            0x1e: "L1 substates", 0x1f: "PTM", 0x23: "DVSEC", 0x25: "data link feature", 0x26: "16 GT/s", 0x2a: "32 GT/s"}
# Bytes that are shown, from the capability's begin.
SHOWN = {0x01: 8, 0x10: 0x3c, 0x11: 12}
SHOWN_EXTENDED = {0x0d: 8, 0x0e: 8, 0x0f: 8, 0x10: 0x40, 0x13: 16, 0x15: 16, 0x1b: 8}
SERIAL_NUMBER = 0x03
END = 0x1000


def number(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def capabilities(data):
    """(extended, id, offset) of each; a ring in a broken one ends."""
    seen = set()
    at = data[0x34] & 0xfc if len(data) > 0x34 and number(data, 6, 2) & 0x10 else 0
    while 0x40 <= at < len(data) and at not in seen:
        seen.add(at)
        yield False, data[at], at
        at = data[at + 1] & 0xfc
    at = 0x100
    while 0x100 <= at <= len(data) - 4 and at not in seen and number(data, at, 4) not in (0, 0xffffffff):
        seen.add(at)
        yield True, number(data, at, 2), at
        at = number(data, at + 2, 2) >> 4 & 0xffc


def serial_number(data):
    """Eight bytes, as they are printed; None without."""
    for extended, what, at in capabilities(data):
        if extended and what == SERIAL_NUMBER and at + 12 <= len(data):
            return data[at + 4:at + 12][::-1]
    return None


def lines(data):
    """The header without its addresses, and each capability."""
    if len(data) < 0x40:
        yield "not readable"
        return
    yield (f"command 0x{number(data, 4, 2):04x} status 0x{number(data, 6, 2):04x} revision 0x{data[8]:02x} "
           f"header 0x{data[0x0e]:02x} interrupt pin {data[0x3d]}")
    if len(data) <= 0x40:
        yield "the rest is shown to root alone"
    for extended, what, at in capabilities(data):
        name = (EXTENDED if extended else NAMES).get(what, "another one")
        shown = data[at:at + (SHOWN_EXTENDED if extended else SHOWN).get(what, 0)]
        words = " ".join(f"{number(shown, i, 4):08x}" for i in range(0, len(shown), 4))
        yield f"{at:03x}: {'extended ' if extended else ''}0x{what:02x} {name}{': ' if words else ''}{words}"
