/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive queues and completion queues: scattering, what is too short or missing, overruns, arming. */
#include "data_expect.h"
#include "driver/counter.h"

static int
setup_rx(void **state, const struct dp_cq_conf *rx_cq, uint32_t log_stride)
{
	const struct dp_side_conf conf = {
		.device = { .name = "receive", .wire = "loop" },
		.counted = true,
		.tx_cq = { .log_size = 9, .uar = 1, .ignore_overrun = true },
		.rx_cq = *rx_cq,
		.sq_log_size = 8,
		.sq_uar = 2,
		.rq_log_size = 8,
		.rq_log_stride = log_stride,
		.out_bytes = 4096,
		.in_bytes = 1 << 20,
	};
	struct dp_side *f;
	uint32_t i;

	assert_int_equal(dp_side_setup(state, &conf), 0);
	f = *state;
	for (i = 0; i < 4096; i++)
		f->out[i] = (uint8_t)(i * 11 + (i >> 8)) & 0xfe;
	while (dp_eq_next(&f->dp) != NULL)
		;
	return 0;
}

static int
setup(void **state)
{
	struct dp_cq_conf cq = { .log_size = 6, .uar = 1 };

	return setup_rx(state, &cq, 7);
}

static int
setup_big(void **state)
{
	struct dp_cq_conf cq = { .log_size = 6, .uar = 1, .big = true };

	return setup_rx(state, &cq, 4);
}

static int
setup_collapsed(void **state)
{
	struct dp_cq_conf cq = {
		.log_size = 4, .uar = 1, .collapsed = true, .ignore_overrun = true
	};

	return setup_rx(state, &cq, 4);
}

static void
send_one(struct dp_side *f, uint32_t bytes)
{
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ON_ERROR);
	dp_wqe_data(&f->sq, 2, f->out, bytes);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
}

static void
post(struct dp_side *f, uint32_t count, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		dp_post(&f->rq, f->in + (size_t)(f->rq.producer & 0xff) * 2048, bytes);
	dp_rq_record(&f->rq);
}

static uint64_t
out_of_buffer(struct dp_side *f)
{
	struct rnic_query_q_counter_out out;

	assert_int_equal(drv_q_counter_query(&f->dp.drv, f->dp.q_counter, false, &out), 0);
	return rnic_query_q_counter_out_get(&out, RNIC_QUERY_Q_COUNTER_OUT_OUT_OF_BUFFER);
}

static void
expect_error(struct dp_side *f, uint16_t counter, uint8_t syndrome)
{
	dp_expect_error(&f->rx_cq, RNIC_CQE_RESPONDER_ERROR, counter, syndrome, f->rq.rqn);
}

/* Eight segments of uneven sizes in one WQE; every byte in its place and none beside. */
static void
test_scatter(void **state)
{
	static const uint32_t parts[8] = { 1, 13, 64, 2, 100, 1, 300, 2000 };
	struct dp_side *f = *state;
	uint32_t length, i, at;
	uint8_t *buffer;

	for (length = 60; length <= 1518; length += 27) {
		struct rnic_wqe_data *seg =
			(struct rnic_wqe_data *)(f->rq.ring +
						 ((size_t)(f->rq.producer & 0xff) << 7));
		const struct rnic_cqe *cqe;

		memset(f->in, 0xee, 8 * 4096);
		for (i = 0; i < 8; i++) {
			seg[i].byte_count = rnic_cpu_to_be32(
				parts[i] | (length % 2 ? RNIC_WQE_START_PADDING : 0));
			seg[i].lkey = rnic_cpu_to_be32(f->dp.lkey);
			seg[i].address = rnic_cpu_to_be64((uintptr_t)f->in + i * 4096 + 1);
		}
		f->rq.producer++;
		dp_rq_record(&f->rq);
		send_one(f, length);
		cqe = dp_cq_next(&f->rx_cq);
		assert_non_null(cqe);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), length);
		for (i = 0, at = 0; i < 8; i++) {
			uint32_t n = parts[i] < length - at ? parts[i] : length - at;

			buffer = f->in + i * 4096;
			assert_int_equal(buffer[0], 0xee);
			assert_memory_equal(buffer + 1, f->out + at, n);
			assert_int_equal(buffer[1 + n], 0xee);
			at += n;
		}
	}
}

