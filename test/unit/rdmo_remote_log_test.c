/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A log in another process beside one here: the same operations have the same results, and what is written there makes the same bytes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_random.h>

#include "main.h"
#include "rdmo/record.h"
#include "rdmo/round.h"

#define ID	  UINT64_C(0xa1)
#define CLIENT	  UINT64_C(5)
#define KEY	  UINT64_C(100)
#define CAPACITY  UINT64_C(4096)
#define PRODUCERS 3u
#define LONGEST	  2000u
#define LKEY	  7000

/* One of both: a log, its region, and the flows of its producers. */
struct side {
	uint8_t *memory; /* the target's */
	uint8_t *shadow; /* of the remote one, in front of its ring */
	struct rdmo_map regions;
	struct rdmo_region region;
	struct rdmo_flow flows[PRODUCERS];
	struct rdmo_round round;
};

static struct side here, there;
static uint64_t front, all; /* bytes of a log: in front of its ring, as a whole */
static struct rdmo_write written[RDMO_APPEND_WRITES * RDMO_ROUND];
static struct rdmo_record heads[RDMO_APPEND_HEADS * RDMO_ROUND];
static struct rdmo_writes writes;
static struct rdmo_fetches fetches;
static _Alignas(
	8) uint8_t payload[LONGEST + 104]; /* from any of its first words on, as in a message */

/* A worker begins to serve it. */
static void
serve(struct side *side)
{
	side->region = (struct rdmo_region){
		.key = KEY,
		.client = CLIENT,
		.va = (uintptr_t)side->memory,
		.len = all,
		.rights = RDMO_RIGHT_APPEND,
		.remote = side == &there ? (void *)&there : NULL, /* not looked at */
		.is_fetchable = true,
		.lkey = LKEY,
	};
	if (side == &there)
		memcpy(side->shadow, side->memory, front);
	assert_int_equal(
		rdmo_region_begin_log(&side->region, side == &there ? side->shadow : side->memory),
		RDMO_STATUS_OK);
	if (side == &there) {
		const uint64_t epoch = offsetof(struct rdmo_log_header, epoch);

		memcpy(side->memory + epoch, side->shadow + epoch, 16);
		memcpy(side->memory + rdmo_log_slot_offset(0),
		       side->shadow + rdmo_log_slot_offset(0), front - rdmo_log_slot_offset(0));
	}
}

static void
side_open(struct side *side)
{
	side->memory = aligned_alloc(64, all);
	side->shadow = aligned_alloc(64, front);
	assert_non_null(side->memory);
	assert_non_null(side->shadow);
	memset(side->memory, 0xa5, all);
	rdmo_log_format(side->memory, CAPACITY, PRODUCERS);
	assert_int_equal(rdmo_map_open(&side->regions, 1), 0);
	serve(side);
	assert_int_equal(rdmo_map_put(&side->regions, KEY, &side->region), 0);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		rdmo_flow_begin(&side->flows[i], ID, CLIENT, 0);
		side->flows[i].producer = i;
	}
	side->round.writes = side == &there ? &writes : NULL;
	side->round.fetches = side == &there ? &fetches : NULL;
}

static void
side_close(struct side *side)
{
	rdmo_map_close(&side->regions);
	free(side->memory);
	free(side->shadow);
}

static int
set_up(void **state)
{
	(void)state;
	front = rdmo_log_ring_offset(PRODUCERS);
	all = rdmo_log_bytes(CAPACITY, PRODUCERS);
	writes = (struct rdmo_writes){
		.all = written,
		.room = RTE_DIM(written),
		.heads = heads,
	};
	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	side_open(&here);
	side_open(&there);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	side_close(&here);
	side_close(&there);
	return 0;
}

/* What the lane would do: write, move the tail, tell. */
static void
remote_done(void)
{
	struct rdmo_round *round = &there.round;
	uint32_t i;

	for (i = 0; i < writes.count; i++) {
		const struct rdmo_write *write = &written[i];

		assert_true(write->addr >= (uintptr_t)there.memory);
		assert_true(write->addr + write->bytes <= (uintptr_t)there.memory + all);
		memcpy((void *)(uintptr_t)write->addr, write->from, write->bytes);
	}
	for (i = 0; i < round->due; i++) {
		const struct rdmo_region *log = round->queues[i];
		const struct rdmo_tail_move move =
			rdmo_tail_move(rdmo_region_tail(round->queues[i]));
		rte_le64_t *tail = (rte_le64_t *)(uintptr_t)log->word;
		const uint64_t found = rte_le_to_cpu_64(*tail);

		if (found == move.compare)
			*tail = rte_cpu_to_le_64(move.swap);
		rdmo_round_moved(round, i, &move, found);
	}
	rdmo_round_conclude(round);
}

