/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Initiators and clients of a worker's bootstrap that do not keep to what was agreed: messages whose framing is broken, more of them
 * than there are credits, streams that are none or say nothing. Each is closed, with its reason, has written nothing, and is of no harm
 * to the connection beside it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "../counts.h"
#include "port.h"
#include "rdmo/control.h"
#include "rdmo/end.h"
#include "rdmo/socket.h"
#include "rdmo_raw.h"

/* ---- Messages ---- */

/* The one beside it goes on, and the tail is where that has moved it. */
static void
neighbour_goes_on(void)
{
	const uint64_t before = rdmo_tail_of();
	const struct rdmo_op op = rdmo_append_of(1, "1", 1);

	rdmo_expect(world.conn, &op, RDMO_STATUS_OK, (uintptr_t)world.queue + before);
	assert_int_equal(rdmo_tail_of(), before + 1);
}

static void
test_a_good_message_is_answered(void **state)
{
	struct rdmo_reader reader;
	struct rdmo_answer answer;

	(void)state;
	rdmo_raw_open();
	rdmo_raw_send(rdmo_raw_append(1));
	answer = rdmo_raw_answer(&reader);
	assert_int_equal(answer.status, RDMO_STATUS_OK);
	assert_int_equal(answer.value, (uintptr_t)world.queue);
	/* The message that was executed is a credit again. */
	assert_int_equal(reader.credits, rdmo_raw.credits + 1);
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

static void
test_an_unknown_operation_is_refused(void **state)
{
	struct rdmo_reader reader;
	struct rdmo_answer answer;
	uint32_t bytes;

	(void)state;
	rdmo_raw_open();
	bytes = rdmo_raw_append(1);
	rdmo_raw_message()[sizeof(struct rdmo_msg) + sizeof(struct rdmo_frame) + 8] = 99;
	rdmo_raw_send(bytes);
	answer = rdmo_raw_answer(&reader);
	assert_int_equal(answer.status, RDMO_STATUS_OP);
	assert_int_equal(answer.op_id, 99);
	assert_int_equal(rdmo_tail_of(), 0);
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

/* A member of a message that is good but for it, and why that closes the connection. */
static void
test_broken_framing_closes_a_connection(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		int32_t more; /* bytes that are sent */
		enum rdmo_reason reason;
	} rows[] = {
		{ 0, 'r', 0, RDMO_REASON_MAGIC },
		{ 4, 2, 0, RDMO_REASON_VERSION },
		{ 5, RDMO_MSG_ANSWERS, 0, RDMO_REASON_KIND },
		{ 6, 2, 0, RDMO_REASON_COUNT },
		{ 8, 8, 0, RDMO_REASON_LENGTH },
		{ 0, 'R', 8, RDMO_REASON_LENGTH },
		{ 0, 'R', -40, RDMO_REASON_LENGTH },
		{ 24, 2, 0, RDMO_REASON_SEQ },
		{ 32, 0xff, 0, RDMO_REASON_FRAME },
		{ 36, 1, 0, RDMO_REASON_RESERVED },
	};

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		uint32_t bytes;

		rdmo_raw_open();
		bytes = rdmo_raw_append(1);
		rdmo_raw_message()[rows[i].at] = rows[i].value;
		rdmo_raw_send((uint32_t)((int32_t)bytes + rows[i].more));
		rdmo_raw_expect_close(rows[i].reason);
		assert_int_equal(rdmo_tail_of(), i);
		neighbour_goes_on();
		rdmo_wait_connections(1);
		rdmo_raw_close();
	}
}

