/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Mailbox blocks of commands, in chains. Inputs and outputs come from pools of their own, as the device may write to
 * outputs alone: no page has both.
 *
 * Threads: the caller's lock, but for what is done to a chain that the caller has.
 */
#ifndef RNIC_MAILBOX_H
#define RNIC_MAILBOX_H

#include <stdint.h>

#include "prm/cmdq.h"

struct rnic_dev;
struct rnic_mailbox_chunk;

/** A block and where the device finds it. */
struct rnic_mailbox {
	struct rnic_mailbox *next;
	struct rnic_cmdq_block *block;
	uint64_t iova;
};

struct rnic_mailbox_pool {
	const char *what;
	unsigned int rights; /* RNIC_ACCESS_* of the device */
	struct rnic_mailbox *free;
	struct rnic_mailbox_chunk *chunks;
};

/** Give the memory back; the device no longer has the chain. */
void rnic_mailbox_pool_free(struct rnic_dev *dev, struct rnic_mailbox_pool *pool);

/** A chain of so many zeroed blocks, numbered and with the token; NULL for none. @return 0 or -errno. */
int rnic_mailbox_get(struct rnic_dev *dev, struct rnic_mailbox_pool *pool, uint32_t count,
		     uint8_t token, struct rnic_mailbox **chain);
void rnic_mailbox_put(struct rnic_mailbox_pool *pool, struct rnic_mailbox *chain);

/** The chain has room for so many bytes. */
void rnic_mailbox_copy_in(struct rnic_mailbox *chain, const uint8_t *from, uint32_t bytes);
void rnic_mailbox_copy_out(const struct rnic_mailbox *chain, uint8_t *to, uint32_t bytes);

#endif
