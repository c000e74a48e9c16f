/* SPDX-License-Identifier: BSD-3-Clause */

/* Who waits for whom at a log: appends for room, which its reader makes; and a reader that sleeps, for appends. */

#include <poll.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include "port.h"
#include "rdmo_log_world.h"

#define BURST 32u

/* ---- Appends that wait ---- */

/* The worker, with appends that wait so long for room. */
static void
worker_that_waits(uint32_t wait_us)
{
	const struct rdmo_worker_attr attr = {
		.lcores = world.lcores,
		.receives = world.is_far ? 32 : 64,
		.max_regions = 16,
		.wait_us = wait_us,
	};

	rdmo_disconnect(world.conn);
	world.conn = NULL;
	rdmo_log_destroy(rdmo_the.log);
	rdmo_target_close(world.target);
	rdmo_worker_end();
	rdmo_worker_start(&attr);
	assert_int_equal(rdmo_target_open(world.worker, RDMO_ID, &world.target), 0);
	assert_int_equal(rdmo_rq_restore(world.target, world.secret, &world.rq_id), 0);
	rdmo_log_start(RDMO_CAPACITY);
}

/* What is behind it waits, too, and another connection does not. */
static void
test_an_append_waits_for_room(void **state)
{
	static uint8_t payload[1000];
	const struct rdmo_op flush = rdmo_flush_of(5, 0);
	struct rdmo_conn *conn, *other;
	struct rdmo_completion done[4];
	struct rdmo_op ops[4];

	(void)state;
	worker_that_waits(10000000);
	conn = rdmo_producer_of(1);
	other = rdmo_producer_of(2);
	for (uint32_t i = 0; i < 4; i++)
		ops[i] = rdmo_record_of(i, payload, sizeof(payload));
	for (uint32_t i = 0; i < RDMO_CAPACITY / 1056; i++)
		rdmo_expect(other, &ops[0], RDMO_STATUS_OK, (uint64_t)i * 1056);
	rdmo_post_all(conn, ops, 4);
	for (uint32_t i = 0; i < 20; i++) {
		rdmo_expect(other, &flush, RDMO_STATUS_OK, RDMO_NONE);
		assert_int_equal(rdmo_poll(conn, done, 4), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(rdmo_log_release(rdmo_the.log, rdmo_read_one().next), 0);
		rdmo_wait(conn, &done[i], 1);
		assert_int_equal(done[i].user_data, i);
		assert_int_equal(done[i].status, RDMO_STATUS_OK);
		assert_int_equal(done[i].value, RDMO_CAPACITY + (uint64_t)i * 1056);
	}
	rdmo_disconnect(conn);
	rdmo_disconnect(other);
}

/* Each has its own time; and a log that goes takes nobody along. */
static void
test_an_append_does_not_wait_for_ever(void **state)
{
	static uint8_t payload[2048 - 32];
	const uint64_t wait_us = 50000;
	struct rdmo_completion done[4];
	struct rdmo_conn *conn;
	struct rdmo_op ops[4];
	uint64_t start;

	(void)state;
	worker_that_waits((uint32_t)wait_us);
	conn = rdmo_producer_of(1);
	for (uint32_t i = 0; i < 3; i++)
		ops[i] = rdmo_record_of(i, payload, sizeof(payload));
	for (uint32_t i = 0; i < RDMO_CAPACITY / 2048; i++)
		rdmo_expect(conn, &ops[0], RDMO_STATUS_OK, (uint64_t)i * 2048);
	ops[2].append.data_key++;
	ops[3] = rdmo_flush_of(3, 0);
	start = rte_get_timer_cycles();
	rdmo_post_all(conn, ops, 4);
	rdmo_wait(conn, done, 4);
	assert_true(rte_get_timer_cycles() - start >= 2 * wait_us * rte_get_timer_hz() / US_PER_S);
	assert_int_equal(done[0].status, RDMO_STATUS_FULL);
	assert_int_equal(done[1].status, RDMO_STATUS_FULL);
	assert_int_equal(done[2].status, RDMO_STATUS_KEY);
	assert_int_equal(done[3].status, RDMO_STATUS_FULL);
	rdmo_post_all(conn, ops, 1);
	rdmo_log_destroy(rdmo_the.log);
	rdmo_the.log = NULL;
	rdmo_wait(conn, done, 1);
	assert_true(done[0].status == RDMO_STATUS_KEY || done[0].status == RDMO_STATUS_FULL);
	rdmo_disconnect(conn);
}

/* ---- A reader that sleeps ---- */

static bool
is_readable(int timeout_ms)
{
	struct pollfd ready = { .fd = rdmo_log_fd(rdmo_the.log), .events = POLLIN };

	return poll(&ready, 1, timeout_ms) == 1;
}

static void
test_a_reader_sleeps_until_there_is_a_record(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	struct rdmo_completion done;

	(void)state;
	/* Who has not asked is not told. */
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 0);
	assert_false(is_readable(0));
	/* There is one already. */
	assert_int_equal(rdmo_log_arm(rdmo_the.log), 1);
	assert_false(is_readable(0));
	rdmo_expect_record(1, 1, "hello");
	for (uint32_t seq = 2; seq < 100; seq++) {
		assert_int_equal(rdmo_log_arm(rdmo_the.log), 0);
		assert_false(is_readable(0));
		rdmo_post_all(conn, &op, 1);
		assert_true(is_readable(60000));
		rdmo_expect_record(1, seq, "hello");
		rdmo_wait(conn, &done, 1);
	}
	rdmo_disconnect(conn);
}

#define SLEEPS 5000u

static void *
produce(void *arg)
{
	struct rdmo_conn *conn = arg;
	const struct rdmo_op op = rdmo_record_of(1, "hello", 5);
	uint64_t random = 42;

	for (uint32_t i = 0; i < SLEEPS; i++) {
		struct rdmo_completion done = rdmo_do(conn, &op);

		/* The reader may have no CPU for as long as the log has room. */
		while (done.status == RDMO_STATUS_FULL)
			done = rdmo_do(conn, &op);
		assert_int_equal(done.status, RDMO_STATUS_OK);
		assert_int_equal(done.value, (uint64_t)i * 64);
		for (uint64_t spin = e2e_random(&random) % 2000; spin > 0; spin--)
			rte_pause();
	}
	return NULL;
}

/* Whenever it goes to sleep: what comes then wakes it. */
static void
test_no_reader_oversleeps(void **state)
{
	struct rdmo_conn *conn = rdmo_producer_of(1);
	uint32_t read = 0, slept = 0;
	pthread_t producer;

	(void)state;
	assert_int_equal(pthread_create(&producer, NULL, produce, conn), 0);
	while (read < SLEEPS) {
		struct rdmo_log_record records[BURST];
		const int n = rdmo_log_read(rdmo_the.log, records, BURST);

		assert_in_range(n, 0, BURST);
		read += (uint32_t)n;
		if (n > 0) {
			assert_int_equal(rdmo_log_release(rdmo_the.log, records[n - 1].next), 0);
		} else if (rdmo_log_arm(rdmo_the.log) == 0) {
			assert_true(is_readable(60000));
			slept++;
		}
	}
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_true(slept > SLEEPS / 100);
	rdmo_disconnect(conn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_log_world_open, rdmo_log_world_close)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_append_waits_for_room),
		TEST(test_an_append_does_not_wait_for_ever),
		TEST(test_a_reader_sleeps_until_there_is_a_record),
		TEST(test_no_reader_oversleeps),
	};
	int rc;

	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	if (rdmo_world_init("rdmo_wait", argc - world.is_far, argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-wait", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