/* Linux asks for padding in front of each buffer: nothing there has to change, and the length is what is left. */
static void
test_start_padding(void **state)
{
	struct dp_side *f = *state;

	memset(f->in, 0xee, 4096);
	dp_post(&f->rq, f->in + 64, RNIC_WQE_START_PADDING | 100);
	dp_post(&f->rq, f->in + 2048, RNIC_WQE_START_PADDING | 100);
	dp_rq_record(&f->rq);
	send_one(f, 100);
	dp_expect(&f->rx_cq, RNIC_CQE_RESPONDER_SEND, 0, 0);
	assert_int_equal(f->in[63], 0xee);
	assert_memory_equal(f->in + 64, f->out, 100);
	assert_int_equal(f->in[164], 0xee);
	send_one(f, 101);
	expect_error(f, 1, RNIC_SYND_LOCAL_LENGTH);
}

/* Linux's queue that drops: it gets ready without a protection domain, and no key is in none. */
static void
test_no_protection_domain(void **state)
{
	struct dp_side *f = *state;
	struct dp_rq rq;
	uint32_t pd = f->dp.pd;

	f->dp.pd = 0;
	assert_int_equal(dp_rq_create(&f->dp, &rq, &f->rx_cq, 1, 4), 0);
	f->dp.pd = pd;
	assert_int_equal(dp_rq_state(&rq), RNIC_WQ_STATE_RDY);
	assert_int_equal(dp_steer_all(&rq), 0);
	send_one(f, 100);
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(dp_rq_state(&rq), RNIC_WQ_STATE_RDY);
	assert_int_equal(out_of_buffer(f), 1);
	dp_post(&rq, f->in, 2048);
	dp_rq_record(&rq);
	send_one(f, 100);
	dp_expect_error(&f->rx_cq, RNIC_CQE_RESPONDER_ERROR, 0, RNIC_SYND_LOCAL_PROTECTION, rq.rqn);
	assert_int_equal(dp_rq_state(&rq), RNIC_WQ_STATE_ERR);
}

static void
test_no_buffer(void **state)
{
	struct dp_side *f = *state;
	uint32_t i;

	for (i = 0; i < 10; i++)
		send_one(f, 64);
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(dp_stats(&f->dp).rx_no_buffer, 10);
	assert_int_equal(out_of_buffer(f), 10);
	/* The queue is well: a buffer comes, a frame comes. */
	post(f, 1, 2048);
	send_one(f, 64);
	send_one(f, 64);
	assert_non_null(dp_cq_next(&f->rx_cq));
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(out_of_buffer(f), 11);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_RDY);
}

static void
test_too_short(void **state)
{
	struct dp_side *f = *state;

	memset(f->in, 0xee, 4096);
	post(f, 3, 100);
	send_one(f, 100);
	assert_non_null(dp_cq_next(&f->rx_cq));
	send_one(f, 101);
	expect_error(f, 1, RNIC_SYND_LOCAL_LENGTH);
	expect_error(f, 2, RNIC_SYND_WR_FLUSHED);
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(f->in[2048 + 100], 0xee);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
	send_one(f, 64);
	assert_null(dp_cq_next(&f->rx_cq));
	/* ERR to RDY only by way of RST. */
	assert_int_not_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RDY), 0);
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
	f->rq.producer = 0;
	post(f, 1, 2048);
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_RST, RNIC_WQ_STATE_RDY), 0);
	send_one(f, 64);
	assert_non_null(dp_cq_next(&f->rx_cq));
}

