/* SPDX-License-Identifier: BSD-3-Clause */

/* An initiator's messages: which buffers are free when, and what is sent again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "main.h"
#include "rdmo/message.h"
#include "rdmo/outbox.h"

#define BUFFERS 4u
#define BYTES	512u

static _Alignas(8) uint8_t memory[BUFFERS * BYTES];
static struct rdmo_outbox box;
static uint64_t next_seq;
static uint32_t sent;

static int
set_up(void **state)
{
	(void)state;
	next_seq = 1;
	sent = 0;
	return 0;
}

/* A message of `count` operations, whose payloads are their numbers. */
static struct rdmo_msg *
put(uint32_t count)
{
	static const struct rdmo_append_hdr append = { .ptr_addr = RTE_LE64(8) };
	void *buffer = rdmo_outbox_free(&box);
	struct rdmo_writer w;

	assert_non_null(buffer);
	rdmo_writer_begin(&w, buffer, BYTES, RDMO_MSG_REQUESTS, 1, next_seq);
	for (uint32_t i = 0; i < count; i++, next_seq++)
		assert_true(rdmo_writer_append(&w, 1, 0, &append, &next_seq, 1 + i % 2 * 7));
	rdmo_writer_end(&w, 0);
	rdmo_outbox_put(&box);
	return buffer;
}

static struct rdmo_msg *
post(uint32_t count)
{
	struct rdmo_msg *msg = put(count);

	assert_ptr_equal(rdmo_outbox_next(&box), msg);
	rdmo_outbox_posted(&box, ++sent);
	assert_null(rdmo_outbox_next(&box));
	return msg;
}

static void
test_a_buffer_is_free_when_it_was_sent(void **state)
{
	(void)state;
	rdmo_outbox_begin(&box, memory, BUFFERS, BYTES, false);
	for (uint32_t i = 0; i < BUFFERS; i++)
		assert_ptr_equal(post(1), memory + i * BYTES);
	assert_null(rdmo_outbox_free(&box));
	rdmo_outbox_done(&box, 0, 100);
	assert_null(rdmo_outbox_free(&box));
	rdmo_outbox_done(&box, 2, 0);
	assert_ptr_equal(post(1), memory);
	assert_ptr_equal(post(1), memory + BYTES);
	assert_null(rdmo_outbox_free(&box));
}

static void
test_a_kept_buffer_is_free_when_it_is_answered(void **state)
{
	(void)state;
	rdmo_outbox_begin(&box, memory, BUFFERS, BYTES, true);
	for (uint32_t i = 0; i < BUFFERS; i++)
		post(2); /* 1, 2; 3, 4; 5, 6; 7, 8 */
	rdmo_outbox_done(&box, BUFFERS, 2);
	assert_null(rdmo_outbox_free(&box));
	rdmo_outbox_done(&box, BUFFERS, 4);
	assert_ptr_equal(post(1), memory);
	assert_null(rdmo_outbox_free(&box));
	/* Answered, but the device has it still. */
	rdmo_outbox_done(&box, 1, 7);
	assert_null(rdmo_outbox_free(&box));
	rdmo_outbox_done(&box, 3, 7);
	assert_ptr_equal(rdmo_outbox_free(&box), memory + BYTES);
}

/* What is not answered, in order, whether it was posted or not; and what was is not in it. */
static void
test_what_is_sent_again(void **state)
{
	struct rdmo_reader reader;
	struct rdmo_request request;
	struct rdmo_msg *msg;
	uint64_t seq = 5;

	(void)state;
	rdmo_outbox_begin(&box, memory, BUFFERS, BYTES, true);
	post(2);
	post(4); /* 3 .. 6, of which two are answered */
	post(1);
	put(2);
	rdmo_outbox_again(&box, seq);
	while ((msg = rdmo_outbox_next(&box)) != NULL) {
		assert_int_equal(rdmo_requests_open(
					 &reader, msg,
					 (uint32_t)sizeof(*msg) + rte_le_to_cpu_32(msg->length), 1),
				 RDMO_REASON_NONE);
		while (rdmo_requests_next(&reader, &request)) {
			assert_int_equal(request.status, RDMO_STATUS_OK);
			assert_int_equal(request.seq, seq);
			assert_int_equal(request.payload[0], seq++);
		}
		rdmo_outbox_posted(&box, ++sent);
	}
	assert_int_equal(seq, 10);
	assert_ptr_equal(rdmo_outbox_free(&box), memory);
	rdmo_outbox_again(&box, 10);
	assert_null(rdmo_outbox_next(&box));
	for (uint32_t i = 0; i < BUFFERS; i++)
		post(1);
	assert_null(rdmo_outbox_free(&box));
}

/* More than the order has room for, and numbers that wrap. */
static void
test_round_and_round(void **state)
{
	(void)state;
	sent = UINT32_MAX - 1000;
	rdmo_outbox_begin(&box, memory, BUFFERS, BYTES, true);
	for (uint32_t i = 0; i < 3; i++)
		post(1);
	for (uint32_t i = 0; i < 2000; i++) {
		post(1);
		assert_null(rdmo_outbox_free(&box));
		rdmo_outbox_done(&box, sent - 3, next_seq);
		assert_non_null(rdmo_outbox_free(&box));
	}
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

static const struct CMUnitTest tests[] = {
	TEST(test_a_buffer_is_free_when_it_was_sent),
	TEST(test_a_kept_buffer_is_free_when_it_is_answered),
	TEST(test_what_is_sent_again),
	TEST(test_round_and_round),
};

PLAIN_MAIN("rdmo-outbox", tests)
