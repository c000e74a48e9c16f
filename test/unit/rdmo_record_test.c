/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A log's memory: records as a program of a few lines in another language has made them, each bit of them flipped, ends that are
 * wrong, and what slots know after a worker was killed at any step.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "rdmo/record.h"
#include "rdmo/tail.h"

#define CAPACITY 4096

/* "hello" at position 0x1234560; a PAD of 96 bytes at 0xfa0. */
static const char data_record[] = "05000000d4c615666045230100000000a8a7a6a5a4a3a2a1b4b3b2b101000000"
				  "68656c6c6f";
static const char pad_record[] = "4000000025ea8bb2a00f00000000000000000000000000000000000002000000";

static uint32_t
bytes_of(const char *hex, uint8_t *bytes)
{
	uint32_t count = 0;
	char two[3] = { 0 };

	for (; *hex != '\0'; hex += 2) {
		memcpy(two, hex, 2);
		bytes[count++] = (uint8_t)strtoul(two, NULL, 16);
	}
	return count;
}

/* A log of two producers, its records as a worker appends them. */
struct log {
	uint8_t *memory;
	struct rdmo_log_slot *slots;
	uint8_t *ring_memory;
	struct rdmo_ring ring;
};

static int
log_setup(void **state)
{
	struct log *log = calloc(1, sizeof(*log));

	assert_non_null(log);
	/* And some more, for records across its end. */
	log->memory = aligned_alloc(64, rdmo_log_bytes(CAPACITY, 2) + 64);
	assert_non_null(log->memory);
	memset(log->memory, 0xee, rdmo_log_bytes(CAPACITY, 2) + 64);
	rdmo_log_format(log->memory, CAPACITY, 2);
	log->slots = (void *)(log->memory + rdmo_log_slot_offset(0));
	log->ring_memory = log->memory + rdmo_log_ring_offset(2);
	assert_true(rdmo_ring_begin(&log->ring, CAPACITY, 0, 0));
	*state = log;
	return 0;
}

static int
log_teardown(void **state)
{
	struct log *log = *state;

	free(log->memory);
	free(log);
	return 0;
}

static struct rdmo_record *
record_at(struct log *log, uint64_t position)
{
	return (void *)(log->ring_memory + position % CAPACITY);
}

/* `length` bytes that all are `seq`. Returns its position. */
static uint64_t
append(struct log *log, uint32_t producer, uint64_t seq, uint32_t length)
{
	struct rdmo_place place;
	struct rdmo_record *record;

	assert_int_equal(rdmo_ring_reserve(&log->ring, length, &place), RDMO_STATUS_OK);
	if (place.pad_bytes > 0)
		rdmo_record_pad(record_at(log, place.pad), place.pad, place.pad_bytes);
	record = record_at(log, place.position);
	memset(record + 1, (uint8_t)seq, length);
	rdmo_record_seal(record, place.position, producer, seq, length);
	rdmo_slot_put(&log->slots[producer], seq, place.position);
	return place.position;
}

static void
publish(struct log *log)
{
	struct rdmo_log_header *header = (void *)log->memory;

	assert_true(rdmo_tail_publish(&log->ring.tail, &header->tail));
}

static struct rdmo_log_view
view_of(struct log *log)
{
	const struct rdmo_log_header *header = (void *)log->memory;

	return (struct rdmo_log_view){
		.ring = log->ring_memory,
		.capacity = CAPACITY,
		.tail = rte_le_to_cpu_64(__atomic_load_n(&header->tail, __ATOMIC_ACQUIRE)),
	};
}

/* ---- The log as a whole ---- */

static void
test_an_empty_log(void **state)
{
	struct log *log = *state;
	struct rdmo_log_header *header = (void *)log->memory;
	const struct rdmo_log_view view = view_of(log);
	struct rdmo_log_record found;
	uint64_t position;

	assert_int_equal(rdmo_log_ring_offset(2), 12288);
	assert_int_equal(rdmo_log_bytes(CAPACITY, 2), 12288 + CAPACITY);
	assert_memory_equal(log->memory, "RDML\1\0\0\0\2\0\0\0\0\0\0\0\0\20\0\0\0\0\0\0", 24);
	for (uint32_t i = 24; i < sizeof(*header); i++)
		assert_int_equal(log->memory[i], 0);
	assert_int_equal(rdmo_log_check(header, rdmo_log_bytes(CAPACITY, 2)), 0);
	assert_int_equal(rdmo_record_find(&view, 0, &found), 0);
	assert_int_equal(found.position, 0);
	assert_int_equal(rdmo_slot_find(&log->slots[1], &view, 1, 0, &position), 0);
	for (uint32_t i = 0; i < RDMO_LOG_WINDOW; i++)
		assert_int_equal(rte_le_to_cpu_64(log->slots[1].position[i]), RDMO_NONE);
	/* And nothing of the ring was written. */
	assert_int_equal(log->ring_memory[0], 0xee);
}

