/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The device looks a thing up once and then remembers where it is. What it remembers ends with the mapping, also where a
 * client changes its map so often that the number of changes comes round: what lies there by then may be another client's.
 */
#include "qp_world.h"
/* The number of changes, and what is remembered beside all lists. */
#include "softrnic/base/device.h"
#include "softrnic/base/dma.h"
#include "softrnic/base/object.h"
#include "softrnic/base/poller.h"
#include "softrnic/base/tunables.h"
#include "softrnic/memory/tpt.h"
#include "softrnic/receive/qp.h"

#define PAGE 4096u
#define SIZE 64u /* of a message */
#define LOG  4	 /* of queues */

#define RIGHTS (DRV_LW | DRV_RR | DRV_RW | DRV_A)

static int
setup(void **state)
{
	/* One test's are not the next one's. */
	atomic_store(&softrnic_audit_violations, 0);
	return qw_setup_islands(state);
}

/* Unmapped, and the number of changes is again what it was when all was mapped: no test makes 2^64 of them. */
static void
take_away(struct dp *dp, const void *memory, size_t bytes)
{
	const uint64_t before = dp->dev->dma_generation;

	assert_int_equal(softrnic_dma_unmap(dp->dev, dp_iova(dp, memory), bytes), 0);
	assert_int_not_equal(dp->dev->dma_generation, before);
	/* By hand: the tunable is where a device begins. */
	softrnic_lock(dp->poller);
	dp->dev->dma_generation = before;
	softrnic_unlock(dp->poller);
}

/* Memory that the tests' other keys and rings do not lie in. */
static uint8_t *
page(struct qw_end *end)
{
	uint8_t *memory = dp_alloc(&end->dp, PAGE, PAGE);

	assert_non_null(memory);
	return memory;
}

static void
assert_all(const uint8_t *memory, uint8_t byte, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(memory[i], byte);
}

/* ---- Keys ---- */

/* a sends what its key leads to into b's buffer. */
static void
write_from(struct qw_two *two, uint32_t key, const uint8_t *data)
{
	qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, SIZE, two->in, two->b.end->key,
	       RNIC_WQE_CE_ALWAYS);
	qw_segment(&two->a, 2, key, data, SIZE);
	qw_go(two);
}

static void
key_leads_nowhere(struct qw_two *two, uint32_t key, const uint8_t *va, uint8_t *memory)
{
	memset(memory, 'm', SIZE);
	write_from(two, key, va);
	qw_done(two, 0);
	assert_all(two->in, 'm', SIZE);
	memset(two->in, 0, SIZE);
	take_away(&two->a.end->dp, memory, PAGE);
	memset(memory, 's', SIZE);
	write_from(two, key, va);
	assert_all(two->in, 0, SIZE);
	qw_failed(two, 1, RNIC_SYND_LOCAL_PROTECTION);
}

static void
key_of_one_piece(void **state)
{
	struct qw_two *two = *state;
	uint8_t *memory = page(two->a.end);
	uint32_t key =
		qw_key(two->a.end,
		       &(struct qw_key_conf){ .start = memory, .length = PAGE, .access = RIGHTS });

	key_leads_nowhere(two, key, memory, memory);
}

static void
key_of_chunks(void **state)
{
	struct qw_two *two = *state;
	uint8_t *first = page(two->a.end), *second = page(two->a.end);
	void *const pages[] = { second, first };
	uint32_t key = qw_key(two->a.end, &(struct qw_key_conf){ .start = first,
								 .length = 2 * PAGE,
								 .access = RIGHTS,
								 .pages = pages });

	key_leads_nowhere(two, key, first, second);
}

static void
key_that_a_peer_writes_by(void **state)
{
	struct qw_two *two = *state;
	uint8_t *memory = page(two->b.end);
	uint32_t key =
		qw_key(two->b.end,
		       &(struct qw_key_conf){ .start = memory, .length = PAGE, .access = RIGHTS });

	memset(two->out, 'w', SIZE);
	for (unsigned int round = 0; round < 2; round++) {
		qw_wqe(&two->a, RNIC_WQE_RDMA_WRITE, two->out, SIZE, memory, key,
		       RNIC_WQE_CE_ALWAYS);
		qw_go(two);
		assert_all(memory, round == 0 ? 'w' : 'v', SIZE);
		if (round > 0)
			break;
		qw_done(two, 0);
		take_away(&two->b.end->dp, memory, PAGE);
		memset(memory, 'v', SIZE);
	}
	qw_failed(two, 1, RNIC_SYND_REMOTE_OPERATION);
}

/* ---- Rings and records ---- */

struct queue {
	struct dp_cq cq;
	struct dp_sq sq;
};

