/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What all objects have in common, and contexts, which own them.
 *
 * An object in memory, head aligned to a cache line:
 *
 *     | struct rdmapmd_object | its type's own, e.g. struct rdmapmd_qp_object | head | the driver's |
 *     ^ rdmapmd_object_of(class, head)                                        ^ what everybody else has
 *
 * Locks, outer first:
 *
 *     device->use (shared: operations; exclusive: removal) -> object->lock -> [driver] -> device->lock -> tables
 *                                                          -> pd->pools_lock -> [driver] -> fork table
 *     pd->listen_lock -> EAL's list of mempool callbacks -> device->use (shared)
 */
#ifndef RDMAPMD_OBJECT_PRIVATE_H
#define RDMAPMD_OBJECT_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device_private.h"
#include "event_queue_private.h"
#include "rdmapmd_driver.h"

struct rdmapmd_object {
	/* in the table of its type; number: the address of the head */
	struct rdmapmd_handle handle;
	struct rdmapmd_handle number;	  /* in the device's table; QP, SRQ, CQ */
	TAILQ_ENTRY(rdmapmd_object) next; /* in its context's list of its type */
	struct rdmapmd_context_object *context;
	const struct rdmapmd_object_class *class;
	bool orphan;	      /* the driver has let go of it. Under device->use */
	pthread_mutex_t lock; /* one operation at a time */

	/* Under the device's lock. */
	uint32_t unacknowledged; /* events that were taken */
	uint32_t event_count;
	struct rdmapmd_event_node *events;
};
TAILQ_HEAD(rdmapmd_object_list, rdmapmd_object);

/* A type of objects: what it does when one of them is to go, or has an event. */
struct rdmapmd_object_class {
	enum rdmapmd_object_type type;
	const char *name; /* "queue pair" */
	size_t size;	  /* of the type's own struct */
	/* -EBUSY, before it is removed; NULL: nothing to ask. The device's lock is held. */
	int (*busy)(struct rdmapmd_object *object);
	/* The driver's part. Not called for orphans. */
	int (*destroy)(struct rdmapmd_object *object);
	/* The driver will go away: bursts take and find nothing from now on. */
	void (*orphan)(struct rdmapmd_object *object);
	/*
	 * The driver has raised an event of one that has a number: keep what it says. false: the application is not told.
	 * NULL: there is nothing to keep. The device's lock is held.
	 */
	bool (*event)(struct rdmapmd_object *object, enum rdmapmd_event_type type);
	/* Dependencies and what else the library has of it. */
	void (*release)(struct rdmapmd_object *object);
	/* As release, with no lock held at all. */
	void (*unlocked_release)(struct rdmapmd_object *object);
};

/* What owns objects; itself one of them. */
struct rdmapmd_context_object {
	struct rdmapmd_object object;
	struct rdmapmd_device *device;
	const struct rdmapmd_driver_ops *ops; /* not to be called once the device is gone */
	struct rdmapmd_device_attr attr;
	struct rdmapmd_event_queue queue;
	TAILQ_ENTRY(rdmapmd_context_object) next;		  /* device->lock */
	struct rdmapmd_object_list lists[RDMAPMD_OBJECT_CONTEXT]; /* device->lock */
};

/* An object's head, and back. The head must be one of this library's. */
void *rdmapmd_object_head(struct rdmapmd_object *object);
struct rdmapmd_object *rdmapmd_object_of(const struct rdmapmd_object_class *class,
					 const void *head);

/* Memory with both sides zeroed. context may be NULL (for a context). The head is at rdmapmd_object_head(). */
struct rdmapmd_object *rdmapmd_object_new(const struct rdmapmd_object_class *class,
					  struct rdmapmd_context_object *context, size_t head_size);
void rdmapmd_object_free(struct rdmapmd_object *object);

/* The one that a device knows by a number, or NULL. Called with the device's lock held, which keeps it alive. */
struct rdmapmd_object *rdmapmd_object_find_number(struct rdmapmd_device *device,
						  enum rdmapmd_object_type type, uint32_t number);

/* Let it be found: by head, in its context's list, by number where events know it so. */
int rdmapmd_object_publish(struct rdmapmd_object *object, uint32_t number);

/*
 * The end of a create: as publish, once the driver has created its part (0). Otherwise, or if that fails, the driver's part
 * is destroyed and the object freed; what it depends on stays the caller's. created: what the driver's create gave.
 */
int rdmapmd_object_publish_or_undo(struct rdmapmd_object *object, int created, uint32_t number);

/*
 * Take a reference on an object that is alive, and one on its context: neither goes while they are held. -EINVAL: no such
 * object; -ENODEV: its context is being closed.
 */
int rdmapmd_object_hold(const struct rdmapmd_object_class *class, const void *head,
			struct rdmapmd_object **object);
void rdmapmd_object_drop(struct rdmapmd_object *object);

/* As hold, and keep the driver from going away until leave: -ENODEV it has. */
int rdmapmd_object_enter(const struct rdmapmd_object_class *class, const void *head,
			 struct rdmapmd_object **object);
void rdmapmd_object_leave(struct rdmapmd_object *object);

/* A dependency: a reference on an object of the same context. */
int rdmapmd_object_depend(const struct rdmapmd_object_class *class, const void *head,
			  const struct rdmapmd_context_object *context);
void rdmapmd_object_undepend(const struct rdmapmd_object_class *class, const void *head);

/*
 * Destroy what an application names: -EBUSY it is in use or has events that are not acknowledged. The type's own part is
 * in its class.
 */
int rdmapmd_object_destroy(const struct rdmapmd_object_class *class, const void *head);
/* Destroy one that can no longer be found: the driver's part, dependencies, memory. Under device->use, shared. */
int rdmapmd_object_finish(struct rdmapmd_object *object);
/* Called with the device's lock held: from now on nobody finds it. -EBUSY. forced: events do not count. */
int rdmapmd_object_remove(struct rdmapmd_object *object, bool forced);

#endif
