/* SPDX-License-Identifier: BSD-3-Clause */

/* Tails of queues and of logs: bounds where sums would wrap, the ring's end, a tail that others move, what is published when. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "rdmo/tail.h"

#define CAPACITY 4096

/* ---- Queues ---- */

static void
test_appends_lie_behind_one_another(void **state)
{
	struct rdmo_queue queue;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0x1000);
	assert_int_equal(rdmo_queue_reserve(&queue, 60, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1000);
	assert_int_equal(rdmo_queue_reserve(&queue, 39, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1000 + 60);
	/* Nothing is an append, too. */
	assert_int_equal(rdmo_queue_reserve(&queue, 0, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1000 + 99);
	assert_int_equal(rdmo_queue_reserve(&queue, 1, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1000 + 99);
	assert_int_equal(queue.tail.reserved, 0x1000 + 100);
}

/* The bug of the published implementation: its tail ran off the end, and a refused append moved it. */
static void
test_a_full_queue_moves_no_tail(void **state)
{
	struct rdmo_queue queue;
	uint64_t address = 7;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0x1000 + 10);
	assert_int_equal(rdmo_queue_reserve(&queue, 91, &address), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_queue_reserve(&queue, UINT64_MAX, &address), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_queue_reserve(&queue, UINT64_MAX - 0x1000 - 10 + 1, &address),
			 RDMO_STATUS_FULL);
	assert_int_equal(address, 7);
	assert_false(rdmo_tail_is_due(&queue.tail));
	assert_int_equal(rdmo_queue_reserve(&queue, 90, &address), RDMO_STATUS_OK);
	assert_int_equal(rdmo_queue_reserve(&queue, 1, &address), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_queue_reserve(&queue, 0, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1000 + 100);
}

static void
test_a_queue_at_the_end_of_all_addresses(void **state)
{
	struct rdmo_queue queue;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, UINT64_MAX - 16, 16, UINT64_MAX - 8);
	assert_int_equal(rdmo_queue_reserve(&queue, 9, &address), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	assert_int_equal(address, UINT64_MAX - 8);
	assert_int_equal(rdmo_queue_reserve(&queue, 1, &address), RDMO_STATUS_FULL);
}

static void
test_a_tail_outside_of_its_region_is_none(void **state)
{
	static const uint64_t tails[] = { 0, 0xfff, 0x1000 + 101, UINT64_MAX };
	struct rdmo_queue queue;
	uint64_t address;
	uint32_t n = 1;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(tails); i++) {
		rte_le64_t word = rte_cpu_to_le_64(tails[i]);

		rdmo_queue_begin(&queue, 0x1000, 100, tails[i]);
		assert_int_equal(rdmo_queue_reserve(&queue, 0, &address), RDMO_STATUS_TAIL);
		assert_int_equal(rdmo_queue_reserve(&queue, 1, &address), RDMO_STATUS_TAIL);
		assert_false(rdmo_tail_is_due(&queue.tail));
		assert_int_equal(rdmo_queue_share(&queue, &word, 1, &n, &address),
				 RDMO_STATUS_TAIL);
		assert_int_equal(rte_le_to_cpu_64(word), tails[i]);
	}
}

static void
test_what_cannot_be_had_is_given_back(void **state)
{
	rte_le64_t word = RTE_LE64(0x1000);
	struct rdmo_queue queue;
	uint64_t first, address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0x1000);
	assert_int_equal(rdmo_queue_reserve(&queue, 10, &first), RDMO_STATUS_OK);
	assert_true(rdmo_tail_publish(&queue.tail, &word));
	assert_int_equal(rdmo_queue_reserve(&queue, 80, &address), RDMO_STATUS_OK);
	assert_int_equal(rdmo_queue_reserve(&queue, 10, &address), RDMO_STATUS_OK);
	rdmo_tail_forget(&queue.tail);
	assert_false(rdmo_tail_is_due(&queue.tail));
	assert_int_equal(rdmo_queue_reserve(&queue, 90, &address), RDMO_STATUS_OK);
	assert_int_equal(address, first + 10);
}

/* ---- Publication ---- */

static void
test_a_run_is_published_once(void **state)
{
	rte_le64_t word = rte_cpu_to_le_64(0x1000);
	struct rdmo_queue queue;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 1000, 0x1000);
	assert_false(rdmo_tail_is_due(&queue.tail));
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	assert_int_equal(rte_le_to_cpu_64(word), 0x1000);
	assert_true(rdmo_tail_is_due(&queue.tail));
	assert_true(rdmo_tail_publish(&queue.tail, &word));
	assert_int_equal(rte_le_to_cpu_64(word), 0x1000 + 512);
	assert_false(rdmo_tail_is_due(&queue.tail));
}

