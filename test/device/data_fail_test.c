/* SPDX-License-Identifier: BSD-3-Clause */

/* How queues fail: what they lean on is full, gone or not theirs, and WQEs that are good in their first half only. */
#include "data_expect.h"
#include "softrnic/event/cq.h"
#include "softrnic/port/frame.h"

#define CQ_LOG	   4
#define CQ_ENTRIES (1u << CQ_LOG)
#define SQ_LOG	   6
#define RQ_LOG	   6
#define BUFFER	   2048u

/* Each piece of memory is a map of its own, so that a test can take one away. */
static int
setup_on(void **state, bool inline_l2, unsigned int flags)
{
	const struct dp_side_conf conf = {
		.device = { .name = "fail", .wire = "loop", .inline_l2 = inline_l2 },
		.islands = true,
		.tx_cq = { .log_size = CQ_LOG, .uar = 1 },
		.rx_cq = { .log_size = RQ_LOG, .uar = 1 },
		.sq_log_size = SQ_LOG,
		.sq_uar = 2,
		.sq_flags = flags,
		.rq_log_size = RQ_LOG,
		.rq_log_stride = 4,
		.out_bytes = BUFFER,
		.in_bytes = BUFFER,
	};
	struct dp_side *f;

	assert_int_equal(dp_side_setup(state, &conf), 0);
	f = *state;
	for (uint32_t i = 0; i < BUFFER; i++)
		f->out[i] = (uint8_t)(i * 5 + (i >> 8)) & 0xfe;
	while (dp_eq_next(&f->dp) != NULL)
		;
	return 0;
}

static int
setup(void **state)
{
	return setup_on(state, false, DP_SQ_MULTI_PACKET | DP_SQ_FLUSH);
}

static int
setup_inline(void **state)
{
	return setup_on(state, true, DP_SQ_FLUSH);
}

static void
take_away(struct dp_side *f, const void *memory, size_t bytes)
{
	assert_int_equal(softrnic_dma_unmap(f->dp.dev, dp_iova(&f->dp, memory), bytes), 0);
}

static void
post(struct dp_side *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dp_post(&f->rq, f->in, BUFFER);
	dp_rq_record(&f->rq);
}

static void
send_nops(struct dp_side *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
}

static void
expect_cq_error(struct dp_side *f, const struct dp_cq *cq, enum rnic_cq_error why)
{
	const struct rnic_eqe *eqe = dp_expect_event(&f->dp, RNIC_EVENT_CQ_ERROR);

	assert_int_equal(rnic_be32_to_cpu(eqe->data[0]) & 0xffffff, cq->cqn);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[2]) & 0xff, why);
}

/* queue_type: 1 receive, 2 send */
static void
expect_wq_error(struct dp_side *f, enum rnic_event what, uint32_t queue_type, uint32_t number)
{
	const struct rnic_eqe *eqe = dp_expect_event(&f->dp, what);

	assert_int_equal(rnic_be32_to_cpu(eqe->data[5]) >> 24, queue_type);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[6]) & 0xffffff, number);
	assert_null(dp_eq_next(&f->dp));
}

static void
expect_send_error(struct dp_side *f, uint16_t counter, uint8_t syndrome)
{
	dp_expect_error(&f->tx_cq, RNIC_CQE_REQUESTER_ERROR, counter, syndrome, f->sq.sqn);
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
}

static void
test_send_queue_whose_cq_is_full(void **state)
{
	struct dp_side *f = *state;

	send_nops(f, CQ_ENTRIES);
	assert_null(dp_eq_next(&f->dp));
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_RDY);
	send_nops(f, 1);
	expect_cq_error(f, &f->tx_cq, RNIC_CQ_ERROR_OVERRUN);
	expect_wq_error(f, RNIC_EVENT_WQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_SQ, f->sq.sqn);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 1);
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
	/* What was written stays whole. */
	for (uint32_t i = 0; i < CQ_ENTRIES; i++)
		assert_int_equal(rnic_be16_to_cpu(dp_cq_next(&f->tx_cq)->wqe_counter), i);
	assert_null(dp_cq_next(&f->tx_cq));
}

static void
test_cq_whose_ring_is_gone(void **state)
{
	struct dp_side *f = *state;

	send_nops(f, 1);
	assert_non_null(dp_cq_next(&f->tx_cq));
	take_away(f, f->tx_cq.ring, 64 << CQ_LOG);
	send_nops(f, 1);
	expect_cq_error(f, &f->tx_cq, RNIC_CQ_ERROR_ACCESS);
	expect_wq_error(f, RNIC_EVENT_WQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_SQ, f->sq.sqn);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 0);
}

