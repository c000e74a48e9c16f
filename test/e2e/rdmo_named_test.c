/* SPDX-License-Identifier: BSD-3-Clause */

/* Initiators that have no secret, but an address that their target knows, as the document has it. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "port.h"
#include "rdmo/control.h"
#include "rdmo/socket.h"
#include "rdmo_world.h"

#define WAIT_MS 60000 /* with sanitizers on a busy machine */

static const struct rdmo_op op = {
	.user_data = 1,
	.id = RDMO_ID,
	.op_id = RDMO_OP_FLUSH,
};

static struct rdmo_conn *
begin(struct rdmo_addr *addr)
{
	const struct rdmo_connect_attr attr = {
		.address = rdmo_worker_address(world.worker),
		.timeout_ms = WAIT_MS,
	};
	struct rdmo_conn *conn;

	assert_int_equal(rdmo_connect_begin(world.pd[1], &attr, &conn, addr), 0);
	return conn;
}

static void
expect_open(struct rdmo_conn *conn)
{
	const uint64_t before = rdmo_tail_of();
	const struct rdmo_op append = rdmo_append_of(1, "abc", 3);

	rdmo_expect(conn, &append, RDMO_STATUS_OK, (uintptr_t)world.queue + before);
	assert_int_equal(rdmo_tail_of(), before + 3);
}

/* Before its target has named it, and as long as another one is named, it is not let in. */
static void
test_an_initiator_that_is_named_is_let_in(void **state)
{
	struct rdmo_addr addr, other_addr;
	struct rdmo_conn *named = begin(&addr), *other = begin(&other_addr);
	uint64_t rq_id = 0, none;

	(void)state;
	assert_int_equal(rdmo_post(named, &op, 1), 0);
	assert_int_equal(rdmo_conn_error(named), -ENOTCONN);
	assert_int_equal(rdmo_connect_finish(named), -EACCES);
	assert_int_equal(rdmo_rq_create_for(world.target, &addr, &rq_id), 0);
	assert_true(rq_id != 0);
	assert_int_equal(rdmo_rq_create_for(world.target, &addr, &none), -EBUSY);
	assert_int_equal(rdmo_connect_finish(other), -EACCES);
	assert_int_equal(rdmo_connect_finish(named), 0);
	expect_open(named);
	assert_int_equal(rdmo_connect_finish(named), -EINVAL);
	assert_int_equal(rdmo_reconnect(named, NULL), -ENOTSUP);
	expect_open(named);
	expect_open(world.conn);
	rdmo_disconnect(named);
	rdmo_disconnect(other);
	rdmo_wait_connections(1);
	assert_int_equal(rdmo_rq_destroy(world.target, rq_id), 0);
}

/* It goes with its receive queue, and has what keys are for that one. */
static void
test_a_named_initiator_s_receive_queue(void **state)
{
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHT_WRITE,
	};
	const void *const data[] = { "abc" };
	struct rdmo_completion done;
	struct rdmo_scatter_iov iov;
	struct rdmo_op scatter;
	struct rdmo_addr addr;
	struct rdmo_conn *named = begin(&addr);
	uint64_t key;

	(void)state;
	assert_int_equal(rdmo_rq_create_for(world.target, &addr, &attr.rq_id), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	assert_int_equal(rdmo_connect_finish(named), 0);
	iov = rdmo_piece_of(world.area, key, 3);
	scatter = rdmo_scatter_of(1, &iov, data, 1);
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_KEY, 0);
	rdmo_expect(named, &scatter, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.area, "abc\xa5", 4);
	assert_int_equal(rdmo_rq_destroy(world.target, attr.rq_id), 0);
	rdmo_wait_connections(1);
	rdmo_post_all(named, &op, 1);
	rdmo_wait(named, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_UNKNOWN);
	assert_int_equal(rdmo_connect_finish(named), -EINVAL);
	expect_open(world.conn);
	rdmo_disconnect(named);
}

/* Somebody else who says that he is it, before it comes: what the worker sends goes to the one that was named, who comes, and has its place. */
static void
test_who_comes_with_another_s_address(void **state)
{
	static const struct rdmo_hello hello = { .producer = RTE_LE32(RDMO_NO_PRODUCER) };
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_addr addr, near;
	struct rdmo_notification told;
	struct rdmo_conn *named = begin(&addr);
	struct rdmo_stream stream;
	uint64_t rq_id;
	uint32_t bytes;
	int fd;

	(void)state;
	assert_int_equal(rdmo_rq_create_for(world.target, &addr, &rq_id), 0);
	for (uint32_t is_right = 0; is_right < 2; is_right++) {
		near = addr;
		near.psn ^= is_right ? 0 : RTE_LE32(1);
		fd = rdmo_socket_connect(rdmo_worker_address(world.worker), WAIT_MS);
		assert_true(fd >= 0);
		bytes = rdmo_hello_write(cmd, 1, &hello, &near);
		assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, WAIT_MS), 0);
		assert_int_equal(told.status, is_right ? RDMO_STATUS_OK : RDMO_STATUS_KEY);
		if (!is_right)
			close(fd);
	}
	assert_int_equal(rdmo_connect_finish(named), 0);
	expect_open(named);
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, WAIT_MS), -ECONNRESET);
	close(fd);
	rdmo_wait_connections(2);
	expect_open(named);
	rdmo_disconnect(named);
}

static void
test_what_names_nobody(void **state)
{
	const struct rdmo_connect_attr attr = { .depth = 3 };
	struct rdmo_addr addr = { .mtu = RTE_LE16(1024) };
	struct rdmo_conn *conn;
	uint64_t rq_id;

	(void)state;
	assert_int_equal(rdmo_rq_create_for(world.target, &addr, &rq_id), -EINVAL);
	assert_int_equal(rdmo_rq_create_for(world.target, NULL, &rq_id), -EINVAL);
	assert_int_equal(rdmo_connect_begin(world.pd[1], &attr, &conn, &addr), -EINVAL);
	assert_int_equal(rdmo_connect_begin(world.pd[1], NULL, &conn, &addr), -EINVAL);
	assert_int_equal(rdmo_connect_finish(NULL), -EINVAL);
	assert_int_equal(rdmo_connect_finish(world.conn), -EINVAL);
	expect_open(world.conn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_initiator_that_is_named_is_let_in),
		TEST(test_a_named_initiator_s_receive_queue),
		TEST(test_who_comes_with_another_s_address),
		TEST(test_what_names_nobody),
	};
	int rc;

	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	rc = rdmo_world_init("rdmo-named", argc - world.is_remote, argv);
	if (rc != 0)
		return rc;
	rc = cmocka_run_group_tests_name("rdmo-named", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
