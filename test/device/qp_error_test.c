/* SPDX-License-Identifier: BSD-3-Clause */

/* How queue pairs fail: what is wrong with a WQE, with a key, with the peer; who is told what, and what is flushed. */
#include <stdlib.h>

#include "qp_world.h"
/* Clocks of queue pairs that run or stand, errors that are counted without a set, and the reserved key. */
#include "softrnic/base/device.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/qp.h"

/* Nobody waits long for an answer. */
static int
setup_hasty(void **state)
{
	struct qw_attr attr = qw_attr();

	attr.timeout = 6; /* 262 us */
	attr.retry_count = 2;
	attr.rnr_retry = 2;
	return qw_setup(state, &(struct qw_conf){ .pair = true }, &attr);
}

/* Both queue pairs from the start. */
static void
again(struct qw_two *two)
{
	const struct qw_attr attr = qw_attr();

	qw_run(&two->qw);
	while (dp_cq_next(&two->a_send) != NULL || dp_cq_next(&two->a_recv) != NULL ||
	       dp_cq_next(&two->b_send) != NULL || dp_cq_next(&two->b_recv) != NULL)
		;
	while (qw_event(two->a.end, NULL) != 0 || qw_event(two->b.end, NULL) != 0)
		;
	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	two->a.sq.producer = two->b.sq.producer = two->a.rq.producer = two->b.rq.producer = 0;
	dp_sq_record(&two->a.sq);
	dp_sq_record(&two->b.sq);
	dp_rq_record(&two->a.rq);
	dp_rq_record(&two->b.rq);
	qw_connect(&two->a, &two->b, &attr);
}

/* What was written last fails here, and b hears nothing of it. */
static void
fails_here(struct qw_two *two, uint8_t syndrome)
{
	qw_go(two);
	qw_failed(two, 0, syndrome);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_RTS);
	assert_int_equal(qw_event(two->a.end, NULL), 0);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
	again(two);
}

/* ... fails because of b, which goes to ERR and has this event (0: none). */
static void
fails_there(struct qw_two *two, uint8_t syndrome, uint8_t event)
{
	uint32_t number = 0;

	qw_go(two);
	qw_failed(two, 0, syndrome);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_event(two->a.end, NULL), 0);
	assert_int_equal(qw_event(two->b.end, &number), event);
	if (event != 0)
		assert_int_equal(number, two->b.qpn);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
	again(two);
}

/* ---- WQEs ---- */

static void
test_opcode(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_LSO, RNIC_WQE_UMR, 0x14,
					   0x33,	 0xff,	       RNIC_WQE_ENHANCED_MPSW };
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		dp_wqe(&two->a.sq, opcodes[i], 2, 0);
		qw_segment(&two->a, 1, two->a.end->key, two->out, 64);
		fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	}
}

static void
set_ds(struct qw_two *two, uint32_t qpn, uint32_t ds)
{
	two->a.sq.last->qpn_ds = rnic_cpu_to_be32(RNIC_WQE_CTRL_DW1(qpn, ds));
}

static void
test_wqe_that_makes_no_sense(void **state)
{
	struct qw_two *two = *state;

	/* another's number */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn + 1, 3);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	/* no length, or more than was handed over */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn, 0);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn, 5);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	/* segments that are missing: the remote address, the operands */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn, 1);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	qw_wqe(&two->a, RNIC_WQE_ATOMIC_FA, two->out, 8, two->in, two->b.end->key, 0);
	set_ds(two, two->a.qpn, 2);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	/* inline bytes behind the WQE's end; inline where data comes back */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	qw_segment(&two->a, 2, 0, NULL, RNIC_WQE_INLINE | 13);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	qw_segment(&two->a, 2, 0, NULL, UINT32_MAX);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
	qw_wqe(&two->a, RNIC_WQE_RDMA_READ, two->out, 8, two->in, two->b.end->key, 0);
	qw_segment(&two->a, 2, 0, NULL, RNIC_WQE_INLINE | 8);
	fails_here(two, RNIC_SYND_LOCAL_QP_OPERATION);
}