static void
test_bad_address(void **state)
{
	struct dp_side *f = *state;

	dp_post(&f->rq, f->dp.memory + DP_BYTES - 63, 2048);
	dp_rq_record(&f->rq);
	send_one(f, 63);
	assert_non_null(dp_cq_next(&f->rx_cq));
	dp_post(&f->rq, f->dp.memory + DP_BYTES - 63, 2048);
	dp_rq_record(&f->rq);
	send_one(f, 64);
	expect_error(f, 1, RNIC_SYND_LOCAL_PROTECTION);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
}

static void
test_record_ahead_of_ring(void **state)
{
	struct dp_side *f = *state;

	f->rq.producer = 257;
	dp_rq_record(&f->rq);
	send_one(f, 64);
	assert_null(dp_cq_next(&f->rx_cq));
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
	dp_expect_event(&f->dp, RNIC_EVENT_WQ_CATASTROPHIC);
}

static void
test_overrun(void **state)
{
	struct dp_side *f = *state;
	const struct rnic_eqe *eqe;
	uint32_t i;

	post(f, 200, 2048);
	for (i = 0; i < 64; i++)
		send_one(f, 64);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 0);
	assert_null(dp_eq_next(&f->dp));
	send_one(f, 64);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 1);
	eqe = dp_expect_event(&f->dp, RNIC_EVENT_CQ_ERROR);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[0]) & 0xffffff, f->rx_cq.cqn);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[2]) & 0xff, RNIC_CQ_ERROR_OVERRUN);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
	/* What was written before is whole; then nothing more. */
	for (i = 0; i < 64; i++)
		assert_non_null(dp_cq_next(&f->rx_cq));
	send_one(f, 64);
	assert_null(dp_cq_next(&f->rx_cq));
}

/* A CQ that is told to ignore overruns overwrites, and one that is told not to fails again. */
static void
test_overrun_by_command(void **state)
{
	struct dp_side *f = *state;
	struct rnic_modify_cq_in in = { 0 };
	uint32_t i;

	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_CQN, f->rx_cq.cqn);
	rnic_modify_cq_in_set(&in, RNIC_MODIFY_CQ_IN_FIELD_SELECT, RNIC_MODIFY_CQ_OVERRUN);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_OI, 1);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_CQ, 0, &in, sizeof(in), NULL, 0), 0);
	post(f, 200, 2048);
	for (i = 0; i < 70; i++)
		send_one(f, 64);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 0);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_RDY);
	rnic_cqc_set(rnic_modify_cq_in_cqc(&in), RNIC_CQC_OI, 0);
	assert_int_equal(dp_command(&f->dp, RNIC_CMD_MODIFY_CQ, 0, &in, sizeof(in), NULL, 0), 0);
	send_one(f, 64);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 1);
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_ERR);
}

/* modify_rq_counter_set_id: drops count where they are told to, from then on. */
static void
test_counter_set_changes(void **state)
{
	struct dp_side *f = *state;
	uint32_t first = f->dp.q_counter;
	uint32_t second = dp_create_simple(&f->dp, RNIC_CMD_ALLOC_Q_COUNTER);
	struct rnic_rqc rqc = { 0 };

	send_one(f, 64);
	rnic_rqc_set(&rqc, RNIC_RQC_COUNTER_SET_ID, second);
	assert_int_equal(drv_rq_change(&f->dp.drv, f->rq.rqn, RNIC_MODIFY_RQ_COUNTER_SET_ID, &rqc),
			 0);
	send_one(f, 64);
	send_one(f, 64);
	assert_int_equal(out_of_buffer(f), 1);
	f->dp.q_counter = second;
	assert_int_equal(out_of_buffer(f), 2);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DEALLOC_Q_COUNTER, second),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DEALLOC_Q_COUNTER, first), 0);
	/* Set 0 is none. */
	rnic_rqc_set(&rqc, RNIC_RQC_COUNTER_SET_ID, 0);
	assert_int_equal(drv_rq_change(&f->dp.drv, f->rq.rqn, RNIC_MODIFY_RQ_COUNTER_SET_ID, &rqc),
			 0);
	send_one(f, 64);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DEALLOC_Q_COUNTER, second), 0);
}

