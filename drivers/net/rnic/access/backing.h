/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What file is behind memory of EAL: another process can be given the memory only as a piece of a file. EAL has a file for
 * all memory that it makes itself: one per hugepage, or one per list of pages (--single-file-segments, --no-huge).
 *
 * Threads: any, but not where EAL's memory lock is held for writing (memory event callbacks).
 */
#ifndef RNIC_BACKING_H
#define RNIC_BACKING_H

#include <stddef.h>
#include <stdint.h>

struct rnic_backing {
	int fd; /* EAL's */
	uint64_t offset;
	size_t length;
};

/*
 * The file behind the start of [address, address + length), and how much of the range it holds in one piece (at least a
 * page). -ENOENT: not EAL's memory; -ENOTSUP: memory that EAL has no file of.
 */
int rnic_backing_find(const void *address, size_t length, struct rnic_backing *backing);

#endif
