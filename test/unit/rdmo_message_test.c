/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests of remote direct memory operations: bytes as a program of a few lines in another language has made them, each cut
 * anywhere, each member wrong by itself; what room and sequence numbers do at their ends.
 */

#include "main.h"
#include "rdmo_bytes.h"

#define HEADERS 24 /* bytes of a frame before the operation's own */

/* APPEND of "hello" with FENCE and NOTIFY, FLUSH with FENCE, SCATTER of two pieces, SILENT. */
static const char requests[] = "52444d4f01000300c00000004523010088776655443322112900000000000000"
			       "1d00000000000000a8a7a6a5a4a3a2a10100000009000000"
			       "00100000007f0000b8b7b6b5b4b3b2b1c8c7c6c5c4c3c2c168656c6c6f000000"
			       "1000000000000000a8a7a6a5a4a3a2a10000000001000000"
			       "d8d7d6d5d4d3d2d1e100000000000000"
			       "480000000000000007000000000000000200000002000000"
			       "0200000000000000"
			       "00200000007f0000b8b7b6b5b4b3b2b103000000000000006162630000000000"
			       "00300000007f0000b8b7b6b5b4b3b2b108000000000000003132333435363738";
/* APPEND of two pulled pieces, SCATTER of one. */
static const char pulled[] = "52444d4f01000200980000000000000088776655443322110000000000000000"
			     "380000000000000007000000000000000100000004000000"
			     "001000000000000002000000000000000300000000000000"
			     "0050000000000000990000000000010000900000000000009a00000001000000"
			     "300000000000000007000000000000000200000004000000"
			     "0100000000000000002000000000000004000000000000000000020000000000"
			     "00a00000000000009b00000000000200";
/* FETCH_ADD with FENCE, CMP_SWAP. */
static const char atomics[] = "52444d4f01000200700000000000000088776655443322110500000000000000"
			      "200000000000000007000000000000000500000001000000"
			      "0010000000000000b8b7b6b5b4b3b2b1ffffffffffffffff0000000000000000"
			      "200000000000000007000000000000000600000000000000"
			      "0810000000000000b8b7b6b5b4b3b2b102030000000000000405000000000000";
/* PUT_SIGNAL of "abc" with NOTIFY, adding. */
static const char put[] = "52444d4f01000100500000000000000088776655443322110500000000000000"
			  "330000000000000007000000000000000400000008000000"
			  "0110000000000000b8b7b6b5b4b3b2b10820000000000000c8c7c6c5c4c3c2c1"
			  "090000000000000001000000000000006162630000000000";
/* ---- Golden bytes, both ways ---- */

