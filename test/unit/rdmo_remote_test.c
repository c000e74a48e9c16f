/* SPDX-License-Identifier: BSD-3-Clause */

/* Execution of operations in memory of another process: what is to be written there, asked, moved; nothing is touched here. */

#include "rdmo_round_world.h"

#define RKEY 7000 /* and the number of the region */

static struct rdmo_write written[80];
static struct rdmo_writes writes = { .all = written, .room = RTE_DIM(written) };

/* All that is offered is another process's: nothing of it can be touched here. */
static void
make_remote(void)
{
	for (uint32_t i = 0; i < RTE_DIM(world.table); i++) {
		world.table[i].remote = (void *)&world.table; /* not looked at */
		world.table[i].rkey = RKEY + i;
	}
	world.round.writes = &writes;
	rdmo_round_begin(&world.round);
}

/* The tail is read: the message is executed once more, as its connection has the next turn. */
static void
look(uint64_t tail)
{
	assert_ptr_equal(world.round.look.queue, &world.table[1]);
	rdmo_region_seen(world.round.look.queue, world.round.look.word, tail);
	rdmo_round_begin(&world.round);
}

static void
expect_write(uint32_t i, uint64_t addr, const char *bytes, uint32_t rkey)
{
	assert_int_equal(written[i].addr, addr);
	assert_int_equal(written[i].bytes, strlen(bytes));
	assert_memory_equal(written[i].from, bytes, strlen(bytes));
	assert_int_equal(written[i].rkey, rkey);
}

static void
test_a_remote_tail_is_read_first(void **state)
{
	(void)state;
	make_remote();
	round_append_text("one");
	round_run();
	assert_false(world.is_done);
	assert_int_equal(world.round.elsewhere, RDMO_LATER);
	assert_int_equal(world.round.count, 0);
	assert_int_equal(world.round.look.word, (uintptr_t)&world.target.tail);
	assert_int_equal(world.round.look.rkey, RKEY);
	/* It is none: it is read again for the next one. */
	look((uintptr_t)world.target.queue + QUEUE + 1);
	round_append_text("two");
	round_run();
	round_expect(0, RDMO_STATUS_TAIL, 0);
	round_append_text("six");
	round_run();
	assert_false(world.is_done);
}

static void
test_what_is_to_be_written_to_a_remote_target(void **state)
{
	const uint64_t at = (uintptr_t)world.target.queue + 10;
	const struct rdmo_scatter_iov iovs[] = { round_piece(world.target.memory, WRITE_KEY, 2),
						 round_piece(world.target.memory, WRITE_KEY, 0),
						 round_piece(world.target.memory + 9, HERE_KEY,
							     3) };
	const void *const data[] = { "ab", "", "cde" };
	struct rdmo_tail_move move;

	(void)state;
	make_remote();
	round_append_text("");
	round_run();
	look(at);
	round_append_text("one");
	round_append_text("");
	round_append_text("three");
	round_add_scatter(iovs, data, 3);
	round_run();
	assert_int_equal(writes.count, 4);
	expect_write(0, at, "one", RKEY + 1);
	expect_write(1, at + 3, "three", RKEY + 1);
	expect_write(2, (uintptr_t)world.target.memory, "ab", RKEY + 2);
	expect_write(3, (uintptr_t)world.target.memory + 9, "cde", RKEY + 6);
	assert_int_equal(world.round.due, 1);
	assert_int_equal(world.table[1].word_rkey, RKEY);
	move = rdmo_tail_move(rdmo_region_tail(world.round.queues[0]));
	assert_int_equal(move.compare, at);
	assert_int_equal(move.swap, at + 8);
	rdmo_round_moved(&world.round, 0, &move, at);
	rdmo_round_conclude(&world.round);
	round_expect(0, RDMO_STATUS_OK, at);
	round_expect(2, RDMO_STATUS_OK, at + 3);
	round_expect(3, RDMO_STATUS_OK, 0);
	assert_memory_equal(world.target.queue, "\xa5\xa5", 2);
}

