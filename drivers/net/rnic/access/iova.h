/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Addresses for the device: an allocator of ranges in an IOVA space. Ranges are unlike the memory's own addresses and
 * start at random distances, so that code that mixes the two up fails at once; a freed range is used again.
 *
 * Threads: the caller's lock.
 */
#ifndef RNIC_IOVA_H
#define RNIC_IOVA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_iova_range {
	uint64_t start, length;
};

struct rnic_iova_space {
	uint64_t start, end;
	struct rnic_iova_range *ranges; /* sorted, apart from each other */
	uint32_t count, capacity;
};

/* An empty space of [start, end). */
void rnic_iova_init(struct rnic_iova_space *space, uint64_t start, uint64_t end);
/* The space for a device that takes addresses of 46 bits: far from all memory of the process, the start is random. */
void rnic_iova_init_far(struct rnic_iova_space *space);
/*
 * The space for a device whose IOMMU takes only the addresses of some windows, in any order, some of which may overlap or
 * touch: part of the largest one that they make, far from its low end where there is room. Sorts them. -ENOSPC: all empty.
 */
struct rnic_iova_window {
	uint64_t first, last;
};
int rnic_iova_init_windows(struct rnic_iova_space *space, struct rnic_iova_window *windows,
			   uint32_t count);
void rnic_iova_fini(struct rnic_iova_space *space);

/*
 * A range for [address, address + length), congruent to it modulo the largest power of two that fits the length.
 * Both are multiples of 4 KiB. -ENOSPC: no room, -ENOMEM, -EINVAL.
 */
int rnic_iova_alloc(struct rnic_iova_space *space, uint64_t address, size_t length, uint64_t *iova);
/* A range as it was allocated, or -ENOENT. */
int rnic_iova_free(struct rnic_iova_space *space, uint64_t iova, size_t length);
/* Is there such a one? */
bool rnic_iova_has(const struct rnic_iova_space *space, uint64_t iova, size_t length);

#endif
