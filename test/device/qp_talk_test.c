/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Drivers that always have one more: one more WQE, receive, command, arming, page, while the device looks. Each of its
 * accesses to memory gives the driver a turn (the audit sees them all), as if it ran on a core of its own and were faster.
 * A round ends all the same, by the device's own limits and not by the driver's silence, and the next ones go on.
 */
#include <stdlib.h>

#include "prm/cmdq.h"
#include "qp_world.h"
/* Rings in the device, which a driver that always has one more fills up to. */
#include "softrnic/base/dma.h"
#include "softrnic/base/object.h"
#include "softrnic/engine/sq.h"
#include "softrnic/receive/qp.h"
#include "softrnic/receive/rq.h"

#define LOG  8
#define RING (1u << LOG)
#define ENDED \
	(1u   \
	 << 20) /* accesses after which a driver falls silent, so that a round without an end has one */
#define SPARE 64u /* accesses of other kinds */
#define TURN  64u /* of a queue pair: WQEs, answers, requests */
#define SLOTS 32u

struct fixture {
	struct qw_two *two;
	struct dp *dp;
	struct dp_cq cq;
	struct dp_sq sq;
	struct dp_rq rq;
	struct rnic_cmdq_entry *slots;
};

static struct {
	struct fixture *f;
	void (*more)(struct fixture *f);
	uint32_t left;
} driver;

void __real_softrnic_audit(struct softrnic *dev, const void *host, size_t length,
			   unsigned int prot);
void __wrap_softrnic_audit(struct softrnic *dev, const void *host, size_t length,
			   unsigned int prot);

void
__wrap_softrnic_audit(struct softrnic *dev, const void *host, size_t length, unsigned int prot)
{
	__real_softrnic_audit(dev, host, length, prot);
	if (driver.more == NULL || driver.left == 0)
		return;
	driver.left--;
	driver.more(driver.f);
}

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = LOG, .uar = 1, .ignore_overrun = true };
	const struct qw_conf conf = { .pair = true };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->two = qw_two_open(&conf);
	f->dp = &f->two->qw.ends[0]->dp;
	assert_int_equal(dp_cq_create(f->dp, &f->cq, &cq), 0);
	*state = f;
	return 0;
}

/* Rounds in which the driver talks; each of them makes so many accesses at most. */
static void
rounds(struct fixture *f, void (*more)(struct fixture *f), uint32_t most)
{
	for (uint32_t i = 0; i < 100; i++) {
		driver.f = f;
		driver.left = ENDED;
		driver.more = more;
		softrnic_poll(f->two->qw.poller);
		driver.more = NULL;
		assert_in_range(ENDED - driver.left, i == 0 ? 1 : 0, most);
	}
}

/* ---- Queues of frames ---- */

/* A ring that is full of NOPs, again and again. */
static void
open_sq(struct fixture *f, uint8_t ce)
{
	assert_int_equal(dp_sq_create(f->dp, &f->sq, &f->cq, LOG, 1, DP_SQ_FLUSH), 0);
	for (uint32_t i = 0; i < RING; i++)
		dp_wqe(&f->sq, RNIC_WQE_NOP, 1, ce);
	dp_sq_ring(&f->sq);
}

static void
more_sends(struct fixture *f)
{
	const struct softrnic_sq *sq = softrnic_object_get(f->dp->dev, SOFTRNIC_SQ, f->sq.sqn);

	f->sq.producer = (uint16_t)(sq->consumer + RING);
	dp_sq_record(&f->sq);
}

static void
test_a_send_queue(void **state)
{
	struct fixture *f = *state;

	open_sq(f, RNIC_WQE_CE_ALWAYS);
	rounds(f, more_sends, 2 * 128 + SPARE);
	assert_in_range(dp_stats(f->dp).wqes, 90 * 128, 100 * 128);
}

static void
test_a_send_queue_that_is_flushed(void **state)
{
	struct fixture *f = *state;

	open_sq(f, RNIC_WQE_CE_ALWAYS);
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	rounds(f, more_sends, 2 * 128 + SPARE);
	assert_in_range(dp_stats(f->dp).wqes, 90 * 128, 100 * 128);
}

static void
more_receives(struct fixture *f)
{
	const struct softrnic_rq *rq = softrnic_object_get(f->dp->dev, SOFTRNIC_RQ, f->rq.rqn);

	f->rq.producer = (uint16_t)(rq->consumer + RING);
	dp_rq_record(&f->rq);
}

