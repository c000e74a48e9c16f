/* SPDX-License-Identifier: BSD-3-Clause */

#include "softrnic/roce/pkt.h"
#include "softrnic/rocev2/opcode.h"

#define OPCODE(bytes, headers)    \
	{                         \
		bytes, 1, headers \
	}
/* XRC's (`xrc` is 1, else 0) have XRCETH in front of all else. */
#define REQUEST(xrc, bytes, headers) OPCODE((bytes) + 4 * (xrc), (headers) | ROCEV2_XRC * (xrc))

/* Operations that a connection has, reliable or not. */
#define CONNECTED(transport, xrc)                                                            \
	[(transport) | ROCE_SEND_FIRST] = REQUEST(xrc, 0, ROCEV2_UNPADDED),                  \
		       [(transport) | ROCE_SEND_MIDDLE] = REQUEST(xrc, 0, ROCEV2_UNPADDED),  \
		       [(transport) | ROCE_SEND_LAST] = REQUEST(xrc, 0, 0),                  \
		       [(transport) | ROCE_SEND_LAST_IMM] = REQUEST(xrc, 4, ROCEV2_WORD),    \
		       [(transport) | ROCE_SEND_ONLY] = REQUEST(xrc, 0, 0),                  \
		       [(transport) | ROCE_SEND_ONLY_IMM] = REQUEST(xrc, 4, ROCEV2_WORD),    \
		       [(transport) | ROCE_WRITE_FIRST] =                                    \
			       REQUEST(xrc, 16, ROCEV2_RETH | ROCEV2_UNPADDED),              \
		       [(transport) | ROCE_WRITE_MIDDLE] = REQUEST(xrc, 0, ROCEV2_UNPADDED), \
		       [(transport) | ROCE_WRITE_LAST] = REQUEST(xrc, 0, 0),                 \
		       [(transport) | ROCE_WRITE_LAST_IMM] = REQUEST(xrc, 4, ROCEV2_WORD),   \
		       [(transport) | ROCE_WRITE_ONLY] = REQUEST(xrc, 16, ROCEV2_RETH),      \
		       [(transport) | ROCE_WRITE_ONLY_IMM] =                                 \
			       REQUEST(xrc, 20, ROCEV2_RETH | ROCEV2_WORD)

/* And those that only a reliable one has. */
#define RELIABLE(transport, xrc)                                                                 \
	[(transport) | ROCE_READ_REQUEST] = REQUEST(xrc, 16, ROCEV2_RETH | ROCEV2_UNPADDED),     \
		       [(transport) | ROCE_READ_RESPONSE_FIRST] =                                \
			       OPCODE(4, ROCEV2_AETH | ROCEV2_UNPADDED),                         \
		       [(transport) | ROCE_READ_RESPONSE_MIDDLE] = OPCODE(0, ROCEV2_UNPADDED),   \
		       [(transport) | ROCE_READ_RESPONSE_LAST] = OPCODE(4, ROCEV2_AETH),         \
		       [(transport) | ROCE_READ_RESPONSE_ONLY] = OPCODE(4, ROCEV2_AETH),         \
		       [(transport) | ROCE_ACKNOWLEDGE] =                                        \
			       OPCODE(4, ROCEV2_AETH | ROCEV2_UNPADDED),                         \
		       [(transport) | ROCE_ATOMIC_ACKNOWLEDGE] =                                 \
			       OPCODE(12, ROCEV2_AETH | ROCEV2_ATOMIC_ACK | ROCEV2_UNPADDED),    \
		       [(transport) | ROCE_COMPARE_SWAP] =                                       \
			       REQUEST(xrc, 28, ROCEV2_ATOMIC_ETH | ROCEV2_UNPADDED),            \
		       [(transport) | ROCE_FETCH_ADD] =                                          \
			       REQUEST(xrc, 28, ROCEV2_ATOMIC_ETH | ROCEV2_UNPADDED),            \
		       [(transport) | ROCE_SEND_LAST_INVALIDATE] = REQUEST(xrc, 4, ROCEV2_WORD), \
		       [(transport) | ROCE_SEND_ONLY_INVALIDATE] = REQUEST(xrc, 4, ROCEV2_WORD)

#define RC  0x00
#define UC  0x20
#define UD  0x60
#define XRC 0xa0

const struct rocev2_opcode rocev2_opcodes[256] = {
	CONNECTED(RC, 0),
	RELIABLE(RC, 0),
	CONNECTED(UC, 0),
	[UD | ROCE_SEND_ONLY] = OPCODE(8, ROCEV2_DETH),
	[UD | ROCE_SEND_ONLY_IMM] = OPCODE(12, ROCEV2_DETH | ROCEV2_WORD),
	[ROCE_CNP] = OPCODE(16, ROCEV2_CNP | ROCEV2_UNPADDED),
	CONNECTED(XRC, 1),
	RELIABLE(XRC, 1),
};
