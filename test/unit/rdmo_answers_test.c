/* SPDX-License-Identifier: BSD-3-Clause */

/* Answers to remote direct memory operations: golden bytes, cuts, each member wrong by itself, and which answers join. */

#include "main.h"
#include "rdmo_bytes.h"

/* APPEND 41 .. 43; 44 refused; FLUSH 45 tells of it; SCATTER 46, 47; 48 was no operation. */
static const char answers[] = "52444d4f01010500b8000000feffffff88776655443322112900000000000000"
			      "01000000030000001000000000000000290000000000000000400000007f0000"
			      "05400000007f000040400000007f0000"
			      "010004000100000000000000000000002c000000000000000000000000000000"
			      "000004000100000008000000000000002d000000000000002c00000000000000"
			      "d8d7d6d5d4d3d2d1"
			      "020000000200000000000000000000002e000000000000000000000000000000"
			      "0700010001000000000000000000000030000000000000000000000000000000";
/* SESSION. */
static const char closing[] = "52444d4f01020000080000000000000088776655443322110000000000000000"
			      "0500000000000000";

static void
test_answers_are_written(void **state)
{
	uint8_t golden[BYTES_MAX];
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	const uint32_t bytes = bytes_of(answers, golden);
	struct rdmo_writer w;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_ANSWERS, SESSION, 0);
	assert_true(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_OK, 41, 0x7f0000004000));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_OK, 42, 0x7f0000004005));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_OK, 43, 0x7f0000004040));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_APPEND, RDMO_STATUS_KEY, 44, 0));
	assert_true(rdmo_writer_flushed(&w, RDMO_STATUS_KEY, 45, 44, 0xd1d2d3d4d5d6d7d8));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_SCATTER, RDMO_STATUS_OK, 46, 0));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_SCATTER, RDMO_STATUS_OK, 47, 0));
	assert_true(rdmo_writer_answer(&w, 7, RDMO_STATUS_OP, 48, 0));
	assert_int_equal(rdmo_writer_end(&w, 0xfffffffe), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(buffer[bytes], 0xee);
}

