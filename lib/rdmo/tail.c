/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include "tail.h"

bool
rdmo_tail_moved(struct rdmo_tail *tail, const struct rdmo_tail_move *move, uint64_t found)
{
	if (found != move->compare) {
		tail->stopped = true;
		return false;
	}
	tail->published = move->swap;
	return true;
}

bool
rdmo_tail_publish(struct rdmo_tail *tail, rte_le64_t *word)
{
	const struct rdmo_tail_move move = rdmo_tail_move(tail);
	rte_le64_t found = rte_cpu_to_le_64(move.compare);

	/* Release for who loads the tail; and before whether a log's reader sleeps is looked at: rdmo_region_must_wake(). */
	__atomic_compare_exchange_n(word, &found, rte_cpu_to_le_64(move.swap), false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	return rdmo_tail_moved(tail, &move, rte_le_to_cpu_64(found));
}

/* ---- Queues ---- */

void
rdmo_queue_begin(struct rdmo_queue *queue, uint64_t va, uint64_t len, uint64_t tail)
{
	queue->begin = va;
	queue->end = va + len;
	rdmo_tail_begin(&queue->tail, tail);
}

/* No sum that could wrap. */
enum rdmo_status
rdmo_queue_room(const struct rdmo_queue *queue, uint64_t tail, uint64_t bytes)
{
	if (tail < queue->begin || tail > queue->end)
		return RDMO_STATUS_TAIL;
	return bytes <= queue->end - tail ? RDMO_STATUS_OK : RDMO_STATUS_FULL;
}

enum rdmo_status
rdmo_queue_reserve(struct rdmo_queue *queue, uint64_t bytes, uint64_t *address)
{
	struct rdmo_tail *tail = &queue->tail;
	const enum rdmo_status status =
		tail->stopped ? RDMO_STATUS_TAIL : rdmo_queue_room(queue, tail->reserved, bytes);

	if (status != RDMO_STATUS_OK)
		return status;
	*address = tail->reserved;
	tail->reserved += bytes;
	return RDMO_STATUS_OK;
}

/* How many of so many bytes each fit behind a tail that has room for one: `n` at most. */
static uint32_t
queue_fits(const struct rdmo_queue *queue, uint64_t tail, uint64_t bytes, uint32_t n)
{
	const uint64_t room = queue->end - tail;

	if (bytes <= UINT32_MAX && n * bytes <= room)
		return n;
	return (uint32_t)RTE_MIN(room / bytes, n);
}

enum rdmo_status
rdmo_queue_share(const struct rdmo_queue *queue, rte_le64_t *word, uint64_t bytes, uint32_t *n,
		 uint64_t *address)
{
	rte_le64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
	enum rdmo_status status;
	uint32_t count;

	do {
		*address = rte_le_to_cpu_64(found);
		status = rdmo_queue_room(queue, *address, bytes);
		if (status != RDMO_STATUS_OK)
			return status;
		count = queue_fits(queue, *address, bytes, *n);
		/* Of the payload the tail says nothing here, so it orders nothing. */
	} while (!__atomic_compare_exchange_n(word, &found,
					      rte_cpu_to_le_64(*address + count * bytes), true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*n = count;
	return RDMO_STATUS_OK;
}

/* ---- Rings ---- */

bool
rdmo_ring_begin(struct rdmo_ring *ring, uint64_t capacity, uint64_t tail, uint64_t head)
{
	*ring = (struct rdmo_ring){ .head = tail, .capacity = capacity };
	rdmo_tail_begin(&ring->tail, tail);
	ring->tail.stopped =
		head > tail || tail - head > capacity || (head | tail) % RDMO_RECORD_ALIGN != 0;
	if (!ring->tail.stopped)
		ring->head = head;
	return !ring->tail.stopped;
}

bool
rdmo_ring_release(struct rdmo_ring *ring, uint64_t head)
{
	if (head < ring->head || head > ring->tail.published || head % RDMO_RECORD_ALIGN != 0)
		return false;
	ring->head = head;
	return true;
}

enum rdmo_status
rdmo_ring_reserve(struct rdmo_ring *ring, uint64_t length, struct rdmo_place *place)
{
	struct rdmo_tail *tail = &ring->tail;
	uint64_t bytes, rest, pad;

	if (tail->stopped)
		return RDMO_STATUS_TAIL;
	/* Half of the ring can be had wherever the tail is: the rest up to the end, if that is less, and the record. */
	if (length > UINT32_MAX || rdmo_record_bytes(length) > ring->capacity / 2)
		return RDMO_STATUS_LENGTH;
	bytes = rdmo_record_bytes(length);
	rest = ring->capacity - (tail->reserved & (ring->capacity - 1));
	pad = bytes <= rest ? 0 : rest;
	if (pad + bytes > ring->capacity - (tail->reserved - ring->head) ||
	    pad + bytes > RDMO_NONE - tail->reserved)
		return RDMO_STATUS_FULL;
	*place = (struct rdmo_place){
		.position = tail->reserved + pad,
		.pad = tail->reserved,
		.pad_bytes = pad,
	};
	tail->reserved += pad + bytes;
	return RDMO_STATUS_OK;
}
