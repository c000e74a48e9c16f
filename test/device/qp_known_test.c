/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bugs that other implementations of RoCE had: what broke them must not break ours. doc/design/known_bugs.md has the whole
 * list, with those that other programs test.
 */
#include <stdlib.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "../counts.h"
#include "near_end.h"
#include "opcodes.h"
#include "qp_mix.h"
#include "test_clock.h"
/* Packets that no sender of ours sends, and what they must not change. */
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/receive.h"
#include "softrnic/rocev2/encode.h"
#include "softrnic/rocev2/icrc.h"
#include "softrnic/wire/roce.h"

#define IPV6_UDP  (ROCEV2_ETHER_BYTES + ROCEV2_IPV6_BYTES)
#define BTH	  (IPV6_UDP + ROCEV2_UDP_BYTES)
#define SHORTEST  48u /* what such a packet had, from UDP on */
#define UNTOUCHED 0xa5

/* ---- Packets from anybody ---- */

static int
setup(void **state)
{
	struct qw_attr attr = qw_attr();

	attr.timeout = 0;
	return qw_setup(state, &(struct qw_conf){ .pair = true, .ipv6 = true }, &attr);
}

static int
setup_ipv4(void **state)
{
	return qw_setup(state, &(struct qw_conf){ .pair = true }, NULL);
}

static void
put(struct qw_two *two, const uint8_t *bytes, uint32_t length)
{
	struct softrnic_frame frame = { .length = length,
					.count = 1,
					.pieces[0] = { (void *)(uintptr_t)bytes, length } };

	softrnic_lock(two->qw.poller);
	softrnic_eth_receive(two->b.end->dp.dev, &frame);
	softrnic_unlock(two->qw.poller);
}

static void
sum_ipv4(uint8_t *header)
{
	uint16_t sum;

	memset(header + 10, 0, sizeof(sum));
	sum = rte_ipv4_cksum((const struct rte_ipv4_hdr *)(const void *)header);
	memcpy(header + 10, &sum, sizeof(sum));
}

static struct rocev2_frame
head_of(const struct qw_two *two)
{
	struct rocev2_frame head = { .pkey = 0xffff, .mig_req = true, .hop_limit = 64 };

	memcpy(head.smac, two->a.end->mac, sizeof(head.smac));
	memcpy(head.dmac, two->b.end->mac, sizeof(head.dmac));
	memcpy(head.sgid, two->a.end->gid, sizeof(head.sgid));
	memcpy(head.dgid, two->b.end->gid, sizeof(head.dgid));
	return head;
}

/* From a to b: `left` bytes behind UDP, of which the last four are a good ICRC if they are there. */
static uint32_t
forge(const struct qw_two *two, uint8_t opcode, uint32_t qpn, uint32_t left, uint8_t *bytes)
{
	const struct roce_pkt pkt = { .opcode = ROCE_ACKNOWLEDGE,
				      .dest_qpn = qpn,
				      .psn = (qw_attr().psn - 0x1000) & ROCE_PSN_MASK };
	const struct rocev2_frame head = head_of(two);
	uint32_t crc;

	rocev2_encode(&head, &pkt, bytes);
	memset(bytes + BTH + ROCEV2_BTH_BYTES, 0, SHORTEST);
	bytes[BTH] = opcode;
	bytes[BTH + 1] &= 0xcf;
	bytes[ROCEV2_ETHER_BYTES + 5] = bytes[IPV6_UDP + 5] = (uint8_t)(left + ROCEV2_UDP_BYTES);
	if (left >= ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES) {
		crc = rocev2_icrc_begin(bytes + ROCEV2_ETHER_BYTES, ROCEV2_IPV6_BYTES);
		crc = rocev2_icrc_add(crc, bytes + BTH + ROCEV2_BTH_SHARED,
				      left - ROCEV2_BTH_SHARED - ROCEV2_ICRC_BYTES);
		crc = rte_cpu_to_le_32(crc);
		memcpy(bytes + BTH + left - sizeof(crc), &crc, sizeof(crc));
	}
	return BTH + left;
}

