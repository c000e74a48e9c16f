/* SPDX-License-Identifier: BSD-3-Clause */

/* XRC through a device: an initiator, a target, and shared receive queues that requests name. */
#include <stdlib.h>

#include "driver/mkey.h"
#include "driver/qp.h"
#include "driver/rmp.h"
#include "driver/rq.h"
#include "driver/xrc_srq.h"
#include "qp_world.h"

#define SRQS	   2
#define LOG_SIZE   3
#define LOG_STRIDE 5
#define SLOT	   (256u << 10)
#define USER_INDEX 0x777000u /* of the first; the next one's is one more */
#define SMALL	   64u

struct fixture {
	struct qw_two *two; /* a is the initiator, b the target */
	uint32_t xrcd;
	struct dp_cq cqs[SRQS];
	struct qw_srq srqs[SRQS];
};

static struct qw_xrc_conf
srq_conf(struct fixture *f, uint32_t i)
{
	return (struct qw_xrc_conf){ .xrcd = f->xrcd,
				     .user_index = USER_INDEX + i,
				     .log_size = LOG_SIZE,
				     .log_stride = LOG_STRIDE,
				     .cq = &f->cqs[i] };
}

static struct qw_qp_conf
target_conf(struct fixture *f)
{
	struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);

	conf.st = RNIC_QP_ST_XRC;
	conf.no_sq = conf.no_rq = conf.bare = true;
	conf.xrcd = f->xrcd;
	return conf;
}

static struct qw_qp_conf
initiator_conf(struct fixture *f)
{
	struct qw_qp_conf conf = qw_two_qp_conf(f->two, false);

	conf.st = RNIC_QP_ST_XRC;
	conf.no_rq = true;
	return conf;
}

/* WQEs of each SRQ are in a row, and each has a slot of the buffer. */
static void
post(struct fixture *f, uint32_t i, uint16_t index)
{
	uint8_t *slot = f->two->in + (size_t)(i * (1u << LOG_SIZE) + index) % 8 * SLOT;

	qw_srq_write(&f->srqs[i], index, (index + 1) % (1u << LOG_SIZE), slot, SLOT);
	qw_srq_post(&f->srqs[i], 1);
}

static struct fixture *
open_all(const struct qw_conf *conf)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct dp_cq_conf cq = { .log_size = 6 };
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a, b;
	struct qw_xrc_conf srq;
	struct dp *dp;

	assert_non_null(f);
	f->two = qw_two_open(conf);
	dp = &f->two->qw.ends[1]->dp;
	f->xrcd = dp_create_simple(dp, RNIC_CMD_ALLOC_XRCD);
	for (uint32_t i = 0; i < SRQS; i++) {
		assert_int_equal(dp_cq_create(dp, &f->cqs[i], &cq), 0);
		srq = srq_conf(f, i);
		assert_int_equal(qw_xrc_srq_try(f->two->qw.ends[1], &f->srqs[i], &srq), 0);
	}
	a = initiator_conf(f);
	b = target_conf(f);
	qw_two_more(f->two, &f->two->a, &a, &f->two->b, &b, &attr);
	qw_fill(f->two->out, QW_BUFFER, 1);
	return f;
}

static int
setup(void **state)
{
	*state = open_all(&(struct qw_conf){ .pair = true });
	return 0;
}

static void
close_all(struct fixture *f)
{
	qw_two_close(f->two);
	free(f);
}

/* The initiator's next request ends well, or with a syndrome. */
static void
request(struct fixture *f, uint8_t opcode, uint32_t srqn, uint32_t bytes, void *remote,
	uint32_t key, uint8_t syndrome)
{
	const uint16_t counter = f->two->a.sq.producer;

	qw_xrc_wqe(&f->two->a, opcode, srqn, f->two->out, bytes, remote, key);
	qw_go(f->two);
	if (syndrome == 0)
		qw_done(f->two, counter);
	else
		qw_failed(f->two, counter, syndrome);
}

/* What came is told where that SRQ has its completions, by its index. */
static const struct rnic_cqe *
arrived(struct fixture *f, uint32_t i, uint16_t index, uint32_t user_index)
{
	const struct rnic_cqe *cqe = dp_cq_next(&f->cqs[i]);

	assert_non_null(cqe);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), index);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), user_index);
	assert_int_equal(rnic_be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff, f->two->b.qpn);
	return cqe;
}