static void
test_length(void **state)
{
	struct qw_two *two = *state;

	/* 0 is 2 GiB, and one byte more is too much */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn, 4);
	qw_segment(&two->a, 2, two->a.end->key, two->out, 0);
	qw_segment(&two->a, 3, two->a.end->key, two->out, 1);
	fails_here(two, RNIC_SYND_LOCAL_LENGTH);
	/* a sum of more than 32 bits */
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	set_ds(two, two->a.qpn, 5);
	two->a.sq.producer++;
	qw_segment(&two->a, 3, two->a.end->key, two->out, 0);
	qw_segment(&two->a, 4, two->a.end->key, two->out, 0);
	fails_here(two, RNIC_SYND_LOCAL_LENGTH);
	qw_wqe(&two->a, RNIC_WQE_ATOMIC_FA, two->out, 7, two->in, two->b.end->key, 0);
	fails_here(two, RNIC_SYND_LOCAL_LENGTH);
	qw_wqe(&two->a, RNIC_WQE_ATOMIC_CS, two->out, 16, two->in, two->b.end->key, 0);
	fails_here(two, RNIC_SYND_LOCAL_LENGTH);
}

/* ---- Local keys ---- */

static void
local_key(struct qw_two *two, uint8_t opcode, uint32_t key, const void *at, uint32_t bytes)
{
	qw_wqe(&two->a, opcode, two->out, 64, two->in, two->b.end->key, 0);
	qw_segment(&two->a, 2, key, at, bytes);
	fails_here(two, RNIC_SYND_LOCAL_PROTECTION);
}

static void
test_local_key(void **state)
{
	struct qw_two *two = *state;
	struct qw_key_conf conf = { .start = two->out, .length = 4096 };
	uint32_t key = qw_key(two->a.end, &conf), other;

	conf.pd = dp_create_simple(&two->a.end->dp, RNIC_CMD_ALLOC_PD);
	other = qw_key(two->a.end, &conf);
	local_key(two, RNIC_WQE_RDMA_WRITE, key ^ 1, two->out, 64);
	local_key(two, RNIC_WQE_RDMA_WRITE, key + 0x10000, two->out, 64);
	local_key(two, RNIC_WQE_RDMA_WRITE, other, two->out, 64);
	local_key(two, RNIC_WQE_RDMA_WRITE, key, two->out + 4095, 2);
	local_key(two, RNIC_WQE_RDMA_WRITE, key, two->out - 1, 2);
	local_key(two, RNIC_WQE_RDMA_WRITE, key, (void *)UINTPTR_MAX, 64);
	local_key(two, RNIC_WQE_RDMA_WRITE, SOFTRNIC_RESERVED_LKEY, two->out, 64);
}

/* What comes back needs the right to be written; b has done its part by then. */
static void
test_local_key_to_write(void **state)
{
	struct qw_two *two = *state;
	const struct qw_key_conf conf = { .start = two->out, .length = 4096 };
	uint32_t key = qw_key(two->a.end, &conf);

	local_key(two, RNIC_WQE_RDMA_READ, key, two->out, 64);
	qw_wqe(&two->a, RNIC_WQE_ATOMIC_FA, two->out, 8, two->in, two->b.end->key, 0);
	qw_segment(&two->a, 3, key, two->out, 8);
	fails_here(two, RNIC_SYND_LOCAL_PROTECTION);
}

/* A long message whose end is not covered: the packets before it go, then it fails. */
static void
test_local_key_in_the_middle(void **state)
{
	struct qw_two *two = *state;
	const struct qw_key_conf conf = { .start = two->out, .length = 4096 };

	memset(two->in, 0, 8192);
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 5000, two->in, two->b.end->key, 0);
	qw_segment(&two->a, 2, qw_key(two->a.end, &conf), two->out, 5000);
	fails_here(two, RNIC_SYND_LOCAL_PROTECTION);
	assert_memory_equal(two->in, two->out, 4096);
	assert_int_equal(two->in[4096], 0);
}

