/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker of several lcores: how connections are spread, operations on a queue that belongs to another lcore, and all that may happen
 * while a connection is there. Where it matters, the test polls the lcores itself, so that it is known who has done what.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo/mail.h"
#include "rdmo/worker.h"
#include "rdmo_world.h"

#define NEAR   0u /* the lcore of the queue */
#define FAR    1u /* that of world.conn */
#define BURST  32u
#define ROUNDS 2000u

static uint64_t
queue_at(uint64_t offset)
{
	return (uintptr_t)world.queue + offset;
}

static int
far_open(void **state)
{
	world.is_far = true;
	return rdmo_world_open(state);
}

static uint64_t
connections_of(uint32_t lcore)
{
	return __atomic_load_n(&world.worker->crew.lanes[lcore].stats.connections,
			       __ATOMIC_RELAXED);
}

/* ---- Who has what ---- */

static void
test_connections_are_spread_fewest_first(void **state)
{
	static const struct rdmo_worker_attr three = { .lcores = 3, .receives = 48 };
	struct rdmo_conn *conns[6];

	(void)state;
	rdmo_worker_start(&three);
	rdmo_target_start();
	for (uint32_t i = 0; i < RTE_DIM(conns); i++) {
		conns[i] = rdmo_conn_to(world.secret);
		rdmo_wait_connections(i + 1);
		assert_int_equal(connections_of(i % 3), i / 3 + 1);
	}
	rdmo_disconnect(conns[1]);
	rdmo_disconnect(conns[4]);
	rdmo_wait_connections(4);
	for (uint32_t i = 1; i < RTE_DIM(conns); i += 3) {
		assert_int_equal(connections_of(1), i / 3);
		conns[i] = rdmo_conn_to(world.secret);
		rdmo_wait_connections(5 + i / 3);
	}
	assert_int_equal(connections_of(1), 2);
	for (uint32_t i = 0; i < RTE_DIM(conns); i++)
		rdmo_disconnect(conns[i]);
}

/* One lcore receives and answers, the other one executes: nothing happens without both. */
static void
test_an_append_is_done_by_the_queues_lcore(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "hello", 5);
	struct rdmo_completion done;

	(void)state;
	rdmo_pollers_stop();
	assert_int_equal(rdmo_post(world.conn, &op, 1), 1);
	while (!world.worker->crew.lanes[FAR].peers[0].is_away)
		assert_int_equal(rdmo_worker_poll(world.worker, FAR), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(rdmo_worker_poll(world.worker, FAR), 0);
	assert_int_equal(rdmo_tail_of(), 0);
	assert_int_equal(rdmo_worker_poll(world.worker, NEAR), 1);
	assert_int_equal(rdmo_tail_of(), 5);
	assert_int_equal(rdmo_poll(world.conn, &done, 1), 0);
	assert_int_equal(rdmo_worker_poll(world.worker, FAR), 0);
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_OK);
	assert_int_equal(done.value, queue_at(0));
	rdmo_pollers_start();
}

/* ---- Order ---- */

static struct rdmo_op
scatter_of(uint64_t user_data, const struct rdmo_scatter_iov *iov, const void *const *data)
{
	return (struct rdmo_op){
		.user_data = user_data,
		.id = RDMO_ID,
		.op_id = RDMO_OP_SCATTER,
		.length = 1,
		.scatter = { .iovs = iov, .data = data },
	};
}

/* What is for any lcore does not overtake what is for one. */
static void
test_operations_keep_their_order(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.queue,
		.length = sizeof(world.queue),
		.rights = RDMO_RIGHT_WRITE,
	};
	struct rdmo_completion done[BURST];
	struct rdmo_scatter_iov iovs[BURST];
	const void *const over[] = { "over" };
	struct rdmo_op ops[BURST];
	uint64_t key;

	(void)state;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &key), 0);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < BURST; i += 2) {
			const uint64_t at = queue_at((round * BURST + i) * 2);

			ops[i] = rdmo_append_of(i, "mine", 4);
			iovs[i] = (struct rdmo_scatter_iov){
				.addr = rte_cpu_to_le_64(at),
				.rkey = rte_cpu_to_le_64(key),
				.len = rte_cpu_to_le_32(4),
			};
			ops[i + 1] = scatter_of(i + 1, &iovs[i], over);
		}
		rdmo_post_all(world.conn, ops, BURST);
		rdmo_wait(world.conn, done, BURST);
		for (uint32_t i = 0; i < BURST; i++) {
			assert_int_equal(done[i].user_data, i);
			assert_int_equal(done[i].status, RDMO_STATUS_OK);
		}
	}
	for (uint32_t i = 0; i < rdmo_tail_of(); i += 4)
		assert_memory_equal(world.queue + i, "over", 4);
}

