/* SPDX-License-Identifier: BSD-3-Clause */

/* The MAC of a path's next hop, for the calls that make paths. */
#ifndef RDMAPMD_RESOLVE_PRIVATE_H
#define RDMAPMD_RESOLVE_PRIVATE_H

#include <stdint.h>

#include "object_private.h"

/* As rdmapmd_resolve(), from within the driver. */
int rdmapmd_resolve_path(struct rdmapmd_context_object *context, struct rdmapmd_ah_attr *ah,
			 uint32_t timeout_ms);

#endif
