/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues and completion channels. */

#include <errno.h>
#include <stdatomic.h>

#include "context_private.h"
#include "cq_private.h"
#include "event_queue_private.h"
#include "log_private.h"
#include "object_private.h"
#include "sizing_private.h"

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

static struct rdmapmd_cq_object *
cq_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_cq_object *)object;
}

static struct rdmapmd_channel_object *
channel_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_channel_object *)object;
}

/* ---- Channels ---- */

static void
channel_release(struct rdmapmd_object *object)
{
	rdmapmd_event_queue_close(&channel_of(object)->queue);
}

static const struct rdmapmd_object_class channel_class = {
	.type = RDMAPMD_OBJECT_CHANNEL,
	.name = "completion channel",
	.size = sizeof(struct rdmapmd_channel_object),
	.release = channel_release,
};

int
rdmapmd_comp_channel_create(struct rdmapmd_context *context, struct rdmapmd_comp_channel **result)
{
	struct rdmapmd_object *parent, *object;
	struct rdmapmd_comp_channel *channel;
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_context_class, context, &parent);

	if (rc != 0)
		return rc;
	rc = -ENOMEM;
	object = rdmapmd_object_new(&channel_class, parent->context, sizeof(*channel));
	if (object == NULL)
		goto no_object;
	rc = rdmapmd_event_queue_open(&channel_of(object)->queue);
	if (rc != 0)
		goto no_queue;
	channel = rdmapmd_object_head(object);
	channel->context = context;
	channel->fd = channel_of(object)->queue.fd;
	rc = rdmapmd_object_publish(object, 0);
	if (rc != 0)
		goto not_published;
	*result = channel;
	rdmapmd_object_leave(parent);
	return 0;

not_published:
	rdmapmd_event_queue_close(&channel_of(object)->queue);
no_queue:
	rdmapmd_object_free(object);
no_object:
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_comp_channel_destroy(struct rdmapmd_comp_channel *channel)
{
	return rdmapmd_object_destroy(&channel_class, channel);
}

int
rdmapmd_cq_event_get(struct rdmapmd_comp_channel *channel, struct rdmapmd_cq **cq)
{
	struct rdmapmd_event_node *node;
	struct rdmapmd_object *object;
	pthread_mutex_t *lock;
	int rc = cq == NULL ? -EINVAL : rdmapmd_object_hold(&channel_class, channel, &object);

	if (rc != 0)
		return rc;
	lock = &object->context->device->lock;
	pthread_mutex_lock(lock);
	node = rdmapmd_event_queue_take(&channel_of(object)->queue);
	if (node != NULL) {
		*cq = rdmapmd_object_head(node->object);
		cq_of(node->object)->unacknowledged++;
	}
	pthread_mutex_unlock(lock);
	rdmapmd_object_drop(object);
	return node != NULL ? 0 : -EAGAIN;
}

int
rdmapmd_cq_events_ack(struct rdmapmd_cq *cq, unsigned int n)
{
	struct rdmapmd_object *object;
	pthread_mutex_t *lock;
	int rc = rdmapmd_object_hold(&rdmapmd_cq_class, cq, &object);

	if (rc != 0)
		return rc;
	lock = &object->context->device->lock;
	pthread_mutex_lock(lock);
	if (n > cq_of(object)->unacknowledged)
		rc = -EINVAL;
	else
		cq_of(object)->unacknowledged -= n;
	pthread_mutex_unlock(lock);
	rdmapmd_object_drop(object);
	return rc;
}

/* ---- Completion queues ---- */

static int
cq_is_busy(struct rdmapmd_object *object)
{
	const uint32_t events = cq_of(object)->unacknowledged;

	if (events == 0)
		return 0;
	RDMAPMD_LOG(ERR, object->context->device,
		    "cannot destroy a completion queue: %u completion events are not acknowledged",
		    events);
	return -EBUSY;
}

