/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains, for those who depend on one. */
#ifndef RDMAPMD_PD_PRIVATE_H
#define RDMAPMD_PD_PRIVATE_H

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_pd_class;

#endif
