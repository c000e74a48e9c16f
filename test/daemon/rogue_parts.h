/* SPDX-License-Identifier: BSD-3-Clause */

/* What rogues are made of. */
#ifndef TEST_DAEMON_ROGUE_PARTS_H
#define TEST_DAEMON_ROGUE_PARTS_H

#include "rogue.h"
#include "vfio_user/proto.h"

#define ROGUE_IOVA     UINT64_C(0x100000000)
#define ROGUE_PAGE     4096u
#define ROGUE_IN_BYTES 2048 /* of a command of many, at most */
#define ROGUE_BUFFER   16384u
#define ROGUE_VARIANT  0x55u /* of its keys */

/* Fill the zeroed input of the i-th command. @return its bytes. */
typedef uint32_t rogue_make_fn(struct rogue *r, uint32_t i, void *in);

/* Each in its turn, as many at a time as there are slots; none may fail. numbers: of what they made, or NULL. */
void rogue_commands(struct rogue *r, uint32_t count, rogue_make_fn *make, uint32_t *numbers);

/* A command for a slot, to be rung with others; the same again as it stands there; are all of these slots done? */
void rogue_put(struct rogue *r, unsigned int slot, rogue_make_fn *make, uint32_t i);
void rogue_again(struct rogue *r, uint32_t slots);
void rogue_ring(struct rogue *r, uint32_t slots);
bool rogue_answered(struct rogue *r, uint32_t slots);
/* The number of what was made, of a slot whose command is done; none may fail. */
uint32_t rogue_number(struct rogue *r, unsigned int slot);

/* What all keys of a rogue have, for the caller to go on with; and such a key, which may not be refused. */
struct drv_mkey rogue_mkey(const struct rogue *r, enum rnic_mkey_access_mode mode, bool writable);
uint32_t rogue_mkey_create(struct rogue *r, const struct drv_mkey *mkey);
uint32_t rogue_make_destroy_mkey(struct rogue *r, uint32_t number, void *in);

/* A sparse file, mapped at ROGUE_IOVA. */
void rogue_memory(struct rogue *r, uint64_t bytes);
/* A change of the map that touches nothing of what is in use. */
void rogue_change_map(struct rogue *r);

/* The doorbell of a queue, to be written with others; first: its last WQE's first word. */
struct vfu_region_write rogue_bell(const struct rogue *r, uint32_t first, uint32_t number);

/* Send a WQE of 61 segments, each so many bytes of the key, a step apart. @return false: there is no room in the queue. */
bool rogue_send(struct rogue *r, uint32_t key, uint64_t address, uint64_t step, uint32_t bytes);
/* Take the completions that there are, all of that kind; how many there were. */
uint32_t rogue_take(struct rogue *r, struct hn_cq *cq, enum rnic_cqe_opcode opcode);
/* Those of what rogue_send() sent. */
void rogue_reap(struct rogue *r);

/* Frames as long as the port takes them, instead of those of every day. */
void rogue_long_frames(struct rogue *r);
/* Receive into buffers of some segments each, a step apart; all frames, each so many times (0: there are flow tables). */
struct rogue_buffers {
	unsigned int log_size, segments;
	uint32_t key; /* 0: of all memory */
	uint64_t address, step;
	uint32_t bytes; /* of a segment */
	uint32_t times;
};
void rogue_receive(struct rogue *r, const struct rogue_buffers *buffers);
/* As many buffers again as were filled. */
void rogue_refill(struct rogue *r);

/* A key of 65,536 single bytes of others, in turn: byte i is byte (i * order) behind the address. Any right. */
uint32_t rogue_list_key(struct rogue *r, const uint32_t *others, uint32_t count, uint64_t address,
			uint32_t order);

#endif
