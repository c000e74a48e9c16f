/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * 64 queue pairs at each end, RC, UC and UD, and a stranger on their wire who sends what he likes beside their messages: none of
 * them leaves RTS, no byte of their memory changes but by what their peers do, and each frame is counted. Over a pair; or over a
 * cable of Linux from interface va to vb (test/wire).
 *
 *   device_qp_spoof [--veth] [ipv6-vlan]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>

#include "../counts.h"
#include "driver/roce_addr.h"
#include "qp_world.h"
#include "stranger.h"
#include "test_clock.h"
/* Frames of a stranger go into the wire itself, and what is in queue pairs is compared. */
#include "softrnic/base/clock.h"
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"
#include "softrnic/wire/send.h"

#define CONNECTIONS 64u /* of which RELIABLE of each KIND are RC, one is UC, one UD */
#define KIND	    16u
#define RELIABLE    14u
#define SLOT	    (16u << 10) /* of a connection's SENDs; those of WRITEs and READs begin at: */
#define DIRECT	    (CONNECTIONS * SLOT)
#define MESSAGE_MAX 3000u
#define BATCH	    500u  /* frames while a message is held */
#define BESIDE	    100u  /* frames between two others */
#define AT_ONCE	    64u	  /* that a wire takes */
#define AWAY	    4096u /* PSNs: nothing that was sent of late is as far back */
#define RNR_US	    656000
#define WAIT_US	    20
#define WAITS	    500000
#define WAITS_LOST  50 /* what has not come by then does not */

struct flock {
	struct qw_two *two;
	struct qw_qp qps[2][CONNECTIONS];
	struct roce_qp before[2][CONNECTIONS];
	uint8_t *memory[2], *shadow[2]; /* of both ends; what it must be */
	uint64_t random;
	uint64_t expected[2][STRANGER_VERDICTS], began[2][STRANGER_VERDICTS];
	/* Since remember(): what the stranger sent to an end; what an end had had, and had sent itself */
	uint64_t thrown[2], had[2], sent[2];
	/* and what came of messages beside: frames of an end's, gaps that they closed */
	uint64_t beside[2], gaps[2];
	uint32_t turn;
	uint16_t vlan;
	bool poll_each;
	bool may_miss; /* a kernel has its own mind about garbage */
	struct stranger_frame frame;
};

static const char *const *port_wires; /* NULL: a pair */

/* ---- What was counted ---- */

static void
counted(struct flock *f, unsigned int end, uint64_t counts[STRANGER_VERDICTS])
{
	const struct softrnic_stats s = dp_stats(&f->two->qw.ends[end]->dp);

	counts[STRANGER_ETHERNET] = s.rx_unmatched;
	counts[STRANGER_MALFORMED] = s.roce_malformed;
	counts[STRANGER_ICRC] = s.roce_icrc_errors;
	counts[STRANGER_UNKNOWN_QP] = s.roce_unknown_qp;
	counts[STRANGER_DROPPED] = s.roce_dropped;
	counts[STRANGER_FOREIGN_SOURCE] = s.roce_source_errors;
	counts[STRANGER_PKEY] = s.roce_pkey_errors;
	counts[STRANGER_QKEY] = s.roce_qkey_errors;
	counts[STRANGER_CNP] = s.roce_cnps;
}

static uint64_t
arrived(const struct flock *f, unsigned int end)
{
	const struct softrnic_stats s = dp_stats(&f->two->qw.ends[end]->dp);

	return s.rx_packets + s.rx_errors;
}

/* Since remember(): all frames of an end's own. */
static uint64_t
sent(const struct flock *f, unsigned int end)
{
	return dp_stats(&f->two->qw.ends[end]->dp).tx_packets - f->sent[end];
}

/* Those that are no messages' beside: answers, there is nothing else to send. */
static uint64_t
answered(const struct flock *f, unsigned int end)
{
	return sent(f, end) - f->beside[end];
}

static void
check_counts(struct flock *f)
{
	uint64_t now[STRANGER_VERDICTS];

	for (unsigned int end = 0; end < 2; end++) {
		counted(f, end, now);
		for (unsigned int v = 0; v < STRANGER_VERDICTS; v++) {
			if (now[v] - f->began[end][v] != f->expected[end][v])
				fail_msg("end %u: counter %u has %u, not %u", end, v,
					 (unsigned int)(now[v] - f->began[end][v]),
					 (unsigned int)f->expected[end][v]);
		}
	}
}

