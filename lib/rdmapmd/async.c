/* SPDX-License-Identifier: BSD-3-Clause */

/* Asynchronous events, as an application takes and acknowledges them. */

#include <errno.h>

#include "context_private.h"
#include "cq_private.h"
#include "event_private.h"
#include "event_queue_private.h"
#include "object_private.h"
#include "qp_private.h"
#include "srq_private.h"

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
async_describe(const struct rdmapmd_event_node *node, struct rdmapmd_async_event *event)
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
		async_describe(node, event);
		node->object->unacknowledged++;
	}
	pthread_mutex_unlock(lock);
	rdmapmd_object_drop(object);
	return node != NULL ? 0 : -EAGAIN;
}

/* The object of an event, held. */
static int
element_hold(struct rdmapmd_context *context, const struct rdmapmd_async_event *event,
	     struct rdmapmd_object **object)
{
	switch (rdmapmd_event_owner(event->event_type)) {
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
	int rc = event == NULL ? -EINVAL : element_hold(context, event, &object);

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
