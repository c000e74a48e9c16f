/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Execution of operations in memory of this process: what each does, each refusal, what a refused one leaves as it was, what is
 * published when, and what a FLUSH tells; and what is to be written to another process's. Messages are written and read by message.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "main.h"
#include "rdmo/round.h"

#define ID     UINT64_C(0xa1)
#define CLIENT UINT64_C(5)
#define RQ     UINT64_C(9)
#define QUEUE  1024
#define ALL    RDMO_RIGHTS_ALL

enum { PTR_KEY = 100, DATA_KEY, WRITE_KEY, READ_KEY, FOREIGN_KEY, OTHER_RQ_KEY, HERE_KEY };

static struct {
	rte_le64_t tail, other_tail;
	uint8_t queue[QUEUE], memory[QUEUE];
} target;

static struct rdmo_map regions;
static struct rdmo_region table[7];
static struct rdmo_flow flow;
static struct rdmo_round round_;
static _Alignas(8) uint8_t message[8192];
static struct rdmo_writer writer;
static uint64_t next_seq;
static bool is_done; /* the last operation that was run */

static void
offer(uint32_t i, void *at, uint64_t len, uint32_t rights, uint64_t client, uint64_t rq_id)
{
	table[i] = (struct rdmo_region){
		.key = PTR_KEY + i,
		.client = client,
		.rq_id = rq_id,
		.va = (uintptr_t)at,
		.len = len,
		.rights = rights,
	};
	assert_int_equal(rdmo_map_put(&regions, table[i].key, &table[i]), 0);
}

static void
begin_message(void)
{
	rdmo_writer_begin(&writer, message, sizeof(message), RDMO_MSG_REQUESTS, 1, next_seq);
}

static int
set_up(void **state)
{
	(void)state;
	memset(&target, 0xa5, sizeof(target));
	target.tail = target.other_tail = rte_cpu_to_le_64((uintptr_t)target.queue);
	assert_int_equal(rdmo_map_open(&regions, RTE_DIM(table)), 0);
	offer(0, &target.tail, 16, RDMO_RIGHT_APPEND, CLIENT, 0);
	offer(1, target.queue, QUEUE, RDMO_RIGHT_APPEND, CLIENT, RQ);
	offer(2, target.memory, QUEUE, RDMO_RIGHT_WRITE, CLIENT, 0);
	offer(3, target.memory, QUEUE, RDMO_RIGHT_READ, CLIENT, 0);
	offer(4, target.memory, QUEUE, ALL, CLIENT + 1, 0);
	offer(5, target.memory, QUEUE, ALL, CLIENT, RQ + 1);
	offer(6, target.memory, QUEUE, ALL, CLIENT, RQ);
	rdmo_flow_begin(&flow, ID, CLIENT, RQ);
	round_.writes = NULL;
	rdmo_round_begin(&round_);
	round_.lane = 0;
	next_seq = 1;
	begin_message();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	rdmo_map_close(&regions);
	return 0;
}

/* Execute what was written, in one round that is not settled; those that are alike one by one, or at once. */
static void
run_by(bool at_once)
{
	struct rdmo_reader reader;
	struct rdmo_request request;
	const uint32_t bytes = rdmo_writer_end(&writer, 0);

	assert_int_equal(rdmo_requests_open(&reader, message, bytes, 1), RDMO_REASON_NONE);
	while (rdmo_requests_next(&reader, &request)) {
		assert_int_equal(request.seq, next_seq);
		is_done = rdmo_round_execute(&round_, &regions, &flow, &request);
		if (at_once)
			rdmo_round_go_on(&round_, &request, &reader, RDMO_ROUND - round_.count);
		next_seq = reader.seq;
	}
	begin_message();
}

static void
run(void)
{
	run_by(false);
}

static void
add_append(uint64_t id, uint32_t flags, const void *word, uint64_t ptr_key, uint64_t data_key,
	   const void *payload, uint32_t bytes)
{
	const struct rdmo_append_hdr hdr = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)word),
		.ptr_rkey = rte_cpu_to_le_64(ptr_key),
		.data_rkey = rte_cpu_to_le_64(data_key),
	};

	assert_true(rdmo_writer_append(&writer, id, flags, &hdr, payload, bytes));
}

static void
append_text(const char *text)
{
	add_append(ID, 0, &target.tail, PTR_KEY, DATA_KEY, text, (uint32_t)strlen(text));
}

