/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The opcodes of the BTH, and what each has behind it, copied by hand from the specification (IBTA volume 1, 9.2; A14 for XRC, A17
 * for the congestion notification): what tests hold the device's own list against.
 */
#ifndef TEST_OPCODES_H
#define TEST_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they stand. */
enum opcodes_header {
	OPCODES_XRC = 0x01,	   /* 4 bytes */
	OPCODES_DETH = 0x02,	   /* 8 */
	OPCODES_RETH = 0x04,	   /* 16 */
	OPCODES_ATOMIC_ETH = 0x08, /* 28 */
	OPCODES_AETH = 0x10,	   /* 4 */
	OPCODES_ATOMIC_ACK = 0x20, /* 8 */
	OPCODES_WORD = 0x40,	   /* ImmDt, IETH: 4 */
	OPCODES_RESERVED = 0x80,   /* 16 */
};

struct opcodes_row {
	uint8_t code, headers;
	bool whole; /* its payload, if there may be any, is a whole MTU: no padding */
};

static const struct opcodes_row opcodes_rows[] = {
	/* reliable connection: SEND FIRST, MIDDLE, LAST, LAST with immediate, ONLY, ONLY with immediate */
	{ 0x00, 0, true },
	{ 0x01, 0, true },
	{ 0x02, 0, false },
	{ 0x03, OPCODES_WORD, false },
	{ 0x04, 0, false },
	{ 0x05, OPCODES_WORD, false },
	/* RDMA WRITE: the same */
	{ 0x06, OPCODES_RETH, true },
	{ 0x07, 0, true },
	{ 0x08, 0, false },
	{ 0x09, OPCODES_WORD, false },
	{ 0x0a, OPCODES_RETH, false },
	{ 0x0b, OPCODES_RETH | OPCODES_WORD, false },
	/* RDMA READ request; response FIRST, MIDDLE, LAST, ONLY */
	{ 0x0c, OPCODES_RETH, true },
	{ 0x0d, OPCODES_AETH, true },
	{ 0x0e, 0, true },
	{ 0x0f, OPCODES_AETH, false },
	{ 0x10, OPCODES_AETH, false },
	/* acknowledge, ATOMIC acknowledge, CmpSwap, FetchAdd */
	{ 0x11, OPCODES_AETH, true },
	{ 0x12, OPCODES_AETH | OPCODES_ATOMIC_ACK, true },
	{ 0x13, OPCODES_ATOMIC_ETH, true },
	{ 0x14, OPCODES_ATOMIC_ETH, true },
	/* SEND LAST with invalidate, ONLY with invalidate */
	{ 0x16, OPCODES_WORD, false },
	{ 0x17, OPCODES_WORD, false },
	/* unreliable connection: SEND, RDMA WRITE, as above */
	{ 0x20, 0, true },
	{ 0x21, 0, true },
	{ 0x22, 0, false },
	{ 0x23, OPCODES_WORD, false },
	{ 0x24, 0, false },
	{ 0x25, OPCODES_WORD, false },
	{ 0x26, OPCODES_RETH, true },
	{ 0x27, 0, true },
	{ 0x28, 0, false },
	{ 0x29, OPCODES_WORD, false },
	{ 0x2a, OPCODES_RETH, false },
	{ 0x2b, OPCODES_RETH | OPCODES_WORD, false },
	/* unreliable datagram: SEND ONLY, ONLY with immediate */
	{ 0x64, OPCODES_DETH, false },
	{ 0x65, OPCODES_DETH | OPCODES_WORD, false },
	/* congestion notification */
	{ 0x81, OPCODES_RESERVED, true },
	/* extended reliable connection: SEND, RDMA WRITE, as above; answers are RC's */
	{ 0xa0, OPCODES_XRC, true },
	{ 0xa1, OPCODES_XRC, true },
	{ 0xa2, OPCODES_XRC, false },
	{ 0xa3, OPCODES_XRC | OPCODES_WORD, false },
	{ 0xa4, OPCODES_XRC, false },
	{ 0xa5, OPCODES_XRC | OPCODES_WORD, false },
	{ 0xa6, OPCODES_XRC | OPCODES_RETH, true },
	{ 0xa7, OPCODES_XRC, true },
	{ 0xa8, OPCODES_XRC, false },
	{ 0xa9, OPCODES_XRC | OPCODES_WORD, false },
	{ 0xaa, OPCODES_XRC | OPCODES_RETH, false },
	{ 0xab, OPCODES_XRC | OPCODES_RETH | OPCODES_WORD, false },
	{ 0xac, OPCODES_XRC | OPCODES_RETH, true },
	{ 0xad, OPCODES_AETH, true },
	{ 0xae, 0, true },
	{ 0xaf, OPCODES_AETH, false },
	{ 0xb0, OPCODES_AETH, false },
	{ 0xb1, OPCODES_AETH, true },
	{ 0xb2, OPCODES_AETH | OPCODES_ATOMIC_ACK, true },
	{ 0xb3, OPCODES_XRC | OPCODES_ATOMIC_ETH, true },
	{ 0xb4, OPCODES_XRC | OPCODES_ATOMIC_ETH, true },
	{ 0xb6, OPCODES_XRC | OPCODES_WORD, false },
	{ 0xb7, OPCODES_XRC | OPCODES_WORD, false },
};
#define OPCODES_KNOWN (sizeof(opcodes_rows) / sizeof(opcodes_rows[0]))

/* NULL: no packet has it. */
static inline const struct opcodes_row *
opcodes_find(uint32_t code)
{
	for (size_t i = 0; i < OPCODES_KNOWN; i++) {
		if (opcodes_rows[i].code == code)
			return &opcodes_rows[i];
	}
	return NULL;
}

/* Of what it has behind the BTH. */
static inline uint32_t
opcodes_bytes(const struct opcodes_row *row)
{
	static const uint8_t bytes[] = { 4, 8, 16, 28, 4, 8, 4, 16 };
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		sum += (row->headers >> i & 1) * bytes[i];
	return sum;
}

#endif