/* The record is needed again when the ring looks full. */
static void
test_cq_whose_record_is_gone(void **state)
{
	struct dp_side *f = *state;

	send_nops(f, CQ_ENTRIES);
	take_away(f, f->tx_cq.dbrec, sizeof(*f->tx_cq.dbrec));
	send_nops(f, 1);
	expect_cq_error(f, &f->tx_cq, RNIC_CQ_ERROR_ACCESS);
	expect_wq_error(f, RNIC_EVENT_WQ_CATASTROPHIC, SOFTRNIC_EVENT_QUEUE_SQ, f->sq.sqn);
}

/* Packets before the bad one went out; those behind it do not. */
static void
test_multi_packet_wqe_that_fails_in_the_middle(void **state)
{
	struct dp_side *f = *state;

	post(f, 8);
	dp_wqe(&f->sq, RNIC_WQE_ENHANCED_MPSW, 6, RNIC_WQE_CE_ALWAYS);
	for (uint32_t i = 0; i < 4; i++)
		dp_wqe_data(&f->sq, 2 + i, f->out, 60 + i);
	((struct rnic_wqe_data *)dp_wqe_at(&f->sq, 4))->lkey = rnic_cpu_to_be32(f->dp.lkey ^ 1);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	expect_send_error(f, 0, RNIC_SYND_LOCAL_PROTECTION);
	assert_null(dp_cq_next(&f->tx_cq));
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&f->rx_cq)->byte_count), 60 + i);
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(dp_stats(&f->dp).tx_packets, 2);
}

/* A key of two pieces of `out`, 10 bytes each, the second one first. */
static uint32_t
two_piece_key(struct dp_side *f)
{
	struct rnic_klm list[2];
	uint32_t key;

	for (uint32_t i = 0; i < 2; i++)
		list[i] = (struct rnic_klm){ rnic_cpu_to_be32(10), rnic_cpu_to_be32(f->dp.lkey),
					     rnic_cpu_to_be64((uintptr_t)f->out + (1 - i) * 100) };
	assert_int_equal(drv_mkey_create(&f->dp.drv,
					 &(struct drv_mkey){ .mode = RNIC_MKEY_KLM,
							     .access = DRV_LR,
							     .pd = f->dp.pd,
							     .length = 20,
							     .klms = list,
							     .count = 2 },
					 &key),
			 0);
	return key;
}

/* `pairs` segments of two pieces, behind a segment of one if `odd`. */
static void
send_pieces(struct dp_side *f, uint32_t key, uint32_t pairs, bool odd)
{
	struct rnic_wqe_data *seg;
	uint32_t ds = 2;

	dp_wqe(&f->sq, RNIC_WQE_SEND, 2 + odd + pairs, RNIC_WQE_CE_ALWAYS);
	if (odd)
		dp_wqe_data(&f->sq, ds++, f->out, 20);
	for (uint32_t i = 0; i < pairs; i++) {
		seg = dp_wqe_at(&f->sq, ds++);
		seg->byte_count = rnic_cpu_to_be32(20);
		seg->lkey = rnic_cpu_to_be32(key);
	}
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
}

static void
test_frame_of_too_many_pieces(void **state)
{
	struct dp_side *f = *state;
	uint32_t key = two_piece_key(f);

	post(f, 4);
	send_pieces(f, key, SOFTRNIC_FRAME_PIECES / 2, false);
	assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&f->rx_cq)->byte_count),
			 SOFTRNIC_FRAME_PIECES * 10);
	assert_memory_equal(f->in, f->out + 100, 10);
	assert_memory_equal(f->in + 10, f->out, 10);
	assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&f->tx_cq)->op_own), RNIC_CQE_REQUESTER);
	assert_int_equal(dp_sq_restart(&f->sq, RNIC_WQ_STATE_RDY), 0);
	/* One segment more, and one segment whose second piece is one more. */
	send_pieces(f, key, SOFTRNIC_FRAME_PIECES / 2 + 1, false);
	expect_send_error(f, 0, RNIC_SYND_LOCAL_LENGTH);
	assert_int_equal(dp_sq_restart(&f->sq, RNIC_WQ_STATE_ERR), 0);
	send_pieces(f, key, SOFTRNIC_FRAME_PIECES / 2, true);
	expect_send_error(f, 0, RNIC_SYND_LOCAL_LENGTH);
	assert_null(dp_cq_next(&f->rx_cq));
}

