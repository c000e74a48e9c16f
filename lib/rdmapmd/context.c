/* SPDX-License-Identifier: BSD-3-Clause */

/* Contexts: opening and closing a device, and what it says of itself. */

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "context_private.h"
#include "device_private.h"
#include "event_queue_private.h"
#include "log_private.h"
#include "object_private.h"

#define PORT_EVENTS (RDMAPMD_EVENT_RESOLVED - RDMAPMD_EVENT_PORT_ACTIVE + 1)

static struct rdmapmd_context_object *
context_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_context_object *)object;
}

const struct rdmapmd_object_class rdmapmd_context_class = {
	.type = RDMAPMD_OBJECT_CONTEXT,
	.name = "context",
	.size = sizeof(struct rdmapmd_context_object),
};

/* ---- Open ---- */

static bool
is_secondary(const struct rdmapmd_device *device)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (rte_eal_process_type() != RTE_PROC_SECONDARY)
		return false;
	if (!atomic_flag_test_and_set(&said))
		RDMAPMD_LOG(ERR, device,
			    "a DPDK secondary process cannot use RDMA: queues and keys belong to "
			    "the primary. Open the device there");
	return true;
}

/* One node for each event of the device, and of each port. */
static int
events_create(struct rdmapmd_context_object *context)
{
	struct rdmapmd_object *object = &context->object;
	uint32_t i;

	object->event_count = 1 + PORT_EVENTS * context->attr.phys_port_cnt;
	object->events = calloc(object->event_count, sizeof(object->events[0]));
	if (object->events == NULL)
		return -ENOMEM;
	object->events[0] =
		(struct rdmapmd_event_node){ .object = object, .type = RDMAPMD_EVENT_DEVICE_FATAL };
	for (i = 1; i < object->event_count; i++)
		object->events[i] = (struct rdmapmd_event_node){
			.object = object,
			.type = (uint8_t)(RDMAPMD_EVENT_PORT_ACTIVE + (i - 1) % PORT_EVENTS),
			.port_num = (uint8_t)(1 + (i - 1) / PORT_EVENTS),
		};
	return 0;
}