/* ---- Frames ---- */

/* Poll, and leave the CPU to whoever else moves frames: a kernel, if anybody. */
static void
idle(struct flock *f)
{
	for (uint32_t polls = port_wires != NULL ? 8 : 1; polls > 0; polls--)
		softrnic_poll(f->two->qw.poller);
	if (port_wires != NULL)
		usleep(WAIT_US);
}

/* Until all that was sent has arrived: by the stranger, and as an answer. */
static void
settle(struct flock *f)
{
	for (unsigned int end = 0; end < 2; end++) {
		uint32_t waits = 0;

		while (arrived(f, end) - f->had[end] != f->thrown[end] + sent(f, 1 - end)) {
			if (f->may_miss && waits == WAITS_LOST)
				break;
			if (waits++ == WAITS)
				fail_msg("end %u has had %u frames of the stranger's %u", end,
					 (unsigned int)(arrived(f, end) - f->had[end]),
					 (unsigned int)f->thrown[end]);
			idle(f);
		}
	}
}

/* And until what that asks for has been sent, and has arrived. */
static void
calm(struct flock *f)
{
	settle(f);
	for (uint32_t polls = 0; polls < 4; polls++)
		softrnic_poll(f->two->qw.poller);
	settle(f);
}

/* The frame goes into the wire at the other end. */
static void
throw_in(struct flock *f, unsigned int to)
{
	struct softrnic *from = f->two->qw.ends[1 - to]->dp.dev;
	struct softrnic_frame frame = { .length = f->frame.length, .count = 1 };

	frame.pieces[0] = (struct iovec){ f->frame.bytes, f->frame.length };
	softrnic_lock(f->two->qw.poller);
	from->now = softrnic_now_ns() - from->power_on_ns;
	softrnic_wire_send(from, &frame);
	softrnic_unlock(f->two->qw.poller);
	f->thrown[to]++;
	if (f->poll_each)
		softrnic_poll(f->two->qw.poller);
	if (f->thrown[to] % AT_ONCE == 0)
		settle(f);
}

static uint8_t
transport_of(uint32_t index)
{
	switch (index % KIND) {
	case RELIABLE: return ROCE_TRANSPORT_UC;
	case RELIABLE + 1: return ROCE_TRANSPORT_UD;
	default: return ROCE_TRANSPORT_RC;
	}
}

/* The n-th one of RC. */
static uint32_t
reliable(uint32_t n)
{
	n %= CONNECTIONS / KIND * RELIABLE;
	return n / RELIABLE * KIND + n % RELIABLE;
}

static struct stranger_target
target_of(struct flock *f, unsigned int end, uint32_t index)
{
	const struct qw_end *own = f->two->qw.ends[end], *peer = f->two->qw.ends[1 - end];
	struct qw_qp *qp = &f->qps[end][index];
	const struct roce_qp *roce = &qw_qp_inside(qp)->roce;
	struct stranger_target target = {
		.vlan = f->vlan,
		.transport = transport_of(index),
		.qpn = qp->qpn,
		.psn = roce->responder.psn,
		.una = roce->requester.una,
		.high = roce->requester.high,
		.mtu = 1024,
		.key = own->key,
		.va = (uintptr_t)f->memory[end],
		.bytes = QW_BUFFER,
	};

	memcpy(target.mac, own->mac, 6);
	memcpy(target.peer_mac, peer->mac, 6);
	memcpy(target.gid, own->gid, 16);
	memcpy(target.peer_gid, peer->gid, 16);
	return target;
}

static bool
is_answer(uint8_t opcode)
{
	return opcode >= ROCE_READ_RESPONSE_FIRST && opcode <= ROCE_ATOMIC_ACKNOWLEDGE;
}

/* ---- The stranger's ways: a frame to that end ---- */

