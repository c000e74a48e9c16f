/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues, for those who depend on one. */
#ifndef RDMAPMD_SRQ_PRIVATE_H
#define RDMAPMD_SRQ_PRIVATE_H

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_srq_class;

#endif
