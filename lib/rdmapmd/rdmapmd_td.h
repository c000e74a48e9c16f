/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Thread domains: queue pairs that one thread posts to. They ring the device through a doorbell register of the domain's
 * own, without a lock.
 *
 * A device has 16 registers for everybody's queue pairs: four are owned by who comes first, the others are shared, and each
 * burst takes a register's lock for a moment. A thread that will not wait for others puts its queue pairs into a domain
 * (struct rdmapmd_qp_init_attr: td). Verbs have it as ibv_alloc_td(), with a parent domain.
 */
#ifndef RDMAPMD_TD_H
#define RDMAPMD_TD_H

#include <stdbool.h>

#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmapmd_context;

/** A thread domain. The public head: read it, do not write it. */
struct rdmapmd_td {
	struct rdmapmd_context *context; /**< that it was made in */
	/** It has a register of its own; else it shares one, under a lock, as queue pairs without a domain do. */
	bool dedicated;
};

/**
 * Make a thread domain. Where the device has no register left it shares one: all works as it does with a register of its
 * own, but for the lock.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context An open device.
 * @param td      Out: the thread domain.
 * @return 0; -ENOTSUP the driver has none; -ENOMEM.
 */
__rte_experimental int rdmapmd_td_alloc(struct rdmapmd_context *context, struct rdmapmd_td **td);

/**
 * Free a thread domain, and its register if it has one.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param td The domain; gone afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY queue pairs are in it.
 */
__rte_experimental int rdmapmd_td_dealloc(struct rdmapmd_td *td);

#ifdef __cplusplus
}
#endif

#endif
