/* SPDX-License-Identifier: BSD-3-Clause */

/**
 * @file
 * Signals eventfds of the client and never sleeps, whatever the client does to them. Inside of the library.
 *
 * The flags of an eventfd are shared with the client, and so is its counter: a write() sleeps if the client makes the
 * one blocking and the other full, at whatever moment. The kernel's own signal, at the end of an asynchronous
 * operation, neither heeds the flags nor waits: a full counter stays full.
 */
#ifndef VFU_EVENTFD_H
#define VFU_EVENTFD_H

#include <linux/aio_abi.h>

struct vfu_eventfd_signaller {
	aio_context_t context; /* 0: this kernel or sandbox has none */
	int empty_fd;	       /* a file without a byte: to read it takes no time */
};

/** @return 0, or -errno: there can be no interrupts. It can be given to _fini() and _check() also then. */
int vfu_eventfd_signaller_init(struct vfu_eventfd_signaller *signaller);
void vfu_eventfd_signaller_fini(struct vfu_eventfd_signaller *signaller);

/** Is fd an eventfd? Blocks: never. @return -EINVAL it is not, -ENOTSUP there can be no interrupts. */
int vfu_eventfd_check(const struct vfu_eventfd_signaller *signaller, int fd);

/** Add one to the eventfd. Threads: any. Blocks: never. */
void vfu_eventfd_signal(const struct vfu_eventfd_signaller *signaller, int fd);

#endif