static void
test_answers_are_read(void **state)
{
	static const struct {
		uint64_t seq, value;
		uint32_t count, op_id;
		enum rdmo_status status;
	} expected[] = {
		{ 41, 0x7f0000004000, 3, RDMO_OP_APPEND, RDMO_STATUS_OK },
		{ 44, 0, 1, RDMO_OP_APPEND, RDMO_STATUS_KEY },
		{ 45, 44, 1, RDMO_OP_FLUSH, RDMO_STATUS_KEY },
		{ 46, 0, 2, RDMO_OP_SCATTER, RDMO_STATUS_OK },
		{ 48, 0, 1, 7, RDMO_STATUS_OP },
	};
	_Alignas(8) uint8_t bytes[BYTES_MAX];
	const uint32_t count = bytes_of(answers, bytes);
	struct rdmo_reader reader;
	struct rdmo_answer answer;

	(void)state;
	assert_int_equal(rdmo_answers_open(&reader, bytes, count, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.credits, 0xfffffffe);
	for (uint32_t i = 0; i < RTE_DIM(expected); i++) {
		assert_true(rdmo_answers_next(&reader, &answer));
		assert_int_equal(answer.seq, expected[i].seq);
		assert_int_equal(answer.value, expected[i].value);
		assert_int_equal(answer.count, expected[i].count);
		assert_int_equal(answer.op_id, expected[i].op_id);
		assert_int_equal(answer.status, expected[i].status);
		assert_int_equal(rdmo_answer_value(&answer, 0), expected[i].value);
		if (i == 0) {
			assert_int_equal(rdmo_answer_value(&answer, 1), 0x7f0000004005);
			assert_int_equal(rdmo_answer_value(&answer, 2), 0x7f0000004040);
		}
		if (i == 2)
			assert_int_equal(rte_le_to_cpu_64(answer.flush->flush_id),
					 0xd1d2d3d4d5d6d7d8);
		else
			assert_null(answer.flush);
		if (i == 3)
			assert_int_equal(rdmo_answer_value(&answer, 1), 0);
	}
	assert_false(rdmo_answers_next(&reader, &answer));
}

static void
test_a_connection_is_closed_with_a_reason(void **state)
{
	_Alignas(8) uint8_t golden[BYTES_MAX], buffer[RDMO_CLOSE_BYTES];
	const uint32_t bytes = bytes_of(closing, golden);
	struct rdmo_reader reader;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_close_write(buffer, SESSION, RDMO_REASON_SESSION);
	assert_int_equal(bytes, sizeof(buffer));
	assert_memory_equal(buffer, golden, bytes);
	/* By either end. */
	assert_int_equal(rdmo_answers_open(&reader, golden, bytes, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.closed_by, RDMO_REASON_SESSION);
	assert_int_equal(rdmo_requests_open(&reader, golden, bytes, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.closed_by, RDMO_REASON_SESSION);
}

/* ---- What is broken ---- */

static void
test_every_cut(void **state)
{
	(void)state;
	rdmo_every_cut(answers, rdmo_answers_open);
	rdmo_every_cut(closing, rdmo_answers_open);
	rdmo_every_cut(closing, rdmo_requests_open);
}

static const struct rdmo_broken broken[] = {
	{ 5, 1, RDMO_MSG_REQUESTS, RDMO_REASON_KIND },
	{ 6, 1, 4, RDMO_REASON_COUNT },
	{ 6, 1, 6, RDMO_REASON_COUNT },
	{ 24, 8, 40, RDMO_REASON_SEQ },
	{ 32, 1, 3, RDMO_REASON_ANSWER },		/* no operation */
	{ 32, 1, RDMO_OP_FLUSH, RDMO_REASON_ANSWER },	/* several */
	{ 32, 1, RDMO_OP_SCATTER, RDMO_REASON_ANSWER }, /* with values */
	{ 34, 1, RDMO_STATUS_KEY, RDMO_REASON_ANSWER }, /* several failures */
	{ 35, 1, 1, RDMO_REASON_ANSWER },		/* no status */
	{ 82, 1, RDMO_STATUSES, RDMO_REASON_ANSWER },
	{ 36, 4, 0, RDMO_REASON_ANSWER },
	{ 156, 4, 0, RDMO_REASON_ANSWER },
	{ 188, 4, 2, RDMO_REASON_ANSWER }, /* several failures */
	{ 96, 8, UINT64_MAX, RDMO_REASON_SEQ },
	{ 36, 4, 2, RDMO_REASON_ANSWER }, /* more values than answers */
	{ 36, 4, 4, RDMO_REASON_ANSWER },
	{ 36, 4, 0x20000003, RDMO_REASON_ANSWER }, /* 8 times that wraps */
	{ 40, 4, 15, RDMO_REASON_ANSWER },
	{ 40, 4, 0xb8, RDMO_REASON_FRAME },
	{ 40, 4, 0xffffffff, RDMO_REASON_FRAME },
	{ 44, 1, 1, RDMO_REASON_RESERVED },
	{ 127, 1, 1, RDMO_REASON_RESERVED },
	{ 48, 8, UINT64_MAX, RDMO_REASON_SEQ },
	{ 48, 8, UINT64_MAX - 2, RDMO_REASON_SEQ },
	{ 48, 8, 42, RDMO_REASON_SEQ },
	{ 104, 1, 1, RDMO_REASON_ANSWER },		/* a value of a failure */
	{ 176, 1, 1, RDMO_REASON_ANSWER },		/* of a SCATTER */
	{ 114, 1, RDMO_STATUS_OK, RDMO_REASON_ANSWER }, /* no failure, but its number */
	{ 136, 8, UINT64_MAX, RDMO_REASON_ANSWER },	/* a failure without one */
	{ 120, 4, 7, RDMO_REASON_ANSWER },
	{ 186, 1, RDMO_STATUS_OK, RDMO_REASON_ANSWER }, /* done, and not known */
};
static const struct rdmo_broken broken_close[] = {
	{ 5, 1, 3, RDMO_REASON_KIND },
	{ 24, 1, 1, RDMO_REASON_SEQ },
	{ 32, 1, RDMO_REASON_NONE, RDMO_REASON_ANSWER },
	{ 36, 1, 1, RDMO_REASON_RESERVED },
};

static void
test_broken_answers_close_the_connection(void **state)
{
	(void)state;
	rdmo_are_broken(answers, rdmo_answers_open, broken, RTE_DIM(broken));
	rdmo_are_broken(closing, rdmo_answers_open, broken_close, RTE_DIM(broken_close));
	rdmo_are_broken(closing, rdmo_requests_open, broken_close, RTE_DIM(broken_close));
}

/* The last numbers that there are. */
static void
test_sequence_numbers_do_not_wrap(void **state)
{
	_Alignas(8) uint8_t bytes[BYTES_MAX];
	const uint32_t count = bytes_of(answers, bytes);
	struct rdmo_reader reader;
	struct rdmo_answer answer;

	(void)state;
	put64(bytes + 24, UINT64_MAX - 3);
	put64(bytes + 48, UINT64_MAX - 3);
	assert_int_equal(rdmo_answers_open(&reader, bytes, count, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.seq, UINT64_MAX - 3);
}

/* ---- Answers that join ---- */

/* How many answers the message has, of operations that were answered one by one. */
static uint32_t
joined(const struct rdmo_answer *list, uint32_t count, uint32_t room)
{
	_Alignas(8) static uint8_t buffer[4096];
	struct rdmo_writer w;
	struct rdmo_reader reader;
	struct rdmo_answer answer;
	uint32_t i, n, found = 0, taken = 0;

	rdmo_writer_begin(&w, buffer, room, RDMO_MSG_ANSWERS, SESSION, 0);
	while (taken < count && rdmo_writer_answer(&w, list[taken].op_id, list[taken].status,
						   list[taken].seq, list[taken].value))
		taken++;
	i = rdmo_writer_end(&w, 0);
	assert_in_range(i, MSG, room);
	assert_int_equal(rdmo_answers_open(&reader, buffer, i, SESSION), RDMO_REASON_NONE);
	for (i = 0; rdmo_answers_next(&reader, &answer); found++)
		for (n = 0; n < answer.count; n++, i++) {
			assert_int_equal(answer.seq + n, list[i].seq);
			assert_int_equal(answer.op_id, list[i].op_id);
			assert_int_equal(answer.status, list[i].status);
			assert_int_equal(rdmo_answer_value(&answer, n), list[i].value);
		}
	assert_int_equal(i, taken);
	return found;
}

#define DONE(op, at, what)                                  \
	{                                                   \
		.op_id = (op), .seq = (at), .value = (what) \
	}

static void
test_successes_in_a_row_join(void **state)
{
	static const struct rdmo_answer row[] = {
		DONE(RDMO_OP_APPEND, 5, 100),
		DONE(RDMO_OP_APPEND, 6, 0),
		DONE(RDMO_OP_APPEND, 7, 50),
	};
	static const struct rdmo_answer gap[] = {
		DONE(RDMO_OP_APPEND, 5, 100),
		DONE(RDMO_OP_APPEND, 7, 200),
	};
	static const struct rdmo_answer back[] = {
		DONE(RDMO_OP_SCATTER, 5, 0),
		DONE(RDMO_OP_SCATTER, 5, 0),
	};
	static const struct rdmo_answer kinds[] = {
		DONE(RDMO_OP_APPEND, 5, 100),
		DONE(RDMO_OP_SCATTER, 6, 0),
		DONE(RDMO_OP_SCATTER, 7, 0),
		DONE(RDMO_OP_APPEND, 8, 1),
	};
	static const struct rdmo_answer failures[] = {
		{ .op_id = RDMO_OP_APPEND, .seq = 5, .status = RDMO_STATUS_FULL },
		{ .op_id = RDMO_OP_APPEND, .seq = 6, .status = RDMO_STATUS_FULL },
		DONE(RDMO_OP_APPEND, 7, 8),
		{ .op_id = RDMO_OP_APPEND, .seq = 8, .status = RDMO_STATUS_FULL },
		DONE(RDMO_OP_APPEND, 9, 16),
		DONE(RDMO_OP_APPEND, 10, 24),
	};

	(void)state;
	assert_int_equal(joined(row, 3, 4096), 1);
	assert_int_equal(joined(gap, 2, 4096), 2);
	assert_int_equal(joined(back, 2, 4096), 2);
	assert_int_equal(joined(kinds, 4, 4096), 3);
	assert_int_equal(joined(failures, 6, 4096), 5);
	/* Without room for the third value. */
	for (uint32_t room = MSG + 40; room < MSG + 48; room++)
		assert_int_equal(joined(row, 3, room), 1);
	assert_int_equal(joined(failures, 6, MSG + 32), 1);
}

/* What is answered behind a FLUSH is behind it. */
static void
test_answers_do_not_join_across_a_flush(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	struct rdmo_writer w;
	struct rdmo_reader reader;
	struct rdmo_answer answer;

	(void)state;
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_ANSWERS, SESSION, 0);
	assert_true(rdmo_writer_answer(&w, RDMO_OP_SCATTER, RDMO_STATUS_OK, 1, 0));
	assert_true(rdmo_writer_flushed(&w, RDMO_STATUS_OK, 3, RDMO_NONE, 9));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_SCATTER, RDMO_STATUS_OK, 2, 0));
	assert_true(rdmo_writer_answer(&w, RDMO_OP_FLUSH, RDMO_STATUS_KEY, 4, 0));
	assert_true(rdmo_writer_answer(&w, 0x12345, RDMO_STATUS_OP, 5, 0));
	assert_int_equal(rdmo_answers_open(&reader, buffer, rdmo_writer_end(&w, 0), SESSION),
			 RDMO_REASON_NONE);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.count, 1);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.value, RDMO_NONE);
	assert_int_equal(rte_le_to_cpu_64(answer.flush->flush_id), 9);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.seq, 2);
	/* A FLUSH that was refused tells of itself alone. */
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.op_id, RDMO_OP_FLUSH);
	assert_int_equal(answer.status, RDMO_STATUS_KEY);
	assert_null(answer.flush);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.op_id, UINT16_MAX);
}

