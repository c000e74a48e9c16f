/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/roce/pkt.h"
#include "softrnic/rocev2/opcode.h"

#define OPCODE(bytes, headers)    \
	{                         \
		bytes, headers, 1 \
	}

/* Operations that a connection has, reliable or not. */
#define CONNECTED(transport)                                                           \
	[(transport) | ROCE_SEND_FIRST] = OPCODE(0, ROCEV2_UNPADDED),                  \
		       [(transport) | ROCE_SEND_MIDDLE] = OPCODE(0, ROCEV2_UNPADDED),  \
		       [(transport) | ROCE_SEND_LAST] = OPCODE(0, 0),                  \
		       [(transport) | ROCE_SEND_LAST_IMM] = OPCODE(4, ROCEV2_WORD),    \
		       [(transport) | ROCE_SEND_ONLY] = OPCODE(0, 0),                  \
		       [(transport) | ROCE_SEND_ONLY_IMM] = OPCODE(4, ROCEV2_WORD),    \
		       [(transport) | ROCE_WRITE_FIRST] =                              \
			       OPCODE(16, ROCEV2_RETH | ROCEV2_UNPADDED),              \
		       [(transport) | ROCE_WRITE_MIDDLE] = OPCODE(0, ROCEV2_UNPADDED), \
		       [(transport) | ROCE_WRITE_LAST] = OPCODE(0, 0),                 \
		       [(transport) | ROCE_WRITE_LAST_IMM] = OPCODE(4, ROCEV2_WORD),   \
		       [(transport) | ROCE_WRITE_ONLY] = OPCODE(16, ROCEV2_RETH),      \
		       [(transport) | ROCE_WRITE_ONLY_IMM] = OPCODE(20, ROCEV2_RETH | ROCEV2_WORD)

#define RC 0x00
#define UC 0x20
#define UD 0x60

const struct rocev2_opcode rocev2_opcodes[256] = {
	CONNECTED(RC),
	[ROCE_READ_REQUEST] = OPCODE(16, ROCEV2_RETH | ROCEV2_UNPADDED),
	[ROCE_READ_RESPONSE_FIRST] = OPCODE(4, ROCEV2_AETH | ROCEV2_UNPADDED),
	[ROCE_READ_RESPONSE_MIDDLE] = OPCODE(0, ROCEV2_UNPADDED),
	[ROCE_READ_RESPONSE_LAST] = OPCODE(4, ROCEV2_AETH),
	[ROCE_READ_RESPONSE_ONLY] = OPCODE(4, ROCEV2_AETH),
	[ROCE_ACKNOWLEDGE] = OPCODE(4, ROCEV2_AETH | ROCEV2_UNPADDED),
	[ROCE_ATOMIC_ACKNOWLEDGE] = OPCODE(12, ROCEV2_AETH | ROCEV2_ATOMIC_ACK | ROCEV2_UNPADDED),
	[ROCE_COMPARE_SWAP] = OPCODE(28, ROCEV2_ATOMIC_ETH | ROCEV2_UNPADDED),
	[ROCE_FETCH_ADD] = OPCODE(28, ROCEV2_ATOMIC_ETH | ROCEV2_UNPADDED),
	[ROCE_SEND_LAST_INVALIDATE] = OPCODE(4, ROCEV2_WORD),
	[ROCE_SEND_ONLY_INVALIDATE] = OPCODE(4, ROCEV2_WORD),
	CONNECTED(UC),
	[UD | ROCE_SEND_ONLY] = OPCODE(8, ROCEV2_DETH),
	[UD | ROCE_SEND_ONLY_IMM] = OPCODE(12, ROCEV2_DETH | ROCEV2_WORD),
	[ROCE_CNP] = OPCODE(16, ROCEV2_CNP | ROCEV2_UNPADDED),
};
