/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands and notifications of remote direct memory operations: bytes as a program of a few lines in another language has made
 * them, in pieces of every size, each cut anywhere, each member wrong by itself.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "main.h"
#include "rdmo_bytes.h"
#include "rdmo/control.h"

#define TAG UINT64_C(0x0102030405060708)
#define CMD 24 /* bytes of a command before its body */

static const char client_init[] = "52444d430100000050000000000000000807060504030201"
				  "a8a7a6a5a4a3a2a1400000000000000000000000000000000000ffffc0000201"
				  "020000000001000456341200efcdab0040000000001000000000000000000000"
				  "00000000000000000000000000000000";
static const char rq_create_addr[] =
	"52444d430101000060000000000000000807060504030201"
	"4000000000000000000000000000000000000000000000000000000000000000"
	"00000000000000000000ffffc0000201020000000001000456341200efcdab00"
	"4000000000100000000000000000000000000000000000000000000000000000";
static const char rq_create_secret[] =
	"52444d430101000020000000000000000807060504030201"
	"00000000000000000000000000000000101112131415161718191a1b1c1d1e1f";
static const char rq_destroy[] = "52444d430102000008000000000000000807060504030201"
				 "b100000000000000";
static const char mr_reg[] = "52444d430103000038000000000000000807060504030201"
			     "00100000007f0000000001000000000008000000000000000000000000000000"
			     "b1000000000000000500000002000000c4c3c2c100000000";
static const char mr_dereg[] = "52444d430104000008000000000000000807060504030201"
			       "d8d7d6d5d4d3d2d1";
static const char tail_hold[] = "52444d430106000010000000000000000807060504030201"
				"d8d7d6d5d4d3d2d10100000000000000";
static const char hello[] = "52444d4301050000700000000000000008070605040302011011121314151617"
			    "18191a1b1c1d1e1f400000000000000034120000000000000102000000000000"
			    "01030000000000000000000000000000"
			    "0000ffffc0000201020000000001000456341200efcdab004000000000100000"
			    "000000000000000000000000000000000000000000000000";
static const char init_done[] = "52444d430180000048000000000000000807060504030201"
				"400000000000000000000000000000000000ffffc00002010200000000010004"
				"56341200efcdab00400000000010000000000000000000000000000000000000"
				"0000000000000000";
static const char hello_done[] = "52444d430185000058000000000000000807060504030201a8a7a6a5a4a3a2a1"
				 "0102000000000000"
				 "400000000000000000000000000000000000ffffc00002010200000000010004"
				 "56341200efcdab00400000000010000000000000000000000000000000000000"
				 "0000000000000000";
static const char rq_done[] = "52444d430181000008000000000000000807060504030201"
			      "b100000000000000";
static const char mr_done[] = "52444d430183000008000000000000000807060504030201"
			      "d8d7d6d5d4d3d2d1";
static const char tail_done[] = "52444d430186000008000000000000000807060504030201"
				"d8d7d6d5d4d3d2d1";
static const char event[] = "52444d430187000010000000000000000000000000000000"
			    "d8d7d6d5d4d3d2d10203000000000000";
static const char mr_refused[] = "52444d430183080000000000000000000807060504030201";

static const struct rdmo_addr address = {
	.gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
	.mac = { 2, 0, 0, 0, 0, 1 },
	.mtu = RTE_LE16(1024),
	.qpn = RTE_LE32(0x123456),
	.psn = RTE_LE32(0xabcdef),
	.credits = RTE_LE32(64),
	.receive_bytes = RTE_LE32(4096),
};
static const uint8_t secret[RDMO_SECRET_BYTES] = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
						   0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f };
static const struct rdmo_hello initiator = {
	.secret = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c,
		    0x1d, 0x1e, 0x1f },
	.addr_len = RTE_LE64(99), /* 64, whatever stands here */
	.producer = RTE_LE32(0x1234),
	.first_seq = RTE_LE64(0x201),
	.next_seq = RTE_LE64(0x301),
};
static const struct rdmo_mr_reg region = {
	.va = RTE_LE64(0x7f0000001000),
	.len = RTE_LE64(0x10000),
	.rq_id = RTE_LE64(0xb1),
	.rights = RTE_LE32(RDMO_RIGHT_APPEND | RDMO_RIGHT_WRITE),
	.tail_mode = RTE_LE32(RDMO_TAIL_LOG),
	/* Theirs are 8 and 0, whatever stands here. */
	.packed_rkey_len = RTE_LE64(99),
	.packed_memh_len = RTE_LE64(99),
};