/* A visit ends with what the record said when it began, and two of them are a sweep. */
static void
test_a_receive_queue_that_is_flushed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(dp_rq_create(f->dp, &f->rq, &f->cq, LOG, 4), 0);
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	more_receives(f);
	rounds(f, more_receives, 2 * RING + SPARE);
	assert_in_range(dp_stats(f->dp).cqes, 1, 100 * 2 * RING);
}

/* Completions that are armed for as they come: one event a round. */
static void
more_arming(struct fixture *f)
{
	static uint32_t sequence;

	more_sends(f);
	dp_cq_arm(&f->cq, ++sequence, false);
}

static void
test_a_completion_queue(void **state)
{
	struct fixture *f = *state;

	open_sq(f, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < 10; i++) {
		const uint64_t before = dp_stats(f->dp).eqes;

		driver.f = f;
		driver.left = ENDED;
		driver.more = more_arming;
		softrnic_poll(f->two->qw.poller);
		driver.more = NULL;
		assert_in_range(ENDED - driver.left, 0, 2 * 128 + SPARE);
		/* By its doorbell, and at the end of the round. */
		assert_in_range(dp_stats(f->dp).eqes - before, 0, 2);
	}
	assert_true(dp_stats(f->dp).eqes > 0);
}

/* ---- Queue pairs ---- */

/* One of whatever is posted, as far as what is under way leaves room. */
static void
fill_qp(struct qw_qp *qp)
{
	const struct softrnic_qp *inside = qw_qp_inside(qp);
	const struct roce_requester *req = &inside->roce.requester;

	qp->sq.producer =
		(uint16_t)(inside->sq_consumer + (1u << QW_LOG_SQ) - (req->head - req->tail));
	dp_sq_record(&qp->sq);
	qp->rq.producer = (uint16_t)(inside->rq.consumer + (1u << QW_LOG_RQ));
	dp_rq_record(&qp->rq);
}

static void
more_requests(struct fixture *f)
{
	fill_qp(&f->two->a);
	fill_qp(&f->two->b);
}

static void
write_ring(struct qw_qp *qp, const struct qw_qp *peer, uint8_t opcode, void *local, void *remote)
{
	for (uint32_t i = 0; i < 1u << QW_LOG_SQ; i++)
		qw_wqe(qp, opcode, local, 64, remote, peer->end->key, RNIC_WQE_CE_ON_ERROR);
	for (uint32_t i = 0; i < 1u << QW_LOG_RQ; i++)
		dp_post(&qp->rq, local, 64);
}

/* Both ends of a connection ask, and answer, and are asked again. */
static void
talk_to_each_other(struct fixture *f, uint8_t opcode)
{
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a = qw_two_qp_conf(f->two, false), b = qw_two_qp_conf(f->two, true);
	const struct dp_cq_conf cq = { .log_size = LOG, .uar = 1, .ignore_overrun = true };
	struct dp_cq other;
	uint64_t before;

	assert_int_equal(dp_cq_create(&f->two->qw.ends[1]->dp, &other, &cq), 0);
	a.send_cq = a.recv_cq = &f->cq;
	b.send_cq = b.recv_cq = &other;
	qw_two_more(f->two, &f->two->a, &a, &f->two->b, &b, &attr);
	write_ring(&f->two->a, &f->two->b, opcode, f->two->out, f->two->in);
	write_ring(&f->two->b, &f->two->a, opcode, f->two->in, f->two->out);
	more_requests(f);
	dp_sq_ring(&f->two->a.sq);
	dp_sq_ring(&f->two->b.sq);
	before = dp_stats(f->dp).wqes;
	/* A WQE is copied, its data found, and taken by the peer, who may need a WQE of his for it and complete that. */
	rounds(f, more_requests, 2 * 2 * TURN * 6 + SPARE);
	assert_in_range(dp_stats(f->dp).wqes - before, 100, 100 * TURN);
	assert_int_equal(qw_qp_state(&f->two->a), RNIC_QP_STATE_RTS);
	assert_int_equal(qw_qp_state(&f->two->b), RNIC_QP_STATE_RTS);
}

static void
test_queue_pairs_that_write(void **state)
{
	talk_to_each_other(*state, RNIC_WQE_RDMA_WRITE);
}

static void
test_queue_pairs_that_read(void **state)
{
	talk_to_each_other(*state, RNIC_WQE_RDMA_READ);
}

static void
test_queue_pairs_that_send(void **state)
{
	talk_to_each_other(*state, RNIC_WQE_SEND);
}

static void
test_queue_pairs_that_do_nothing(void **state)
{
	talk_to_each_other(*state, RNIC_WQE_NOP);
}