static void
test_a_put_with_its_signal(void **state)
{
	static const struct rdmo_put_hdr hdr = {
		.addr = RTE_LE64(0x1001),
		.rkey = RTE_LE64(0xb1b2b3b4b5b6b7b8),
		.signal_addr = RTE_LE64(0x2008),
		.signal_rkey = RTE_LE64(0xc1c2c3c4c5c6c7c8),
		.value = RTE_LE64(9),
		.kind = RTE_LE32(RDMO_SIGNAL_ADD),
	};
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	uint8_t golden[BYTES_MAX];
	const uint32_t bytes = bytes_of(put, golden);
	struct rdmo_request request;
	struct rdmo_reader reader;
	struct rdmo_writer w;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_REQUESTS, SESSION, 5);
	assert_true(rdmo_writer_put(&w, 7, RDMO_FLAG_NOTIFY, &hdr, "abc", 3));
	assert_false(rdmo_writer_put(&w, 7, 0, &hdr, "", 0));
	assert_int_equal(rdmo_writer_end(&w, 0), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(rdmo_requests_open(&reader, buffer, bytes, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.op_id, RDMO_OP_PUT_SIGNAL);
	assert_int_equal(request.bytes, 3);
	assert_memory_equal(request.put, &hdr, sizeof(hdr));
	assert_memory_equal(request.payload, "abc", 3);
}

static void
test_atomics(void **state)
{
	static const struct rdmo_atomic_hdr add = {
		.addr = RTE_LE64(0x1000),
		.rkey = RTE_LE64(0xb1b2b3b4b5b6b7b8),
		.operand = RTE_LE64(UINT64_MAX),
	};
	static const struct rdmo_atomic_hdr swap = {
		.addr = RTE_LE64(0x1008),
		.rkey = RTE_LE64(0xb1b2b3b4b5b6b7b8),
		.operand = RTE_LE64(0x302),
		.swap = RTE_LE64(0x504),
	};
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	uint8_t golden[BYTES_MAX];
	const uint32_t bytes = bytes_of(atomics, golden);
	struct rdmo_request request;
	struct rdmo_reader reader;
	struct rdmo_writer w;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_REQUESTS, SESSION, 5);
	assert_true(rdmo_writer_atomic(&w, 7, RDMO_OP_FETCH_ADD, RDMO_FLAG_FENCE, &add));
	assert_true(rdmo_writer_atomic(&w, 7, RDMO_OP_CMP_SWAP, 0, &swap));
	assert_false(rdmo_writer_atomic(&w, 7, RDMO_OP_CMP_SWAP, 0, &swap));
	assert_int_equal(rdmo_writer_end(&w, 0), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(rdmo_requests_open(&reader, buffer, bytes, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.op_id, RDMO_OP_FETCH_ADD);
	assert_memory_equal(request.atomic, &add, sizeof(add));
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.op_id, RDMO_OP_CMP_SWAP);
	assert_memory_equal(request.atomic, &swap, sizeof(swap));
}

static void
test_requests_are_written(void **state)
{
	static const struct rdmo_append_hdr append = {
		.ptr_addr = RTE_LE64(0x7f0000001000),
		.ptr_rkey = RTE_LE64(0xb1b2b3b4b5b6b7b8),
		.data_rkey = RTE_LE64(0xc1c2c3c4c5c6c7c8),
	};
	static const struct rdmo_flush_hdr flush = {
		.flush_id = RTE_LE64(0xd1d2d3d4d5d6d7d8),
		.key = RTE_LE64(0xe1),
	};
	static const struct rdmo_scatter_iov iovs[2] = {
		{ RTE_LE64(0x7f0000002000), RTE_LE64(0xb1b2b3b4b5b6b7b8), RTE_LE32(3), 0 },
		{ RTE_LE64(0x7f0000003000), RTE_LE64(0xb1b2b3b4b5b6b7b8), RTE_LE32(8), 0 },
	};
	static const void *const data[2] = { "abc", "12345678" };
	uint8_t golden[BYTES_MAX];
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	const uint32_t bytes = bytes_of(requests, golden);
	struct rdmo_writer w;

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	rdmo_writer_begin(&w, buffer, bytes, RDMO_MSG_REQUESTS, SESSION, 41);
	assert_true(rdmo_writer_append(&w, 0xa1a2a3a4a5a6a7a8, RDMO_FLAG_FENCE | RDMO_FLAG_NOTIFY,
				       &append, "hello", 5));
	assert_true(rdmo_writer_flush(&w, 0xa1a2a3a4a5a6a7a8, RDMO_FLAG_FENCE, &flush));
	assert_int_equal(rdmo_scatter_bytes(RDMO_FLAG_SILENT, iovs, 2), bytes - 128);
	assert_true(rdmo_writer_scatter(&w, 7, RDMO_FLAG_SILENT, iovs, data, 2));
	assert_int_equal(rdmo_writer_end(&w, 0x12345), bytes);
	assert_memory_equal(buffer, golden, bytes);
	assert_int_equal(buffer[bytes], 0xee);
}

static void
test_requests_are_read(void **state)
{
	_Alignas(8) uint8_t bytes[BYTES_MAX];
	const uint32_t count = bytes_of(requests, bytes);
	struct rdmo_reader reader;
	struct rdmo_request request;
	struct rdmo_pieces pieces;
	struct rdmo_piece piece;

	(void)state;
	assert_int_equal(rdmo_requests_open(&reader, bytes, count, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.credits, 0x12345);
	assert_int_equal(reader.closed_by, RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.seq, 41);
	assert_int_equal(request.id, 0xa1a2a3a4a5a6a7a8);
	assert_int_equal(request.op_id, RDMO_OP_APPEND);
	assert_int_equal(request.flags, RDMO_FLAG_FENCE | RDMO_FLAG_NOTIFY);
	assert_ptr_equal(request.append, bytes + 56);
	assert_ptr_equal(request.payload, bytes + 80);
	assert_int_equal(request.bytes, 5);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.seq, 42);
	assert_int_equal(request.op_id, RDMO_OP_FLUSH);
	assert_ptr_equal(request.flush, bytes + 112);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.seq, 43);
	assert_int_equal(request.id, 7);
	assert_int_equal(request.flags, RDMO_FLAG_SILENT);
	assert_int_equal(request.count, 2);
	assert_int_equal(request.bytes, 11);
	pieces = rdmo_pieces_of(&request);
	assert_true(rdmo_pieces_next(&pieces, &piece));
	assert_int_equal(piece.addr, 0x7f0000002000);
	assert_int_equal(piece.rkey, 0xb1b2b3b4b5b6b7b8);
	assert_int_equal(piece.len, 3);
	assert_ptr_equal(piece.data, bytes + 184);
	assert_true(rdmo_pieces_next(&pieces, &piece));
	assert_int_equal(piece.addr, 0x7f0000003000);
	assert_int_equal(piece.len, 8);
	assert_ptr_equal(piece.data, bytes + 216);
	assert_false(rdmo_pieces_next(&pieces, &piece));
	assert_false(rdmo_requests_next(&reader, &request));
}

