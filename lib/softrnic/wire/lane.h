/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A lane: a ring of bytes with one writer and one reader, each in a thread of its own. Frames lie in it one behind the other, each
 * behind the length of its entry, and none is cut: where the ring's end is too near, an entry without a frame leads to its start. The
 * writer shows what it has written at the end of its round, and the reader says how far it got: two words cross between the threads
 * for a round, not for a frame.
 */
#ifndef SOFTRNIC_WIRE_LANE_H
#define SOFTRNIC_WIRE_LANE_H

#include <stdatomic.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "softrnic/port/frame.h"

#define SOFTRNIC_LANE_BYTES (2u << 20)
#define SOFTRNIC_LANE_ALIGN ((uint32_t)RTE_CACHE_LINE_SIZE)
#define SOFTRNIC_LANE_ENDS  64 /* that frames may be of */

struct softrnic_lane_entry {
	uint32_t bytes;	 /* to the next one */
	uint16_t length; /* of the frame behind this; 0: there is none */
	uint16_t said;	 /* the writer's to the reader */
};
_Static_assert(SOFTRNIC_FRAME_BYTES_MAX <= UINT16_MAX + 1, "a frame's length fits its entry");

/* Positions only grow; modulo SOFTRNIC_LANE_BYTES they are offsets. */
struct softrnic_lane {
	/* the writer's */
	uint64_t tail, shown_at; /* behind the newest entry, and behind the newest that is shown */
	uint64_t head_seen;
	uint8_t *room; /* made for the first frame; the reader's from there on */
	/* the writer tells the reader */
	_Alignas(RTE_CACHE_LINE_SIZE) _Atomic uint64_t shown;
	_Atomic bool wanted; /* it waits for room */
	/* the reader tells the writer */
	_Alignas(RTE_CACHE_LINE_SIZE) _Atomic uint64_t head;
	_Atomic bool has_lost;
	_Atomic uint64_t lost[SOFTRNIC_LANE_ENDS]; /* frames of each end that found nobody */
};

/* The writer: make the ring. False: no memory. */
bool softrnic_lane_begin(struct softrnic_lane *lane);
/* The reader: as many frames as there are up to `shown`, and as have room, and where the entries behind each begin. */
uint32_t softrnic_lane_gather(const struct softrnic_lane *lane, uint64_t at, uint64_t shown,
			      struct softrnic_burst_frame *frames, uint64_t *behind);
/* Both ends are done with it. */
void softrnic_lane_end(struct softrnic_lane *lane);

static inline uint64_t
softrnic_lane_free(struct softrnic_lane *lane)
{
	return SOFTRNIC_LANE_BYTES - (lane->tail - lane->head_seen);
}

/* Fresh, if what was known is too little. */
static inline bool
softrnic_lane_has(struct softrnic_lane *lane, uint64_t bytes)
{
	if (likely(softrnic_lane_free(lane) >= bytes))
		return true;
	/* In one order with `wanted` and the reader's looks at that. */
	lane->head_seen = atomic_load(&lane->head);
	return softrnic_lane_free(lane) >= bytes;
}

static inline struct softrnic_lane_entry *
softrnic_lane_entry(const struct softrnic_lane *lane, uint64_t position)
{
	return (struct softrnic_lane_entry *)(lane->room + position % SOFTRNIC_LANE_BYTES);
}

/* An entry for a frame, which is not in the lane before softrnic_lane_put(). NULL: no room. */
static inline struct softrnic_lane_entry *
softrnic_lane_next(struct softrnic_lane *lane, uint32_t length, unsigned int said)
{
	const uint32_t bytes = RTE_ALIGN_CEIL(length + (uint32_t)sizeof(struct softrnic_lane_entry),
					      SOFTRNIC_LANE_ALIGN);
	const uint32_t left = SOFTRNIC_LANE_BYTES - (uint32_t)(lane->tail % SOFTRNIC_LANE_BYTES);
	struct softrnic_lane_entry *entry;

	if (unlikely(lane->room == NULL) && !softrnic_lane_begin(lane))
		return NULL;
	if (unlikely(bytes > left)) {
		if (!softrnic_lane_has(lane, (uint64_t)left + bytes))
			return NULL;
		*softrnic_lane_entry(lane, lane->tail) =
			(struct softrnic_lane_entry){ .bytes = left };
		lane->tail += left;
	} else if (unlikely(!softrnic_lane_has(lane, bytes))) {
		return NULL;
	}
	entry = softrnic_lane_entry(lane, lane->tail);
	entry->bytes = bytes;
	entry->length = (uint16_t)length;
	entry->said = (uint16_t)said;
	return entry;
}

static inline void
softrnic_lane_put(struct softrnic_lane *lane, const struct softrnic_lane_entry *entry)
{
	lane->tail += entry->bytes;
}

/* As one order with the reader's word that it sleeps (host.c): one of the two sees the other. */
static inline void
softrnic_lane_show(struct softrnic_lane *lane)
{
	lane->shown_at = lane->tail;
	atomic_store(&lane->shown, lane->tail);
}

static inline bool
softrnic_lane_waits(const struct softrnic_lane *lane)
{
	return atomic_load(&lane->shown) != atomic_load_explicit(&lane->head, memory_order_relaxed);
}

#endif