static void
add_flush(uint32_t flags, uint64_t key)
{
	const struct rdmo_flush_hdr hdr = {
		.flush_id = rte_cpu_to_le_64(77),
		.key = rte_cpu_to_le_64(key),
	};

	assert_true(rdmo_writer_flush(&writer, ID, flags, &hdr));
}

static uint64_t
tail_at(void)
{
	return rte_le_to_cpu_64(target.tail) - (uintptr_t)target.queue;
}

static void
expect(uint32_t i, enum rdmo_status status, uint64_t value)
{
	if (round_.results[i].status != status || round_.results[i].value != value)
		fail_msg("result %u: status %u, value %#lx", i, round_.results[i].status,
			 (unsigned long)round_.results[i].value);
}

/* ---- Appends ---- */

static void
test_appends_lie_behind_each_other_and_are_published_at_the_end(void **state)
{
	const uintptr_t at = (uintptr_t)target.queue;

	(void)state;
	append_text("one");
	append_text("");
	append_text("three");
	run();
	assert_int_equal(tail_at(), 0);
	rdmo_round_settle(&round_);
	assert_int_equal(tail_at(), 8);
	assert_memory_equal(target.queue, "onethree\xa5", 9);
	expect(0, RDMO_STATUS_OK, at);
	expect(1, RDMO_STATUS_OK, at + 3);
	expect(2, RDMO_STATUS_OK, at + 3);
}

static void
test_a_fence_publishes_what_is_before_it(void **state)
{
	(void)state;
	append_text("one");
	add_flush(RDMO_FLAG_FENCE, 0);
	append_text("two");
	run();
	assert_int_equal(tail_at(), 3);
	rdmo_round_settle(&round_);
	assert_int_equal(tail_at(), 6);
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
		{ ID + 1, PTR_KEY, DATA_KEY, &target.tail, 0, 8, RDMO_STATUS_CLIENT },
		{ ID, 99, DATA_KEY, &target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, 99, &target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, FOREIGN_KEY, &target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, PTR_KEY, OTHER_RQ_KEY, &target.tail, 0, 8, RDMO_STATUS_KEY },
		{ ID, WRITE_KEY, DATA_KEY, &target.tail, 0, 8, RDMO_STATUS_RIGHTS },
		{ ID, PTR_KEY, WRITE_KEY, &target.tail, 0, 8, RDMO_STATUS_RIGHTS },
		{ ID, PTR_KEY, DATA_KEY, &target.tail + 2, 0, 8, RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, &target.tail - 1, 0, 8, RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, (void *)(uintptr_t)(UINT64_MAX - 15), 0, 8,
		  RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, (uint8_t *)&target.tail + 4, 0, 8, RDMO_STATUS_BOUNDS },
		{ ID, PTR_KEY, DATA_KEY, &target.tail, 0, QUEUE - 2, RDMO_STATUS_FULL },
		{ ID, PTR_KEY, DATA_KEY, &target.other_tail, 0, 8, RDMO_STATUS_TAIL },
		{ ID, PTR_KEY, HERE_KEY, &target.tail, 0, 8,
		  RDMO_STATUS_TAIL }, /* in another region */
		{ ID, PTR_KEY, DATA_KEY, &target.tail, RDMO_FLAG_NOTIFY, 8, RDMO_STATUS_NOTSUP },
	};

	(void)state;
	append_text("one");
	run();
	rdmo_round_settle(&round_);
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		add_append(rows[i].id, rows[i].flags, rows[i].word, rows[i].ptr_key,
			   rows[i].data_key, large, rows[i].bytes);
		run();
		rdmo_round_settle(&round_);
		expect(1 + i, rows[i].status, 0);
		assert_int_equal(tail_at(), 3);
		assert_int_equal(target.queue[3], 0xa5);
		assert_int_equal(target.memory[0], 0xa5);
	}
	append_text("two");
	run();
	rdmo_round_settle(&round_);
	assert_memory_equal(target.queue, "onetwo\xa5", 7);
	assert_int_equal(tail_at(), 6);
}