static void
test_a_foreign_session_closes_a_connection(void **state)
{
	uint32_t bytes;

	(void)state;
	rdmo_raw_open();
	bytes = rdmo_raw_append(1);
	rdmo_raw_message()[16] ^= 1;
	rdmo_raw_send(bytes);
	rdmo_raw_expect_close(RDMO_REASON_SESSION);
	assert_int_equal(rdmo_tail_of(), 0);
	neighbour_goes_on();
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

static void
test_a_cut_header_closes_a_connection(void **state)
{
	(void)state;
	rdmo_raw_open();
	rdmo_raw_append(1);
	rdmo_raw_send(24);
	rdmo_raw_expect_close(RDMO_REASON_SHORT);
	neighbour_goes_on();
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

/* It takes no answers, so the worker stops to execute for it: more messages than it has credits for close it, and no other. */
static void
test_more_messages_than_credits_close_a_connection(void **state)
{
	struct rdmo_worker_stats stats;

	(void)state;
	rdmo_raw_open();
	/* An answer for each, as many as there are receives; then the worker waits, and all credits are under way. */
	for (uint32_t i = 0; i < RDMO_RAW_RECEIVES; i++) {
		rdmo_raw_send(rdmo_raw_append(1 + i));
		do
			assert_int_equal(rdmo_worker_stats(world.worker, &stats), 0);
		while (stats.operations != i + 1);
	}
	for (uint32_t i = 0; i < rdmo_raw.credits; i++)
		rdmo_raw_send(rdmo_raw_append(1 + RDMO_RAW_RECEIVES + i));
	neighbour_goes_on();
	assert_int_equal(rdmo_worker_stats(world.worker, &stats), 0);
	assert_int_equal(stats.closed, 0);
	rdmo_raw_send(rdmo_raw_append(1 + RDMO_RAW_RECEIVES + rdmo_raw.credits));
	rdmo_wait_connections(1);
	assert_int_equal(rdmo_worker_stats(world.worker, &stats), 0);
	assert_int_equal(stats.closed, 1);
	neighbour_goes_on();
	rdmo_raw_close();
}

/* ---- Streams ---- */

static int
stream_open(void)
{
	const int fd = rdmo_socket_connect(rdmo_worker_address(world.worker), RDMO_RAW_WAIT_MS);

	assert_true(fd >= 0);
	return fd;
}

static void
test_a_stream_that_is_none_is_closed(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	const int fd = stream_open();

	(void)state;
	assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	rdmo_socket_finish(fd, -1);
	close(fd);
	neighbour_goes_on();
}

/* Commands of a target need one; and one of another process a queue pair. */
static void
test_a_client_without_a_queue_pair_is_no_target(void **state)
{
	const struct rdmo_addr addr = { .mtu = RTE_LE16(1024) };
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_notification told;
	struct rdmo_stream stream;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		const int fd = stream_open();
		const uint32_t bytes = i == 0	? rdmo_client_init_write(cmd, 5, RDMO_ID, &addr)
				       : i == 1 ? rdmo_mr_dereg_write(cmd, 5, world.data_key)
						: rdmo_rq_destroy_write(cmd, 5, world.rq_id);

		assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS),
				 0);
		assert_int_equal(told.status, i == 0 ? RDMO_STATUS_BOUNDS : RDMO_STATUS_CLIENT);
		/* And that was all. */
		assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS),
				 -ECONNRESET);
		close(fd);
	}
	neighbour_goes_on();
}