/* A remote number is asked by an atomic of its own, with nothing beside it. */
static void
test_a_remote_number_is_alone(void **state)
{
	struct rdmo_request atomic_, append_;
	struct rdmo_reader reader;
	uint32_t bytes;

	(void)state;
	make_remote();
	round_add_atomic(RDMO_OP_FETCH_ADD, world.target.memory + 8, HERE_KEY, 5, 0);
	round_append_text("one");
	bytes = rdmo_writer_end(&world.writer, 0);
	assert_int_equal(rdmo_requests_open(&reader, world.message, bytes, 1), RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &atomic_));
	assert_true(rdmo_requests_next(&reader, &append_));
	assert_true(rdmo_round_takes(&world.round, &atomic_));
	assert_true(rdmo_round_execute(&world.round, &world.regions, &world.flow, &atomic_));
	assert_ptr_equal(world.round.atomic.result, &world.round.results[0]);
	assert_int_equal(world.round.atomic.addr, (uintptr_t)world.target.memory + 8);
	assert_int_equal(world.round.atomic.rkey, RKEY + 6);
	assert_int_equal(world.round.atomic.operand, 5);
	assert_int_equal(world.target.memory[8], 0xa5);
	assert_false(rdmo_round_takes(&world.round, &append_));
	assert_false(rdmo_round_takes(&world.round, &atomic_));
	rdmo_round_conclude(&world.round);
	rdmo_round_begin(&world.round);
	assert_true(rdmo_round_takes(&world.round, &append_));
	assert_null(world.round.atomic.result);
}

/* A number that is stored is one more WRITE, behind the payload's; one that is added to is an atomic behind it. */
static void
test_a_remote_put_signals(void **state)
{
	const uintptr_t at = (uintptr_t)world.target.memory;
	const rte_le64_t seven = RTE_LE64(7);

	(void)state;
	make_remote();
	round_add_put(world.target.memory, WRITE_KEY, world.target.memory + 64, HERE_KEY,
		      RDMO_SIGNAL_STORE, 7, "one");
	round_run();
	assert_int_equal(writes.count, 2);
	expect_write(0, at, "one", RKEY + 2);
	assert_int_equal(written[1].addr, at + 64);
	assert_int_equal(written[1].bytes, sizeof(seven));
	assert_memory_equal(written[1].from, &seven, sizeof(seven));
	assert_int_equal(written[1].rkey, RKEY + 6);
	assert_null(world.round.atomic.result);
	rdmo_round_conclude(&world.round);
	rdmo_round_begin(&world.round);
	round_add_put(world.target.memory, WRITE_KEY, world.target.memory + 64, HERE_KEY,
		      RDMO_SIGNAL_ADD, 9, "two");
	round_run();
	assert_int_equal(writes.count, 1);
	expect_write(0, at, "two", RKEY + 2);
	assert_non_null(world.round.atomic.result);
	assert_int_equal(world.round.atomic.addr, at + 64);
	assert_int_equal(world.round.atomic.operand, 9);
	assert_false(world.round.atomic.is_swap);
	assert_int_equal(world.target.memory[0], 0xa5);
}

/* It is asked for by an atomic, as often as somebody else is there before; what is known of it is where the next one asks first. */
static void
test_a_remote_tail_that_others_move(void **state)
{
	const uint64_t at = (uintptr_t)world.target.queue;

	(void)state;
	make_remote();
	rdmo_region_begin_shared(&world.table[1]);
	round_append_text("one");
	round_run();
	assert_false(world.is_done);
	assert_int_equal(world.round.elsewhere, RDMO_LATER);
	assert_null(world.round.atomic.result);
	look(at);
	round_append_text("one");
	round_run();
	assert_int_equal(world.round.atomic.addr, (uintptr_t)&world.target.tail);
	assert_int_equal(world.round.atomic.rkey, RKEY);
	assert_int_equal(world.round.atomic.operand, at);
	assert_int_equal(world.round.atomic.swap, at + 3);
	assert_int_equal(writes.count, 0);
	assert_false(rdmo_round_reserved(&world.round, at + 10));
	assert_int_equal(world.round.atomic.operand, at + 10);
	assert_int_equal(world.round.atomic.swap, at + 13);
	assert_true(rdmo_round_reserved(&world.round, at + 10));
	assert_int_equal(writes.count, 1);
	expect_write(0, at + 10, "one", RKEY + 1);
	assert_int_equal(world.round.due, 0);
	rdmo_round_conclude(&world.round);
	round_expect(0, RDMO_STATUS_OK, at + 10);
	/* The others have taken all that there was. */
	rdmo_round_begin(&world.round);
	round_append_text("two");
	round_run();
	assert_int_equal(world.round.atomic.operand, at + 13);
	assert_true(rdmo_round_reserved(&world.round, at + QUEUE - 2));
	assert_int_equal(writes.count, 0);
	rdmo_round_conclude(&world.round);
	round_expect(0, RDMO_STATUS_FULL, 0);
	/* Or they move it for ever, to keep the round from its end. */
	rdmo_round_begin(&world.round);
	round_append_text("two");
	round_run();
	for (uint32_t tries = 1; tries < 1000; tries++)
		assert_false(rdmo_round_reserved(&world.round, at + 20 + tries % 2));
	assert_true(rdmo_round_reserved(&world.round, at + 20));
	assert_int_equal(writes.count, 0);
	rdmo_round_conclude(&world.round);
	round_expect(0, RDMO_STATUS_TAIL, 0);
}