/* A connection of a lcore of its own, that appends to the queue of all: bursts, with one that fails and a FLUSH that tells of it. */
struct client {
	struct rdmo_conn *conn;
	uint8_t letter;
	uint64_t posted, behind; /* operations; its last append */
};

static void
client_burst(struct client *client)
{
	const uint8_t payload[8] = { client->letter, client->letter, 2, 3, 4, 5, 6, 7 };
	struct rdmo_op ops[BURST];

	for (uint32_t i = 0; i < BURST - 1; i++)
		ops[i] = rdmo_append_of(i, payload, sizeof(payload));
	ops[3].append.ptr_addr += 8; /* BOUNDS */
	ops[5].flags = ops[6].flags = RDMO_FLAG_SILENT;
	ops[7].flags = RDMO_FLAG_FENCE;
	ops[BURST - 1] = rdmo_flush_of(BURST - 1, client->posted % 3 == 0 ? world.data_key : 0);
	rdmo_post_all(client->conn, ops, BURST);
	client->posted += BURST;
}

static void
client_check(struct client *client)
{
	const uint64_t first = client->posted - BURST + 1;
	struct rdmo_completion done[BURST - 2];

	rdmo_wait(client->conn, done, BURST - 2);
	for (uint32_t i = 0; i < BURST - 3; i++) {
		assert_int_equal(done[i].user_data, i < 5 ? i : i + 2);
		assert_int_equal(done[i].status, i == 3 ? RDMO_STATUS_BOUNDS : RDMO_STATUS_OK);
		if (i == 3)
			continue;
		assert_true(done[i].value > client->behind);
		client->behind = done[i].value;
	}
	assert_int_equal(done[BURST - 3].status, RDMO_STATUS_BOUNDS);
	assert_int_equal(done[BURST - 3].value, first + 3);
}

static void
test_connections_of_two_lcores_append_to_one_queue(void **state)
{
	struct client clients[2] = {
		{ .conn = world.conn, .letter = 'f' },
		{ .conn = rdmo_conn_to(world.secret), .letter = 'n' },
	};
	const uint32_t rounds = RDMO_QUEUE / 8 / (BURST - 2) / 2;
	uint64_t count[2] = { 0 };

	(void)state;
	assert_int_equal(connections_of(NEAR), 1);
	assert_int_equal(connections_of(FAR), 1);
	for (uint32_t round = 0; round < rounds; round++) {
		client_burst(&clients[0]);
		client_burst(&clients[1]);
		client_check(&clients[0]);
		client_check(&clients[1]);
	}
	assert_int_equal(rdmo_tail_of(), (uint64_t)rounds * 2 * (BURST - 2) * 8);
	for (uint64_t at = 0; at < rdmo_tail_of(); at += 8) {
		const uint32_t c = world.queue[at] == 'n';

		assert_int_equal(world.queue[at], clients[c].letter);
		assert_memory_equal(world.queue + at + 2, "\x02\x03\x04\x05\x06\x07", 6);
		count[c]++;
	}
	assert_int_equal(count[0], count[1]);
	rdmo_disconnect(clients[1].conn);
}

/* Each lcore has a queue of its own, and both connections append to both: they meet halfway. */
static void
test_connections_cross(void **state)
{
	static rte_le64_t tail __attribute__((aligned(64)));
	static uint8_t queue[ROUNDS * 16];
	struct rdmo_mr_attr attr = {
		.addr = &tail,
		.length = sizeof(tail),
		.rights = RDMO_RIGHT_APPEND,
	};
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	uint64_t ptr_key, data_key, seen = 0, posted[2] = { 0 };
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[2];

	(void)state;
	tail = rte_cpu_to_le_64((uintptr_t)queue);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &ptr_key), 0);
	attr.addr = queue;
	attr.length = sizeof(queue);
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &data_key), 0);
	ops[0] = ops[1] = rdmo_append_of(1, "far queue", 8);
	ops[1].append.ptr_addr = (uintptr_t)&tail;
	ops[1].append.ptr_key = ptr_key;
	ops[1].append.data_key = data_key;
	/* By world.conn, so that it is that lcore's. */
	rdmo_expect(world.conn, &ops[1], RDMO_STATUS_OK, (uintptr_t)queue);
	while (seen < 4 * (ROUNDS - 1))
		for (uint32_t c = 0; c < 2; c++) {
			if (posted[c] < 2 * (ROUNDS - 1))
				posted[c] += rdmo_post(conns[c], &ops[(posted[c] ^ c) & 1], 1);
			for (uint32_t n = rdmo_poll(conns[c], done, BURST); n > 0; n--, seen++)
				assert_int_equal(done[n - 1].status, RDMO_STATUS_OK);
		}
	assert_int_equal(rdmo_tail_of(), 2 * 8 * (ROUNDS - 1));
	assert_int_equal(rte_le_to_cpu_64(tail) - (uintptr_t)queue, 8 + 2 * 8 * (ROUNDS - 1));
	rdmo_disconnect(conns[1]);
}