static void
test_what_is_pulled(void **state)
{
	static const struct rdmo_append_hdr append = { RTE_LE64(0x1000), RTE_LE64(2), RTE_LE64(3) };
	static const struct rdmo_pull pulls[2] = {
		{ RTE_LE64(0x5000), RTE_LE32(0x99), RTE_LE32(0x10000) },
		{ RTE_LE64(0x9000), RTE_LE32(0x9a), RTE_LE32(1) },
	};
	static const struct rdmo_scatter_iov iov = { RTE_LE64(0x2000), RTE_LE64(4),
						     RTE_LE32(0x20000), 0 };
	static const struct rdmo_pull pull = { RTE_LE64(0xa000), RTE_LE32(0x9b),
					       RTE_LE32(0x20000) };
	static const void *const data[1] = { &pull };
	_Alignas(8) uint8_t golden[BYTES_MAX], buffer[BYTES_MAX];
	const uint32_t bytes = bytes_of(pulled, golden);
	struct rdmo_writer w;
	struct rdmo_reader reader;
	struct rdmo_request request;
	struct rdmo_pieces pieces;
	struct rdmo_piece piece;

	(void)state;
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_REQUESTS, SESSION, 0);
	assert_true(rdmo_writer_append(&w, 7, RDMO_FLAG_PULL, &append, pulls, sizeof(pulls)));
	assert_int_equal(rdmo_scatter_bytes(RDMO_FLAG_PULL, &iov, 1), bytes - 112);
	assert_true(rdmo_writer_scatter(&w, 7, RDMO_FLAG_PULL, &iov, data, 1));
	assert_int_equal(rdmo_writer_end(&w, 0), bytes);
	assert_memory_equal(buffer, golden, bytes);

	assert_int_equal(rdmo_requests_open(&reader, golden, bytes, SESSION), RDMO_REASON_NONE);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_ptr_equal(request.pulls, golden + 80);
	assert_int_equal(request.count, 2);
	assert_int_equal(request.bytes, 0x10001);
	assert_true(rdmo_requests_next(&reader, &request));
	assert_int_equal(request.status, RDMO_STATUS_OK);
	assert_int_equal(request.count, 1);
	assert_int_equal(request.bytes, 0x20000);
	pieces = rdmo_pieces_of(&request);
	assert_true(rdmo_pieces_next(&pieces, &piece));
	assert_int_equal(piece.len, 0x20000);
	assert_ptr_equal(piece.data, golden + 168);
	assert_false(rdmo_pieces_next(&pieces, &piece));
}

/* ---- Broken framing: the connection is closed ---- */

static void
test_every_cut(void **state)
{
	(void)state;
	rdmo_every_cut(requests, rdmo_requests_open);
	rdmo_every_cut(pulled, rdmo_requests_open);
}

static const struct rdmo_broken broken[] = {
	{ 0, 1, 'r', RDMO_REASON_MAGIC },
	{ 3, 1, 'C', RDMO_REASON_MAGIC },
	{ 4, 1, 0, RDMO_REASON_VERSION },
	{ 4, 1, 2, RDMO_REASON_VERSION },
	{ 5, 1, RDMO_MSG_ANSWERS, RDMO_REASON_KIND },
	{ 5, 1, 3, RDMO_REASON_KIND },
	{ 5, 1, RDMO_MSG_CLOSE, RDMO_REASON_COUNT },
	{ 6, 1, 2, RDMO_REASON_COUNT },
	{ 6, 1, 4, RDMO_REASON_COUNT },
	{ 7, 1, 255, RDMO_REASON_COUNT },
	{ 8, 4, 0xc8, RDMO_REASON_LENGTH },
	{ 8, 4, 0xffffffff, RDMO_REASON_LENGTH },
	{ 8, 4, 0, RDMO_REASON_LENGTH },
	{ 16, 1, 0, RDMO_REASON_SESSION },
	{ 23, 1, 0, RDMO_REASON_SESSION },
	{ 24, 8, UINT64_MAX, RDMO_REASON_SEQ },
	{ 24, 8, UINT64_MAX - 2, RDMO_REASON_SEQ },
	{ 32, 4, 0xc0, RDMO_REASON_FRAME },
	{ 32, 4, 0xffffffff, RDMO_REASON_FRAME },
	{ 32, 4, 0xfffffff8, RDMO_REASON_FRAME },
	{ 32, 4, 0xa9, RDMO_REASON_FRAME },
	{ 128, 4, 0x49, RDMO_REASON_FRAME },
	{ 128, 4, 0x40, RDMO_REASON_COUNT },
	{ 36, 1, 1, RDMO_REASON_RESERVED },
	{ 135, 1, 0x80, RDMO_REASON_RESERVED },
	{ 85, 1, 1, RDMO_REASON_RESERVED }, /* padding */
	{ 87, 1, 0x80, RDMO_REASON_RESERVED },
};

