/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queue pairs whose WQE counters come round, driven there from 0, by NOPs or messages: send rings, receive rings, and pools
 * of either kind. What is sent and received around the end is all there, and where it belongs.
 */
#include <stdlib.h>

#include "qp_world.h"
/* How far rings have got. */
#include "softrnic/receive/qp.h"
#include "softrnic/receive/rmp.h"

#define NEAR   65500u /* a few dozen before the end */
#define BEYOND 100u   /* and so many from there on */
#define RING   (1u << QW_LOG_SQ)
#define SLOT   64u /* bytes of a buffer */

static void
wait_for(struct qw_two *two, struct dp_cq *cq)
{
	while (dp_cq_peek(cq) == NULL)
		softrnic_poll(two->qw.poller);
}

/* So many NOPs, of which the last one of each doorbell completes. */
static void
nops(struct qw_two *two, uint32_t count)
{
	uint32_t burst, i;

	for (; count > 0; count -= burst) {
		burst = count < RING ? count : RING;
		for (i = 0; i < burst; i++)
			qw_wqe(&two->a, RNIC_WQE_NOP, NULL, 0, NULL, 0,
			       i + 1 == burst ? RNIC_WQE_CE_ALWAYS : RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&two->a.sq);
		wait_for(two, &two->a_send);
		qw_done(two, (uint16_t)(two->a.sq.producer - 1));
	}
}

/* One of each kind, with a look at what it did. */
static void
one_of_each(struct qw_two *two, uint32_t seed)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_FA, RNIC_WQE_SEND };
	uint64_t *value = (uint64_t *)two->in;
	uint16_t counter;

	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		const bool fetch = opcodes[i] == RNIC_WQE_ATOMIC_FA;

		qw_fill(two->out, SLOT, seed);
		if (opcodes[i] == RNIC_WQE_SEND)
			qw_recv(&two->b, two->in, SLOT);
		if (fetch)
			*value = seed;
		counter = two->a.sq.producer;
		qw_post(&two->a, &two->b, opcodes[i], two->out, fetch ? 8 : SLOT, two->in);
		wait_for(two, &two->a_send);
		qw_done(two, counter);
		if (fetch)
			assert_int_equal(*(uint64_t *)two->out, seed);
		else
			assert_memory_equal(two->in, two->out, SLOT);
	}
	wait_for(two, &two->b_recv);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, (uint16_t)seed, two->b.qpn);
}

static void
test_a_send_ring(void **state)
{
	struct qw_two *two = *state;

	nops(two, NEAR);
	for (uint32_t i = 0; i < BEYOND; i++)
		one_of_each(two, i);
	assert_in_range(two->a.sq.producer, 1, 4 * BEYOND);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_RTS);
}

/* A full ring across the end is full and no more, and is flushed as a whole. */
static void
test_a_full_send_ring(void **state)
{
	struct qw_two *two = *state;

	nops(two, 65536 - RING / 2);
	for (uint32_t i = 0; i < RING; i++)
		qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, SLOT, two->in, two->b.end->key,
		       RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	for (uint32_t i = 0; i < RING; i++)
		qw_done(two, (uint16_t)(65536 - RING / 2 + i));
	nops(two, 65536 - RING);
	qw_qp_to(&two->a, RNIC_CMD_2ERR_QP);
	for (uint32_t i = 0; i < RING; i++)
		qw_wqe(&two->a, RNIC_WQE_NOP, NULL, 0, NULL, 0, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	for (uint32_t i = 0; i < RING; i++)
		qw_failed(two, (uint16_t)(65536 - RING / 2 + i), RNIC_SYND_WR_FLUSHED);
}

/* Messages that say which one they are, by bursts; `post` makes room for one, into that slot of the buffer. */
static void
receive(struct qw_two *two, struct qw_qp *from, struct qw_qp *to, uint32_t ring,
	void (*post)(void *arg, uint32_t number, uint8_t *slot), void *arg)
{
	uint32_t number = 0, i;

	while (number < NEAR + BEYOND) {
		for (i = 0; i < ring; i++)
			post(arg, number + i, two->in + (size_t)i * SLOT);
		for (i = 0; i < ring; i++) {
			memcpy(two->out + (size_t)i * SLOT, &(uint32_t){ number + i }, 4);
			qw_wqe(from, RNIC_WQE_SEND, two->out + (size_t)i * SLOT, 4, NULL, 0,
			       i + 1 == ring ? RNIC_WQE_CE_ALWAYS : RNIC_WQE_CE_ON_ERROR);
		}
		dp_sq_ring(&from->sq);
		wait_for(two, &two->a_send);
		assert_non_null(dp_cq_next(&two->a_send));
		for (i = 0; i < ring; i++, number++) {
			const struct rnic_cqe *cqe;

			wait_for(two, &two->b_recv);
			cqe = dp_cq_next(&two->b_recv);
			assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
			assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff, to->qpn);
			assert_memory_equal(two->in + (size_t)i * SLOT, &number, 4);
		}
	}
	qw_expect_nothing(&two->b_recv);
	assert_int_equal(qw_qp_state(to), RNIC_QP_STATE_RTS);
}

static void
post_to_ring(void *arg, uint32_t number, uint8_t *slot)
{
	(void)number;
	qw_recv(arg, slot, SLOT);
}

static void
test_a_receive_ring(void **state)
{
	struct qw_two *two = *state;

	receive(two, &two->a, &two->b, RING / 2, post_to_ring, &two->b);
	assert_in_range(two->b.rq.producer, 1, 2 * BEYOND);
	assert_int_equal(qw_qp_inside(&two->b)->rq.consumer, two->b.rq.producer);
}

/* WQE n of the list is followed by n + 1. */
static void
post_to_list(void *arg, uint32_t number, uint8_t *slot)
{
	struct qw_srq *srq = arg;
	const uint32_t mask = (1u << srq->log_size) - 1;

	qw_srq_write(srq, number & mask, (number + 1) & mask, slot, SLOT);
	qw_srq_post(srq, 1);
}

static void
test_a_list_of_receives(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf a = qw_two_qp_conf(two, false), b = qw_two_qp_conf(two, true);
	const struct qw_attr attr = qw_attr();
	struct qw_qp from, to;
	struct qw_srq srq;

	qw_srq_create(two->b.end, &srq, 5, 6, 0);
	b.srq = &srq;
	qw_two_more(two, &from, &a, &to, &b, &attr);
	receive(two, &from, &to, 32, post_to_list, &srq);
	assert_in_range(srq.producer, 1, 2 * BEYOND);
	assert_int_equal(qw_qp_inside(&to)->rmp->consumer, srq.producer);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, qw_setup_pair, qw_teardown)
	const struct CMUnitTest tests[] = {
		T(a_send_ring),
		T(a_full_send_ring),
		T(a_receive_ring),
		T(a_list_of_receives),
	};

	return cmocka_run_group_tests_name("qp_wrap", tests, NULL, NULL);
}
