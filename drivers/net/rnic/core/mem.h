/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory that the device reaches: hugepage memory of its own pages, zeroed, mapped with given rights. */
#ifndef RNIC_CORE_MEM_H
#define RNIC_CORE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "access/access.h"

struct rnic_dev;

struct rnic_mem {
	void *address;
	uint64_t iova;
	size_t length; /* a multiple of 4 KiB */
};
int rnic_mem_alloc(struct rnic_dev *dev, const char *what, size_t length, size_t align,
		   unsigned int rights, struct rnic_mem *mem);
/* The same of ordinary memory of the system's, where the device can be given any: for what it has for itself. */
int rnic_mem_alloc_apart(struct rnic_dev *dev, const char *what, size_t length, unsigned int rights,
			 struct rnic_mem *mem);
void rnic_mem_free(struct rnic_dev *dev, struct rnic_mem *mem);
void rnic_mem_free_apart(struct rnic_dev *dev, struct rnic_mem *mem);

/* The page list of a ring: 8-byte addresses of its 4 KiB pages. */
static inline uint32_t
rnic_mem_page_count(const struct rnic_mem *mem)
{
	return (uint32_t)(mem->length / RNIC_PAGE_BYTES);
}
void rnic_mem_page_list(const struct rnic_mem *mem, void *list);

#endif