/* A target of another process, of which nothing can be written: its operations are lost, and the worker goes on. */
static void
test_a_remote_target_whose_memory_is_not_there(void **state)
{
	const struct rdmo_mr_reg reg = {
		.va = rte_cpu_to_le_64((uintptr_t)world.area),
		.len = rte_cpu_to_le_64(sizeof(world.area)),
		.rights = rte_cpu_to_le_32(RDMO_RIGHTS_ALL),
	};
	const void *const data[] = { "abc" };
	_Alignas(8) uint8_t cmd[RDMO_CMD_MAX_BYTES];
	struct rdmo_scatter_iov iov = { .addr = reg.va, .len = rte_cpu_to_le_32(3) };
	struct rdmo_op op = { .id = 77, .op_id = RDMO_OP_SCATTER, .length = 1 };
	const struct rdmo_op flush = { .id = 77, .op_id = RDMO_OP_FLUSH };
	struct rdmo_notification told;
	struct rdmo_completion done;
	struct rdmo_stream stream;
	struct rdmo_addr own;
	uint8_t secret[RDMO_SECRET_BYTES] = { 1, 2, 3 };
	struct rdmo_conn *conn;
	uint32_t bytes;
	const int fd = stream_open();

	(void)state;
	/* A queue pair of its own, which answers: with refusals, as the key is none. */
	rdmo_raw_open();
	assert_int_equal(rdmo_end_tell(world.context[1], 0, rdmo_raw.qp->qp_num, 0, 0, &own), 0);
	bytes = rdmo_client_init_write(cmd, 1, 77, &own);
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS), 0);
	assert_int_equal(told.status, RDMO_STATUS_OK);
	assert_true(told.addr->qpn != 0);
	bytes = rdmo_rq_create_write(cmd, 2, NULL, secret);
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS), 0);
	bytes = rdmo_mr_reg_write(cmd, 3, &reg, 0x123456);
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS), 0);
	assert_int_equal(told.status, RDMO_STATUS_OK);
	iov.rkey = rte_cpu_to_le_64(told.number);
	op.scatter.iovs = &iov;
	op.scatter.data = data;
	conn = rdmo_conn_to(secret);
	rdmo_post_all(conn, &op, 1);
	/* It may take as long as a queue pair tries. */
	neighbour_goes_on();
	rdmo_wait(conn, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_TARGET_LOST);
	rdmo_expect(conn, &op, RDMO_STATUS_TARGET_LOST, 0);
	rdmo_expect(conn, &flush, RDMO_STATUS_TARGET_LOST, 0);
	assert_int_equal(world.area[0], 0xa5);
	neighbour_goes_on();
	/* The worker ends the stream of a target that is lost. */
	assert_int_equal(rdmo_socket_ask(fd, cmd, bytes, &stream, &told, RDMO_RAW_WAIT_MS),
			 -ECONNRESET);
	close(fd);
	rdmo_disconnect(conn);
	rdmo_raw_close();
	rdmo_wait_connections(1);
}

/* They say nothing: 64 of them are let in, all are thrown out after 5 s, and an initiator behind them gets in. */
static void
test_half_open_streams_are_closed(void **state)
{
	const uint64_t start = rte_get_timer_cycles();
	struct rdmo_conn *conn;
	int fds[64];
	char byte;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(fds); i++)
		fds[i] = stream_open();
	conn = rdmo_conn_to(world.secret);
	assert_true(rte_get_timer_cycles() - start >= 9 * rte_get_timer_hz() / 2);
	for (uint32_t i = 0; i < RTE_DIM(fds); i++) {
		assert_int_equal(rdmo_socket_finish(fds[i], -1), 0);
		assert_true(recv(fds[i], &byte, 1, MSG_DONTWAIT) <= 0);
		close(fds[i]);
	}
	neighbour_goes_on();
	rdmo_disconnect(conn);
}

/* ---- A socket in the file system ---- */

static void
test_a_local_socket_is_private_and_replaces_a_dead_one(void **state)
{
	char path[96], address[112], bound[112];
	const struct rdmo_worker_attr attr = { .address = address, .receives = 64 };
	struct rdmo_worker *second;
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/rdmo-%d.sock", getenv("RUNTIME_DIRECTORY"), (int)getpid());
	snprintf(address, sizeof(address), "unix:%s", path);
	for (uint32_t i = 0; i < 2; i++) {
		rdmo_worker_start(&attr);
		assert_string_equal(rdmo_worker_address(world.worker), address);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(rdmo_worker_create(world.pd[0], &attr, &second), -EADDRINUSE);
		rdmo_target_start();
		world.conn = rdmo_conn_to(world.secret);
		neighbour_goes_on();
		rdmo_world_close(NULL);
		assert_int_equal(stat(path, &st), -1);
		/* One that a worker left behind which was killed. */
		if (i == 0) {
			const int fd = rdmo_socket_listen(address, bound, sizeof(bound));

			assert_true(fd >= 0);
			close(fd);
			assert_int_equal(stat(path, &st), 0);
		}
	}
	/* A file that is no socket stays. */
	close(creat(path, 0600));
	assert_int_equal(rdmo_worker_create(world.pd[0], &attr, &second), -EADDRINUSE);
	assert_int_equal(unlink(path), 0);
}

/* ---- Keys ---- */

/* Keys that are good for others alone: of another target, of another receive queue of this one. And one that was good. */
static struct {
	struct rdmo_target *target;
	uint64_t keys[3];
} others;

