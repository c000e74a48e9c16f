/* SPDX-License-Identifier: BSD-3-Clause */

/* What one client may cost the others: memory keys of any kind, and queue pairs with much to do, take no long poll. */
#include <stdlib.h>

#include "../cpu_time.h"
#include "qp_world.h"
#include "test_clock.h"
/* What is charged, and how far each has got between two polls. */
#include "softrnic/base/object.h"
#include "softrnic/base/work.h"
#include "softrnic/engine/sq.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/qp.h"

#define SEGMENTS 61u /* as many as a WQE with a remote address has room for */
#define LIST	 SOFTRNIC_MAX_KLMS

/* A list of keys as long as lists may be: byte i of it is byte i % period behind `address` of the other key. */
static uint32_t
list_key(struct qw_end *end, uint32_t key, uint64_t address, uint32_t period)
{
	struct rnic_klm *entries = calloc(LIST, sizeof(*entries));

	assert_non_null(entries);
	for (uint32_t i = 0; i < LIST; i++)
		entries[i] = qw_entry(key, address + i % period, 1);
	key = qw_list_key(end, entries, LIST);
	free(entries);
	return key;
}

static void
destroy_key(struct qw_end *end, uint32_t key)
{
	assert_int_equal(dp_destroy(&end->dp, RNIC_CMD_DESTROY_MKEY, key >> 8), 0);
}

/* A WRITE of one byte in each of its segments, all of them from this byte of the key: how long it keeps the device. */
static uint64_t
write_segments(struct qw_two *two, uint32_t key, uint64_t at)
{
	const uint16_t counter = two->a.sq.producer;
	uint64_t before;

	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, NULL, 0, two->in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	two->a.sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(two->a.qpn, 2 + SEGMENTS));
	for (uint32_t i = 0; i < SEGMENTS; i++)
		qw_segment(&two->a, 2 + i, key, (void *)(uintptr_t)at, 1);
	two->a.sq.producer = (uint16_t)(counter + (2 + SEGMENTS + 3) / 4);
	dp_sq_ring(&two->a.sq);
	before = cpu_ns();
	while (dp_cq_peek(&two->a_send) == NULL)
		softrnic_poll(two->qw.poller);
	before = cpu_ns() - before;
	qw_done(two, counter);
	return before;
}

/* The last entry of a long list is found as fast as the first one, or nearly so. */
static void
test_place_in_a_list_of_keys(void **state)
{
	struct qw_two *two = *state;
	uint32_t key = list_key(two->a.end, two->a.end->key, (uintptr_t)two->out, 4096);
	uint64_t first = UINT64_MAX, last = UINT64_MAX;

	for (uint32_t i = 0; i < 10; i++) {
		uint64_t ns = write_segments(two, key, 0);

		first = ns < first ? ns : first;
		assert_int_equal(two->in[SEGMENTS - 1], two->out[0]);
		ns = write_segments(two, key, LIST - 1);
		last = ns < last ? ns : last;
		assert_int_equal(two->in[SEGMENTS - 1], two->out[(LIST - 1) % 4096]);
	}
	assert_true(last < 20 * first);
	destroy_key(two->a.end, key);
}

/* Long lists of long lists lead to their last bytes, too, as deep as the capabilities say and no deeper. */
static void
test_last_byte_of_lists_of_lists(void **state)
{
	enum { DEEP = SOFTRNIC_MAX_INDIRECTION };
	struct qw_two *two = *state;
	uint32_t keys[DEEP + 2] = { two->a.end->key };

	keys[1] = list_key(two->a.end, keys[0], (uintptr_t)two->out, 4096);
	for (uint32_t i = 2; i < DEEP + 2; i++)
		keys[i] = list_key(two->a.end, keys[i - 1], 0, LIST);
	two->in[0] = 0;
	write_segments(two, keys[DEEP], LIST - 1);
	assert_int_equal(two->in[0], two->out[(LIST - 1) % 4096]);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, NULL, 1, two->in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, keys[DEEP + 1], NULL, 1);
	qw_go(two);
	qw_failed(two, (uint16_t)(two->a.sq.producer - 1), RNIC_SYND_LOCAL_PROTECTION);
	for (uint32_t i = DEEP + 1; i > 0; i--)
		destroy_key(two->a.end, keys[i]);
}

/* ---- Turns ---- */

#define QPS  16u
#define EACH (128u << 10)
/* Packets that one queue pair may be ahead of another: a turn, and the one that has just ended. */
#define AHEAD (2 * 64u)

