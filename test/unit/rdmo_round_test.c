/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Execution of operations in memory of this process: what each does, each refusal, what a refused one leaves as it was, what is
 * published when, and what a FLUSH tells. Messages are written and read by message.c.
 */

#include "rdmo_round_world.h"

/* ---- Appends ---- */

static void
test_appends_lie_behind_each_other_and_are_published_at_the_end(void **state)
{
	const uintptr_t at = (uintptr_t)world.target.queue;

	(void)state;
	round_append_text("one");
	round_append_text("");
	round_append_text("three");
	round_run();
	assert_int_equal(round_tail_at(), 0);
	rdmo_round_settle(&world.round);
	assert_int_equal(round_tail_at(), 8);
	assert_memory_equal(world.target.queue, "onethree\xa5", 9);
	round_expect(0, RDMO_STATUS_OK, at);
	round_expect(1, RDMO_STATUS_OK, at + 3);
	round_expect(2, RDMO_STATUS_OK, at + 3);
}

static void
test_a_fence_publishes_what_is_before_it(void **state)
{
	(void)state;
	round_append_text("one");
	round_add_flush(RDMO_FLAG_FENCE, 0);
	round_append_text("two");
	round_run();
	assert_int_equal(round_tail_at(), 3);
	rdmo_round_settle(&world.round);
	assert_int_equal(round_tail_at(), 6);
}

/* A refused append has moved no tail and written nothing, and the next one lies where it would have been. */
static void
test_what_appends_are_refused_for(void **state)
{
	static uint8_t large[QUEUE + 1];
	const struct {
		uint64_t id, ptr_key, data_key;
		const void *word;
		uint32_t flags, bytes;
		enum rdmo_status status;
	} rows[] = {
		{ ID + 1, PTR_KEY, DATA_KEY, &world.target.tail, 0, 8, RDMO_STATUS_CLIENT },
		{ ID, 99, DATA_KEY, &world.target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, 99, &world.target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, FOREIGN_KEY, &world.target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, OTHER_RQ_KEY, &world.target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, WRITE_KEY, DATA_KEY, &world.target.tail, 0, 8, RDMO_STATUS_RIGHTS },
		{ ID, PTR_KEY, WRITE_KEY, &world.target.tail, 0, 8, RDMO_STATUS_RIGHTS },
		{ ID, PTR_KEY, DATA_KEY, &world.target.tail + 2, 0, 8, RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, &world.target.tail - 1, 0, 8, RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, (void *)(uintptr_t)(UINT64_MAX - 15), 0, 8,
		  RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, (uint8_t *)&world.target.tail + 4, 0, 8,
		  RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, &world.target.tail, 0, QUEUE - 2, RDMO_STATUS_FULL },
		{ ID, PTR_KEY, DATA_KEY, &world.target.other_tail, 0, 8, RDMO_STATUS_TAIL },
		{ ID, PTR_KEY, HERE_KEY, &world.target.tail, 0, 8,
		  RDMO_STATUS_TAIL }, /* in another region */
	};

	(void)state;
	round_append_text("one");
	round_run();
	rdmo_round_settle(&world.round);
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		round_add_append(rows[i].id, rows[i].flags, rows[i].word, rows[i].ptr_key,
				 rows[i].data_key, large, rows[i].bytes);
		round_run();
		rdmo_round_settle(&world.round);
		round_expect(1 + i, rows[i].status, 0);
		assert_int_equal(round_tail_at(), 3);
		assert_int_equal(world.target.queue[3], 0xa5);
		assert_int_equal(world.target.memory[0], 0xa5);
	}
	round_append_text("two");
	round_run();
	rdmo_round_settle(&world.round);
	assert_memory_equal(world.target.queue, "onetwo\xa5", 7);
	assert_int_equal(round_tail_at(), 6);
}