static void
test_a_foreign_move_stops_the_queue(void **state)
{
	rte_le64_t word = rte_cpu_to_le_64(0x1000);
	struct rdmo_queue queue;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0x1000);
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	word = rte_cpu_to_le_64(0x1004);
	assert_false(rdmo_tail_publish(&queue.tail, &word));
	/* What the other one has written stands. */
	assert_int_equal(rte_le_to_cpu_64(word), 0x1004);
	assert_false(rdmo_tail_is_due(&queue.tail));
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_TAIL);
	/* Until the target sets it: what was not published has gone. */
	rdmo_tail_begin(&queue.tail, 0x1004);
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	assert_int_equal(address, 0x1004);
	assert_true(rdmo_tail_publish(&queue.tail, &word));
	assert_int_equal(rte_le_to_cpu_64(word), 0x100c);
}

static void
test_publication_by_a_device(void **state)
{
	struct rdmo_queue queue;
	struct rdmo_tail_move move;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0x1000);
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	move = rdmo_tail_move(&queue.tail);
	assert_int_equal(move.compare, 0x1000);
	assert_int_equal(move.swap, 0x1008);
	/* More is reserved while it is under way, which the next one is for. */
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_OK);
	assert_true(rdmo_tail_moved(&queue.tail, &move, 0x1000));
	assert_true(rdmo_tail_is_due(&queue.tail));
	move = rdmo_tail_move(&queue.tail);
	assert_int_equal(move.compare, 0x1008);
	assert_int_equal(move.swap, 0x1010);
	assert_false(rdmo_tail_moved(&queue.tail, &move, 0x1000));
	assert_int_equal(rdmo_queue_reserve(&queue, 8, &address), RDMO_STATUS_TAIL);
}

/* ---- Two threads ---- */

#define SHARERS 3
#define APPENDS 100000

static rte_le64_t shared_word;
static uint8_t shared_taken[SHARERS * APPENDS];

/* Runs of one, two and three. */
static void *
sharer_run(void *arg)
{
	struct rdmo_queue *queue = arg;
	uint64_t address;
	uint32_t n = 1;

	while (rdmo_queue_share(queue, &shared_word, 8, &n, &address) == RDMO_STATUS_OK) {
		for (uint32_t i = 0; i < n; i++)
			__atomic_add_fetch(&shared_taken[(address - queue->begin) / 8 + i], 1,
					   __ATOMIC_RELAXED);
		n = n % 3 + 1;
	}
	return NULL;
}

/* As many of a run as there is room for, to the last byte; none of them is there in part. */
static void
test_a_run_of_sharers_ends_with_the_queue(void **state)
{
	static const struct {
		uint64_t tail, bytes;
		uint32_t n, taken;
	} rows[] = {
		{ 0, 8, 12, 12 },	   { 0, 8, 13, 12 },
		{ 4, 8, 64, 12 },	   { 5, 8, 64, 11 },
		{ 0, 100, 64, 1 },	   { 92, 8, 64, 1 },
		{ 7, 0, 64, 64 },	   { 100, 0, UINT32_MAX, UINT32_MAX },
		{ 0, 1, UINT32_MAX, 100 },
	};
	struct rdmo_queue queue;
	uint64_t address;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, 100, 0);
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		rte_le64_t word = rte_cpu_to_le_64(0x1000 + rows[i].tail);
		uint32_t n = rows[i].n;

		assert_int_equal(rdmo_queue_share(&queue, &word, rows[i].bytes, &n, &address),
				 RDMO_STATUS_OK);
		assert_int_equal(n, rows[i].taken);
		assert_int_equal(address, 0x1000 + rows[i].tail);
		assert_int_equal(rte_le_to_cpu_64(word), address + n * rows[i].bytes);
	}
}

