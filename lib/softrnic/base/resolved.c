/* SPDX-License-Identifier: BSD-3-Clause */

/* The lists of what is resolved. */
#include <errno.h>
#include <stdlib.h>

#include "softrnic/base/object.h"
#include "softrnic/base/resolved.h"

/* A ring that replaces another one is there beside it for a moment. */
static uint32_t
rings_max(void)
{
	return softrnic_object_limit(SOFTRNIC_EQ) + softrnic_object_limit(SOFTRNIC_CQ) +
	       softrnic_object_limit(SOFTRNIC_SQ) + softrnic_object_limit(SOFTRNIC_RQ) +
	       softrnic_object_limit(SOFTRNIC_QP) + softrnic_object_limit(SOFTRNIC_RMP) + 1;
}

/* One more of each than there can be: one that is made is resolved before it is known whether it has a number. */
int
softrnic_resolved_init(struct softrnic *dev)
{
	uint32_t mkeys = softrnic_object_limit(SOFTRNIC_MKEY) + 1, rings = rings_max() + 1;

	dev->resolved_mkeys.of = calloc(mkeys, sizeof(*dev->resolved_mkeys.of));
	dev->resolved_rings.of = calloc(rings, sizeof(*dev->resolved_rings.of));
	dev->resolved_dbrecs.of = calloc(rings, sizeof(*dev->resolved_dbrecs.of));
	return dev->resolved_mkeys.of == NULL || dev->resolved_rings.of == NULL ||
			       dev->resolved_dbrecs.of == NULL
		       ? -ENOMEM
		       : 0;
}

void
softrnic_resolved_fini(struct softrnic *dev)
{
	free(dev->resolved_mkeys.of);
	free(dev->resolved_rings.of);
	free(dev->resolved_dbrecs.of);
}

void
softrnic_resolved_add(struct softrnic_resolved_list *list, struct softrnic_resolved *who)
{
	list->of[list->count++] = who;
	who->slot = list->count;
}

void
softrnic_resolved_remove(struct softrnic_resolved_list *list, struct softrnic_resolved *who)
{
	struct softrnic_resolved *last;

	if (who->slot == 0)
		return;
	last = list->of[--list->count];
	list->of[who->slot - 1] = last;
	last->slot = who->slot;
	who->slot = 0;
}
