/* SPDX-License-Identifier: BSD-3-Clause */

/* What an input of fuzz-session is made of: its operations' names, and seeds. */
#ifndef TEST_FUZZ_SESSION_H
#define TEST_FUZZ_SESSION_H

enum session_op {
	OP_MAP,	    /* u8 which of those that are gone; u8 rights */
	OP_UNMAP,   /* u8 which */
	OP_RESET,   /* function level reset; maps stay */
	OP_SESSION, /* the client leaves, and the next one comes */
	OP_BUS,	    /* u8 bit 0: master */
	OP_CQ,	    /* u8 size and kind: a new one */
	OP_SQ,	    /* u8 which CQ, u8 size and flags */
	OP_RQ,	    /* u8 which CQ, u8 size and stride */
	OP_STEER,   /* u8 which RQ gets all frames */
	OP_QP,	    /* u8 which CQ, u8 size */
	OP_SRQ,	    /* u8 size: for the next queue pairs */
	OP_KEY,	    /* u8 which island, u8 access: over its pages */
	OP_CONNECT, /* u8 which queue pair of this client, u8 which of the other */
	OP_SEND,    /* u8 which queue, u8 opcode, u8 segments, each: u8 island, u16 bytes, u8 key */
	OP_POST,    /* u8 which RQ or queue pair, u8 island, u16 bytes, u8 key */
	OP_RING,    /* u8 which queue */
	OP_ARM,	    /* u8 which CQ */
	OP_REAP,    /* u8 which CQ */
	OP_STATE,   /* u8 which queue, u8 from and to */
	OP_DESTROY, /* u8 what kind, u8 which */
	OP_BYTES,   /* u8 which island, u16 where, u8 count, the bytes */
	OP_POLL,    /* u8 times */
	OP_VANISH,  /* what is mapped is no memory any more */
	OP_MANY,    /* u8: so many more maps, small ones, which go again in another order */
	OP_COMMAND, /* u16 opcode, u16 bytes of input: by the command queue, which is in the payload */
	OP_CHANGE, /* u8 which CQ, u8 bits 1..0: what is asked or changed, 7..2: to what */
	OP_LAST,
};

#endif