static void
expect_silence(struct fixture *f)
{
	for (uint32_t i = 0; i < SRQS; i++)
		qw_expect_nothing(&f->cqs[i]);
	qw_expect_nothing(&f->two->b_recv);
}

/* ---- What requests name ---- */

/* As descriptors and as bytes, of IPv4 and of IPv6: SENDs to both, in turn. */
static void
test_sends_come_to_the_queue_they_name(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 64, 1023, 1024, 1025, 65537 };

	(void)state;
	for (unsigned int wire = 0; wire < 4; wire++) {
		struct fixture *f = open_all(&(struct qw_conf){
			.pair = true, .bytes = (wire & 1) != 0, .ipv6 = (wire & 2) != 0 });

		for (uint16_t n = 0; n < 7; n++) {
			const uint32_t i = n % SRQS, bytes = lengths[n];
			const uint16_t index = n / SRQS;
			uint8_t *slot = f->two->in + (size_t)(i * 8 + index) % 8 * SLOT;

			memset(slot, 0, SLOT);
			post(f, i, index);
			request(f, RNIC_WQE_SEND, f->srqs[i].rmpn, bytes, NULL, 0, 0);
			assert_int_equal(
				rnic_be32_to_cpu(arrived(f, i, index, USER_INDEX + i)->byte_count),
				bytes);
			assert_memory_equal(slot, f->two->out, bytes);
			assert_int_equal(slot[bytes], 0);
		}
		expect_silence(f);
		close_all(f);
	}
}

static void
test_writes_reads_and_atomics(void **state)
{
	struct fixture *f = *state;
	const uint32_t key = f->two->b.end->key, srqn = f->srqs[1].rmpn;
	uint64_t value = 40;
	uint16_t counter;

	request(f, RNIC_WQE_RDMA_WRITE, srqn, 5000, f->two->in, key, 0);
	assert_memory_equal(f->two->in, f->two->out, 5000);
	qw_fill(f->two->in, 5000, 9);
	request(f, RNIC_WQE_RDMA_READ, srqn, 5000, f->two->in, key, 0);
	assert_memory_equal(f->two->in, f->two->out, 5000);
	memcpy(f->two->in, &value, sizeof(value));
	qw_xrc_wqe(&f->two->a, RNIC_WQE_ATOMIC_FA, srqn, f->two->out, 8, f->two->in, key);
	((struct rnic_wqe_atomic *)dp_wqe_at(&f->two->a.sq, 3))->swap_add = rnic_cpu_to_be64(2);
	qw_go(f->two);
	qw_done(f->two, 2);
	assert_memory_equal(f->two->out, &value, sizeof(value));
	memcpy(&value, f->two->in, sizeof(value));
	assert_int_equal(value, 42);
	/* A WRITE with immediate takes a WQE of the queue that it names. */
	post(f, 1, 0);
	counter = f->two->a.sq.producer;
	qw_xrc_wqe(&f->two->a, RNIC_WQE_RDMA_WRITE_IMM, srqn, f->two->out, SMALL, f->two->in, key)
		->immediate = rnic_cpu_to_be32(0x12345678);
	qw_go(f->two);
	qw_done(f->two, counter);
	assert_int_equal(rnic_be32_to_cpu(arrived(f, 1, 0, USER_INDEX + 1)->immediate), 0x12345678);
	expect_silence(f);
}

/* Keys are those of the domain that the named queue is of, not of the target's. */
static void
test_keys_are_of_the_queues_domain(void **state)
{
	struct fixture *f = *state;
	struct qw_end *end = f->two->qw.ends[1];
	const uint32_t pd = dp_create_simple(&end->dp, RNIC_CMD_ALLOC_PD);
	const struct qw_key_conf key = {
		.start = f->two->in, .length = 4096, .access = DRV_LW | DRV_RW, .pd = pd
	};
	const uint32_t foreign = qw_key(end, &key);
	struct qw_xrc_conf conf = srq_conf(f, 0);
	struct qw_srq srq;

	conf.pd = pd;
	assert_int_equal(qw_xrc_srq_try(end, &srq, &conf), 0);
	request(f, RNIC_WQE_RDMA_WRITE, srq.rmpn, SMALL, f->two->in, foreign, 0);
	assert_memory_equal(f->two->in, f->two->out, SMALL);
	request(f, RNIC_WQE_RDMA_WRITE, f->srqs[0].rmpn, SMALL, f->two->in, foreign,
		RNIC_SYND_REMOTE_ACCESS);
}