/* Each tells what it has found; what is not its own is not touched. */
static void
test_numbers_are_changed_in_place(void **state)
{
	rte_le64_t *const number = (void *)world.target.memory;
	uint8_t *const end = world.target.memory + QUEUE;

	(void)state;
	*number = RTE_LE64(40);
	round_add_atomic(RDMO_OP_FETCH_ADD, number, HERE_KEY, 2, 0);
	round_add_atomic(RDMO_OP_CMP_SWAP, number, HERE_KEY, 42, 7);
	round_add_atomic(RDMO_OP_CMP_SWAP, number, HERE_KEY, 42, 8);
	round_add_atomic(RDMO_OP_FETCH_ADD, number, HERE_KEY, UINT64_MAX - 9, 0);
	round_add_atomic(RDMO_OP_FETCH_ADD, end - 8, HERE_KEY, 0, 0);
	round_add_atomic(RDMO_OP_FETCH_ADD, end, HERE_KEY, 1, 0);
	round_add_atomic(RDMO_OP_FETCH_ADD, world.target.memory - 8, HERE_KEY, 1, 0);
	round_add_atomic(RDMO_OP_CMP_SWAP, number, WRITE_KEY, 0, 1);
	round_add_atomic(RDMO_OP_CMP_SWAP, number, FOREIGN_KEY, 0, 1);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, 40);
	round_expect(1, RDMO_STATUS_OK, 42);
	round_expect(2, RDMO_STATUS_OK, 7);
	round_expect(3, RDMO_STATUS_OK, 7);
	round_expect(4, RDMO_STATUS_OK, 0xa5a5a5a5a5a5a5a5);
	round_expect(5, RDMO_STATUS_BOUNDS, 0);
	round_expect(6, RDMO_STATUS_BOUNDS, 0);
	round_expect(7, RDMO_STATUS_RIGHTS, 0);
	round_expect(8, RDMO_STATUS_KEY, 0);
	assert_int_equal(rte_le_to_cpu_64(*number), UINT64_MAX - 2);
	assert_int_equal(world.target.queue[QUEUE - 1], 0xa5);
}

/* The payload, then its number; if one of both is refused, neither is touched. */
static void
test_a_put_signals(void **state)
{
	uint8_t *const at = world.target.memory;
	rte_le64_t *const number = (void *)(at + 64);

	(void)state;
	*number = RTE_LE64(40);
	round_add_put(at, WRITE_KEY, number, WRITE_KEY, RDMO_SIGNAL_STORE, 7, "one");
	round_add_put(at + 3, WRITE_KEY, number, HERE_KEY, RDMO_SIGNAL_ADD, UINT64_MAX, "two");
	round_add_put(at + QUEUE, WRITE_KEY, number, HERE_KEY, RDMO_SIGNAL_ADD, 10, "");
	round_add_put(at, WRITE_KEY, number, WRITE_KEY, RDMO_SIGNAL_ADD, 1, "no");
	round_add_put(at, READ_KEY, number, WRITE_KEY, RDMO_SIGNAL_STORE, 1, "no");
	round_add_put(at, WRITE_KEY, number, FOREIGN_KEY, RDMO_SIGNAL_STORE, 1, "no");
	round_add_put(at + QUEUE - 1, WRITE_KEY, number, WRITE_KEY, RDMO_SIGNAL_STORE, 1, "no");
	round_add_put(at, WRITE_KEY, at + QUEUE, WRITE_KEY, RDMO_SIGNAL_STORE, 1, "no");
	round_run();
	rdmo_round_settle(&world.round);
	for (uint32_t i = 0; i < 3; i++)
		round_expect(i, RDMO_STATUS_OK, 0);
	round_expect(3, RDMO_STATUS_RIGHTS, 0);
	round_expect(4, RDMO_STATUS_RIGHTS, 0);
	round_expect(5, RDMO_STATUS_KEY, 0);
	round_expect(6, RDMO_STATUS_BOUNDS, 0);
	round_expect(7, RDMO_STATUS_BOUNDS, 0);
	assert_memory_equal(at, "onetwo\xa5", 7);
	assert_int_equal(rte_le_to_cpu_64(*number), 16);
	assert_int_equal(at[QUEUE - 1], 0xa5);
}