static void
test_reserved_key(void **state)
{
	struct qw_two *two = *state;
	struct qw_qp_conf conf = qw_two_qp_conf(two, false);

	conf.rlky = true;
	qw_two_replace(two, false, &conf);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	/* by its address on the bus */
	qw_segment(&two->a, 2, SOFTRNIC_RESERVED_LKEY,
		   (void *)(uintptr_t)dp_iova(&two->a.end->dp, two->out), 64);
	qw_go(two);
	qw_done(two, 0);
	assert_memory_equal(two->in, two->out, 64);
}

/* ---- Remote keys ---- */

static void
remote_key(struct qw_two *two, uint8_t opcode, uint32_t bytes, uint32_t key, const void *at)
{
	qw_wqe(&two->a, opcode, two->out, bytes, at, key, 0);
	fails_there(two, RNIC_SYND_REMOTE_ACCESS, RNIC_EVENT_WQ_ACCESS_ERROR);
}

static void
test_remote_key(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_FA };
	static const uint32_t rights[] = { DRV_RW, DRV_RR, DRV_A };
	const uint32_t all = DRV_LW | DRV_RR | DRV_RW | DRV_A;
	struct qw_two *two = *state;
	struct qw_key_conf conf = { .start = two->in, .length = 4096, .access = all };
	uint32_t key = qw_key(two->b.end, &conf), foreign, blunt;

	conf.pd = dp_create_simple(&two->b.end->dp, RNIC_CMD_ALLOC_PD);
	foreign = qw_key(two->b.end, &conf);
	conf.pd = 0;
	memset(two->in, 0, 8192);
	for (uint32_t i = 0; i < 3; i++) {
		uint8_t op = opcodes[i];

		conf.access = all & ~rights[i];
		blunt = qw_key(two->b.end, &conf);
		remote_key(two, op, 8, key ^ 0x80, two->in);
		remote_key(two, op, 8, foreign, two->in);
		remote_key(two, op, 8, blunt, two->in);
		remote_key(two, op, 8, key, two->in + 4096);
		remote_key(two, op, 8, key, two->in - 8);
		remote_key(two, op, 8, key, (void *)(UINTPTR_MAX - 7));
		remote_key(two, op, 8, SOFTRNIC_RESERVED_LKEY,
			   (void *)(uintptr_t)dp_iova(&two->b.end->dp, two->in));
	}
	/* All of a long one is checked before its first byte is written. */
	remote_key(two, RNIC_WQE_RDMA_WRITE, 4097, key, two->in);
	remote_key(two, RNIC_WQE_RDMA_READ, 4097, key, two->in);
	for (uint32_t i = 0; i < 8192; i++)
		assert_int_equal(two->in[i], 0);
}