/* ---- What none may name ---- */

static void
refused(struct fixture *f, uint8_t opcode, uint32_t srqn)
{
	const struct qw_attr attr = qw_attr();
	uint32_t number;

	qw_fill(f->two->in, SMALL, 5);
	request(f, opcode, srqn, SMALL, f->two->in, f->two->b.end->key,
		RNIC_SYND_REMOTE_INVALID_REQUEST);
	assert_memory_not_equal(f->two->in, f->two->out, SMALL);
	assert_int_equal(qw_event(f->two->b.end, &number), RNIC_EVENT_WQ_INVALID_REQUEST);
	assert_int_equal(number, f->two->b.qpn);
	qw_expect_event(f->two->b.end, RNIC_EVENT_SRQ_LAST_WQE, f->two->b.qpn);
	expect_silence(f);
	qw_qp_to(&f->two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&f->two->b, RNIC_CMD_2RST_QP);
	f->two->a.sq.producer = 0;
	dp_sq_record(&f->two->a.sq);
	qw_connect(&f->two->a, &f->two->b, &attr);
}

static void
test_queues_that_are_none_are_invalid_requests(void **state)
{
	static const uint8_t opcodes[] = { RNIC_WQE_SEND, RNIC_WQE_RDMA_WRITE, RNIC_WQE_RDMA_READ };
	struct fixture *f = *state;
	struct qw_end *end = f->two->qw.ends[1];
	struct qw_xrc_conf conf = srq_conf(f, 0);
	struct qw_srq other, pool, gone;

	post(f, 0, 0);
	conf.xrcd = dp_create_simple(&end->dp, RNIC_CMD_ALLOC_XRCD);
	assert_int_equal(qw_xrc_srq_try(end, &other, &conf), 0);
	qw_srq_create(end, &pool, LOG_SIZE, LOG_STRIDE, 0);
	conf.xrcd = f->xrcd;
	assert_int_equal(qw_xrc_srq_try(end, &gone, &conf), 0);
	assert_int_equal(dp_destroy(&end->dp, RNIC_CMD_DESTROY_XRC_SRQ, gone.rmpn), 0);
	for (unsigned int i = 0; i < 3; i++) {
		refused(f, opcodes[i], 0);
		refused(f, opcodes[i], 0xffffff);
		refused(f, opcodes[i], other.rmpn);
		refused(f, opcodes[i], pool.rmpn);
		refused(f, opcodes[i], gone.rmpn);
	}
	request(f, RNIC_WQE_SEND, f->srqs[0].rmpn, SMALL, NULL, 0, 0);
	arrived(f, 0, 0, USER_INDEX);
}

/* In the middle of a message the queue goes that its WQE is of: the WQE goes with it, and nothing of it is told. */
static void
test_a_queue_goes_in_mid_message(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;
	const uint32_t before = f->srqs[0].rmpn;

	post(f, 0, 0);
	qw_xrc_wqe(&two->a, RNIC_WQE_SEND, before, two->out, SLOT, NULL, 0);
	dp_sq_ring(&two->a.sq);
	qw_poll(&two->qw, 2);
	assert_int_equal(two->in[0], two->out[0]);
	assert_null(dp_cq_peek(&two->a_send));
	assert_int_equal(dp_destroy(&two->b.end->dp, RNIC_CMD_DESTROY_XRC_SRQ, before), 0);
	assert_int_equal(dp_destroy(&two->b.end->dp, RNIC_CMD_DESTROY_CQ, f->cqs[0].cqn), 0);
	qw_run(&two->qw);
	qw_failed(two, 0, RNIC_SYND_REMOTE_INVALID_REQUEST);
	qw_expect_nothing(&f->cqs[1]);
	qw_expect_nothing(&two->b_recv);
	assert_int_equal(qw_qp_state(&two->b), RNIC_QP_STATE_ERR);
}

