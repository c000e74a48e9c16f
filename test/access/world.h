/* SPDX-License-Identifier: BSD-3-Clause */

/* The conformance suite's world: one access, of the kind that the command line names, and what a driver of a few lines needs. */
#ifndef TEST_ACCESS_WORLD_H
#define TEST_ACCESS_WORLD_H

#include <stdio.h>

#include "access/access.h"
#include "base/devargs.h"
#include "daemon.h"
#include "prm/cmdq.h"
#include "unit.h"

struct world {
	bool remote; /* a softrnicd's device */
	bool vfio;   /* one of fake_vfio.h's; else the embedded one */
	struct daemon daemon;
	char devargs[128];
	struct rnic_devargs args;
	struct rnic_access *access;
};
extern struct world world;

/* Each test's: the access is open, and closed again with nothing left behind. */
int world_setup(void **state);
int world_teardown(void **state);
int world_open(struct rnic_access **access);
/* It is closed, and opened again, with whatever is different by now. */
void world_close(void);
void world_reopen(void);
/* It is closed, and a driver has the device instead. */
struct rnic_dev *world_open_driver(void);
/* Memory of the test's for the device; what must succeed. */
uint64_t world_map(void *memory, size_t bytes, unsigned int rights);
void world_unmap(uint64_t iova, size_t bytes);
void world_kill_server(void);
/* Another one takes the place of the one that was killed. */
void world_restart_server(void);

/* What the driver says from now on; then, that it said this, and of which device. */
FILE *world_listen(void);
void world_expect_said(FILE *log, const char *text);

/* Zeroed pages of EAL. */
void *world_alloc(size_t bytes);

/* ---- A command queue of one slot, in pages of its own. ---- */

struct sender {
	struct rnic_cmdq_entry *slot;
	uint64_t iova;
};
void sender_open(struct sender *sender);
void sender_close(struct sender *sender);
/* The address registers; again after a reset. */
void sender_announce(struct sender *sender);
/* A block of a mailbox, ready for the next command. */
void sender_block(void *block);
/*
 * QUERY_ISSI, whose output does not fit into the slot, with that mailbox, and an input mailbox if `in` is not 0.
 * Returns how it was delivered, or -ETIMEDOUT.
 */
int sender_ask(struct sender *sender, uint64_t in, uint64_t out);
/* ENABLE_HCA: returns the command's status. */
int sender_enable(struct sender *sender);

#endif
