/* SPDX-License-Identifier: BSD-3-Clause */

/* A pair whose ends are polled by two threads, or, to look at each step, in turn by one. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "data_expect.h"

#define BUFFERS	     2048u
#define BUFFER_BYTES 4096u
/* More of these than a trunk takes before it makes who sends wait, and fewer than there are buffers. */
#define LONG_BYTES 4000u
#define LONG_COUNT 800u
#define THREADED   20000u

/* Of a test: two pollers, or the host's, and a device on each that is not open yet. */
struct fixture {
	struct softrnic_poller *pollers[2];
	unsigned int woken[2]; /* how often somebody had work for them */
	struct dp_side a, b;
};

static void
count_wake(void *woken)
{
	(*(unsigned int *)woken)++;
}

static void
side_post(struct dp_side *side, uint32_t count)
{
	while (count-- > 0)
		dp_post(&side->rq, side->in, BUFFER_BYTES);
	dp_rq_record(&side->rq);
}

static void
side_open_with(struct dp_side *side, struct softrnic_poller *poller, const char *name,
	       uint32_t delay_us)
{
	const struct dp_cq_conf cq = { .log_size = 12, .uar = 1, .ignore_overrun = true };
	const struct dp_side_conf conf = {
		.device = { .name = name, .wire = "pair:cable", .delay_us = delay_us },
		.mtu = 4500,
		.tx_cq = cq,
		.rx_cq = cq,
		.sq_log_size = 10,
		.sq_uar = 1,
		.rq_log_size = 11,
		.rq_log_stride = 4,
		.out_bytes = BUFFER_BYTES,
		.in_bytes = BUFFER_BYTES,
	};

	assert_int_equal(dp_side_open(side, poller, &conf), 0);
	side->out[0] = 2;
	side_post(side, BUFFERS);
}

static void
side_open(struct dp_side *side, struct softrnic_poller *poller, const char *name)
{
	side_open_with(side, poller, name, 0);
}

static void
side_close(struct dp_side *side)
{
	dp_side_close(side);
	memset(side, 0, sizeof(*side));
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return -1;
	rc = softrnic_poller_create(&f->pollers[0]);
	if (rc == 0)
		rc = softrnic_poller_create_beside(f->pollers[0], &f->pollers[1]);
	for (unsigned int i = 0; i < 2 && rc == 0; i++)
		softrnic_poller_set_wake(f->pollers[i], count_wake, &f->woken[i]);
	*state = f;
	return rc;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	int rc;

	side_close(&f->a);
	side_close(&f->b);
	rc = softrnic_poller_destroy(f->pollers[0]);
	rc |= softrnic_poller_destroy(f->pollers[1]);
	free(f);
	return rc;
}

static void
run(struct fixture *f)
{
	unsigned int idle = 0;

	while (idle < 4)
		idle = softrnic_poll(f->pollers[0]) + softrnic_poll(f->pollers[1]) == 0 ? idle + 1
											: 0;
}

static int
setup_both(void **state)
{
	struct fixture *f;

	if (setup(state) != 0)
		return -1;
	f = *state;
	side_open(&f->a, f->pollers[0], "a");
	side_open(&f->b, f->pollers[1], "b");
	run(f);
	return 0;
}

static bool
is_up(struct fixture *f, struct dp_side *side)
{
	run(f);
	return drv_link_is_up(&side->dp.drv);
}

/* So many frames came, of which the first is so long, and each one byte longer than the one before, up to 1,000 more. */
static void
expect_frames(struct dp_side *side, uint32_t count, uint32_t first)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct rnic_cqe *cqe = dp_cq_next(&side->rx_cq);

		assert_non_null(cqe);
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), first + i % 1000);
	}
	assert_null(dp_cq_next(&side->rx_cq));
}

static void
send_frames(struct dp_side *side, uint32_t count, uint32_t first)
{
	for (uint32_t i = 0; i < count; i++)
		dp_send(&side->sq, side->out, first + i % 1000);
}

static void
test_frames_arrive_in_order_and_do_not_come_back(void **state)
{
	struct fixture *f = *state;

	send_frames(&f->a, 700, 60);
	send_frames(&f->b, 300, 100);
	run(f);
	expect_frames(&f->b, 700, 60);
	expect_frames(&f->a, 300, 100);
	assert_int_equal(dp_stats(&f->a.dp).tx_packets, 700);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, 700);
	assert_int_equal(dp_stats(&f->a.dp).rx_packets, 300);
	assert_int_equal(dp_stats(&f->a.dp).rx_bytes, dp_stats(&f->b.dp).tx_bytes);
}

