/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects: everything that a command creates and names by a number. */
#ifndef SOFTRNIC_OBJECT_H
#define SOFTRNIC_OBJECT_H

#include "prm/cmd.h"
#include "softrnic/base/device.h"

/* Give the object a number, and to who sends the command; RNIC_STATUS_OK or RNIC_STATUS_LIM. */
int softrnic_object_add(struct softrnic *dev, enum softrnic_object_type type,
			struct softrnic_object *object);
/* NULL if there is no such object. */
void *softrnic_object_get(struct softrnic *dev, enum softrnic_object_type type, uint32_t number);
/*
 * What a command names. NULL, too, if it is not for who sends the command (dev->uid), who may name what is his own and what is shared;
 * the kernel names everything. The caller answers RNIC_STATUS_BAD_RES.
 */
void *softrnic_object_find(struct softrnic *dev, enum softrnic_object_type type, uint32_t number);
/* Take it out of its table (refs must be 0); the caller frees it. */
void softrnic_object_remove(struct softrnic *dev, struct softrnic_object *object);
/* The next object of a type at or after *number, for loops; NULL at the end. *number: where to go on. */
void *softrnic_object_next(struct softrnic *dev, enum softrnic_object_type type, uint32_t *number);
/* How many there can be: what capabilities report. */
uint32_t softrnic_object_limit(enum softrnic_object_type type);

int softrnic_objects_init(struct softrnic *dev);
void softrnic_objects_fini(struct softrnic *dev);

/*
 * Free an object, whatever leans on it: those have gone already. Of what it refers to only the count of references is
 * touched. This one is for objects that are one malloc each.
 */
void softrnic_object_drop(struct softrnic *dev, struct softrnic_object *object);

/*
 * ---- Users ----
 *
 * The kernel sends their commands unread (DevX). What they may do is theirs, and no address of the bus is: each name of memory that only
 * a kernel may use is refused where it is said.
 */

/* A user's context. */
struct softrnic_uctx {
	struct softrnic_object object;
	uint32_t rights; /* RNIC_UCTX_RIGHT_*: what it has beyond its own objects */
};

static inline bool
softrnic_uid_is_users(uint16_t uid)
{
	return uid != RNIC_UID_KERNEL && uid != RNIC_UID_SHARED;
}

/* Is the command that is executed a user's? */
static inline bool
softrnic_is_users(const struct softrnic *dev)
{
	return softrnic_uid_is_users(dev->uid);
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
