/* SPDX-License-Identifier: BSD-3-Clause */

#include "access/backing.h"

#include <errno.h>

#include <rte_memory.h>

/* The segment that holds the address, as a piece of a file. */
static int
find_segment(const void *address, struct rnic_backing *piece)
{
	const struct rte_memseg_list *list = rte_mem_virt2memseg_list(address);
	struct rte_memseg *segment;
	size_t offset, inside;

	if (list == NULL || list->external)
		return -ENOENT;
	segment = rte_mem_virt2memseg(address, list);
	if (segment == NULL || segment->len == 0)
		return -ENOENT;
	piece->fd = rte_memseg_get_fd(segment);
	if (piece->fd < 0 || rte_memseg_get_fd_offset(segment, &offset) != 0)
		return -ENOTSUP;
	inside = (size_t)((uintptr_t)address - (uintptr_t)segment->addr);
	piece->offset = offset + inside;
	piece->length = segment->len - inside;
	return 0;
}

int
rnic_backing_find(const void *address, size_t length, struct rnic_backing *backing)
{
	struct rnic_backing next;
	int rc = find_segment(address, backing);

	if (rc != 0)
		return rc;
	/* Without hugepages a segment is 4 KiB: neighbours of one file are one piece. */
	while (backing->length < length) {
		if (find_segment((const char *)address + backing->length, &next) != 0 ||
		    next.fd != backing->fd || next.offset != backing->offset + backing->length)
			break;
		backing->length += next.length;
	}
	if (backing->length > length)
		backing->length = length;
	return 0;
}
