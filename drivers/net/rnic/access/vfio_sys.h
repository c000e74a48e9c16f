/* SPDX-License-Identifier: BSD-3-Clause */

/* What the kernel is asked by; a test has its own kernel. Returns and errno are those of the system calls. */
#ifndef RNIC_VFIO_SYS_H
#define RNIC_VFIO_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rnic_vfio_sys {
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
	/* `argument` is a pointer, or a number. */
	int (*ioctl)(int fd, unsigned long request, void *argument);
	void *(*mmap)(size_t length, int fd, uint64_t offset);
	int (*munmap)(void *address, size_t length);
	ssize_t (*pread)(int fd, void *data, size_t length, uint64_t offset);
	ssize_t (*pwrite)(int fd, const void *data, size_t length, uint64_t offset);
};
extern const struct rnic_vfio_sys *rnic_vfio_sys;

#endif
