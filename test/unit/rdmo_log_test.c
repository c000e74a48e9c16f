/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Appends to a log in memory of this process: what lies where, each refusal and what it leaves as it was, a ring that goes round and
 * comes to be full, what is known of an operation that is sent again, and a log that another worker has served.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "main.h"
#include "rdmo/record.h"
#include "rdmo/round.h"

#define ID	  UINT64_C(0xa1)
#define CLIENT	  UINT64_C(5)
#define RQ	  UINT64_C(9)
#define CAPACITY  4096
#define PRODUCERS 2

enum { LOG_KEY = 100, WORD_KEY, QUEUE_KEY, READ_KEY };

static struct {
	rte_le64_t tail;
	uint8_t queue[64];
} target;

static struct rdmo_log_header *header;
static uint64_t bytes_of_log;
static struct rdmo_map regions;
static struct rdmo_region table[4];
static struct rdmo_flow flow;
static struct rdmo_round round_;
static _Alignas(8) uint8_t message[16384];
static struct rdmo_writer writer;
static uint64_t next_seq;
static bool
	with_runs; /* those that differ in their payloads alone are executed together, as a worker does it */

static void
offer(uint32_t i, void *at, uint64_t len, uint32_t rights)
{
	table[i] = (struct rdmo_region){
		.key = LOG_KEY + i,
		.client = CLIENT,
		.rq_id = RQ,
		.va = (uintptr_t)at,
		.len = len,
		.rights = rights,
	};
}

static void
begin_message(void)
{
	rdmo_writer_begin(&writer, message, sizeof(message), RDMO_MSG_REQUESTS, 1, next_seq);
}

static enum rdmo_status
begin_log(struct rdmo_region *region)
{
	return rdmo_region_begin_log(region, (void *)(uintptr_t)region->va);
}

/* A worker serves it: the first one, or the next. */
static void
serve(void)
{
	offer(0, header, bytes_of_log, RDMO_RIGHT_APPEND);
	assert_int_equal(begin_log(&table[0]), RDMO_STATUS_OK);
	assert_int_equal(table[0].key, LOG_KEY);
}

static int
set_up(void **state)
{
	(void)state;
	memset(&target, 0xa5, sizeof(target));
	target.tail = rte_cpu_to_le_64((uintptr_t)target.queue);
	bytes_of_log = rdmo_log_bytes(CAPACITY, PRODUCERS);
	header = aligned_alloc(64, bytes_of_log);
	assert_non_null(header);
	memset(header, 0xa5, bytes_of_log);
	rdmo_log_format(header, CAPACITY, PRODUCERS);
	serve();
	offer(1, &target.tail, 8, RDMO_RIGHT_APPEND);
	offer(2, target.queue, sizeof(target.queue), RDMO_RIGHT_APPEND);
	offer(3, header, bytes_of_log, RDMO_RIGHT_READ);
	assert_int_equal(rdmo_map_open(&regions, RTE_DIM(table)), 0);
	for (uint32_t i = 0; i < RTE_DIM(table); i++)
		assert_int_equal(rdmo_map_put(&regions, table[i].key, &table[i]), 0);
	rdmo_flow_begin(&flow, ID, CLIENT, RQ);
	flow.producer = 1;
	rdmo_round_begin(&round_);
	next_seq = 1;
	begin_message();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	rdmo_map_close(&regions);
	free(header);
	return 0;
}

/* Execute what was written, in one round that is not settled. */
static void
run(void)
{
	const uint32_t bytes = rdmo_writer_end(&writer, 0);
	struct rdmo_request request;
	struct rdmo_reader reader;

	rdmo_round_begin(&round_);
	assert_int_equal(rdmo_requests_open(&reader, message, bytes, 1), RDMO_REASON_NONE);
	while (rdmo_requests_next(&reader, &request)) {
		rdmo_round_execute(&round_, &regions, &flow, &request);
		if (with_runs)
			rdmo_round_go_on(&round_, &request, &reader, RDMO_ROUND - round_.count);
	}
	next_seq += round_.count;
	begin_message();
}

static void
settle(void)
{
	run();
	rdmo_round_settle(&round_);
}

