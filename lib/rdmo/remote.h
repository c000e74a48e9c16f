/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Targets in other processes: operations on their memory go over a queue pair to the target's device, of which its application knows
 * nothing.
 *
 * A remote target is one lane's, where all its initiators are at home. The lane executes, as for a target here, but what is to be written
 * is noted only. Then it goes, and the lane serves others until it is done. There are two rounds at a time, which are independent: what lies in
 * messages goes at once, and what is to be fetched may take as long as its initiator's device likes. No queue is in both.
 *
 *     direct:  WRITEs | compare-and-swaps -->  answers      (again and again)
 *     pulled:  READ of a part --> WRITE of it --> READ of a part --> ... --> WRITEs | compare-and-swap --> answer
 *
 * A queue pair executes in order, so a reader that sees a tail sees what is before it. If one request fails, the queue pair is broken, and the
 * target is lost, with all that there is of both rounds (`RDMO_STATUS_TARGET_LOST`).
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
#include "remote_round.h"

/* Memory of a remote target that is read or written as it is, beside its rounds: no operation of theirs names it. */
struct rdmo_remote_io {
	struct rdmo_remote *remote;
	bool is_write;
	void *at; /* in this process, and its device's key for it */
	uint32_t lkey;
	uint64_t addr; /* in the target */
	uint32_t rkey, bytes;
	int rc; /* 0; -EIO: the target is lost */
};

enum {
	RDMO_REMOTE_DIRECT, /* operations whose payload their message has */
	RDMO_REMOTE_PULLED, /* one whose payload is still its initiator's */
	RDMO_REMOTE_ROUNDS,
};

struct rdmo_remote {
	struct rdmo_lane *lane; /* whose it is */
	struct rdmapmd_qp *qp;
	struct rdmapmd_cq *cq;
	TAILQ_ENTRY(rdmo_remote) next; /* of the lane's */
	struct rdmo_peers active;      /* connections that wait for their turn */
	struct rdmo_peers pulling;     /* for the round that fetches */
	struct rdmo_remote_round rounds[RDMO_REMOTE_ROUNDS];
	struct rdmo_remote_io *io; /* which is under way; NULL */
	bool is_broken;
	atomic_bool has_broken; /* for who made it */
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

/*
 * Is a round of it under way, at this lane, that has to do with the region? NULL: with any. If that waits for an initiator, it does so no
 * longer than RDMO_HURRY_S from now on.
 */
bool rdmo_remote_is_busy(struct rdmo_remote *remote, const struct rdmo_lane *lane,
			 const struct rdmo_region *region);

/* The lane serves it; or does not any more: its connections are executed as others are, if they are. It is not busy. */
void rdmo_remote_add(struct rdmo_lane *lane, struct rdmo_remote *remote);
void rdmo_remote_drop(struct rdmo_lane *lane, struct rdmo_remote *remote);

/* One at a time. It is over when rdmo_remote_io_is_over(), and `io->rc` says how. */
void rdmo_remote_io_begin(struct rdmo_remote_io *io);

static inline bool
rdmo_remote_io_is_over(const struct rdmo_remote_io *io)
{
	return io->remote->io != io;
}

/* Begin rounds of the lane's remote targets that have something to do; none that fetches while a task waits. Returns how many operations. */
uint32_t rdmo_remotes_run(struct rdmo_lane *lane);

/* Nothing will be begun any more: send those home that wait for a payload to be fetched. */
void rdmo_remotes_dismiss(struct rdmo_lane *lane);

/* See what has completed, and go on with it: answers of rounds that are over are written (rdmo_peer_ran()). */
void rdmo_remotes_collect(struct rdmo_lane *lane);

#endif
