/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Asynchronous events, as a driver raises them: to the queues of the contexts that they concern. All of it is under the
 * device's lock, for a moment.
 */

#include "event_private.h"
#include "event_queue_private.h"
#include "object_private.h"

enum rdmapmd_object_type
rdmapmd_event_owner(enum rdmapmd_event_type type)
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

void
rdmapmd_device_object_event(struct rdmapmd_device *device, enum rdmapmd_event_type type,
			    uint32_t number)
{
	const enum rdmapmd_object_type owner = rdmapmd_event_owner(type);
	struct rdmapmd_object *object;
	uint32_t i;

	if (owner >= RDMAPMD_NUMBERED)
		return;
	pthread_mutex_lock(&device->lock);
	object = rdmapmd_object_find_number(device, owner, number);
	if (object != NULL && object->class->event != NULL && !object->class->event(object, type))
		object = NULL;
	for (i = 0; object != NULL && i < object->event_count; i++)
		if (object->events[i].type == type) {
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

	if (rdmapmd_event_owner(type) != RDMAPMD_OBJECT_CONTEXT)
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