/* What is sent is the other thread's from the end of the round on. */
static void
test_a_frame_takes_a_round_of_each(void **state)
{
	struct fixture *f = *state;

	send_frames(&f->a, 1, 60);
	while (dp_cq_next(&f->a.tx_cq) == NULL)
		softrnic_poll(f->pollers[0]);
	assert_null(dp_cq_next(&f->b.rx_cq));
	softrnic_poll(f->pollers[1]);
	expect_frames(&f->b, 1, 60);
}

static void
test_the_link_is_up_while_the_other_end_is(void **state)
{
	struct fixture *f = *state;

	side_open(&f->a, f->pollers[0], "a");
	assert_false(is_up(f, &f->a));
	side_open(&f->b, f->pollers[1], "b");
	assert_true(is_up(f, &f->a) && is_up(f, &f->b));
	assert_int_equal(drv_link_switch(&f->b.dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_true(!is_up(f, &f->a) && !is_up(f, &f->b));
	assert_int_equal(drv_link_switch(&f->b.dp.drv, RNIC_VPORT_STATE_FOLLOW), 0);
	assert_true(is_up(f, &f->a) && is_up(f, &f->b));
	softrnic_reset(f->b.dp.dev);
	assert_false(is_up(f, &f->a));
	/* Pulled out, plugged in again, into the one poller and into the other. */
	side_close(&f->b);
	assert_false(is_up(f, &f->a));
	for (unsigned int i = 0; i < 4; i++) {
		side_open(&f->b, f->pollers[i % 2], "b");
		assert_true(is_up(f, &f->a) && is_up(f, &f->b));
		send_frames(&f->a, 1, 60);
		run(f);
		expect_frames(&f->b, 1, 60);
		side_close(&f->b);
		/* Once without a look in between. */
		assert_true(i == 2 || !is_up(f, &f->a));
	}
}

static void
test_names_and_ends_are_of_all_pollers(void **state)
{
	struct fixture *f = *state;
	struct softrnic_conf conf = { .name = "a", .wire = "loop" };
	struct softrnic *dev;

	for (unsigned int i = 0; i < 2; i++) {
		conf.name = "a";
		conf.wire = "loop";
		assert_int_equal(softrnic_create(f->pollers[i], &conf, &dev), -EEXIST);
		conf.name = "c";
		conf.wire = "pair:cable";
		assert_int_equal(softrnic_create(f->pollers[i], &conf, &dev), -EEXIST);
	}
	/* Each of them is in use while one of them is. */
	side_close(&f->a);
	assert_int_equal(softrnic_poller_destroy(f->pollers[0]), -EBUSY);
	assert_int_equal(softrnic_create(f->pollers[1], &conf, &dev), 0);
	softrnic_destroy(dev);
}

/* A trunk that fills makes its sender wait; nothing is lost, and nothing is an error. */
static void
test_senders_wait_for_room(void **state)
{
	struct fixture *f = *state;
	struct softrnic_stats stats;
	uint32_t sent;

	for (sent = 0; sent < LONG_COUNT; sent++)
		dp_send(&f->a.sq, f->a.out, LONG_BYTES);
	for (unsigned int i = 0; i < 100000; i++)
		softrnic_poll(f->pollers[0]);
	stats = dp_stats(&f->a.dp);
	assert_true(stats.tx_packets > 0 && stats.tx_packets < LONG_COUNT);
	run(f);
	stats = dp_stats(&f->a.dp);
	assert_int_equal(stats.tx_packets, LONG_COUNT);
	assert_int_equal(stats.wire_dropped + stats.tx_errors, 0);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, LONG_COUNT);
}

/* So they do where each round sends little, and behind a delay. */
static void
test_senders_of_small_rounds_wait_too(void **state)
{
	struct fixture *f = *state;
	struct softrnic_stats stats;

	for (uint32_t sent = 0; sent < LONG_COUNT; sent++) {
		dp_send(&f->a.sq, f->a.out, LONG_BYTES);
		for (unsigned int i = 0; i < 4; i++)
			softrnic_poll(f->pollers[0]);
	}
	stats = dp_stats(&f->a.dp);
	assert_true(stats.tx_packets > 0 && stats.tx_packets < LONG_COUNT);
	run(f);
	assert_int_equal(dp_stats(&f->a.dp).tx_packets, LONG_COUNT);
	assert_int_equal(dp_stats(&f->a.dp).wire_dropped, 0);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, LONG_COUNT);
}

static void
test_delayed_frames_wait_too(void **state)
{
	struct fixture *f = *state;

	side_open_with(&f->a, f->pollers[0], "a", 100000);
	side_open(&f->b, f->pollers[1], "b");
	run(f);
	for (uint32_t sent = 0; sent < LONG_COUNT; sent++)
		dp_send(&f->a.sq, f->a.out, LONG_BYTES);
	while (dp_stats(&f->a.dp).tx_packets < LONG_COUNT)
		softrnic_poll(f->pollers[0]);
	usleep(150000);
	for (unsigned int i = 0; i < 1000; i++)
		softrnic_poll(f->pollers[0]);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, 0);
	run(f);
	assert_int_equal(dp_stats(&f->a.dp).wire_dropped, 0);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, LONG_COUNT);
}