#define SHARED (64u * 2000)

/* Reserves as the target's own threads do, a place at a time, and marks it. */
static uint32_t
reserve_some(rte_le64_t *tail, uint8_t *queue, uint32_t n)
{
	rte_le64_t found = __atomic_load_n(tail, __ATOMIC_RELAXED);
	uint32_t got = 0;

	while (got < n && rte_le_to_cpu_64(found) + 8 <= (uintptr_t)queue + SHARED) {
		const uint64_t at = rte_le_to_cpu_64(found);

		if (!__atomic_compare_exchange_n(tail, &found, rte_cpu_to_le_64(at + 8), false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		memset((void *)(uintptr_t)at, 't', 8);
		found = rte_cpu_to_le_64(at + 8);
		got++;
	}
	return got;
}

/* Two lcores and the target's CPU fill one queue: each place is somebody's, and nothing is handed over. */
static void
test_a_shared_queue_is_everybodys(void **state)
{
	static rte_le64_t tail __attribute__((aligned(64)));
	static uint8_t queue[SHARED];
	struct rdmo_mr_attr attr = {
		.addr = &tail,
		.length = sizeof(tail),
		.rights = RDMO_RIGHT_APPEND,
	};
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	uint64_t handed_over = world.worker->crew.lanes[FAR].stats.handed_over;
	uint64_t ptr_key, data_key, count[3] = { 0 }, told[3] = { 0 };
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];
	bool is_full = false;

	(void)state;
	tail = rte_cpu_to_le_64((uintptr_t)queue);
	memset(queue, 0, sizeof(queue));
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &ptr_key), 0);
	attr.addr = queue;
	attr.length = sizeof(queue);
	attr.tail_mode = RDMO_TAIL_SHARED;
	assert_int_equal(rdmo_mr_reg(world.target, &attr, &data_key), 0);
	while (!is_full) {
		for (uint32_t c = 0; c < 2; c++) {
			for (uint32_t i = 0; i < BURST; i++) {
				ops[i] = rdmo_append_of(i, c == 0 ? "ffffffff" : "nnnnnnnn", 8);
				ops[i].append.ptr_addr = (uintptr_t)&tail;
				ops[i].append.ptr_key = ptr_key;
				ops[i].append.data_key = data_key;
			}
			rdmo_post_all(conns[c], ops, BURST);
		}
		told[2] += reserve_some(&tail, queue, BURST);
		for (uint32_t c = 0; c < 2; c++) {
			rdmo_wait(conns[c], done, BURST);
			for (uint32_t i = 0; i < BURST; i++) {
				is_full |= done[i].status == RDMO_STATUS_FULL;
				if (done[i].status != RDMO_STATUS_OK)
					continue;
				told[c]++;
				assert_memory_equal((void *)(uintptr_t)done[i].value,
						    c == 0 ? "ffffffff" : "nnnnnnnn", 8);
			}
		}
	}
	assert_int_equal(rte_le_to_cpu_64(tail), (uintptr_t)queue + SHARED);
	for (uint64_t at = 0; at < SHARED; at += 8)
		count[queue[at] == 'f' ? 0 : queue[at] == 'n' ? 1 : 2]++;
	assert_memory_equal(count, told, sizeof(told));
	assert_true(told[0] > 0 && told[1] > 0 && told[2] > 0);
	assert_int_equal(world.worker->crew.lanes[FAR].stats.handed_over, handed_over);
	rdmo_disconnect(conns[1]);
}

/* ---- What happens while a connection is away ---- */

