/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Signals eventfds of the client without ever sleeping. Inside of the library.
 *
 * The client shares the flags and the counter of an eventfd: a write() sleeps if the client makes it blocking and the counter full, at
 * any moment. The kernel's own signal at the end of an asynchronous operation ignores the flags and does not wait: a full counter
 * stays full.
 */
#ifndef VFU_EVENTFD_H
#define VFU_EVENTFD_H

#include <linux/aio_abi.h>

struct vfu_eventfd_signaller {
	aio_context_t context; /* 0: this kernel or sandbox has none */
	int empty_fd;	       /* an empty file: reading it takes no time */
};

/** @return 0, or -errno: interrupts are impossible. _fini() and _check() may be called also then. */
int vfu_eventfd_signaller_init(struct vfu_eventfd_signaller *signaller);
void vfu_eventfd_signaller_fini(struct vfu_eventfd_signaller *signaller);

/** Whether fd is an eventfd. Blocks: never. @return 0, -EINVAL it is not, -ENOTSUP interrupts are impossible. */
int vfu_eventfd_check(const struct vfu_eventfd_signaller *signaller, int fd);

/** Add one to the eventfd. Threads: any. Blocks: never. */
void vfu_eventfd_signal(const struct vfu_eventfd_signaller *signaller, int fd);

#endif
