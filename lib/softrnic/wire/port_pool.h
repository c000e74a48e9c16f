/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Pools of mbufs of port wires. Each has one user at a time. EAL's locks are taken: never under the poller's lock.
 */
#ifndef SOFTRNIC_PORT_POOL_H
#define SOFTRNIC_PORT_POOL_H

#include <rte_mempool.h>

/*
 * A pool of mbufs for frames of that many bytes, for that ethdev: one that its user left behind, or a new one. owner: of
 * ethdevs; names the new one. NULL: no memory.
 */
struct rte_mempool *softrnic_port_pool_get(uint64_t owner, uint16_t ethdev, uint32_t frame_bytes,
					   uint32_t count, int socket);

/*
 * The ethdev's receive queue was set up with the pool. The next one who starts the ethdev may do so without another setup:
 * until it goes, or is set up with another one of our pools, this one stays.
 */
void softrnic_port_pool_configured(struct rte_mempool *mempool, uint16_t ethdev);

/* Its user is done with it. False: an ethdev has it, or mbufs are still out; it stays until that is over. */
bool softrnic_port_pool_put(struct rte_mempool *mempool);

#endif