/* When it is visible, and as often as it was done: alike or not. */
static void
test_what_asks_for_it_is_counted_for_the_target(void **state)
{
	const struct rdmo_scatter_iov iov = {
		.addr = rte_cpu_to_le_64((uintptr_t)world.target.memory),
		.rkey = RTE_LE64(WRITE_KEY),
		.len = RTE_LE32(3),
	};
	const void *const data[] = { "abc" };

	(void)state;
	round_append_text("none");
	for (uint32_t i = 0; i < 5; i++)
		round_add_append(ID, RDMO_FLAG_NOTIFY, &world.target.tail, PTR_KEY, DATA_KEY, "1",
				 1);
	round_add_append(ID, RDMO_FLAG_NOTIFY, &world.target.tail + 2, PTR_KEY, DATA_KEY, "1", 1);
	assert_true(rdmo_writer_scatter(&world.writer, ID, RDMO_FLAG_NOTIFY, &iov, data, 1));
	round_run_by(true);
	assert_int_equal(world.table[1].notified, 0);
	assert_false(world.round.has_notified);
	rdmo_round_settle(&world.round);
	assert_true(world.round.has_notified);
	assert_int_equal(world.table[1].notified, 5);
	assert_int_equal(world.table[2].notified, 1);
	assert_int_equal(world.table[0].notified, 0);
	/* What a foreign move has undone is nothing. */
	rdmo_round_begin(&world.round);
	assert_false(world.round.has_notified);
	round_add_append(ID, RDMO_FLAG_NOTIFY, &world.target.tail, PTR_KEY, DATA_KEY, "1", 1);
	round_run();
	world.target.tail = rte_cpu_to_le_64((uintptr_t)world.target.queue);
	rdmo_round_settle(&world.round);
	assert_int_equal(world.table[1].notified, 5);
	assert_false(world.round.has_notified);
}

static void
test_a_queue_takes_what_fits_to_its_last_byte(void **state)
{
	static uint8_t whole[QUEUE];

	(void)state;
	round_add_append(ID, 0, &world.target.tail, PTR_KEY, DATA_KEY, whole, QUEUE);
	round_add_append(ID, 0, &world.target.tail, PTR_KEY, DATA_KEY, whole, 1);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, (uintptr_t)world.target.queue);
	round_expect(1, RDMO_STATUS_FULL, 0);
	assert_int_equal(round_tail_at(), QUEUE);
	assert_int_equal(world.target.memory[0], 0xa5);
}

/* A word that is no tail of this queue does not become it by being named first. */
static void
test_a_word_that_is_no_tail(void **state)
{
	(void)state;
	world.target.other_tail = rte_cpu_to_le_64((uintptr_t)world.target.queue + QUEUE + 1);
	round_add_append(ID, 0, &world.target.other_tail, PTR_KEY, DATA_KEY, "", 0);
	round_append_text("one");
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_TAIL, 0);
	round_expect(1, RDMO_STATUS_OK, (uintptr_t)world.target.queue);
	assert_int_equal(round_tail_at(), 3);
}

/* Payloads are anybody's: one that looks like a tail is none; and where tails are, no payload goes. */
static void
test_a_tail_that_was_appended(void **state)
{
	const rte_le64_t planted = rte_cpu_to_le_64((uintptr_t)world.target.memory + 64);
	rte_le64_t *const word = (void *)world.target.memory;

	(void)state;
	*word = rte_cpu_to_le_64((uintptr_t)&world.target.other_tail);
	round_add_append(ID, 0, &world.target.tail, PTR_KEY, DATA_KEY, &planted, sizeof(planted));
	round_add_append(ID, 0, world.target.queue, DATA_KEY, HERE_KEY, "x", 1);
	round_add_append(ID, 0, word, HERE_KEY, PTR_KEY, "x", 1);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, (uintptr_t)world.target.queue);
	round_expect(1, RDMO_STATUS_TAIL, 0);
	round_expect(2, RDMO_STATUS_TAIL, 0);
	assert_int_equal(world.target.memory[64], 0xa5);
	assert_int_equal(world.target.other_tail, rte_cpu_to_le_64((uintptr_t)world.target.queue));
}

/* Somebody else moves the tail: none of the round has been appended, and nothing more is. */
static void
test_a_foreign_move_of_the_tail(void **state)
{
	(void)state;
	round_append_text("one");
	round_run();
	rdmo_round_settle(&world.round);
	round_append_text("two");
	round_append_text("six");
	round_run();
	world.target.tail = rte_cpu_to_le_64((uintptr_t)world.target.queue + 100);
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, (uintptr_t)world.target.queue);
	round_expect(1, RDMO_STATUS_TAIL, 0);
	round_expect(2, RDMO_STATUS_TAIL, 0);
	round_append_text("end");
	round_add_flush(RDMO_FLAG_FENCE, 0);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(3, RDMO_STATUS_TAIL, 0);
	round_expect(4, RDMO_STATUS_TAIL, 2);
	assert_int_equal(round_tail_at(), 100);
}

