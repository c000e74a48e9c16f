/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a log's memory holds: header, slots of producers, records. Written and read where they lie, or in a buffer that is then
 * sent there. No I/O, no allocation; what is read is checked before it is used, since anybody may have written over it.
 *
 * Order of an append: the record, its word in the slot, then the tail (rdmo_tail_publish(), or on one queue pair). What a worker did
 * not come to publish is void, wherever it was killed.
 */
#ifndef RDMO_RECORD_H
#define RDMO_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "rdmo.h"

/* ---- The log as a whole ---- */

#define RDMO_LOG_CAPACITY_MIN ((uint64_t)1 << 12)
#define RDMO_LOG_CAPACITY_MAX ((uint64_t)1 << 48)

/* Where a producer's slot, and the ring begin, in bytes from the header. */
static inline uint64_t
rdmo_log_slot_offset(uint32_t producer)
{
	return sizeof(struct rdmo_log_header) + (uint64_t)producer * sizeof(struct rdmo_log_slot);
}

static inline uint64_t
rdmo_log_ring_offset(uint32_t producers)
{
	return (rdmo_log_slot_offset(producers) + 4095) & ~(uint64_t)4095;
}

/*
 * Make an empty log. Its magic is stored last, with release.
 *
 * @param memory of rdmo_log_bytes(), which is not 0, at a multiple of 64
 */
void rdmo_log_format(void *memory, uint64_t capacity, uint32_t producers);

/*
 * Is this a log that has so many bytes? `header`: in the log, or a copy. Its ends are rdmo_ring_begin()'s to judge.
 *
 * @return 0; -EINVAL: no log, of another version, or of other sizes
 */
int rdmo_log_check(const struct rdmo_log_header *header, uint64_t bytes);

/* ---- Records ---- */

/* A record's header, with the checksum of nothing so far: rdmo_record_sum() begins with it. */
struct rdmo_record rdmo_record_header(uint64_t position, uint32_t producer, uint64_t seq,
				      uint32_t length);

/* A checksum in steps: of the header, of the payload's bytes one after the other; and stored. */
uint32_t rdmo_record_sum(const struct rdmo_record *record);
uint32_t rdmo_record_sum_more(uint32_t sum, const void *payload, uint32_t bytes);
static inline void
rdmo_record_sum_end(struct rdmo_record *record, uint32_t sum)
{
	record->crc32c = rte_cpu_to_le_32(~sum);
}

/* Finish a record whose payload of `length` bytes lies behind `record` already. */
void rdmo_record_seal(struct rdmo_record *record, uint64_t position, uint32_t producer,
		      uint64_t seq, uint32_t length);

/* Fill so many bytes, header included, a multiple of RDMO_RECORD_ALIGN below 2^32 + 32. */
void rdmo_record_pad(struct rdmo_record *record, uint64_t position, uint64_t bytes);

/* A log's ring. */
struct rdmo_log_view {
	const void *
		ring; /* in memory of this process; NULL: it is in another one, for rdmo_slot_find() alone */
	uint64_t capacity;
	uint64_t tail; /* loaded with acquire: what is before it is there */
	uint64_t head; /* what is before it may be written over already; 0: not known */
};

/*
 * Find the first record from a position on; PADs are skipped.
 *
 * @return 1 found; 0 none: found->position is the tail; -EILSEQ what lies at found->position is damaged
 */
int rdmo_record_find(const struct rdmo_log_view *log, uint64_t position,
		     struct rdmo_log_record *found);

/* ---- Slots: what a producer has appended last ---- */

/* Where in a slot the word of an operation is. */
static inline uint32_t
rdmo_slot_index(uint64_t seq)
{
	return (uint32_t)(seq % RDMO_LOG_WINDOW);
}

/*
 * An operation has a record: before the tail that is behind it. In order of sequence numbers; those left out have none.
 *
 * @return the first operation whose word was changed: so were all up to `seq`, RDMO_LOG_WINDOW at most
 */
uint64_t rdmo_slot_put(struct rdmo_log_slot *slot, uint64_t seq, uint64_t position);

/* An operation has none: it was refused, or is no APPEND. Else its word would be the one of RDMO_LOG_WINDOW before it. */
void rdmo_slot_void(struct rdmo_log_slot *slot, uint64_t seq);

/*
 * A worker begins to serve the log: what the last one did not come to publish will never have been. `next_seq` is right behind the
 * last operation that has a record, if that is not older than RDMO_LOG_WINDOW.
 */
void rdmo_slot_recover(struct rdmo_log_slot *slot, uint64_t tail);

/*
 * Has an operation been done?
 *
 * @param position set, if it has, or is damaged
 * @return 1 it has; 0 it has not, and will not be unless it is sent again; -ERANGE too old to know, and answered; -EILSEQ its record
 *         is damaged
 */
int rdmo_slot_find(const struct rdmo_log_slot *slot, const struct rdmo_log_view *log,
		   uint32_t producer, uint64_t seq, uint64_t *position);

#endif
