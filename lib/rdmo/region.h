/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that a target offers, in this process or in another one: as bytes, as a queue's, or as a log. What an append does there, and how
 * that is published; of another process' memory who gets which bytes, and no more. No I/O, no allocation.
 *
 * Threads: one at a time for a region; rdmo_region_next_seq() is for any.
 */
#ifndef RDMO_REGION_H
#define RDMO_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tail.h"

/* A region that is a log. Of one in another process header and slots are those of struct rdmo_shadow. */
struct rdmo_log_place {
	struct rdmo_log_header *header;
	struct rdmo_log_slot *slots;
	uint8_t *bytes; /* of its ring; NULL: that is in another process */
	uint32_t producers;
	struct rdmo_ring ring;
};

struct rdmo_remote;
struct rdmo_round;

/* What was read where the tail of a remote queue is said to be. */
struct rdmo_look {
	bool is_done;
	uint64_t word, value;
};

struct rdmo_region {
	uint64_t key;
	uint64_t
		client; /* whose it is: a number of the worker's, not the one that the target chose */
	uint64_t rq_id;		    /* whose initiators may use it; 0: all of the target */
	uint64_t va, len;	    /* in the target's process; the end does not wrap */
	uint32_t rights;	    /* enum rdmo_right */
	struct rdmo_remote *remote; /* whose it is, in another process; NULL: in this one */
	uint32_t rkey;		    /* of remote memory: its device's key */
	uint32_t
		lkey; /* the worker's device's key: of a remote log for its shadow; of memory here for that, if: */
	bool is_fetchable; /* that can READ into it */
	uint32_t
		bell; /* of a log: the descriptor by which its reader is woken, plus 1; 0: it never sleeps */
	/* Operations that their target is to be told of. Any lane adds, and who tells takes all. */
	_Atomic uint64_t notified;
	/* What appends have used it for, one of both: payloads, or the tails of others. Of any lane. */
	atomic_bool has_payloads, has_tails;
	bool is_shared; /* others move its tails, too: by rdmo_region_begin_shared(), and never owned */
	bool is_log; /* by rdmo_region_begin_log() */
	/* As the bytes of a queue or log; not before the first append, and then its lane's alone: */
	atomic_uint owner; /* the lane's number plus 1; 0: no lane's yet */
	bool is_due;	   /* the round is to publish it; of a shared one never */
	bool has_tail;	   /* a log; or there was an append to it */
	/* NULL; or the only one to append: it fetches payloads to it, or its tail is remote, and being looked at or moved. */
	const struct rdmo_round *held_by;
	uint64_t word;	       /* the tail's address in the target, if it has one */
	uint32_t word_rkey;    /* of remote memory: for that */
	struct rdmo_look look; /* of remote memory, until it has one */
	union {
		struct rdmo_queue queue;
		struct rdmo_log_place log;
	};
};

/* Does it have these bytes? No sum that could wrap. */
static inline bool
rdmo_region_has(const struct rdmo_region *region, uint64_t address, uint64_t bytes)
{
	return address >= region->va && address - region->va <= region->len &&
	       bytes <= region->len - (address - region->va);
}

static inline struct rdmo_tail *
rdmo_region_tail(struct rdmo_region *region)
{
	return region->is_log ? &region->log.ring.tail : &region->queue.tail;
}

/*
 * Put a payload at the tail of a queue whose word is at `word`, an address that the target has.
 *
 * @param address set, if it is OK: of its first byte
 * @return RDMO_STATUS_OK; FULL; TAIL: this is not its tail, or somebody else has moved it
 */
enum rdmo_status rdmo_region_append(struct rdmo_region *region, uint64_t word, const void *payload,
				    uint64_t bytes, uint64_t *address);

/* Must the tail at `word` be read before anything is appended to this remote queue? rdmo_region_seen() tells what was found there. */
bool rdmo_region_must_look(const struct rdmo_region *region, uint64_t word);
void rdmo_region_seen(struct rdmo_region *region, uint64_t word, uint64_t value);

/*
 * Its tail is not to be looked at or moved, and nothing is appended; or go on, from what it holds then. Between two rounds, of a queue
 * that is not shared.
 */
void rdmo_region_hold(struct rdmo_region *region, bool is_held);

/* As rdmo_region_append(), of a remote queue whose tail was read too; nothing is copied. */
enum rdmo_status rdmo_region_reserve(struct rdmo_region *region, uint64_t word, uint64_t bytes,
				     uint64_t *address);

