/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues on a memory pool that they share: whose WQE it is, who hears of it, and what one's error is to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_path.h"
#include "driver/counter.h"
#include "driver/rmp.h"

#define QUEUES	   2
#define LOG_SIZE   3
#define SIZE	   (1u << LOG_SIZE)
#define LOG_STRIDE 6 /* four units of 16 bytes */
#define SLOT	   2048u
#define TYPE	   0x88b5 /* and the next one: the queues' */
#define USER_INDEX 0x1230

struct fixture {
	struct softrnic_poller *poller;
	struct dp dp;
	struct dp_cq tx_cq, rx_cqs[QUEUES];
	struct dp_sq sq;
	struct dp_rq rqs[QUEUES];
	uint8_t *ring, *out, *in;
	struct rnic_wq_dbrec *dbrec;
	uint32_t rmpn;
	uint16_t posted;
	bool cyclic;
};

static void
create_pool(struct fixture *f)
{
	f->ring = dp_alloc(&f->dp, 4096, 4096);
	f->dbrec = dp_alloc(&f->dp, sizeof(*f->dbrec), 64);
	assert_int_equal(
		drv_rmp_create(&f->dp.drv,
			       &(struct drv_rmp){ .log_size = LOG_SIZE,
						  .log_stride = LOG_STRIDE,
						  .pd = f->dp.pd,
						  .cyclic = f->cyclic,
						  .dbrec = dp_iova(&f->dp, f->dbrec),
						  .ring = { dp_iova(&f->dp, f->ring), 0, 1 } },
			       &f->rmpn),
		0);
}

static void
create_queue(struct fixture *f, uint32_t queue)
{
	struct dp_rq *rq = &f->rqs[queue];

	*rq = (struct dp_rq){ .dp = &f->dp, .cq = &f->rx_cqs[queue] };
	assert_int_equal(drv_rq_create(&f->dp.drv,
				       &(struct drv_rq){ .rmpn = f->rmpn,
							 .flush = true,
							 .cqn = rq->cq->cqn,
							 .counter = f->dp.q_counter,
							 .user_index = USER_INDEX + queue },
				       &rq->rqn),
			 0);
	assert_int_equal(dp_rq_modify(rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
}

/* Each queue has an Ethernet type. */
static void
steer(struct fixture *f)
{
	struct rnic_flow_destination to[QUEUES];
	struct drv_fte entries[QUEUES];
	uint32_t table;

	for (uint32_t i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_tir_create(&f->rqs[i]), 0);
		to[i] = drv_to_tir(f->rqs[i].tirn);
		entries[i] = (struct drv_fte){ { DRV_IS(ETHERTYPE, TYPE + i) }, &to[i], 1 };
	}
	assert_int_equal(drv_table_of(&f->dp.drv, 0, 0, entries, QUEUES, &table), 0);
	assert_int_equal(drv_ftes_set(&f->dp.drv, entries, QUEUES), 0);
	assert_int_equal(drv_root_set(&f->dp.drv, table), 0);
}

static int
open_with(void **state, bool cyclic)
{
	const struct softrnic_conf conf = { .name = "pool", .wire = "loop" };
	const struct dp_cq_conf cq = { .log_size = 6, .uar = 1 };
	struct fixture *f = calloc(1, sizeof(*f));
	uint32_t i;

	assert_non_null(f);
	f->cyclic = cyclic;
	assert_int_equal(softrnic_poller_create(&f->poller), 0);
	assert_int_equal(dp_open(&f->dp, f->poller, &conf), 0);
	f->dp.q_counter = dp_create_simple(&f->dp, RNIC_CMD_ALLOC_Q_COUNTER);
	assert_int_equal(dp_cq_create(&f->dp, &f->tx_cq, &cq), 0);
	assert_int_equal(dp_sq_create(&f->dp, &f->sq, &f->tx_cq, 6, 1, 0), 0);
	create_pool(f);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_cq_create(&f->dp, &f->rx_cqs[i], &cq), 0);
		create_queue(f, i);
	}
	steer(f);
	f->out = dp_alloc(&f->dp, SLOT, 64);
	f->in = dp_alloc(&f->dp, (SIZE + 1) * SLOT, 64);
	assert_non_null(f->in);
	for (i = 0; i < SLOT; i++)
		f->out[i] = (uint8_t)(i * 7 + (i >> 8));
	*state = f;
	return 0;
}

static int
setup_linked(void **state)
{
	return open_with(state, false);
}

static int
setup_cyclic(void **state)
{
	return open_with(state, true);
}

static void
write_segment(struct fixture *f, struct rnic_wqe_data *segment, uint8_t *data, uint32_t bytes)
{
	segment->byte_count = rnic_cpu_to_be32(bytes);
	segment->lkey = rnic_cpu_to_be32(bytes > 0 ? f->dp.lkey : RNIC_WQE_INVALID_LKEY);
	segment->address = rnic_cpu_to_be64((uint64_t)(uintptr_t)data);
}