/* All of it at once, or what the stream takes of it: why it is broken. `stream` is at its start. */
static enum rdmo_reason
feed(struct rdmo_stream *stream, const uint8_t *bytes, uint32_t count)
{
	enum rdmo_reason reason = RDMO_REASON_NONE;

	while (count > 0 && reason == RDMO_REASON_NONE && rdmo_stream_wanted(stream) > 0) {
		const uint32_t n = RTE_MIN(count, rdmo_stream_wanted(stream));

		memcpy(rdmo_stream_room(stream), bytes, n);
		reason = rdmo_stream_received(stream, n);
		bytes += n;
		count -= n;
	}
	return reason;
}

static void
is_golden(const char *hex, const uint8_t *bytes, uint32_t count)
{
	uint8_t golden[RDMO_CMD_MAX_BYTES];

	assert_int_equal(count, bytes_of(hex, golden));
	assert_memory_equal(bytes, golden, count);
}

/* ---- Golden bytes, both ways ---- */

static void
test_commands_are_written(void **state)
{
	_Alignas(8) uint8_t b[RDMO_CMD_MAX_BYTES];

	(void)state;
	memset(b, 0xee, sizeof(b));
	is_golden(client_init, b, rdmo_client_init_write(b, TAG, 0xa1a2a3a4a5a6a7a8, &address));
	memset(b, 0xee, sizeof(b));
	is_golden(rq_create_addr, b, rdmo_rq_create_write(b, TAG, &address, NULL));
	memset(b, 0xee, sizeof(b));
	is_golden(rq_create_secret, b, rdmo_rq_create_write(b, TAG, NULL, secret));
	is_golden(rq_destroy, b, rdmo_rq_destroy_write(b, TAG, 0xb1));
	memset(b, 0xee, sizeof(b));
	is_golden(mr_reg, b, rdmo_mr_reg_write(b, TAG, &region, 0xc1c2c3c4));
	is_golden(mr_dereg, b, rdmo_mr_dereg_write(b, TAG, 0xd1d2d3d4d5d6d7d8));
	memset(b, 0xee, sizeof(b));
	is_golden(tail_hold, b, rdmo_tail_hold_write(b, TAG, 0xd1d2d3d4d5d6d7d8, true));
	memset(b, 0xee, sizeof(b));
	is_golden(hello, b, rdmo_hello_write(b, TAG, &initiator, &address));
}

static void
test_notifications_are_written(void **state)
{
	_Alignas(8) uint8_t b[RDMO_CMD_MAX_BYTES];

	(void)state;
	memset(b, 0xee, sizeof(b));
	is_golden(init_done, b, rdmo_client_init_done_write(b, TAG, &address));
	memset(b, 0xee, sizeof(b));
	is_golden(hello_done, b,
		  rdmo_hello_done_write(b, TAG, 0xa1a2a3a4a5a6a7a8, 0x201, &address));
	is_golden(rq_done, b, rdmo_done_write(b, RDMO_CMD_RQ_CREATE, TAG, 0xb1));
	is_golden(mr_done, b, rdmo_done_write(b, RDMO_CMD_MR_REG, TAG, 0xd1d2d3d4d5d6d7d8));
	is_golden(tail_done, b, rdmo_done_write(b, RDMO_CMD_TAIL, TAG, 0xd1d2d3d4d5d6d7d8));
	is_golden(event, b, rdmo_event_write(b, 0xd1d2d3d4d5d6d7d8, 0x302));
	is_golden(mr_refused, b, rdmo_refused_write(b, RDMO_CMD_MR_REG, TAG, RDMO_STATUS_FULL));
	/* Of a command that nobody knows. */
	assert_int_equal(rdmo_refused_write(b, 0x7f, TAG, RDMO_STATUS_OP), CMD);
	assert_int_equal(b[5], 0xff);
}