static void
test_what_is_no_log(void **state)
{
	struct log *log = *state;
	struct rdmo_log_header *header = (void *)log->memory;
	const uint64_t bytes = rdmo_log_bytes(CAPACITY, 2);
	static const struct {
		uint32_t at;
		uint8_t value;
	} wrong[] = { { 0, 'r' }, { 3, 'O' },	{ 4, 0 },  { 4, 2 },  { 8, 0 },	    { 8, 9 },
		      { 11, 1 },  { 17, 0x18 }, { 17, 8 }, { 17, 0 }, { 17, 0x20 }, { 23, 0x80 } };

	assert_int_equal(rdmo_log_check(header, bytes + 1), 0);
	assert_int_equal(rdmo_log_check(header, bytes - 1), -EINVAL);
	assert_int_equal(rdmo_log_check(header, 4095), -EINVAL);
	/* Of which there is not even a header: nothing of it is read (for a sanitizer to see). */
	header = malloc(8);
	assert_non_null(header);
	memcpy(header, log->memory, 8);
	assert_int_equal(rdmo_log_check(header, 8), -EINVAL);
	free(header);
	header = (void *)log->memory;
	for (uint32_t i = 0; i < RTE_DIM(wrong); i++) {
		const uint8_t was = log->memory[wrong[i].at];

		log->memory[wrong[i].at] = wrong[i].value;
		if (rdmo_log_check(header, bytes) != -EINVAL)
			fail_msg("row %u is a log", i);
		log->memory[wrong[i].at] = was;
	}
	assert_int_equal(rdmo_log_bytes(CAPACITY / 2, 1), 0);
	assert_int_equal(rdmo_log_bytes(RDMO_LOG_CAPACITY_MAX * 2, 1), 0);
	assert_int_equal(rdmo_log_bytes(CAPACITY * 3, 1), 0);
	assert_int_equal(rdmo_log_bytes(CAPACITY, 0), 0);
	assert_int_equal(rdmo_log_bytes(CAPACITY, RDMO_LOG_PRODUCERS_MAX + 1), 0);
	assert_int_equal(rdmo_log_bytes(RDMO_LOG_CAPACITY_MAX, RDMO_LOG_PRODUCERS_MAX) >> 48, 1);
}

/* ---- Records ---- */

static void
test_records_as_others_make_them(void **state)
{
	_Alignas(8) uint8_t golden[64], made[64];
	uint32_t bytes = bytes_of(data_record, golden);

	(void)state;
	assert_int_equal(bytes, 37);
	memcpy(made + 32, "hello", 5);
	rdmo_record_seal((void *)made, 0x1234560, 0xb1b2b3b4, 0xa1a2a3a4a5a6a7a8, 5);
	assert_memory_equal(made, golden, bytes);
	bytes = bytes_of(pad_record, golden);
	assert_int_equal(bytes, 32);
	rdmo_record_pad((void *)made, 0xfa0, 96);
	assert_memory_equal(made, golden, bytes);
}

/* Round the ring some times, of all lengths; each is found, in order. */
static void
test_records_come_back_in_order(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	struct rdmo_log_record found;
	uint64_t position = 0, pads = 0;
	const uint8_t *payload;

	for (uint64_t seq = 0; seq < 1000; seq++) {
		const uint32_t length = (uint32_t)(seq * 7 % 2017);
		const uint64_t at = append(log, seq % 2, seq, length);

		publish(log);
		view = view_of(log);
		assert_int_equal(rdmo_record_find(&view, position, &found), 1);
		pads += found.position != position;
		assert_int_equal(found.position, at);
		assert_int_equal(found.seq, seq);
		assert_int_equal(found.producer, seq % 2);
		assert_int_equal(found.length, length);
		payload = found.payload;
		for (uint32_t i = 0; i < length; i++)
			assert_int_equal(payload[i], (uint8_t)seq);
		position = found.next;
		assert_int_equal(rdmo_record_find(&view, position, &found), 0);
		assert_int_equal(found.position, view.tail);
		assert_true(rdmo_ring_release(&log->ring, position));
	}
	assert_in_range(pads, 10, 1000);
}

