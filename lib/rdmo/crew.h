/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The lanes of a worker, one for each lcore. Connections are spread over them; regions are known to all of them.
 *
 * Threads: one, which is none of the lcores; it waits for them.
 */
#ifndef RDMO_CREW_H
#define RDMO_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lane.h"

#define RDMO_LCORES_MAX 64

struct rdmo_crew {
	struct rdmo_lane *lanes;
	uint32_t count;
	atomic_bool is_alone; /* nobody polls them: who asks does it himself */
	atomic_bool is_told;  /* `ended_fd` was written to, as targets are to be notified */
	/* Held while a connection gets its place or leaves it, so that others can look at those that have a queue pair. */
	pthread_mutex_t places;
};

/* `attr`: of each lane. `ended_fd`: an eventfd. */
int rdmo_crew_open(struct rdmo_crew *crew, struct rdmapmd_pd *pd, const struct rdmo_lane_attr *attr,
		   uint32_t count, int ended_fd);
/* No connections and no regions are left. */
void rdmo_crew_close(struct rdmo_crew *crew);

/* A place for a connection, in this lane; NULL: in that which has the fewest. NULL: there is none. */
struct rdmo_peer *rdmo_crew_place(struct rdmo_crew *crew, struct rdmo_lane *lane);

/* The lane for a remote target: that which has the fewest. */
struct rdmo_lane *rdmo_crew_lane(struct rdmo_crew *crew);

/* What `count` lanes from `first` on have counted, all together. Threads: any. */
void rdmo_crew_stats(const struct rdmo_crew *crew, uint32_t first, uint32_t count,
		     struct rdmo_lane_stats *sum);

/* Ask one lane for a change, and wait for it. */
int rdmo_crew_ask_lane(struct rdmo_crew *crew, struct rdmo_lane *lane, enum rdmo_task_kind kind,
		       void *object);

/* Ask all of them, all at once, and wait until each has done it. Returns 0, or what one of them could not. */
int rdmo_crew_ask(struct rdmo_crew *crew, enum rdmo_task_kind kind, void *object, uint64_t number);

#endif