/* Who may sleep is told: of what was sent, of room that was waited for, of an end that goes. */
static void
test_the_other_thread_is_woken(void **state)
{
	struct fixture *f = *state;
	unsigned int before = f->woken[1];

	dp_send(&f->a.sq, f->a.out, 60);
	while (dp_cq_next(&f->a.tx_cq) == NULL)
		softrnic_poll(f->pollers[0]);
	assert_true(f->woken[1] > before);
	softrnic_poll(f->pollers[1]);
	before = f->woken[0];
	softrnic_poll(f->pollers[1]);
	assert_int_equal(f->woken[0], before);
	for (uint32_t sent = 0; sent < LONG_COUNT; sent++)
		dp_send(&f->a.sq, f->a.out, LONG_BYTES);
	for (unsigned int i = 0; i < 1000; i++)
		softrnic_poll(f->pollers[0]);
	before = f->woken[0];
	softrnic_poll(f->pollers[1]);
	assert_true(f->woken[0] > before);
	run(f);
	before = f->woken[0];
	assert_int_equal(drv_link_switch(&f->b.dp.drv, RNIC_VPORT_STATE_DOWN), 0);
	assert_true(f->woken[0] > before);
}

/* Who does not take it does not hold it up, either: without buffers frames are lost at the receiver, and counted there. */
static void
test_a_receiver_without_buffers_holds_nobody_up(void **state)
{
	struct fixture *f = *state;
	struct softrnic_stats stats;

	for (unsigned int i = 0; i < 4; i++) {
		send_frames(&f->a, 1000, 60);
		run(f);
	}
	stats = dp_stats(&f->b.dp);
	assert_int_equal(stats.rx_packets, 4000);
	assert_int_equal(stats.rx_no_buffer, 4000 - BUFFERS);
	assert_int_equal(dp_stats(&f->a.dp).tx_packets, 4000);
}

/* What it has sent arrives; what it has not received is lost, and counted with who sent it. */
static void
test_who_leaves_leaves_nothing_uncounted(void **state)
{
	struct fixture *f = *state;
	uint64_t lost;

	send_frames(&f->a, 10, 60);
	while (dp_stats(&f->a.dp).tx_packets < 10)
		softrnic_poll(f->pollers[0]);
	side_close(&f->a);
	run(f);
	expect_frames(&f->b, 10, 60);

	side_open(&f->a, f->pollers[0], "a");
	run(f);
	send_frames(&f->a, 10, 60);
	while (dp_stats(&f->a.dp).tx_packets < 10)
		softrnic_poll(f->pollers[0]);
	side_close(&f->b);
	run(f);
	lost = dp_stats(&f->a.dp).wire_no_peer;
	assert_int_equal(lost, 10);
	/* And who waited for room does so no more. */
	side_open(&f->b, f->pollers[1], "b");
	run(f);
	for (uint32_t i = 0; i < LONG_COUNT; i++)
		dp_send(&f->a.sq, f->a.out, LONG_BYTES);
	for (unsigned int i = 0; i < 1000; i++)
		softrnic_poll(f->pollers[0]);
	assert_true(dp_stats(&f->a.dp).tx_packets < 10 + LONG_COUNT);
	side_close(&f->b);
	run(f);
	assert_int_equal(dp_stats(&f->a.dp).tx_packets + dp_stats(&f->a.dp).tx_errors,
			 10 + LONG_COUNT);
	assert_int_equal(dp_stats(&f->a.dp).wire_no_peer, dp_stats(&f->a.dp).tx_packets);
}

/* ---- With threads ---- */

static int
setup_threads(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return -1;
	rc = softrnic_host_get(-1, &f->pollers[0]);
	if (rc == 0)
		rc = softrnic_host_get(0, &f->pollers[1]);
	*state = f;
	return rc;
}

static int
teardown_threads(void **state)
{
	struct fixture *f = *state;

	side_close(&f->a);
	side_close(&f->b);
	softrnic_host_put();
	softrnic_host_put();
	free(f);
	return 0;
}

static void
wait_for_link(struct dp_side *side, bool up)
{
	for (unsigned int naps = 0; drv_link_is_up(&side->dp.drv) != up; naps++) {
		assert_true(naps < 100000);
		usleep(100);
	}
}

/* One of the frames that are under way from one side to the other. */
struct flow {
	struct dp_side *from, *to;
	uint32_t sent, received;
};

