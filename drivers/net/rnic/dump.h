/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps behind the log type pmd.net.rnic.dump at level debug, each in one piece: of commands, and of queue entries by
 * the burst instances that are chosen at start when somebody wants them.
 */
#ifndef RNIC_DUMP_H
#define RNIC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_cmdq_entry;
struct rnic_cq;
struct rnic_cqe;
struct rnic_dev;
struct rnic_sq;

/* Does the log level ask for dumps? */
bool rnic_dump_wanted(void);
/* A command slot with its blocks, in mlx5_core's layout. */
void rnic_dump_command(struct rnic_dev *dev, const struct rnic_cmdq_entry *entry,
		       const void *const *blocks, uint32_t block_count, bool output);
/* The WQE that starts at this WQEBB. ethernet: its SENDs have an Ethernet segment. */
void rnic_dump_sq_wqe(const struct rnic_sq *sq, uint16_t index, bool ethernet);
void rnic_dump_cq_entry(const struct rnic_cq *cq, const struct rnic_cqe *cqe);

#endif
