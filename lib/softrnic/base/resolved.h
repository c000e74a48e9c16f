/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Resolved objects: those that hold an address of host memory are in a list, which an unmap empties. This costs a step for each object
 * that was resolved since the last unmap, not one for every object; an object that is used again resolves again, as after any change
 * of the map. `generation` alone would not do: a client could make the number wrap.
 */
#ifndef SOFTRNIC_RESOLVED_H
#define SOFTRNIC_RESOLVED_H

#include <stddef.h>

#include "softrnic/base/device.h"

#define SOFTRNIC_RESOLVED_AHEAD \
	8 /* they lie all over the heap: the next ones come while one is at hand */

/* The last object in the list, which has its `resolved` at that offset; NULL: there is none. */
static inline void *
softrnic_resolved_last(const struct softrnic_resolved_list *list, size_t offset)
{
	const uint8_t *ahead;

	if (list->count == 0)
		return NULL;
	if (list->count > SOFTRNIC_RESOLVED_AHEAD) {
		ahead = (const uint8_t *)list->of[list->count - 1 - SOFTRNIC_RESOLVED_AHEAD] -
			offset;
		__builtin_prefetch(ahead, 1);
		__builtin_prefetch(ahead + 64, 1);
	}
	return (uint8_t *)list->of[list->count - 1] - offset;
}

/* To empty a list: remove the last one first, so that none moves to another slot. */
#define SOFTRNIC_RESOLVED_LAST(list, type) \
	((type *)softrnic_resolved_last(list, offsetof(type, resolved)))

int softrnic_resolved_init(struct softrnic *dev);
void softrnic_resolved_fini(struct softrnic *dev);
/* There is room for all objects that there can be. */
void softrnic_resolved_add(struct softrnic_resolved_list *list, struct softrnic_resolved *who);
void softrnic_resolved_remove(struct softrnic_resolved_list *list, struct softrnic_resolved *who);

#endif