/* Nobody polls: an append waits in the mail of the queue's lcore. */
static void
send_away(const struct rdmo_op *op)
{
	/* It is answered when the bootstrap has done with connections that went before. */
	assert_int_equal(rdmo_rq_destroy(world.target, UINT64_MAX), -ENOENT);
	rdmo_pollers_stop();
	assert_int_equal(rdmo_post(world.conn, op, 1), 1);
	while (!world.worker->crew.lanes[FAR].peers[0].is_away)
		rdmo_worker_poll(world.worker, FAR);
}

/* Somebody waits for this lcore, which is not polled. */
static void
wait_for_a_task(uint32_t lcore)
{
	while (atomic_load(&world.worker->crew.lanes[lcore].asked) == NULL)
		usleep(100);
}

static void
poll_some(uint32_t lcore)
{
	for (uint32_t i = 0; i < 10; i++)
		rdmo_worker_poll(world.worker, lcore);
}

/* As many connections as there are receives for, with all messages that they have credits for. One of them is left, at FAR. */
static void
use_all_receives(void)
{
	const struct rdmo_op empty = rdmo_append_of(1, "", 0);
	struct rdmo_completion done[16];
	struct rdmo_conn *conns[4];
	uint32_t posted;

	for (uint32_t i = 0; i < RTE_DIM(conns); i++)
		conns[i] = rdmo_conn_to(world.secret);
	for (uint32_t i = 0; i < RTE_DIM(conns); i++) {
		for (posted = 0; rdmo_post(conns[i], &empty, 1) == 1; posted++)
			;
		rdmo_wait(conns[i], done, posted);
	}
	world.conn = conns[1];
	rdmo_disconnect(conns[0]);
	rdmo_disconnect(conns[2]);
	rdmo_disconnect(conns[3]);
	rdmo_wait_connections(1);
}

/* What was handed over is done, what came later is not; and no receive is lost. */
static void
test_a_connection_ends_while_it_is_away(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		const struct rdmo_peer *far = &world.worker->crew.lanes[FAR].peers[0];
		uint32_t all;

		send_away(&op);
		/* More messages come meanwhile, as many as it has credits for. */
		for (all = far->received; rdmo_post(world.conn, &op, 1) == 1; all++)
			;
		while ((int32_t)(far->received - all) < 0)
			rdmo_worker_poll(world.worker, FAR);
		rdmo_disconnect(world.conn);
		world.conn = NULL;
		wait_for_a_task(FAR);
		poll_some(FAR);
		assert_int_equal(connections_of(FAR), 1);
		assert_int_equal(rdmo_tail_of(), round * 3);
		rdmo_pollers_start();
		rdmo_wait_connections(0);
		assert_int_equal(rdmo_tail_of(), (round + 1) * 3);
		use_all_receives();
	}
}

static void *
take_back(void *key)
{
	return (void *)(intptr_t)rdmo_mr_dereg(world.target, *(uint64_t *)key);
}

/* Each lcore lets go of it, before the call returns; and what comes there later is refused. */
static void
test_memory_is_taken_back_while_a_connection_is_away(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_completion done;
	pthread_t caller;
	void *rc;

	(void)state;
	send_away(&op);
	assert_int_equal(pthread_create(&caller, NULL, take_back, &world.data_key), 0);
	wait_for_a_task(FAR);
	wait_for_a_task(NEAR);
	poll_some(FAR);
	assert_true(pthread_tryjoin_np(caller, &rc) != 0);
	poll_some(NEAR);
	assert_int_equal(pthread_join(caller, &rc), 0);
	assert_ptr_equal(rc, NULL);
	rdmo_pollers_start();
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_KEY);
	assert_int_equal(rdmo_tail_of(), 0);
	assert_int_equal(world.queue[0], 0xa5);
}

static void *
close_target(void *unused)
{
	(void)unused;
	rdmo_target_close(world.target);
	return NULL;
}

static void
test_a_target_goes_while_a_connection_is_away(void **state)
{
	const struct rdmo_op op = rdmo_append_of(1, "abc", 3);
	struct rdmo_completion done;
	pthread_t caller;

	(void)state;
	send_away(&op);
	assert_int_equal(pthread_create(&caller, NULL, close_target, NULL), 0);
	wait_for_a_task(FAR);
	wait_for_a_task(NEAR);
	poll_some(FAR);
	assert_true(pthread_tryjoin_np(caller, NULL) != 0);
	rdmo_pollers_start();
	assert_int_equal(pthread_join(caller, NULL), 0);
	world.target = NULL;
	rdmo_wait(world.conn, &done, 1);
	assert_int_equal(done.status, RDMO_STATUS_TARGET_LOST);
	assert_int_equal(rdmo_tail_of(), 0);
	assert_int_equal(world.queue[0], 0xa5);
}