/* By a way that no path leads; every fourth one has everything else right. */
static void
spoof(struct flock *f, unsigned int end, const struct stranger_target *target)
{
	const enum stranger_way way = (enum stranger_way)stranger_below(&f->random, STRANGER_WAYS);
	const uint8_t opcode = (uint8_t)f->turn;
	uint32_t psn = f->turn * 0x10001u & ROCE_PSN_MASK;

	if (stranger_below(&f->random, 4) == 0)
		psn = is_answer(opcode) ? target->una : target->psn;
	stranger_make(target, way, opcode, psn, &f->random, &f->frame);
	f->expected[end][stranger_verdict(target, way, opcode)]++;
}

/* A PSN that is the peer's at no time near: ahead of what is expected, or far behind; of answers, to what was never sent. */
static uint32_t
outside(struct flock *f, const struct stranger_target *target, uint8_t opcode, bool ahead)
{
	const uint32_t by = AWAY + stranger_below(&f->random, ROCE_PSN_HALF - 2 * AWAY);
	const uint32_t begin = ahead ? target->high : target->una;
	const uint32_t from = is_answer(opcode) ? begin : target->psn;

	return (ahead ? from + by : from - by) & ROCE_PSN_MASK;
}

/* As the peer would send it, but not now. */
static void
out_of_window(struct flock *f, const struct stranger_target *target, bool ahead)
{
	const uint8_t opcode = (uint8_t)(f->turn % (ROCE_FETCH_ADD + 1));

	stranger_make(target, STRANGER_RIGHT, opcode, outside(f, target, opcode, ahead), &f->random,
		      &f->frame);
	assert_int_equal(stranger_verdict(target, STRANGER_RIGHT, opcode), STRANGER_TAKEN);
}

static void
too_early(struct flock *f, unsigned int end, const struct stranger_target *target)
{
	(void)end;
	out_of_window(f, target, true);
}

static void
too_late(struct flock *f, unsigned int end, const struct stranger_target *target)
{
	(void)end;
	out_of_window(f, target, false);
}

/* Is it one that Linux takes? It sends none without a payload, and those with a tag it looks into. */
static bool
passes_linux(const struct stranger_frame *frame)
{
	return frame->length > ROCEV2_ETHER_BYTES + ROCEV2_TAG_BYTES && frame->bytes[12] != 0x81 &&
	       frame->bytes[12] != 0x88;
}

/* Anything. What is right again in it has a PSN that changes nothing; of UC, which takes any PSN, nothing must be right. */
static void
garbage(struct flock *f, unsigned int end, const struct stranger_target *target)
{
	static const enum stranger_way ways[] = { STRANGER_RIGHT, STRANGER_RIGHT, STRANGER_SOURCE,
						  STRANGER_ANOTHER_GID };
	const uint8_t opcode = (uint8_t)stranger_below(&f->random, 0x80);
	const uint32_t psn = outside(f, target, opcode, stranger_below(&f->random, 2) != 0);

	(void)end;
	do {
		stranger_make(target, ways[stranger_below(&f->random, 4)], opcode, psn, &f->random,
			      &f->frame);
		stranger_damage(&f->frame, psn, &f->random);
	} while ((port_wires != NULL && !passes_linux(&f->frame)) ||
		 ROCE_TRANSPORT(stranger_opcode(&f->frame)) == ROCE_TRANSPORT_UC);
}

/* ---- Nothing happened ---- */

static void
remember(struct flock *f)
{
	for (unsigned int end = 0; end < 2; end++) {
		for (uint32_t i = 0; i < CONNECTIONS; i++)
			f->before[end][i] = qw_qp_inside(&f->qps[end][i])->roce;
		f->thrown[end] = f->beside[end] = f->gaps[end] = 0;
		f->had[end] = arrived(f, end);
		f->sent[end] = dp_stats(&f->two->qw.ends[end]->dp).tx_packets;
		memset(f->expected[end], 0, sizeof(f->expected[end]));
		counted(f, end, f->began[end]);
	}
}