static void
others_open(void)
{
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = sizeof(world.area),
		.rights = RDMO_RIGHTS_ALL,
	};
	uint8_t secret[RDMO_SECRET_BYTES];

	rdmo_remote_start(RDMO_ID + 1, &others.target);
	assert_int_equal(rdmo_mr_reg(others.target, &attr, &others.keys[0]), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &others.keys[1]), 0);
	assert_int_equal(rdmo_mr_dereg(world.target, others.keys[1]), 0);
	assert_int_equal(rdmo_rq_create(world.target, secret, &attr.rq_id), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &others.keys[2]), 0);
}

/* A key that it has not: any, one that is not far from a good one, one of the others. */
static uint64_t
guessed_key(uint64_t *random)
{
	static const uint64_t masks[] = { UINT64_MAX, 1, UINT64_C(1) << 63, UINT32_MAX, 0xff00 };
	const uint64_t known[] = { world.ptr_key, world.data_key, world.area_key, world.read_key };
	const uint64_t dice = e2e_random(random);
	const uint64_t mask = masks[dice % RTE_DIM(masks)];

	if (dice >> 32 & 1)
		return others.keys[dice / 16 % RTE_DIM(others.keys)];
	/* Not the same one. */
	return known[dice / 16 % RTE_DIM(known)] ^ ((e2e_random(random) & mask) | (mask & -mask));
}

static struct rdmo_op
guess(uint32_t i, uint64_t *random, const struct rdmo_scatter_iov *iov, const void *const *data)
{
	struct rdmo_op op = rdmo_append_of(i, "12345678", 8);

	switch (i % 4) {
	case 0: op.append.ptr_key = guessed_key(random); break;
	case 1: op.append.data_key = guessed_key(random); break;
	case 2: op = rdmo_scatter_of(i, iov, data, 1); break;
	default:
		op = (struct rdmo_op){
			.user_data = i,
			.id = RDMO_ID,
			.op_id = RDMO_OP_FETCH_ADD,
			.atomic = { .addr = (uintptr_t)world.area,
				    .key = guessed_key(random),
				    .operand = 1 },
		};
	}
	return op;
}

/* Sixteen, and the connection is closed: by another one it goes on guessing. Nothing is written, and the one beside it goes on. */
static void
test_keys_are_not_guessed(void **state)
{
	const uint32_t keys = full_run()			 ? 1000000
			      : default_run() || sanitized_run() ? 10000
								 : 100000;
	static uint8_t untouched[RDMO_AREA];
	const void *const data[] = { "12345678" };
	uint64_t random = 42, known = 0;

	(void)state;
	others_open();
	memset(untouched, 0xa5, sizeof(untouched));
	for (uint32_t i = 0; i < keys; i += 16) {
		struct rdmo_conn *guesser = rdmo_conn_to(world.secret);

		for (uint32_t k = i; k < i + 16; k++) {
			const struct rdmo_scatter_iov iov = rdmo_piece_of(
				world.area + k % RDMO_AREA / 2, guessed_key(&random), 8);
			const struct rdmo_op op = guess(k, &random, &iov, data);
			const struct rdmo_completion done = rdmo_do(guesser, &op);

			/* The last one's answer comes, or the end. */
			assert_true(done.status == RDMO_STATUS_KEY ||
				    (k % 16 == 15 && done.status == RDMO_STATUS_UNKNOWN));
			known += done.status == RDMO_STATUS_KEY;
		}
		rdmo_disconnect(guesser);
		if (i % 160 == 0)
			neighbour_goes_on();
	}
	assert_true(known >= keys / 16 * 15);
	assert_memory_equal(world.area, untouched, RDMO_AREA);
	assert_int_equal(world.queue[rdmo_tail_of()], 0xa5);
	rdmo_target_close(others.target);
}

/* ---- Turns ---- */

#define TURNS	     60u
#define PIECES	     64u
#define DEVICE_TURNS 2u

/* As many as it may have under way. */
static uint64_t
post_on(struct rdmo_conn *conn, const struct rdmo_op *ops, uint32_t n)
{
	uint64_t all = 0;
	uint32_t some;

	do {
		some = rdmo_post(conn, ops, n);
		all += some;
	} while (some > 0);
	return all;
}