struct many {
	struct qw_two *two;
	struct dp_cq cq;
	struct qw_qp senders[64], receivers[64];
	uint32_t count;
};

static struct many *
many_open(struct qw_two *two, uint32_t count)
{
	const struct dp_cq_conf cq_conf = { .log_size = 12, .uar = 1 };
	struct many *many = calloc(1, sizeof(*many));
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	struct qw_attr attr = qw_attr();

	assert_non_null(many);
	many->two = two;
	many->count = count;
	assert_int_equal(dp_cq_create(&two->a.end->dp, &many->cq, &cq_conf), 0);
	a.send_cq = &many->cq;
	a.no_rq = b.no_rq = true;
	b.log_sq = 1;
	attr.mtu = RNIC_QP_MTU_4096;
	for (uint32_t i = 0; i < count; i++)
		qw_two_more(two, &many->senders[i], &a, &many->receivers[i], &b, &attr);
	return many;
}

/* Packets that this one has sent. */
static uint32_t
sent(struct many *many, uint32_t i)
{
	return (qw_qp_inside(&many->senders[i])->roce.requester.high - qw_attr().psn) & 0xffffff;
}

/* However much each of them has to do, none gets ahead of the others by more than its turn. */
static void
test_turns(void **state)
{
	struct qw_two *two = *state;
	struct many *many = many_open(two, QPS);
	const uint32_t all = EACH / 4096 * 16;
	uint32_t least = 0, most, n;

	for (uint32_t i = 0; i < QPS; i++) {
		for (uint32_t j = 0; j < 16; j++)
			qw_wqe(&many->senders[i], RNIC_WQE_RDMA_WRITE, two->out, EACH, two->in,
			       two->b.end->key, RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&many->senders[i].sq);
	}
	for (uint32_t polls = 0; least < all; polls++) {
		assert_true(polls < 1000);
		softrnic_poll(two->qw.poller);
		least = all;
		most = 0;
		for (uint32_t i = 0; i < QPS; i++) {
			n = sent(many, i);
			least = n < least ? n : least;
			most = n > most ? n : most;
		}
		assert_true(most - least <= AHEAD);
	}
	qw_expect_nothing(&many->cq);
	free(many);
}

/* Packets without bytes are work as well: a poll ends after so many of them. */
static void
test_a_poll_ends_by_packets_too(void **state)
{
	enum { COUNT = 64, WQES = 64, MOST = 1024 + 2 * 64 };
	struct qw_two *two = *state;
	struct many *many = many_open(two, COUNT);
	uint64_t before = dp_stats(&two->a.end->dp).tx_packets, now = before, start = before;

	for (uint32_t i = 0; i < COUNT; i++) {
		for (uint32_t j = 0; j < WQES; j++)
			qw_wqe(&many->senders[i], RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0,
			       RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&many->senders[i].sq);
	}
	for (uint32_t polls = 0; now - start < COUNT * WQES; polls++) {
		assert_true(polls < 1000);
		softrnic_poll(two->qw.poller);
		now = dp_stats(&two->a.end->dp).tx_packets;
		assert_true(now - before <= MOST);
		before = now;
	}
	qw_expect_nothing(&many->cq);
	free(many);
}

void __real_softrnic_share_look(struct softrnic_budget *budget);
void __wrap_softrnic_share_look(struct softrnic_budget *budget);

static uint32_t charged; /* the most in a share, when somebody looked */

void
__wrap_softrnic_share_look(struct softrnic_budget *budget)
{
	if (budget->spent > charged)
		charged = budget->spent;
	__real_softrnic_share_look(budget);
}

/*
 * One answer, for which thousands of requests wait that have nothing to send: they are done in turns, as others are, and who
 * has the answer delivered is charged for what it does.
 */