static void
test_broken_framing_closes_the_connection(void **state)
{
	(void)state;
	rdmo_are_broken(requests, rdmo_requests_open, broken, RTE_DIM(broken));
}

/* The last numbers that there are. */
static void
test_sequence_numbers_do_not_wrap(void **state)
{
	_Alignas(8) uint8_t bytes[BYTES_MAX];
	const uint32_t count = bytes_of(requests, bytes);
	struct rdmo_reader reader;
	struct rdmo_request request;

	(void)state;
	put64(bytes + 24, UINT64_MAX - 3);
	assert_int_equal(rdmo_requests_open(&reader, bytes, count, SESSION), RDMO_REASON_NONE);
	while (rdmo_requests_next(&reader, &request))
		;
	assert_int_equal(request.seq, UINT64_MAX - 1);
}

static void
test_a_message_of_credits_alone(void **state)
{
	_Alignas(8) uint8_t buffer[MSG];
	struct rdmo_writer w;
	struct rdmo_reader reader;
	struct rdmo_request request;

	(void)state;
	/* It begins with a number of its own, which says nothing then. */
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_REQUESTS, SESSION, 5);
	assert_int_equal(rdmo_writer_end(&w, 9), MSG);
	assert_int_equal(open_alone(rdmo_requests_open, buffer, MSG), RDMO_REASON_NONE);
	assert_int_equal(rdmo_requests_open(&reader, buffer, MSG, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.credits, 9);
	assert_false(rdmo_requests_next(&reader, &request));
	buffer[24] = 1;
	assert_int_equal(open_alone(rdmo_requests_open, buffer, MSG), RDMO_REASON_SEQ);
}

/* ---- An operation that is wrong in itself: refused, and the next one is read ---- */

