/* SPDX-License-Identifier: BSD-3-Clause */

#include <stddef.h>
#include <string.h>

#include "record.h"
#include "region.h"

/* ---- Queues ---- */

/* What the tail of a queue holds. */
static uint64_t
tail_read(struct rdmo_region *region, uint64_t word)
{
	/* It may have changed since: who asks once more is to look once more. */
	region->look.is_done = false;
	if (region->remote != NULL)
		return region->look.value;
	/* Partner: the target's store, before or after it has offered the memory. */
	return rte_le_to_cpu_64(
		__atomic_load_n((const rte_le64_t *)(uintptr_t)word, __ATOMIC_ACQUIRE));
}

/* A queue's first append begins it, with what the tail holds; a queue has one tail. */
static enum rdmo_status
queue_begin(struct rdmo_region *region, uint64_t word)
{
	uint64_t tail;

	if (region->has_tail)
		return region->word == word ? RDMO_STATUS_OK : RDMO_STATUS_TAIL;
	tail = tail_read(region, word);
	if (!rdmo_region_has(region, tail, 0))
		return RDMO_STATUS_TAIL;
	region->has_tail = true;
	region->word = word;
	rdmo_queue_begin(&region->queue, region->va, region->len, tail);
	return RDMO_STATUS_OK;
}

bool
rdmo_region_must_look(const struct rdmo_region *region, uint64_t word)
{
	return !region->has_tail && !(region->look.is_done && region->look.word == word);
}

void
rdmo_region_seen(struct rdmo_region *region, uint64_t word, uint64_t value)
{
	region->look = (struct rdmo_look){ .is_done = true, .word = word, .value = value };
	/* One that cannot be is not taken: it is as full as before. */
	if (region->is_log)
		rdmo_ring_release(&region->log.ring, value);
}

bool
rdmo_region_must_look_at_head(const struct rdmo_region *region)
{
	return region->log.bytes == NULL && !region->look.is_done;
}

void
rdmo_region_hold(struct rdmo_region *region, bool is_held)
{
	/* No operation names an address of 0: so it has a tail, and nobody is right about it. */
	region->has_tail = is_held;
	region->word = 0;
	region->look.is_done = false;
}

enum rdmo_status
rdmo_region_reserve(struct rdmo_region *region, uint64_t word, uint64_t bytes, uint64_t *address)
{
	const enum rdmo_status status = queue_begin(region, word);

	return status == RDMO_STATUS_OK ? rdmo_queue_reserve(&region->queue, bytes, address)
					: status;
}

enum rdmo_status
rdmo_region_append(struct rdmo_region *region, uint64_t word, const void *payload, uint64_t bytes,
		   uint64_t *address)
{
	const enum rdmo_status status = rdmo_region_reserve(region, word, bytes, address);

	if (status == RDMO_STATUS_OK && bytes > 0)
		memcpy((void *)(uintptr_t)*address, payload, bytes);
	return status;
}

/* Behind each other, those behind this one. With a size that the compiler knows there are no calls. */
static __rte_always_inline void
payloads_copy(uint64_t to, const uint8_t *payload, const uint64_t bytes, uint64_t stride,
	      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		payload += stride;
		memcpy((void *)(uintptr_t)to, payload, bytes);
		to += bytes;
	}
}

uint32_t
rdmo_region_append_alike(struct rdmo_region *region, const uint8_t *payload, uint64_t bytes,
			 uint64_t stride, uint32_t n, uint64_t *address)
{
	const uint64_t first = region->queue.tail.reserved;
	/* It is not stopped, and between both ends: that one was reserved by it. */
	const uint64_t left = region->queue.end - first;
	uint32_t count = n;

	/* Seldom: the queue's end. */
	while (count * bytes > left)
		count--;
	if (bytes == RTE_CACHE_LINE_MIN_SIZE)
		payloads_copy(first, payload, RTE_CACHE_LINE_MIN_SIZE, stride, count);
	else
		payloads_copy(first, payload, bytes, stride, count);
	region->queue.tail.reserved = first + count * bytes;
	*address = first;
	return count;
}

/* ---- Queues whose tail others move as well ---- */

void
rdmo_region_begin_shared(struct rdmo_region *region)
{
	region->is_shared = true;
	/* Its tail is in the target's memory alone. */
	rdmo_queue_begin(&region->queue, region->va, region->len, 0);
}

enum rdmo_status
rdmo_region_share_place(const struct rdmo_region *region, uint64_t word, uint64_t bytes,
			uint32_t *n, uint64_t *address)
{
	uint64_t at;
	const enum rdmo_status status =
		rdmo_queue_share(&region->queue, (rte_le64_t *)(uintptr_t)word, bytes, n, &at);

	if (status == RDMO_STATUS_OK)
		*address = at;
	return status;
}