/* One that is longer than any number of 32 bits, in a queue for one and a half. */
static void
test_a_run_of_large_sharers(void **state)
{
	const uint64_t bytes = UINT64_C(3) << 40;
	rte_le64_t word = rte_cpu_to_le_64(0x1000);
	struct rdmo_queue queue;
	uint64_t address;
	uint32_t n = 5;

	(void)state;
	rdmo_queue_begin(&queue, 0x1000, bytes + bytes / 2, 0);
	assert_int_equal(rdmo_queue_share(&queue, &word, bytes, &n, &address), RDMO_STATUS_OK);
	assert_int_equal(n, 1);
	assert_int_equal(rdmo_queue_share(&queue, &word, bytes, &n, &address), RDMO_STATUS_FULL);
	assert_int_equal(rte_le_to_cpu_64(word), 0x1000 + bytes);
}

/* They fill it together: each place once, and none behind the end. */
static void
test_sharers_get_each_place_once(void **state)
{
	pthread_t threads[SHARERS];
	struct rdmo_queue queue;

	(void)state;
	memset(shared_taken, 0, sizeof(shared_taken));
	rdmo_queue_begin(&queue, 0x1000, sizeof(shared_taken) * 8 + 7, 0);
	shared_word = rte_cpu_to_le_64(0x1000);
	for (uint32_t i = 0; i < SHARERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sharer_run, &queue), 0);
	for (uint32_t i = 0; i < SHARERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(rte_le_to_cpu_64(shared_word), 0x1000 + sizeof(shared_taken) * 8);
	for (uint32_t i = 0; i < RTE_DIM(shared_taken); i++)
		assert_int_equal(shared_taken[i], 1);
}

static uint64_t published[APPENDS];
static rte_le64_t published_word;
static _Atomic bool publisher_ended;

static void *
publisher_run(void *arg)
{
	struct rdmo_queue *queue = arg;
	uint64_t address;

	while (rdmo_queue_reserve(queue, 8, &address) == RDMO_STATUS_OK) {
		published[address / 8] = ~address;
		rdmo_tail_publish(&queue->tail, &published_word);
	}
	publisher_ended = true;
	return NULL;
}

/* Who loads the tail with acquire sees all payloads before it (a race for ThreadSanitizer if not). */
static void
test_payloads_are_seen_before_the_tail(void **state)
{
	struct rdmo_queue queue;
	pthread_t thread;
	uint64_t seen = 0, tail;
	bool ended;

	(void)state;
	rdmo_queue_begin(&queue, 0, sizeof(published), 0);
	assert_int_equal(pthread_create(&thread, NULL, publisher_run, &queue), 0);
	do {
		ended = publisher_ended;
		tail = rte_le_to_cpu_64(__atomic_load_n(&published_word, __ATOMIC_ACQUIRE));
		for (; seen < tail; seen += 8)
			assert_int_equal(published[seen / 8], ~seen);
	} while (!ended);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(seen, sizeof(published));
}

/* ---- Rings ---- */

