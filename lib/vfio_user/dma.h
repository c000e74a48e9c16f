/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * The server's table of client memory that the device may reach. Inside of the library.
 *
 * Clients behind an IOMMU map one big file page by page, so a file is mapped once, as a whole if possible, and regions share that
 * mapping.
 */
#ifndef VFU_DMA_H
#define VFU_DMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "close_thread.h"
#include "proto.h"
#include "types.h"

/* A mapping of a file, or of a piece of it, shared by regions. */
struct vfu_dma_file {
	struct vfu_mapping mapping; /* first: the close thread frees it */
	dev_t dev;
	ino_t ino;
	uint64_t holes; /* bytes, when it was mapped */
	bool whole;	/* else only what a region needs of it */
	unsigned int regions;
};

struct vfu_dma_entry {
	struct vfu_dma_region region;
	struct vfu_dma_file *file; /* NULL: no descriptor came */
};

struct vfu_dma_table {
	struct vfu_dma_entry *entries; /* by iova, disjoint */
	unsigned int count;
	unsigned int room;
	unsigned int max;
	uint64_t page_bytes;
	bool any_file; /* not only memory files */
	struct vfu_close_thread *close_thread;
	void *files; /* struct vfu_dma_file, a tree: by file, then by offset */
	unsigned int nfiles;
	uint64_t file_bytes; /* of all mappings */
	/* Being mapped, without a region yet: the next request is the same one again. */
	struct vfu_dma_file *coming;
};

/* close_thread: maps and unmaps; may be NULL. */
void vfu_dma_table_init(struct vfu_dma_table *table, unsigned int max, uint64_t page_bytes,
			bool any_file, struct vfu_close_thread *close_thread);
void vfu_dma_table_fini(struct vfu_dma_table *table);

/**
 * Check a request and map its memory. fd is -1 or stays the caller's; it is not needed after the call.
 *
 * Blocks: with a close thread, never.
 *
 * @return The index of the new entry, or
 *         -EINVAL wrap, alignment, flags, or a range outside the file, -EEXIST overlap, -ENOSPC too many or too much,
 *         -EACCES the descriptor does not permit it, -ENOTSUP no memory file, -ENOMEM, also if there are fewer hugepages than the
 *         file has holes, -EAGAIN the close thread is behind, -EINPROGRESS it is mapping this one: call again.
 */
int vfu_dma_table_map(struct vfu_dma_table *table, const struct vfu_dma_map *request, int fd);

/** The request whose file is being mapped will not be repeated. */
void vfu_dma_table_give_up(struct vfu_dma_table *table);

/**
 * Find the entries within [iova, iova + size): *first, and the count returned.
 *
 * @return -EINVAL wrap, or an entry is only partly in the range.
 */
int vfu_dma_table_range(const struct vfu_dma_table *table, uint64_t iova, uint64_t size,
			unsigned int *first);

/** Remove entries and unmap their memory, here or in the close thread. */
void vfu_dma_table_remove(struct vfu_dma_table *table, unsigned int first, unsigned int count);

/** The entry that holds all of [iova, iova + size), or NULL. */
const struct vfu_dma_entry *vfu_dma_table_find(const struct vfu_dma_table *table, uint64_t iova,
					       uint64_t size);

#endif