static void
flow_go_on(struct flow *flow)
{
	const struct rnic_cqe *cqe;

	if (flow->sent < THREADED && flow->sent - flow->received < 500)
		dp_send(&flow->from->sq, flow->from->out, 60 + flow->sent++ % 1000);
	while (dp_cq_next(&flow->from->tx_cq) != NULL)
		;
	while ((cqe = dp_cq_next(&flow->to->rx_cq)) != NULL) {
		assert_int_equal(rnic_be32_to_cpu(cqe->byte_count), 60 + flow->received % 1000);
		flow->received++;
		side_post(flow->to, 1);
	}
}

static void
test_threads_pass_all_frames_in_order(void **state)
{
	struct fixture *f = *state;
	struct flow there = { &f->a, &f->b, 0, 0 }, back = { &f->b, &f->a, 0, 0 };

	side_open(&f->a, f->pollers[0], "a");
	side_open(&f->b, f->pollers[1], "b");
	assert_ptr_not_equal(f->pollers[0], f->pollers[1]);
	wait_for_link(&f->a, true);
	wait_for_link(&f->b, true);
	while (there.received < THREADED || back.received < THREADED) {
		flow_go_on(&there);
		flow_go_on(&back);
	}
	assert_int_equal(dp_stats(&f->a.dp).tx_packets, THREADED);
	assert_int_equal(dp_stats(&f->b.dp).rx_packets, THREADED);
	assert_int_equal(dp_stats(&f->a.dp).rx_packets, THREADED);
	assert_int_equal(dp_stats(&f->a.dp).rx_bytes, dp_stats(&f->b.dp).tx_bytes);
}

/* The other end's link goes and comes under load: each frame is delivered, or counted with who sent it. */
static void
test_frames_to_a_link_that_goes_are_delivered_or_counted(void **state)
{
	struct fixture *f = *state;
	struct softrnic_stats sender;

	side_open(&f->a, f->pollers[0], "a");
	side_open(&f->b, f->pollers[1], "b");
	wait_for_link(&f->a, true);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int k = 0; k < 300; k++)
			dp_send(&f->a.sq, f->a.out, 60 + k);
		usleep(10 * (i % 7));
		assert_int_equal(drv_link_switch(&f->b.dp.drv, RNIC_VPORT_STATE_DOWN), 0);
		wait_for_link(&f->a, false);
		assert_int_equal(drv_link_switch(&f->b.dp.drv, RNIC_VPORT_STATE_FOLLOW), 0);
		wait_for_link(&f->a, true);
		for (unsigned int naps = 0;; naps++) {
			sender = dp_stats(&f->a.dp);
			if (sender.tx_packets + sender.tx_errors == 300 * (i + 1) &&
			    sender.tx_packets ==
				    dp_stats(&f->b.dp).rx_packets + sender.wire_no_peer)
				break;
			assert_true(naps < 100000);
			usleep(100);
		}
	}
	assert_int_equal(sender.wire_dropped, 0);
}

/* Resets and ends of either side, under load: who is left goes on, and who comes is joined to it. */
static void
test_either_end_is_reset_and_leaves_under_load(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 40; i++) {
		struct dp_side *goes = i % 2 == 0 ? &f->a : &f->b;
		struct dp_side *stays = i % 2 == 0 ? &f->b : &f->a;

		side_open(&f->a, f->pollers[0], "a");
		side_open(&f->b, f->pollers[1], "b");
		wait_for_link(&f->a, true);
		wait_for_link(&f->b, true);
		for (unsigned int k = 0; k < 300; k++) {
			dp_send(&f->a.sq, f->a.out, 60 + k);
			dp_send(&f->b.sq, f->b.out, 60 + k);
		}
		if (i % 4 < 2)
			softrnic_reset(goes->dp.dev);
		side_close(goes);
		wait_for_link(stays, false);
		side_close(stays);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_frames_arrive_in_order_and_do_not_come_back, setup_both),
		T(test_a_frame_takes_a_round_of_each, setup_both),
		T(test_the_link_is_up_while_the_other_end_is, setup),
		T(test_names_and_ends_are_of_all_pollers, setup_both),
		T(test_senders_wait_for_room, setup_both),
		T(test_senders_of_small_rounds_wait_too, setup_both),
		T(test_delayed_frames_wait_too, setup),
		T(test_the_other_thread_is_woken, setup_both),
		T(test_a_receiver_without_buffers_holds_nobody_up, setup_both),
		T(test_who_leaves_leaves_nothing_uncounted, setup_both),
#define H(name) cmocka_unit_test_setup_teardown(name, setup_threads, teardown_threads)
		H(test_threads_pass_all_frames_in_order),
		H(test_frames_to_a_link_that_goes_are_delivered_or_counted),
		H(test_either_end_is_reset_and_leaves_under_load),
	};

	return cmocka_run_group_tests_name("data_trunk", tests, NULL, NULL);
}
