/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the document's own implementation does wrong, and what its users would trip over: a case for each, that it is not so here.
 * devtools/mutate.sh --rdmo puts them back, one at a time; the case must fail then.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo/control.h"
#include "rdmo/socket.h"
#include "rdmo_raw.h"

#define FOREIGN 12345u /* a key that nobody has */

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)world.queue + offset;
}

/* No memory, for the library as for the test: rdmo_mr_dereg() needs none. */
static atomic_bool memory_has_ended;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *
__wrap_calloc(size_t count, size_t size)
{
	return atomic_load(&memory_has_ended) ? NULL : __real_calloc(count, size);
}

/* A queue of a few bytes in the middle of the area, with what is behind it. */
static struct {
	rte_le64_t tail __attribute__((aligned(64)));
	uint64_t ptr_key, data_key;
} small;

static struct rdmo_op
small_append_of(const void *payload, uint32_t length)
{
	struct rdmo_op op = rdmo_append_of(1, payload, length);

	op.append.ptr_addr = (uintptr_t)&small.tail;
	op.append.ptr_key = small.ptr_key;
	op.append.data_key = small.data_key;
	return op;
}

static void
small_open(uint32_t bytes)
{
	struct rdmo_mr_attr attr = {
		.addr = &small.tail,
		.length = sizeof(small.tail),
		.rights = RDMO_RIGHT_APPEND,
	};

	small.tail = rte_cpu_to_le_64((uintptr_t)world.area + 64);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &small.ptr_key), 0);
	attr.addr = world.area + 64;
	attr.length = bytes;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &small.data_key), 0);
}

/* ---- An append tells its initiator nothing ---- */

static void
test_an_append_is_answered(void **state)
{
	const struct rdmo_op op = rdmo_append_of(7, "hello", 5);
	struct rdmo_completion done[2];

	(void)state;
	assert_int_equal(rdmo_post(world.conn, &op, 1), 1);
	rdmo_wait(world.conn, done, 1);
	assert_int_equal(done[0].user_data, 7);
	assert_int_equal(done[0].status, RDMO_STATUS_OK);
	assert_int_equal(done[0].value, queue_at(0));
	assert_int_equal(done[0].length, 5);
	assert_memory_equal(world.queue, "hello", 5);
}

/* ---- What is unknown is reported as success, and a flush as well ---- */

static void
test_an_unknown_client_is_told(void **state)
{
	struct rdmo_op op = rdmo_append_of(1, "hello", 5);

	(void)state;
	op.id++;
	rdmo_expect(world.conn, &op, RDMO_STATUS_CLIENT, 0);
	assert_int_equal(world.queue[0], 0xa5);
}

static void
test_an_unknown_key_is_told_by_the_flush_too(void **state)
{
	struct rdmo_op op = rdmo_append_of(1, "hello", 5);
	const struct rdmo_op flush = rdmo_flush_of(2, 0);

	(void)state;
	op.append.data_key = FOREIGN;
	rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	rdmo_expect(world.conn, &flush, RDMO_STATUS_KEY, 1);
	rdmo_expect(world.conn, &flush, RDMO_STATUS_OK, RDMO_NONE);
}