static uint64_t
refused(const struct softrnic_stats *s)
{
	return s->roce_malformed + s->roce_icrc_errors + s->roce_unknown_qp + s->roce_dropped +
	       s->roce_source_errors + s->roce_pkey_errors + s->roce_cnps;
}

/* What the transport did with what it got: old requests, and answers to nothing. */
static uint64_t
taken(const struct qw_two *two)
{
	return two->b.end->dp.dev->roce_counters.duplicate_request;
}

static bool
is_answer(uint32_t opcode)
{
	return opcode >= ROCE_READ_RESPONSE_FIRST && opcode <= ROCE_ATOMIC_ACKNOWLEDGE;
}

/*
 * Linux' rxe, "reject unknown opcodes before ICRC": one UDP packet of 48 bytes with opcode 0xff was its end. CVE-2026-46043:
 * padding and ICRC taken off a packet that has no room for them.
 */
static void
test_short_packets_of_every_opcode(void **state)
{
	struct qw_two *two = *state;
	const uint32_t qpns[] = { 0, 1, 0xffffff, two->b.qpn, two->b.qpn ^ 0x555555 };
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct softrnic *dev = two->b.end->dp.dev;
	struct softrnic_stats before = dp_stats(&two->b.end->dp), after;
	uint64_t frames = 0, answers = 0, old = taken(two);

	memset(two->in, UNTOUCHED, QW_BUFFER);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const struct opcodes_row *about = opcodes_find(opcode);
		uint64_t malformed = dp_stats(&two->b.end->dp).roce_malformed;

		for (unsigned int i = 0; i < sizeof(qpns) / sizeof(qpns[0]); i++) {
			for (uint32_t left = 0; left <= SHORTEST - ROCEV2_UDP_BYTES; left++) {
				put(two, bytes, forge(two, (uint8_t)opcode, qpns[i], left, bytes));
				frames++;
				malformed += about == NULL || left % 4 != 0 ||
					     left < ROCEV2_BTH_BYTES + opcodes_bytes(about) +
							     ROCEV2_ICRC_BYTES;
			}
		}
		assert_int_equal(dp_stats(&two->b.end->dp).roce_malformed, malformed);
	}
	/* Answers that nobody waits for are counted nowhere. */
	after = dp_stats(&two->b.end->dp);
	answers = frames - (refused(&after) - refused(&before)) - (taken(two) - old);
	assert_int_equal(after.rx_packets - before.rx_packets, frames);
	assert_int_equal(after.rx_unmatched, before.rx_unmatched);
	/* To the queue pair there is: six opcodes of answers, each with one to seven lengths that are whole. */
	assert_in_range(answers, 6, 6 * 7);
	assert_true(is_answer(ROCE_ACKNOWLEDGE) && taken(two) > old);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_RTS);
	assert_int_equal(qw_qp_inside(&two->b)->roce.responder.psn, qw_attr().psn);
	for (uint32_t i = 0; i < QW_BUFFER; i++)
		assert_int_equal(two->in[i], UNTOUCHED);
	assert_int_equal(dev->roce_counters.rx_write_requests, 0);
}

/* The shortest frames of all: IPv4, without a tag, and nothing or little behind UDP. */
static void
test_short_packets_over_ipv4(void **state)
{
	enum {
		IPV4_UDP = ROCEV2_ETHER_BYTES + ROCEV2_IPV4_BYTES,
		IPV4_BTH = IPV4_UDP + ROCEV2_UDP_BYTES
	};
	struct qw_two *two = *state;
	const struct softrnic_stats before = dp_stats(&two->b.end->dp);
	const struct roce_pkt pkt = { .opcode = ROCE_ACKNOWLEDGE, .dest_qpn = two->b.qpn };
	const struct rocev2_frame head = head_of(two);
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	struct softrnic_stats after;

	for (uint8_t left = 0; left < ROCEV2_BTH_BYTES + ROCEV2_ICRC_BYTES; left++) {
		rocev2_encode(&head, &pkt, bytes);
		bytes[ROCEV2_ETHER_BYTES + 3] = IPV4_BTH - ROCEV2_ETHER_BYTES + left;
		bytes[IPV4_UDP + 5] = ROCEV2_UDP_BYTES + left;
		sum_ipv4(bytes + ROCEV2_ETHER_BYTES);
		put(two, bytes, IPV4_BTH + left);
		after = dp_stats(&two->b.end->dp);
		assert_int_equal(after.roce_malformed - before.roce_malformed, left + 1);
		assert_int_equal(after.rx_unmatched, before.rx_unmatched);
	}
}

