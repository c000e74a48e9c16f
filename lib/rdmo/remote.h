/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Targets in other processes: operations on their memory go over a queue pair to the target's device, of which its application knows
 * nothing.
 *
 * A remote target is one lane's, where all its initiators are at home, and has one round at a time. The lane executes, as for a target
 * here, but what is to be written is noted only. Then it goes, and the lane serves others until it is done:
 *
 *     IDLE -- round: checks, reservations --> WRITE, WRITE, ... | compare-and-swap of each tail | READ of a tail --> answers, IDLE
 *              \_ straight from the messages' receives, which are not given back before _/
 *
 * A queue pair executes in order, so whoever sees a tail sees what is before it. If one request fails, the whole round fails: the queue
 * pair is broken, and the target is lost (`RDMO_STATUS_TARGET_LOST`).
 *
 * Threads: its lane's lcore, but for opening and closing it, and rdmo_remote_has_broken().
 */
#ifndef RDMO_REMOTE_H
#define RDMO_REMOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer.h"
#include "rdmo_wire.h"

struct rdmo_remote {
	struct rdmo_lane *lane; /* whose it is */
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq;
	rte_le64_t *
		found; /* by each compare-and-swap, by the READ or atomic behind them: RDMO_ROUND + 1 */
	struct rdmapmd_mr *mr;
	TAILQ_ENTRY(rdmo_remote) next; /* of the lane's */
	struct rdmo_peers active;      /* connections that wait for their turn */
	bool is_under_way;	       /* something was posted that has not completed */
	bool is_broken;
	atomic_bool has_broken; /* for who made it */
	/* The round that there is, and how much of it was posted. */
	struct rdmo_round round;
	struct rdmo_writes writes;
	struct rdmo_tail_move moves[RDMO_ROUND];
	struct rdmo_peers ran; /* whose operations are in it */
	uint32_t written, moved;
	bool has_looked; /* or the round's atomic is on its way */
};

/*
 * Make one: its queue pair, connected. Threads: that which makes them; blocks for commands of the device.
 *
 * @param theirs  of the target's queue pair
 * @param own     set: of the one here
 * @param remote  set
 * @return 0; -EINVAL: theirs is none; -errno
 */
int rdmo_remote_open(struct rdmo_lane *lane, struct rdmapmd_pd *pd, uint32_t gid_index,
		     const struct rdmo_addr *theirs, struct rdmo_addr *own,
		     struct rdmo_remote **remote);

/* Nothing more goes there, and what is under way ends soon: it is broken. Threads: as rdmo_remote_open(). */
void rdmo_remote_cut(struct rdmo_remote *remote);

/* It is no lane's any more. Threads: as rdmo_remote_open(). */
void rdmo_remote_close(struct rdmo_remote *remote);

/* Has it broken by itself? Threads: that which made it. */
static inline bool
rdmo_remote_has_broken(const struct rdmo_remote *remote)
{
	/* Partner: the lane that saw it. */
	return atomic_load_explicit(&remote->has_broken, memory_order_acquire);
}

/* Is a round of it under way, at this lane? */
static inline bool
rdmo_remote_is_busy(const struct rdmo_remote *remote, const struct rdmo_lane *lane)
{
	return remote->lane == lane && remote->is_under_way;
}

/* The lane serves it; or does not any more: its connections are executed as others are, if they are. It is not busy. */
void rdmo_remote_add(struct rdmo_lane *lane, struct rdmo_remote *remote);
void rdmo_remote_drop(struct rdmo_lane *lane, struct rdmo_remote *remote);

/* Begin rounds of the lane's remote targets that have something to do. Returns how many operations. */
uint32_t rdmo_remotes_run(struct rdmo_lane *lane);

/* See what has completed, and go on with it: answers of rounds that are over are written (rdmo_peer_ran()). */
void rdmo_remotes_collect(struct rdmo_lane *lane);

#endif