static const struct refused {
	const char *hex;
	uint32_t at, size;
	uint64_t value;
	uint32_t which; /* operation of the message, from 0 */
	enum rdmo_status status;
} refused[] = {
	{ requests, 48, 4, 7, 0, RDMO_STATUS_OP },
	{ requests, 48, 4, 0x10001, 0, RDMO_STATUS_OP },
	{ requests, 48, 4, 0xffffffff, 0, RDMO_STATUS_OP },
	{ requests, 52, 4, 0x10, 0, RDMO_STATUS_NOTSUP },
	{ requests, 52, 4, 0x80000000, 0, RDMO_STATUS_NOTSUP },
	{ requests, 56, 1, 4, 0, RDMO_STATUS_BOUNDS }, /* no multiple of 8 */
	{ requests, 56, 8, 0xfffffffffffffff8, 0, RDMO_STATUS_BOUNDS },
	{ requests, 52, 4, RDMO_FLAG_PULL, 0, RDMO_STATUS_LENGTH },  /* 5 bytes */
	{ requests, 48, 4, RDMO_OP_FLUSH, 0, RDMO_STATUS_LENGTH },   /* 29 bytes */
	{ requests, 104, 4, RDMO_OP_APPEND, 1, RDMO_STATUS_LENGTH }, /* 16 bytes */
	{ requests, 108, 4, RDMO_FLAG_SILENT, 1, RDMO_STATUS_NOTSUP },
	{ requests, 108, 4, RDMO_FLAG_PULL, 1, RDMO_STATUS_NOTSUP },
	{ requests, 152, 8, 1, 2, RDMO_STATUS_LENGTH }, /* bytes behind the last piece */
	{ requests, 152, 8, 3, 2, RDMO_STATUS_LENGTH },
	{ requests, 152, 8, UINT64_MAX, 2, RDMO_STATUS_LENGTH },
	{ requests, 152, 8, UINT64_C(1) << 61, 2, RDMO_STATUS_LENGTH },
	{ requests, 176, 4, 40, 2, RDMO_STATUS_LENGTH },
	{ requests, 176, 4, 41, 2, RDMO_STATUS_LENGTH },
	{ requests, 176, 4, 9, 2, RDMO_STATUS_NOTSUP },
	{ requests, 176, 4, 0xffffffff, 2, RDMO_STATUS_LENGTH },
	{ requests, 176, 4, 0xfffffff8, 2, RDMO_STATUS_LENGTH },
	{ requests, 176, 4, 2, 2, RDMO_STATUS_NOTSUP },	   /* a letter in the padding */
	{ requests, 191, 1, 0x80, 2, RDMO_STATUS_NOTSUP }, /* padding */
	{ requests, 180, 1, 1, 2, RDMO_STATUS_NOTSUP },
	{ requests, 215, 1, 0x80, 2, RDMO_STATUS_NOTSUP },
	{ requests, 208, 4, 0, 2, RDMO_STATUS_LENGTH },
	{ requests, 208, 4, 9, 2, RDMO_STATUS_LENGTH },
	{ requests, 208, 4, 7, 2, RDMO_STATUS_NOTSUP },
	{ requests, 160, 8, UINT64_MAX - 2, 2, RDMO_STATUS_BOUNDS },
	{ requests, 192, 8, UINT64_MAX - 7, 2, RDMO_STATUS_BOUNDS },
	{ requests, 148, 4, RDMO_FLAG_PULL, 2, RDMO_STATUS_LENGTH },
	{ pulled, 32, 4, 0x37, 0, RDMO_STATUS_LENGTH },
	{ pulled, 92, 4, 0, 0, RDMO_STATUS_LENGTH },
	{ pulled, 108, 4, 0, 0, RDMO_STATUS_LENGTH },
	{ pulled, 80, 8, UINT64_MAX - 0xffff, 0, RDMO_STATUS_BOUNDS },
	{ pulled, 96, 8, UINT64_MAX, 0, RDMO_STATUS_BOUNDS },
	{ pulled, 160, 4, 0x1ffff, 1, RDMO_STATUS_LENGTH }, /* not what is pulled */
	{ pulled, 180, 4, 0x1ffff, 1, RDMO_STATUS_LENGTH },
	{ pulled, 164, 4, 1, 1, RDMO_STATUS_NOTSUP },
	{ pulled, 168, 8, UINT64_MAX - 1, 1, RDMO_STATUS_BOUNDS },
	{ pulled, 144, 8, UINT64_MAX - 1, 1, RDMO_STATUS_BOUNDS },
	{ pulled, 136, 8, 17, 1, RDMO_STATUS_LENGTH },
	{ pulled, 132, 4, 0, 1, RDMO_STATUS_LENGTH }, /* 0x20000 bytes that are not there */
	{ atomics, 48, 4, 3, 0, RDMO_STATUS_LENGTH }, /* a GATHER of 4096 pieces */
	{ atomics, 48, 4, 4, 0, RDMO_STATUS_LENGTH }, /* shorter than its own header */
	{ put, 52, 4, 4, 0, RDMO_STATUS_NOTSUP },     /* PULL */
	{ put, 72, 1, 4, 0, RDMO_STATUS_BOUNDS },     /* no multiple of 8 */
	{ put, 72, 8, 0xfffffffffffffff8, 0, RDMO_STATUS_BOUNDS },
	{ put, 56, 8, UINT64_MAX - 2, 0, RDMO_STATUS_BOUNDS },
	{ put, 96, 4, RDMO_SIGNALS, 0, RDMO_STATUS_NOTSUP },
	{ put, 100, 4, 1, 0, RDMO_STATUS_NOTSUP },
	{ atomics, 48, 4, 7, 0, RDMO_STATUS_OP },
	{ atomics, 52, 4, 4, 0, RDMO_STATUS_NOTSUP }, /* PULL */
	{ atomics, 56, 1, 4, 0, RDMO_STATUS_BOUNDS }, /* no multiple of 8 */
	{ atomics, 56, 8, 0xfffffffffffffff8, 0, RDMO_STATUS_BOUNDS },
	{ atomics, 80, 8, 1, 0, RDMO_STATUS_NOTSUP }, /* it is not for FETCH_ADD */
	{ atomics, 104, 4, 5, 1, RDMO_STATUS_NOTSUP },
};

static void
test_a_wrong_operation_is_refused_alone(void **state)
{
	uint8_t bytes[BYTES_MAX];
	struct rdmo_reader reader;
	struct rdmo_request request;
	rte_le64_t value;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(refused); i++) {
		const struct refused *r = &refused[i];
		const uint32_t count = bytes_of(r->hex, bytes);
		uint8_t *copy = malloc(count);
		uint32_t which = 0;

		assert_non_null(copy);
		value = rte_cpu_to_le_64(r->value);
		memcpy(bytes + r->at, &value, r->size);
		/* A frame that is shorter has more padding. */
		if (r->at == MSG)
			bytes[MSG + HEADERS + r->value] = 0;
		memcpy(copy, bytes, count);
		if (rdmo_requests_open(&reader, copy, count, SESSION) != RDMO_REASON_NONE)
			fail_msg("row %u, at %u: broken", i, r->at);
		for (; rdmo_requests_next(&reader, &request); which++)
			if (request.status != (which == r->which ? r->status : RDMO_STATUS_OK))
				fail_msg("row %u, at %u, operation %u: status %u, not %u", i, r->at,
					 which, request.status, r->status);
		assert_int_equal(which, bytes[6]); /* as the message counts */
		free(copy);
	}
}

