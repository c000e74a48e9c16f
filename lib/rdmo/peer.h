/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connections as an lcore has them: messages that come, in the order of their credits; operations, as far as their answers have
 * room; answers that go.
 *
 * Credits: each connection may have as many messages under way as it was promised, and all promises together are less than the SRQ's receives:
 * there is always one for who keeps to that. A connection that does not take its answers has no more buffers or credits for them,
 * is not executed further, and stops for want of credits: by itself.
 *
 * A connection is in one place at a time. Its home is the lane whose CQ and SRQ its queue pair uses: messages come there, answers go
 * from there. When the next operation is for a queue of another lane, the connection is handed over with its messages and an empty
 * answer. That lane executes what it can and hands it back, and its home answers, and goes on.
 *
 *     home:  inbox --> round --> answers          lane of the queue
 *                 `---- mail: the connection ---->  round
 *                  <--- mail: the same, answers written ---'
 *
 * The connections of a remote target have a round of their own, which goes on while others are executed: remote.h. So has one whose
 * payload is to be fetched: pull.h. They are away so long.
 *
 * Threads: the lcore alone. Of a connection that is away, the other lane's has what is said to travel, and home the rest.
 */
#ifndef RDMO_PEER_H
#define RDMO_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "map.h"
#include "message.h"
#include "round.h"

struct rdmapmd_cq;
struct rdmapmd_mr;
struct rdmapmd_pd;
struct rdmapmd_qp;
struct rdmapmd_srq;
struct rdmapmd_td;
struct rte_ring;
struct rdmo_fetching;
struct rdmo_lane;
struct rdmo_pull_round;
struct rdmo_remote;
struct rdmo_task;

#define RDMO_LANE_NONE	UINT32_MAX
#define RDMO_ANSWERS	4  /* buffers for them, of a connection */
#define RDMO_WRONG_KEYS 16 /* of a connection, that closes it */

enum rdmo_peer_state {
	RDMO_PEER_FREE,
	RDMO_PEER_OPEN,
	RDMO_PEER_CLOSING, /* its last message is under way */
	RDMO_PEER_ENDED,   /* who asked for it has been told */
};

TAILQ_HEAD(rdmo_peers, rdmo_peer);

/* Receives of a lane's inbox, each with the next one; none: `first` is RDMO_LANE_NONE, and `last` is any. */
struct rdmo_chain {
	uint32_t first, last;
};

/* A connection, as its lane has it. */
struct rdmo_peer {
	/* What it is. */
	struct rdmo_lane *home;
	struct rdmapmd_qp *qp;
	uint64_t session;
	uint32_t slot;	       /* of its home */
	uint32_t answer_bytes; /* the longest */
	/* What travels. */
	struct rdmo_flow flow;
	TAILQ_ENTRY(rdmo_peer) next; /* of those that have something to do */
	struct rdmo_chain waiting;   /* messages that are not executed yet */
	struct rdmo_chain executed;
	bool is_read; /* the next operation is `request` already */
	bool is_next; /* its turn is before others': in the last round nothing of it could be executed */
	struct rdmo_request request;
	uint32_t
		elsewhere; /* the lane that `request` is for; RDMO_HERE, _LATER, _WAITS, _BUSY, _PULLED */
	uint64_t
		waits_until; /* cycles of the timer: as long as `request` waits for room; 0: it does not */
	struct rdmo_writer writer;
	struct rdmo_fetching *fetching; /* READs that are its; NULL: none */
	uint64_t fetch_left;		/* cycles of the timer that they may still take */
	struct rdmo_lane
		*puller; /* the lane whose round they are for; NULL: none, or a remote target's */
	/* What stays at home. */
	TAILQ_ENTRY(rdmo_peer) next_fetching;
	uint64_t fetch_until; /* by the timer: their end, or the connection's */
	enum rdmo_peer_state state;
	enum rdmo_reason reason; /* CLOSING: why */
	atomic_bool has_ended;	 /* for who made it: state is RDMO_PEER_ENDED */
	bool is_broken;		 /* by who made it: its queue pair, which is not destroyed yet */
	struct rdmo_peers *
		turn; /* where it waits for its turn, at home: its lane's, or its remote target's */
	bool is_active; /* it does */
	bool is_away;
	struct rdmo_chain late; /* messages that came while it was */
	/*
	 * Requests: messages that came, that may come, that it knows it may send; counted modulo 2^32. What has come, and what is
	 * sent, others read meanwhile.
	 */
	uint32_t received, granted, told;
	uint64_t next_seq;
	/* Answers: messages sent, and that may be. */
	uint32_t sent, may_send;
	uint32_t free_answers; /* buffers, by bit */
	uint32_t untold;       /* of those under way: whose end the next one's tells */
	uint32_t answer;       /* the buffer that is written to */
};
/* A message that waits in its receive. */
struct rdmo_inbox {
	struct rdmo_reader reader;
	uint32_t next;
};

struct rdmo_lane_attr {
	uint32_t receives, credits, receive_bytes, max_regions;
	uint64_t wait_cycles; /* of the timer, that an append waits for room in a log */
};

/* The lcore counts, by rdmo_count(); others read meanwhile. */
struct rdmo_lane_stats {
	uint64_t messages, operations, refused, answers, closed, connections;
	uint64_t handed_over; /* connections, to other lanes; each time */
};

static inline void
rdmo_count(uint64_t *counter, int64_t more)
{
	__atomic_store_n(counter, *counter + (uint64_t)more, __ATOMIC_RELAXED);
}

/* What the connections of an lcore share. */
struct rdmo_lane {
	_Alignas(RTE_CACHE_LINE_SIZE) struct rdmo_lane_attr attr;
	struct rdmapmd_cq *cq;
	struct rdmapmd_srq *srq;
	struct rdmapmd_td *td;
	struct rdmapmd_mr *mr;
	uint8_t *memory;   /* receives, then answers of each peer */
	uint32_t receives; /* those that are promised, and some to spare */
	struct rdmo_inbox *inbox;
	uint32_t *back; /* receives to be posted again */
	uint32_t back_count;
	struct rdmo_peer *peers;
	uint32_t peer_count;
	struct rdmo_map by_qpn, regions;
	struct rdmo_peers active; /* its own, and others that have been handed over */
	struct rdmo_round round;
	struct rdmo_peers ran; /* whose answers are written, and go when receives are posted */
	TAILQ_HEAD(, rdmo_remote) remotes; /* targets in other processes, that it serves */
	struct rdmo_lane *lanes;	   /* of the worker, itself among them */
	struct rte_ring *mail; /* connections that others hand over; NULL: it is the only lane */
	struct rdmo_pull_round *pulls;	   /* rounds with READs under way: pull.h */
	struct rdmo_peers pulling;	   /* connections that wait for one of them */
	struct rdmo_peers travelling;	   /* that have come for one of them, or come back */
	struct rdmo_peers fetching;	   /* its own with READs under way, by next_fetching */
	uint64_t fetches_seen;		   /* when it was looked at them last, by the timer */
	_Atomic(struct rdmo_task *) asked; /* of this lane; NULL: nothing */
	/* Readable when peers have ended, remote targets have broken, targets are to be told of something; the caller's. */
	int ended_fd;
	atomic_bool *is_told;  /* struct rdmo_lane_place's */
	uint32_t remote_count; /* of who makes them: how many it is to have */
	struct rdmo_lane_stats stats;
};

/* A receive will be posted again. */
static inline void
rdmo_lane_give_back(struct rdmo_lane *lane, uint32_t receive)
{
	lane->back[lane->back_count++] = receive;
}

/* Wake the thread that made them: a connection or a remote target has ended. A system call, once for each end. */
void rdmo_lane_tell_ended(const struct rdmo_lane *lane);

/* Likewise: targets are to be told of what the round has done. A system call, but if that thread is awake for it already. */
void rdmo_lane_tell_notified(const struct rdmo_lane *lane, const struct rdmo_round *round);

/* It has been filled in, but for what this does: nothing has come, all answers are free. Threads: that which makes it. */
void rdmo_peer_begin(struct rdmo_peer *peer);

/* A message has come into a receive. */
void rdmo_peer_received(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t receive,
			uint32_t bytes);

/* Answers have gone: their buffers, by bit, are free. */
void rdmo_peer_sent(struct rdmo_lane *lane, struct rdmo_peer *peer, uint32_t answers);

/* The connection has broken: nothing is done for it any more, and who made it is told. */
void rdmo_peer_lost(struct rdmo_lane *lane, struct rdmo_peer *peer);

/* Has it? Threads: that which made it. */
static inline bool
rdmo_peer_has_ended(const struct rdmo_peer *peer)
{
	/* Partner: rdmo_peer_lost(). */
	return atomic_load_explicit(&peer->has_ended, memory_order_acquire);
}

/* What it has of the lane is given back. */
void rdmo_peer_drop(struct rdmo_lane *lane, struct rdmo_peer *peer);

/* Execute for those that have something to do, and write answers. Returns how many operations. */
uint32_t rdmo_peers_run(struct rdmo_lane *lane);

/*
 * Send the answers that are written. What they promise are receives that have been posted before.
 */
void rdmo_peers_answer(struct rdmo_lane *lane);

/* Take the mail: those that come back, those that are handed over. */
void rdmo_peers_arrive(struct rdmo_lane *lane);

/* Nothing will be executed any more: take the mail, and hand back what is not at home here. */
void rdmo_peers_dismiss(struct rdmo_lane *lane);

/* ---- What a round is made of: for rdmo_peers_run(), and for that of a remote target ---- */

/* The next one of those that wait for their turn there, with a message for its answers; NULL: there is none. */
struct rdmo_peer *rdmo_peer_pick(struct rdmo_lane *lane, struct rdmo_peers *turn);

/* Execute its operations: as many as the round and an answer have room for. */
void rdmo_peer_execute(struct rdmo_peer *peer, struct rdmo_round *round,
		       const struct rdmo_map *regions);

/* Write the answers to a round that is final, one after the other, as they were executed. */
void rdmo_results_answer(struct rdmo_lane *lane, const struct rdmo_round *round);

/*
 * The end of a round whose results are final once it is settled: who sleeps is woken, who wants to know is told, answers are written.
 */
void rdmo_lane_round_end(struct rdmo_lane *lane, struct rdmo_round *round);

/* Its answers are written: its messages' receives are free, and it is among those that rdmo_peers_answer() is for. */
void rdmo_peer_ran(struct rdmo_lane *lane, struct rdmo_peer *peer);

/* ---- Numbers of send requests: a connection, and the buffers that are free then, or none ---- */

#define RDMO_SEND  (UINT64_C(1) << 63)
#define RDMO_FETCH (UINT64_C(1) << 62)

static inline uint64_t
rdmo_send_number(uint32_t slot, uint32_t answers)
{
	return RDMO_SEND | (uint64_t)slot << 8 | answers;
}

static inline uint64_t
rdmo_fetch_number(uint32_t slot)
{
	return RDMO_FETCH | slot;
}

#endif
