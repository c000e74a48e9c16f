/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tickets as text: golden, and each text that is nearly one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include <rte_common.h>

#include "main.h"
#include "rdmo/rdmo.h"
#include "rdmo/ticket.h"

static const struct rdmo_ticket queue = {
	.address = "[::1]:18515",
	.secret = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
		    0xdd, 0xee, 0xff },
	.id = UINT64_C(0xa1b2c3d4e5f60718),
	.key = 0x1234,
	.at = UINT64_C(0x7f0012345000),
	.bytes = 4096,
	.tail = UINT64_C(0x7f0012340008),
	.tail_key = UINT64_MAX,
};

static const char golden[] = "rdmo/1 [::1]:18515 id=a1b2c3d4e5f60718 "
			     "secret=00112233445566778899aabbccddeeff key=0000000000001234 "
			     "at=00007f0012345000 bytes=0000000000001000 "
			     "tail=00007f0012340008 tail-key=ffffffffffffffff";

/* What was not read has not touched the caller's. */
static void
expect_none(const char *text)
{
	struct rdmo_ticket ticket, before;

	memset(&ticket, 0x5a, sizeof(ticket));
	before = ticket;
	if (rdmo_ticket_parse(text, &ticket) != -EINVAL)
		fail_msg("\"%s\" is no ticket", text);
	assert_memory_equal(&ticket, &before, sizeof(ticket));
}

static void
expect_same(const struct rdmo_ticket *ticket)
{
	char text[RDMO_TICKET_BYTES];
	struct rdmo_ticket read;

	assert_int_equal(rdmo_ticket_write(ticket, text, sizeof(text)), 0);
	assert_int_equal(rdmo_ticket_parse(text, &read), 0);
	assert_string_equal(read.address, ticket->address);
	assert_memory_equal(read.secret, ticket->secret, sizeof(read.secret));
	assert_int_equal(read.id, ticket->id);
	assert_int_equal(read.key, ticket->key);
	assert_int_equal(read.at, ticket->at);
	assert_int_equal(read.bytes, ticket->bytes);
	assert_int_equal(read.tail, ticket->tail);
	assert_int_equal(read.tail_key, ticket->tail_key);
}

static void
test_a_ticket_is_this_line(void **state)
{
	char text[RDMO_TICKET_BYTES];

	(void)state;
	assert_int_equal(rdmo_ticket_write(&queue, text, sizeof(text)), 0);
	assert_string_equal(text, golden);
	expect_same(&queue);
}

static void
test_limits_come_back(void **state)
{
	struct rdmo_ticket ticket = queue;

	(void)state;
	ticket.tail = ticket.tail_key = 0;
	ticket.id = 0;
	ticket.key = UINT64_MAX;
	ticket.at = UINT64_MAX - 1;
	ticket.bytes = 1;
	expect_same(&ticket);
	memset(ticket.address, 'x', RDMO_ADDRESS_BYTES - 1);
	expect_same(&ticket);
	ticket = queue;
	ticket.bytes = UINT64_MAX - ticket.at;
	expect_same(&ticket);
}

static void
test_no_part_of_a_ticket_is_one(void **state)
{
	char text[sizeof(golden)];

	(void)state;
	for (size_t n = 0; n < sizeof(golden) - 1; n++) {
		memcpy(text, golden, n);
		text[n] = '\0';
		expect_none(text);
	}
}

/* Behind the address each character matters: no other one from a list of likely ones is taken, but a digit for a digit. */
static void
test_no_other_character_will_do(void **state)
{
	static const char others[] = "gG_ \n\t=:-x\x7f\xff";
	const char *address = strchr(golden, '[');
	const char *end = strchr(address, ' ');
	char text[sizeof(golden)];

	(void)state;
	for (size_t i = 0; i < sizeof(golden) - 1; i++)
		for (const char *other = others; *other != '\0'; other++) {
			if (golden[i] == *other ||
			    (golden + i >= address && golden + i<end && * other> ' ' &&
			     *other < 0x7f))
				continue;
			memcpy(text, golden, sizeof(golden));
			text[i] = *other;
			expect_none(text);
		}
	/* Digits are written in one way. */
	memcpy(text, golden, sizeof(golden));
	*strstr(text, "a1b2") = 'A';
	expect_none(text);
}

