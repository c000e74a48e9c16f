/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What all objects have in common: memory, the tables in which they are found while they are alive, references, and the
 * way they go. An object is known by the address of its head; a table of such addresses tells those that are alive from
 * those that are not, before anything is read there.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "log_private.h"
#include "object_private.h"

static struct rdmapmd_table *alive[RDMAPMD_OBJECT_TYPES];

__attribute__((constructor)) static void
create_tables(void)
{
	unsigned int type;

	/* Without memory the table stays NULL: nothing is ever found, and publish says so. */
	for (type = 0; type < RDMAPMD_OBJECT_TYPES; type++)
		if (rdmapmd_table_create(&alive[type]) != 0)
			alive[type] = NULL;
}

__attribute__((destructor)) static void
destroy_tables(void)
{
	unsigned int type;

	for (type = 0; type < RDMAPMD_OBJECT_TYPES; type++)
		if (rdmapmd_table_destroy(alive[type]) == 0)
			alive[type] = NULL;
}

/* ---- Memory ---- */

static size_t
object_prefix(const struct rdmapmd_object_class *class)
{
	return RTE_ALIGN_CEIL(class->size, (size_t)RTE_CACHE_LINE_SIZE);
}

void *
rdmapmd_object_head(struct rdmapmd_object *object)
{
	return (char *)object + object_prefix(object->class);
}

struct rdmapmd_object *
rdmapmd_object_of(const struct rdmapmd_object_class *class, const void *head)
{
	return (struct rdmapmd_object *)((uintptr_t)head - object_prefix(class));
}

struct rdmapmd_object *
rdmapmd_object_new(const struct rdmapmd_object_class *class, struct rdmapmd_context_object *context,
		   size_t head_size)
{
	const size_t size =
		object_prefix(class) + RTE_ALIGN_CEIL(head_size, (size_t)RTE_CACHE_LINE_SIZE);
	struct rdmapmd_object *object = aligned_alloc(RTE_CACHE_LINE_SIZE, size);

	if (object == NULL)
		return NULL;
	memset(object, 0, size);
	object->class = class;
	object->context = context;
	pthread_mutex_init(&object->lock, NULL);
	return object;
}

void
rdmapmd_object_free(struct rdmapmd_object *object)
{
	pthread_mutex_destroy(&object->lock);
	free(object);
}

/* ---- To be found ---- */

static uint64_t
object_address(struct rdmapmd_object *object)
{
	return (uintptr_t)rdmapmd_object_head(object);
}

static struct rdmapmd_device *
object_device(const struct rdmapmd_object *object)
{
	return object->context->device;
}

int
rdmapmd_object_publish(struct rdmapmd_object *object, uint32_t number)
{
	const enum rdmapmd_object_type type = object->class->type;
	struct rdmapmd_device *device = object_device(object);
	int rc = 0;

	if (alive[type] == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&device->lock);
	if (type < RDMAPMD_NUMBERED)
		rc = rdmapmd_table_insert(device->numbers[type], number, &object->number);
	if (rc == 0) {
		rc = rdmapmd_table_insert(alive[type], object_address(object), &object->handle);
		if (rc != 0 && type < RDMAPMD_NUMBERED)
			rdmapmd_table_remove(device->numbers[type], number, NULL);
	}
	if (rc == 0 && type != RDMAPMD_OBJECT_CONTEXT)
		TAILQ_INSERT_TAIL(&object->context->lists[type], object, next);
	pthread_mutex_unlock(&device->lock);
	if (rc == -EEXIST) {
		RDMAPMD_LOG(ERR, device, "the driver gave the number 0x%x to two objects: %s",
			    number, object->class->name);
		rc = -EIO;
	}
	return rc;
}

int
rdmapmd_object_publish_or_undo(struct rdmapmd_object *object, int created, uint32_t number)
{
	int rc = created;

	if (rc == 0) {
		rc = rdmapmd_object_publish(object, number);
		if (rc != 0)
			object->class->destroy(object);
	}
	if (rc != 0)
		rdmapmd_object_free(object);
	return rc;
}

/* An object that is alive, with a reference. */
static struct rdmapmd_object *
object_find(const struct rdmapmd_object_class *class, const void *head)
{
	struct rdmapmd_handle *handle = NULL;

	if (head != NULL && alive[class->type] != NULL)
		handle = rdmapmd_table_get(alive[class->type], (uintptr_t)head);
	return handle == NULL ? NULL : container_of(handle, struct rdmapmd_object, handle);
}

struct rdmapmd_object *
rdmapmd_object_find_number(struct rdmapmd_device *device, enum rdmapmd_object_type type,
			   uint32_t number)
{
	struct rdmapmd_handle *handle = device->numbers[type] == NULL
						? NULL
						: rdmapmd_table_get(device->numbers[type], number);

	if (handle == NULL)
		return NULL;
	rdmapmd_table_put(device->numbers[type], handle);
	return container_of(handle, struct rdmapmd_object, number);
}