/* ---- Scatter ---- */

static void
test_a_scatter_writes_its_pieces(void **state)
{
	const struct rdmo_scatter_iov iovs[] = {
		round_piece(world.target.memory + QUEUE - 3, WRITE_KEY, 3),
		round_piece(world.target.memory + 1, HERE_KEY, 5),
		round_piece(world.target.memory + QUEUE, WRITE_KEY, 0),
	};
	const void *const data[] = { "abc", "defgh", "" };

	(void)state;
	round_add_scatter(iovs, data, 3);
	round_run();
	assert_memory_equal(world.target.memory,
			    "\xa5"
			    "defgh\xa5",
			    7);
	assert_memory_equal(world.target.memory + QUEUE - 4,
			    "\xa5"
			    "abc",
			    4);
	round_expect(0, RDMO_STATUS_OK, 0);
}

/* The last piece is wrong: the first one is not written. */
static void
test_what_scatters_are_refused_for(void **state)
{
	const struct {
		struct rdmo_scatter_iov iov;
		enum rdmo_status status;
	} rows[] = {
		{ round_piece(world.target.memory, 99, 1), RDMO_STATUS_KEY },
		{ round_piece(world.target.memory, FOREIGN_KEY, 1), RDMO_STATUS_KEY },
		{ round_piece(world.target.memory, OTHER_RQ_KEY, 1), RDMO_STATUS_KEY },
		{ round_piece(world.target.memory, READ_KEY, 1), RDMO_STATUS_RIGHTS },
		{ round_piece(world.target.queue, DATA_KEY, 1), RDMO_STATUS_RIGHTS },
		{ round_piece(world.target.memory - 1, WRITE_KEY, 1), RDMO_STATUS_BOUNDS },
		{ round_piece(world.target.memory + QUEUE, WRITE_KEY, 1), RDMO_STATUS_BOUNDS },
		{ round_piece(world.target.memory + QUEUE - 7, WRITE_KEY, 8), RDMO_STATUS_BOUNDS },
		{ round_piece(world.target.memory + QUEUE + 1, WRITE_KEY, 0), RDMO_STATUS_BOUNDS },
	};
	const void *const data[] = { "abc", "12345678" };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		const struct rdmo_scatter_iov iovs[] = {
			round_piece(world.target.memory, WRITE_KEY, 3), rows[i].iov
		};

		round_add_scatter(iovs, data, 2);
		round_run();
		round_expect(i, rows[i].status, 0);
	}
	for (uint32_t i = 0; i < QUEUE; i++)
		assert_int_equal(world.target.memory[i] & world.target.queue[i], 0xa5);
}

/* ---- Flush ---- */

static void
test_a_flush_tells_of_the_first_failure_once(void **state)
{
	const struct rdmo_scatter_iov iov = round_piece(world.target.memory, READ_KEY, 1);
	const void *const data[] = { "a" };

	(void)state;
	round_add_flush(0, 0);
	round_append_text("one");
	round_add_scatter(&iov, data, 1); /* 3: RIGHTS, READ_KEY */
	round_add_append(ID, RDMO_FLAG_SILENT, &world.target.tail, PTR_KEY, 99, "",
			 0);		  /* 4: KEY, 99 */
	round_add_scatter(&iov, data, 1); /* 5 */
	round_add_flush(0, DATA_KEY);
	round_add_flush(0, READ_KEY);
	round_add_flush(0, READ_KEY);
	round_add_flush(0, 0);
	round_add_flush(0, 0);
	round_add_flush(0, 98);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, RDMO_NONE);
	assert_true(world.round.results[0].is_flushed);
	assert_int_equal(world.round.results[0].flush_id, 77);
	assert_true(world.round.results[3].is_silent);
	round_expect(5, RDMO_STATUS_OK, RDMO_NONE);
	round_expect(6, RDMO_STATUS_RIGHTS, 3);
	round_expect(7, RDMO_STATUS_OK, RDMO_NONE);
	round_expect(8, RDMO_STATUS_KEY, 4);
	round_expect(9, RDMO_STATUS_OK, RDMO_NONE);
	round_expect(10, RDMO_STATUS_KEY, 0);
	assert_false(world.round.results[10].is_flushed);
	assert_int_equal(world.flow.wrong_keys, 2);
}

