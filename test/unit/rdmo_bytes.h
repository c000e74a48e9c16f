/* SPDX-License-Identifier: BSD-3-Clause */

/* What the tests of messages share: bytes out of their digits, each cut of a message, each member of it wrong by itself. */
#ifndef UNIT_RDMO_BYTES_H
#define UNIT_RDMO_BYTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rdmo/message.h"

#define SESSION	  UINT64_C(0x1122334455667788)
#define BYTES_MAX 512
#define MSG	  32 /* bytes of a message before its first frame or answer */

typedef enum rdmo_reason open_fn(struct rdmo_reader *reader, const void *message, uint32_t bytes,
				 uint64_t session);

static inline uint32_t
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

static inline void
put32(uint8_t *at, uint32_t value)
{
	const rte_le32_t le = rte_cpu_to_le_32(value);

	memcpy(at, &le, sizeof(le));
}

static inline void
put64(uint8_t *at, uint64_t value)
{
	const rte_le64_t le = rte_cpu_to_le_64(value);

	memcpy(at, &le, sizeof(le));
}

/* Opened in memory of just that size, so that a sanitizer sees what goes beyond. */
static inline enum rdmo_reason
open_alone(open_fn *open, const uint8_t *bytes, uint32_t count)
{
	uint8_t *copy = malloc(count > 0 ? count : 1);
	struct rdmo_reader reader;
	enum rdmo_reason reason;

	assert_non_null(copy);
	memcpy(copy, bytes, count);
	reason = open(&reader, copy, count, SESSION);
	free(copy);
	return reason;
}

/* Each end of a message, with the length that the sender meant, and with one that hides the cut. */
static inline void
rdmo_every_cut(const char *hex, open_fn *open)
{
	_Alignas(8) uint8_t bytes[BYTES_MAX] = { 0 };
	const uint32_t count = bytes_of(hex, bytes);
	const bool closes = bytes[5] == RDMO_MSG_CLOSE;
	enum rdmo_reason reason;

	assert_int_equal(open_alone(open, bytes, count), RDMO_REASON_NONE);
	for (uint32_t cut = 0; cut < count; cut++) {
		bytes_of(hex, bytes);
		assert_int_equal(open_alone(open, bytes, cut),
				 cut < MSG ? RDMO_REASON_SHORT : RDMO_REASON_LENGTH);
		if (cut < MSG)
			continue;
		put32(bytes + 8, cut - MSG);
		reason = open_alone(open, bytes, cut);
		if (closes)
			assert_int_equal(reason, RDMO_REASON_LENGTH);
		else
			assert_true(reason == RDMO_REASON_FRAME || reason == RDMO_REASON_COUNT);
	}
	/* And more than was meant. */
	bytes_of(hex, bytes);
	memset(bytes + count, 0, 8);
	assert_int_equal(open_alone(open, bytes, count + 8), RDMO_REASON_LENGTH);
	put32(bytes + 8, count - MSG + 8);
	assert_int_equal(open_alone(open, bytes, count + 8),
			 closes ? RDMO_REASON_LENGTH : RDMO_REASON_COUNT);
}

/* One member of a good message, and why the connection is closed then. */
struct rdmo_broken {
	uint32_t at;
	uint32_t size; /* of the member: 1, 4 or 8 */
	uint64_t value;
	enum rdmo_reason reason;
};

static inline void
rdmo_are_broken(const char *hex, open_fn *open, const struct rdmo_broken *rows, uint32_t count)
{
	_Alignas(8) uint8_t bytes[BYTES_MAX];
	enum rdmo_reason reason;
	uint32_t length;
	rte_le64_t value;

	for (uint32_t i = 0; i < count; i++) {
		length = bytes_of(hex, bytes);
		value = rte_cpu_to_le_64(rows[i].value);
		memcpy(bytes + rows[i].at, &value, rows[i].size);
		reason = open_alone(open, bytes, length);
		if (reason != rows[i].reason)
			fail_msg("row %u, at %u: reason %u, not %u", i, rows[i].at, reason,
				 rows[i].reason);
	}
}

#endif