static void
object_put(struct rdmapmd_object *object)
{
	rdmapmd_table_put(alive[object->class->type], &object->handle);
}

int
rdmapmd_object_hold(const struct rdmapmd_object_class *class, const void *head,
		    struct rdmapmd_object **result)
{
	struct rdmapmd_object *context, *object = object_find(class, head);

	if (object == NULL)
		return -EINVAL;
	context = &object->context->object;
	if (object != context &&
	    object_find(context->class, rdmapmd_object_head(context)) == NULL) {
		object_put(object);
		return -ENODEV;
	}
	*result = object;
	return 0;
}

void
rdmapmd_object_drop(struct rdmapmd_object *object)
{
	struct rdmapmd_context_object *context = object->context;

	if (object != &context->object)
		object_put(object);
	object_put(&context->object);
}

int
rdmapmd_object_enter(const struct rdmapmd_object_class *class, const void *head,
		     struct rdmapmd_object **result)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(class, head, &object);

	if (rc != 0)
		return rc;
	pthread_rwlock_rdlock(&object_device(object)->use);
	if (object_device(object)->gone) {
		rdmapmd_object_leave(object);
		return -ENODEV;
	}
	*result = object;
	return 0;
}

void
rdmapmd_object_leave(struct rdmapmd_object *object)
{
	pthread_rwlock_unlock(&object_device(object)->use);
	rdmapmd_object_drop(object);
}

int
rdmapmd_object_depend(const struct rdmapmd_object_class *class, const void *head,
		      const struct rdmapmd_context_object *context)
{
	struct rdmapmd_object *object = object_find(class, head);

	if (object == NULL) {
		RDMAPMD_LOG(ERR, context->device, "%p is not a live %s", head, class->name);
		return -EINVAL;
	}
	if (object->context != context) {
		object_put(object);
		RDMAPMD_LOG(ERR, context->device, "the %s belongs to another context", class->name);
		return -EINVAL;
	}
	return 0;
}

void
rdmapmd_object_undepend(const struct rdmapmd_object_class *class, const void *head)
{
	object_put(rdmapmd_object_of(class, head));
}

/* ---- To go ---- */

int
rdmapmd_object_remove(struct rdmapmd_object *object, bool forced)
{
	const enum rdmapmd_object_type type = object->class->type;
	struct rdmapmd_device *device = object_device(object);
	struct rdmapmd_event_queue *queue = &object->context->queue;
	uint32_t i;
	int rc;

	if (!forced && object->unacknowledged > 0) {
		RDMAPMD_LOG(ERR, device,
			    "cannot destroy a %s: %u of its events are not acknowledged",
			    object->class->name, object->unacknowledged);
		return -EBUSY;
	}
	if (!forced && object->class->busy != NULL && (rc = object->class->busy(object)) != 0)
		return rc;
	rc = rdmapmd_table_remove(alive[type], object_address(object), NULL);
	if (rc == -EBUSY && !forced)
		RDMAPMD_LOG(ERR, device, "cannot destroy a %s: other objects, or calls, use it",
			    object->class->name);
	if (rc != 0)
		return rc;
	if (type < RDMAPMD_NUMBERED)
		rdmapmd_table_remove(device->numbers[type], object->number.number, NULL);
	for (i = 0; i < object->event_count; i++)
		rdmapmd_event_queue_drop(queue, &object->events[i]);
	if (type != RDMAPMD_OBJECT_CONTEXT)
		TAILQ_REMOVE(&object->context->lists[type], object, next);
	return 0;
}

int
rdmapmd_object_finish(struct rdmapmd_object *object)
{
	const struct rdmapmd_object_class *class = object->class;
	int rc = 0;

	if (!object->orphan && class->destroy != NULL) {
		rc = class->destroy(object);
		if (rc != 0)
			RDMAPMD_LOG(ERR, object_device(object),
				    "the device failed to destroy a %s: %s", class->name,
				    strerror(-rc));
	}
	if (class->release != NULL)
		class->release(object);
	return rc;
}

int
rdmapmd_object_destroy(const struct rdmapmd_object_class *class, const void *head)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_device *device;
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(class, head, &object);

	if (rc != 0)
		return rc;
	context = object->context;
	device = context->device;
	pthread_rwlock_rdlock(&device->use);
	pthread_mutex_lock(&device->lock);
	object_put(object);
	rc = rdmapmd_object_remove(object, false);
	pthread_mutex_unlock(&device->lock);
	if (rc != 0) {
		pthread_rwlock_unlock(&device->use);
		object_put(&context->object);
		return rc;
	}
	rc = rdmapmd_object_finish(object);
	pthread_rwlock_unlock(&device->use);
	if (class->unlocked_release != NULL)
		class->unlocked_release(object);
	rdmapmd_object_free(object);
	object_put(&context->object);
	return rc;
}
