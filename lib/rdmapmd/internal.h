/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the files of the library have of each other.
 *
 * An object in memory, head aligned to a cache line:
 *
 *     | struct rdmapmd_object | its type's own, e.g. struct rdmapmd_qp_object | head | the driver's |
 *     ^ RDMAPMD_OBJECT(head)                                                  ^ what everybody else has
 *
 * Locks, outer first:
 *
 *     device->use (shared: operations; exclusive: removal) -> object->lock -> [driver] -> device->lock -> tables
 *                                                          -> pd->pools_lock -> [driver] -> fork table
 *     pd->listen_lock -> EAL's list of mempool callbacks -> device->use (shared)
 */
#ifndef RDMAPMD_INTERNAL_H
#define RDMAPMD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_log.h>

#include "rdmapmd_driver.h"

extern int rdmapmd_logtype; /* lib.rdmapmd */
/* "rdmapmd: DEVICE: message" */
#define RDMAPMD_LOG(level, device, fmt, ...)                                          \
	rte_log(RTE_LOG_##level, (uint32_t)rdmapmd_logtype, "rdmapmd: %s: " fmt "\n", \
		rdmapmd_device_name(device), ##__VA_ARGS__)

/* Dependants first: the order in which a context is closed. */
enum rdmapmd_object_type {
	RDMAPMD_OBJECT_QP,
	RDMAPMD_OBJECT_SRQ,
	RDMAPMD_OBJECT_CQ,
	RDMAPMD_OBJECT_CHANNEL,
	RDMAPMD_OBJECT_MR,
	RDMAPMD_OBJECT_TD,
	RDMAPMD_OBJECT_PD,
	RDMAPMD_OBJECT_CONTEXT,
	RDMAPMD_OBJECT_TYPES
};
#define RDMAPMD_NUMBERED (RDMAPMD_OBJECT_CQ + 1) /* those that events know by number */

/* ---- Events that wait (event_queue.c). All under the device's lock. ---- */

/* One event of one object; it waits at most once. */
struct rdmapmd_event_node {
	TAILQ_ENTRY(rdmapmd_event_node) next;
	struct rdmapmd_object *object;
	uint8_t type; /* enum rdmapmd_event_type */
	uint8_t port_num;
	bool waits;
};

/* Events that wait, and a descriptor that is readable as long as there are some. */
struct rdmapmd_event_queue {
	TAILQ_HEAD(, rdmapmd_event_node) nodes;
	int fd;
};

#define RDMAPMD_QP_EVENTS   (RDMAPMD_EVENT_QP_LAST_WQE_REACHED - RDMAPMD_EVENT_QP_FATAL + 1)
#define RDMAPMD_SRQ_EVENTS  (RDMAPMD_EVENT_SRQ_LIMIT_REACHED - RDMAPMD_EVENT_SRQ_ERR + 1)
#define RDMAPMD_PORT_EVENTS (RDMAPMD_EVENT_GID_CHANGE - RDMAPMD_EVENT_PORT_ACTIVE + 1)

int rdmapmd_event_queue_open(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_close(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_put(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node);
struct rdmapmd_event_node *rdmapmd_event_queue_take(struct rdmapmd_event_queue *queue);
void rdmapmd_event_queue_drop(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node);

/* ---- Objects (object.c) ---- */

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

struct rdmapmd_context_object {
	struct rdmapmd_object object;
	struct rdmapmd_device *device;
	const struct rdmapmd_driver_ops *ops; /* not to be called once the device is gone */
	struct rdmapmd_device_attr attr;
	struct rdmapmd_event_queue queue;
	TAILQ_ENTRY(rdmapmd_context_object) next;		  /* device->lock */
	struct rdmapmd_object_list lists[RDMAPMD_OBJECT_CONTEXT]; /* device->lock */
};

struct rdmapmd_pool; /* mempool.c */
struct rdmapmd_published_keys;

struct rdmapmd_pd_object {
	struct rdmapmd_object object;
	atomic_uint pool_count;
	pthread_mutex_t pools_lock; /* of the two below */
	struct rdmapmd_pool *pools;
	/* newest first; a reader may still have an old one */
	struct rdmapmd_published_keys *published;
	pthread_mutex_t listen_lock; /* of the next */
	bool listening;		     /* to mempool events */
};

struct rdmapmd_mr_object {
	struct rdmapmd_object object;
	uintptr_t kept_start, kept_end; /* kept out of forked children */
};

struct rdmapmd_channel_object {
	struct rdmapmd_object object;
	struct rdmapmd_event_queue queue;
};

struct rdmapmd_cq_object {
	struct rdmapmd_object object;
	uint32_t unacknowledged; /* completion events that were taken. Under the device's lock */
	struct rdmapmd_event_node completion;
	struct rdmapmd_event_node error;
	atomic_bool overrun;
};

struct rdmapmd_srq_object {
	struct rdmapmd_object object;
	struct rdmapmd_srq_sizing sizing; /* object->lock */
	struct rdmapmd_event_node events[RDMAPMD_SRQ_EVENTS];
};

struct rdmapmd_qp_object {
	struct rdmapmd_object object;
	atomic_uchar state;	     /* enum rdmapmd_qp_state */
	atomic_bool tell_drained;    /* whoever went to SQD wants SQ_DRAINED */
	unsigned char asked;	     /* the state that was asked for last; object->lock */
	struct rdmapmd_qp_attr attr; /* set last; object->lock */
	struct rdmapmd_qp_cap cap;
	struct rdmapmd_qp_sizing sizing;
	struct rdmapmd_event_node events[RDMAPMD_QP_EVENTS];
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
 * Take a reference on an object that is alive, and one on its context: neither goes while they are held. NULL: -EINVAL no
 * such object, -ENODEV its context is being closed.
 */
int rdmapmd_object_hold(const struct rdmapmd_object_class *class, const void *head,
			struct rdmapmd_object **object);
void rdmapmd_object_drop(struct rdmapmd_object *object);

/* As hold, and keep the driver from going away until leave: -ENODEV it has. */
int rdmapmd_object_enter(const struct rdmapmd_object_class *class, const void *head,
			 struct rdmapmd_object **object);
void rdmapmd_object_leave(struct rdmapmd_object *object);

/* A dependency: a reference on an object of the same context. put: the reference alone. */
int rdmapmd_object_depend(const struct rdmapmd_object_class *class, const void *head,
			  const struct rdmapmd_context_object *context);
void rdmapmd_object_undepend(const struct rdmapmd_object_class *class, const void *head);

/*
 * Destroy what an application names: -EBUSY it is in use or has events that are not acknowledged. The type's own part is
 * in the table below.
 */
int rdmapmd_object_destroy(const struct rdmapmd_object_class *class, const void *head);
/* Destroy one that nobody can find any more: the driver's part, dependencies, memory. Under device->use, shared. */
int rdmapmd_object_finish(struct rdmapmd_object *object);
/* Called with the device's lock held: from now on nobody finds it. -EBUSY. forced: events do not count. */
int rdmapmd_object_retire(struct rdmapmd_object *object, bool forced);

/* What a type does when one of its objects goes. */
struct rdmapmd_object_class {
	enum rdmapmd_object_type type;
	const char *name; /* "queue pair" */
	size_t size;	  /* of the type's own struct */
	/* -EBUSY, before it is retired; NULL: nothing to ask. The device's lock is held. */
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
extern const struct rdmapmd_object_class rdmapmd_pd_class, rdmapmd_mr_class, rdmapmd_channel_class,
	rdmapmd_cq_class, rdmapmd_srq_class, rdmapmd_qp_class, rdmapmd_td_class,
	rdmapmd_context_class;

/* ---- Events, from the driver (event.c) ---- */
/* Whose event it is; RDMAPMD_OBJECT_TYPES: no such event. */
enum rdmapmd_object_type rdmapmd_event_owner(enum rdmapmd_event_type type);

/* ---- Contexts (context.c) ---- */
/* As rdmapmd_object_enter() of a context; the port must be there, and `result` somewhere. */
int rdmapmd_context_enter_port(struct rdmapmd_context *head, uint8_t port_num, const void *result,
			       struct rdmapmd_object **object);

/* ---- Devices (device.c) ---- */
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

/* With a reference that the caller has; -ENOTSUP, -ENODEV. */
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

/* ---- Regions (region.c): without what makes an object of it that is found, for mempools ---- */
extern const struct rdmapmd_object_class rdmapmd_region_class;
int rdmapmd_region_check(const struct rdmapmd_context_object *context,
			 const struct rdmapmd_mr_attr *attr);
int rdmapmd_region_start(struct rdmapmd_mr_object *mr, const struct rdmapmd_mr_attr *attr);
/* Another one in its place; on error it is as it was. */
int rdmapmd_region_change(struct rdmapmd_mr_object *mr, const struct rdmapmd_mr_attr *attr);
int rdmapmd_region_stop(struct rdmapmd_mr_object *mr);

/* ---- Mempools of a PD (mempool.c) ---- */
/* The PD's head is there. */
void rdmapmd_pools_init(struct rdmapmd_pd_object *pd);
/* With no lock held. */
void rdmapmd_pools_fini(struct rdmapmd_pd_object *pd);
/* Hear of mempools that are freed, until fini. With no lock held: EAL's is taken. */
int rdmapmd_pools_listen(struct rdmapmd_pd_object *pd);
int rdmapmd_pools_register(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool,
			   unsigned int access);
int rdmapmd_pools_unregister(struct rdmapmd_pd_object *pd, struct rte_mempool *mempool);
bool rdmapmd_pools_any(struct rdmapmd_pd_object *pd);
/* Deregister all; with the driver or, once that has gone, without. */
int rdmapmd_pools_remove(struct rdmapmd_pd_object *pd);

/* ---- Fork (fork.c) ---- */
/* Whole pages around [start, end) are no children's until let go; counted. Returns the range that it became. */
int rdmapmd_fork_keep(uintptr_t start, uintptr_t end, uintptr_t *kept_start, uintptr_t *kept_end);
void rdmapmd_fork_release(uintptr_t kept_start, uintptr_t kept_end);

/* ---- Sizes (sizing.c) ---- */
int rdmapmd_size_qp(const struct rdmapmd_device_attr *device, bool srq, struct rdmapmd_qp_cap *cap,
		    struct rdmapmd_qp_sizing *sizing);
int rdmapmd_size_cq(const struct rdmapmd_device_attr *device, uint32_t cqe, uint8_t *log_size);
int rdmapmd_size_srq(const struct rdmapmd_device_attr *device, struct rdmapmd_srq_attr *attr,
		     struct rdmapmd_srq_sizing *sizing);

/* ---- State changes (qp_state.c) ---- */
/* Whether the table allows it; why not goes to the log. -EINVAL, -ENOTSUP. */
int rdmapmd_qp_check_change(struct rdmapmd_device *device, const struct rdmapmd_qp *qp,
			    enum rdmapmd_qp_state from, enum rdmapmd_qp_state to,
			    unsigned int mask);
/* Whether what the mask names is in range. */
int rdmapmd_qp_check_values(const struct rdmapmd_context_object *context, uint32_t qp_num,
			    const struct rdmapmd_qp_attr *attr, unsigned int mask);
/* Names of a mask's bits, for messages. */
void rdmapmd_qp_mask_str(unsigned int mask, char *text, size_t size);

#endif