/* Who is beside the neighbour: in each turn the next connection, with as many of these as it may have under way. */
struct beside {
	struct rdmo_conn *conns[TURNS];
	uint32_t count;
	const struct rdmo_op *ops;
	uint32_t n;
	uint64_t posted[TURNS], got[TURNS], all;
};

static uint64_t
polled(struct rdmo_conn *conn)
{
	struct rdmo_completion done[256];

	return rdmo_poll(conn, done, RTE_DIM(done));
}

/* What has not completed yet. */
static void
wait_for_rest(struct rdmo_conn *conn, uint64_t count)
{
	struct rdmo_completion done;

	for (uint64_t i = 0; i < count; i++)
		rdmo_wait(conn, &done, 1);
}

/*
 * So many polls, each of a worker with all messages that may be there, by one thread: the device has had its turns, however late it was
 * given a CPU. Returns how many operations of the neighbour were done.
 */
static uint64_t
turns_run(struct beside *beside)
{
	struct rdmo_op appends[32];
	uint64_t posted = 0, got = 0;

	for (uint32_t i = 0; i < RTE_DIM(appends); i++)
		appends[i] = rdmo_append_of(i, "1", 1);
	memset(beside->posted, 0, sizeof(beside->posted));
	memset(beside->got, 0, sizeof(beside->got));
	beside->all = 0;
	rdmo_pollers_stop();
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		posted += post_on(world.conn, appends, RTE_DIM(appends));
		if (beside->count > 0) {
			const uint32_t i = turn % beside->count;

			beside->posted[i] += post_on(beside->conns[i], beside->ops, beside->n);
		}
		for (uint32_t i = 0; i < DEVICE_TURNS; i++)
			rdmo_raw_turn();
		rdmo_worker_poll(world.worker, 0);
		got += polled(world.conn);
		for (uint32_t i = 0; i < beside->count; i++)
			beside->got[i] += polled(beside->conns[i]);
	}
	rdmo_pollers_start();
	wait_for_rest(world.conn, posted - got);
	for (uint32_t i = 0; i < beside->count; i++) {
		beside->all += beside->got[i];
		wait_for_rest(beside->conns[i], beside->posted[i] - beside->got[i]);
	}
	return got;
}

/* Turns are counted, not time; in one of twenty the device may not have brought the neighbour's messages. */
static void
expect_half(uint64_t got, uint64_t alone)
{
	if (2 * got < alone - alone / 20)
		fail_msg("%lu operations were done, %lu alone", (unsigned long)got,
			 (unsigned long)alone);
}

/* Each message of the other one has work for many; its turn is over as soon as if it had as many operations. */
static void
test_a_neighbour_keeps_half_of_its_rate(void **state)
{
	struct rdmo_scatter_iov iovs[PIECES];
	const void *data[PIECES];
	struct rdmo_op bombs[8], fences[32];
	struct beside beside = { .count = 0 };
	uint64_t alone;

	(void)state;
	for (uint32_t i = 0; i < PIECES; i++) {
		iovs[i] = rdmo_piece_of(world.area + 8 * i, world.area_key, 8);
		data[i] = "12345678";
	}
	for (uint32_t i = 0; i < RTE_DIM(bombs); i++)
		bombs[i] = rdmo_scatter_of(i, iovs, data, PIECES);
	for (uint32_t i = 0; i < RTE_DIM(fences); i++) {
		fences[i] = rdmo_flush_of(i, 0);
		fences[i].flags = RDMO_FLAG_FENCE;
	}
	rdmo_raw_open_to_itself();
	alone = turns_run(&beside);
	beside.conns[beside.count++] = rdmo_conn_to(world.secret);
	beside.ops = bombs;
	beside.n = RTE_DIM(bombs);
	expect_half(turns_run(&beside), alone);
	assert_in_range(beside.all, TURNS / 4, TURNS);
	beside.ops = fences;
	beside.n = RTE_DIM(fences);
	expect_half(turns_run(&beside), alone);
	assert_true(beside.all > 0);
	rdmo_raw_close();
	rdmo_disconnect(beside.conns[0]);
	neighbour_goes_on();
}

