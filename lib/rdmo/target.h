/* SPDX-License-Identifier: BSD-3-Clause */

/* A target's memory, for what is more than memory. */
#ifndef RDMO_TARGET_H
#define RDMO_TARGET_H

#include <sys/queue.h>

#include "rdmo.h"

/* As rdmo_mr_reg(). `bell`: struct rdmo_region's; of no use to a worker in another process. */
int rdmo_target_offer(struct rdmo_target *target, const struct rdmo_mr_attr *attr, uint32_t bell,
		      uint64_t *key);

/* Something that the worker may have until the target is closed, and that is freed then. */
struct rdmo_kept {
	SLIST_ENTRY(rdmo_kept) next;
	void (*free)(struct rdmo_kept *kept);
};

void rdmo_target_keep(struct rdmo_target *target, struct rdmo_kept *kept);

/* Is it in another process than its worker? */
bool rdmo_target_is_remote(const struct rdmo_target *target);

#endif
