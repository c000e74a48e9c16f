/* SPDX-License-Identifier: BSD-3-Clause */

/* Thread domains, for those who depend on one. */
#ifndef RDMAPMD_TD_PRIVATE_H
#define RDMAPMD_TD_PRIVATE_H

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_td_class;

#endif