static void
test_records_lie_at_multiples_of_32(void **state)
{
	static const struct {
		uint64_t length, bytes;
	} rows[] = { { 0, 32 },
		     { 1, 64 },
		     { 32, 64 },
		     { 33, 96 },
		     { UINT32_MAX, (UINT64_C(1) << 32) + 32 } };
	struct rdmo_ring ring;
	struct rdmo_place place;
	uint64_t at = 0;

	(void)state;
	assert_true(rdmo_ring_begin(&ring, UINT64_C(1) << 40, 0, 0));
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(rdmo_ring_reserve(&ring, rows[i].length, &place), RDMO_STATUS_OK);
		assert_int_equal(place.position, at);
		assert_int_equal(place.pad_bytes, 0);
		at += rows[i].bytes;
		assert_int_equal(ring.tail.reserved, at);
	}
	assert_int_equal(rdmo_ring_reserve(&ring, UINT64_C(1) << 32, &place), RDMO_STATUS_LENGTH);
	assert_int_equal(rdmo_ring_reserve(&ring, UINT64_MAX, &place), RDMO_STATUS_LENGTH);
	assert_int_equal(rdmo_ring_reserve(&ring, UINT64_MAX - 31, &place), RDMO_STATUS_LENGTH);
	assert_int_equal(ring.tail.reserved, at);
}

/* Half of the ring, from wherever the tail is: if all is released, it fits. More never would. */
static void
test_half_of_the_ring_always_fits(void **state)
{
	const uint64_t most = CAPACITY / 2 - 32;
	struct rdmo_ring ring;
	struct rdmo_place place;

	(void)state;
	for (uint64_t start = 3 * CAPACITY; start < 4 * CAPACITY; start += 32) {
		assert_true(rdmo_ring_begin(&ring, CAPACITY, start, start));
		assert_int_equal(rdmo_ring_reserve(&ring, most + 1, &place), RDMO_STATUS_LENGTH);
		assert_int_equal(rdmo_ring_reserve(&ring, most, &place), RDMO_STATUS_OK);
		/* In one piece, and all up to it is PAD. */
		assert_in_range(place.position % CAPACITY, 0, CAPACITY / 2);
		assert_int_equal(place.pad, start);
		assert_int_equal(place.pad + place.pad_bytes, place.position);
		assert_int_equal(place.pad_bytes,
				 start % CAPACITY <= CAPACITY / 2 ? 0 : 4 * CAPACITY - start);
		assert_int_equal(ring.tail.reserved, place.position + CAPACITY / 2);
	}
}

static void
test_a_full_ring_waits_for_its_reader(void **state)
{
	struct rdmo_ring ring;
	struct rdmo_place place;
	uint32_t count = 0;

	(void)state;
	assert_true(rdmo_ring_begin(&ring, CAPACITY, 0, 0));
	while (rdmo_ring_reserve(&ring, 10, &place) == RDMO_STATUS_OK)
		count++;
	assert_int_equal(count, CAPACITY / 64);
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_FULL);
	assert_int_equal(ring.tail.reserved, CAPACITY);
	/* It cannot release what it has not seen. */
	assert_false(rdmo_ring_release(&ring, 64));
	assert_true(rdmo_tail_moved(&ring.tail, &(struct rdmo_tail_move){ 0, CAPACITY }, 0));
	assert_true(rdmo_ring_release(&ring, 64));
	assert_int_equal(rdmo_ring_reserve(&ring, 33, &place), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_ring_reserve(&ring, 32, &place), RDMO_STATUS_OK);
	assert_int_equal(place.position, CAPACITY);
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_FULL);
}

/* A record that would go round takes the PAD's room as well. */
static void
test_the_pad_needs_room_too(void **state)
{
	struct rdmo_ring ring;
	struct rdmo_place place;

	(void)state;
	/* 64 bytes to the end, 96 released at the beginning. */
	assert_true(rdmo_ring_begin(&ring, CAPACITY, CAPACITY - 64, 96));
	assert_int_equal(rdmo_ring_reserve(&ring, 65, &place), RDMO_STATUS_FULL);
	assert_int_equal(ring.tail.reserved, CAPACITY - 64);
	assert_int_equal(rdmo_ring_reserve(&ring, 64, &place), RDMO_STATUS_OK);
	assert_int_equal(place.pad, CAPACITY - 64);
	assert_int_equal(place.pad_bytes, 64);
	assert_int_equal(place.position, CAPACITY);
	assert_int_equal(ring.tail.reserved, CAPACITY + 96);
	/* What ends at the end needs none. */
	assert_true(rdmo_ring_begin(&ring, CAPACITY, CAPACITY - 64, CAPACITY - 64));
	assert_int_equal(rdmo_ring_reserve(&ring, 32, &place), RDMO_STATUS_OK);
	assert_int_equal(place.pad_bytes, 0);
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_OK);
	assert_int_equal(place.position, CAPACITY);
	assert_int_equal(place.pad_bytes, 0);
}

