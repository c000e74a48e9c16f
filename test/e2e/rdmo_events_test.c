/* SPDX-License-Identifier: BSD-3-Clause */

/* Who is told, and may sleep until then: a target, of operations that ask for it; an initiator, of answers. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo_world.h"

#define BURST 32u

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)world.queue + offset;
}

/* ---- A target that is told ---- */

/* Until so many operations were told of, of two keys; nothing else is. */
static void
expect_events(uint64_t queue, uint64_t area)
{
	struct pollfd ready = { .fd = rdmo_target_fd(world.target), .events = POLLIN };
	struct rdmo_event events[4];
	int n;

	while (queue > 0 || area > 0) {
		n = rdmo_target_poll(world.target, events, RTE_DIM(events));
		assert_in_range(n, 0, 2);
		if (n == 0)
			assert_int_equal(poll(&ready, 1, 60000), 1);
		for (int i = 0; i < n; i++) {
			uint64_t *left = events[i].key == world.area_key ? &area : &queue;

			assert_true(left == &area || events[i].key == world.data_key);
			assert_in_range(events[i].count, 1, *left);
			*left -= events[i].count;
		}
	}
	assert_int_equal(rdmo_target_poll(world.target, events, RTE_DIM(events)), 0);
}

static void
test_a_target_is_told_of_what_asks_for_it(void **state)
{
	const struct rdmo_scatter_iov iov = rdmo_piece_of(world.area, world.area_key, 3);
	const void *const data[] = { "abc" };
	struct rdmo_op ops[BURST], op = rdmo_append_of(1, "hello", 5);
	struct rdmo_op scatter = rdmo_scatter_of(1, &iov, data, 1);
	struct rdmo_completion done[BURST];
	struct rdmo_event event;
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t rq_id;

	(void)state;
	assert_int_equal(rdmo_target_poll(world.target, NULL, 1), -EINVAL);
	assert_int_equal(rdmo_target_poll(world.target, NULL, 0), 0);
	/* Who does not ask is not told of. */
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	op.flags = scatter.flags = RDMO_FLAG_NOTIFY;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(5));
	expect_events(1, 0);
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_OK, 0);
	expect_events(0, 1);
	/* Nor what is refused. */
	op.append.ptr_addr += 8;
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	op.append.ptr_addr -= 8;
	/* Commands and events go by one stream, and neither gets lost. */
	for (uint32_t i = 0; i < BURST; i++)
		ops[i] = i % 2 == 0 ? op : scatter;
	for (uint32_t round = 0; round < 50; round++) {
		rdmo_post_all(world.conn, ops, BURST);
		assert_int_equal(rdmo_rq_create(world.target, secret, &rq_id), 0);
		rdmo_wait(world.conn, done, BURST);
		assert_int_equal(rdmo_rq_destroy(world.target, rq_id), 0);
	}
	expect_events(50 * BURST / 2, 50 * BURST / 2);
	/* As many keys as there is room for; the others stay. */
	rdmo_post_all(world.conn, ops, 2);
	rdmo_wait(world.conn, done, 2);
	while (rdmo_target_poll(world.target, &event, 1) == 0)
		usleep(100);
	if (event.key == world.area_key)
		expect_events(1, 0);
	else
		expect_events(0, 1);
}

static void
test_a_target_is_told_that_its_worker_has_gone(void **state)
{
	struct rdmo_event event;

	(void)state;
	if (!world.is_remote)
		return; /* it is where the worker is, which waits for it */
	rdmo_worker_end();
	while (rdmo_target_poll(world.target, &event, 1) == 0)
		usleep(100);
	assert_int_equal(rdmo_target_poll(world.target, &event, 1), -ECONNRESET);
}

/* ---- An initiator that sleeps ---- */

static bool
is_readable(const struct rdmo_conn *conn, int timeout_ms)
{
	struct pollfd ready = { .fd = rdmo_conn_fd(conn), .events = POLLIN };

	return poll(&ready, 1, timeout_ms) == 1;
}

/* Until there is a completion, or the connection has ended: it is woken for that. */
static uint32_t
sleep_and_poll(struct rdmo_conn *conn, struct rdmo_completion *done, uint32_t n)
{
	uint32_t count;

	while ((count = rdmo_poll(conn, done, n)) == 0 && rdmo_conn_error(conn) != -ENOTCONN)
		if (rdmo_conn_arm(conn) == 0)
			assert_true(is_readable(conn, 60000));
	return count;
}

static void
test_an_initiator_sleeps_until_it_is_answered(void **state)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.secret = world.secret,
		.timeout_ms = 60000,
		.sleeps = true,
	};
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];
	struct rdmo_conn *conn;
	uint32_t count;
	int fd;

	(void)state;
	assert_int_equal(rdmo_conn_fd(world.conn), -EINVAL);
	assert_int_equal(rdmo_conn_arm(world.conn), -EINVAL);
	assert_int_equal(rdmo_connect(world.pd[1], &attr, &conn), 0);
	fd = rdmo_conn_fd(conn);
	for (uint32_t i = 0; i < BURST; i++)
		ops[i] = op;
	for (uint32_t round = 0; round < 300; round++) {
		const uint32_t n = round % BURST + 1;

		rdmo_post_all(conn, ops, n);
		for (count = 0; count < n;)
			count += sleep_and_poll(conn, done, round % 3 == 0 ? 1 : BURST);
		assert_int_equal(count, n);
		assert_int_equal(done[0].status, RDMO_STATUS_OK);
	}
	/* Nothing comes: it goes on sleeping, but for what was on its way. */
	while (rdmo_conn_arm(conn) == 1 || is_readable(conn, 20))
		assert_int_equal(rdmo_poll(conn, done, BURST), 0);
	/* The end wakes it; connected again, it sleeps as before. */
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	assert_int_equal(sleep_and_poll(conn, done, BURST), 0);
	assert_int_equal(rdmo_conn_arm(conn), 1);
	assert_int_equal(rdmo_rq_restore(world.target, world.secret, &world.rq_id), 0);
	assert_int_equal(rdmo_reconnect(conn, NULL), 0);
	assert_int_equal(rdmo_conn_fd(conn), fd);
	rdmo_post_all(conn, &op, 1);
	assert_int_equal(sleep_and_poll(conn, done, BURST), 1);
	assert_int_equal(done[0].status, RDMO_STATUS_OK);
	rdmo_disconnect(conn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_target_is_told_of_what_asks_for_it),
		TEST(test_a_target_is_told_that_its_worker_has_gone),
		TEST(test_an_initiator_sleeps_until_it_is_answered),
	};
	int rc;

	world.is_far = strcmp(argv[argc - 1], "far") == 0;
	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo_events", argc - (world.is_far || world.is_remote), argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-events", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