static void
command_of(const char *hex, struct rdmo_stream *stream, struct rdmo_command *command)
{
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	const uint32_t count = bytes_of(hex, bytes);

	rdmo_stream_begin(stream, false);
	assert_int_equal(feed(stream, bytes, count), RDMO_REASON_NONE);
	assert_int_equal(rdmo_stream_wanted(stream), 0);
	assert_int_equal(stream->have, count);
	rdmo_command_read(stream, command);
	assert_int_equal(command->status, RDMO_STATUS_OK);
	assert_int_equal(command->tag, TAG);
}

static void
test_commands_are_read(void **state)
{
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	command_of(client_init, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_CLIENT_INIT);
	assert_int_equal(rte_le_to_cpu_64(command.client_init->id), 0xa1a2a3a4a5a6a7a8);
	assert_memory_equal(command.addr, &address, sizeof(address));
	command_of(rq_create_addr, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_RQ_CREATE);
	assert_memory_equal(command.addr, &address, sizeof(address));
	command_of(rq_create_secret, &stream, &command);
	assert_null(command.addr);
	assert_memory_equal(command.rq_create->secret, secret, sizeof(secret));
	command_of(rq_destroy, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_RQ_DESTROY);
	assert_int_equal(rte_le_to_cpu_64(command.rq->rq_id), 0xb1);
	command_of(mr_reg, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_MR_REG);
	assert_int_equal(rte_le_to_cpu_64(command.mr_reg->va), 0x7f0000001000);
	assert_int_equal(rte_le_to_cpu_64(command.mr_reg->len), 0x10000);
	assert_int_equal(rte_le_to_cpu_64(command.mr_reg->rq_id), 0xb1);
	assert_int_equal(command.rkey, 0xc1c2c3c4);
	command_of(mr_dereg, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_MR_DEREG);
	assert_int_equal(rte_le_to_cpu_64(command.mr->rkey), 0xd1d2d3d4d5d6d7d8);
	command_of(tail_hold, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_TAIL);
	assert_int_equal(rte_le_to_cpu_64(command.tail_hold->rkey), 0xd1d2d3d4d5d6d7d8);
	assert_int_equal(rte_le_to_cpu_32(command.tail_hold->is_held), 1);
	command_of(hello, &stream, &command);
	assert_int_equal(command.kind, RDMO_CMD_HELLO);
	assert_memory_equal(command.hello->secret, secret, sizeof(secret));
	assert_int_equal(rte_le_to_cpu_32(command.hello->producer), 0x1234);
	assert_memory_equal(command.addr, &address, sizeof(address));
}

static enum rdmo_reason
notification_of(const uint8_t *bytes, uint32_t count, struct rdmo_stream *stream,
		struct rdmo_notification *notification)
{
	enum rdmo_reason reason;

	rdmo_stream_begin(stream, true);
	reason = feed(stream, bytes, count);
	if (reason != RDMO_REASON_NONE)
		return reason;
	assert_int_equal(rdmo_stream_wanted(stream), 0);
	return rdmo_notification_read(stream, notification);
}