static void
test_ends_that_cannot_be(void **state)
{
	static const struct {
		uint64_t tail, head;
		bool good;
	} rows[] = {
		{ CAPACITY, 0, true },	  { CAPACITY + 32, 0, false },
		{ 32, 64, false },	  { 33, 0, false },
		{ 64, 31, false },	  { 0, 0, true },
		{ 0, UINT64_MAX, false }, { 0, UINT64_MAX - 31, false },
		{ UINT64_MAX, 0, false }, { UINT64_MAX - 31, UINT64_MAX - 63, true },
	};
	struct rdmo_ring ring;
	struct rdmo_place place;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(rdmo_ring_begin(&ring, CAPACITY, rows[i].tail, rows[i].head),
				 rows[i].good);
		if (!rows[i].good)
			assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_TAIL);
	}
	assert_true(rdmo_ring_begin(&ring, CAPACITY, 640, 320));
	assert_false(rdmo_ring_release(&ring, 288));
	assert_false(rdmo_ring_release(&ring, 321));
	assert_false(rdmo_ring_release(&ring, 672));
	assert_false(rdmo_ring_release(&ring, UINT64_MAX));
	assert_int_equal(ring.head, 320);
	assert_true(rdmo_ring_release(&ring, 640));
}

/* Positions end where they would be no numbers any more. */
static void
test_positions_do_not_wrap(void **state)
{
	struct rdmo_ring ring;
	struct rdmo_place place;

	(void)state;
	assert_true(rdmo_ring_begin(&ring, CAPACITY, UINT64_MAX - 63, UINT64_MAX - 63));
	assert_int_equal(rdmo_ring_reserve(&ring, 1, &place), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_ring_reserve(&ring, 33, &place), RDMO_STATUS_FULL);
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_OK);
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_FULL);
}

static void
test_a_stopped_ring_gives_nothing(void **state)
{
	struct rdmo_ring ring;
	struct rdmo_place place;
	rte_le64_t word = rte_cpu_to_le_64(32);

	(void)state;
	assert_true(rdmo_ring_begin(&ring, CAPACITY, 0, 0));
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_OK);
	assert_false(rdmo_tail_publish(&ring.tail, &word));
	assert_int_equal(rdmo_ring_reserve(&ring, 0, &place), RDMO_STATUS_TAIL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_appends_lie_behind_one_another),
	cmocka_unit_test(test_a_full_queue_moves_no_tail),
	cmocka_unit_test(test_a_queue_at_the_end_of_all_addresses),
	cmocka_unit_test(test_a_tail_outside_of_its_region_is_none),
	cmocka_unit_test(test_what_cannot_be_had_is_given_back),
	cmocka_unit_test(test_a_run_is_published_once),
	cmocka_unit_test(test_a_foreign_move_stops_the_queue),
	cmocka_unit_test(test_publication_by_a_device),
	cmocka_unit_test(test_a_run_of_sharers_ends_with_the_queue),
	cmocka_unit_test(test_a_run_of_large_sharers),
	cmocka_unit_test(test_sharers_get_each_place_once),
	cmocka_unit_test(test_payloads_are_seen_before_the_tail),
	cmocka_unit_test(test_records_lie_at_multiples_of_32),
	cmocka_unit_test(test_half_of_the_ring_always_fits),
	cmocka_unit_test(test_a_full_ring_waits_for_its_reader),
	cmocka_unit_test(test_the_pad_needs_room_too),
	cmocka_unit_test(test_ends_that_cannot_be),
	cmocka_unit_test(test_positions_do_not_wrap),
	cmocka_unit_test(test_a_stopped_ring_gives_nothing),
};

PLAIN_MAIN("rdmo-tail", tests)
