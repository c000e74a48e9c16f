/* SPDX-License-Identifier: BSD-3-Clause */

/* Two workers: memory that one of them appends to is not the other's, but for queues whose tails both move. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "port.h"
#include "rdmo_world.h"

#define BURST 32u
#define EACH  3000u /* appends of each worker */

/* ---- The second worker ---- */

static struct {
	struct rdmo_worker *worker;
	pthread_t poller;
	atomic_bool is_stopped;
} second;

static void *
poll_second(void *unused)
{
	while (!atomic_load(&second.is_stopped))
		if (rdmo_worker_poll(second.worker, 0) == 0)
			usleep(1);
	return unused;
}

static int
set_up(void **state)
{
	static const struct rdmo_worker_attr attr = { .address = "127.0.0.1:0", .receives = 32 };

	rdmo_world_open(state);
	assert_int_equal(rdmo_worker_create(world.pd[0], &attr, &second.worker), 0);
	atomic_store(&second.is_stopped, false);
	assert_int_equal(pthread_create(&second.poller, NULL, poll_second, NULL), 0);
	return 0;
}

static int
tear_down(void **state)
{
	atomic_store(&second.is_stopped, true);
	assert_int_equal(pthread_join(second.poller, NULL), 0);
	assert_int_equal(rdmo_worker_destroy(second.worker), 0);
	return rdmo_world_close(state);
}

static struct rdmo_target *
second_target(bool is_remote)
{
	const struct rdmo_target_attr attr = {
		.address = rdmo_worker_address(second.worker),
		.id = RDMO_ID,
	};
	struct rdmo_target *target;

	if (is_remote)
		assert_int_equal(rdmo_target_connect(world.pd[1], &attr, &target), 0);
	else
		assert_int_equal(rdmo_target_open(second.worker, RDMO_ID, &target), 0);
	return target;
}

/* ---- Whose memory it is ---- */

/* What one worker appends to no other one does, in whole or in part, until it is free again; what is not appended to is anybody's. */
static void
test_appends_are_one_workers(void **state)
{
	struct rdmo_mr_attr memory = {
		.addr = world.queue + RDMO_QUEUE - 1,
		.length = 1,
		.rights = RDMO_RIGHT_APPEND,
	};
	struct rdmo_target *target;
	uint64_t key;

	(void)state;
	target = second_target(world.is_remote);
	assert_int_equal(rdmo_mr_reg(target, &memory, &key), -EBUSY);
	memory.tail_mode = RDMO_TAIL_SHARED;
	assert_int_equal(rdmo_mr_reg(target, &memory, &key), -EBUSY);
	memory.rights = RDMO_RIGHT_WRITE;
	assert_int_equal(rdmo_mr_reg(target, &memory, &key), 0);
	memory.rights = RDMO_RIGHT_APPEND;
	memory.tail_mode = RDMO_TAIL_EXCLUSIVE;
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	assert_int_equal(rdmo_mr_reg(target, &memory, &key), 0);
	/* The first worker's own, once more. */
	assert_int_equal(rdmo_mr_reg(world.target, &memory, &world.data_key), -EBUSY);
	memory.addr = world.queue;
	assert_int_equal(rdmo_mr_reg(world.target, &memory, &world.data_key), 0);
	rdmo_target_close(target);
}

/* ---- Tails that both move ---- */

static struct rdmo_mr_attr
shared_of(void *at, uint64_t length)
{
	return (struct rdmo_mr_attr){
		.addr = at,
		.length = length,
		.rights = RDMO_RIGHT_APPEND,
		.tail_mode = RDMO_TAIL_SHARED,
	};
}

/* A way to the queue by one of the workers. */
struct way {
	struct rdmo_target *target;
	struct rdmo_conn *conn;
	uint64_t tail_key, data_key;
	uint64_t posted, answered;
	uint8_t taken[RDMO_QUEUE / 8];
};

static struct way ways[2];

/* World's, which is not there yet for others: its own regions go first. */
static void
way_open(struct way *way, struct rdmo_target *target, const char *address)
{
	const struct rdmo_mr_attr tail = shared_of(&world.tail, sizeof(world.tail));
	const struct rdmo_mr_attr data = shared_of(world.queue, sizeof(world.queue));
	struct rdmo_connect_attr attr = { .address = address, .timeout_ms = 60000 };
	uint8_t secret[RDMO_SECRET_BYTES];
	uint64_t rq_id;

	memset(way, 0, sizeof(*way));
	way->target = target;
	assert_int_equal(rdmo_mr_reg(target, &tail, &way->tail_key), 0);
	assert_int_equal(rdmo_mr_reg(target, &data, &way->data_key), 0);
	assert_int_equal(rdmo_rq_create(target, secret, &rq_id), 0);
	attr.secret = secret;
	assert_int_equal(rdmo_connect(world.pd[1], &attr, &way->conn), 0);
}