static void
add(uint32_t flags, const void *word, uint64_t ptr_key, uint64_t data_key, uint32_t bytes)
{
	static uint8_t payload[CAPACITY];
	const struct rdmo_append_hdr hdr = {
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)word),
		.ptr_rkey = rte_cpu_to_le_64(ptr_key),
		.data_rkey = rte_cpu_to_le_64(data_key),
	};

	/* Of the operation's number, as far as a byte has it. */
	memset(payload, (uint8_t)(next_seq + writer.count), bytes);
	assert_true(rdmo_writer_append(&writer, ID, flags, &hdr, payload, bytes));
}

static void
append(uint32_t bytes)
{
	add(0, header, LOG_KEY, LOG_KEY, bytes);
}

/* Again, as from this number on; those before `replayed` were posted already. */
static void
again_from(uint64_t seq, uint64_t replayed)
{
	next_seq = seq;
	flow.replayed = replayed;
	begin_message();
}

static void
expect(uint32_t i, enum rdmo_status status, uint64_t value)
{
	if (round_.results[i].status != status || round_.results[i].value != value)
		fail_msg("result %u: status %u, value %#lx", i, round_.results[i].status,
			 (unsigned long)round_.results[i].value);
}

static uint64_t
tail_of(void)
{
	return rte_le_to_cpu_64(header->tail);
}

static struct rdmo_log_view
view_of(void)
{
	return (struct rdmo_log_view){
		.ring = (uint8_t *)header + rdmo_log_ring_offset(PRODUCERS),
		.capacity = CAPACITY,
		.tail = tail_of(),
	};
}

static void
release(uint64_t position)
{
	header->head = rte_cpu_to_le_64(position);
}

/* ---- Appends ---- */

static void
test_records_are_published_at_the_end(void **state)
{
	struct rdmo_log_view view;
	struct rdmo_log_record found;
	uint64_t position = 0;

	(void)state;
	append(8);
	append(0);
	append(33);
	run();
	assert_int_equal(tail_of(), 0);
	rdmo_round_settle(&round_);
	assert_int_equal(tail_of(), 64 + 32 + 96);
	expect(0, RDMO_STATUS_OK, 0);
	expect(1, RDMO_STATUS_OK, 64);
	expect(2, RDMO_STATUS_OK, 96);
	view = view_of();
	for (uint64_t seq = 1; seq <= 3; seq++, position = found.next) {
		static const uint32_t lengths[] = { 8, 0, 33 };

		assert_int_equal(rdmo_record_find(&view, position, &found), 1);
		assert_int_equal(found.seq, seq);
		assert_int_equal(found.producer, 1);
		assert_int_equal(found.length, lengths[seq - 1]);
		for (uint32_t i = 0; i < found.length; i++)
			assert_int_equal(((const uint8_t *)found.payload)[i], seq);
	}
	assert_int_equal(rdmo_record_find(&view, position, &found), 0);
	assert_int_equal(rdmo_region_next_seq(&table[0], 1), 4);
	assert_int_equal(rdmo_region_next_seq(&table[0], 0), 0);
	assert_int_equal(rdmo_region_next_seq(&table[0], PRODUCERS), 0);
}

/* Round and round, and at last a tail that somebody else moves. Returns how many results there were. */
static uint32_t
append_many(void)
{
	static const uint32_t sizes[] = { 0, 8, 33, 64, 65, 200 };
	uint32_t results = 0;

	for (uint32_t i = 0; i < 300; i++) {
		for (uint32_t k = 0; k < 12; k++)
			append(sizes[i % RTE_DIM(sizes)]);
		if (i == 299)
			header->tail = rte_cpu_to_le_64(tail_of() + 32);
		settle();
		assert_int_equal(round_.count, 12);
		for (uint32_t k = 0; k < round_.result_count; k++)
			assert_int_equal(round_.results[k].status,
					 i == 299 ? RDMO_STATUS_TAIL : RDMO_STATUS_OK);
		results += round_.result_count;
		release(tail_of());
	}
	return results;
}

static void
test_runs_make_the_same_log(void **state)
{
	uint8_t *one_by_one = malloc(bytes_of_log);
	uint32_t results;

	assert_non_null(one_by_one);
	assert_int_equal(append_many(), 300 * 12);
	memcpy(one_by_one, header, bytes_of_log);
	tear_down(state);
	set_up(state);
	with_runs = true;
	results = append_many();
	with_runs = false;
	assert_true(results < 300 * 3);
	assert_memory_equal(header, one_by_one, bytes_of_log);
	free(one_by_one);
}

