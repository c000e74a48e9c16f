/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/iova.h"

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
/* No range has an address that looks like a small number, or like none. */
#define LOW_END	       (UINT64_C(1) << 20)
#define SMALLEST_SPACE (UINT64_C(1) << 20)

void
rnic_iova_init(struct rnic_iova_space *space, uint64_t start, uint64_t end)
{
	*space = (struct rnic_iova_space){ .start = start, .end = end };
}

/* A page at or after `start`, by less than the spread. */
static uint64_t
random_start(uint64_t start, uint64_t spread)
{
	uint64_t number = 0;

	/* Without randomness only a mistake would be found later. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uintptr_t)&number * UINT64_C(0x9e3779b97f4a7c15);
	return (start + number % spread) / PAGE_BYTES * PAGE_BYTES;
}

void
rnic_iova_init_far(struct rnic_iova_space *space)
{
	rnic_iova_init(space, random_start(FAR_START, FAR_SPREAD), FAR_END);
}

static int
by_first(const void *a, const void *b)
{
	const struct rnic_iova_window *one = a, *other = b;

	return (one->first > other->first) - (one->first < other->first);
}

/* The largest window that they make, within the addresses that are ever used. */
static struct rnic_iova_window
largest_window(struct rnic_iova_window *windows, uint32_t count)
{
	struct rnic_iova_window largest = { LOW_END, LOW_END }, joined = { LOW_END, LOW_END };
	uint32_t i;

	qsort(windows, count, sizeof(windows[0]), by_first);
	for (i = 0; i < count; i++) {
		/* From here on the ends are the first address that is not in it. */
		uint64_t start = windows[i].first > LOW_END ? windows[i].first : LOW_END;
		uint64_t end = windows[i].last < FAR_END - 1 ? windows[i].last + 1 : FAR_END;

		if (end <= start)
			continue;
		if (start > joined.last)
			joined = (struct rnic_iova_window){ start, end };
		else if (end > joined.last)
			joined.last = end;
		if (joined.last - joined.first > largest.last - largest.first)
			largest = joined;
	}
	return largest;
}

int
rnic_iova_init_windows(struct rnic_iova_space *space, struct rnic_iova_window *windows,
		       uint32_t count)
{
	struct rnic_iova_window window = largest_window(windows, count);
	const uint64_t bytes = window.last - window.first;

	rnic_iova_init(space, 0, 0);
	if (bytes < SMALLEST_SPACE)
		return -ENOSPC;
	if (window.first <= FAR_START && window.last == FAR_END)
		rnic_iova_init_far(space);
	else
		rnic_iova_init(space, random_start(window.first + bytes / 4, bytes / 16),
			       window.last / PAGE_BYTES * PAGE_BYTES);
	return 0;
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

bool
rnic_iova_has(const struct rnic_iova_space *space, uint64_t iova, size_t length)
{
	uint32_t i;

	for (i = 0; i < space->count; i++)
		if (space->ranges[i].start == iova && space->ranges[i].length == length)
			return true;
	return false;
}
