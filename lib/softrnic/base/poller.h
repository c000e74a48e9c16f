/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The poller: a list of devices under one lock. And groups of pollers, each polled by a thread of its own.
 *
 * A polling thread takes the lock once per round, thousands of times while a sleeping waiter wakes up; with a plain mutex it would
 * win every race. So a call through softrnic.h announces itself in `waiting` first, and the polling thread stays away from the lock
 * while a call is announced.
 */
#ifndef SOFTRNIC_POLLER_H
#define SOFTRNIC_POLLER_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "softrnic/base/work.h"

/* Give way for that many yields, then poll once: a flood of calls must not stop the devices. */
#define SOFTRNIC_GIVE_WAY_MAX 1000

/*
 * Pollers beside each other: the names of devices and of wires are unique among all of them. The lock is taken inside a poller's,
 * and nothing is taken inside it.
 */
struct softrnic_group {
	pthread_mutex_t lock;
	struct softrnic_poller *pollers[SOFTRNIC_POLLERS]; /* by their index; NULL: free */
	TAILQ_HEAD(, softrnic) devices;
	LIST_HEAD(, softrnic_segment) segments; /* of wires of several pollers: wire/trunk.h */
};

struct softrnic_poller {
	pthread_mutex_t lock;
	atomic_uint waiting; /* calls that want the lock */
	TAILQ_HEAD(, softrnic) devices;
	/* of the group's segments those of this poller */
	TAILQ_HEAD(softrnic_segments, softrnic_segment) segments;
	atomic_bool has_trunks; /* they have, or had: set by others, too */
	struct softrnic_budget budget;
	struct softrnic_group *group;
	unsigned int index; /* in it */
	bool used;	    /* it has, or had, devices */
	/* set before the first device joins, cleared after the last has left */
	void (*wake)(void *arg);
	void *wake_arg;
};

/* A round begins: the lock, for the thread that polls. */
static inline void
softrnic_poller_enter(struct softrnic_poller *poller)
{
	for (int i = 0; i < SOFTRNIC_GIVE_WAY_MAX &&
			atomic_load_explicit(&poller->waiting, memory_order_relaxed) > 0;
	     i++)
		sched_yield();
	pthread_mutex_lock(&poller->lock);
}

/* ... and ends. */
static inline void
softrnic_poller_leave(struct softrnic_poller *poller)
{
	pthread_mutex_unlock(&poller->lock);
}

void softrnic_lock(struct softrnic_poller *poller);
void softrnic_unlock(struct softrnic_poller *poller);
/* Both with the lock held. -EEXIST: there is a device of that name. */
int softrnic_poller_add(struct softrnic_poller *poller, struct softrnic *dev);
void softrnic_poller_remove(struct softrnic_poller *poller, struct softrnic *dev);
/* The devices of a poller, with the lock held: the first one, and the one after dev; NULL: there is no further one. */
struct softrnic *softrnic_poller_first(struct softrnic_poller *poller);
struct softrnic *softrnic_poller_next(struct softrnic *dev);
/*
 * What decides where packets of queue pairs go has changed: addresses of the device, its RoCE, its wire. All that was decided
 * before is decided again, by all devices of the poller.
 */
void softrnic_roce_changed(struct softrnic *dev);
/* From another poller's thread, too: there is work for this one's. */
void softrnic_poller_wake(struct softrnic_poller *poller);

/* The budget of the round under way (work.h), for dev->budget. */
struct softrnic_budget *softrnic_poller_budget(struct softrnic_poller *poller);

#endif