static void
test_an_unknown_operation_is_told(void **state)
{
	struct rdmo_reader reader;
	uint32_t bytes;

	(void)state;
	rdmo_raw_open();
	bytes = rdmo_raw_append(1);
	rdmo_raw_message()[sizeof(struct rdmo_msg) + sizeof(struct rdmo_frame) + 8] = 99;
	rdmo_raw_send(bytes);
	assert_int_equal(rdmo_raw_answer(&reader).status, RDMO_STATUS_OP);
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

/* ---- What is out of bounds is never done with: each later flush waits for ever ---- */

static void
test_flushes_go_on_behind_what_is_out_of_bounds(void **state)
{
	const void *const data[] = { "abc" };
	const struct rdmo_scatter_iov iov =
		rdmo_piece_of(world.area + RDMO_AREA - 2, world.area_key, 3);
	struct rdmo_op ops[] = { rdmo_scatter_of(1, &iov, data, 1), rdmo_append_of(2, "x", 1),
				 rdmo_flush_of(3, 0), rdmo_flush_of(4, 0) };
	struct rdmo_completion done[RTE_DIM(ops)];

	(void)state;
	ops[1].append.ptr_addr += 8;
	for (uint32_t round = 0; round < 100; round++) {
		rdmo_post_all(world.conn, ops, RTE_DIM(ops));
		rdmo_wait(world.conn, done, RTE_DIM(ops));
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(done[i].status, RDMO_STATUS_BOUNDS);
		assert_int_equal(done[3].status, RDMO_STATUS_OK);
	}
	assert_int_equal(rdmo_tail_of(), 0);
}

/* ---- A message with a header that is too long is leaked ---- */

/* As many as close a connection, and more than there are receives: those of others have all of theirs. */
static void
test_no_receive_is_lost_by_what_is_refused(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "x", 1);
	struct rdmo_completion done[16];
	uint32_t bytes, posted = 0;

	(void)state;
	for (uint32_t round = 0; round < 100; round++) {
		rdmo_raw_open();
		bytes = rdmo_raw_append(1);
		rdmo_raw_message()[sizeof(struct rdmo_msg)] = 0xff;
		rdmo_raw_send(bytes);
		rdmo_raw_expect_close(RDMO_REASON_FRAME);
		rdmo_raw_close();
		rdmo_wait_connections(1);
	}
	while (posted < 8 && rdmo_post(world.conn, &op, 1) == 1)
		posted++;
	rdmo_wait(world.conn, done, posted);
	assert_int_equal(posted, 8);
}

/* ---- A tail that several move ---- */

static void
test_connections_get_places_of_their_own(void **state)
{
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	struct rdmo_completion done[64];
	struct rdmo_op ops[64];
	uint8_t owner[2 * 64 * 16] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		ops[i] = rdmo_append_of(i, "0123456789abcdef", 16);
	for (uint32_t c = 0; c < 2; c++)
		rdmo_post_all(conns[c], ops, RTE_DIM(ops));
	for (uint32_t c = 0; c < 2; c++) {
		rdmo_wait(conns[c], done, RTE_DIM(ops));
		for (uint32_t i = 0; i < RTE_DIM(ops); i++) {
			assert_int_equal(done[i].status, RDMO_STATUS_OK);
			assert_int_equal(owner[done[i].value - queue_at(0)]++, 0);
		}
	}
	assert_int_equal(rdmo_tail_of(), sizeof(owner));
	rdmo_disconnect(conns[1]);
}

static void
test_a_tail_that_the_target_moves_is_seen(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);

	(void)state;
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, queue_at(0));
	__atomic_store_n(&world.tail, rte_cpu_to_le_64(queue_at(0)), __ATOMIC_RELEASE);
	rdmo_expect(world.conn, &op, RDMO_STATUS_TAIL, 0);
	assert_int_equal(rdmo_tail_of(), 0);
}

/* It is answered: so it is published, without any flush. */
static void
test_the_target_sees_the_tail_without_a_flush(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);

	(void)state;
	for (uint32_t i = 1; i <= 10; i++) {
		assert_int_equal(rdmo_do(world.conn, &op).status, RDMO_STATUS_OK);
		assert_int_equal(rdmo_tail_of(), 3 * i);
	}
}

/* ---- A queue runs off its end ---- */

static void
test_nothing_is_written_behind_a_queue(void **state)
{
	struct rdmo_op op;
	uint64_t sum = 0;

	(void)state;
	small_open(100);
	for (uint32_t length = 40; length > 0;) {
		op = small_append_of("0123456789012345678901234567890123456789", length);
		if (rdmo_do(world.conn, &op).status == RDMO_STATUS_OK)
			sum += length;
		else
			length /= 2;
	}
	assert_int_equal(sum, 100);
	assert_int_equal(rte_le_to_cpu_64(small.tail), (uintptr_t)world.area + 164);
	for (uint32_t i = 164; i < RDMO_AREA; i++)
		assert_int_equal(world.area[i], 0xa5);
}