static void
more_of_one(struct fixture *f)
{
	fill_qp(&f->two->a);
}

/* Both rings of one in ERR: each turn flushes so many of each, all of which are copied and completed. */
static void
test_a_queue_pair_that_is_flushed(void **state)
{
	struct fixture *f = *state;
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a = qw_two_qp_conf(f->two, false), b = qw_two_qp_conf(f->two, true);

	a.send_cq = a.recv_cq = &f->cq;
	qw_two_more(f->two, &f->two->a, &a, &f->two->b, &b, &attr);
	write_ring(&f->two->a, &f->two->b, RNIC_WQE_NOP, f->two->out, f->two->in);
	more_of_one(f);
	qw_qp_to(&f->two->a, RNIC_CMD_2ERR_QP);
	dp_sq_ring(&f->two->a.sq);
	rounds(f, more_of_one, 2 * 2 * TURN + SPARE);
	assert_in_range(dp_stats(f->dp).cqes, 100, 100 * 2 * TURN);
}

/* ---- Commands ---- */

/* Every slot holds a command, and rings. */
static void
more_commands(struct fixture *f)
{
	const struct rnic_be32 all = rnic_cpu_to_be32(UINT32_MAX);

	for (uint32_t i = 0; i < SLOTS; i++)
		__atomic_store_n(&f->slots[i].status_own, RNIC_CMDQ_STATUS_OWN_HW,
				 __ATOMIC_RELEASE);
	assert_int_equal(softrnic_bar_write(f->dp->dev,
					    RNIC_FIELD_OFFSET(RNIC_ISEG_COMMAND_DOORBELL), &all,
					    sizeof(all)),
			 0);
}

static void
open_commands(struct fixture *f, uint16_t opcode, uint32_t in_bytes)
{
	struct rnic_be32 half;
	uint64_t at;

	f->slots = dp_alloc(f->dp, SLOTS * sizeof(*f->slots), 4096);
	at = dp_iova(f->dp, f->slots);
	for (uint32_t i = 0; i < SLOTS; i++) {
		f->slots[i].type = RNIC_CMDQ_ENTRY_TYPE;
		f->slots[i].input_length = rnic_cpu_to_be32(in_bytes);
		f->slots[i].output_length = rnic_cpu_to_be32(16);
		rnic_cmd_in_set((struct rnic_cmd_in *)f->slots[i].input, RNIC_CMD_IN_OPCODE,
				opcode);
	}
	half = rnic_cpu_to_be32((uint32_t)(at >> 32));
	assert_int_equal(softrnic_bar_write(f->dp->dev, 0x10, &half, sizeof(half)), 0);
	half = rnic_cpu_to_be32((uint32_t)at);
	assert_int_equal(softrnic_bar_write(f->dp->dev, 0x14, &half, sizeof(half)), 0);
	more_commands(f);
}

static void
test_commands(void **state)
{
	struct fixture *f = *state;
	uint64_t before = dp_stats(f->dp).commands;

	open_commands(f, RNIC_CMD_NOP, 16);
	rounds(f, more_commands, 2 * SLOTS + SPARE);
	assert_in_range(dp_stats(f->dp).commands - before, 100, 100 * SLOTS);
}

/* The driver asks for pages back, again and again, and the device has none to give. */
static void
test_pages(void **state)
{
	struct fixture *f = *state;
	const uint64_t held = dp_stats(f->dp).pages_held;

	open_commands(f, RNIC_CMD_MANAGE_PAGES, 16);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct rnic_manage_pages_in *in = (struct rnic_manage_pages_in *)f->slots[i].input;

		rnic_cmd_in_set((struct rnic_cmd_in *)in, RNIC_CMD_IN_OP_MOD, RNIC_PAGES_TAKE);
		rnic_manage_pages_in_set(in, RNIC_MANAGE_PAGES_IN_INPUT_NUM_ENTRIES, 1);
	}
	rounds(f, more_commands, 2 * SLOTS + SPARE);
	assert_int_equal(dp_stats(f->dp).pages_held, held);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, qw_fixture_teardown)
	const struct CMUnitTest tests[] = {
		T(a_send_queue),
		T(a_send_queue_that_is_flushed),
		T(a_receive_queue_that_is_flushed),
		T(a_completion_queue),
		T(queue_pairs_that_write),
		T(queue_pairs_that_read),
		T(queue_pairs_that_send),
		T(queue_pairs_that_do_nothing),
		T(a_queue_pair_that_is_flushed),
		T(commands),
		T(pages),
	};

	return cmocka_run_group_tests_name("qp_talk", tests, NULL, NULL);
}