static void
test_a_queue_takes_what_fits_to_its_last_byte(void **state)
{
	static uint8_t whole[QUEUE];

	(void)state;
	add_append(ID, 0, &target.tail, PTR_KEY, DATA_KEY, whole, QUEUE);
	add_append(ID, 0, &target.tail, PTR_KEY, DATA_KEY, whole, 1);
	run();
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_OK, (uintptr_t)target.queue);
	expect(1, RDMO_STATUS_FULL, 0);
	assert_int_equal(tail_at(), QUEUE);
	assert_int_equal(target.memory[0], 0xa5);
}

/* A word that is no tail of this queue does not become it by being named first. */
static void
test_a_word_that_is_no_tail(void **state)
{
	(void)state;
	target.other_tail = rte_cpu_to_le_64((uintptr_t)target.queue + QUEUE + 1);
	add_append(ID, 0, &target.other_tail, PTR_KEY, DATA_KEY, "", 0);
	append_text("one");
	run();
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_TAIL, 0);
	expect(1, RDMO_STATUS_OK, (uintptr_t)target.queue);
	assert_int_equal(tail_at(), 3);
}

/* Somebody else moves the tail: none of the round has been appended, and nothing more is. */
static void
test_a_foreign_move_of_the_tail(void **state)
{
	(void)state;
	append_text("one");
	run();
	rdmo_round_settle(&round_);
	append_text("two");
	append_text("six");
	run();
	target.tail = rte_cpu_to_le_64((uintptr_t)target.queue + 100);
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_OK, (uintptr_t)target.queue);
	expect(1, RDMO_STATUS_TAIL, 0);
	expect(2, RDMO_STATUS_TAIL, 0);
	append_text("end");
	add_flush(RDMO_FLAG_FENCE, 0);
	run();
	rdmo_round_settle(&round_);
	expect(3, RDMO_STATUS_TAIL, 0);
	expect(4, RDMO_STATUS_TAIL, 2);
	assert_int_equal(tail_at(), 100);
}

/* ---- Scatter ---- */

static void
add_scatter(const struct rdmo_scatter_iov *iovs, const void *const *data, uint32_t count)
{
	assert_true(rdmo_writer_scatter(&writer, ID, 0, iovs, data, count));
}

static struct rdmo_scatter_iov
piece(const void *at, uint64_t key, uint32_t len)
{
	return (struct rdmo_scatter_iov){
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.len = rte_cpu_to_le_32(len),
	};
}

static void
test_a_scatter_writes_its_pieces(void **state)
{
	const struct rdmo_scatter_iov iovs[] = {
		piece(target.memory + QUEUE - 3, WRITE_KEY, 3),
		piece(target.memory + 1, HERE_KEY, 5),
		piece(target.memory + QUEUE, WRITE_KEY, 0),
	};
	const void *const data[] = { "abc", "defgh", "" };

	(void)state;
	add_scatter(iovs, data, 3);
	run();
	assert_memory_equal(target.memory,
			    "\xa5"
			    "defgh\xa5",
			    7);
	assert_memory_equal(target.memory + QUEUE - 4,
			    "\xa5"
			    "abc",
			    4);
	expect(0, RDMO_STATUS_OK, 0);
}

/* The last piece is wrong: the first one is not written. */
static void
test_what_scatters_are_refused_for(void **state)
{
	const struct {
		struct rdmo_scatter_iov iov;
		enum rdmo_status status;
	} rows[] = {
		{ piece(target.memory, 99, 1), RDMO_STATUS_KEY },
		{ piece(target.memory, FOREIGN_KEY, 1), RDMO_STATUS_KEY },
		{ piece(target.memory, OTHER_RQ_KEY, 1), RDMO_STATUS_KEY },
		{ piece(target.memory, READ_KEY, 1), RDMO_STATUS_RIGHTS },
		{ piece(target.queue, DATA_KEY, 1), RDMO_STATUS_RIGHTS },
		{ piece(target.memory - 1, WRITE_KEY, 1), RDMO_STATUS_BOUNDS },
		{ piece(target.memory + QUEUE, WRITE_KEY, 1), RDMO_STATUS_BOUNDS },
		{ piece(target.memory + QUEUE - 7, WRITE_KEY, 8), RDMO_STATUS_BOUNDS },
		{ piece(target.memory + QUEUE + 1, WRITE_KEY, 0), RDMO_STATUS_BOUNDS },
	};
	const void *const data[] = { "abc", "12345678" };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		const struct rdmo_scatter_iov iovs[] = { piece(target.memory, WRITE_KEY, 3),
							 rows[i].iov };

		add_scatter(iovs, data, 2);
		run();
		expect(i, rows[i].status, 0);
	}
	for (uint32_t i = 0; i < QUEUE; i++)
		assert_int_equal(target.memory[i] & target.queue[i], 0xa5);
}

