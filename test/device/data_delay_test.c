/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames that take their time on the wire. */
#include <errno.h>
#include <stdlib.h>

#include "data_expect.h"
#include "driver/vport.h"
#include "test_clock.h"

#define DELAY_US 5000u
#define US	 UINT64_C(1000)
#define SLOT	 2048u
#define BUFFERS	 2048u
#define LARGE	 1000000u /* the first number of large frames */

static int
side_setup(void **state, const struct softrnic_conf *device)
{
	const struct dp_cq_conf cq = { .log_size = 12, .uar = 1, .ignore_overrun = true };
	const struct dp_side_conf conf = { .device = *device,
					   .mtu = 9022,
					   .tx_cq = cq,
					   .rx_cq = cq,
					   .sq_log_size = 10,
					   .sq_uar = 1,
					   .rq_log_size = 11,
					   .rq_log_stride = 4,
					   .out_bytes = SLOT,
					   .in_bytes = (size_t)BUFFERS * SLOT };
	struct dp_side *side;

	if (dp_side_setup(state, &conf) != 0)
		return -1;
	side = *state;
	side->out[0] = 2;
	for (uint32_t i = 0; i < BUFFERS; i++)
		dp_post(&side->rq, side->in + (size_t)i * SLOT, SLOT);
	dp_rq_record(&side->rq);
	dp_run(&side->dp);
	return 0;
}

static int
setup(void **state)
{
	return side_setup(state, &(struct softrnic_conf){ .name = "long", .delay_us = DELAY_US });
}

static int
setup_longest(void **state)
{
	return side_setup(state, &(struct softrnic_conf){ .name = "long", .delay_us = 10000000 });
}

static uint32_t
length_of(uint32_t number)
{
	if (number >= LARGE)
		return 2000;
	return 64 + number * 37 % 1400;
}

/* Send frame `number`; when it was sent. It is not waited for. */
static uint64_t
send_frame(struct dp_side *side, uint32_t number)
{
	const struct rnic_cqe *cqe;

	memset(side->out + 14, (int)(number * 7 + 1), SLOT - 14);
	memcpy(side->out + 14, &number, sizeof(number));
	dp_send(&side->sq, side->out, length_of(number));
	while ((cqe = dp_cq_next(&side->tx_cq)) == NULL)
		softrnic_poll(side->dp.poller);
	return dp_cqe_time(cqe, false);
}

/* The next frame is that one, whole; when it came. */
static uint64_t
expect_frame(struct dp_side *side, uint32_t number)
{
	const struct rnic_cqe *cqe = dp_cq_next(&side->rx_cq);
	const uint8_t *frame;
	uint32_t got;

	assert_non_null(cqe);
	assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), length_of(number));
	frame = side->in + (size_t)(rnic_be16_to_cpu(cqe->wqe_counter) % BUFFERS) * SLOT;
	memcpy(&got, frame + 14, sizeof(got));
	assert_int_equal(got, number);
	for (uint32_t i = 18; i < length_of(number); i++)
		assert_int_equal(frame[i], (uint8_t)(number * 7 + 1));
	return dp_cqe_time(cqe, false);
}

static void
test_each_frame_takes_its_time_and_the_order_is_kept(void **state)
{
	struct dp_side *side = *state;
	uint64_t sent[20], came;

	for (uint32_t i = 0; i < 20; i++) {
		sent[i] = send_frame(side, i);
		test_clock_advance_us(100);
	}
	assert_null(dp_cq_next(&side->rx_cq));
	for (uint32_t i = 0; i < 20; i++) {
		/* Not before its time, and not much later. */
		while (dp_cq_peek(&side->rx_cq) == NULL)
			assert_true(softrnic_poll(side->dp.poller) > 0);
		came = expect_frame(side, i);
		assert_in_range(came - sent[i], DELAY_US * US, (DELAY_US + 20) * US);
		assert_null(dp_cq_next(&side->rx_cq));
	}
	assert_int_equal(dp_stats(&side->dp).wire_dropped, 0);
}

/* Copies, since a sender has its buffers back: each frame here was written over the one before. */
static void
test_frames_that_there_is_no_room_for_are_lost_and_counted(void **state)
{
	struct dp_side *side = *state;
	uint32_t fit, next = LARGE;

	for (uint32_t round = 0; round < 3; round++, next += 3000) {
		uint64_t dropped = dp_stats(&side->dp).wire_dropped;

		for (uint32_t i = 0; i < 3000; i++)
			send_frame(side, next + i);
		dropped = dp_stats(&side->dp).wire_dropped - dropped;
		fit = 3000 - (uint32_t)dropped;
		/* Four megabytes of these. */
		assert_in_range(fit, 1700, BUFFERS - 1);
		test_clock_advance_us(10000000);
		for (uint32_t i = 0; i < fit; i++) {
			while (dp_cq_peek(&side->rx_cq) == NULL)
				assert_true(softrnic_poll(side->dp.poller) > 0);
			expect_frame(side, next + i);
			dp_post(&side->rq, side->in + (size_t)(side->rq.producer % BUFFERS) * SLOT,
				SLOT);
			dp_rq_record(&side->rq);
		}
		assert_int_equal(softrnic_poll(side->dp.poller), 0);
	}
}

/* A few at a time, often enough that the room begins anew many times. */
static void
test_frames_that_come_and_go_fit_for_ever(void **state)
{
	struct dp_side *side = *state;
	uint32_t sent = 0, came = 0;

	while (came < 40000) {
		for (uint32_t i = 0; i < 300 + came % 97; i++)
			send_frame(side, sent++);
		test_clock_advance_us(DELAY_US);
		while (sent - came > 100) {
			while (dp_cq_peek(&side->rx_cq) == NULL)
				assert_true(softrnic_poll(side->dp.poller) > 0);
			expect_frame(side, came++);
			dp_post(&side->rq, side->in + (size_t)(side->rq.producer % BUFFERS) * SLOT,
				SLOT);
			dp_rq_record(&side->rq);
		}
	}
	assert_int_equal(dp_stats(&side->dp).wire_dropped, 0);
}

static void
test_frames_on_their_way_are_lost_with_the_link(void **state)
{
	struct dp_side *side = *state;

	for (uint32_t i = 0; i < 5; i++)
		send_frame(side, i);
	assert_int_equal(drv_link_switch(&side->dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_int_equal(dp_stats(&side->dp).wire_dropped, 5);
	assert_int_equal(drv_link_switch(&side->dp.drv, RNIC_VPORT_STATE_UP), 0);
	test_clock_advance_us(10000000);
	dp_run(&side->dp);
	assert_null(dp_cq_next(&side->rx_cq));
	send_frame(side, 5);
	test_clock_advance_us(10000000);
	dp_run(&side->dp);
	expect_frame(side, 5);
}

static void
test_a_delay_that_is_too_long_is_refused(void **state)
{
	struct softrnic_conf conf = { .name = "longer", .delay_us = 10000001 };
	struct dp_side *side = *state;
	struct softrnic *dev;

	assert_int_equal(softrnic_create(side->dp.poller, &conf, &dev), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, dp_side_teardown)
		T(test_each_frame_takes_its_time_and_the_order_is_kept, setup),
		T(test_frames_that_there_is_no_room_for_are_lost_and_counted, setup_longest),
		T(test_frames_that_come_and_go_fit_for_ever, setup),
		T(test_frames_on_their_way_are_lost_with_the_link, setup_longest),
		T(test_a_delay_that_is_too_long_is_refused, setup),
	};

	return cmocka_run_group_tests_name("data_delay", tests, NULL, NULL);
}
