/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver that changes its rings, records and receive WQEs while the device reads them: whatever the device makes of
 * that, it touches nothing that is not mapped for it, and serves those who behave. The races are the test's own.
 */
#include <pthread.h>
#include <stdlib.h>

#include "../counts.h"
#include "qp_world.h"
/* Pools that are mended behind a vandal. */
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/event/eq.h"
#include "softrnic/receive/rmp.h"

#define WQES	  8u
#define BLOCK	  64u
#define POLLS	  20u		     /* of the device, for one time that WQEs are posted */
#define SCRIBBLED (WQES * 2 * BLOCK) /* bytes at the start of each ring */
#define POOL_LOG  4
#define ENOUGH	  100u /* of what went wrong */

struct vandal {
	pthread_t thread;
	atomic_bool stop;
	uint8_t *targets[5];
	uint32_t bytes[5];
	uint64_t changes;
};

static uint64_t
next_random(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return *random * UINT64_C(0x2545f4914f6cdd1d);
}

static void *
vandal_main(void *arg)
{
	struct vandal *v = arg;
	uint64_t random = 0x5eed, r;

	while (!atomic_load_explicit(&v->stop, memory_order_relaxed)) {
		volatile uint8_t *at;

		r = next_random(&random) >> 8;
		at = v->targets[r % 5] + (r >> 8) % v->bytes[r % 5];
		/* One bit there, and mostly back again: before or after the device has looked, or between. */
		*at ^= (uint8_t)(1u << (r >> 40) % 8);
		if ((r >> 48) % 4 != 0)
			*at ^= (uint8_t)(1u << (r >> 40) % 8);
		v->changes++;
	}
	return NULL;
}

static void
post_all(struct qw_two *two, uint64_t *random)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND,      RNIC_WQE_RDMA_WRITE,
					   RNIC_WQE_RDMA_READ, RNIC_WQE_ATOMIC_FA,
					   RNIC_WQE_ATOMIC_CS, RNIC_WQE_RDMA_WRITE_IMM };

	for (uint32_t i = 0; i < WQES; i++) {
		uint64_t r = next_random(random) >> 16;
		uint8_t opcode = opcodes[r % 6];
		bool atomic = opcode == RNIC_WQE_ATOMIC_FA || opcode == RNIC_WQE_ATOMIC_CS;

		qw_wqe(&two->a, opcode, two->out, atomic ? 8 : (uint32_t)(r >> 8) % 5000 + 1,
		       two->in, two->b.end->key, RNIC_WQE_CE_ALWAYS);
	}
	dp_sq_ring(&two->a.sq);
}

/* Takes what has been completed, and counts good ones and bad ones. */
static void
drain(struct qw_two *two, uint32_t seen[2])
{
	const struct rnic_cqe *cqe;

	struct dp_cq *cqs[] = { &two->a_send, &two->a_recv, &two->b_send, &two->b_recv };

	for (uint32_t i = 0; i < 4; i++) {
		while ((cqe = dp_cq_next(cqs[i])) != NULL)
			seen[RNIC_CQE_OPCODE(cqe->op_own) >= RNIC_CQE_REQUESTER_ERROR]++;
	}
	while (qw_event(two->qw.ends[0], NULL) != 0 || qw_event(two->qw.ends[1], NULL) != 0)
		;
	/* Only doorbells tell the device of events that were taken. */
	for (uint32_t i = 0; i < 2; i++) {
		struct dp *dp = &two->qw.ends[i]->dp;

		softrnic_lock(two->qw.poller);
		softrnic_eq_doorbell(dp->dev, dp->eqn << 24 | (dp->eq_consumer & 0xffffff), false);
		softrnic_unlock(two->qw.poller);
	}
}

