/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Registered memory and fork(). A child shares pages with its parent until one of them writes; the one that writes gets a
 * copy. If that is the parent, the device goes on with a page that the parent no longer has. So registered pages are kept
 * out of children, with madvise(). Regions may overlap: how many of them each range of addresses is in, stands in a step
 * function, an array of the places where it changes.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "fork_private.h"

struct step {
	uintptr_t start; /* from here to the next step's start ... */
	uint32_t count;	 /* ... so many regions */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct step *steps;
static size_t step_count, step_capacity;

/* The first step that starts at `at` or behind. */
static size_t
steps_find(uintptr_t at)
{
	size_t low = 0, high = step_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (steps[middle].start < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Room for two more. */
static int
steps_reserve(void)
{
	const size_t capacity = step_capacity + step_capacity / 2 + 16;
	struct step *grown;

	if (step_count + 2 <= step_capacity)
		return 0;
	grown = realloc(steps, capacity * sizeof(steps[0]));
	if (grown == NULL)
		return -ENOMEM;
	steps = grown;
	step_capacity = capacity;
	return 0;
}

/* A step starts at `at` afterwards; there is room. */
static size_t
steps_split(uintptr_t at)
{
	const size_t i = steps_find(at);

	if (i < step_count && steps[i].start == at)
		return i;
	memmove(&steps[i + 1], &steps[i], (step_count - i) * sizeof(steps[0]));
	steps[i] = (struct step){ .start = at, .count = i > 0 ? steps[i - 1].count : 0 };
	step_count++;
	return i;
}

/* Remove steps between ranges that are now equal. */
static void
steps_merge(size_t from, size_t to)
{
	size_t i;

	for (i = RTE_MIN(to, step_count - 1) + 1; i-- > from;)
		if (steps[i].count == (i > 0 ? steps[i - 1].count : 0)) {
			memmove(&steps[i], &steps[i + 1], (step_count - i - 1) * sizeof(steps[0]));
			step_count--;
		}
}

static int
step_advise(size_t i, int advice)
{
	const uintptr_t start = steps[i].start;

	return madvise((void *)start, steps[i + 1].start - start, advice) == 0 ? 0 : -errno;
}

/* Called with the lock held. */
static int
steps_keep(uintptr_t start, uintptr_t end)
{
	size_t first, last, i;
	int rc = steps_reserve();

	if (rc != 0)
		return rc;
	first = steps_split(start);
	last = steps_split(end);
	for (i = first; i < last; i++) {
		rc = steps[i].count == 0 ? step_advise(i, MADV_DONTFORK) : 0;
		if (rc != 0)
			break;
		steps[i].count++;
	}
	if (rc != 0) {
		/* Back; where it failed, some of the pages may have taken it. */
		step_advise(i, MADV_DOFORK);
		while (i-- > first)
			if (--steps[i].count == 0)
				step_advise(i, MADV_DOFORK);
	}
	steps_merge(first, last);
	return rc;
}

int
rdmapmd_fork_keep(uintptr_t start, uintptr_t end, uintptr_t *kept_start, uintptr_t *kept_end)
{
	/* A mapping of hugepages takes advice for whole ones of its own only. */
	const uintptr_t pages[] = { (uintptr_t)sysconf(_SC_PAGESIZE), UINT64_C(2) << 20,
				    UINT64_C(1) << 30 };
	unsigned int i;
	int rc = -EINVAL;

	for (i = 0; i < RTE_DIM(pages) && rc == -EINVAL; i++) {
		*kept_start = RTE_ALIGN_FLOOR(start, pages[i]);
		*kept_end = RTE_ALIGN_CEIL(end, pages[i]);
		if (*kept_end < end)
			return -EINVAL;
		pthread_mutex_lock(&lock);
		rc = steps_keep(*kept_start, *kept_end);
		pthread_mutex_unlock(&lock);
	}
	return rc;
}

void
rdmapmd_fork_release(uintptr_t start, uintptr_t end)
{
	size_t first, last, i;

	pthread_mutex_lock(&lock);
	/* Both are steps: the region counts on one side of each. But a neighbour may have merged one away. */
	if (steps_reserve() == 0) {
		first = steps_split(start);
		last = steps_split(end);
		for (i = first; i < last; i++)
			if (steps[i].count > 0 && --steps[i].count == 0)
				step_advise(i, MADV_DOFORK);
		steps_merge(first, last);
	}
	if (step_count == 0) {
		free(steps);
		steps = NULL;
		step_capacity = 0;
	}
	pthread_mutex_unlock(&lock);
}