enum rdmo_status
rdmo_region_share(const struct rdmo_region *region, uint64_t word, const uint8_t *payload,
		  uint64_t bytes, uint64_t stride, uint32_t *n, uint64_t *address)
{
	const enum rdmo_status status = rdmo_region_share_place(region, word, bytes, n, address);

	if (status != RDMO_STATUS_OK)
		return status;
	for (uint32_t i = 0; i < *n && bytes > 0; i++, payload += stride)
		memcpy((void *)(uintptr_t)(*address + i * bytes), payload, bytes);
	return RDMO_STATUS_OK;
}

/* ---- Logs ---- */

enum rdmo_status
rdmo_region_begin_log(struct rdmo_region *region, void *memory)
{
	struct rdmo_log_header *header = memory;
	struct rdmo_log_place log = { .header = header };
	uint64_t capacity, tail, head;

	if (region->va % 64 != 0 || rdmo_log_check(header, region->len) != 0)
		return RDMO_STATUS_BOUNDS;
	/* Read once, and judged again: it is the target's memory. */
	capacity = rte_le_to_cpu_64(__atomic_load_n(&header->capacity, __ATOMIC_RELAXED));
	log.producers = rte_le_to_cpu_32(__atomic_load_n(&header->producers, __ATOMIC_RELAXED));
	if (rdmo_log_bytes(capacity, log.producers) == 0 ||
	    rdmo_log_bytes(capacity, log.producers) > region->len)
		return RDMO_STATUS_BOUNDS;
	log.slots = (void *)((uint8_t *)header + rdmo_log_slot_offset(0));
	if (region->remote == NULL)
		log.bytes = (uint8_t *)header + rdmo_log_ring_offset(log.producers);
	tail = rte_le_to_cpu_64(__atomic_load_n(&header->tail, __ATOMIC_ACQUIRE));
	head = rte_le_to_cpu_64(__atomic_load_n(&header->head, __ATOMIC_ACQUIRE));
	if (!rdmo_ring_begin(&log.ring, capacity, tail, head))
		return RDMO_STATUS_TAIL;
	for (uint32_t i = 0; i < log.producers; i++)
		rdmo_slot_recover(&log.slots[i], tail);
	if (header->key != 0)
		region->key = rte_le_to_cpu_64(header->key);
	header->key = rte_cpu_to_le_64(region->key);
	header->epoch = rte_cpu_to_le_64(rte_le_to_cpu_64(header->epoch) + 1);
	region->log = log;
	region->word = region->va + offsetof(struct rdmo_log_header, tail);
	region->word_rkey = region->rkey;
	region->has_tail = region->is_log = true;
	return RDMO_STATUS_OK;
}

static struct rdmo_record *
record_at(const struct rdmo_log_place *log, uint64_t position)
{
	return (struct rdmo_record *)(log->bytes + (position & (log->ring.capacity - 1)));
}

/* Reserve; who finds no room looks whether the reader has made some. */
static enum rdmo_status
record_reserve(struct rdmo_log_place *log, uint64_t bytes, struct rdmo_place *place)
{
	const enum rdmo_status status = rdmo_ring_reserve(&log->ring, bytes, place);
	uint64_t head;

	if (status != RDMO_STATUS_FULL || log->bytes == NULL)
		return status;
	/* Partner: the reader's release, whose reads are behind it: what is before the head may be written over. */
	head = rte_le_to_cpu_64(__atomic_load_n(&log->header->head, __ATOMIC_ACQUIRE));
	if (!rdmo_ring_release(&log->ring, head))
		return status;
	return rdmo_ring_reserve(&log->ring, bytes, place);
}

/*
 * An operation that is not behind the last one of its producer has been here before. Operations are executed in their order: so if it has
 * no record, but a later one has, it was refused.
 */
static enum rdmo_status
record_known(const struct rdmo_log_place *log, const struct rdmo_origin *origin, uint64_t *position)
{
	const struct rdmo_log_view view = {
		.ring = log->bytes,
		.capacity = log->ring.capacity,
		.tail = log->ring.tail.published,
		.head = log->ring.head,
	};

	switch (rdmo_slot_find(&log->slots[origin->producer], &view, origin->producer, origin->seq,
			       position)) {
	case 1: return RDMO_STATUS_OK;
	case 0: return log->ring.tail.stopped ? RDMO_STATUS_TAIL : RDMO_STATUS_FULL;
	default: *position = 0; return RDMO_STATUS_UNKNOWN;
	}
}

enum rdmo_status
rdmo_region_reserve_log(struct rdmo_region *region, const struct rdmo_origin *origin,
			uint64_t bytes, struct rdmo_place *place, bool *is_new)
{
	struct rdmo_log_place *log = &region->log;
	enum rdmo_status status;

	*is_new = false;
	if (origin->producer >= log->producers)
		return RDMO_STATUS_BOUNDS;
	if (origin->seq < rdmo_region_next_seq(region, origin->producer))
		return record_known(log, origin, &place->position);
	status = record_reserve(log, bytes, place);
	*is_new = status == RDMO_STATUS_OK;
	return status;
}