/* Failures by more keys than there is room for are told by any FLUSH, rather than by none. */
static void
test_failures_without_room_are_told(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RDMO_FAILURES + 2; i++)
		round_add_append(ID, 0, &world.target.tail, PTR_KEY, 1000 + i, "", 0);
	round_add_flush(0, DATA_KEY);
	round_add_flush(0, DATA_KEY);
	round_add_flush(0, 0);
	round_run();
	rdmo_round_settle(&world.round);
	/* One of the places is the tail's key's, which all of them name. */
	round_expect(RDMO_FAILURES + 2, RDMO_STATUS_KEY, RDMO_FAILURES);
	round_expect(RDMO_FAILURES + 3, RDMO_STATUS_OK, RDMO_NONE);
	round_expect(RDMO_FAILURES + 4, RDMO_STATUS_KEY, 1);
}

static void
test_a_target_that_has_gone(void **state)
{
	(void)state;
	world.flow.is_lost = true;
	round_append_text("one");
	round_add_flush(0, 0);
	round_run();
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_TARGET_LOST, 0);
	round_expect(1, RDMO_STATUS_TARGET_LOST, 0);
	assert_int_equal(world.target.queue[0], 0xa5);
}

/* It is the first lane's that appends; another one does nothing but name it, and what is no append it does itself. */
static void
test_a_queue_belongs_to_one_lane(void **state)
{
	(void)state;
	/* A refusal makes nobody the owner. */
	world.round.lane = 5;
	round_add_append(ID, 0, &world.target.tail + 2, PTR_KEY, DATA_KEY, "", 0);
	round_run();
	assert_true(world.is_done);
	world.round.lane = 3;
	round_append_text("one");
	round_run();
	assert_true(world.is_done);
	rdmo_round_settle(&world.round);
	world.round.lane = 0;
	round_append_text("two");
	round_run();
	assert_false(world.is_done);
	assert_int_equal(world.round.elsewhere, 3);
	assert_int_equal(world.round.count, 2);
	/* What is refused there is refused here. */
	round_add_append(ID, 0, &world.target.tail, PTR_KEY, WRITE_KEY, "", 0);
	round_run();
	assert_true(world.is_done);
	round_expect(2, RDMO_STATUS_RIGHTS, 0);
	round_add_flush(0, DATA_KEY);
	round_run();
	assert_true(world.is_done);
	assert_memory_equal(world.target.queue, "one\xa5", 4);
	world.round.lane = 3;
	round_append_text("two");
	round_run();
	assert_true(world.is_done);
	assert_memory_equal(world.target.queue, "onetwo\xa5", 7);
}

/* ---- A tail that others move as well ---- */

/* By any lane; a run is reserved at once, as far as there is room: the rest is refused. */
static void
test_a_run_at_a_shared_tail(void **state)
{
	const uintptr_t at = (uintptr_t)world.target.queue + QUEUE - 30;

	(void)state;
	rdmo_region_begin_shared(&world.table[1]);
	world.target.tail = rte_cpu_to_le_64(at);
	for (uint32_t i = 0; i < 5; i++)
		round_add_append(ID, 0, &world.target.tail, PTR_KEY, DATA_KEY, &"abcde"[i], 1);
	round_run_by(true);
	world.round.lane = 7;
	for (uint32_t i = 0; i < 5; i++)
		round_append_text("12345678");
	round_run_by(true);
	rdmo_round_settle(&world.round);
	assert_int_equal(world.round.count, 10);
	assert_int_equal(world.round.results[0].count, 5);
	round_expect(0, RDMO_STATUS_OK, at);
	assert_int_equal(world.round.results[0].second, at + 1);
	assert_int_equal(world.round.results[0].step, 1);
	assert_int_equal(world.round.results[1].count, 3);
	round_expect(1, RDMO_STATUS_OK, at + 5);
	round_expect(2, RDMO_STATUS_FULL, 0);
	round_expect(3, RDMO_STATUS_FULL, 0);
	assert_memory_equal((const void *)at, "abcde123456781234567812345678\xa5", 30);
	assert_int_equal(round_tail_at(), QUEUE - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, round_set_up, round_tear_down)

/* ---- Appends that are alike ---- */

#define ALIKE 24u

/* What each operation has come to. */
struct outcome {
	struct {
		uint64_t seq, value;
		enum rdmo_status status;
		bool is_silent;
	} each[ALIKE];
	uint32_t count;
	uint64_t tail;
	uint8_t queue[QUEUE];
};

static uint32_t
below(uint64_t *random, uint32_t limit)
{
	*random = *random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*random >> 33) % limit;
}

