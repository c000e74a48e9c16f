/* SPDX-License-Identifier: BSD-3-Clause */

/* Paths, of queue pairs and of address handles. */
#ifndef RDMAPMD_PATH_PRIVATE_H
#define RDMAPMD_PATH_PRIVATE_H

#include "rdmapmd_ah.h"

struct rdmapmd_context_object;

/* Whether its values are in range; why not goes to the log, behind `whose`: "QP 0x12". -EINVAL. */
int rdmapmd_path_check(const struct rdmapmd_context_object *context, const char *whose,
		       const struct rdmapmd_ah_attr *path);
/* The own address must fit, the next hop's MAC is found out if it is not given. Asks the driver. */
int rdmapmd_path_complete(struct rdmapmd_context_object *context, const char *whose,
			  struct rdmapmd_ah_attr *path);

#endif
