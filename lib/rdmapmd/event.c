/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Events: from the driver to the queue of a context or of a completion channel, and from there to the application. Each
 * event that can be has its node in its object, so that none is lost for want of memory, and none comes after its object
 * has gone. Everything here is under the device's lock, for a moment.
 */

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>

#include "internal.h"

/* ---- Queues ---- */

int
rdmapmd_event_queue_open(struct rdmapmd_event_queue *queue)
{
	TAILQ_INIT(&queue->nodes);
	queue->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

void
rdmapmd_event_queue_close(struct rdmapmd_event_queue *queue)
{
	if (queue->fd >= 0)
		close(queue->fd);
}

/* The descriptor is readable exactly as long as something waits. */
static void
set_readable(struct rdmapmd_event_queue *queue, bool readable)
{
	uint64_t count = 1;
	ssize_t n = readable ? write(queue->fd, &count, sizeof(count))
			     : read(queue->fd, &count, sizeof(count));

	/* Neither can fail: the counter is 0 or 1. */
	(void)n;
}

static void
take_out(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	TAILQ_REMOVE(&queue->nodes, node, next);
	node->waits = false;
}

void
rdmapmd_event_queue_put(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	const bool empty = TAILQ_EMPTY(&queue->nodes);

	/* Once more: it counts from now, behind what has come meanwhile. */
	if (node->waits)
		take_out(queue, node);
	TAILQ_INSERT_TAIL(&queue->nodes, node, next);
	node->waits = true;
	if (empty)
		set_readable(queue, true);
}

void
rdmapmd_event_queue_drop(struct rdmapmd_event_queue *queue, struct rdmapmd_event_node *node)
{
	if (!node->waits)
		return;
	take_out(queue, node);
	if (TAILQ_EMPTY(&queue->nodes))
		set_readable(queue, false);
}

struct rdmapmd_event_node *
rdmapmd_event_queue_take(struct rdmapmd_event_queue *queue)
{
	struct rdmapmd_event_node *node = TAILQ_FIRST(&queue->nodes);

	if (node != NULL)
		rdmapmd_event_queue_drop(queue, node);
	return node;
}

/* ---- From the driver ---- */

/* Whose event it is; RDMAPMD_OBJECT_TYPES: no such event. */
static enum rdmapmd_object_type
owner_of(enum rdmapmd_event_type type)
{
	if (type == RDMAPMD_EVENT_CQ_ERR)
		return RDMAPMD_OBJECT_CQ;
	if (type >= RDMAPMD_EVENT_QP_FATAL && type <= RDMAPMD_EVENT_QP_LAST_WQE_REACHED)
		return RDMAPMD_OBJECT_QP;
	if (type == RDMAPMD_EVENT_SRQ_ERR || type == RDMAPMD_EVENT_SRQ_LIMIT_REACHED)
		return RDMAPMD_OBJECT_SRQ;
	if (type >= RDMAPMD_EVENT_PORT_ACTIVE && type <= RDMAPMD_EVENT_DEVICE_FATAL)
		return RDMAPMD_OBJECT_CONTEXT;
	return RDMAPMD_OBJECT_TYPES;
}

/* Called with the device's lock held, which keeps the object alive. */
static struct rdmapmd_object *
find_number(struct rdmapmd_device *device, enum rdmapmd_object_type type, uint32_t number)
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
note_error(struct rdmapmd_object *object, enum rdmapmd_event_type type)
{
	switch (type) {
	case RDMAPMD_EVENT_CQ_ERR:
		atomic_store(&((struct rdmapmd_cq_object *)object)->overrun, true);
		break;
	case RDMAPMD_EVENT_QP_FATAL:
	case RDMAPMD_EVENT_QP_REQ_ERR:
	case RDMAPMD_EVENT_QP_ACCESS_ERR: rdmapmd_qp_in_error(rdmapmd_object_head(object)); break;
	default: break;
	}
}

/* Devices tell of every SQ that is drained. */
static bool
is_wanted(struct rdmapmd_object *object, enum rdmapmd_event_type type)
{
	return type != RDMAPMD_EVENT_SQ_DRAINED ||
	       atomic_load(&((struct rdmapmd_qp_object *)object)->tell_drained);
}

void
rdmapmd_device_object_event(struct rdmapmd_device *device, enum rdmapmd_event_type type,
			    uint32_t number)
{
	const enum rdmapmd_object_type owner = owner_of(type);
	struct rdmapmd_object *object;
	uint32_t i;

	if (owner >= RDMAPMD_NUMBERED)
		return;
	pthread_mutex_lock(&device->lock);
	object = find_number(device, owner, number);
	if (object != NULL && !is_wanted(object, type))
		object = NULL;
	for (i = 0; object != NULL && i < object->event_count; i++)
		if (object->events[i].type == type) {
			note_error(object, type);
			rdmapmd_event_queue_put(&object->context->queue, &object->events[i]);
			break;
		}
	pthread_mutex_unlock(&device->lock);
}

void
rdmapmd_device_event(struct rdmapmd_device *device, enum rdmapmd_event_type type, uint8_t port_num)
{
	struct rdmapmd_context_object *context;
	uint32_t i;

	if (owner_of(type) != RDMAPMD_OBJECT_CONTEXT)
		return;
	if (type == RDMAPMD_EVENT_DEVICE_FATAL)
		port_num = 0;
	pthread_mutex_lock(&device->lock);
	TAILQ_FOREACH(context, &device->contexts, next)
		for (i = 0; i < context->object.event_count; i++) {
			struct rdmapmd_event_node *node = &context->object.events[i];

			if (node->type == type && node->port_num == port_num)
				rdmapmd_event_queue_put(&context->queue, node);
		}
	pthread_mutex_unlock(&device->lock);
}

void
rdmapmd_device_completion_event(struct rdmapmd_device *device, uint32_t cqn)
{
	struct rdmapmd_object *object;
	struct rdmapmd_cq *cq;

	pthread_mutex_lock(&device->lock);
	object = find_number(device, RDMAPMD_OBJECT_CQ, cqn);
	cq = object != NULL ? rdmapmd_object_head(object) : NULL;
	if (cq != NULL && cq->channel != NULL) {
		struct rdmapmd_channel_object *channel =
			(struct rdmapmd_channel_object *)rdmapmd_object_of(&rdmapmd_channel_class,
									   cq->channel);

		rdmapmd_event_queue_put(&channel->queue,
					&((struct rdmapmd_cq_object *)object)->completion);
	}
	pthread_mutex_unlock(&device->lock);
}

/* ---- To the application: asynchronous events ---- */

int
rdmapmd_async_event_fd(struct rdmapmd_context *context)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(&rdmapmd_context_class, context, &object);

	if (rc != 0)
		return rc;
	rc = object->context->queue.fd;
	rdmapmd_object_drop(object);
	return rc;
}