/* An operation whose own header is cut, each byte of it. */
static void
test_short_operations_are_refused(void **state)
{
	static const struct {
		uint32_t op_id, least;
	} ops[] = {
		{ RDMO_OP_FLUSH, sizeof(struct rdmo_flush_hdr) },
		{ RDMO_OP_APPEND, sizeof(struct rdmo_append_hdr) },
		{ RDMO_OP_SCATTER, sizeof(struct rdmo_scatter_hdr) },
	};
	_Alignas(8) uint8_t buffer[MSG + HEADERS + 32];
	struct rdmo_writer w;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(ops); i++)
		for (uint32_t length = 0; length <= ops[i].least; length++) {
			const uint32_t bytes = MSG + HEADERS + (uint32_t)rdmo_padded(length);
			uint8_t *copy = malloc(bytes);
			struct rdmo_reader reader;
			struct rdmo_request request;

			assert_non_null(copy);
			memset(buffer, 0, sizeof(buffer));
			rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_REQUESTS, SESSION,
					  0);
			rdmo_writer_end(&w, 0);
			buffer[6] = 1;
			put32(buffer + 8, bytes - MSG);
			put32(buffer + MSG, length);
			put32(buffer + MSG + 16, ops[i].op_id);
			memcpy(copy, buffer, bytes);
			assert_int_equal(rdmo_requests_open(&reader, copy, bytes, SESSION),
					 RDMO_REASON_NONE);
			assert_true(rdmo_requests_next(&reader, &request));
			assert_int_equal(request.status, length == ops[i].least
								 ? RDMO_STATUS_OK
								 : RDMO_STATUS_LENGTH);
			free(copy);
		}
}

/* As many as may be, and one more. */
static void
test_at_most_16_pieces_are_pulled(void **state)
{
	static const struct rdmo_append_hdr append;
	_Alignas(8) uint8_t buffer[2048];
	struct rdmo_pull pulls[RDMO_PULLS + 1];
	struct rdmo_scatter_iov iovs[RDMO_PULLS + 1];
	const void *data[RDMO_PULLS + 1];
	struct rdmo_writer w;
	struct rdmo_reader reader;
	struct rdmo_request request;

	(void)state;
	for (uint32_t i = 0; i <= RDMO_PULLS; i++) {
		pulls[i] = (struct rdmo_pull){ .len = RTE_LE32(0xffffffff) };
		iovs[i] = (struct rdmo_scatter_iov){ .len = RTE_LE32(0xffffffff) };
		data[i] = &pulls[i];
	}
	for (uint32_t count = 0; count <= RDMO_PULLS + 1; count++) {
		const bool fits = count <= RDMO_PULLS;

		rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_REQUESTS, SESSION, 0);
		assert_true(rdmo_writer_append(&w, 0, RDMO_FLAG_PULL, &append, pulls,
					       count * (uint32_t)sizeof(pulls[0])));
		assert_true(rdmo_writer_scatter(&w, 0, RDMO_FLAG_PULL, iovs, data, count));
		assert_int_equal(
			rdmo_requests_open(&reader, buffer, rdmo_writer_end(&w, 0), SESSION),
			RDMO_REASON_NONE);
		assert_true(rdmo_requests_next(&reader, &request));
		assert_int_equal(request.status,
				 fits && count > 0 ? RDMO_STATUS_OK : RDMO_STATUS_LENGTH);
		if (fits)
			assert_int_equal(request.bytes, count * UINT64_C(0xffffffff));
		assert_true(rdmo_requests_next(&reader, &request));
		assert_int_equal(request.status, fits ? RDMO_STATUS_OK : RDMO_STATUS_LENGTH);
		if (fits)
			assert_int_equal(request.bytes, count * UINT64_C(0xffffffff));
	}
}

/* ---- Room ---- */

