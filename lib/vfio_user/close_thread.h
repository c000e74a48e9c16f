/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A thread that closes the descriptors of strangers. Inside of the library.
 *
 * close() can wait for whoever is behind the descriptor: a file system that a program serves is asked to flush, a TCP
 * socket lingers. A client can be that program. What it sends and the server has no use for is therefore closed here, and
 * it is this thread that waits. munmap() of a client's memory takes as long as the client has made it, mmap() waits for who
 * cuts or punches the file meanwhile, and hugepages have to be zeroed at their first touch: that is done here, too. What is to
 * be mapped comes before what is to be unmapped: somebody waits for it.
 */
#ifndef VFU_CLOSE_THREAD_H
#define VFU_CLOSE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/** Descriptors not yet closed; then no more are taken from clients. */
#define VFU_CLOSE_THREAD_LIMIT 64

/** Files not yet mapped, but for that of the client that is served: then no more are. Each keeps a descriptor open. */
#define VFU_CLOSE_THREAD_FILES 16

/** Mappings not yet unmapped; then no more are made: as much as one client may have, and no more of them than it may have regions. */
#define VFU_CLOSE_THREAD_MAPPED	      8192
#define VFU_CLOSE_THREAD_MAPPED_BYTES (UINT64_C(1) << 42)

struct vfu_close_thread;

enum vfu_mapping_state {
	VFU_MAPPED,
	VFU_MAPPING,  /**< the thread has it */
	VFU_UNWANTED, /**< ... and is to unmap it then */
};

/** A mapping of a client's file; the start of what malloc() gave. */
struct vfu_mapping {
	SLIST_ENTRY(vfu_mapping) next;
	uint8_t *address; /**< NULL: it could not be mapped */
	uint64_t length;
	uint64_t offset;     /**< in the file */
	uint64_t page_bytes; /**< of the file: it can only be unmapped by so much */
	int prot;
	int fd;	       /**< while it is being mapped */
	bool populate; /**< where the pages are hugepages: they are to be made */
	_Atomic(enum vfu_mapping_state) state;
	int error; /**< why it could not be mapped or populated, or 0 */
};
SLIST_HEAD(vfu_mappings, vfu_mapping);

/** Start the thread. It blocks all signals. regions: that the client may have. @return 0 or -errno. */
int vfu_close_thread_create(struct vfu_close_thread **close_thread, unsigned int regions);

/** The thread ends once it has closed what it was given; nobody waits for that. NULL is fine. */
void vfu_close_thread_destroy(struct vfu_close_thread *close_thread);

/**
 * Close fd, here if that cannot take long: a file of little memory. Without one (NULL) always here.
 *
 * Threads: one at a time. @return whether the thread has to do it.
 */
bool vfu_close_thread_close(struct vfu_close_thread *close_thread, int fd);

/**
 * Unmap and free() each, in the thread and in pieces, so that nobody in the process waits long who wants to map something;
 * here if there is no thread. The caller knows that nobody looks there any more. The list is empty
 * then.
 */
void vfu_close_thread_unmap(struct vfu_close_thread *close_thread, struct vfu_mappings *mappings);

/**
 * Have the thread map the file, and make its hugepages: until that is done the state is VFU_MAPPING, and then error says how it
 * went. Without one (NULL) it is done here. Owner: fd stays the caller's.
 *
 * @return 0 or -ENOMEM, also where there is no descriptor left.
 */
int vfu_close_thread_map(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping,
			 int fd);

/** Readable when something has been mapped since the last vfu_close_thread_look(). */
int vfu_close_thread_fd(const struct vfu_close_thread *close_thread);
/** NULL is fine. Threads: one at a time, together with vfu_close_thread_map(). */
void vfu_close_thread_look(struct vfu_close_thread *close_thread);

/** The owner of this mapping has no use for it any more, whatever has become of it: it is unmapped and freed. */
void vfu_close_thread_abandon(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping);

/** Is so much not unmapped yet, or not mapped yet that nobody wants any more, that no more can be mapped? */
bool vfu_close_thread_behind(const struct vfu_close_thread *close_thread);

/** Are so many descriptors not closed yet that no more can be taken? */
bool vfu_close_thread_full(const struct vfu_close_thread *close_thread);

#endif
