/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counters that begin at 0 for every driver, driven to where they come round: WQEs of send and receive queues after 2^16,
 * entries of completion queues after 2^24. In near_end.h are those that can begin anywhere.
 */
#include "data_expect.h"
#include "../counts.h"

#define LOG_SIZE 6
#define ENTRIES	 (1u << LOG_SIZE)
#define CQ_LOG	 8
#define NEAR	 65500u /* a few dozen before the end */
#define BEYOND	 100u	/* and so many from there on */
#define ROOM	 2048u

static int
setup(void **state)
{
	const struct dp_cq_conf cq = { .log_size = CQ_LOG, .uar = 1 };
	const struct dp_side_conf conf = { .device = { .name = "wrap", .wire = "loop" },
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = LOG_SIZE,
					   .sq_uar = 1,
					   .sq_flags = DP_SQ_FLUSH,
					   .rq_log_size = LOG_SIZE,
					   .rq_log_stride = 4,
					   .out_bytes = ROOM,
					   .in_bytes = (size_t)ENTRIES * ROOM };
	struct dp_side *f;

	assert_int_equal(dp_side_setup(state, &conf), 0);
	f = *state;
	memcpy(f->out, "\x02\0\0\0\0\2\x02\0\0\0\0\1\x88\xb5", 14);
	return 0;
}

static void
expect(struct dp_side *f, struct dp_cq *cq, enum rnic_cqe_opcode opcode, uint16_t counter)
{
	while (dp_cq_peek(cq) == NULL)
		softrnic_poll(f->poller);
	/* An error has a send queue's number as well. */
	dp_expect(cq, opcode, counter, cq == &f->tx_cq ? f->sq.sqn : 0);
}

/* So many NOPs, of which the last one of each doorbell completes. */
static void
nops(struct dp_side *f, uint32_t count)
{
	uint32_t burst, i;

	for (; count > 0; count -= burst) {
		burst = count < ENTRIES ? count : ENTRIES;
		for (i = 0; i < burst; i++)
			dp_wqe(&f->sq, RNIC_WQE_NOP, 1,
			       i + 1 == burst ? RNIC_WQE_CE_ALWAYS : RNIC_WQE_CE_ON_ERROR);
		dp_sq_ring(&f->sq);
		expect(f, &f->tx_cq, RNIC_CQE_REQUESTER, (uint16_t)(f->sq.producer - 1));
	}
}

/* A frame that says which one it is. */
static void
send_numbered(struct dp_side *f, uint32_t number)
{
	memcpy(f->out + 14, &number, sizeof(number));
	dp_wqe(&f->sq, RNIC_WQE_SEND, 3, RNIC_WQE_CE_ALWAYS);
	dp_wqe_data(&f->sq, 2, f->out, 60);
	dp_sq_ring(&f->sq);
}

static void
test_a_send_queue(void **state)
{
	struct dp_side *f = *state;
	uint32_t i, got;

	nops(f, NEAR);
	for (i = 0; i < BEYOND; i++) {
		const uint16_t counter = f->sq.producer;

		dp_post(&f->rq, f->in, ROOM);
		dp_rq_record(&f->rq);
		send_numbered(f, i);
		expect(f, &f->tx_cq, RNIC_CQE_REQUESTER, counter);
		expect(f, &f->rx_cq, RNIC_CQE_RESPONDER_SEND, (uint16_t)i);
		memcpy(&got, f->in + 14, sizeof(got));
		assert_int_equal(got, i);
	}
	assert_in_range(f->sq.producer, 1, BEYOND);
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_RDY);
	assert_int_equal(dp_stats(&f->dp).tx_errors, 0);
}

/* What a full ring across the end holds is sent, or flushed; one more than that is no ring's. */
static void
test_a_full_send_queue(void **state)
{
	struct dp_side *f = *state;
	uint32_t i;

	nops(f, 65536 - ENTRIES / 2);
	for (i = 0; i < ENTRIES; i++)
		dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->sq);
	for (i = 0; i < ENTRIES; i++)
		expect(f, &f->tx_cq, RNIC_CQE_REQUESTER, (uint16_t)(65536 - ENTRIES / 2 + i));
	/* Once more, to be flushed. */
	nops(f, 65536 - ENTRIES);
	assert_int_equal(dp_sq_modify(&f->sq, RNIC_WQ_STATE_RDY, RNIC_WQ_STATE_ERR), 0);
	for (i = 0; i < ENTRIES; i++)
		dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
	dp_sq_ring(&f->sq);
	for (i = 0; i < ENTRIES; i++)
		expect(f, &f->tx_cq, RNIC_CQE_REQUESTER_ERROR, (uint16_t)(65536 - ENTRIES / 2 + i));
	assert_int_equal(f->sq.producer, ENTRIES / 2);
}