/* The target in reset gives back a WQE to nobody. */
static void
test_a_queue_goes_before_its_target_is_reset(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;

	post(f, 0, 0);
	qw_xrc_wqe(&two->a, RNIC_WQE_SEND, f->srqs[0].rmpn, two->out, SLOT, NULL, 0);
	dp_sq_ring(&two->a.sq);
	qw_poll(&two->qw, 2);
	assert_int_equal(dp_destroy(&two->b.end->dp, RNIC_CMD_DESTROY_XRC_SRQ, f->srqs[0].rmpn), 0);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	assert_int_equal(qw_qp_destroy(&two->b), 0);
	qw_expect_nothing(&f->cqs[1]);
}

/* A WQE in use comes back to the queue that it is of, whichever was named last. */
static void
test_a_reset_gives_the_wqe_back(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;
	const struct qw_attr attr = qw_attr();

	post(f, 0, 0);
	qw_xrc_wqe(&two->a, RNIC_WQE_SEND, f->srqs[0].rmpn, two->out, SLOT, NULL, 0);
	dp_sq_ring(&two->a.sq);
	qw_poll(&two->qw, 2);
	assert_int_equal(two->in[0], two->out[0]);
	qw_qp_to(&two->a, RNIC_CMD_2RST_QP);
	qw_qp_to(&two->b, RNIC_CMD_2RST_QP);
	two->a.sq.producer = 0;
	dp_sq_record(&two->a.sq);
	qw_connect(&two->a, &two->b, &attr);
	request(f, RNIC_WQE_SEND, f->srqs[0].rmpn, SMALL, NULL, 0, 0);
	arrived(f, 0, 0, USER_INDEX);
	expect_silence(f);
}

static bool
has_completion(void *cq)
{
	return dp_cq_peek(cq) != NULL;
}

/* That a WQE failed is told where the queue has its completions that it is of, also when a READ of another one is answered meanwhile. */
static void
test_a_wqe_that_fails_is_its_queues(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;
	const struct rnic_cqe *cqe;

	post(f, 0, 0);
	qw_xrc_wqe(&two->a, RNIC_WQE_SEND, f->srqs[0].rmpn, two->out, SLOT, NULL, 0);
	qw_xrc_wqe(&two->a, RNIC_WQE_RDMA_READ, f->srqs[1].rmpn, two->out + SLOT, SLOT,
		   two->in + SLOT, two->b.end->key);
	qw_xrc_wqe(&two->a, RNIC_WQE_SEND, f->srqs[0].rmpn, two->out, SLOT, NULL, 0);
	post(f, 0, 1);
	dp_sq_ring(&two->a.sq);
	for (unsigned int i = 0; i < 100 && dp_cq_peek(&f->cqs[0]) == NULL; i++)
		qw_poll(&two->qw, 1);
	arrived(f, 0, 0, USER_INDEX);
	qw_poll(&two->qw, 2);
	qw_qp_to(&two->b, RNIC_CMD_2ERR_QP);
	qw_run(&two->qw);
	cqe = arrived(f, 0, 1, USER_INDEX);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_ERROR);
	expect_silence(f);
}

/* Without a WQE the peer waits; a WQE of another queue does not help it. */
static void
test_an_empty_queue_is_waited_for(void **state)
{
	struct fixture *f = *state;

	post(f, 1, 0);
	qw_xrc_wqe(&f->two->a, RNIC_WQE_SEND, f->srqs[0].rmpn, f->two->out, SMALL, NULL, 0);
	dp_sq_ring(&f->two->a.sq);
	qw_poll(&f->two->qw, 20);
	qw_expect_nothing(&f->two->a_send);
	expect_silence(f);
	post(f, 0, 0);
	assert_true(qw_run_until(&f->two->qw, has_completion, &f->cqs[0]));
	arrived(f, 0, 0, USER_INDEX);
	expect_silence(f);
}

/* ---- The initiator's WQEs ---- */

