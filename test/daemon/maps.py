# SPDX-License-Identifier: BSD-3-Clause
"""What a driver has mapped for its device, put together from softrnicd's log; and what ours should have, by hand."""

import re

PAGE = 4096
K = 1024
# "NAME: DMA map IOVA SIZE RIGHTS". A virtual machine's ROMs come without a file, with more words: nobody reaches them.
LINE = re.compile(r"^softrnicd: (\S+): DMA (map|unmap) 0x([0-9a-f]+) 0x([0-9a-f]+) ([r-][w-])$", re.M)

# Of each device that is up, whatever it is used for.
DEVICE = (
    ("command queue", 4 * K, "rw"),
    ("command inputs, 64 mailbox blocks", 64 * K, "r-"),
    ("command outputs, 64 mailbox blocks", 64 * K, "rw"),
    ("64 pages for the firmware", 64 * PAGE, "rw"),
    ("event queue of the port, 256 entries", 256 * 64, "rw"),
    ("event queue of completions, 4096 entries", 4096 * 64, "rw"),
    ("event queue of queue pairs, 8192 entries", 8192 * 64, "rw"),
)
# Of each pair of queues with 512 descriptors.
QUEUES = (
    ("send queue", 512 * 64, "r-"),
    ("its completions", 512 * 64, "rw"),
    ("receive queue", 512 * 16, "r-"),
    ("its completions", 512 * 64, "rw"),
)
# Of all queues: a record of 64 bytes each, as many as fit.
RECORDS = (("doorbell records", 4 * K, "r-"),)


class Maps:
    """Disjoint ranges of one device, as its client says them."""

    def __init__(self, log, device):
        self.ranges = {}
        for name, what, iova, size, rights in LINE.findall(log):
            if name != device:
                continue
            start, length = int(iova, 16), int(size, 16)
            if what == "map":
                assert start % PAGE == 0 and length % PAGE == 0, f"no whole pages: 0x{iova} 0x{size}"
                assert start not in self.ranges, f"mapped twice: 0x{iova}"
                self.ranges[start] = (length, rights)
            else:
                assert self.ranges.get(start, (0, ""))[0] == length, f"unmapped, but never mapped: 0x{iova} 0x{size}"
                del self.ranges[start]

    def rows(self):
        """Sizes and rights, in order."""
        return sorted((length, rights) for length, rights in self.ranges.values())

    def merged(self):
        """The same with neighbours of equal rights as one: [(start, length, rights)], in order."""
        merged = []
        for start, (length, rights) in sorted(self.ranges.items()):
            if merged and merged[-1][0] + merged[-1][1] == start and merged[-1][2] == rights:
                merged[-1] = (merged[-1][0], merged[-1][1] + length, rights)
            else:
                merged.append((start, length, rights))
        return merged


def expected(table):
    return sorted((length, rights) for _, length, rights in table)
