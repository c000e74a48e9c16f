/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A thread that closes untrusted descriptors. Inside of the library.
 *
 * close() can wait for the program behind the descriptor: a file system in user space must flush, a TCP socket lingers. A client can
 * be that program. So this thread closes descriptors that clients send and the server does not need, and waits in its place.
 * munmap() of a client's memory takes as long as a client wishes, mmap() waits for a process that truncates or punches the file,
 * and hugepages are zeroed at their first touch: this thread does that, too. It maps before it unmaps, as a client waits for a map.
 */
#ifndef VFU_CLOSE_THREAD_H
#define VFU_CLOSE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/** Limit of descriptors not yet closed, beyond which the server accepts none from clients. */
#define VFU_CLOSE_THREAD_LIMIT 64

/** Limit of files not yet mapped, besides that of the client that is served. Each keeps a descriptor open. */
#define VFU_CLOSE_THREAD_FILES 16

/** Limits of mappings not yet unmapped, beyond which nothing is mapped: what one client may have, and at most its regions. */
#define VFU_CLOSE_THREAD_MAPPED	      8192
#define VFU_CLOSE_THREAD_MAPPED_BYTES (UINT64_C(1) << 42)

struct vfu_close_thread;

enum vfu_mapping_state {
	VFU_MAPPED,
	VFU_MAPPING,  /**< the thread is to map it */
	VFU_UNWANTED, /**< ... and to unmap it again */
};

/** A mapping of a client's file; the start of a malloc() block. */
struct vfu_mapping {
	SLIST_ENTRY(vfu_mapping) next;
	uint8_t *address; /**< NULL: it could not be mapped */
	uint64_t length;
	uint64_t offset;     /**< in the file */
	uint64_t page_bytes; /**< of the file: the unit of unmapping */
	int prot;
	int fd;	       /**< while it is being mapped */
	bool populate; /**< create the pages if they are hugepages */
	_Atomic(enum vfu_mapping_state) state;
	int error; /**< why it could not be mapped or populated, or 0 */
};
SLIST_HEAD(vfu_mappings, vfu_mapping);

/** Start the thread. It blocks all signals. regions: the most that a client may have. @return 0 or -errno. */
int vfu_close_thread_create(struct vfu_close_thread **close_thread, unsigned int regions);

/** The thread ends when it has closed everything; the call does not wait for that. NULL is allowed. */
void vfu_close_thread_destroy(struct vfu_close_thread *close_thread);

/**
 * Close fd: in the caller if that cannot take long (a file of little memory) or if there is no thread (NULL).
 *
 * Threads: one at a time. @return whether the thread has to do it.
 */
bool vfu_close_thread_close(struct vfu_close_thread *close_thread, int fd);

/**
 * Unmap and free() each mapping, in the thread and in pieces, so that other threads of the process need not wait long to map
 * something; in the caller if there is no thread. The caller ensures that the memory is no longer used. The list is empty
 * afterwards.
 */
void vfu_close_thread_unmap(struct vfu_close_thread *close_thread, struct vfu_mappings *mappings);

/**
 * Let the thread map the file and create its hugepages; the state is VFU_MAPPING until that is done, and then `error` has the
 * result. Without a thread (NULL) the caller does it. Owner: fd stays the caller's.
 *
 * @return 0 or -ENOMEM, also where there is no descriptor left.
 */
int vfu_close_thread_map(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping,
			 int fd);

/** Readable when something has been mapped since the last vfu_close_thread_look(). */
int vfu_close_thread_fd(const struct vfu_close_thread *close_thread);
/** Count what has been mapped. NULL is allowed. Threads: one at a time, together with vfu_close_thread_map(). */
void vfu_close_thread_look(struct vfu_close_thread *close_thread);

/** Give up a mapping, whatever its state: it is unmapped and freed. */
void vfu_close_thread_abandon(struct vfu_close_thread *close_thread, struct vfu_mapping *mapping);

/** Whether so much is not yet unmapped, or not yet mapped, that nothing more can be mapped. */
bool vfu_close_thread_behind(const struct vfu_close_thread *close_thread);

/** Whether so many descriptors are not yet closed that no more can be accepted. */
bool vfu_close_thread_full(const struct vfu_close_thread *close_thread);

#endif
