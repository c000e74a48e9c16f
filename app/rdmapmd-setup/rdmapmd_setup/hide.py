# SPDX-License-Identifier: BSD-3-Clause
"""
What a report does not say: addresses of the site. Of commands those bytes are hidden that hold one by their layout, and all
that nothing is known of; of text what looks like an address; and whatever has been found to be one, in any form, anywhere.
"""

import ipaddress
import re

# ---- text ----

HEX = "[0-9a-fA-F]"
PAIRS = re.compile(rf"(?<!{HEX}){HEX}{{2}}([:-]){HEX}{{2}}(?:\1{HEX}{{2}}){{4,}}(?!{HEX})")  # a MAC, a GUID, InfiniBand's
DOTTED = re.compile(rf"(?<![\w.]){HEX}{{4}}\.{HEX}{{4}}\.{HEX}{{4}}(?![\w.])")
FOURS = re.compile(rf"(?<!{HEX}){HEX}{{4}}(?::{HEX}{{4}}){{3}}(?!{HEX}|:{HEX})")
NAMED = re.compile(rf"(?<![0-9a-z])((?:en|wl|ib|roce|iwarp)x)({HEX}{{16}}|{HEX}{{12}})(?!{HEX})")  # interfaces, as udev names them
UUID = re.compile(rf"(?<!{HEX}){HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}(?!{HEX})")
IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)")
COLONS = re.compile(rf"{HEX}*:{HEX}*:[0-9a-fA-F:.]*")
SERIAL = re.compile(r"(?i)\b(serial(?:[ _]?(?:number|no\.?))?|s/n|sn)(\s*[:=]\s*|\s+)([A-Za-z0-9][\w.-]*\d[\w.-]*)")
HOME = re.compile(r"(/(?:home|run/user)/)[^/\s:'\",]+")

NOBODYS = {"mac": {bytes(6), b"\xff" * 6}, "guid": {bytes(8), b"\xff" * 8}, "ip": {bytes(4), b"\xff" * 4, bytes(16)}}
MIDDLES = (b"\xff\xfe", b"\x03\x00")  # of a GUID that is made of a MAC: the standard's, and Mellanox's


def of_nobody(kind, data):
    """The same at every site."""
    if data in NOBODYS.get(kind, ()):
        return True
    if kind == "ip":
        address = ipaddress.ip_address(data)
        return address.is_loopback or address.is_unspecified or address.is_multicast
    return kind == "mac" and bool(data[0] & 1)


def forms(kind, data):
    """How an address is written."""
    digits = data.hex()
    if kind == "ip":
        # With points or colons it is found by itself.
        return {digits} if len(data) == 16 else set()
    pairs, fours = re.findall("..", digits), re.findall("....", digits)
    return {digits, ":".join(pairs), "-".join(pairs), " ".join(pairs), ".".join(fours), ":".join(fours), " ".join(fours)}


def relatives(kind, data):
    """Addresses that are made of one."""
    if kind == "mac":
        for middle in MIDDLES:
            yield "guid", data[:3] + middle + data[3:]
            yield "guid", bytes([data[0] ^ 2]) + data[1:3] + middle + data[3:]
    elif kind == "guid" and data[3:5] in MIDDLES:
        yield "mac", data[:3] + data[5:]


