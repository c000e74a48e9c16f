/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues. */

#include <errno.h>

#include "log_private.h"
#include "object_private.h"
#include "pd_private.h"
#include "sizing_private.h"
#include "srq_private.h"

#define SRQ_EVENTS (RDMAPMD_EVENT_SRQ_LIMIT_REACHED - RDMAPMD_EVENT_SRQ_ERR + 1)

struct rdmapmd_srq_object {
	struct rdmapmd_object object;
	struct rdmapmd_srq_sizing sizing; /* object->lock */
	struct rdmapmd_event_node events[SRQ_EVENTS];
};

static struct rdmapmd_srq_object *
srq_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_srq_object *)object;
}

static int
srq_destroy(struct rdmapmd_object *object)
{
	return object->context->ops->srq_destroy(rdmapmd_object_head(object));
}

static void
srq_orphan(struct rdmapmd_object *object)
{
	struct rdmapmd_srq *srq = rdmapmd_object_head(object);

	srq->post_srq_recv = rdmapmd_post_srq_recv_none;
}

static void
srq_release(struct rdmapmd_object *object)
{
	const struct rdmapmd_srq *srq = rdmapmd_object_head(object);

	rdmapmd_object_undepend(&rdmapmd_pd_class, srq->pd);
}

const struct rdmapmd_object_class rdmapmd_srq_class = {
	.type = RDMAPMD_OBJECT_SRQ,
	.name = "shared receive queue",
	.size = sizeof(struct rdmapmd_srq_object),
	.destroy = srq_destroy,
	.orphan = srq_orphan,
	.release = srq_release,
};

static int
srq_check_size(const struct rdmapmd_context_object *context, struct rdmapmd_srq_attr *attr,
	       struct rdmapmd_srq_sizing *sizing)
{
	int rc = rdmapmd_size_srq(&context->attr, attr, sizing);

	if (rc != 0)
		RDMAPMD_LOG(ERR, context->device,
			    "an SRQ of %u requests with %u segments; the device has 1 to %u with "
			    "at most %u",
			    attr->max_wr, attr->max_sge, context->attr.max_srq_wr,
			    context->attr.max_srq_sge);
	return rc;
}

static struct rdmapmd_object *
srq_new(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd, void *srq_context,
	const struct rdmapmd_srq_sizing *sizing)
{
	struct rdmapmd_object *object =
		rdmapmd_object_new(&rdmapmd_srq_class, context, context->ops->srq_size);
	struct rdmapmd_srq *srq;
	unsigned int i;

	if (object == NULL)
		return NULL;
	for (i = 0; i < SRQ_EVENTS; i++)
		srq_of(object)->events[i] = (struct rdmapmd_event_node){
			.object = object,
			.type = (uint8_t)(RDMAPMD_EVENT_SRQ_ERR + i),
		};
	object->events = srq_of(object)->events;
	object->event_count = SRQ_EVENTS;
	srq_of(object)->sizing = *sizing;
	srq = rdmapmd_object_head(object);
	srq->post_srq_recv = rdmapmd_post_srq_recv_none;
	srq->context = pd->context;
	srq->pd = pd;
	srq->srq_context = srq_context;
	return object;
}

/* With a reference on the PD. */
static int
srq_create(struct rdmapmd_context_object *context, struct rdmapmd_pd *pd, void *srq_context,
	   const struct rdmapmd_srq_sizing *sizing, struct rdmapmd_srq **result)
{
	struct rdmapmd_object *object = srq_new(context, pd, srq_context, sizing);
	struct rdmapmd_srq *srq;
	int rc;

	if (object == NULL)
		return -ENOMEM;
	srq = rdmapmd_object_head(object);
	rc = context->ops->srq_create(srq, sizing);
	rc = rdmapmd_object_publish_or_undo(object, rc, srq->srqn);
	if (rc == 0)
		*result = srq;
	return rc;
}

int
rdmapmd_srq_create(struct rdmapmd_pd *pd, struct rdmapmd_srq_init_attr *attr,
		   struct rdmapmd_srq **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_srq_sizing sizing;
	struct rdmapmd_srq_attr got;
	struct rdmapmd_object *parent;
	int rc = attr == NULL || result == NULL
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_pd_class, pd, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	got = attr->attr;
	if (context->ops->srq_create == NULL)
		rc = -ENOTSUP;
	if (rc == 0)
		rc = srq_check_size(context, &got, &sizing);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, pd, context);
	if (rc == 0) {
		rc = srq_create(context, pd, attr->srq_context, &sizing, result);
		if (rc != 0)
			rdmapmd_object_undepend(&rdmapmd_pd_class, pd);
	}
	if (rc == 0) {
		attr->attr = got;
		attr->attr.srq_limit = 0;
	}
	rdmapmd_object_leave(parent);
	return rc;
}

/* Called with the lock held. The size first: the limit is one of the new size. */
static int
srq_modify(struct rdmapmd_object *object, const struct rdmapmd_srq_attr *attr, unsigned int mask)
{
	const struct rdmapmd_driver_ops *ops = object->context->ops;
	struct rdmapmd_srq *srq = rdmapmd_object_head(object);
	struct rdmapmd_srq_sizing sizing = srq_of(object)->sizing;
	struct rdmapmd_srq_attr size = { .max_wr = attr->max_wr, .max_sge = sizing.max_gs };
	int rc = 0;

	if (mask & RDMAPMD_SRQ_MAX_WR)
		rc = srq_check_size(object->context, &size, &sizing);
	if (rc != 0)
		return rc;
	if ((mask & RDMAPMD_SRQ_LIMIT) && attr->srq_limit > sizing.max_post) {
		RDMAPMD_LOG(ERR, object->context->device,
			    "SRQ 0x%x: a limit of %u; it holds %u requests", srq->srqn,
			    attr->srq_limit, sizing.max_post);
		return -EINVAL;
	}
	if (mask & RDMAPMD_SRQ_MAX_WR) {
		rc = ops->srq_resize != NULL ? ops->srq_resize(srq, &sizing) : -ENOTSUP;
		if (rc == 0)
			srq_of(object)->sizing = sizing;
	}
	if (rc == 0 && (mask & RDMAPMD_SRQ_LIMIT))
		rc = ops->srq_arm(srq, attr->srq_limit);
	return rc;
}

int
rdmapmd_srq_modify(struct rdmapmd_srq *srq, const struct rdmapmd_srq_attr *attr, unsigned int mask)
{
	const unsigned int all = RDMAPMD_SRQ_MAX_WR | RDMAPMD_SRQ_LIMIT;
	struct rdmapmd_object *object;
	int rc = attr == NULL || (mask & ~all)
			 ? -EINVAL
			 : rdmapmd_object_enter(&rdmapmd_srq_class, srq, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	rc = srq_modify(object, attr, mask);
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_srq_query(struct rdmapmd_srq *srq, struct rdmapmd_srq_attr *attr)
{
	struct rdmapmd_object *object;
	uint32_t limit = 0;
	int rc = attr == NULL ? -EINVAL : rdmapmd_object_enter(&rdmapmd_srq_class, srq, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	rc = object->context->ops->srq_query(srq, &limit);
	if (rc == 0)
		*attr = (struct rdmapmd_srq_attr){
			.max_wr = srq_of(object)->sizing.max_post,
			.max_sge = srq_of(object)->sizing.max_gs,
			.srq_limit = limit,
		};
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_srq_destroy(struct rdmapmd_srq *srq)
{
	return rdmapmd_object_destroy(&rdmapmd_srq_class, srq);
}
