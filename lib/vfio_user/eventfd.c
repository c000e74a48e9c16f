/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eventfd.h"

/* The head of the ring of completions, which the kernel maps at the context: its ABI since it has them. */
struct vfu_aio_ring {
	unsigned int id;
	unsigned int nr;
	unsigned int head; /* ours */
	unsigned int tail; /* the kernel's */
	unsigned int magic;
};

#define VFU_AIO_RING_MAGIC 0xa10a10a1u
#define VFU_AIO_NO_FLAGS   (~0) /* no kernel knows all of these */

/* One for the process, for ever: to destroy it takes the kernel tens of milliseconds. A child does not inherit it. */
static pthread_mutex_t vfu_aio_lock = PTHREAD_MUTEX_INITIALIZER;
static aio_context_t vfu_aio_context;
static pid_t vfu_aio_pid;

static int
vfu_aio_context_get(aio_context_t *context)
{
	aio_context_t made = 0;
	int rc = 0;

	pthread_mutex_lock(&vfu_aio_lock);
	if (vfu_aio_pid != getpid()) {
		if (syscall(SYS_io_setup, 1, &made) != 0)
			rc = -errno;
		else if (((const struct vfu_aio_ring *)(uintptr_t)made)->magic !=
			 VFU_AIO_RING_MAGIC)
			rc = -ENOTSUP;
		if (rc == -ENOTSUP)
			syscall(SYS_io_destroy, made);
		if (rc == 0) {
			vfu_aio_context = made;
			vfu_aio_pid = getpid();
		}
	}
	*context = rc == 0 ? vfu_aio_context : 0;
	pthread_mutex_unlock(&vfu_aio_lock);
	return rc;
}

int
vfu_eventfd_signaller_init(struct vfu_eventfd_signaller *signaller)
{
	signaller->context = 0;
	signaller->empty_fd = memfd_create("vfio-user-nothing", MFD_CLOEXEC);
	if (signaller->empty_fd < 0)
		return -errno;
	return vfu_aio_context_get(&signaller->context);
}

void
vfu_eventfd_signaller_fini(struct vfu_eventfd_signaller *signaller)
{
	signaller->context = 0;
	if (signaller->empty_fd >= 0)
		close(signaller->empty_fd);
	signaller->empty_fd = -1;
}

/* Read a byte of the file that has none and tell fd. It is over when the call returns. */
static int
vfu_eventfd_submit(const struct vfu_eventfd_signaller *signaller, int fd, int flags)
{
	char byte;
	struct iocb read = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = signaller->empty_fd,
		.aio_buf = (uintptr_t)&byte,
		.aio_nbytes = 1,
		.aio_rw_flags = flags,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = fd,
	};
	struct iocb *reads[] = { &read };

	return syscall(SYS_io_submit, signaller->context, 1, reads) == 1 ? 0 : -errno;
}

/* The kernel looks at the eventfd before it looks at the flags, and refuses these: nobody is told. */
int
vfu_eventfd_check(const struct vfu_eventfd_signaller *signaller, int fd)
{
	if (signaller->context == 0)
		return -ENOTSUP;
	return vfu_eventfd_submit(signaller, fd, VFU_AIO_NO_FLAGS) == -EOPNOTSUPP ? 0 : -EINVAL;
}

void
vfu_eventfd_signal(const struct vfu_eventfd_signaller *signaller, int fd)
{
	struct vfu_aio_ring *ring = (void *)(uintptr_t)signaller->context;

	/* It fails when the kernel has no memory, as a write() would; nobody could do more about it. */
	if (ring == NULL || vfu_eventfd_submit(signaller, fd, 0) != 0)
		return;
	/*
	 * What was read is of no interest; the kernel only wants the slots of the ring back. Of several threads a slower one
	 * may take some from it again: there are more than threads, and the next signal gives them back.
	 */
	__atomic_store_n(&ring->head, __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}