/* Each has moved no tail and written nothing, and is not taken for a record later. */
static void
test_what_appends_to_a_log_are_refused_for(void **state)
{
	const uint32_t half = CAPACITY / 2 - sizeof(struct rdmo_record);
	rte_le64_t *const word = (rte_le64_t *)(uintptr_t)((uintptr_t)header + bytes_of_log - 64);
	const struct {
		const void *word;
		uint64_t ptr_key, data_key;
		uint32_t producer, flags, bytes;
		enum rdmo_status status;
	} rows[] = {
		{ header, 99, LOG_KEY, 1, 0, 8, RDMO_STATUS_KEY },
		{ header, LOG_KEY, 99, 1, 0, 8, RDMO_STATUS_KEY },
		{ header, READ_KEY, LOG_KEY, 1, 0, 8, RDMO_STATUS_RIGHTS },
		{ header, LOG_KEY, READ_KEY, 1, 0, 8, RDMO_STATUS_RIGHTS },
		{ &target.tail, LOG_KEY, LOG_KEY, 1, 0, 8, RDMO_STATUS_BOUNDS },
		{ &header->tail, LOG_KEY, LOG_KEY, 1, 0, 8, RDMO_STATUS_TAIL },
		{ &target.tail, WORD_KEY, LOG_KEY, 1, 0, 8, RDMO_STATUS_TAIL },
		/* A log is no queue's tail. */
		{ word, LOG_KEY, QUEUE_KEY, 1, 0, 8, RDMO_STATUS_TAIL },
		{ header, LOG_KEY, LOG_KEY, PRODUCERS, 0, 8, RDMO_STATUS_BOUNDS },
		{ header, LOG_KEY, LOG_KEY, RDMO_NO_PRODUCER, 0, 8, RDMO_STATUS_BOUNDS },
		{ header, LOG_KEY, LOG_KEY, 1, 0, half + 1, RDMO_STATUS_LENGTH },
	};
	const uint8_t *ring = view_of().ring;

	(void)state;
	*word = target.tail;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		flow.producer = rows[i].producer;
		add(rows[i].flags, rows[i].word, rows[i].ptr_key, rows[i].data_key, rows[i].bytes);
		settle();
		expect(0, rows[i].status, 0);
		assert_int_equal(tail_of(), 0);
		assert_int_equal(ring[0], 0xa5);
		assert_int_equal(target.queue[0], 0xa5);
		assert_int_equal(*word, target.tail);
		assert_int_equal(rte_le_to_cpu_64(target.tail), (uintptr_t)target.queue);
		assert_int_equal(rdmo_region_next_seq(&table[0], 1), 0);
	}
	flow.producer = 1;
	append(half);
	settle();
	expect(0, RDMO_STATUS_OK, 0);
}

/* Round and round, with what is left at the end as PAD; as much as the reader has released, to the last byte. */
static void
test_a_ring_goes_round_and_is_full(void **state)
{
	uint64_t read = 0, pads = 0, full = 0;
	struct rdmo_log_view view;
	struct rdmo_log_record found;

	(void)state;
	for (uint64_t i = 0; i < 500; i++) {
		const uint64_t was = tail_of();
		const uint32_t bytes = (uint32_t)(i * 37 % 1000);

		append(bytes);
		settle();
		while (round_.results[0].status == RDMO_STATUS_FULL) {
			full++;
			assert_int_equal(tail_of(), was);
			assert_true(was + rdmo_record_bytes(bytes) - read > CAPACITY ||
				    was % CAPACITY + rdmo_record_bytes(bytes) > CAPACITY);
			view = view_of();
			assert_int_equal(rdmo_record_find(&view, read, &found), 1);
			read = found.next;
			release(read);
			append(bytes);
			settle();
		}
		view = view_of();
		assert_int_equal(rdmo_record_find(&view, was, &found), 1);
		pads += found.position != was;
		expect(0, RDMO_STATUS_OK, found.position);
		assert_int_equal(found.seq, next_seq - 1);
		assert_int_equal(found.length, bytes);
		assert_int_equal(found.next, tail_of());
	}
	assert_true(pads > 20);
	assert_true(full > 100);
	/* A head that cannot be is not believed. */
	release(tail_of() + 32);
	append(CAPACITY / 2 - 32);
	append(CAPACITY / 2 - 32);
	settle();
	assert_int_equal(round_.results[1].status, RDMO_STATUS_FULL);
}