static void
check_one(const struct roce_qp *before, const struct roce_qp *now, uint32_t index)
{
	const struct roce_requester *req = &now->requester;
	const struct roce_responder *resp = &now->responder;

	if (now->state != ROCE_RTS)
		fail_msg("connection %u is in state %u", index, now->state);
	if (resp->psn != before->responder.psn || resp->msn != before->responder.msn ||
	    resp->message != before->responder.message || resp->head != before->responder.head)
		fail_msg("connection %u: something was received", index);
	if (req->tail != before->requester.tail || req->una != before->requester.una ||
	    req->high != before->requester.high || req->psn != before->requester.psn ||
	    req->retries != before->requester.retries)
		fail_msg("connection %u: something was answered", index);
}

static void
check_nothing_happened(struct flock *f)
{
	struct qw_two *two = f->two;

	for (unsigned int end = 0; end < 2; end++) {
		for (uint32_t i = 0; i < CONNECTIONS; i++)
			check_one(&f->before[end][i], &qw_qp_inside(&f->qps[end][i])->roce, i);
		assert_int_equal(qw_event(two->qw.ends[end], NULL), 0);
		if (memcmp(f->memory[end], f->shadow[end], QW_BUFFER) != 0)
			fail_msg("end %u: memory was written", end);
	}
	qw_expect_nothing(&two->a_send);
	qw_expect_nothing(&two->a_recv);
	qw_expect_nothing(&two->b_send);
	qw_expect_nothing(&two->b_recv);
}

/* ---- Messages, between two batches ---- */

struct message {
	struct qw_qp *a, *b;
	uint32_t send_bytes, direct_bytes; /* a SEND; a WRITE or a READ, to `direct` */
	uint32_t slot, direct;
	bool read;
};

static struct message
message_of(struct flock *f, uint32_t round)
{
	const uint32_t index = reliable(round);

	return (struct message){
		.a = &f->qps[0][index],
		.b = &f->qps[1][index],
		.send_bytes = 1 + stranger_below(&f->random, MESSAGE_MAX),
		.direct_bytes = 1 + stranger_below(&f->random, MESSAGE_MAX),
		.slot = index * SLOT,
		.direct = DIRECT + index * SLOT,
		.read = round / CONNECTIONS % 2 != 0,
	};
}

/* Put a pattern there, as it must be from now on. */
static void
fill(struct flock *f, unsigned int end, uint32_t at, uint32_t bytes, uint32_t seed)
{
	qw_fill(f->memory[end] + at, bytes, seed);
	memcpy(f->shadow[end] + at, f->memory[end] + at, bytes);
}

/* A SEND that nobody has a receive for yet, and something behind it: both are under way for as long as there is none. */
static void
message_begin(struct flock *f, const struct message *m, uint32_t seed)
{
	const struct roce_requester *req = &qw_qp_inside(m->a)->roce.requester;
	uint32_t waits = 0;

	fill(f, 0, m->slot, m->send_bytes, seed);
	fill(f, m->read, m->direct, m->direct_bytes, seed + 1);
	qw_wqe(m->a, RNIC_WQE_SEND, f->memory[0] + m->slot, m->send_bytes, NULL, 0,
	       RNIC_WQE_CE_ALWAYS);
	qw_post(m->a, m->b, m->read ? RNIC_WQE_RDMA_READ : RNIC_WQE_RDMA_WRITE,
		f->memory[0] + m->direct, m->direct_bytes, f->memory[1] + m->direct);
	for (; req->resume_at == 0; waits++) {
		assert_true(waits < WAITS);
		idle(f);
	}
	/* What was sent behind the first packet has arrived as well. */
	for (waits = 0; waits < 20; waits++)
		idle(f);
}

static void
message_end(struct flock *f, const struct message *m)
{
	const struct roce_requester *req = &qw_qp_inside(m->a)->roce.requester;
	const uint16_t counter = (uint16_t)(m->a->sq.producer - 2);
	const uint16_t receive = m->b->rq.producer;
	struct qw_two *two = f->two;
	const struct rnic_cqe *cqe;
	uint32_t waits;

	qw_recv(m->b, f->memory[1] + m->slot, SLOT);
	memcpy(f->shadow[1] + m->slot, f->shadow[0] + m->slot, m->send_bytes);
	memcpy(f->shadow[!m->read] + m->direct, f->shadow[m->read] + m->direct, m->direct_bytes);
	test_clock_advance_us(RNR_US);
	for (waits = 0; req->tail != req->head; waits++) {
		assert_true(waits < WAITS);
		idle(f);
	}
	for (waits = 0; waits < 4; waits++)
		idle(f);
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, counter, m->a->qpn);
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, (uint16_t)(counter + 1), m->a->qpn);
	cqe = qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, receive, m->b->qpn);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), m->send_bytes);
}