/* A send queue of frames that has sent nothing once. */
static void
queue_open(struct qw_two *two, struct queue *queue)
{
	const struct dp_cq_conf conf = { .log_size = LOG, .uar = 1 };
	struct dp *dp = &two->a.end->dp;

	assert_int_equal(dp_cq_create(dp, &queue->cq, &conf), 0);
	assert_int_equal(dp_sq_create(dp, &queue->sq, &queue->cq, LOG, 2, DP_SQ_FLUSH), 0);
	dp_wqe(&queue->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&queue->sq);
	dp_run(dp);
	assert_non_null(dp_cq_next(&queue->cq));
	while (dp_eq_next(dp) != NULL)
		;
}

static void
queue_is_not_read(struct qw_two *two, struct queue *queue)
{
	dp_wqe(&queue->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&queue->sq);
	dp_run(&two->a.end->dp);
	assert_null(dp_cq_next(&queue->cq));
	assert_int_equal(dp_sq_state(&queue->sq), RNIC_WQ_STATE_ERR);
	assert_int_equal(qw_event(two->a.end, NULL), RNIC_EVENT_WQ_ACCESS_ERROR);
}

static void
ring_of_a_send_queue(void **state)
{
	struct qw_two *two = *state;
	struct queue queue;

	queue_open(two, &queue);
	take_away(&two->a.end->dp, queue.sq.ring, RNIC_WQEBB_BYTES << LOG);
	queue_is_not_read(two, &queue);
}

static void
record_of_a_send_queue(void **state)
{
	struct qw_two *two = *state;
	struct queue queue;

	queue_open(two, &queue);
	take_away(&two->a.end->dp, queue.sq.dbrec, sizeof(*queue.sq.dbrec));
	queue_is_not_read(two, &queue);
}

static void
ring_of_completions(void **state)
{
	struct qw_two *two = *state;
	struct queue queue;

	queue_open(two, &queue);
	take_away(&two->a.end->dp, queue.cq.ring, (size_t)queue.cq.bytes << LOG);
	memset(queue.cq.ring, 0x5a, (size_t)queue.cq.bytes << LOG);
	dp_wqe(&queue.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&queue.sq);
	dp_run(&two->a.end->dp);
	assert_all(queue.cq.ring, 0x5a, (size_t)queue.cq.bytes << LOG);
}

static void
ring_of_events(void **state)
{
	struct qw_two *two = *state;
	struct dp *dp = &two->a.end->dp;
	const size_t bytes = dp->eq_entries * sizeof(*dp->eqes);
	struct queue queue;

	queue_open(two, &queue);
	dp_cq_arm(&queue.cq, 0, false);
	dp_wqe(&queue.sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&queue.sq);
	dp_run(dp);
	assert_non_null(dp_eq_next(dp));
	take_away(dp, dp->eqes, bytes);
	memset(dp->eqes, 0x5a, bytes);
	/* The record is ahead by more than the ring: that is an event. */
	queue.sq.producer += 2u << LOG;
	dp_sq_ring(&queue.sq);
	dp_run(dp);
	assert_all((const uint8_t *)dp->eqes, 0x5a, bytes);
	assert_int_equal(dp_sq_state(&queue.sq), RNIC_WQ_STATE_ERR);
}

/* ---- Queue pairs ---- */

/* One ring for both directions: what is posted is neither taken nor sent. */
static void
rings_of_a_queue_pair(void **state)
{
	struct qw_two *two = *state;
	const size_t bytes = ((size_t)RNIC_WQEBB_BYTES << QW_LOG_SQ) +
			     ((size_t)1 << (two->b.rq.log_size + two->b.rq.log_stride));

	memset(two->out, 'w', SIZE);
	qw_recv(&two->b, two->in, SIZE);
	qw_recv(&two->b, two->in, SIZE);
	qw_post(&two->a, &two->b, RNIC_WQE_SEND, two->out, SIZE, NULL);
	qw_post(&two->b, &two->a, RNIC_WQE_NOP, NULL, 0, NULL);
	qw_run(&two->qw);
	assert_all(two->in, 'w', SIZE);
	memset(two->in, 0, SIZE);
	take_away(&two->b.end->dp, two->b.rq.ring, (bytes + PAGE - 1) / PAGE * PAGE);
	qw_execute(two, RNIC_WQE_SEND, two->out, SIZE, NULL);
	assert_all(two->in, 0, SIZE);
	assert_int_equal(qw_event(two->b.end, NULL), RNIC_EVENT_WQ_ACCESS_ERROR);
}

