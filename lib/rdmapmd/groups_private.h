/* SPDX-License-Identifier: BSD-3-Clause */

/* The groups that a queue pair is in. One thread at a time uses them. */
#ifndef RDMAPMD_GROUPS_PRIVATE_H
#define RDMAPMD_GROUPS_PRIVATE_H

#include <stdint.h>

#include "rdmapmd_driver.h"

struct rdmapmd_groups {
	union rdmapmd_gid *gids;
	uint32_t count;
};

/* 0, also if it is in it; -ENOMEM; what the driver says. */
int rdmapmd_groups_join(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
			struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);
/* -EINVAL: it was not in the group. An error of the driver: it has left the group all the same. */
int rdmapmd_groups_leave(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
			 struct rdmapmd_qp *qp, const union rdmapmd_gid *gid);
/* All of them. The driver's first error. */
int rdmapmd_groups_leave_all(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
			     struct rdmapmd_qp *qp);

#endif
