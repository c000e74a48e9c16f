/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive memory pools: WQEs of a linked list for several queue pairs, the limit, and lists that are wrong. */
#include <stdlib.h>

#include "driver/rmp.h"
#include "qp_world.h"
/* A pool that has gone far already, and the reserved key. */
#include "softrnic/base/object.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/rmp.h"
/* Packets come in past the wire. */
#include "softrnic/base/device.h"
#include "softrnic/base/poller.h"
#include "softrnic/receive/roce.h"
#include "softrnic/rocev2/encode.h"

#define LOG_SIZE   4
#define SIZE	   (1u << LOG_SIZE)
#define LOG_STRIDE 6
#define SLOT	   4096u /* bytes of a buffer */
#define SENDERS	   3

struct fixture {
	struct qw_two *two;
	struct qw_srq srq;
	struct qw_qp senders[SENDERS], receivers[SENDERS];
};

static int
setup(void **state)
{
	const struct qw_conf conf = { .pair = true };
	struct fixture *f = calloc(1, sizeof(*f));
	struct qw_attr attr = qw_attr();
	struct qw_qp_conf a, b;

	f->two = qw_two_open(&conf);
	qw_srq_create(f->two->qw.ends[1], &f->srq, LOG_SIZE, LOG_STRIDE, 0);
	a = qw_two_qp_conf(f->two, false);
	b = qw_two_qp_conf(f->two, true);
	b.srq = &f->srq;
	for (uint32_t i = 0; i < SENDERS; i++)
		qw_two_more(f->two, &f->senders[i], &a, &f->receivers[i], &b, &attr);
	qw_fill(f->two->out, SENDERS * SLOT, 1);
	*state = f;
	return 0;
}

static void
write_slot(struct fixture *f, uint16_t index, uint16_t next)
{
	qw_srq_write(&f->srq, index, next, f->two->in + (size_t)index * SLOT, SLOT);
}

static void
send(struct fixture *f, uint32_t sender, uint32_t bytes)
{
	qw_post(&f->senders[sender], &f->receivers[sender], RNIC_WQE_SEND,
		f->two->out + (size_t)sender * SLOT, bytes, NULL);
	qw_run(&f->two->qw);
}

/* The message of a sender has arrived in that slot. */
static void
expect_in(struct fixture *f, uint32_t sender, uint16_t index, uint32_t bytes)
{
	const struct rnic_cqe *cqe = qw_expect(&f->two->b_recv, RNIC_CQE_RESPONDER_SEND, index,
					       f->receivers[sender].qpn);

	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), bytes);
	assert_memory_equal(f->two->in + (size_t)index * SLOT, f->two->out + (size_t)sender * SLOT,
			    bytes);
}

/* WQEs are taken as they are linked, by whoever comes first. */
static void
test_linked_list(void **state)
{
	static const uint16_t order[] = { 0, 7, 3, 15, 1, 8 };
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 6; i++)
		write_slot(f, order[i], i < 5 ? order[i + 1] : 9);
	qw_srq_post(&f->srq, 6);
	for (uint32_t i = 0; i < 6; i++) {
		send(f, i % SENDERS, 100 + i);
		expect_in(f, i % SENDERS, order[i], 100 + i);
	}
	qw_expect_nothing(&f->two->b_recv);
	/* The list goes on where it ended. */
	write_slot(f, 9, 0);
	qw_srq_post(&f->srq, 1);
	send(f, 0, 3000);
	expect_in(f, 0, 9, 3000);
}

/* Two messages of several packets each, interleaved: each queue pair keeps its WQE. */
static void
test_messages_interleaved(void **state)
{
	struct fixture *f = *state;

	write_slot(f, 0, 1);
	write_slot(f, 1, 2);
	qw_srq_post(&f->srq, 2);
	for (uint32_t i = 0; i < 2; i++)
		qw_wqe(&f->senders[i], RNIC_WQE_SEND, f->two->out + (size_t)i * SLOT, SLOT, NULL, 0,
		       RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->senders[0].sq);
	dp_sq_ring(&f->senders[1].sq);
	qw_run(&f->two->qw);
	expect_in(f, 0, 0, SLOT);
	expect_in(f, 1, 1, SLOT);
}

/* 16-bit counts of WQEs go round. */
static void
test_counter_wraps(void **state)
{
	struct fixture *f = *state;

	for (uint16_t i = 0; i < SIZE; i++)
		write_slot(f, i, (i + 1) % SIZE);
	((struct softrnic_rmp *)softrnic_object_get(f->srq.end->dp.dev, SOFTRNIC_RMP, f->srq.rmpn))
		->consumer = 0xfffe;
	f->srq.producer = 0xfffe;
	qw_srq_post(&f->srq, 5);
	for (uint16_t i = 0; i < 5; i++) {
		send(f, 0, 10);
		expect_in(f, 0, i, 10);
	}
}