static void
describe(const struct rdmapmd_event_node *node, struct rdmapmd_async_event *event)
{
	*event = (struct rdmapmd_async_event){ .event_type = (enum rdmapmd_event_type)node->type };
	switch (node->object->class->type) {
	case RDMAPMD_OBJECT_QP: event->element.qp = rdmapmd_object_head(node->object); break;
	case RDMAPMD_OBJECT_SRQ: event->element.srq = rdmapmd_object_head(node->object); break;
	case RDMAPMD_OBJECT_CQ: event->element.cq = rdmapmd_object_head(node->object); break;
	default: event->element.port_num = node->port_num; break;
	}
}

int
rdmapmd_async_event_get(struct rdmapmd_context *context, struct rdmapmd_async_event *event)
{
	struct rdmapmd_event_node *node;
	struct rdmapmd_object *object;
	pthread_mutex_t *lock;
	int rc = event == NULL ? -EINVAL
			       : rdmapmd_object_hold(&rdmapmd_context_class, context, &object);

	if (rc != 0)
		return rc;
	lock = &object->context->device->lock;
	pthread_mutex_lock(lock);
	node = rdmapmd_event_queue_take(&object->context->queue);
	if (node != NULL) {
		describe(node, event);
		node->object->unacknowledged++;
	}
	pthread_mutex_unlock(lock);
	rdmapmd_object_drop(object);
	return node != NULL ? 0 : -EAGAIN;
}

/* The object of an event, held. */
static int
hold_element(struct rdmapmd_context *context, const struct rdmapmd_async_event *event,
	     struct rdmapmd_object **object)
{
	switch (owner_of(event->event_type)) {
	case RDMAPMD_OBJECT_QP:
		return rdmapmd_object_hold(&rdmapmd_qp_class, event->element.qp, object);
	case RDMAPMD_OBJECT_SRQ:
		return rdmapmd_object_hold(&rdmapmd_srq_class, event->element.srq, object);
	case RDMAPMD_OBJECT_CQ:
		return rdmapmd_object_hold(&rdmapmd_cq_class, event->element.cq, object);
	case RDMAPMD_OBJECT_CONTEXT:
		return rdmapmd_object_hold(&rdmapmd_context_class, context, object);
	default: return -EINVAL;
	}
}

int
rdmapmd_async_event_ack(struct rdmapmd_context *context, const struct rdmapmd_async_event *event)
{
	struct rdmapmd_object *object;
	pthread_mutex_t *lock;
	int rc = event == NULL ? -EINVAL : hold_element(context, event, &object);

	if (rc != 0)
		return rc;
	lock = &object->context->device->lock;
	pthread_mutex_lock(lock);
	if (rdmapmd_object_head(&object->context->object) != context || object->unacknowledged == 0)
		rc = -EINVAL;
	else
		object->unacknowledged--;
	pthread_mutex_unlock(lock);
	rdmapmd_object_drop(object);
	return rc;
}