/* From when its tail is asked for, or bytes of it are reserved, until the round is over: two may be under way. */
static void
test_a_remote_queue_is_one_round_s(void **state)
{
	const uint64_t at = (uintptr_t)world.target.queue;
	struct rdmo_write other_written[8];
	struct rdmo_writes other_writes = { .all = other_written, .room = RTE_DIM(other_written) };
	struct rdmo_round other = { .writes = &other_writes };
	struct rdmo_tail_move move;

	(void)state;
	make_remote();
	rdmo_round_begin(&other);
	round_append_text("one");
	round_run();
	assert_false(round_append_by(&other));
	assert_int_equal(other.elsewhere, RDMO_BUSY);
	rdmo_region_seen(world.round.look.queue, world.round.look.word, at);
	rdmo_round_conclude(&world.round);
	assert_true(round_append_by(&other));
	rdmo_round_begin(&world.round);
	round_append_text("one");
	round_run();
	assert_false(world.is_done);
	assert_int_equal(world.round.elsewhere, RDMO_BUSY);
	move = rdmo_tail_move(rdmo_region_tail(other.queues[0]));
	rdmo_round_moved(&other, 0, &move, at);
	rdmo_round_conclude(&other);
	round_append_text("one");
	round_run();
	assert_true(world.is_done);
	assert_int_equal(world.round.results[0].value, at + 1);
}

/* Somebody else has moved it, or nobody knows: what was in the round is not told as done, and a FLUSH tells of it. */
static void
test_a_remote_round_that_fails(void **state)
{
	const uint64_t at = (uintptr_t)world.target.queue;
	struct rdmo_tail_move move;

	(void)state;
	for (uint32_t is_lost = 0; is_lost < 2; is_lost++) {
		const enum rdmo_status status =
			is_lost ? RDMO_STATUS_TARGET_LOST : RDMO_STATUS_TAIL;

		world.table[1].has_tail = false;
		make_remote();
		round_append_text("");
		round_run();
		look(at);
		round_append_text("one");
		round_add_flush(0, 0);
		round_run();
		move = rdmo_tail_move(rdmo_region_tail(world.round.queues[0]));
		if (is_lost)
			rdmo_round_lose(&world.round);
		else
			rdmo_round_moved(&world.round, 0, &move, at + 1);
		rdmo_round_conclude(&world.round);
		round_expect(0, status, 0);
		round_expect(1, status, world.round.results[0].seq);
		/* And nothing more is appended. */
		rdmo_round_begin(&world.round);
		round_append_text("two");
		round_run();
		round_expect(0, RDMO_STATUS_TAIL, 0);
		assert_int_equal(writes.count, 0);
	}
}

/* A round for a remote target ends before an operation that is to see it done, or that it has too little room for. */
static void
test_what_a_remote_round_takes(void **state)
{
	struct rdmo_request request = { .op_id = RDMO_OP_FLUSH, .flags = RDMO_FLAG_FENCE };

	(void)state;
	make_remote();
	assert_true(rdmo_round_takes(&world.round, &request));
	round_add_flush(0, 0);
	round_run();
	assert_int_equal(world.round.count, 1);
	assert_false(rdmo_round_takes(&world.round, &request));
	request = (struct rdmo_request){ .op_id = RDMO_OP_SCATTER, .count = RTE_DIM(written) };
	assert_true(rdmo_round_takes(&world.round, &request));
	request.count++;
	assert_false(rdmo_round_takes(&world.round, &request));
	/* Here both are taken. */
	world.round.writes = NULL;
	assert_true(rdmo_round_takes(&world.round, &request));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, round_set_up, round_tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_a_remote_tail_is_read_first),
	TEST(test_what_is_to_be_written_to_a_remote_target),
	TEST(test_a_remote_number_is_alone),
	TEST(test_a_remote_put_signals),
	TEST(test_a_remote_queue_is_one_round_s),
	TEST(test_a_remote_round_that_fails),
	TEST(test_what_a_remote_round_takes),
	TEST(test_a_remote_tail_that_others_move),
};

PLAIN_MAIN("rdmo-remote", tests)
