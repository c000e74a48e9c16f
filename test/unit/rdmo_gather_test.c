/* SPDX-License-Identifier: BSD-3-Clause */

/* GATHER: its bytes and those of its answer, what is refused, what is read of a target here and in another process. */

#include "rdmo_bytes.h"
#include "rdmo_round_world.h"

/* GATHER of two pieces, with FENCE. */
static const char request_bytes[] =
	"52444d4f01000100500000000000000088776655443322110500000000000000"
	"380000000000000007000000000000000300000001000000"
	"0200000000000000"
	"0110000000000000b8b7b6b5b4b3b2b10300000000000000"
	"0020000000000000c8c7c6c5c4c3c2c10800000000000000";
/* Its answer: "abc12345678". */
static const char answer_bytes[] =
	"52444d4f01010100300000000000000088776655443322110500000000000000"
	"03000000010000000b0000000000000005000000000000000000000000000000"
	"61626331323334353637380000000000";

static const struct rdmo_gather_iov pieces[2] = {
	{ RTE_LE64(0x1001), RTE_LE64(0xb1b2b3b4b5b6b7b8), RTE_LE32(3), 0 },
	{ RTE_LE64(0x2000), RTE_LE64(0xc1c2c3c4c5c6c7c8), RTE_LE32(8), 0 },
};

/* ---- Bytes ---- */