class Site:
    """What is known of it, and what stands for it: the same word for the same address, so that equal ones are seen to be."""

    def __init__(self):
        self.words = {}  # {text in lower case: what stands for it}
        self.bytes = {}  # {address: what stands for it}
        self.numbers = {}  # {what: what stands for it}
        self.counts = {}  # {kind: how many}
        self.pattern = None

    def name_of(self, kind, what):
        if what not in self.numbers:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.numbers[what] = f"<{kind}-{self.counts[kind]}>"
        return self.numbers[what]

    def add_word(self, kind, text):
        """A name or a number as it is written."""
        text = text.strip().lower()
        if len(text) > 2 and text not in ("localhost", "(none)", "none") and text not in self.words:
            self.words[text] = self.name_of(kind, text)
            self.pattern = None

    def add(self, kind, data):
        """An address: in commands, and in text whichever way it is written there. False: it is nobody's."""
        data = bytes(data)
        if of_nobody(kind, data):
            return False
        if data not in self.bytes:
            self.pattern = None
            for more, other in ((kind, data), *relatives(kind, data)):
                if other not in self.bytes:
                    self.bytes[other] = self.name_of(more, other)
                    for form in forms(more, other):
                        self.words.setdefault(form, self.bytes[other])
        return True

    # Text

    def hide(self, text):
        text = UUID.sub(lambda match: self.name_of("uuid", match[0].lower()), self.hide_known(text))
        text = PAIRS.sub(lambda match: self.hidden("guid" if len(match[0]) == 23 else "mac", match[0]), text)
        text = DOTTED.sub(lambda match: self.hidden("mac", match[0]), text)
        text = NAMED.sub(lambda match: match[1] + self.hidden("guid" if len(match[2]) == 16 else "mac", match[2]), text)
        text = COLONS.sub(lambda match: self.hidden_ipv6(match[0]), text)
        text = FOURS.sub(lambda match: self.hidden("guid", match[0]), text)
        text = IPV4.sub(lambda match: self.hidden_ip(match[0]), text)
        text = SERIAL.sub(lambda match: match[1] + match[2] + self.name_of("serial", match[3].lower()), text)
        return HOME.sub(r"\1<user>", text)

    def hide_known(self, text):
        if self.pattern is None:
            # Longer ones first: a name with its domain before the name. Long ones within words, too.
            words = sorted(self.words, key=len, reverse=True)
            within = "|".join(re.escape(word) for word in words if len(word) > 4) or "(?!)"
            alone = "|".join(re.escape(word) for word in words if len(word) <= 4) or "(?!)"
            self.pattern = re.compile(rf"{within}|(?<!\w)(?:{alone})(?!\w)", re.I)
        return self.pattern.sub(lambda match: self.words[match[0].lower()], text) if self.words else text

    def hidden(self, kind, text):
        data = bytes.fromhex(re.sub("[:.-]", "", text))
        return self.bytes[data] if self.add(kind, data) else text

    def hidden_ip(self, text):
        try:
            data = ipaddress.ip_address(text).packed
        except ValueError:
            return text
        return self.bytes[data] if self.add("ip", data) else text

    def hidden_ipv6(self, text):
        """The longest part of it that is an address."""
        ends = sorted({0, len(text), *(end for match in re.finditer("[:.]", text) for end in match.span())})
        parts = sorted(((start, end) for start in ends for end in ends if end - start > 2), key=lambda part: part[0] - part[1])
        for start, end in parts[:1000]:
            part = text[start:end]
            if part.count(":") > 1 and (said := self.hidden_ip(part)) != part:
                return text[:start] + said + text[end:]
        return text

    # Commands

    def hide_in(self, data):
        """Known addresses in a bytearray, each made zero; where they were. Those that are found anywhere by chance are left."""
        gone = []
        for known in self.bytes:
            at = data.find(known) if sum(byte != 0 for byte in known) > 3 and len(known) > 4 else -1
            while at >= 0:
                data[at:at + len(known)] = bytes(len(known))
                gone.append((at, len(known)))
                at = data.find(known)
        return gone


# ---- commands ----

END = 0x100000
REGISTERS = (0x5003, 0x5004, 0x5006, 0x5007, 0x5008, 0x5041, 0x7004)  # PMTU PTYS PAOS PFCC PPCNT PCMR HOST_ENDIANNESS


def within(offset, *spans):
    return tuple((offset + at, size) for at, size in spans)


VPORT = ((0x28, 0x18), (0xf4, 8), (0x100, END))  # GUIDs, the permanent address, a list
ROCE_ADDRESS = ((0x00, 0x10), (0x12, 6))
PATH = ((0x06, 2), (0x10, 0x10), (0x26, 6))  # rlid, rgid_rip, rmac
QP = within(0x18, *within(0x18, *PATH), *within(0x44, *PATH), (0xa8, 4))  # and the Q_Key
HEADERS = ((0x00, 6), (0x08, 6), (0x20, 0x20))  # smac, dmac, IP addresses
# The outer headers, then what is not a queue's or a port's number, among it the inner headers.
ENTRY = within(0x80, *HEADERS, (0x48, 0x1b8))
REST = ((0x10, END),)