/* ---- A key is a pointer, and anybody's ---- */

/* Is it in something that is mapped? */
static bool
is_an_address(uint64_t key)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t from, to;
	bool found = false;
	char line[512];

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps) != NULL)
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && key >= from &&
			key < to;
	fclose(maps);
	return found;
}

static void
test_a_key_is_no_pointer(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 8,
		.rights = RDMO_RIGHT_WRITE,
	};
	uint64_t key, last = 0;

	(void)state;
	for (uint32_t i = 0; i < 8; i++, last = key) {
		assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
		assert_false(is_an_address(key));
		/* Nor a count, or the same for the same memory. */
		assert_true(key - last > UINT32_MAX && last - key > UINT32_MAX);
	}
}

static void
test_a_key_is_its_receive_queue_s(void **state)
{
	uint8_t secret[RDMO_SECRET_BYTES];
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 64,
		.rights = RDMO_RIGHT_WRITE,
	};
	const void *const data[] = { "abc" };
	struct rdmo_scatter_iov iov;
	struct rdmo_op op;
	uint64_t key;

	(void)state;
	assert_int_equal(rdmo_rq_create(world.target, secret, &attr.rq_id), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	iov = rdmo_piece_of(world.area, key, 3);
	op = rdmo_scatter_of(1, &iov, data, 1);
	rdmo_expect(world.conn, &op, RDMO_STATUS_KEY, 0);
	assert_int_equal(world.area[0], 0xa5);
}

/* ---- SCATTER: its count is believed, its pieces are short ---- */

/* Counts that lie, each way: nothing is written, and the worker looks no further than the message. */
static void
test_a_count_that_lies_is_refused(void **state)
{
	static const uint64_t counts[] = { 0, 2, 1 << 20, UINT64_MAX };
	const struct rdmo_scatter_iov iov = rdmo_piece_of(world.area, world.area_key, 8);
	const void *const data[] = { "12345678" };
	struct rdmo_reader reader;
	struct rdmo_writer w;
	uint32_t bytes;

	(void)state;
	rdmo_raw_open();
	for (uint32_t i = 0; i < RTE_DIM(counts); i++) {
		const rte_le64_t lie = rte_cpu_to_le_64(counts[i]);

		rdmo_writer_begin(&w, rdmo_raw_message(), RDMO_RAW_BYTES, RDMO_MSG_REQUESTS,
				  rdmo_raw.session, i + 1);
		assert_true(rdmo_writer_scatter(&w, RDMO_ID, 0, &iov, data, 1));
		bytes = rdmo_writer_end(&w, RDMO_RAW_RECEIVES);
		memcpy(rdmo_raw_message() + sizeof(struct rdmo_msg) + sizeof(struct rdmo_frame) +
			       sizeof(struct rdmo_hdr),
		       &lie, sizeof(lie));
		rdmo_raw_send(bytes);
		assert_int_equal(rdmo_raw_answer(&reader).status, RDMO_STATUS_LENGTH);
		assert_int_equal(world.area[0], 0xa5);
	}
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

/* As long as a message is: none is cut to 16 bits, and a wrong one behind it keeps it from being written. */
static void
test_pieces_are_checked_before_the_first_byte(void **state)
{
	static uint8_t bytes[3000];
	const void *const data[] = { bytes, "abc" };
	struct rdmo_scatter_iov iovs[] = {
		rdmo_piece_of(world.area, world.area_key, sizeof(bytes)),
		rdmo_piece_of(world.area + RDMO_AREA - 2, world.area_key, 3),
	};
	const struct rdmo_op op = rdmo_scatter_of(1, iovs, data, 2);

	(void)state;
	memset(bytes, 0x11, sizeof(bytes));
	rdmo_expect(world.conn, &op, RDMO_STATUS_BOUNDS, 0);
	assert_int_equal(world.area[0], 0xa5);
	iovs[1] = rdmo_piece_of(world.area + RDMO_AREA - 3, world.area_key, 3);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.area, bytes, sizeof(bytes));
	assert_memory_equal(world.area + RDMO_AREA - 3, "abc", 3);
}

