/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The operations of one connection, as a worker has them: whose they are, and which have failed since a FLUSH told of it.
 *
 * Threads: one at a time, but for is_lost.
 */
#ifndef RDMO_FLOW_H
#define RDMO_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdmo_wire.h"

/* Different keys of which a flow remembers failures one by one. */
#define RDMO_FAILURES 16

/* The first failure of operations by a key, since the last FLUSH that told of it. */
struct rdmo_failure {
	uint64_t key; /* 0: none is known, or there were too many */
	uint64_t seq; /* RDMO_NONE: there was no failure */
	enum rdmo_status status;
	bool is_told; /* by a FLUSH of another key that the operation names */
};

/* The operations of one connection. */
struct rdmo_flow {
	uint64_t id;	 /* what they must name the target by */
	uint64_t client; /* struct rdmo_region's */
	uint64_t rq_id;
	uint32_t producer; /* of logs; RDMO_NO_PRODUCER */
	uint64_t replayed; /* those before it were posted to another connection, and may be done */
	uint32_t gather_bytes; /* that an answer has room for */
	bool may_wait;	       /* for room in a log, instead of being refused */
	atomic_bool is_lost;   /* the target has gone */
	uint32_t wrong_keys;   /* so far */
	uint32_t failure_count;
	struct rdmo_failure failures[RDMO_FAILURES]; /* each of a key of its own */
	struct rdmo_failure others;		     /* for which there was no room */
};

/* Begin: nothing has failed. It is no producer, until it is made one. */
void rdmo_flow_begin(struct rdmo_flow *flow, uint64_t id, uint64_t client, uint64_t rq_id);

/* An operation has failed. In order of sequence numbers: what is there already is earlier. */
void rdmo_failure_note(struct rdmo_flow *flow, uint64_t key, uint64_t seq, enum rdmo_status status);

/* One of which not all keys are known: told with any. */
void rdmo_failure_note_any(struct rdmo_flow *flow, uint64_t seq, enum rdmo_status status);

/* The first failure by a key, or by any (0), which is told now. Those without room are told with any key. */
struct rdmo_failure rdmo_failure_take(struct rdmo_flow *flow, uint64_t key);

#endif