/* A FLUSH that was executed brings its number, and no two of them have one answer. */
static void
test_a_flush_is_answered_alone(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	struct rdmo_writer w;
	uint32_t bytes;

	(void)state;
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_ANSWERS, SESSION, 0);
	assert_true(rdmo_writer_flushed(&w, RDMO_STATUS_OK, 3, RDMO_NONE, 9));
	bytes = rdmo_writer_end(&w, 0);
	assert_int_equal(open_alone(rdmo_answers_open, buffer, bytes), RDMO_REASON_NONE);
	buffer[MSG + 4] = 2;
	assert_int_equal(open_alone(rdmo_answers_open, buffer, bytes), RDMO_REASON_ANSWER);
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_ANSWERS, SESSION, 0);
	assert_true(rdmo_writer_answer(&w, RDMO_OP_FLUSH, RDMO_STATUS_OK, 3, 0));
	bytes = rdmo_writer_end(&w, 0);
	assert_int_equal(open_alone(rdmo_answers_open, buffer, bytes), RDMO_REASON_ANSWER);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_answers_are_written),
	cmocka_unit_test(test_answers_are_read),
	cmocka_unit_test(test_a_connection_is_closed_with_a_reason),
	cmocka_unit_test(test_every_cut),
	cmocka_unit_test(test_broken_answers_close_the_connection),
	cmocka_unit_test(test_sequence_numbers_do_not_wrap),
	cmocka_unit_test(test_successes_in_a_row_join),
	cmocka_unit_test(test_answers_do_not_join_across_a_flush),
	cmocka_unit_test(test_a_flush_is_answered_alone),
};

PLAIN_MAIN("rdmo-answers", tests)
