/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * IOMMU groups as vfio has them: what the kernel takes for one user. A group of ours has a container of its own, which the
 * process shares with nobody: its functions reach what is mapped here, and nothing else of the process. Functions of one
 * group share it, and come and go in any order.
 *
 * Threads: any.
 */
#ifndef RNIC_VFIO_GROUP_H
#define RNIC_VFIO_GROUP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_vfio_group;

/* The function's descriptor in its group, which is opened for the first one. Errors are logged, with what mends them. */
int rnic_vfio_group_get(const char *name, const char *bdf, struct rnic_vfio_group **group, int *fd);
/* The caller has undone its maps. */
void rnic_vfio_group_put(struct rnic_vfio_group *group, const char *bdf, int fd);

/* As the access' operations of these names. */
int rnic_vfio_group_map(struct rnic_vfio_group *group, const char *name, void *address,
			size_t length, unsigned int rights, uint64_t *iova);
int rnic_vfio_group_unmap(struct rnic_vfio_group *group, const char *name, uint64_t iova,
			  size_t length);

#endif