static void
test_notifications_are_read(void **state)
{
	static const struct {
		const char *hex;
		uint8_t kind;
		enum rdmo_status status;
		uint64_t number;
	} expected[] = {
		{ init_done, RDMO_CMD_CLIENT_INIT, RDMO_STATUS_OK, 0 },
		{ hello_done, RDMO_CMD_HELLO, RDMO_STATUS_OK, 0xa1a2a3a4a5a6a7a8 },
		{ rq_done, RDMO_CMD_RQ_CREATE, RDMO_STATUS_OK, 0xb1 },
		{ mr_done, RDMO_CMD_MR_REG, RDMO_STATUS_OK, 0xd1d2d3d4d5d6d7d8 },
		{ tail_done, RDMO_CMD_TAIL, RDMO_STATUS_OK, 0xd1d2d3d4d5d6d7d8 },
		{ mr_refused, RDMO_CMD_MR_REG, RDMO_STATUS_FULL, 0 },
	};
	struct rdmo_stream stream;
	struct rdmo_notification n;
	uint8_t bytes[RDMO_CMD_MAX_BYTES];

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(expected); i++) {
		assert_int_equal(
			notification_of(bytes, bytes_of(expected[i].hex, bytes), &stream, &n),
			RDMO_REASON_NONE);
		assert_int_equal(n.kind, expected[i].kind);
		assert_int_equal(n.status, expected[i].status);
		assert_int_equal(n.number, expected[i].number);
		assert_int_equal(n.first_seq, n.kind == RDMO_CMD_HELLO ? 0x201 : 0);
		assert_int_equal(n.tag, TAG);
		if (i < 2)
			assert_memory_equal(n.addr, &address, sizeof(address));
		else
			assert_null(n.addr);
	}
	assert_int_equal(notification_of(bytes, bytes_of(event, bytes), &stream, &n),
			 RDMO_REASON_NONE);
	assert_int_equal(n.kind, RDMO_CMD_EVENT);
	assert_int_equal(n.number, 0xd1d2d3d4d5d6d7d8);
	assert_int_equal(n.count, 0x302);
	/* An answer to what this worker does not know. */
	bytes_of(mr_refused, bytes);
	bytes[5] = 0xff;
	bytes[6] = RDMO_STATUS_OP;
	assert_int_equal(notification_of(bytes, CMD, &stream, &n), RDMO_REASON_NONE);
	assert_int_equal(n.kind, 0x7f);
}

/* ---- The stream ---- */

static const char *const commands[] = { client_init, rq_create_addr, rq_create_secret, rq_destroy,
					mr_reg,	     mr_dereg,	     tail_hold,	       hello };

/* All commands behind one another, in pieces of every size: never more is wanted than one command has. */
static void
test_pieces_of_every_size(void **state)
{
	uint8_t bytes[RTE_DIM(commands) * 256];
	uint32_t ends[RTE_DIM(commands)], count = 0;
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(commands); i++)
		ends[i] = count += bytes_of(commands[i], bytes + count);
	for (uint32_t size = 1; size <= 256; size++) {
		uint32_t at = 0, which = 0;

		rdmo_stream_begin(&stream, false);
		while (at < count) {
			const uint32_t wanted = rdmo_stream_wanted(&stream);
			const uint32_t n = RTE_MIN(size, wanted);

			assert_in_range(wanted, 1, ends[which] - at);
			memcpy(rdmo_stream_room(&stream), bytes + at, n);
			assert_int_equal(rdmo_stream_received(&stream, n), RDMO_REASON_NONE);
			at += n;
			if (rdmo_stream_wanted(&stream) > 0)
				continue;
			assert_int_equal(at, ends[which]);
			rdmo_command_read(&stream, &command);
			assert_int_equal(command.status, RDMO_STATUS_OK);
			rdmo_stream_next(&stream);
			which++;
		}
		assert_int_equal(which, RTE_DIM(commands));
	}
}

/* A command that ends anywhere is not whole; one whose length hides that is refused. */
static void
test_every_cut(void **state)
{
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(commands); i++) {
		const uint32_t count = bytes_of(commands[i], bytes);

		for (uint32_t cut = 0; cut < count; cut++) {
			bytes_of(commands[i], bytes);
			rdmo_stream_begin(&stream, false);
			assert_int_equal(feed(&stream, bytes, cut), RDMO_REASON_NONE);
			assert_int_equal(rdmo_stream_wanted(&stream),
					 (cut < CMD ? CMD : count) - cut);
			if (cut < CMD)
				continue;
			bytes[8] = (uint8_t)(cut - CMD);
			memset(stream.bytes, 0xee, sizeof(stream.bytes));
			rdmo_stream_begin(&stream, false);
			assert_int_equal(feed(&stream, bytes, cut), RDMO_REASON_NONE);
			assert_int_equal(rdmo_stream_wanted(&stream), 0);
			rdmo_command_read(&stream, &command);
			assert_int_equal(command.status, RDMO_STATUS_LENGTH);
		}
		/* And one byte more than it has. */
		bytes_of(commands[i], bytes);
		bytes[8]++;
		bytes[count] = 0;
		rdmo_stream_begin(&stream, false);
		assert_int_equal(feed(&stream, bytes, count + 1), RDMO_REASON_NONE);
		rdmo_command_read(&stream, &command);
		assert_int_equal(command.status, RDMO_STATUS_LENGTH);
	}
}