/* A gap that a stranger's packet opened since remember(). */
static bool
has_new_gap(const struct flock *f, unsigned int end, uint32_t index)
{
	return !f->before[end][index].responder.gap &&
	       qw_qp_inside((struct qw_qp *)&f->qps[end][index])->roce.responder.gap;
}

/* One that comes through beside the stranger's frames, by another connection than the one held; and is checked with the rest. */
static void
message_beside(struct flock *f, const struct message *held)
{
	const uint32_t index = f->turn / BESIDE % CONNECTIONS;
	const uint32_t bytes = 1 + stranger_below(&f->random, MESSAGE_MAX);
	const uint32_t at = DIRECT + index * SLOT;
	struct qw_qp *a = &f->qps[0][index], *b = &f->qps[1][index];
	const struct roce_qp *from = &qw_qp_inside(a)->roce, *to = &qw_qp_inside(b)->roce;
	const uint32_t head = from->requester.head;
	uint64_t before[2];
	uint32_t waits = 0;

	if (a == held->a || transport_of(index) == ROCE_TRANSPORT_UD)
		return;
	calm(f);
	for (unsigned int end = 0; end < 2; end++) {
		before[end] = sent(f, end);
		f->gaps[end] += has_new_gap(f, end, index);
	}
	fill(f, 0, at, bytes, f->turn);
	qw_post(a, b, RNIC_WQE_RDMA_WRITE, f->memory[0] + at, bytes, f->memory[1] + at);
	do {
		assert_true(waits++ < WAITS);
		idle(f);
	} while (from->requester.head == head || from->requester.tail == head ||
		 to->responder.psn != from->requester.psn);
	memcpy(f->shadow[1] + at, f->shadow[0] + at, bytes);
	qw_expect(&f->two->a_send, RNIC_CQE_REQUESTER, (uint16_t)(a->sq.producer - 1), a->qpn);
	settle(f);
	for (unsigned int end = 0; end < 2; end++) {
		f->beside[end] += sent(f, end) - before[end];
		f->before[end][index] = qw_qp_inside(&f->qps[end][index])->roce;
	}
}

/* ---- Both together ---- */

typedef void stranger_fn(struct flock *f, unsigned int end, const struct stranger_target *target);

/* What is checked behind each batch, while a message is under way. */
typedef void check_fn(struct flock *f);

static void
batch(struct flock *f, stranger_fn *next, const struct message *held)
{
	struct stranger_target target;
	uint32_t index;

	for (uint32_t i = 0; i < BATCH; i++, f->turn++) {
		const unsigned int end = stranger_below(&f->random, 2);

		/* What has a path right is UC's and UD's peer's, whatever its PSN is. */
		index = stranger_below(&f->random, CONNECTIONS);
		target = target_of(f, end, next == spoof ? index : reliable(index));
		next(f, end, &target);
		throw_in(f, end);
		if (i % BESIDE == BESIDE - 1)
			message_beside(f, held);
	}
	calm(f);
}

static void
withstand(struct flock *f, stranger_fn *next, check_fn *check, uint32_t frames)
{
	for (uint32_t round = 0; round * BATCH < frames; round++) {
		const struct message m = message_of(f, round);

		message_begin(f, &m, round);
		remember(f);
		batch(f, next, &m);
		check_nothing_happened(f);
		check(f);
		message_end(f, &m);
	}
	remember(f);
	check_nothing_happened(f);
}

/* As many as take some seconds, unless more were asked for. */
static uint32_t
count_of(uint32_t usual, uint32_t all, uint32_t full, uint32_t sanitized)
{
	if (full_run())
		return full;
	if (sanitized_run())
		return sanitized;
	return default_run() ? usual : all;
}

/* Over a cable of a kernel each takes ten times as long. */
static uint32_t
of_cable(uint32_t count, uint32_t fewer)
{
	return port_wires != NULL ? count / fewer : count;
}