static void
test_a_ring_is_filled_to_its_last_byte(void **state)
{
	(void)state;
	append(CAPACITY / 2 - 32);
	append(CAPACITY / 2 - 32);
	append(0);
	settle();
	expect(1, RDMO_STATUS_OK, CAPACITY / 2);
	expect(2, RDMO_STATUS_FULL, 0);
	assert_int_equal(tail_of(), CAPACITY);
	release(CAPACITY / 2);
	append(CAPACITY / 2 - 32);
	settle();
	expect(0, RDMO_STATUS_OK, CAPACITY);
}

/* Somebody else moves the tail: nothing of the round is there, also not in the slot, and nothing more is appended. */
static void
test_a_foreign_move_of_a_logs_tail(void **state)
{
	(void)state;
	append(8);
	settle();
	append(8);
	append(8);
	run();
	header->tail = rte_cpu_to_le_64(1024);
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_TAIL, 0);
	expect(1, RDMO_STATUS_TAIL, 0);
	again_from(1, 4);
	append(8);
	append(8);
	append(8);
	append(8);
	settle();
	expect(0, RDMO_STATUS_OK, 0);
	expect(1, RDMO_STATUS_TAIL, 0);
	expect(2, RDMO_STATUS_TAIL, 0);
	expect(3, RDMO_STATUS_TAIL, 0);
	assert_int_equal(tail_of(), 1024);
	/* Nor is it when a worker takes the log up as it is. */
	serve();
	again_from(2, 3);
	append(8);
	settle();
	expect(0, RDMO_STATUS_OK, 1024);
}

/* ---- Who waits ---- */

/* Not refused, and nothing is moved or written, until the reader has made room; what was refused before is refused again. */
static void
test_who_may_wait_for_room_is_not_refused(void **state)
{
	struct rdmo_request request;
	struct rdmo_reader reader;

	(void)state;
	append(CAPACITY / 2 - 32); /* 1 */
	append(CAPACITY / 2 - 32); /* 2 */
	append(8);		   /* 3: FULL, as nobody may wait */
	append(CAPACITY / 2);	   /* 4: never has room */
	settle();
	expect(2, RDMO_STATUS_FULL, 0);
	flow.may_wait = true;
	append(8);
	assert_int_equal(rdmo_requests_open(&reader, message, rdmo_writer_end(&writer, 0), 1),
			 RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	rdmo_round_begin(&round_);
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(rdmo_round_execute(&round_, &regions, &flow, &request));
		assert_int_equal(round_.elsewhere, RDMO_WAITS);
		assert_int_equal(round_.count, 0);
		assert_int_equal(rdmo_region_next_seq(&table[0], 1), 3);
	}
	release(CAPACITY / 2);
	assert_true(rdmo_round_execute(&round_, &regions, &flow, &request));
	rdmo_round_settle(&round_);
	expect(0, RDMO_STATUS_OK, CAPACITY);
	/* The third one, sent again: it is not behind the last one. */
	again_from(3, 6);
	append(CAPACITY / 2 - 32);
	settle();
	assert_int_equal(round_.count, 1);
	expect(0, RDMO_STATUS_FULL, 0);
	/* Its length is no matter of time. */
	next_seq = 6;
	begin_message();
	append(CAPACITY / 2);
	settle();
	expect(0, RDMO_STATUS_LENGTH, 0);
}