/* An address near the end of all: its sum with a length is none. */
static void
test_sums_do_not_wrap(void **state)
{
	const void *const data[] = { "12345678" };
	const struct rdmo_scatter_iov iov =
		rdmo_piece_of((void *)(uintptr_t)(UINT64_MAX - 3), world.area_key, 8);
	const struct rdmo_op scatter = rdmo_scatter_of(1, &iov, data, 1);
	struct rdmo_op append = rdmo_append_of(1, "x", 1);

	(void)state;
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_BOUNDS, 0);
	append.append.ptr_addr = UINT64_MAX - 7;
	rdmo_expect(world.conn, &append, RDMO_STATUS_BOUNDS, 0);
}

/* ---- A FLUSH is about everything, and says nothing ---- */

static void
test_a_flush_of_a_key_is_about_that_key(void **state)
{
	struct rdmo_op ops[] = { rdmo_append_of(1, "x", 1), rdmo_append_of(2, "y", 1) };
	const struct rdmo_op of_area = rdmo_flush_of(3, world.area_key);
	const struct rdmo_op of_queue = rdmo_flush_of(4, world.data_key);

	(void)state;
	ops[0].append.data_key = world.area_key; /* RIGHTS */
	rdmo_expect(world.conn, &ops[0], RDMO_STATUS_RIGHTS, 0);
	rdmo_expect(world.conn, &ops[1], RDMO_STATUS_OK, queue_at(0));
	rdmo_expect(world.conn, &of_queue, RDMO_STATUS_OK, RDMO_NONE);
	rdmo_expect(world.conn, &of_area, RDMO_STATUS_RIGHTS, 1);
}

/* An operation that was refused for one of its keys has written by none of them. */
static void
test_a_flush_tells_of_each_key_that_a_refused_operation_names(void **state)
{
	static const char *const data[] = { "first", "second" };
	struct rdmo_mr_attr attr = { .addr = world.area,
				     .length = 64,
				     .rights = RDMO_RIGHT_ATOMIC | RDMO_RIGHT_WRITE };
	struct rdmo_scatter_iov iovs[] = { rdmo_piece_of(world.area, world.area_key, 5),
					   rdmo_piece_of(world.area + 64, 0, 6) };
	struct rdmo_signal signal = { .addr = (uintptr_t)world.area, .kind = RDMO_SIGNAL_STORE };
	struct rdmo_op put = {
		.id = RDMO_ID,
		.op_id = RDMO_OP_PUT_SIGNAL,
		.length = 5,
		.put = { .addr = (uintptr_t)world.area + 60,
			 .payload = data[0],
			 .signal = &signal },
	};
	const struct rdmo_op of_area = rdmo_flush_of(3, world.area_key);
	struct rdmo_op of_other, scatter;
	uint64_t other;

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &other), 0);
	of_other = rdmo_flush_of(4, other);
	iovs[1].rkey = rte_cpu_to_le_64(other);
	scatter = rdmo_scatter_of(1, iovs, (const void *const *)data, 2);
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_BOUNDS, 0);
	rdmo_expect(world.conn, &of_area, RDMO_STATUS_BOUNDS, 1);
	rdmo_expect(world.conn, &of_other, RDMO_STATUS_BOUNDS, 1);
	rdmo_expect(world.conn, &of_area, RDMO_STATUS_OK, RDMO_NONE);
	put.put.key = other;
	signal.key = world.area_key;
	rdmo_expect(world.conn, &put, RDMO_STATUS_BOUNDS, 0);
	rdmo_expect(world.conn, &of_area, RDMO_STATUS_BOUNDS, 5);
	rdmo_expect(world.conn, &of_other, RDMO_STATUS_BOUNDS, 5);
	assert_int_equal(rdmo_mr_dereg(world.target, other), 0);
}

