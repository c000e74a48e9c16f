/* SPDX-License-Identifier: BSD-3-Clause */

/* The groups of a queue pair: devices count each time that one is joined, applications do not. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groups_private.h"

/* Its place in the list, or the list's end. */
static uint32_t
group_find(const struct rdmapmd_groups *groups, const union rdmapmd_gid *gid)
{
	uint32_t i;

	for (i = 0; i < groups->count; i++)
		if (memcmp(&groups->gids[i], gid, sizeof(*gid)) == 0)
			break;
	return i;
}

int
rdmapmd_groups_join(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
		    struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	union rdmapmd_gid *gids;
	int rc;

	if (group_find(groups, gid) < groups->count)
		return 0;
	gids = realloc(groups->gids, (groups->count + 1) * sizeof(gids[0]));
	if (gids == NULL)
		return -ENOMEM;
	groups->gids = gids;
	rc = ops->mcast_attach(qp, gid);
	if (rc == 0)
		gids[groups->count++] = *gid;
	return rc;
}

int
rdmapmd_groups_leave(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
		     struct rdmapmd_qp *qp, const union rdmapmd_gid *gid)
{
	const uint32_t place = group_find(groups, gid);
	union rdmapmd_gid left;

	if (place == groups->count)
		return -EINVAL;
	left = groups->gids[place];
	groups->gids[place] = groups->gids[--groups->count];
	return ops->mcast_detach(qp, &left);
}

int
rdmapmd_groups_leave_all(struct rdmapmd_groups *groups, const struct rdmapmd_driver_ops *ops,
			 struct rdmapmd_qp *qp)
{
	int rc, first = 0;

	while (groups->count > 0) {
		rc = rdmapmd_groups_leave(groups, ops, qp, &groups->gids[groups->count - 1]);
		first = first != 0 ? first : rc;
	}
	free(groups->gids);
	groups->gids = NULL;
	return first;
}
