/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps behind the log type pmd.net.rnic.dump at level debug, each in one piece: of commands here, of queue entries in
 * entry_dump.h.
 */
#ifndef RNIC_DUMP_H
#define RNIC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_cmdq_entry;
struct rnic_dev;

/* Does the log level ask for dumps? */
bool rnic_dump_wanted(void);
/* A command slot with its blocks, in mlx5_core's layout. */
void rnic_dump_command(struct rnic_dev *dev, const struct rnic_cmdq_entry *entry,
		       const void *const *blocks, uint32_t block_count, bool output);
/* Text of a dump, into the log. */
void rnic_dump_put(const char *text);

#endif
