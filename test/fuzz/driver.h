/* SPDX-License-Identifier: BSD-3-Clause */

/* What an input of fuzz-driver is made of: its operations' names, and seeds. */
#ifndef TEST_FUZZ_DRIVER_H
#define TEST_FUZZ_DRIVER_H

enum op {
	OP_TX,	   /* u8 which queue; packets as port_transmit() says */
	OP_RX,	   /* u8 which queue; u8 how many at most */
	OP_DEVICE, /* u8 polls */
	OP_FORGE, /* u8 CQ and queue pair, u8 opcode and more, u16 WQE counter, u32 byte count, u8 syndrome */
	OP_DAMAGE, /* u8 CQ, u8 how far behind the consumer, u8 offset, u8 bytes, the bytes */
	OP_EVENT,  /* u8 EQ and object, u8 type, u8 sub-type, u32 */
	OP_EVENTS, /* u8: what is walked, and what is taken from the library */
	OP_ALARMS,
	OP_SEND, /* u8 which queue pair, u8 requests, each: u8 opcode, u8 flags, u8 segments, u16 bytes of each */
	OP_RECV,   /* u8 where to, u8 requests, each: u8 segments, u16 bytes of each */
	OP_CQ,	   /* u8 which CQ, u8 how many at most */
	OP_ARM,	   /* u8 which CQ, bit 7: solicited */
	OP_MODIFY, /* u8 which queue pair, u8 state */
	OP_DRAIN,  /* u8 which queue pair */
	OP_SRQ,	   /* u8 which call, u8 limit */
	OP_GID,	   /* u8 which call, u8 index or last byte */
	OP_QUEUE,  /* u8 which queue, u8 which question */
	OP_RESIZE, /* u8 which CQ, u8 size */
	OP_ASK,	   /* the state of everything */
	OP_LOST,   /* the device is, for the rest of the input */
	OP_CALL,   /* u8 kind, u8 which call, u8 value: driver_calls.h */
	OP_HOLD,   /* u8 which pool: the application has all of its mbufs, or gives them back */
	OP_LAST,
};

#define LIE_CHANGED 63 /* instead of a status: the command is executed, and its output changed */

#endif
