/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Users: whose commands the kernel sends for them, unread (DevX). What they may do is theirs, and no address of the bus is: each
 * name of memory that only a kernel may use is refused here.
 */
#ifndef SOFTRNIC_USER_H
#define SOFTRNIC_USER_H

#include "prm/cmd.h"
#include "softrnic/base/object.h"

/* A user's context. */
struct softrnic_uctx {
	struct softrnic_object object;
	uint32_t rights; /* RNIC_UCTX_RIGHT_*: what it has beyond its own objects */
};

/* Is the command that is executed a user's? */
static inline bool
softrnic_is_users(const struct softrnic *dev)
{
	return dev->uid != RNIC_UID_KERNEL && dev->uid != RNIC_UID_SHARED;
}

/* May who sends the command do so? The kernel may. */
static inline bool
softrnic_user_may(struct softrnic *dev, uint32_t right)
{
	const struct softrnic_uctx *uctx;

	if (!softrnic_is_users(dev))
		return true;
	uctx = softrnic_object_get(dev, SOFTRNIC_UCTX, dev->uid);
	return uctx != NULL && (uctx->rights & right) != 0;
}

#endif