/* What is not published is not there, though it is written. */
static void
test_nothing_is_found_behind_the_tail(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	struct rdmo_log_record found;

	append(log, 0, 1, 5);
	view = view_of(log);
	assert_int_equal(rdmo_record_find(&view, 0, &found), 0);
	publish(log);
	append(log, 0, 2, 5);
	view = view_of(log);
	assert_int_equal(rdmo_record_find(&view, 0, &found), 1);
	assert_int_equal(rdmo_record_find(&view, found.next, &found), 0);
}

/* Each bit of a record, and of a PAD's header: damaged, and where. No record owns what is behind the payload. */
static void
test_each_flipped_bit_is_found(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	struct rdmo_log_record found;
	uint8_t *at;

	append(log, 0, 1, 5);
	rdmo_record_pad(record_at(log, 64), 64, 64);
	log->ring.tail.reserved += 64;
	append(log, 1, 7, 0);
	publish(log);
	view = view_of(log);
	for (uint32_t bit = 0; bit < (64 + 64) * 8; bit++) {
		const bool covered = bit / 8 < 37 || (bit / 8 >= 64 && bit / 8 < 96);
		int rc;

		at = log->ring_memory + bit / 8;
		*at ^= (uint8_t)(1 << bit % 8);
		rc = rdmo_record_find(&view, 0, &found);
		if (rc == 1)
			rc = rdmo_record_find(&view, found.next, &found);
		if (rc != (covered ? -EILSEQ : 1))
			fail_msg("bit %u: %d", bit, rc);
		assert_int_equal(found.position, !covered ? 128 : bit / 8 < 64 ? 0 : 64);
		*at ^= (uint8_t)(1 << bit % 8);
	}
}

/* RFC 3720's, bit by bit; of a header whose own is 0 and the payload behind it. */
static rte_le32_t
crc_of(const struct rdmo_record *record, uint32_t length)
{
	const uint8_t *bytes = (const void *)record;
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; i < sizeof(*record) + length; i++) {
		crc ^= bytes[i];
		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
	}
	return rte_cpu_to_le_32(~crc);
}

/* A record with a good checksum that is not what it must be. */
static void
test_records_that_lie(void **state)
{
	static const struct {
		uint32_t length;
		uint32_t summed; /* bytes behind the header */
		uint64_t position;
		uint16_t kind, reserved;
	} lies[] = {
		{ 97, 97, 0, RDMO_RECORD_DATA, 0 }, /* beyond the tail */
		{ 97, 0, 0, RDMO_RECORD_PAD, 0 },
		{ UINT32_MAX, 0, 0, RDMO_RECORD_DATA, 0 },
		{ UINT32_MAX, 0, 0, RDMO_RECORD_PAD, 0 },
		{ 5, 5, CAPACITY, RDMO_RECORD_DATA, 0 }, /* of another round */
		{ 5, 5, 32, RDMO_RECORD_DATA, 0 },
		{ 5, 0, 0, 0, 0 },
		{ 5, 0, 0, 3, 0 },
		{ 5, 5, 0, RDMO_RECORD_DATA, 1 },
	};
	struct log *log = *state;
	struct rdmo_record *record = record_at(log, 0);
	struct rdmo_log_view view;
	struct rdmo_log_record found;

	append(log, 0, 1, 5);
	append(log, 0, 2, 5);
	publish(log);
	view = view_of(log);
	for (uint32_t i = 0; i < RTE_DIM(lies); i++) {
		*record = (struct rdmo_record){
			.length = rte_cpu_to_le_32(lies[i].length),
			.position = rte_cpu_to_le_64(lies[i].position),
			.kind = rte_cpu_to_le_16(lies[i].kind),
			.reserved = rte_cpu_to_le_16(lies[i].reserved),
		};
		record->crc32c = crc_of(record, lies[i].summed);
		if (rdmo_record_find(&view, 0, &found) != -EILSEQ)
			fail_msg("lie %u is believed", i);
		assert_int_equal(found.position, 0);
	}
}

