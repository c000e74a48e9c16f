/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pools of mbufs of port wires. Each has one user at a time. EAL's locks are taken: never under the poller's lock.
 */
#ifndef SOFTRNIC_PORT_POOL_H
#define SOFTRNIC_PORT_POOL_H

#include <rte_mempool.h>

/*
 * A pool of mbufs for frames of that many bytes: one that its user left behind, or a new one. owner: of ethdevs; names
 * the new one. NULL: no memory.
 */
struct rte_mempool *softrnic_port_pool_get(uint64_t owner, uint32_t frame_bytes, uint32_t count,
					   int socket);

/* Its user is done with it. False: mbufs are still out, and it stays until a call finds them all home. */
bool softrnic_port_pool_put(struct rte_mempool *mempool);

#endif
