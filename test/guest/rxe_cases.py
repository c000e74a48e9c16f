# SPDX-License-Identifier: BSD-3-Clause
"""What a driver of Linux and ours do with each other: each case has a requester and a responder, once this way and once that way."""

import itertools

from guest.rxe import GROUPS, gid_of

MTU = 1024
LENGTHS = (0, 1, MTU - 1, MTU, MTU + 1, 5000)
SENT, WRITTEN, READ, SWAPPED, ADDED = 0, 1, 2, 3, 4
RECEIVED, RECEIVED_IMM = 128, 129
IMM = 0x01020304
QKEY, MULTICAST_QPN = 0x11223344, 0xffffff
INVALID_REQUEST, ACCESS_ERROR = "remote invalid request error", "remote access error"
RETRIES, RNR_RETRIES = "transport retry counter exceeded", "RNR retry counter exceeded"
SEEDS = itertools.count(1)


class Link:
    """A queue pair of each, connected."""

    def __init__(self, requester, responder, family, kind="rc", srq=0, **path):
        self.requester, self.responder = requester, responder
        self.family, self.kind = family, kind
        self.qpn = {}
        for peer in (requester, responder):
            self.qpn[peer] = peer.get("create", type=kind, srq=srq if peer is responder else 0)["qpn"]
        for peer, other, psn in ((responder, requester, 0xfffffd), (requester, responder, 7)):
            peer.ask("connect", qpn=self.qpn[other], psn=psn, own_psn=0xfffffd + 7 - psn, mtu=MTU,
                     gid=gid_of(other.addresses[family]), qkey=QKEY, **path)

    def prepare(self):
        """A message at either end: the seeds."""
        seeds = next(SEEDS), next(SEEDS)
        self.requester.ask("fill", seed=seeds[0])
        self.responder.ask("fill", seed=seeds[1])
        return seeds

    def way(self):
        """What a datagram needs."""
        if self.kind != "ud":
            return {}
        return {"qpn": self.qpn[self.responder], "qkey": QKEY, "gid": gid_of(self.responder.addresses[self.family])}

    def post(self, op, **values):
        self.requester.ask("post", op=op, **{**self.way(), **values})

    def done(self, opcode):
        """The request has completed well."""
        got = self.requester.get("poll")
        assert (got["status"], got["opcode"]) == ("success", opcode), got

    def failed(self, status):
        got = self.requester.get("poll")
        assert got["status"] == status, got

    def arrived(self, opcode, length, **more):
        """So has the responder's receive."""
        got = self.responder.get("poll")
        src = self.qpn[self.requester] if self.kind == "ud" else 0
        length += 40 if self.kind == "ud" else 0
        assert got == {"status": "success", "opcode": opcode, "length": length, "src": src, **more}, got

    def target(self, key="rkey"):
        """To PEER_TO of the responder."""
        memory = self.responder.memory
        return {"address": memory["address"] + memory["bytes"] // 2, "rkey": memory[key]}

    def source(self):
        """From PEER_FROM of the responder."""
        memory = self.responder.memory
        return {"address": memory["address"] + 4096, "rkey": memory["rkey"]}


def has(peer, seed, length):
    assert peer.ask("has", seed=seed, length=length) == "yes"


# ---- What is legal ----

def send(link, length, imm):
    seed, _ = link.prepare()
    link.responder.ask("receive", length=max(length, 1))
    link.post("SEND_IMM" if imm else "SEND", length=length, imm=IMM)
    link.done(SENT)
    link.arrived(RECEIVED, length, **({"imm": IMM} if imm else {}))
    has(link.responder, seed, length)


def write(link, length, imm, **target):
    seed, _ = link.prepare()
    if imm:
        link.responder.ask("receive", length=1)
    link.post("WRITE_IMM" if imm else "WRITE", length=length, imm=IMM, **(target or link.target()))
    link.done(WRITTEN)
    if imm:
        link.arrived(RECEIVED_IMM, length, imm=IMM)
    has_soon(link, seed, length)


def has_soon(link, seed, length):
    """Of an unreliable connection it may be on its way still."""
    for _ in range(50):
        if link.kind == "rc" or link.responder.ask("has", seed=seed, length=length) == "yes":
            break
    has(link.responder, seed, length)


def read(link, length, **source):
    _, seed = link.prepare()
    link.post("READ", length=length, **(source or link.source()))
    link.done(READ)
    has(link.requester, seed, length)


def operations(requester, responder, family):
    """One of each: what every run has."""
    link = Link(requester, responder, family)
    send(link, 3000, True)
    write(link, 3000, False)
    read(link, 3000)
    add(link)


def sends(requester, responder, family):
    link = Link(requester, responder, family)
    for length in LENGTHS:
        for imm in (False, True):
            send(link, length, imm)


def writes(requester, responder, family):
    link = Link(requester, responder, family)
    for length in LENGTHS:
        for imm in (False, True):
            write(link, length, imm)


def reads(requester, responder, family):
    link = Link(requester, responder, family)
    for length in LENGTHS:
        read(link, length)


def value(peer, at=4096):
    return int(peer.ask("value", at=at))


def atomic(link, op, before, after, **operands):
    link.requester.ask("fill", seed=1)
    link.responder.ask("word", value=before)
    link.post(op, length=8, **link.source(), **operands)
    link.done(SWAPPED if op == "SWAP" else ADDED)
    assert (value(link.requester), value(link.responder)) == (before, after)


def add(link):
    atomic(link, "ADD", 40, 42, add=2)


def atomics(requester, responder, family):
    link = Link(requester, responder, family)
    add(link)
    atomic(link, "ADD", 2**64 - 1, 1, add=2)
    atomic(link, "SWAP", 42, 7, add=42, swap=7)
    atomic(link, "SWAP", 42, 42, add=41, swap=7)


def shared_receives(requester, responder, family):
    link = Link(requester, responder, family, srq=1)
    for length in LENGTHS:
        send(link, length, True)


def unreliable(requester, responder, family):
    link = Link(requester, responder, family, "uc")
    for length in (0, 1, MTU, 5000):
        for imm in (False, True):
            send(link, length, imm)
            write(link, length, imm)


def datagrams(requester, responder, family):
    link = Link(requester, responder, family, "ud")
    for length in (0, 1, 3, MTU - 1, MTU):
        for imm in (False, True):
            send(link, length, imm)


def shared_datagrams(requester, responder, family):
    link = Link(requester, responder, family, "ud", srq=1)
    send(link, 100, False)


def join(link, gid):
    """A work queue of Linux' lets the group's frames in, some time after the join: what is sent before is lost."""
    link.responder.ask("join", gid=gid)
    link.prepare()
    link.responder.ask("receive", length=MTU)
    for lost in range(100):
        link.post("SEND", length=1, gid=gid, qpn=MULTICAST_QPN)
        link.done(SENT)
        if link.responder.ask("quiet", ms=1000) == "no":
            break
    # One that was late, after all, finds no receive.
    if lost > 0:
        link.responder.ask("quiet")


def groups(requester, responder, family):
    """A message to a group that the responder is in; none once it has left."""
    link = Link(requester, responder, family, "ud")
    gid = gid_of(GROUPS[family])
    join(link, gid)
    for length in (1, MTU):
        seed, _ = link.prepare()
        responder.ask("receive", length=length)
        link.post("SEND", length=length, gid=gid, qpn=MULTICAST_QPN)
        link.done(SENT)
        link.arrived(RECEIVED, length)
        has(responder, seed, length)
    responder.ask("leave", gid=gid)
    responder.ask("receive", length=MTU)
    link.post("SEND", length=1, gid=gid, qpn=MULTICAST_QPN)
    link.done(SENT)
    assert responder.ask("quiet") == "yes"


# ---- Windows and invalidation ----

def through(link, key):
    write(link, 3000, False, **{**link.target(), "rkey": key})
    read(link, 3000, **{**link.source(), "rkey": key})


def windows_1(requester, responder, family):
    """Used, and unbound."""
    link = Link(requester, responder, family)
    key = responder.get("bind", window=1)["key"]
    through(link, key)
    responder.ask("unbind")
    link.post("WRITE", length=8, **{**link.target(), "rkey": key})
    link.failed(ACCESS_ERROR)


def windows_2(requester, responder, family):
    """Used, and invalidated by the peer that it was for, and by its own end."""
    for own in (False, True):
        link = Link(requester, responder, family)
        key = responder.get("bind", window=2)["key"]
        through(link, key)
        if own:
            responder.ask("post", op="LOCAL_INV", key=key)
            assert responder.get("poll")["status"] == "success"
        else:
            seed, _ = link.prepare()
            responder.ask("receive", length=MTU)
            link.post("SEND_INV", length=100, key=key)
            link.done(SENT)
            # rxe's provider has no flag for it, and no key.
            link.arrived(RECEIVED, 100, **({"key": key} if responder.name != "rxe" else {}))
            has(responder, seed, 100)
        link.post("WRITE", length=8, **{**link.target(), "rkey": key})
        link.failed(ACCESS_ERROR)


# ---- What is refused ----

def refused_keys(requester, responder, family):
    """One status in either direction, and the responder's memory is as it was."""
    for op, length, what in (("WRITE", 3000, "target"), ("READ", 3000, "source"), ("ADD", 8, "source")):
        link = Link(requester, responder, family)
        _, seed = link.prepare()
        bad = getattr(link, what)()
        link.post(op, length=length, **{**bad, "rkey": bad["rkey"] ^ 0x5a})
        link.failed(ACCESS_ERROR)
        has(responder, seed, 0)
        assert requester.ask("state") == responder.ask("state") == "ERR"
    link = Link(requester, responder, family)
    link.post("WRITE", length=8, **link.target("read_only_rkey"))
    link.failed(ACCESS_ERROR)


def long_sends(requester, responder, family):
    """Of one packet and of several: rxe says other words than the specification has, in the guide's table."""
    for length, room in ((101, 100), (2 * MTU, MTU)):
        link = Link(requester, responder, family)
        link.prepare()
        responder.ask("receive", length=room)
        link.post("SEND", length=length)
        link.failed(INVALID_REQUEST if responder.name != "rxe" else "remote operation error")
        got = responder.get("poll")["status"]
        assert got == ("local length error" if responder.name != "rxe" else "local QP operation error"), got
        assert requester.ask("state") == responder.ask("state") == "ERR"


def foreign_invalidations(requester, responder, family):
    """
    Of an ordinary region, and of a window of type 1, which no peer may take away. rxe refuses too, but acknowledges the
    message: its requester is not told. The region is as it was.
    """
    for window in (False, True):
        link = Link(requester, responder, family)
        link.prepare()
        key = responder.get("bind", window=1)["key"] if window else responder.memory["rkey"]
        responder.ask("receive", length=100)
        link.post("SEND_INV", length=8, key=key)
        got = responder.get("poll")["status"]
        if responder.name != "rxe":
            link.failed(ACCESS_ERROR)
            assert got == "local access error", got
        else:
            link.done(SENT)
            assert got == INVALID_REQUEST, got
        assert responder.ask("state") == "ERR"
    link = Link(requester, responder, family)
    write(link, 100, False)


def wrong_qkeys(requester, responder, family):
    """The sender hears nothing of it; the receiver counts it, and goes on."""
    link = Link(requester, responder, family, "ud")
    before = responder.counters()
    link.prepare()
    responder.ask("receive", length=100)
    link.post("SEND", length=100, qkey=QKEY ^ 1)
    link.done(SENT)
    assert responder.ask("quiet") == "yes"
    assert responder.counters()["qkey_viol_cntr"] - before["qkey_viol_cntr"] == 1
    seed, _ = link.prepare()
    link.post("SEND", length=100)
    link.done(SENT)
    link.arrived(RECEIVED, 100)
    has(responder, seed, 100)


# ---- Counters: the table of the guide ----

# Where one of rxe's has more than one of ours, it is their sum.
COUNTERPARTS = {
    "sent_pkts": ("tx_vport_rdma_unicast_packets", "tx_vport_rdma_multicast_packets"),
    "rcvd_pkts": ("rx_vport_rdma_unicast_packets", "rx_vport_rdma_multicast_packets"),
    "out_of_seq_request": ("out_of_sequence",),
    "duplicate_request": ("duplicate_request",),
    "rcvd_rnr_err": ("rnr_nak_retry_err",),
    "retry_exceeded_err": ("req_cqe_error",),
}


def count(peer, name, counters):
    """rxe's, or what stands for it at an end of the other kind."""
    names = (name,) if peer.name == "rxe" else COUNTERPARTS[name]
    return sum(counters.get(each, 0) for each in names)


class Counted:
    """What counters of an end have grown by meanwhile, by rxe's names."""

    def __init__(self, *peers):
        self.before = {peer: peer.counters() for peer in peers}

    def of(self, peer):
        after = peer.counters()
        return {name: count(peer, name, after) - count(peer, name, self.before[peer]) for name in COUNTERPARTS}


def packets(requester, responder, family):
    """What one end has sent the other one has received."""
    link = Link(requester, responder, family)
    counted = Counted(requester, responder)
    sends_writes_reads = ((send, (5000, True)), (write, (3000, False)), (read, (5000,)))
    for operation, args in sends_writes_reads:
        operation(link, *args)
    found = {peer: counted.of(peer) for peer in (requester, responder)}
    # 5 of the SEND, 3 of the WRITE, 1 of the READ; its answer has 5, and each of the others at least one.
    for here, there in ((requester, responder), (responder, requester)):
        assert found[here]["sent_pkts"] == found[there]["rcvd_pkts"], found
        assert all(found[here][name] == 0 for name in COUNTERPARTS if not name.endswith("_pkts")), found
    assert found[requester]["sent_pkts"] == 9 and found[responder]["sent_pkts"] >= 7, found


def receiver_not_ready(requester, responder, family):
    """Nobody has posted a receive: the requester comes again, counts that, and gives up."""
    link = Link(requester, responder, family, rnr=3)
    counted = Counted(requester)
    link.post("SEND", length=8)
    link.failed(RNR_RETRIES)
    # Three after which it came again, and the one after which it did not.
    assert counted.of(requester)["rcvd_rnr_err"] == 4


def nobody_there(requester, responder, family):
    """The queue pair is gone: the requester gives up, and counts it once."""
    link = Link(requester, responder, family, timeout=14, retry=2)
    responder.ask("create", type="rc")
    counted = Counted(requester)
    link.post("WRITE", length=8, **link.target())
    link.failed(RETRIES)
    assert counted.of(requester)["retry_exceeded_err"] == 1


SMOKE = (operations, datagrams, refused_keys)
ALL = (sends, writes, reads, atomics, shared_receives, unreliable, shared_datagrams, groups, windows_1, windows_2,
       long_sends, foreign_invalidations, wrong_qkeys, packets, receiver_not_ready, nobody_there)
