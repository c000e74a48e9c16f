/* SPDX-License-Identifier: BSD-3-Clause */

/* A driver's part of a device: it registers one, offers RDMA on it, and takes it away again, with all that is open. */

#include <errno.h>

#include "copy_private.h"
#include "device_private.h"
#include "event_private.h"
#include "log_private.h"
#include "object_private.h"

int
rdmapmd_device_register(const char *name, const char *driver, void *priv,
			struct rdmapmd_device **result)
{
	struct rdmapmd_device *device;
	int rc = rdmapmd_check_copies();

	if (rc != 0)
		return rc;
	device = rdmapmd_device_new(name, driver, priv);
	if (device == NULL)
		return -ENOMEM;
	rc = rdmapmd_device_add(device);
	if (rc != 0)
		rdmapmd_device_put(device);
	else
		*result = device;
	return rc;
}

/* ---- RDMA ---- */

/* What every driver must have: the first member that is missing, by name. */
static const char *
missing_operation(const struct rdmapmd_driver_ops *ops)
{
	const bool srq = ops->srq_create != NULL;

#define NEEDED(member)           \
	if (ops->member == NULL) \
	return #member
	NEEDED(context_open);
	NEEDED(context_close);
	NEEDED(device_query);
	NEEDED(port_query);
	NEEDED(gid_query);
	NEEDED(pkey_query);
	NEEDED(pd_alloc);
	NEEDED(pd_dealloc);
	NEEDED(mr_reg);
	NEEDED(mr_rereg);
	NEEDED(mr_dereg);
	NEEDED(cq_create);
	NEEDED(cq_destroy);
	NEEDED(qp_create);
	NEEDED(qp_modify);
	NEEDED(qp_query);
	NEEDED(qp_destroy);
	NEEDED(qp_outstanding);
#undef NEEDED
	if (srq != (ops->srq_arm != NULL) || srq != (ops->srq_query != NULL) ||
	    srq != (ops->srq_destroy != NULL))
		return "srq_create, srq_arm, srq_query or srq_destroy";
	if ((ops->mw_alloc != NULL) != (ops->mw_free != NULL) ||
	    (ops->mw_alloc != NULL) != (ops->mw_bind != NULL) ||
	    (ops->mw_alloc != NULL) != (ops->mw_bound != NULL))
		return "mw_alloc, mw_free, mw_bind or mw_bound";
	if ((ops->td_alloc != NULL) != (ops->td_dealloc != NULL))
		return "td_alloc or td_dealloc";
	if ((ops->qp_attach_mac != NULL) != (ops->qp_detach_mac != NULL))
		return "qp_attach_mac or qp_detach_mac";
	if ((ops->ah_create != NULL) != (ops->ah_destroy != NULL))
		return "ah_create or ah_destroy";
	if ((ops->mcast_attach != NULL) != (ops->mcast_detach != NULL))
		return "mcast_attach or mcast_detach";
	if ((ops->counters != NULL) != (ops->counters_read != NULL))
		return "counters or counters_read";
	return NULL;
}

static const char *
small_struct(const struct rdmapmd_driver_ops *ops)
{
	return ops->context_size < sizeof(struct rdmapmd_context) ? "context_size"
	       : ops->pd_size < sizeof(struct rdmapmd_pd)	  ? "pd_size"
	       : ops->mr_size < sizeof(struct rdmapmd_mr)	  ? "mr_size"
	       : ops->cq_size < sizeof(struct rdmapmd_cq)	  ? "cq_size"
	       : ops->qp_size < sizeof(struct rdmapmd_qp)	  ? "qp_size"
	       : ops->srq_create != NULL && ops->srq_size < sizeof(struct rdmapmd_srq) ? "srq_size"
	       : ops->mw_alloc != NULL && ops->mw_size < sizeof(struct rdmapmd_mw)     ? "mw_size"
	       : ops->td_alloc != NULL && ops->td_size < sizeof(struct rdmapmd_td)     ? "td_size"
	       : ops->ah_create != NULL && ops->ah_size < sizeof(struct rdmapmd_ah)    ? "ah_size"
										       : NULL;
}

int
rdmapmd_device_offer(struct rdmapmd_device *device, const struct rdmapmd_driver_ops *ops)
{
	struct rdmapmd_table *numbers[RDMAPMD_NUMBERED] = { NULL };
	const char *wrong = missing_operation(ops);
	unsigned int type;
	int rc = 0;

	if (wrong == NULL)
		wrong = small_struct(ops);
	if (wrong != NULL) {
		RDMAPMD_LOG(ERR, device, "driver %s has no usable %s", device->driver, wrong);
		return -EINVAL;
	}
	for (type = 0; type < RDMAPMD_NUMBERED && rc == 0; type++)
		rc = rdmapmd_table_create(&numbers[type]);
	if (rc == 0)
		rc = rdmapmd_device_set_ops(device, ops, numbers);
	if (rc != 0)
		for (type = 0; type < RDMAPMD_NUMBERED; type++)
			rdmapmd_table_destroy(numbers[type]);
	return rc;
}

/* ---- Removal ---- */

static void
context_orphan(struct rdmapmd_context_object *context)
{
	struct rdmapmd_object *object;
	unsigned int type;

	for (type = 0; type < RDMAPMD_OBJECT_CONTEXT; type++)
		TAILQ_FOREACH(object, &context->lists[type], next) {
			if (object->class->orphan != NULL)
				object->class->orphan(object);
			if (object->class->destroy != NULL)
				object->class->destroy(object);
			object->orphan = true;
		}
	context->ops->context_close(rdmapmd_object_head(&context->object));
	context->object.orphan = true;
}

/* Let the driver go. Called with device->use held exclusively. */
static void
device_orphan(struct rdmapmd_device *device)
{
	struct rdmapmd_context_object *context;

	/* Lists change under device->use too, shared: they stand still. */
	TAILQ_FOREACH(context, &device->contexts, next)
		context_orphan(context);
	rdmapmd_device_event(device, RDMAPMD_EVENT_DEVICE_FATAL, 0);
}

void
rdmapmd_device_unregister(struct rdmapmd_device *device)
{
	if (device == NULL)
		return;
	/* First, from now on nobody can open it or enter the driver. */
	pthread_rwlock_wrlock(&device->use);
	device->gone = true;
	device_orphan(device);
	pthread_rwlock_unlock(&device->use);
	rdmapmd_device_remove(device);
}