void
rdmapmd_device_completion_event(struct rdmapmd_device *device, uint32_t cqn)
{
	struct rdmapmd_object *object, *channel;
	struct rdmapmd_cq *cq;

	pthread_mutex_lock(&device->lock);
	object = rdmapmd_object_find_number(device, RDMAPMD_OBJECT_CQ, cqn);
	cq = object != NULL ? rdmapmd_object_head(object) : NULL;
	if (cq != NULL && cq->channel != NULL) {
		channel = rdmapmd_object_of(&channel_class, cq->channel);
		rdmapmd_event_queue_put(&channel_of(channel)->queue, &cq_of(object)->completion);
	}
	pthread_mutex_unlock(&device->lock);
}

/* Its only one: it ran over. */
static bool
cq_note_event(struct rdmapmd_object *object, enum rdmapmd_event_type type)
{
	(void)type;
	atomic_store(&cq_of(object)->overrun, true);
	return true;
}

static int
cq_destroy(struct rdmapmd_object *object)
{
	return object->context->ops->cq_destroy(rdmapmd_object_head(object));
}

static int
cq_notify_removed(struct rdmapmd_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return -ENODEV;
}

static void
cq_orphan(struct rdmapmd_object *object)
{
	struct rdmapmd_cq *cq = rdmapmd_object_head(object);

	cq->poll_cq = rdmapmd_poll_cq_none;
	cq->req_notify_cq = cq_notify_removed;
	/* A thread that sleeps on its channel would never wake. */
	rdmapmd_device_completion_event(object->context->device, cq->cqn);
}

/* Called with the device's lock held. */
static void
cq_drop_completion(struct rdmapmd_object *object)
{
	struct rdmapmd_cq *cq = rdmapmd_object_head(object);
	struct rdmapmd_object *channel = rdmapmd_object_of(&channel_class, cq->channel);

	rdmapmd_event_queue_drop(&channel_of(channel)->queue, &cq_of(object)->completion);
}

static void
cq_release(struct rdmapmd_object *object)
{
	struct rdmapmd_cq *cq = rdmapmd_object_head(object);
	struct rdmapmd_device *device = object->context->device;

	if (cq->channel == NULL)
		return;
	pthread_mutex_lock(&device->lock);
	cq_drop_completion(object);
	pthread_mutex_unlock(&device->lock);
	rdmapmd_object_undepend(&channel_class, cq->channel);
}

const struct rdmapmd_object_class rdmapmd_cq_class = {
	.type = RDMAPMD_OBJECT_CQ,
	.name = "completion queue",
	.size = sizeof(struct rdmapmd_cq_object),
	.busy = cq_is_busy,
	.destroy = cq_destroy,
	.orphan = cq_orphan,
	.event = cq_note_event,
	.release = cq_release,
};

static int
cq_check_flags(const struct rdmapmd_context_object *context, uint32_t flags)
{
	const uint32_t unknown = flags & ~(uint32_t)RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP;

	if (unknown != 0) {
		RDMAPMD_LOG(ERR, context->device, "a CQ with unknown wc_flags 0x%x", unknown);
		return -EINVAL;
	}
	if (flags != 0 && context->attr.completion_timestamp_mask == 0) {
		RDMAPMD_LOG(ERR, context->device,
			    "a CQ with completion timestamps; the device has none "
			    "(completion_timestamp_mask is 0): create it without");
		return -ENOTSUP;
	}
	return 0;
}

static int
cq_check_attr(const struct rdmapmd_context_object *context, const struct rdmapmd_cq_init_attr *attr,
	      struct rdmapmd_cq_layout *layout)
{
	int rc = rdmapmd_size_cq(&context->attr, attr->cqe, &layout->log_size);