/* A worker with room for as many connections as there are turns, and two more. */
static int
crowd_open(void **state)
{
	const struct rdmo_worker_attr attr = {
		.receives = 16 * (TURNS + 2),
		.max_regions = 16,
	};

	(void)state;
	rdmo_worker_start(&attr);
	rdmo_target_start();
	world.conn = rdmo_conn_to(world.secret);
	return 0;
}

/* In each turn one has guessed wrong keys until it is closed. */
static void
test_a_neighbour_keeps_half_of_its_rate_beside_guessers(void **state)
{
	struct beside beside = { .count = 0 };
	struct rdmo_op guesses[32];
	uint64_t alone;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(guesses); i++) {
		guesses[i] = rdmo_append_of(i, "12345678", 8);
		guesses[i].append.data_key ^= 1 + i;
	}
	rdmo_raw_open_to_itself();
	alone = turns_run(&beside);
	while (beside.count < TURNS)
		beside.conns[beside.count++] = rdmo_conn_to(world.secret);
	beside.ops = guesses;
	beside.n = RTE_DIM(guesses);
	expect_half(turns_run(&beside), alone);
	rdmo_wait_connections(1);
	rdmo_raw_close();
	for (uint32_t i = 0; i < beside.count; i++) {
		assert_true(beside.posted[i] >= 16);
		assert_int_equal(rdmo_conn_reason(beside.conns[i]), RDMO_REASON_KEYS);
		rdmo_disconnect(beside.conns[i]);
	}
	neighbour_goes_on();
}

/* Its answer is sent a few times, and then it is closed: nothing behind it waits for ever. */
static void
test_an_initiator_without_receives_is_closed(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		rdmo_raw_open_deaf();
		rdmo_raw_send(rdmo_raw_append(1));
		rdmo_wait_connections(1);
		neighbour_goes_on();
		rdmo_raw_close();
	}
}

/* Initiators know it. */
static void
test_a_secret_is_one_receive_queues(void **state)
{
	uint64_t rq_id;
	struct rdmo_target *other;

	(void)state;
	rdmo_remote_start(RDMO_ID, &other);
	assert_int_equal(rdmo_rq_restore(other, world.secret, &rq_id), -EBUSY);
	neighbour_goes_on();
	assert_int_equal(rdmo_rq_destroy(world.target, world.rq_id), 0);
	assert_int_equal(rdmo_rq_restore(other, world.secret, &rq_id), 0);
	rdmo_target_close(other);
}

/* The next one has its own answer. */
static void
test_an_answer_that_comes_too_late(void **state)
{
	struct rdmo_mr_attr attr = {
		.addr = world.area,
		.length = 64,
		.rights = RDMO_RIGHT_READ,
	};
	uint64_t key = 0, next = 0;

	(void)state;
	rdmo_pollers_stop();
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), -ETIMEDOUT);
	assert_int_equal(key, 0);
	rdmo_pollers_start();
	attr.length = 128;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &next), 0);
	assert_int_equal(rdmo_mr_dereg(world.target, next), 0);
	neighbour_goes_on();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rdmo_world_open, rdmo_world_close)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_good_message_is_answered),
		TEST(test_an_unknown_operation_is_refused),
		TEST(test_broken_framing_closes_a_connection),
		TEST(test_a_foreign_session_closes_a_connection),
		TEST(test_a_cut_header_closes_a_connection),
		TEST(test_more_messages_than_credits_close_a_connection),
		TEST(test_a_stream_that_is_none_is_closed),
		TEST(test_a_client_without_a_queue_pair_is_no_target),
		TEST(test_a_remote_target_whose_memory_is_not_there),
		TEST(test_half_open_streams_are_closed),
		TEST(test_keys_are_not_guessed),
		TEST(test_a_neighbour_keeps_half_of_its_rate),
		cmocka_unit_test_setup_teardown(
			test_a_neighbour_keeps_half_of_its_rate_beside_guessers, crowd_open,
			rdmo_world_close),
		TEST(test_an_initiator_without_receives_is_closed),
		TEST(test_a_secret_is_one_receive_queues),
		TEST(test_an_answer_that_comes_too_late),
		cmocka_unit_test(test_a_local_socket_is_private_and_replaces_a_dead_one),
	};
	int rc;

	if (rdmo_world_init("rdmo-hostile", argc, argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-hostile", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
