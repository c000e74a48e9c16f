/* SPDX-License-Identifier: BSD-3-Clause */

/* A device with some of everything, and a good input for each command in it: what tests of refusals spoil. */
#ifndef TEST_DEVICE_CTL_WORLD_H
#define TEST_DEVICE_CTL_WORLD_H

#include "ctl_fixture.h"
#include "prm/qp.h"

#define IN_ROOM 0x2000

/* One object of each kind that something else leans on, and one that nothing leans on. */
struct world {
	struct hn hn;					   /* first, see ctl_teardown() */
	uint32_t pd, td, uar, mkey, counter, table, group; /* mkey: the key, not the index */
	struct hn_eq eq, loose_eq;
	struct hn_cq cq, loose_cq;
	uint32_t tis, loose_tis, rqt, loose_rqt, tir, indirect_tir, loose_tir;
	struct hn_wq sq, rq, loose_rq;
	uint32_t loose_pd, loose_td, loose_uar, loose_counter, loose_table, loose_group;
	/* in each state that commands lead to; that of RST has its receive WQEs in rmp */
	uint32_t qps[RNIC_QP_STATE_SQD + 1], rmp, loose_rmp;
	uint32_t xrcd, loose_xrcd, xrc_srq;
	uint32_t flow_counter, loose_flow_counter;
	uint32_t umem, loose_umem, umem_key; /* the key is of the first one's pages */
	uint32_t uctx, loose_uctx,
		users_pd;  /* a user context, one with nothing, and the first one's domain */
	uint32_t datagram; /* a QP of datagrams in RTS, and in the group */
	uint64_t memory;   /* 64 KiB */
	/* a command that a test changes, see world_good() */
	uint8_t in[IN_ROOM];
	uint32_t in_bytes;
};

/* GIDs: ours, of this index of the table, and the peer's. */
#define WORLD_GID_INDEX 3
extern const uint8_t world_gid[16], world_peer_gid[16], world_group_gid[16];

/* Until the next world is made, its device does and refuses what these parts of cards do, up to NULL; NULL: nothing. */
struct softrnic_like_part;
void world_be_like(const struct softrnic_like_part *const *parts);

/* How far the driver has got. */
enum world_state {
	WORLD_OFF,
	WORLD_ENABLED,
	WORLD_READY, /* with everything in it */
};
void world_make(struct world *w, enum world_state state);
/* In the state in which a command's good input works. */
void world_make_for(struct world *w, uint16_t opcode);
/* The same beside other devices: of their poller, on that wire. */
void world_make_beside(struct world *w, uint16_t opcode, struct softrnic_poller *poller,
		       const char *wire);
/* The command is about the function: no user's. */
bool world_is_of_function(uint16_t opcode);
/* For cmocka: one that is ready; ctl_teardown() ends it. */
int world_setup(void **state);
/* One more of everything. */
void world_populate(struct world *w);
/* The QP goes, by the world's good inputs, to a state from a lower one. */
void world_qp_raise(struct world *w, uint32_t qpn, enum rnic_qp_state from, enum rnic_qp_state to);
/* Fill an input of IN_ROOM zero bytes; returns its length. */
uint32_t world_good_input(struct world *w, uint16_t opcode, void *in);
/* The same in w->in, to be changed, then executed: its status; *number: what a CREATE_x made, may be NULL. */
void *world_good(struct world *w, uint16_t opcode);
int world_run(struct world *w, uint32_t *number);

#endif
