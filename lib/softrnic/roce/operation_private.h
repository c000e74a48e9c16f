/* SPDX-License-Identifier: BSD-3-Clause */

/* What a request's opcode is, for who receives it: RC's and UC's are the same, but that UC invalidates nothing. */
#ifndef ROCE_OPERATION_PRIVATE_H
#define ROCE_OPERATION_PRIVATE_H

#include "softrnic/roce/machine_private.h"

/* What an opcode is: its place in a message, and what it carries. */
#define OP_SEND	  0x01
#define OP_WRITE  0x02
#define OP_READ	  0x04
#define OP_ATOMIC 0x08
#define OP_START  0x10
#define OP_END	  0x20
#define OP_IMM	  0x40
#define OP_INVAL  0x80

static inline uint8_t
roce_operation(uint8_t opcode)
{
	static const uint8_t operations[32] = {
		[ROCE_SEND_FIRST] = OP_SEND | OP_START,
		[ROCE_SEND_MIDDLE] = OP_SEND,
		[ROCE_SEND_LAST] = OP_SEND | OP_END,
		[ROCE_SEND_LAST_IMM] = OP_SEND | OP_END | OP_IMM,
		[ROCE_SEND_ONLY] = OP_SEND | OP_START | OP_END,
		[ROCE_SEND_ONLY_IMM] = OP_SEND | OP_START | OP_END | OP_IMM,
		[ROCE_WRITE_FIRST] = OP_WRITE | OP_START,
		[ROCE_WRITE_MIDDLE] = OP_WRITE,
		[ROCE_WRITE_LAST] = OP_WRITE | OP_END,
		[ROCE_WRITE_LAST_IMM] = OP_WRITE | OP_END | OP_IMM,
		[ROCE_WRITE_ONLY] = OP_WRITE | OP_START | OP_END,
		[ROCE_WRITE_ONLY_IMM] = OP_WRITE | OP_START | OP_END | OP_IMM,
		[ROCE_READ_REQUEST] = OP_READ | OP_START | OP_END,
		[ROCE_COMPARE_SWAP] = OP_ATOMIC | OP_START | OP_END,
		[ROCE_FETCH_ADD] = OP_ATOMIC | OP_START | OP_END,
		[ROCE_SEND_LAST_INVALIDATE] = OP_SEND | OP_END | OP_INVAL,
		[ROCE_SEND_ONLY_INVALIDATE] = OP_SEND | OP_START | OP_END | OP_INVAL,
	};

	return operations[opcode & 0x1f];
}

#endif
