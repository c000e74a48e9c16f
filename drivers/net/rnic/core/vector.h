/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who has which MSI-X vector. Receive queues come before completion vectors of the library's, and keep as many as there can be
 * of them, whether they are in use or not: what a vector is for does not depend on who comes first.
 *
 *	0            asynchronous events
 *	1            completion vector 0 of the library's, and events of its queue pairs
 *	2 ..         Rx interrupts, one for each receive queue
 *	18 ..        completion vectors 1 and up, where the device has so many
 */
#ifndef RNIC_CORE_VECTOR_H
#define RNIC_CORE_VECTOR_H

#include <rte_common.h>

#include "core/dev.h"

#define RNIC_VECTOR_ASYNC   0u
#define RNIC_VECTOR_RDMA    1u
#define RNIC_VECTOR_RX	    2u
#define RNIC_RX_VECTORS_MAX 16u

/* How many receive queues can have one. */
static inline unsigned int
rnic_rx_vectors(const struct rnic_dev *dev)
{
	const unsigned int left =
		dev->access->irq_count - RTE_MIN(dev->access->irq_count, RNIC_VECTOR_RX);

	return RTE_MIN(left, dev->tunables.rx_vectors != 0 ? dev->tunables.rx_vectors
							   : RNIC_RX_VECTORS_MAX);
}

#endif