static void
ring_of_a_pool(void **state)
{
	struct qw_two *two = *state;
	const struct qw_attr attr = qw_attr();
	struct qw_qp_conf a_conf = qw_two_qp_conf(two, false), b_conf = qw_two_qp_conf(two, true);
	struct qw_srq srq;
	struct qw_qp a, b;

	qw_srq_create(two->b.end, &srq, LOG, 6, 0);
	b_conf.srq = &srq;
	qw_two_more(two, &a, &a_conf, &b, &b_conf, &attr);
	for (uint16_t i = 0; i < 3; i++)
		qw_srq_write(&srq, i, i + 1, two->in, SIZE);
	qw_srq_post(&srq, 3);
	memset(two->out, 'w', SIZE);
	for (unsigned int round = 0; round < 2; round++) {
		qw_post(&a, &b, RNIC_WQE_SEND, two->out, SIZE, NULL);
		qw_run(&two->qw);
		assert_all(two->in, round == 0 ? 'w' : 0, SIZE);
		memset(two->in, 0, SIZE);
		if (round == 0)
			take_away(&two->b.end->dp, srq.ring, PAGE);
	}
	assert_int_equal(qw_event(two->b.end, NULL), RNIC_EVENT_SRQ_CATASTROPHIC);
}

/* Those of queue pairs that sent lately are read in each poll: as the audit sees. */
static void
record_that_is_watched(void **state)
{
	struct qw_two *two = *state;

	qw_execute(two, RNIC_WQE_NOP, NULL, 0, NULL);
	assert_int_not_equal(qw_qp_inside(&two->a)->watched, 0);
	take_away(&two->a.end->dp, two->a.sq.dbrec, sizeof(*two->a.sq.dbrec));
	qw_run(&two->qw);
	assert_int_equal(atomic_load(&softrnic_audit_violations), 0);
	assert_int_equal(qw_event(two->a.end, NULL), RNIC_EVENT_WQ_ACCESS_ERROR);
}

/* ---- The number itself, and who looks after us ---- */

#define LEFT 5 /* changes before the end */

/* As many changes as the first device has seen by now bring the second one near the end. */
static int
setup_near_the_end(void **state)
{
	const struct softrnic_tunables usual = softrnic_tunables;
	struct qw_two *two;

	softrnic_tunables.dma_generation = 1;
	setup(state);
	two = *state;
	softrnic_tunables.dma_generation -= two->a.end->dp.dev->dma_generation + LEFT;
	qw_teardown(state);
	setup(state);
	softrnic_tunables = usual;
	return 0;
}

static void
changes_are_counted_beyond_the_end(void **state)
{
	struct qw_two *two = *state;
	const struct softrnic *dev = two->a.end->dp.dev;

	assert_true(dev->dma_generation == UINT64_C(0) - LEFT);
	for (uint16_t i = 0; i < 10; i++) {
		uint8_t *memory = page(two->a.end);

		qw_execute(two, RNIC_WQE_RDMA_WRITE, memory, SIZE, two->in);
		qw_done(two, i);
		qw_unmap(two->a.end, memory, PAGE);
	}
	assert_in_range(dev->dma_generation, 1, 100);
}

static void
audit_sees_what_outlives_its_mapping(void **state)
{
	struct qw_two *two = *state;
	struct dp *dp = &two->a.end->dp;
	uint8_t *memory = page(two->a.end), *other = page(two->a.end);
	uint32_t key =
		qw_key(two->a.end,
		       &(struct qw_key_conf){ .start = memory, .length = PAGE, .access = RIGHTS });
	struct softrnic_mkey *mkey = softrnic_object_get(dp->dev, SOFTRNIC_MKEY, key >> 8);

	qw_unmap(two->a.end, memory, PAGE);
	assert_int_equal(atomic_load(&softrnic_audit_violations), 0);
	/* In none of the lists. By hand: it is the defect that the audit is there to find. */
	mkey->flat = memory;
	qw_unmap(two->a.end, other, PAGE);
	mkey->flat = NULL;
	assert_int_equal(atomic_exchange(&softrnic_audit_violations, 0), 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, qw_teardown)
	const struct CMUnitTest tests[] = {
		TEST(key_of_one_piece),
		TEST(key_of_chunks),
		TEST(key_that_a_peer_writes_by),
		TEST(ring_of_a_send_queue),
		TEST(record_of_a_send_queue),
		TEST(ring_of_completions),
		TEST(ring_of_events),
		TEST(rings_of_a_queue_pair),
		TEST(ring_of_a_pool),
		TEST(record_that_is_watched),
		cmocka_unit_test_setup_teardown(changes_are_counted_beyond_the_end,
						setup_near_the_end, qw_teardown),
		TEST(audit_sees_what_outlives_its_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