# All of these may be told: numbers of objects, sizes, states, addresses of memory.
PLAIN = {
    0x100, 0x102, 0x103, 0x104, 0x105, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x200, 0x201, 0x202, 0x203, 0x301, 0x302, 0x303,
    0x400, 0x401, 0x402, 0x403, 0x501, 0x751, 0x750, 0x770, 0x771, 0x772, 0x773, 0x800, 0x801, 0x802, 0x803, 0x80d, 0x816,
    0x817, 0x82b, *range(0x900, 0x910), *range(0x912, 0x91a), 0x92f, 0x930, 0x931, 0x932, 0x933, 0x934, 0x935, 0x938, 0x93c,
}
# opcode: (what is hidden of the input, of the output)
HIDDEN = {
    0x101: ((), ((0x30, 0xd0),)),  # QUERY_ADAPTER: what the vendor of the board has put there
    0x754: ((), within(0x10, *VPORT)),
    0x755: (within(0x100, *VPORT), ()),
    0x760: ((), within(0x10, *ROCE_ADDRESS)),
    0x761: (within(0x10, *ROCE_ADDRESS), ()),
    0x50b: ((), QP),
    0x829: (((0x18, END),), ()),  # SET_L2_TABLE_ENTRY
    0x936: (ENTRY, ()),
    0x937: ((), ENTRY),
    **{opcode: (QP, ()) for opcode in (0x500, 0x502, 0x503, 0x504, 0x505, 0x507, 0x508, 0x50a, 0x50c, 0x50e, 0x511)},
}


def hidden_of(command):
    """Spans (offset, length) of the input and of the output."""
    opcode = command.opcode
    if opcode == 0x805:  # ACCESS_REG
        register = int.from_bytes(command.input.bytes[0x0a:0x0c], "big")
        return ((), ()) if register in REGISTERS else (REST, REST)
    if opcode in PLAIN:
        return (), ()
    return HIDDEN.get(opcode, (REST, REST))


def learn(site, command):
    """Addresses that a command says, as they may stand elsewhere, too."""
    for opcode, message, offset in ((0x754, command.output, 0x10), (0x755, command.input, 0x100)):
        if command.opcode == opcode:
            learn_vport(site, message.bytes[offset:])
    if command.opcode == 0x761:
        gid = command.input.bytes[0x10:0x20]
        learn_bytes(site, "ip", gid[12:] if gid.startswith(bytes(10) + b"\xff\xff") else gid)
        learn_bytes(site, "mac", command.input.bytes[0x22:0x28])


def learn_vport(site, context):
    for at in (0x28, 0x30, 0x38):
        learn_bytes(site, "guid", context[at:at + 8])
    lists_vlans = context[0xf0:0xf1] and context[0xf0] & 7 == 2
    for at in (0xf6, *(() if lists_vlans else range(0x102, len(context), 8))):
        learn_bytes(site, "mac", context[at:at + 6])


def learn_bytes(site, kind, data):
    """What the log has lost is no address."""
    if len(data) in {"mac": (6,), "guid": (8,), "ip": (4, 16)}[kind]:
        site.add(kind, data)


def hide_command(site, command):
    """The bytes made zero; returns the spans (offset, length) in which some were not, of the input and of the output."""
    found = []
    for message, spans in zip((command.input, command.output), hidden_of(command)):
        data, gone = bytearray(message.bytes), []
        for at, size in spans:
            size = min(size, len(data) - at)
            if size > 0 and any(data[at:at + size]):
                data[at:at + size] = bytes(size)
                gone.append((at, size))
        gone += site.hide_in(data)
        message.bytes = bytes(data)
        found.append(sorted(gone))
    return found