/*
 * More payloads of as many bytes behind the one that was appended last, as far as there is room.
 *
 * @param payload that one's; the others' are `stride` bytes behind each other
 * @param n       how many at most
 * @param address set: of the first one; the others are behind each other
 * @return how many
 */
uint32_t rdmo_region_append_alike(struct rdmo_region *region, const uint8_t *payload,
				  uint64_t bytes, uint64_t stride, uint32_t n, uint64_t *address);

/* Others will move its tail as well. */
void rdmo_region_begin_shared(struct rdmo_region *region);

/*
 * Payloads of as many bytes each, as far as there is room, at a tail that others move as well, at `word`. Threads: any.
 *
 * @param payload the first one; the others are `stride` bytes behind each other
 * @param n       set to how many: as given at most, 1 and more if it is OK
 * @param address set, if it is OK: of the first one; the others are behind each other
 * @return as rdmo_region_append()
 */
enum rdmo_status rdmo_region_share(const struct rdmo_region *region, uint64_t word,
				   const uint8_t *payload, uint64_t bytes, uint64_t stride,
				   uint32_t *n, uint64_t *address);

/* Likewise, of one payload that comes from elsewhere: nothing is copied. */
enum rdmo_status rdmo_region_share_place(const struct rdmo_region *region, uint64_t word,
					 uint64_t bytes, uint32_t *n, uint64_t *address);

/*
 * Begin to serve a region as a log: `region` has its address and length, and as its key what a new log is to be named by; one that
 * was served before keeps its own. What the former worker did not come to publish will never have been.
 *
 * @param memory of this process: the log itself; of another one: all of it in front of its ring, whose changes are to be written there
 * @return RDMO_STATUS_OK; BOUNDS: it is none, or lies at no multiple of 64; TAIL: its ends cannot be
 */
enum rdmo_status rdmo_region_begin_log(struct rdmo_region *region, void *memory);

/* What a record comes from. */
struct rdmo_origin {
	uint32_t producer;
	uint64_t seq;
};

/*
 * Append a record to a log; or find the one that this operation has appended before.
 *
 * @param position set, if it is OK: the record's
 * @return RDMO_STATUS_OK; BOUNDS: no such producer; LENGTH; FULL: the reader has not released enough, or had not when the operation
 *         came for the first time; TAIL: somebody else has moved it; UNKNOWN: it is too old, or its record is damaged
 */
enum rdmo_status rdmo_region_append_log(struct rdmo_region *region,
					const struct rdmo_origin *origin, const void *payload,
					uint64_t bytes, uint64_t *position);

/*
 * In steps, of a record whose payload comes from elsewhere, or whose log is in another process: as rdmo_region_append_log(), but
 * nothing is written.
 *
 * @param place  where it is to be, or was (its position alone)
 * @param is_new it was not there before: what is in front of it is to be padded, and it is to be finished when its payload is there
 */
enum rdmo_status rdmo_region_reserve_log(struct rdmo_region *region,
					 const struct rdmo_origin *origin, uint64_t bytes,
					 struct rdmo_place *place, bool *is_new);

/* Those steps, in this process. */
void rdmo_region_pad_log(const struct rdmo_region *region, const struct rdmo_place *place);
void rdmo_region_finish_log(struct rdmo_region *region, const struct rdmo_origin *origin,
			    uint64_t position, uint64_t bytes);

/* Where a position of a log is, in its process. */
uint64_t rdmo_region_ring_addr(const struct rdmo_region *region, uint64_t position);

/* Must the head of this log, in another process, be read before it is said to be full? rdmo_region_seen() tells what was found. */
bool rdmo_region_must_look_at_head(const struct rdmo_region *region);

/*
 * Records of more payloads of as many bytes behind the one that was appended last, of the operations behind its own: as far as the ring goes and
 * its reader is known to have released.
 *
 * @param origin   that one's
 * @param payload  that one's; the others' are `stride` bytes behind each other
 * @param n        how many at most
 * @param position set: of the first one; the others are behind each other
 * @return how many
 */
uint32_t rdmo_region_append_log_alike(struct rdmo_region *region, const struct rdmo_origin *origin,
				      const uint8_t *payload, uint64_t bytes, uint64_t stride,
				      uint32_t n, uint64_t *position);

/* A record of a log was not published, and will not be. */
void rdmo_region_undo_log(struct rdmo_region *region, const struct rdmo_origin *origin);

/* Its tail has moved: is its reader to be woken? If so, it is told once. */
bool rdmo_region_must_wake(struct rdmo_region *region);

/* The number behind a producer's last record in a log; 0: it has none. */
uint64_t rdmo_region_next_seq(const struct rdmo_region *region, uint32_t producer);

#endif