static struct rdmo_op
append_by(const struct way *way, const uint64_t *payload, uint32_t length)
{
	struct rdmo_op op = rdmo_append_of(way->posted, payload, length);

	op.append.ptr_key = way->tail_key;
	op.append.data_key = way->data_key;
	return op;
}

/* 8 or 16 bytes: each word has the way and the number. */
static void
post_one(struct way *way, uint32_t which)
{
	const uint64_t word = (uint64_t)(which + 1) << 32 | way->posted;
	const uint64_t payload[2] = { word, word };
	const struct rdmo_op op = append_by(way, payload, way->posted % 3 == 0 ? 16 : 8);

	if (way->posted < EACH)
		way->posted += rdmo_post(way->conn, &op, 1);
}

/* Nobody else has this place, and what was appended is there. */
static void
answers_take(struct way *way, uint32_t which)
{
	struct rdmo_completion done[BURST];
	const uint32_t n = rdmo_poll(way->conn, done, BURST);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t offset = done[i].value - (uintptr_t)world.queue;
		const uint64_t word = (uint64_t)(which + 1) << 32 | way->answered;

		assert_int_equal(done[i].user_data, way->answered++);
		assert_int_equal(done[i].status, RDMO_STATUS_OK);
		for (uint32_t at = 0; at < done[i].length; at += 8) {
			assert_false(ways[0].taken[(offset + at) / 8] |
				     ways[1].taken[(offset + at) / 8]);
			way->taken[(offset + at) / 8] = 1;
			assert_memory_equal(world.queue + offset + at, &word, 8);
		}
	}
}

static void
test_workers_share_a_tail(void **state)
{
	const uint64_t words = EACH + EACH / 3;
	struct rdmo_op op;
	uint64_t last = 0;

	(void)state;
	assert_int_equal(rdmo_mr_dereg(world.target, world.ptr_key), 0);
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	way_open(&ways[0], world.target, rdmo_worker_address(world.worker));
	way_open(&ways[1], second_target(world.is_remote), rdmo_worker_address(second.worker));
	while (ways[0].answered < EACH || ways[1].answered < EACH)
		for (uint32_t i = 0; i < 2; i++) {
			post_one(&ways[i], i);
			answers_take(&ways[i], i);
		}
	assert_int_equal(rdmo_tail_of(), 2 * words * 8);
	/* Never past the end, whoever asks. */
	for (uint32_t i = 0; i < 2; i++) {
		op = append_by(&ways[i], &last, RDMO_QUEUE);
		op.rkey = 1; /* not looked at: there is no room */
		rdmo_expect(ways[i].conn, &op, RDMO_STATUS_FULL, 0);
	}
	assert_int_equal(rdmo_tail_of(), 2 * words * 8);
	for (uint32_t i = 0; i < 2; i++)
		rdmo_disconnect(ways[i].conn);
	rdmo_target_close(ways[1].target);
}

/* A payload that is fetched, at such a tail. */
static void
test_a_large_payload_at_a_shared_tail(void **state)
{
	struct rdmo_op op;

	(void)state;
	rdmo_own_start();
	assert_int_equal(rdmo_mr_dereg(world.target, world.ptr_key), 0);
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	way_open(&ways[0], world.target, rdmo_worker_address(world.worker));
	for (uint32_t i = 0; i < 5; i++) {
		op = append_by(&ways[0], (const uint64_t *)(const void *)(rdmo_own.bytes + 8 * i),
			       50000);
		op.user_data = i;
		op = rdmo_owned(op);
		rdmo_expect(ways[0].conn, &op, RDMO_STATUS_OK,
			    (uintptr_t)world.queue + UINT64_C(50000) * i);
		assert_memory_equal(world.queue + 50000 * i, rdmo_own.bytes + 8 * i, 50000);
	}
	rdmo_disconnect(ways[0].conn);
	rdmo_own_end();
}

/* Its atomics and those of a device do not see each other, unless that says so: softrnic's does not. */
static void
test_a_cpu_and_a_device_share_nothing(void **state)
{
	const struct rdmo_mr_attr data = shared_of(world.queue, sizeof(world.queue));
	struct rdmo_target *other;
	uint64_t key;

	(void)state;
	assert_int_equal(rdmo_mr_dereg(world.target, world.data_key), 0);
	assert_int_equal(rdmo_mr_reg(world.target, &data, &world.data_key), 0);
	other = second_target(!world.is_remote);
	assert_int_equal(rdmo_mr_reg(other, &data, &key), -ENOTSUP);
	rdmo_target_close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Arguments: as rdmo_test.c's. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_appends_are_one_workers),
		TEST(test_workers_share_a_tail),
		TEST(test_a_large_payload_at_a_shared_tail),
		TEST(test_a_cpu_and_a_device_share_nothing),
	};
	int rc;

	world.is_remote = strcmp(argv[argc - 1], "remote") == 0;
	if (rdmo_world_init("rdmo_shared", argc - world.is_remote, argv) != 0)
		return 1;
	rc = cmocka_run_group_tests_name("rdmo-shared", tests, NULL, NULL);
	rdmo_world_fini();
	return rc;
}
