/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * A thread that closes the descriptors of strangers. Inside of the library.
 *
 * close() can wait for whoever is behind the descriptor: a file system that a program serves is asked to flush, a TCP
 * socket lingers. A client can be that program. What it sends and the server has no use for is therefore closed here, and
 * it is this thread that waits.
 */
#ifndef VFU_CLOSER_H
#define VFU_CLOSER_H

#include <stdbool.h>

#define VFU_CLOSER_LIMIT 64 /**< descriptors not yet closed; then no more are taken from clients */

struct vfu_closer;

/** Start the thread. It blocks all signals. @return 0 or -errno. */
int vfu_closer_create(struct vfu_closer **closer);

/** The thread ends once it has closed what it was given; nobody waits for that. NULL is fine. */
void vfu_closer_destroy(struct vfu_closer *closer);

/**
 * Close fd, here if that cannot wait: a file of memory. Without a closer (NULL) always here.
 *
 * Threads: one at a time. @return whether the thread has to do it.
 */
bool vfu_closer_close(struct vfu_closer *closer, int fd);

/** Are so many descriptors not closed yet that no more can be taken? */
bool vfu_closer_full(const struct vfu_closer *closer);

#endif
