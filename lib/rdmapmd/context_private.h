/* SPDX-License-Identifier: BSD-3-Clause */

/* Contexts, for the calls that name one. */
#ifndef RDMAPMD_CONTEXT_PRIVATE_H
#define RDMAPMD_CONTEXT_PRIVATE_H

#include <stdint.h>

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_context_class;

/* As rdmapmd_object_enter() of a context; the port must be there, and `result` somewhere. */
int rdmapmd_context_enter_port(struct rdmapmd_context *head, uint8_t port_num, const void *result,
			       struct rdmapmd_object **object);

#endif