/* ---- The target must spin; small operations go one by one; taking memory back drops its tail ---- */

static void
test_the_target_is_told(void **state)
{
	const struct rdmo_log_attr attr = { .capacity = 4096, .producers = 1 };
	struct rdmo_connect_attr connect = {
		.address = rdmo_worker_address(world.worker),
		.secret = world.secret,
		.timeout_ms = RDMO_RAW_WAIT_MS,
		.is_producer = true,
	};
	struct rdmo_op op = rdmo_append_of(1, "hello", 5);
	struct rdmo_log_info info;
	struct rdmo_conn *conn;
	struct pollfd ready;
	struct rdmo_log *log;

	(void)state;
	assert_int_equal(rdmo_log_create(world.target, &attr, &log), 0);
	assert_int_equal(rdmo_log_query(log, &info), 0);
	assert_int_equal(rdmo_connect(world.pd[1], &connect, &conn), 0);
	op.append.ptr_addr = info.addr;
	op.append.ptr_key = op.append.data_key = info.key;
	ready = (struct pollfd){ .fd = rdmo_log_fd(log), .events = POLLIN };
	assert_int_equal(rdmo_log_arm(log), 0);
	rdmo_expect(conn, &op, RDMO_STATUS_OK, 0);
	assert_int_equal(poll(&ready, 1, 5000), 1);
	rdmo_disconnect(conn);
	rdmo_log_destroy(log);
}

static void
test_small_operations_share_a_message(void **state)
{
	struct rdmo_worker_stats before, after;
	struct rdmo_completion done[32];
	struct rdmo_op ops[32];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		ops[i] = rdmo_append_of(i, "12345678", 8);
	assert_int_equal(rdmo_worker_stats(world.worker, &before), 0);
	rdmo_post_all(world.conn, ops, RTE_DIM(ops));
	rdmo_wait(world.conn, done, RTE_DIM(ops));
	assert_int_equal(rdmo_worker_stats(world.worker, &after), 0);
	assert_int_equal(after.messages - before.messages, 1);
	assert_int_equal(after.answers - before.answers, 1);
}

static void
test_taking_memory_back_drops_no_tail(void **state)
{
	struct rdmo_op ops[32];
	struct rdmo_completion done[32];
	uint32_t ok = 0;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		ops[i] = rdmo_append_of(i, "12345678", 8);
	/* Some before that, and some beside it. */
	rdmo_post_all(world.conn, ops, RTE_DIM(ops));
	rdmo_wait(world.conn, done, 8);
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	rdmo_wait(world.conn, done + 8, RTE_DIM(ops) - 8);
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		ok += done[i].status == RDMO_STATUS_OK;
	assert_int_equal(rdmo_tail_of(), 8 * ok);
}

/* ---- Without memory the wrong region is taken back ---- */

static void
test_memory_is_taken_back_without_any(void **state)
{
	const void *const data[] = { "abc" };
	const struct rdmo_scatter_iov iov = rdmo_piece_of(world.area, world.area_key, 3);
	const struct rdmo_op scatter = rdmo_scatter_of(1, &iov, data, 1);
	const struct rdmo_op append = rdmo_append_of(1, "abc", 3);
	int rc;

	(void)state;
	atomic_store(&memory_has_ended, true);
	rc = rdmo_mr_dereg(world.target, world.area_key);
	atomic_store(&memory_has_ended, false);
	assert_int_equal(rc, 0);
	rdmo_expect(world.conn, &scatter, RDMO_STATUS_KEY, 0);
	rdmo_expect(world.conn, &append, RDMO_STATUS_OK, queue_at(0));
}

/* ---- More that can go wrong ---- */