/* A payload that looks like a record, where none can be: of an earlier round, between two places, across the ring's end. */
static void
test_records_in_payloads(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view = { .ring = log->ring_memory, .capacity = CAPACITY };
	struct rdmo_log_record found;
	static const struct {
		uint64_t position, tail;
		uint32_t length;
		int rc;
	} rows[] = {
		{ CAPACITY + 64, 2 * CAPACITY + 64, 5, 1 },
		{ CAPACITY + 64, 2 * CAPACITY + 96, 5, -EILSEQ },
		{ CAPACITY + 64, CAPACITY + 32, 5, -EILSEQ },
		{ CAPACITY + 33, CAPACITY + 128, 5, -EILSEQ },
		{ CAPACITY - 64, CAPACITY + 128, 32, 1 },
		{ CAPACITY - 64, CAPACITY + 128, 33, -EILSEQ },
	};

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		struct rdmo_record record[3] = { 0 };

		/* Made where a record may be: some rows' places are none. */
		rdmo_record_seal(record, rows[i].position, 0, 1, rows[i].length);
		memcpy(log->ring_memory + rows[i].position % CAPACITY, record,
		       sizeof(*record) + rows[i].length);
		view.tail = rows[i].tail;
		if (rdmo_record_find(&view, rows[i].position, &found) != rows[i].rc)
			fail_msg("row %u", i);
	}
}

/* A reader that asks where no record can be. */
static void
test_positions_that_cannot_be(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	struct rdmo_log_record found;
	uint64_t position = 0;

	for (uint64_t seq = 0; seq < 200; seq++) {
		append(log, 0, seq, 64);
		publish(log);
		view = view_of(log);
		assert_true(rdmo_ring_release(&log->ring, view.tail));
	}
	for (position = view.tail - CAPACITY - 64; position < view.tail - CAPACITY; position++)
		assert_int_equal(rdmo_record_find(&view, position, &found), -EILSEQ);
	assert_int_equal(rdmo_record_find(&view, view.tail - 33, &found), -EILSEQ);
	assert_int_equal(rdmo_record_find(&view, view.tail + 32, &found), -EILSEQ);
	assert_int_equal(rdmo_record_find(&view, view.tail - 96, &found), 1);
	view.tail += 1;
	assert_int_equal(rdmo_record_find(&view, view.tail - 97, &found), -EILSEQ);
}

/* ---- Slots ---- */

static void
test_what_was_appended_is_known(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	uint64_t at[2][300], position;

	/* Two producers, with numbers of their own. */
	for (uint64_t i = 0; i < 300; i++) {
		at[0][i] = append(log, 0, i, 5);
		at[1][i] = append(log, 1, 1000 + i, 0);
		publish(log);
		view = view_of(log);
		assert_true(rdmo_ring_release(&log->ring, view.tail));
	}
	for (uint64_t i = 300 - RDMO_LOG_WINDOW; i < 300; i++) {
		assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, i, &position), 1);
		assert_int_equal(position, at[0][i]);
		assert_int_equal(rdmo_slot_find(&log->slots[1], &view, 1, 1000 + i, &position), 1);
		assert_int_equal(position, at[1][i]);
	}
	/* And some of them are no longer in the ring. */
	assert_true(view.tail - at[0][300 - RDMO_LOG_WINDOW] > CAPACITY);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 300, &position), 0);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, UINT64_MAX, &position), 0);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 299 - RDMO_LOG_WINDOW, &position),
			 -ERANGE);
}

/* An operation without a record does not find the one of a window before it. */
static void
test_what_was_refused_is_not_known(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	uint64_t position;

	append(log, 0, 3, 5);
	append(log, 0, 4, 5);
	rdmo_slot_void(&log->slots[0], RDMO_LOG_WINDOW + 3);
	append(log, 0, RDMO_LOG_WINDOW + 4, 5);
	publish(log);
	view = view_of(log);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, RDMO_LOG_WINDOW + 3, &position),
			 0);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, RDMO_LOG_WINDOW + 4, &position),
			 1);
	assert_int_equal(position, 128);
}

/*
 * Killed at each step of an append: record, slot, tail. What the next worker appends at the same position is not taken for the
 * record that never was, wherever its reader is.
 */
