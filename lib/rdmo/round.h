/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Execution: operations are checked against the regions of their target, and done in its memory, of a target in this process. For one in
 * another process the round tells what is to be written there. What connections and devices are is not known here.
 *
 * A round is some operations, of one connection after the other. Appends reserve and copy at once; the tails that they moved are
 * published together when the round is settled, before any of its operations is answered. An operation with RDMO_FLAG_FENCE settles
 * what is before it. What was posted to another connection already is done once: a log knows of it; other operations end with UNKNOWN.
 * What a round's results are is known when it is settled, not before: a tail that somebody else has moved makes failures of appends that
 * had gone well.
 *
 * A queue belongs to one lane: to the first that appends to it, for as long as its bytes are registered. What another one's round is
 * asked to append there is not done, and the other one is named; it is for the caller to take the connection there.
 *
 * A round for a remote target has one of its own (`writes`): what is to be written is noted, from where it lies in the messages; the
 * caller writes it, then moves the tails or does the atomic, then says how that went (rdmo_round_moved(), rdmo_round_lose()), and has the results
 * (rdmo_round_conclude()). A queue whose tail is not known yet, or a log that seems to be full, stops the round: the caller is to read its
 * tail, or its head (`look`). Until it is over nobody else appends to these queues.
 *
 * A payload that is still the initiator's is fetched into the place that was reserved for it, by a round that has room for that (`fetches`):
 * of one connection alone, and of such operations alone. The caller fetches, and says how that went: rdmo_round_fetched(),
 * rdmo_round_abandon(). Until then nobody else appends to these queues.
 *
 * Threads: one at a time for a round and for a flow. Regions are for any number: what is a queue's its lane alone writes, and what else
 * changes (notified, has_payloads, has_tails) is atomic.
 */
#ifndef RDMO_ROUND_H
#define RDMO_ROUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "flow.h"
#include "map.h"
#include "message.h"
#include "region.h"
#include "writes.h"

/* Operations of a round at most. */
#define RDMO_ROUND 64

/* What an operation has come to, when the round is settled. */
struct rdmo_result {
	struct rdmo_flow *flow;
	uint64_t seq;
	/* Operations in a row that have come to the same: of more than one each was an APPEND, by the same keys to the same queue. */
	uint32_t count;
	uint64_t value;		    /* the first one's answer's */
	uint64_t second, step;	    /* the second one's; those of the others are so far apart */
	uint64_t flush_id;	    /* FLUSH */
	uint64_t key;		    /* of the region, for FLUSH; 0: none */
	struct rdmo_region *queue;  /* whose tail it has moved */
	struct rdmo_region *notify; /* whose target is to be told of it; else NULL */
	uint32_t op_id;
	enum rdmo_status status;
	bool is_silent;	 /* no answer */
	bool is_flushed; /* a FLUSH that was executed: status and value are the first failure's */
};

/*
 * Of struct rdmo_round, elsewhere: it was done; it is to be done here, when a remote tail was read, when a log has room, when what another
 * round fetches is there, or by a round that fetches.
 */
#define RDMO_HERE   UINT32_MAX
#define RDMO_LATER  (UINT32_MAX - 1)
#define RDMO_WAITS  (UINT32_MAX - 2)
#define RDMO_BUSY   (UINT32_MAX - 3)
#define RDMO_PULLED (UINT32_MAX - 4)

/* Bytes of the initiator's that are to be READ. */
struct rdmo_fetch {
	uint64_t from, to; /* in the initiator; in the target */
	uint32_t from_key, to_key;
	uint32_t bytes;
};

/* Pieces that are fetched by one round, at most: several operations' of as many as there may be. */
#define RDMO_FETCHES (4 * RDMO_PULLS)

/* A record that is finished when its payload is there. */
struct rdmo_due_record {
	struct rdmo_region *log;
	struct rdmo_origin origin;
	uint64_t position;
	uint32_t bytes;
	uint32_t sum; /* of a remote log: of what has come of it */
};

struct rdmo_fetches {
	struct rdmo_flow *flow; /* whose memory they come from, if there are any */
	struct rdmo_fetch all[RDMO_FETCHES];
	uint32_t count;
	struct rdmo_due_record records[RDMO_ROUND];
	uint32_t record_count;
	struct rdmo_region *held[RDMO_ROUND]; /* where nobody else appends so long */
	uint32_t held_count;
};

/* A number of a remote target that is to be changed in place: alone in its round. */
struct rdmo_round_atomic {
	struct rdmo_result *result; /* whose it is; NULL: there is none */
	uint64_t addr, operand, swap;
	uint32_t rkey;
	uint32_t tries; /* that have found another value than was expected */
	bool is_swap;
	/* It is a tail that others move as well: whose queue, and what goes there then. NULL: it is not. */
	struct rdmo_region *queue;
	struct rdmo_request request;
};

/* Bytes that are read for an answer: a round has one GATHER, which is its connection's last operation there. */
struct rdmo_round_gather {
	struct rdmo_result *result; /* whose it is; NULL: there is none */
	const struct rdmo_gather_iov *pieces;
	uint64_t count;
	uint32_t bytes;
	const uint8_t *from; /* of a remote target: where they are, when they were read */
};

