/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/vfio_sys.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int
kernel_open(const char *path, int flags)
{
	return open(path, flags);
}

static int
kernel_ioctl(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

static void *
kernel_mmap(size_t length, int fd, uint64_t offset)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
}

static ssize_t
kernel_pread(int fd, void *data, size_t length, uint64_t offset)
{
	return pread(fd, data, length, (off_t)offset);
}

static ssize_t
kernel_pwrite(int fd, const void *data, size_t length, uint64_t offset)
{
	return pwrite(fd, data, length, (off_t)offset);
}

static const struct rnic_vfio_sys kernel = {
	.open = kernel_open,
	.close = close,
	.ioctl = kernel_ioctl,
	.mmap = kernel_mmap,
	.munmap = munmap,
	.pread = kernel_pread,
	.pwrite = kernel_pwrite,
};
const struct rnic_vfio_sys *rnic_vfio_sys = &kernel;
