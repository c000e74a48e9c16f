/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects: everything that a command creates and names by a number. */
#ifndef SOFTRNIC_OBJECT_H
#define SOFTRNIC_OBJECT_H

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

#endif