/* What waits for frames comes back when the queue is put into ERR. */
static void
test_flush_by_command(void **state)
{
	struct dp_side *f = *state;

	post(f, 5, 2048);
	send_one(f, 64);
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	assert_int_equal(RNIC_CQE_OPCODE(dp_cq_next(&f->rx_cq)->op_own), RNIC_CQE_RESPONDER_SEND);
	for (uint16_t i = 1; i < 5; i++)
		expect_error(f, i, RNIC_SYND_WR_FLUSHED);
	assert_null(dp_cq_next(&f->rx_cq));
	send_one(f, 64);
	assert_null(dp_cq_next(&f->rx_cq));
}

/* Of receive WQEs no doorbell tells. RST ends it. */
static void
test_flush_of_what_comes_later(void **state)
{
	struct dp_side *f = *state;

	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	post(f, 2, 2048);
	dp_run(&f->dp);
	expect_error(f, 0, RNIC_SYND_WR_FLUSHED);
	expect_error(f, 1, RNIC_SYND_WR_FLUSHED);
	post(f, 1, 2048);
	dp_run(&f->dp);
	expect_error(f, 2, RNIC_SYND_WR_FLUSHED);
	assert_int_equal(dp_rq_modify(&f->rq, RNIC_WQ_STATE_ERR, RNIC_WQ_STATE_RST), 0);
	post(f, 1, 2048);
	dp_run(&f->dp);
	assert_null(dp_cq_next(&f->rx_cq));
}

static void
test_big_entries(void **state)
{
	struct dp_side *f = *state;
	const struct rnic_cqe *cqe;
	uint32_t i;

	for (i = 0; i < 300; i++) {
		post(f, 1, 2048);
		send_one(f, 60 + i);
		cqe = dp_cq_next(&f->rx_cq);
		assert_non_null(cqe);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 60 + i);
		/* The first half is not ours to write. */
		assert_int_equal(((const uint8_t *)cqe)[-64], 0xff);
		assert_int_equal(((const uint8_t *)cqe)[-1], 0xff);
	}
}

static void
test_collapsed(void **state)
{
	struct dp_side *f = *state;
	const struct rnic_cqe *cqe = (const struct rnic_cqe *)f->rx_cq.ring;
	uint32_t i;

	post(f, 100, 2048);
	for (i = 0; i < 100; i++) {
		send_one(f, 64 + i);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 64 + i);
		assert_int_equal(rnic_be16_to_cpu(cqe->wqe_counter), i);
		assert_int_equal(cqe->op_own & RNIC_CQE_OWNER, i >> 4 & 1);
	}
	/* Only the first slot is used. */
	for (i = 64; i < 64u << 4; i++)
		assert_int_equal(f->rx_cq.ring[i], 0xff);
}

static uint32_t
completion_events(struct dp_side *f)
{
	const struct rnic_eqe *eqe;
	uint32_t count = 0;

	dp_run(&f->dp);
	while ((eqe = dp_eq_next(&f->dp)) != NULL) {
		assert_int_equal(eqe->type, RNIC_EVENT_COMPLETION);
		assert_int_equal(rnic_be32_to_cpu(eqe->data[6]) & 0xffffff, f->rx_cq.cqn);
		count++;
	}
	return count;
}

