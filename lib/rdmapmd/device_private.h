/* SPDX-License-Identifier: BSD-3-Clause */

/* A device: what the library has of it, and the list of them. */
#ifndef RDMAPMD_DEVICE_PRIVATE_H
#define RDMAPMD_DEVICE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdmapmd_driver.h"

struct rdmapmd_context_object;

/* The types of objects. Dependants first: the order in which a context is closed. */
enum rdmapmd_object_type {
	RDMAPMD_OBJECT_QP,
	RDMAPMD_OBJECT_SRQ,
	RDMAPMD_OBJECT_CQ,
	RDMAPMD_OBJECT_CHANNEL,
	RDMAPMD_OBJECT_MW,
	RDMAPMD_OBJECT_MR,
	RDMAPMD_OBJECT_AH,
	RDMAPMD_OBJECT_TD,
	RDMAPMD_OBJECT_PD,
	RDMAPMD_OBJECT_CONTEXT,
	RDMAPMD_OBJECT_TYPES
};
#define RDMAPMD_NUMBERED (RDMAPMD_OBJECT_CQ + 1) /* those that events know by number */

struct rdmapmd_device {
	struct rdmapmd_device *next;
	uint64_t serial; /* grows with each registration: the order of the list */
	uint32_t references;
	void *priv;			      /* NULL once unregistered */
	const struct rdmapmd_driver_ops *ops; /* NULL: no RDMA */
	char *driver;

	pthread_rwlock_t use; /* shared: inside the driver */
	bool gone;	      /* under use */

	pthread_mutex_t lock; /* of all below, of lists and events of the contexts */
	TAILQ_HEAD(, rdmapmd_context_object) contexts;
	struct rdmapmd_table *numbers[RDMAPMD_NUMBERED];

	char name[];
};

/* What the driver offers on it, and one more reference. -ENOTSUP: nothing; -ENODEV: the device is gone. */
int rdmapmd_device_use(struct rdmapmd_device *device, const struct rdmapmd_driver_ops **ops,
		       void **priv);
/* One with a reference, in no list yet: rdmapmd_device_put() frees it. */
struct rdmapmd_device *rdmapmd_device_new(const char *name, const char *driver, void *priv);
/* Into the list, at its end. -EEXIST: the name is taken. */
int rdmapmd_device_add(struct rdmapmd_device *device);
/* Out of the list; the reference of rdmapmd_device_new() goes with it. */
void rdmapmd_device_remove(struct rdmapmd_device *device);
/* From now on it can be opened. -EEXIST: it could be before. */
int rdmapmd_device_set_ops(struct rdmapmd_device *device, const struct rdmapmd_driver_ops *ops,
			   struct rdmapmd_table *const numbers[RDMAPMD_NUMBERED]);

#endif