/* Once more if the head is to be read first. */
static const struct rdmo_result *
execute(struct side *side, uint32_t producer, const struct rdmo_request *request)
{
	for (uint32_t tries = 0; tries < 2; tries++) {
		rdmo_round_begin(&side->round);
		if (rdmo_round_execute(&side->round, &side->regions, &side->flows[producer],
				       request))
			break;
		assert_int_equal(tries, 0);
		assert_int_equal(side->round.elsewhere, RDMO_LATER);
		assert_ptr_equal(side->round.look.queue, &there.region);
		assert_int_equal(side->round.look.word,
				 (uintptr_t)there.memory + offsetof(struct rdmo_log_header, head));
		rdmo_region_seen(&there.region, side->round.look.word,
				 rte_le_to_cpu_64(*(rte_le64_t *)(uintptr_t)side->round.look.word));
	}
	assert_int_equal(side->round.count, 1);
	if (side == &here)
		rdmo_round_settle(&side->round);
	else
		remote_done();
	return &side->round.results[0];
}

static struct rdmo_append_hdr
append_to(const struct side *side)
{
	return (struct rdmo_append_hdr){
		.ptr_addr = rte_cpu_to_le_64((uintptr_t)side->memory),
		.ptr_rkey = rte_cpu_to_le_64(KEY),
		.data_rkey = rte_cpu_to_le_64(KEY),
	};
}

/* On both sides alike. */
static enum rdmo_status
append(uint32_t producer, uint64_t seq, uint32_t bytes)
{
	const struct rdmo_append_hdr hdrs[2] = { append_to(&here), append_to(&there) };
	struct rdmo_request request = {
		.seq = seq,
		.id = ID,
		.op_id = RDMO_OP_APPEND,
		.append = &hdrs[0],
		.payload = payload + seq % 13 * 8,
		.bytes = bytes,
	};
	const struct rdmo_result *a = execute(&here, producer, &request), *b;

	request.append = &hdrs[1];
	b = execute(&there, producer, &request);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->value, b->value);
	return b->status;
}

static uint64_t
log_tail(const struct side *side)
{
	return rte_le_to_cpu_64(((const struct rdmo_log_header *)side->memory)->tail);
}

/* The reader of each releases its first record. */
static void
release(void)
{
	struct side *const sides[] = { &here, &there };

	for (uint32_t i = 0; i < 2; i++) {
		struct rdmo_log_header *header = (void *)sides[i]->memory;
		const struct rdmo_log_view view = {
			.ring = sides[i]->memory + front,
			.capacity = CAPACITY,
			.tail = log_tail(sides[i]),
		};
		struct rdmo_log_record found;

		if (rdmo_record_find(&view, rte_le_to_cpu_64(header->head), &found) == 1)
			header->head = rte_cpu_to_le_64(found.next);
	}
}

static void
test_both_logs_are_the_same(void **state)
{
	uint64_t seqs[PRODUCERS] = { 1, 1, 1 }, full = 0;

	(void)state;
	rte_srand(42);
	for (uint32_t i = 0; i < 5000; i++) {
		const uint64_t dice = rte_rand();
		const uint32_t producer = dice % PRODUCERS;

		/* Operations that are no records: their words are void; of many at once all. */
		if (dice >> 8 & 15)
			seqs[producer]++;
		else
			seqs[producer] += (dice >> 16) % 300 + 1;
		if (append(producer, seqs[producer],
			   (uint32_t)(dice >> 32) % (i % 50 ? 200 : 1990)) == RDMO_STATUS_FULL)
			full++;
		/* One that was done is not done again. */
		if (dice >> 12 & 1)
			append(producer, seqs[producer] - (dice >> 20) % 3, 1);
		if (dice >> 13 & 1 || full % 8 == 7)
			release();
		if (i % 1000 == 999) {
			serve(&here);
			serve(&there);
		}
		assert_memory_equal(here.memory, there.memory, all);
	}
	assert_true(full > 100);
	assert_true(log_tail(&there) > 10 * CAPACITY);
}

