/* SPDX-License-Identifier: BSD-3-Clause */

/* What each queue of WQEs or CQEs is made of: the memory of its entries, and a doorbell record. */
#ifndef RNIC_OBJECT_RING_H
#define RNIC_OBJECT_RING_H

#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"

struct rnic_dev;

/* Cold: bursts have pointers of their own to the entries and to the record. */
struct rnic_ring {
	struct rnic_mem mem;
	uint64_t dbrec_iova;
};
/*
 * Both, zeroed; no entries (0 bytes) are a record alone. `what` is the queue's name in messages, `rights` those of the device
 * to its entries, *dbrec the record. On failure there is neither.
 */
int rnic_ring_alloc(struct rnic_dev *dev, const char *what, size_t bytes, unsigned int rights,
		    struct rnic_ring *ring, void **dbrec);
/* Of a ring that was never allocated there is nothing to free. */
void rnic_ring_free(struct rnic_dev *dev, struct rnic_ring *ring, void *dbrec);

#endif
