/* SPDX-License-Identifier: BSD-3-Clause */

#include "iova.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PAGE_BYTES    4096u
#define GAP_PAGES_MAX 16u

/* Where neither EAL nor the C library have memory. */
#define FAR_START  (UINT64_C(1) << 44)
#define FAR_SPREAD (UINT64_C(1) << 40)
#define FAR_END	   (UINT64_C(1) << 46)

void
rnic_iova_init(struct rnic_iova_space *space, uint64_t start, uint64_t end)
{
	*space = (struct rnic_iova_space){ .start = start, .end = end };
}

void
rnic_iova_init_far(struct rnic_iova_space *space)
{
	uint64_t start = 0;

	/* Without randomness only a mistake would be found later. */
	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = (uintptr_t)space * UINT64_C(0x9e3779b97f4a7c15);
	rnic_iova_init(space, FAR_START + start % FAR_SPREAD / PAGE_BYTES * PAGE_BYTES, FAR_END);
}

void
rnic_iova_fini(struct rnic_iova_space *space)
{
	free(space->ranges);
	*space = (struct rnic_iova_space){ 0 };
}

/* At least one unmapped page before each range: what runs over the end of the one before it faults. */
static uint64_t
random_gap(void)
{
	uint8_t byte = 0;

	if (getrandom(&byte, sizeof(byte), GRND_NONBLOCK) != sizeof(byte))
		byte = 0;
	return (uint64_t)(1 + byte % GAP_PAGES_MAX) * PAGE_BYTES;
}

/* First place at or after `from` that is congruent to the address, or UINT64_MAX. */
static uint64_t
place_after(uint64_t from, uint64_t address, uint64_t modulus)
{
	uint64_t distance = (address - from) & (modulus - 1);

	if (from > UINT64_MAX - distance)
		return UINT64_MAX;
	/* Not the address itself: mixing the two up must never work. */
	if (from + distance == address)
		distance += modulus;
	return from > UINT64_MAX - distance ? UINT64_MAX : from + distance;
}

int
rnic_iova_alloc(struct rnic_iova_space *space, uint64_t address, size_t length, uint64_t *iova)
{
	uint64_t modulus, from, start = 0, end;
	uint32_t i;

	if (length == 0 || (address | length) % PAGE_BYTES != 0)
		return -EINVAL;
	if (space->count == space->capacity) {
		uint32_t capacity = space->capacity ? 2 * space->capacity : 64;
		void *grown = realloc(space->ranges, capacity * sizeof(space->ranges[0]));

		if (grown == NULL)
			return -ENOMEM;
		space->ranges = grown;
		space->capacity = capacity;
	}

	modulus = UINT64_C(1) << (63 - __builtin_clzll(length));
	from = space->start;
	for (i = 0; i <= space->count; i++) {
		end = i < space->count ? space->ranges[i].start : space->end;
		start = place_after(from + random_gap(), address, modulus);
		/* More than fits exactly: the gap before what follows. */
		if (start < end && end - start > length)
			break;
		if (i < space->count)
			from = space->ranges[i].start + space->ranges[i].length;
	}
	if (i > space->count)
		return -ENOSPC;
	memmove(&space->ranges[i + 1], &space->ranges[i],
		(space->count - i) * sizeof(space->ranges[0]));
	space->ranges[i] = (struct rnic_iova_range){ .start = start, .length = length };
	space->count++;
	*iova = start;
	return 0;
}

int
rnic_iova_free(struct rnic_iova_space *space, uint64_t iova, size_t length)
{
	uint32_t i;

	for (i = 0; i < space->count; i++)
		if (space->ranges[i].start == iova && space->ranges[i].length == length)
			break;
	if (i == space->count)
		return -ENOENT;
	space->count--;
	memmove(&space->ranges[i], &space->ranges[i + 1],
		(space->count - i) * sizeof(space->ranges[0]));
	return 0;
}