/* Its payload comes by itself, in parts: header and slot follow. */
static void
test_a_record_that_is_fetched(void **state)
{
	const struct rdmo_pull pull = { .addr = RTE_LE64(0x1000), .len = RTE_LE32(1000) };
	const struct rdmo_append_hdr hdrs[2] = { append_to(&here), append_to(&there) };
	struct rdmo_request request = {
		.seq = 4,
		.id = ID,
		.op_id = RDMO_OP_APPEND,
		.append = &hdrs[1],
		.flags = RDMO_FLAG_PULL,
		.pulls = &pull,
		.count = 1,
		.bytes = 1000,
	};

	(void)state;
	for (uint64_t seq = 1; seq < 4; seq++)
		assert_int_equal(append(1, seq, 1000), RDMO_STATUS_OK);
	release();
	/* With a PAD in front. */
	rdmo_round_begin(&there.round);
	if (!rdmo_round_execute(&there.round, &there.regions, &there.flows[1], &request)) {
		rdmo_region_seen(&there.region, there.round.look.word, 1056);
		rdmo_round_begin(&there.round);
		assert_true(rdmo_round_execute(&there.round, &there.regions, &there.flows[1],
					       &request));
	}
	assert_int_equal(fetches.count, 1);
	memcpy((void *)(uintptr_t)fetches.all[0].to, payload + 8, 1000);
	rdmo_round_passed(&there.round, payload + 8, 600);
	rdmo_round_passed(&there.round, payload + 608, 400);
	rdmo_round_fetched(&there.round);
	remote_done();
	assert_int_equal(there.round.results[0].status, RDMO_STATUS_OK);
	request.append = &hdrs[0];
	request.flags = 0;
	request.payload = payload + 8;
	execute(&here, 1, &request);
	assert_int_equal(here.round.results[0].value, there.round.results[0].value);
	assert_memory_equal(here.memory, there.memory, all);
}

/* A worker begins to serve the other process's log as it is: what it takes to be the producer's next operation. */
static uint64_t
next_seq_of(const uint8_t *memory, uint32_t producer)
{
	uint8_t *shadow = aligned_alloc(64, front);
	struct rdmo_region region = there.region;
	uint64_t next_seq;

	assert_non_null(shadow);
	memcpy(shadow, memory, front);
	assert_int_equal(rdmo_region_begin_log(&region, shadow), RDMO_STATUS_OK);
	next_seq = rdmo_region_next_seq(&region, producer);
	free(shadow);
	return next_seq;
}

/* Wherever its writes end: none of the round was published, so none was done, and none was refused. */
static void
test_a_round_that_is_cut_was_never_there(void **state)
{
	const uint64_t first = RDMO_LOG_WINDOW + 10;
	const struct rdmo_append_hdr hdr = append_to(&there);
	struct rdmo_request request = { .id = ID, .op_id = RDMO_OP_APPEND, .append = &hdr };
	uint8_t *memory = malloc(all);

	(void)state;
	assert_non_null(memory);
	/* Each word has a position before the tail. */
	for (uint64_t seq = 1; seq < first; seq++) {
		assert_int_equal(append(0, seq, 0), RDMO_STATUS_OK);
		release();
	}
	rdmo_round_begin(&there.round);
	rdmo_region_seen(&there.region,
			 (uintptr_t)there.memory + offsetof(struct rdmo_log_header, head),
			 log_tail(&there));
	for (uint32_t i = 0; i < RDMO_ROUND; i++) {
		request.seq = first + i;
		assert_true(rdmo_round_execute(&there.round, &there.regions, &there.flows[0],
					       &request));
		assert_int_equal(there.round.results[i].status, RDMO_STATUS_OK);
	}
	memcpy(memory, there.memory, all);
	for (uint32_t i = 0; i < writes.count; i++) {
		const struct rdmo_write *write = &written[i];

		assert_int_equal(next_seq_of(memory, 0), first);
		memcpy(memory + (write->addr - (uintptr_t)there.memory), write->from, write->bytes);
	}
	assert_int_equal(next_seq_of(memory, 0), first);
	free(memory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_both_logs_are_the_same),
	TEST(test_a_record_that_is_fetched),
	TEST(test_a_round_that_is_cut_was_never_there),
};

PLAIN_MAIN("rdmo-remote-log", tests)
