/* SPDX-License-Identifier: BSD-3-Clause */

/* What the control thread serves for floors above: event queues that they made, each by what it is to do for them. */
#ifndef RNIC_CONTROL_H
#define RNIC_CONTROL_H

#include <stdbool.h>

struct rnic_dev;

/* Asked and called in this order; one source each. */
enum rnic_control_slot {
	RNIC_CONTROL_RDMA,
	RNIC_CONTROL_RX_INTR,
	RNIC_CONTROL_SLOTS,
};

/* All is called by the control thread without a lock held, but for `suspect`. NULL: there is nothing to do. */
struct rnic_control_source {
	/* Readable when entries wait. NULL or -1: they come with those of the asynchronous queue. Asked once, at its start. */
	int (*irq_fd)(struct rnic_dev *dev);
	/* At its start: want to be told of the first entry. */
	void (*arm)(struct rnic_dev *dev);
	/* Hand on what came, and want to be told of more. */
	void (*poll)(struct rnic_dev *dev);
	/* Something has happened of which an event should tell. Any thread. */
	void (*suspect)(struct rnic_dev *dev);
	/* Does a queue owe an event that can be seen elsewhere? It is under suspicion then. */
	void (*check)(struct rnic_dev *dev);
	/* The device is asked for all queues, or those that have been silent for too long. May events have got lost? */
	bool (*mend)(struct rnic_dev *dev, bool all);
	/* Events may have got lost: what they would have told is asked for. */
	void (*ask)(struct rnic_dev *dev);
	/* Are there queues whose events do not come any more? Then `look` is called every RNIC_DEAF_LOOK_MS. */
	bool (*is_deaf)(struct rnic_dev *dev);
	void (*look)(struct rnic_dev *dev);
};

/*
 * Before the control thread starts, or, of a source without `irq_fd`, `arm` and `poll`, at any time. It stays until the
 * thread has ended: only then it may be removed, and its descriptor be closed.
 */
void rnic_control_add(struct rnic_dev *dev, enum rnic_control_slot slot,
		      const struct rnic_control_source *source);
void rnic_control_remove(struct rnic_dev *dev, enum rnic_control_slot slot);

#endif