static void
test_a_line_ends_once(void **state)
{
	static const char *const more[] = { "\n\n", " ", "0", "\r\n", "\n0", " tail=0" };
	char text[sizeof(golden) + 16];
	struct rdmo_ticket ticket;

	(void)state;
	snprintf(text, sizeof(text), "%s\n", golden);
	assert_int_equal(rdmo_ticket_parse(text, &ticket), 0);
	for (size_t i = 0; i < RTE_DIM(more); i++) {
		snprintf(text, sizeof(text), "%s%s", golden, more[i]);
		expect_none(text);
	}
}

/* Fields that are right one by one, and nothing together: neither written nor read. */
static void
test_what_cannot_be_is_no_ticket(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "00112233445566778899aabbccddeeff", "00000000000000000000000000000000" },
		{ "key=0000000000001234", "key=0000000000000000" },
		{ "bytes=0000000000001000", "bytes=0000000000000000" },
		{ "bytes=0000000000001000", "bytes=ffff80ffedcbb000" },
		{ "tail=00007f0012340008", "tail=0000000000000000" },
		{ "tail=00007f0012340008", "tail=00007f0012340004" },
		{ "tail-key=ffffffffffffffff", "tail-key=0000000000000000" },
		{ "rdmo/1", "rdmo/2" },
		{ "[::1]:18515", "" },
	};
	struct rdmo_ticket ticket;
	char text[2 * sizeof(golden)];

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		const char *at = strstr(golden, rows[i].from);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - golden), golden, rows[i].to,
			 at + strlen(rows[i].from));
		expect_none(text);
	}
#define NONE(change)                                                                       \
	do {                                                                               \
		ticket = queue;                                                            \
		change;                                                                    \
		assert_int_equal(rdmo_ticket_write(&ticket, text, sizeof(text)), -EINVAL); \
	} while (0)
	NONE(memset(ticket.secret, 0, sizeof(ticket.secret)));
	NONE(ticket.key = 0);
	NONE(ticket.bytes = 0);
	NONE(ticket.bytes = UINT64_MAX - ticket.at + 1);
	NONE(ticket.tail = 0);
	NONE(ticket.tail_key = 0);
	NONE(ticket.tail++);
	NONE(ticket.address[0] = '\0');
	NONE(memcpy(ticket.address, "unix:/a b", 10));
	NONE(memset(ticket.address, 'x', sizeof(ticket.address)));
	assert_int_equal(rdmo_ticket_parse(NULL, &ticket), -EINVAL);
	assert_int_equal(rdmo_ticket_parse(golden, NULL), -EINVAL);
}

static void
test_an_address_that_is_too_long(void **state)
{
	char text[sizeof(golden) + RDMO_ADDRESS_BYTES];
	char address[RDMO_ADDRESS_BYTES + 1];

	(void)state;
	memset(address, 'x', RDMO_ADDRESS_BYTES);
	address[RDMO_ADDRESS_BYTES] = '\0';
	snprintf(text, sizeof(text), "rdmo/1 %s%s", address, strstr(golden, " id="));
	expect_none(text);
}

static void
test_room(void **state)
{
	char text[sizeof(golden)];
	struct rdmo_ticket longest = queue;
	char room[RDMO_TICKET_BYTES];

	(void)state;
	assert_int_equal(rdmo_ticket_write(&queue, text, sizeof(golden)), 0);
	assert_int_equal(rdmo_ticket_write(&queue, text, sizeof(golden) - 1), -ENOSPC);
	assert_int_equal(rdmo_ticket_write(&queue, NULL, 0), -ENOSPC);
	memset(longest.address, 'x', RDMO_ADDRESS_BYTES - 1);
	assert_int_equal(rdmo_ticket_write(&longest, room, sizeof(room)), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_a_ticket_is_this_line),
	cmocka_unit_test(test_limits_come_back),
	cmocka_unit_test(test_no_part_of_a_ticket_is_one),
	cmocka_unit_test(test_no_other_character_will_do),
	cmocka_unit_test(test_a_line_ends_once),
	cmocka_unit_test(test_what_cannot_be_is_no_ticket),
	cmocka_unit_test(test_an_address_that_is_too_long),
	cmocka_unit_test(test_room),
};

PLAIN_MAIN("rdmo-ticket", tests)