/* Below the limit there is one event, and then none until it is armed again. */
static void
test_limit(void **state)
{
	struct fixture *f = *state;
	struct drv *drv = &f->srq.end->dp.drv;
	uint32_t number;

	for (uint16_t i = 0; i < SIZE; i++)
		write_slot(f, i, (i + 1) % SIZE);
	qw_srq_post(&f->srq, 4);
	assert_int_equal(drv_rmp_limit_set(drv, f->srq.rmpn, 3), 0);
	/* Three are left, then more are posted, which no doorbell told of: none of both is below the limit. */
	send(f, 0, 10);
	qw_srq_post(&f->srq, 1);
	send(f, 0, 10);
	assert_int_equal(qw_event(f->srq.end, NULL), 0);
	send(f, 0, 10);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_SRQ_LIMIT);
	assert_int_equal(number, f->srq.rmpn);
	send(f, 0, 10);
	assert_int_equal(qw_event(f->srq.end, NULL), 0);
	/* Armed below it: at once. */
	assert_int_equal(drv_rmp_limit_set(drv, f->srq.rmpn, 3), 0);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_SRQ_LIMIT);
}

static bool
received(void *arg)
{
	struct fixture *f = arg;

	return dp_cq_peek(&f->two->b_recv) != NULL;
}

static void
test_empty_pool(void **state)
{
	struct fixture *f = *state;

	send(f, 1, 2000);
	qw_run_us(&f->two->qw, 500);
	qw_expect_nothing(&f->two->b_recv);
	write_slot(f, 0, 1);
	qw_srq_post(&f->srq, 1);
	assert_true(qw_run_until(&f->two->qw, received, f));
	expect_in(f, 1, 0, 2000);
}

/* An error flushes none of the others' WQEs; the last event of the queue pair says that it uses none any more. */
static void
test_last_wqe(void **state)
{
	struct fixture *f = *state;

	for (uint16_t i = 0; i < 3; i++)
		write_slot(f, i, i + 1);
	qw_srq_post(&f->srq, 3);
	qw_qp_to(&f->receivers[0], RNIC_CMD_2ERR_QP);
	qw_run(&f->two->qw);
	qw_expect_nothing(&f->two->b_recv);
	qw_expect_event(f->srq.end, RNIC_EVENT_SRQ_LAST_WQE, f->receivers[0].qpn);
	send(f, 1, 50);
	expect_in(f, 1, 0, 50);
}

/* The first packet of a message, whose others do not come. */
static void
begin_message(struct fixture *f, uint32_t receiver)
{
	struct qw_two *two = f->two;
	struct iovec payload = { two->out, 1024 };
	const struct roce_pkt pkt = { .opcode = ROCE_SEND_FIRST,
				      .dest_qpn = f->receivers[receiver].qpn,
				      .psn = qw_attr().psn,
				      .length = 1024,
				      .count = 1,
				      .pieces = &payload };
	struct rocev2_frame head = { .pkey = 0xffff, .mig_req = true };
	struct softrnic_roce_frame frame = { .pkt = &pkt, .head = &head };
	const struct qw_end *a = two->qw.ends[0], *b = two->qw.ends[1];

	memcpy(head.smac, a->mac, 6);
	memcpy(head.dmac, b->mac, 6);
	memcpy(head.sgid, a->gid, 16);
	memcpy(head.dgid, b->gid, 16);
	frame.bytes = rocev2_frame_bytes(&head, &pkt);
	softrnic_lock(two->qw.poller);
	softrnic_roce_receive(b->dp.dev, &frame);
	softrnic_unlock(two->qw.poller);
}

/* The WQE of a message that ends with its queue pair goes to who comes next; the limit counts it. */
static void
test_half_a_message_takes_no_wqe_along(void **state)
{
	struct fixture *f = *state;
	struct rnic_rmpc rmpc;

	for (uint16_t i = 0; i < 6; i++)
		write_slot(f, i, i + 1);
	qw_srq_post(&f->srq, 6);
	begin_message(f, 0);
	begin_message(f, 1);
	send(f, 2, 50);
	expect_in(f, 2, 2, 50);
	qw_qp_to(&f->receivers[0], RNIC_CMD_2RST_QP);
	assert_int_equal(qw_qp_destroy(&f->receivers[1]), 0);
	assert_int_equal(drv_rmp_query(&f->srq.end->dp.drv, f->srq.rmpn, &rmpc), 0);
	assert_int_equal(rnic_wq_get(rnic_rmpc_wq(&rmpc), RNIC_WQ_HW_COUNTER), 1);
	assert_int_equal(drv_rmp_limit_set(&f->srq.end->dp.drv, f->srq.rmpn, 5), 0);
	assert_int_equal(qw_event(f->srq.end, NULL), 0);
	for (uint16_t i = 0; i < 3; i++) {
		static const uint16_t order[] = { 1, 0, 3 };

		send(f, 2, 60u + i);
		expect_in(f, 2, order[i], 60u + i);
		if (i == 0)
			qw_expect_event(f->srq.end, RNIC_EVENT_SRQ_LIMIT, f->srq.rmpn);
	}
}