struct row {
	const char *hex;
	uint32_t at, size;
	uint64_t value;
	uint32_t expected; /* enum rdmo_reason or enum rdmo_status */
};

static uint32_t
bytes_of_row(const struct row *row, uint8_t *bytes)
{
	const uint32_t count = bytes_of(row->hex, bytes);
	const rte_le64_t value = rte_cpu_to_le_64(row->value);

	memcpy(bytes + row->at, &value, row->size);
	return count;
}

/* The header, whose length is never believed beyond the longest command. */
static const struct row broken[] = {
	{ mr_reg, 0, 1, 'r', RDMO_REASON_MAGIC },
	{ mr_reg, 3, 1, 'O', RDMO_REASON_MAGIC },
	{ mr_reg, 4, 1, 0, RDMO_REASON_VERSION },
	{ mr_reg, 4, 1, 2, RDMO_REASON_VERSION },
	{ mr_reg, 5, 1, 0x83, RDMO_REASON_KIND },
	{ mr_reg, 6, 1, 1, RDMO_REASON_RESERVED },
	{ mr_reg, 7, 1, 1, RDMO_REASON_RESERVED },
	{ mr_reg, 12, 1, 1, RDMO_REASON_RESERVED },
	{ mr_reg, 15, 1, 0x80, RDMO_REASON_RESERVED },
	{ mr_reg, 8, 4, RDMO_CMD_MAX_BYTES - CMD + 1, RDMO_REASON_LENGTH },
	{ mr_reg, 8, 4, 0xffffffff, RDMO_REASON_LENGTH },
	{ mr_reg, 8, 4, 0xffffffe8, RDMO_REASON_LENGTH },
	{ mr_reg, 8, 4, RDMO_CMD_MAX_BYTES - CMD, RDMO_REASON_NONE },
};

static void
test_a_broken_header_closes_the_connection(void **state)
{
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(broken); i++) {
		const uint32_t count = bytes_of_row(&broken[i], bytes);
		enum rdmo_reason reason;

		rdmo_stream_begin(&stream, false);
		reason = feed(&stream, bytes, count);
		if (reason != broken[i].expected)
			fail_msg("row %u: reason %u, not %u", i, reason, broken[i].expected);
		assert_in_range(rdmo_stream_wanted(&stream), 0, RDMO_CMD_MAX_BYTES);
		if (reason != RDMO_REASON_NONE)
			assert_int_equal(stream.have, CMD);
	}
}

/* ---- Commands that are refused ---- */