	if (rc != 0) {
		RDMAPMD_LOG(ERR, context->device, "a CQ of %u entries; the device has 1 to %u",
			    attr->cqe, context->attr.max_cqe);
		return rc;
	}
	if (attr->comp_vector >= context->attr.num_comp_vectors && attr->comp_vector != 0) {
		RDMAPMD_LOG(ERR, context->device, "completion vector %u; the device has %u",
			    attr->comp_vector, context->attr.num_comp_vectors);
		return -EINVAL;
	}
	layout->comp_vector = attr->comp_vector;
	layout->timestamps = (attr->wc_flags & RDMAPMD_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0;
	return cq_check_flags(context, attr->wc_flags);
}

static struct rdmapmd_object *
cq_new(struct rdmapmd_context_object *context, const struct rdmapmd_cq_init_attr *attr,
       const struct rdmapmd_cq_layout *layout)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&rdmapmd_cq_class, context, context->ops->cq_size);
	struct rdmapmd_cq *cq;

	if (object == NULL)
		return NULL;
	cq_of(object)->completion.object = object;
	cq_of(object)->error =
		(struct rdmapmd_event_node){ .object = object, .type = RDMAPMD_EVENT_CQ_ERR };
	object->events = &cq_of(object)->error;
	object->event_count = 1;
	cq = rdmapmd_object_head(object);
	cq->poll_cq = rdmapmd_poll_cq_none;
	cq->req_notify_cq = rdmapmd_req_notify_cq_none;
	cq->cqe = (UINT32_C(1) << layout->log_size) - 1;
	cq->context = rdmapmd_object_head(&context->object);
	cq->channel = attr->channel;
	cq->cq_context = attr->cq_context;
	return object;
}

int
rdmapmd_cq_create(struct rdmapmd_context *head, const struct rdmapmd_cq_init_attr *attr,
		  struct rdmapmd_cq **result)
{
	struct rdmapmd_object *parent, *object;
	struct rdmapmd_context_object *context;
	struct rdmapmd_cq_layout layout;
	struct rdmapmd_cq *cq;
	int rc = attr == NULL || result == NULL
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_context_class, head, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	rc = cq_check_attr(context, attr, &layout);
	if (rc == 0 && attr->channel != NULL)
		rc = rdmapmd_object_depend(&channel_class, attr->channel, context);
	if (rc != 0)
		goto not_allowed;
	rc = -ENOMEM;
	object = cq_new(context, attr, &layout);
	if (object == NULL)
		goto no_object;
	cq = rdmapmd_object_head(object);
	rc = context->ops->cq_create(cq, &layout);
	rc = rdmapmd_object_publish_or_undo(object, rc, cq->cqn);
	if (rc != 0)
		goto no_object;
	*result = cq;
	rdmapmd_object_leave(parent);
	return 0;

no_object:
	if (attr->channel != NULL)
		rdmapmd_object_undepend(&channel_class, attr->channel);
not_allowed:
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_cq_resize(struct rdmapmd_cq *cq, uint32_t cqe)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_object *object;
	uint8_t log_size;
	int rc = rdmapmd_object_enter(&rdmapmd_cq_class, cq, &object);

	if (rc != 0)
		return rc;
	context = object->context;
	rc = rdmapmd_size_cq(&context->attr, cqe, &log_size);
	if (rc == 0 && context->ops->cq_resize == NULL)
		rc = -ENOTSUP;
	if (rc == 0) {
		pthread_mutex_lock(&object->lock);
		rc = context->ops->cq_resize(cq, log_size);
		if (rc == 0)
			cq->cqe = (UINT32_C(1) << log_size) - 1;
		pthread_mutex_unlock(&object->lock);
	}
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_cq_moderate(struct rdmapmd_cq *cq, uint16_t count, uint16_t period_us)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_enter(&rdmapmd_cq_class, cq, &object);

	if (rc != 0)
		return rc;
	if (object->context->ops->cq_moderate == NULL) {
		rc = -ENOTSUP;
	} else {
		pthread_mutex_lock(&object->lock);
		rc = object->context->ops->cq_moderate(cq, count, period_us);
		pthread_mutex_unlock(&object->lock);
	}
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_cq_destroy(struct rdmapmd_cq *cq)
{
	return rdmapmd_object_destroy(&rdmapmd_cq_class, cq);
}

int
rdmapmd_cq_status(struct rdmapmd_cq *cq)
{
	struct rdmapmd_object *object;
	int rc = rdmapmd_object_hold(&rdmapmd_cq_class, cq, &object);

	if (rc != 0)
		return rc;
	rc = atomic_load(&cq_of(object)->overrun) ? -EOVERFLOW : 0;
	rdmapmd_object_drop(object);
	return rc;
}