/* As many as three times the same APPEND takes, of any length: to the last bit what one by one is. */
static void
test_an_append_written_again_is_another_one(void **state)
{
	static const struct rdmo_append_hdr hdr = { .ptr_addr = RTE_LE64(8),
						    .ptr_rkey = RTE_LE64(1),
						    .data_rkey = RTE_LE64(2) };
	_Alignas(8) uint8_t once[BYTES_MAX], again[BYTES_MAX], payloads[3 * 100];
	struct rdmo_append_again more;
	struct rdmo_writer a, b;
	uint8_t *at;

	(void)state;
	for (unsigned int i = 0; i < sizeof(payloads); i++)
		payloads[i] = (uint8_t)(i + 1);
	for (uint32_t bytes = 0; bytes <= 100; bytes++) {
		const uint32_t room =
			sizeof(struct rdmo_msg) + 3 * rdmo_frame_bytes(sizeof(hdr) + bytes);

		memset(once, 0xee, sizeof(once));
		memset(again, 0xee, sizeof(again));
		rdmo_writer_begin(&a, once, room + 8, RDMO_MSG_REQUESTS, SESSION, 5);
		rdmo_writer_begin(&b, again, room + 8, RDMO_MSG_REQUESTS, SESSION, 5);
		for (uint32_t i = 0; i < 3; i++)
			assert_true(rdmo_writer_append(&a, 7, RDMO_FLAG_NOTIFY, &hdr,
						       payloads + i * bytes, bytes));
		assert_true(rdmo_writer_append(&b, 7, RDMO_FLAG_NOTIFY, &hdr, payloads, bytes));
		more = rdmo_writer_again(&b, bytes);
		at = b.at;
		for (uint32_t i = 1; i < 3; i++, at += more.bytes) {
			assert_true(at < more.end);
			rdmo_append_again(&more, at, payloads + i * bytes, bytes);
		}
		assert_false(at < more.end);
		rdmo_writer_took(&b, at, 2);
		assert_int_equal(rdmo_writer_end(&a, 0), room);
		assert_int_equal(rdmo_writer_end(&b, 0), room);
		assert_memory_equal(once, again, sizeof(once));
	}
}

/* Each operation at each room that it does not fit into: nothing is written, and what was there stands. */
static void
test_what_does_not_fit_changes_nothing(void **state)
{
	static const struct rdmo_append_hdr append;
	static const struct rdmo_flush_hdr flush;
	static const struct rdmo_scatter_iov iov = { .len = RTE_LE32(3) };
	static const void *const data[1] = { "abc" };
	static const uint32_t needs[] = { HEADERS + 24 + 8, HEADERS + 16, HEADERS + 8 + 24 + 8 };
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	struct rdmo_writer w;
	bool taken = false;

	(void)state;
	for (uint32_t op = 0; op < RTE_DIM(needs); op++)
		for (uint32_t room = MSG; room <= MSG + needs[op]; room++) {
			memset(buffer, 0xee, sizeof(buffer));
			rdmo_writer_begin(&w, buffer, room, RDMO_MSG_REQUESTS, SESSION, 1);
			switch (op) {
			case 0: taken = rdmo_writer_append(&w, 0, 0, &append, "abc", 3); break;
			case 1: taken = rdmo_writer_flush(&w, 0, 0, &flush); break;
			default: taken = rdmo_writer_scatter(&w, 0, 0, &iov, data, 1);
			}
			assert_int_equal(taken, room == MSG + needs[op]);
			assert_int_equal(rdmo_writer_end(&w, 0), taken ? room : MSG);
			assert_int_equal(buffer[taken ? room : MSG], 0xee);
		}
}

/* A payload that is longer than 32 bits count, with its header. */
static void
test_a_payload_of_4_gib_does_not_fit(void **state)
{
	static const struct rdmo_append_hdr append;
	static const struct rdmo_scatter_iov iovs[2] = { { .len = RTE_LE32(0xfffffff9) },
							 { .len = RTE_LE32(0xfffffff9) } };
	static const void *const data[2];
	/* No byte of it is read: the compiler is not to know how many there are. */
	static const uint8_t *volatile payload;
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	struct rdmo_writer w;

	(void)state;
	rdmo_writer_begin(&w, buffer, sizeof(buffer), RDMO_MSG_REQUESTS, SESSION, 1);
	assert_false(rdmo_writer_append(&w, 0, 0, &append, payload, 0xffffffff));
	assert_false(rdmo_writer_scatter(&w, 0, 0, iovs, data, 2));
	assert_int_equal(rdmo_scatter_bytes(0, iovs, 2),
			 HEADERS + 8 + 2 * (24 + (UINT64_C(1) << 32)));
	assert_int_equal(rdmo_writer_end(&w, 0), MSG);
}

static void
test_a_message_counts_to_65535(void **state)
{
	const uint32_t room = MSG + (UINT16_MAX + 1) * (HEADERS + 8);
	uint8_t *buffer = malloc(room);
	struct rdmo_writer w;

	(void)state;
	assert_non_null(buffer);
	rdmo_writer_begin(&w, buffer, room, RDMO_MSG_REQUESTS, SESSION, 1);
	for (uint32_t i = 0; i < UINT16_MAX; i++)
		assert_true(rdmo_writer_scatter(&w, 0, 0, NULL, NULL, 0));
	assert_false(rdmo_writer_scatter(&w, 0, 0, NULL, NULL, 0));
	assert_int_equal(rdmo_writer_end(&w, 0), room - HEADERS - 8);
	assert_int_equal(open_alone(rdmo_requests_open, buffer, room - HEADERS - 8),
			 RDMO_REASON_NONE);
	free(buffer);
}

/* ---- Frames that are alike ---- */

#define ALIKE	    4u
#define ALIKE_BYTES (HEADERS + 24 + 8) /* of each */