static void
test_wqes_that_make_no_sense(void **state)
{
	static const struct {
		uint8_t opcode, ds;
	} wrong[] = { { RNIC_WQE_SEND, 1 },	 { RNIC_WQE_RDMA_WRITE, 2 },
		      { RNIC_WQE_RDMA_READ, 2 }, { RNIC_WQE_ATOMIC_FA, 3 },
		      { RNIC_WQE_UMR, 12 },	 { 0xee, 4 } };
	struct fixture *f = *state;
	const struct qw_attr attr = qw_attr();

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		dp_wqe(&f->two->a.sq, wrong[i].opcode, wrong[i].ds, RNIC_WQE_CE_ALWAYS);
		qw_go(f->two);
		qw_failed(f->two, 0, RNIC_SYND_LOCAL_QP_OPERATION);
		qw_qp_to(&f->two->a, RNIC_CMD_2RST_QP);
		qw_qp_to(&f->two->b, RNIC_CMD_2RST_QP);
		f->two->a.sq.producer = 0;
		dp_sq_record(&f->two->a.sq);
		qw_connect(&f->two->a, &f->two->b, &attr);
	}
	/* A NOP has no queue to name. */
	dp_wqe(&f->two->a.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	qw_go(f->two);
	qw_done(f->two, 0);
}

/* The end that sends is asked for nothing: it has no queue that could be named. */
static void
test_an_initiator_takes_no_requests(void **state)
{
	struct fixture *f = *state;
	struct qw_two *two = f->two;
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a = initiator_conf(f), b = qw_two_qp_conf(two, true);
	struct qw_qp one, other;

	b.st = RNIC_QP_ST_XRC;
	b.no_rq = true;
	b.xrcd = f->xrcd;
	qw_two_more(two, &one, &a, &other, &b, &attr);
	qw_xrc_wqe(&one, RNIC_WQE_RDMA_WRITE, f->srqs[0].rmpn, two->out, SMALL, two->in,
		   two->b.end->key);
	dp_sq_ring(&one.sq);
	qw_run(&two->qw);
	qw_expect_error(&two->a_send, RNIC_CQE_REQUESTER_ERROR, 0, RNIC_SYND_REMOTE_INVALID_REQUEST,
			one.qpn);
}

/* ---- Commands ---- */

static void
test_limit(void **state)
{
	struct fixture *f = *state;
	struct drv *drv = &f->two->b.end->dp.drv;
	struct rnic_xrc_srqc srqc;

	for (uint16_t i = 0; i < 3; i++)
		post(f, 0, i);
	assert_int_equal(drv_xrc_srq_arm(drv, f->srqs[0].rmpn, 2), 0);
	request(f, RNIC_WQE_SEND, f->srqs[0].rmpn, SMALL, NULL, 0, 0);
	assert_int_equal(qw_event(f->two->b.end, NULL), 0);
	assert_int_equal(drv_xrc_srq_query(drv, f->srqs[0].rmpn, &srqc), 0);
	assert_int_equal(rnic_xrc_srqc_get(&srqc, RNIC_XRC_SRQC_LWM), 2);
	assert_int_equal(rnic_xrc_srqc_get(&srqc, RNIC_XRC_SRQC_WQE_CNT), 2);
	request(f, RNIC_WQE_SEND, f->srqs[0].rmpn, SMALL, NULL, 0, 0);
	qw_expect_event(f->two->b.end, RNIC_EVENT_SRQ_LIMIT, f->srqs[0].rmpn);
	request(f, RNIC_WQE_SEND, f->srqs[0].rmpn, SMALL, NULL, 0, 0);
	assert_int_equal(qw_event(f->two->b.end, NULL), 0);
}

/* Whoever has no index of its own is told by number, as Linux' kernel wants it. */
static void
test_without_a_user_index_completions_have_the_number(void **state)
{
	struct fixture *f = *state;
	struct qw_xrc_conf conf = srq_conf(f, 0);
	struct qw_srq srq;

	conf.user_index = 0xffffff;
	assert_int_equal(qw_xrc_srq_try(f->two->qw.ends[1], &srq, &conf), 0);
	qw_srq_write(&srq, 0, 1, f->two->in, SLOT);
	qw_srq_post(&srq, 1);
	request(f, RNIC_WQE_SEND, srq.rmpn, SMALL, NULL, 0, 0);
	arrived(f, 0, 0, srq.rmpn);
}