/* ---- Flush ---- */

static void
test_a_flush_tells_of_the_first_failure_once(void **state)
{
	const struct rdmo_scatter_iov iov = piece(target.memory, READ_KEY, 1);
	const void *const data[] = { "a" };

	(void)state;
	add_flush(0, 0);
	append_text("one");
	add_scatter(&iov, data, 1); /* 3: RIGHTS, READ_KEY */
	add_append(ID, RDMO_FLAG_SILENT, &target.tail, PTR_KEY, 99, "", 0); /* 4: KEY, 99 */
	add_scatter(&iov, data, 1);					    /* 5 */
	add_flush(0, DATA_KEY);
	add_flush(0, READ_KEY);
	add_flush(0, READ_KEY);
	add_flush(0, 0);
	add_flush(0, 0);
	add_flush(0, 98);
	run();
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_OK, RDMO_NONE);
	assert_true(round_.results[0].is_flushed);
	assert_int_equal(round_.results[0].flush_id, 77);
	assert_true(round_.results[3].is_silent);
	expect(5, RDMO_STATUS_OK, RDMO_NONE);
	expect(6, RDMO_STATUS_RIGHTS, 3);
	expect(7, RDMO_STATUS_OK, RDMO_NONE);
	expect(8, RDMO_STATUS_KEY, 4);
	expect(9, RDMO_STATUS_OK, RDMO_NONE);
	expect(10, RDMO_STATUS_KEY, 0);
	assert_false(round_.results[10].is_flushed);
	assert_int_equal(flow.wrong_keys, 2);
}

/* Failures by more keys than there is room for are told by any FLUSH, rather than by none. */
static void
test_failures_without_room_are_told(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RDMO_FAILURES + 2; i++)
		add_append(ID, 0, &target.tail, PTR_KEY, 1000 + i, "", 0);
	add_flush(0, DATA_KEY);
	add_flush(0, DATA_KEY);
	add_flush(0, 0);
	run();
	rdmo_round_settle(&round_);
	expect(RDMO_FAILURES + 2, RDMO_STATUS_KEY, RDMO_FAILURES + 1);
	expect(RDMO_FAILURES + 3, RDMO_STATUS_OK, RDMO_NONE);
	expect(RDMO_FAILURES + 4, RDMO_STATUS_KEY, 1);
}

static void
test_a_target_that_has_gone(void **state)
{
	(void)state;
	flow.is_lost = true;
	append_text("one");
	add_flush(0, 0);
	run();
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_TARGET_LOST, 0);
	expect(1, RDMO_STATUS_TARGET_LOST, 0);
	assert_int_equal(target.queue[0], 0xa5);
}

/* It is the first lane's that appends; another one does nothing but name it, and what is no append it does itself. */
static void
test_a_queue_belongs_to_one_lane(void **state)
{
	(void)state;
	/* A refusal makes nobody the owner. */
	round_.lane = 5;
	add_append(ID, 0, &target.tail + 2, PTR_KEY, DATA_KEY, "", 0);
	run();
	assert_true(is_done);
	round_.lane = 3;
	append_text("one");
	run();
	assert_true(is_done);
	rdmo_round_settle(&round_);
	round_.lane = 0;
	append_text("two");
	run();
	assert_false(is_done);
	assert_int_equal(round_.elsewhere, 3);
	assert_int_equal(round_.count, 2);
	/* What is refused there is refused here. */
	add_append(ID, 0, &target.tail, PTR_KEY, WRITE_KEY, "", 0);
	run();
	assert_true(is_done);
	expect(2, RDMO_STATUS_RIGHTS, 0);
	add_flush(0, DATA_KEY);
	run();
	assert_true(is_done);
	assert_memory_equal(target.queue, "one\xa5", 4);
	round_.lane = 3;
	append_text("two");
	run();
	assert_true(is_done);
	assert_memory_equal(target.queue, "onetwo\xa5", 7);
}

/* ---- A tail that others move as well ---- */

