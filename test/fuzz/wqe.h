/* SPDX-License-Identifier: BSD-3-Clause */

/* What an input of fuzz-wqe works on, and the names of its operations. */
#ifndef TEST_FUZZ_WQE_H
#define TEST_FUZZ_WQE_H

#include "data_path.h"
#include "fuzz_device.h"

enum wqe_op {
	OP_SEND, /* a WQE: u8 opcode, u8 inline bytes, u8 segments, then each segment; ce is always */
	OP_POST,      /* a receive WQE: u8 segments, then each */
	OP_SQ_BYTES,  /* u8 WQEBB, u8 offset, u8 bytes, the bytes */
	OP_RQ_BYTES,  /* u8 WQE, u8 offset, u8 bytes, the bytes */
	OP_SQ_RECORD, /* u16: the counter as it is written, and a doorbell */
	OP_RQ_RECORD, /* u16 */
	OP_CQ_RECORD, /* u8 bit 0: which, 1: and its doorbell; u32 consumer index, u32 arm word */
	OP_RING,      /* the SQ, as a good driver does it */
	OP_POLL,      /* u8 times */
	OP_REAP,      /* take all completions */
	OP_BAR,	      /* u16 offset in the UAR pages, u8 bytes, 8 bytes */
	OP_SQ_STATE,  /* u8: from, to */
	OP_RQ_STATE,
	OP_UNMAP, /* u8 which island goes; what went before comes back */
	OP_DESTROY_KEY,
	OP_MTU,	 /* u16: of the port that receives */
	OP_FILL, /* u8 island, u8 offset, u8 bytes, the bytes: what frames are made of */
	/*
	 * Of the last WQE: u8 bit 0: a large send, bit 1: the RQ strips tags from now on, 2: without an Ethernet segment,
	 * 3: with no completion; u8 cs_flags; u16 mss; u16 the inline header's size, or what is inserted, 0: as it is
	 */
	OP_OFFLOADS,
	OP_VPORT, /* u8 bits 0..2: what it takes without a look at addresses; 4..3: which list has the frames' addresses */
	/*
	 * A queue that shares its WQEs gets all frames from now on: u8 bits 1..0: their stride, 2: they are cyclic; 3: the RQ
	 * gets the frames, too; 5..4: what is sent to itself comes past the wire, enum rnic_tir_self_lb; 6: the hash is
	 * symmetric
	 */
	OP_POOL,
	OP_POOL_POST, /* a WQE of these: u8 segments, then each */
	/* A queue like the SQ, or (bit 7) the RQ, but for one dword: u8 bits 5..0 which, 6: it stays; u32 bits that are others */
	OP_CREATE,
	OP_DESTROY, /* u8 bit 0: the RQ, else the SQ */
	OP_MODIFY, /* u8 bit 0: the RQ, else the SQ; u8 bitmask; u8 counter set, bit 7: a new one; u8 bit 0: strips tags */
	/* u8 key that becomes another: u8 bits 1..0 mode, 7..2: rights of its pages but the first, two bits each; u16 bytes; u8 key it leads to */
	OP_KEY,
	OP_HEADERS, /* u8 bit 0: the device wants headers inline */
	OP_LAST,
};

#define ISLANDS 8
extern const uint32_t island_bytes[ISLANDS];

enum wqe_key {
	KEY_WHOLE,    /* MTT over everything, in pieces */
	KEY_FLAT,     /* MTT over one island */
	KEY_READ,     /* the same, read only */
	KEY_KLM,      /* of others */
	KEY_PA,	      /* the IOVAs themselves */
	KEY_NESTED,   /* KLM of KLM */
	KEY_RESERVED, /* the reserved lkey */
	KEYS,
};

/* WQEs that queues share. */
struct wqe_pool {
	struct dp_rq rq; /* on it; its ring and record are the pool's */
	bool cyclic;
};

struct world {
	struct dp dp, other; /* other: the far end of a pair */
	bool pair;
	struct dp_cq tx_cq, rx_cq;
	struct dp_sq sq;
	struct dp_rq rq;
	struct wqe_pool pool; /* without a ring there is none */
	uint8_t *islands[ISLANDS];
	uint32_t keys[KEYS];
	struct fuzz_gone gone;
};

/* ---- Objects (wqe_objects.c) ---- */

struct wqe_key_conf {
	unsigned int mode; /* enum rnic_mkey_access_mode */
	const void *start;
	uint64_t length;
	bool write;
	uint8_t rights;	  /* of its pages, two bits each; 0: as the key's */
	uint32_t keys[4]; /* that it leads to */
	unsigned int count;
};

/* 0: it was refused. */
uint32_t wqe_key_create(struct dp *dp, const struct wqe_key_conf *conf);
/* A TIR that spreads over four queues, which all are the one. */
uint32_t wqe_tir_create(const struct dp_rq *rq, bool symmetric, unsigned int self_lb);
void wqe_pool_create(struct world *w, uint8_t what);
/* What OP_CREATE, OP_DESTROY, OP_MODIFY and OP_KEY do. */
void wqe_queue_create(struct world *w, struct fuzz_input *input);
void wqe_queue_destroy(struct world *w, struct fuzz_input *input);
void wqe_queue_modify(struct world *w, struct fuzz_input *input);
/* MODIFY_RQ of one that is ready. mask: RNIC_MODIFY_RQ_x */
void wqe_rq_modify(struct world *w, uint8_t mask, uint32_t counter, bool strips_tags);
void wqe_key_change(struct world *w, struct fuzz_input *input);

#endif