/* What was done is answered, before the connection is told why it ends. */
static void
test_wrong_keys_close_a_connection_of_another_lcore(void **state)
{
	struct rdmo_completion done[BURST];
	struct rdmo_op ops[BURST];

	(void)state;
	for (uint32_t i = 0; i < BURST; i++) {
		ops[i] = rdmo_append_of(i, "abc", 3);
		if (i % 2 == 1)
			ops[i].append.ptr_key = 1000 + i;
	}
	rdmo_post_all(world.conn, ops, BURST);
	rdmo_wait(world.conn, done, BURST);
	for (uint32_t i = 0; i < BURST; i++)
		assert_int_equal(done[i].status, i % 2 == 1 ? RDMO_STATUS_KEY : RDMO_STATUS_OK);
	assert_int_equal(rdmo_do(world.conn, &ops[0]).status, RDMO_STATUS_UNKNOWN);
	assert_int_equal(rdmo_conn_reason(world.conn), RDMO_REASON_KEYS);
	assert_int_equal(rdmo_tail_of(), BURST / 2 * 3);
}

/* As if it had been handed over at the last moment: a worker that nobody polls brings it home by itself. */
static void
test_a_worker_ends_while_a_connection_is_away(void **state)
{
	struct rdmo_peer *peer = &world.worker->crew.lanes[FAR].peers[0];

	(void)state;
	rdmo_target_close(world.target);
	world.target = NULL;
	rdmo_pollers_stop();
	assert_ptr_equal(peer->home, &world.worker->crew.lanes[FAR]);
	peer->is_away = true;
	rdmo_mail_put(world.worker->crew.lanes[NEAR].mail, peer);
	rdmo_worker_end();
}

/* Registered, appended to by both, taken back, again and again: not a byte is written once it is the target's. */
static void
test_memory_is_taken_back_under_requests(void **state)
{
	const struct rdmo_mr_attr attr = {
		.addr = world.queue,
		.length = sizeof(world.queue),
		.rights = RDMO_RIGHT_APPEND,
	};
	struct rdmo_conn *conns[2] = { world.conn, rdmo_conn_to(world.secret) };
	struct rdmo_completion done[BURST];

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		struct rdmo_op op = rdmo_append_of(round, "abc", 3);
		uint64_t left[2] = { 0 };

		for (uint32_t i = 0; i < 8; i++)
			for (uint32_t c = 0; c < 2; c++)
				left[c] += rdmo_post(conns[(c + round) % 2], &op, 1);
		usleep(round % 8 * 20);
		assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
		/* Theirs no more: a write would be a race, and be seen. */
		memset(world.queue, 0xee, 64);
		world.tail = rte_cpu_to_le_64(queue_at(0));
		for (uint32_t c = 0; c < 2; c++)
			rdmo_wait(conns[(c + round) % 2], done, (uint32_t)left[c]);
		for (uint32_t i = 0; i < 64; i++)
			assert_int_equal(world.queue[i], 0xee);
		assert_int_equal(rdmo_tail_of(), 0);
		assert_int_equal(rdmo_mr_reg(world.target, &attr, &world.data_key), 0);
		/* Too many wrong keys would end a connection. */
		if (round % 2 == 1)
			for (uint32_t c = 0; c < 2; c++) {
				rdmo_disconnect(conns[c]);
				conns[c] = rdmo_conn_to(world.secret);
			}
	}
	world.conn = conns[0];
	rdmo_disconnect(conns[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, far_open, rdmo_world_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_connections_are_spread_fewest_first,
					  rdmo_world_close),
		TEST(test_an_append_is_done_by_the_queues_lcore),
		TEST(test_operations_keep_their_order),
		TEST(test_connections_of_two_lcores_append_to_one_queue),
		TEST(test_connections_cross),
		TEST(test_a_shared_queue_is_everybodys),
		TEST(test_a_connection_ends_while_it_is_away),
		TEST(test_memory_is_taken_back_while_a_connection_is_away),
		TEST(test_a_target_goes_while_a_connection_is_away),
		TEST(test_wrong_keys_close_a_connection_of_another_lcore),
		TEST(test_a_worker_ends_while_a_connection_is_away),
		TEST(test_memory_is_taken_back_under_requests),
	};
	int rc;

	if (rdmo_world_init("rdmo_lanes", 1, NULL) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo_lanes", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