/* By any lane; a run is reserved at once, as far as there is room: the rest is refused. */
static void
test_a_run_at_a_shared_tail(void **state)
{
	const uintptr_t at = (uintptr_t)target.queue + QUEUE - 30;

	(void)state;
	rdmo_region_begin_shared(&table[1]);
	target.tail = rte_cpu_to_le_64(at);
	for (uint32_t i = 0; i < 5; i++)
		add_append(ID, 0, &target.tail, PTR_KEY, DATA_KEY, &"abcde"[i], 1);
	run_by(true);
	round_.lane = 7;
	for (uint32_t i = 0; i < 5; i++)
		append_text("12345678");
	run_by(true);
	rdmo_round_settle(&round_);
	assert_int_equal(round_.count, 10);
	assert_int_equal(round_.results[0].count, 5);
	expect(0, RDMO_STATUS_OK, at);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(round_.values[round_.results[0].first + i - 1], at + i);
	assert_int_equal(round_.results[1].count, 3);
	expect(1, RDMO_STATUS_OK, at + 5);
	expect(2, RDMO_STATUS_FULL, 0);
	expect(3, RDMO_STATUS_FULL, 0);
	assert_memory_equal((const void *)at, "abcde123456781234567812345678\xa5", 30);
	assert_int_equal(tail_at(), QUEUE - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
		add_append(keys == 1 ? ID + 1 : ID, flag, &target.tail, PTR_KEY,
			   keys == 2 ? HERE_KEY : DATA_KEY, payload, bytes);
	}
}

static void
outcome_of(bool at_once, uint64_t random, struct outcome *outcome)
{
	void *nothing = NULL;

	tear_down(&nothing);
	set_up(&nothing);
	draw(&random);
	run_by(at_once);
	if (below(&random, 4) == 0)
		target.tail = rte_cpu_to_le_64((uintptr_t)target.queue + 8);
	rdmo_round_settle(&round_);
	*outcome = (struct outcome){ .count = round_.count, .tail = tail_at() };
	for (uint32_t i = 0, at = 0; i < round_.result_count; i++)
		for (uint32_t k = 0; k < round_.results[i].count; k++, at++) {
			const struct rdmo_result *result = &round_.results[i];

			outcome->each[at].seq = result->seq + k;
			outcome->each[at].status = result->status;
			outcome->each[at].is_silent = result->is_silent;
			if (result->status == RDMO_STATUS_OK)
				outcome->each[at].value =
					k == 0 ? result->value
					       : round_.values[result->first + k - 1];
		}
	memcpy(outcome->queue, target.queue, sizeof(target.queue));
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
		fewer += round_.result_count < round_.count;
	}
	assert_true(fewer > 1000);
}

/* ---- A target in another process ---- */

#define RKEY 7000 /* and the number of the region */

static struct rdmo_write written[80];
static struct rdmo_writes writes = { .all = written, .room = RTE_DIM(written) };

/* All that is offered is another process's: nothing of it can be touched here. */
static void
make_remote(void)
{
	for (uint32_t i = 0; i < RTE_DIM(table); i++) {
		table[i].remote = (void *)&table; /* not looked at */
		table[i].rkey = RKEY + i;
	}
	round_.writes = &writes;
	rdmo_round_begin(&round_);
}

/* The tail is read: the message is executed once more, as its connection has the next turn. */
static void
look(uint64_t tail)
{
	assert_ptr_equal(round_.look.queue, &table[1]);
	rdmo_region_seen(round_.look.queue, round_.look.word, tail);
	rdmo_round_begin(&round_);
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
	append_text("one");
	run();
	assert_false(is_done);
	assert_int_equal(round_.elsewhere, RDMO_LATER);
	assert_int_equal(round_.count, 0);
	assert_int_equal(round_.look.word, (uintptr_t)&target.tail);
	assert_int_equal(round_.look.rkey, RKEY);
	/* It is none: it is read again for the next one. */
	look((uintptr_t)target.queue + QUEUE + 1);
	append_text("two");
	run();
	expect(0, RDMO_STATUS_TAIL, 0);
	append_text("six");
	run();
	assert_false(is_done);
}