static void
test_who_refers_to_whom(void **state)
{
	struct fixture *f = *state;
	struct dp *dp = &f->two->b.end->dp;
	const uint32_t xrcd = dp_create_simple(dp, RNIC_CMD_ALLOC_XRCD);
	const struct dp_cq_conf small = { .log_size = 6 };
	struct qw_xrc_conf conf = srq_conf(f, 0);
	struct qw_qp_conf b = target_conf(f);
	struct qw_srq srq;
	struct qw_qp qp;
	struct dp_cq cq;

	assert_int_equal(dp_cq_create(dp, &cq, &small), 0);
	conf.xrcd = b.xrcd = xrcd;
	conf.cq = &cq;
	assert_int_equal(qw_xrc_srq_try(f->two->b.end, &srq, &conf), 0);
	assert_int_equal(qw_qp_create(f->two->b.end, &qp, &b), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DEALLOC_XRCD, xrcd), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_CQ, cq.cqn), RNIC_STATUS_RES_BUSY);
	/* The target refers to the domain, and to none of its queues. */
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_XRC_SRQ, srq.rmpn), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DESTROY_CQ, cq.cqn), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DEALLOC_XRCD, xrcd), RNIC_STATUS_RES_BUSY);
	assert_int_equal(qw_qp_destroy(&qp), 0);
	assert_int_equal(dp_destroy(dp, RNIC_CMD_DEALLOC_XRCD, xrcd), 0);
}

/* Numbers of pools and of these are of one table; what is one is not the other. */
static void
test_pools_are_not_mixed_up(void **state)
{
	struct fixture *f = *state;
	struct qw_end *end = f->two->b.end;
	struct qw_qp_conf conf = qw_two_qp_conf(f->two, true);
	struct rnic_rmpc rmpc;
	struct qw_srq pool;
	struct qw_qp qp;
	struct rnic_xrc_srqc srqc;
	const struct drv_rq rq = { .cqn = f->cqs[0].cqn, .rmpn = f->srqs[0].rmpn };
	uint32_t rqn;

	qw_srq_create(end, &pool, LOG_SIZE, LOG_STRIDE, 0);
	assert_int_equal(drv_xrc_srq_query(&end->dp.drv, pool.rmpn, &srqc), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_xrc_srq_arm(&end->dp.drv, pool.rmpn, 1), RNIC_STATUS_BAD_RES);
	assert_int_equal(dp_destroy(&end->dp, RNIC_CMD_DESTROY_XRC_SRQ, pool.rmpn),
			 RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_rmp_query(&end->dp.drv, f->srqs[0].rmpn, &rmpc), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_rmp_limit_set(&end->dp.drv, f->srqs[0].rmpn, 1), RNIC_STATUS_BAD_RES);
	assert_int_equal(dp_destroy(&end->dp, RNIC_CMD_DESTROY_RMP, f->srqs[0].rmpn),
			 RNIC_STATUS_BAD_RES);
	/* Neither a queue pair of RC takes from it, nor a receive queue. */
	conf.srq = &f->srqs[0];
	assert_int_equal(qw_qp_create(end, &qp, &conf), RNIC_STATUS_BAD_RES);
	assert_int_equal(drv_rq_create(&end->dp.drv, &rq, &rqn), RNIC_STATUS_BAD_RES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends_come_to_the_queue_they_name),
		TEST(test_writes_reads_and_atomics),
		TEST(test_keys_are_of_the_queues_domain),
		TEST(test_queues_that_are_none_are_invalid_requests),
		TEST(test_a_queue_goes_in_mid_message),
		TEST(test_a_queue_goes_before_its_target_is_reset),
		TEST(test_a_reset_gives_the_wqe_back),
		TEST(test_a_wqe_that_fails_is_its_queues),
		TEST(test_an_empty_queue_is_waited_for),
		TEST(test_wqes_that_make_no_sense),
		TEST(test_an_initiator_takes_no_requests),
		TEST(test_limit),
		TEST(test_without_a_user_index_completions_have_the_number),
		TEST(test_who_refers_to_whom),
		TEST(test_pools_are_not_mixed_up),
	};

	return cmocka_run_group_tests_name("qp_xrc", tests, NULL, NULL);
}
