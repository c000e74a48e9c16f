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
 * A payload that is still the initiator's comes by way of a buffer, a piece at a time: READ by the initiator's queue pair, WRITE by the
 * target's, until all of it is there.
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

#include "fetch.h"
#include "peer.h"
#include "rdmo_wire.h"

/* Memory of a remote target that is read or written as it is, between two rounds. */
struct rdmo_remote_io {
	struct rdmo_remote *remote;
	bool is_write;
	void *at; /* in this process, and its device's key for it */
	uint32_t lkey;
	uint64_t addr; /* in the target */
	uint32_t rkey, bytes;
	int rc; /* 0; -EIO: the target is lost */
};

struct rdmo_remote {
	struct rdmo_lane *lane; /* whose it is */
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq;
	rte_le64_t *
		found; /* by each compare-and-swap, by the READ or atomic behind them: RDMO_ROUND + 1 */
	struct rdmo_record *heads; /* of records, until they are written: struct rdmo_writes */
	uint8_t *
		buffer; /* RDMO_REMOTE_BUFFER bytes on their way: of a payload, of what a GATHER reads */
	struct rdmapmd_mr *mr;
	TAILQ_ENTRY(rdmo_remote) next; /* of the lane's */
	struct rdmo_peers active;      /* connections that wait for their turn */
	bool is_under_way;	       /* something was posted that has not completed */
	struct rdmo_remote_io *io;     /* which is that, and no round; NULL */
	bool is_broken;
	atomic_bool has_broken; /* for who made it */
	/* The round that there is, and how much of it was posted. */
	struct rdmo_round round;
	struct rdmo_writes writes;
	struct rdmo_fetches fetches;
	struct rdmo_tail_move moves[RDMO_ROUND];
	struct rdmo_peers ran; /* whose operations are in it */
	uint32_t written, moved;
	bool has_looked;   /* or the round's atomic is on its way */
	bool has_reserved; /* by that, at a tail that others move as well */
	/* Of a GATHER: how many of its pieces were asked for, so many bytes of them. */
	uint64_t gathered;
	uint32_t gathered_bytes;
	/* A payload that is fetched: which piece, so many bytes of it are written, what is in the buffer. */
	uint32_t piece, piece_done;
	struct rdmo_fetch part;
	struct rdmo_fetching fetching;
	bool is_fetching, has_fetched;
};

/* Bytes of a payload that are in its buffer at once. */
#define RDMO_REMOTE_BUFFER (UINT32_C(1) << 16)

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

/* It is not busy, and is until this is over. */
void rdmo_remote_io_begin(struct rdmo_remote_io *io);

/* Begin rounds of the lane's remote targets that have something to do. Returns how many operations. */
uint32_t rdmo_remotes_run(struct rdmo_lane *lane);

/* See what has completed, and go on with it: answers of rounds that are over are written (rdmo_peer_ran()). */
void rdmo_remotes_collect(struct rdmo_lane *lane);

#endif
