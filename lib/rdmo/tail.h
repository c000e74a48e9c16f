/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tails: who gets which bytes of a queue or of a log, and how the target learns of it. No I/O, no allocation; nothing but
 * rdmo_tail_publish() and rdmo_queue_share() touches the target's memory, of a target in this process. Of one that is remote the
 * caller does the same by an atomic of its device, and tells what that found.
 *
 * An exclusive tail is this worker's: it is read once, kept here, and moved in the target's memory once for all that was reserved since.
 * What was reserved is published after its payload was written and before it is answered. Should the target's memory hold another
 * value than the one last published, somebody else moves it too: nothing more is reserved until the target sets it.
 *
 * Threads: one at a time for each, but for rdmo_queue_share().
 */
#ifndef RDMO_TAIL_H
#define RDMO_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmo_wire.h"

/* An exclusive tail: an address in a queue, a position in a log. */
struct rdmo_tail {
	uint64_t reserved;  /* behind the last reservation */
	uint64_t published; /* what the target's memory holds, as far as known here */
	bool stopped;	    /* somebody else has moved it */
};

/* Begin with what the target's memory holds; also, once more, when the target has set it. What was not published is forgotten. */
static inline void
rdmo_tail_begin(struct rdmo_tail *tail, uint64_t value)
{
	*tail = (struct rdmo_tail){ .reserved = value, .published = value };
}

/* What was reserved since the last publication is free again: nobody writes there any more. */
static inline void
rdmo_tail_forget(struct rdmo_tail *tail)
{
	tail->reserved = tail->published;
}

/* What the next publication does, as a compare-and-swap: taken before it is posted, if that takes time. */
struct rdmo_tail_move {
	uint64_t compare, swap;
};

static inline struct rdmo_tail_move
rdmo_tail_move(const struct rdmo_tail *tail)
{
	return (struct rdmo_tail_move){ .compare = tail->published, .swap = tail->reserved };
}

/* Is there something to publish? */
static inline bool
rdmo_tail_is_due(const struct rdmo_tail *tail)
{
	return tail->reserved != tail->published && !tail->stopped;
}

/*
 * The compare-and-swap has found this value. False: it is not what was published, and nothing has been swapped; what was
 * reserved from `move->compare` on is not the target's to see, and its operations end with RDMO_STATUS_TAIL.
 */
bool rdmo_tail_moved(struct rdmo_tail *tail, const struct rdmo_tail_move *move, uint64_t found);

/*
 * Publish all that was reserved, in memory of this process. Order: release; who loads the word with acquire sees what was stored
 * to the queue before this call. Returns as rdmo_tail_moved().
 */
bool rdmo_tail_publish(struct rdmo_tail *tail, rte_le64_t *word);

/* ---- A queue: its tail is an address, and comes to its end ---- */

struct rdmo_queue {
	struct rdmo_tail tail;
	uint64_t begin, end; /* of the region that it lies in; end is the first byte behind it */
};

/* Begin: a region whose end does not wrap, and what the tail's word in the target's memory holds. */
void rdmo_queue_begin(struct rdmo_queue *queue, uint64_t va, uint64_t len, uint64_t tail);

/*
 * Reserve the next bytes.
 *
 * @param bytes   0 and more
 * @param address set, if it is OK: of the first one
 * @return RDMO_STATUS_OK; FULL: there are not so many before the end; TAIL: it is stopped, or not in its region. The tail has
 *         not moved then.
 */
enum rdmo_status rdmo_queue_reserve(struct rdmo_queue *queue, uint64_t bytes, uint64_t *address);

/* Do so many bytes fit behind this tail? RDMO_STATUS_OK; FULL; TAIL: it is none of the queue. */
enum rdmo_status rdmo_queue_room(const struct rdmo_queue *queue, uint64_t tail, uint64_t bytes);

/*
 * Reserve in a queue whose tail others move as well, in memory of this process: one compare-and-swap for a run of appends, never
 * past the end. It is ahead of the payloads. Threads: any.
 *
 * @param bytes   of each append, 0 and more
 * @param n       set to how many there are of them: as given, or as many as fit, one at least if it is OK
 * @param address set, if it is OK: of the first one
 * @return as rdmo_queue_reserve(), which `queue` is not used for
 */
enum rdmo_status rdmo_queue_share(const struct rdmo_queue *queue, rte_le64_t *word, uint64_t bytes,
				  uint32_t *n, uint64_t *address);

/* ---- A log's ring: its tail is a position, and follows the head round and round ---- */

struct rdmo_ring {
	struct rdmo_tail tail;
	uint64_t head;	   /* as last seen: what is before it is released */
	uint64_t capacity; /* bytes, a power of two */
};

/* Bytes of the ring that a record with so many bytes of payload takes. */
static inline uint64_t
rdmo_record_bytes(uint64_t length)
{
	return (sizeof(struct rdmo_record) + length + RDMO_RECORD_ALIGN - 1) &
	       ~(uint64_t)(RDMO_RECORD_ALIGN - 1);
}

/*
 * Begin with the ends that the target's memory holds. `capacity` is one that rdmo_log_check() has found good. False: there is no
 * such pair of ends; nothing is to be reserved.
 */
bool rdmo_ring_begin(struct rdmo_ring *ring, uint64_t capacity, uint64_t tail, uint64_t head);

/* The reader's head has been looked at. False: it cannot be there; the one before stays. */
bool rdmo_ring_release(struct rdmo_ring *ring, uint64_t head);

/* Where a record goes. */
struct rdmo_place {
	uint64_t position;
	uint64_t pad; /* position of the PAD before it, at the ring's end */
	uint64_t
		pad_bytes; /* of that, header included: a multiple of RDMO_RECORD_ALIGN; 0: there is none */
};

/*
 * Reserve a record, in one piece.
 *
 * @param length bytes of the payload
 * @param place  set, if it is OK
 * @return RDMO_STATUS_OK; FULL: the reader has to release some; LENGTH: more than half of the ring, or 2^32 - 1 bytes; TAIL: it is
 *         stopped. The tail has not moved then.
 */
enum rdmo_status rdmo_ring_reserve(struct rdmo_ring *ring, uint64_t length,
				   struct rdmo_place *place);

#endif
