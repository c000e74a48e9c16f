/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory regions that applications register. */

#include <errno.h>

#include "log_private.h"
#include "object_private.h"
#include "pd_private.h"
#include "region_private.h"

#define ALL_REREG                                                           \
	(RDMAPMD_REREG_MR_CHANGE_TRANSLATION | RDMAPMD_REREG_MR_CHANGE_PD | \
	 RDMAPMD_REREG_MR_CHANGE_ACCESS)

static struct rdmapmd_mr_object *
mr_of(struct rdmapmd_object *object)
{
	return (struct rdmapmd_mr_object *)object;
}

/* Called with the device's lock held: windows that are bound to it, and of whose invalidation no completion was polled. */
static unsigned int
mr_windows(struct rdmapmd_object *object)
{
	struct rdmapmd_context_object *context = object->context;
	const struct rdmapmd_mr *mr = rdmapmd_object_head(object);
	struct rdmapmd_object *window;
	unsigned int count = 0;

	TAILQ_FOREACH(window, &context->lists[RDMAPMD_OBJECT_MW], next) {
		const struct rdmapmd_mw *mw = rdmapmd_object_head(window);

		count += __atomic_load_n(&mw->mr, __ATOMIC_RELAXED) == mr &&
			 context->ops->mw_bound(mw);
	}
	return count;
}

/* Likewise. */
static int
mr_is_busy(struct rdmapmd_object *object)
{
	const unsigned int count = mr_windows(object);

	if (count == 0)
		return 0;
	RDMAPMD_LOG(ERR, object->context->device,
		    "a memory region cannot go, or change: %u memory windows are bound to it",
		    count);
	return -EBUSY;
}

static int
mr_destroy(struct rdmapmd_object *object)
{
	return rdmapmd_region_stop(mr_of(object));
}

static void
mr_release(struct rdmapmd_object *object)
{
	const struct rdmapmd_mr *mr = rdmapmd_object_head(object);

	rdmapmd_object_undepend(&rdmapmd_pd_class, mr->pd);
}

static const struct rdmapmd_object_class mr_class = {
	.type = RDMAPMD_OBJECT_MR,
	.name = "memory region",
	.size = sizeof(struct rdmapmd_mr_object),
	.busy = mr_is_busy,
	.destroy = mr_destroy,
	.release = mr_release,
};

static int
mr_register(const struct rdmapmd_mr_attr *attr, struct rdmapmd_mr **result)
{
	struct rdmapmd_context_object *context;
	struct rdmapmd_object *parent, *object;
	int rc = result == NULL ? -EINVAL
				: rdmapmd_object_enter(&rdmapmd_pd_class, attr->pd, &parent);

	if (rc != 0)
		return rc;
	context = parent->context;
	rc = rdmapmd_region_check(context, attr);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, attr->pd, context);
	if (rc != 0)
		goto not_allowed;
	rc = -ENOMEM;
	object = rdmapmd_object_new(&mr_class, context, context->ops->mr_size);
	if (object == NULL)
		goto no_object;
	rc = rdmapmd_region_start(mr_of(object), attr);
	rc = rdmapmd_object_publish_or_undo(object, rc, 0);
	if (rc != 0)
		goto no_object;
	*result = rdmapmd_object_head(object);
	rdmapmd_object_leave(parent);
	return 0;

no_object:
	rdmapmd_object_undepend(&rdmapmd_pd_class, attr->pd);
not_allowed:
	rdmapmd_object_leave(parent);
	return rc;
}

int
rdmapmd_mr_reg(struct rdmapmd_pd *pd, void *addr, size_t length, unsigned int access,
	       struct rdmapmd_mr **mr)
{
	const struct rdmapmd_mr_attr attr = {
		.pd = pd,
		.addr = addr,
		.length = length,
		.iova = access & RDMAPMD_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr,
		.access = access,
	};

	return mr_register(&attr, mr);
}

int
rdmapmd_mr_reg_iova(struct rdmapmd_pd *pd, void *addr, size_t length, uint64_t iova,
		    unsigned int access, struct rdmapmd_mr **mr)
{
	const struct rdmapmd_mr_attr attr = {
		.pd = pd, .addr = addr, .length = length, .iova = iova, .access = access
	};

	if (access & RDMAPMD_ACCESS_ZERO_BASED)
		return -EINVAL;
	return mr_register(&attr, mr);
}

/* What the region is to be. */
static struct rdmapmd_mr_attr
mr_changed(const struct rdmapmd_mr *mr, unsigned int flags, struct rdmapmd_pd *pd, void *addr,
	   size_t length, unsigned int access)
{
	struct rdmapmd_mr_attr attr = { .pd = mr->pd,
					.addr = mr->addr,
					.length = mr->length,
					.iova = mr->iova,
					.access = mr->access };
	const bool was_zero_based = mr->access & RDMAPMD_ACCESS_ZERO_BASED;

	if (flags & RDMAPMD_REREG_MR_CHANGE_PD)
		attr.pd = pd;
	if (flags & RDMAPMD_REREG_MR_CHANGE_ACCESS)
		attr.access = access;
	if (flags & RDMAPMD_REREG_MR_CHANGE_TRANSLATION) {
		attr.addr = addr;
		attr.length = length;
	}
	if (attr.access & RDMAPMD_ACCESS_ZERO_BASED)
		attr.iova = 0;
	else if (was_zero_based || (flags & RDMAPMD_REREG_MR_CHANGE_TRANSLATION))
		attr.iova = (uintptr_t)attr.addr;
	return attr;
}

int
rdmapmd_mr_rereg(struct rdmapmd_mr *mr, unsigned int flags, struct rdmapmd_pd *pd, void *addr,
		 size_t length, unsigned int access)
{
	struct rdmapmd_mr_attr attr;
	struct rdmapmd_object *object;
	struct rdmapmd_pd *before;
	int rc = flags == 0 || (flags & ~(unsigned int)ALL_REREG)
			 ? -EINVAL
			 : rdmapmd_object_enter(&mr_class, mr, &object);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&object->lock);
	attr = mr_changed(mr, flags, pd, addr, length, access);
	pthread_mutex_lock(&object->context->device->lock);
	rc = mr_is_busy(object);
	pthread_mutex_unlock(&object->context->device->lock);
	if (rc == 0)
		rc = rdmapmd_region_check(object->context, &attr);
	if (rc == 0)
		rc = rdmapmd_object_depend(&rdmapmd_pd_class, attr.pd, object->context);
	if (rc == 0) {
		before = mr->pd;
		rc = rdmapmd_region_change(mr_of(object), &attr);
		rdmapmd_object_undepend(&rdmapmd_pd_class, rc == 0 ? before : attr.pd);
	}
	pthread_mutex_unlock(&object->lock);
	rdmapmd_object_leave(object);
	return rc;
}

int
rdmapmd_mr_dereg(struct rdmapmd_mr *mr)
{
	return rdmapmd_object_destroy(&mr_class, mr);
}