static const struct row refused[] = {
	{ mr_dereg, 5, 1, RDMO_CMDS, RDMO_STATUS_OP },
	{ mr_dereg, 5, 1, 0x7f, RDMO_STATUS_OP },
	{ mr_dereg, 5, 1, RDMO_CMD_EVENT, RDMO_STATUS_OP },
	{ tail_hold, CMD + 8, 4, 0, RDMO_STATUS_OK },
	{ tail_hold, CMD + 8, 4, 2, RDMO_STATUS_NOTSUP },
	{ tail_hold, CMD + 12, 4, 1, RDMO_STATUS_NOTSUP },
	{ client_init, 32, 8, 0, RDMO_STATUS_LENGTH },
	{ client_init, 32, 8, 65, RDMO_STATUS_LENGTH },
	{ client_init, 32, 8, UINT64_MAX, RDMO_STATUS_LENGTH },
	{ client_init, 62, 2, 0, RDMO_STATUS_BOUNDS },
	{ client_init, 62, 2, 128, RDMO_STATUS_BOUNDS },
	{ client_init, 62, 2, 8192, RDMO_STATUS_BOUNDS },
	{ client_init, 62, 2, 1500, RDMO_STATUS_BOUNDS },
	{ client_init, 67, 1, 1, RDMO_STATUS_BOUNDS }, /* QPN */
	{ client_init, 71, 1, 1, RDMO_STATUS_BOUNDS }, /* PSN */
	{ client_init, 76, 4, RDMO_RECEIVE_MIN_BYTES - 1, RDMO_STATUS_BOUNDS },
	{ client_init, 76, 4, RDMO_RECEIVE_MIN_BYTES, RDMO_STATUS_OK },
	{ client_init, 72, 8, 0, RDMO_STATUS_OK }, /* no receives */
	{ client_init, 80, 1, 1, RDMO_STATUS_NOTSUP },
	{ client_init, 103, 1, 1, RDMO_STATUS_NOTSUP },
	{ rq_create_addr, 24, 8, 0, RDMO_STATUS_LENGTH },
	{ rq_create_addr, 24, 8, 65, RDMO_STATUS_LENGTH },
	{ rq_create_addr, 24, 8, UINT64_MAX - 63, RDMO_STATUS_LENGTH },
	{ rq_create_addr, 32, 1, 1, RDMO_STATUS_NOTSUP },
	{ rq_create_addr, 36, 1, 1, RDMO_STATUS_NOTSUP },
	{ rq_create_addr, 40, 1, 1, RDMO_STATUS_NOTSUP }, /* a secret, too */
	{ rq_create_addr, 55, 1, 1, RDMO_STATUS_NOTSUP },
	{ rq_create_addr, 78, 2, 0, RDMO_STATUS_BOUNDS },
	{ rq_create_secret, 24, 8, 64, RDMO_STATUS_LENGTH },
	{ rq_create_secret, 35, 1, 0x80, RDMO_STATUS_NOTSUP },
	{ hello, 40, 8, 0, RDMO_STATUS_LENGTH },
	{ hello, 40, 8, 65, RDMO_STATUS_LENGTH },
	{ hello, 48, 4, RDMO_LOG_PRODUCERS_MAX, RDMO_STATUS_BOUNDS },
	{ hello, 48, 4, RDMO_LOG_PRODUCERS_MAX - 1, RDMO_STATUS_OK },
	{ hello, 48, 4, RDMO_NO_PRODUCER, RDMO_STATUS_BOUNDS }, /* but operations to do again */
	{ hello, 52, 1, 1, RDMO_STATUS_NOTSUP },
	{ hello, 56, 8, 0x301, RDMO_STATUS_OK },
	{ hello, 56, 8, 0x302, RDMO_STATUS_BOUNDS },
	{ hello, 56, 8, 0x200, RDMO_STATUS_BOUNDS }, /* more than a window */
	{ hello, 56, 8, 0, RDMO_STATUS_BOUNDS },
	{ hello, 64, 8, 0, RDMO_STATUS_BOUNDS },
	{ hello, 94, 2, 0, RDMO_STATUS_BOUNDS },  /* MTU */
	{ hello, 104, 4, 0, RDMO_STATUS_BOUNDS }, /* no receives */
	{ hello, 108, 4, RDMO_RECEIVE_MIN_BYTES - 1, RDMO_STATUS_BOUNDS },
	{ hello, 135, 1, 1, RDMO_STATUS_NOTSUP },
	{ mr_reg, 32, 8, 0, RDMO_STATUS_BOUNDS },
	{ mr_reg, 24, 8, UINT64_MAX - 0xffff, RDMO_STATUS_BOUNDS },
	{ mr_reg, 24, 8, UINT64_MAX - 0x10000, RDMO_STATUS_OK },
	{ mr_reg, 32, 8, UINT64_MAX, RDMO_STATUS_BOUNDS },
	{ mr_reg, 40, 8, 0, RDMO_STATUS_LENGTH },
	{ mr_reg, 40, 8, 9, RDMO_STATUS_LENGTH },
	{ mr_reg, 40, 8, UINT64_MAX, RDMO_STATUS_LENGTH },
	{ mr_reg, 48, 8, 1, RDMO_STATUS_LENGTH },
	{ mr_reg, 48, 8, UINT64_MAX, RDMO_STATUS_LENGTH },
	{ mr_reg, 64, 4, 0, RDMO_STATUS_RIGHTS },
	{ mr_reg, 64, 4, 0x10, RDMO_STATUS_RIGHTS },
	{ mr_reg, 64, 4, 0x80000001, RDMO_STATUS_RIGHTS },
	{ mr_reg, 68, 4, RDMO_TAIL_MODES, RDMO_STATUS_NOTSUP },
	{ mr_reg, 76, 1, 1, RDMO_STATUS_NOTSUP },
};