/* A list of keys, one of which has gone: what a peer's key leads to is as much its affair as the key is. */
static void
test_remote_key_that_leads_nowhere(void **state)
{
	struct qw_two *two = *state;
	struct qw_end *end = two->b.end;
	const struct qw_key_conf conf = { .start = two->in, .length = 4096, .access = DRV_RR };
	uint32_t inner = qw_key(end, &conf), outer;
	const struct rnic_klm klm = qw_entry(inner, (uintptr_t)two->in, 4096);

	assert_int_equal(drv_mkey_create(&end->dp.drv,
					 &(struct drv_mkey){ .mode = RNIC_MKEY_KLM,
							     .access = DRV_RR,
							     .pd = end->dp.pd,
							     .length = 4096,
							     .klms = &klm,
							     .count = 1 },
					 &outer),
			 0);
	qw_wqe(&two->a, RNIC_WQE_RDMA_READ, two->out, 64, NULL, outer, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_done(two, 0);
	again(two);
	assert_int_equal(dp_destroy(&end->dp, RNIC_CMD_DESTROY_MKEY, inner >> 8), 0);
	remote_key(two, RNIC_WQE_RDMA_READ, 64, outer, NULL);
}

/* Nothing is asked of the key of a message without bytes. */
static void
test_no_bytes_no_key(void **state)
{
	struct qw_two *two = *state;

	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, NULL, 0, NULL, 0x12345678, RNIC_WQE_CE_ALWAYS);
	qw_wqe(&two->a, RNIC_WQE_RDMA_READ, NULL, 0, NULL, 0x12345678, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_done(two, 0);
	qw_done(two, 1);
}

static void
test_rights_of_the_peer(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ,
					   RNIC_WQE_ATOMIC_CS };
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();

	for (uint32_t i = 0; i < 3; i++) {
		attr.no_write = i == 0;
		attr.no_read = i == 1;
		attr.no_atomic = i == 2;
		qw_two_reconnect(two, &attr);
		qw_wqe(&two->a, opcodes[i], two->out, 8, two->in, two->b.end->key, 0);
		fails_there(two, RNIC_SYND_REMOTE_INVALID_REQUEST, RNIC_EVENT_WQ_INVALID_REQUEST);
	}
}

static void
test_atomic_off_its_place(void **state)
{
	struct qw_two *two = *state;

	qw_wqe(&two->a, RNIC_WQE_ATOMIC_FA, two->out, 8, two->in + 4, two->b.end->key, 0);
	fails_there(two, RNIC_SYND_REMOTE_INVALID_REQUEST, RNIC_EVENT_WQ_INVALID_REQUEST);
}

/* ---- Receive WQEs ---- */

/* What the receive WQE at b fails with, and what a is told. */
static void
receive_fails(struct qw_two *two, uint8_t there, uint8_t here)
{
	qw_wqe(&two->a, RNIC_WQE_SEND, two->out, 1500, NULL, 0, 0);
	qw_go(two);
	qw_expect_error(&two->b_recv, RNIC_CQE_RESPONDER_ERROR, 0, there, two->b.qpn);
	qw_failed(two, 0, here);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
	assert_int_equal(qw_event(two->b.end, NULL), 0);
	again(two);
}

static void
test_receive_buffer(void **state)
{
	struct qw_two *two = *state;
	const struct qw_key_conf read_only = { .start = two->in, .length = 4096 };
	uint32_t key = qw_key(two->b.end, &read_only);
	struct rnic_wqe_data *segment = (struct rnic_wqe_data *)two->b.rq.ring;

	/* too short, in its first packet or its second */
	qw_recv(&two->b, two->in, 1023);
	receive_fails(two, RNIC_SYND_LOCAL_LENGTH, RNIC_SYND_REMOTE_INVALID_REQUEST);
	qw_recv(&two->b, two->in, 1499);
	receive_fails(two, RNIC_SYND_LOCAL_LENGTH, RNIC_SYND_REMOTE_INVALID_REQUEST);
	/* no segment at all */
	dp_post(&two->b.rq, two->in, 1500);
	segment[0] = (struct rnic_wqe_data){ .lkey = RNIC_BE32(RNIC_WQE_INVALID_LKEY) };
	dp_rq_record(&two->b.rq);
	receive_fails(two, RNIC_SYND_LOCAL_LENGTH, RNIC_SYND_REMOTE_INVALID_REQUEST);
	/* a key that may not be written by, one that is reserved, inline "data" */
	dp_post(&two->b.rq, two->in, 1500);
	segment[0].lkey = rnic_cpu_to_be32(key);
	dp_rq_record(&two->b.rq);
	receive_fails(two, RNIC_SYND_LOCAL_PROTECTION, RNIC_SYND_REMOTE_OPERATION);
	dp_post(&two->b.rq, two->in, 1500);
	segment[0].lkey = rnic_cpu_to_be32(SOFTRNIC_RESERVED_LKEY);
	segment[0].address = rnic_cpu_to_be64(dp_iova(&two->b.end->dp, two->in));
	dp_rq_record(&two->b.rq);
	receive_fails(two, RNIC_SYND_LOCAL_PROTECTION, RNIC_SYND_REMOTE_OPERATION);
	dp_post(&two->b.rq, two->in, 1500);
	segment[0].byte_count = rnic_cpu_to_be32(RNIC_WQE_INLINE | 1500);
	dp_rq_record(&two->b.rq);
	receive_fails(two, RNIC_SYND_LOCAL_PROTECTION, RNIC_SYND_REMOTE_OPERATION);
}