/* A WQE of 100 bytes here and the rest of `bytes` there, in its slot. */
static void
write_wqe(struct fixture *f, uint32_t index, uint16_t next, uint32_t bytes)
{
	uint8_t *wqe = f->ring + ((size_t)index << LOG_STRIDE), *slot = f->in + index * SLOT;
	struct rnic_wqe_data *segments = (struct rnic_wqe_data *)wqe;

	if (!f->cyclic) {
		((struct rnic_wqe_next *)wqe)->next_wqe_index = rnic_cpu_to_be16(next);
		segments++;
	}
	write_segment(f, &segments[0], slot, 100);
	write_segment(f, &segments[1], slot + 100, bytes - 100);
	write_segment(f, &segments[2], NULL, 0);
}

static void
post(struct fixture *f, uint16_t count)
{
	f->posted = (uint16_t)(f->posted + count);
	__atomic_store_n(&f->dbrec->receive_counter.raw, RNIC_SWAP32(f->posted), __ATOMIC_RELEASE);
}

static void
send(struct fixture *f, uint32_t queue, uint32_t bytes)
{
	memcpy(f->out, "\2\0\0\0\0\1\2\0\0\0\0\2", 12);
	f->out[12] = TYPE >> 8;
	f->out[13] = (uint8_t)(TYPE + queue);
	f->out[14]++;
	dp_send(&f->sq, f->out, bytes);
	dp_run(&f->dp);
	assert_non_null(dp_cq_next(&f->tx_cq));
}

/* What was sent last is that queue's, in the slot of that WQE, under that name. */
static void
expect(struct fixture *f, uint32_t queue, uint32_t index, uint16_t name, uint32_t bytes)
{
	const struct rnic_cqe *cqe = dp_cq_next(&f->rx_cqs[queue]);

	assert_non_null(cqe);
	assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_SEND);
	assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), name);
	assert_int_equal(rnic_be32_to_cpu(cqe->srqn_user_index), USER_INDEX + queue);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), bytes);
	assert_memory_equal(f->in + index * SLOT, f->out, bytes);
	assert_null(dp_cq_next(&f->rx_cqs[!queue]));
}

static void
test_whoever_comes_first_takes_the_next(void **state)
{
	static const uint32_t order[SIZE] = { 0, 5, 2, 7, 1, 6, 3, 4 };
	struct fixture *f = *state;
	uint32_t i, round, index;

	for (i = 0; i < SIZE; i++)
		write_wqe(f, order[i], (uint16_t)order[(i + 1) % SIZE], SLOT);
	for (round = 0; round < 3 * SIZE; round++) {
		index = order[round % SIZE];
		post(f, 1);
		send(f, round % 3 == 0, 60 + 60 * round);
		expect(f, round % 3 == 0, index, (uint16_t)index, 60 + 60 * round);
	}
}

/* WQEs in a ring go by their count, across its end and that of the counter. */
static void
test_a_cyclic_pool_goes_by_its_count(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	for (i = 0; i < SIZE; i++)
		write_wqe(f, i, 0, SLOT);
	for (i = 0; i < 0x10000 + 5; i++) {
		post(f, 1);
		send(f, i & 1, 200 + i % 1000);
		expect(f, i & 1, i % SIZE, (uint16_t)i, 200 + i % 1000);
	}
}

static uint64_t
out_of_buffer(struct fixture *f)
{
	struct rnic_query_q_counter_out out;

	assert_int_equal(drv_q_counter_query(&f->dp.drv, f->dp.q_counter, false, &out), 0);
	return rnic_query_q_counter_out_get(&out, RNIC_QUERY_Q_COUNTER_OUT_OUT_OF_BUFFER);
}

static void
test_an_empty_pool(void **state)
{
	struct fixture *f = *state;

	write_wqe(f, 0, 1, SLOT);
	write_wqe(f, 1, 2, SLOT);
	send(f, 0, 64);
	assert_null(dp_cq_next(&f->rx_cqs[0]));
	assert_int_equal(out_of_buffer(f), 1);
	post(f, 1);
	send(f, 0, 64);
	expect(f, 0, 0, 0, 64);
	send(f, 1, 64);
	assert_null(dp_cq_next(&f->rx_cqs[1]));
	assert_int_equal(out_of_buffer(f), 2);
	post(f, 1);
	send(f, 1, 64);
	expect(f, 1, 1, 1, 64);
	assert_int_equal(dp_stats(&f->dp).rx_no_buffer, 2);
}

