/* SPDX-License-Identifier: BSD-3-Clause */

/* What the control thread serves for floors above: event queues that they made, each by what it is to do for them. */
#ifndef RNIC_CORE_CONTROL_H
#define RNIC_CORE_CONTROL_H

#include <stdbool.h>

#include "core/dev.h"

struct rnic_eq;

/* All is called by the control thread without a lock held, but for `suspect`. NULL: there is nothing to do. */
struct rnic_control_source {
	/* Readable when entries wait. NULL or -1: they come with those of the asynchronous queue. Asked once, at its start. */
	int (*irq_fd)(struct rnic_dev *dev);
	/*
	 * That descriptor is readable, and stands for several: those that are readable are read, and what came to their queues is
	 * handed on. NULL: it is an eventfd of one queue; it is read here, and `poll` called.
	 */
	void (*hear)(struct rnic_dev *dev);
	/* At its start: want to be told of the first entry. */
	void (*arm)(struct rnic_dev *dev);
	/* Hand on what came to any queue, and want to be told of more. */
	void (*poll)(struct rnic_dev *dev);
	/* Something has happened of which an event should tell. Any thread. */
	void (*suspect)(struct rnic_dev *dev);
	/* Does a queue owe an event that can be seen elsewhere? It is under suspicion then. */
	void (*check)(struct rnic_dev *dev);
	/* The device is asked for all queues, or those that have been silent for too long. May events have got lost? */
	bool (*mend)(struct rnic_dev *dev, bool all);
	/* Events may have got lost: what they would have told is asked for. */
	void (*ask)(struct rnic_dev *dev);
	/* Are there queues whose events no longer come? Then `look` is called every RNIC_DEAF_LOOK_MS. */
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

int rnic_control_start(struct rnic_dev *dev);
void rnic_control_stop(struct rnic_dev *dev);
/* What events have asked for that takes commands: pages, a look at the port. After a walk of the event queue. */
void rnic_control_answer(struct rnic_dev *dev);
/*
 * All events that the device has raised so far are handled when it returns: none of an object that was taken down or reset
 * can meet its successor. Not with a lock held that the handlers of events take.
 */
void rnic_control_sync(struct rnic_dev *dev);
/*
 * From who waits for a command, and is the one that hears of requests for pages: the control thread, and before it has
 * started, the one that brings the device up. They are given; in other threads there is nothing to do.
 */
void rnic_control_serve_pages(struct rnic_dev *dev);
/*
 * Something has happened of which an event should tell: of the device's own, or of a queue pair. If such a queue tells of nothing
 * for so long, the device is asked whether it can.
 */
void rnic_control_suspect(struct rnic_dev *dev);
/* The thread looks what its sources want, whatever it waits for. Threads: any. */
void rnic_control_wake(struct rnic_dev *dev);
/* It is asked now, for all queues. */
void rnic_control_look(struct rnic_dev *dev);
/* From the control thread: replace the queue if it takes no more events. Was it? The device is lost if that fails. */
bool rnic_control_mend_eq(struct rnic_dev *dev, struct rnic_eq *eq);
/* Watch the device's health, or stop watching. */
void rnic_control_watch(struct rnic_dev *dev, bool on);

#endif
