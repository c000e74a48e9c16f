/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a round notes to be written to a remote target: bytes of messages, records of logs with what belongs to them, in this order. No
 * I/O, memory of the caller alone.
 */
#ifndef RDMO_WRITES_H
#define RDMO_WRITES_H

#include <stdint.h>

#include "region.h"

struct rdmo_write {
	uint64_t addr;
	const uint8_t *from;
	uint32_t rkey, lkey, bytes;
};

/* For an append at most: a PAD, a header, a payload, what has changed in a slot in two pieces, and its next number. */
#define RDMO_APPEND_WRITES 6
/* Of these the worker keeps: a PAD's header, a record's, the slot's next number. */
#define RDMO_APPEND_HEADS 3

struct rdmo_writes {
	struct rdmo_write *all;
	uint32_t count;
	uint32_t
		room; /* as many pieces as a message may have, and those of RDMO_ROUND appends, at least */
	uint32_t key; /* the device's, of messages */
	/* Headers of records, and numbers of slots: RDMO_APPEND_HEADS for each operation of a round, and the device's key for them. NULL: there are no logs. */
	struct rdmo_record *heads;
	uint32_t head_count, head_key;
};

static inline void
rdmo_writes_begin(struct rdmo_writes *writes)
{
	writes->count = writes->head_count = 0;
}

/* Bytes of a message. 0 are none. */
void rdmo_writes_add(struct rdmo_writes *writes, const struct rdmo_region *region, uint64_t addr,
		     const uint8_t *from, uint32_t bytes);

/* A record that was reserved, with its payload, of a message; its slot is changed. */
void rdmo_writes_record(struct rdmo_writes *writes, struct rdmo_region *log,
			const struct rdmo_origin *origin, const struct rdmo_place *place,
			const uint8_t *payload, uint32_t bytes);

/* What is in front of it. */
void rdmo_writes_pad(struct rdmo_writes *writes, const struct rdmo_region *log,
		     const struct rdmo_place *place);

/* Its header, with this checksum, if its payload was written already; its slot is changed. */
void rdmo_writes_header(struct rdmo_writes *writes, struct rdmo_region *log,
			const struct rdmo_origin *origin, uint64_t position, uint32_t bytes,
			uint32_t sum);

#endif
