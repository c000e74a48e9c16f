/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with some of everything, and a good input for each command in it: what tests of refusals spoil. */
#ifndef TEST_DEVICE_CTL_WORLD_H
#define TEST_DEVICE_CTL_WORLD_H

#include "harness.h"
#include "softrnic/device.h"

#define IN_ROOM 0x2000

/* One object of each kind that something else leans on, and one that nothing leans on. */
struct world {
	struct hn hn;
	uint32_t pd, td, uar, mkey, counter, table, group; /* mkey: the key, not the index */
	struct hn_eq eq, loose_eq;
	struct hn_cq cq, loose_cq;
	uint32_t tis, loose_tis, rqt, loose_rqt, tir, indirect_tir, loose_tir;
	struct hn_wq sq, rq, loose_rq;
	uint32_t loose_pd, loose_td, loose_uar, loose_counter, loose_table, loose_group;
	uint64_t memory; /* 64 KiB */
};

/* A device in a state (enum softrnic_hca_state), with everything in it if it is READY. */
void world_make(struct world *w, unsigned int state, bool init_pages);
/* One more of everything. */
void world_populate(struct world *w);
/* The state in which a command's good input works. */
unsigned int world_state_for(uint16_t opcode);
/* Fill an input of IN_ROOM zero bytes; returns its length. */
uint32_t world_good_input(struct world *w, uint16_t opcode, void *in);

#endif