/* More room than a message can be long is room, not what is left of it in 32 bits. */
static void
test_receive_buffer_of_more_than_a_message(void **state)
{
	struct qw_two *two = *state;
	struct rnic_wqe_data *segment = (struct rnic_wqe_data *)two->b.rq.ring;

	dp_post(&two->b.rq, two->in, 100);
	for (uint32_t i = 0; i < 2; i++)
		segment[i] = (struct rnic_wqe_data){
			.byte_count = rnic_cpu_to_be32(0), /* 2 GiB */
			.lkey = rnic_cpu_to_be32(two->b.end->key),
			.address = rnic_cpu_to_be64((uintptr_t)two->in),
		};
	dp_rq_record(&two->b.rq);
	qw_execute(two, RNIC_WQE_SEND, two->out, 1500, NULL);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	assert_memory_equal(two->in, two->out, 1500);
}

/* ---- What waits ---- */

static bool
sends_completed(void *arg)
{
	struct qw_two *two = arg;

	return dp_cq_peek(&two->a_send) != NULL;
}

static bool
clock_has_stopped(void *arg)
{
	struct qw_two *two = arg;

	return !qw_qp_inside(&two->a)->timed;
}

static void
test_peer_that_is_gone(void **state)
{
	struct qw_two *two = *state;
	uint64_t unknown = dp_stats(&two->b.end->dp).roce_unknown_qp;

	/* Its clock has run before, and was stopped by an answer. */
	qw_post(&two->a, &two->b, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_done(two, 0);
	assert_true(qw_run_until(&two->qw, clock_has_stopped, two));
	assert_int_equal(qw_qp_destroy(&two->b), 0);
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	dp_sq_ring(&two->a.sq);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_failed(two, 1, RNIC_SYND_RETRY_EXCEEDED);
	/* once, and as often as it was allowed to try again */
	assert_int_equal(dp_stats(&two->b.end->dp).roce_unknown_qp - unknown, 3);
	assert_int_equal(two->a.end->dp.dev->roce_counters.local_ack_timeout_err, 3);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_ERR);
}