/* ---- Tests ---- */

static void
each_is_refused(struct flock *f)
{
	check_counts(f);
	assert_int_equal(answered(f, 0) + answered(f, 1), 0);
}

/* Every opcode, all PSNs, keys that are right and guessed: by a way that no path leads. */
static void
test_frames_that_come_another_way(void **state)
{
	withstand(
		*state, spoof, each_is_refused,
		of_cable(count_of(port_wires != NULL ? 100000 : 1000000, 1000000, 10000000, 100000),
			 5));
}

/* A gap opened where there was none, and nowhere else, is told of: once. */
static void
a_gap_is_told_of_once(struct flock *f)
{
	for (unsigned int end = 0; end < 2; end++) {
		uint64_t gaps = f->gaps[end];

		for (uint32_t i = 0; i < CONNECTIONS; i++)
			gaps += has_new_gap(f, end, i);
		assert_int_equal(answered(f, end), gaps);
	}
	check_counts(f);
}

static void
test_packets_that_come_too_early(void **state)
{
	struct flock *f = *state;

	f->poll_each = true;
	withstand(f, too_early, a_gap_is_told_of_once,
		  of_cable(count_of(50000, 100000, 100000, 5000), 20));
	f->poll_each = false;
}

/* What was executed long ago is acknowledged once more, and not executed. */
static void
no_more_than_acknowledged(struct flock *f)
{
	check_counts(f);
	assert_true(answered(f, 0) <= f->thrown[0]);
	assert_true(answered(f, 1) <= f->thrown[1]);
}

static void
test_packets_that_come_too_late(void **state)
{
	withstand(*state, too_late, no_more_than_acknowledged,
		  of_cable(count_of(50000, 100000, 100000, 5000), 20));
}

static void
most_has_arrived(struct flock *f)
{
	for (unsigned int end = 0; end < 2; end++)
		assert_true(arrived(f, end) - f->had[end] >= f->thrown[end] * 9 / 10);
}

/* Frames that are cut, prolonged, damaged and made up, with checksums that are wrong or right. */
static void
test_garbage(void **state)
{
	struct flock *f = *state;

	f->may_miss = port_wires != NULL;
	withstand(f, garbage, most_has_arrived,
		  of_cable(count_of(100000, 1000000, 10000000, 100000), 10));
	f->may_miss = false;
}

/* Source MAC addresses are not looked at: what has the rest right is the peer's, and gets an answer (here: nobody receives). */
static void
test_a_source_mac_is_nobodys(void **state)
{
	struct flock *f = *state;
	struct stranger_target target = target_of(f, 1, 0);
	static const uint8_t macs[][6] = { { 2, 0, 0, 0x5e, 0xee, 0xee }, { 0 } };

	for (uint32_t i = 0; i < 2; i++) {
		remember(f);
		stranger_make(&target, STRANGER_RIGHT, ROCE_SEND_ONLY, target.psn, &f->random,
			      &f->frame);
		memcpy(f->frame.bytes + 6, macs[i], 6);
		throw_in(f, 1);
		for (uint32_t waits = 0; answered(f, 1) == 0; waits++) {
			assert_true(waits < WAITS);
			idle(f);
		}
		settle(f);
		check_counts(f);
		assert_int_equal(answered(f, 1), 1);
		check_nothing_happened(f);
	}
}

/* ---- 64 queue pairs ---- */

static void
end_prepare(struct flock *f, unsigned int index)
{
	struct qw_end *end = f->two->qw.ends[index];
	struct drv_roce_addr address = { .index = 1, .vlan = STRANGER_VLAN };

	if (f->vlan != 0)
		qw_set_vlan(end, f->vlan);
	for (unsigned int i = 0; i < 6; i++)
		address.mac = address.mac << 8 | end->mac[i];
	memcpy(address.gid, end->gid, 16);
	assert_int_equal(drv_roce_addr_set(&end->dp.drv, &address), 0);
	address.index = 2;
	address.vlan = f->vlan;
	address.gid[15] = STRANGER_OTHER_GID;
	assert_int_equal(drv_roce_addr_set(&end->dp.drv, &address), 0);
	f->shadow[index] = malloc(QW_BUFFER);
	assert_non_null(f->shadow[index]);
	memset(f->memory[index], 0xa5, QW_BUFFER);
	memset(f->shadow[index], 0xa5, QW_BUFFER);
}