static void
test_a_refused_append_moves_no_tail(void **state)
{
	static uint8_t large[200];
	struct rdmo_op op;

	(void)state;
	small_open(100);
	op = small_append_of(large, sizeof(large));
	rdmo_expect(world.conn, &op, RDMO_STATUS_FULL, 0);
	op = small_append_of("abc", 3);
	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, (uintptr_t)world.area + 64);
	assert_int_equal(rte_le_to_cpu_64(small.tail), (uintptr_t)world.area + 67);
}

/* Refused ones, too, and one that there is not. */
static void
test_each_command_is_answered(void **state)
{
	const struct rdmo_addr addr = { .mtu = RTE_LE16(1024) };
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_notification told;
	struct rdmo_stream stream;
	uint32_t bytes;
	uint64_t key;
	int fd;
	const struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 64,
		.rq_id = 999,
		.rights = RDMO_RIGHT_WRITE,
	};

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), -ENOENT);
	assert_int_equal(rdmo_mr_dereg(world.target, FOREIGN), -ENOENT);
	assert_int_equal(rdmo_rq_destroy(world.target, 999), -ENOENT);
	fd = rdmo_socket_connect(rdmo_worker_address(world.worker), RDMO_RAW_WAIT_MS);
	assert_true(fd >= 0);
	bytes = rdmo_client_init_write(cmd, 5, RDMO_ID, &addr);
	cmd[5] = RDMO_CMDS;
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS), 0);
	assert_int_equal(told.status, RDMO_STATUS_OP);
	assert_int_equal(told.tag, 5);
	close(fd);
}

static void
test_initiators_of_a_receive_queue_go_with_it(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_completion done;
	uint32_t posted = 0;

	(void)state;
	while (rdmo_post(world.conn, &op, 1) == 1)
		posted++;
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	rdmo_wait_connections(0);
	for (uint32_t i = 0; i < posted; i++) {
		rdmo_wait(world.conn, &done, 1);
		assert_true(done.status == RDMO_STATUS_OK || done.status == RDMO_STATUS_UNKNOWN);
	}
	/* It looks whether the worker is there when nothing comes. */
	while (rdmo_conn_error(world.conn) != -ENOTCONN) {
		assert_int_equal(rdmo_poll(world.conn, &done, 1), 0);
		usleep(1000);
	}
	assert_int_equal(rdmo_post(world.conn, &op, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/* An argument: the one case to be run. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_append_is_answered),
		TEST(test_an_unknown_client_is_told),
		TEST(test_an_unknown_key_is_told_by_the_flush_too),
		TEST(test_an_unknown_operation_is_told),
		TEST(test_flushes_go_on_behind_what_is_out_of_bounds),
		TEST(test_no_receive_is_lost_by_what_is_refused),
		TEST(test_connections_get_places_of_their_own),
		TEST(test_a_tail_that_the_target_moves_is_seen),
		TEST(test_the_target_sees_the_tail_without_a_flush),
		TEST(test_nothing_is_written_behind_a_queue),
		TEST(test_a_key_is_no_pointer),
		TEST(test_a_key_is_its_receive_queue_s),
		TEST(test_a_count_that_lies_is_refused),
		TEST(test_pieces_are_checked_before_the_first_byte),
		TEST(test_sums_do_not_wrap),
		TEST(test_a_flush_of_a_key_is_about_that_key),
		TEST(test_a_flush_tells_of_each_key_that_a_refused_operation_names),
		TEST(test_the_target_is_told),
		TEST(test_small_operations_share_a_message),
		TEST(test_taking_memory_back_drops_no_tail),
		TEST(test_memory_is_taken_back_without_any),
		TEST(test_a_refused_append_moves_no_tail),
		TEST(test_each_command_is_answered),
		TEST(test_initiators_of_a_receive_queue_go_with_it),
	};
	int rc;

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (rdmo_world_init("rdmo-defects", 1, argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-defects", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
