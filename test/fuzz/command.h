/* SPDX-License-Identifier: BSD-3-Clause */

/* The device that fuzz-command talks to, and what its inputs are made of. */
#ifndef TEST_FUZZ_COMMAND_H
#define TEST_FUZZ_COMMAND_H

#include "data_path.h"
#include "fuzz_device.h"
#include "prm/cmdq.h"

#define BLOCKS	   24
#define AREA_BYTES ((BLOCKS - 1) * RNIC_CMDQ_BLOCK_ALIGN + sizeof(struct rnic_cmdq_block))
#define REF_MARK   0xfb
#define REF_AT	   16
#define OUT_A_LOT  255

enum command_op {
	OP_BAR_WRITE = 0xf0, /* u32 offset, u8 bytes, the bytes */
	OP_BAR_READ,
	OP_UNMAP, /* u8: which map goes; it comes back with the next one of these */
	OP_RESET, /* function level reset */
	OP_FAULT, /* u8 fault, u16 value */
	OP_POLL,  /* u8 times */
	OP_ENTRY, /* u8 offset, u8 value: the next entry has this byte */
};

struct world {
	struct dp dp;
	struct dp_cq cq;
	struct dp_sq sq;
	struct dp_rq rq;
	struct rnic_cmdq_entry *entries;
	uint8_t *in, *out; /* chains of blocks */
	struct fuzz_gone gone;
	uint8_t patch_at, patch;
	bool patched;
};

extern struct softrnic_poller *command_poller;

/* state: 0 off, 1 enabled, 2 ready, 3 with objects of every kind. */
void command_world_open(struct world *w, unsigned int state);
/* Nothing is left of what an input made. */
void command_world_close(struct world *w);
/* One of each kind that Ethernet needs; two queue pairs that are connected. */
void command_objects_make(struct world *w);
void command_qps_make(struct world *w);

#endif
