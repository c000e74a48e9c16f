/* SPDX-License-Identifier: BSD-3-Clause */

/* Queue pairs, for those who look for one. */
#ifndef RDMAPMD_QP_PRIVATE_H
#define RDMAPMD_QP_PRIVATE_H

#include "object_private.h"

extern const struct rdmapmd_object_class rdmapmd_qp_class;

#endif