/* A frame that is too long, or a WQE that points nowhere, is the error of the queue that took it, and of no other. */
static void
test_an_error_is_one_queue_s(void **state)
{
	static const uint8_t syndromes[] = { RNIC_SYND_LOCAL_LENGTH, RNIC_SYND_LOCAL_PROTECTION };
	struct fixture *f = *state;
	const struct rnic_error_cqe *cqe;
	uint32_t i;

	for (i = 0; i < SIZE; i++)
		write_wqe(f, i, (uint16_t)(i + 1), 300);
	((struct rnic_wqe_data *)(f->ring + (2 << LOG_STRIDE)))[f->cyclic ? 0 : 1].lkey =
		rnic_cpu_to_be32(f->dp.lkey ^ 1);
	post(f, SIZE);
	for (i = 0; i < 2; i++) {
		send(f, 0, i == 0 ? 301 : 100);
		cqe = (const struct rnic_error_cqe *)dp_cq_next(&f->rx_cqs[0]);
		assert_non_null(cqe);
		assert_int_equal(RNIC_CQE_OPCODE(cqe->op_own), RNIC_CQE_RESPONDER_ERROR);
		assert_int_equal(cqe->syndrome, syndromes[i]);
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), 2 * i);
		/* The pool's WQEs are not flushed. */
		assert_null(dp_cq_next(&f->rx_cqs[0]));
		assert_int_equal(dp_rq_state(&f->rqs[0]), RNIC_WQ_STATE_ERR);
		send(f, 0, 100);
		assert_null(dp_cq_next(&f->rx_cqs[0]));
		send(f, 1, 300);
		expect(f, 1, 2 * i + 1, (uint16_t)(2 * i + 1), 300);
		assert_int_equal(dp_rq_modify(&f->rqs[0], RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
		assert_int_equal(dp_rq_modify(&f->rqs[0], RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	}
	send(f, 0, 200);
	expect(f, 0, 4, 4, 200);
}

/* As many segments as fit, without an end of the list: what is behind them is the next WQE's. */
static void
test_wqes_full_of_segments(void **state)
{
	struct fixture *f = *state;
	const uint32_t first = f->cyclic ? 0 : 1, units = 1u << (LOG_STRIDE - 4);
	const struct rnic_error_cqe *cqe;
	struct rnic_wqe_data *segments;
	uint32_t i, at;

	for (i = 0; i < SIZE; i++) {
		write_wqe(f, i, (uint16_t)(i + 1), 300);
		segments = (struct rnic_wqe_data *)(f->ring + (i << LOG_STRIDE));
		for (at = first; at < units; at++)
			write_segment(f, &segments[at], f->in + i * SLOT + 100 * (at - first), 100);
	}
	post(f, 2);
	send(f, 0, 100 * (units - first));
	expect(f, 0, 0, 0, 100 * (units - first));
	send(f, 0, 100 * (units - first) + 1);
	cqe = (const struct rnic_error_cqe *)dp_cq_next(&f->rx_cqs[0]);
	assert_non_null(cqe);
	assert_int_equal(cqe->syndrome, RNIC_SYND_LOCAL_LENGTH);
	assert_int_equal(dp_rq_state(&f->rqs[0]), RNIC_WQ_STATE_ERR);
}

/* A record that is ahead of the ring: the pool is in error, and each queue that comes for a WQE. */
static void
test_a_broken_pool(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	write_wqe(f, 0, 1, SLOT);
	post(f, SIZE + 1);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_rq_state(&f->rqs[i]), RNIC_WQ_STATE_RDY);
		send(f, i, 100);
		assert_null(dp_cq_next(&f->rx_cqs[i]));
		assert_int_equal(dp_rq_state(&f->rqs[i]), RNIC_WQ_STATE_ERR);
	}
}

static void
test_a_pool_stays_while_a_queue_is_on_it(void **state)
{
	struct fixture *f = *state;

	create_pool(f);
	create_queue(f, 0);
	create_queue(f, 1);
	for (uint32_t i = 0; i < QUEUES; i++) {
		assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RMP, f->rmpn),
				 RNIC_STATUS_RES_BUSY);
		assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQ, f->rqs[i].rqn), 0);
	}
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RMP, f->rmpn), 0);
}

#define LINKED(test) cmocka_unit_test_setup_teardown(test, setup_linked, dp_teardown)
#define CYCLIC(test)                                                   \
	{                                                              \
#test "_cyclic", test, setup_cyclic, dp_teardown, NULL \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		LINKED(test_whoever_comes_first_takes_the_next),
		CYCLIC(test_a_cyclic_pool_goes_by_its_count),
		LINKED(test_an_empty_pool),
		CYCLIC(test_an_empty_pool),
		LINKED(test_an_error_is_one_queue_s),
		CYCLIC(test_an_error_is_one_queue_s),
		LINKED(test_wqes_full_of_segments),
		CYCLIC(test_wqes_full_of_segments),
		LINKED(test_a_broken_pool),
		CYCLIC(test_a_broken_pool),
		LINKED(test_a_pool_stays_while_a_queue_is_on_it),
	};

	return cmocka_run_group_tests_name("data_pool", tests, NULL, NULL);
}