/* The clock of one is not that of another, which starts later and runs longer. */
static void
test_two_clocks(void **state)
{
	struct qw_two *two = *state;
	const struct qw_qp_conf conf = qw_two_qp_conf(two, false);
	struct qw_attr attr = qw_attr();
	struct dp_cq cq;
	struct qw_qp_conf patient_conf = conf;
	struct qw_qp patient, gone;

	assert_int_equal(
		dp_cq_create(&two->a.end->dp, &cq, &(struct dp_cq_conf){ .log_size = 4, .uar = 1 }),
		0);
	patient_conf.send_cq = &cq;
	patient_conf.uar = 2;
	attr.timeout = 19; /* two seconds */
	gone = two->b;
	assert_int_equal(qw_qp_destroy(&two->b), 0);
	assert_int_equal(qw_qp_create(two->a.end, &patient, &patient_conf), 0);
	qw_qp_to(&patient, RNIC_CMD_RST2INIT_QP);
	assert_int_equal(qw_qp_modify(&patient, RNIC_CMD_INIT2RTR_QP, &gone, &attr), 0);
	assert_int_equal(qw_qp_modify(&patient, RNIC_CMD_RTR2RTS_QP, NULL, &attr), 0);
	qw_post(&two->a, &gone, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	softrnic_poll(two->qw.poller);
	qw_post(&patient, &gone, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_failed(two, 0, RNIC_SYND_RETRY_EXCEEDED);
	assert_true(qw_qp_inside(&patient)->timed);
	assert_int_equal(two->a.end->dp.dev->roce_counters.local_ack_timeout_err, 3);
}

static void
test_peer_that_has_no_buffer(void **state)
{
	struct qw_two *two = *state;

	qw_wqe(&two->a, RNIC_WQE_SEND, two->out, 64, NULL, 0, 0);
	dp_sq_ring(&two->a.sq);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_failed(two, 0, RNIC_SYND_RNR_RETRY_EXCEEDED);
	assert_int_equal(two->b.end->dp.dev->roce_counters.out_of_buffer, 3);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_RTS);
}

static bool
told_twice(void *arg)
{
	const struct qw_two *two = arg;

	return two->b.end->dp.dev->roce_counters.out_of_buffer > 1;
}

/* Patience without end: the buffer comes late, and the message arrives. */
static void
test_buffer_that_comes_late(void **state)
{
	struct qw_two *two = *state;

	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, 3000, NULL);
	/* It was told so, waited, and was told so again. */
	assert_true(qw_run_until(&two->qw, told_twice, two));
	qw_expect_nothing(&two->a_send);
	qw_recv(&two->b, two->in, 3000);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_done(two, 0);
	qw_expect(&two->b_recv, RNIC_CQE_RESPONDER_SEND, 0, two->b.qpn);
	assert_memory_equal(two->in, two->out, 3000);
}

/* ---- Flush ---- */

/* All that was posted comes back in order: good ones, the failed one, those behind it, receive WQEs too. */
static void
test_flush(void **state)
{
	struct qw_two *two = *state;

	for (uint32_t i = 0; i < 3; i++)
		qw_recv(&two->a, two->out, 64);
	for (uint32_t i = 0; i < 6; i++)
		qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in,
		       i == 2 ? 0x666600 : two->b.end->key,
		       i < 2   ? RNIC_WQE_CE_ALWAYS
		       : i < 4 ? RNIC_WQE_CE_ON_ERROR
			       : RNIC_WQE_CE_ON_FIRST_ERROR);
	dp_wqe(&two->a.sq, 0x77, 1, 0); /* never looked at */
	qw_go(two);
	qw_done(two, 0);
	qw_done(two, 1);
	qw_failed(two, 2, RNIC_SYND_REMOTE_ACCESS);
	qw_failed(two, 3, RNIC_SYND_WR_FLUSHED);
	/* two that ask for the first error only */
	qw_failed(two, 6, RNIC_SYND_WR_FLUSHED);
	qw_expect_nothing(&two->a_send);
	for (uint16_t i = 0; i < 3; i++)
		qw_expect_error(&two->a_recv, RNIC_CQE_RESPONDER_ERROR, i, RNIC_SYND_WR_FLUSHED,
				two->a.qpn);
	qw_expect_nothing(&two->a_recv);
}

/* In ERR, what is posted then is flushed as well, with a doorbell or, receive WQEs, without any. */
static void
test_flush_of_what_comes_later(void **state)
{
	struct qw_two *two = *state;

	qw_qp_to(&two->a, RNIC_CMD_2ERR_QP);
	/* It has left the active list long since. */
	qw_poll(&two->qw, 1000);
	assert_false(qw_qp_inside(&two->a)->active);
	qw_recv(&two->a, two->out, 64);
	qw_write(two, RNIC_WQE_CE_ON_ERROR);
	qw_go(two);
	qw_failed(two, 0, RNIC_SYND_WR_FLUSHED);
	qw_expect_error(&two->a_recv, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_WR_FLUSHED,
			two->a.qpn);
	qw_poll(&two->qw, 1000);
	qw_recv(&two->a, two->out, 64);
	qw_run(&two->qw);
	qw_expect_error(&two->a_recv, RNIC_CQE_RESPONDER_ERROR, 1, RNIC_SYND_WR_FLUSHED,
			two->a.qpn);
}

