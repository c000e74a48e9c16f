/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues, for those who depend on one. */
#ifndef RDMAPMD_CQ_PRIVATE_H
#define RDMAPMD_CQ_PRIVATE_H

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_cq_class;

#endif