static void
test_a_send_record_ahead(void **state)
{
	struct dp_side *f = *state;

	nops(f, NEAR);
	f->sq.producer = (uint16_t)(f->sq.producer + ENTRIES + 1);
	dp_sq_ring(&f->sq);
	dp_run(&f->dp);
	assert_null(dp_cq_peek(&f->tx_cq));
	assert_int_equal(dp_sq_state(&f->sq), RNIC_WQ_STATE_ERR);
}

static void
test_a_receive_queue(void **state)
{
	struct dp_side *f = *state;
	uint32_t number = 0, burst, i, got;

	while (number < NEAR + BEYOND) {
		burst = ENTRIES / 2;
		for (i = 0; i < burst; i++)
			dp_post(&f->rq, f->in + (size_t)i * ROOM, ROOM);
		dp_rq_record(&f->rq);
		for (i = 0; i < burst; i++) {
			send_numbered(f, number + i);
			expect(f, &f->tx_cq, RNIC_CQE_REQUESTER, (uint16_t)(number + i));
		}
		for (i = 0; i < burst; i++, number++) {
			expect(f, &f->rx_cq, RNIC_CQE_RESPONDER_SEND, (uint16_t)number);
			memcpy(&got, f->in + (size_t)i * ROOM + 14, sizeof(got));
			assert_int_equal(got, number);
		}
	}
	assert_int_equal(dp_rq_state(&f->rq), RNIC_WQ_STATE_RDY);
	assert_int_equal(dp_stats(&f->dp).rx_no_buffer, 0);
}

/* One event for the arming, whatever the index is. */
static void
expect_event(struct dp_side *f)
{
	const struct rnic_eqe *eqe;

	do {
		softrnic_poll(f->poller);
		eqe = dp_eq_next(&f->dp);
	} while (eqe == NULL || eqe->type != RNIC_EVENT_COMPLETION);
	assert_int_equal(rnic_be32_to_cpu(eqe->data[6]) & 0xffffff, f->tx_cq.cqn);
	dp_eq_seen(&f->dp);
	softrnic_poll(f->poller);
	assert_null(dp_eq_next(&f->dp));
}

/*
 * 2^24 entries and some more, which is so many only where it was asked for; armed now and then, and around the end for each
 * of them.
 */
static void
test_a_completion_queue(void **state)
{
	const uint32_t end = full_run() ? 1u << 24 : 1u << 16;
	struct dp_side *f = *state;
	uint32_t done = 0, armed = 0, burst, i;

	while (done < end + BEYOND) {
		const bool near = done + BEYOND > end;

		burst = near ? 1 : ENTRIES;
		if (near || done % (1u << 15) == 0)
			dp_cq_arm(&f->tx_cq, ++armed, false);
		for (i = 0; i < burst; i++)
			dp_wqe(&f->sq, RNIC_WQE_NOP, 1, RNIC_WQE_CE_ALWAYS);
		dp_sq_ring(&f->sq);
		if (near || done % (1u << 15) == 0)
			expect_event(f);
		for (i = 0; i < burst; i++, done++)
			expect(f, &f->tx_cq, RNIC_CQE_REQUESTER, (uint16_t)done);
	}
	assert_int_equal(f->tx_cq.consumer, done);
	assert_int_equal(dp_stats(&f->dp).cq_overruns, 0);
	assert_int_equal(dp_stats(&f->dp).doorbells_missed, 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, dp_side_teardown)
	const struct CMUnitTest tests[] = {
		T(a_send_queue),    T(a_full_send_queue),  T(a_send_record_ahead),
		T(a_receive_queue), T(a_completion_queue),
	};

	return cmocka_run_group_tests_name("data_wrap", tests, NULL, NULL);
}