/* A tail of a remote target that is to be read, or a log's head. */
struct rdmo_round_look {
	struct rdmo_region *queue; /* NULL: none is */
	uint64_t word;
	uint32_t rkey;
};

/* A key that a failed operation names beside its result's: a FLUSH of that one tells of it, too. */
#define RDMO_ROUND_NAMES 64
struct rdmo_round_name {
	const struct rdmo_result *result;
	uint64_t key;
};

struct rdmo_round {
	uint32_t lane; /* whose it is */
	uint32_t
		elsewhere; /* the lane to which the last operation is to go; RDMO_HERE, _LATER, _WAITS, _BUSY, _PULLED */
	struct rdmo_writes
		*writes; /* of a round for a remote target; NULL: it is in this process */
	struct rdmo_fetches *fetches; /* of a round that fetches; NULL: it does not */
	struct rdmo_round_look look;
	struct rdmo_round_atomic atomic;
	struct rdmo_round_gather gather;
	uint32_t count; /* operations */
	uint32_t result_count, settled;
	uint32_t due; /* queues and logs to be published */
	uint32_t bell_count;
	bool has_notified; /* a region's count has grown: for the caller to tell */
	struct rdmo_result results[RDMO_ROUND];
	struct rdmo_round_name names[RDMO_ROUND_NAMES];
	uint32_t name_count;
	const struct rdmo_result
		*unnamed; /* the first one of whose keys there was no room for some */
	struct rdmo_region *queues[RDMO_ROUND];
	int bells
		[RDMO_ROUND]; /* eventfds of logs that have grown, whose readers sleep: for the caller to wake */
};

static inline void
rdmo_round_begin(struct rdmo_round *round)
{
	round->count = round->result_count = round->settled = round->due = round->bell_count = 0;
	round->look.queue = NULL;
	round->atomic.result = NULL;
	round->atomic.queue = NULL;
	round->gather.result = NULL;
	round->has_notified = false;
	round->name_count = 0;
	round->unnamed = NULL;
	if (round->writes != NULL)
		rdmo_writes_begin(round->writes);
	if (round->fetches != NULL)
		round->fetches->count = round->fetches->record_count = round->fetches->held_count =
			0;
}

bool rdmo_round_has_room(const struct rdmo_round *round, const struct rdmo_request *request);

/*
 * May this one be in the round that there is? Not in one for a remote target if that has too little room, or has to be over before it: an
 * empty one takes any. Not in one that fetches if there is nothing to be fetched, or too much.
 */
static inline bool
rdmo_round_takes(const struct rdmo_round *round, const struct rdmo_request *request)
{
	if (request->op_id == RDMO_OP_GATHER && round->gather.result != NULL)
		return false;
	return (round->writes == NULL && round->fetches == NULL) ||
	       rdmo_round_has_room(round, request);
}

/*
 * Execute an operation; there are fewer than RDMO_ROUND. `regions`: by their keys. False: nothing was done; `round->elsewhere` says
 * where or when it is to be.
 */
bool rdmo_round_execute(struct rdmo_round *round, const struct rdmo_map *regions,
			struct rdmo_flow *flow, const struct rdmo_request *request);

/*
 * Execute those behind `request`, which was the last one, that differ from it in their payload alone: if it went well, and is an APPEND, as
 * far as there is room there, `n` at most. `reader`: where it came from.
 */
void rdmo_round_go_on(struct rdmo_round *round, const struct rdmo_request *request,
		      struct rdmo_reader *reader, uint32_t n);

/* Publish what is due, in this process: all results are final then. */
void rdmo_round_settle(struct rdmo_round *round);

/* What its GATHER has read, into the answer: before anything else is executed. */
void rdmo_round_gathered(const struct rdmo_round *round, uint8_t *to);

/* ---- Of a round that fetches ---- */

/* Of a remote target: the next bytes, which go there now. */
void rdmo_round_passed(struct rdmo_round *round, const void *bytes, uint32_t count);

/* All of it is there: the round can be settled; of a remote target what is noted next is to be written. */
void rdmo_round_fetched(struct rdmo_round *round);

/* Has what it is to do, when all of it is there, to do with this region? */
bool rdmo_round_uses(const struct rdmo_round *round, const struct rdmo_region *region);

/* The initiator's connection has broken: what was reserved is free again, and nothing is left to be settled. */
void rdmo_round_abandon(struct rdmo_round *round);

/* ---- Of a remote target, in this order ---- */

/*
 * The atomic at a tail that others move as well has found this. True: the place is reserved, and what is noted next is to be written there,
 * or fetched; or it is refused, and nothing is. False: somebody else was there before, and it is to be done once more; not for ever.
 */
bool rdmo_round_reserved(struct rdmo_round *round, uint64_t found);

/* A due tail's compare-and-swap has found this. */
void rdmo_round_moved(struct rdmo_round *round, uint32_t due, const struct rdmo_tail_move *move,
		      uint64_t found);

/* Not known what of it was done: what went well has not, and nothing more is appended to its queues. */
void rdmo_round_lose(struct rdmo_round *round);

/* All results are final. */
void rdmo_round_conclude(struct rdmo_round *round);

#endif
