# SPDX-License-Identifier: BSD-3-Clause
"""
A judge of a reliable connection, by its packets alone: those that each end sent, before the cable, and those that arrived at
the other, in the order of time. IBTA vol. 1, 9.7: what a responder answers to each PSN, and where a requester goes on after
an answer, or without one. What breaks a rule is a Verdict; the counts that the packets stand for are for the caller to compare.

Of a cable between processes, nobody knows which of the packets that have arrived an end has looked at when it sends one. It looks
at them in their order, and may be late: what it sends must fit what it knew after some of them.
"""

import collections
import copy

from wire import judges_frames as frames
from wire.judges_frames import ACK, NAK, PSNS, RNR, ahead


class Verdict(AssertionError):
    """A rule was broken."""


def psns_of(packet, mtu):
    """How many PSNs a request takes."""
    if packet.name != "READ_REQUEST":
        return 1
    return max(1, -(-frames.dma_length(packet) // mtu))


def round_of(packet):
    """Of the devices' polls, the one in which it was seen: both have their turn in each (ROUND_US of capture.c)."""
    return packet.time // 10_000_000


class Responder:
    """What arrived at one end as requests, and what it answered."""

    def __init__(self, psn, mtu, dies, late=False):
        self.expected, self.mtu = psn, mtu
        self.late = late  # it may have its turn later than what arrives
        self.dies = dies  # at some time that is not seen: its own requests may have failed
        self.messages = 0
        self.gap = False
        self.owed = None  # the PSN of a NAK that is due,
        self.since = 0  # since when
        self.dead = False
        self.reads, self.atomics = [], []  # [(PSN, how many)], and PSNs
        self.taken = []  # (PSN, what was before, what was counted then) of requests, should they have been refused
        self.count = collections.Counter()

    def arrives(self, packet):
        if self.dead:
            return
        # It has had its turn since then, and nothing else to say first.
        if not self.late and self.owed is not None and round_of(packet) > self.since:
            if not self.dies:
                raise Verdict(f"nothing told of the gap at PSN {self.owed}")
            self.dead = True
            return
        distance = ahead(packet.psn, self.expected)
        if distance > 0:
            self.count["out_of_sequence"] += 1
            if not self.gap:
                self.count["gaps"] += 1
                self.gap, self.owed, self.since = True, self.expected, round_of(packet)
        elif distance < 0:
            self.count["duplicate_request"] += 1
        else:
            self._take(packet)

    def _take(self, packet):
        # A packet that came late after all, before its gap was told of. Cables do not change the order.
        if self.owed is not None and self.late:
            raise Verdict(f"nothing told of the gap at PSN {self.owed}")
        if self.owed is not None:
            self.count["closed"] += 1
        before = (self.expected, self.messages, len(self.reads), len(self.atomics))
        self.taken.append((packet.psn, before, self.count.copy()))
        self.gap, self.owed = False, None
        psns = psns_of(packet, self.mtu)
        self.expected = (self.expected + psns) % PSNS
        if "_MIDDLE" not in packet.name and "_FIRST" not in packet.name:
            self.messages = (self.messages + 1) % PSNS
        if packet.name == "READ_REQUEST":
            self.reads.append((packet.psn, psns))
            self.count["rx_read_requests"] += 1
        elif packet.name in ("COMPARE_SWAP", "FETCH_ADD"):
            self.atomics.append(packet.psn)
            self.count["rx_atomic_requests"] += 1
        elif packet.name.startswith(("WRITE_FIRST", "WRITE_ONLY")):
            self.count["rx_write_requests"] += 1

    def _refused(self, psn):
        """The request with that PSN, taken as far as one could see, was not; what came behind it was out of sequence."""
        last = len(self.taken) - 1
        while last >= 0 and self.taken[last][0] != psn:
            last -= 1
        if last < 0 or ahead(self.expected, psn) <= 0:
            raise Verdict(f"a refusal of PSN {psn}, which did not come")
        _, before, count = self.taken[last]
        count = count.copy()
        for name in ("out_of_sequence", "duplicate_request"):
            count[name] = self.count[name]
        count["out_of_sequence"] += len(self.taken) - 1 - last
        del self.taken[last:]
        self.expected, self.messages, reads, atomics = before
        del self.reads[reads:], self.atomics[atomics:]
        self.count = count
        self.gap, self.owed = True, None

    def answers(self, packet):
        self.since = round_of(packet)
        if packet.name == "ACKNOWLEDGE":
            self._acknowledges(packet)
        elif packet.name == "ATOMIC_ACKNOWLEDGE":
            if packet.psn not in self.atomics:
                raise Verdict(f"the answer of an atomic that was not asked for: PSN {packet.psn}")
        elif not any(0 <= ahead(packet.psn, psn) < count for psn, count in self.reads):
            raise Verdict(f"the data of a READ that was not asked for: PSN {packet.psn}")

    def knows(self, packet):
        """Whether it can answer that now, by what it has looked at."""
        if packet.name == "ATOMIC_ACKNOWLEDGE":
            return packet.psn in self.atomics
        if packet.name != "ACKNOWLEDGE":
            return any(0 <= ahead(packet.psn, psn) < count for psn, count in self.reads)
        if packet.kind == ACK:
            return packet.psn == (self.expected - 1) % PSNS
        if packet.kind == NAK and packet.value == 0:
            return packet.psn == self.owed
        return any(psn == packet.psn for psn, _, _ in self.taken) and ahead(self.expected, packet.psn) > 0

    @staticmethod
    def may_repeat(_):
        """It says nothing of itself."""
        return False

    def _acknowledges(self, packet):
        if packet.kind == ACK:
            if packet.psn != (self.expected - 1) % PSNS:
                raise Verdict(f"ACK of PSN {packet.psn}, but {self.expected} is expected")
        elif packet.kind == NAK and packet.value == 0:
            if packet.psn != self.owed:
                raise Verdict(f"NAK of PSN {packet.psn}, but {self.owed} is what a gap owes")
            self.count["naks"] += 1
            self.owed = None
        elif packet.kind == RNR:
            self._refused(packet.psn)
            self.count["out_of_buffer"] += 1
        elif packet.kind == NAK:
            self._refused(packet.psn)
            self.dead = True
        else:
            raise Verdict(f"syndrome {packet.syndrome:#x}")
        if packet.headers[frames.AETH] & 0xffffff != self.messages:
            raise Verdict(f"MSN {packet.headers[frames.AETH] & 0xffffff}, but {self.messages} messages are complete")

    def end(self):
        if self.owed is not None and not self.dead:
            raise Verdict(f"nothing told of the gap at PSN {self.owed}")
        if self.count["gaps"] != self.count["naks"] + self.count["closed"]:
            raise Verdict(f"not one NAK for each gap: {self.count}")


class Requester:
    """What one end sent as requests, and what arrived as answers."""

    def __init__(self, psn, mtu, retries):
        self.una = self.next = self.high = psn
        self.mtu, self.retries = mtu, retries
        self.asked = []  # [(PSN, how many)] of READs and atomics without an answer
        self.gone_back = False  # for this una
        self.waits = False  # for the peer to have a receive
        self.tries = 0  # since an answer brought anything
        self.dead = False
        self.count = collections.Counter()

    def sends(self, packet):
        if self.dead:
            raise Verdict(f"{packet.name} behind an error")
        if self.waits:
            self.waits = self.gone_back = False
        if packet.psn != self.next:
            self._timed_out(packet)
        psns = psns_of(packet, self.mtu)
        # What is left of a READ, asked for again, is still that READ.
        if packet.name in ("READ_REQUEST", "COMPARE_SWAP", "FETCH_ADD") and not any(
                ahead(packet.psn, psn) >= 0 and ahead(psn + count, packet.psn) > 0 for psn, count in self.asked):
            self.asked.append((packet.psn, psns))
        self.next = (packet.psn + psns) % PSNS
        if ahead(self.next, self.high) > 0:
            self.high = self.next

    def knows(self, packet):
        """Whether that comes next, by the answers that it has looked at."""
        return packet.psn == self.next

    def may_repeat(self, packet):
        """Whether that is what it sends when no answer came."""
        return packet.psn == self.una

    def _timed_out(self, packet):
        if packet.psn != self.una or ahead(self.next, self.una) < 0:
            raise Verdict(f"{packet.name} with PSN {packet.psn}: neither {self.next}, which is next, nor {self.una}, "
                          "the oldest without an answer")
        self.count["local_ack_timeout_err"] += 1
        self.gone_back = False
        self._try()

    def _try(self):
        self.tries += 1
        if self.tries > self.retries:
            raise Verdict(f"{self.tries} tries, with {self.retries} allowed")

    def arrives(self, packet):
        """Old ones, and those of what was never sent, are nothing."""
        if self.dead or ahead(packet.psn, self.una) < 0 or ahead(packet.psn, self.high) >= 0:
            return
        if packet.name != "ACKNOWLEDGE":
            if self._cover(packet.psn):
                self._advance((packet.psn + 1) % PSNS)
            else:
                self._implied()
        elif not self._cover((packet.psn + (packet.kind == ACK)) % PSNS):
            self._implied()
        elif packet.kind == RNR:
            self.count["rnr_nak_retry_err"] += 1
            self.next, self.waits, self.gone_back = self.una, True, True
        elif packet.kind == NAK and packet.value == 0:
            self.count["packet_seq_err"] += 1
            self._back()
        elif packet.kind == NAK:
            self.dead = True

    def _implied(self):
        if not self.gone_back:
            self.count["implied_nak_seq_err"] += 1
        self._back()

    def _back(self):
        """From now on the oldest without an answer is next: once for each."""
        if self.gone_back:
            return
        self.gone_back = True
        self.next = self.una
        if self.tries == self.retries:
            self.dead = True
        else:
            self._try()

    def _cover(self, psn):
        """All before it is acknowledged, up to what has no answer yet; is it all?"""
        if ahead(psn, self.una) <= 0:
            return True
        for first, _ in self.asked:
            if ahead(psn, first) > 0:
                if ahead(first, self.una) > 0:
                    self._advance(first)
                return False
        self._advance(psn)
        return True

    def _advance(self, una):
        self.una = una
        self.tries = 0
        self.gone_back = self.waits = False
        self.asked = [(psn, count) for psn, count in self.asked if ahead(psn + count, una) > 0]
        # It waited to be repeated, and need not be.
        if ahead(self.una, self.next) > 0:
            self.next = self.una

    def end(self, in_error):
        if not in_error and self.una != self.high:
            raise Verdict(f"PSN {self.una} has no answer at the end")


class Late:
    """A requester or responder that may look at what has arrived later: as late as what it sends lets one think."""

    def __init__(self, of):
        self.of = of
        self.arrived = collections.deque()
        self.arrives = self.arrived.append

    def _looks(self, packet):
        """At so much that it knows what it sends, or else repeats what had no answer; if neither can be, at nothing."""
        for fits in ("knows", "may_repeat"):
            trial, count = copy.copy(self.of), 0
            vars(trial).update({name: copy.copy(value) for name, value in vars(trial).items()})
            try:
                while not getattr(trial, fits)(packet):
                    trial.arrives(self.arrived[count])
                    count += 1
            except (IndexError, Verdict):
                continue
            self.of = trial
            for _ in range(count):
                self.arrived.popleft()
            return

    def sends(self, packet):
        self._looks(packet)
        self.of.sends(packet)

    def answers(self, packet):
        self._looks(packet)
        self.of.answers(packet)

    def end(self, *of):
        """It has looked at all of it in the end."""
        while self.arrived:
            self.of.arrives(self.arrived.popleft())
        self.of.end(*of)

    @property
    def count(self):
        return self.of.count


def judge(events, first, second, told, late=False):
    """
    The counts of both ends, each as its own counters name them. `events`: packets in the order of time; `first` and `second`:
    addresses of the ends; `told`: what the program says of them; `late`: the ends may look at what arrives later.
    """
    wrap = Late if late else lambda of: of
    requesters = {end: wrap(Requester(told["psn"], told["mtu"], told["retry"])) for end in (first, second)}
    responders = {end: wrap(Responder(told["psn"], told["mtu"], said["state"] == 6, late))
                  for end, said in zip((first, second), told["ends"])}
    for packet in events:
        if not packet.icrc_good:
            continue
        end = packet.source if packet.sent else packet.destination
        if packet.sent and packet.is_response:
            responders[end].answers(packet)
        elif packet.sent:
            requesters[end].sends(packet)
        elif packet.is_response:
            requesters[end].arrives(packet)
        else:
            responders[end].arrives(packet)
    counts = {}
    for end, said in zip((first, second), told["ends"]):
        requesters[end].end(said["state"] == 6)
        if said["state"] != 6:
            responders[end].end()
        counts[end] = requesters[end].count + responders[end].count
    return counts