static struct flock *
flock_open(bool ipv6, uint16_t vlan)
{
	const struct qw_conf conf = {
		.pair = true,
		.bytes = true,
		.ipv6 = ipv6,
		.wires = { port_wires != NULL ? port_wires[0] : NULL,
			   port_wires != NULL ? port_wires[1] : NULL },
	};
	struct qw_attr attr = qw_attr();
	struct flock *f = calloc(1, sizeof(*f));
	struct qw_qp_conf a, b;

	assert_non_null(f);
	f->two = qw_two_open(&conf);
	f->memory[0] = f->two->out;
	f->memory[1] = f->two->in;
	f->random = 0x57a06e5;
	f->vlan = vlan;
	end_prepare(f, 0);
	end_prepare(f, 1);
	/* A message waits, and nothing is repeated, until the test says so. */
	attr.min_rnr_timer = 0;
	attr.timeout = 20;
	a = qw_two_qp_conf(f->two, false);
	b = qw_two_qp_conf(f->two, true);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		a.st = b.st = transport_of(i) == ROCE_TRANSPORT_UC   ? RNIC_QP_ST_UC
			      : transport_of(i) == ROCE_TRANSPORT_UD ? RNIC_QP_ST_UD
								     : RNIC_QP_ST_RC;
		qw_two_more(f->two, &f->qps[0][i], &a, &f->qps[1][i], &b, &attr);
	}
	for (uint32_t waits = 0;
	     !f->two->qw.ends[0]->dp.dev->port.link_up || !f->two->qw.ends[1]->dp.dev->port.link_up;
	     waits++) {
		assert_true(waits < WAITS);
		idle(f);
	}
	/* A port's wire throws away what came before it woke. */
	for (uint32_t polls = 0; polls < 100; polls++)
		idle(f);
	while (qw_event(f->two->qw.ends[0], NULL) != 0 || qw_event(f->two->qw.ends[1], NULL) != 0)
		;
	return f;
}

static int
setup(void **state)
{
	*state = flock_open(false, 0);
	return 0;
}

static int
setup_ipv6_vlan(void **state)
{
	*state = flock_open(true, 5);
	return 0;
}

static int
teardown(void **state)
{
	struct flock *f = *state;

	qw_two_close(f->two);
	free(f->shadow[0]);
	free(f->shadow[1]);
	free(f);
	return 0;
}

static int
start_eal(char *program)
{
	char file[64], lcore[] = "--lcores=0@(0-1)", pci[] = "--no-pci",
		       telemetry[] = "--no-telemetry", huge[] = "--no-huge", memory[] = "-m128",
		       va[] = "--vdev=net_af_packet0,iface=va",
		       vb[] = "--vdev=net_af_packet1,iface=vb", log[] = "--log-level=lib.*:4";
	char *argv[] = { program, lcore, pci, telemetry, huge, memory, va, vb, log, file, NULL };

	snprintf(file, sizeof(file), "--file-prefix=spoof-%d", (int)getpid());
	return rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0;
}

int
main(int argc, char **argv)
{
	static const char *const wires[] = { "port:net_af_packet0", "port:net_af_packet1" };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_that_come_another_way),
		cmocka_unit_test(test_a_source_mac_is_nobodys),
		cmocka_unit_test(test_packets_that_come_too_early),
		cmocka_unit_test(test_packets_that_come_too_late),
		cmocka_unit_test(test_garbage),
	};
	const bool ipv6_vlan = argc > 1 && strstr(argv[argc - 1], "ipv6-vlan") != NULL;
	int failed;

	if (argc > 1 && strcmp(argv[1], "--veth") == 0) {
		port_wires = wires;
		if (start_eal(argv[0]) != 0)
			return 1;
	}
	failed = cmocka_run_group_tests_name("qp_spoof", tests, ipv6_vlan ? setup_ipv6_vlan : setup,
					     teardown);
	if (port_wires != NULL)
		rte_eal_cleanup();
	return failed;
}