static void
test_killed_at_each_step(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	struct rdmo_place place;
	uint64_t position;

	append(log, 0, 1, 5);
	publish(log);
	for (uint32_t step = 0; step < 3; step++) {
		const uint64_t seq = 2 + step, was = log->ring.tail.published;

		assert_int_equal(rdmo_ring_reserve(&log->ring, 5, &place), RDMO_STATUS_OK);
		if (step > 0)
			rdmo_record_seal(record_at(log, place.position), place.position, 0, seq, 5);
		if (step > 1)
			rdmo_slot_put(&log->slots[0], seq, place.position);
		/* The next worker. */
		view = view_of(log);
		assert_int_equal(view.tail, was);
		assert_true(rdmo_ring_begin(&log->ring, CAPACITY, view.tail, log->ring.head));
		for (uint32_t i = 0; i < 2; i++)
			rdmo_slot_recover(&log->slots[i], view.tail);
		assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, seq, &position), 0);
		assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 1, &position), 1);
		/* Another producer's gets its place, and goes out of the ring. */
		for (uint64_t i = 0; i <= CAPACITY / 64; i++) {
			append(log, 1, 1000 * step + i, 5);
			publish(log);
			view = view_of(log);
			assert_true(rdmo_ring_release(&log->ring, view.tail));
			assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, seq, &position),
					 0);
		}
	}
	/* It is sent again, and known from then on. */
	append(log, 0, 2, 5);
	publish(log);
	view = view_of(log);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 2, &position), 1);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 1, &position), 1);
}

/* The oldest one that is still there is looked at. */
static void
test_the_oldest_record_of_the_ring(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	uint64_t position;

	append(log, 0, 0, 5);
	for (uint64_t seq = 1; seq < CAPACITY / 64; seq++)
		append(log, 1, seq, 5);
	publish(log);
	view = view_of(log);
	assert_int_equal(view.tail, CAPACITY);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 0, &position), 1);
	log->ring_memory[33] ^= 1;
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 0, &position), -EILSEQ);
	assert_int_equal(position, 0);
	/* And when its place is another one's, the word is believed. */
	assert_true(rdmo_ring_release(&log->ring, 64));
	append(log, 1, CAPACITY / 64, 5);
	publish(log);
	view = view_of(log);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 0, &position), 1);
	assert_int_equal(position, 0);
}

static void
test_a_word_that_leads_elsewhere_is_damage(void **state)
{
	struct log *log = *state;
	struct rdmo_log_view view;
	uint64_t position;

	append(log, 0, 1, 5);
	append(log, 1, 2, 5);
	append(log, 0, 2, 5);
	publish(log);
	view = view_of(log);
	/* To another producer's, to another number, into a record, to a PAD. */
	for (uint64_t wrong = 0; wrong < 128; wrong += wrong == 0 ? 64 : 32) {
		rdmo_slot_put(&log->slots[0], 2, wrong);
		assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 2, &position), -EILSEQ);
		assert_int_equal(position, wrong);
	}
	rdmo_slot_put(&log->slots[0], 2, 128);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 2, &position), 1);
	rdmo_record_pad(record_at(log, 128), 128, 64);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 2, &position), -EILSEQ);
	/* What was to be beyond the tail is void. */
	rdmo_slot_put(&log->slots[0], 2, view.tail);
	assert_int_equal(rdmo_slot_find(&log->slots[0], &view, 0, 2, &position), 0);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, log_setup, log_teardown)

static const struct CMUnitTest tests[] = {
	LOG_TEST(test_an_empty_log),
	LOG_TEST(test_what_is_no_log),
	cmocka_unit_test(test_records_as_others_make_them),
	LOG_TEST(test_records_come_back_in_order),
	LOG_TEST(test_nothing_is_found_behind_the_tail),
	LOG_TEST(test_each_flipped_bit_is_found),
	LOG_TEST(test_records_that_lie),
	LOG_TEST(test_records_in_payloads),
	LOG_TEST(test_positions_that_cannot_be),
	LOG_TEST(test_what_was_appended_is_known),
	LOG_TEST(test_what_was_refused_is_not_known),
	LOG_TEST(test_killed_at_each_step),
	LOG_TEST(test_the_oldest_record_of_the_ring),
	LOG_TEST(test_a_word_that_leads_elsewhere_is_damage),
};

PLAIN_MAIN("rdmo-record", tests)
