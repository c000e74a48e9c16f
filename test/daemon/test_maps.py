# SPDX-License-Identifier: BSD-3-Clause
"""The server's map table equals one written by hand: what the device is to read it may read, what it is to write it may
write, to the page of 4 KiB, and there is nothing else."""

import pytest

from daemon.maps import DEVICE, PAGE, QUEUES, RECORDS, Maps, expected
from daemon.softrnicd import Softrnicd, until
from e2e.testpmd import LEAST, Testpmd, check_exact, forward

MBUFS = 4096
# Without hugepages an mbuf crosses no page, and two do not fit into one; the pool's memory begins within a page.
POOL = (("mempool", (MBUFS + 1) * 4096, "rw"),)
DEVICES = ("name=a,wire=pair:cable", "name=b,wire=pair:cable")


def table(queues):
    return expected(DEVICE + RECORDS + POOL + queues * QUEUES)


@pytest.mark.parametrize("queues", [1, 2])
def test_the_table_is_as_written_by_hand(queues):
    with Softrnicd(DEVICES, log_level="debug") as daemon:
        with Testpmd(daemon.vdevs(), eal=("--no-huge", "-m", "256"), mbufs=MBUFS,
                     args=[f"--rxq={queues}", f"--txq={queues}", "--rxd=512", "--txd=512"]) as testpmd:
            testpmd.prompt()
            for port, device in enumerate("ab"):
                testpmd.wait_link(port, "up")
                assert Maps(daemon.text(), device).rows() == table(queues)
            before = [Maps(daemon.text(), device).ranges for device in "ab"]
            check_exact(forward(testpmd, least=LEAST))
            # Traffic maps nothing, and takes nothing away; nor do queues that come again.
            assert [Maps(daemon.text(), device).ranges for device in "ab"] == before
            testpmd.stop_ports()
            testpmd.do("port start all")
            for port, device in enumerate("ab"):
                testpmd.wait_link(port, "up")
                assert Maps(daemon.text(), device).rows() == table(queues)
            testpmd.quit()
        until(lambda: daemon.text().count("disconnected") == 2, "end of the sessions")
        for device in "ab":
            assert not Maps(daemon.text(), device).ranges
        daemon.stop()


def lines(*maps):
    return "".join(f"softrnicd: a: DMA map 0x{iova:x} 0x{size:x} {rights}\n" for iova, size, rights in maps)


def test_a_page_too_many_is_found():
    good, at = [], 1 << 30
    for size, rights in table(1):
        good.append((at, size, rights))
        at += size + 4096
    assert Maps(lines(*good), "a").rows() == table(1)
    size, rights = good[0][1:]
    bad = (
        [*good, (at, 4096, "r-")],
        [*good, (at, 4096, "rw")],
        [(good[0][0], size + 4096, rights), *good[1:]],
        [(good[0][0], size, "rw" if rights == "r-" else "r-"), *good[1:]],
        good[1:],
    )
    for spoilt in bad:
        assert Maps(lines(*spoilt), "a").rows() != table(1)


def test_a_page_too_many_is_found_among_pages():
    """As a virtual machine's IOMMU has them: each page by itself, in any order."""
    def merged(pages):
        return sorted((length, rights) for _, length, rights in Maps(lines(*pages), "a").merged())

    pages, at = [], 1 << 30
    for size, rights in table(1):
        pages += [(start, PAGE, rights) for start in range(at, at + size, PAGE)]
        at += size + PAGE
    pages.reverse()
    assert merged(pages) == table(1)
    last = at - PAGE
    # Behind the last one, elsewhere, with other rights; one that is not there.
    for spoilt in ([*pages, (last, PAGE, "rw")], [*pages, (last, PAGE, "r-")], [*pages, (at, PAGE, "r-")],
                   [(pages[0][0], PAGE, "r-" if pages[0][2] == "rw" else "rw"), *pages[1:]], pages[1:]):
        assert merged(spoilt) != table(1)