/* ---- Lengths ---- */

/* That packet, with the PSN that is expected; is the queue pair alive then? */
static bool
survives(struct qw_two *two, struct roce_pkt *pkt, const uint8_t *payload)
{
	static uint8_t bytes[ROCEV2_FRAME_MAX];
	const struct rocev2_frame head = head_of(two);
	const struct iovec piece = { (void *)(uintptr_t)payload, pkt->length };

	pkt->dest_qpn = two->b.qpn;
	pkt->psn = qw_qp_inside(&two->b)->roce.responder.psn;
	pkt->rkey = two->b.end->key;
	pkt->va = (uintptr_t)two->in;
	pkt->pieces = &piece;
	pkt->count = pkt->length > 0;
	put(two, bytes, rocev2_encode(&head, pkt, bytes));
	qw_run(&two->qw);
	return qw_qp_state(&two->b) == RNIC_QP_STATE_RTS;
}

/*
 * rxe, "reject non-8-byte ATOMIC_WRITE": a request of eight bytes that has another length read what is beside. Requests that
 * announce another length than they have, and atomics that have any.
 */
static void
test_requests_of_another_length_than_they_say(void **state)
{
	static const uint8_t opcodes[] = { ROCE_COMPARE_SWAP, ROCE_FETCH_ADD, ROCE_READ_REQUEST,
					   ROCE_WRITE_ONLY };
	static const uint8_t payload[64] = { 1 };
	struct qw_attr attr = qw_attr();
	struct qw_two *two = *state;

	attr.timeout = 0;
	for (unsigned int i = 0; i < sizeof(opcodes); i++) {
		for (uint32_t length = 0; length <= sizeof(payload); length++) {
			const bool write = opcodes[i] == ROCE_WRITE_ONLY;
			struct roce_pkt pkt = { .opcode = opcodes[i],
						.length = length,
						.dma_length = write ? 8 : length,
						.swap_add = 1,
						.compare = UINT64_C(0xa5a5a5a5a5a5a5a5) };
			const bool right = length == (write ? 8 : 0);
			uint64_t malformed = dp_stats(&two->b.end->dp).roce_malformed;
			bool alive;

			memset(two->in, UNTOUCHED, 128);
			alive = survives(two, &pkt, payload);
			malformed = dp_stats(&two->b.end->dp).roce_malformed - malformed;
			/* Padding where none may be is no packet at all. */
			assert_int_equal(malformed, !write && length % 4 != 0);
			assert_int_equal(alive, right || malformed > 0);
			assert_int_equal(two->in[0] == UNTOUCHED, !right || i == 2);
			for (uint32_t at = 8; at < 128; at++)
				assert_int_equal(two->in[at], UNTOUCHED);
			qw_two_reconnect(two, &attr);
			while (qw_event(two->b.end, NULL) != 0)
				;
		}
	}
}

/* CVE-2023-25775 (irdma): a region of no bytes switched the check of lengths off. Of ours there is none, or it has no bytes. */
static void
test_a_key_of_no_bytes_reaches_none(void **state)
{
	struct qw_two *two = *state;
	const struct qw_key_conf none = { .start = two->in, .access = DRV_LW | DRV_RW };
	const uint32_t key = qw_key(two->b.end, &none);

	two->in[0] = UNTOUCHED;
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 1, two->in, key, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	qw_run(&two->qw);
	qw_failed(two, 0, RNIC_SYND_REMOTE_ACCESS);
	assert_int_equal(two->in[0], UNTOUCHED);
}