static void
test_a_wrong_command_is_refused(void **state)
{
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(refused); i++) {
		const uint32_t count = bytes_of_row(&refused[i], bytes);

		rdmo_stream_begin(&stream, false);
		assert_int_equal(feed(&stream, bytes, count), RDMO_REASON_NONE);
		assert_int_equal(rdmo_stream_wanted(&stream), 0);
		rdmo_command_read(&stream, &command);
		if (command.status != refused[i].expected)
			fail_msg("row %u: status %u, not %u", i, command.status,
				 refused[i].expected);
		assert_int_equal(command.tag, TAG);
		assert_int_equal(command.kind, bytes[5]);
	}
}

/* Whose byte strings are others: a memory handle is not supported, a key of another length is none. */
static void
test_memory_handles_are_refused(void **state)
{
	static const struct {
		uint8_t rkey_len, memh_len;
		enum rdmo_status status;
	} rows[] = { { 8, 1, RDMO_STATUS_NOTSUP },   { 8, 100, RDMO_STATUS_NOTSUP },
		     { 0, 8, RDMO_STATUS_NOTSUP },   { 0, 0, RDMO_STATUS_LENGTH },
		     { 7, 0, RDMO_STATUS_LENGTH },   { 9, 0, RDMO_STATUS_LENGTH },
		     { 100, 0, RDMO_STATUS_LENGTH }, { 8, 0, RDMO_STATUS_OK } };
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		const uint32_t strings = (uint32_t)rows[i].rkey_len + rows[i].memh_len;

		memset(bytes, 0, sizeof(bytes));
		bytes_of(mr_reg, bytes);
		bytes[8] = (uint8_t)(48 + strings);
		bytes[40] = rows[i].rkey_len;
		bytes[48] = rows[i].memh_len;
		rdmo_stream_begin(&stream, false);
		assert_int_equal(feed(&stream, bytes, CMD + 48 + strings), RDMO_REASON_NONE);
		assert_int_equal(rdmo_stream_wanted(&stream), 0);
		rdmo_command_read(&stream, &command);
		assert_int_equal(command.status, rows[i].status);
	}
}

/* Two lengths that are wrong together, so that their sum or difference is right if it wraps. */
static void
test_lengths_that_agree_are_still_wrong(void **state)
{
	static const struct {
		const char *hex;
		uint8_t length; /* of the body */
		uint32_t at[2];
		uint64_t values[2];
	} rows[] = {
		{ mr_reg, 56, { 40, 48 }, { 9, UINT64_MAX } },
		{ mr_reg, 32, { 40, 48 }, { 8, (uint64_t)32 - 48 - 8 } },
		{ rq_create_secret, 33, { 24, 24 }, { 1, 1 } },
		{ rq_create_secret, 24, { 24, 24 }, { (uint64_t)-8, (uint64_t)-8 } },
	};
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_command command;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		memset(bytes, 0, sizeof(bytes));
		bytes_of(rows[i].hex, bytes);
		bytes[8] = rows[i].length;
		for (uint32_t k = 0; k < 2; k++) {
			const rte_le64_t value = rte_cpu_to_le_64(rows[i].values[k]);

			memcpy(bytes + rows[i].at[k], &value, sizeof(value));
		}
		rdmo_stream_begin(&stream, false);
		assert_int_equal(feed(&stream, bytes, CMD + rows[i].length), RDMO_REASON_NONE);
		assert_int_equal(rdmo_stream_wanted(&stream), 0);
		rdmo_command_read(&stream, &command);
		if (command.status != RDMO_STATUS_LENGTH)
			fail_msg("row %u: status %u", i, command.status);
	}
}

static void
test_a_secret_of_zeros_lets_nobody_in(void **state)
{
	static const uint8_t zeros[RDMO_SECRET_BYTES];
	uint8_t most[RDMO_SECRET_BYTES] = { 0 };
	_Alignas(8) uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_command command;
	uint32_t count = rdmo_rq_create_write(bytes, TAG, NULL, zeros);

	(void)state;
	rdmo_stream_begin(&stream, false);
	assert_int_equal(feed(&stream, bytes, count), RDMO_REASON_NONE);
	rdmo_command_read(&stream, &command);
	assert_int_equal(command.status, RDMO_STATUS_KEY);
	most[15] = 1;
	count = rdmo_rq_create_write(bytes, TAG, NULL, most);
	rdmo_stream_next(&stream);
	assert_int_equal(feed(&stream, bytes, count), RDMO_REASON_NONE);
	rdmo_command_read(&stream, &command);
	assert_int_equal(command.status, RDMO_STATUS_OK);
}

