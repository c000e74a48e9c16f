/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver's share of our memory. Each kind of object has a limit of its own, too, but all kinds together come to most of a
 * gigabyte, and the process may serve many drivers that do not know each other.
 */
#include <malloc.h>
#include <stdlib.h>

#include "softrnic/base/device.h"
#include "softrnic/base/log.h"
#include "softrnic/base/memory.h"

bool
softrnic_memory_take(struct softrnic *dev, uint64_t bytes)
{
	uint64_t max = dev->conf.memory_max;

	if (max != 0 && (dev->memory > max || bytes > max - dev->memory)) {
		dev->memory_refused = true;
		dev->stats.memory_refused++;
		SOFTRNIC_LOG(WARNING, dev,
			     "memory limit: %" PRIu64
			     " more bytes for objects, rings and lists, %" PRIu64 " of %" PRIu64
			     " in use",
			     bytes, dev->memory, max);
		return false;
	}
	dev->memory += bytes;
	return true;
}

void
softrnic_memory_give(struct softrnic *dev, uint64_t bytes)
{
	dev->memory -= bytes;
}

/* By what malloc() has put aside for it: that is what it costs, and what can be asked again when it goes. */
void *
softrnic_alloc(struct softrnic *dev, size_t count, size_t bytes)
{
	void *memory;

	if (bytes != 0 && count > SIZE_MAX / bytes)
		return NULL;
	if (!softrnic_memory_take(dev, (uint64_t)count * bytes))
		return NULL;
	memory = calloc(count, bytes);
	softrnic_memory_give(dev, (uint64_t)count * bytes);
	if (memory != NULL)
		dev->memory += malloc_usable_size(memory);
	return memory;
}

void
softrnic_free(struct softrnic *dev, void *memory)
{
	if (memory != NULL)
		dev->memory -= malloc_usable_size(memory);
	free(memory);
}
