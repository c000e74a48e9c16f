/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What one lcore serves: a CQ, an SRQ and the memory behind it, the connections whose queue pairs use them, and the regions that
 * their operations name. Nobody else touches any of it while it is polled, but for connections that it hands over to another lane
 * (peer.h). Whoever makes and ends connections asks for one change at a time, a task, and is woken when connections have ended by
 * themselves (rdmo_peer_has_ended()).
 *
 *     CQ ---> inbox of its connection ---> round: execute, settle ---> answers ---> SEND
 *              (a receive of the SRQ)                                   (buffers of the connection's own)
 */
#ifndef RDMO_LANE_H
#define RDMO_LANE_H

#include "peer.h"

struct rdmapmd_pd;

enum rdmo_task_kind {
	RDMO_TASK_PUT_REGION,  /* object: a region */
	RDMO_TASK_TAKE_REGION, /* likewise */
	RDMO_TASK_HOLD_TAIL, /* object: a region whose tail is the lane's: it is not to be touched */
	RDMO_TASK_FREE_TAIL,   /* likewise: go on, from what it holds */
	RDMO_TASK_ADD_PEER,    /* object: one that is filled in */
	RDMO_TASK_DROP_PEER,   /* likewise; its queue pair is not used any more */
	RDMO_TASK_SWEEP,       /* what is in the CQ has been seen */
	RDMO_TASK_LOSE_CLIENT, /* number: whose operations end with TARGET_LOST */
	RDMO_TASK_ADD_REMOTE,  /* object: a remote target of this lane */
	RDMO_TASK_DROP_REMOTE, /* likewise; its connections are the lane's */
	RDMO_TASK_BEGIN_IO,    /* object: struct rdmo_remote_io, beside rounds */
	RDMO_TASK_END_IO,      /* likewise: it is over, and `rc` is how it went */
};

struct rdmo_task {
	enum rdmo_task_kind kind;
	void *object;
	uint64_t number;
	int rc;
	atomic_bool is_done;
};

/* What a lane is among those of its worker. */
struct rdmo_lane_place {
	struct rdmo_lane *lanes; /* all of them */
	uint32_t index, count;
	int ended_fd; /* an eventfd */
	atomic_bool *
		is_told; /* whether that was written to for what targets are to be told of, and is not looked at yet */
};

int rdmo_lane_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd, const struct rdmo_lane_attr *attr,
		   const struct rdmo_lane_place *place);
/* No peers and no regions are left. */
void rdmo_lane_close(struct rdmo_lane *lane);

/* Threads: the lcore. Returns how many operations were executed. */
uint32_t rdmo_lane_poll(struct rdmo_lane *lane);

/*
 * Ask for a change; it is done when rdmo_task_is_done(), and `task->rc` says how. A connection is dropped when it is at home; a region
 * changes when no round that is under way has to do with it. Threads: one, not the lcore.
 */
void rdmo_lane_ask(struct rdmo_lane *lane, struct rdmo_task *task);

static inline bool
rdmo_task_is_done(const struct rdmo_task *task)
{
	return atomic_load_explicit(&task->is_done, memory_order_acquire);
}

/* Do what is asked, and execute nothing, if no lcore polls it any more. */
void rdmo_lane_idle(struct rdmo_lane *lane);

#endif