static void
test_an_answer_ends_no_more_than_hundreds(void **state)
{
	enum { LOG_RING = 13, WQES = 8000, WINDOW = ROCE_WINDOW, TURN = 64 };
	struct qw_two *two = *state;
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	const struct dp_cq_conf cq_conf = { .log_size = LOG_RING, .uar = 1 };
	const struct qw_attr attr = qw_attr();
	struct softrnic_stats before, now;
	struct qw_qp sender, receiver;
	bool counted = false;
	struct dp_cq cq;

	assert_int_equal(dp_cq_create(&two->a.end->dp, &cq, &cq_conf), 0);
	a.send_cq = &cq;
	a.log_sq = LOG_RING;
	a.no_rq = b.no_rq = true;
	assert_int_equal(qw_qp_create(two->a.end, &sender, &a), 0);
	assert_int_equal(qw_qp_create(two->b.end, &receiver, &b), 0);
	assert_int_equal(qw_qp_modify(&sender, RNIC_CMD_RST2INIT_QP, &receiver, &attr), 0);
	assert_int_equal(qw_qp_modify(&sender, RNIC_CMD_INIT2RTR_QP, &receiver, &attr), 0);
	assert_int_equal(qw_qp_modify(&sender, RNIC_CMD_RTR2RTS_QP, &receiver, &attr), 0);
	assert_int_equal(qw_qp_modify(&receiver, RNIC_CMD_RST2INIT_QP, &sender, &attr), 0);
	qw_wqe(&sender, RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 1; i < WQES; i++)
		qw_wqe(&sender, RNIC_WQE_NOP, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&sender.sq);
	/* The receiver does not receive yet. */
	qw_poll(&two->qw, 2 * WQES / TURN);
	qw_expect_nothing(&cq);
	assert_int_equal(qw_qp_modify(&receiver, RNIC_CMD_INIT2RTR_QP, &sender, &attr), 0);
	/* The WRITE comes again. */
	test_clock_advance_us(200000);
	before = dp_stats(&two->a.end->dp);
	for (uint64_t cqes = before.cqes; before.cqes - cqes < WQES; before = now) {
		charged = 0;
		softrnic_poll(two->qw.poller);
		now = dp_stats(&two->a.end->dp);
		assert_in_range(now.cqes - before.cqes, 0, WINDOW + 2 * TURN);
		counted = counted || (now.cqes - before.cqes >= WINDOW && charged >= WINDOW / 2);
	}
	assert_true(counted);
	assert_int_equal(qw_qp_state(&sender), RNIC_QP_STATE_RTS);
}

static void
expect_consumers(struct dp *dp, const struct dp_sq *sqs, uint32_t from, uint32_t to,
		 uint16_t wanted)
{
	const struct softrnic_sq *sq;

	for (; from < to; from++) {
		sq = softrnic_object_get(dp->dev, SOFTRNIC_SQ, sqs[from].sqn);
		assert_int_equal(sq->consumer, wanted);
	}
}

/* However many queues have work, who waits for the poller has it soon; and all queues have their turn. */
static void
test_a_poll_ends_however_many_queues_have_work(void **state)
{
	enum { QUEUES = 64, WQES = 256, TURN = 128, POLL = 4096 };
	struct softrnic_conf conf = { .name = "many", .wire = "loop" };
	struct dp_cq_conf cq_conf = { .log_size = 6, .uar = 1, .ignore_overrun = true };
	struct dp_sq sqs[QUEUES];
	struct dp_cq cq;
	struct qw_two *two = *state;
	struct dp dp;

	memset(&dp, 0, sizeof(dp));
	assert_int_equal(dp_open_quick(&dp, two->qw.poller, &conf), 0);
	assert_int_equal(dp_cq_create(&dp, &cq, &cq_conf), 0);
	for (uint32_t i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_sq_create(&dp, &sqs[i], &cq, 8, 1, 0), 0);
		for (uint32_t k = 0; k < WQES; k++)
			dp_wqe(&sqs[i], RNIC_WQE_NOP, 1, RNIC_WQE_CE_ON_ERROR);
		dp_sq_record(&sqs[i]);
		softrnic_sq_doorbell(dp.dev, sqs[i].sqn);
	}
	softrnic_poll(two->qw.poller);
	assert_int_equal(dp_stats(&dp).wqes, POLL);
	expect_consumers(&dp, sqs, 0, POLL / TURN, TURN);
	expect_consumers(&dp, sqs, POLL / TURN, QUEUES, 0);
	softrnic_poll(two->qw.poller);
	expect_consumers(&dp, sqs, 0, QUEUES, TURN);
	softrnic_poll(two->qw.poller);
	softrnic_poll(two->qw.poller);
	expect_consumers(&dp, sqs, 0, QUEUES, WQES);
	dp_close(&dp);
}

#define T(name) cmocka_unit_test_setup_teardown(name, qw_setup_pair, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_place_in_a_list_of_keys),
		T(test_last_byte_of_lists_of_lists),
		T(test_turns),
		T(test_a_poll_ends_by_packets_too),
		T(test_an_answer_ends_no_more_than_hundreds),
		T(test_a_poll_ends_however_many_queues_have_work),
	};

	return cmocka_run_group_tests_name("qp_turn", tests, NULL, NULL);
}