void
rdmo_region_pad_log(const struct rdmo_region *region, const struct rdmo_place *place)
{
	if (place->pad_bytes > 0)
		rdmo_record_pad(record_at(&region->log, place->pad), place->pad, place->pad_bytes);
}

void
rdmo_region_finish_log(struct rdmo_region *region, const struct rdmo_origin *origin,
		       uint64_t position, uint64_t bytes)
{
	struct rdmo_log_place *log = &region->log;

	rdmo_record_seal(record_at(log, position), position, origin->producer, origin->seq,
			 (uint32_t)bytes);
	rdmo_slot_put(&log->slots[origin->producer], origin->seq, position);
}

uint64_t
rdmo_region_ring_addr(const struct rdmo_region *region, uint64_t position)
{
	return region->va + rdmo_log_ring_offset(region->log.producers) +
	       (position & (region->log.ring.capacity - 1));
}

enum rdmo_status
rdmo_region_append_log(struct rdmo_region *region, const struct rdmo_origin *origin,
		       const void *payload, uint64_t bytes, uint64_t *position)
{
	struct rdmo_place place = { 0 };
	bool is_new;
	const enum rdmo_status status =
		rdmo_region_reserve_log(region, origin, bytes, &place, &is_new);

	*position = place.position;
	if (!is_new)
		return status;
	rdmo_region_pad_log(region, &place);
	if (bytes > 0)
		memcpy(record_at(&region->log, place.position) + 1, payload, bytes);
	rdmo_region_finish_log(region, origin, place.position, bytes);
	return RDMO_STATUS_OK;
}

/* Behind each other, from this position on. With a size that the compiler knows there are no calls to copy. */
static __rte_always_inline void
records_write(const struct rdmo_log_place *log, struct rdmo_origin origin, uint64_t position,
	      const uint8_t *payload, const uint64_t bytes, uint64_t stride, uint32_t n)
{
	struct rdmo_log_slot *slot = &log->slots[origin.producer];
	struct rdmo_record *record = record_at(log, position);
	const uint64_t each = rdmo_record_bytes(bytes);

	for (uint32_t i = 0; i < n; i++) {
		payload += stride;
		if (bytes > 0)
			memcpy(record + 1, payload, bytes);
		rdmo_record_seal(record, position, origin.producer, ++origin.seq, (uint32_t)bytes);
		__atomic_store_n(&slot->position[rdmo_slot_index(origin.seq)],
				 rte_cpu_to_le_64(position), __ATOMIC_RELAXED);
		position += each;
		record = (struct rdmo_record *)((uint8_t *)record + each);
	}
	/* Not before its words, wherever the worker is killed. */
	__atomic_store_n(&slot->next_seq, rte_cpu_to_le_64(origin.seq + 1), __ATOMIC_RELEASE);
}

uint32_t
rdmo_region_append_log_alike(struct rdmo_region *region, const struct rdmo_origin *origin,
			     const uint8_t *payload, uint64_t bytes, uint64_t stride, uint32_t n,
			     uint64_t *position)
{
	struct rdmo_ring *ring = &region->log.ring;
	const uint64_t first = ring->tail.reserved, each = rdmo_record_bytes(bytes);
	const uint64_t to_end = ring->capacity - (first & (ring->capacity - 1));
	const uint64_t room = RTE_MIN(ring->capacity - (first - ring->head), RDMO_NONE - first);
	const uint64_t left = RTE_MIN(to_end, room);
	uint32_t count = n;

	/* Seldom: the ring's end, or its reader's. */
	while (count * each > left)
		count--;
	if (count == 0)
		return 0;
	if (bytes == RTE_CACHE_LINE_MIN_SIZE)
		records_write(&region->log, *origin, first, payload, RTE_CACHE_LINE_MIN_SIZE,
			      stride, count);
	else
		records_write(&region->log, *origin, first, payload, bytes, stride, count);
	ring->tail.reserved = first + count * each;
	*position = first;
	return count;
}

void
rdmo_region_undo_log(struct rdmo_region *region, const struct rdmo_origin *origin)
{
	rdmo_slot_void(&region->log.slots[origin->producer], origin->seq);
}

bool
rdmo_region_must_wake(struct rdmo_region *region)
{
	rte_le32_t *is_asleep;

	if (region->bell == 0)
		return false;
	/* Partner: rdmo_log_arm(), which stores it and then looks at the tail. One of both sees what the other has stored. */
	is_asleep = &region->log.header->is_asleep;
	if (__atomic_load_n(is_asleep, __ATOMIC_SEQ_CST) == 0)
		return false;
	__atomic_store_n(is_asleep, 0, __ATOMIC_RELAXED);
	return true;
}

uint64_t
rdmo_region_next_seq(const struct rdmo_region *region, uint32_t producer)
{
	return producer < region->log.producers
		       ? rte_le_to_cpu_64(__atomic_load_n(&region->log.slots[producer].next_seq,
							  __ATOMIC_RELAXED))
		       : 0;
}