/* To RST all is forgotten, nothing completes, and the rings begin anew. */
static void
test_reset(void **state)
{
	struct qw_two *two = *state;

	qw_execute(two, RNIC_WQE_SEND, two->out, 64, NULL); /* waits for a buffer */
	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_run(&two->qw);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_RST);
	dp_sq_ring(&two->a.sq); /* nobody looks */
	qw_run(&two->qw);
	qw_expect_nothing(&two->a_send);
	again(two);
	qw_write(two, RNIC_WQE_CE_ALWAYS);
	qw_go(two);
	qw_done(two, 0);
}

/* ---- States and their events ---- */

static void
test_drain(void **state)
{
	struct qw_two *two = *state;

	/* A message that has begun and waits for its peer. */
	qw_execute(two, RNIC_WQE_SEND, two->out, 3000, NULL);
	qw_qp_to(&two->a, RNIC_CMD_RTS2SQD_QP);
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_SQ_DRAINING);
	assert_int_equal(qw_event(two->a.end, NULL), 0);
	qw_recv(&two->b, two->in, 3000);
	assert_true(qw_run_until(&two->qw, sends_completed, two));
	qw_run(&two->qw);
	qw_done(two, 0);
	qw_expect_nothing(&two->a_send);
	assert_int_equal(qw_qp_state(&two->a), RNIC_QP_STATE_SQD);
	qw_expect_event(two->a.end, RNIC_EVENT_SQ_DRAINED, two->a.qpn);
	qw_qp_to(&two->a, RNIC_CMD_SQD_RTS_QP);
	qw_run(&two->qw);
	qw_done(two, 1);
}

static void
test_established(void **state)
{
	struct qw_two *two = *state;
	struct qw_attr attr = qw_attr();

	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_RST2INIT_QP);
	assert_int_equal(qw_qp_modify(&two->b, RNIC_CMD_INIT2RTR_QP, &two->a, &attr), 0);
	qw_qp_to(&two->a, RNIC_CMD_RST2INIT_QP);
	assert_int_equal(qw_qp_modify(&two->a, RNIC_CMD_INIT2RTR_QP, &two->b, &attr), 0);
	/* Rung for too early: it is sent when the state allows. */
	qw_execute(two, RNIC_WQE_RDMA_WRITE, two->out, 64, two->in);
	qw_expect_nothing(&two->a_send);
	qw_qp_to(&two->a, RNIC_CMD_RTR2RTS_QP);
	qw_run(&two->qw);
	qw_done(two, 0);
	qw_expect_event(two->b.end, RNIC_EVENT_COMM_ESTABLISHED, two->b.qpn);
}

#define HASTY(name) cmocka_unit_test_setup_teardown(name, setup_hasty, qw_teardown)
#define T(name)	    cmocka_unit_test_setup_teardown(name, qw_setup_pair, qw_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_opcode),
		T(test_wqe_that_makes_no_sense),
		T(test_length),
		T(test_local_key),
		T(test_local_key_to_write),
		T(test_local_key_in_the_middle),
		T(test_reserved_key),
		T(test_remote_key),
		T(test_remote_key_that_leads_nowhere),
		T(test_no_bytes_no_key),
		T(test_rights_of_the_peer),
		T(test_atomic_off_its_place),
		T(test_receive_buffer),
		T(test_receive_buffer_of_more_than_a_message),
		HASTY(test_peer_that_is_gone),
		HASTY(test_two_clocks),
		HASTY(test_peer_that_has_no_buffer),
		T(test_buffer_that_comes_late),
		T(test_flush),
		T(test_flush_of_what_comes_later),
		T(test_reset),
		T(test_drain),
		T(test_established),
	};

	return cmocka_run_group_tests_name("qp_error", tests, NULL, NULL);
}