/* ---- What is wrong with a pool ends it, and each queue pair that comes to it ---- */

static void
broken(struct fixture *f)
{
	uint32_t number;

	send(f, 0, 10);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_SRQ_CATASTROPHIC);
	assert_int_equal(number, f->srq.rmpn);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_WQ_CATASTROPHIC);
	assert_int_equal(number, f->receivers[0].qpn);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_SRQ_LAST_WQE);
	assert_int_equal(qw_event(f->srq.end, &number), 0);
	assert_int_equal(qw_qp_state(&f->receivers[0]), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_qp_state(&f->receivers[1]), RNIC_QP_STATE_RTS);
	send(f, 1, 10);
	assert_int_equal(qw_event(f->srq.end, &number), RNIC_EVENT_WQ_CATASTROPHIC);
	assert_int_equal(number, f->receivers[1].qpn);
	assert_int_equal(qw_qp_state(&f->receivers[1]), RNIC_QP_STATE_ERR);
}

static void
test_link_out_of_the_ring(void **state)
{
	struct fixture *f = *state;

	write_slot(f, 0, SIZE);
	qw_srq_post(&f->srq, 2);
	send(f, 0, 10);
	expect_in(f, 0, 0, 10);
	broken(f);
}

static void
test_record_ahead(void **state)
{
	struct fixture *f = *state;

	qw_srq_post(&f->srq, SIZE + 1);
	broken(f);
}

/* A list that bites its tail lasts as long as the count of what was posted. */
static void
test_link_to_itself(void **state)
{
	struct fixture *f = *state;

	write_slot(f, 0, 0);
	qw_srq_post(&f->srq, 3);
	for (uint32_t i = 0; i < 3; i++) {
		send(f, 0, 10);
		expect_in(f, 0, 0, 10);
	}
	send(f, 0, 10);
	qw_expect_nothing(&f->two->b_recv);
	assert_int_equal(qw_qp_state(&f->receivers[0]), RNIC_QP_STATE_RTS);
}

/* The pool's own protection domain counts, not that of the queue pair that takes from it. */
static void
test_protection_domain_of_the_pool(void **state)
{
	struct fixture *f = *state;
	struct qw_end *end = f->two->qw.ends[1];
	struct qw_qp_conf a = qw_two_qp_conf(f->two, false), b = qw_two_qp_conf(f->two, true);
	struct qw_attr attr = qw_attr();
	struct qw_qp sender, receiver;

	b.srq = &f->srq;
	b.pd = dp_create_simple(&end->dp, RNIC_CMD_ALLOC_PD);
	qw_two_more(f->two, &sender, &a, &receiver, &b, &attr);
	write_slot(f, 0, 1);
	qw_srq_post(&f->srq, 1);
	qw_post(&sender, &receiver, RNIC_WQE_SEND, f->two->out, 10, NULL);
	qw_run(&f->two->qw);
	qw_expect(&f->two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, receiver.qpn);
	assert_memory_equal(f->two->in, f->two->out, 10);
}

/* A pool knows no reserved key, even if the queue pair does. */
static void
test_reserved_key_in_a_pool(void **state)
{
	struct fixture *f = *state;
	struct qw_end *end = f->two->qw.ends[1];
	struct qw_qp_conf a = qw_two_qp_conf(f->two, false), b = qw_two_qp_conf(f->two, true);
	struct rnic_wqe_data *segment =
		(struct rnic_wqe_data *)(f->srq.ring + sizeof(struct rnic_wqe_next));
	struct qw_attr attr = qw_attr();
	struct qw_qp sender, receiver;

	b.srq = &f->srq;
	b.rlky = true;
	qw_two_more(f->two, &sender, &a, &receiver, &b, &attr);
	write_slot(f, 0, 1);
	segment->lkey = rnic_cpu_to_be32(SOFTRNIC_RESERVED_LKEY);
	segment->address = rnic_cpu_to_be64(dp_iova(&end->dp, f->two->in));
	qw_srq_post(&f->srq, 1);
	qw_post(&sender, &receiver, RNIC_WQE_SEND, f->two->out, 10, NULL);
	qw_run(&f->two->qw);
	qw_expect_error(&f->two->b_recv, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_LOCAL_PROTECTION,
			receiver.qpn);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_linked_list),
		T(test_messages_interleaved),
		T(test_counter_wraps),
		T(test_limit),
		T(test_empty_pool),
		T(test_last_wqe),
		T(test_half_a_message_takes_no_wqe_along),
		T(test_link_out_of_the_ring),
		T(test_record_ahead),
		T(test_link_to_itself),
		T(test_protection_domain_of_the_pool),
		T(test_reserved_key_in_a_pool),
	};

	return cmocka_run_group_tests_name("qp_srq", tests, NULL, NULL);
}