static void
test_arming(void **state)
{
	struct dp_side *f = *state;

	post(f, 200, 2048);
	/* Not armed: no event. */
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	/* Armed with an entry already there: at once, and once. */
	dp_cq_arm(&f->rx_cq, 0, false);
	assert_int_equal(completion_events(f), 1);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	assert_non_null(dp_cq_next(&f->rx_cq));
	assert_non_null(dp_cq_next(&f->rx_cq));
	/* Armed on an empty queue: with the next entry. */
	dp_cq_arm(&f->rx_cq, 1, false);
	assert_int_equal(completion_events(f), 0);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 1);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	/* The record alone arms too, when a doorbell got lost. */
	while (dp_cq_next(&f->rx_cq) != NULL)
		;
	__atomic_store_n(&f->rx_cq.dbrec->arm.raw, RNIC_SWAP32(2u << 28 | f->rx_cq.consumer),
			 __ATOMIC_RELEASE);
	assert_int_equal(completion_events(f), 0);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 1);
	/* Its doorbell, come late, raises nothing more. */
	while (dp_cq_peek(&f->rx_cq) != NULL) {
		struct dp_cq late = f->rx_cq;

		dp_cq_arm(&late, 2, false);
		assert_int_equal(completion_events(f), 0);
		assert_non_null(dp_cq_next(&f->rx_cq));
	}
}

/* Of two that are armed by one register, one behind the other, the second word is all that is seen; and both records look as before. */
static void
test_the_first_doorbell_of_a_cq_is_covered(void **state)
{
	struct dp_side *f = *state;

	post(f, 10, 100);
	dp_cq_arm(&f->rx_cq, 0, false);
	dp_cq_arm(&f->tx_cq, 0, false);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 1);
	/* Not again, before it is armed again. */
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
}

/* Linux writes the sequence number before the first one into a new record; the CQ may have nobody who waits for events. */
static void
test_a_record_that_is_not_armed_yet(void **state)
{
	struct dp_side *f = *state;

	post(f, 10, 100);
	__atomic_store_n(&f->rx_cq.dbrec->arm.raw, RNIC_SWAP32(2u << 28), __ATOMIC_RELEASE);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	/* Nor is it by another one's doorbell. */
	dp_cq_arm(&f->tx_cq, 0, false);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	/* But by its own, or its record. */
	__atomic_store_n(&f->rx_cq.dbrec->arm.raw, 0, __ATOMIC_RELEASE);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 1);
}

static void
test_arming_solicited(void **state)
{
	struct dp_side *f = *state;

	post(f, 10, 100);
	dp_cq_arm(&f->rx_cq, 0, true);
	send_one(f, 64);
	assert_int_equal(completion_events(f), 0);
	/* An error counts as solicited. */
	send_one(f, 101);
	assert_int_equal(completion_events(f), 1);
}

/* A queue that others use cannot be destroyed. */
static void
test_busy(void **state)
{
	struct dp_side *f = *state;

	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_CQ, f->rx_cq.cqn),
			 RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_RQ, f->rq.rqn), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DEALLOC_UAR, f->sq.uar), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DEALLOC_PD, f->dp.pd), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_EQ, f->dp.eqn), RNIC_STATUS_RES_BUSY);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_SQ, f->sq.sqn), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_SQ, f->sq.sqn), RNIC_STATUS_BAD_RES);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_CQ, f->tx_cq.cqn), 0);
	assert_int_equal(dp_destroy(&f->dp, RNIC_CMD_DESTROY_CQ, f->tx_cq.cqn),
			 RNIC_STATUS_BAD_RES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_scatter, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_start_padding, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_no_protection_domain, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_no_buffer, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_too_short, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_bad_address, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_record_ahead_of_ring, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_overrun, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_overrun_by_command, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_counter_set_changes, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_flush_by_command, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_flush_of_what_comes_later, setup,
						dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_big_entries, setup_big, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_collapsed, setup_collapsed, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_arming, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_the_first_doorbell_of_a_cq_is_covered, setup,
						dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_a_record_that_is_not_armed_yet, setup,
						dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_arming_solicited, setup, dp_side_teardown),
		cmocka_unit_test_setup_teardown(test_busy, setup, dp_side_teardown),
	};

	return cmocka_run_group_tests_name("data_receive", tests, NULL, NULL);
}