/* CQs that no record, whatever it says, overruns from one drain() to the next. */
static void
large_cqs(struct qw_two *two)
{
	const struct dp_cq_conf conf = { .log_size = 11, .uar = 1 };

	_Static_assert(POLLS * 64 < 1 << 11, "as many WQEs as a queue pair takes in so many turns");
	assert_int_equal(dp_cq_create(&two->qw.ends[0]->dp, &two->a_send, &conf), 0);
	assert_int_equal(dp_cq_create(&two->qw.ends[0]->dp, &two->a_recv, &conf), 0);
	assert_int_equal(dp_cq_create(&two->qw.ends[1]->dp, &two->b_send, &conf), 0);
	assert_int_equal(dp_cq_create(&two->qw.ends[1]->dp, &two->b_recv, &conf), 0);
}

/* As good as new. By hand: DESTROY_RMP would want the queue pair destroyed first, which is under way. */
static void
fill_pool(struct qw_two *two, struct qw_srq *srq)
{
	struct softrnic_rmp *rmp;

	softrnic_lock(two->qw.poller);
	rmp = softrnic_object_get(srq->end->dp.dev, SOFTRNIC_RMP, srq->rmpn);
	rmp->state = RNIC_WQ_STATE_RDY;
	rmp->consumer = rmp->producer = rmp->next = 0;
	softrnic_unlock(two->qw.poller);
	for (uint16_t i = 0; i < 1u << POOL_LOG; i++)
		qw_srq_write(srq, i, (uint16_t)((i + 1) % (1u << POOL_LOG)), two->in, 8192);
	srq->producer = 0;
	qw_srq_post(srq, 1u << POOL_LOG);
}

static void
test_memory_that_changes(void **state)
{
	const uint32_t rounds = full_run() ? 400000 : 20000;
	const struct qw_conf conf = { .pair = true, .islands = true };
	struct qw_two *two = qw_two_open(&conf);
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	struct vandal v = { .changes = 0 };
	struct qw_attr attr = qw_attr();
	uint64_t random = 0xbad5eed;
	uint32_t seen[2] = { 0, 0 };
	struct qw_srq srq;

	(void)state;
	large_cqs(two);
	qw_srq_create(two->qw.ends[1], &srq, POOL_LOG, 6, 0);
	b.srq = &srq;
	assert_int_equal(qw_qp_create(two->qw.ends[0], &two->a, &a), 0);
	assert_int_equal(qw_qp_create(two->qw.ends[1], &two->b, &b), 0);
	v.targets[0] = two->a.sq.ring;
	v.bytes[0] = SCRIBBLED;
	v.targets[1] = two->a.rq.ring;
	v.bytes[1] = SCRIBBLED;
	v.targets[2] = srq.ring;
	v.bytes[2] = BLOCK << POOL_LOG;
	v.targets[3] = (uint8_t *)two->a.sq.dbrec;
	v.bytes[3] = sizeof(*two->a.sq.dbrec);
	v.targets[4] = (uint8_t *)srq.dbrec;
	v.bytes[4] = sizeof(*srq.dbrec);
	assert_int_equal(pthread_create(&v.thread, NULL, vandal_main, &v), 0);
	/* The vandal may have been kept from its work. */
	for (uint32_t i = 0; i < rounds || (seen[1] < ENOUGH && i < 50 * rounds); i++) {
		qw_qp_modify(&two->a, RNIC_CMD_2RST_QP, NULL, &attr);
		qw_qp_modify(&two->b, RNIC_CMD_2RST_QP, NULL, &attr);
		two->a.sq.producer = 0;
		dp_sq_record(&two->a.sq);
		fill_pool(two, &srq);
		qw_connect(&two->a, &two->b, &attr);
		post_all(two, &random);
		qw_poll(&two->qw, POLLS);
		drain(two, seen);
	}
	atomic_store(&v.stop, true);
	assert_int_equal(pthread_join(v.thread, NULL), 0);
	/* Neither was all of it in vain, nor did nothing go wrong. */
	assert_true(v.changes > 0 && seen[0] > 0 && seen[1] >= ENOUGH);

	/* And now without. */
	qw_two_reconnect(two, &attr);
	drain(two, seen);
	qw_fill(two->out, 64, 1);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, 64);
	qw_two_close(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_that_changes),
	};

	return cmocka_run_group_tests_name("qp_scribble", tests, NULL, NULL);
}
