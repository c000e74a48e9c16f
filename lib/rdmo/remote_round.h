/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A round of a remote target: what it posts to the target's queue pair, a part at a time, and what has come of that.
 *
 *     begin -- checks, reservations --> WRITE, WRITE, ... | compare-and-swap of each tail | READ of a tail --> end: results
 *               \_ straight from the messages' receives, which are not given back before _/
 *
 * A payload that is still the initiator's comes by way of a buffer, a piece at a time: READ by the initiator's queue pair, WRITE by the
 * target's, until all of it is there.
 *
 * Threads: the lcore of the target's lane, but for opening and closing it.
 */
#ifndef RDMO_REMOTE_ROUND_H
#define RDMO_REMOTE_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "fetch.h"
#include "peer.h"
#include "rdmo_wire.h"

/* Requests of a round that are posted at once. */
#define RDMO_REMOTE_DEPTH 64

/* Pieces of messages that one WRITE puts behind each other. */
#define RDMO_REMOTE_SGES 8

/* Bytes of a payload that are in its buffer at once. */
#define RDMO_REMOTE_BUFFER (UINT32_C(1) << 16)

struct rdmo_remote_round {
	/* What it is. */
	struct rdmo_lane *lane;
	struct rdmapmd_qp *qp;	   /* the target's */
	uint64_t wr_id;		   /* of all its requests */
	struct rdmapmd_mr *mr;	   /* of what it has here: */
	struct rdmo_record *heads; /* of records, until they are written: struct rdmo_writes */
	rte_le64_t *
		found; /* by each compare-and-swap, by the READ or atomic behind them: RDMO_ROUND + 1 */
	uint8_t *
		buffer; /* RDMO_REMOTE_BUFFER bytes on their way: of a payload, of what a GATHER reads */
	/* What it does. It is over when it is running, and waits for neither. */
	bool is_running;
	bool is_under_way; /* something was posted to the target that has not completed */
	bool is_fetching;  /* something to the initiator, likewise */
	bool is_lost;	   /* the target is: nothing more is posted to it */
	/* The operations, and how much of them was posted. */
	struct rdmo_round round;
	struct rdmo_writes writes;
	struct rdmo_fetches fetches;
	struct rdmo_tail_move moves[RDMO_ROUND];
	struct rdmo_peers ran; /* whose they are */
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
	bool has_fetched;
};

/*
 * Its memory. Threads: that which makes the target; blocks for a command of the device.
 *
 * @param qp      the target's
 * @param wr_id   of all its requests
 * @param fetches whether it is one for payloads that are still the initiators'
 * @return 0; -errno: it is to be closed all the same
 */
int rdmo_remote_round_open(struct rdmo_remote_round *remote, struct rdmo_lane *lane,
			   struct rdmapmd_qp *qp, struct rdmapmd_pd *pd, uint64_t wr_id,
			   bool fetches);
void rdmo_remote_round_close(struct rdmo_remote_round *remote);

/* Begin: nothing of it was executed. */
void rdmo_remote_round_begin(struct rdmo_remote_round *remote);

/* Execute operations of a connection, as rdmo_peer_execute(): it is away until the end. */
void rdmo_remote_round_execute(struct rdmo_remote_round *remote, struct rdmo_peer *peer);

/* Post as much of it as there is room for, in its order. */
void rdmo_remote_round_post(struct rdmo_remote_round *remote);

/* All that was posted to the target has completed: go on. */
void rdmo_remote_round_completed(struct rdmo_remote_round *remote);

/* READs that are the initiator's: if they are over, go on. */
void rdmo_remote_round_look(struct rdmo_remote_round *remote);

/* The target is lost: what was posted to it is over, and what is fetched goes nowhere. */
void rdmo_remote_round_lose(struct rdmo_remote_round *remote);

static inline bool
rdmo_remote_round_is_over(const struct rdmo_remote_round *remote)
{
	return remote->is_running && !remote->is_under_way && !remote->is_fetching;
}

/* It is over: its answers are written, its connections come back (rdmo_peer_ran()). */
void rdmo_remote_round_end(struct rdmo_remote_round *remote);

#endif