/* APPENDs that differ in their payloads alone. */
static uint32_t
alike_write(uint8_t *buffer)
{
	static const struct rdmo_append_hdr append = { RTE_LE64(0x1000), RTE_LE64(2), RTE_LE64(3) };
	struct rdmo_writer w;

	rdmo_writer_begin(&w, buffer, BYTES_MAX, RDMO_MSG_REQUESTS, SESSION, 1);
	for (uint32_t i = 0; i < ALIKE; i++)
		assert_true(rdmo_writer_append(&w, 7, 0, &append, &"abcdefgh"[i], 5));
	return rdmo_writer_end(&w, 0);
}

static void
test_frames_that_are_alike_are_counted(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	const uint32_t bytes = alike_write(buffer);
	struct rdmo_request request;
	struct rdmo_reader reader;

	(void)state;
	assert_int_equal(rdmo_requests_open(&reader, buffer, bytes, SESSION), RDMO_REASON_NONE);
	for (uint32_t i = 0; i < ALIKE; i++) {
		assert_int_equal(reader.alike, ALIKE - i);
		assert_true(rdmo_requests_next(&reader, &request));
		assert_int_equal(request.status, RDMO_STATUS_OK);
		assert_memory_equal(request.payload, &"abcdefgh"[i], 5);
	}
	assert_int_equal(reader.alike, 0);
	/* Of operations with shorter headers, each is one of a kind. */
	assert_int_equal(bytes_of(requests, buffer), 224);
	assert_int_equal(rdmo_requests_open(&reader, buffer, 224, SESSION), RDMO_REASON_NONE);
	assert_int_equal(reader.alike, 1);
}

/* Each bit of the headers, and of the padding, of each frame but the first. */
static void
test_a_bit_makes_frames_differ(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	const uint32_t bytes = alike_write(buffer);
	struct rdmo_reader reader;
	enum rdmo_reason reason;

	(void)state;
	for (uint32_t bit = 8 * ALIKE_BYTES; bit < 8 * ALIKE * ALIKE_BYTES; bit++) {
		const uint32_t at = bit / 8 % ALIKE_BYTES, frame = bit / 8 / ALIKE_BYTES;
		const bool is_payload = at >= HEADERS + 24 && at < HEADERS + 24 + 5;

		buffer[MSG + bit / 8] ^= (uint8_t)(1 << bit % 8);
		reason = rdmo_requests_open(&reader, buffer, bytes, SESSION);
		buffer[MSG + bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* What is reserved, and padding, breaks the message, as a length may. */
		if ((at >= 4 && at < 8) || at >= HEADERS + 24 + 5)
			assert_int_equal(reason, RDMO_REASON_RESERVED);
		else if (at >= 4)
			assert_int_equal(reason, RDMO_REASON_NONE);
		if (reason == RDMO_REASON_NONE)
			assert_int_equal(reader.alike, is_payload ? ALIKE : frame);
	}
}

static void
test_every_cut_of_frames_that_are_alike(void **state)
{
	_Alignas(8) uint8_t buffer[BYTES_MAX];
	const uint32_t bytes = alike_write(buffer);

	(void)state;
	for (uint32_t cut = MSG; cut < bytes; cut++) {
		put32(buffer + 8, cut - MSG);
		assert_int_equal(open_alone(rdmo_requests_open, buffer, cut),
				 (cut - MSG) % ALIKE_BYTES == 0 ? RDMO_REASON_COUNT
								: RDMO_REASON_FRAME);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_a_put_with_its_signal),
	cmocka_unit_test(test_atomics),
	cmocka_unit_test(test_requests_are_written),
	cmocka_unit_test(test_requests_are_read),
	cmocka_unit_test(test_what_is_pulled),
	cmocka_unit_test(test_frames_that_are_alike_are_counted),
	cmocka_unit_test(test_a_bit_makes_frames_differ),
	cmocka_unit_test(test_every_cut_of_frames_that_are_alike),
	cmocka_unit_test(test_every_cut),
	cmocka_unit_test(test_broken_framing_closes_the_connection),
	cmocka_unit_test(test_sequence_numbers_do_not_wrap),
	cmocka_unit_test(test_a_message_of_credits_alone),
	cmocka_unit_test(test_a_wrong_operation_is_refused_alone),
	cmocka_unit_test(test_short_operations_are_refused),
	cmocka_unit_test(test_at_most_16_pieces_are_pulled),
	cmocka_unit_test(test_an_append_written_again_is_another_one),
	cmocka_unit_test(test_what_does_not_fit_changes_nothing),
	cmocka_unit_test(test_a_payload_of_4_gib_does_not_fit),
	cmocka_unit_test(test_a_message_counts_to_65535),
};

PLAIN_MAIN("rdmo-message", tests)