/* Called with device->use held, shared. */
static int
context_open_in_driver(struct rdmapmd_context_object *context)
{
	struct rdmapmd_context *head = rdmapmd_object_head(&context->object);
	struct rdmapmd_device *device = context->device;
	int rc = context->ops->context_open(head);

	if (rc != 0) {
		RDMAPMD_LOG(ERR, device, "cannot be opened: %s", strerror(-rc));
		return rc;
	}
	rc = context->ops->device_query(head, &context->attr);
	if (rc != 0)
		RDMAPMD_LOG(ERR, device, "cannot query the attributes of the device: %s",
			    strerror(-rc));
	if (rc == 0)
		rc = events_create(context);
	if (rc == 0)
		rc = rdmapmd_object_publish(&context->object, 0);
	if (rc != 0) {
		context->ops->context_close(head);
		return rc;
	}
	pthread_mutex_lock(&device->lock);
	TAILQ_INSERT_TAIL(&device->contexts, context, next);
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static void
context_free(struct rdmapmd_context_object *context)
{
	struct rdmapmd_device *device = context->device;

	free(context->object.events);
	rdmapmd_event_queue_close(&context->queue);
	rdmapmd_object_free(&context->object);
	rdmapmd_device_put(device);
}

int
rdmapmd_device_open(struct rdmapmd_device *device, struct rdmapmd_context **result)
{
	const struct rdmapmd_driver_ops *ops;
	struct rdmapmd_context_object *context;
	struct rdmapmd_context *head;
	struct rdmapmd_object *object;
	unsigned int type;
	void *priv;
	int rc;

	if (device == NULL || result == NULL)
		return -EINVAL;
	if (is_secondary(device))
		return -ENOTSUP;
	rc = rdmapmd_device_use(device, &ops, &priv);
	if (rc != 0)
		return rc;
	object = rdmapmd_object_new(&rdmapmd_context_class, NULL, ops->context_size);
	if (object == NULL) {
		rdmapmd_device_put(device);
		return -ENOMEM;
	}
	context = context_of(object);
	object->context = context;
	context->device = device;
	context->ops = ops;
	for (type = 0; type < RDMAPMD_OBJECT_CONTEXT; type++)
		TAILQ_INIT(&context->lists[type]);
	head = rdmapmd_object_head(object);
	head->device = device;
	head->device_priv = priv;
	rc = rdmapmd_event_queue_open(&context->queue);
	if (rc == 0) {
		pthread_rwlock_rdlock(&device->use);
		rc = device->gone ? -ENODEV : context_open_in_driver(context);
		pthread_rwlock_unlock(&device->use);
	}
	if (rc != 0) {
		context_free(context);
		return rc;
	}
	*result = head;
	return 0;
}

static int
context_open_found(struct rdmapmd_device *device, struct rdmapmd_context **context)
{
	int rc = device == NULL ? -ENODEV : rdmapmd_device_open(device, context);

	rdmapmd_device_put(device);
	return rc;
}

int
rdmapmd_device_open_by_name(const char *name, struct rdmapmd_context **context)
{
	return name == NULL ? -EINVAL : context_open_found(rdmapmd_device_find(name), context);
}

int
rdmapmd_device_open_by_port(uint16_t port_id, struct rdmapmd_context **context)
{
	return context_open_found(rdmapmd_device_find_by_port(port_id), context);
}

struct rdmapmd_device *
rdmapmd_context_device(const struct rdmapmd_context *context)
{
	return context->device;
}

/* ---- Close ---- */

/* Called with device->use held, shared; the context can no longer be found, nor an object through it. */
static int
context_close_objects(struct rdmapmd_context_object *context, struct rdmapmd_object_list *closed)
{
	struct rdmapmd_device *device = context->device;
	struct rdmapmd_object *object;
	unsigned int type;
	int rc, first = 0;

	for (type = 0; type < RDMAPMD_OBJECT_CONTEXT; type++) {
		for (;;) {
			pthread_mutex_lock(&device->lock);
			object = TAILQ_FIRST(&context->lists[type]);
			rc = object == NULL ? 0 : rdmapmd_object_remove(object, true);
			pthread_mutex_unlock(&device->lock);
			if (object == NULL)
				break;
			if (rc != 0) {
				/* Somebody looks at it, to find in a moment that the context is closed. */
				sched_yield();
				continue;
			}
			rc = rdmapmd_object_finish(object);
			if (first == 0)
				first = rc;
			TAILQ_INSERT_TAIL(closed, object, next);
		}
	}
	return first;
}

static void
context_free_closed(struct rdmapmd_object_list *closed)
{
	struct rdmapmd_object *object;

	while ((object = TAILQ_FIRST(closed)) != NULL) {
		TAILQ_REMOVE(closed, object, next);
		if (object->class->unlocked_release != NULL)
			object->class->unlocked_release(object);
		rdmapmd_object_free(object);
	}
}

int
rdmapmd_context_close(struct rdmapmd_context *head)
{
	struct rdmapmd_object_list closed = TAILQ_HEAD_INITIALIZER(closed);
	struct rdmapmd_context_object *context;
	struct rdmapmd_device *device;
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(&rdmapmd_context_class, head, &object), close_rc = 0;

	if (rc != 0)
		return rc;
	context = context_of(object);
	device = context->device;
	pthread_rwlock_rdlock(&device->use);
	pthread_mutex_lock(&device->lock);
	rdmapmd_object_drop(object);
	rc = rdmapmd_object_remove(object, true);
	if (rc == 0)
		TAILQ_REMOVE(&device->contexts, context, next);
	pthread_mutex_unlock(&device->lock);
	if (rc != 0) {
		pthread_rwlock_unlock(&device->use);
		return rc;
	}
	rc = context_close_objects(context, &closed);
	if (!object->orphan) {
		close_rc = context->ops->context_close(head);
		if (close_rc != 0)
			RDMAPMD_LOG(ERR, device, "the driver failed to close a context: %s",
				    strerror(-close_rc));
	}
	pthread_rwlock_unlock(&device->use);
	context_free_closed(&closed);
	context_free(context);
	return rc != 0 ? rc : close_rc;
}

/* ---- What the device says ---- */

int
rdmapmd_device_query(struct rdmapmd_context *head, struct rdmapmd_device_attr *attr)
{
	struct rdmapmd_object *object;
	int rc = attr == NULL ? -EINVAL
			      : rdmapmd_object_enter(&rdmapmd_context_class, head, &object);

	if (rc != 0)
		return rc;
	*attr = context_of(object)->attr;
	rdmapmd_object_leave(object);
	return 0;
}

int
rdmapmd_device_clock_read(struct rdmapmd_context *head, uint64_t *clock)
{
	const struct rdmapmd_driver_ops *ops;
	struct rdmapmd_object *object;
	uint64_t answer = 0;
	int rc = clock == NULL ? -EINVAL
			       : rdmapmd_object_enter(&rdmapmd_context_class, head, &object);

	if (rc != 0)
		return rc;
	ops = context_of(object)->ops;
	rc = ops->clock_read == NULL ? -ENOTSUP : ops->clock_read(head, &answer);
	if (rc == 0)
		*clock = answer;
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_context_enter_port(struct rdmapmd_context *head, uint8_t port_num, const void *result,
			   struct rdmapmd_object **object)
{
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_context_class, head, object);

	if (rc == 0 && (port_num == 0 || port_num > context_of(*object)->attr.phys_port_cnt)) {
		RDMAPMD_LOG(ERR, context_of(*object)->device, "no port %u: it has 1 to %u",
			    port_num, context_of(*object)->attr.phys_port_cnt);
		rdmapmd_object_leave(*object);
		rc = -EINVAL;
	}
	return rc;
}

int
rdmapmd_port_query(struct rdmapmd_context *head, uint8_t port_num, struct rdmapmd_port_attr *attr)
{
	struct rdmapmd_port_attr answer = { 0 };
	struct rdmapmd_object *object;
	int rc = rdmapmd_context_enter_port(head, port_num, attr, &object);

	if (rc != 0)
		return rc;
	rc = context_of(object)->ops->port_query(head, port_num, &answer);
	if (rc == 0)
		*attr = answer;
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_pkey_query(struct rdmapmd_context *head, uint8_t port_num, uint16_t index, uint16_t *pkey)
{
	struct rdmapmd_object *object;
	uint16_t answer = 0;
	int rc = rdmapmd_context_enter_port(head, port_num, pkey, &object);

	if (rc != 0)
		return rc;
	rc = context_of(object)->ops->pkey_query(head, port_num, index, &answer);
	if (rc == 0)
		*pkey = answer;
	rdmapmd_object_leave(object);
	return rc;
}

static int
counters_count(const struct rdmapmd_driver_ops *ops)
{
	int count = 0;

	while (ops->counters != NULL && ops->counters[count] != NULL)
		count++;
	return count;
}

int
rdmapmd_counters_names(struct rdmapmd_context *head, const char **names, unsigned int n)
{
	const struct rdmapmd_driver_ops *ops;
	struct rdmapmd_object *object;
	int i, count, rc = rdmapmd_object_enter(&rdmapmd_context_class, head, &object);

	if (rc != 0)
		return rc;
	ops = context_of(object)->ops;
	count = counters_count(ops);
	for (i = 0; names != NULL && i < count && (unsigned int)i < n; i++)
		names[i] = ops->counters[i];
	rdmapmd_object_leave(object);
	return count;
}

int
rdmapmd_counters_read(struct rdmapmd_context *head, uint8_t port_num, uint64_t *values,
		      unsigned int n)
{
	struct rdmapmd_object *object;
	uint64_t *all = NULL;
	int count, rc = rdmapmd_context_enter_port(head, port_num, values, &object);

	if (rc != 0)
		return rc;
	count = counters_count(context_of(object)->ops);
	if (count > 0) {
		all = calloc((size_t)count, sizeof(all[0]));
		rc = all == NULL ? -ENOMEM
				 : context_of(object)->ops->counters_read(head, port_num, all);
		if (rc == 0)
			memcpy(values, all,
			       sizeof(all[0]) *
				       ((unsigned int)count < n ? (unsigned int)count : n));
	}
	free(all);
	rdmapmd_object_leave(object);
	return rc != 0 ? rc : count;
}