/* ---- Notifications that are broken ---- */

static const struct row lies[] = {
	{ rq_done, 5, 1, RDMO_CMD_RQ_CREATE, RDMO_REASON_KIND }, /* a command */
	{ rq_done, 5, 1, 0x80 | RDMO_CMDS, RDMO_REASON_KIND },
	{ mr_refused, 5, 1, 0x80 | RDMO_CMDS, RDMO_REASON_KIND },
	{ rq_done, 6, 1, RDMO_STATUS_KEY, RDMO_REASON_LENGTH },
	{ rq_done, 6, 1, RDMO_STATUSES, RDMO_REASON_ANSWER },
	{ mr_refused, 7, 1, 1, RDMO_REASON_ANSWER },
	{ mr_refused, 6, 1, RDMO_STATUS_OK, RDMO_REASON_LENGTH },
	{ rq_done, 24, 8, 0, RDMO_REASON_ANSWER },
	{ mr_done, 24, 8, 0, RDMO_REASON_ANSWER },
	{ rq_done, 5, 1, 0x80, RDMO_REASON_LENGTH },
	{ init_done, 5, 1, 0x81, RDMO_REASON_LENGTH },
	{ init_done, 24, 8, 0, RDMO_REASON_ANSWER },
	{ init_done, 54, 2, 0, RDMO_REASON_ANSWER }, /* MTU */
	{ init_done, 95, 1, 1, RDMO_REASON_ANSWER },
	{ init_done, 12, 1, 1, RDMO_REASON_RESERVED },
	{ hello_done, 24, 8, 0, RDMO_REASON_ANSWER }, /* session */
	{ hello_done, 32, 8, 0, RDMO_REASON_ANSWER }, /* its first number */
	{ hello_done, 40, 8, 65, RDMO_REASON_ANSWER },
	{ hello_done, 70, 2, 0, RDMO_REASON_ANSWER },
	{ hello_done, 5, 1, 0x81, RDMO_REASON_LENGTH },
	{ rq_done, 5, 1, 0x85, RDMO_REASON_LENGTH },
	{ rq_done, 5, 1, 0x87, RDMO_REASON_LENGTH },
	{ event, 5, 1, 0x86, RDMO_REASON_LENGTH },
	{ event, 24, 8, 0, RDMO_REASON_ANSWER },
	{ event, 32, 8, 0, RDMO_REASON_ANSWER },
	{ event, 16, 1, 1, RDMO_REASON_ANSWER }, /* tag */
};

static void
test_broken_notifications_close_the_connection(void **state)
{
	uint8_t bytes[RDMO_CMD_MAX_BYTES];
	struct rdmo_stream stream;
	struct rdmo_notification n;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(lies); i++) {
		const uint32_t count = bytes_of_row(&lies[i], bytes);
		const enum rdmo_reason reason = notification_of(bytes, count, &stream, &n);

		if (reason != lies[i].expected)
			fail_msg("row %u: reason %u, not %u", i, reason, lies[i].expected);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_commands_are_written),
	cmocka_unit_test(test_notifications_are_written),
	cmocka_unit_test(test_commands_are_read),
	cmocka_unit_test(test_notifications_are_read),
	cmocka_unit_test(test_pieces_of_every_size),
	cmocka_unit_test(test_every_cut),
	cmocka_unit_test(test_a_broken_header_closes_the_connection),
	cmocka_unit_test(test_a_wrong_command_is_refused),
	cmocka_unit_test(test_memory_handles_are_refused),
	cmocka_unit_test(test_lengths_that_agree_are_still_wrong),
	cmocka_unit_test(test_a_secret_of_zeros_lets_nobody_in),
	cmocka_unit_test(test_broken_notifications_close_the_connection),
};

PLAIN_MAIN("rdmo-control", tests)