/* Once for each time that it has gone to sleep, and only when the tail has moved. */
static void
test_a_reader_that_sleeps_is_woken_once(void **state)
{
	(void)state;
	table[0].bell = 8;
	append(8);
	settle();
	assert_int_equal(round_.bell_count, 0);
	header->is_asleep = RTE_LE32(1);
	append(CAPACITY / 2);
	settle();
	expect(0, RDMO_STATUS_LENGTH, 0);
	assert_int_equal(round_.bell_count, 0);
	append(8);
	append(8);
	settle();
	assert_int_equal(round_.bell_count, 1);
	assert_int_equal(round_.bells[0], 7);
	assert_int_equal(header->is_asleep, 0);
	append(8);
	settle();
	assert_int_equal(round_.bell_count, 0);
	/* A tail that somebody else has moved tells of nothing. */
	header->is_asleep = RTE_LE32(1);
	append(8);
	run();
	header->tail = rte_cpu_to_le_64(1024);
	rdmo_round_settle(&round_);
	assert_int_equal(round_.bell_count, 0);
}

/* ---- What is sent again ---- */

static void
test_what_is_sent_again_is_done_once(void **state)
{
	(void)state;
	append(8);		   /* 1: at 0 */
	append(CAPACITY / 2 - 32); /* 2: at 64 */
	append(CAPACITY / 2 - 32); /* 3: FULL */
	append(8);		   /* 4: behind 2 */
	settle();
	expect(2, RDMO_STATUS_FULL, 0);
	expect(3, RDMO_STATUS_OK, 64 + CAPACITY / 2);
	/* The reader makes room: but 3 would lie behind 4 now. */
	release(64 + CAPACITY / 2);
	again_from(1, 6);
	append(8);
	append(CAPACITY / 2 - 32);
	append(CAPACITY / 2 - 32);
	append(8);
	append(8); /* 5: never came */
	append(8); /* 6: new */
	settle();
	expect(0, RDMO_STATUS_OK, 0);
	expect(1, RDMO_STATUS_OK, 64);
	expect(2, RDMO_STATUS_FULL, 0);
	expect(3, RDMO_STATUS_OK, 64 + CAPACITY / 2);
	expect(4, RDMO_STATUS_OK, 128 + CAPACITY / 2);
	expect(5, RDMO_STATUS_OK, 192 + CAPACITY / 2);
	assert_int_equal(tail_of(), 256 + CAPACITY / 2);
}

/* Nobody knows of them whether they were done: they are not done. */
static void
test_what_is_no_append_to_a_log_is_not_done_again(void **state)
{
	const struct rdmo_flush_hdr flush = { 0 };

	(void)state;
	flow.replayed = 5;
	add(0, &target.tail, WORD_KEY, QUEUE_KEY, 8);
	add(0, header, LOG_KEY, 99, 8);
	assert_true(rdmo_writer_flush(&writer, ID, 0, &flush));
	append(8);
	add(0, &target.tail, WORD_KEY, QUEUE_KEY, 8);
	settle();
	expect(0, RDMO_STATUS_UNKNOWN, 0);
	expect(1, RDMO_STATUS_UNKNOWN, 0);
	expect(2, RDMO_STATUS_UNKNOWN, 0);
	expect(3, RDMO_STATUS_OK, 0);
	expect(4, RDMO_STATUS_OK, (uintptr_t)target.queue);
	assert_int_equal(target.queue[0], 5);
}

static void
test_what_is_too_old_or_damaged_is_not_known(void **state)
{
	uint8_t *ring = (uint8_t *)header + rdmo_log_ring_offset(PRODUCERS);

	(void)state;
	for (uint32_t i = 0; i < RDMO_LOG_WINDOW + 1; i++) {
		append(0);
		settle();
		release(tail_of() - 32);
	}
	again_from(1, RDMO_LOG_WINDOW + 2);
	append(0);
	append(0);
	settle();
	expect(0, RDMO_STATUS_UNKNOWN, 0);
	expect(1, RDMO_STATUS_OK, 32);
	again_from(RDMO_LOG_WINDOW + 1, RDMO_LOG_WINDOW + 2);
	ring[(tail_of() - 32) % CAPACITY + 8] ^= 1;
	append(0);
	settle();
	expect(0, RDMO_STATUS_UNKNOWN, 0);
}