/* A card that wants the L2 header inline takes no WQE without it. */
static void
test_inline_header_that_is_missing(void **state)
{
	struct dp_side *f = *state;
	struct rnic_wqe_eth *eth;

	post(f, 4);
	dp_wqe(&f->sq, RNIC_WQE_SEND, 4, RNIC_WQE_CE_ALWAYS);
	eth = dp_wqe_at(&f->sq, 1);
	eth->inline_header_size = rnic_cpu_to_be16(18);
	dp_wqe_data(&f->sq, 3, f->out, 64);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&f->tx_cq)->op_own), RNIC_CQE_REQUESTER);
	assert_int_equal(rnic_be32_to_cpu(dp_cq_next(&f->rx_cq)->byte_count), 64 + 18);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	expect_send_error(f, 1, RNIC_SYND_LOCAL_QP_OPERATION);
	assert_null(dp_cq_next(&f->rx_cq));
}

static void
lose_receive_memory(struct dp_side *f, const void *memory, size_t bytes)
{
	post(f, 4);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	assert_non_null(dp_cq_next(&f->rx_cq));
	take_away(f, memory, bytes);
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
	expect_wq_error(f, RNIC_EVENT_WQ_ACCESS_ERROR, SOFTRNIC_EVENT_QUEUE_RQ, f->rq.rqn);
	/* The sender does not care. */
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_RDY);
}

static void
test_receive_queue_whose_ring_is_gone(void **state)
{
	struct dp_side *f = *state;

	lose_receive_memory(f, f->rq.ring, 16 << RQ_LOG);
	assert_null(dp_cq_next(&f->rx_cq));
}

static void
test_receive_queue_whose_record_is_gone(void **state)
{
	struct dp_side *f = *state;

	lose_receive_memory(f, f->rq.dbrec, sizeof(*f->rq.dbrec));
}

/* The reserved key is for queues that were created with the right to it. */
static void
test_reserved_key_in_an_ordinary_receive_queue(void **state)
{
	struct dp_side *f = *state;
	struct rnic_wqe_data *seg = (struct rnic_wqe_data *)f->rq.ring;

	post(f, 1);
	seg->lkey = rnic_cpu_to_be32(drv_reserved_lkey(&f->dp.drv));
	seg->address = rnic_cpu_to_be64(dp_iova(&f->dp, f->in));
	dp_send(&f->sq, f->out, 64);
	dp_run(&f->dp);
	dp_expect_error(&f->rx_cq, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_LOCAL_PROTECTION,
			f->rq.rqn);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
	assert_int_equal(f->in[0] | f->in[1] | f->in[63], 0);
}

static void
count_interrupt(void *arg, unsigned int vector)
{
	assert_int_equal(vector, 0);
	++*(unsigned int *)arg;
}

static void
arm_eq(struct dp_side *f, uint32_t index)
{
	uint32_t bell = RNIC_SWAP32(f->dp.eqn << 24 | (index & 0xffffff));

	assert_int_equal(
		softrnic_bar_write(f->dp.dev,
				   (uint64_t)f->dp.uars[0] * RNIC_UAR_PAGE_BYTES + RNIC_UAR_EQ_ARM,
				   &bell, sizeof(bell)),
		0);
}

/* An index that lies behind the producer, or further back than the ring is long, arms nothing. */
static void
test_event_queue_doorbell_with_a_stale_index(void **state)
{
	struct dp_side *f = *state;
	unsigned int interrupts = 0;

	assert_int_equal(softrnic_set_interrupt(f->dp.dev, 0, count_interrupt, &interrupts), 0);
	arm_eq(f, f->dp.eq_consumer + 1);
	arm_eq(f, f->dp.eq_consumer - f->dp.eq_entries - 1);
	dp_cq_arm(&f->tx_cq, 0, false);
	send_nops(f, 1);
	assert_non_null(dp_eq_next(&f->dp));
	assert_int_equal(interrupts, 0);
	arm_eq(f, f->dp.eq_consumer);
	assert_int_equal(interrupts, 0);
	dp_cq_next(&f->tx_cq);
	dp_cq_arm(&f->tx_cq, 1, false);
	send_nops(f, 1);
	assert_non_null(dp_eq_next(&f->dp));
	assert_int_equal(interrupts, 1);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, dp_side_teardown)
	const struct CMUnitTest tests[] = {
		T(test_send_queue_whose_cq_is_full),
		T(test_cq_whose_ring_is_gone),
		T(test_cq_whose_record_is_gone),
		T(test_multi_packet_wqe_that_fails_in_the_middle),
		T(test_frame_of_too_many_pieces),
		cmocka_unit_test_setup_teardown(test_inline_header_that_is_missing, setup_inline,
						dp_side_teardown),
		T(test_receive_queue_whose_ring_is_gone),
		T(test_receive_queue_whose_record_is_gone),
		T(test_reserved_key_in_an_ordinary_receive_queue),
		T(test_event_queue_doorbell_with_a_stale_index),
	};

	return cmocka_run_group_tests_name("data_fail", tests, NULL, NULL);
}
