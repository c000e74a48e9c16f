/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A thread that closes the descriptors of strangers. Inside of the library.
 *
 * close() can wait for whoever is behind the descriptor: a file system that a program serves is asked to flush, a TCP
 * socket lingers. A client can be that program. What it sends and the server has no use for is therefore closed here, and
 * it is this thread that waits. munmap() of a client's memory takes as long as the client has made it; that waits here, too, and so does the first touch of hugepages, each of which has to be
 * zeroed.
 */
#ifndef VFU_CLOSER_H
#define VFU_CLOSER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define VFU_CLOSER_LIMIT 64 /**< descriptors not yet closed; then no more are taken from clients */

/** Mappings not yet unmapped; then no more are made: as much as one client may have, and no more of them than it may have regions. */
#define VFU_CLOSER_MAPPED	8192
#define VFU_CLOSER_MAPPED_BYTES (UINT64_C(1) << 42)

struct vfu_closer;

enum vfu_mapping_state {
	VFU_MAPPED,
	VFU_POPULATING, /**< the thread is at it */
	VFU_UNWANTED,	/**< ... and is to unmap it then */
};

/** A mapping of a client's file; the start of what malloc() gave. */
struct vfu_mapping {
	SLIST_ENTRY(vfu_mapping) next;
	uint8_t *address;
	uint64_t length;
	uint64_t page_bytes; /**< of the file: it can only be unmapped by so much */
	int prot;
	_Atomic(enum vfu_mapping_state) state;
	int error; /**< why it could not be populated, or 0 */
};
SLIST_HEAD(vfu_mappings, vfu_mapping);

/** Start the thread. It blocks all signals. regions: that the client may have. @return 0 or -errno. */
int vfu_closer_create(struct vfu_closer **closer, unsigned int regions);

/** The thread ends once it has closed what it was given; nobody waits for that. NULL is fine. */
void vfu_closer_destroy(struct vfu_closer *closer);

/**
 * Close fd, here if that cannot take long: a file of little memory. Without a closer (NULL) always here.
 *
 * Threads: one at a time. @return whether the thread has to do it.
 */
bool vfu_closer_close(struct vfu_closer *closer, int fd);

/**
 * Unmap and free() each, in the thread and in pieces, so that nobody in the process waits long who wants to map something;
 * here if there is no thread. The caller knows that nobody looks there any more. The list is empty
 * then.
 */
void vfu_closer_unmap(struct vfu_closer *closer, struct vfu_mappings *mappings);

/**
 * Have the thread touch all pages: its state is VFU_POPULATING until that is done, and then error says how it went. Without a
 * closer (NULL) it is done here.
 */
void vfu_closer_populate(struct vfu_closer *closer, struct vfu_mapping *mapping);

/** The owner of this mapping has no use for it any more, populated or not: it is unmapped and freed. */
void vfu_closer_abandon(struct vfu_closer *closer, struct vfu_mapping *mapping);

/** Is so much not unmapped yet that no more can be mapped? */
bool vfu_closer_behind(const struct vfu_closer *closer);

/** Are so many descriptors not closed yet that no more can be taken? */
bool vfu_closer_full(const struct vfu_closer *closer);

#endif