/* A message that is drawn: mostly of appends that are alike. */
static void
draw(uint64_t *random)
{
	static const uint32_t flags[] = { 0, RDMO_FLAG_SILENT, RDMO_FLAG_FENCE };
	uint8_t payload[100];
	uint32_t n = 1 + below(random, ALIKE), bytes = 64, flag = 0, keys = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (below(random, 6) == 0) {
			bytes = below(random, sizeof(payload));
			flag = flags[below(random, 3)];
			keys = below(random, 4);
		}
		for (uint32_t k = 0; k < bytes; k++)
			payload[k] = (uint8_t)below(random, 256);
		round_add_append(keys == 1 ? ID + 1 : ID, flag, &world.target.tail, PTR_KEY,
				 keys == 2 ? HERE_KEY : DATA_KEY, payload, bytes);
	}
}

static void
outcome_of(bool at_once, uint64_t random, struct outcome *outcome)
{
	void *nothing = NULL;

	round_tear_down(&nothing);
	round_set_up(&nothing);
	draw(&random);
	round_run_by(at_once);
	if (below(&random, 4) == 0)
		world.target.tail = rte_cpu_to_le_64((uintptr_t)world.target.queue + 8);
	rdmo_round_settle(&world.round);
	*outcome = (struct outcome){ .count = world.round.count, .tail = round_tail_at() };
	for (uint32_t i = 0, at = 0; i < world.round.result_count; i++)
		for (uint32_t k = 0; k < world.round.results[i].count; k++, at++) {
			const struct rdmo_result *result = &world.round.results[i];

			outcome->each[at].seq = result->seq + k;
			outcome->each[at].status = result->status;
			outcome->each[at].is_silent = result->is_silent;
			if (result->status == RDMO_STATUS_OK)
				outcome->each[at].value =
					k == 0 ? result->value
					       : result->second + (k - 1) * result->step;
		}
	memcpy(outcome->queue, world.target.queue, sizeof(world.target.queue));
}

static void
test_appends_that_are_alike_are_what_they_are_one_by_one(void **state)
{
	static struct outcome one_by_one, at_once;
	uint64_t random = 42;
	uint32_t fewer = 0;

	(void)state;
	for (uint32_t round = 0; round < 5000; round++) {
		below(&random, 1);
		outcome_of(false, random, &one_by_one);
		outcome_of(true, random, &at_once);
		assert_memory_equal(&at_once, &one_by_one, sizeof(at_once));
		fewer += world.round.result_count < world.round.count;
	}
	assert_true(fewer > 1000);
}

static const struct CMUnitTest tests[] = {
	TEST(test_appends_lie_behind_each_other_and_are_published_at_the_end),
	TEST(test_a_fence_publishes_what_is_before_it),
	TEST(test_what_appends_are_refused_for),
	TEST(test_numbers_are_changed_in_place),
	TEST(test_a_put_signals),
	TEST(test_what_asks_for_it_is_counted_for_the_target),
	TEST(test_a_queue_takes_what_fits_to_its_last_byte),
	TEST(test_a_word_that_is_no_tail),
	TEST(test_a_tail_that_was_appended),
	TEST(test_a_foreign_move_of_the_tail),
	TEST(test_a_scatter_writes_its_pieces),
	TEST(test_what_scatters_are_refused_for),
	TEST(test_a_flush_tells_of_the_first_failure_once),
	TEST(test_failures_without_room_are_told),
	TEST(test_a_target_that_has_gone),
	TEST(test_a_queue_belongs_to_one_lane),
	TEST(test_a_run_at_a_shared_tail),
	TEST(test_appends_that_are_alike_are_what_they_are_one_by_one),
};

PLAIN_MAIN("rdmo-round", tests)