/* Its place is another's that is not published yet. */
static void
test_what_is_written_over_is_still_known(void **state)
{
	const struct rdmo_origin origin = { .producer = 1, .seq = 1 };
	uint64_t position = 1;

	(void)state;
	append(CAPACITY / 2 - 32);
	append(CAPACITY / 2 - 32);
	settle();
	release(CAPACITY / 2);
	flow.producer = 0;
	append(CAPACITY / 2 - 32);
	run();
	assert_int_equal(rdmo_region_append_log(&table[0], &origin, "", 0, &position),
			 RDMO_STATUS_OK);
	assert_int_equal(position, 0);
}

/* Operations that were none of this log's do not hide behind the words of a window before. */
static void
test_gaps_in_the_numbers(void **state)
{
	(void)state;
	append(0); /* 1 */
	append(0); /* 2 */
	settle();
	again_from(RDMO_LOG_WINDOW + 3, 0);
	append(0);
	settle();
	again_from(RDMO_LOG_WINDOW + 2, RDMO_LOG_WINDOW + 4);
	append(0);
	append(0);
	settle();
	expect(0, RDMO_STATUS_FULL, 0);
	expect(1, RDMO_STATUS_OK, 64);
}

/* ---- The next worker ---- */

static void
test_the_next_worker_goes_on(void **state)
{
	(void)state;
	append(8);
	append(8);
	settle();
	assert_int_equal(rte_le_to_cpu_64(header->epoch), 1);
	append(8);
	append(8);
	run();
	/* The worker is killed here: 3 and 4 are written, and not there. */
	offer(0, header, bytes_of_log, RDMO_RIGHT_APPEND);
	table[0].key = 12345;
	assert_int_equal(begin_log(&table[0]), RDMO_STATUS_OK);
	assert_int_equal(table[0].key, LOG_KEY);
	assert_int_equal(rte_le_to_cpu_64(header->epoch), 2);
	assert_int_equal(rdmo_region_next_seq(&table[0], 1), 3);
	again_from(2, 5);
	append(8);
	append(8);
	append(8);
	settle();
	expect(0, RDMO_STATUS_OK, 64);
	expect(1, RDMO_STATUS_OK, 128);
	expect(2, RDMO_STATUS_OK, 192);
	assert_int_equal(tail_of(), 256);
}

/* All that it has known is void: what is sent again was not refused. */
static void
test_a_producer_whose_records_were_all_lost(void **state)
{
	(void)state;
	append(8);
	append(8);
	run();
	serve();
	assert_int_equal(rdmo_region_next_seq(&table[0], 1), 0);
	again_from(1, 3);
	append(8);
	append(8);
	settle();
	expect(0, RDMO_STATUS_OK, 0);
	expect(1, RDMO_STATUS_OK, 64);
}

static void
test_what_is_no_log(void **state)
{
	struct rdmo_region region = table[0];

	(void)state;
	region.va += 32;
	assert_int_equal(begin_log(&region), RDMO_STATUS_BOUNDS);
	region = table[0];
	region.len--;
	assert_int_equal(begin_log(&region), RDMO_STATUS_BOUNDS);
	region.len++;
	header->magic++;
	assert_int_equal(begin_log(&region), RDMO_STATUS_BOUNDS);
	header->magic--;
	release(32);
	assert_int_equal(begin_log(&region), RDMO_STATUS_TAIL);
	assert_int_equal(rte_le_to_cpu_64(header->epoch), 1);
	release(0);
	assert_int_equal(begin_log(&region), RDMO_STATUS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_records_are_published_at_the_end),
	TEST(test_runs_make_the_same_log),
	TEST(test_what_appends_to_a_log_are_refused_for),
	TEST(test_a_ring_goes_round_and_is_full),
	TEST(test_a_ring_is_filled_to_its_last_byte),
	TEST(test_a_foreign_move_of_a_logs_tail),
	TEST(test_who_may_wait_for_room_is_not_refused),
	TEST(test_a_reader_that_sleeps_is_woken_once),
	TEST(test_what_is_sent_again_is_done_once),
	TEST(test_what_is_no_append_to_a_log_is_not_done_again),
	TEST(test_what_is_too_old_or_damaged_is_not_known),
	TEST(test_what_is_written_over_is_still_known),
	TEST(test_gaps_in_the_numbers),
	TEST(test_the_next_worker_goes_on),
	TEST(test_a_producer_whose_records_were_all_lost),
	TEST(test_what_is_no_log),
};

PLAIN_MAIN("rdmo-log", tests)