/* ---- Sends that are refused ---- */

static uint32_t refuse; /* of 100 packets, by the wire of that device: */
static struct softrnic *refuser;
static uint64_t draws;

/* The linker has all calls come here (--wrap). */
void __real_softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame);
void __wrap_softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame);

void
__wrap_softrnic_roce_wire_send(struct softrnic *dev, const struct softrnic_roce_frame *frame)
{
	draws = draws * UINT64_C(6364136223846793005) + 1442695040888963407;
	if (dev == refuser && (draws >> 33) % 100 < refuse)
		return;
	__real_softrnic_roce_wire_send(dev, frame);
}

static bool
one_done(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

/* CVE-2023-53539: what was built of a packet stayed, when it could not be sent, and the next try sent something else. */
static void
test_what_is_sent_after_a_refusal_is_the_same(void **state)
{
	static const uint32_t shares[] = { 1, 5, 20, 50 };
	const uint32_t messages = full_run() ? 20000 : 200, bytes = 5000;
	struct qw_attr attr = qw_attr();
	uint32_t good = 0, failed = 0;
	struct qw_two *two = *state;

	attr.timeout = 3; /* 33 us */
	qw_two_reconnect(two, &attr);
	refuser = two->a.end->dp.dev;
	for (uint32_t i = 0; i < 4 * messages; i++) {
		const bool read = i % 3 == 0;
		const struct rnic_cqe *cqe;

		refuse = shares[i / messages];
		qw_fill(read ? two->in : two->out, bytes, i);
		memset(read ? two->out : two->in, UNTOUCHED, bytes + 1);
		qw_post(&two->a, &two->b, read ? RNIC_WQE_RDMA_READ : RNIC_WQE_RDMA_WRITE, two->out,
			bytes, two->in);
		assert_true(qw_run_until(&two->qw, one_done, two));
		cqe = dp_cq_next(&two->a_send);
		if (RNIC_CQE_OPCODE(cqe->op_own) == RNIC_CQE_REQUESTER) {
			assert_memory_equal(two->in, two->out, bytes);
			assert_int_equal((read ? two->out : two->in)[bytes], UNTOUCHED);
			good++;
			continue;
		}
		assert_int_equal(((const struct rnic_error_cqe *)cqe)->syndrome,
				 RNIC_SYND_RETRY_EXCEEDED);
		failed++;
		qw_two_reconnect(two, &attr);
	}
	refuse = 0;
	assert_true(good > 7 * failed);
}

/* ---- ERR at any time ---- */

struct death {
	struct qm mix;
	uint32_t at; /* the poll before which b goes to ERR */
	uint8_t then[QM_BYTES];
};

static void
die(struct qm *mix)
{
	struct death *death = (struct death *)mix;

	if (mix->polls != death->at)
		return;
	qw_qp_to(&mix->two->b, RNIC_CMD_2ERR_QP);
	memcpy(death->then, mix->two->in, sizeof(death->then));
}

/* CVE-2026-93107: a packet was processed once more after the queue pair had gone to ERR. */
static void
test_error_before_any_poll_ends_all(void **state)
{
	const uint32_t polls = full_run() ? 2000 : 120;
	struct qw_attr attr = qw_attr();
	uint64_t dropped = 0;

	(void)state;
	attr.mtu = RNIC_QP_MTU_256;
	attr.timeout = 5;
	attr.retry_count = 1;
	for (uint32_t at = 1; at <= polls; at++) {
		const struct qw_conf conf = { .pair = true,
					      .bytes = at % 2,
					      .seed = at,
					      .drop_ppm = 10000,
					      .reorder_ppm = 10000 };
		struct death *death = calloc(1, sizeof(*death));

		assert_non_null(death);
		death->at = 1 + at / 2;
		death->mix.each_poll = die;
		death->mix.two = qw_two_open(&conf);
		qw_two_connect(death->mix.two, &attr);
		qm_seed(&death->mix, at);
		qm_run(&death->mix);
		assert_int_equal(qw_qp_state(&death->mix.two->b), RNIC_QP_STATE_ERR);
		assert_memory_equal(death->mix.two->in, death->then, sizeof(death->then));
		dropped += dp_stats(&death->mix.two->b.end->dp).roce_dropped;
		qw_two_close(death->mix.two);
		free(death);
	}
	assert_true(dropped > 0);
}

/* ---- What stays behind ---- */

static bool
rounds_done(void *arg)
{
	struct qw_two *two = arg;

	return two->b.end->dp.dev->roce_counters.out_of_buffer >= 100000;
}

/* CVE-2022-49929: each RNR NAK left a reference behind, of the memory that the request was of. */
static void
test_no_receive_100000_times_leaves_nothing(void **state)
{
	const struct qw_key_conf all = { .access = DRV_LW | DRV_RW };
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();
	uint32_t objects, key;

	attr.min_rnr_timer = 1; /* 10 us */
	qw_two_reconnect(two, &attr);
	objects = dp_stats(&two->b.end->dp).objects;
	key = qw_key(two->b.end, &all);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE_IMM, two->out, 64, two->in, key, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&two->a.sq);
	while (!rounds_done(two))
		qw_poll(&two->qw, 1000);
	qw_recv(&two->b, two->in, 64);
	assert_true(qw_run_until(&two->qw, one_done, two));
	qw_expect(&two->a_send, RNIC_CQE_REQUESTER, 0, two->a.qpn);
	/* Nobody refers to it: it can go. */
	assert_int_equal(dp_destroy(&two->b.end->dp, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
	assert_int_equal(dp_stats(&two->b.end->dp).objects, objects);
}

/* CVE-2026-45910, CVE-2025-21829: a timer went off when its queue pair was going, or had gone. */
static void
test_queue_pairs_go_while_their_timers_run(void **state)
{
	const uint32_t rounds = full_run() ? 100000 : 3000;
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();
	uint32_t objects;

	attr.timeout = 1; /* 8 us */
	refuser = two->a.end->dp.dev;
	refuse = 100;
	objects = dp_stats(&two->a.end->dp).objects;
	for (uint32_t i = 0; i < rounds; i++) {
		qw_two_reconnect(two, &attr);
		qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
		qw_poll(&two->qw, 1 + i % 4);
		assert_true(i % 4 > 1 || qw_qp_inside(&two->a)->deadline != UINT64_MAX);
		/* Before its time, at it, behind it; the others go in its middle. */
		test_clock_advance_us(i % 3 * 5);
	}
	refuse = 0;
	qw_two_reconnect(two, &attr);
	test_clock_advance_us(1000);
	qw_run(&two->qw);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(dp_stats(&two->a.end->dp).objects, objects);
	assert_int_equal(qw_qp_destroy(&two->a), 0);
	assert_int_equal(two->a.end->dp.dev->timed_count, 0);
	assert_true(TAILQ_EMPTY(&two->a.end->dp.dev->timed_qps));
	assert_true(TAILQ_EMPTY(&two->a.end->dp.dev->active_qps));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_short_packets_of_every_opcode),
		cmocka_unit_test_setup_teardown(test_short_packets_over_ipv4, setup_ipv4,
						qw_teardown),
		T(test_requests_of_another_length_than_they_say),
		T(test_a_key_of_no_bytes_reaches_none),
		T(test_what_is_sent_after_a_refusal_is_the_same),
		cmocka_unit_test(test_error_before_any_poll_ends_all),
		T(test_no_receive_100000_times_leaves_nothing),
		T(test_queue_pairs_go_while_their_timers_run),
	};

	return cmocka_run_group_tests_name("qp_known", tests, NULL, NULL);
}