static void
test_a_gather_as_bytes(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	uint8_t golden[BYTES_MAX];
	const uint32_t bytes = bytes_of(request_bytes, golden);
	struct rdmo_request request;
	struct rdmo_reader reader;
	struct rdmo_writer w;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_REQUESTS, SESSION, 5);
	assert_true(rdmo_writer_gather(&w, 7, RDMO_FLAG_FENCE, pieces, 2));
	assert_false(rdmo_writer_gather(&w, 7, 0, pieces, 0));
	assert_int_equal(rdmo_writer_end(&w, 0), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(rdmo_requests_open(&reader, buffer, bytes, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.op_id, RDMO_OP_GATHER);
	assert_int_equal(request.count, 2);
	assert_int_equal(request.bytes, 11);
	assert_memory_equal(request.gather, pieces, sizeof(pieces));
	rdmo_every_cut(request_bytes, rdmo_requests_open);
}

static void
test_its_answer_as_bytes(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	uint8_t golden[BYTES_MAX];
	const uint32_t bytes = bytes_of(answer_bytes, golden);
	struct rdmo_answer answer;
	struct rdmo_reader reader;
	struct rdmo_writer w;
	void *to;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_ANSWERS, SESSION, 0);
	assert_null(rdmo_writer_gathered(&w, 5, rdmo_gathered_max(bytes) + 1));
	to = rdmo_writer_gathered(&w, 5, 11);
	assert_non_null(to);
	memcpy(to, "abc12345678", 11);
	assert_int_equal(rdmo_writer_end(&w, 0), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(rdmo_answers_open(&reader, buffer, bytes, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_answers_next(&reader, &answer));
	assert_int_equal(answer.op_id, RDMO_OP_GATHER);
	assert_int_equal(answer.gathered_bytes, 11);
	assert_memory_equal(answer.gathered, "abc12345678", 11);
	assert_null(answer.flush);
	rdmo_every_cut(answer_bytes, rdmo_answers_open);
	/* Two of them have no answer together; one that is refused has no bytes. */
	buffer[MSG + 4] = 2;
	assert_int_equal(open_alone(rdmo_answers_open, buffer, bytes), RDMO_REASON_ANSWER);
	buffer[MSG + 4] = 1;
	buffer[MSG + 2] = RDMO_STATUS_KEY;
	assert_int_equal(open_alone(rdmo_answers_open, buffer, bytes), RDMO_REASON_ANSWER);
}

static void
test_a_wrong_gather_is_refused(void **state)
{
	static const struct {
		uint32_t at, size;
		uint64_t value;
		enum rdmo_status status;
	} rows[] = {
		{ 52, 4, RDMO_FLAG_SILENT, RDMO_STATUS_NOTSUP },
		{ 52, 4, RDMO_FLAG_PULL, RDMO_STATUS_NOTSUP },
		{ 52, 4, RDMO_FLAG_NOTIFY, RDMO_STATUS_NOTSUP },
		{ 56, 8, 1, RDMO_STATUS_LENGTH },
		{ 56, 8, 3, RDMO_STATUS_LENGTH },
		{ 56, 8, UINT64_MAX, RDMO_STATUS_LENGTH },
		{ 56, 8, (UINT64_C(1) << 61) + 2, RDMO_STATUS_LENGTH },
		{ 64, 8, UINT64_MAX - 2, RDMO_STATUS_BOUNDS },
		{ 84, 4, 1, RDMO_STATUS_NOTSUP },
		{ 108, 1, 1, RDMO_STATUS_NOTSUP },
	};

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		_Alignas(8) uint8_t bytes[BYTES_MAX];
		const uint32_t count = bytes_of(request_bytes, bytes);
		const rte_le64_t value = rte_cpu_to_le_64(rows[i].value);
		struct rdmo_request request;
		struct rdmo_reader reader;

		memcpy(bytes + rows[i].at, &value, rows[i].size);
		assert_int_equal(rdmo_requests_open(&reader, bytes, count, SESSION),
				 RDMO_REASON_NONE);
		assert_true(rdmo_requests_next(&reader, &request));
		if (request.status != rows[i].status)
			fail_msg("row %u: status %u", i, request.status);
	}
}

/* ---- Execution ---- */

static struct rdmo_gather_iov
piece(const void *at, uint64_t key, uint32_t len)
{
	return (struct rdmo_gather_iov){
		.addr = rte_cpu_to_le_64((uintptr_t)at),
		.rkey = rte_cpu_to_le_64(key),
		.len = rte_cpu_to_le_32(len),
	};
}

static void
run_gather(const struct rdmo_gather_iov *iovs, uint32_t count)
{
	assert_true(rdmo_writer_gather(&world.writer, ID, 0, iovs, count));
	round_run();
}

static void
test_what_is_gathered(void **state)
{
	const struct rdmo_gather_iov iovs[] = {
		piece(world.target.memory + 100, READ_KEY, 5),
		piece(world.target.memory, HERE_KEY, 0),
		piece(world.target.memory + QUEUE - 3, HERE_KEY, 3),
	};
	const struct rdmo_request next = { .op_id = RDMO_OP_GATHER };
	char read[9] = { 0 };

	(void)state;
	world.flow.gather_bytes = 8;
	memcpy(world.target.memory + 100, "hello", 5);
	memcpy(world.target.memory + QUEUE - 3, "end", 3);
	run_gather(iovs, 3);
	assert_ptr_equal(world.round.gather.result, &world.round.results[0]);
	/* One of a round. */
	assert_false(rdmo_round_takes(&world.round, &next));
	rdmo_round_settle(&world.round);
	round_expect(0, RDMO_STATUS_OK, 0);
	rdmo_round_gathered(&world.round, (uint8_t *)read);
	assert_string_equal(read, "helloend");
	rdmo_round_begin(&world.round);
	assert_true(rdmo_round_takes(&world.round, &next));
}

static void
test_what_gathers_are_refused_for(void **state)
{
	const struct {
		struct rdmo_gather_iov iov;
		enum rdmo_status status;
	} rows[] = {
		{ piece(world.target.memory, WRITE_KEY, 4), RDMO_STATUS_RIGHTS },
		{ piece(world.target.memory, FOREIGN_KEY, 4), RDMO_STATUS_KEY },
		{ piece(world.target.memory, OTHER_RQ_KEY, 4), RDMO_STATUS_KEY },
		{ piece(world.target.memory, 12345, 4), RDMO_STATUS_KEY },
		{ piece(world.target.memory + QUEUE - 3, READ_KEY, 4), RDMO_STATUS_BOUNDS },
		{ piece(world.target.memory, READ_KEY, 9), RDMO_STATUS_LENGTH },
	};

	(void)state;
	world.flow.gather_bytes = 8;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		const struct rdmo_gather_iov both[] = { piece(world.target.memory, READ_KEY, 1),
							rows[i].iov };

		rdmo_round_begin(&world.round);
		run_gather(both, 2);
		assert_null(world.round.gather.result);
		rdmo_round_settle(&world.round);
		round_expect(0, rows[i].status, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, round_set_up, round_tear_down)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_a_gather_as_bytes),
	cmocka_unit_test(test_its_answer_as_bytes),
	cmocka_unit_test(test_a_wrong_gather_is_refused),
	TEST(test_what_is_gathered),
	TEST(test_what_gathers_are_refused_for),
};

PLAIN_MAIN("rdmo-gather", tests)
