/* SPDX-License-Identifier: BSD-3-Clause */

#include "nth.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "core/dev.h"

struct unit_nth unit_nth;
_Thread_local bool unit_nth_counts;

int
unit_nth_error(enum unit_nth_of of)
{
	return of == UNIT_COMMANDS || of == UNIT_MAPS || of == UNIT_INTERRUPTS ? -EREMOTEIO
									       : -ENOMEM;
}

static bool
fails_now(enum unit_nth_of of)
{
	if (!unit_nth_counts || unit_nth.of != of || unit_nth.left == 0 || --unit_nth.left > 0)
		return false;
	return unit_nth.failed = true;
}

int __real_rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			 uint32_t in_bytes, void *out, uint32_t out_bytes);
int __wrap_rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
			 uint32_t in_bytes, void *out, uint32_t out_bytes);
int __real_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);
int __wrap_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number);
int __real_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);
int __wrap_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
/* As mmap() is called where offsets have 64 bits. */
void *__real_mmap64(void *address, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t length, int prot, int flags, int fd, off_t offset);
void *__real_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket);
void *__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket);
int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

static bool
command_fails(uint16_t opcode)
{
	if (!fails_now(UNIT_COMMANDS))
		return false;
	unit_nth.opcode = opcode;
	return true;
}

int
__wrap_rnic_cmd_exec(struct rnic_dev *dev, uint16_t opcode, uint16_t op_mod, void *in,
		     uint32_t in_bytes, void *out, uint32_t out_bytes)
{
	if (command_fails(opcode))
		return unit_nth_error(UNIT_COMMANDS);
	return __real_rnic_cmd_exec(dev, opcode, op_mod, in, in_bytes, out, out_bytes);
}

int
__wrap_rnic_cmd_alloc(struct rnic_dev *dev, uint16_t opcode, uint32_t *number)
{
	return command_fails(opcode) ? unit_nth_error(UNIT_COMMANDS)
				     : __real_rnic_cmd_alloc(dev, opcode, number);
}

/*
 * What goes, goes: an object that stays keeps what it refers to. Whether this comes by above, from the file that has both, is up to the
 * compiler and the linker.
 */
int
__wrap_rnic_cmd_destroy(struct rnic_dev *dev, uint16_t opcode, uint32_t number)
{
	const bool counts = unit_nth_counts;
	int rc;

	unit_nth_counts = false;
	rc = __real_rnic_cmd_destroy(dev, opcode, number);
	unit_nth_counts = counts;
	return rc;
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fails_now(UNIT_ALLOCATIONS) ? NULL : __real_calloc(count, size);
}

void *
__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails_now(UNIT_ALLOCATIONS) ? NULL : __real_aligned_alloc(align, size);
}

void *
__wrap_mmap64(void *address, size_t length, int prot, int flags, int fd, off_t offset)
{
	if (fails_now(UNIT_SYSTEM)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(address, length, prot, flags, fd, offset);
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	return fails_now(UNIT_HEAP) ? NULL : __real_rte_zmalloc_socket(type, size, align, socket);
}

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (fails_now(UNIT_INTERRUPTS)) {
		errno = EREMOTEIO;
		return -1;
	}
	return __real_epoll_ctl(epfd, op, fd, event);
}

static const struct rnic_access_ops *real;

static int
failing_map(struct rnic_access *access, void *address, size_t length, unsigned int rights,
	    uint64_t *iova)
{
	return fails_now(UNIT_MAPS) ? unit_nth_error(UNIT_MAPS)
				    : real->map(access, address, length, rights, iova);
}

void
unit_nth_take_maps(struct rnic_dev *dev)
{
	static struct rnic_access_ops ops;

	real = dev->access->ops;
	ops = *real;
	ops.map = failing_map;
	dev->access->ops = &ops;
}
