/* SPDX-License-Identifier: BSD-3-Clause */

/* Regions of memory for any owner. */
#ifndef RDMAPMD_REGION_PRIVATE_H
#define RDMAPMD_REGION_PRIVATE_H

#include <stdint.h>

#include "object_private.h"

struct rdmapmd_mr_object {
	struct rdmapmd_object object;
	uintptr_t kept_start, kept_end; /* kept out of forked children */
};

/* Of a region that is no application's object: it is created and freed, and never looked up. */
extern const struct rdmapmd_object_class rdmapmd_region_class;

int rdmapmd_region_check(const struct rdmapmd_context_object *context,
			 const struct rdmapmd_mr_attr *attr);
int rdmapmd_region_start(struct rdmapmd_mr_object *mr, const struct rdmapmd_mr_attr *attr);
/* Another one in its place; on error it is as it was. */
int rdmapmd_region_change(struct rdmapmd_mr_object *mr, const struct rdmapmd_mr_attr *attr);
int rdmapmd_region_stop(struct rdmapmd_mr_object *mr);

#endif