static void
test_what_is_to_be_written_to_a_remote_target(void **state)
{
	const uint64_t at = (uintptr_t)target.queue + 10;
	const struct rdmo_scatter_iov iovs[] = { piece(target.memory, WRITE_KEY, 2),
						 piece(target.memory, WRITE_KEY, 0),
						 piece(target.memory + 9, HERE_KEY, 3) };
	const void *const data[] = { "ab", "", "cde" };
	struct rdmo_tail_move move;

	(void)state;
	make_remote();
	append_text("");
	run();
	look(at);
	append_text("one");
	append_text("");
	append_text("three");
	add_scatter(iovs, data, 3);
	run();
	assert_int_equal(writes.count, 4);
	expect_write(0, at, "one", RKEY + 1);
	expect_write(1, at + 3, "three", RKEY + 1);
	expect_write(2, (uintptr_t)target.memory, "ab", RKEY + 2);
	expect_write(3, (uintptr_t)target.memory + 9, "cde", RKEY + 6);
	assert_int_equal(round_.due, 1);
	assert_int_equal(table[1].word_rkey, RKEY);
	move = rdmo_tail_move(rdmo_region_tail(round_.queues[0]));
	assert_int_equal(move.compare, at);
	assert_int_equal(move.swap, at + 8);
	rdmo_round_moved(&round_, 0, &move, at);
	rdmo_round_conclude(&round_);
	expect(0, RDMO_STATUS_OK, at);
	expect(2, RDMO_STATUS_OK, at + 3);
	expect(3, RDMO_STATUS_OK, 0);
	assert_memory_equal(target.queue, "\xa5\xa5", 2);
}

/* Somebody else has moved it, or nobody knows: what was in the round is not told as done, and a FLUSH tells of it. */
static void
test_a_remote_round_that_fails(void **state)
{
	const uint64_t at = (uintptr_t)target.queue;
	struct rdmo_tail_move move;

	(void)state;
	for (uint32_t is_lost = 0; is_lost < 2; is_lost++) {
		const enum rdmo_status status =
			is_lost ? RDMO_STATUS_TARGET_LOST : RDMO_STATUS_TAIL;

		table[1].has_tail = false;
		make_remote();
		append_text("");
		run();
		look(at);
		append_text("one");
		add_flush(0, 0);
		run();
		move = rdmo_tail_move(rdmo_region_tail(round_.queues[0]));
		if (is_lost)
			rdmo_round_lose(&round_);
		else
			rdmo_round_moved(&round_, 0, &move, at + 1);
		rdmo_round_conclude(&round_);
		expect(0, status, 0);
		expect(1, status, round_.results[0].seq);
		/* And nothing more is appended. */
		rdmo_round_begin(&round_);
		append_text("two");
		run();
		expect(0, RDMO_STATUS_TAIL, 0);
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
	assert_true(rdmo_round_takes(&round_, &request));
	add_flush(0, 0);
	run();
	assert_int_equal(round_.count, 1);
	assert_false(rdmo_round_takes(&round_, &request));
	request = (struct rdmo_request){ .op_id = RDMO_OP_SCATTER, .count = RTE_DIM(written) };
	assert_true(rdmo_round_takes(&round_, &request));
	request.count++;
	assert_false(rdmo_round_takes(&round_, &request));
	/* Here both are taken. */
	round_.writes = NULL;
	assert_true(rdmo_round_takes(&round_, &request));
}

static const struct CMUnitTest tests[] = {
	TEST(test_appends_lie_behind_each_other_and_are_published_at_the_end),
	TEST(test_a_fence_publishes_what_is_before_it),
	TEST(test_what_appends_are_refused_for),
	TEST(test_a_queue_takes_what_fits_to_its_last_byte),
	TEST(test_a_word_that_is_no_tail),
	TEST(test_a_foreign_move_of_the_tail),
	TEST(test_a_scatter_writes_its_pieces),
	TEST(test_what_scatters_are_refused_for),
	TEST(test_a_flush_tells_of_the_first_failure_once),
	TEST(test_failures_without_room_are_told),
	TEST(test_a_target_that_has_gone),
	TEST(test_a_queue_belongs_to_one_lane),
	TEST(test_a_run_at_a_shared_tail),
	TEST(test_appends_that_are_alike_are_what_they_are_one_by_one),
	TEST(test_a_remote_tail_is_read_first),
	TEST(test_what_is_to_be_written_to_a_remote_target),
	TEST(test_a_remote_round_that_fails),
	TEST(test_what_a_remote_round_takes),
};

PLAIN_MAIN("rdmo-round", tests)
