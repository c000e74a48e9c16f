/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Thread domains: queue pairs to which one thread posts. They use a doorbell register of the domain's own, without a lock.
 *
 * A device has doorbell registers for the port's Tx queues and queue pairs without a domain: 16, or what bfregs= asks for. The first queue
 * pairs own one each: four, or what low_latency= asks for. The others share the rest, and each burst takes the register's lock for a
 * moment. A thread that must not wait for others puts its queue pairs into a domain (struct rdmapmd_qp_init_attr: td). Verbs call it
 * ibv_alloc_td(), with a parent domain.
 *
 * Source: ibv_alloc_td(3), ibv_alloc_parent_domain(3); the specification has no thread domains. PRM: "UAR Page Format".
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
	struct rdmapmd_context *context; /**< it was created in */
	/** Whether it has a register of its own; else it shares one, under a lock, as queue pairs without a domain do. */
	bool dedicated;
};

/**
 * Create a thread domain. If the device has no register left, the domain shares one: everything works the same, except that
 * bursts take the lock.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param context An open device.
 * @param td      Out: the thread domain.
 * @return 0; -ENOTSUP the driver does not support them; -ENOMEM.
 */
__rte_experimental int rdmapmd_td_alloc(struct rdmapmd_context *context, struct rdmapmd_td **td);

/**
 * Free a thread domain, and its register if it has one.
 *
 * Threads: any. Blocks: for commands.
 *
 * @param td The domain; invalid afterwards, unless -EBUSY is returned.
 * @return 0; -EBUSY queue pairs are in it.
 */
__rte_experimental int rdmapmd_td_dealloc(struct rdmapmd_td *td);

#ifdef __cplusplus
}
#endif

#endif
